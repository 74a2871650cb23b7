"""Positions of Glasses, by the moves that lead there."""

import pyspiel


def play(game_string, *moves):
  """The state after moves: the nodes of the stones as a tuple, or the node of the evader."""
  state = pyspiel.load_game(game_string).new_initial_state()
  for move in moves:
    name = f"Stones to {'/'.join(map(str, move))}" if isinstance(move, tuple) else f"Evader to {move}"
    state.apply_action_with_legality_check(state.string_to_action(name))
  return state
