"""The moves of a game's states: their names, their sizes, and states from the moves that are typed."""

import re
from collections.abc import Iterable, Mapping, Sequence

import pyspiel

from ps_cfr_spiel.cards.notation.moves import Moves, next_move, split_words

FOLD, CALL = 0, 1  # of `universal_poker`


def state_after(game: pyspiel.Game, history: Iterable[int]) -> pyspiel.State:
  """The state after some actions from the start."""
  state = game.new_initial_state()
  for action in history:
    state.apply_action(action)
  return state


def move_name(state: pyspiel.State, action: int) -> str:
  """The game's name of a move; of OpenSpiel's "Chance outcome:3" and "player=0 move=Call": Deal 3, Call."""
  name = state.action_to_string(state.current_player(), action)
  return re.sub("^player=-?[0-9]+ move=", "", name).replace("Chance outcome:", "Deal ")


def legal_moves(state: pyspiel.State, history: Sequence[str] = ()) -> Moves:
  """The legal moves of a state, to read one of them; `history` has names of moves before, for errors."""
  ids = state.legal_actions()
  return Moves([move_name(state, action) for action in ids], ids, sizes_of(state, ids), history)


def sizes_of(state: pyspiel.State, ids: Sequence[int]) -> tuple[float | None, ...]:
  """The chips each action adds after calling, over the pot after the call; () in games without sizes."""
  try:
    sizes = {} if state.current_player() < 0 else bet_sizes(state)
  except ValueError:
    return ()
  return tuple(map(sizes.get, ids)) if sizes else ()


def play_moves(
  game: pyspiel.Game, moves: str, after: pyspiel.State | None = None
) -> tuple[pyspiel.State, tuple[str, ...]]:
  """The state after moves of chance and of the players, all of them written, and their names.

  Numbers alone are OpenSpiel's, those of `State.history()`. The moves follow a state, by default the start.
  ValueError if a move is unknown or illegal.
  """
  state = game.new_initial_state() if after is None else after.clone()
  words, start, names = split_words(moves), 0, ()
  numbers = all(word.isascii() and word.isdecimal() for word in words)
  while start < len(words):
    if state.is_terminal():
      raise ValueError(game_over(names, words[start:]))
    legal = legal_moves(state, names)
    if numbers:  # 2 is not the bet of 2
      legal = Moves([str(action) for action in legal.ids], legal.ids, (), names)
    choice, start = next_move(words, start, legal)
    action = state.legal_actions()[choice]
    names = (*names, move_name(state, action))
    state.apply_action(action)
  return state, names


def game_over(history: Sequence[str], words: Sequence[str]) -> str:
  """The error for words that follow the end of a game."""
  return f"The game is over after {', '.join(history)}; {' '.join(words)!r} cannot follow."


def bet_sizes(state: pyspiel.State) -> Mapping[int, float]:
  """The size of each legal action but a fold: from the state's own method of this name, or the chips spent.

  ValueError if the state has no such method, and is not one of `universal_poker` for two.
  """
  if hasattr(state, "bet_sizes"):
    return state.bet_sizes()
  if (before := _spent(state)) is None:
    raise ValueError(
      f"{state.get_game().get_type().short_name} has no sizes of bets: its states have no method bet_sizes; "
      f"pass sizes=, a function of a state."
    )
  called, whole = max(before), state.get_game().get_parameters().get("bettingAbstraction") == "fullgame"
  sizes = {}
  for action in state.legal_actions():
    if action == CALL:
      sizes[action] = 0.0
    elif action != FOLD:
      # In the full game a bet's number is the chips that the bettor has spent then.
      after = action if whole else max(_spent(state.child(action)) or before)
      sizes[action] = (after - called) / (2 * called)
  return sizes


def _spent(state: pyspiel.State) -> tuple[int, int] | None:
  """The chips that each player has put into the pot, as `universal_poker` writes them; None elsewhere."""
  match = re.search(r"^Spent: \[P0: (\d+) +P1: (\d+) +\]", str(state), re.MULTILINE)
  return (int(match[1]), int(match[2])) if match else None
