"""The bot that searches from particles, without depth and with it.

Without depth it is a better player than its policy; with depth and all histories it searches as in a compiled
game; weights, whole games, errors.
"""

import functools
import itertools

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import expected_game_score
from open_spiel.python.algorithms.exploitability import exploitability

import ps_cfr_spiel
from ps_cfr_spiel import KeyedMCCFRSolver, matches
from ps_cfr_spiel.compilation.histories import grow, moves_beyond
from ps_cfr_spiel.matches import ParticleBot
from ps_cfr_spiel.policy import strategies_of
from ps_cfr_spiel.resolving.search import Search, Searcher, SearchSettings
from ps_cfr_spiel.resolving.subgames import KnownSubgames
from ps_cfr_spiel.sampling.keyed import OpenSpielStates, Particles

CHEAT = "cheat(ranks=3,suits=2,hand_size=2,max_turns=4)"


def bot_of(game, policy, **options):
  """A player of matches."""
  return lambda seat: ParticleBot(game, seat, policy, seed=seat, **options)


def test_on_top_of_a_policy_it_wins():
  game = pyspiel.load_game(CHEAT)
  solver = KeyedMCCFRSolver(game, batch=64, seed=1)
  solver.run(3)
  policy = solver.average_policy()
  result = matches.match(game, bot_of(game, policy, rollouts=200), matches.player(policy, 1), 300)
  assert result.mean > 3 * result.standard_error


def test_in_a_game_of_hidden_moves_it_wins():
  game = pyspiel.load_game("phantom_ttt")
  uniform = openspiel_policy.UniformRandomPolicy(game)
  result = matches.match(
    game, bot_of(game, uniform, rollouts=90, particles=50), matches.player("random"), games=20
  )
  assert result.score.wins > 2 * result.score.losses


def test_a_seed_repeats_its_choices():
  game = pyspiel.load_game("kuhn_poker")
  uniform, state = openspiel_policy.UniformRandomPolicy(game), game.new_initial_state()
  for action in (1, 0):
    state.apply_action(action)
  bots = [ParticleBot(game, 0, uniform, rollouts=7, seed=seed) for seed in (5, 5, 6)]
  values = [bot.step(state) and bot.values(state, state.legal_actions())[0].tolist() for bot in bots]
  assert values[0] == values[1]


def tried(game, policy, rollouts, **options):
  """The policy that the bot plays, at all infostates."""
  found = openspiel_policy.TabularPolicy(game)
  for player in (0, 1):
    bot = ParticleBot(game, player, policy, rollouts=rollouts, tremble=1e-6, **options)
    for state in (state for state in found.states if state.current_player() == player):
      for action, share in bot.get_policy(state):
        found.policy_for_key(state.information_state_string(player))[action] = share
  return found


def test_a_step_of_mirror_descent():
  """A step is less exploitable than the policy, and than the best answer to it.

  At an equilibrium all actions that are played are worth the same: a step stays there, the best answer by
  estimates does not.
  """
  game = pyspiel.load_game("kuhn_poker")
  solver = ps_cfr_spiel.PSCFRSolver(game)
  solver.run(2000)
  for policy, step, best in (
    (openspiel_policy.UniformRandomPolicy(game), 0.28, 0.31),  # itself 0.46
    (solver.average_policy(), 0.03, 0.1),
  ):
    assert exploitability(game, tried(game, policy, 4000, temperature=1)) < step
    assert exploitability(game, tried(game, policy, 4000)) > best


def test_the_strategy_is_the_policy_times_exponentials_of_values():
  """The queen that hears a pass, against uniform play: 0 after a pass, 1 / 2 after a bet."""
  game = pyspiel.load_game("kuhn_poker")
  state, policy = game.new_initial_state(), openspiel_policy.TabularPolicy(game)
  for action in (0, 1, 0):
    state.apply_action(action)
  policy.policy_for_key(state.information_state_string(1))[:] = 0.8, 0.2
  bot = ParticleBot(game, 1, policy, rollouts=40_000, temperature=0.5)
  first, second = (share for _, share in bot.get_policy(state))
  assert second / first == pytest.approx(0.2 / 0.8 * np.exp(0.5 / 0.5), rel=0.1)


