import functools
import itertools

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from random_games import random_game

import ps_cfr_spiel
from ps_cfr_spiel import matches
from ps_cfr_spiel.cards.poker import cards, set_numbers
from ps_cfr_spiel.evaluation import Played, aivat, evaluate_match, evaluate_policy
from ps_cfr_spiel.evaluation.match_results import MatchResult, mixed_with_chips, standard_error
from ps_cfr_spiel.evaluation.street_guesses import StreetGuesses
from ps_cfr_spiel.options import METHODS
from ps_cfr_spiel.solvers import HoldemPolicy

GLASSES = "glasses(turns=2)"
DICE = "liars_dice(dice_sides=2)"
LEDUC = "leduc_poker(suit_isomorphism=true)"  # fewer histories, and the same games
SHORT = "6"  # a random game, in which player 1 does not always act


@functools.cache
def load(name):
  game = random_game(int(name)) if name.isdigit() else pyspiel.load_game(name)
  return game, ps_cfr_spiel.build_tree(game)


def drawn(name, seed, pure=False):
  """A policy of random probabilities, or choices."""
  game, tree = load(name)
  rng = np.random.default_rng(seed)
  blocks = [[rng.random(shape) for shape in player.block_shapes] for player in tree.players]
  if pure:
    blocks = [[(b == b.max(0)).astype(float) for b in player] for player in blocks]
  return ps_cfr_spiel.TreePolicy(game, tree.names, blocks)


@functools.cache
def solved(name, iterations=300):
  game, _ = load(name)
  solver = ps_cfr_spiel.PSCFRSolver(game, dtype="float64")
  solver.run(iterations)
  return solver.average_policy()


def all_games(name, pair):
  """Every way in which a game may go: (actions, probability), where `pair` play."""
  found = []

  def walk(state, probability):
    if state.is_terminal():
      found.append((tuple(state.history()), probability))
    elif probability > 0:
      chance = state.is_chance_node()
      policy = None if chance else pair[state.current_player()]
      odds = state.chance_outcomes() if chance else policy.action_probabilities(state).items()
      for action, p in odds:
        walk(state.child(action), probability * p)

  walk(load(name)[0].new_initial_state(), 1.0)
  return [(actions, p) for actions, p in found if p > 0]


def moments(name, agent, opponent, seat, method, values=None):
  """Exact mean and standard deviation of an estimator."""
  game, _ = load(name)
  actions, odds = zip(*all_games(name, (agent, opponent) if seat == 0 else (opponent, agent)), strict=True)
  records = [Played(seat, a) for a in actions]
  worth = evaluate_match(game, records, agent, method, values=values).values
  odds = np.array(odds)
  assert odds.sum() == pytest.approx(1, abs=1e-12)
  mean = odds @ worth
  return mean, np.sqrt(odds @ (worth - mean) ** 2)


def check_means(name, seat):
  game, tree = load(name)
  agent, opponent = drawn(name, 1), drawn(name, 2)
  tables = [None, None]
  tables[seat], tables[1 - seat] = agent.strategies[seat], opponent.strategies[1 - seat]
  exact = float(evaluate_policy(game, ps_cfr_spiel.TreePolicy(game, tree.names, tables)).value) * (
    1 - 2 * seat
  )
  rng = np.random.default_rng(3)
  huge = {name: 1e3 * rng.standard_normal() for _, _, name in tree.names.infostates()}
  guesses = {
    "chips": [None],
    "mivat": [None, drawn(name, 4)],
    "imaginary": [None],
    "aivat": [None, drawn(name, 5), lambda _, infostate: huge[infostate]],
  }
  for method in METHODS:
    for values in guesses[method]:
      mean, _ = moments(name, agent, opponent, seat, method, values)
      assert mean == pytest.approx(exact, abs=1e-10 if callable(values) else 1e-12), (method, values)


@pytest.mark.parametrize(
  ("name", "seat"), [("kuhn_poker", 0), ("kuhn_poker", 1), (LEDUC, 0), (GLASSES, 1), (DICE, 0)]
)
def test_unbiased_whatever_is_guessed(name, seat):
  check_means(name, seat)


