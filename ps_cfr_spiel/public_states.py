"""Which histories share a public state: the partition that OpenSpiel's games do not hand out.

Public states come from common knowledge (Kovařík et al. 2021, Section 3.2 and Appendix A): two histories
are in one public state if some chain of information sets of either player, acting or not, leads from one to the
other. This is the finest partition that no player's information refines, and needs no help from
the game. A game's own public observer can be used instead; it must not split an information set.
"""

import dataclasses

import numpy as np
import pyspiel
import scipy.sparse
import scipy.sparse.csgraph
from open_spiel.python import observation

from ps_cfr_spiel.walk import CHANCE, TERMINAL, Histories

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
  except (RuntimeError, TypeError, ValueError) as error:
    raise ValueError(_no_observer(game)) from error
  if observer is None or observer.string_from(game.new_initial_state(), 0) is None:
    raise ValueError(_no_observer(game))
  return lambda state: observer.string_from(state, 0)


def _no_observer(game: pyspiel.Game) -> str:
  return f"{game} has no public observer; use public_states='closure', which needs none."


def partition(game: str, histories: Histories, source: str) -> Partition:
  """Groups histories into public states.

  Args:
    game: name for messages.
    histories: of `walk`.
    source: "closure", or "observer" for the public strings in `histories.public`.

  Raises:
    ValueError: the game has no valid public states: an information set that stands at several depths or
      is split by the observer, or a public state with several parents or several players to move.
  """
  _check_timed(game, histories)
  if source == "observer":
    of = _by_observer(histories)
    _check_not_split(game, histories, of)
  else:
    of = _by_closure(histories)
  of = _in_order(of)
  first = np.full(of.max() + 1, -1)
  first[of[::-1]] = np.arange(len(of))[::-1]
  above = np.where(histories.parent >= 0, of[histories.parent], -1)
  parent, player = above[first], histories.player[first]
  for name, values, expected in (("parents", above, parent[of]), ("players", histories.player, player[of])):
    wrong = np.flatnonzero(values != expected)
    if len(wrong):
      both = [_describe(histories, int(h)) for h in (first[of[wrong[0]]], wrong[0])]
      raise ValueError(
        f"{game} has no public states: common knowledge puts these two histories into one, but "
        f"{'their predecessors are not in one' if name == 'parents' else 'different players move'}: "
        f"{both[0]}; {both[1]}. public_states='none' solves it without."
      )
  return Partition(of.astype(np.int32), parent.astype(np.int32), player.astype(np.int32))


def _by_closure(histories: Histories) -> np.ndarray:
  """Connected components of the graph that joins histories to both players' information states."""
  count = len(histories.parent)
  knowledge = [augmented_infostates(histories, player) for player in (0, 1)]
  rows = np.concatenate([np.arange(count)] * 2)
  columns = np.concatenate([count + knowledge[0], count + knowledge[0].max() + 1 + knowledge[1]])
  size = columns.max() + 1
  graph = scipy.sparse.coo_matrix((np.ones(len(rows), bool), (rows, columns)), (size, size))
  return scipy.sparse.csgraph.connected_components(graph, directed=False)[1][:count]


def augmented_infostates(histories: Histories, player: int) -> np.ndarray:
  """int[N]: what the player knows at each history, acting or not, the time included.

  Time, because a game's strings may stay the same while the opponent moves.
  """
  key = histories.infostate[player].astype(np.int64) * (int(histories.depth.max()) + 1) + histories.depth
  return np.unique(key, return_inverse=True)[1].reshape(-1)


def _by_observer(histories: Histories) -> np.ndarray:
  """Number of the sequence of public strings up to each history."""
  assert histories.public is not None
  of = np.zeros(len(histories.parent), np.int64)
  numbers: dict[tuple[int, int], int] = {}
  for h, (parent, string) in enumerate(zip(histories.parent, histories.public.tolist(), strict=True)):
    key = (-1 if parent < 0 else int(of[parent]), string)
    of[h] = numbers.setdefault(key, len(numbers))
  return of


def _in_order(of: np.ndarray) -> np.ndarray:
  """The same partition, numbered by first member."""
  _, first, inverse = np.unique(of, return_index=True, return_inverse=True)
  rank = np.empty(len(first), int)
  rank[np.argsort(first)] = np.arange(len(first))
  return rank[inverse.reshape(-1)]


def _check_timed(game: str, histories: Histories) -> None:
  """ValueError if an information set in which its player acts holds histories of different lengths."""
  for player in (0, 1):
    acts, first = _acting(histories, player)
    number = histories.infostate[player]
    wrong = acts[histories.depth[acts] != histories.depth[first[number[acts]]]]
    if len(wrong):
      a, b = int(first[number[wrong[0]]]), int(wrong[0])
      raise ValueError(
        f"{game} has no public states: player {player}'s information state "
        f"{histories.names[player][number[b]]!r} holds histories of {histories.depth[a]} and of "
        f"{histories.depth[b]} moves, so that time itself is not common knowledge. public_states='none' "
        f"solves it without."
      )


def _check_not_split(game: str, histories: Histories, of: np.ndarray) -> None:
  """ValueError if the partition separates histories that a player cannot tell apart."""
  for player in (0, 1):
    acts, first = _acting(histories, player)
    number = histories.infostate[player]
    wrong = acts[of[acts] != of[first[number[acts]]]]
    if len(wrong):
      raise ValueError(
        f"{game}: its public observer splits player {player}'s information state "
        f"{histories.names[player][number[wrong[0]]]!r}, that is, shows in public what the player does not "
        f"know. Use public_states='closure'."
      )


def _acting(histories: Histories, player: int) -> tuple[np.ndarray, np.ndarray]:
  """The histories in which the player acts, and for each infostate the first of them (or -1)."""
  acts = np.flatnonzero(histories.player == player)
  first = np.full(len(histories.names[player]), -1)
  first[histories.infostate[player][acts[::-1]]] = acts[::-1]
  return acts, first


def _describe(histories: Histories, history: int) -> str:
  who = {CHANCE: "chance", TERMINAL: "nobody"}.get(int(histories.player[history]))
  names = [histories.names[i][histories.infostate[i][history]] for i in (0, 1)]
  return (
    f"{histories.path(history)} ({who or f'player {histories.player[history]}'} to move, infostates {names})"
  )