@pytest.mark.parametrize("key", ["observation", "memory"])
def test_the_searching_response_is_near_the_best(key):
  """Never above the mean of both seats' best responses, by OpenSpiel, but for the noise of the games."""
  game = pyspiel.load_game("cheat(ranks=2,suits=2,hand_size=2,max_turns=3)")
  solver = KeyedMCCFRSolver(game, batch=16, seed=1, key=key)
  solver.run(1)
  policy = solver.average_policy()
  best = exploitability(game, policy)
  result = ps_cfr_spiel.matches.search_response(game, policy, games=200, rollouts=100)
  assert 0.75 * best - 3 * result.standard_error < result.mean < best + 3 * result.standard_error
  assert best > 5 * result.standard_error


def test_without_particles_it_says_so_and_plays_the_policy():
  """The policy never bets with the jack, but the opponent has bet, and no king or queen is left to bet."""
  game = pyspiel.load_game("kuhn_poker")
  policy = openspiel_policy.TabularPolicy(game)
  policy.action_probability_array[:] = [1, 0]  # always passes
  state = game.new_initial_state()
  for action in (2, 0, 0, 1):  # player 0 passes with the king, player 1 bets with the jack
    state.apply_action(action)
  bot = ParticleBot(game, 0, policy, tremble=0.0)
  with pytest.warns(UserWarning, match="No hidden state fits"):
    assert bot.get_policy(state) == [(0, 1.0), (1, 0.0)]
  assert bot.blind == 1
  assert ParticleBot(game, 0, policy, tremble=0.01).get_policy(state) == [
    (0, 0.0),
    (1, 1.0),
  ]  # the king calls


@pytest.mark.parametrize(
  ("options", "message"),
  [
    ({"seconds": 0}, "seconds must be a number above 0"),
    ({"seconds": -1}, "seconds must be a number"),
    ({"rollouts": 0}, "rollouts must be an integer of at least 1"),
    ({"particles": 0}, "particles must be an integer of at least 1"),
    ({"tremble": 2}, "tremble must be a number from 0 to 1"),
    ({"seed": -1}, "seed must be an integer"),
    ({"player": 2}, "has seats 0 to 1"),
    ({"player": "0"}, r"player='0': kuhn_poker\(\) has seats 0 to 1"),
    ({"player": 1.0}, "has seats 0 to 1"),
    ({"temperature": -0.1}, "temperature must be a number"),
  ],
)
def test_mistakes_without_depth(options, message):
  game = pyspiel.load_game("kuhn_poker")
  uniform = openspiel_policy.UniformRandomPolicy(game)
  with pytest.raises(ValueError, match=message):
    ParticleBot(game, **{"player": 0, "policy": uniform, **options})


def test_a_policy_of_another_game():
  game, other = pyspiel.load_game("kuhn_poker"), pyspiel.load_game("leduc_poker")
  with pytest.raises(ValueError, match="The policy is for leduc_poker"):
    ParticleBot(game, 0, openspiel_policy.UniformRandomPolicy(other))


def test_a_game_with_moves_at_the_same_time():
  game = pyspiel.load_game("goofspiel(num_cards=3)")
  with pytest.raises(ValueError, match="one after the other"):
    ParticleBot(game, 0, openspiel_policy.UniformRandomPolicy(game))


def test_a_limit_of_time_without_depth():
  """With next to no time every action is still tried once in each round."""
  game = pyspiel.load_game("leduc_poker")
  state = game.new_initial_state()
  for action in (0, 3):
    state.apply_action(action)
  bot = ParticleBot(game, 0, openspiel_policy.UniformRandomPolicy(game), seconds=1e-9)
  assert np.isclose(sum(p for _, p in bot.get_policy(state)), 1)


HEX = "dark_hex(board_size=2,gameversion=adh)"
GOOFSPIEL = "turn_based_simultaneous_game(game=goofspiel(num_cards=3,imp_info=True,points_order=descending))"
ALL = 10**6


@functools.cache
def load(name):
  """A game, a policy without zeros, and one state of each infostate."""
  game, rng = pyspiel.load_game(name), np.random.default_rng(1)
  policy = openspiel_policy.TabularPolicy(game)
  drawn = rng.gamma(1, 1, policy.action_probability_array.shape) * policy.legal_actions_mask
  policy.action_probability_array[:] = drawn / drawn.sum(1, keepdims=True)
  return game, policy, list(policy.states)


