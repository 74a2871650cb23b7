"""Sampling in C++ (`sampled_turns.cc`): the reference's trajectories, and exact regrets on average."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cuts import TURN
from test_mccfr import GAMES, chance_of
from trajectories import GOOFSPIEL, compiled, exact

from ps_cfr_spiel.backend.device import precision, to_device
from ps_cfr_spiel.backend.native import why_unavailable
from ps_cfr_spiel.cfr import RM, RMPlus
from ps_cfr_spiel.sampling import mccfr
from ps_cfr_spiel.sampling.mccfr import ExternalSampling, LearnedBaseline, OutcomeSampling, ZeroBaseline

pytestmark = pytest.mark.skipif(bool(why_unavailable()), reason="no native library")
SAMPLERS = {
  "outcome": OutcomeSampling(ZeroBaseline(), 0.3),
  "learned": OutcomeSampling(LearnedBaseline()),
  "learned, none at chance": OutcomeSampling(LearnedBaseline(0.2, chance=False)),
  "external": ExternalSampling(),
}


def by_jax(sampler):
  """The sampler as one of a user's own, which the library does not know."""
  fields = {field.name: getattr(sampler, field.name) for field in dataclasses.fields(sampler)}
  return type("Own", (type(sampler),), {})(**fields)


def begun(nodes, regrets, sampler, dtype, iteration=0):
  """A state in the middle of a run."""
  state = mccfr.start(nodes, sampler, 3, dtype)
  learned = np.random.default_rng(2).normal(0, 1, state.tables.learned.shape).astype(dtype)
  tables = state.tables._replace(regrets=np.asarray(regrets, dtype), learned=learned)
  return to_device(state._replace(tables=tables, iteration=np.int32(iteration)), dtype)


@pytest.mark.parametrize(
  "name, sampler, rule, batch, dtype",
  [
    ("kuhn_poker", "external", RMPlus(gamma=1.5), 5, "float32"),
    ("leduc_poker", "learned", RMPlus(), 1, "float32"),
    (GOOFSPIEL, "learned, none at chance", RM(), 3, "float64"),
    (TURN, "learned", RM(), 3, "float64"),
    ("kuhn of three", "outcome", RM(), 3, "float64"),
    ("auction", "external", RM(), 3, "float64"),
    ("raked turn", "external", RM(), 3, "float64"),
  ],
)
def test_the_library_samples_as_the_reference(name, sampler, rule, batch, dtype):
  """Across the fold before iteration 8, from any tables."""
  game, sampler = compiled(GAMES.get(name, name)), SAMPLERS[sampler]
  with precision(dtype):
    nodes = to_device(game.nodes, dtype)
    state = begun(nodes, np.maximum(game.regrets, rule.floor), sampler, dtype, iteration=5)
    found = [
      mccfr.run(nodes, state, 6, sampler=each, rule=rule, batch=batch) for each in (sampler, by_jax(sampler))
    ]
  ours, theirs = (jax.tree.leaves(state.tables) for state in found)
  assert float(np.abs(theirs[0] - state.tables.regrets).max()) > 0.01
  for x, y in zip(ours, theirs, strict=True):
    size = np.abs(y).max(initial=1)
    np.testing.assert_allclose(x, y, rtol=1e-9, atol={"float64": 1e-12, "float32": 1e-5}[dtype] * size)


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("name", SAMPLERS)
def test_regrets_are_exact_on_average(name, player):
  """The mean of many trajectories under one profile, beside full traversals, within 5 standard errors."""
  game, sampler, batch, means = compiled("kuhn_poker"), SAMPLERS[name], 20_000, []
  with precision("float64"):
    for seed in range(10):
      state = begun(game.nodes, game.regrets, sampler, "float64")
      key = jax.random.fold_in(jax.random.key(seed), player)
      turns = mccfr.Turns(key, jnp.int32(0), jnp.int32(player), jnp.int32(player + 1))
      after = jax.jit(sampler.turns, static_argnums=(3, 4))(game.nodes, state.tables, turns, RM(), batch)
      means.append((after.regrets - game.regrets, -after.average.compensation))
  strategy = exact(game, 1 - player)[1] * chance_of(game.nodes, 1 - player)[None]
  for sampled, truth in zip(zip(*means, strict=True), (exact(game, player)[0], strategy), strict=True):
    error = np.std(sampled, 0, ddof=1) / np.sqrt(len(sampled))
    assert np.abs(truth).max() > 0.01 and error.max() < 0.02
    assert (np.abs(np.mean(sampled, 0) - truth) <= 5 * error + 1e-12).all()
