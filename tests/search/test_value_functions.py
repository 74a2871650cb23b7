"""Value functions at a frontier, and the averages that a search takes of them."""

import functools

import jax
import numpy as np
import pyspiel
import pytest
from cuts import at_roots, levels, ranges_at, reaches, root_histories, rounded
from random_policies import random_policy
from reference_subgames import Game, tables_of

from ps_cfr_spiel import PSCFRSolver, build_tree, cfr
from ps_cfr_spiel.backend.device import jit, precision, to_device
from ps_cfr_spiel.resolving.subgames import Subgames, unsafe
from ps_cfr_spiel.rules import LCFR, RM
from ps_cfr_spiel.tree import sequence_reach
from ps_cfr_spiel.values import CFRValues, SolvedValues

RIVER = "river_subgame(board=KhKd8c4s2h,stack=500,ranges=AsAd QsQd:0.5 7c6c;JsJd Ah8h 5c4c:3)"
CHASE = "glasses(edges=0-1 1-2 2-3 3-4 4-5 5-0 0-3,start=4:1,turns=4)"

_call = jit(static_argnames="player")(lambda bound, ranges, player: bound(player, ranges))
_both = jit()(lambda bound, ranges: bound.both(ranges))


@functools.cache
def load(name):
  game = pyspiel.load_game(name)
  subgames = Subgames(build_tree(game))
  plain = Game(game)
  profile = plain.random(4)
  tables = tables_of(subgames.tree, profile)
  return plain, subgames, profile, tables, reaches(subgames.tree, tables)


def ask(bound, player, ranges, dtype="float64"):
  with precision(dtype):
    return np.asarray(_call(*to_device((bound, ranges), dtype), player=player))


def ask_both(bound, ranges):
  with precision("float64"):
    return [np.asarray(values) for values in _both(*to_device((bound, ranges), "float64"))]


def frontier_of(subgames):
  return levels(subgames, 0)[-1]


@pytest.mark.parametrize("name", ["kuhn_poker", RIVER, CHASE])
def test_cfr_values_approach_an_equilibrium(name):
  """They are of one profile, so they sum to zero; the total nears that of an equilibrium, which is unique."""
  _, subgames, _, _, reach = load(name)
  states = frontier_of(subgames)
  ranges = ranges_at(subgames.cut(states), reach)
  totals = []
  for iterations in (1, 20, 300, 3000):
    values = ask_both(CFRValues(iterations).bind(subgames, states), ranges)
    assert [v.shape for v in values] == [r.shape for r in ranges]
    first, second = (float((v * r).sum()) for v, r in zip(values, ranges, strict=True))
    assert first == pytest.approx(-second, abs=1e-9)
    totals.append(first)
  errors = np.abs(np.array(totals[:3]) - totals[3])
  assert errors[0] > errors[1] > errors[2]
  assert errors[2] < 0.01 * errors[0]


@pytest.mark.parametrize("name", ["kuhn_poker", RIVER, CHASE])
def test_best_response_values_are_too_high_for_both(name):
  """By weak duality: in total at least the other player's loss, closing in on an equilibrium's from above."""
  _, subgames, _, _, reach = load(name)
  states = frontier_of(subgames)
  ranges = ranges_at(subgames.cut(states), reach)
  gaps = []
  for iterations in (1, 20, 300):
    best, average = (
      ask_both(CFRValues(iterations, values=values).bind(subgames, states), ranges)
      for values in ("best-response", "average")
    )
    gaps.append(sum(float((v * r).sum()) for v, r in zip(best, ranges, strict=True)))
    assert all((high >= low - 1e-9).all() for high, low in zip(best, average, strict=True))
  assert gaps[0] > gaps[1] > gaps[2] >= -1e-9
  assert gaps[2] < 0.01 * gaps[0]


def test_cfr_values_of_one_decision_are_exact():
  """At Kuhn's last decision player 0 has to beat player 1's bet: who holds what says all."""
  _, subgames, _, _, reach = load("kuhn_poker")
  states = frontier_of(subgames)
  ranges = ranges_at(subgames.cut(states), reach)
  (values,) = ask(CFRValues(2000).bind(subgames, states), 0, ranges)
  roots = subgames.cut(states).roots
  own, theirs = ([path[i] for path in root_histories(subgames, i, roots[i])[0]] for i in (0, 1))
  value, other = dict(zip(own, values, strict=True)), dict(zip(theirs, ranges[1][0], strict=True))
  # fold: -1; call: +2 or -2; each of the six deals has probability 1/6
  for card in range(3):
    rest = [c for c in range(3) if c != card]
    fold = -sum(other[c] for c in rest) / 6
    call = sum(2 * np.sign(card - c) * other[c] for c in rest) / 6
    assert value[card] == pytest.approx(max(fold, call), abs=1e-9)


