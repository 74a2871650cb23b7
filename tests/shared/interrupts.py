"""Ctrl-C at chosen moments, and what must be left of a run."""

import signal

import jax
import numpy as np


def leaves(solver):
  """All arrays of the state of a run."""
  return [np.asarray(x) for x in jax.tree.leaves(solver._state)]


def assert_same(ours, theirs):
  """To the last bit the same run."""
  assert ours.iteration == theirs.iteration
  for mine, other in zip(leaves(ours), leaves(theirs), strict=True):
    np.testing.assert_array_equal(mine, other)


def pressing(function, after=False, times=1):
  """The same function, with Ctrl-C before or after its call number `times`."""
  left = times

  def pressed(*args, **options):
    nonlocal left
    left -= 1
    if left == 0 and not after:
      signal.raise_signal(signal.SIGINT)
    result = function(*args, **options)
    if left == 0 and after:
      signal.raise_signal(signal.SIGINT)
    return result

  return pressed
