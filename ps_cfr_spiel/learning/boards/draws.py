"""The examples of some draws, by number: read from their file, and made where it has not all of them."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np

from ps_cfr_spiel.arguments import JSON
from ps_cfr_spiel.backend.device import Uninterrupted
from ps_cfr_spiel.learning.examples import Examples
from ps_cfr_spiel.learning.training import check_same_call


def of_draws(
  file: Path | None,
  first: int,
  count: int,
  wanted: Mapping[str, JSON],
  facts: Callable[[Examples], Mapping[str, JSON]],
  make: Callable[[int, int], Iterator[Examples]],
) -> Examples:
  """The examples of `count` draws from number `first` on.

  Args:
    file: keeps them, also after a KeyboardInterrupt; None: no file.
    wanted: the origin that those in the file must have.
    facts: the origin of examples.
    make: from the first number and the count to the examples of draws, in parts.

  ValueError for a file of another call.
  """
  kept: list[Examples] = []
  if file is not None and file.exists():
    read = Examples.load(file)
    check_same_call(file, facts(read), wanted)
    draws = np.unique(read.draw)
    if not np.array_equal(draws, np.arange(first, first + len(draws))) or len(draws) > count:
      text = f"{draws.min(initial=0)} to {draws.max(initial=-1)}"
      check_same_call(file, {"draws": text}, {"draws": f"{first} to {first + count - 1}"})
    if len(draws) == count:
      return read
    kept = [read] if len(draws) else []
    first, count = first + len(draws), count - len(draws)
  try:
    for part in make(first, count):
      kept.append(part)
  except KeyboardInterrupt:
    if kept and file is not None:
      with Uninterrupted():
        _without_last_draw(Examples.join(kept)).save(file)
    raise
  made = Examples.join(kept)
  if file is not None:
    made.save(file)
  return made


def _without_last_draw(examples: Examples) -> Examples:
  """The examples of all draws but the last, some of whose situations may be missing."""
  return examples.rows(np.flatnonzero(examples.draw < examples.draw.max()))
