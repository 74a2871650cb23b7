"""Hierarchical abstractions: boards in public clusters, hands in buckets of these (Brown et al. 2015).

Before the clustered round the buckets of hands are their classes up to suits, or fewer, the same on all
boards of a round. In it boards are clustered, and from it on, round by round and cluster by cluster, hands
fall into buckets: players forget all but the cluster. So no two clusters share an infostate, and each may
live on a machine of its own.
"""

import abc
import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ps_cfr_spiel.arguments import check_count
from ps_cfr_spiel.cards.poker import CardDeal, CardGame, Place


@dataclasses.dataclass(frozen=True, eq=False)
class Hierarchy(abc.ABC):
  """An abstraction of a dealt game.

  Attributes:
    game: `str(game)`.
    clusters: int32[K], the cluster of each class of boards of the clustered round, 0 to C - 1.
    clustered_round: that round.
  """

  game: str
  clusters: np.ndarray
  clustered_round: int = dataclasses.field(default=1, kw_only=True)

  @property
  @abc.abstractmethod
  def sizes(self) -> tuple[int, ...]:
    """For each round the most buckets that a cluster has."""

  @abc.abstractmethod
  def of_hands(self, places: Sequence[Place]) -> tuple[int, np.ndarray]:
    """The cluster, -1 before the clustered round, and int[H], the buckets of all hands.

    Buckets of dead hands are undefined. `places` are those of the rounds so far, as of `CardDeal.seen`.
    """

  def find(self, seen: Sequence[tuple[Place, int]]) -> tuple[int, int]:
    """The cluster, as of `of_hands`, and the bucket of a hand; `seen` is of `CardDeal.seen`."""
    cluster, buckets = self.of_hands([place for place, _ in seen])
    return cluster, int(buckets[seen[-1][1]])

  @abc.abstractmethod
  def on(self, game: CardGame[CardDeal]) -> "Hierarchy":
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
      + f", after the cards of round {self.clustered_round}" * (self.clustered_round > 1),
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

  def of_hands(self, places: Sequence[Place]) -> tuple[int, np.ndarray]:
    number, clustered = len(places) - 1, self.clustered_round
    cluster = int(self.clusters[places[clustered]]) if number >= clustered else -1
    return cluster, self.buckets[number][places[-1]]

  def on(self, game: CardGame[CardDeal]) -> "DealtAbstraction":
    return DealtAbstraction.of(game, self.clusters, self.buckets, self.clustered_round)

  def to_arrays(self) -> dict[str, np.ndarray]:
    return {"clusters": self.clusters, **{f"buckets{n}": table for n, table in enumerate(self.buckets)}}

  @classmethod
  def of(
    cls,
    game: CardGame[CardDeal],
    clusters: np.ndarray,
    buckets: Sequence[np.ndarray],
    clustered_round: int = 1,
  ) -> "DealtAbstraction":
    """The same, checked.

    ValueError for a round without public cards, tables of wrong shape, an empty cluster, or hands that differ
    in names of suits alone and are in two buckets.
    """
    clusters = check_clusters(game, clusters, clustered_round)
    if len(buckets) != game.deal.streets:
      raise ValueError(
        f"buckets: expected a table for each of {game.deal.streets} rounds, got {len(buckets)}."
      )
    tables = tuple(map(np.asarray, buckets))
    for number, table in enumerate(tables):
      classes = game.deal.hand_classes[number]
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
    integers = tuple(table.astype(np.int32) for table in tables)
    return cls(str(game.game), clusters, integers, clustered_round=clustered_round)


@dataclasses.dataclass(frozen=True, eq=False)
class ByCluster:
  """An array of clusters, its first axis, that is read or made part by part, since all may fit no memory."""

  shape: tuple[int, ...]
  read: Callable[[Any], np.ndarray]  #: an int, a cluster, or a slice of them -> its part

  def __getitem__(self, part: int | slice | tuple[slice, ...]) -> np.ndarray:
    return self.read(part[0] if isinstance(part, tuple) else part)


def check_clustered_round(game: CardGame[CardDeal], number: int) -> int:
  """The round whose boards are clustered, as given.

  ValueError unless public cards come before it, and its boards are in tables.
  """
  last = game.deal.streets - 1
  if check_count("clustered_round", number, 1) > last:
    raise ValueError(
      f"clustered_round={number}: public cards come before rounds 1 to {last}; give one of these."
    )
  if number >= len(game.deal.tables):
    raise ValueError(
      f"clustered_round={number}: {game.game} has too many boards for tables; cluster those of round 1, the "
      "default."
    )
  return number


def check_clusters(game: CardGame[CardDeal], clusters: ArrayLike, clustered_round: int) -> np.ndarray:
  """int32[K], the cluster of each class of boards of the clustered round, as given.

  ValueError for a round without public cards, if some boards have no cluster, or some clusters no boards.
  """
  check_clustered_round(game, clustered_round)
  given, boards = np.asarray(clusters), len(game.deal.tables[clustered_round].cards)
  whole = np.issubdtype(given.dtype, np.integer) and given.shape == (boards,)
  if not whole or set(given.tolist()) != set(range(len(set(given.tolist())))):
    raise ValueError(
      f"clusters: expected a number for each of {boards} boards, every one from 0 to the largest used."
    )
  return given.astype(np.int32)


def boards_before(deal: CardDeal, number: int, earlier: int) -> np.ndarray:
  """int[K]: for each class of runouts of a round, the class of an `earlier` round that it goes on from."""
  board = np.arange(len(deal.tables[number].cards))
  for after in deal.tables[number:earlier:-1]:
    board = after.parent[board]
  return board
