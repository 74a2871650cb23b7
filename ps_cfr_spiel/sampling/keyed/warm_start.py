"""A warm start: the tables of another game's run, at the keys that both games have.

Yi and Kaneko, Section 4: the tables of a smaller game spare a large game's first iterations.
"""

import numpy as np

from ps_cfr_spiel.cfr import averages
from ps_cfr_spiel.sampling.keyed.key_tables import KeyTables

LEARNED = ("regrets", "learned", "visits", "skipped")


def warm_started(
  tables: KeyTables, empty: KeyTables, first: np.ndarray, theirs: np.ndarray, moves: np.ndarray
) -> KeyTables:
  """The `empty` tables of a game, filled with those of another game's run, on the host.

  The average of the run becomes one policy a key: a single visit. The windows of n keys begin at the cells
  `first`, int[n], in this game, at `theirs` in the other, and have `moves` cells in common.
  """
  key = np.repeat(np.arange(len(moves)), moves)
  within = np.arange(len(key)) - (moves.cumsum() - moves)[key]
  cells, their_cells = first[key] + within, theirs[key] + within

  def moved(values: np.ndarray) -> np.ndarray:
    new = np.zeros(len(empty.regrets), values.dtype)
    new[cells] = values
    return new

  learned = {name: table for name, table in tables._asdict().items() if name in LEARNED and len(table)}
  new = {name: moved(np.asarray(table)[their_cells]) for name, table in learned.items()}
  total = np.asarray(tables.average.total)[their_cells]
  average = moved(total / np.maximum(np.bincount(key, total), np.finfo(total.dtype).tiny)[key])
  return empty._replace(average=averages.Sum(average, np.zeros_like(average)), **new)
