"""CFR+IRA: its laws on random games, its options, and what it must equal."""

import functools
import types

import jax
import numpy as np
import pyspiel
import pytest
from random_games import random_game

import ps_cfr_spiel
from benchmarks.papers.abstraction_games import load
from ps_cfr_spiel import cfr
from ps_cfr_spiel.abstraction import cfr_ira
from ps_cfr_spiel.abstractions import CFRPlusIRASolver, FPIRASolver
from ps_cfr_spiel.tree import action_values, max_actions, sequence_reach, sequence_values

KUHN = pyspiel.load_game("kuhn_poker")
LEDUC = pyspiel.load_game("leduc_poker(suit_isomorphism=True)")
DEALT = (
  "universal_poker(betting=limit,numPlayers=2,numRounds=2,blind=1 1,raiseSize=2 4,firstPlayer=1 1,"
  "maxRaises=1 1,numSuits=2,numRanks=2,numHoleCards=1,numBoardCards=0 1)"
)
TWO_ROUNDS = pyspiel.load_game(DEALT)


def own_paths(game):
  """For each terminal history and player, the own infostates on its way."""

  def walk(state, paths):
    if state.is_terminal():
      yield from enumerate(paths)
      return
    mover = state.current_player()
    name = state.information_state_string() if mover >= 0 else ""
    after = tuple((*p, name) if i == mover else p for i, p in enumerate(paths))
    for action in state.legal_actions():
      yield from walk(state.child(action), after)

  return set(walk(game.new_initial_state(), ((), ())))


@pytest.mark.parametrize(("kind", "seed"), [("cfr+ira", 2), ("cfr+ira", 4), ("fpira", 4), ("fpira", 7)])
def test_laws(kind, seed):
  """A partition, finer than before, of infostates with equal actions; no path meets a set twice."""
  game = random_game(seed)
  if kind == "fpira":
    solver = FPIRASolver(game)
  else:
    solver = CFRPlusIRASolver(game, bound=3, heuristic=4, seed=seed, averaging_delay=0, dtype="float64")
  labels, paths = solver.tree.names, own_paths(game)
  order = [sorted(n for d, _, n in labels.infostates() if d.player == i) for i in (0, 1)]
  actions = {(d.player, n): len(d.legal_actions) for d, _, n in labels.infostates()}
  before = first = solver.abstraction
  for _ in range(25):
    solver.run(1)
    now = solver.abstraction
    for i in (0, 1):
      pairs = set(zip(now.sets[i].tolist(), before.sets[i].tolist(), strict=True))
      assert len(pairs) == now.counts[i] >= before.counts[i]  # every new set within one old set, none empty
      assert {(n, int(now.origin[i][n])) for n in now.sets[i].tolist()} == set(
        zip(now.sets[i].tolist(), first.sets[i].tolist(), strict=True)
      )
      number = dict(zip(order[i], now.sets[i].tolist(), strict=True))
      assert len({(k, actions[i, n]) for n, k in number.items()}) == now.counts[i]
      for player, path in paths:
        if player == i:
          assert len({number[name] for name in path}) == len(path)
    assert now.count - first.count <= now.infostates - first.count
    if kind == "cfr+ira":
      check_survivors(solver)
    before = now
  assert before.count > first.count  # so there was something to see


def check_survivors(solver):
  """Whoever is tracked and was not split off has a mean regret within the bound (Algorithm 9)."""
  run, setting = solver._state, solver._setting
  turn = 2 * solver.iteration
  since = 1 << (turn.bit_length() - 1)
  for (player, cell), summed in zip(np.asarray(run.tracked), np.asarray(run.summed), strict=True):
    if player >= 0 and turn > since:
      low = setting.spread[player][cell] * np.sqrt(setting.actions[player][cell]) / (100 * np.sqrt(turn))
      assert summed.max() / (turn - since) <= low


