"""Tables in 16 bits: their rounding, convergence, files (`test_learn`: the library is XLA)."""

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import exploitability

import ps_cfr_spiel
from ps_cfr_spiel import PSCFRSolver, cfr, tree
from ps_cfr_spiel.backend.device import check_finite, precision
from ps_cfr_spiel.cfr import averages, sixteen_bits

RIVER = "river_subgame(pot=10,stack=20,bets=1 a,ranges=AA KK QJs;QQ AKs T9s)"
TURN = "holdem_subgame(board=9s7c5s4h,pot=10,stack=20,bets=1 a,ranges=AA KK QJs;QQ AKs T9s)"


def run_of(game, **options):
  return PSCFRSolver(pyspiel.load_game(game), bits=16, **options)


def arrays(solver):
  return [np.asarray(x) for x in jax.tree.leaves(solver._state)]


def test_shares_are_off_by_an_eighth_at_most_and_stay_below_one():
  rng = np.random.default_rng(0)
  whole = (10.0 ** rng.uniform(-25, 10, 5000)).astype(np.float32)
  given = (rng.choice([-1, 1], 5000) * 2.0 ** rng.uniform(-15, -0.02, 5000)).astype(np.float32)
  codes = sixteen_bits.shares(jnp.asarray(whole), jnp.asarray(whole * given))
  found = np.asarray(sixteen_bits.ratios(codes))
  assert codes.dtype == np.int8 and np.abs(found).max() < 1
  np.testing.assert_allclose(found, given, rtol=0.126)
  assert abs(np.mean(found / given) - 1) < 0.02  # neither larger nor smaller, on average
  faint = sixteen_bits.shares(jnp.asarray(whole), jnp.asarray(whole * 2.0**-17))
  assert not np.any(faint) and not np.any(sixteen_bits.ratios(faint))


def test_signed_numbers_are_rounded_to_the_nearest_and_cut_off():
  x = np.linspace(-2, 2, 1001, dtype=np.float32)
  found = np.asarray(sixteen_bits.unsigned(sixteen_bits.signed(jnp.asarray(x))))
  np.testing.assert_allclose(found, np.clip(x, -1, 1), rtol=0, atol=0.51 / sixteen_bits.SIGNED)


def shares_of(kept):
  weights = np.asarray(kept.weights, float)
  return weights / weights.sum(0)


def shares_like(shape, seed=0):
  """Sums of strategies of an average of some total, in 16 bits; and the total."""
  rng = np.random.default_rng(seed)
  total = (10.0 ** rng.uniform(-20, 10, (1, *shape[1:]))).astype(np.float32)
  sums = total * rng.dirichlet([0.3] * shape[0], shape[1:]).transpose(2, 0, 1).astype(np.float32)
  return sums, sums.sum(0, keepdims=True)


def kept_shares(sums, t=1):
  """What is kept after the first iteration that counts."""
  return sixteen_bits.Shares.even(len(sums)).plus(jnp.asarray(sums), jnp.zeros((1, *sums.shape[1:])), t)


@pytest.mark.parametrize("t", [1, 77, 3_000_000])
def test_shares_of_sums_are_off_by_a_step_at_most_and_by_none_on_average(t):
  sums, total = shares_like((3, 40, 500), t)
  kept = kept_shares(sums, t)
  assert (kept.codes.dtype, kept.codes.shape) == (np.uint16, (2, 40, 500))
  wrong = (shares_of(kept) - sums / total) * sixteen_bits.ALL
  assert np.abs(wrong).max() <= 1.02 and np.abs(wrong[:2].mean()) < 0.02


@pytest.mark.parametrize("actions", range(1, 11))
def test_shares_begin_with_uniform_play(actions):
  np.testing.assert_array_equal(shares_of(sixteen_bits.Shares.even(actions)), 1 / actions)