def test_unbiased_where_a_game_may_end_before_the_opponent_acts():
  check_means(SHORT, 0)


def test_a_wrong_probability_breaks_the_mean():
  played, logged = drawn("kuhn_poker", 1), drawn("kuhn_poker", 9)
  game, _ = load("kuhn_poker")
  actions, odds = zip(*all_games("kuhn_poker", (played, played)), strict=True)
  records = [Played(0, a) for a in actions]
  means = [np.array(odds) @ evaluate_match(game, records, agent).values for agent in (played, logged)]
  assert abs(means[0] - means[1]) > 0.01


@pytest.mark.parametrize("name", ["kuhn_poker", LEDUC])
def test_nothing_is_left_to_luck_where_all_is_known(name):
  agent, opponent = solved(name), drawn(name, 7, pure=True)
  _, spread = moments(name, agent, opponent, 0, "aivat", opponent)
  assert spread < 1e-12


def test_aivat_is_the_least_noisy():
  spreads = {}
  for name in ("kuhn_poker", LEDUC):
    agent = solved(name)
    found = {method: moments(name, agent, agent, 0, method)[1] for method in METHODS}
    assert found["aivat"] < found["mivat"] < found["chips"]
    assert found["aivat"] < found["imaginary"] < found["chips"]
    spreads[name] = found["aivat"] / found["chips"]
  assert spreads[LEDUC] < 0.06 and spreads["kuhn_poker"] < 0.01


def test_leduc_as_single_histories_have_it():
  """MIVAT by its definition, chance node by chance node, from values found by walking states."""
  name = LEDUC
  game, _ = load(name)
  agent = drawn(name, 1)

  @functools.cache
  def value(history):
    state = game.new_initial_state()
    for action in history:
      state.apply_action(action)
    if state.is_terminal():
      return state.returns()[1]
    chance = state.is_chance_node()
    odds = state.chance_outcomes() if chance else agent.action_probabilities(state).items()
    return sum(p * value((*history, action)) for action, p in odds)

  actions = [a for a, _ in all_games(name, (agent, agent))][::97]
  worth = evaluate_match(game, [Played(1, a) for a in actions], agent, method="mivat").values
  for history, found in zip(actions, worth, strict=True):
    state, total = game.new_initial_state(), value(history)
    for n, action in enumerate(history):
      if state.is_chance_node():
        total += value(history[:n]) - value(history[: n + 1])
      state.apply_action(action)
    assert found == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize("name", ["kuhn_poker", DICE])
@pytest.mark.parametrize("seat", [0, 1])
def test_guesses_along_a_game_are_unbiased(name, seat):
  """The estimator of games that are not compiled: exact means and deviations, by all games."""
  game, _ = load(name)
  agent, opponent = drawn(name, 1), drawn(name, 2)
  pair = (agent, opponent) if seat == 0 else (opponent, agent)
  actions, odds = zip(*all_games(name, pair), strict=True)
  odds = np.array(odds)
  rng = np.random.default_rng(0)

  @functools.cache
  def wrong(history):
    return 50 * rng.standard_normal()

  @functools.cache
  def right(history):
    state = game.new_initial_state()
    for action in history:
      state.apply_action(action)
    if state.is_terminal():
      return state.returns()[0]
    chance = state.is_chance_node()
    odds = (
      state.chance_outcomes() if chance else pair[state.current_player()].action_probabilities(state).items()
    )
    return sum(p * right((*history, action)) for action, p in odds)

  def after(value):
    return lambda state: {action: value((*state.history(), action)) for action in state.legal_actions()}

  def moments(estimate):
    worth = np.array([estimate(aivat.Game(a, (), right(a) * (1 - 2 * seat))) for a in actions])
    return odds @ worth, np.sqrt(odds @ (worth - odds @ worth) ** 2)

  expected, chips = moments(aivat.chips)
  mean, _ = moments(aivat.Corrected(game, after(wrong), seat))
  assert mean == pytest.approx(expected, abs=1e-11)
  mean, deviation = moments(aivat.Corrected(game, after(right), seat))
  assert mean == pytest.approx(expected, abs=1e-12) and deviation < chips