def test_utility_ranges():
  """Kuhn: the lowest card wins 1 at most and may lose 2, the middle one may win or lose 2, and so on."""
  tree = ps_cfr_spiel.build_tree(KUHN)
  found = cfr_ira.utility_ranges(tree)
  assert found[0].tolist() == [3, 4, 3, 1, 4, 3]  # 0, 1, 2, and after a pass and a bet
  assert sorted(found[1].tolist()) == [1, 1, 3, 3, 4, 4]


def test_the_bound_by_hand():
  """Algorithm 9 at turn 36, tracked since turn 32: 3 sqrt(4) / (100 sqrt(36)) = 0.01, 0.04 in all."""
  setting = types.SimpleNamespace(spread=(np.array([3.0, 3.0]),), actions=(np.array([4, 4]),))
  summed = np.array([[0.0399, -9.0, 0.0, 0.0], [0.0, 0.0401, 0.0, -9.0]])
  assert cfr_ira._too_slow(setting, 0, np.array([0, 1]), summed, 36, 32).tolist() == [False, True]


def on_host(run):
  """A run whose sets can be split, as between two turns."""
  return run._replace(parts=jax.tree.map(np.asarray, run.parts))


@functools.partial(jax.jit, static_argnames="player")
def played(tree, strategies, *, player):
  """`action_values` of a player when both play so."""
  reach = [sequence_reach(own, s) for own, s in zip(tree.players, strategies, strict=True)]
  return action_values(tree, player, strategies[player], reach)


@functools.partial(jax.jit, static_argnames="player")
def best_value(tree, leaves, *, player):
  """What a player gets by a best response where its leaves have such values."""
  return sequence_values(tree.players[player], leaves, lambda _, q: max_actions(q))[1].sum()


current_strategy = jax.jit(cfr.current_strategy)


@pytest.mark.parametrize(
  ("game", "options"),
  [
    (KUHN, {"bound": 0, "heuristic": 0}),
    (KUHN, {}),
    (KUHN, {"bound": 4, "heuristic": 0}),
    (random_game(3), {"bound": 3, "heuristic": 4}),
    (TWO_ROUNDS, {}),
  ],
)
def test_external_regret_is_bounded_by_regrets_of_the_whole_game(game, options):
  """Eq. 4: a player's regret is at most the sum of the positive regrets of all infostates, split or not.

  Regrets are those of the strategies that were played, from values of the whole game.
  """
  solver = CFRPlusIRASolver(game, **options, dtype="float64", averaging_delay=0, public_states="none")
  tree, setting, run = solver._tree, solver._setting, on_host(solver._state)
  before = solver.abstraction.count
  with ps_cfr_spiel.runtime.precision("float64"):
    totals, gained, leaves = [None, None], [0.0, 0.0], [None, None]
    for t in range(8):
      for i in (0, 1):
        sets = solver._sets(run.parts)
        strategies = current_strategy(tree, run.tables, sets)
        values, mean, leaf = jax.tree.map(np.asarray, played(tree, strategies, player=i))
        gained[i] += float(mean.sum())
        tables = map(np.asarray, strategies[i])
        regrets = [q - (p * q).sum(0, keepdims=True) for p, q in zip(tables, values, strict=True)]
        leaves[i] = leaf if t == 0 else [a + b for a, b in zip(leaves[i], leaf, strict=True)]
        totals[i] = regrets if t == 0 else [a + b for a, b in zip(totals[i], regrets, strict=True)]
        run = cfr_ira.take_turn(setting, run, sets, i)
      run = run._replace(iteration=run.iteration + 1)
    assert sum(p.count for p in run.parts) > before or options.get("bound") == 0
    for i in (0, 1):
      best = float(best_value(tree, leaves[i], player=i))
      bound = float(sum(np.maximum(np.asarray(x).max(0), 0).sum() for x in totals[i]))
      assert 0 < best - gained[i] <= bound + 1e-9


