"""A warm start: the tables of another game's run, at the keys that both games have.

Yi and Kaneko, Section 4: the tables of a smaller game spare a large game's first iterations.
"""

import numpy as np

from ps_cfr_spiel.cfr import averages
from ps_cfr_spiel.simulated.samplers import KeyTables

LEARNED = ("regrets", "learned", "visits", "skipped")


def taken_over(
  tables: KeyTables, empty: KeyTables, first: np.ndarray, theirs: np.ndarray, moves: np.ndarray
) -> KeyTables:
  """Tables for a game's first iteration, on the host.

  Args:
    tables: of the other game's run; its average becomes one policy a key: a single visit.
    empty: of this game.
    first: int[n], where the window of each of n keys begins in this game.
    theirs: int[n], where it does in the other.
    moves: int[n], the number of cells that they have in common.

  Returns:
    Likewise, zeros at other keys.
  """
  key = np.repeat(np.arange(len(moves)), moves)
  within = np.arange(len(key)) - (moves.cumsum() - moves)[key]
  here, there = first[key] + within, theirs[key] + within

  def moved(values: np.ndarray) -> np.ndarray:
    new = np.zeros(len(empty.regrets), values.dtype)
    new[here] = values
    return new

  new = {name: moved(np.asarray(table)[there]) for name in LEARNED if len(table := getattr(tables, name))}
  total = np.asarray(tables.average.total)[there]
  average = moved(total / np.maximum(np.bincount(key, total), np.finfo(total.dtype).tiny)[key])
  return empty._replace(average=averages.Sum(average, np.zeros_like(average)), **new)
