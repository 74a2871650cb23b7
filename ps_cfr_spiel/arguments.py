"""Checks of arguments, and the type of JSON values."""

import math
from collections.abc import Collection, Iterable
from typing import Any, TypeAlias, TypeGuard, TypeVar

import numpy as np

JSON: TypeAlias = Any  # what json writes and reads: None, bool, int, float, str, and lists and dicts of these
Kind = TypeVar("Kind")
MOST = 2**31 - 1  # of int32
MOST_ITERATIONS = 2_000_000_000  # of a run; other counts of it stay below MOST


def check_option(name: str, value: object, allowed: Collection[str]) -> str:
  """One of the allowed values of the option called `name`, or ValueError."""
  if not isinstance(value, str) or value not in allowed:
    raise ValueError(f"Unknown {name} {value!r}; choose one of {', '.join(map(repr, allowed))}.")
  return value


def check_flag(name: str, value: object) -> bool:
  """True or False, Python's or NumPy's, or ValueError."""
  if not isinstance(value, bool | np.bool_):
    raise ValueError(f"{name} must be True or False, got {value!r}.")
  return bool(value)


def is_integer(value: object) -> TypeGuard[int]:
  """Whether a value is an integer, Python's or NumPy's, and not a bool."""
  return isinstance(value, int | np.integer) and not isinstance(value, bool)


def check_count(name: str, value: object, least: int) -> int:
  """An integer of at least `least` that the device can count to, or ValueError."""
  if not is_integer(value) or value < least:
    raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}.")
  if value > MOST:
    raise ValueError(f"{name} must be at most {MOST}, got {value!r}.")
  return int(value)


def check_integer(name: str, value: object, least: int, most: float = 2**32 - 1) -> int:
  """An integer from `least` to `most`, which may be infinite, or ValueError."""
  if not is_integer(value) or not least <= value <= most:
    allowed = f"of at least {least}" if most == math.inf else f"from {least} to {most}"
    raise ValueError(f"{name} must be an integer {allowed}, got {value!r}.")
  return int(value)


def check_player(value: object, players: int = 2) -> int:
  """A player's number, from 0 to `players` - 1, or ValueError."""
  if not is_integer(value) or value not in range(players):
    allowed = "0 or 1" if players == 2 else f"from 0 to {players - 1}"
    raise ValueError(f"player must be {allowed}, got {value!r}.")
  return int(value)


def as_number(value: object) -> float:
  """A number of Python, which JSON has too, for an integer or float of Python or NumPy; nan for others.

  Bools are refused. A comparison comes after this: NumPy would round the other side to its own type.
  """
  if is_integer(value):
    return int(value)
  return float(value) if isinstance(value, float | np.floating) else math.nan


def check_number(name: str, value: object, low: float, high: float) -> float:
  """A number from `low` to `high`, or ValueError."""
  number = as_number(value)
  if not low <= number <= high:
    raise ValueError(f"{name} must be a number from {low:g} to {high:g}, got {value!r}.")
  return number


def check_seconds(name: str, value: object) -> float:
  """A time of at least 0, which may be infinite, or ValueError."""
  number = as_number(value)
  if not number >= 0:
    raise ValueError(f"{name} must be a number of at least 0, got {value!r}.")
  return number


def check_target(name: str, value: object, pot: float | None) -> float:
  """An exploitability at which to stop, in the game's utility, from a number of it or, as "0.1%", of the pot.

  None, for never, is minus infinity; ValueError for anything else, and for a share of no pot.
  """
  if value is None:
    return -np.inf
  text = isinstance(value, str)
  try:
    number = float(value.removesuffix("%") if text else as_number(value))
  except (OverflowError, ValueError):
    number = np.nan
  if not 0 <= number < np.inf:
    raise ValueError(
      f"{name} must be a number of at least 0, or a share of the pot such as 0.1%, got {value!r}."
    )
  if not (text and value.endswith("%")):
    return number
  if pot is None:
    raise ValueError(f"{name}={value}: this game has no pot; give a number in its own unit, without the %.")
  return number / 100 * pot


def check_list(name: str, values: object) -> list:
  """A list of the items of an iterable, or ValueError."""
  if isinstance(values, str) or not isinstance(values, Iterable):
    raise ValueError(f"{name} must be a sequence, got {values!r}.")
  return list(values)


def check_exploration(value: object) -> float:
  """A share of uniform play in (0, 1], or ValueError."""
  number = as_number(value)
  if not 0 < number <= 1:
    raise ValueError(f"exploration must be a number above 0 and at most 1, got {value!r}.")
  return number


def check_instance(name: str, value: object, *kinds: type[Kind]) -> Kind:
  """An object of one of some classes, or ValueError."""
  if not isinstance(value, kinds):
    wanted = " or ".join(kind.__name__ for kind in kinds)
    raise ValueError(f"{name} must be {wanted}, got {type(value).__name__}.")
  return value


def declared(thing: object, name: str) -> Any:
  """The attribute in an object's own class; None if the class has none, or only inherits it.

  Shortcuts past an object's own methods (native code, 16-bit tables, forms that are solved in a game's place)
  go by such declarations. A class that derives from one of them may compute something else, so it takes part
  only if its own body says so too, as in `native = RMPlus.native`.
  """
  return getattr(thing, name) if name in vars(type(thing)) else None


def check_derived(name: str, value: object, base: type[Kind], example: str) -> Kind:
  """An object of a class that derives from `base`, or ValueError."""
  if not isinstance(value, base):
    raise ValueError(f"{name} must derive from {base.__name__}, like {example}; got {value!r}.")
  return value
