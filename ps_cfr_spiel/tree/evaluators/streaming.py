"""Card games, with or without public cards to come, board by board in the native library (`stream.cc`).

A run's tables hold numbers for each hand, line of betting and *board*, the cards so far, and are far larger
than any cache. Here reach and values exist for one board of each street at a time, or one part of a large
river's betting, in a stack, and an iteration goes through the tables once for each player. `board_layout` has
the order in which it goes.
"""

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ps_cfr_spiel.backend.array_shapes import Float, Int, Shaped
from ps_cfr_spiel.backend.native import TableCall, call, call_directly
from ps_cfr_spiel.tree.arrays import Array
from ps_cfr_spiel.tree.evaluators.betting_parts import parts_of
from ps_cfr_spiel.tree.evaluators.board_layout import (
  Ends,
  PlayerLayout,
  Units,
  folds_of,
  layout_of,
  native_folds,
  units_of,
)
from ps_cfr_spiel.tree.evaluators.board_leaves import BoardLeaves
from ps_cfr_spiel.tree.evaluators.leaves import TwoParts
from ps_cfr_spiel.tree.evaluators.showdown_sweep import NativeLeaves
from ps_cfr_spiel.tree.leaf_evaluator import LeafEvaluator, Rooted
from ps_cfr_spiel.tree.public_tree import Boards, PublicTree

