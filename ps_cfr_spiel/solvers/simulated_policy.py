"""A strategy over the keys of a simulated game, as an OpenSpiel policy."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel.policy import probabilities_at
from ps_cfr_spiel.simulated import SimulatedGame


class SimulatedPolicy(openspiel_policy.Policy):
  """A strategy over the keys of a simulated game as an OpenSpiel policy."""

  def __init__(self, game: pyspiel.Game, form: SimulatedGame, table: np.ndarray, info: Mapping[str, Any]):
    """`form` is that of `game`, whose cells `table` has; negative weights count as 0."""
    super().__init__(game, [0, 1])
    #: [S], weights of moves by cell; the moves of a key without weights are equally likely.
    self.table = np.maximum(table, 0)
    self.info = dict(info)  #: its origin
    self.form = form  #: that of the game

  def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
    """Probability of every legal action at a state."""
    return probabilities_at(state, player_id, self.game, lambda state, _: self._at(state))

  def _at(self, state: Any) -> dict[int, float]:
    if str(state.get_game()) != str(self.game):
      raise ValueError(f"This policy is for {self.game}; the state is of another game, {state.get_game()}.")
    first, actions = self.form.locate(state)
    weights = self.table[first : first + len(actions)].astype(np.float64)
    total = weights.sum()
    shares = weights / total if total > 0 else np.full(len(actions), 1 / len(actions))
    return dict(sorted(zip(actions, shares.tolist(), strict=True)))

  def cells(self) -> int:
    """The number of moves of keys with a weight."""
    return int(np.count_nonzero(self.table))
