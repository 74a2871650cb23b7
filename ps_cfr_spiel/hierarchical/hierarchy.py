"""Hierarchical abstractions: boards in public clusters, hands in buckets of these (Brown et al. 2015).

Before the special round the buckets of hands are their classes up to suits. In it boards are clustered, and
from it on, round by round and cluster by cluster, hands fall into buckets: players forget all but the
cluster. So no two clusters share an infostate, and each may live on a machine of its own.
"""

import abc
import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ps_cfr_spiel.hierarchical.dealt_game import DealtGame


@dataclasses.dataclass(frozen=True, eq=False)
class Hierarchy(abc.ABC):
  """An abstraction of a dealt game.

  Attributes:
    game: `str(game)`.
    clusters: int32[K], the cluster of each class of boards of the special round, 0 to C - 1.
    special: that round.
  """

  game: str
  clusters: np.ndarray
  special: int = dataclasses.field(default=1, kw_only=True)

  @property
  @abc.abstractmethod
  def sizes(self) -> tuple[int, ...]:
    """For each round the most buckets that a cluster has."""

  @abc.abstractmethod
  def find(self, seen: Sequence[tuple[Any, int]]) -> tuple[int, int]:
    """The cluster, -1 before the special round, and the bucket of a hand; `seen` is of `DealtGame.seen`."""

  @abc.abstractmethod
  def of_hands(self, special: int | None, place: Any, number: int) -> tuple[int, np.ndarray]:
    """The cluster, as of `find`, and int[H], the buckets of all hands; of dead ones anything.

    `special` is the class of boards of the special round, None before it; `place`, as of `DealtGame.seen`, is
    on the last round so far, `number`.
    """

  @abc.abstractmethod
  def on(self, game: DealtGame) -> "Hierarchy":
    """The same, checked; ValueError if it does not fit the game."""

  @abc.abstractmethod
  def to_arrays(self) -> dict[str, np.ndarray]:
    """The arrays in files, beside the game."""

  @property
  def count(self) -> int:
    """C, the number of clusters."""
    return int(self.clusters.max()) + 1

  def facts(self) -> dict[str, str]:
    """The numbers of clusters and buckets, as text."""
    boards = np.bincount(self.clusters)
    least, most = boards.min(), boards.max()
    each = f"{least:,} to {most:,} boards" if least < most else "1 board" if most == 1 else f"{most:,} boards"
    return {
      "clusters": f"{self.count:,}, each of {each} up to names of suits"
      + f", after the cards of round {self.special}" * (self.special > 1),
      "buckets": f"at most {', '.join(f'{n:,}' for n in self.sizes)} in a cluster, round by round",
    }


@dataclasses.dataclass(frozen=True, eq=False)
class DealtAbstraction(Hierarchy):
  """Clusters and buckets of a dealt game.

  Attributes:
    buckets: for each round int32[K, H], the bucket of each hand on each class of runouts, from 0 in each
      cluster; -1 of dead hands.
  """

  buckets: tuple[np.ndarray, ...]

  @functools.cached_property
  def sizes(self) -> tuple[int, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
    return tuple(int(table.max()) + 1 for table in self.buckets)

  def find(self, seen: Sequence[tuple[Any, int]]) -> tuple[int, int]:
    cluster = int(self.clusters[seen[self.special][0]]) if len(seen) > self.special else -1
    return cluster, int(self.buckets[len(seen) - 1][seen[-1]])

  def of_hands(self, special: int | None, place: Any, number: int) -> tuple[int, np.ndarray]:
    return -1 if special is None else int(self.clusters[special]), self.buckets[number][place]

  def on(self, game: DealtGame) -> "DealtAbstraction":
    return DealtAbstraction.of(game, self.clusters, self.buckets)

  def to_arrays(self) -> dict[str, np.ndarray]:
    return {"clusters": self.clusters, **{f"buckets{n}": table for n, table in enumerate(self.buckets)}}

  @classmethod
  def of(cls, game: DealtGame, clusters: np.ndarray, buckets: Sequence[np.ndarray]) -> "DealtAbstraction":
    """The same, checked.

    ValueError for tables of wrong shape, an empty cluster, or hands that differ in names of suits alone and
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
    return cls(game.name, clusters, tuple(table.astype(np.int32) for table in tables), special=game.special)


@dataclasses.dataclass(frozen=True, eq=False)
class ByCluster:
  """An array of clusters, its first axis, that is read or made part by part, since all may fit no memory."""

  shape: tuple[int, ...]
  read: Callable[[Any], np.ndarray]  #: a cluster or a slice of them -> its part

  def __getitem__(self, part: Any) -> np.ndarray:
    return self.read(part[0] if isinstance(part, tuple) else part)


def check_clusters(game: DealtGame, clusters: Any) -> np.ndarray:
  """int32[K], the cluster of each class of boards of the special round, as given.

  ValueError if some boards have no cluster, or some clusters no boards.
  """
  given, boards = np.asarray(clusters), len(game.runouts[game.special].cards)
  whole = np.issubdtype(given.dtype, np.integer) and given.shape == (boards,)
  if not whole or set(given.tolist()) != set(range(len(set(given.tolist())))):
    raise ValueError(
      f"clusters: expected a number for each of {boards} boards, every one from 0 to the largest used."
    )
  return given.astype(np.int32)


def clusters_of(game: DealtGame, clusters: np.ndarray, number: int) -> np.ndarray:
  """int[K]: the cluster of each class of runouts of a round."""
  board = np.arange(len(game.runouts[number].cards))
  for after in game.runouts[number : game.special : -1]:
    board = after.parent[board]
  return np.asarray(clusters)[board]
