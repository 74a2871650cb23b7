"""The two passes of `traverse` for a loop's tables: one call for all rows of a player, down or up.

In a loop tables come in buckets, [A, rows, H] for each number of actions (`PlayerTree.join`). In C++
(`walk.cc`) a pass is one call for all levels and numbers of actions; and so is a whole turn
(`learn.cc`): values up, the regret rule, and the average. Without the library a pass is `traverse`'s, a few
kernels for each block, and those of a deep game take seconds to compile.
"""

import dataclasses
from collections.abc import Sequence
from types import ModuleType
from typing import NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from ps_cfr_spiel.backend.array_shapes import Float, Int, Shaped
from ps_cfr_spiel.backend.native import TableCall, call, why_unavailable
from ps_cfr_spiel.tree.arrays import Array, Parts
from ps_cfr_spiel.tree.leaf_evaluator import Groups, Order, Payoffs
from ps_cfr_spiel.tree.public_tree import Link, PlayerTree, PublicTree
from ps_cfr_spiel.tree.sequences import sequence_numbers, sequence_starts
from ps_cfr_spiel.tree.traverse import max_actions, sequence_reach, sequence_values, sum_actions

Tables = Sequence[Shaped[Array, "_A _rows _H"]]  # for each bucket
#: Of a player's sequences, in tables or in a column of them (`column_of`), and of the leaves
#: their parts, or nothing where `Passes.leaves` makes them.
Reach = tuple[Float[Array, "_S _H"] | list[Float[Array, "_A _rows _H"]], Parts]


class Members(NamedTuple):
  """For each item, a row or a leaf, the sequences that it counts for on the way up, M in all.

  All four are empty if no row stands for others: each item then counts for the one sequence above it.
  """

  #: where each item's members begin; rows come in the order of levels and blocks.
  start: Int[Array, " _"]
  parent: Int[Array, " M"]  #: the sequence above each member
  swap: Int[Array, " M"]  #: the renaming that makes it of the item; 0 changes nothing
  columns: Int[Array, "swaps H"]  #: for each renaming the column of the item from which each column comes


@runtime_checkable
class Passes(Protocol):
  """The two passes over a player's decisions in a loop, on the loop's tables."""

  def down(self, strategy: Tables) -> Reach:
    """Reach of every sequence, the action included, under a strategy, [A, rows, H] for each table."""
    ...

  def leaves(self, reach: Reach) -> Parts:
    """Reach of every leaf, in the parts of the leaf evaluator, [L_k, H], from that of the sequences."""
    ...

  def up(
    self, strategy: Tables | None, leaf_values: Parts
  ) -> tuple[list[Float[Array, "_A _rows H"]], Float[Array, "roots H"]]:
    """Counterfactual values of every action, [A, rows, H] for each table, and of the roots, [roots, H].

    They are those of a strategy, [A, rows, H] for each table, or of a best response if it is None.
    """
    ...


