"""Abstractions without tables of boards: a hand is in the bucket of the nearest centre of its cluster.

They are for games with too many boards, such as hold'em to the river, where hands are described when they
are dealt (`dealt_hands`): on the last round by equities against groups of the opponent's hands (OCHS;
Johanson et al. 2013), before it by a histogram of the equity at the end, under an earth mover's distance. An
abstraction is the centres alone. For speed the sampler of a process tabulates the rounds before the last on
the boards of its own clusters (`tabulated`).
"""

import contextlib
import dataclasses
import functools
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import numpy as np
from numpy.typing import ArrayLike

from ps_cfr_spiel import storage
from ps_cfr_spiel.abstraction import BASE, Distance, board_distances, bucketed, public_clusters, squared
from ps_cfr_spiel.backend.device import all_gather_rows, assigned_here, cores
from ps_cfr_spiel.cards.poker import CardDeal, CardGame, Deck, Place, card_sets
from ps_cfr_spiel.hierarchical.dealt_hands import BINS, equities, histograms, nearest
from ps_cfr_spiel.hierarchical.hierarchy import Hierarchy, check_clusters
from ps_cfr_spiel.reports import progress_bar
from ps_cfr_spiel.tree import Array

GROUPS = 8  # of the opponent's hands, after Johanson et al. 2013
SAMPLE = 10_000  # hands from which the buckets are made by which boards are compared
ROWS, SWEEPS = 4_000, 10  # hands of a cluster and round from which its centres are made, and steps of k-means
RUNOUTS = 100  # boards of the last round that these hands are on
TABLE, BUCKETS = "cards.", "buckets"  # begins the name of a file with a table of `tabulated`; its array
KEPT = 64  # boards whose buckets are kept


