"""Making a hierarchical abstraction: Algorithm 1 of Brown, Ganzfried and Sandholm (2015).

Boards are clustered by how hands fall into the buckets of a base abstraction on them; then, from the last
round up, the hands of each cluster are described by numbers and put into buckets by these.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ps_cfr_spiel.abstraction import (
  BASE,
  CLUSTERS,
  MOST_ROWS,
  Distance,
  board_distances,
  bucketed,
  cluster_equities,
  greedy_distances,
  line_distances,
  public_clusters,
  squared,
)
from ps_cfr_spiel.arguments import check_count
from ps_cfr_spiel.backend.device import all_gather_rows, assigned_here
from ps_cfr_spiel.cards.poker import CardDeal, CardGame
from ps_cfr_spiel.hierarchical.dealt_hands import BINS
from ps_cfr_spiel.hierarchical.hierarchy import (
  DealtAbstraction,
  Hierarchy,
  boards_before,
  check_clustered_round,
  check_clusters,
)
from ps_cfr_spiel.hierarchical.nearest import GROUPS, make_nearest
from ps_cfr_spiel.hierarchical.sizes import measure
from ps_cfr_spiel.memory import board_needs, bucket_needs, check_needs
from ps_cfr_spiel.options import DISTRIBUTION, LOSSLESS, POTENTIAL, MakeAbstractionOptions
from ps_cfr_spiel.reports import progress_bar, waiting

SAMPLED_BOARDS, SAMPLE = 500, 10_000  # boards, and hands on them, from which these buckets are made
SOME = 2_000  # hands from which buckets of earlier rounds are made: earth mover's distances are slow


class Rows(NamedTuple):
  """One hand of each class of hands on some classes of runouts, N in all."""

  board: np.ndarray  #: int[N], which class of runouts
  hand: np.ndarray  #: int[N], the first hand of its class
  #: float64[N], the number of ways in which chance deals the class of hands and of runouts.
  weight: np.ndarray


def _rows(deal: CardDeal, number: int, boards: np.ndarray) -> Rows:
  """The classes of hands on classes of runouts of a round, board by board, in order."""
  board, hand, weight = [], [], []
  for k, classes in zip(boards.tolist(), deal.hand_classes[number][boards], strict=True):
    _, first, sizes = np.unique(classes, return_index=True, return_counts=True)
    alive = classes[first] >= 0
    board.append(np.full(alive.sum(), k))
    hand.append(first[alive])
    weight.append(sizes[alive] * deal.tables[number].count[k])
  return Rows(*map(np.concatenate, (board, hand, weight)))


def _spread_labels(deal: CardDeal, number: int, rows: Rows, label: np.ndarray, table: np.ndarray) -> None:
  """Write the labels of rows into a table [K, H], for every hand of their classes."""
  boards = np.unique(rows.board)
  ends = np.searchsorted(rows.board, boards, "right")
  for board, part in zip(boards, np.split(label, ends[:-1]), strict=True):
    classes = deal.hand_classes[number][board]
    table[board] = np.where(classes >= 0, part[classes], -1)


def make_abstraction(
  game: CardGame[CardDeal],
  options: MakeAbstractionOptions | int | np.ndarray | None = None,
  *,
  progress: bool | None = None,
  **keywords: Any,
) -> Hierarchy:
  """Clusters boards and puts hands into buckets (Brown et al. 2015, Algorithm 1).

  Processes that have joined share the work, so all of them must call it; their number changes no result.

  Args:
    game: the game.
    options: all options, or the clusters alone.
    progress: as in `reports.progress_bar`.
    **keywords: options by name; see `MakeAbstractionOptions`.

  Raises:
    ValueError: an option is not one of the allowed, or clusters or buckets need more memory than is free.
  """
  options = MakeAbstractionOptions.of(options, **keywords)
  clusters, buckets, seed, restarts = options.clusters, options.buckets, options.seed, options.restarts
  earlier = options.earlier_buckets
  clustered_round, deal = check_clustered_round(game, options.clustered_round), game.deal
  aware = options.aware or (POTENTIAL if deal.in_tables else DISTRIBUTION)
  if buckets != LOSSLESS:
    check_count("buckets", buckets, 1)
  if earlier != LOSSLESS:
    check_count("earlier_buckets", earlier, 1)
  boards = len(deal.tables[clustered_round].cards)
  clusters = min(CLUSTERS, boards) if clusters is None else clusters
  counted = np.ndim(clusters) == 0
  if counted:
    if check_count("clusters", clusters, 1) > boards:
      raise ValueError(f"clusters={clusters}: there are only {boards} boards that suits do not make alike.")
    check_needs(
      str(game.game), board_needs(boards), None, "Fewer public cards at first, ranks or suits take less"
    )
  if not deal.in_tables:
    if buckets == LOSSLESS or aware != DISTRIBUTION or earlier != LOSSLESS:
      raise ValueError(
        f"{game.game} has too many boards for tables: give a number of buckets, described by 'distribution', "
        f"and leave those of earlier rounds {LOSSLESS}; got buckets={buckets!r}, aware={aware!r} and "
        f"earlier_buckets={earlier!r}."
      )
    return make_nearest(game, clusters, int(buckets), seed, restarts, progress)
  if counted and buckets != LOSSLESS:  # the largest cluster has no fewer hands than the mean
    every = measure(game.betting, deal).hand_classes[clustered_round:]
    _check_memory(game, (every / int(clusters)).tolist(), int(buckets), aware)
  if earlier != LOSSLESS:
    _check_memory(game, list(measure(game.betting, deal).hand_classes), int(earlier), DISTRIBUTION)
  with waiting("Comparing hands", progress):
    equities = Equities.of(deal, seed) if counted or {buckets, earlier} != {LOSSLESS} else None
  if counted:
    assert equities is not None
    table = board_transitions(deal, clustered_round, equities, seed, progress)
    clusters = public_clusters(board_distances(table), int(clusters), seed=seed, restarts=restarts)
  clusters = check_clusters(game, clusters, clustered_round)
  tables = [table.copy() for table in deal.hand_classes]
  for number in range(deal.streets):
    if (earlier if number < clustered_round else buckets) == LOSSLESS:
      of_board = np.zeros(len(deal.tables[number].cards), int)
      if number >= clustered_round:
        of_board = clusters[boards_before(deal, number, clustered_round)]
      tables[number] = _lossless(deal, of_board, number)
  if earlier != LOSSLESS:
    assert equities is not None
    whole, described = [np.arange(len(after.cards)) for after in deal.tables], range(clustered_round)
    _fill_buckets(
      deal, equities, whole, tables, described, int(earlier), DISTRIBUTION, seed=seed, restarts=restarts
    )
  if buckets == LOSSLESS:
    return DealtAbstraction.of(game, clusters, tables, clustered_round)
  assert equities is not None
  rounds = range(clustered_round, deal.streets)
  cluster_of_board = [clusters[boards_before(deal, number, clustered_round)] for number in rounds]
  hands = [classes.max(1) + 1 for classes in deal.hand_classes[clustered_round:]]  # of each board
  rows = [
    float(np.bincount(where, sizes).max()) for where, sizes in zip(cluster_of_board, hands, strict=True)
  ]
  _check_memory(game, rows, int(buckets), aware)
  every = np.arange(int(clusters.max()) + 1)
  with progress_bar(progress, total=int(assigned_here(every).sum()), unit="cluster", desc="Buckets") as bar:
    for cluster in every[assigned_here(every)].tolist():
      members = [np.flatnonzero(numbers == cluster) for numbers in cluster_of_board]
      _fill_buckets(
        deal, equities, members, tables, rounds, int(buckets), aware, seed=seed, restarts=restarts
      )
      bar.update()
  for table, numbers in zip(tables[clustered_round:], cluster_of_board, strict=True):
    all_gather_rows(table, assigned_here(numbers))
  return DealtAbstraction.of(game, clusters, tables, clustered_round)


def _check_memory(game: CardGame[CardDeal], rows: Sequence[float], count: int, aware: str) -> None:
  """TooLarge, a ValueError, if making `count` buckets in a cluster needs more memory than is free.

  `rows` are its hands up to suits, in its first round and each later one.
  """
  columns, sums = [GROUPS], [0]  # the last round first
  deal, clustered_round = game.deal, game.deal.streets - len(rows)
  for number in reversed(range(clustered_round + 1, deal.streets)):  # see `_expected` for the round before
    columns.append(int(min(count, rows[number - clustered_round])) if aware == POTENTIAL else BINS)
    sums.append(deal.tables[number].index.shape[1] * len(deal.hands))
  histograms = BINS * rows[-1] if aware == DISTRIBUTION and len(rows) > 1 else 0
  needs = bucket_needs(rows[::-1], columns, sums, histograms)
  check_needs(str(game.game), needs, None, "More clusters or fewer buckets take less")


def _fill_buckets(
  deal: CardDeal,
  equities: "Equities",
  boards: Sequence[np.ndarray],
  tables: Sequence[np.ndarray],
  rounds: range,
  count: int,
  aware: str,
  **options: int,
) -> None:
  """Write the buckets of one cluster's hands into the tables, int[K, H], from the last round up.

  `boards` are of the cluster, in the first of the `rounds` with buckets and each later one. A round after
  `rounds` is described by its distribution alone.
  """
  later = None
  for number in reversed(range(rounds[0], deal.streets)):
    rows, numbers = _rows(deal, number, boards[number - rounds[0]]), None
    if later is not None:
      numbers = _expected(deal, number, rows, later)
    if number in rounds:
      distance, most = (squared, MOST_ROWS) if later is None else (later.distance, SOME)
      described = equities(rows) if numbers is None else numbers
      grouping = bucketed(described, count, distance, weights=rows.weight, most=most, **options)
      _spread_labels(deal, number, rows, grouping.label, tables[number])
      if number == rounds[0]:
        break
      if aware == POTENTIAL:
        apart = distance(grouping.means, grouping.means)
        apart = np.sqrt(apart) if later is None else apart
        ground = functools.partial(greedy_distances, ground=apart, dtype="float32")
        later = Later(tables[number], np.eye(len(apart)), ground)
        continue
    table = np.empty_like(tables[number])
    _spread_labels(deal, number, rows, np.arange(len(rows.hand)), table)
    if numbers is None:
      beaten = dataclasses.replace(equities, groups=np.zeros_like(equities.groups))(rows)[:, 0]
      numbers = np.eye(BINS)[np.minimum(BINS * beaten, BINS - 1).astype(int)]
    later = Later(table, numbers, functools.partial(line_distances, places=np.arange(BINS) / BINS))


class Later(NamedTuple):
  """The description of hands of the round before: N distributions over D places."""

  table: np.ndarray  #: int[K, H], the distribution of each hand of this round; -1 of dead ones
  rows: np.ndarray  #: float64[N, D]
  distance: Distance  #: from one distribution over these places to another


def _lossless(deal: CardDeal, clusters: np.ndarray, number: int) -> np.ndarray:
  """int32[K, H]: a bucket for each class of hands on each class of runouts, in clusters int[K]."""
  classes = deal.hand_classes[number]
  sizes = classes.max(1) + 1
  start = np.zeros(len(sizes), int)
  for cluster in range(int(clusters.max()) + 1):
    members = clusters == cluster
    start[members] = np.cumsum(sizes[members]) - sizes[members]
  return np.where(classes >= 0, classes + start[:, None], -1).astype(np.int32)


@dataclasses.dataclass(frozen=True, eq=False)
class Equities:
  """Describes hands of the last round by their equities against clusters of the opponent's hands."""

  deal: CardDeal  #: the deal
  #: int[H], the opponent's clusters, of hands whose mean strength is alike before public cards come.
  groups: np.ndarray

  @classmethod
  def of(cls, deal: CardDeal, seed: int) -> "Equities":
    """Clusters the opponent's hands by the mean share of hands on the board that they beat."""
    runouts, total = deal.tables[-1], np.zeros(len(deal.hands))
    for count, strength, classes in zip(
      runouts.count, deal.strength_table, deal.hand_classes[-1], strict=True
    ):
      alive = classes >= 0
      among = np.sort(strength[alive])
      beaten = sum(np.searchsorted(among, strength, side) for side in ("left", "right"))
      total += np.where(alive, count * beaten / (2 * len(among)), 0)
    rows = _rows(deal, 0, np.zeros(1, int))
    classes = deal.hand_classes[0][0]
    alive = classes >= 0
    mean = np.bincount(classes[alive], total[alive]) / np.bincount(classes[alive])
    grouping = bucketed(mean[:, None], GROUPS, weights=rows.weight, seed=seed)
    return cls(deal, grouping.label[classes])

  def __call__(self, rows: Rows) -> np.ndarray:
    """float64[N, G]."""
    deal, last = self.deal, self.deal.streets - 1
    parts = []
    for board in np.unique(rows.board):
      alive = deal.hand_classes[last][board] >= 0
      hands = rows.hand[rows.board == board]
      parts.append(cluster_equities(hands, deal.strength_table[board], deal.hands, alive, self.groups))
    return np.concatenate(parts)


