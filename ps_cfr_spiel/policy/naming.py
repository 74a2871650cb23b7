"""The names of actions and public states, in the game's own words; and states for asking it."""

from collections.abc import Iterable

import pyspiel

from ps_cfr_spiel.tree import Decision, Labels

HIDDEN = "..."  # the name of a hidden move


def state_after(game: pyspiel.Game, history: Iterable[int]) -> pyspiel.State:
  """The state after some actions from the start."""
  state = game.new_initial_state()
  for action in history:
    state.apply_action(action)
  return state


def make_state(labels: Labels, game: pyspiel.Game, decision: Decision, type_index: int) -> pyspiel.State:
  """A state where the player of `decision` has the given type."""
  return state_after(game, labels.source.path(decision, type_index))


def move_name(state: pyspiel.State, action: int) -> str:
  """The game's name of a move; "Deal 3" for OpenSpiel's "Chance outcome:3"."""
  name = state.action_to_string(state.current_player(), action)
  return name.replace("Chance outcome:", "Deal ")


def action_names(game: pyspiel.Game, labels: Labels, decision: Decision) -> tuple[str, ...]:
  """The names of the legal actions of a row; ValueError if every type is impossible there."""
  first = next((h for h, name in enumerate(decision.infostates) if name is not None), None)
  if first is None:
    place = ", ".join(line_to(game, labels, decision.public_state))
    raise ValueError(f"After {place} player {decision.player} has no hand left: the cards block all of them.")
  state = make_state(labels, game, decision, first)
  return tuple(move_name(state, action) for action in decision.legal_actions)


def action_name(game: pyspiel.Game, labels: Labels, number: int) -> str:
  """The name of the move from the parent to a public state; `HIDDEN` for hidden moves.

  Cards that come at once are one move, such as "Deal 2c2d3c".
  """
  state = labels.public_states[number]
  if state.parent < 0:
    return "root"
  moves = labels.source.dealt(number) if state.action < 0 else [state.action]
  if not moves:
    return HIDDEN
  before = state_after(game, labels.source.history(state.parent))
  first, *others = (move_name(before, action) for action in moves)
  return first + "".join(name.removeprefix("Deal ") for name in others)


def line_to(game: pyspiel.Game, labels: Labels, number: int) -> tuple[str, ...]:
  """The names of the public moves that lead to a public state, in order; hidden ones are left out."""
  names = []
  while number > 0:
    if (name := action_name(game, labels, number)) != HIDDEN:
      names.append(name)
    number = labels.public_states[number].parent
  return tuple(names[::-1])