@functools.cache
def for_hands_after(seed, moves, legal):
  chances = np.random.default_rng([seed, *moves]).dirichlet(np.ones(len(legal)), len(cards.ALL_HANDS))
  return dict(zip(legal, chances.T, strict=True))


class ByHand(openspiel_policy.Policy):
  """Any probabilities, others for each hand and line of betting."""

  def __init__(self, game, seed):
    super().__init__(game, [0, 1])
    self._seed = seed

  def for_hands_at(self, state):
    moves = tuple(move.action for move in state.full_history() if move.player >= 0)
    return for_hands_after(self._seed, moves, tuple(state.legal_actions()))

  def action_probabilities(self, state, player_id=None):
    h = int(set_numbers(np.array(state.hole(state.current_player()))))
    return {action: float(chances[h]) for action, chances in self.for_hands_at(state).items()}


@pytest.mark.parametrize(("seat", "known"), [(0, True), (1, False)])
def test_averages_over_all_hands_are_unbiased(seat, known):
  """Against one hand of the opponent, by all hands of the agent, boards in every order, and all betting.

  Player 0 alone may bet on the flop, so the agent bets from one seat and answers bets from the other.
  """
  game = pyspiel.load_game("holdem(deck=3x3,stack=6,blinds=2/1,bets=x/1|x;x/x/x)")
  agent, opponent = ByHand(game, 1), ByHand(game, 2)
  rng = np.random.default_rng(0)
  noise = 50 * rng.standard_normal((997, len(cards.ALL_HANDS)))

  def wrong(state, player):
    actions = {*state.legal_actions(), *range(len(game.deck))}
    return {action: noise[hash((*state.history()[4:], action)) % len(noise)] for action in actions}

  guesses = 50 * rng.standard_normal(len(cards.ALL_HANDS))
  known_to = opponent if known else None
  estimate = aivat.OverHands(game, game, lambda s, i, _: wrong(s, i), agent, seat, known_to, guesses)
  theirs = 5
  low, high = (int(place) for place in list(itertools.combinations(range(len(game.deck)), 2))[theirs])
  hands = [hand for hand in itertools.combinations(range(len(game.deck)), 2) if not {*hand} & {low, high}]
  total = np.zeros(3)  # probability, utility, estimate

  def start(hand):
    state = game.new_initial_state()
    for action in [*hand, low, high] if seat == 0 else [low, high, *hand]:
      state.apply_action(action)
    return state

  def visit(states):
    """`states` are pairs (state, probability), one for each hand of the agent, after the same events."""
    state, _ = states[0]
    if state.is_terminal():
      odds = sum(p for _, p in states)
      record = aivat.Game(state.history(), (), np.nan)  # no hand's own chips count
      utility = sum(p * at.returns()[seat] for at, p in states)
      total[:] += odds, utility, odds * estimate(record)
      return
    after = {}
    for at, p in states:
      mover = at.current_player()
      odds = at.chance_outcomes() if mover < 0 else (agent if mover == seat else opponent)(at).items()
      for action, chance in odds:
        after.setdefault(action, []).append((at, p * chance))
    for action, following in after.items():
      if len(after) > 1:
        following = [(at.child(action), p) for at, p in following]
      else:  # nothing branches here: without copies
        for at, _ in following:
          at.apply_action(action)
      visit(following)

  visit([(start(hand), 1 / len(hands)) for hand in hands])
  assert total[0] == pytest.approx(1)
  dealt = [set_numbers(np.array([hand])) for hand in itertools.combinations(game.deck, 2)]
  luck = guesses[set_numbers(np.array([game.deck[low], game.deck[high]]))] - np.mean(guesses[dealt])
  assert total[2] == pytest.approx(total[1] - luck, abs=1e-9)  # over all their hands this luck is 0