CARDS = 64  # more than a deck has
SUM, PAIR, CODES, STRATEGY = range(4)  # forms of strategies, as in stream.cc
Known = tuple[Float[Array, "_m _H0"], Float[Array, "_m _H1"]]  # of each player


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class BoardTraversal:
  """The traversal of all boards of a tree; the tree's own leaves have the evaluators' tables."""

  #: for each unit, in an order where those below it follow it, its depth, its street, its board's number
  #: there, and its first rows of both players, showdown and fold; the last line ends them.
  units: Int[Array, "_ 7"]
  leaf: Int[Array, " L"]  #: of each leaf of a layout its number among the tree's leaves; -1 below an all-in
  layouts: tuple[PlayerLayout, PlayerLayout]  #: of the players
  #: trunk, stack: the addresses of each player's trunk, and of the whole stack.
  trunk: tuple[int, int] = dataclasses.field(metadata={"static": True})
  stack: tuple[int, int] = dataclasses.field(metadata={"static": True})
  #: the number of different cards of hands, rounded up, so that ranges share compiled code.
  cards: int = dataclasses.field(metadata={"static": True})

  @classmethod
  def of(cls, tree: PublicTree, known: Known | None = None) -> "BoardTraversal | None":
    """The traversal of a tree on the host; None if its leaves are not on boards and native.

    None also for players whose rows are not those of the tree's boards, as in a gadget made without
    `Boards.with_first`.

    `known` are the values of leaves that come after those of the tree's evaluator.
    """
    boards, leaves = tree.boards, tree.leaves
    if boards is None or not isinstance(leaves, BoardLeaves) or max(p.roots for p in tree.players) > 1:
      return None
    rows = tuple(tuple(n for _, n, _ in player.block_shapes) for player in tree.players)
    if tuple(tuple(map(len, blocks)) for blocks in boards.rows) != rows:
      return None
    inner = [*map(folds_of, leaves.streets)]
    views = [view for street in inner if isinstance(street, NativeLeaves) for view in street.views]
    if len(views) < 2 * len(inner):
      return None
    if not all(evaluator.is_native for evaluator in (leaves, *leaves.streets, *inner)):
      return None
    units, unit = units_of(boards)
    ends = Ends.of(leaves, boards, unit)
    if len(unit) == 1 and not known:
      parts = parts_of(tree.players)
      ends = ends.in_parts(parts.leaves)
      nothing = np.zeros(len(parts.above), int)
      units = Units(nothing, nothing, parts.above, parts.rows)
    settled = known or [np.zeros((0, player.types)) for player in tree.players]
    pairs = enumerate(zip(tree.players, settled, strict=True))
    made = [layout_of(player, boards, i, units, ends, values) for i, (player, values) in pairs]
    first, second = ((layout, sizes) for layout, _, sizes in made)
    numbers = np.arange(len(units.above) + 1)
    lines = [np.searchsorted(at, numbers) for _, at, _ in made]
    shown = np.searchsorted(ends.unit, numbers)
    folds = np.searchsorted(ends.unit + ends.fold / 2, numbers + 0.5)
    begun = [np.append(x, 0) for x in (units.depth, units.street, units.board)]
    table = np.stack([*begun, *lines, shown, np.append(folds[:-1], shown[-1])], 1)
    cards = 1 + max(int(view.hands[:, 1:3].max()) for view in views)
    cards = -(-cards // CARDS) * CARDS
    return cls(
      table.astype(np.int32),
      ends.leaf.astype(np.int32),
      (first[0], second[0]),
      (first[1][0], second[1][0]),
      (first[1][1], second[1][1]),
      cards,
    )

  def iterations(
    self,
    leaves: LeafEvaluator,
    first: int,
    each: int,
    pair: bool,
    rule: int,
    alternating: bool,
  ) -> TableCall:
    """Iterations of both players; arguments that are not described here are those of `iterations_natively`.

    Tables may be as `sixteen_bits` keeps them, in 16 bits with the average among those of each bucket.
    """
    sizes = {"first": first, "each": each, "pair": pair, "rule": rule, "alternating": alternating}
    sizes |= self._sizes(leaves)
    return TableCall(tuple(self._arrays(leaves)), (), "BoardsLearn", tuple(sizes.items()), "sequential")

  def worth(
    self,
    leaves: LeafEvaluator,
    averages: Sequence[Sequence[Shaped[Array, "..."] | None]],
  ) -> Float[Array, " _numbers"]:
    """See `Traversal`."""
    arrays = [x for average in averages for x in average if x is not None]
    if arrays[0].dtype == np.uint16:
      return self._worth(leaves, arrays, CODES)
    return self._worth(leaves, arrays, SUM if averages[0][0] is None else PAIR)

  def worth_of_strategies(
    self, leaves: LeafEvaluator, columns: Sequence[Float[Array, "_S _H"]]
  ) -> Float[Array, " _numbers"]:
    """The same of strategies in columns as those of `values`, computed in float64; so are the leaves'."""
    return self._worth(leaves, columns, STRATEGY)

  def _worth(self, leaves: LeafEvaluator, arrays: Sequence[Array], form: int) -> Float[Array, " _numbers"]:
    shape, dtype = (1, 3 if leaves.zero_sum else 4), self.layouts[0].utility.dtype
    given, sizes = (*self._arrays(leaves), *arrays), {"form": form, **self._sizes(leaves)}
    if not any(isinstance(x, Tracer) for x in given):
      numbers = np.empty(shape, dtype)
      call_directly("BoardsWorth", dtype, given, [numbers], sizes)
      return numbers[0]
    worth = [jax.ShapeDtypeStruct(shape, dtype)]
    return call("BoardsWorth", dtype, given, worth, "sequential", sizes)[0][0]

  def values(
    self, leaves: LeafEvaluator, columns: Sequence[Float[Array, "_S _H"]]
  ) -> Sequence[Float[Array, "_S _H"]]:
    """Counterfactual values of all actions of each player, and then the same by best responses.

    They are computed in float64. `columns` has of each player strategies up to a factor in each infostate, in
    a column (`column_of`).
    """
    given, dtype, sizes = (*self._arrays(leaves), *columns), columns[0].dtype, self._sizes(leaves)
    if any(isinstance(x, Tracer) for x in given):
      return call("BoardsValues", dtype, given, [*columns] * 2, "sequential", sizes)
    results = [np.empty(column.shape, dtype) for column in [*columns] * 2]
    call_directly("BoardsValues", dtype, given, results, sizes)
    return results

  def responses(
    self, leaves: LeafEvaluator, player: int, column: Float[np.ndarray, "_S _G"]
  ) -> Float[np.ndarray, " _H"]:
    """Values at the root of a player's best response to a strategy, in a column as those of `values`.

    They are computed in float64, on the host.
    """
    values = np.empty(self.layouts[player].known.shape[1], column.dtype)
    given, numbers = (*self._arrays(leaves), column), {"player": player, **self._sizes(leaves)}
    call_directly("BoardsResponse", column.dtype, given, [values], numbers)
    return values

  def _arrays(self, leaves: LeafEvaluator) -> list[Array]:
    """The game as the library's calls take it."""
    arrays = [self.units]
    for i, layout in enumerate(self.layouts):
      arrays += [*layout]
      for street in _streets(leaves):
        views = native_folds(street).views
        arrays += [views[i].weight, views[i].scale, views[1 - i].hands, views[i].hands]
    return arrays

  def _sizes(self, leaves: LeafEvaluator) -> dict[str, int]:
    sizes = {"streets": len(_streets(leaves)), "cards": self.cards}
    for i in (0, 1):
      sizes |= {f"trunk{i}": self.trunk[i], f"stack{i}": self.stack[i]}
    return sizes


def _streets(leaves: LeafEvaluator) -> tuple[LeafEvaluator, ...]:
  """The evaluators of the streets in a tree with a traversal."""
  assert isinstance(leaves, BoardLeaves)
  return leaves.streets


def streamed(tree: PublicTree) -> PublicTree:
  """The tree with its `BoardTraversal`, if it has one; without cards to come it gets one board, a trunk.

  Its leaves are then those that the traversal reads, without the matrices of all-ins, and a range is part of
  the weights of the player's hands.
  """
  rooted = Rooted.of(tree.leaves)
  made = with_boards(dataclasses.replace(tree, leaves=rooted.leaves))
  stream, leaves = BoardTraversal.of(made, rooted.known), made.leaves
  if stream is None or not isinstance(leaves, BoardLeaves):
    return tree
  streets = tuple(native_folds(street).shared().ranged(rooted.ranges) for street in leaves.streets)
  leaves = BoardLeaves(streets, leaves.boards, leaves.leaves, leaves.batched)
  return dataclasses.replace(made, leaves=leaves, stream=stream)


def with_boards(tree: PublicTree) -> PublicTree:
  """The tree of a card game without cards to come as one on a single board; others unchanged."""
  if not isinstance(tree.leaves, TwoParts):
    return tree
  shown, folds, *_ = tree.players[0].leaf.children
  rows = [tuple(np.zeros(n, int) for _, n, _ in player_tree.block_shapes) for player_tree in tree.players]
  alone = Boards((np.zeros(1, int),), tuple(rows), np.array([0, 1]), np.zeros(1, int))
  street = jax.tree.map(lambda table: table[None], tree.leaves)
  leaves = BoardLeaves((street,), (1,), ((shown, folds),), batched=True)
  return dataclasses.replace(tree, leaves=leaves, boards=alone)


def on_one_board(tree: PublicTree, stream: BoardTraversal) -> PublicTree:
  """A card game without cards to come, with the traversal of another; also in a trace.

  Both have the same decisions and numbers of types; cards, strengths, weights and payoffs are the tree's own.
  """
  leaves, made = tree.leaves, with_boards(tree)
  assert isinstance(leaves, NativeLeaves)
  first, second = (
    layout._replace(utility=jnp.concatenate([leaves.showdown_payoff, leaves.fold_payoff_of(i)])[stream.leaf])
    for i, layout in enumerate(stream.layouts)
  )
  return dataclasses.replace(made, stream=dataclasses.replace(stream, layouts=(first, second)))
