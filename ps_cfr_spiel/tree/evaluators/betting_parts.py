"""The betting on one board cut into parts that fit in a processor's cache.

The library walks a tree unit by unit (`stream.cc`). A river is one board; where its betting is much larger
than the cache, its parts are units. Each is a decision with all that follows, less the largest of what
follows, which are parts of their own. For this the decisions of both players are put together in one tree.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ps_cfr_spiel.backend.array_shapes import Int
from ps_cfr_spiel.tree.public_tree import PlayerTree

#: the bytes of both players' reach and values in a part, in float32: a core's second-level cache of 1 MB has
#: room for the tables that pass through, too.
CACHE = 768 << 10
#: the size, in parts, up to which a tree is walked at once: parts gain nothing there, and threads take time.
LEAST = 4


class Parts(NamedTuple):
  """A tree's parts, each followed by those below it; the first has the root."""

  above: Int[np.ndarray, " U"]  #: the part above each; -1 for the first
  rows: tuple[Int[np.ndarray, " R0"], Int[np.ndarray, " R1"]]  #: the part of each row of the players
  leaves: Int[np.ndarray, " L"]  #: the part of each leaf


class Decisions(NamedTuple):
  """The rows of both players as one tree, each after those above it."""

  row: Int[np.ndarray, " N"]  #: its number among the rows of player 0, and then of player 1
  above: Int[np.ndarray, " N"]  #: the decision above; -1 for none
  leaves: Int[np.ndarray, " L"]  #: the decision above each leaf; -1 for none


def parts_of(players: Sequence[PlayerTree], cache: int = CACHE) -> Parts:
  """The parts of a tree on one board, each of at most `cache` bytes, or of one decision that has more.

  A small tree is one part (`LEAST`); so is one whose rows are no tree, as where an action is not seen, and
  one with rows that stand for others.
  """
  shapes = [player.block_shapes for player in players]
  first, second = (sum(rows for _, rows, _ in blocks) for blocks in shapes)
  room = cache // (2 * 4 * max(player.types for player in players))
  links = [link for player in players for link in (player.leaf, *(level.link for level in player.levels))]
  made = None
  if sum(actions * rows for blocks in shapes for actions, rows, _ in blocks) > LEAST * room:
    made = decisions_of(players) if all(link.orbit is None for link in links) else None
  if made is None:
    whole = np.zeros(first, int), np.zeros(second, int)
    return Parts(np.array([-1]), whole, np.zeros(len(players[0].leaf.index), int))
  actions = np.concatenate([np.full(rows, a) for blocks in shapes for a, rows, _ in blocks])[made.row]
  above, part = _numbered(made.above, _beginnings(made.above, actions, room))
  rows = np.empty(first + second, int)
  rows[made.row] = part[:-1]
  return Parts(above, (rows[:first], rows[first:]), part[made.leaves])


def decisions_of(players: Sequence[PlayerTree]) -> Decisions | None:
  """The tree of both players' rows, of which there are some; None if they are no tree."""
  up, level, at_leaves, count = [], [], [], 0
  for player in players:
    row_of = [np.array([-1])]  # of each sequence
    for actions, rows, _ in player.block_shapes:
      row_of.append(np.tile(np.arange(count, count + rows), actions))
      count += rows
    of_sequence, above = np.concatenate(row_of), player.above()
    up += [of_sequence[sequences] for sequences in above]
    level += [np.full(len(sequences), d) for d, sequences in enumerate(above)]
    at_leaves.append(of_sequence[player.leaf.index])
  up, above_leaves = np.append(np.concatenate(up), -1), []  # -1, no row, is above none
  for at in at_leaves:
    while (at >= 0).any():
      above_leaves.append(at)
      at = up[at]
  path = np.stack(above_leaves, 1)
  # A decision is above others if the leaves below them are below it.
  below = np.bincount(path[path >= 0], minlength=count)
  row = np.lexsort((np.concatenate(level), -below))
  path = np.sort(np.append(np.argsort(row), -1)[path], 1)
  above = np.full(count + 1, -1)
  pairs = np.stack([path, np.roll(path, 1, 1)])
  pairs[1, :, 0] = -1
  child, parent = pairs[:, path >= 0]
  above[child] = parent
  is_tree = below.all() and (above[child] == parent).all()
  return Decisions(row, above[:-1], path[:, -1]) if is_tree else None


def _beginnings(above: Int[np.ndarray, " N"], actions: Int[np.ndarray, " N"], room: int) -> set[int]:
  """The decisions with which parts begin, of at most `room` sequences each."""
  below: list[list[tuple[int, int]]] = [[] for _ in range(len(above) + 1)]  # the last: of no decision
  beginnings = set()
  for node in [*range(len(above) - 1, -1, -1), -1]:
    size = int(actions[node]) if node >= 0 else 0
    for more, child in sorted(below[node]):  # the largest are cut off
      if size + more <= room:
        size += more
      else:
        beginnings.add(child)
    if node >= 0:
      below[above[node]].append((size, node))
  return beginnings


def _numbered(
  above: Int[np.ndarray, " N"], beginnings: set[int]
) -> tuple[Int[np.ndarray, " U"], Int[np.ndarray, " N+1"]]:
  """The part above each part, and the part of each decision; at the end that of none, the first."""
  below: list[list[int]] = [[] for _ in range(len(above) + 1)]
  for node, up in enumerate(above.tolist()):
    below[up].append(node)
  part, parts, waiting = np.zeros(len(above) + 1, int), [-1], below[-1][::-1]
  while waiting:  # depth first
    node = waiting.pop()
    part[node] = part[above[node]]
    if node in beginnings:
      parts.append(int(part[node]))
      part[node] = len(parts) - 1
    waiting += below[node][::-1]
  return np.array(parts), part
