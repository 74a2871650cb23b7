"""The hidden states of any OpenSpiel game: its own states, stepped one by one.

The player's observations are their infostates at and right after their own decisions. In between all moves
of chance and of the others are followed, so the cost of a step grows with the moves that the player does
not see.
"""

from typing import Any

import numpy as np
import pyspiel

from ps_cfr_spiel.histories import check_is_game
from ps_cfr_spiel.simulated.particles import HiddenStates, Thin, Weighted

MOST_KNOWN = 1_000_000  # infostates whose strategies are kept


class OpenSpielStates(HiddenStates):
  """Histories as particles, and plays from them; see `HiddenStates`.

  Attributes:
    game: the game.
    policy: an OpenSpiel policy of all players.
    tremble: share of uniform play in the others' policy, as particles see it.
  """

  def __init__(self, game: pyspiel.Game, policy: Any, tremble: float = 0.0):
    """ValueError if the players of `game` move at the same time or have no infostates."""
    check_is_game(game)
    kind = game.get_type()
    if kind.dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL or not kind.provides_information_state_string:
      raise ValueError(f"{game} has no particles: players must move one after the other, by infostates.")
    self.game, self.policy, self.tremble = game, policy, tremble
    self._known: dict[tuple[int, str], tuple[list[int], np.ndarray]] = {}

  def seen(self, state: pyspiel.State, player: int) -> list[Any]:
    """("at", infostate) and ("did", action, infostate after it or None) in turn."""
    now = self.game.new_initial_state()
    found: list[Any] = [("begins",)]
    for action in state.history():
      own = now.current_player() == player
      if own:
        found.append(("at", now.information_state_string(player)))
      now.apply_action(action)
      if own:
        found.append(("did", action, _string(now, player)))
    return [*found, ("at", now.information_state_string(player))]

  def begin(self, seen: Any) -> Weighted:
    return _array([self.game.new_initial_state()]), np.ones(1)

  def step(self, hidden: np.ndarray, weights: np.ndarray, player: int, seen: Any, thin: Thin) -> Weighted:
    if seen[0] == "at":
      return self._until(hidden, weights, player, seen[1], thin)
    _, action, string = seen
    states = [state.child(action) for state in hidden]
    fits = [None in (string, there := _string(state, player)) or there == string for state in states]
    return _array(states)[fits], weights[fits]

  def _until(self, hidden: np.ndarray, weights: np.ndarray, player: int, string: str, thin: Thin) -> Weighted:
    """Follows chance and the others to the player's next decision."""
    ready, ready_weights = [], []
    while len(hidden):
      after, after_weights = [], []
      for state, weight in zip(hidden, weights, strict=True):
        if state.is_terminal():
          continue
        if state.current_player() == player:
          if state.information_state_string(player) == string:
            ready.append(state)
            ready_weights.append(weight)
          continue
        for action, probability in self._moves(state):
          if probability > 0:
            after.append(state.child(action))
            after_weights.append(weight * probability)
      hidden, weights = thin(_array(after), np.array(after_weights))
    return _array(ready), np.array(ready_weights)

  def rollouts(
    self, state: pyspiel.State, player: int, hidden: np.ndarray, actions: np.ndarray, random: Any
  ) -> np.ndarray:
    found = np.empty(len(actions))
    for number, (begin, action) in enumerate(zip(hidden, actions.tolist(), strict=True)):
      now = begin.child(action)
      while not now.is_terminal():
        if now.is_chance_node():
          moves, odds = zip(*now.chance_outcomes(), strict=True)
          sums = np.cumsum(odds)
        else:
          moves, sums = self._strategy(now)
        now.apply_action(moves[min(sums.searchsorted(random.random() * sums[-1], "right"), len(moves) - 1)])
      found[number] = now.player_return(player)
    return found

  def _moves(self, state: pyspiel.State) -> list[tuple[int, float]]:
    if state.is_chance_node():
      return state.chance_outcomes()
    actions, sums = self._strategy(state)
    shares = (1 - self.tremble) * np.diff(sums, prepend=0) + self.tremble / len(actions)
    return list(zip(actions, shares.tolist(), strict=True))

  def _strategy(self, state: pyspiel.State) -> tuple[list[int], np.ndarray]:
    """The actions and the sums of their probabilities; the policy is asked once about an infostate."""
    player = state.current_player()
    key = player, state.information_state_string(player)
    if (known := self._known.get(key)) is None:
      actions, shares = zip(*self.policy.action_probabilities(state, player).items(), strict=True)
      if len(self._known) >= MOST_KNOWN:
        self._known.clear()
      known = self._known[key] = list(actions), np.cumsum(shares)
    return known


def _string(state: pyspiel.State, player: int) -> str | None:
  """The infostate of a player while a player moves, else None."""
  return state.information_state_string(player) if state.current_player() >= 0 else None


def _array(states: list[pyspiel.State]) -> np.ndarray:
  found = np.empty(len(states), object)
  found[:] = states
  return found
