"""The hidden states of any OpenSpiel game: its own states, stepped one by one.

The player's observations are their infostates at and right after their own decisions. In between all moves
of chance and of the others are followed, so the cost of a step grows with the moves that the player does
not see. In a game without strings of infostates, strings of observations in order are the same knowledge.
"""

import bisect
import itertools
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyspiel

from ps_cfr_spiel.compilation.histories import strings_of
from ps_cfr_spiel.keyed_game import HiddenStates, Thin, Weighted
from ps_cfr_spiel.loading import check_is_game

MOST_KNOWN = 1_000_000  # infostates whose strategies are kept
Strategy = tuple[Sequence[int], Sequence[float], list[tuple[int, float]]]
# The actions at an infostate, the sums of their probabilities, and actions with these after the tremble.


class OpenSpielStates(HiddenStates):
  """Histories as particles, and plays from them; see `HiddenStates`."""

  def __init__(self, game: pyspiel.Game, policy: Any, tremble: float = 0.0):
    """ValueError if the players of `game` move at the same time or have no infostates."""
    check_is_game(game)
    kind = game.get_type()
    seen = kind.provides_information_state_string or kind.provides_observation_string
    if kind.dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL or not seen:
      raise ValueError(f"{game} has no particles: players must move one after the other, by infostates.")
    self.game = game
    self.policy = policy  #: an OpenSpiel policy of all players
    self.tremble = tremble  #: share of uniform play in the others' policy, as particles see it
    self._see = [operator.methodcaller(strings_of(game), i) for i in range(game.num_players())]
    self._recalls = kind.provides_information_state_string
    self._known: dict[tuple[int, str], Strategy] = {}

  def string(self, state: pyspiel.State, player: int) -> str:
    """The game's string of the player's knowledge at a state."""
    return self._see[player](state)

  def seen(self, state: pyspiel.State, player: int) -> list[Any]:
    """("at", infostate) and ("did", action, infostate after it or None) in turn."""
    now = self.game.new_initial_state()
    events: list[Any] = [("begins",)]
    for action in state.history():
      acts = now.current_player() == player
      if acts:
        events.append(("at", self.string(now, player)))
      now.apply_action(action)
      if acts:
        events.append(("did", action, self._while_playing(now, player)))
    return [*events, ("at", self.string(now, player))]

  def since(self, state: pyspiel.State, player: int) -> pyspiel.State:
    """The decision, of any player, right after this one's last on the way to a state; the first if none."""
    now, decision = self.game.new_initial_state(), None
    for action in state.history():
      if decision is None and not now.is_chance_node():
        decision = now.clone()
      decision = None if now.current_player() == player else decision
      now.apply_action(action)
    return state if decision is None else decision

  def weight(self, state: pyspiel.State, player: int) -> float:
    """The probability with which chance and the others lead to a state, where the player plays so."""
    now, weight = self.game.new_initial_state(), 1.0
    for action in state.history():
      if now.current_player() != player:
        weight *= dict(self._moves(now))[action]
      now.apply_action(action)
    return weight

  def begin(self, seen: Any) -> Weighted:
    return _array([self.game.new_initial_state()]), np.ones(1)

  def step(self, hidden: np.ndarray, weights: np.ndarray, player: int, seen: Any, thin: Thin) -> Weighted:
    if seen[0] == "at":
      return self._until(hidden, weights, lambda now: now.current_player() == player, player, seen[1], thin)
    if seen[0] == "is":
      return self._until(hidden, weights, lambda now: not now.is_chance_node(), player, seen[1], thin)
    _, action, string = seen
    states = [state.child(action) for state in hidden]
    seen = (self._while_playing(state, player) for state in states)
    fits = [None in (string, there) or there == string for there in seen]
    return _array(states)[fits], weights[fits]

  def _until(
    self, hidden: np.ndarray, weights: np.ndarray, ends: Any, player: int, string: str, thin: Thin
  ) -> Weighted:
    """Follows chance and the others to states where `ends` is true, and the player sees `string`."""
    ready, ready_weights = [], []
    while len(hidden):
      after, after_weights = [], []
      for state, weight in zip(hidden, weights, strict=True):
        if state.is_terminal():
          continue
        if ends(state):
          if self.string(state, player) == string:
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
    after = [begin.child(action) for begin, action in zip(hidden, actions.tolist(), strict=True)]
    return self.plays(after, player, random)

  def plays(self, states: list[pyspiel.State], player: int, random: Any) -> np.ndarray:
    """Returns [n] to the player of one play by the policy from each state."""
    returns = np.empty(len(states))
    points: Iterator[float] = iter(())
    for number, begin in enumerate(states):
      now = begin.clone()
      while not now.is_terminal():
        if now.is_chance_node():
          moves, odds = zip(*now.chance_outcomes(), strict=True)
          sums = [*itertools.accumulate(odds)]
        else:
          moves, sums, _ = self._strategy(now)
        if (point := next(points, None)) is None:
          points = iter(random.random(1024).tolist())  # one at a time they would take as long as the game
          point = next(points)
        now.apply_action(moves[min(bisect.bisect_right(sums, point * sums[-1]), len(moves) - 1)])
      returns[number] = now.player_return(player)
    return returns

  def _while_playing(self, state: pyspiel.State, player: int) -> str | None:
    """The infostate of a player while a player moves, else None."""
    return self.string(state, player) if state.current_player() >= 0 else None

  def _moves(self, state: pyspiel.State) -> list[tuple[int, float]]:
    if state.is_chance_node():
      return state.chance_outcomes()
    return self._strategy(state)[2]

  def _strategy(self, state: pyspiel.State) -> Strategy:
    """The policy's strategy; it is asked once about an infostate."""
    player = state.current_player()
    key = player, self.string(state, player)
    if not self._recalls or (known := self._known.get(key)) is None:
      actions, shares = zip(*self.policy.action_probabilities(state).items(), strict=True)
      if len(self._known) >= MOST_KNOWN:
        self._known.clear()
      even = self.tremble / len(actions)
      moves = [(a, (1 - self.tremble) * p + even) for a, p in zip(actions, shares, strict=True)]
      known = self._known[key] = actions, [*itertools.accumulate(shares)], moves
    return known


def _array(states: list[pyspiel.State]) -> np.ndarray:
  array = np.empty(len(states), object)
  array[:] = states
  return array
