"""Regret rules: one step by hand for each, and the laws that every rule must keep."""

import ast
import dataclasses
import inspect
import math

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest
from random_games import random_game

from ps_cfr_spiel import ContinualResolving, PSCFRSolver, cfr, rules
from ps_cfr_spiel.backend.device import to_device
from ps_cfr_spiel.cfr import discounted, first_state, make_rule, normalise, regret_rules, rule_header
from ps_cfr_spiel.cfr import rule as rule_module
from ps_cfr_spiel.compilation.compiler import build_tree
from ps_cfr_spiel.rules import (
  DCFR,
  HSDCFR,
  LCFR,
  RM,
  RULES,
  VADCFR,
  APCFRPlus,
  HSPCFRPlus,
  NRMPlus,
  PCFRPlus,
  PDCFRPlus,
  RMPlus,
  Rule,
  SAPCFRPlus,
)


def steps(rule, regrets, dtype="float64"):
  """Strategies after each regret of a single infostate."""
  shape = (len(regrets[0]), 1, 1)
  state, strategy = rule.init(shape, dtype), jnp.full(shape, 1 / shape[0], dtype)
  update, strategies = jax.jit(rule.update), []
  for t, regret in enumerate(regrets, start=1):
    state, strategy = update(state, strategy, np.asarray(regret, dtype).reshape(shape), np.asarray(t))
    strategies.append(np.asarray(strategy).ravel())
  return strategies


