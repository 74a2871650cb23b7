"""What a run may begin with: the tables of another game's run, at the keys that both games have.

Yi and Kaneko, Section 4: a large game's first iterations are spared where a smaller one has been learned.
"""

from typing import Any

import numpy as np


def taken_over(tables: Any, size: int, first: np.ndarray, theirs: np.ndarray, moves: np.ndarray) -> Any:
  """Tables for a game's first iteration, on the host.

  Args:
    tables: of the other game's run, with a field `average`, which becomes one policy a key: a single visit.
    size: S, of this game's tables.
    first: int[n], where the window of each of n keys begins in this game.
    theirs: int[n], where it does in the other.
    moves: int[n], how many cells they have in common.

  Returns:
    Likewise [S] each, zeros at other keys.
  """
  key = np.repeat(np.arange(len(moves)), moves)
  within = np.arange(len(key)) - (moves.cumsum() - moves)[key]

  def moved(name: str, table: Any) -> np.ndarray:
    values = np.asarray(table)[theirs[key] + within]
    if name == "average":
      values = values / np.maximum(np.bincount(key, values), np.finfo(values.dtype).tiny)[key]
    new = np.zeros(size, np.asarray(table).dtype)
    new[first[key] + within] = values
    return new

  return type(tables)(**{name: moved(name, table) for name, table in tables._asdict().items()})
