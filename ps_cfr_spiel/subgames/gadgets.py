"""The gadgets for solving a subgame again: unsafe, CFR-D, max-margin; each makes a tree for the solver.

  unsafe      both players come to the subgame by their ranges. The opponent's values are then right on
  average,
              but may be far too large in some infostates (Schmid 2021, Section 20.1).
  cfr-d       in each infostate the opponent may take a promised value instead of playing on. The player must
              keep these promises, or the opponent gains (Burch et al. 2014; Schmid 2021, Section 20.2.2).
  max-margin  the opponent chooses the infostate to begin in, and pays the value promised there. So the player
              maximises the smallest margin by which the promises are undercut (Moravčík et al. 2016; Schmid
              2021, Section 20.4.3).

Promises are unnormalised counterfactual values, like those of `tree.best_response_values` at roots: they
count chance and the player's range, in the same units.
"""

import dataclasses
from typing import Any, Protocol

import numpy as np

from ps_cfr_spiel.subgames.ranged_leaves import (
  BoundValues,
  FrontierLeaves,
  GadgetLeaves,
  RangedLeaves,
  Ranges,
  with_ranges,
)
from ps_cfr_spiel.subgames.subgame import Subgame
from ps_cfr_spiel.tree import (
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


class Gadget(Protocol):
  """The type of this file's gadgets; `GADGETS` names them."""

  def __call__(
    self,
    subgame: Subgame,
    player: int,
    ranges: Ranges,
    promises: np.ndarray | None,
    frontier: BoundValues | None = None,
  ) -> PublicTree:
    """Make a tree for `cfr.run`, on the host.

    Args:
      subgame: of `Subgames.cut`.
      player: the player who solves again.
      ranges: for each player [roots, H], not negative: reach probabilities, or any multiple of them that
        float32 can hold and divide by (the largest at least 1e-30). Most gadgets use the player's alone.
      promises: [roots, H of the opponent], the opponent's promised values.
      frontier: a value function bound to the subgame's frontier, if there is a frontier.

    Raises:
      ValueError: an array does not fit the subgame, or a range is negative, not finite, or zero everywhere.
    """
    ...


def unsafe(subgame, player, ranges, promises=None, frontier=None) -> PublicTree:
  """Unsafe re-solving; see `Gadget`. `promises` is unused."""
  first, second = (_check_range(subgame, i, ranges[i]) for i in (0, 1))
  leaves = with_ranges(_leaves(subgame, frontier), (first, second), subgame.leaf_roots)
  return dataclasses.replace(subgame.tree, leaves=leaves)


def cfr_d(subgame, player, ranges, promises, frontier=None) -> PublicTree:
  """The gadget of CFR-D; see `Gadget`.

  A level goes on top of the opponent's decisions, with a row for each root and two actions: follow leads on
  as the root did, terminate ends in a leaf worth the promise.
  """
  chooser = 1 - player
  promises = _check_promises(subgame, chooser, promises)
  ranged = _own_range(subgame, player, ranges, frontier)
  forest = subgame.tree.players[chooser]
  roots = np.arange(forest.roots)
  level = Level(Link.create(roots, [forest.roots], [forest.roots]), (2,))
  follow, terminate = (sequence_numbers(level.shapes, 0, roots, action, roots=0) for action in (0, 1))
  scale = _at_leaves(subgame, chooser, np.ones(promises.shape))
  leaves = GadgetLeaves(ranged, scale, promises, chooser, _types(subgame))
  return _choosing(subgame, leaves, forest, level, follow, terminate)


def max_margin(subgame, player, ranges, promises, frontier=None) -> PublicTree:
  """The max-margin gadget; see `Gadget`.

  A row goes on top of the opponent's decisions for each public state, with its infostates as actions. The
  value that comes up there is minus the margin, in utility for each visit of the chosen infostate: values and
  promises are divided by the infostate's weight by chance and the player's range. Impossible infostates get a
  promise too large to be ever chosen.
  """
  chooser = 1 - player
  promises = _check_promises(subgame, chooser, promises)
  ranged = _own_range(subgame, player, ranges, frontier)
  weight = subgame.prior.weight(chooser, _check_range(subgame, player, ranges[player]))
  owner = np.unique(subgame.roots[chooser].public, return_inverse=True)[1].reshape(-1)
  owner = np.append(owner, np.zeros(len(promises) - len(owner), int))  # padding goes to the first
  visited = weight > 1e-12 * _largest(weight, owner)
  scale = np.where(visited, 1 / np.where(visited, weight, 1), 0)
  worst = -2 * (_largest(np.abs(promises * scale), owner) + subgame.prior.largest_utility)
  fee = np.where(visited, -promises * scale, worst).reshape(-1, 1)
  forest = _row_of_every_type(subgame.tree.players[chooser])
  level, choice = _choice_of_root(np.repeat(owner, subgame.tree.players[chooser].types))
  columns = _pair(chooser, forest.types, subgame.tree.players[player].types)
  leaves = GadgetLeaves(ranged, _at_leaves(subgame, chooser, scale), fee, chooser, columns)
  return _choosing(subgame, leaves, forest, level, choice, choice)


GADGETS: dict[str, Gadget] = {"unsafe": unsafe, "cfr-d": cfr_d, "max-margin": max_margin}


def _leaves(subgame: Subgame, frontier: BoundValues | None) -> LeafEvaluator:
  """The game's own ends, and the frontier if there is one."""
  if not subgame.limited:
    return subgame.tree.leaves
  if frontier is None:
    raise ValueError("A subgame with a frontier needs a value function; pass one.")
  first, second = zip(subgame.shape.frontier, _types(subgame), strict=True)
  return FrontierLeaves(subgame.tree.leaves, frontier, (first, second))


def _own_range(subgame: Subgame, player: int, ranges: Ranges, frontier: BoundValues | None) -> RangedLeaves:
  """The leaves below roots where one player has a range."""
  range_ = _check_range(subgame, player, ranges[player])
  return RangedLeaves(_leaves(subgame, frontier), _at_leaves(subgame, player, range_), player)


def _at_leaves(subgame: Subgame, player: int, roots: np.ndarray) -> list[np.ndarray]:
  """Arrays of the roots, [roots, H], at the leaves below them: parts [L_k, H]."""
  return [roots[at] for at in subgame.leaf_roots[player]]


def _types(subgame: Subgame) -> tuple[int, int]:
  return subgame.tree.players[0].types, subgame.tree.players[1].types


def _choosing(
  subgame: Subgame,
  leaves: GadgetLeaves,
  forest: PlayerTree,
  level: Level,
  follow: np.ndarray,
  terminate: np.ndarray,
) -> PublicTree:
  """Put a level on top of the chooser's decisions.

  Sequences are numbered anew: the roots of the new level, its own sequences, then all sequences of the old
  forest but its roots, in their old order.

  Args:
    subgame: the gadget's subgame.
    leaves: of the gadget.
    forest: the chooser's decisions so far.
    level: the new level.
    follow: int[old roots], the sequence of the new level that leads to each root, counted from 0.
    terminate: int[m], the sequences of the new level that have a terminate leaf, likewise.
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

  # The terminate leaves are one more part, for the chooser at its sequences ...
  index = np.append(index, roots + terminate)
  parents = (roots, *sizes, *forest.leaf.parents[1:])
  leaf = Link.create(index, parents, (*forest.leaf.children, len(terminate)))
  choosing = PlayerTree((level, *levels), leaf, forest.types)

  # ... and for the other player, to whom they are worth 0, anywhere: at the first root.
  other = subgame.tree.players[1 - leaves.chooser]
  index = np.append(other.leaf.index, np.zeros(len(terminate), int))
  link = Link.create(index, other.leaf.parents, (*other.leaf.children, len(terminate)))
  return PublicTree(_pair(leaves.chooser, choosing, dataclasses.replace(other, leaf=link)), leaves)


def _largest(values: np.ndarray, owner: np.ndarray) -> np.ndarray:
  """The largest of the values [R, H] with the same owner, for each row: [R, 1]."""
  largest = np.full(owner.max() + 1, -np.inf)
  np.maximum.at(largest, owner, values.max(1))
  return largest[owner][:, None]


def _choice_of_root(owner: np.ndarray) -> tuple[Level, np.ndarray]:
  """A row for each owner 0, 1, ..., with its possessions as actions.

  Returns:
    The level, and the sequence of each possession, counted from 0.
  """
  count = np.bincount(owner)
  # Owners with the same number of possessions are the rows of a block.
  sizes, block = np.unique(count, return_inverse=True)
  block = block.reshape(-1)
  rows = np.bincount(block)
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


def _pair(player: int, own: Any, other: Any) -> tuple[Any, Any]:
  """(own, other), in the order of the players."""
  return (own, other) if player == 0 else (other, own)


def _check_range(subgame: Subgame, player: int, range_: Any) -> np.ndarray:
  """The range as float64; ValueError if it is invalid."""
  range_ = _check_array(subgame, player, range_, "range")
  if (range_ < 0).any() or not range_.any():
    raise ValueError(
      f"The range of player {player} must be reach probabilities, not negative and not all zero; got "
      f"{range_.min()} to {range_.max()}."
    )
  return range_


def _check_promises(subgame: Subgame, player: int, promises: Any) -> np.ndarray:
  """The promised values as float64; ValueError if they are invalid."""
  return _check_array(subgame, player, promises, "promised values")


def _check_array(subgame: Subgame, player: int, array: Any, name: str) -> np.ndarray:
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
