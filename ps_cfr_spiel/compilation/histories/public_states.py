"""The partition of histories into public states, which OpenSpiel's games do not provide.

Public states come from common knowledge (Kovařík et al. 2021, Section 3.2 and Appendix A): two histories are
in one public state if a chain of information sets of either player, acting or not, leads from one to the
other. This is the finest partition that splits no information set, and needs no help from the game. A game's
own public observer can be used instead; it must not split an information set either.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
import pyspiel
from open_spiel.python import observation

from ps_cfr_spiel.compilation.histories.histories import Histories
from ps_cfr_spiel.compilation.histories.history_checks import movers_fault, split_fault, timing_fault
from ps_cfr_spiel.compilation.histories.numbering import (
  first_members,
  number_by_appearance,
  number_rows,
  refine,
)
from ps_cfr_spiel.tree import TERMINAL


@dataclasses.dataclass(frozen=True)
class PublicPartition:
  """The public states of a game, P of them, parents before children."""

  of: np.ndarray  #: int32[N], the public state of each history
  parent: np.ndarray  #: int32[P], -1 at the root
  player: np.ndarray  #: int32[P], the acting player: 0, 1, `CHANCE` or `TERMINAL`


def public_observer(game: pyspiel.Game):
  """The game's public observer: a function from states to the public observations so far.

  ValueError if the game has none.
  """
  kind = pyspiel.IIGObservationType(
    perfect_recall=True, public_info=True, private_info=pyspiel.PrivateInfoType.NONE
  )
  try:
    observer = observation.make_observation(game, kind)
  except (AttributeError, RuntimeError, TypeError, ValueError) as error:  # some Python games have no maker
    asked = isinstance(error, AttributeError)
    more = " OpenSpiel's C++ solvers ask a Python game for it too, by make_py_observer." if asked else ""
    raise ValueError(_no_observer(game) + more) from error
  if observer is None or observer.string_from(game.new_initial_state(), 0) is None:
    raise ValueError(_no_observer(game))
  return lambda state: str(observer.string_from(state, 0))


def _no_observer(game: pyspiel.Game) -> str:
  return f"{game} has no public observer; use public_states='closure', which needs none."


class NoPublicStatesError(ValueError):
  """Time, or whose turn it is, is not common knowledge in a game."""


def public_partition(
  game: str, histories: Histories, choices: Sequence[np.ndarray], source: str
) -> PublicPartition:
  """Group histories into public states.

  `source` is "closure", or "observer" for the public strings in `histories.public`.

  Raises:
    NoPublicStatesError: an information set has several depths, or a public state several players who move.
    ValueError: an information set is in several public states.
  """
  fault = timing_fault(histories)
  if fault:
    raise NoPublicStatesError(f"{game} has no public states: {fault}")
  groups = _by_observer(histories) if source == "observer" else _by_closure(histories, choices)
  of = number_by_appearance(groups)
  fault = split_fault(histories, of)
  if fault:
    raise ValueError(f"{game}: {fault}")
  fault = movers_fault(histories, of)
  if fault:
    raise NoPublicStatesError(f"{game} has no public states: {fault}")
  first = first_members(of)
  player = histories.player[first]
  above = histories.parent[first]
  parent = np.where(above >= 0, of[above], -1)
  return PublicPartition(of, parent.astype(np.int32), player)


def _by_observer(histories: Histories) -> np.ndarray:
  """int32[N]: the number of the sequence of public strings up to each history."""
  assert histories.public is not None
  of = np.zeros(len(histories.parent), np.int32)
  numbered = 0
  for layer in histories.layers:
    above = np.where(histories.parent[layer] >= 0, of[histories.parent[layer]], -1)
    of[layer] = numbered + number_rows(above, histories.public[layer])
    numbered = of[layer].max() + 1
  return of


def _by_closure(histories: Histories, choices: Sequence[np.ndarray]) -> np.ndarray:
  """int32[N]: the connected components of common knowledge.

  Layers are joined from the last to the first, so the components form a tree even where a game's strings
  forget: a player who cannot distinguish two histories could not distinguish their predecessors either
  (perfect recall). Ends come last: the end of the game is public, and so are its predecessors' public states.
  """
  of = np.full(len(histories.parent), -1, np.int32)
  position = np.zeros(len(of), np.int32)  # of a history in its layer
  known = [_knowledge(histories, choices, i) for i in histories.players]
  numbered, below = 0, np.zeros(0, np.int32)  # histories of the next depth that are not over
  for layer in reversed(histories.layers):
    inner = layer[histories.player[layer] != TERMINAL]
    if len(inner):
      position[inner] = np.arange(len(inner))
      joined = [known[i][inner] for i in histories.players]
      of[inner] = numbered + components(len(inner), joined, position[histories.parent[below]], of[below])
      numbered = of[inner].max() + 1
    below = inner
  ends = np.flatnonzero(histories.player == TERMINAL).astype(np.int32)
  above = np.where(histories.parent[ends] >= 0, of[histories.parent[ends]], -1)
  of[ends] = numbered + components(len(ends), [refine(infostates[ends], above) for infostates in known])
  return of


def _knowledge(histories: Histories, choices: Sequence[np.ndarray], player: int) -> np.ndarray:
  """int32[N]: a number for a player's knowledge: the time, the infostate string, the last own choice.

  All numbers of one depth come before those of the next.
  """
  number = refine(histories.infostate[player], histories.depth, *choices[player].T)
  first = first_members(number)
  place = np.empty(len(first), np.int32)
  place[np.argsort(histories.depth[first], kind="stable")] = np.arange(len(first), dtype=np.int32)
  return place[number]


def components(count, joined, members=(), groups=()) -> np.ndarray:
  """int[count]: the finest partition of 0..count-1 that joins equal entries of each array of `joined`.

  It also joins all `members` with equal `groups`.
  """
  if not count:
    return np.zeros(0, np.int32)
  # The nodes are the numbers of the first array; an entry of another one joins two nodes.
  node = joined[0] - joined[0].min()  # numbers of one depth are adjacent, far from zero
  rows, columns, offset = [], [], int(node.max()) + 1
  others = [(node, numbers) for numbers in joined[1:]] + [(node[np.asarray(members, int)], groups)]
  for nodes, numbers in others:
    if len(numbers):
      rows.append(nodes)
      columns.append(offset + numbers - np.min(numbers))
      offset = int(columns[-1].max()) + 1
  if not rows:
    return node
  return _connected(offset, np.concatenate(rows), np.concatenate(columns))[node]


def _connected(count: int, first: np.ndarray, second: np.ndarray) -> np.ndarray:
  """int32[count]: the number of each node's component, by edges from `first` to `second`.

  Components are numbered in the order of their least nodes. Each round joins every tree to the least of its
  neighbours, and puts all nodes right below their roots (as Shiloach and Vishkin 1982). SciPy takes as long,
  and its import more than a small game.
  """
  nodes = np.arange(count, dtype=np.int32)
  root = nodes.copy()
  while True:
    first, second = root[first], root[second]
    apart = first != second
    if not apart.any():
      return (np.cumsum(root == nodes, dtype=np.int32) - 1)[root]
    first, second = first[apart], second[apart]
    np.minimum.at(root, np.maximum(first, second), np.minimum(first, second))
    while not np.array_equal(above := root[root], root):
      root = above


def augmented_infostates(histories: Histories, player: int) -> np.ndarray:
  """int[N]: a number for the player's knowledge at each history, acting or not.

  It includes the time, because a game's strings may stay the same while the opponent moves.
  """
  return number_rows(histories.infostate[player], histories.depth)