@dataclasses.dataclass(frozen=True)
class PlayerPasses:
  """A player's decisions as the native library visits them; made where a loop begins, with `of`.

  The tables are those of buckets.
  Sequences are numbered as in `sequences`, with buckets for blocks, so that a bucket's table is a slice.
  """

  tree: PlayerTree  #: the player's decisions
  #: the sequence above each row and leaf; rows are in the order of levels and blocks.
  above: tuple[Int[Array, " R"], Int[Array, " L"]]
  members: Members  #: the same for the way up, where rows may stand for others
  native: bool  #: whether the library is used

  @classmethod
  def of(cls, tree: PlayerTree) -> "PlayerPasses":
    """The passes over a player's decisions, for jitted functions; NumPy's of NumPy's."""
    links = [*(level.link for level in tree.levels), tree.leaf]
    jnp = _namespace(links)
    number = jnp.asarray(_numbers(tree))
    numbers = [number[start:] for start in (*tree.link_starts, 0)]
    above = [sequence_numbers[link.index] for sequence_numbers, link in zip(numbers, links, strict=True)]
    rows = jnp.concatenate([jnp.zeros(0, jnp.int32), *above[:-1]])
    members = _members(links, numbers, above, tree.types)
    return cls(tree, (rows, above[-1]), members, not why_unavailable())

  def down(self, strategy: Tables) -> Reach:
    """See `Passes`."""
    if not self.native:
      reach = sequence_reach(self.tree, self.tree.split(strategy))
      shapes = self.tree.block_shapes
      played = [r.reshape(shape) for r, shape in zip(reach[1:], shapes, strict=True)]
      return column_of(self.tree.join(played), self.tree.types), self.tree.leaf.pull(reach)
    dtype = strategy[0].dtype if strategy else jnp.zeros(()).dtype
    parts = [jax.ShapeDtypeStruct((n, self.tree.types), dtype) for n in self.tree.leaf.children]
    reach, *leaves = self._call("WalkDown", dtype, strategy, parts)
    return reach[self.tree.roots :], leaves

  def leaves(self, reach: Reach) -> Parts:
    """See `Passes`."""
    return reach[1]

  def up(
    self, strategy: Tables | None, leaf_values: Parts
  ) -> tuple[list[Float[Array, "_A _rows H"]], Float[Array, "roots H"]]:
    """See `Passes`."""
    if not self.native:
      if strategy is None:
        values, roots = sequence_values(self.tree, leaf_values, lambda _, q: max_actions(q))
      else:
        blocks = self.tree.split(strategy)
        values, roots = sequence_values(self.tree, leaf_values, lambda k, q: sum_actions(blocks[k] * q))
      return self.tree.join(values), roots
    given = *(strategy or ()), *leaf_values
    (values,) = self._call("WalkUp", leaf_values[0].dtype, given, [], tables=len(strategy or ()))
    roots = self.tree.roots
    return tables_of(values[roots:], self.tree.bucket_shapes), values[:roots]

  def learn(
    self,
    tables: Sequence[Array],
    reach: Float[Array, "S H"],
    leaf_values: Parts,
    rule: int,
    numbers: Float[Array, " K"],
  ) -> list[jax.Array]:
    """A turn in one pass of the library: values up, regrets, the rule, by its number, and the sum.

    `tables` are for each bucket the strategy [A, rows, H] and the rule's arrays, [A or 1, rows, H], and last
    the average's compensation in a column; they come back in their places if XLA allows. `reach` is the
    player's own, in a column, `rule` the rule's number, `numbers` those of the iteration.
    """
    given = numbers, *tables, reach, *leaf_values
    return self._call("WalkLearn", reach.dtype, given, list(tables), len(self.tree.buckets), rule)[1:]

  def _call(
    self,
    name: str,
    dtype: DTypeLike,
    given: Sequence[Array],
    returned: Sequence[Array | jax.ShapeDtypeStruct],
    tables: int = 0,
    rule: int = 0,
  ) -> list[jax.Array]:
    """One of the library's passes: all sequences' [S, H], and the other arrays that it returns."""
    count = sequence_starts(self.tree.bucket_shapes, self.tree.roots)[-1]
    results = [jax.ShapeDtypeStruct((int(count), self.tree.types), dtype), *returned]
    forest, sizes = self._forest(), {"roots": self.tree.roots, "tables": tables, "rule": rule}
    changed = {len(forest) + 1 + k: 1 + k for k in range(len(returned))} if name == "WalkLearn" else None
    return call(name, dtype, (*forest, *given), results, "expand_dims", sizes, changed)

  def _forest(self) -> tuple[Array, ...]:
    """The player's decisions as all passes of the library take them."""
    return _blocks(self.tree), _namespace(self.above).concatenate(self.above), *self.members

  def _with_order(self, order: Order | None) -> tuple[Array, ...]:
    """The same, with the order of the leaves, if they have one of their own."""
    nothing = np.zeros(0, np.int32)
    if order is None:
      return *self._forest(), *(nothing,) * 5
    groups = order.groups or (nothing,) * 3
    return _blocks(self.tree), self.above[0], *self.members, order.start, order.other, *groups


MANY = 2**18  # leaves from which on threads share them
GROUP = 2**11  # the opponent's sequences of a group to which no further part is added
MOST_PLACES = 2**16  # of the opponent's sequences in a group


def ordered(tree: PublicTree) -> PublicTree:
  """The tree with an `Order` of its leaves for both players, where the library iterates and they are many."""
  leaves, count = tree.leaves, sum(tree.players[0].leaf.children)
  orderly = leaves.takes_orders and leaves.has_payoffs
  alone = all(player_tree.leaf.orbit is None for player_tree in tree.players)
  payoffs = leaves.payoffs() if orderly and count >= MANY and alone and not why_unavailable() else None
  if payoffs is None:
    return tree
  from scipy.sparse import coo_array  # imported here: large games alone need it

  above = [_numbers(player_tree)[player_tree.leaf.index] for player_tree in tree.players]
  counts = [
    int(sequence_starts(player_tree.bucket_shapes, player_tree.roots)[-1]) for player_tree in tree.players
  ]

  def order(player: int) -> Order:
    matrix, number, factor = map(np.asarray, payoffs[player])
    sequence, other = above[player], above[1 - player]
    if matrix.shape[1:] == (1, 1):  # a game without types, of a number for each leaf
      payoff = factor * matrix[number, 0, 0] if len(number) else matrix[:, 0, 0]
      return _in_groups(_in_runs(sequence, other, payoff, counts[player]), counts[1 - player])
    shape = counts[player], counts[1 - player]
    table = coo_array((np.arange(count, dtype=np.int32), (sequence, other)), shape)
    table.has_canonical_format = True  # leaves at the same place are not to be added up
    rows = table.tocsr()
    leaf = np.asarray(rows.data, np.int32)  # the leaves in the order of the tree
    return Order(rows.indptr.astype(np.int32), rows.indices.astype(np.int32), number[leaf], factor[leaf])

  return dataclasses.replace(tree, leaves=dataclasses.replace(leaves, orders=(order(0), order(1))))


