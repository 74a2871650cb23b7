"""Checks of what users of the sampling family pass in."""

from typing import Any

import numpy as np


def check_integer(name: str, value: Any, least: int) -> int:
  """An integer from `least` to 2^32 - 1, or ValueError."""
  if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value < 2**32:
    raise ValueError(f"{name} must be an integer from {least} to {2**32 - 1}, got {value!r}.")
  return int(value)


def is_number(value: Any) -> bool:
  """Whether a value is an integer or a float, and neither a bool nor nan."""
  return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def check_exploration(value: Any) -> float:
  """A share of uniform play in (0, 1], or ValueError."""
  if not (is_number(value) and 0 < value <= 1):
    raise ValueError(f"exploration must be a number above 0 and at most 1, got {value!r}.")
  return value
