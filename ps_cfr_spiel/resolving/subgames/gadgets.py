"""The gadgets for solving a subgame again: unsafe, CFR-D, max-margin; each makes a tree for the solver.

  unsafe      both players come to the subgame by their ranges. The opponent's values are then right on
              average, but may be far too large in some infostates (Schmid 2021, Section 20.1).
  cfr-d       in each infostate the opponent may take a promised value instead of playing on. The player must
              keep these promises, or the opponent gains (Burch et al. 2014; Schmid 2021, Section 20.2.2).
  max-margin  the opponent chooses the infostate to begin in, and pays the value promised there. So the player
              maximises the smallest margin by which the promises are undercut (Moravčík et al. 2016; Schmid
              2021, Section 20.4.3).

Where a promise is slack (the new value is less) the opponent of a safe gadget does not play on, and anything
will do: a gadget has many equilibria, of which some are poor in the game (Kubíček, Lisý and Sandholm 2026).
In a refined gadget the opponent trembles and plays on a little in each infostate, so the player answers there
too.
From values v, promises p and weights w, as above, the player then minimises, of n infostates,

  cfr-d       sum of max(v, p) + TREMBLE sum of v / n
  max-margin  largest (v - p) / w + TREMBLE sum of v / sum of w

If the promises can be kept, these are at most their values at v = p. So the opponent gains at most TREMBLE
times the mean slack above the promises, and nothing if TREMBLE is small enough: it is an exact penalty, since
the least of a linear program is taken at one of finitely many vertices.

In an expected gadget the opponent also comes to each infostate by the range that searches expect, with such
weight that the player answers that range. If players tremble it leaves out no infostate, and answers are good
everywhere; otherwise it is poor. The formulas are those above with EXPECTED for TREMBLE and means weighted by
the range, so the opponent gains at most EXPECTED times the mean slack, which is little after a good search.

All this is for zero-sum games; subgames and searches refuse others, such as those with rake. A promise bounds
the value to the opponent, and only in a zero-sum game is that the loss of the player. Elsewhere promises that
are kept would give the opponent no reason to play otherwise above the subgame, but the player's own value in
it might fall without bound.

Promises are unnormalised counterfactual values, like those of `tree.best_response_values` at roots: they
count chance and the player's range, in the same units.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from ps_cfr_spiel import options
from ps_cfr_spiel.arguments import check_option
from ps_cfr_spiel.backend.array_shapes import Float, Int, Shaped
from ps_cfr_spiel.resolving.subgames.ranged_leaves import (
  BoundValues,
  FrontierLeaves,
  GadgetLeaves,
  RangedLeaves,
  Ranges,
  RefinedLeaves,
  at_leaves,
  with_ranges,
)
from ps_cfr_spiel.resolving.subgames.subgame import Subgame
from ps_cfr_spiel.tree import (
  Array,
  LeafEvaluator,
  Level,
  Link,
  PlayerTree,
  PublicTree,
  ranks,
  sequence_numbers,
  sequence_starts,
  split_types,
)

One = TypeVar("One")


class GadgetTree(NamedTuple):
  """A tree for `cfr.run`, on the host: a subgame with a gadget's decisions."""

  #: the blocks that the gadget adds (`PlayerTree.added`) come before the subgame's, which keep their order;
  #: rows of H types may have become H rows of one type.
  tree: PublicTree

  def inside(
    self, subgame: Subgame, player: int, blocks: Sequence[Float[Array, "_A _rows _H"]]
  ) -> list[Float[np.ndarray, "_A _rows H"]]:
    """A player's strategy in the subgame, for each block, from one in the tree."""
    shapes = subgame.tree.players[player].block_shapes
    pairs = zip(blocks[self.tree.players[player].added :], shapes, strict=True)
    return [np.asarray(block, float).reshape(shape) for block, shape in pairs]

  def outside(
    self, player: int, blocks: Sequence[Float[np.ndarray, "_A _rows _H"]]
  ) -> list[Float[np.ndarray, "_A _rows _H"]]:
    """A player's strategy in the tree from one in the subgame, uniform in the gadget's own decisions."""
    forest = self.tree.players[player]
    added = [np.full(shape, 1 / shape[0]) for shape in forest.block_shapes[: forest.added]]
    pairs = zip(blocks, forest.block_shapes[forest.added :], strict=True)
    return [*added, *(np.asarray(block, float).reshape(shape) for block, shape in pairs)]