def _expected(deal: CardDeal, number: int, rows: Rows, later: Later) -> np.ndarray:
  """float64[N, D]: the mean, over the cards that come next, of the descriptions of hands by then."""
  after, means = deal.tables[number + 1], np.zeros((len(rows.hand), later.rows.shape[1]))
  # The last row is for hands that are dead.
  described = np.concatenate([later.rows, np.zeros_like(later.rows[:1])])
  for board in np.unique(rows.board):
    members = np.flatnonzero(rows.board == board)
    sets = np.flatnonzero(after.index[board] >= 0)
    hands = deal.hand_swaps[after.swap[board, sets]][:, rows.hand[members]]
    means[members] = described[later.table[after.index[board, sets][:, None], hands]].sum(
      0
    )  # [sets, hands, D]
  return means / means.sum(1, keepdims=True)


def board_transitions(
  deal: CardDeal, clustered_round: int, equities: Equities, seed: int, progress: bool | None = None
) -> np.ndarray:
  """float64[K, B]: how the hands on each class of boards fall into the buckets of a base abstraction.

  Its buckets are made by k-means from the equities of hands, on all boards together, that may be held at the
  end, and are weighed by chance.
  """
  last = deal.streets - 1
  runouts, boards = deal.tables[last], np.arange(len(deal.tables[last].cards))
  generator = np.random.default_rng(seed)
  chosen = np.sort(generator.permutation(boards)[:SAMPLED_BOARDS])
  rows = _rows(deal, last, chosen)
  some = np.sort(generator.permutation(len(rows.hand))[:SAMPLE])
  sample = Rows(*(column[some] for column in rows))
  means = bucketed(equities(sample), BASE, weights=sample.weight, seed=seed, restarts=1).means
  before = boards_before(deal, last, clustered_round)
  table = np.zeros((len(deal.tables[clustered_round].cards), len(means)))
  boards = boards[assigned_here(before)]
  for board in progress_bar(progress, iterable=boards, unit="board", desc="Boards"):
    rows = _rows(deal, last, np.array([board]))
    label = squared(equities(rows), means).argmin(1)
    table[before[board]] += np.bincount(label, rows.weight, len(means)) / runouts.count[board]
  all_gather_rows(table, assigned_here(np.arange(len(table))))
  return table
