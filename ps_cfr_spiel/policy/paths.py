"""Places in a game from typed text: "check, bet 200", "x b200", "1 2", "#12"."""

import pyspiel

from ps_cfr_spiel.notation import find_action, split_words
from ps_cfr_spiel.policy.naming import action_name, action_names, line_to, move_name
from ps_cfr_spiel.tree import CHANCE, TERMINAL, Labels


def play_moves(game: pyspiel.Game, moves: str) -> tuple[pyspiel.State, tuple[str, ...]]:
  """The state after moves of chance and of the players, all of them written, and their names.

  ValueError if a move is unknown or illegal.
  """
  state, words, names = game.new_initial_state(), split_words(moves), ()
  while words:
    if state.is_terminal():
      raise ValueError(f"The game is over after {', '.join(names)}; {' '.join(words)!r} cannot follow.")
    ids = state.legal_actions()
    legal = [move_name(state, action) for action in ids]
    choice, used = find_action(words, legal, ids, names)
    state.apply_action(ids[choice])
    words, names = words[used:], (*names, legal[choice])
  return state, names


def find_public_state(game: pyspiel.Game, labels: Labels, path: str) -> int:
  """The public state after public moves; see `views.spot`."""
  words, index, history = split_words(path), 0, ()
  while True:
    below = labels.children[index]
    hidden = len(below) == 1 and labels.public_states[below[0]].action < 0
    if words and words[0].startswith("#"):
      index, words = _numbered(labels, words[0]), words[1:]
      history = line_to(game, labels, index)
    elif hidden and (words or labels.public_states[index].player == CHANCE):
      words, index = _without_hidden(game, labels, index, words), below[0]
    elif not words:
      return index
    elif not below:
      raise ValueError(f"The game is over after {', '.join(history)}; {' '.join(words)!r} cannot follow.")
    else:
      name, index, words = _next(game, labels, index, words, history)
      history = (*history, name)


def _numbered(labels: Labels, word: str) -> int:
  """The public state of the word "#12"."""
  count = len(labels.public_states)
  if not word[1:].isdecimal() or int(word[1:]) >= count:
    raise ValueError(f"Unknown public state {word!r}; they are numbered from #0 to #{count - 1}.")
  return int(word[1:])


def _without_hidden(game: pyspiel.Game, labels: Labels, index: int, words: list[str]) -> list[str]:
  """The words after a player's hidden move, if they begin with one."""
  for number in labels.public_states[index].decisions:
    decision = labels.decisions[number]
    names = action_names(game, labels, decision)
    try:
      return words[find_action(words, names, decision.legal_actions, ())[1] :]
    except ValueError:
      continue
  return words


def _next(
  game: pyspiel.Game, labels: Labels, index: int, words: list[str], history: tuple[str, ...]
) -> tuple[str, int, list[str]]:
  """The public move in the first words, the public state after it, and the words after it."""
  moves: dict[tuple[int, ...], list[int]] = {}
  for child in labels.children[index]:
    action = labels.public_states[child].action
    moves.setdefault((action, *(labels.source.dealt(child) if action < 0 else ())), []).append(child)
  found = list(moves.values())
  names = [action_name(game, labels, children[0]) for children in found]
  choice, used = find_action(words, names, [action for action, *_ in moves], history)
  found = found[choice]
  # The result of an action may depend on hidden moves: the end of the game, or a public observation.
  goes_on = [child for child in found if labels.public_states[child].player != TERMINAL] or found[:1]
  if len(goes_on) > 1:
    several = " or ".join(f"#{child}" for child in goes_on)
    raise ValueError(f"{names[choice]!r} leads to several public states; write {several} instead.")
  return names[choice], goes_on[0], words[used:]