def _in_runs(
  sequence: Int[np.ndarray, " L"], other: Int[np.ndarray, " L"], payoff: Float[np.ndarray, " L"], count: int
) -> Order:
  """The order of leaves of one number each; those that pay nothing are left out.

  `sequence` is the player's above each leaf, of `count`, and `other` the opponent's.
  """
  pays = np.flatnonzero(payoff)
  values, code = np.unique(payoff[pays], return_inverse=True)
  key = sequence[pays].astype(np.int64) * len(values) + code
  order = np.argsort(key, kind="stable")
  key = key[order]
  begin = np.flatnonzero(np.diff(key, prepend=-1))
  of_run = key[begin]
  start = np.searchsorted(of_run, np.arange(count + 1) * len(values))
  ends = np.append(begin, len(key))
  start, other, ends = (x.astype(np.int32) for x in (start, other[pays[order]], ends))
  return Order(start, other, ends, values[of_run % len(values)])


def _in_groups(order: Order, count: int) -> Order:
  """Runs in `Groups`: the parts of the game that no leaf joins, small ones together.

  `count` is that of the opponent's sequences. The order itself if a part is too large.
  """
  from scipy.sparse import coo_array, csgraph

  if not len(order.other):  # no leaf pays anything
    return order
  start, other, number = (np.asarray(x) for x in (order.start, order.other, order.number))
  ends, runs = number[start], np.diff(start)  # leaves before each own sequence, runs below it
  above = np.repeat(np.arange(len(runs)), np.diff(ends))
  total = len(runs) + count
  joined = coo_array((np.ones(len(above), np.int8), (above, other + len(runs))), (total, total))
  part = csgraph.connected_components(joined, directed=False)[1]
  both = np.flatnonzero(runs), np.flatnonzero(np.bincount(other, minlength=count))
  parts = part[both[0]], part[len(runs) + both[1]]
  met = np.bincount(parts[1], minlength=part.max(initial=0) + 1)
  if met.max(initial=0) + GROUP > MOST_PLACES:
    return order
  of_part = (np.cumsum(met) - met) // GROUP
  of_each = [of_part[each] for each in parts]
  members, opponents = (x[np.argsort(group, kind="stable")] for x, group in zip(both, of_each, strict=True))
  sizes = np.stack([np.bincount(group, minlength=of_part.max(initial=0) + 1) for group in of_each], 1)
  begin = np.pad(np.cumsum(sizes[sizes[:, 0] > 0], 0), ((1, 0), (0, 0)))
  place = np.empty(count, np.uint16)
  place[opponents] = np.arange(len(opponents)) - np.repeat(begin[:-1, 1], np.diff(begin[:, 1]))
  run = _ranges(start[members], runs[members])
  leaf = _ranges(number[run], np.diff(number)[run])
  lengths = runs[members], np.diff(number)[run]
  starts, numbers = (np.append(0, np.cumsum(each)).astype(np.int32) for each in lengths)
  groups = Groups(*(x.astype(np.int32) for x in (begin, members, opponents)))
  return Order(starts, place[other[leaf]], numbers, order.factor[run], groups)


def _ranges(first: Int[np.ndarray, " n"], length: Int[np.ndarray, " n"]) -> Int[np.ndarray, " _"]:
  """Ranges of numbers one after the other."""
  return np.repeat(first - np.cumsum(length) + length, length) + np.arange(length.sum())


