"""Regret rules: one step by hand for each, and the laws that every rule must keep."""

import dataclasses
import math

import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest

from ps_cfr_spiel import PSCFRSolver
from ps_cfr_spiel.cfr import make_rule, normalise, rule_header
from ps_cfr_spiel.rules import DCFR, LCFR, RM, RULES, NRMPlus, PCFRPlus, PDCFRPlus, RMPlus


def steps(rule, regrets):
  """Strategies after each regret of a single infostate."""
  state = rule.init((len(regrets[0]), 1, 1), "float64")
  strategies = []
  for t, regret in enumerate(regrets, start=1):
    state, strategy = rule.update(state, jnp.asarray(regret, "float64").reshape(-1, 1, 1), jnp.asarray(t))
    strategies.append(np.asarray(strategy).ravel())
  return strategies


# Regrets (4, -2, 0), then (-3, 4, 1): worked out by hand.
BY_HAND = [
  (RM(), [1 / 4, 2 / 4, 1 / 4]),  # R = 1, 2, 1
  (RMPlus(), [1 / 6, 4 / 6, 1 / 6]),  # R = 4, 0, 0 and then 1, 4, 1
  (LCFR(), [0, 3 / 4, 1 / 4]),  # R = 4/2 - 3, -2/2 + 4, 1 = -1, 3, 1
  (DCFR(alpha=math.inf, beta=-math.inf), [0, 3 / 4, 1 / 4]),  # u = 1: both factors 1/2
  (PCFRPlus(), [0, 8 / 10, 2 / 10]),  # R = 1, 4, 1; with the prediction -2, 8, 2
  (PCFRPlus(phi=1 / 3), [0, 16 / 3 / (20 / 3), 4 / 3 / (20 / 3)]),  # R + x/3 = 0, 16/3, 4/3
]


@pytest.mark.parametrize("rule, expected", BY_HAND, ids=lambda x: str(x))
def test_second_strategy_by_hand(rule, expected):
  np.testing.assert_allclose(steps(rule, [[4, -2, 0], [-3, 4, 1]])[-1], expected, atol=1e-12)


def test_pdcfr_plus_by_hand():
  # R = 4, 0, 0; then d(2) = 1/2: R = max(2 - 3, 0), 4, 1; d(3) = 2^a / (2^a + 1) with a = 1: 2/3
  strategy = steps(PDCFRPlus(alpha=1.0), [[4, -2, 0], [-3, 4, 1]])[-1]
  weights = np.array([0, 4 * 2 / 3 + 4, 2 / 3 + 1])
  np.testing.assert_allclose(strategy, weights / weights.sum(), atol=1e-12)
  # A third step, whose regret is not in proportion to R = 0 + 1, 8/3 - 1, 2/3 + 2; d(4) = 3/4.
  strategy = steps(PDCFRPlus(alpha=1.0), [[4, -2, 0], [-3, 4, 1], [1, -1, 2]])[-1]
  weights = np.array([1, 5 / 3, 8 / 3]) * 3 / 4 + [1, -1, 2]
  np.testing.assert_allclose(strategy, weights / weights.sum(), atol=1e-12)


def test_nrm_plus_by_hand():
  rule = NRMPlus(kappa=0.4, fade=1.0, phi=0.5, tau=1.5, gamma=2.0)
  past = 0.4 * 4  # s(1) u, more than nothing
  first = past / 3 + np.array([4, -2, 0])
  known = [first[0], 0, first[2]]
  past = 0.4 * math.sqrt(3) * 5  # s(2) u, more than half of what was known
  second = np.where(first > 0, past / sum(known), 1 / 8) * first + np.array([-3, 4, 1])
  assert first[1] < 0 and sum(known) / 2 < past
  kept = np.maximum(second, 0)
  bound = np.minimum(kept, 5)
  weights = kept + 0.5 * np.clip([-3, 4, 1], -bound, bound)
  expected = weights / weights.sum()
  np.testing.assert_allclose(steps(rule, [[4, -2, 0], [-3, 4, 1]])[-1], expected, atol=1e-12)


def test_lcfr_is_dcfr_of_ones():
  regrets = np.random.default_rng(0).normal(size=(6, 4))
  np.testing.assert_array_equal(steps(LCFR(), regrets), steps(DCFR(1, 1, 1), regrets))


@pytest.mark.parametrize(
  ("name", "kind"), [("cfr+", RMPlus), ("CFR", RM), ("NRM+", NRMPlus), ("RMPlus", RMPlus)]
)
def test_rules_by_the_names_of_their_algorithms(name, kind):
  assert make_rule(name) == kind()
  assert PSCFRSolver(pyspiel.load_game("kuhn_poker"), name).rule == kind()


