"""The clusters' tables in files, one for each cluster, beside the file of the run that names them.

Each save writes a set of files under a new stamp, in all processes, each its own clusters. Then the file of
the run is replaced, which names the new stamp; then the earlier set goes. So there is a whole set at any
time, and any number of processes continues it. No process ever holds more than its clusters.
"""

import contextlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ps_cfr_spiel import storage
from ps_cfr_spiel.cfr import averages
from ps_cfr_spiel.hierarchical.cluster_sampling import PartTables
from ps_cfr_spiel.hierarchical.nearest import BUCKETS, TABLE, NearestAbstraction

PARTS = (
  "regrets",
  "average",
  "compensation",
)  # arrays of a cluster: its regrets, and the two of its sum of strategies


def shard_folder(run: Path) -> Path:
  """The folder with the clusters of a run's file."""
  return run.with_suffix(".clusters")


def _file(run: Path, stamp: str, cluster: int) -> Path:
  return storage.shard(shard_folder(run), cluster, f"{stamp}.")


def all_finite(part: PartTables) -> bool:
  """Whether all numbers are finite; NaN is both the least and the greatest of an array."""
  return all(np.isfinite([x.min(initial=0), x.max(initial=0)]).all() for x in jax.tree.leaves(part))


def write_shards(
  run: str | os.PathLike, stamp: str, header: Mapping[str, Any], clusters: Mapping[int, PartTables]
) -> None:
  """Write the tables of some clusters, each with the header of the run.

  FloatingPointError if a number is not finite; OSError if a file cannot be written.
  """
  run = Path(run)
  shard_folder(run).mkdir(exist_ok=True)
  for cluster, part in clusters.items():
    if not all_finite(part):
      raise FloatingPointError(f"Cluster {cluster} holds numbers that are not finite; {run} was not changed.")
    arrays = {name: table for name, table in zip(PARTS, jax.tree.leaves(part), strict=True)}  # noqa: C416
    storage.write(_file(run, stamp, cluster), "run", header, arrays)


def write_tables(
  run: str | os.PathLike, abstraction: NearestAbstraction, tables: Mapping[int, np.ndarray]
) -> None:
  """Write an abstraction's tables of cards, by cluster, if they are missing; OSError if that fails."""
  for cluster, table in tables.items():
    if not (path := abstraction.table_of(shard_folder(Path(run)), cluster)).exists():
      storage.write(path, "abstraction", {"game": abstraction.game}, {BUCKETS: table})


def forget_shards(run: str | os.PathLike, stamp: str) -> None:
  """Delete all clusters of a run's folder but those of a stamp; tables of cards stay."""
  for entry in list(os.scandir(shard_folder(Path(run)))):
    if not entry.name.startswith((f"{stamp}.", TABLE)):
      with contextlib.suppress(FileNotFoundError):
        os.unlink(entry.path)


def read_shards(
  run: str | os.PathLike, stamp: str, shape: tuple[int, int], dtype: str
) -> Callable[[int], PartTables]:
  """A function that opens the tables [A, S] of a cluster, whose numbers stay on disk until they are used.

  `stamp` is the one that the file `run` names, `shape` (A, S). The function raises OSError and ValueError for
  files that are missing or damaged.
  """

  def part(cluster: int) -> PartTables:
    file = _file(Path(run), stamp, cluster)
    try:
      arrays = storage.read(file).mapped(dict.fromkeys(PARTS, (shape, np.dtype(dtype))))
    except FileNotFoundError as error:
      raise ValueError(
        f"{file} is missing: the folder belongs to {run}, so move both together, and read both again after a "
        f"run has saved."
      ) from error
    part = PartTables(arrays["regrets"], averages.Sum(arrays["average"], arrays["compensation"]))
    if not all_finite(part):
      raise ValueError(f"{file} is damaged: it holds numbers that are not finite.")
    return part

  return part