def iterations_natively(
  both_passes: Sequence[PlayerPasses],
  payoffs: Sequence[Payoffs],
  orders: Sequence[Order | None],
  first: int,
  pair: bool,
  rule: int,
  alternating: bool,
) -> TableCall:
  """Iterations in one call of the library: in small games calls take long.

  Its tables are of each player for each bucket the strategy and the rule's arrays, and then the average, if
  there is a `pair`, and its compensation, in columns. The numbers of an iteration are 1 if averages are
  carried over, their factor, the first threshold of `cfr.sixteen_bits`, the weight in the average, the least
  probability of actions before and after it, and the rule's numbers.

  Args:
    payoffs: of the leaves to each player.
    orders: of each player the order in which payoffs come, None for that of the tree.
    first: the number of player 0's tables.
    pair: as above.
    rule: the number of the regret rule in C++.
    alternating: a player answers the new strategies of those before.
  """
  forests = (passes._with_order(order) for passes, order in zip(both_passes, orders, strict=True))
  before = tuple(x for forest in forests for x in forest)
  sizes = {"first": first, "pair": pair, "rule": rule, "alternating": alternating}
  for i, passes in enumerate(both_passes):
    sizes |= {f"roots{i}": passes.tree.roots, f"buckets{i}": len(passes.tree.buckets)}
  after = (*payoffs[0], *payoffs[1])
  return TableCall(before, after, "Iterations", tuple(sizes.items()), "expand_dims")


def _namespace(arrays: object) -> ModuleType:
  """`jax.numpy`, or `numpy` where all arrays of a pytree are its own: no program is compiled for them."""
  return np if all(isinstance(x, np.ndarray) for x in jax.tree.leaves(arrays)) else jnp


def _members(links: Sequence[Link], numbers: Sequence[Array], above: Sequence[Array], types: int) -> Members:
  """Members of the items of all links; `numbers` are those of the sequences that each link counts from."""
  jnp = _namespace((links, numbers))
  nothing = jnp.zeros(0, jnp.int32)
  if all(link.orbit is None for link in links):
    return Members(nothing, nothing, nothing, jnp.zeros((0, types), jnp.int32))
  parts, begin = [(jnp.zeros(1, jnp.int32), nothing, nothing)], 0
  columns: Array = jnp.zeros((1, types), jnp.int32)
  for link, number, sequences_above in zip(links, numbers, above, strict=True):
    if link.orbit is None:
      ends, parent, swap = (
        jnp.arange(1, len(sequences_above) + 1),
        sequences_above,
        jnp.zeros_like(sequences_above),
      )
    else:
      ends = jnp.searchsorted(jnp.asarray(link.orbit.source), jnp.arange(len(sequences_above)), side="right")
      parent, swap = number[link.orbit.parent], link.orbit.swap
      columns = link.orbit.columns
    ends, parent, swap = (jnp.asarray(x, jnp.int32) for x in (begin + ends, parent, swap))
    parts.append((ends, parent, swap))
    begin += len(parent)
  start, parent, swap = map(jnp.concatenate, zip(*parts, strict=True))
  return Members(start, parent, swap, jnp.asarray(columns, jnp.int32))


def column_of(tables: Tables, types: int) -> Shaped[Array, "S _H"]:
  """Tables below one another; [0, types] for no tables.

  On the host NumPy's stay NumPy's.
  """
  if not tables:
    return np.zeros((0, types), jnp.result_type(float))  # at the precision in force
  concatenate = np.concatenate if isinstance(tables[0], np.ndarray) else jnp.concatenate
  return concatenate([table.reshape(-1, table.shape[2]) for table in tables])


def tables_of(
  column: Shaped[Array, "S H"], shapes: Sequence[tuple[int, ...]]
) -> list[Shaped[Array, "_A _rows H"]]:
  """The tables [A, rows, H] from a column of any H; the inverse of `column_of`."""
  ends, width = sequence_starts(shapes, roots=0).tolist(), column.shape[1]
  places = zip(ends[:-1], ends[1:], shapes, strict=True)
  return [column[i:j].reshape(actions, rows, width) for i, j, (actions, rows, *_) in places]


def _blocks(tree: PlayerTree) -> Int[np.ndarray, "blocks 7"]:
  """The library's description of each block, see `Block` in `walk.cc`."""
  tables = tree.bucket_shapes
  starts = sequence_starts(tables, tree.roots).tolist()
  blocks = [
    (actions, rows, bucket, row, tables[bucket][1], starts[bucket] + row, number >= tree.added)
    for number, ((actions, rows, _), (bucket, row)) in enumerate(
      zip(tree.block_shapes, tree.places, strict=True)
    )
  ]
  return np.array(blocks, np.int32).reshape(-1, 7)


def _numbers(tree: PlayerTree) -> Int[np.ndarray, " S"]:
  """The number, among those of buckets, of each of the player's sequences."""
  tables, numbers = tree.bucket_shapes, [np.arange(tree.roots)]
  for (actions, rows, _), (bucket, row) in zip(tree.block_shapes, tree.places, strict=True):
    action = np.arange(actions)[:, None]
    numbers.append(sequence_numbers(tables, bucket, row + np.arange(rows), action, tree.roots).ravel())
  return np.concatenate(numbers).astype(np.int32)