@pytest.mark.parametrize("kind", RULES.values(), ids=RULES)
def test_laws(kind):
  """Strategies are distributions; types do not mix; scale does not matter; silence changes nothing."""
  rule, rng = kind(), np.random.default_rng(3)
  shape = (3, 2, 5)
  regrets = rng.normal(size=(8, *shape))
  regrets[:, :, 1, 4] = 0  # an infostate that never hears anything
  whole, single = rule.init(shape, "float64"), rule.init((3, 1, 1), "float64")
  scaled = rule.init(shape, "float64")
  for t, regret in enumerate(regrets, start=1):
    whole, strategy = rule.update(whole, jnp.asarray(regret), jnp.asarray(t))
    single, alone = rule.update(single, jnp.asarray(regret[:, :1, 2:3]), jnp.asarray(t))
    scaled, same = rule.update(scaled, jnp.asarray(regret * 1e-6), jnp.asarray(t))
    assert (np.asarray(strategy) >= 0).all()
    np.testing.assert_allclose(np.asarray(strategy).sum(0), 1, atol=1e-12)
    np.testing.assert_allclose(strategy[:, :1, 2:3], alone, atol=1e-12)
    np.testing.assert_allclose(strategy, same, atol=1e-9)
    np.testing.assert_allclose(strategy[:, 1, 4], 1 / 3, atol=1e-12)


@pytest.mark.parametrize("kind", RULES.values(), ids=RULES)
def test_learns_the_best_action_in_float32(kind):
  rule = kind()
  state, strategy = rule.init((3, 1, 1), "float32"), np.full((3, 1, 1), 1 / 3, np.float32)
  values = np.array([1, 3, 2], np.float32).reshape(3, 1, 1) * np.float32(1e-30)
  for t in range(1, 200):
    regret = values - (values * strategy).sum(0, keepdims=True)
    state, strategy = rule.update(state, jnp.asarray(regret), jnp.asarray(t))
    assert strategy.dtype == np.float32
    strategy = np.asarray(strategy)
  np.testing.assert_allclose(strategy.ravel(), [0, 1, 0], atol=1e-3)


def test_normalise_is_uniform_where_nothing_is_positive():
  weights = jnp.asarray([[0.0, 2.0], [0.0, 6.0]]).reshape(2, 1, 2)
  np.testing.assert_allclose(normalise(weights)[:, 0], [[0.5, 0.25], [0.5, 0.75]])


@pytest.mark.parametrize("kind", RULES.values(), ids=RULES)
def test_header_round_trip(kind):
  rule = dataclasses.replace(kind(), gamma=3.5)
  assert make_rule(rule_header(rule)) == rule
  assert hash(rule) == hash(make_rule(rule_header(rule)))


def test_bad_rules_are_named():
  with pytest.raises(
    ValueError, match=r"Unknown rule 'cfr-d'; choose one of 'rm', 'rm\+', .* 'cfr', 'cfr\+'"
  ):
    make_rule("cfr-d")
  with pytest.raises(ValueError, match="has the parameters"):
    make_rule({"name": "rm", "alpha": 2})
  with pytest.raises(ValueError, match="Expected a rule"):
    make_rule(NRMPlus)
  with pytest.raises(ValueError, match="NRMPlus: kappa must be a number from 1e-06"):
    NRMPlus(kappa=-1)
  with pytest.raises(ValueError, match="gamma must be a number"):
    RM(gamma=math.nan)


def test_the_default_rule_takes_what_its_theorem_does():
  """docs/regret_rules.md: kappa > 0, 0 <= fade <= gamma, 0 <= phi < 1; averages may be uniform."""
  for allowed in ({"fade": 0, "gamma": 0}, {"fade": 1, "gamma": 1}, {"phi": 0}, {"phi": 0.9}, {"tau": 1e12}):
    strategies = steps(NRMPlus(**allowed), [[4, -2, 0], [-3, 4, 1]])
    np.testing.assert_allclose(np.sum(strategies, axis=1), 1, atol=1e-12)
  for refused in ({"kappa": 0}, {"fade": -1}, {"fade": 3, "gamma": 2}, {"phi": 1}, {"gamma": -1}):
    with pytest.raises(ValueError, match=f"NRMPlus: {next(iter(refused))} must be a number from"):
      NRMPlus(**refused)


@dataclasses.dataclass(frozen=True)
class Stubborn:
  """A rule without state, which always plays uniformly; `shape` of a state that is of no use."""

  state: tuple[int, ...] | None = None
  gamma: float = 0.0

  def init(self, shape, dtype):
    return () if self.state is None else np.zeros(self.state, dtype)

  def update(self, state, regret, t):
    return state, normalise(jnp.ones_like(regret))


def test_a_rule_without_state():
  game = pyspiel.load_game("leduc_poker")
  solver = PSCFRSolver(game, Stubborn(), dtype="float64")
  start = solver.exploitability()
  solver.run(5)
  assert solver.exploitability() == pytest.approx(start, rel=1e-12)


@pytest.mark.parametrize("state", [(), (3,), (3, 1, 1)])
def test_the_state_of_a_rule_has_an_entry_for_every_row(state):
  with pytest.raises(ValueError, match=r"Stubborn.init\(shape=.*must return arrays"):
    PSCFRSolver(pyspiel.load_game("leduc_poker"), Stubborn(state))
