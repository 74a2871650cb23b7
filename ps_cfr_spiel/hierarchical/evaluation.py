"""Exact values of strategies of abstractions in the whole game: one class of boards after another.

All hands go down and up the lines side by side. Boards that differ in names of suits are one class, and the
values on one of them are those on another with the hands renamed: so the sum over all boards is the sum over
the classes, each times its number of boards, averaged over the hands that suits do not separate.

A compiled tree (`compilation`) has the exact values of the same games, but holds a number for each hand on
each board at each line, which fits no memory for the games that this is for. Here strategies are read from
buckets, and one path of boards is in memory at a time. The leaf evaluator is the trees', `tree.NativeLeaves`.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.backend.device import jit, precision, sum_over_processes, to_device
from ps_cfr_spiel.backend.native import why_unavailable
from ps_cfr_spiel.cards.poker import CardDeal, CardGame
from ps_cfr_spiel.hierarchical.hierarchy import ByCluster, DealtAbstraction, Hierarchy
from ps_cfr_spiel.hierarchical.lines import BettingPart, LineCells, betting_part, leaving
from ps_cfr_spiel.reports import progress_bar
from ps_cfr_spiel.sampling.mccfr import regret_matching
from ps_cfr_spiel.tree import Array, BoardTypes, Evaluation, NativeLeaves

# The player whose value is computed, and whether that one responds best; the last in general-sum games alone.
RUNS = ((0, False), (0, True), (1, True), (1, False))


@dataclasses.dataclass(frozen=True)
class StrategyTables:
  """Strategies of both players, as sums that need not be normalised; negative ones count as 0."""

  trunk: np.ndarray  #: [A, S] of the lines before the clustered round
  clusters: np.ndarray | ByCluster  #: [C, A, S] of each cluster

  def __getitem__(self, cells: np.ndarray) -> np.ndarray:
    """The sums of some cells, all of the trunk or of one cluster, as `ClusteredGame` numbers them."""
    first, (_, actions, columns) = int(cells.flat[0]) - self.trunk.size, self.clusters.shape
    if first < 0:
      return self.trunk.reshape(-1)[cells]
    cluster = first // (actions * columns)
    return self.clusters[cluster].reshape(-1)[cells - (self.trunk.size + cluster * actions * columns)]


class Strategy(NamedTuple):
  """A strategy for either seat."""

  abstraction: Hierarchy  #: of the tables' cells
  tables: StrategyTables  #: the strategies


class Round(NamedTuple):
  """The lines of one round."""

  #: they; each begins where one of the round before left. Cells of another strategy of player 1 are behind
  #: the first's.
  part: BettingPart
  leaving: Array  #: int32[S], the lines behind which public cards come
  #: the lines that end with both hands compared, int32[n], and those with payoffs for all hands, int32[m]: as
  #: after a fold, or of a showdown for a raked pot.
  ends: tuple[Array, Array]


class Board(NamedTuple):
  """A class of runouts, as its lines want it."""

  bucket: Array  #: int32[2, H], in each player's abstraction
  alive: Array  #: [H], 1 for hands that can be there
  leaves: "NativeLeaves | Products"  #: the values of the ends of lines, before cards that may still come
  boards: Array  #: [], the number of ways in which they may come, once hands are known


class Products(NamedTuple):
  """The values of `tree.NativeLeaves`, by products over pairs of hands: also for hands of one card."""

  strength: Array  #: int32[H]
  alive: Array  #: [H], as in `Board`
  members: Array  #: [H, D], which cards each hand has
  together: Array  #: [H, H], 1 for two hands that share no card
  #: showdown_payoff, fold_payoff: [n], to player 0 if its hand is better, and [m, 2], to each for all hands.
  showdown_payoff: Array
  fold_payoff: Array

  def __call__(self, player: int, reach: Sequence[Array]) -> list[jax.Array]:
    """Values [n, H] and [m, H] by the opponent's reach of the same shape."""
    shown, folded = reach
    lead = jnp.sign(self.strength[:, None] - self.strength[None]).astype(self.together.dtype) * self.together
    # For one card or two: hands that share a card are counted card by card, the hand itself once too often.
    shared = folded @ self.members @ self.members.T - (self.members[0].sum() - 1) * folded
    folds = self.fold_payoff[:, player, None] * (folded.sum(1, keepdims=True) - shared)
    shows = self.showdown_payoff[:, None] * (shown @ lead.T)
    return [jnp.multiply(self.alive[None], x) for x in (shows, folds)]


