"""The answers of every policy of this package to OpenSpiel's question about a state."""

from collections.abc import Callable
from typing import Any

import pyspiel

from ps_cfr_spiel.compilation.histories import sequential_state
from ps_cfr_spiel.loading import given_name


def probabilities_at(
  state: pyspiel.State,
  player_id: int | None,
  game: pyspiel.Game,
  at: Callable[[pyspiel.State, int], dict[int, float]],
) -> dict[int, float]:
  """The answer of every policy of this package to OpenSpiel's question about a state of its `game`.

  `at` has the answers by state and player, ValueError for an unknown infostate. A state of a simultaneous
  game counts as the player's turn in its turn-based version. OpenSpiel's tools also visit states behind
  chance outcomes of probability zero, listed or not. No solver comes there, and play is uniform.

  TypeError if `state` is not a state; ValueError if it is of another game, or no player acts there.
  """
  player = acting_player(state, player_id)
  state = sequential_state(state, player)
  played, actions = state.get_game(), state.legal_actions(player)
  try:
    probabilities = {} if are_strangers(played, game) else at(state, player)
  except ValueError:
    if not actions or _is_possible(state):
      raise
    return dict.fromkeys(actions, 1 / len(actions))
  if list(probabilities) != actions:
    raise ValueError(f"This policy is for {game}; the state is of another game, {played}.")
  return probabilities


def are_strangers(one: pyspiel.Game, other: pyspiel.Game) -> bool:
  """True if two games have different names (`given_name`) or numbers of players; the rest may differ."""
  if one == other:
    return False
  return one.num_players() != other.num_players() or given_name(one) != given_name(other)


def _is_possible(state: pyspiel.State) -> bool:
  """True if every outcome of chance on the way to a state has a positive probability."""
  position = state.get_game().new_initial_state()
  for action in state.history():
    if position.is_chance_node() and not dict(position.chance_outcomes()).get(action):
      return False
    position.apply_action(action)
  return True


def acting_player(state: pyspiel.State, player_id: int | None) -> int:
  """The player for whom an OpenSpiel policy is asked; TypeError or ValueError if no player acts there."""
  _check_state(state)
  player = state.current_player() if player_id is None else player_id
  players = range(state.num_players())
  if player not in players:
    numbers = " or ".join(map(str, players))
    raise ValueError(f"No player acts at this state (current player {player}); expected {numbers}.")
  if not state.is_simultaneous_node() and player != state.current_player():
    raise ValueError(f"Player {player} does not act at this state (current player {state.current_player()}).")
  return player


def _check_state(state: Any) -> None:
  """TypeError unless it is a state."""
  if not isinstance(state, pyspiel.State):
    raise TypeError(f"Expected a pyspiel.State, got {type(state).__name__} {state!r}.")


def check_turn(state: pyspiel.State, player: int) -> None:
  """ValueError unless it is the player's turn, for bots; TypeError unless `state` is a state."""
  _check_state(state)
  if state.current_player() != player:
    raise ValueError(f"It is not the turn of player {player}, but of {state.current_player()}.")