def test_what_is_kept_stays_where_nothing_is_added_or_what_is_pure_alone():
  """Whatever the threshold, and also where nothing was before."""
  sums, total = shares_like((4, 30, 50))
  kept = kept_shares(sums)
  for t in range(4, 40):
    for before in (total, 0 * total):
      again = kept.plus(jnp.zeros(sums.shape, "float32"), jnp.asarray(before), t)
      np.testing.assert_array_equal(again.codes, kept.codes)
  for a in range(4):
    pure = np.zeros((4, 1, 600), np.float32)
    pure[a] = 10.0 ** np.random.default_rng(a).uniform(-20, 10, 600)
    kept = kept_shares(pure)
    for t in range(2, 40):
      kept = kept.plus(jnp.asarray(pure), t * jnp.asarray(pure[a : a + 1]), t)
      np.testing.assert_array_equal(shares_of(kept), pure > 0)


@pytest.mark.parametrize("number", [np.nan, -np.nan, np.inf, 3e38])
def test_what_is_not_finite_is_seen(number):
  """The power of two above a size shows NaN, infinity and sizes near the largest float."""
  sizes = jnp.asarray([1e30, 0, 1, number], "float32")
  check_finite("a run", sixteen_bits.power_above(sizes[:3]), "float32")
  with pytest.raises(FloatingPointError):
    check_finite("a run", sixteen_bits.power_above(sizes), "float32")


def test_small_additions_are_not_lost():
  """A strategy that is added 20,000 times by less than half a step: to the nearest, all would be lost."""
  new = 5e-6 * jnp.asarray([[[0.9]], [[0.1]]], "float32")

  def add(t, kept):
    return kept.plus(new, 1 + 5e-6 * (jnp.asarray([[[1.0]]], "float32") * t - 1), t)

  kept = jax.jit(lambda kept: jax.lax.fori_loop(1, 20_001, add, kept))(sixteen_bits.Shares.even(2))
  np.testing.assert_allclose(np.ravel(shares_of(kept)), [0.59 / 1.1, 0.51 / 1.1], atol=1e-4)


@pytest.mark.parametrize(
  ("gamma", "rtol"), [(0.0, 1e-9), (0.5, 1e-9), (2.0, 1e-9), (7.0, 1e-9), (30.0, 1e-6), (100.0, 1e-3)]
)
@pytest.mark.parametrize("delay", [0, 3, 63, 64, 500])
def test_the_weights_before_an_iteration_are_added_up(gamma, delay, rtol):
  """Against the sum itself, on the host and traced."""
  t = np.arange(1, 2000, dtype=np.int32)
  expected = [0.0]
  for s in t[:-1].tolist():
    expected.append((expected[-1] + (s > delay)) * (s / (s + 1)) ** gamma)
  with precision("float64"):
    weights = averages.weight(t, gamma, "float64")
    found = averages.counted_before(t, delay, gamma, "float64")
    traced = jax.jit(lambda t: averages.counted_before(t, delay, gamma, "float64"))(t)
  np.testing.assert_allclose(found / weights, expected, rtol=rtol, atol=1e-12)
  np.testing.assert_allclose(traced, found, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
  ("game", "options"),
  [
    ("leduc_poker", {"averaging_delay": 9}),
    ("goofspiel(num_cards=3)", {}),  # also with one action
    (RIVER, {"tremble": 1.0}),
    (RIVER, {"alternating": False}),
  ],
)
def test_the_average_is_that_of_what_was_played(game, options):
  """Added up here in float64, where it is reached."""
  solver, delay = run_of(game, **options), options.get("averaging_delay", 0)
  forests, sums = solver._tree.players, [[0.0] * len(each.block_shapes) for each in solver._tree.players]
  for t in range(1, 21):
    blocks = cfr.current_strategy(solver._tree, solver._state, None, solver.rule, options.get("tremble", 0))
    for i, (forest, played) in enumerate(zip(forests, blocks, strict=True)):
      reach = tree.sequence_reach(forest, [np.asarray(x) for x in played])[1:]
      for k, (each, block) in enumerate(zip(reach, played, strict=True)):
        sums[i][k] += (t > delay) * t**solver.rule.gamma * np.asarray(each, float).reshape(block.shape)
    solver.run(1, progress=False)
  for average, summed in zip(cfr.average_strategy(solver._tree, solver._state), sums, strict=True):
    for shares, expected in zip(average, summed, strict=True):
      total = expected.sum(0)
      come = total > 1e-3 * total.max()
      assert come.any()
      np.testing.assert_allclose(shares[:, come], expected[:, come] / total[come], rtol=0, atol=5e-4)


