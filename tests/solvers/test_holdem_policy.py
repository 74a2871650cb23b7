"""The agent for the whole of hold'em: its ranges by hand, its searches by the solver, and its manners."""

import itertools
import zlib

import jax
import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms.best_response import BestResponsePolicy
from reference_subgames import Game, profile_of, resolving_programs

import ps_cfr_spiel
from ps_cfr_spiel import matches
from ps_cfr_spiel.abstractions import HierarchicalMCCFRSolver
from ps_cfr_spiel.batches import solve_batch
from ps_cfr_spiel.cards.notation import sizes_text
from ps_cfr_spiel.cards.poker import Situation, cards, compatible, range_text, set_numbers, strengths
from ps_cfr_spiel.learning import BoardFeatures, Examples, NetworkValues, pretrained
from ps_cfr_spiel.learning.boards import board_features, flop_leaves, street_leaves
from ps_cfr_spiel.learning.boards.board_features import CHECKED
from ps_cfr_spiel.learning.boards.street_leaves import StreetLeaves
from ps_cfr_spiel.policy import Translation, WrappedPolicy, for_boards, for_hands
from ps_cfr_spiel.policy.hand_states import dealt_again
from ps_cfr_spiel.resolving.search import Problem, Search, SearchSettings, SubgameSolver, responses
from ps_cfr_spiel.solvers.agents import holdem_policy
from ps_cfr_spiel.solvers.agents.public_hand import PublicHand

SMALL = "holdem(stack=2000)"


