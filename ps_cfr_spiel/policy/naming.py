"""The names of actions and public states, in the game's own words; sizes of bets; states for asking it."""

import re
from collections.abc import Iterable, Mapping

import pyspiel

from ps_cfr_spiel.poker import betting
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
  """The game's name of a move; of OpenSpiel's "Chance outcome:3" and "player=0 move=Call": Deal 3, Call."""
  name = state.action_to_string(state.current_player(), action)
  return re.sub("^player=-?[0-9]+ move=", "", name).replace("Chance outcome:", "Deal ")


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
    if action == betting.CALL:
      sizes[action] = 0.0
    elif action != betting.FOLD:
      # In the full game a bet's number is the chips that the bettor has spent then.
      after = action if whole else max(_spent(state.child(action)) or before)
      sizes[action] = (after - called) / (2 * called)
  return sizes


def _spent(state: pyspiel.State) -> tuple[int, int] | None:
  """The chips that each player has put into the pot, as `universal_poker` writes them; None elsewhere."""
  found = re.search(r"^Spent: \[P0: (\d+) +P1: (\d+) +\]", str(state), re.MULTILINE)
  return (int(found[1]), int(found[2])) if found else None