def evaluate_strategies(
  game: CardGame[CardDeal],
  strategies: tuple[Strategy, Strategy],
  dtype: str = "float32",
  progress: bool | None = None,
  boards: np.ndarray | None = None,
) -> Evaluation:
  """Value, best responses and exploitability in the game without any abstraction.

  Processes that have joined share the boards out, so all of them must call it.

  Args:
    game: the game.
    strategies: of player 0 and of player 1, whose abstractions may differ.
    dtype: "float32" or "float64".
    progress: as in `reports.progress_bar`.
    boards: the classes of boards of the clustered round that this process goes through; each must be one's.
      By default each process takes its share of all.

  Returns:
    The `Evaluation`, as floats, in the game's utility.

  Raises:
    ValueError: the boards are too many to go through, or the strategies cluster boards of different rounds.
  """
  first, second = (strategy.abstraction.clustered_round for strategy in strategies)
  if first != second:
    raise ValueError(
      f"The strategies cluster the boards of rounds {first} and {second}; expected abstractions of one round."
    )
  deal = game.deal
  if not deal.in_tables:
    raise ValueError(
      f"{game.game} has too many boards to evaluate a strategy exactly; measure it by matches or by "
      "matches.local_best_response(..., hands=1000)."
    )
  every = np.arange(len(strategies[0].abstraction.clusters))
  boards = every[jax.process_index() :: jax.process_count()] if boards is None else boards
  # Cluster by cluster, so that the tables of one at a time are needed.
  boards = boards[np.argsort(strategies[0].abstraction.clusters[boards], kind="stable")]
  with precision(dtype), progress_bar(progress, total=len(boards), unit="board", desc="Evaluating") as bar:
    runouts = RunoutValues(game, strategies, dtype, boards, bar.update)
    by_hand = runouts.values(0, 0, deal.weights[:, None].astype(dtype)).astype(np.float64)
  total = (by_hand * deal.weights[[player for player, _ in RUNS[: len(by_hand)]], None]).sum((1, 2))
  left = [deal.boards_left(number) for number in range(1, deal.streets)]
  deals = deal.weights[0] @ deal.together @ deal.weights[1] * math.prod(left)
  value, first, second, *others = (total / deals).tolist()
  return Evaluation.of((first, second), value, *others)