@pytest.mark.parametrize("make", [lambda _: CFRValues(15), SolvedValues], ids=["cfr", "solved"])
@pytest.mark.parametrize("name", [RIVER, CHASE])
def test_batches_padding_and_precision(name, make):
  """Many public states at once are as each alone, in any shape; float32 is close to float64."""
  _, subgames, _, tables, reach = load(name)
  states = frontier_of(subgames)[:4]
  subgame = subgames.cut(states)
  ranges, function = ranges_at(subgame, reach), make(tables)
  together = [ask(function.bind(subgames, states), i, ranges) for i in (0, 1)]
  for i in (0, 1):
    single = ask(function.bind(subgames, states), i, ranges, "float32")
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, together[i], rtol=0, atol=1e-4 * np.abs(together[i]).max())
  shape = rounded(functools.reduce(lambda a, b: a.union(b), [subgames.cut([s]).shape for s in states]))
  for s in states:
    alone = subgames.cut([s], pad_to=lambda own: shape)
    own = ranges_at(alone, reach)
    bound = function.bind(subgames, [s], lambda own: shape)
    for i in (0, 1):
      rows = np.isin(subgame.roots[i].knowledge, alone.roots[i].knowledge)
      found = ask(bound, i, own)
      np.testing.assert_allclose(found[: rows.sum()], together[i][rows], rtol=0, atol=1e-8)


def test_solved_values_of_an_equilibrium_are_its_own():
  """At the ranges of an equilibrium both players get there what the equilibrium gives them."""
  plain, subgames, *_ = load(RIVER)
  solver = PSCFRSolver(pyspiel.load_game(RIVER), dtype="float64")
  solver.run(3000)
  tables = solver.average_policy().strategies
  states = frontier_of(subgames)
  subgame = subgames.cut(states)
  ranges = ranges_at(subgame, reaches(subgames.tree, tables))
  bound = SolvedValues(tables).bind(subgames, states)
  values = [ask(bound, i, ranges) for i in (0, 1)]
  assert sum(float((v * r).sum()) for v, r in zip(values, ranges, strict=True)) < 1e-3
  profile = {
    (d.player, name): dict(zip(d.legal_actions, tables[d.player][d.block][:, d.row, h].tolist(), strict=True))
    for d, h, name in subgames.labels.infostates()
  }
  for i in (0, 1):
    expected = at_roots(plain, subgames, i, subgame.roots[i], plain.responses(profile, i))
    np.testing.assert_allclose(values[i], expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
  "name, rule, averaging_delay", [("kuhn_poker", RM(), 0), ("kuhn_poker", LCFR(), 1), (CHASE, RM(), 0)]
)
def test_a_search_averages_the_values_at_its_frontier(name, rule, averaging_delay):
  """What `cfr.run` keeps is the mean of what is found at each iteration, weighted as strategies."""
  _, subgames, _, tables, _ = load(name)
  frontier = levels(subgames, 0)[1]
  subgame = subgames.cut([0], frontier)
  ones = tuple(np.ones((n, p.types)) for n, p in zip(subgame.shape.roots, subgame.tree.players, strict=True))
  bound = SolvedValues(tables).bind(subgames, frontier)
  with precision("float64"):
    tree = to_device(unsafe(subgame, 0, ones, None, bound).tree, "float64")
    state, found = cfr.init(tree, rule, "float64"), []
    for _ in range(4):
      found.append([np.asarray(v) for v in _at_the_frontier(tree, cfr.current_strategy(tree, state))])
      state = cfr.run(tree, state, 1, averaging_delay, rule=rule, alternating=False)
    for i in (0, 1):
      weights = [t**rule.gamma if t > averaging_delay else 0 for t in range(1, 5)]
      expected = np.average([f[i] for f in found], 0, weights)
      (average,) = cfr.average_record(state.players[i])
      np.testing.assert_allclose(average, expected, rtol=0, atol=1e-12)
    assert max(np.ptp([f[i] for f in found], axis=0).max() for i in (0, 1)) > 0.01  # they do change


@jax.jit
def _at_the_frontier(tree, strategies):
  """Both players' values there, the last part of the leaves."""
  reach = [sequence_reach(p, s) for p, s in zip(tree.players, strategies, strict=True)]
  leaf = [p.leaf.pull(r) for p, r in zip(tree.players, reach, strict=True)]
  return [tree.leaves(i, leaf[1 - i], leaf[i])[-1] for i in (0, 1)]


@pytest.mark.parametrize("iterations", [0, -1, 2.5, True, "20"])
def test_bad_iterations(iterations):
  with pytest.raises(ValueError, match=f"iterations must be an integer of at least 1, got {iterations!r}"):
    CFRValues(iterations)


def test_bad_rule_and_strategies():
  with pytest.raises(ValueError, match="Unknown rule 'nrn'"):
    CFRValues(20, "nrn")
  with pytest.raises(ValueError, match="Unknown values 'best'; choose one of 'average', 'best-response'"):
    CFRValues(20, values="best")
  _, subgames, _, tables, _ = load("kuhn_poker")
  with pytest.raises(ValueError, match=r"strategies must have the blocks .* of kuhn_poker\(\), got "):
    SolvedValues([tables[0], tables[0][:1]]).bind(subgames, frontier_of(subgames))
  other = [[block[:, :1] for block in blocks] for blocks in load(RIVER)[3]]
  with pytest.raises(ValueError, match=r"strategies must have the blocks"):
    SolvedValues(other).bind(subgames, frontier_of(subgames))
  for wrong in (None, 5, random_policy("kuhn_poker")):
    with pytest.raises(ValueError, match=r"strategies must be arrays .* like TreePolicy.strategies, got"):
      SolvedValues(wrong)
  for number in (-1.0, 0.0, 7.0, np.nan, np.inf):
    with pytest.raises(ValueError, match="strategies must be probabilities that sum to one"):
      SolvedValues([[np.full_like(block, number) for block in blocks] for blocks in tables])