@dataclasses.dataclass(frozen=True)
class Gadget:
  """A function that turns a subgame into a tree to solve; `GADGETS` has those of this file by name."""

  make: Callable[..., GadgetTree]  #: the function, with the arguments of a call
  #: whether it uses promises, and the player's range alone; else searches give both players' ranges.
  keeps_promises: bool = True
  expects: bool = False  #: whether it uses the opponent's range beside promises

  def __call__(
    self,
    subgame: Subgame,
    player: int,
    ranges: Ranges,
    promises: Float[np.ndarray, "_roots _H"] | None = None,
    frontier: BoundValues | None = None,
  ) -> GadgetTree:
    """Put a gadget on a subgame.

    Args:
      subgame: of `Subgames.cut`.
      player: the player who solves again.
      ranges: for each player [roots, H], not negative: reach probabilities, or any multiple of them that
        float32 can hold and divide by (the largest at least 1e-30). The opponent's may be ones for a gadget
        that keeps promises, but an expected one.
      promises: [roots, H of the opponent], the opponent's promised values.
      frontier: a value function bound to the subgame's frontier, if there is a frontier.

    ValueError if an array does not fit the subgame, or a range is negative, not finite, or zero everywhere.
    """
    return self.make(subgame, player, ranges, promises, frontier)


def _unsafe(subgame, player, ranges, promises=None, frontier=None) -> GadgetTree:
  """Unsafe re-solving; see `Gadget`. `promises` is unused."""
  first, second = (_check_range(subgame, i, ranges[i]) for i in (0, 1))
  leaves = with_ranges(_leaves(subgame, frontier), (first, second), subgame.leaf_roots)
  return GadgetTree(dataclasses.replace(subgame.tree, leaves=leaves))


def _cfr_d(subgame, player, ranges, promises, frontier=None, refine=False, expected=False) -> GadgetTree:
  """The gadget of CFR-D; see `Gadget`, and above for `refine` and `expected`.

  A level goes on top of the opponent's decisions, with a row for each root and two actions: follow leads on
  as the root did, terminate ends in a leaf worth the promise.
  """
  chooser = 1 - player
  promises = _check_array(subgame, chooser, promises, "promised values")
  ranged = _own_range(subgame, player, ranges, frontier)
  forest = subgame.tree.players[chooser]
  roots = np.arange(forest.roots)
  level = Level(Link.create(roots, [forest.roots], [forest.roots]), (2,))
  follow, terminate = (sequence_numbers(level.shapes, 0, roots, action, roots=0) for action in (0, 1))
  leaves = GadgetLeaves(ranged, None, promises, chooser, _types(subgame))
  if not (refine or expected):
    return _choosing(subgame, leaves, forest, level, follow, terminate)
  possible = subgame.prior.weight(chooser, np.asarray(ranges[player], float)) > 0
  tremble = _tremble(subgame, chooser, possible, ranges[chooser] if expected else None)
  leaves = dataclasses.replace(leaves, terminate=np.concatenate([0 * promises, promises]))
  return _refined(subgame, leaves, forest, level, np.append(follow, terminate), tremble)