class RunoutValues:
  """Values on classes of runouts, depth first: the reach of both players goes down, and values come up."""

  def __init__(
    self,
    game: CardGame[CardDeal],
    strategies: tuple[Strategy, Strategy],
    dtype: str,
    boards: np.ndarray,
    passed: Callable[[], object],
  ):
    """`boards` are as of `evaluate_strategies`; `passed` is called after each."""
    self.game, self.strategies, self.passed, self.dtype = game, strategies, passed, dtype
    abstractions = [strategy.abstraction for strategy in strategies]
    self.clustered_round = abstractions[0].clustered_round
    self.buckets = [
      x.buckets for x in abstractions if isinstance(x, DealtAbstraction)
    ]  # both: boards are in tables
    self.boards = boards  # of the clustered round, that this process goes through
    self.last: dict[bool, tuple[list[int], Array]] = {}  # tables of the trunk, and of the last clusters
    rounds = _rounds(game, strategies)
    betting = [(r.part.betting, *r.ends) for r in rounds]
    self.payoffs = [(b.showdown_payoff[shows], b.fold_payoff[folds]) for b, shows, folds in betting]
    self.runs = len(RUNS) - game.betting.zero_sum
    self.rounds = to_device(rounds, dtype)
    self.members, self.together = to_device((game.deal.members, game.deal.together.astype(float)), dtype)
    self.native = game.deal.hole == 2 and not why_unavailable()

  def values(self, number: int, board: int, reach: np.ndarray) -> np.ndarray:
    """[runs, roots, H]: counterfactual values on a class of runouts, summed over all cards still to come.

    `reach`, [2, roots, H], is of both players.
    """
    deal = self.game.deal
    lines, place = self.rounds[number], self._board(number, board)
    policy, arrived = _down(lines, self._table(self._clusters(number, board)), place, reach)
    beyond = np.zeros((self.runs, len(lines.leaving), len(deal.hands)), self.dtype)
    if number + 1 < deal.streets:
      after, onward = deal.tables[number + 1], np.asarray(arrived[:, lines.leaving])
      boards = self.boards if number + 1 == self.clustered_round else np.arange(len(after.cards))
      boards = boards[after.parent[boards] == board]
      for child in boards.tolist():
        times = after.count[child] / deal.tables[number].count[board]
        beyond += np.asarray(times, self.dtype) * self.values(number + 1, child, onward)
        if number + 1 == self.clustered_round:
          self.passed()
      beyond = sum_over_processes(beyond) if number + 1 == self.clustered_round else beyond
      beyond = _averaged(beyond, deal.hand_classes[number][board])
    return np.asarray(_up(lines, place, policy, arrived, beyond))

  def _board(self, number: int, board: int) -> Board:
    deal = self.game.deal
    last = number == deal.streets - 1
    left = [deal.boards_left(later) for later in range(number + 1, deal.streets)]
    alive = (deal.hand_classes[number][board] >= 0).astype(self.dtype)
    bucket = [np.maximum(buckets[number][board], 0) for buckets in self.buckets]
    leaves = self._leaves(
      number, deal.strength_table[board] if last else np.zeros(len(alive), np.int32), alive
    )
    return Board(np.stack(bucket), alive, leaves, np.asarray(math.prod(left), self.dtype))

  def _leaves(self, number: int, strength: np.ndarray, alive: np.ndarray) -> "NativeLeaves | Products":
    """The evaluator of a board on which hands are as strong as this."""
    showdown_payoff, fold_payoff = (x.astype(self.dtype) for x in self.payoffs[number])
    if self.native and len(showdown_payoff):
      form = BoardTypes((alive, alive), (self.game.deal.hands, self.game.deal.hands), (strength, strength))
      folds = fold_payoff[:, 0] if self.game.betting.zero_sum else fold_payoff
      return NativeLeaves.create(form, showdown_payoff, folds, total=1.0)
    return Products(strength, alive, self.members, self.together, showdown_payoff, fold_payoff)

  def _clusters(self, number: int, board: int) -> list[int]:
    """The cluster of a class of runouts in each player's abstraction; none before the clustered round."""
    if number < self.clustered_round:
      return []
    for after in self.game.deal.tables[number : self.clustered_round : -1]:
      board = int(after.parent[board])
    return [int(strategy.abstraction.clusters[board]) for strategy in self.strategies]

  def _table(self, clusters: list[int]) -> Array:
    """[A, S], the strategies in clusters, or in the trunk; another one of player 1 behind the first."""
    known, table = self.last.pop(bool(clusters), (None, None))
    if known != clusters or table is None:
      table = None  # one cluster's table goes before the next comes
      tables = [strategy.tables for strategy in _different(self.strategies)]
      parts = [both.clusters[k] for both, k in zip(tables, clusters, strict=False)]
      parts = parts or [both.trunk for both in tables]
      table = to_device(parts[0] if len(parts) == 1 else np.concatenate(parts, 1), self.dtype)
    self.last[bool(clusters)] = clusters, table
    return table


def _different(strategies: tuple[Strategy, Strategy]) -> list[Strategy]:
  """Both strategies, or one that both players follow: then its tables are held once."""
  return [strategies[0]] if strategies[0] is strategies[1] else list(strategies)


