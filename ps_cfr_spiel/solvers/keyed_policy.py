"""Strategies in tables by key, as OpenSpiel policies: a key is the part of an infostate that it knows."""

import abc
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel.policy import probabilities_at
from ps_cfr_spiel.simulated import SimulatedGame


class KeyedPolicy(openspiel_policy.Policy, abc.ABC):
  """A strategy as sums over the keys of a game, each of which has a cell for every legal action."""

  def __init__(self, game: pyspiel.Game, info: Mapping[str, Any]):
    """A policy of both players of a game."""
    super().__init__(game, [0, 1])
    self.info = dict(info)  #: its origin

  @abc.abstractmethod
  def sums_at(self, state: pyspiel.State) -> tuple[Sequence[int], np.ndarray]:
    """The actions of the key of the player to move, and their sums, [A]."""

  def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
    """Probability of every legal action at a state: its share, uniform where all sums are 0 or less."""
    return probabilities_at(state, player_id, self.game, lambda state, _: self._at(state))

  def _at(self, state: pyspiel.State) -> dict[int, float]:
    if str(state.get_game()) != str(self.game):
      raise ValueError(f"This policy is for {self.game}; the state is of another game, {state.get_game()}.")
    actions, sums = self.sums_at(state)
    shares = normalised(sums[:, None])[:, 0]
    return dict(sorted(zip(actions, shares.tolist(), strict=True)))


class SimulatedPolicy(KeyedPolicy):
  """A strategy over the keys of a simulated game, in one flat table."""

  def __init__(self, game: pyspiel.Game, form: SimulatedGame, table: np.ndarray, info: Mapping[str, Any]):
    """`form` is that of `game`, whose cells `table` has; negative weights count as 0."""
    super().__init__(game, info)
    #: [S], weights of moves by cell; the moves of a key without weights are equally likely.
    self.table = np.maximum(table, 0)
    self.form = form  #: that of the game

  def sums_at(self, state: pyspiel.State) -> tuple[Sequence[int], np.ndarray]:
    first, actions = self.form.locate(state)
    known = self.table[first : first + len(actions)]  # empty of a key first met now, whose place is behind it
    return actions, np.pad(known, (0, len(actions) - len(known)))

  def cells(self) -> int:
    """The number of moves of keys with a weight."""
    return int(np.count_nonzero(self.table))


def normalised(sums: np.ndarray) -> np.ndarray:
  """float64[..., A, n]: probabilities, from sums that need not be normalised."""
  if not np.isfinite(sums).all():
    raise ValueError("The strategy holds numbers that are not finite: its file is damaged.")
  sums = np.maximum(sums, 0)
  total = sums.sum(-2, dtype=np.float64, keepdims=True)
  return np.where(total > 0, sums / np.where(total > 0, total, 1), 1 / sums.shape[-2])
