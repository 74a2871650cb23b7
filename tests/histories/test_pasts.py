"""Names of infostates that hold their player's past: what was seen, and every own action between."""

import pyspiel

from ps_cfr_spiel.compilation.histories.enumeration import enumerate_histories
from ps_cfr_spiel.compilation.histories.player_information import remember, remembered


def past_of(game, path, player):
  """The strings a player saw, those that stay the same once, and the own actions, by plain recursion."""
  state = game.new_initial_state()
  lines = [state.observation_string(player)]
  seen, unnoticed = lines[0], 0
  for action in path:
    own = state.current_player() == player
    state.apply_action(action)
    now = state.observation_string(player)
    unnoticed += own and now == seen
    if own:
      lines += [f"-> {action}", now]
    elif now != seen:
      lines.append(now)
    seen = now
  return "\n".join(lines), unnoticed


def test_pasts_hold_own_actions_that_change_nothing_that_is_seen():
  """In phantom Go stones of the other player may make a move one in vain; its player remembers it."""
  game, unnoticed = pyspiel.load_game("phantom_go(board_size=2,max_game_length=4)"), 0
  histories = remember(str(game), enumerate_histories(game), memory=1e9)
  for h in range(len(histories.parent)):
    path = histories.path(h)
    state = game.new_initial_state()
    for action in path:
      state.apply_action(action)
    for player in (0, 1):
      expected, vain = past_of(game, path, player)
      unnoticed += vain
      assert histories.names[player][histories.infostate[player][h]] == expected
      assert remembered(state, player) == expected
  assert unnoticed > 0
