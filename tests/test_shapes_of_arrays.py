"""The shapes in annotations (jaxtyping) hold in every call that a choice of tests makes; beartype checks."""

import os
import subprocess
import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import TypeCheckError

from ps_cfr_spiel.cfr import SolverState
from ps_cfr_spiel.tree import Link
from ps_cfr_spiel.tree.arrays import sum_rows

CHECKED = "tree cfr"  # packages whose annotations are checked
FILES = (
  "tree",
  "cfr/test_learn.py",
  "cfr/test_averages.py",
  "subgames/test_subgame.py",
  "solvers/test_locks.py",
)


def test_annotated_shapes():
  """In a process of their own, whose `conftest` has all calls and fields checked (`shape_checks`)."""
  words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
  words += [f"tests/{name}" for name in (*FILES, "test_shapes_of_arrays.py::test_a_wrong_shape_is_noticed")]
  environment = {**os.environ, "CHECKED_SHAPES": CHECKED}
  root = Path(__file__).parents[1]
  run = subprocess.run(words, cwd=root, env=environment, capture_output=True, text=True)
  assert run.returncode == 0, run.stdout[-3000:]


@pytest.mark.skipif("CHECKED_SHAPES" not in os.environ, reason="nothing is checked in this process")
def test_a_wrong_shape_is_noticed():
  """Else nothing would be checked."""
  with pytest.raises(TypeCheckError):
    sum_rows(jnp.ones((3, 2)), jnp.zeros(2, int), 1)
  with pytest.raises(TypeCheckError):
    Link(np.zeros((2, 2), np.int32), (1,), (2,))
  with pytest.raises(TypeCheckError):
    SolverState(np.zeros(2, np.int32), ())