@dataclasses.dataclass(frozen=True, eq=False)
class NearestAbstraction(Hierarchy):
  """Clusters of boards, and centres of buckets.

  Attributes:
    groups: int32[H], the group of each hand as the opponent's.
    centres: for each round from the clustered one, the first with public cards, on float32[C, D, B].
    deck, hole, public: as in `poker.CardDeal`.
    first: int32[H], the bucket of each hand before the clustered round.
    boards: int32[K, n], the cards of each class of boards of the clustered round.
    kept: a folder with tables of `tabulated`, which are then read, or None.
  """

  groups: np.ndarray
  centres: tuple[np.ndarray, ...]
  deck: Deck
  hole: int
  public: tuple[int, ...]
  first: np.ndarray
  boards: np.ndarray
  kept: Path | None = None

  @property
  def sizes(self) -> tuple[int, ...]:
    return int(self.first.max()) + 1, *(table.shape[2] for table in self.centres)

  def of_hands(self, places: Sequence[Place]) -> tuple[int, np.ndarray]:
    if len(places) == 1:
      return -1, self.first
    cluster, cards = int(self.clusters[places[1]]), places[-1]
    if isinstance(cards, int):
      cards = tuple(self.boards[cards].tolist())
    return cluster, self._cached(cluster, cards)

  @functools.cached_property
  def _cached(self) -> Callable[[int, tuple[int, ...]], np.ndarray]:
    return functools.lru_cache(maxsize=KEPT)(self._on_board)

  def _on_board(self, cluster: int, board: tuple[int, ...]) -> np.ndarray:
    left = sum(self.public) - len(board)
    centres = self.centres[len(self.centres) - 1 - left][cluster]
    if left:
      return nearest(histograms(self.deck, self.hole, board, left)[0], centres, squared=False)
    buckets = nearest(
      equities(self.deck, self.hole, np.array([board]), self.groups)[0], centres, squared=True
    )
    dead = np.isin(card_sets(self.deck.size, self.hole), board).any(1)
    return np.where(dead, np.int16(-1), buckets)

  def to_arrays(self) -> dict[str, np.ndarray]:
    tables = {f"centres{number}": table for number, table in enumerate(self.centres)}
    return {"clusters": self.clusters, "groups": self.groups, **tables}

  def on(self, game: CardGame[CardDeal]) -> "NearestAbstraction":
    return NearestAbstraction.of(game, self.clusters, self.groups, self.centres, self.kept)

  def table_of(self, folder: Path, cluster: int) -> Path:
    """The file in a folder with a cluster's table of `tabulated`; another abstraction's is another."""
    return storage.shard(folder, cluster, f"{TABLE}{self._mark:08x}.")

  @functools.cached_property
  def _mark(self) -> int:
    mark = 0
    for array in self.to_arrays().values():
      mark = zlib.crc32(np.ascontiguousarray(array).tobytes(), mark)
    return mark

  @classmethod
  def of(
    cls,
    game: CardGame[CardDeal],
    clusters: ArrayLike,
    groups: np.ndarray,
    centres: Sequence[np.ndarray],
    kept: Path | None = None,
  ) -> "NearestAbstraction":
    """An abstraction of a game whose boards are not all in tables, checked; ValueError if it does not fit."""
    clusters, deal = check_clusters(game, clusters, 1), game.deal
    if deal.in_tables or len(centres) != deal.streets - 1:
      raise ValueError(f"{game.game}: expected centres of hands for each round from the clustered one on.")
    groups = np.asarray(groups)
    hands = len(deal.hands)
    if groups.shape != (hands,) or not np.issubdtype(groups.dtype, np.integer) or groups.min() < 0:
      raise ValueError(f"groups: expected a number for each of {hands:,} hands.")
    tables = tuple(np.asarray(table, np.float32) for table in centres)
    for number, table in enumerate(tables):
      last = number == len(tables) - 1
      shape = int(clusters.max()) + 1, int(groups.max()) + 1 if last else BINS - 1
      if table.ndim != 3 or table.shape[:2] != shape or not np.isfinite(table).all() or not table.size:
        raise ValueError(
          f"centres of round {1 + number}: expected finite numbers {[*shape, 'buckets']}, got {table.shape}."
        )
    return cls(
      *(str(game.game), clusters, groups.astype(np.int32), tables, deal.deck, deal.hole, deal.public),
      *(deal.hand_classes[0][0], deal.tables[1].cards, kept),
    )