def _rounds(game: CardGame[CardDeal], strategies: tuple[Strategy, Strategy]) -> list[Round]:
  """The lines of each round, by the cells of the trunk and of the clusters."""
  betting, tables, number = game.betting, strategies[0].tables, strategies[0].abstraction.clustered_round
  first, second = (LineCells.of(betting, number, strategy.abstraction.sizes) for strategy in strategies)
  behind = np.where(betting.street < number, tables.trunk.shape[-1], tables.clusters.shape[-1])
  behind = behind * (len(_different(strategies)) - 1)
  cell = np.where(betting.player == 1, behind + second.cell, first.cell).astype(np.int32)
  roots, rounds = np.zeros(1, np.int32), []
  for number in range(game.deal.streets):
    part = betting_part(betting, roots, range(number, number + 1), first._replace(cell=cell), 0)
    out, betting_there = leaving(part), part.betting
    shows = np.flatnonzero(betting_there.showdown_payoff).astype(np.int32)
    folds = np.flatnonzero(betting_there.fold_payoff.any(1)).astype(np.int32)
    rounds.append(Round(part, out, (shows, folds)))
    roots = np.array([betting.children(line)[0] for line in part.source[out].tolist()], np.int32)
  return rounds


@jit()
def _down(lines: Round, table: Array, board: Board, reach: Array) -> tuple[jax.Array, jax.Array]:
  """Policies of the actors, [A, N, H], and both players' reach of all lines, [2, N, H]."""
  part, betting = lines.part, lines.part.betting
  bucket = board.bucket[jnp.maximum(betting.player, 0)]
  cell = jnp.where((betting.player >= 0)[:, None], part.cell[:, None] + part.stride[:, None] * bucket, 0)
  width = jnp.repeat(part.moves, bucket.shape[1])
  policy = regret_matching(table[:, cell.ravel()], width).reshape(len(table), *cell.shape)
  levels = [reach * board.alive[None, None]]
  for (start, stop), after in zip(part.depths[:-1], part.depths[1:], strict=True):
    parent, move = betting.parent[slice(*after)], part.rank[slice(*after)]
    acts = betting.player[parent][None, :, None] == jnp.arange(2)[:, None, None]
    moves = policy[move, parent][None]
    levels.append(levels[-1][:, parent - start] * jnp.where(acts, moves, 1))
    assert stop == after[0]
  return policy, jnp.concatenate(levels, 1)


@jit()
def _up(
  lines: Round, board: Board, policy: jax.Array, arrived: jax.Array, beyond: np.ndarray | jax.Array
) -> jax.Array:
  """Values of the roots, [runs, roots, H]; `beyond`, [runs, S, H], are those of the lines that leave."""
  part, (shows, folds) = lines.part, lines.ends
  won = []  # by each player at the lines that end
  for player, other in enumerate(arrived[::-1]):
    shown, folded = board.leaves(player, [other[shows], other[folds]])
    won.append(board.boards * jnp.zeros_like(other).at[shows].set(shown).at[folds].add(folded))
  runs = RUNS[: len(beyond)]
  ends = [won[player].at[lines.leaving].set(beyond[run]) for run, (player, _) in enumerate(runs)]
  ends = jnp.stack(ends) * board.alive[None, None]
  values = ends[:, :0]
  for start, stop in reversed(part.depths):
    level = ends[:, start:stop]
    if values.shape[1]:
      count = part.moves[start:stop]
      child = part.first[start:stop][None] - stop + jnp.arange(len(policy))[:, None]
      legal = (jnp.arange(len(policy))[:, None] < count[None])[None, :, :, None]
      moves = values[:, jnp.clip(child, 0, values.shape[1] - 1)]  # [runs, A, n, H]
      played = jnp.where(legal, policy[None, :, start:stop] * moves, 0).sum(1)
      most = jnp.where(legal, moves, -jnp.inf).max(1)
      every = jnp.where(legal, moves, 0).sum(1)
      inside = []
      for run, (player, best) in enumerate(runs):
        acts = (part.betting.player[start:stop] == player)[:, None]
        inside.append(jnp.where(acts, (most if best else played)[run], every[run]))
      level = jnp.where((count > 0)[None, :, None], jnp.stack(inside), level)
    values = level
  return values


def _averaged(values: np.ndarray, classes: np.ndarray) -> np.ndarray:
  """Values [..., H] averaged over the hands of each class; 0 for dead ones."""
  alive, means = classes >= 0, np.zeros_like(values)
  member = classes[alive]
  sizes = np.bincount(member)
  for place in np.ndindex(values.shape[:-1]):
    means[place][alive] = (np.bincount(member, values[place][alive]) / sizes)[member]
  return means
