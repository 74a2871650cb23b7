"""Ways to solve a subgame again: unsafe, CFR-D, max-margin; each makes a tree for the ordinary solver.

  unsafe      both players come to the subgame by their ranges. What the opponent gets then is right on
              average, but may be far too much in some infostates (Schmid 2021, Section 20.1).
  cfr-d       in each infostate the opponent may take a promised value instead of playing on. The player must
              keep these promises, or the opponent gains (Burch et al. 2014; Schmid 2021, Section 20.2.2).
  max-margin  the opponent chooses the infostate to begin in, and pays what was promised there. So the player
              undercuts the promises, the one that is undercut least by as much as can be (Moravčík et al.
              2016; Schmid 2021, Section 20.4.3).

Promises are unnormalised counterfactual values, as `evaluate.best_response_values` finds them at roots: they
count chance and the player's range, in the same units.
"""

import dataclasses
from typing import Any, Protocol

import numpy as np

from ps_cfr_spiel.subgames.ranged_leaves import RangedLeaves
from ps_cfr_spiel.subgames.subgame import Ranges, Subgame
from ps_cfr_spiel.tree import Level, Link, PlayerTree, PublicTree


class Gadget(Protocol):
  """What all of this file's functions are; `GADGETS` names them."""

  def __call__(
    self, subgame: Subgame, player: int, ranges: Ranges, promises: np.ndarray | None, frontier: Any = None
  ) -> PublicTree:
    """A tree for `cfr.solve`, on the host.

    Args:
      subgame: of `Subgames.cut`.
      player: who solves again.
      ranges: for each player [roots, H], not negative: reach probabilities, or any multiple of them that
        float32 can hold and divide by (the largest at least 1e-30). A gadget asks for the player's alone.
      promises: [roots, H of the opponent], what the opponent was promised.
      frontier: a bound value function, if the subgame has a frontier.

    Raises:
      ValueError: an array does not fit the subgame, or a range is negative, not finite, or zero everywhere.
    """
    ...


def unsafe(subgame, player, ranges, promises=None, frontier=None) -> PublicTree:
  """Unsafe re-solving; see `Gadget`. `promises` are of no use here."""
  first, second = (_check_range(subgame, i, ranges[i]) for i in (0, 1))
  return _ranged(subgame, (first, second), frontier)


def cfr_d(subgame, player, ranges, promises, frontier=None) -> PublicTree:
  """The gadget of CFR-D; see `Gadget`.

  A level goes on top of the opponent's decisions: a row for each root with the actions follow, which leads on
  as the root did, and terminate, which ends in a leaf worth the promise.
  """
  chooser = 1 - player
  promises = _check_promises(subgame, chooser, promises)
  own = _check_range(subgame, player, ranges[player])
  tree = _ranged(subgame, _pair(player, own, np.ones(promises.shape)), frontier)
  forest = tree.players[chooser]
  follow = np.arange(forest.roots)
  level = Level(Link.create(follow, [forest.roots], [forest.roots]), (2,))
  return _choosing(tree, chooser, forest, level, follow, forest.roots + follow, promises)


def max_margin(subgame, player, ranges, promises, frontier=None) -> PublicTree:
  """The max-margin gadget; see `Gadget`.

  A row goes on top of the opponent's decisions for each public state, with its infostates as actions. What
  comes up there is minus the margin, in utility for each visit of the infostate chosen: values and promises
  are divided by the infostate's weight by chance and the player's range. Infostates that cannot be
  visited are made so bad a choice that they do not count.
  """
  chooser = 1 - player
  promises = _check_promises(subgame, chooser, promises)
  own = _check_range(subgame, player, ranges[player])
  weight = subgame.prior.weight(chooser, own)
  owner = np.unique(subgame.roots[chooser].public, return_inverse=True)[1].reshape(-1)
  owner = np.append(owner, np.zeros(len(promises) - len(owner), int))  # padding goes to the first
  visited = weight > 1e-12 * _largest(weight, owner)
  scale = np.where(visited, 1 / np.where(visited, weight, 1), 0)
  tree = _ranged(subgame, _pair(player, own, scale), frontier)
  worst = -2 * (_largest(np.abs(promises * scale), owner) + subgame.prior.largest_utility)
  fee = np.where(visited, -promises * scale, worst).reshape(-1, 1)
  level, choice = _choice_of_root(np.repeat(owner, tree.players[chooser].types))
  return _choosing(tree, chooser, _row_of_every_type(tree.players[chooser]), level, choice, choice, fee)


GADGETS: dict[str, Gadget] = {"unsafe": unsafe, "cfr-d": cfr_d, "max-margin": max_margin}


def _ranged(subgame: Subgame, ranges: Ranges, frontier: Any) -> PublicTree:
  """The subgame with ranges at its roots."""
  if subgame.limited and frontier is None:
    raise ValueError("A subgame with a frontier needs a value function there; none was given.")
  first, second = ([r[at] for at in ats] for r, ats in zip(ranges, subgame.leaf_roots, strict=True))
  types = (subgame.tree.players[0].types, subgame.tree.players[1].types)
  leaves = RangedLeaves(subgame.tree.leaves, (first, second), frontier, None, -1, types, types)
  return dataclasses.replace(subgame.tree, leaves=leaves)