def test_it_converges_as_close_as_float32_does():
  solver = run_of("leduc_poker")
  solver.run(1000)
  policy = solver.average_policy()
  found = exploitability.exploitability(solver.game, policy)
  assert found == pytest.approx(solver.exploitability(), abs=1e-6) and found < 3e-4
  assert solver.value() == pytest.approx(-0.085606, abs=1e-4)
  for kept in (policy, solver.current_policy()):
    for probabilities in kept.to_tabular().action_probability_array:
      assert probabilities.sum() == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(
  "game", ["river_subgame", "holdem_subgame(stack=600,ranges=22+ A2s+;22+ A2s+)"], ids=["river", "turn"]
)
def test_a_river_and_a_turn_converge_as_in_float32(game):
  narrow, wide = run_of(game), PSCFRSolver(pyspiel.load_game(game))
  for solver in (narrow, wide):
    solver.run(150)
  assert narrow.exploitability() < 2 * wide.exploitability()
  assert narrow.exploitability() < 0.003 * ps_cfr_spiel.apps.views.pot_of(narrow.game)


FEW = "river_subgame(pot=10,stack=10,bets=a,ranges=AsAd KsKd;QsQd)"


@pytest.mark.parametrize("game", ["kuhn_poker", FEW], ids=["kuhn", "river"])
def test_a_long_run_does_not_rise(game):
  """To beyond 2^16 iterations."""
  solver = run_of(game)
  solver.run(2000)
  early = solver.exploitability()
  solver.run(68_000)
  assert solver.exploitability() < max(early, 2e-4)


@pytest.mark.parametrize("options", [{"abstraction": "observation"}, {"locks": {"": {"Check": 1}}}])
def test_abstractions_and_locks_are_kept_in_16_bits_too(options):
  narrow = run_of("leduc_poker" if "abstraction" in options else RIVER, **options)
  wide = PSCFRSolver(narrow.game, **options)
  for solver in (narrow, wide):
    solver.run(400)
  assert narrow.exploitability() == pytest.approx(wide.exploitability(), rel=0.1, abs=2e-3)


def test_the_bytes_of_a_run_are_those_of_the_estimate():
  solver = run_of("holdem_subgame(stack=600,ranges=22+ A2s+;22+ A2s+)")
  entries = sum(np.size(x) for own in solver._state.players for x in own.strategy)
  kept = sum(x.nbytes for x in arrays(solver)) / 4
  assert kept == pytest.approx(entries * cfr.num_tables(solver.rule, "float32", 16), rel=0.1)
  assert cfr.num_tables(solver.rule, "float32", 16) < 0.35 * cfr.num_tables(solver.rule, "float32")


@pytest.mark.parametrize(
  ("options", "message"),
  [
    ({"bits": 8}, "16 or 32"),
    ({"bits": True}, "16 or 32"),
    ({"bits": 16, "dtype": "float64"}, "computes in float32"),
    ({"bits": 16, "rule": "dcfr"}, "regrets from -1 to 1"),
  ],
)
def test_a_run_that_cannot_be_kept_so_is_refused(options, message):
  with pytest.raises(ValueError, match=message):
    PSCFRSolver(pyspiel.load_game("kuhn_poker"), **options)
