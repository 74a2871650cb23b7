"""The shapes in annotations (jaxtyping) hold in every call that a choice of tests makes; beartype checks."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import TypeCheckError
from trajectories import FLOP, RIVER, compiled

from ps_cfr_spiel.cfr import RM, SolverState
from ps_cfr_spiel.resolving.subgames.ranged_leaves import at_leaves
from ps_cfr_spiel.sampling import mccfr
from ps_cfr_spiel.sampling.mccfr import (
  ExternalSampling,
  LearnedBaseline,
  OracleBaseline,
  OutcomeSampling,
  PublicSampling,
  ZeroBaseline,
  aimed,
)
from ps_cfr_spiel.tree import Link
from ps_cfr_spiel.tree.arrays import sum_rows

# Packages whose annotations are checked.
CHECKED = "tree tree.evaluators cfr sampling.mccfr resolving.subgames"
FILES = (
  "tree",
  "cfr/test_learn.py",
  "cfr/test_averages.py",
  "solvers/test_locks.py::test_best_responses_keep_to_the_locks",
  "solvers/test_locks.py::test_single_hands_and_mixtures",
  "mccfr",
  "subgames",
  "test_shapes_of_arrays.py",
)
LONG = (
  "estimate",
  "average_weighs",
  "papers_sizes",
  "equal_brute_force",
  "values_of_policies",
  "sums_in_groups",
  "counted_is_cut",
  "deals_follow",
  "goes_down_the_drawn",
  "accelerators_nothing",
  "of_another_game",
  "who_never_acts",
  "types_are_split",
  "links_push",
  "scale_the_opponents",
)
checked = pytest.mark.skipif("CHECKED_SHAPES" not in os.environ, reason="nothing is checked in this process")


@pytest.mark.skipif("CHECKED_SHAPES" in os.environ, reason="this is the process that checks")
def test_annotated_shapes():
  """In a process of their own, whose `conftest` has all calls and fields checked (`shape_checks`)."""
  words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
  # The first give what annotations exclude; the others are long, and call what shorter ones call.
  words += ["-k", " and ".join(f"not {name}" for name in ("test_bad", *LONG))]
  words += [f"tests/{name}" for name in FILES]
  environment = {**os.environ, "CHECKED_SHAPES": CHECKED}
  root = Path(__file__).parents[1]
  run = subprocess.run(words, cwd=root, env=environment, capture_output=True, text=True)
  assert run.returncode == 0, run.stdout[-3000:]


@checked
def test_a_wrong_shape_is_noticed():
  """Else nothing would be checked."""
  with pytest.raises(TypeCheckError):
    sum_rows(jnp.ones((3, 2)), jnp.zeros(2, int), 1)
  with pytest.raises(TypeCheckError):
    Link(np.zeros((2, 2), np.int32), (1,), (2,))
  with pytest.raises(TypeCheckError):
    SolverState(np.zeros(2, np.int32), ())
  with pytest.raises(TypeCheckError):
    mccfr.sample_rows(jnp.ones((3, 2)), jnp.zeros(3))
  with pytest.raises(TypeCheckError):
    at_leaves(np.ones((3, 2)), [np.zeros((1, 1), int)])


BASELINES = ZeroBaseline(), LearnedBaseline(), OracleBaseline()
PUBLIC = [PublicSampling(baseline) for baseline in BASELINES]
HISTORIES = [*(OutcomeSampling(baseline) for baseline in BASELINES), ExternalSampling()]


@checked
@pytest.mark.parametrize(
  "name, moves, samplers",
  [
    ("kuhn_poker", "histories", HISTORIES),
    (RIVER, "histories", HISTORIES[2:]),
    (FLOP, "histories", HISTORIES[1:2]),
    ("kuhn_poker", "public", PUBLIC),
  ],
)
def test_samplers(name, moves, samplers, monkeypatch):
  """As JAX traces them, which is much shorter than a run; elsewhere the library samples."""
  monkeypatch.setattr("ps_cfr_spiel.sampling.mccfr.tables.why_unavailable", lambda: "JAX is tested")
  nodes = compiled(name, moves).nodes
  for sampler in samplers:
    state = mccfr.init(nodes, sampler, 0, "float64")
    after = jax.eval_shape(partial(mccfr.iterate, sampler=sampler, rule=RM(), batch=3), nodes, state, 2)
    assert after.tables.regrets.shape == (nodes.actions, nodes.cells)
    if sampler != ExternalSampling():
      noise = jax.eval_shape(
        lambda *args, of=sampler: mccfr.variance(args[0], of, *args[1:]), nodes, *state.tables[::2]
      )
      assert noise.shape == ()


@checked
def test_aimed_runs():
  nodes = compiled("kuhn_poker").nodes
  same, first = jnp.zeros(nodes.cells, jnp.int32), jnp.zeros((1, nodes.actions, nodes.cells))
  runs = aimed.AimedRuns(nodes, same, jnp.asarray(0.5), first, same, HISTORIES[0])
  assert jax.eval_shape(aimed.each, runs, runs.empty(0), same[:2], 3).shape == (2, nodes.actions)