def _choosing(
  tree: PublicTree,
  chooser: int,
  forest: PlayerTree,
  level: Level,
  follow: np.ndarray,
  leave: np.ndarray,
  bounds: np.ndarray,
) -> PublicTree:
  """Puts a level on top of a player's decisions.

  Args:
    tree: a ranged subgame.
    chooser: who decides in the new level.
    forest: the chooser's decisions so far.
    level: the new one.
    follow: int[roots], the sequence of the new level that leads on to each root.
    leave: int[m], the sequences of the new level with a leaf of their own.
    bounds: [m, H of the forest], what these leaves are worth to the chooser.
  """
  (roots,), sizes = level.link.parents, tuple(a * n for a, n in level.shapes)
  above = roots + sum(sizes)
  levels = list(forest.levels)
  if levels:
    link = levels[0].link
    link = Link.create(follow[link.index], sizes, link.children)
    levels[0] = dataclasses.replace(levels[0], link=link)
  old, padded = forest.leaf.index, np.append(follow, 0)
  index = np.where(
    old < forest.roots, roots + padded[np.minimum(old, forest.roots)], old - forest.roots + above
  )
  leaf = Link.create(
    np.append(index, roots + leave),
    (roots, *sizes, *forest.leaf.parents[1:]),
    (*forest.leaf.children, len(leave)),
  )
  other = tree.players[1 - chooser]
  link = other.leaf
  link = Link.create(
    np.append(link.index, np.zeros(len(leave), int)), link.parents, (*link.children, len(leave))
  )
  new = PlayerTree((level, *levels), leaf, forest.types)
  columns = _pair(chooser, new.types, other.types)
  assert isinstance(tree.leaves, RangedLeaves)
  leaves = dataclasses.replace(tree.leaves, bounds=bounds, chooser=chooser, columns=columns)
  return dataclasses.replace(
    tree, players=_pair(chooser, new, dataclasses.replace(other, leaf=link)), leaves=leaves
  )


def _largest(values: np.ndarray, owner: np.ndarray) -> np.ndarray:
  """The largest of the values [R, H] that have the same owner, for each row: [R, 1]."""
  largest = np.full(owner.max() + 1, -np.inf)
  np.maximum.at(largest, owner, values.max(1))
  return largest[owner][:, None]


def _choice_of_root(owner: np.ndarray) -> tuple[Level, np.ndarray]:
  """A row for each owner, with what it owns as actions: the level, and the sequence of each thing owned."""
  _, row, count = np.unique(owner, return_inverse=True, return_counts=True)
  sizes, block, rows = np.unique(
    count, return_inverse=True, return_counts=True
  )  # blocks by number of actions
  place = np.array([np.sum(block[:r] == block[r]) for r in range(len(count))])
  order = np.argsort(row, kind="stable")
  action = np.empty(len(owner), int)
  action[order] = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
  first = np.cumsum(sizes * rows) - sizes * rows
  level = Level(Link.create(np.zeros(len(count), int), [1], rows.tolist()), tuple(sizes.tolist()))
  return level, first[block[row]] + action * rows[block[row]] + place[row]


def _row_of_every_type(forest: PlayerTree) -> PlayerTree:
  """The same decisions with H = 1: a row of H types becomes H rows."""
  types = forest.types

  def split(link: Link) -> Link:
    index = (link.index[:, None] * types + np.arange(types)).ravel()
    return Link.create(index, [n * types for n in link.parents], [n * types for n in link.children])

  levels = tuple(dataclasses.replace(level, link=split(level.link)) for level in forest.levels)
  return PlayerTree(levels, split(forest.leaf), types=1)


def _pair(player: int, own: Any, other: Any) -> tuple[Any, Any]:
  """(own, other), or the other way round for player 1."""
  return (own, other) if player == 0 else (other, own)


def _check_range(subgame: Subgame, player: int, range_: Any) -> np.ndarray:
  """The range as float64, if it is one."""
  range_ = _check_array(subgame, player, range_, "range")
  if (range_ < 0).any() or not range_.any():
    raise ValueError(
      f"The range of player {player} must be reach probabilities, at least one of them positive, none "
      f"negative; got {range_.min()} to {range_.max()}."
    )
  return range_


def _check_promises(subgame: Subgame, player: int, promises: Any) -> np.ndarray:
  """The promised values as float64, if they fit."""
  return _check_array(subgame, player, promises, "promised values")


def _check_array(subgame: Subgame, player: int, array: Any, what: str) -> np.ndarray:
  shape = (subgame.shape.roots[player], subgame.tree.players[player].types)
  array = np.asarray(array, float) if array is not None else np.zeros(0)
  if array.shape != shape:
    raise ValueError(
      f"The {what} of player {player} must have the shape {shape} (infostates at the roots, types), got "
      f"{array.shape}."
    )
  if not np.isfinite(array).all():
    raise ValueError(f"The {what} of player {player} must be finite, got {array[~np.isfinite(array)][0]}.")
  return array