def _max_margin(subgame, player, ranges, promises, frontier=None, refine=False, expected=False) -> GadgetTree:
  """The max-margin gadget; see `Gadget`, and above for `refine` and `expected`.

  A row goes on top of the opponent's decisions for each public state, with its infostates as actions. The
  value that comes up there is minus the margin, in utility for each visit of the chosen infostate: values and
  promises are divided by the infostate's weight by chance and the player's range. Impossible infostates get a
  promise too large to be ever chosen.
  """
  chooser = 1 - player
  promises = _check_array(subgame, chooser, promises, "promised values")
  ranged = _own_range(subgame, player, ranges, frontier)
  weight = subgame.prior.weight(chooser, _check_range(subgame, player, ranges[player]))
  owner = _owner(subgame, chooser)
  visited = weight > 1e-12 * _largest(weight, owner)
  scale = np.where(visited, 1 / np.where(visited, weight, 1), 0)
  worst = -2 * (_largest(np.abs(promises * scale), owner) + subgame.prior.largest_utility)
  fee = np.where(visited, -promises * scale, worst).reshape(-1, 1)
  forest = _row_of_every_type(subgame.tree.players[chooser])
  level, choice = _choice_of_root(np.repeat(owner, subgame.tree.players[chooser].types))
  columns = _pair(chooser, forest.types, subgame.tree.players[player].types)
  leaves = GadgetLeaves(ranged, at_leaves(scale, subgame.leaf_roots[chooser]), fee, chooser, columns)
  if refine or expected:
    expectation = ranges[chooser] if expected else None
    tremble = _tremble(subgame, chooser, np.where(visited, weight, 0), expectation)
    return _refined(subgame, leaves, forest, level, choice, tremble)
  return _choosing(subgame, leaves, forest, level, choice, choice)


TREMBLE = 0.02  # the sum of a refined gadget's trembles at a public state
EXPECTED = 10.0  # and of an expected gadget's range

unsafe, cfr_d, max_margin = Gadget(_unsafe, keeps_promises=False), Gadget(_cfr_d), Gadget(_max_margin)
refined_cfr_d = Gadget(functools.partial(_cfr_d, refine=True))
refined_max_margin = Gadget(functools.partial(_max_margin, refine=True))
expected_cfr_d = Gadget(functools.partial(_cfr_d, expected=True), expects=True)
expected_max_margin = Gadget(functools.partial(_max_margin, expected=True), expects=True)

GADGETS: dict[str, Gadget] = options.objects(options.GADGETS)


def gadget_of(given: str | Gadget | Callable[..., GadgetTree]) -> Gadget:
  """The gadget of a name in `GADGETS`, or of a function that keeps promises; ValueError for another name."""
  if isinstance(given, Gadget):
    return given
  return Gadget(given) if callable(given) else GADGETS[check_option("gadget", given, GADGETS)]


def _leaves(subgame: Subgame, frontier: BoundValues | None) -> LeafEvaluator:
  """The game's own ends, and the frontier if there is one."""
  if not subgame.limited:
    return subgame.tree.leaves
  if frontier is None:
    raise ValueError("A subgame with a frontier needs a value function; pass one.")
  first, second = zip(subgame.shape.frontier, _types(subgame), strict=True)
  return FrontierLeaves(subgame.tree.leaves, frontier, (first, second))


def _own_range(
  subgame: Subgame, player: int, ranges: tuple[Array | None, Array | None], frontier: BoundValues | None
) -> RangedLeaves:
  """The leaves below roots where one player has a range."""
  range_ = _check_range(subgame, player, ranges[player])
  return RangedLeaves(_leaves(subgame, frontier), at_leaves(range_, subgame.leaf_roots[player]), player)


def _types(subgame: Subgame) -> tuple[int, int]:
  return subgame.tree.players[0].types, subgame.tree.players[1].types


