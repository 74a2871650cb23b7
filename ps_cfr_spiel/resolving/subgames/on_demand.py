"""Public states on demand: their histories, and trees below them, of games that are not enumerated.

The public state of a history is found from the start of the game: all moves after the histories of one public
state are grouped by common knowledge into the next ones, and the one on the way is followed. So all
histories of the public states on the way are visited, and no others but those one move beyond.
"""

import functools
import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, NamedTuple

import numpy as np
import pyspiel

from ps_cfr_spiel.compilation.compiler import impossible, tree_of_histories, with_recall
from ps_cfr_spiel.compilation.histories import (
  Histories,
  Horizon,
  Limits,
  Path,
  check_kind,
  find_histories,
  grow,
  history_origin,
  public_observer,
  public_partition,
)
from ps_cfr_spiel.loading import sequential
from ps_cfr_spiel.memory import HISTORY
from ps_cfr_spiel.options import LIMIT
from ps_cfr_spiel.resolving.subgames.cut import Subgames
from ps_cfr_spiel.resolving.subgames.priors import HistoriesPrior
from ps_cfr_spiel.resolving.subgames.subgame import Subgame
from ps_cfr_spiel.tree import Decision

TREE_HISTORY = 180  # bytes of a history of a tree that is kept, beside the strings
KEPT = 1_000_000  # histories of public states that are kept, at most

Members = tuple[Path, ...]  # the histories of a public state, ascending


class Dealt(NamedTuple):
  """The n deals in a public state, in one order in all trees: its histories, ascending, or pairs of types."""

  members: Members
  rows: tuple[np.ndarray, np.ndarray]  #: for each player int[n], places in a range [roots, H], flattened
  chance: np.ndarray  #: [n]
  nodes: np.ndarray  #: int[n], of the tree
  actions: int  #: of the player who acts there


class PublicStates:
  """The public states of a game, made when they are asked for."""

  chances: ClassVar[bool] = True  #: whether chance's actions are among those of members

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
        raise impossible(self.game, path[: length + 1])
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

  def place(self, subgames: Subgames, members: Members) -> int:
    """The number, in one of these trees, of a public state, given by its members; the tree has it."""
    return int(subgames.nodes.public[self._history(subgames, members[0])])

  def decision(self, subgames: Subgames, path: Sequence[int]) -> tuple[Decision, int]:
    """The decision at a history of a tree, and the type of the player who acts."""
    return subgames.labels.decisions[int(subgames.nodes.decision[self._history(subgames, path)])], 0

  def dealt(self, subgames: Subgames, subgame: Subgame, public_states: Sequence[int]) -> list[Dealt]:
    """The deals in the public states where a cut of one of these trees begins."""
    source, prior, made = history_origin(subgames.labels), subgame.prior, []
    assert source is not None and source.public is not None and isinstance(prior, HistoriesPrior)
    histories = np.flatnonzero(np.isin(source.public, public_states))
    flat = [r * shape[1] + t for r, t, shape in zip(prior.root, prior.type, prior.shapes, strict=True)]
    for s in public_states:
      inside = np.flatnonzero(source.public[histories] == s)
      paths = [tuple(source.histories.path(h)) for h in histories[inside].tolist()]
      order = sorted(range(len(paths)), key=paths.__getitem__)
      at = inside[order]
      members = tuple(paths[n] for n in order)
      actions = len(source.histories.legal_sets[int(source.histories.legal[histories[at[0]]])])
      nodes = histories[at]
      made.append(Dealt(members, (flat[0][at], flat[1][at]), prior.chance[at], nodes, actions))
    return made

  def above(self, members: Members, length: int) -> Members:
    """The public state of members after their first moves, `length` of them."""
    return self.members(members[0][:length])

  def members_in(self, subgames: Subgames, public_states: Sequence[int]) -> Iterator[Path]:
    """The members of some public states of a tree."""
    for history in np.flatnonzero(np.isin(subgames.nodes.public, public_states)).tolist():
      yield tuple(_histories(subgames).path(history))

  def after(self, subgames: Subgames, node: int, action: int) -> int:
    """The node after an action at one of a tree; -1 if the tree does not have it."""
    histories = _histories(subgames)
    after = np.flatnonzero((histories.parent == node) & (histories.action == action))
    return int(after[0]) if len(after) else -1

  def chance(self, subgames: Subgames) -> np.ndarray:
    """[N]: the probability of each node after one of chance; 1 elsewhere."""
    return _histories(subgames).chance

  def _history(self, subgames: Subgames, path: Sequence[int]) -> int:
    """The number of a history, given by its actions, in a tree that has it."""
    return functools.reduce(functools.partial(self.after, subgames), path, 0)

  def nodes_in(self, after: Subgames, before: Subgames) -> np.ndarray:
    """int[N]: the node of the tree `before` that is each node of the tree `after`, -1 without."""
    return find_histories(_histories(after), _histories(before))

  def tree_bytes(self, subgames: Subgames) -> int:
    """About the memory of a search in a tree, with the strings of its infostates."""
    names = itertools.chain(*_histories(subgames).names)
    return TREE_HISTORY * subgames.labels.histories + sum(map(sys.getsizeof, names))


def _histories(subgames: Subgames) -> Histories:
  source = history_origin(subgames.labels)
  assert source is not None
  return source.histories


def _one_move(state, actions, mark, inside):
  return mark, [inside] * len(actions)


_ONE_MOVE = Horizon(False, _one_move)