class Pairs(openspiel_policy.Policy):
  """Raises the pot with pairs, at odds of nine to one against a call, and calls with all else."""

  def action_probabilities(self, state, player_id=None):
    hole = state.hole(state.current_player())
    if hole[0] // 4 == hole[1] // 4 and 2 in state.legal_actions():
      return {1: 0.1, 2: 0.9}
    return {1: 1.0}

  def for_hands_at(self, state):
    pairs = (cards.ALL_HANDS[:, 0] // 4 == cards.ALL_HANDS[:, 1] // 4) & (2 in state.legal_actions())
    return {1: np.where(pairs, 0.1, 1.0), 2: np.where(pairs, 0.9, 0.0)}


def play(game, *moves):
  """The state after moves in words; cards are joined."""
  state = game.new_initial_state()
  for move in moves:
    dealt = cards.parse_cards(move) if state.is_chance_node() else ()
    for action in map(game.deck.index, dealt) if dealt else [state.string_to_action(move)]:
      state.apply_action(action)
  return state


def no_boards(size):
  """No examples, of boards of a size, for values that know nothing."""
  empty = (np.zeros((1, 1326), np.float32),) * 2
  inputs = {"board": np.zeros((0, size)), "ratio": np.zeros(0), **dict(zip(CHECKED, empty, strict=True))}
  return Examples({}, BoardFeatures(size), inputs, empty, empty, np.zeros(0))


def uniform():
  return openspiel_policy.UniformRandomPolicy(pyspiel.load_game(SMALL))


OPTIMIZED = {"xla_backend_optimization_level": 3, "xla_llvm_disable_expensive_passes": False}


@pytest.fixture(scope="module", autouse=True)
def tables_once():
  """The tables of a flop are made once for all searches, by optimized code: else they take 4 s each."""
  make, made = board_features.street_tables, {}
  program = jax.jit(street_leaves._tables_on.__wrapped__, compiler_options=OPTIMIZED)

  def once(boards, hands):
    key = boards.tobytes(), hands.tobytes(), jax.config.jax_enable_x64
    if key not in made:
      made[key] = make(boards, hands)
    return made[key]

  with pytest.MonkeyPatch.context() as patch:
    patch.setattr(board_features, "street_tables", once)
    patch.setattr(street_leaves, "_tables_on", program)
    yield


def solved(bets, hand, line):
  """The strategy of a hand on a turn by the solver."""
  given = {"board": "9s7c5s4h", "pot": 600, "stack": 1000, "bets": bets}
  solver = ps_cfr_spiel.PSCFRSolver(pyspiel.load_game("holdem_subgame", given))
  solver.run(10)
  game = solver.game
  player = game.public_states[game.line_numbers[line]].player
  return solver.average_policy().at(player, game.infostate_string(player, hand, line))


def test_before_the_turn_it_is_the_blueprint():
  game = pyspiel.load_game("holdem(stack=2000,bets=fullgame)")
  agent = ps_cfr_spiel.HoldemPolicy(game, Pairs(pyspiel.load_game(SMALL), [0, 1])).bot(1, 0)
  assert agent.probabilities(play(game, "KsKd", "AsKh")) == {1: 1}
  assert agent.probabilities(play(game, "KsKd", "AsAh")) == {1: 0.1, 300: 0.9}
  # 250 chips, 0.75 pots, are understood as a check with 0.25 / 1.75, which is called, else as 300.
  found = agent.probabilities(play(game, "KsKd", "AsAh", "Call", "Raise to 250"))
  assert found == pytest.approx({1: 1 / 7 + 0.6 / 7, 750: 5.4 / 7})
  assert found == agent.policy.action_probabilities(play(game, "KsKd", "AsAh", "Call", "Raise to 250"))


def test_all_hands_at_once():
  """Each column is the answer for a hand, before the turn and on it; other players' cards do not matter."""
  game = pyspiel.load_game("holdem(stack=1000,bets=fullgame)")
  policy = ps_cfr_spiel.HoldemPolicy(game, Pairs(pyspiel.load_game(SMALL), [0, 1]), "a", iterations=3)
  line = ("Raise to 250", "Call", "9s7c5s", "Check", "Check", "4h", "Bet 200")
  for moves in (line[:1], line[:3], line[:6], line):
    for hand in ("AhQc", "TdTh"):
      states = [
        play(game, *((hand, o) if len(moves) in (1, 3, 6) else (o, hand)), *moves) for o in ("KsKd", "8c8d")
      ]
      found = for_hands(policy, states[0])
      h = int(cards.set_numbers(np.array(cards.parse_cards(hand))))
      column = {action: float(odds[h]) for action, odds in found.items() if odds[h]}
      for state in states:
        assert policy.action_probabilities(state) == pytest.approx(column)
      assert sum(column.values()) == pytest.approx(1)


class Proud(Pairs):
  """The same, and who has raised bets all later streets with anything."""

  def action_probabilities(self, state, player_id=None):
    raised = any(move.player == state.current_player() and move.action == 2 for move in state.full_history())
    return {2: 1.0} if raised and 2 in state.legal_actions() else super().action_probabilities(state)


def test_a_move_that_some_hands_never_make_is_understood_for_these_alone():
  """Kings raise the pot, which here may be half of it; ace and king never do, so theirs may mean a call."""
  game = pyspiel.load_game("holdem(stack=2000,bets=0.5 2 a)")
  policy = WrappedPolicy(game, Proud(pyspiel.load_game(SMALL), [0, 1]), Translation())
  found = {}
  for hand in ("KsKd", "AhKc"):
    state = play(game, "8c8d", hand, "Raise to 200", "Call", "9s7c5s", "Check")
    found[hand] = policy.action_probabilities(state)
    h = int(cards.set_numbers(np.array(cards.parse_cards(hand))))
    column = {action: float(odds[h]) for action, odds in for_hands(policy, state).items() if odds[h]}
    assert {a: p for a, p in found[hand].items() if p} == pytest.approx(column)
  assert found["AhKc"][1] > 0.3 and found["KsKd"][1] == 0


def test_ranges_by_hand():
  """Bayes' rule for the opponent's raise with pairs and our call, and for both checks on the flop."""
  game = pyspiel.load_game(SMALL)
  agent = ps_cfr_spiel.HoldemPolicy(game, Pairs(game, [0, 1])).bot(0, 0)
  moves = ("AsKh", "QsQd", "Raise to 300", "Call", "QhJd2c", "Check", "Check", "3c")
  own, their = agent.policy.ranges(play(game, *moves))

  def number(text):
    return int(cards.set_numbers(np.array(cards.parse_cards(text))))

  assert their[number("QsQc")] == pytest.approx(0.9 * 0.1)
  assert their[number("AsKs")] == 0  # it never raises
  assert own[number("AsAd")] == pytest.approx(0.1 * 0.1)
  assert own[number("AsKh")] == pytest.approx(1)
  assert own[number("QhKh")] == their[number("JdJh")] == 0  # on the board


def test_the_turn_is_solved():
  """With even ranges a decision is the solver's on the same subgame."""
  game = pyspiel.load_game("holdem(stack=1000,bets=fullgame)")
  options = {"bets": "1 a / a", "iterations": 10, "gadget": "unsafe"}
  agent = ps_cfr_spiel.HoldemPolicy(game, uniform(), **options).bot(1, 0)
  moves = ("KsKd", "AhQc", "Raise to 300", "Call", "9s7c5s", "Check", "Check", "4h")
  found = agent.probabilities(play(game, *moves, "Check"))
  assert list(found.values()) == pytest.approx(list(solved("1 a / a", "AhQc", "x").values()), abs=1e-5)
  assert sorted(found) == [1, 900, 1000]
  assert sorted(agent.probabilities(play(game, *moves, "Bet 137"))) == [0, 1, 1000]


def test_flops_are_solved_with_values_of_turns():
  """A decision there is that of `solve_batch` with the ranges of the blueprint; any bet is answered."""
  game = pyspiel.load_game("holdem(stack=1000,bets=fullgame)")
  values, rivers = (NetworkValues.untrained(no_boards(size), 0, 8, 1) for size in (4, 5))
  agent = ps_cfr_spiel.HoldemPolicy(
    game, Pairs(pyspiel.load_game(SMALL), [0, 1]), "1 a", iterations=3, gadget="unsafe", values=values
  ).bot(1, 0)
  moves = ("KsKd", "AhQc", "Raise to 300", "Call", "9s7c5s")
  state = play(game, *moves, "Check")
  ranges = agent.policy.ranges(state)
  given = {"board": "9s7c5s", "pot": 600, "stack": 700, "bets": "1 a", "ranges": ranges}
  (found,) = solve_batch([given], iterations=3, hands="all", values=values, progress=False)
  assert found.strategies is not None and found.hands is not None
  (h,) = cards.set_numbers(np.array([cards.parse_cards("AhQc")]))
  search, line = agent.policy._on_path(PublicHand.of(state), 1)
  for mine, other in zip(search.tables, found.strategies, strict=True):
    for block, same in zip(mine, other, strict=True):
      np.testing.assert_allclose(block, same, atol=1e-4)
  weights = ranges[0] * compatible(ranges[1])
  best = search.worths(search.place(0), 0, ranges) @ weights / weights.sum()
  assert best == pytest.approx(found.best_response[0], abs=1e-2)
  row = search.row(line)[:, np.searchsorted(found.hands[1], h)]
  odds = agent.probabilities(state)
  assert sorted(odds) == [1, 900, 1000] and list(odds.values()) == pytest.approx(row.tolist())
  for line in (("Bet 137",), ("Bet 137", "Call", "4h", "Check")):
    odds = agent.probabilities(play(game, *moves, *line))
    assert sum(odds.values()) == pytest.approx(1)
  with pytest.raises(ValueError, match="values must be of turns"):
    ps_cfr_spiel.HoldemPolicy(game, uniform(), values=rivers)


def test_a_turn_keeps_the_promises_of_a_flop_search():
  """No hand of the opponent wins much more than the values of turns say; if it believes ranges, some do.

  The values err, so their promises cannot all be kept.
  """
  game = pyspiel.load_game("holdem(stack=1000,bets=fullgame)")
  values = pretrained(game)
  moves = ("KsKd", "AhQc", "Raise to 300", "Call", "9s7c5s", "Check", "Bet 150", "Call", "4h")
  start = play(game, *moves)
  more = {}
  for gadget in ("cfr-d", "unsafe"):
    agent = ps_cfr_spiel.HoldemPolicy(game, uniform(), "a", iterations=100, gadget=gadget, values=values).bot(
      1, 0
    )
    ranges = agent.policy.ranges(start)
    search, line = agent.policy._on_path(PublicHand.of(start), 1)
    promised = values.worths(Situation(cards.parse_board("9s7c5s4h", (4,)), 900, 1000, "", ranges))[0]
    won = search.worths(search.place(line), 0, ranges)
    more[gadget] = (won - promised)[won != 0].max()
  assert 0 < more["cfr-d"] < 0.8 * more["unsafe"] < 0.1 * 900
  lines = ("Check", "Bet 150", "Raise to 300", "Raise to 450", "Raise to 600")  # each a bet that trees lack
  for n in (3, 5):
    state = play(game, *moves[:5], *lines[:n])
    search, line = agent.policy._on_path(PublicHand.of(state), state.current_player())
    assert search.root == line and len(search.betting.children(line)) > 1
    assert sum(agent.policy.action_probabilities(state).values()) == pytest.approx(1)


def test_a_flop_keeps_the_promises_of_the_blueprint():
  """Hands of the opponent win little more than against the blueprint there, with values of turns beyond.

  These values change with the ranges, so the promises are not kept exactly.
  """
  game = pyspiel.load_game("holdem(stack=1000,bets=fullgame)")
  hand = PublicHand.of(play(game, "KsKd", "AhQc", "Raise to 300", "Call", "9s7c5s"))
  more, values = {}, pretrained(game)
  for gadget in ("cfr-d", "unsafe"):
    options = {"iterations": 50, "gadget": gadget, "values": values}
    policy = ps_cfr_spiel.HoldemPolicy(game, Pairs(pyspiel.load_game(SMALL), [0, 1]), "1 a", **options)
    ranges = policy._both(hand)
    before, line = policy._planned(hand), 0
    promised = before.promised(line, hand.board, 0, ranges)
    search, line = policy._on_path(hand, 1)
    won = search.worths(search.place(line), 0, ranges)
    more[gadget] = np.maximum(won - promised, 0)[won != 0].mean()
  assert more["cfr-d"] < 0.01 * 600 and more["cfr-d"] < 0.5 * more["unsafe"]


TURN = ("6d6c", "3d2c", "Call", "Check", "2d4c5d", "Check", "Check", "7c")


@pytest.mark.parametrize("line", [("Check", "Bet 2", "Call", "3c"), ("Bet 3",)], ids=["river", "foreign bet"])
def test_promises_are_kept(line):
  """No hand of the opponent wins more than in the search before, in safe searches alone.

  In an unsafe first search of the turn its best responses are together that of the solver with the ranges.
  """
  game = pyspiel.load_game("holdem(deck=6x2,stack=20,blinds=2/1,bets=fullgame)")
  blueprint = Pairs(pyspiel.load_game("holdem(deck=6x2,stack=20,blinds=2/1)"), [0, 1])
  for gadget in ("cfr-d", "max-margin", "unsafe"):
    policy = ps_cfr_spiel.HoldemPolicy(game, blueprint, "0.5a a / 0.5a a", iterations=400, gadget=gadget)
    state = play(game, *TURN, *line)
    turn, root = policy._on_path(PublicHand.of(play(game, *TURN)), 1)
    ranges = policy.ranges(state)
    if len(line) > 1:
      before = policy._on_path(PublicHand.of(play(game, *TURN, *line[:-1])), 1)
      place = before[0].place(before[0].betting.children(before[1])[0], cards.parse_cards("3c"))
    else:
      before, place = (turn, root), turn.place(root)
    after, line_there = policy._on_path(PublicHand.of(state), 1)
    promised = before[0].worths(place, 0, ranges)
    kept = after.worths(after.place(line_there), 0, ranges) <= promised + 0.02
    assert kept.all() == (gadget != "unsafe")
  ranges = policy.ranges(play(game, *TURN))
  text = ";".join(range_text(range_ / range_.max()) for range_ in ranges)
  given = turn.game.get_parameters() | {"ranges": text}
  solver = ps_cfr_spiel.PSCFRSolver(pyspiel.load_game("holdem_subgame", given))
  # Early regrets that are tied are told apart by rounding, which search and solver do in another
  # order: after 200 iterations values differ by 1.8e-4.
  solver.run(400)
  own, their = solver.game.ranges
  weights = own.weights * (solver.game.disjoint @ their.weights)
  found = turn.worths(0, 0, ranges)[set_numbers(own.cards)]
  assert found @ weights / weights.sum() == pytest.approx(solver.evaluation().best_response[0], abs=1e-4)


@pytest.mark.parametrize(
  "line, bets, around",
  [
    (("Check", "Bet 2", "Call", "3c"), "0.5a a / 0.5a a", {}),
    # 0.75 of the pot; (4.5 - 0.75)(1 + 0.5) / ((4.5 - 0.5)(1 + 0.75)) of the answer is that to 0.5.
    (("Bet 3",), "0.5a a / 0.5a a", {"Bet 2": 45 / 56, "All-in 18": 11 / 56}),
    # 0.5 of the pot; (1 - 0.5) / (1 + 0.5) of the folds to the pot are calls: to a check there is no fold.
    (("Bet 2",), "1 a;a / 1 a;a", {"Bet 4": 2 / 3}),
  ],
  ids=["river", "bet between two", "bet below all"],
)
def test_a_search_begins_with_the_strategy_before(line, bets, around, monkeypatch):
  """After one iteration it is the turn's: on a river, and after a foreign bet a mixture around it.

  What best responses to it win is known by the promises. After such a bet it is a guess, and nothing is kept.
  """
  problems, solve = [], SubgameSolver.solve
  monkeypatch.setattr(SubgameSolver, "solve", lambda self, p, g: problems.append(p) or solve(self, p, g))
  game = pyspiel.load_game("holdem(deck=6x2,stack=20,blinds=2/1,bets=fullgame)")
  blueprint = Pairs(pyspiel.load_game("holdem(deck=6x2,stack=20,blinds=2/1)"), [0, 1])
  policy = ps_cfr_spiel.HoldemPolicy(game, blueprint, bets, iterations=1)
  state = play(game, *TURN, *line)
  player, hand = state.current_player(), PublicHand.of(state)
  search, root = policy._on_path(hand, player)
  moves = [int(search.betting.action[child]) for child in search.betting.children(root)]
  expected = np.zeros(search.row(root).shape)
  for move, share in (around or {None: 1.0}).items():
    before = PublicHand.of(play(game, *TURN, *(line[:-1] if move is None else (move,))))
    turn, place = policy._on_path(before, player)
    if move is None:
      place = turn.betting.children(place)[0]
    (number,) = turn.tree.names.public_states[turn.place(place, hand.board[4:])].decisions
    decision = turn.tree.names.decisions[number]
    answer = turn.tables[player][decision.block][:, decision.row]
    answer = answer[:, np.searchsorted(turn.hands(player), search.hands(player))]
    for action, chances in zip(decision.legal_actions, answer, strict=True):
      expected[moves.index(action) if action in moves else -1] += share * chances  # the only raise
  if around:
    share_of_bets = expected.sum(0)  # by bets; the rest is by a check
    expected /= share_of_bets
    expected[1] += (1 - share_of_bets) * expected[0]
    expected[0] *= share_of_bets
  assert search is not turn and np.ptp(expected, 1).max() > 0.1
  np.testing.assert_allclose(search.row(root), expected, atol=1e-6)
  for p in problems:
    if p.before is not None:
      won = responses(p.subgame, p.last.player, p.ranges, p.last.tables, "float32")
      np.testing.assert_allclose(p.before, won, atol=1e-5)
  assert [p.before is None for p in problems][-1] == bool(around)


def test_an_answer_to_a_bet_that_the_strategy_before_lacks_begins_uniform():
  game = pyspiel.load_game("holdem(deck=6x2,stack=20,blinds=2/1,bets=fullgame)")
  blueprint = Pairs(pyspiel.load_game("holdem(deck=6x2,stack=20,blinds=2/1)"), [0, 1])
  policy = ps_cfr_spiel.HoldemPolicy(game, blueprint, "x / x", iterations=1)
  state = play(game, *TURN, "Bet 2")
  search, root = policy._on_path(PublicHand.of(state), state.current_player())
  assert search.row(root).min() > 0.4  # an answer to a check would never fold
  solved, subgame = tuple(search.tables), search.subgames.cut([search.place(root)])
  folding = tuple(
    [block * 0 + (np.arange(len(block)) == 0)[:, None, None] for block in blocks] for blocks in solved
  )
  ranges = tuple(np.ones((1, forest.types)) for forest in subgame.tree.players)
  solver = SubgameSolver(search.subgames, SearchSettings(dtype="float32"))
  for before, after, kept in ((solved, folding, True), (folding, solved, False)):
    last = Search(state.current_player(), np.inf, before, (), {}, 0.0)
    won = responses(subgame, last.player, ranges, before, "float32")
    problem = Problem(last, subgame, ranges, None, None, np.inf, (), begun=1, before=won)
    average = [subgame.there(i, table) for i, table in enumerate(after)]
    assert (solver._tables(problem, average) is before) == kept


def test_searches_tremble():
  """Each action comes at least as often as the least probability of the last iteration says."""
  game = pyspiel.load_game("holdem(deck=6x2,stack=20,blinds=2/1,bets=fullgame)")
  blueprint = Pairs(pyspiel.load_game("holdem(deck=6x2,stack=20,blinds=2/1)"), [0, 1])
  made = [ps_cfr_spiel.HoldemPolicy(game, blueprint, "a / a", iterations=10, tremble=c) for c in (0, 4)]
  without, with_trembles = (policy.action_probabilities(play(game, *TURN)) for policy in made)
  assert without != with_trembles
  assert min(p for p in with_trembles.values() if p) >= 4 / (holdem_policy.BEGUN + 10)  # of the last one


def test_it_sees_its_own_cards_alone():
  game = pyspiel.load_game("holdem(stack=1000,bets=fullgame)")
  line = ("Raise to 300", "Call", "9s7c5s", "Check", "Check", "4h", "Check", "Bet 200", "Call", "2d", "Check")
  found = []
  for other in ("KsKd", "8c8d"):
    agent = ps_cfr_spiel.HoldemPolicy(game, uniform(), "a", iterations=3).bot(1, 4)
    found.append(agent.probabilities(play(game, other, "AhQc", *line)))
  assert found[0] == found[1]
  assert sum(found[0].values()) == pytest.approx(1)


class MinBet(openspiel_policy.Policy):
  """Makes the least bet or raise wherever there is one."""

  def action_probabilities(self, state, player_id=None):
    legal = state.legal_actions()
    return {min(action for action in legal if action >= min(2, legal[-1])): 1.0}


@pytest.mark.parametrize(("stack", "bets"), [(2000, "fcpa"), (1000, "fullgame")])
def test_it_never_does_anything_illegal(stack, bets):
  """Some hands against odd bets; benchmarks/engineering/holdem_agent.py plays more and deeper ones."""
  game = pyspiel.load_game("holdem", {"stack": stack, "bets": bets})
  made = []

  def agent(seat):
    made.append(ps_cfr_spiel.HoldemPolicy(game, uniform(), bets="a", iterations=2).bot(seat, 0))
    return made[-1]

  def records(bot="random"):
    return matches.play_games(game, agent, matches.player(bot), 6, seed=1)

  assert records() == records()  # by its seed
  assert len(made) == 4
  for bot in ("all_in", MinBet(None, [0, 1])):
    assert len(records(bot)) == 6


SIZES = {  # of the game, and then of a deep search of its turn
  "fcpa": "100%, a; 100%, a",
  "75%": "75%; 75%",
  "75% a;40% 2": "75%, a; 200%",
  "50c a": "50c, a; 50c, a",
  "a": "a; a",
  "1 / x / 0.1 0.5 2 a / x": "50%, a; 50%, a",
}


@pytest.mark.parametrize("allowed", SIZES)
def test_a_preset_searches_the_sizes_that_the_game_has(allowed):
  """At the same bet of the same street the nearest, by ratio."""
  game = pyspiel.load_game(f"holdem(deck=5x2,stack=20,blinds=2/1,bets={allowed})")
  blueprint = openspiel_policy.UniformRandomPolicy(game)
  policy = ps_cfr_spiel.HoldemPolicy(game, blueprint, preset="deepstack")
  assert sizes_text(policy._bets).split(" / ")[0] == SIZES[allowed]
  with pytest.raises(ValueError, match=r"bets='33% a': the game lacks 33%.*; give sizes of "):
    ps_cfr_spiel.HoldemPolicy(game, blueprint, "33% a")


@pytest.mark.parametrize("allowed", ["fcpa", "75%", "75% a", "0.5 1 2 a", "fullgame"])
@pytest.mark.parametrize("preset", ["quick", "deepstack"])
def test_ranges_are_those_of_the_moves_played(allowed, preset):
  """They follow from the probabilities that the policy gives, by Bayes' rule, in hands that it may play."""
  game = pyspiel.load_game(f"holdem(deck=5x2,stack=20,blinds=2/1,bets={allowed})")
  blueprint, generator = openspiel_policy.UniformRandomPolicy(game), np.random.default_rng(3)
  policy = ps_cfr_spiel.HoldemPolicy(game, blueprint, preset=preset, iterations=3)
  bets = 0
  for _ in range(6):
    state, played = (
      play(game, "6c6d", "5c5d", "Call", "Check", "2c3c4c", "Check", "Check", "2d"),
      np.ones((2, 1326)),
    )
    while not state.is_chance_node() and not state.is_terminal():
      odds = {a: p for a, p in policy.for_hands_at(state).items() if a > 0 and p.max() > 0}
      action = int(generator.choice([*odds]))
      played[state.current_player()] *= odds[action]
      state.apply_action(action)
      bets += action > 1
    if state.is_chance_node():
      river = state.child(game.deck.index(cards.parse_cards("3d")[0]))
      if river.is_terminal():
        continue
      free = cards.unblocked({*cards.WHOLE_DECK} - {*game.deck} | {*cards.parse_cards("2c3c4c2d3d")})
      for ours, theirs in zip(policy.ranges(river), played * free, strict=True):
        np.testing.assert_allclose(ours / ours.sum(), theirs / theirs.sum(), atol=1e-9)
  assert bets > 2


def test_wrong_arguments():
  game = pyspiel.load_game(SMALL)

  def message(*arguments, **options):
    with pytest.raises(ValueError) as error:
      ps_cfr_spiel.HoldemPolicy(*arguments, **options)
    return str(error.value)

  assert "plays holdem, got kuhn_poker" in message(pyspiel.load_game("kuhn_poker"), uniform())
  assert "must be a policy of holdem or universal_poker" in message(game, matches.Habit("fold"))
  small = openspiel_policy.UniformRandomPolicy(pyspiel.load_game("holdem(deck=6x2,stack=400)"))
  assert "must be a policy for the deck of holdem" in message(game, small)
  for blinds in ("100/99", "3/1"):
    others = pyspiel.load_game(f"holdem(stack=400,blinds={blinds})")
    assert f"policy for blinds like {blinds}, in any unit, got one for " in message(others, uniform())
  with pytest.warns(
    UserWarning, match=r"plays 1.5 big blinds deep by a blueprint for 20: .* Give a blueprint of this"
  ):
    ps_cfr_spiel.HoldemPolicy(pyspiel.load_game("holdem(stack=150)"), uniform())
  assert "give sizes for both players alike" in message(game, uniform(), bets="1 a | a")
  assert "bets='': '', character 1: no size given" in message(game, uniform(), bets="")
  assert "bets must be a text, got 5." in message(game, uniform(), bets=5)
  assert "iterations must be" in message(game, uniform(), iterations=0)
  assert "Unknown street 'showdown'; choose one of 'preflop', 'flop'" in message(
    game, uniform(), street="showdown"
  )
  assert "street='flop': with values=" in message(game, uniform(), street="flop", values=CheckedDown((), 4))


def exploited(solver, blueprint, policy, decisions):
  """How exploitable a blueprint is, exactly, if another policy decides in its place here."""
  game, labels = solver.game, solver.tree.names
  tables = [[np.array(block) for block in own] for own in blueprint.strategies]
  for decision in decisions:
    live = [h for h, name in enumerate(decision.infostates) if name is not None]
    state = game.new_initial_state()
    for action in labels.source.path(decision, live[0]):
      state.apply_action(action)
    held = set_numbers(np.array([cards.parse_cards(labels.types[decision.player][h]) for h in live]))
    odds = for_hands(policy, state)
    for a, action in enumerate(decision.legal_actions):
      chances = odds.get(action, np.zeros(1326))[held]
      tables[decision.player][decision.block][a, decision.row, live] = chances
  mixed = ps_cfr_spiel.TreePolicy(game, labels, tables)
  return ps_cfr_spiel.exploitability(game, mixed, tree=solver.tree)


def choices_on(labels, street, number):
  """The decisions between several actions on one of a street's boards and after it."""
  lines, chosen = labels.source.lines, []
  board = lines.dealt.runouts[street][number].tolist()
  for decision in labels.decisions:
    line, runout = lines.place(decision.public_state)
    on_board = lines.dealt.runouts[lines.betting.street[line]][runout][: len(board)].tolist() == board
    if on_board and len(decision.legal_actions) > 1:
      chosen.append(decision)
  return chosen


@pytest.fixture(scope="module")
def blueprints():
  """A run of a small game; by iterations, its average policy and how exploitable that is."""
  solver = ps_cfr_spiel.PSCFRSolver(
    pyspiel.load_game("holdem(deck=5x2,stack=20,blinds=2/1,bets=x/x/1;x/1;x)")
  )
  found = {}
  for iterations in (3, 97):
    solver.run(iterations)
    found[solver.iteration] = solver.average_policy(), solver.exploitability()
  return solver, found


@pytest.mark.parametrize("solved", [3, 100])
def test_searches_of_a_blueprint_that_is_compiled(solved, blueprints):
  """In a whole small game, exactly, where the agent plays on a board of the turn.

  With promises from the turn's first decision on it is no worse than any blueprint, but for the error of its
  searches; believing the range spoils a good one. Few iterations spoil neither: searches begin with it, or
  a poor one lost 2 chips after two, and keep it if theirs may lose more, or a good one lost 1e-5 after ten.
  """
  solver, policies = blueprints
  game, labels = solver.game, solver.tree.names
  blueprint, before = policies[solved]
  lines = labels.source.lines
  board = tuple(lines.dealt.runouts[2][400].tolist())
  here, found = [], {}
  for decision in labels.decisions:
    line, runout = lines.place(decision.public_state)
    if tuple(lines.dealt.runouts[lines.betting.street[line]][runout][:4].tolist()) == board:
      here.append(decision)
  few = {3: 2, 100: 10}[solved]
  for gadget in ("unsafe", "cfr-d", "cfr-d in few")[solved == 3 :]:
    options = {"gadget": gadget.split()[0], "iterations": few if "few" in gadget else 100}
    policy = ps_cfr_spiel.HoldemPolicy(game, blueprint, "1;x / 1;x", **options)
    found[gadget] = exploited(solver, blueprint, policy, here) - before
  assert found["cfr-d"] < 1e-4
  assert found["cfr-d in few"] < (1e-4 if solved == 3 else 1e-6)
  assert solved == 3 or found["unsafe"] > max(found["cfr-d"], 0)


@pytest.mark.parametrize(
  ("street", "bets", "searched"),
  [
    ("preflop", "1;x/x/x/x", "1;x / x"),
    ("flop", "x/1;x/x/x", "1;x / x"),
    ("river", "x/x/x/1;x", "1;x"),
  ],
)
def test_the_first_search_may_begin_on_any_street(street, bets, searched):
  """In a whole small game, exactly, on one board: no worse than a good or a poor blueprint.

  Two iterations keep a good one, since searches begin with it; a hundred from the first move on need none.
  """
  game = pyspiel.load_game(f"holdem(deck=3x3,stack=12,blinds=2/1,bets={bets})")
  solver = ps_cfr_spiel.PSCFRSolver(game)
  chosen = choices_on(solver.tree.names, ps_cfr_spiel.options.STREET_NAMES.index(street), -1)
  before, after = {}, {}
  for solved, iterations in ((2, 100), (200, 2)):
    solver.run(solved - solver.iteration)
    blueprint, before[solved] = solver.average_policy(), solver.exploitability()
    options = {"street": street, "iterations": iterations}
    policy = ps_cfr_spiel.HoldemPolicy(game, blueprint, searched, **options)
    after[solved, iterations] = exploited(solver, blueprint, policy, chosen)
  assert before[200] < 1e-6 and before[2] > 0.5
  assert all(after[solved, iterations] < before[solved] + 1e-6 for solved, iterations in after)
  assert street != "preflop" or after[2, 100] < 0.01


def test_bets_that_searches_lack_win_less_than_by_translation():
  """In a whole small game, exactly, on one turn: searches of one size meet four.

  The blueprint is good, with all sizes; in its place, one with that size alone answers through translation.
  """
  few, many = (
    ps_cfr_spiel.PSCFRSolver(pyspiel.load_game(f"holdem(deck=4x3,stack=20,blinds=2/1,bets=x/x/{sizes};x/x)"))
    for sizes in ("1", "0.5 1 2 4")
  )
  few.run(200)
  many.run(200)
  game, blueprint, before = many.game, many.average_policy(), many.exploitability()
  chosen = choices_on(many.tree.names, 2, 400)
  translated = WrappedPolicy(game, few.average_policy(), Translation())
  by_translation = exploited(many, blueprint, translated, chosen) - before
  for iterations in (10, 100):
    searches = ps_cfr_spiel.HoldemPolicy(game, blueprint, "1;x / x", iterations=iterations)
    assert exploited(many, blueprint, searches, chosen) - before < 0.5 * by_translation


def test_a_blueprint_of_dealt_cards(tmp_path):
  """A saved strategy over buckets answers for all hands as for each, and the agent plays it."""
  game = pyspiel.load_game("holdem(deck=5x2,stack=4,blinds=2/1,bets=x/a;x/a;x)")
  solver = HierarchicalMCCFRSolver(game, clusters=1, buckets=2, batch=2)
  solver.run(8)
  solver.save(tmp_path / "run.safetensors")
  blueprint = ps_cfr_spiel.load_policy(tmp_path / "run.safetensors")
  moves = ("6d6c", "3d2c", "Call", "Check", "2d4c5d")
  found = for_hands(blueprint, play(game, *moves))
  for hand in ("6d6c", "3d3c", "5c2c"):
    state = play(game, hand, "6d4d" if hand != "6d6c" else "4d3d", *moves[2:])
    h = int(cards.set_numbers(np.array(cards.parse_cards(hand))))
    assert blueprint.action_probabilities(state) == pytest.approx({a: odds[h] for a, odds in found.items()})
  turn, places = play(game, *moves, "Check", "Check", "5c"), [0, 9]
  at_once = for_boards(blueprint, turn, places)
  for k, place in enumerate(places):
    alone = for_hands(
      blueprint, dealt_again(turn, [*map(game.deck.index, cards.parse_cards("2d4c5d")), place])
    )
    assert {a: odds[k].tolist() for a, odds in at_once.items()} == {a: x.tolist() for a, x in alone.items()}
  agent = ps_cfr_spiel.HoldemPolicy(game, blueprint, "a", iterations=2).bot(0, 0)
  assert sum(agent.probabilities(play(game, *moves, "Check", "Check", "5c")).values()) == pytest.approx(1)


def test_a_blueprint_by_keys():
  """Where the hands with cells differ from board to board, a blueprint answers board by board."""
  game = pyspiel.load_game("holdem(deck=5x2,stack=4,blinds=2/1,bets=x/a;x/a;x)")
  solver = ps_cfr_spiel.KeyedMCCFRSolver(game, cells=100_000)
  solver.run(20)
  turn, places = play(game, "6d6c", "3d2c", "Call", "Check", "2d4c5d", "Check", "Check", "5c"), [0, 9]
  board = [*map(game.deck.index, cards.parse_cards("2d4c5d"))]
  at_once = for_boards(solver.average_policy(), turn, places)
  for k, place in enumerate(places):
    alone = for_hands(solver.average_policy(), dealt_again(turn, [*board, place]))
    assert {a: odds[k].tolist() for a, odds in at_once.items()} == {a: x.tolist() for a, x in alone.items()}


class Fickle(openspiel_policy.Policy):
  """Any probabilities, others at each infostate."""

  def action_probabilities(self, state, player_id=None):
    seed = zlib.crc32(state.information_state_string(state.current_player()).encode())
    chances = np.random.default_rng(seed).dirichlet(np.ones(len(state.legal_actions())))
    return dict(zip(state.legal_actions(), chances.tolist(), strict=True))


class AfterMoves(openspiel_policy.Policy):
  """A policy of hold'em, in the subgame after some moves: it is asked with the same hands, cards and bets."""

  def __init__(self, game, policy, moves):
    super().__init__(game, [0, 1])
    self._policy, self._moves = policy, moves

  def action_probabilities(self, state, player_id=None):
    whole = play(self._policy.game, *(cards.card_names(state.hole(i)) for i in (0, 1)), *self._moves)
    asked, runout = state.get_game().new_initial_state(), iter(state.runout)
    for action in state.history()[:2]:
      asked.apply_action(action)
    for action in state.history()[2:]:
      text = asked.action_to_string(action)
      place = whole.get_game().deck.index(next(runout)) if asked.is_chance_node() else None
      whole.apply_action(whole.string_to_action(text) if place is None else place)
      asked.apply_action(action)
    odds = self._policy.action_probabilities(whole)
    return {state.string_to_action(whole.action_to_string(action)): odds[action] for action in odds}


@pytest.mark.parametrize("player", [0, 1])
def test_a_blueprint_of_probabilities_promises_best_responses(player):
  """On the turn, by OpenSpiel's own enumeration, in each hand of the opponent.

  The blueprint's bets are those that are searched, and it is asked hand by hand.
  """
  game = pyspiel.load_game("holdem(deck=3x3,stack=12,blinds=2/1,bets=a;x/x/1 a;x/a;x)")
  blueprint = Fickle(game, [0, 1])
  moves = ("Call", "Check", "2d3c4c", "Check", "Check", "2h")
  policy = ps_cfr_spiel.HoldemPolicy(game, blueprint, "1 a;x / a;x", iterations=1)
  hand = PublicHand.of(play(game, "4h4d", "2c3d", *moves))
  ranges = policy.ranges(play(game, "4h4d", "2c3d", *moves))
  search, line = policy._planned(hand), 0
  promised = search.promised(line, hand.board, 1 - player, ranges)
  parameters = {
    "board": cards.card_names(hand.board),
    "pot": 4,
    "stack": 12,
    "bets": "1 a;x / a;x",
    "deck": "3x3",
  }
  live = np.flatnonzero(cards.unblocked({*cards.WHOLE_DECK} - {*game.deck} | {*hand.board}))
  assert len(live) == 10
  for h in live:
    alone = np.zeros(1326)
    alone[h] = 1
    both = [ranges[player], alone] if player == 0 else [alone, ranges[player]]
    text = ";".join(range_text(range_ / range_.max()) for range_ in both)
    subgame = pyspiel.load_game("holdem_subgame", parameters | {"ranges": text})
    response = BestResponsePolicy(subgame, 1 - player, AfterMoves(subgame, blueprint, moves))
    assert promised[h] == pytest.approx(response.value(subgame.new_initial_state()), abs=1e-4)


# By the street of a first search: the deck, the bets there and before, and the moves until then; the least
# margin, and for a first player who believes the opponent's range how much breaks, and the least margin.
FIRST_SEARCHES = {
  "flop": ("3x3", "1 a;x / x / x", "a;x", ("3h4c4d",), (0.1, 0.05, -0.2)),
  "turn": ("3x3", "1 a;x / a;x", "a;x / x", ("2c3d4h", "Check", "Check", "4d"), (0.1, 0.1, -1)),
  "river": (
    "4x3", "1 a;x", "a;x / x / x", ("2c4c4h", "Check", "Check", "2d", "Check", "Check", "2h"),
    (0.05, 0.1, -0.5),
  ),
}  # fmt: skip


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("street", FIRST_SEARCHES)
def test_a_first_search_solves_the_linear_programs(street, player):
  """In plain Python over OpenSpiel's states: best responses of all hands, before and after.

  The promises can be kept, and are; the least margin is that of the program. A first player who believes the
  opponent's range breaks promises.
  """
  deck, bets, bets_before, later, bounds = FIRST_SEARCHES[street]
  text = f"{bets_before} / {bets}".replace(" /", "/").replace("/ ", "/")
  game = pyspiel.load_game(f"holdem(deck={deck},stack=12,blinds=2/1,bets={text})")
  blueprint, opponent = Fickle(game, [0, 1]), 1 - player
  moves = ("Call", "Check", *later)
  board = "".join(later).replace("Check", "")
  left = [card for card in game.deck if card not in cards.parse_cards(board)]
  state = play(game, cards.card_names(left[:2]), cards.card_names(left[2:4]), *moves)
  options = {"iterations": 1000, "street": street}
  made = {
    gadget: ps_cfr_spiel.HoldemPolicy(game, blueprint, bets, gadget=gadget, **options)
    for gadget in ("cfr-d", "max-margin", "unsafe")
  }
  ranges = made["cfr-d"].ranges(state)
  ranges[opponent] = ranges[opponent] > 0  # each hand of the opponent counts alone
  text = ";".join(range_text(range_ / range_.max()) for range_ in ranges)
  given = {"board": board, "pot": 4, "stack": 12, "bets": bets, "deck": deck}
  subgame = pyspiel.load_game("holdem_subgame", {**given, "ranges": text})
  plain, asked = Game(subgame), AfterMoves(subgame, blueprint, moves)
  before = {}
  for h, path in enumerate(plain.path):
    if plain.acting[h] >= 0 and (plain.acting[h], plain.info[h]) not in before:
      there = subgame.new_initial_state()
      for action in path:
        there.apply_action(action)
      before[plain.acting[h], plain.info[h]] = asked.action_probabilities(there)
  roots = [h for h in range(plain.size) if len(plain.path[h]) == 2]
  weights = dict.fromkeys((plain.known[h][opponent] for h in roots), 0.0)
  for h in roots:
    weights[plain.known[h][opponent]] += plain.chance[h]
  promises = plain.responses(before, opponent)
  margin, kept = resolving_programs(plain, roots, player, before, promises)
  assert margin > bounds[0] and kept == pytest.approx(sum(promises[s] for s in weights))
  least, broken = {}, {}
  for gadget, policy in made.items():
    search, _ = policy._on_path(PublicHand.of(state), player)
    strategy = {key: row for key, row in profile_of(search.tree, search.tables).items() if key[0] == player}
    assert strategy.keys() >= {key for key in before if key[0] == player}
    won = plain.responses({**before, **strategy}, opponent)
    least[gadget] = min((promises[s] - won[s]) / weights[s] for s in weights)
    broken[gadget] = sum(max(won[s], promises[s]) for s in weights) - kept
  assert broken["cfr-d"] < 1e-3 and least["cfr-d"] > -0.01
  assert least["max-margin"] == pytest.approx(margin, abs=1e-3)
  assert player == 1 or (broken["unsafe"] > bounds[1] and least["unsafe"] < bounds[2])


class CheckedDown:
  """Values of hands in small decks without further bets, by all boards; see `batches.StreetValues`."""

  beyond = None

  def __init__(self, deck, size):
    self.deck, self.cards = deck, size

  def net_wins(self, board):
    """The share of the boards to come that each live hand wins, less that it loses; their numbers, cards."""
    held = np.flatnonzero(cards.unblocked({*cards.WHOLE_DECK} - {*self.deck} | {*board}))
    hands, left = cards.ALL_HANDS[held], [card for card in self.deck if card not in board]
    total, count = np.zeros((2, len(held), len(held)))
    for more in itertools.combinations(left, cards.BOARD_SIZE - len(board)):
      free = ~np.isin(hands, more).any(1)
      strength = np.where(free, strengths(np.array([(*board, *more)]), hands)[0], np.nan)
      lead = np.sign(strength[:, None] - strength)
      total, count = total + np.nan_to_num(lead), count + ~np.isnan(lead)
    holds = (hands[:, :, None] == np.arange(52)).any(1).astype(float)
    return total / np.maximum(count, 1) * (holds @ holds.T == 0), held, holds

  def worths(self, given):
    net_wins, held, _ = self.net_wins(given.board)
    ranges, wins = np.zeros((2, 2, 1326))
    ranges[:, held] = given.ranges[:, held]
    wins[:, held] = ranges[::-1, held] @ net_wins.T
    beside = compatible(ranges[::-1])
    return given.pot / 2 * np.divide(wins, beside, out=np.zeros_like(wins), where=beside > 0)

  def street_leaves(self, situations, hands, ranges, ends):
    (net_wins, _, holds), none = self.net_wins(situations[0].board), np.zeros((1, 0))
    return StreetLeaves(
      ranges=tuple(ranges), net_wins=net_wins[None], holds=holds[None],
      showdown_payoff=ends[0], fold_payoff=ends[1], pot=np.array([float(situations[0].pot)]), left=(),
      **dict.fromkeys(("pair", "after", "alive", "mixtures", "ratio"), none),
    )  # fmt: skip


@pytest.mark.parametrize("bets", ["1 a", "0.5 1 a"])
def test_searches_before_the_flop(bets):
  """With exact values of flops the agent searches from the first move on, and cannot be beaten.

  A bet that its tree lacks wins more from it; far more from searches that believe a range.
  """
  game = pyspiel.load_game(f"holdem(deck=3x3,stack=12,blinds=2/1,bets={bets};x / x)")
  solver = ps_cfr_spiel.PSCFRSolver(game)
  labels, found = solver.tree.names, {}
  shapes = [player.block_shapes for player in solver.tree.players]
  checks = [[np.full(shape, 1 / shape[0]) for shape in blocks] for blocks in shapes]
  other = ps_cfr_spiel.TreePolicy(game, labels, checks)  # without a choice where the agent is not asked
  chosen = [decision for decision in labels.decisions if len(decision.legal_actions) > 1]
  for gadget in ("cfr-d", "unsafe") if bets == "0.5 1 a" else ("cfr-d",):
    values = [CheckedDown(game.deck, size) for size in (3, 4)]
    options = {"iterations": 200, "gadget": gadget, "values": values}
    policy = ps_cfr_spiel.HoldemPolicy(game, Fickle(game, [0, 1]), "1 a;x / x", **options)
    found[gadget] = exploited(solver, other, policy, chosen)
  if bets == "1 a":
    assert found["cfr-d"] < 1e-4
  else:
    assert found["cfr-d"] < 0.03 < 0.1 < found["unsafe"]
  line = ("4h4d", "2c3d", "Raise to 6", "Call", "2d3c4c")
  search, line = policy._on_path(PublicHand.of(play(game, *line)), 0)
  assert search.betting.player[line] == 0 and len(search.row(line)) == 1  # a check


def test_searches_before_the_flop_by_a_network(monkeypatch):
  """Ends before the flop are worth the mean of flops, here of two, by the values there; suits are alike.

  The network is as it was made: its values are any, and are those that it has on each flop alone.
  """
  game = pyspiel.load_game("holdem(stack=1000,bets=fullgame)")
  monkeypatch.setattr(flop_leaves, "FLOPS", 2)
  monkeypatch.setattr(flop_leaves, "BOARDS", 32)
  flop_leaves._tables.cache_clear()
  values = [NetworkValues.untrained(no_boards(size), 0, 8, 1) for size in (3, 4)]
  policy = ps_cfr_spiel.HoldemPolicy(game, uniform(), "a", iterations=2, values=values)
  odds = policy.for_hands_at(play(game, "AhAd", "2c3d"))
  suited = [int(set_numbers(np.array(cards.parse_cards(hand)))) for hand in ("AhKh", "AsKs", "AcKc")]
  assert sum(odds.values()) == pytest.approx(1)
  assert all(np.ptp(chances[suited]) < 1e-5 for chances in odds.values())
  search, _ = policy._on_path(PublicHand.of(play(game, "AhAd", "2c3d")), 1)
  leaves, reach = search.tree.leaves, np.zeros((2, len(search.tree.leaves.showdown_payoff), 1326))
  ranges = np.random.default_rng(0).random((2, 169)) @ np.sign(leaves.mean).T
  (end,) = leaves.left
  reach[:, end] = ranges
  found = np.asarray(jax.jit(leaves.betting)(tuple(reach.astype(np.float32)))[0][end]) @ leaves.mean
  monkeypatch.setattr(board_features, "net_wins_on", lambda _, hands: np.zeros((len(hands),) * 2))
  flops, share = flop_leaves.drawn_flops(2)
  expected = np.zeros(1326)
  for flop, part in zip(flops.tolist(), share.tolist(), strict=True):
    free = cards.unblocked(flop)
    alone = values[0].worths(Situation(tuple(flop), 200, 1000, "", ranges))[0]
    expected += part * alone * compatible(ranges[1] * free) * free
  np.testing.assert_allclose(found, expected / (17296 / 22100) @ leaves.mean, rtol=1e-3, atol=1e-2)
  flop_leaves._tables.cache_clear()