# Regrets (4, -2, 0), then (-3, 4, 1): worked out by hand.
BY_HAND = [
  (RM(), [1 / 4, 2 / 4, 1 / 4]),  # R = 1, 2, 1
  (RMPlus(), [1 / 6, 4 / 6, 1 / 6]),  # R = 4, 0, 0 and then 1, 4, 1
  (LCFR(), [0, 3 / 4, 1 / 4]),  # R = 4/2 - 3, -2/2 + 4, 1 = -1, 3, 1
  (DCFR(alpha=math.inf, beta=-math.inf), [0, 3 / 4, 1 / 4]),  # u = 1: both factors 1/2
  (PCFRPlus(), [0, 8 / 10, 2 / 10]),  # R = 1, 4, 1; with the prediction -2, 8, 2
  (SAPCFRPlus(), [0, 16 / 3 / (20 / 3), 4 / 3 / (20 / 3)]),  # R + x/3 = 0, 16/3, 4/3
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


def test_apcfr_plus_by_hand():
  # R = 4, 0, 0 and then 1, 4, 1. Predictions missed by (4, -2, 0) and (-7, 6, 1): 20 + 86.
  # R moved by (4, 0, 0) and (-3, 4, 1): 16 + 26.
  strategy = steps(APCFRPlus(), [[4, -2, 0], [-3, 4, 1]])[-1]
  phi = 1 / (1 + math.sqrt(106 / 42))
  weights = np.array([0, 4 + 4 * phi, 1 + phi])
  assert 1 - 3 * phi < 0
  np.testing.assert_allclose(strategy, weights / weights.sum(), atol=1e-12)
  for most in (0, 1):  # the cap; 1 is below sqrt(20 / 16) and sqrt(106 / 42)
    capped, fixed = (steps(r, [[4, -2, 0], [-3, 4, 1]]) for r in (APCFRPlus(most), PCFRPlus(1 / (1 + most))))
    np.testing.assert_allclose(capped, fixed, atol=1e-12)


def test_apcfr_plus_weighs_predictions_by_misses_of_any_size():
  """In float32 the squares of these regrets are zero, or beyond all numbers."""
  regrets = np.random.default_rng(5).normal(size=(6, 3))
  expected = steps(APCFRPlus(), regrets)
  for scale in (1e-30, 1, 1e30):
    np.testing.assert_allclose(steps(APCFRPlus(), regrets * scale, "float32"), expected, atol=1e-5)


def test_nrm_plus_by_hand():
  rule = NRMPlus(kappa=0.4, fade=1.0, phi=0.3, ahead=0.5, memory=0.75, quiet=0.0, tau=1.5, gamma=2.0)
  first = 0.4 * 4 / 3 + np.array([4, -2, 0])  # the past is s(1) u
  n = first[0] + first[2]
  predicted = np.array([4, 0, 0]) / n  # bounded by u and by the regrets; nothing agreed yet: r = 1
  came = np.array([-3 / n, 0, first[2] / n])  # (-3, 4, 1), bounded by the regrets
  agreed = 0.75 + 0.25 * 2 * (predicted @ came) / (predicted @ predicted + came @ came)
  assert first[1] < 0 and 0 < agreed < 1
  past = max((1 - agreed / 2) * n, 0.4 * math.sqrt(3) * 5)
  second = np.where(first > 0, past / n, 1 / 8) * first + np.array([-3, 4, 1])
  kept = np.maximum(second, 0)
  bound = np.minimum(kept, 5)
  weights = kept + (0.3 + 0.2 * agreed) * np.clip([-3, 4, 1], -bound, bound)
  expected = weights / weights.sum()
  np.testing.assert_allclose(steps(rule, [[4, -2, 0], [-3, 4, 1]])[-1], expected, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nrm_plus_keeps_its_strategy_where_regrets_are_too_small_to_divide_by(dtype, monkeypatch):
  """One over the smallest numbers is infinite. NumPy keeps them, as GPUs do; XLA on CPUs makes them 0."""
  for module in (regret_rules, rule_module):
    monkeypatch.setattr(module, "jnp", np)
  rule, shape = NRMPlus(), (2, 1, 1)
  regret, even = (
    np.finfo(dtype).smallest_subnormal * np.asarray([[[1]], [[0]]], dtype),
    np.full(shape, 0.5, dtype),
  )
  state, strategy = rule.update(rule.init(shape, dtype), even, regret, np.ones((), np.int32))
  for found in (strategy, state[0]):
    np.testing.assert_array_equal(found, even)


def in_words(rule, regrets):
  """The strategies of NRM+ after each regret of an infostate, as its docstring has them; v is kept."""
  actions = len(regrets[0])
  z, n, r, v, strategies = [1 / actions] * actions, 0.0, 1.0, [0.0] * actions, []
  for t, x in enumerate(regrets, start=1):
    u, s = sum(max(a, 0) for a in x), rule.kappa * min(t, math.sqrt(rule.tau * t))
    if any(v):
      e = [min(max(a / n, -max(w, 0)), max(w, 0)) for a, w in zip(x, z, strict=True)]
      product = sum(a * b for a, b in zip(v, e, strict=True))
      r = rule.memory * r + (1 - rule.memory) * 2 * product / sum(a * a for a in v + e)
    c, h = max(r, 0), min(1, s * u / (rule.quiet * n)) if rule.quiet * n > 0 else 1
    past, old = (
      max((1 - c * h * (1 - (1 - 1 / t) ** rule.fade)) * n, s * u),
      n * (1 - 1 / t) ** rule.gamma / 2,
    )
    y = [a + (past * w if w > 0 else old * w) for a, w in zip(x, z, strict=True)]
    n = sum(max(w, 0) for w in y)
    z = [w / n for w in y]
    bound = [min(max(w, 0), u / n) for w in z]
    v = [min(max(a / n, -b), b) for a, b in zip(x, bound, strict=True)]
    phi = rule.phi + c * (rule.ahead - rule.phi)
    weights = [max(w, 0) + phi * a for w, a in zip(z, v, strict=True)]
    strategies.append([w / sum(weights) for w in weights])
  return strategies


@pytest.mark.parametrize("agreement", ["none", "sized", "faint"])
def test_nrm_plus_by_its_formulas(agreement):
  """In plain Python: regrets of all sizes; regrets that agree; regrets that nearly vanish beside the past."""
  rng, rule = np.random.default_rng(4), NRMPlus()
  regrets = rng.normal(size=(40, 3)) * 10.0 ** rng.integers(-2, 2, (40, 1))
  if agreement != "none":
    regrets = rng.normal(size=(40, 3)) * 0.1 + np.array([0.5, -0.2, 0.3]) * np.sign(
      np.arange(40)[:, None] % 7
    )
  if agreement == "faint":
    regrets[10:] *= 1e-4
  found = steps(rule, regrets.tolist())
  np.testing.assert_allclose(found, in_words(rule, regrets.tolist()), atol=1e-9)
  for changed in ({"quiet": 0.0}, {"memory": 1.0}, {"ahead": rule.phi}):  # each parameter makes a difference
    different = np.abs(np.subtract(in_words(dataclasses.replace(rule, **changed), regrets.tolist()), found))
    assert different.max() > 1e-5 or (changed == {"quiet": 0.0} and agreement != "faint")


def test_nrm_plus_forgives_any_regret():
  """In float32 a huge one over tiny ones is beyond all numbers; the action comes back all the same."""
  first, second = steps(NRMPlus(), [[1e-37, -100.0], [-1e-30, 1.0]], "float32")
  assert first.tolist() == [pytest.approx(1), 0] and second[1] > 0.5


def played(game, update, weights, iterations):
  """Average strategies by infostate, from histories, dictionaries and NumPy alone; updates alternate.

  `update(memory, x, t)` gives the next strategy, and may keep anything in the dictionary `memory`;
  `weights(x, t)` gives the weight of iteration t at an infostate, where x is its regret.
  """
  strategy, memory, sums = {}, {}, {}

  def visit(state, reach, player, found):
    """The player's value; puts regrets, and the player's own reach of the infostate, into `found`."""
    if state.is_terminal():
      return state.returns()[player]
    if state.is_chance_node():
      parts = ((p, state.child(a)) for a, p in state.chance_outcomes())
      return sum(p * visit(child, (reach[0] * p, reach[1]), player, found) for p, child in parts)
    mover, key, legal = state.current_player(), state.information_state_string(), state.legal_actions()
    now = strategy.setdefault(key, np.full(len(legal), 1 / len(legal)))
    index = int(mover == player)  # reach: of chance and the opponent; of the player
    after = [tuple(r * p if i == index else r for i, r in enumerate(reach)) for p in now]
    values = [visit(state.child(a), r, player, found) for a, r in zip(legal, after, strict=True)]
    if mover == player:
      regret, _ = found.setdefault(key, (np.zeros(len(legal)), reach[1]))
      regret += reach[0] * (np.asarray(values) - now @ values)
    return now @ values

  for t in range(1, iterations + 1):
    for player in (0, 1):
      found = {}
      visit(game.new_initial_state(), (1.0, 1.0), player, found)
      for key, (x, reach) in found.items():
        sums[key] = sums.get(key, 0) + weights(x, t) * reach * strategy[key]
        strategy[key] = update(memory.setdefault(key, {}), x, t)
  return {key: total / total.sum() for key, total in sums.items()}


def proportional(weights):
  weights = np.maximum(weights, 0)
  return weights / weights.sum() if weights.sum() > 0 else np.full(len(weights), 1 / len(weights))


def rm(memory, x, t):
  memory["R"] = memory.get("R", 0 * x) + x
  return proportional(memory["R"])


def rm_plus(memory, x, t):
  memory["R"] = np.maximum(memory.get("R", 0 * x) + x, 0)
  return proportional(memory["R"])


def dcfr(alpha, beta):
  def update(memory, x, t):
    past, u = memory.get("R", 0 * x), max(t - 1, 1)
    memory["R"] = past * np.where(past > 0, u**alpha / (u**alpha + 1), u**beta / (u**beta + 1)) + x
    return proportional(memory["R"])

  return update


def pcfr_plus(phi):
  def update(memory, x, t):
    rm_plus(memory, x, t)
    return proportional(memory["R"] + phi * x)

  return update


def pdcfr_plus(memory, x, t):
  u = max(t - 1, 1)
  memory["R"] = np.maximum(memory.get("R", 0 * x) * u**2.3 / (u**2.3 + 1) + x, 0)
  return proportional(memory["R"] * t**2.3 / (t**2.3 + 1) + x)


def hs_weight(x, t, n=30):
  """The fading of a running sum, ((t - 1) / t) ** (30 - 5 (t - 1) / n), turned around."""
  return math.prod((k / (k - 1)) ** (30 - 5 * min((k - 1) / n, 1)) for k in range(2, t + 1))


def hs_dcfr(memory, x, t, n=30):
  u = max(t - 1, 1)
  p = min((t - 1) / n, 1)
  past = memory.get("R", 0 * x)
  kept = [u**e / (u**e + 1) for e in (1 + 3 * p, -1 - 2 * p)]
  memory["R"] = np.where(past > 0, kept[0], kept[1]) * past + x
  return proportional(memory["R"])


def apcfr_plus(memory, x, t):
  """Equation 3, from all regrets and all R so far."""
  xs, totals = memory.setdefault("x", [0 * x]), memory.setdefault("R", [0 * x])
  xs.append(x)
  totals.append(np.maximum(totals[-1] + x, 0))
  missed, moved = (np.sum(np.diff(values, axis=0) ** 2) for values in (xs, totals))
  return proportional(totals[-1] + x / (1 + min(math.sqrt(missed / moved) if moved else 5, 5)))


def vad_cfr(memory, x, t):
  """Listing 5 line by line, with its clips."""
  m = np.abs(x).max()
  memory["ewma"] = m if t == 1 else 0.1 * m + 0.9 * memory["ewma"]
  volatility = min(1.0, memory["ewma"] / 2)
  alpha = max(0.1, 1.5 - 0.5 * volatility)
  beta = min(alpha, -0.1 - 0.5 * volatility)
  positive, negative = t**alpha / (t**alpha + 1), t**beta / (t**beta + 1)
  boosted = np.where(x > 0, 1.1 * x, x)
  past = memory.get("R", 0 * x)
  now = memory["R"] = np.maximum(-20, np.where(past >= 0, positive, negative) * past + boosted)
  optimism = 1 / (1 + (t - 1) / 100) * max(0, 1 - 0.5 * volatility)
  predicted = np.where(now >= 0, positive, negative) * now + optimism * boosted
  return proportional(np.maximum(predicted, 0) ** 1.5)


def vad_weight(x, t, n=30):
  m = np.abs(x).max()
  power = min(4.0, 2 + 1.5 * min(1, m / 2))
  return (t - 1 >= n // 2) * (t / n) ** power / (1 + m**1.5) * max(0.1, (1 + m / 2) ** 0.5)


@pytest.mark.parametrize(
  ("rule", "update", "weights"),
  [
    (HSDCFR(n=30), hs_dcfr, hs_weight),
    (HSPCFRPlus(n=30), pcfr_plus(1), hs_weight),
    (VADCFR(n=30), vad_cfr, vad_weight),
    (APCFRPlus(), apcfr_plus, lambda x, t: t**2),
  ],
  ids=["hs-dcfr", "hs-pcfr+", "vad-cfr", "apcfr+"],
)
def test_rules_with_schedules_from_histories(rule, update, weights):
  """The same averages before and after the planned end of the run, natively and by XLA."""
  game = random_game(3)
  solver = PSCFRSolver(game, rule, dtype="float64")
  own = PSCFRSolver(game, type("Own", (type(rule),), {})(**dataclasses.asdict(rule)), dtype="float64")
  for iterations in (20, 30, 45):
    expected = played(game, update, weights, iterations)
    for one in (solver, own):
      one.run(iterations - one.iteration)
      policy = one.average_policy().to_pyspiel()
      for key, probabilities in expected.items():
        found = [p for _, p in policy.get_state_policy(key)]
        np.testing.assert_allclose(found, probabilities, rtol=1e-6, atol=1e-9)


def hedge(memory, x, t):
  memory["R"], memory["m"] = memory.get("R", 0 * x) + x, max(memory.get("m", 0), np.abs(x).max())
  weights = np.exp(math.sqrt(2 * math.log(len(x)) / t) * memory["R"] / (memory["m"] or 1))
  return weights / weights.sum()


def power(gamma):
  return lambda x, t: float(t) ** gamma


BY_FORMULA = {  # what makes strategies of regrets, and the weight of an iteration in the average
  "rm": (rm, power(0)), "rm+": (rm_plus, power(1)), "dcfr": (dcfr(1.5, 0), power(2)),
  "lcfr": (dcfr(1, 1), power(1)), "pcfr+": (pcfr_plus(1), power(2)), "pdcfr+": (pdcfr_plus, power(5)),
  "apcfr+": (apcfr_plus, power(2)), "sapcfr+": (pcfr_plus(1 / 3), power(2)), "hs-dcfr": (hs_dcfr, hs_weight),
  "hs-pcfr+": (pcfr_plus(1), hs_weight), "vad-cfr": (vad_cfr, vad_weight), "nrm+": (None, power(7)),
  "hedge": (hedge, power(0)),
}  # fmt: skip


SCHEDULED = (HSDCFR, HSPCFRPlus, VADCFR)


def test_every_rule_has_its_formula():
  assert BY_FORMULA.keys() == RULES.keys()


@pytest.mark.parametrize("name", BY_FORMULA)
def test_rules_by_their_formulas(name, monkeypatch):
  """Every rule equals its source's formulas, on regrets of all sizes, before and after the planned end."""
  for module in (regret_rules, rule_module, discounted):
    monkeypatch.setattr(module, "jnp", np)  # nothing is compiled
  rule, (update, weight), memory = make_rule(name, 30), BY_FORMULA[name], {}
  rng = np.random.default_rng(6)
  regrets = rng.normal(size=(45, 3)) * 10.0 ** rng.integers(-2, 2, (45, 1))
  regrets[20] = [-90, 30, 0.5]  # below the least regret of VAD-CFR
  state, strategy = rule.init((3, 1, 1), "float64"), np.full((3, 1, 1), 1 / 3)
  expected = in_words(rule, regrets.tolist()) if update is None else None
  weights = []
  for t, x in enumerate(regrets, start=1):
    time, regret = np.asarray(t), x.reshape(3, 1, 1)
    schedule = rule.schedule(time, np.dtype("float64")) if isinstance(rule, SCHEDULED) else 1
    trust = rule.trust(regret, time).item() if name == "vad-cfr" else 1
    weights.append((schedule * trust * t**rule.gamma, weight(x, t)))
    state, strategy = rule.update(state, strategy, regret, time)
    made = update(memory, x, t) if expected is None else expected[t - 1]
    np.testing.assert_allclose(strategy.ravel(), made, atol=1e-9)
  found, right = (np.array(weights) / weights[-1]).T
  np.testing.assert_allclose(found, right, rtol=2e-3)


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
  strategy = same = np.full(shape, 1 / 3)
  update = jax.jit(rule.update)
  for t, regret in enumerate(regrets, start=1):
    before = strategy[:, :1, 2:3]
    scaled, same = update(scaled, same, regret * 1e-6, t)
    whole, strategy = jax.tree.map(np.asarray, update(whole, strategy, regret, t))
    single, alone = update(single, before, regret[:, :1, 2:3], t)
    assert (strategy >= 0).all()
    np.testing.assert_allclose(strategy.sum(0), 1, atol=1e-12)
    np.testing.assert_allclose(strategy[:, :1, 2:3], alone, atol=1e-12)
    if kind is not VADCFR:  # the constants of which are in the unit of utility
      np.testing.assert_allclose(strategy, same, atol=1e-9)
    np.testing.assert_allclose(strategy[:, 1, 4], 1 / 3, atol=1e-12)


@pytest.mark.parametrize("kind", RULES.values(), ids=RULES)
def test_learns_the_best_action_in_float32(kind):
  rule = kind()
  state, strategy = rule.init((3, 1, 1), "float32"), np.full((3, 1, 1), 1 / 3, np.float32)
  values = np.array([1, 3, 2], np.float32).reshape(3, 1, 1) * np.float32(1e-30)
  update = jax.jit(rule.update)
  for t in range(1, 200):
    regret = values - (values * strategy).sum(0, keepdims=True)
    state, strategy = update(state, strategy, regret, t)
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


def test_a_schedule_is_as_long_as_the_run():
  assert make_rule("hs-dcfr", 300) == HSDCFR(n=300)
  assert make_rule({"name": "hs-dcfr", "n": 20}, 300) == HSDCFR(n=20)
  assert make_rule(VADCFR(n=20), 300) == VADCFR(n=20)
  assert make_rule("nrm+", 300) == NRMPlus()


def test_the_default_rule_by_the_order_of_updates():
  """Parameters of the user's own are never changed."""
  together = NRMPlus(fade=1.0, phi=0.95, ahead=0.95, tau=15.0)
  assert make_rule(None) == make_rule("nrm+") == NRMPlus()
  assert make_rule(None, alternating=False) == make_rule("NRMPlus", alternating=False) == together
  kuhn = pyspiel.load_game("kuhn_poker")
  for rule in (NRMPlus(), {"name": "nrm+", "kappa": 0.3}, rule_header(NRMPlus())):
    assert make_rule(rule, alternating=False) == make_rule(rule)
  assert make_rule("pcfr+", alternating=False) == PCFRPlus()
  for solver in (PSCFRSolver(kuhn, alternating=False), PSCFRSolver(kuhn, "nrm+", alternating=False)):
    assert solver.rule == together
  assert ContinualResolving(kuhn, alternating=False).settings.rule == together


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
  with pytest.raises(ValueError, match="HSPCFRPlus: n must be a number from 1"):
    make_rule("hs-pcfr+", -3)


def test_the_default_rule_takes_what_its_theorem_does():
  """docs/regret_rules.md: kappa > 0, 0 <= fade <= gamma, phi <= ahead < 1; averages may be uniform."""
  for allowed in (
    {"fade": 0, "gamma": 0},
    {"fade": 1, "gamma": 1},
    {"phi": 0.8},
    {"memory": 0},
    {"tau": 1e12},
  ):
    strategies = steps(NRMPlus(**allowed), [[4, -2, 0], [-3, 4, 1]])
    np.testing.assert_allclose(np.sum(strategies, axis=1), 1, atol=1e-12)
  for refused in (
    {"kappa": 0},
    {"fade": -1},
    {"fade": 3, "gamma": 2},
    {"phi": 0.9},
    {"ahead": 1},
    {"gamma": -1},
  ):
    with pytest.raises(ValueError, match=f"NRMPlus: {next(iter(refused))} must be a number from"):
      NRMPlus(**refused)


@dataclasses.dataclass(frozen=True)
class Stubborn(Rule):
  """A rule without state, which always plays uniformly; `shape` of a state that is of no use."""

  state: tuple[int, ...] | None = None
  gamma: float = 0.0

  def init(self, shape, dtype):
    return () if self.state is None else np.zeros(self.state, dtype)

  def update(self, state, strategy, regret, t):
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


def test_all_rules_are_names_of_the_module_for_users_also_to_checkers_of_types():
  """These read the names where they are written, and compute none."""
  body = ast.parse(inspect.getsource(regret_rules)).body
  (texts,) = (x.value for x in body if isinstance(x, ast.Assign) and ast.unparse(x.targets[0]) == "__all__")
  kinds = {kind.__name__ for kind in RULES.values()}
  assert {*ast.literal_eval(texts)} == {*rules.__all__} == kinds | {"RULES", "Rule", "make_rule"}


def test_runs_that_begin_with_a_strategy():
  """From uniform play it equals a new run, by every rule; with NRM+ an older strategy changes more slowly."""
  tree = build_tree(pyspiel.load_game("kuhn_poker"))
  uniform = [tuple(np.full(s, 1 / s[0]) for s in player.block_shapes) for player in tree.players]
  for name in RULES:
    rule = make_rule(name)
    pair = cfr.init(tree, rule, "float64"), cfr.resumed(tree, rule, "float64", uniform, 0)
    for new, resumed in zip(*map(jax.tree.leaves, pair), strict=True):
      np.testing.assert_array_equal(new, resumed)
  draw, moved = np.random.default_rng(0), []
  begun = [tuple(normalise(draw.random(s)) for s in player.block_shapes) for player in tree.players]
  narrow = to_device(tree, "float32")
  for iterations in (1, 40, 1600):
    state = cfr.run(narrow, cfr.resumed(narrow, NRMPlus(), "float32", begun, iterations), 1, rule=NRMPlus())
    played = cfr.current_strategy(narrow, state)
    moved.append(max(np.abs(np.subtract(*pair)).max() for pair in zip(played[0], begun[0], strict=True)))
  assert moved[0] > 2 * moved[1] > 6 * moved[2] > 0, moved


def test_a_run_that_begins_with_a_strategy_fills_the_average_alone(monkeypatch):
  """No table of uniform play, which the strategy would replace; a rule with a faulty state is refused."""
  tree, filled = build_tree(pyspiel.load_game("kuhn_poker")), []
  uniform = [tuple(np.full(s, 1 / s[0]) for s in player.block_shapes) for player in tree.players]
  whole = first_state.filled_array
  monkeypatch.setattr(
    first_state, "filled_array", lambda values, shape: filled.append(shape) or whole(values, shape)
  )
  cfr.resumed(tree, NRMPlus(), "float64", uniform, 1)
  sequences = [sum(a * rows for a, rows, _ in player.bucket_shapes) for player in tree.players]
  assert [rows for rows, _ in filled] == [rows for rows in sequences for _ in ("average", "compensation")]
  with pytest.raises(ValueError, match=r"Stubborn.resume\(a strategy of shape .*must return arrays"):
    cfr.resumed(tree, Stubborn((3,)), "float64", uniform, 1)
