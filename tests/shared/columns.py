"""The comparison of two walks, column by column."""

import dataclasses
from collections.abc import Sequence

import numpy as np


def assert_same_histories(a, b):
  """Equal in all columns, to the last bit of each number; columns of C++ may be narrower, or one number."""
  for field in dataclasses.fields(a):
    found = [getattr(histories, field.name) for histories in (a, b)]
    for x, y in zip(*(x if isinstance(x, tuple) else (x,) for x in found), strict=True):
      if isinstance(x, np.ndarray):
        assert x.dtype.kind == y.dtype.kind and x.shape == y.shape, field.name
        assert x.astype(y.dtype.kind + "8").tobytes() == y.astype(y.dtype.kind + "8").tobytes(), field.name
      elif isinstance(x, Sequence):
        assert list(x) == list(y), field.name
      else:
        assert x == y, field.name
