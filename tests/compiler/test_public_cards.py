"""Games with public cards to come, compiled from their forms: against walks, against equity and the river."""

import dataclasses
import functools
import gc
import itertools
import types
import weakref

import jax
import numpy as np
import pyspiel
import pytest
from reference import sequence_form_value

from ps_cfr_spiel import (
  ExternalSamplingSolver,
  OutcomeSamplingSolver,
  PSCFRSolver,
  VRMCCFRSolver,
  build_tree,
  cfr,
  memory,
)
from ps_cfr_spiel.backend.device import accelerator_memory, platform, precision, rehearsal, to_device
from ps_cfr_spiel.cards.poker import cards, strengths
from ps_cfr_spiel.compilation.compiler import PublicStateIndex, TreeUse, check_memory, memory_needs
from ps_cfr_spiel.compilation.compiler.from_form import build_bayesian
from ps_cfr_spiel.policy.reach import reaches
from ps_cfr_spiel.solvers import sampling
from ps_cfr_spiel.tree import CHANCE, TERMINAL, Labels, action_values, deal_weights, evaluate, sequence_reach

GAMES = {
  "turn": "holdem_subgame(deck=5x2,board=2c3c4d5d,stack=300,ranges=6c6d 5c4c 6d2d:0.5;6c2d 3d2d 5c3d:2)",
  "flop": "holdem_subgame(deck=5x2,board=2c3c4d,stack=300,ranges=6c6d 5c4c 5d6c;6c2d 5d3d:0.3 3d2d)",
  "flop, all-in before": "holdem_subgame(deck=5x2,board=2c3c4d,stack=100,ranges=6c6d 5c4c 5d6c;6c2d 5d3d)",
  "no all-in": "holdem_subgame(deck=5x2,board=2c3c4d5d,stack=900,bets=1;1,ranges=6c6d 5c4c;6c2d 3d2d)",
}
KINDS = ("dense", "showdown", "native")


def profile_values(tree, profile):
  """[3]: value to player 0 of {(player, infostate): probabilities}, and both best responses, in float64."""
  strategies = [[np.full(shape, 1 / shape[0]) for shape in player.block_shapes] for player in tree.players]
  for decision, h, name in tree.names.infostates():
    strategies[decision.player][decision.block][:, decision.row, h] = profile[decision.player, name]
  with precision("float64"):
    found = evaluate(*to_device((tree, strategies), "float64"))
    return np.array([found.value, *found.best_response], float)


def random_profile(tree, seed=0):
  rng = np.random.default_rng(seed)
  names = sorted((d.player, name, len(d.legal_actions)) for d, _, name in tree.names.infostates())
  return {(player, name): rng.dirichlet(np.ones(actions)) for player, name, actions in names}


@pytest.mark.parametrize("game_string", GAMES.values(), ids=GAMES)
def test_compiled_equals_walked(game_string):
  """The same infostates with the same actions, and values and best responses to 1e-12 of the stack."""
  game = pyspiel.load_game(game_string)
  walked = build_tree(game, leaves="sparse")
  profile = random_profile(walked)
  expected = profile_values(walked, profile)
  for kind in KINDS if game_string in (GAMES["turn"], GAMES["flop"]) else KINDS[1:2]:
    tree = build_tree(game, leaves=kind)
    assert tree.leaves.kind == "boards"
    legal = [
      {(d.player, name): d.legal_actions for d, _, name in t.names.infostates()} for t in (tree, walked)
    ]
    assert legal[0] == legal[1]
    assert [tree.names.num_infostates(i) for i in (0, 1)] == [walked.names.num_infostates(i) for i in (0, 1)]
    np.testing.assert_allclose(profile_values(tree, profile), expected, rtol=0, atol=1e-12 * 300)