def _choosing(
  subgame: Subgame,
  leaves: GadgetLeaves,
  forest: PlayerTree,
  level: Level,
  follow: Int[np.ndarray, " old_roots"],
  terminate: Int[np.ndarray, " m"],
) -> GadgetTree:
  """Put a level on top of the chooser's decisions.

  Sequences are numbered anew: the roots of the new level, its own sequences, then all sequences of the old
  forest but its roots, in their old order.

  `follow` has the sequence of the new level that leads to each root, `terminate` those that have a terminate
  leaf, both counted from 0; `forest` has the chooser's decisions so far.
  """
  (roots,), sizes = level.link.parents, tuple(a * n for a, n in level.shapes)
  old_roots, moved = forest.roots, sequence_starts(level.shapes, roots)[-1] - forest.roots

  # The level that was the first hung on the roots; it now hangs on the sequences that lead there.
  levels = list(forest.levels)
  if levels:
    link = levels[0].link
    link = Link.create(follow[link.index], sizes, link.children)
    levels[0] = dataclasses.replace(levels[0], link=link)

  # Leaves right below a root hang on these sequences too; all others keep their sequence, which has moved up.
  index = forest.leaf.index + moved
  at_root = forest.leaf.index < old_roots
  index[at_root] = roots + follow[forest.leaf.index[at_root]]

  # The terminate leaves are one more part.
  index = np.append(index, roots + terminate)
  parents = (roots, *sizes, *forest.leaf.parents[1:])
  leaf = Link.create(index, parents, (*forest.leaf.children, len(terminate)))
  choosing = PlayerTree((level, *levels), leaf, forest.types, added=len(level.shapes))
  return _with_choices(subgame, leaves, choosing, len(terminate))


def _refined(
  subgame: Subgame,
  leaves: GadgetLeaves,
  forest: PlayerTree,
  level: Level,
  choices: Int[np.ndarray, " m"],
  tremble: Float[np.ndarray, "roots H"],
) -> GadgetTree:
  """Put a level's rows beside the chooser's first decisions, with arguments as for `_choosing`.

  `choices` are the sequences of the new rows in the order of `leaves.terminate`, counted from 0.
  """
  roots, sizes = forest.roots, tuple(a * n for a, n in level.shapes)
  levels = list(forest.levels)
  if len(levels) > 1:  # its sequences come after the new ones
    link = levels[1].link
    link = Link.create(link.index + sum(sizes), (*sizes, *link.parents), link.children)
    levels[1] = dataclasses.replace(levels[1], link=link)
  first = levels[0] if levels else Level(Link.create(np.zeros(0, int), [roots], []), ())
  index, rows = np.append(level.link.index, first.link.index), (*level.link.children, *first.link.children)
  levels[:1] = [Level(Link.create(index, [roots], rows), (*level.actions, *first.actions))]
  index = forest.leaf.index + np.where(forest.leaf.index < roots, 0, sum(sizes))
  parents, children = (roots, *sizes, *forest.leaf.parents[1:]), (*forest.leaf.children, len(choices))
  leaf = Link.create(np.append(index, roots + choices), parents, children)
  choosing = PlayerTree(tuple(levels), leaf, forest.types, added=len(level.shapes))
  refined = RefinedLeaves(**vars(leaves), roots=list(subgame.leaf_roots[leaves.chooser]), tremble=tremble)
  return _with_choices(subgame, refined, choosing, len(choices))


def _with_choices(subgame: Subgame, leaves: GadgetLeaves, choosing: PlayerTree, count: int) -> GadgetTree:
  """The chooser's forest, with new blocks in front, and the other player's.

  To the other player `count` new leaves are worth 0, anywhere.
  """
  other = subgame.tree.players[1 - leaves.chooser]
  index = np.append(other.leaf.index, np.zeros(count, int))  # at the first root
  link = Link.create(index, other.leaf.parents, (*other.leaf.children, count))
  alike = choosing.types == subgame.tree.players[leaves.chooser].types  # else rows are others
  new = [rows for _, rows, _ in choosing.block_shapes[: choosing.added]]
  boards = subgame.tree.boards.with_first(leaves.chooser, new) if alike and subgame.tree.boards else None
  players = _pair(leaves.chooser, choosing, dataclasses.replace(other, leaf=link))
  return GadgetTree(PublicTree(players, leaves, boards=boards))