# Table 1 of the paper: chance deals player 1 one of two infostates; player 2 plays e or f, unseen; then
# player 1 gets for c or d 0 or 1 and 0 or 10 after e, and 10 or 0 and 1 or 0 after f.
TABLE_1 = pyspiel.load_efg_game("""EFG 2 R "Table 1" { "1" "2" } ""
c "" 1 "" { "left" 0.5 "right" 0.5 } 0
p "" 2 1 "" { "e" "f" } 0
p "" 1 1 "" { "c" "d" } 0
t "" 1 "" { 0 0 }
t "" 2 "" { 1 -1 }
p "" 1 1 "" { "c" "d" } 0
t "" 3 "" { 10 -10 }
t "" 4 "" { 0 0 }
p "" 2 1 "" { "e" "f" } 0
p "" 1 2 "" { "c" "d" } 0
t "" 5 "" { 0 0 }
t "" 6 "" { 10 -10 }
p "" 1 2 "" { "c" "d" } 0
t "" 7 "" { 1 -1 }
t "" 8 "" { 0 0 }
""")


@pytest.mark.parametrize(("bound", "worth", "sets"), [(0, 2.75, 1), (2, 5, 2)])
def test_table_1(bound, worth, sets):
  """Against e and f in turn the heuristic alone never splits and wins 2.75; with the bound they part: 5."""
  solver = CFRPlusIRASolver(
    TABLE_1, bound=bound, heuristic=2, dtype="float64", public_states="none", tolerance=0.01
  )
  setting, run, won = solver._setting, on_host(solver._state), []
  payoff = np.array([[[0, 10], [1, 0]], [[0, 1], [10, 0]]])  # infostate, action, what player 2 plays
  with ps_cfr_spiel.runtime.precision("float64"):
    for t in range(400):
      tables = np.zeros(run.players[1].strategy[0].shape)
      tables[t % 2] = 1
      run = run._replace(players=(run.players[0], run.players[1]._replace(strategy=(tables,))))
      device = solver._sets(run.parts)
      strategy = current_strategy(solver._tree, run.tables, device)[0][0]
      won.append(float((np.asarray(strategy)[:, :, 0].T * payoff[:, :, t % 2]).sum() / 2))
      for i in (0, 1):
        device = solver._sets(run.parts)
        run = cfr_ira.take_turn(setting, run, device, i)
      run = run._replace(iteration=run.iteration + 1)
  assert run.parts[0].count == sets
  assert np.mean(won[200:]) == pytest.approx(worth, abs=0.1)


@pytest.mark.parametrize("tremble", [0, 1])
def test_without_samples_it_is_cfr_plus_on_the_first_abstraction(tremble):
  given = {"averaging_delay": 5, "dtype": "float64", "tremble": tremble}
  plain = ps_cfr_spiel.PSCFRSolver(KUHN, "rm+", abstraction="initial", **given)
  same = CFRPlusIRASolver(KUHN, bound=0, heuristic=0, **given)
  for solver in (plain, same):
    solver.run(20)
  assert same.abstraction.count == 3
  assert same.exploitability() == plain.exploitability()
  for ours, theirs in zip(
    *(jax.tree.leaves(x.current_policy().strategies) for x in (same, plain)), strict=True
  ):
    np.testing.assert_array_equal(ours, theirs)


def test_its_last_abstraction_solves_the_whole_game():
  """No fixed coarse abstraction can."""
  whole = CFRPlusIRASolver(KUHN, seed=3)
  whole.run(400)
  assert whole.exploitability() < 0.002
  assert whole.name == "CFR+IRA B10H90"
  assert "split in 400 iterations" in whole.abstraction.key
  again = ps_cfr_spiel.PSCFRSolver(KUHN, abstraction=whole.abstraction)
  again.run(500)
  assert again.exploitability() < 0.001


def test_seeds_differ():
  found = []
  for seed in (0, 1):
    solver = CFRPlusIRASolver(LEDUC, bound=4, heuristic=6, seed=seed, public_states="none")
    solver.run(3)
    found.append(np.concatenate(solver.abstraction.sets).tolist())
  assert found[0] != found[1]