def make_nearest(
  game: CardGame[CardDeal],
  clusters: int | np.ndarray,
  buckets: int,
  seed: int,
  restarts: int,
  progress: bool | None = None,
) -> NearestAbstraction:
  """Clusters boards and makes centres, from hands drawn at random; see `make_abstraction`.

  Boards are compared by the histograms of the hands on them (Brown et al. 2015, Algorithm 2).
  """
  generator, deal = np.random.default_rng(seed), game.deal
  runouts = deal.tables[1]
  boards, sets = runouts.cards, deal.deck.size
  left, rows = len(deal.public) - 2, max(8 * ROWS // len(boards), 64)
  by_board = np.empty((len(boards), len(deal.hands), BINS - 1), np.float32)
  later = np.empty((len(boards), rows if left == 2 else 0, BINS - 1), np.float32)
  picks = generator.integers(0, len(deal.hands) * sets, (len(boards), 64 * rows))
  assigned = assigned_here(np.arange(len(boards)))
  described = _described(deal, np.flatnonzero(assigned))
  for board, of_board in progress_bar(
    progress, iterable=described, total=int(assigned.sum()), unit="board", desc="Hands"
  ):
    by_board[board] = of_board[0]
    if left == 2:
      flat = of_board[1:].reshape(-1, BINS - 1)
      chosen = picks[board][np.isfinite(flat[picks[board], 0])]
      later[board] = flat[np.resize(chosen, rows)]
  for table in (by_board, later):
    all_gather_rows(table, assigned)
  groups = _groups(deal, by_board, seed)
  if np.ndim(clusters) == 0:
    clusters = _clustered(deal, by_board, int(clusters), seed, restarts)
  clusters = check_clusters(game, clusters, 1)
  every = np.arange(int(clusters.max()) + 1)
  assigned, sizes = assigned_here(every), np.zeros((len(every), left + 1), np.int32)
  columns = [BINS - 1] * left + [int(groups.max()) + 1]
  centres = [np.zeros((len(every), buckets, count), np.float32) for count in columns]
  for cluster in progress_bar(progress, iterable=every, unit="cluster", desc="Buckets"):
    members = np.flatnonzero(clusters == cluster)
    weights = runouts.count[members].astype(float)
    alive, which = by_board[members].reshape(-1, BINS - 1), np.repeat(members, len(deal.hands))
    living = np.flatnonzero(np.isfinite(alive[:, 0]))
    described = [_some(alive[living], runouts.count[which[living]].astype(float), generator)]
    if left == 2:
      described.append(_some(later[members].reshape(-1, later.shape[2]), np.repeat(weights, rows), generator))
    distances: list[Distance] = [_city] * left + [squared]
    described.append(_last(deal, members, weights, groups if assigned[cluster] else None, generator))
    if not assigned[cluster]:
      continue  # its random numbers alone are drawn
    for number, (points, distance) in enumerate(zip(described, distances, strict=True)):
      means = bucketed(points, buckets, distance, seed=seed, restarts=1, sweeps=SWEEPS).means
      sizes[cluster, number] = len(means)
      centres[number][cluster] = means[np.minimum(np.arange(buckets), len(means) - 1)]
  for table in (sizes, *centres):
    all_gather_rows(table, assigned)
  trimmed = [x[:, :most].swapaxes(1, 2) for x, most in zip(centres, sizes.max(0).tolist(), strict=True)]
  return NearestAbstraction.of(game, clusters, groups, [np.ascontiguousarray(x) for x in trimmed])


def _described(deal: CardDeal, boards: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
  """Boards of the clustered round, and the histograms on each, by all cores."""
  cards = deal.tables[1].cards
  left = len(deal.public) - 2
  with ThreadPoolExecutor(cores()) as pool:
    for start in range(0, len(boards), KEPT):  # the histograms of few boards are held at once
      some = boards[start : start + KEPT].tolist()
      yield from zip(
        some, pool.map(lambda k: histograms(deal.deck, deal.hole, cards[k], left), some), strict=True
      )


def _groups(deal: CardDeal, by_board: np.ndarray, seed: int) -> np.ndarray:
  """int[H]: groups of hands whose mean equity is alike before public cards come."""
  classes, count = deal.hand_classes[0][0], deal.tables[1].count[:, None]
  equity, alive = 1 - by_board.mean(2), np.isfinite(by_board[:, :, 0])
  total, times = (np.where(alive, count * x, 0).sum(0) for x in (equity, 1))
  mean = np.bincount(classes, total) / np.bincount(classes, times)
  grouping = bucketed(mean[:, None], GROUPS, weights=np.bincount(classes).astype(float), seed=seed)
  return grouping.label[classes]


def _clustered(deal: CardDeal, by_board: np.ndarray, count: int, seed: int, restarts: int) -> np.ndarray:
  """Clusters boards by the buckets of a base abstraction into which the hands on them fall."""
  generator = np.random.default_rng(seed)
  alive = np.argwhere(np.isfinite(by_board[:, :, 0]))
  some = alive[generator.integers(0, len(alive), SAMPLE)]
  base = bucketed(by_board[some[:, 0], some[:, 1]], BASE, _city, seed=seed, restarts=1, sweeps=SWEEPS).means
  labels = nearest(by_board, base.T, squared=False)
  table = np.stack([np.bincount(row[row >= 0], minlength=len(base)) for row in labels])
  return public_clusters(board_distances(table), count, seed=seed, restarts=restarts)


def _some(points: np.ndarray, weights: np.ndarray, generator: np.random.Generator) -> np.ndarray:
  return points[generator.choice(len(points), ROWS, p=weights / weights.sum())]


def _last(
  deal: CardDeal, members, weights, groups: np.ndarray | None, generator: np.random.Generator
) -> np.ndarray:
  """Equities of hands on boards of the last round, as chance deals them; none without groups."""
  cards, samples = deal.tables[1].cards, []
  for board in cards[generator.choice(members, RUNOUTS, p=weights / weights.sum())]:
    rest = np.setdiff1d(np.arange(deal.deck.size), board)
    whole = [*board.tolist(), *generator.permutation(rest)[: sum(deal.public[2:])].tolist()]
    alive = np.flatnonzero(~np.isin(deal.hands, whole).any(1))
    chosen = generator.choice(alive, ROWS // RUNOUTS)
    if groups is not None:
      samples.append(equities(deal.deck, deal.hole, np.array([whole]), groups)[0][chosen])
  return np.concatenate(samples) if samples else np.zeros((0, 0))


def _city(rows: np.ndarray, means: np.ndarray) -> np.ndarray:
  """Earth mover's distances of cumulative histograms, but for the width of a bin."""
  from scipy.spatial.distance import cdist  # takes a quarter of a second, so only on use

  return cdist(rows, means, "cityblock")


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class UntabulatedBuckets:
  """Buckets of hands where boards are in no table; those of the last round are found as hands are dealt."""

  #: int16[C', F, 1 + D, H], by cluster, place of the board in it, and card after it: those on the board
  #: itself come first.
  buckets: Array
  slot: Array  #: int32[K], the place of each board in its cluster
  groups: Array  #: int32[H]
  centres: Array  #: float32[C', G, B], of the last round
  deck: Deck = dataclasses.field(metadata={"static": True})  #: static


def slots(abstraction: NearestAbstraction) -> np.ndarray:
  """int32[K]: the place of each board among those of its cluster."""
  numbers = np.zeros(len(abstraction.clusters), np.int32)
  for cluster in range(abstraction.count):
    members = np.flatnonzero(abstraction.clusters == cluster)
    numbers[members] = np.arange(len(members))
  return numbers


def table_shape(deal: CardDeal, abstraction: NearestAbstraction) -> tuple[int, int, int]:
  """(F, 1 + D, H), of a cluster's table."""
  most = int(np.bincount(abstraction.clusters).max())
  return most, 1 + deal.deck.size * (deal.streets == 4), len(deal.hands)


def tabulated(
  deal: CardDeal, abstraction: NearestAbstraction, clusters: range, progress: bool | None
) -> np.ndarray:
  """int16[clusters, F, 1 + D, H]: buckets before the last round; 0 of dead hands and behind boards."""
  shape, known = table_shape(deal, abstraction), []
  table = np.zeros((len(clusters), *shape), np.int16)
  for cluster in clusters:
    with contextlib.suppress(FileNotFoundError):
      if abstraction.kept is not None:
        file = abstraction.table_of(abstraction.kept, cluster)
        arrays = storage.read(file).mapped({BUCKETS: (shape, np.dtype(np.int16))})
        table[cluster - clusters.start] = arrays[BUCKETS]
        known.append(cluster)
  missing = [cluster for cluster in clusters if cluster not in known]
  boards, place = np.flatnonzero(np.isin(abstraction.clusters, missing)), slots(abstraction)
  described = _described(deal, boards)
  for board, of_board in progress_bar(
    progress, iterable=described, total=len(boards), unit="board", desc="Cards"
  ):
    cluster = int(abstraction.clusters[board])
    buckets = table[cluster - clusters.start, place[board]]
    for number, rows in enumerate((slice(0, 1), slice(1, None))[: len(abstraction.centres) - 1]):
      buckets[rows] = np.maximum(nearest(of_board[rows], abstraction.centres[number][cluster], False), 0)
  return table