def searched(name, gadget, iterations):
  """A function (state, player) -> the strategy there of the compiled game's searches on the way to it."""
  game, policy, _ = load(name)
  subgames = KnownSubgames.of(game, 1)
  settings = SearchSettings(iterations=iterations, gadget=gadget, knowledge=1, keep=False)
  searcher = Searcher(subgames, settings)
  strategies = strategies_of(subgames.tree, policy)
  first, second = ([np.where(x.sum(0) > 0, x, 1 / len(x)) for x in own] for own in strategies)

  def at(state, player):
    decision, _ = subgames.labels.decision_at(state, player)
    last, start = Search(player, np.inf, (first, second), (), {}, 0.0), (first, second)
    for place in subgames.above(searcher.problems.place(decision)):
      if len(subgames.labels.decisions[place].legal_actions) > 1:
        last = searcher.resolve(last, [place])
        own = [
          table if i == player else before
          for i, (table, before) in enumerate(zip(last.tables, start, strict=True))
        ]
        last = last._replace(tables=tuple(own))
    table = last.tables[player][decision.block]
    return dict(zip(decision.legal_actions, table[:, decision.row, 0], strict=True))

  return at


def check_searches(name, gadget):
  """Nothing is compiled but the histories around the decision, and the strategy is the same."""
  game, policy, states = load(name)
  compiled = searched(name, gadget, 20)
  bots = [
    ParticleBot(game, i, policy, depth=None, iterations=20, histories=ALL, gadget=gadget, tremble=0.0)
    for i in (0, 1)
  ]
  several = [state for state in states if len(state.legal_actions()) > 1 and len(state.history()) > 3]
  for state in several[:: max(len(several) // 3, 1)]:
    player = state.current_player()
    found = bots[player].probabilities(state)
    assert found == pytest.approx(compiled(state, player), abs=2e-4)


def test_the_second_search_in_kuhn_poker_is_that_of_the_compiled_game():
  check_searches("kuhn_poker", "cfr-d")


@pytest.mark.parametrize(
  "name, gadget",
  [
    ("leduc_poker", "max-margin"), (GOOFSPIEL, "cfr-d"), (HEX, "cfr-d"),
  ],
)  # fmt: skip
def test_with_all_histories_a_search_is_that_of_the_compiled_game(name, gadget):
  check_searches(name, gadget)


def histories(game, policy, player):
  """All histories by plain recursion: (state, probability by chance and the player)."""

  def below(state, weight):
    yield state, weight
    if state.is_terminal():
      return
    if state.is_chance_node():
      moves = state.chance_outcomes()
    elif state.current_player() == player:
      moves = policy.action_probabilities(state).items()
    else:
      moves = [(action, 1.0) for action in state.legal_actions()]
    for action, share in moves:
      yield from below(state.child(action), weight * share)

  return below(game.new_initial_state(), 1.0)


@pytest.mark.parametrize("name", ["kuhn_poker", HEX])
def test_weights_are_those_of_an_enumeration(name):
  """Particles of either player, their sum, and `weight`, for every infostate."""
  game, policy, states = load(name)
  form = OpenSpielStates(game, policy)
  for player in (0, 1):
    known = {}
    for now, weight in histories(game, policy, 1 - player):
      if now.current_player() == player:
        known.setdefault(now.information_state_string(player), {})[tuple(now.history())] = weight
    for state in states:
      if state.current_player() == player:
        particles = Particles(form, player, ALL)
        particles.follow(state)
        found = zip(particles.hidden, particles.weights * particles.total, strict=True)
        found = {tuple(now.history()): weight for now, weight in found}
        expected = known[state.information_state_string(player)]
        assert found == pytest.approx(expected)
        assert form.weight(state, player) == pytest.approx(expected[tuple(state.history())])


@pytest.mark.parametrize("name, few", [("leduc_poker", 12), ("dark_hex(board_size=2)", 6)])
def test_a_search_begins_in_all_histories_that_touch(name, few):
  """With all histories every weight is 1; with few the sum of chance, weighted, is right on average."""
  game, policy, states = load(name)
  state = [state for state in states if len(state.history()) > 3][7]
  player = state.current_player()
  everything = ParticleBot(game, player, policy, 2, histories=ALL, tremble=0.0).roots(state)
  assert set(np.round(list(everything.values()), 9)) == {1}
  form, sums = OpenSpielStates(game, policy), []
  weight = {}
  for path in everything:
    now = game.new_initial_state()
    for action in path:
      now.apply_action(action)
    weight[path] = form.weight(now, 1 - player)
  opponents = {now.information_state_string(1 - player) for now, _ in _ends(game, everything)}
  for seed in range(100):
    some = ParticleBot(game, player, policy, 2, histories=few, tremble=0.0, seed=seed).roots(state)
    assert some.keys() <= everything.keys()
    if len({now.information_state_string(1 - player) for now, _ in _ends(game, some)}) == len(opponents):
      sums.append(sum(factor * weight[path] for path, factor in some.items()))
  mean, error = np.mean(sums), np.std(sums) / np.sqrt(len(sums))
  assert abs(mean - sum(weight.values())) < 4 * error + 1e-9


def _ends(game, paths):
  for path in paths:
    now = game.new_initial_state()
    for action in path:
      now.apply_action(action)
    yield now, path


def test_exact_values_at_the_ends_leave_the_promises_as_they_are():
  """Of the blueprint's own values every move counts, and the search plays a best move against it."""
  game, policy, _ = load("dark_hex(board_size=2)")

  def values(states):
    return [expected_game_score.policy_value(state, [policy] * 2)[0] for state in states]

  state = game.new_initial_state()
  bot = ParticleBot(game, 0, policy, 1, iterations=50, values=values, tremble=0.0)
  best = max(state.legal_actions(), key=lambda action: values([state.child(action)])[0])
  assert bot.probabilities(state)[best] > 0.95


@pytest.mark.parametrize(
  "name", ["phantom_ttt", "dark_hex(board_size=3)", "dark_hex(board_size=3,gameversion=adh)"]
)
def test_whole_games_are_played(name):
  """Every move is legal, some searches are as deep as asked, and a seed repeats a game."""
  game = pyspiel.load_game(name)
  found = []
  for _ in range(2):
    state, rng = game.new_initial_state(), np.random.default_rng(3)
    bot = ParticleBot(game, 1, depth=1, iterations=4, histories=8, rollouts=1, seed=2)
    while not state.is_terminal():
      mine = state.current_player() == 1
      action = bot.step(state) if mine else int(rng.choice(state.legal_actions()))
      assert action in state.legal_actions()
      state.apply_action(action)
    found.append(state.history())
    assert bot.sizes
  assert found[0] == found[1]


def test_a_strategy_depends_on_the_infostate_alone():
  """The opponent's try in vain is hidden, so it changes no random number either."""
  game, found = pyspiel.load_game("phantom_ttt"), []
  for actions in ((0, 4), (0, 0, 4)):
    state = game.new_initial_state()
    for action in actions:
      state.apply_action(action)
    bot = ParticleBot(game, 0, depth=1, histories=8, rollouts=1, iterations=4)
    found.append((state.information_state_string(0), bot.probabilities(state)))
  assert found[0] == found[1]


def test_a_search_goes_on_from_the_ones_before():
  """They are made unasked, and every question has one answer."""
  game = pyspiel.load_game("phantom_ttt")
  states = [game.new_initial_state()]
  states.append(states[0].child(0).child(4))
  asked, fresh = (ParticleBot(game, 0, depth=1, histories=8, rollouts=1, iterations=4) for _ in range(2))
  found = [asked.probabilities(state) for state in states]
  assert fresh.probabilities(states[1]) == found[1]
  assert [asked.probabilities(state) for state in states] == found
  assert len(asked.sizes) == len(fresh.sizes) == 2


def test_a_history_that_left_the_way_ends_after_the_depth():
  """Tries that the player did not make are followed for one move, not as far as the decision."""
  game = pyspiel.load_game("phantom_ttt")
  state, form = game.new_initial_state(), OpenSpielStates(game, openspiel_policy.UniformRandomPolicy(game))
  for action in (0, 0, 4, 4):  # both players' second tries of a cell are in vain
    state.apply_action(action)
  player = state.current_player()
  bot = ParticleBot(game, player, depth=1, histories=8, rollouts=1, iterations=1)
  roots = bot.roots(state)
  seen = form.seen(state, player)
  way = [(at[1], did[1]) for at, did in zip(seen[1:-1:2], seen[2::2], strict=True)]
  grown, ends, _ = grow(game, roots, moves_beyond(game, player, way, 1))
  kept = {path[:length] for path in roots for length in range(len(path) + 1)}
  assert len(ends) > len(roots)
  for end in ends:
    path = tuple(grown.path(end))
    now, done, beyond, inside = game.new_initial_state(), [], 0, False
    for number, action in enumerate(path):
      inside |= path[:number] in roots
      beyond += inside and path[:number] not in kept and (done != way[: len(done)] or len(done) == len(way))
      if now.current_player() == player and len(done) < len(way):
        done.append((now.information_state_string(player), action))
      now.apply_action(action)
    assert beyond <= 1


def test_strings_that_the_end_of_the_game_shows_early():
  """In dark hex a player's string at an end may be that of a decision with another past."""
  game = pyspiel.load_game("dark_hex(board_size=3)")
  state = game.new_initial_state()
  for action in (7, 6, 0, 5, 4, 4, 7):
    state.apply_action(action)
  bot = ParticleBot(game, 1, depth=2, iterations=2, rollouts=1, seed=11)
  assert sum(bot.probabilities(state).values()) == pytest.approx(1)


def test_a_game_of_observations():
  """Dark chess has no strings of infostates: players remember what they have seen and done."""
  game = pyspiel.load_game("dark_chess(board_size=4)")
  state = game.new_initial_state()
  bot = ParticleBot(game, 0, depth=1, iterations=4, histories=4, values=lambda states: np.zeros(len(states)))
  for number in itertools.count():
    if state.is_terminal() or number == 5:
      break
    own = state.current_player() == 0
    state.apply_action(bot.step(state) if own else state.legal_actions()[0])
  assert bot.sizes


def test_a_limit_of_time():
  game, policy, states = load("kuhn_poker")
  bot = ParticleBot(game, 0, policy, 2, seconds=1e-9)
  state = next(state for state in states if state.current_player() == 0)
  assert sum(bot.probabilities(state).values()) == pytest.approx(1)


@pytest.mark.parametrize(
  "options, message",
  [
    ({"depth": -1}, "depth must be an integer of at least 0, got -1"),
    ({"depth": 0, "iterations": 5, "gadget": "cfr-d"}, "iterations, gadget: for searches that solve a game"),
    ({"temperature": 1}, "temperature=1 is for searches without depth; give depth=0"),
    ({"iterations": 0}, "iterations must be an integer of at least 1, got 0"),
    ({"seconds": 0}, "seconds must be a number above 0"),
    ({"histories": 1}, "histories must be an integer of at least 2, got 1"),
    ({"gadget": "safe"}, "Unknown gadget 'safe'; choose one of 'unsafe'"),
    ({"tremble": 2}, "tremble must be a number from 0 to 1"),
    ({"player": 2}, "has seats 0 to 1"),
    ({"values": 3}, "values must be a function of a list of states, got 3"),
    ({"policy": "leduc_poker"}, r"The policy is for leduc_poker\(\), not for kuhn_poker"),
  ],
)
def test_mistakes(options, message):
  if "policy" in options:
    options = {"policy": openspiel_policy.UniformRandomPolicy(pyspiel.load_game(options["policy"]))}
  with pytest.raises(ValueError, match=message):
    ParticleBot(pyspiel.load_game("kuhn_poker"), **{"player": 0, "depth": 2, **options})


@pytest.mark.parametrize("name", ["kuhn_poker(players=3)", "goofspiel(num_cards=3)"])
def test_games_that_it_cannot_search(name):
  with pytest.raises(ValueError, match=r"two players|one after the other"):
    ParticleBot(pyspiel.load_game(name), 0, depth=2)


def test_wrong_values():
  game = pyspiel.load_game("dark_hex(board_size=2)")
  bot = ParticleBot(game, 0, depth=1, values=lambda states: [np.nan] * len(states))
  with pytest.raises(ValueError, match="values must give 4 finite numbers"):
    bot.step(game.new_initial_state())


def test_an_infostate_that_no_history_reaches():
  """A policy that never bets, and an opponent who has bet: the blueprint moves, and the bot says so."""
  game = pyspiel.load_game("kuhn_poker")
  policy = openspiel_policy.TabularPolicy(game)
  policy.action_probability_array[:] = [1, 0]
  state = game.new_initial_state()
  for action in (2, 0, 0, 1):
    state.apply_action(action)
  bot = ParticleBot(game, 0, policy, 2, tremble=0.0)
  with pytest.warns(UserWarning, match="No hidden state fits"):
    assert bot.probabilities(state) == {0: 1.0, 1: 0.0}
  assert sum(ParticleBot(game, 0, policy, 2).probabilities(state).values()) == pytest.approx(1)
