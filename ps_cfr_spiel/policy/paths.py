"""Places in a game from typed text: "check, bet 200", "x b200", "1 2", "#12"."""

import re
from collections.abc import Sequence

import pyspiel

from ps_cfr_spiel.cards.notation import Moves, fitting_moves, next_move, split_words
from ps_cfr_spiel.policy.naming import (
  action_name,
  action_names,
  bet_sizes,
  line_to,
  make_state,
  move_name,
  state_after,
)
from ps_cfr_spiel.tree import CHANCE, TERMINAL, Decision, Labels


def legal_moves(state: pyspiel.State, history: Sequence[str] = ()) -> Moves:
  """The legal moves of a state, to read one of them; `history` has names of moves before, for errors."""
  ids = state.legal_actions()
  return Moves([move_name(state, action) for action in ids], ids, _sizes(state, ids), history)


def decision_moves(
  game: pyspiel.Game, labels: Labels, decision: Decision, history: Sequence[str] = ()
) -> Moves:
  """The same for a row; ValueError if every type is impossible there."""
  names = action_names(game, labels, decision)
  first = next(h for h, name in enumerate(decision.infostates) if name is not None)
  sizes = _sizes(make_state(labels, game, decision, first), decision.legal_actions)
  return Moves(names, decision.legal_actions, sizes, history)


def _sizes(state: pyspiel.State, ids: Sequence[int]) -> tuple[float | None, ...]:
  """The chips each action adds after calling, over the pot after the call; () in games without sizes."""
  try:
    sizes = {} if state.current_player() < 0 else bet_sizes(state)
  except ValueError:
    return ()
  return tuple(map(sizes.get, ids)) if sizes else ()


def play_moves(game: pyspiel.Game, moves: str) -> tuple[pyspiel.State, tuple[str, ...]]:
  """The state after moves of chance and of the players, all of them written, and their names.

  Numbers alone are OpenSpiel's, those of `State.history()`. ValueError if a move is unknown or illegal.
  """
  state, words, start, names = game.new_initial_state(), split_words(moves), 0, ()
  numbers = all(word.isascii() and word.isdecimal() for word in words)
  while start < len(words):
    if state.is_terminal():
      raise ValueError(_over(names, words[start:]))
    legal = legal_moves(state, names)
    if numbers:  # 2 is not the bet of 2
      legal = Moves([str(action) for action in legal.ids], legal.ids, (), names)
    choice, start = next_move(words, start, legal)
    action = state.legal_actions()[choice]
    names = (*names, move_name(state, action))
    state.apply_action(action)
  return state, names


def find_public_state(game: pyspiel.Game, labels: Labels, path: str) -> int:
  """The public state after public moves; see `views.spot`."""
  words, start, index, history = split_words(path), 0, 0, ()
  while True:
    below = labels.children[index]
    hidden = len(below) == 1 and labels.public_states[below[0]].action < 0
    if start < len(words) and words[start].startswith("#"):
      index, start = _numbered(labels, words[start]), start + 1
      history = line_to(game, labels, index)
    elif hidden and (start < len(words) or labels.public_states[index].player == CHANCE):
      start, index = _after_hidden(game, labels, index, words, start), below[0]
    elif start == len(words):
      return index
    elif not below:
      raise ValueError(_over(history, words[start:]))
    else:
      name, index, start = _next(game, labels, index, words, start, history)
      history = (*history, name)


def _over(history: Sequence[str], words: Sequence[str]) -> str:
  return f"The game is over after {', '.join(history)}; {' '.join(words)!r} cannot follow."


def _numbered(labels: Labels, word: str) -> int:
  """The public state of the word "#12"."""
  count = len(labels.public_states)
  if not re.fullmatch("[0-9]{1,12}", word[1:]) or int(word[1:]) >= count:
    raise ValueError(f"Unknown public state {word[:20]!r}; they are numbered from #0 to #{count - 1}.")
  return int(word[1:])


def _after_hidden(game: pyspiel.Game, labels: Labels, index: int, words: Sequence[str], start: int) -> int:
  """The place in the words after a player's hidden move, if it is written there."""
  for number in labels.public_states[index].decisions:
    fits, end = fitting_moves(words, start, decision_moves(game, labels, labels.decisions[number]))
    if fits:
      return end
  return start


def _next(
  game: pyspiel.Game, labels: Labels, index: int, words: Sequence[str], start: int, history: tuple[str, ...]
) -> tuple[str, int, int]:
  """The public move in the words from a place on, the public state after it, and the place after it."""
  children: dict[tuple[int, ...], list[int]] = {}
  for child in labels.children[index]:
    action = labels.public_states[child].action
    children.setdefault((action, *(labels.source.public_cards(child) if action < 0 else ())), []).append(
      child
    )
  alike, ids = list(children.values()), [action for action, *_ in children]
  names = [action_name(game, labels, group[0]) for group in alike]
  sizes = _sizes(state_after(game, labels.source.history(index)), ids)
  choice, end = next_move(words, start, Moves(names, ids, sizes, history))
  # The result of an action may depend on hidden moves: the end of the game, or a public observation.
  goes_on = [child for child in alike[choice] if labels.public_states[child].player != TERMINAL]
  goes_on = goes_on or alike[choice][:1]
  if len(goes_on) > 1:
    several = " or ".join(f"#{child}" for child in goes_on)
    raise ValueError(f"{names[choice]!r} leads to several public states; write {several} instead.")
  return names[choice], goes_on[0], end