@pytest.mark.parametrize("seat", [0, 1])
def test_guesses_by_the_play_of_both_are_exact_on_the_last_street(seat):
  """Hand by hand against an enumeration; hands that share a card with the other's have any guess."""
  game = pyspiel.load_game("holdem(deck=3x3,stack=8,blinds=2/1,bets=x/x/x/1)")
  pair = ByHand(game, 1), ByHand(game, 2)
  guess = StreetGuesses(game, pair)

  def right(state):
    if state.is_terminal():
      return state.returns()[seat]
    odds = pair[state.current_player()].action_probabilities(state)
    return sum(chance * right(state.child(action)) for action, chance in odds.items())

  def dealt(hand):
    state, free = game.new_initial_state(), iter(set(range(9)) - {2, 3, *hand})
    for action in [*hand, 2, 3] if seat == 0 else [2, 3, *hand]:
      state.apply_action(action)
    while state.current_player() < 0 or state.public_state.street < 3:
      state.apply_action(1 if state.current_player() >= 0 else next(free))
    return state

  for hand in ((0, 1), (0, 8), (1, 8)):
    state, h = dealt(hand), set_numbers(np.array([game.deck[place] for place in hand]))
    found = guess(state, seat, state.legal_actions())
    assert [*found] == state.legal_actions()
    for action, worth in found.items():
      assert worth[h] == pytest.approx(right(state.child(action)), abs=1e-5)
  of_deals = guess.of_deals(game, seat)
  best, worst = (set_numbers(np.array(cards.parse_cards(hand))) for hand in ("4d4c", "3d2c"))
  assert of_deals[best] < of_deals[worst]


def test_a_search_is_asked_once():
  """An estimate that follows each game at once costs no further search."""
  game = pyspiel.load_game("holdem(deck=6x2,stack=20,blinds=2/1)")
  count = []
  for known in (False, True):
    policy = HoldemPolicy(game, openspiel_policy.UniformRandomPolicy(game), "a", iterations=1)
    found = matches.match(
      game,
      functools.partial(policy.bot, seed=3),
      matches.player("always_call"),
      4,
      seed=1,
      agent=policy if known else None,
    )
    assert found.method == ("aivat" if known else "chips")
    count.append(len(policy.seconds))
  assert count[0] == count[1] > 0


def test_hold_em_is_not_compiled():
  """The game's own guesses: an all-in keeps its equity, and after a river nothing is left to guess."""
  game = pyspiel.load_game("holdem(stack=1000)")
  records = matches.play_games(game, matches.player("all_in"), matches.player("always_call", 1), 30, seed=2)
  chips, less = (evaluate_match(game, records, method=method) for method in ("chips", "mivat"))
  assert less.standard_error < 0.6 * chips.standard_error
  aivat_ = evaluate_match(game, records, matches.Habit("all_in"))
  assert aivat_.method == "aivat" and aivat_.standard_error < 0.6 * chips.standard_error
  zeros = {"values": lambda state: dict.fromkeys(state.legal_actions(), 0.0)}
  nothing = evaluate_match(game, records, method="mivat", **zeros)
  assert nothing.values.tolist() == chips.values.tolist()
  with pytest.raises(ValueError, match="method='imaginary' needs a compiled game"):
    evaluate_match(game, records, matches.Habit("all_in"), method="imaginary")
  with pytest.raises(TypeError, match="values must be a function of a state"):
    evaluate_match(game, records, values=3, method="mivat")
  with pytest.raises(TypeError, match=r"values must be a function of a state of holdem\(.*, got Habit"):
    evaluate_match(game, records, values=matches.Habit("all_in"), method="mivat")
  with pytest.raises(ValueError, match="method='aivat' needs the agent's policy"):
    evaluate_match(game, records, method="aivat")
  with pytest.raises(ValueError, match="the agent's policy never plays so"):
    evaluate_match(game, records, matches.Habit("fold"))


def test_rivers_by_sampling():
  name = "river_subgame(ranges=QQ TT 76s;JJ TT 87s)"
  game, policy = load(name)[0], drawn(name, 6)
  games = matches.play_games(game, matches.player(policy, 1), matches.player(policy, 2), 300, seed=3)
  chips = evaluate_match(game, games)
  for method in ("imaginary", "aivat"):
    result = evaluate_match(game, games, policy, method=method)
    assert abs(result.mean) < 4 * result.standard_error + 1e-9  # both have the same seats equally often
    assert result.standard_error < chips.standard_error
    assert result.score == chips.score
  with pytest.raises(ValueError, match="'mivat' needs values of single histories"):
    evaluate_match(game, games, policy, method="mivat")


