"""Modified external sampling: clusters meet only above the cards (Brown et al. 2015, Algorithm 4).

Each turn deals B pairs of hands, and public cards to rounds before the clustered one, and plays the *trunk*,
the betting before that round. Beyond the trunk every cluster n draws one of its own boards, goes on
alone, and hands back a value; the trunk takes their mean by F_n, the number of boards of the cluster that the
cards so far leave possible.

The increments of a cluster are multiplied by F_n over the number of all boards, the probability that chance
chooses the cluster. (As the algorithm is printed, their weight is 1: a pair of hands and a board then come
with probability 1 / F_n, though chance deals them all with the same probability, which is biased.)
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.backend.native import why_unavailable
from ps_cfr_spiel.cards.poker import CardDeal, CardGame, card_sets
from ps_cfr_spiel.cfr import Rule, averages
from ps_cfr_spiel.hierarchical.card_draws import Cards, deal_hands, deal_public_cards
from ps_cfr_spiel.hierarchical.hierarchy import ByCluster, DealtAbstraction, Hierarchy
from ps_cfr_spiel.hierarchical.lines import BettingPart, ascend, descend, leaving, trunk_and_subtree
from ps_cfr_spiel.hierarchical.native_clusters import sample_clusters
from ps_cfr_spiel.hierarchical.nearest import (
  NearestAbstraction,
  UntabulatedBuckets,
  slots,
  table_shape,
  tabulated,
)
from ps_cfr_spiel.sampling import mccfr
from ps_cfr_spiel.sampling.mccfr import regret_weight
from ps_cfr_spiel.tree import Array

AXIS = "clusters"  # of the mesh
BLOCK = 1024  # iterations between two passes over whole tables, which fold sums
BELOW = 31 / 30  # how far regrets may fall below those that are pruned, after Brown and Sandholm 2019
WORD = 32  # bits in which sets of cards are kept


class DealtTree(NamedTuple):
  """A dealt game and its abstraction, ready to be sampled."""

  trunk: BettingPart  #: the lines before the clustered round
  cluster_subtree: BettingPart  #: all others, whose roots are lines of the trunk; a cluster plays them
  leaving: Array  #: int32[S], these lines in the trunk
  cards: Cards  #: see `Cards`
  every: Array  #: [], the number of boards that two hands, and earlier public cards, leave possible
  #: int32[C', P, most], the boards of each cluster after each class of earlier public cards, as sets
  #: of cards, then -1; the last C' - C clusters are empty and fill up the devices.
  boards: Array
  untabulated: UntabulatedBuckets | None = None  #: of rounds that are in no table; None if all are


class PartTables(NamedTuple):
  """The tables of one part; those of the clusters lie side by side, cluster after cluster."""

  regrets: Array  #: [A, S], cumulative
  average: averages.Sum  #: [A, S], the sum of strategies


class DealtTables(NamedTuple):
  """The tables of a run: of the trunk, [A, S], and of the clusters, [A, C' S]."""

  trunk: PartTables
  clusters: PartTables


class Numbers(NamedTuple):
  """The random numbers of a turn."""

  hands: jax.Array  #: int32[2, B]
  trunk: jax.Array  #: [rounds + depths, B], uniform, for the public cards and the lines of the trunk
  #: [C', rounds + depths, n B], uniform; each cluster draws n boards for a pair of hands and goes by the mean
  #: of their values. Or uint32[C', 2], the keys of these numbers, for the library.
  clusters: jax.Array


def dealt_tree(
  game: CardGame[CardDeal], abstraction: Hierarchy, devices: int = 1, progress: bool | None = None
) -> DealtTree:
  """The game on the host, with a number of clusters that `devices` divides."""
  deal = game.deal
  trunk, subtree = trunk_and_subtree(game.betting, abstraction.clustered_round, abstraction.sizes)
  deck, later, known = deal.deck.size, range(1, deal.streets), range(1, len(deal.tables))
  in_tables = isinstance(abstraction, DealtAbstraction)
  cards = Cards(
    hand_masks=_masks(deal.hands, deck),
    hand_swaps=deal.hand_swaps,
    set_masks=tuple(_masks(card_sets(deck, deal.public[number]), deck) for number in later),
    index=tuple(deal.tables[number].index for number in known),
    swap=tuple(deal.tables[number].swap for number in known),
    board_masks=tuple(_masks(after.cards, deck) for after in deal.tables),
    buckets=tuple(np.maximum(x, 0) for x in (abstraction.buckets if in_tables else deal.hand_classes[:1])),
    strength=deal.strength_table if in_tables else None,
    weights=None if deal.all_alike else _drawn(deal),
  )
  every = np.asarray(float(deal.boards_left(abstraction.clustered_round)))
  boards = _boards_of(deal, abstraction, devices)
  untabulated = None
  if isinstance(abstraction, NearestAbstraction):
    untabulated = _untabulated(deal, abstraction, len(boards), progress)
  return DealtTree(trunk, subtree, leaving(trunk), cards, every, boards, untabulated)


def _untabulated(
  deal: CardDeal, abstraction: NearestAbstraction, count: int, progress: bool | None
) -> UntabulatedBuckets:
  """The buckets of rounds that are in no table, of `count` clusters, made when a cluster is asked for."""
  last = abstraction.centres[-1]
  centres = np.concatenate([last, np.zeros((count - len(last), *last.shape[1:]), last.dtype)])

  def read(clusters: slice) -> np.ndarray:
    first, stop, _ = clusters.indices(count)
    return tabulated(deal, abstraction, range(first, stop), progress)

  buckets: Any = ByCluster((count, *table_shape(deal, abstraction)), read)
  slot = slots(abstraction)
  return UntabulatedBuckets(buckets, slot, abstraction.groups, centres, deal.deck)


def _boards_of(deal: CardDeal, abstraction: Hierarchy, devices: int) -> np.ndarray:
  index = deal.tables[abstraction.clustered_round].index
  before, sets = np.nonzero(index >= 0)
  group = abstraction.clusters[index[before, sets]] * len(index) + before
  count = abstraction.count + -abstraction.count % devices
  sizes = np.bincount(group, minlength=count * len(index))
  boards, order = np.full((len(sizes), sizes.max()), -1, np.int32), np.argsort(group, kind="stable")
  boards[np.arange(boards.shape[1]) < sizes[:, None]] = sets[order]
  return boards.reshape(count, len(index), -1)


def _drawn(deal: CardDeal) -> np.ndarray:
  """float64[2, H]: see `Cards.weights`."""
  first, second = deal.weights
  return np.stack([first * (deal.together @ second), second])


def _masks(sets: np.ndarray, deck: int) -> np.ndarray:
  """uint32[N, words] of sets int[N, n] of cards."""
  masks = np.zeros((len(sets), -(-deck // WORD)), np.uint32)
  for column in sets.T:
    masks[np.arange(len(sets)), column // WORD] |= np.left_shift(
      np.uint32(1), (column % WORD).astype(np.uint32)
    )
  return masks


@dataclasses.dataclass(frozen=True)
class ClusterSampling(mccfr.Sampler[DealtTree, DealtTables]):
  """Modified external sampling of a `DealtTree`, whose clusters are cut along the axis `AXIS` of a mesh.

  All devices play the same trunk with the same random numbers, and only the values of clusters are gathered,
  in one order; the clusters of a device come one after the other. So the bits are those of a single device.
  """

  clusters: int  #: C, without the empty ones
  boards: int = 1  #: n, the boards that each cluster draws for a pair of hands
  #: the regret below which 95% of the traversals leave actions out (Brown and Sandholm 2019, on Pluribus), if
  #: they are not played, do not end the game, and are before the last round; minus infinity for none. LCFR
  #: weighs it as regrets, and regrets stay at most 1/30 below it. The library alone prunes.
  pruning: float = -math.inf

  @property
  def natively(self) -> bool:
    """Whether the library samples."""
    return not why_unavailable()

  def init(self, game: DealtTree, dtype: str) -> DealtTables:
    counts = (1, len(game.boards))
    shapes = [
      (x.actions, n * x.cells) for x, n in zip((game.trunk, game.cluster_subtree), counts, strict=True)
    ]
    trunk, clusters = (np.zeros(shape, dtype) for shape in shapes)
    return DealtTables(*(PartTables(zeros, averages.Sum(zeros, zeros)) for zeros in (trunk, clusters)))

  def block(self, game: DealtTree, batch: int) -> int:
    return BLOCK

  def turn(
    self, game: DealtTree, tables: DealtTables, turn: mccfr.Turn, rule: Rule, batch: int
  ) -> DealtTables:
    """The tables after a turn, within `shard_map`."""
    local, key, dtype = len(game.boards), turn.random, tables.trunk.regrets.dtype

    def numbers(part: BettingPart, number: int | jax.Array, batch: int, rounds: int = 0) -> jax.Array:
      """Uniform numbers for the public cards of each round and for lines, [rounds + depths, B]."""
      shape = rounds + len(part.depths), batch
      return jax.random.uniform(jax.random.fold_in(key, number), shape, dtype)

    ids = jax.lax.axis_index(AXIS) * local + jnp.arange(local)
    each = self.boards * batch
    drawn = Numbers(
      hands=deal_hands(game.cards, jax.random.fold_in(key, 1), batch),
      trunk=numbers(game.trunk, 0, batch, game.trunk.rounds - 1),
      clusters=jax.vmap(
        lambda n: (
          jax.random.key_data(jax.random.fold_in(key, 2 + n))
          if self.natively
          else numbers(game.cluster_subtree, 2 + n, each, game.cluster_subtree.rounds)
        )
      )(ids),
    )

    def gather(values: jax.Array) -> jax.Array:
      return jax.lax.all_gather(values, AXIS, tiled=True)[: self.clusters]

    return traverse(game, tables, turn, drawn, rule, gather, self.boards, self.pruning)


def traverse(
  game: DealtTree,
  tables: DealtTables,
  turn: mccfr.Turn,
  numbers: Numbers,
  rule: Rule,
  gather: Callable[[jax.Array], jax.Array],
  draws: int = 1,
  pruning: float = -math.inf,
) -> DealtTables:
  """B traversals under one strategy profile, and the tables after them.

  `gather` makes [C, S, B], of all clusters, from the values [C', S, B] of the clusters that are here; each of
  these draws n = `draws` boards for a pair of hands.
  """
  trunk, hands, traverser, batch = game.trunk, numbers.hands, turn.traverser, numbers.hands.shape[1]
  sign, shown = (1 - 2 * traverser).astype(numbers.trunk.dtype), range(1, trunk.rounds)
  first = game.cards.buckets[0][0][hands]
  board, hands, later, _ = deal_public_cards(
    game.cards, shown, jnp.zeros_like(hands[0]), hands, numbers.trunk[: len(shown)]
  )
  dealt = jnp.tile(jnp.stack([*hands, board]), (1, draws))
  buckets, root = jnp.stack([first, *later], 1), jnp.ones((1, batch), bool)
  slices = descend(trunk, tables.trunk.regrets, buckets, traverser, numbers.trunk[len(shown) :], root)
  visited = jnp.tile(jnp.concatenate([depth.visited for depth in slices])[game.leaving], (1, draws))

  if numbers.clusters.dtype == jnp.uint32:
    values, clusters = _natively(game, tables.clusters, turn, numbers.clusters, dealt, visited, rule, pruning)
  else:
    values, clusters = _side_by_side(game, tables.clusters, turn, numbers.clusters, dealt, visited, rule)
  values = values.reshape(*values.shape[:2], draws, batch).mean(2)
  mean = gather(values).sum(0) / game.every
  folds = jnp.asarray(trunk.betting.fold_payoff)[:, traverser, None]
  ends = jnp.repeat(folds, batch, 1).at[game.leaving].set(mean)
  _, updates = ascend(trunk, slices, ends, traverser, jnp.ones(batch, sign.dtype))
  return DealtTables(_added(tables.trunk, updates, turn, rule, batch), clusters)


def _added(
  tables: PartTables, updates: mccfr.Updates, turn: mccfr.Turn, rule: Rule, count: int
) -> PartTables:
  return PartTables(*mccfr.add(*tables, updates, turn.iteration, rule, count))


def _natively(
  game: DealtTree,
  tables: PartTables,
  turn: mccfr.Turn,
  keys: jax.Array,
  dealt: jax.Array,
  visited: jax.Array,
  rule: Rule,
  pruning: float = -math.inf,
) -> tuple[jax.Array, PartTables]:
  """Values [C', S, n B] of all roots times F, and the tables after the traversals: by the library."""
  weight = averages.weight(turn.iteration, rule.gamma, tables.regrets.dtype)
  linear = regret_weight(rule, turn.iteration, tables.regrets.dtype)
  floor = jnp.maximum(rule.floor, BELOW * pruning * linear)
  numbers = game.every, weight, linear, floor, pruning * linear
  regrets, compensation, values = sample_clusters(
    game, tables.regrets, tables.average.compensation, keys, dealt, visited, turn.traverser, numbers
  )
  return values, PartTables(regrets, tables.average._replace(compensation=compensation))


def _side_by_side(
  game: DealtTree,
  tables: PartTables,
  turn: mccfr.Turn,
  drawn: jax.Array,
  dealt: jax.Array,
  visited: jax.Array,
  rule: Rule,
) -> tuple[jax.Array, PartTables]:
  """The same, all lines side by side."""
  sign = (1 - 2 * turn.traverser).astype(tables.regrets.dtype)

  def cluster(k: jax.Array, carry: tuple[PartTables, jax.Array]) -> tuple[PartTables, jax.Array]:
    # All clusters' tables are carried along and changed where they lie: a scan over them would copy them.
    tables, every = carry
    boards, uniforms = game.boards[k], drawn[k]
    subtree = dataclasses.replace(
      game.cluster_subtree, cell=game.cluster_subtree.cell + k * game.cluster_subtree.cells
    )
    values, possible, updates = _below(
      game, subtree, boards, tables.regrets, dealt, uniforms, turn.traverser, sign, visited
    )
    return _added(tables, updates, turn, rule, dealt.shape[1]), every.at[k].set(values * possible[None])

  values = jnp.zeros((len(game.boards), *visited.shape), tables.regrets.dtype)
  tables, values = jax.lax.fori_loop(0, len(game.boards), cluster, (tables, values))
  return values, tables


def _below(
  game: DealtTree,
  subtree: BettingPart,
  boards: Array,
  regrets: Array,
  dealt: jax.Array,
  numbers: jax.Array,
  traverser: jax.Array,
  sign: jax.Array,
  visited: jax.Array,
) -> tuple[jax.Array, jax.Array, mccfr.Updates]:
  """One cluster's part: values of its roots [S, B], F [B], and increments; `subtree` has its cells."""
  before, rounds = game.trunk.rounds, subtree.rounds
  board, hands, buckets, possible = deal_public_cards(
    game.cards, range(before, before + rounds), dealt[2], dealt[:2], numbers[:rounds], boards
  )
  buckets = [jnp.zeros_like(hands), *buckets]  # no player acts at the roots, in the round before
  assert game.cards.strength is not None and possible is not None
  first, second = game.cards.strength[board[None], hands]
  lead = jnp.sign(first - second).astype(regrets.dtype)
  folds, stakes = jnp.asarray(subtree.betting.fold_payoff), sign * subtree.betting.showdown_payoff
  ends = folds[:, traverser, None] + stakes[:, None] * lead[None]
  share = possible.astype(regrets.dtype)
  slices = descend(subtree, regrets, jnp.stack(buckets, 1), traverser, numbers[rounds:], visited)
  values, updates = ascend(subtree, slices, ends, traverser, share / game.every)
  return values, share, updates
