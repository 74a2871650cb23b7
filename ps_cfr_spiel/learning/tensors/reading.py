"""The tensors of the public states where a cut begins, read at one history for each infostate.

A function of one's own is asked at two, where there are: it may look at what its player does not know. The
histories are those of the tree, or in a game compiled from its form those of a deal and a line.
"""

import abc
from collections.abc import Sequence

import numpy as np

from ps_cfr_spiel.compilation.compiler import FormOrigin
from ps_cfr_spiel.compilation.histories import HistoryOrigin, Path
from ps_cfr_spiel.learning.boards.places import Slots
from ps_cfr_spiel.learning.features import Pair
from ps_cfr_spiel.learning.tensors.observations import Observations
from ps_cfr_spiel.resolving.subgames import HistoriesPrior, Subgame, Subgames

PUBLIC = 2  # the number of the public tensor, beside the players'


class Paths(abc.ABC):
  """The histories of the infostates in some public states."""

  @abc.abstractmethod
  def of(self, player: int, public_state: int, slot: int, last: bool = False) -> Path:
    """A history of a public state with a player's infostate, given by its place in a range [roots * H].

    The first one, or the `last`, which may be the same.
    """


class ListedPaths(Paths):
  """Those of a tree that has its histories."""

  def __init__(self, source: HistoryOrigin, prior: HistoriesPrior, public_states: Sequence[int]):
    """Take for each infostate in the public states its first history, and its last."""
    assert source.public is not None
    self._source, self._history = source, []
    members = np.flatnonzero(np.isin(source.public, np.asarray(public_states, int)))
    for (_, types), root, type_ in zip(prior.shapes, prior.root, prior.type, strict=True):
      slots = root * types + type_
      slot, first = np.unique(slots, return_index=True)
      last = len(slots) - 1 - np.unique(slots[::-1], return_index=True)[1]
      both = np.stack([members[first], members[last]], 1)
      self._history.append(dict(zip(slot.tolist(), both.tolist(), strict=True)))

  def of(self, player: int, public_state: int, slot: int, last: bool = False) -> Path:
    return tuple(self._source.histories.path(self._history[player][slot][last]))


class DealtPaths(Paths):
  """Those of a tree compiled from a form."""

  def __init__(self, source: FormOrigin):
    """Take the tree's source."""
    self._source = source

  def of(self, player: int, public_state: int, slot: int, last: bool = False) -> Path:
    hand = slot % len(self._source.lines.form.weights[player])
    return tuple(self._source.path_of(player, public_state, hand, last))


def paths_of(subgames: Subgames, subgame: Subgame, public_states: Sequence[int]) -> Paths:
  """The histories of the public states where a cut begins."""
  source, prior = subgames.labels.source, subgame.prior
  if isinstance(source, FormOrigin):
    return DealtPaths(source)
  assert isinstance(source, HistoryOrigin) and isinstance(prior, HistoriesPrior)
  return ListedPaths(source, prior, public_states)


class Reading:
  """The tensors of some public states."""

  def __init__(self, observations: Observations, paths: Paths, public_states: Sequence[int], slots: Slots):
    self.observations, self.public_states, self.slots = observations, public_states, slots
    self._all_paths = paths
    self.paths: list[list[dict[int, Path]]] = []  # for each player and public state by column
    for player in (0, 1):
      index, possible = slots.index[player], slots.possible[player]
      self.paths.append(
        [
          {m: paths.of(player, s, int(index[k, m])) for m in np.flatnonzero(possible[k]).tolist()}
          for k, s in enumerate(public_states)
        ]
      )

  def private(self, player: int) -> np.ndarray:
    """float32[K, M, D]: a player's tensors; ValueError unless infostates of one public state differ.

    ValueError also for a function of one's own that differs between two histories of an infostate.
    """
    shape = self.slots.index[player].shape
    tensors: np.ndarray | None = None
    for k, paths in enumerate(self.paths[player]):
      made = [self.observations.at(path, player) for path in paths.values()]
      if self.observations.function is not None:
        self._check_unknown(player, k, made)
      if tensors is None:
        tensors = np.zeros((*shape, len(made[0])), np.float32)
      if {len(row) for row in made} != {tensors.shape[-1]}:
        raise ValueError(f"{self._name}: the tensors of player {player} differ in length.")
      if len({row.tobytes() for row in made}) < len(made):
        path = [*next(iter(paths.values()))]
        raise ValueError(
          f"{self._name}: infostates of player {player} have equal tensors in the public "
          f"state of {path}; give features, a function (state, player) -> numbers, that differ."
        )
      tensors[k, list(paths)] = made
    return np.zeros((*shape, 0), np.float32) if tensors is None else tensors

  def _check_unknown(self, player: int, k: int, made: Sequence[np.ndarray]) -> None:
    """ValueError where features of a public state depend on the history within an infostate."""
    public_state, index = self.public_states[k], self.slots.index[player]
    for (m, path), tensor in zip(self.paths[player][k].items(), made, strict=True):
      other = self._all_paths.of(player, public_state, int(index[k, m]), last=True)
      if other != path and not np.array_equal(tensor, self.observations.at(other, player)):
        raise ValueError(
          f"{self._name} must be what player {player} knows: they differ between the histories {[*path]} "
          f"and {[*other]}, which are one infostate."
        )

  def public(self, private: Pair) -> np.ndarray:
    """float32[K, P]: the public tensors; ValueError if one is not public."""
    if not self.observations.public:
      real = [np.zeros(at.shape, bool) for at in self.slots.index]
      for i in (0, 1):
        for k, paths in enumerate(self.paths[i]):
          real[i][k, list(paths)] = True
      means = [
        x.sum(1) / np.maximum(at.sum(1, keepdims=True), 1) for x, at in zip(private, real, strict=True)
      ]
      return np.concatenate(means, 1).astype(np.float32)
    rows = []
    for infostates in zip(*self.paths, strict=True):
      # Those of one player may all have the same infostate of the other, so both players' are compared.
      first, *others = dict.fromkeys(path for paths in infostates for path in paths.values())
      rows.append(tensor := self.observations.at(first, PUBLIC))
      for other in others:
        if not np.array_equal(tensor, self.observations.at(other, PUBLIC)):
          raise ValueError(
            f"{self._name}: the tensor of the public observer is not public: it differs between the "
            f"histories {[*first]} and {[*other]}."
          )
    tensors = np.zeros((len(self.slots.index[0]), len(rows[0]) if rows else 0), np.float32)
    if rows:
      tensors[: len(rows)] = rows
    return tensors

  @property
  def _name(self) -> str:
    return f"{self.observations.source} features of {self.observations.game}"