def test_a_relative_tolerance_solves_kuhn():
  solver = CFRPlusIRASolver(KUHN, averaging_delay=50, relative=True)
  solver.run(400)
  assert solver.exploitability() < 0.01
  assert 3 < solver.abstraction.count <= 12


def test_the_tolerance_falls_with_the_root_of_time(monkeypatch):
  seen = []

  def agreeing(found, tolerance):
    seen.extend(tolerance)
    return np.zeros(len(found), int)

  monkeypatch.setattr(cfr_ira, "disagreement", agreeing)
  CFRPlusIRASolver(KUHN, tolerance=0.6, dtype="float64").run(3)
  np.testing.assert_allclose(np.unique(seen), np.unique(0.6 / np.sqrt([1, 2, 3])))


def test_what_a_split_clears():
  """Tables of new sets begin anew; those of the others stay."""
  solver = CFRPlusIRASolver(KUHN, bound=0, heuristic=0, averaging_delay=0, dtype="float64")
  solver.run(3)
  before = jax.tree.map(np.asarray, solver._state.players[1])
  parts = jax.tree.map(np.asarray, solver._state.parts[1])
  moved, moves = cfr_ira.split(parts, np.flatnonzero(parts.sets >= 0)[:2], np.zeros(2, int))
  after, new = cfr_ira._settled(solver._setting, 1, before, moved), moved.column[moves[0, 1]]
  assert before.average.compensation.any() and before.rule[0][:, 1].any()
  for field in ("rule", "average", "compensation", "strategy"):
    if field in ("average", "compensation"):  # of the only bucket
      old, found = (getattr(own.average, field).reshape(2, -1, 1) for own in (before, after))
    else:
      old, found = (getattr(own, field)[0] for own in (before, after))
    np.testing.assert_array_equal(found[:, 1], old[:, 1])
    np.testing.assert_array_equal(found[:, new, 0], [0.5, 0.5] if field == "strategy" else [0, 0])


RIVER = "river_subgame(pot=10,stack=20,bets=a,ranges=AA KK QQ;KK QQ JJ)"


@pytest.mark.parametrize(
  ("game", "player"),
  [("kuhn_poker", 1), (RIVER, 0), (DEALT, 1)],
  ids=["enumerated", "described", "with public cards"],
)
def test_sampled_regrets_are_those_of_the_whole_game_in_the_mean(game, player):
  solver = CFRPlusIRASolver(pyspiel.load_game(game), samples=40_000, averaging_delay=0, dtype="float64")
  run, setting = on_host(solver._state), solver._setting
  sets = solver._sets(run.parts)
  assert setting.nodes is not None
  with ps_cfr_spiel.runtime.precision("float64"):
    _, whole = cfr.take_turn(solver._tree, run.tables, 0, sets, player=player, rule=cfr_ira.RULE)
    key = np.array([1, 2], np.uint32)
    given = solver._tree, setting.nodes, run.tables, sets, key
    parts = cfr_ira._estimated(*given, player=player, samples=setting.samples)
  scale = max(float(np.abs(x).max()) for x in whole)
  for estimates, exact in zip(parts, whole, strict=True):
    assert len(estimates) == cfr_ira.PARTS
    assert float(np.abs(estimates.mean(0) - exact).max()) < 0.1 * scale
    assert float(np.ptp(estimates, axis=0).max()) > 1e-4 * scale  # the parts are independent


def test_samples_find_few_sets():
  """Goofspiel with four cards has 162 infostates; whole traversals find 44 to 46 sets."""
  solver = CFRPlusIRASolver(load("GS4", None), samples=400, public_states="none")
  solver.run(160)
  assert solver.exploitability() < 0.025
  assert 36 < solver.abstraction.count < 52


def test_wrong_samples_are_refused():
  with pytest.raises(ValueError, match="give one of the two"):
    CFRPlusIRASolver(KUHN, samples=16, tremble=1)
  with pytest.raises(ValueError, match=r"samples=9: .*a multiple of 8, such as 16"):
    CFRPlusIRASolver(KUHN, samples=9)
