"""Which histories share a public state: the partition that OpenSpiel's games do not hand out.

Public states come from common knowledge (Kovařík et al. 2021, Section 3.2 and Appendix A): two histories are
in one public state if some chain of information sets of either player, acting or not, leads from one to the
other. This is the finest partition that splits no information set, and needs no help from the game. A game's
own public observer can be used instead; it must not split an information set either.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
import pyspiel
from open_spiel.python import observation

from ps_cfr_spiel.compiler.history_laws import movers_fault, split_fault, timing_fault
from ps_cfr_spiel.compiler.walk import Histories, layers
from ps_cfr_spiel.tree import TERMINAL

SOURCES = ("closure", "observer", "none")


@dataclasses.dataclass(frozen=True)
class Partition:
  """The public states of a game, P of them, parents before children.

  Attributes:
    of: int32[N], the public state of each history.
    parent: int32[P], -1 at the root.
    player: int32[P], who acts: 0, 1, `CHANCE` or `TERMINAL`.
  """

  of: np.ndarray
  parent: np.ndarray
  player: np.ndarray


def public_observer(game: pyspiel.Game):
  """A function from states to what was publicly seen so far.

  Raises:
    ValueError: the game has no public observer.
  """
  kind = pyspiel.IIGObservationType(
    perfect_recall=True, public_info=True, private_info=pyspiel.PrivateInfoType.NONE
  )
  try:
    observer = observation.make_observation(game, kind)
  except (AttributeError, RuntimeError, TypeError, ValueError) as error:  # a Python game may have no maker
    raise ValueError(_no_observer(game)) from error
  if observer is None or observer.string_from(game.new_initial_state(), 0) is None:
    raise ValueError(_no_observer(game))
  return lambda state: str(observer.string_from(state, 0))


def _no_observer(game: pyspiel.Game) -> str:
  return f"{game} has no public observer; use public_states='closure', which needs none."


def partition(game: str, histories: Histories, choices: Sequence[np.ndarray], source: str) -> Partition:
  """Groups histories into public states.

  Args:
    game: name for messages.
    histories: of `walk`.
    choices: for each player `last_choices` of the histories.
    source: "closure", or "observer" for the public strings in `histories.public`.

  Raises:
    ValueError: the game has no valid public states: an information set that stands at several depths or in
      several public states, or a public state in which several players move.
  """
  fault = timing_fault(histories)
  if fault:
    raise ValueError(f"{game} has no public states: {fault}")
  of = _in_order(_by_observer(histories) if source == "observer" else _by_closure(histories, choices))
  fault = split_fault(histories, of)
  if fault:
    raise ValueError(f"{game}: {fault}")
  fault = movers_fault(histories, of)
  if fault:
    raise ValueError(f"{game} has no public states: {fault}")
  first = np.full(of.max() + 1, -1)
  first[of[::-1]] = np.arange(len(of))[::-1]
  player = histories.player[first]
  above = histories.parent[first]
  parent = np.where(above >= 0, of[above], -1)
  return Partition(of.astype(np.int32), parent.astype(np.int32), player.astype(np.int32))


def _by_observer(histories: Histories) -> np.ndarray:
  """int[N]: the number of the sequence of public strings up to each history."""
  assert histories.public is not None
  of = np.zeros(len(histories.parent), np.int64)
  for here in layers(histories.depth):
    above = np.where(histories.parent[here] >= 0, of[histories.parent[here]], -1)
    of[here] = of.max() + 1 + _number(np.stack([above, histories.public[here]]))
  return of


def _by_closure(histories: Histories, choices: Sequence[np.ndarray]) -> np.ndarray:
  """int[N]: the connected components of common knowledge.

  Upwards, a depth at a time, so that they form a tree whatever a game's strings forget: who cannot tell two
  histories apart could not tell their predecessors apart either (perfect recall). Ends come last: that
  the game is over is public, and so is what was public before.
  """
  of = np.full(len(histories.parent), -1)
  over = histories.player == TERMINAL
  by_depth = layers(histories.depth)
  below = np.zeros(0, int)  # histories a depth further down that are not over
  for layer in reversed(by_depth):
    here = layer[~over[layer]]
    joined = [_knowledge(histories, choices, i, here) for i in (0, 1)]
    position = np.full(len(of), -1)
    position[here] = np.arange(len(here))
    of[here] = of.max() + 1 + components(len(here), joined, position[histories.parent[below]], of[below])
    below = here
  for layer in by_depth:
    here = layer[over[layer]]
    above = np.where(histories.parent[here] >= 0, of[histories.parent[here]], -1)
    joined = [_number(np.vstack([above, _knowledge(histories, choices, i, here)])) for i in (0, 1)]
    of[here] = of.max() + 1 + components(len(here), joined)
  return of


def _knowledge(
  histories: Histories, choices: Sequence[np.ndarray], player: int, here: np.ndarray
) -> np.ndarray:
  """int[n]: the number of what a player knows: their last choice and their information state string."""
  return _number(np.vstack([histories.infostate[player][here], choices[player][here].T]))


def _number(columns: np.ndarray) -> np.ndarray:
  """Numbers the distinct columns of [K, n]: int[n]."""
  return np.unique(columns, axis=1, return_inverse=True)[1].reshape(-1)


def components(count, joined, members=(), groups=()) -> np.ndarray:
  """The finest partition of 0..count-1 that separates no two equal in an array of `joined`: int[count].

  Nor any `members` that have equal `groups`.
  """
  from scipy.sparse import coo_matrix, csgraph  # a fifth of all modules, for games that are walked alone

  rows = [np.arange(count)] * len(joined) + [np.asarray(members, int)]
  columns, offset = [], count
  for numbers in (*joined, np.asarray(groups, int)):
    columns.append(offset + numbers)
    offset += int(numbers.max(initial=-1)) + 1
  edges = (np.concatenate(rows), np.concatenate(columns))
  graph = coo_matrix((np.ones(len(edges[0]), bool), edges), (offset, offset))
  return csgraph.connected_components(graph, directed=False)[1][:count]


def augmented_infostates(histories: Histories, player: int) -> np.ndarray:
  """int[N]: what the player knows at each history, acting or not, the time included.

  Time, because a game's strings may stay the same while the opponent moves.
  """
  key = histories.infostate[player].astype(np.int64) * (int(histories.depth.max()) + 1) + histories.depth
  return np.unique(key, return_inverse=True)[1].reshape(-1)


def _in_order(of: np.ndarray) -> np.ndarray:
  """The same partition, numbered by first member."""
  _, first, inverse = np.unique(of, return_index=True, return_inverse=True)
  rank = np.empty(len(first), int)
  rank[np.argsort(first)] = np.arange(len(first))
  return rank[inverse.reshape(-1)]