def test_mirrored_games_share_their_deals():
  game, _ = load(LEDUC)
  policy = drawn(LEDUC, 1)
  games = matches.play_games(
    game, matches.player(policy, 1), matches.player(policy, 2), 20, seed=4, mirrored=True
  )
  assert [g.deal for g in games] == [n // 2 for n in range(20)]
  assert [g.seat for g in games] == [n % 2 for n in range(20)]
  assert all(a.actions[:2] == b.actions[:2] for a, b in zip(games[::2], games[1::2], strict=True))
  assert len({g.actions[:2] for g in games}) > 4
  again = matches.play_games(
    game, matches.player(policy, 1), matches.player(policy, 2), 20, seed=4, mirrored=True
  )
  assert again == games


def test_guesses_of_many_bets_ask_no_policy():
  """A game with every size has hundreds of bets, each of which would be followed to the end of the street."""
  game = pyspiel.load_game("holdem(stack=1000,bets=fullgame)")
  state = game.new_initial_state()
  for card in range(4):
    state.apply_action(card)
  guesses = StreetGuesses(game, (None, None))(state, 0, state.legal_actions())
  assert guesses.keys() == {*state.legal_actions()}
  for action, expected in game.guess_for_hands(state, 0).items():
    np.testing.assert_array_equal(guesses[action], expected)


def test_a_policy_asked_hand_by_hand_is_asked_along_the_game_alone():
  class Counted(openspiel_policy.UniformRandomPolicy):
    asked = 0

    def action_probabilities(self, state, player_id=None):
      self.asked += 1
      return super().action_probabilities(state, player_id)

  game = pyspiel.load_game("holdem(deck=3x3,stack=6,blinds=2/1)")
  policy = Counted(game)
  records = matches.play_games(game, matches.player("random"), matches.player("random", 1), 4, seed=2)
  assert evaluate_match(game, records, policy).method == "aivat"
  decisions = sum(len(record.actions) - 4 for record in records)
  assert 0 < policy.asked <= decisions * 36  # hands of the deck


def test_mirrored_games_lose_no_chips_to_an_estimate():
  """Two players of one move each: chips cancel in each deal, and so do estimates beside them."""
  game = pyspiel.load_game("holdem(deck=6x2,stack=20,blinds=2/1)")
  pair = [matches.Habit(habit) for habit in ("all_in", "always_call")]
  both = [matches.player(policy, seed) for seed, policy in enumerate(pair)]
  for mirrored in (False, True):
    records = matches.play_games(game, *both, 24, seed=3, mirrored=mirrored)
    error = evaluate_match(game, records, pair[0]).standard_error
    assert error == pytest.approx(0, abs=1e-9) if mirrored else error > 0.1
  rng, deals = np.random.default_rng(0), np.repeat(np.arange(200), 2)
  estimates, chips = rng.standard_normal((2, 400))
  mixed = mixed_with_chips(estimates, chips, deals)
  alone = [standard_error(x, deals) for x in (estimates, chips, mixed)]
  assert alone[2] < min(alone[:2])
  means = []
  for _ in range(400):  # weights of other deals keep the mean, here 0, of few games
    values = rng.standard_exponential((2, 24)) - 1
    means.append(mixed_with_chips(*values, deals[:24]).mean())
  assert abs(np.mean(means)) < 4 * np.std(means) / 20
  few = rng.standard_normal((2, 8))
  np.testing.assert_array_equal(mixed_with_chips(*few, deals[:8]), few[0])  # too few to choose a share by
  twice = mixed_with_chips(-few[0].repeat(5), few[0].repeat(5), np.arange(40))  # half of each is never noisy
  np.testing.assert_allclose(twice, 0, atol=1e-12)


def test_standard_errors():
  values = [1.0, 4.0, 2.0, -3.0]
  assert standard_error(values, range(4)) == pytest.approx(np.std(values, ddof=1) / 2)
  pairs = [2.5, -0.5]
  assert standard_error(values, [0, 0, 1, 1]) == pytest.approx(np.std(pairs, ddof=1) / np.sqrt(2))
  assert np.isnan(standard_error([1.0, 2.0], [0, 0]))
  deals = (
    MatchResult.of(values, values, [7, 7, 8, 8], "chips"),
    MatchResult.of(values, values, [None] * 4, ""),
  )
  assert [found.standard_error for found in deals] == [
    standard_error(values, x) for x in ([0, 0, 1, 1], range(4))
  ]
  alone = MatchResult.of([1.5], [1.5], [None], "chips")
  assert str(alone).endswith("of 1 games; 1.5 a game") and alone.interval("mbb", ",.0f", scale=10) == "15 mbb"


def test_in_words():
  game, _ = load("kuhn_poker")
  games = [Played(0, (2, 1, 0, 0)), Played(1, (2, 1, 1, 1)), Played(0, (1, 2, 1, 0))]
  result = evaluate_match(game, games)
  assert result.values.tolist() == [1, -2, 1] and result.mean == 0
  assert str(result) == (
    "won 66.7% (95% interval 20.8% to 93.9%), drew 0.0%, lost 33.3% of 3 games; 0 ± 2 a game (95% interval)"
  )


@pytest.mark.parametrize(
  ("games", "options", "message"),
  [
    ([], {}, "There are no games to evaluate"),
    ([Played(0, (2, 1, 0))], {}, r"Game 0 \(\[2, 1, 0\]\): it is not over"),
    ([Played(0, (2, 1, 7))], {}, "7 is not legal after"),
    ([Played(2, (2, 1, 0, 0))], {}, "player must be 0 or 1, got 2"),
    ([Played(0, (2, 1, 0, 0))], {"method": "luck"}, "Unknown method 'luck'"),
    ([Played(0, (2, 1, 0, 0))], {"method": "aivat"}, "method='aivat' needs the agent's policy"),
    ([Played(0, (2, 1, 0, 0))], {"method": ""}, "Unknown method ''"),
    ([(0, (2, 1, 0, 0))], {}, r"Game 0: expected Played\(seat, actions, deal\), got \(0, "),
    ([Played(0, None)], {}, "Game 0: expected Played"),
    ([Played(0, (2, 1, 0, 0), [])], {}, "Game 0: expected Played"),
  ],
)
def test_bad_input(games, options, message):
  with pytest.raises(ValueError, match=message):
    evaluate_match(load("kuhn_poker")[0], games, **options)


def test_an_estimate_without_games_has_no_result():
  with pytest.raises(ValueError, match="There are no games to evaluate"):
    matches.MatchEstimate(load("kuhn_poker")[0]).result()


def test_a_game_that_the_agent_cannot_have_played():
  game, _ = load("kuhn_poker")
  agent = drawn("kuhn_poker", 3, pure=True)
  possible = {actions for actions, _ in all_games("kuhn_poker", (agent, drawn("kuhn_poker", 1)))}
  first = next(iter(possible))[:2]
  played = [a for a, _ in all_games("kuhn_poker", (drawn("kuhn_poker", 2), drawn("kuhn_poker", 1)))]
  refused = 0
  for actions in played:
    try:
      evaluate_match(game, [Played(0, actions)], agent)
    except ValueError as error:
      refused += "the agent's policy never plays so" in str(error)
  assert refused > 0, first
  with pytest.raises(TypeError, match="values must be a policy, or for 'aivat' a function, got int"):
    evaluate_match(game, [Played(0, played[0])], agent, values=3)
  for wrong in (np.nan, np.inf, 1e308, None, "x", [1.0]):
    with pytest.raises(ValueError, match=r"values must give numbers up to 1e\+30; values\(1, '"):
      evaluate_match(game, [Played(0, played[0])], agent, values=lambda *_, wrong=wrong: wrong)
  with pytest.raises(TypeError, match=r"game must be a pyspiel.Game, got NoneType"):
    evaluate_match(None, [Played(0, played[0])])
