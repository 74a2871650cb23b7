"""Hierarchical abstractions: boards in public clusters, hands in buckets of these (Brown et al. 2015).

Before the special round the buckets of hands are their classes up to suits. In it boards are clustered, and
from it on, round by round and cluster by cluster, hands fall into buckets: players forget all but the
cluster. So no two clusters share an infostate, and each may live on a machine of its own.
"""

import dataclasses
import functools
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ps_cfr_spiel import storage
from ps_cfr_spiel.hierarchical.dealt_game import SPECIAL, DealtGame
from ps_cfr_spiel.storage import Stored


@dataclasses.dataclass(frozen=True, eq=False)
class DealtAbstraction:
  """Clusters and buckets of a dealt game.

  Attributes:
    game: `str(game)`.
    clusters: int32[K], the cluster of each class of boards of the special round, 0 to C - 1.
    buckets: for each round int32[K, H], the bucket of each hand on each class of runouts, from 0 in each
      cluster; -1 of dead hands.
  """

  game: str
  clusters: np.ndarray
  buckets: tuple[np.ndarray, ...]

  @property
  def count(self) -> int:
    """C, the number of clusters."""
    return int(self.clusters.max()) + 1

  @functools.cached_property
  def sizes(self) -> tuple[int, ...]:
    """For each round the most buckets that a cluster has."""
    return tuple(int(table.max()) + 1 for table in self.buckets)

  def facts(self) -> dict[str, str]:
    """The numbers of clusters and buckets, as text."""
    boards = np.bincount(self.clusters)
    least, most = boards.min(), boards.max()
    each = f"{least:,} to {most:,} boards" if least < most else "1 board" if most == 1 else f"{most:,} boards"
    return {
      "clusters": f"{self.count:,}, each of {each} up to names of suits",
      "buckets": f"at most {', '.join(f'{n:,}' for n in self.sizes)} in a cluster, round by round",
    }

  def find(self, seen: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The cluster, -1 before the special round, and the bucket of a hand; `seen` is of `DealtGame.seen`."""
    cluster = int(self.clusters[seen[SPECIAL][0]]) if len(seen) > SPECIAL else -1
    return cluster, int(self.buckets[len(seen) - 1][seen[-1]])

  @classmethod
  def of(cls, game: DealtGame, clusters: np.ndarray, buckets: Sequence[np.ndarray]) -> "DealtAbstraction":
    """The same, checked.

    Raises:
      ValueError: tables of wrong shape, an empty cluster, or hands that differ in names of suits alone and
        are in two buckets.
    """
    clusters = check_clusters(game, clusters)
    if len(buckets) != game.rounds:
      raise ValueError(f"buckets: expected a table for each of {game.rounds} rounds, got {len(buckets)}.")
    tables = tuple(map(np.asarray, buckets))
    for number, table in enumerate(tables):
      classes = game.classes[number]
      if not np.issubdtype(table.dtype, np.integer):
        raise ValueError(f"buckets of round {number}: expected integers, got {table.dtype}.")
      if table.shape != classes.shape or ((table < 0) != (classes < 0)).any():
        raise ValueError(
          f"buckets of round {number}: expected a table {classes.shape}, -1 for dead hands and no other, got "
          f"one {table.shape}."
        )
      if table.max() >= table.size:
        raise ValueError(
          f"buckets of round {number}: a table {table.shape} has {table.size:,} buckets at most, from 0; got "
          f"number {table.max():,}."
        )
      last = np.full((len(classes), int(classes.max()) + 2), -1)  # the bucket of the last hand of each class
      np.put_along_axis(last, classes + 1, table, 1)
      if (np.take_along_axis(last, classes + 1, 1) != table).any():
        raise ValueError(
          f"buckets of round {number}: hands that differ in names of suits are in two buckets."
        )
    return cls(game.name, clusters, tuple(table.astype(np.int32) for table in tables))


def check_clusters(game: DealtGame, clusters: Any) -> np.ndarray:
  """int32[K], the cluster of each class of boards of the special round, as given.

  Raises:
    ValueError: some boards have no cluster, or some clusters no boards.
  """
  given, boards = np.asarray(clusters), len(game.runouts[SPECIAL].cards)
  whole = np.issubdtype(given.dtype, np.integer) and given.shape == (boards,)
  if not whole or set(given.tolist()) != set(range(len(set(given.tolist())))):
    raise ValueError(
      f"clusters: expected a number for each of {boards} boards, every one from 0 to the largest used."
    )
  return given.astype(np.int32)


def to_arrays(abstraction: DealtAbstraction) -> dict[str, np.ndarray]:
  """The arrays of an abstraction in files, beside its game."""
  tables = {f"buckets{number}": table for number, table in enumerate(abstraction.buckets)}
  return {"clusters": abstraction.clusters, **tables}


def from_file(file: Stored) -> DealtAbstraction:
  """The abstraction in a file: the inverse of `to_arrays`; `DealtAbstraction.of` checks it."""
  arrays = file.arrays(file.shapes)
  tables = [arrays[name] for n in range(len(arrays)) if (name := f"buckets{n}") in arrays]
  return DealtAbstraction(file.header["game"], arrays["clusters"], tuple(tables))


def save_abstraction(path: str | os.PathLike, abstraction: DealtAbstraction) -> None:
  """Saves an abstraction, for `load_abstraction`; OSError if it cannot be written."""
  storage.write(path, "abstraction", {"game": abstraction.game}, to_arrays(abstraction))


def load_abstraction(path: str | os.PathLike, game: DealtGame) -> DealtAbstraction:
  """Reads a file of `save_abstraction`.

  Raises:
    OSError: no such file.
    ValueError: the file is damaged, of another kind, or its abstraction is one of another game.
  """
  file = storage.read(path)
  if file.header["kind"] != "abstraction":
    raise ValueError(f"{path} holds {file.content}, not an abstraction.")
  if file.header["game"] != game.name:
    raise ValueError(f"{path} is an abstraction of {file.header['game']}, not of {game.name}.")
  try:
    found = from_file(file)
  except KeyError as error:
    raise ValueError(f"{path} is damaged: it has no {error}.") from error
  return DealtAbstraction.of(game, found.clusters, found.buckets)


def clusters_of(game: DealtGame, clusters: np.ndarray, number: int) -> np.ndarray:
  """int[K]: the cluster of each class of runouts of a round."""
  board = np.arange(len(game.runouts[number].cards))
  for after in game.runouts[number:SPECIAL:-1]:
    board = after.parent[board]
  return np.asarray(clusters)[board]
