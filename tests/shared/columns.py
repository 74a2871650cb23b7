"""The comparison of two walks, column by column."""

import dataclasses

import numpy as np


def assert_same_histories(a, b):
  """Equal in all columns, of the same types, to the last bit."""
  for field in dataclasses.fields(a):
    found = [getattr(histories, field.name) for histories in (a, b)]
    for x, y in zip(*(x if isinstance(x, tuple) else (x,) for x in found), strict=True):
      if isinstance(x, np.ndarray):
        assert x.dtype == y.dtype and x.tobytes() == y.tobytes(), field.name
      else:
        assert x == y, field.name
