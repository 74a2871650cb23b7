"""Public states on demand: their histories, and trees below them, of games that are not enumerated.

The public state of a history is found from the start of the game: all moves after the histories of one public
state are grouped by common knowledge into the next ones, and the one on the way is followed. So all
histories of the public states on the way are visited, and no others but those one move beyond.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pyspiel

from ps_cfr_spiel.compilation.compiler import tree_of_histories, with_recall
from ps_cfr_spiel.compilation.histories import (
  Histories,
  Horizon,
  Limits,
  Path,
  check_kind,
  grow,
  public_observer,
  public_partition,
)
from ps_cfr_spiel.loading import sequential
from ps_cfr_spiel.memory import HISTORY
from ps_cfr_spiel.options import LIMIT
from ps_cfr_spiel.resolving.subgames.cut import Subgames

KEPT = 1_000_000  # histories of public states that are kept, at most

Members = tuple[Path, ...]  # the histories of a public state, ascending


class PublicStates:
  """The public states of a game, made when they are asked for."""

  def __init__(
    self,
    game: pyspiel.Game,
    public_states: str = "closure",
    limit: int = LIMIT,
    memory: float | None = None,
  ):
    """Has no public states yet.

    Args:
      game: any that `build_tree` takes.
      public_states: their source, "closure" or "observer", as of `build_tree`.
      limit: of the histories of a tree, and of those around a public state.
      memory: most bytes of a tree's histories; by default half of the free memory.

    ValueError for a wrong argument, or a game of a wrong kind.
    """
    self.game = sequential(game)  #: turn-based
    check_kind(self.game)
    if public_states not in ("closure", "observer"):
      raise ValueError(
        f"public_states={public_states!r}: public states on demand come from 'closure' or 'observer'."
      )
    self.source = public_states  #: as given
    self.limits = Limits.create(limit, memory)  #: as given
    self._observe: Callable[[pyspiel.State], str] | None = None
    if public_states == "observer":
      self._observe = public_observer(self.game)
    self._members: dict[Path, Members] = {(): ((),)}
    self._moves: dict[tuple[int, str], int] = {}  # before each decision that was met, by player and infostate

  @property
  def kept_bytes(self) -> int:
    """About the memory of the histories whose public states are kept."""
    return sum(HISTORY + 8 * len(path) for path in self._members)

  def members(self, path: Sequence[int]) -> Members:
    """All histories in the public state of a history, given by its actions.

    TooLarge if there are more than the limit; ValueError for a history that chance excludes, or where those
    visited show that a player does not know the number of moves.
    """
    path = tuple(path)
    known = len(path)
    while path[:known] not in self._members:
      known -= 1
    for length in range(known, len(path)):
      self._expand(self._members[path[:length]])
      if path[: length + 1] not in self._members:
        raise ValueError(
          f"{self.game}: the history {list(path[: length + 1])} is impossible; give legal moves, and "
          "outcomes of chance with a positive probability."
        )
    return self._members[path]

  def _expand(self, members: Members) -> None:
    """Find the public states one move after those of some histories, which are a public state."""
    grown, choices = self._grow(members, _ONE_MOVE)
    partition = public_partition(str(self.game), grown, choices, self.source)
    after = grown.layers[len(members[0]) + 1]
    paths, of = [tuple(grown.path(int(h))) for h in after], partition.of[after]
    if len(self._members) + len(paths) > KEPT:
      self._members = {(): ((),), **dict.fromkeys(members, members)}
    groups: dict[int, list[Path]] = {}
    for public, path in zip(of.tolist(), paths, strict=True):
      groups.setdefault(public, []).append(path)
    for group in groups.values():
      self._members |= dict.fromkeys(group, tuple(sorted(group)))

  def _grow(self, members: Members, horizon: Horizon):
    grown = grow(self.game, dict.fromkeys(members, 1.0), horizon, self._most, self._observe).histories
    histories, choices, fault = with_recall(self.game, grown, self.limits.memory)
    if fault:
      raise ValueError(f"{self.game}: {fault}")
    self._check_clock(histories)
    return histories, choices

  def _check_clock(self, histories: Histories) -> None:
    """ValueError if the player in a decision does not know how many moves were made, chance's included.

    Then a public state has histories of several lengths. All decisions that were met are kept, for those of
    such a public state may be far apart.
    """
    for player in histories.players:
      acting = np.flatnonzero(histories.player == player)
      numbers, first = np.unique(histories.infostate[player][acting], return_index=True)
      for number, depth in zip(numbers.tolist(), histories.depth[acting[first]].tolist(), strict=True):
        name = histories.names[player][number]
        if self._moves.setdefault((player, name), depth) != depth:
          known = self._moves[player, name]
          raise ValueError(
            f"{self.game}: player {player} does not know whether {known} or {depth} moves were made at "
            f"{name!r}, so there are no public states on demand. Use ContinualResolving."
          )

  @property
  def _most(self) -> int:
    """Histories within both limits."""
    return int(min(self.limits.histories, max(self.limits.memory / HISTORY, 1)))

  def below(self, members: Members, horizon: Horizon) -> Subgames:
    """The game around a public state: the ways there, and all below it as far as a horizon.

    A row of its tree is an infostate. Errors as of `members`.
    """
    grown = grow(self.game, dict.fromkeys(members, 1.0), horizon, self._most, self._observe).histories
    self._check_clock(grown)
    tree = tree_of_histories(self.game, grown, self.source, "sparse", self.limits.memory)
    return Subgames(tree, self.game)


def _one_move(state, actions, mark, inside):
  return mark, [inside] * len(actions)


_ONE_MOVE = Horizon(False, _one_move)