def _largest(
  values: Float[np.ndarray, "roots H"], owner: Int[np.ndarray, " roots"]
) -> Float[np.ndarray, "roots 1"]:
  """The largest of the values with the same owner, for each row."""
  largest = np.full(owner.max() + 1, -np.inf)
  np.maximum.at(largest, owner, values.max(1))
  return largest[owner][:, None]


def _owner(subgame: Subgame, chooser: int) -> Int[np.ndarray, " roots"]:
  """The public state of each root of the chooser, numbered from 0; padding goes to the first."""
  owner = np.unique(subgame.roots[chooser].public, return_inverse=True)[1].reshape(-1)
  return np.append(owner, np.zeros(subgame.shape.roots[chooser] - len(owner), int))


def _tremble(
  subgame: Subgame,
  chooser: int,
  weight: Shaped[np.ndarray, "roots H"],
  expectation: Array | None,
) -> Float[np.ndarray, "roots H"]:
  """`TREMBLE`, spread over the infostates of a public state in proportion to their weight.

  With an `expectation`, the chooser's range, `EXPECTED` in proportion to that too.
  """
  owner, most = _owner(subgame, chooser), TREMBLE
  if expectation is not None:
    weight, most = weight * _check_range(subgame, chooser, expectation), EXPECTED
  total = np.bincount(owner, weight.sum(1))
  return most * weight / np.where(total > 0, total, 1)[owner][:, None]


def _choice_of_root(owner: Int[np.ndarray, " n"]) -> tuple[Level, Int[np.ndarray, " n"]]:
  """A level with a row for each owner, its possessions as actions; the sequence of each, counted from 0."""
  count = np.bincount(owner)
  # Owners with the same number of possessions are the rows of a block.
  sizes, block, rows = np.unique(count, return_inverse=True, return_counts=True)
  block = block.reshape(-1)
  # An owner's row is the number of such owners before it; its possessions are its actions, in order.
  row, action = ranks(block), ranks(owner)
  level = Level(Link.create(np.zeros(len(count), int), [1], rows.tolist()), tuple(sizes.tolist()))
  return level, sequence_numbers(level.shapes, block[owner], row[owner], action, roots=0)


def _row_of_every_type(forest: PlayerTree) -> PlayerTree:
  """The same decisions with H = 1: a row of H types becomes H rows."""
  types = forest.types

  def split(link: Link) -> Link:
    index = split_types(link.index, types)
    return Link.create(index, [n * types for n in link.parents], [n * types for n in link.children])

  levels = tuple(dataclasses.replace(level, link=split(level.link)) for level in forest.levels)
  return PlayerTree(levels, split(forest.leaf), types=1)


def _pair(player: int, value: One, other_value: One) -> tuple[One, One]:
  """(value, other_value), in the order of the players."""
  return (value, other_value) if player == 0 else (other_value, value)


def _check_range(subgame: Subgame, player: int, range_: Array | None) -> Float[np.ndarray, "roots H"]:
  """The range as float64; ValueError if it is invalid."""
  range_ = _check_array(subgame, player, range_, "range")
  if (range_ < 0).any() or not range_.any():
    raise ValueError(
      f"The range of player {player} must be reach probabilities, not negative and not all zero; got "
      f"{range_.min()} to {range_.max()}."
    )
  return range_


def _check_array(
  subgame: Subgame, player: int, array: Array | None, name: str
) -> Float[np.ndarray, "roots H"]:
  """Values at a player's roots as float64; ValueError if they are invalid."""
  shape = (subgame.shape.roots[player], subgame.tree.players[player].types)
  array = np.asarray(array, float) if array is not None else np.zeros(0)
  if array.shape != shape:
    raise ValueError(
      f"The {name} of player {player} must have the shape {shape} (infostates at the roots, types), got "
      f"{array.shape}."
    )
  if not np.isfinite(array).all():
    raise ValueError(f"The {name} of player {player} must be finite, got {array[~np.isfinite(array)][0]}.")
  return array