@pytest.mark.parametrize("board", ["2c3c4d5d", "2c3c4d"])
def test_small_decks_are_universal_pokers(board):
  """All hands, in a deck small enough to walk; the uniform strategy needs no names."""
  theirs = pyspiel.load_game(
    "universal_poker(betting=nolimit,bettingAbstraction=fcpa,numPlayers=2,numRounds=4,blind=100 100,"
    "firstPlayer=2 1 1 1,numSuits=2,numRanks=5,numHoleCards=2,numBoardCards=0 3 1 1,stack=200 200,"
    f"potSize=200,boardCards={board})"
  )

  def values(tree):
    legal = {(d.player, name): len(d.legal_actions) for d, _, name in tree.names.infostates()}
    return profile_values(tree, {key: 1 / actions for key, actions in legal.items()})

  found = values(build_tree(pyspiel.load_game(f"holdem_subgame(deck=5x2,stack=200,board={board})")))
  uniform = pyspiel.UniformRandomPolicy(theirs)
  value = pyspiel.expected_returns(theirs.new_initial_state(), uniform, -1, True)[0]
  assert found[0] == pytest.approx(value, abs=1e-10)
  if len(board) == 8:  # from the flop its strings forget which card came first, and best responses differ
    walked = values(build_tree(theirs, leaves="sparse", public_states="none"))
    np.testing.assert_allclose(found, walked, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", ["turn", "flop"])
def test_the_solver_finds_the_lps_value(name):
  game = pyspiel.load_game(GAMES[name])
  solver = PSCFRSolver(game, dtype="float64")
  solver.run(1500)
  assert solver.exploitability() < 1e-2
  assert solver.value() == pytest.approx(sequence_form_value(game), abs=1e-2)
  policy = solver.average_policy().to_pyspiel()
  assert pyspiel.exploitability(game, policy) == pytest.approx(solver.exploitability(), abs=1e-9)


def test_who_only_checks_gets_the_equity():
  """With a stack of half the pot nobody bets, and the value is the equity, counted here pair by pair."""
  board = cards.parse_board("9s7c5s4h", (4,))
  game = pyspiel.load_game("holdem_subgame(stack=100,ranges=AsKs QQ 87s:0.5;TT 65s AhKh:3)")
  deck, ranges, total, won = set(cards.WHOLE_DECK) - set(board), game.ranges, 0.0, 0.0
  by_hand = np.zeros((2, len(ranges[0].names)))
  for h, g in itertools.product(*(range(len(hands.names)) for hands in ranges)):
    held = [ranges[0].cards[h].tolist(), ranges[1].cards[g].tolist()]
    if set(held[0]) & set(held[1]):
      continue
    weight = ranges[0].weights[h] * ranges[1].weights[g]
    signs = []
    for river in deck.difference(*held):
      first, second = (int(strengths(np.array((*board, river)), np.array([hand]))[0]) for hand in held)
      signs.append((first > second) - (first < second))
    assert len(signs) == 44
    total, won = total + weight, won + weight * 100 * np.mean(signs)
    by_hand[:, h] += weight, weight * (1 + np.mean(signs)) / 2
  for kind in KINDS:
    tree = build_tree(game, leaves=kind)
    value = profile_values(tree, random_profile(tree))
    np.testing.assert_allclose(value, [won / total, won / total, -won / total], rtol=1e-12)
  equity = reaches(tree.names, [[np.ones(shape) for shape in p.block_shapes] for p in tree.players])[0].equity
  np.testing.assert_allclose(equity, by_hand[1] / by_hand[0], rtol=1e-12)


SMALL = {  # forms with public cards, and one without
  "flop": "holdem_subgame(board=2c3c4d,pot=4,stack=8,deck=5x3,bets=1 a)",
  "ranges": "holdem_subgame(board=2c3c4c,pot=4,stack=8,deck=4x4,ranges=55 5c4d:0.5 4h4d;5d5h 3d3h)",
  "river": "river_subgame(pot=10,stack=20,bets=a,ranges=AA KK QJs;QQ AKs T9s)",
}


@pytest.mark.parametrize("name", ["flop", "ranges"])
@pytest.mark.parametrize("kind", KINDS)
def test_tables_of_some_boards_are_those_of_all(name, kind):
  leaves = build_tree(pyspiel.load_game(SMALL[name]), leaves=kind).leaves
  generator = np.random.default_rng(0)
  some = [np.flatnonzero(generator.random(count) < 0.4) for count in leaves.boards]
  some[0] = np.zeros(1, int)
  every = jax.tree.leaves(leaves.streets)
  streets = [np.full(len(jax.tree.leaves(x)), s) for s, x in enumerate(leaves.streets)]
  found = jax.tree.leaves(leaves.on_boards(some))
  for ours, whole, street in zip(found, every, np.concatenate(streets), strict=True):
    assert ours.dtype == whole.dtype
    np.testing.assert_array_equal(ours, whole[some[street]])


@pytest.mark.parametrize("game_string", SMALL.values(), ids=SMALL)
def test_types_live_beside_one_of_the_opponent_and_win_by_strength(game_string):
  """Card by card: who can be dealt at all, and the runouts that each hand wins, less those that it loses."""
  form = pyspiel.load_game(game_string).bayesian_form()
  lines, strengths = PublicStateIndex.of(form), form.strengths()
  hands = [[{*hand} for hand in cards.tolist()] for cards in form.cards]
  for street, runouts in enumerate(lines.dealt.runouts):
    for board, runout in enumerate(runouts.tolist()):
      free = [[hand for hand in own if hand.isdisjoint(runout)] for own in hands]
      for i in (0, 1):
        lives = [hand in free[i] and any(hand.isdisjoint(x) for x in free[1 - i]) for hand in hands[i]]
        np.testing.assert_array_equal(lines.dealt.alive[i][street][board], lives)
  for street, board in enumerate(count - 1 for count in lines.boards):  # the last board of each street
    runout, won = lines.dealt.runouts[street][board].tolist(), np.zeros(lines.dealt.disjoint.shape, int)
    for number, last in enumerate(lines.dealt.runouts[-1].tolist()):
      if last[: len(runout)] == runout:
        alive = [[hand.isdisjoint(last) for hand in own] for own in hands]
        first, second = (ranks[number].astype(int) for ranks in strengths)
        won += np.logical_and.outer(*alive) * np.sign(first[:, None] - second)
    np.testing.assert_array_equal(lines.dealt.net_wins(street, board), won)


# The ranges of postflop-solver's test `solve_pio_preset_normal`.
PRESET = (
  "88+ A8s+ A5s-A2s:0.5 AJo+ ATo:0.75 K9s+ KQo KJo:0.75 KTo:0.25 Q9s+ QJo:0.5 J8s+ JTo:0.25 T8s+ T7s:0.45 "
  "97s+ 96s:0.45 87s 86s:0.75 85s:0.45 75s+:0.75 74s:0.45 65s:0.75 64s:0.5 63s:0.45 54s:0.75 53s:0.5 "
  "52s:0.45 43s:0.5 42s:0.45 32s:0.45;AA:0.25 99-22 AJs-A2s AQo-A8o K2s+ K9o+ Q2s+ Q9o+ J6s+ J9o+ T6s+ "
  "T9o 96s+ 95s:0.5 98o 86s+ 85s:0.5 75s+ 74s:0.5 64s+ 63s:0.5 54s 53s:0.5 43s"
)


def test_the_equity_of_a_flop_is_pio_solvers():
  """To all digits that postflop-solver's test gives: 0.55347 to player 0."""
  game = pyspiel.load_game("holdem_subgame", {"board": "QsJh2h", "pot": 180, "stack": 1000, "ranges": PRESET})
  lines = PublicStateIndex.of(game.bayesian_form())
  prior = deal_weights(lines.form)
  wins_less_losses = (prior * lines.dealt.net_wins(0, 0)).sum()
  ahead = wins_less_losses / (prior.sum() * lines.dealt.orders(2))
  assert (1 + ahead) / 2 == pytest.approx(0.55347, abs=1e-5)


def test_rivers_below_a_card_are_river_subgames():
  """All hands. On the check-check line a card's river is `river_subgame` with the ranges that come there.

  Each hand checks with a probability of its own, and the river is played at random. There the values of all
  actions, and so regrets, are those of the river alone.
  """
  game = pyspiel.load_game("holdem_subgame(stack=500)")
  tree = build_tree(game)
  labels, rng = tree.names, np.random.default_rng(0)
  states = labels.public_states
  check = next(c for c in labels.children[0] if states[c].action == 1)
  card_node = next(c for c in labels.children[check] if states[c].player == CHANCE)
  root = next(c for c in labels.children[card_node] if states[c].action == cards.parse_cards("3c")[0])
  strategies = [[np.full(shape, 1 / shape[0]) for shape in p.block_shapes] for p in tree.players]
  checks = rng.uniform(0.01, 1, (2, 1128))
  for player, number in enumerate((0, check)):
    decision = labels.decisions[states[number].decisions[0]]
    others = np.full((len(decision.legal_actions) - 1, 1128), 1 / (len(decision.legal_actions) - 1))
    table = np.concatenate([checks[player][None], (1 - checks[player]) * others])
    strategies[player][decision.block][:, decision.row] = table
  held = [
    f"{name}:{weight!r}"
    for row in checks
    for name, weight in zip(game.ranges[0].names, row.tolist(), strict=True)
  ]
  ranges = " ".join(held[:1128]) + ";" + " ".join(held[1128:])
  river = build_tree(pyspiel.load_game("river_subgame", {"stack": 500, "ranges": ranges}))
  # The same random strategy on the river, by hand and line.
  below = [root, *_descendants(labels, root)]
  random = {}
  for s in below:
    for d in states[s].decisions:
      decision = labels.decisions[d]
      line = next(name for name in decision.infostates if name).split(" | ")[4:]
      names = [None if name is None else name.split(" | ")[0] for name in decision.infostates]
      random[decision.player, " ".join(line)] = (decision, names)
  rivers = [[np.zeros(shape) for shape in p.block_shapes] for p in river.players]
  for decision in river.names.decisions:
    other, names = random[decision.player, " ".join(decision.infostates[0].split(" | ")[2:])]
    assert other.legal_actions == decision.legal_actions
    columns = [names.index(name.split(" | ")[0]) for name in decision.infostates]
    assert sum(name is not None for name in names) == len(columns) == 1081
    table = rng.dirichlet(np.ones(len(decision.legal_actions)), len(columns)).T
    rivers[decision.player][decision.block][:, decision.row] = table
    strategies[other.player][other.block][:, other.row, columns] = table
  alive = [h for h, name in enumerate(random[0, ""][1]) if name is not None]
  dead = np.setdiff1d(np.arange(1128), alive)
  weighed = deal_weights(pyspiel.load_game("river_subgame", {"ranges": ranges}).bayesian_form()).sum()
  for player, line in enumerate(("", "x")):
    ours = _values_of_row(tree, strategies, random[player, line][0])
    theirs = next(d for d in river.names.decisions if d.infostates[0].split(" | ")[2:] == line.split())
    # Both count the deals at their own root, the turn that one of 44 cards has come, the river the own range.
    scale = checks[player][alive] / weighed * 1128 * 1035 * 44
    np.testing.assert_allclose(
      ours[:, alive] * scale, _values_of_row(river, rivers, theirs), rtol=0, atol=1e-12
    )
    assert not ours[:, dead].any()


def _descendants(labels, state):
  for child in labels.children[state]:
    yield child
    yield from _descendants(labels, child)


def _values_of_row(tree, strategies, decision):
  """[A, H]: the counterfactual action values in a row, in float64."""
  with precision("float64"):
    device, strategies = to_device((tree, strategies), "float64")
    values = _action_values(device, strategies, player=decision.player)
    return np.asarray(values[decision.block][:, decision.row])


@functools.partial(jax.jit, static_argnames="player")
def _action_values(tree, strategies, player):
  reach = [sequence_reach(p, s) for p, s in zip(tree.players, strategies, strict=True)]
  return action_values(tree, player, strategies[player], reach)[0]


# Names and histories


@pytest.mark.parametrize("game_string", [GAMES["turn"], GAMES["flop"]])
def test_labels_are_the_games(game_string):
  """Every public state's history, and every infostate's path, lead there in the game itself."""
  game = pyspiel.load_game(game_string)
  labels = build_tree(game).names
  states = labels.public_states
  for number, state in enumerate(states):
    assert state.parent < number
    assert number == 0 or number in labels.children[state.parent]
    if labels.source.count(number):
      history = game.new_initial_state()
      for action in labels.source.history(number):
        history.apply_action(action)
      assert int(history.current_player()) == state.player
      assert (state.player == TERMINAL) == history.is_terminal()
  for decision, h, name in labels.infostates():
    assert labels.state(decision, h).information_state_string(decision.player) == name
    found, type_index = labels.find(decision.player, name)
    assert (found.public_state, found.block, found.row, type_index) == (
      decision.public_state,
      decision.block,
      decision.row,
      h,
    )
  assert labels.histories == 1 + sum(labels.source.count(s) for s in range(len(states)))
  with pytest.raises(ValueError, match="has no information state"):
    labels.find(0, "p0 6d6c | nowhere")


@pytest.mark.parametrize("game_string", GAMES.values(), ids=GAMES)
def test_all_labels_at_once_are_those_one_by_one(game_string):
  """Labels of a form compute the arrays from its lines of betting."""
  labels = build_tree(pyspiel.load_game(game_string)).names
  for table in ("state_table", "decision_table"):
    at_once, one_by_one = vars(type(labels))[table].func(labels), vars(Labels)[table].func(labels)
    for column, expected in zip(at_once, one_by_one, strict=True):
      np.testing.assert_array_equal(column, expected)


def test_a_hand_with_a_card_of_the_board_is_not_here():
  labels = build_tree(pyspiel.load_game("holdem_subgame(stack=300,ranges=AsKd QQ;TT 87s)")).names
  with pytest.raises(ValueError, match="has no information state"):
    labels.find(0, "p0 AsKd | 9s7c5s4h pot 200 stack 300 | x x | As")
  decision, _ = labels.find(0, "p0 AsKd | 9s7c5s4h pot 200 stack 300 | x x | 2c")
  assert labels.source.path(decision, 0)[2:] == [1, 1, 0]


def test_the_turn_lies_around_the_rust_solvers_value():
  """9s7c5s4h with all hands, in float32: postflop-solver found -10.044 chips at 0.05 of exploitability."""
  solver = PSCFRSolver(pyspiel.load_game("holdem_subgame(stack=1000)"))
  solver.run(30)
  evaluation = solver.evaluation()
  assert -evaluation.best_response[1] < -10.044 + 0.05
  assert evaluation.best_response[0] > -10.044 - 0.05
  assert evaluation.exploitability < 4
  assert evaluation.value == pytest.approx(-10.044, abs=1.5)


def test_other_evaluators_need_the_walk():
  with pytest.raises(ValueError, match="more than the limit of 200,000,000"):
    build_tree(pyspiel.load_game("holdem_subgame"), leaves="sparse")


@pytest.mark.parametrize(
  ("name", "kind", "more"),
  [
    *(("river", kind, (3, -5)) for kind in KINDS),
    ("turn", "dense", (3, -5)),
    ("flop", "native", (3, -5)),
    ("river", "showdown", (3, -3)),  # a zero-sum game
  ],
)
def test_a_payment_to_each_player_at_every_end_shifts_all_values(name, kind, more):
  """Showdowns then pay something whoever wins, all-ins with cards to come too, and suits are folded."""
  boards = {"river": "9s7c5s4h3c", "turn": "9s7c5s4h", "flop": "9s7c5s"}
  ranges = "AA KK;QQ T9s" if name != "flop" else "AhAs KhKs;QhQs"
  game = pyspiel.load_game(f"holdem_subgame(board={boards[name]},pot=10,stack=15,bets=1 a,ranges={ranges})")
  form = game.bayesian_form()
  over = form.betting.player == TERMINAL
  paid = dataclasses.replace(form.betting, fold_payoff=form.betting.fold_payoff + over[:, None] * more)
  assert paid.zero_sum == (sum(more) == 0)
  evaluations = []
  for lines in (form.betting, paid):
    tree = build_bayesian(game, PublicStateIndex.of(dataclasses.replace(form, betting=lines)), kind)
    assert tree.leaves.zero_sum == lines.zero_sum
    solver = PSCFRSolver(game, tree=tree, dtype="float64")
    solver.run(1)
    evaluations.append(solver.evaluation())
  before, after = evaluations
  assert after.value == pytest.approx(before.value + more[0], abs=1e-9)
  assert after.best_response == pytest.approx(np.add(before.best_response, more), abs=1e-9)
  assert after.gains == pytest.approx(before.gains, abs=1e-9)
  assert after.exploitability == pytest.approx(before.exploitability, abs=1e-9)
  if not paid.zero_sum:
    assert after.others == pytest.approx([more[1] - before.value], abs=1e-9)


# What does not fit, and what is not there


def test_a_tree_that_does_not_fit_is_refused_before_it_is_built(monkeypatch):
  deep = pyspiel.load_game("holdem_subgame(board=9s7c5s,stack=20000)")
  monkeypatch.setattr(memory, "free_memory", lambda: 8e9)
  with pytest.raises(
    ValueError, match=r"needs about .* GB of memory .*, and 8 GB are free. To use less memory"
  ):
    PSCFRSolver(deep)
  turn = pyspiel.load_game("holdem_subgame(stack=1000)")
  with pytest.raises(ValueError, match="and 10 MB are allowed"):
    build_tree(turn, memory=10e6)


def test_a_river_of_many_bet_sizes_is_refused_too():
  river = pyspiel.load_game("river_subgame(bets=0.3 0.7 1.5 a)")
  form = river.bayesian_form()
  numbers = sum(
    len(form.types[state.player]) * len(state.children) for state in river.public_states if state.player >= 0
  )
  needs = memory_needs(PublicStateIndex.of(form), TreeUse(1))
  assert needs["for strategies, averages and regrets"] == 4 * numbers
  with pytest.raises(
    ValueError, match=r"needs about .* MB of memory .*, and 10 MB are allowed. To use less memory"
  ):
    PSCFRSolver(river, memory=10e6)


def test_batches_and_sampling_tables_that_do_not_fit_are_refused():
  kuhn, river = pyspiel.load_game("kuhn_poker"), pyspiel.load_game("river_subgame")
  with pytest.raises(ValueError, match=r"batch=2,000,000,000 needs about .* GB for the samples of a batch"):
    VRMCCFRSolver(kuhn, baseline="oracle", batch=2_000_000_000)
  with pytest.raises(ValueError, match=r"for regrets and averages.* 2 MB are allowed. Choose a smaller"):
    VRMCCFRSolver(river, memory=2e6, trajectories="public")


@pytest.mark.parametrize("solver", [OutcomeSamplingSolver, VRMCCFRSolver, ExternalSamplingSolver])
def test_the_estimate_of_a_sampling_run_counts_its_tables(solver, monkeypatch):
  noted = {}
  monkeypatch.setattr(sampling, "check_needs", lambda _what, needs, *_: noted.update(needs))
  run = solver(pyspiel.load_game("leduc_poker"), batch=2)
  kept = sum(array.nbytes for array in jax.tree.leaves(run._state.tables))
  assert noted["for regrets and averages"] == 2 * kept and noted["for the samples of a batch"] > 0


def test_the_estimate_counts_every_number():
  """Of the tables exactly; tables are what `init` makes."""
  game = pyspiel.load_game(GAMES["flop"])
  solver = PSCFRSolver(game, "rm+")
  kept = sum(array.nbytes for array in jax.tree.leaves(solver._state.players))
  numbers = sum(a * rows * types for player in solver.tree.players for a, rows, types in player.block_shapes)
  assert kept == 4 * numbers * cfr.num_tables(solver.rule, "float32")
  needs = memory_needs(
    PublicStateIndex.of(game.bayesian_form()), TreeUse(cfr.num_tables(solver.rule, "float32"))
  )
  assert needs["for strategies, averages and regrets"] == kept


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("board", ["9s7s5s4s", "9s7s5s4s3c"])
def test_the_estimate_counts_the_tables_of_leaves(kind, board):
  """They are there twice in float64 while boards are stacked, and once on the device in float32."""
  game = pyspiel.load_game(f"holdem_subgame(board={board},stack=300,ranges=22+ A2s+;22+ KQo)")
  made = sum(np.asarray(array).nbytes for array in jax.tree.leaves(build_tree(game, leaves=kind).leaves))
  needs = memory_needs(PublicStateIndex.of(game.bayesian_form()), TreeUse(leaves=kind))
  assert 2 * made <= needs["for the leaves"] <= (8 if board.endswith("3c") else 3) * made


def test_sparse_leaves_of_a_form_are_estimated_too():
  """A number for each deal and end of the histories; a solver of them is made."""
  game = pyspiel.load_game("river_subgame(stack=300,ranges=AsAh KsKh 8d7d;QsQh JsTs AsKd)")
  made = sum(np.asarray(x).nbytes for x in jax.tree.leaves(PSCFRSolver(game, leaves="sparse").tree.leaves))
  needs = memory_needs(PublicStateIndex.of(game.bayesian_form()), TreeUse(leaves="sparse"))
  assert made <= needs["for the leaves"] <= 8 * made


def test_a_game_that_does_not_fit_an_accelerator_is_refused_with_the_way_out(monkeypatch):
  """Told before anything is made; a limit of one's own replaces the estimate."""
  game, free = pyspiel.load_game(GAMES["flop"]), 2**20
  form = game.bayesian_form()
  monkeypatch.setattr("ps_cfr_spiel.compilation.compiler.form_sizes.accelerator_memory", lambda: free)
  with pytest.raises(ValueError, match=r"needs about .* 1 MB are allowed\. .*--device=cpu .*--memory"):
    check_memory(game, PublicStateIndex.of(form), use=TreeUse(3))
  assert check_memory(game, PublicStateIndex.of(form), 1e12, TreeUse(3)) > free
  free = 10**12
  assert check_memory(game, PublicStateIndex.of(form), use=TreeUse(3))


def test_the_memory_of_an_accelerator_is_its_limit_less_what_is_used(monkeypatch):
  """On a CPU, and where a device does not say, there is none."""
  assert accelerator_memory() is None
  with rehearsal("gpu"):
    assert accelerator_memory() is None
    for stats, expected in (({"bytes_limit": 100, "bytes_in_use": 30}, 70), ({}, None), (None, None)):
      device = types.SimpleNamespace(memory_stats=lambda stats=stats: stats)
      monkeypatch.setitem(accelerator_memory.__globals__, "accelerator", lambda device=device: device)
      monkeypatch.setitem(accelerator_memory.__globals__, "platform_of", lambda _: platform())
      assert accelerator_memory() == expected


def test_a_limit_of_memory_that_is_none():
  with pytest.raises(ValueError, match=r"memory must be a number of at least 1.* got 'a lot'"):
    PSCFRSolver(pyspiel.load_game("river_subgame"), memory="a lot")


@pytest.mark.parametrize("kind", KINDS)
def test_single_leaves_are_valued_as_all_are(kind):
  tree = build_tree(pyspiel.load_game(GAMES["flop"]), leaves=kind)
  rng = np.random.default_rng(0)
  counts = tree.players[0].leaf.children
  for player in (0, 1):
    reach = [rng.random((n, tree.players[1 - player].types)) for n in counts]
    with precision("float64"):
      leaves, parts = to_device((tree.leaves, reach), "float64")
      everything = np.concatenate(_values_of_leaves(leaves, parts, player=player))
      some = rng.permutation(sum(counts))[:60]
      found = _sampled_values(leaves, some.astype(np.int32), np.concatenate(reach)[some], player=player)
    np.testing.assert_allclose(found, everything[some], rtol=0, atol=1e-12)


@functools.partial(jax.jit, static_argnames="player")
def _values_of_leaves(leaves, reach, player):
  return leaves(player, reach)


@functools.partial(jax.jit, static_argnames="player")
def _sampled_values(leaves, places, reach, player):
  return leaves.sampled(player, places, reach)


def test_a_solver_makes_the_form_once(monkeypatch):
  """The estimate and the tree have one list of public states, whose orbits take long on flops."""
  game, made = pyspiel.load_game("river_subgame(stack=300,ranges=AA;KK)"), []
  make = type(game).bayesian_form
  monkeypatch.setattr(type(game), "bayesian_form", lambda self: made.append(self) or make(self))
  PSCFRSolver(game)
  assert len(made) == 1


def test_games_of_one_board_share_what_depends_on_the_deal_alone():
  """They share it while one of them is in use. Games of other boards or ranges have another."""
  games = []

  def dealt(**parameters):
    game = pyspiel.load_game("holdem_subgame", {"deck": "5x2", "board": "2c3c4d5d", **parameters})
    games.append(game)
    return PublicStateIndex.of(game.bayesian_form()).dealt

  first = dealt(pot=200, bets="1")
  assert dealt(pot=400, bets="0.5 a") is first
  assert dealt(board="2c3c4d6d") is not first and dealt(ranges="6c6d;") is not first
  kept = weakref.ref(first)
  del first
  games.clear()
  gc.collect()
  assert kept() is None
