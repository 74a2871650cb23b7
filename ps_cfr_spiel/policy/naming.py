"""Actions, public states and locks in the game's own words; sizes of bets; states for asking it."""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyspiel

from ps_cfr_spiel.cards.notation import grouped, is_hand, kinds_text
from ps_cfr_spiel.cards.poker import betting
from ps_cfr_spiel.tree import Decision, Labels

HIDDEN = "..."  # the name of a hidden move
MOST_LOCKS, MOST_MIXTURES = 5, 3  # that are listed one by one: public states, and mixtures of each
LONGEST = 60  # characters of a lock's hands


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
  moves = labels.source.public_cards(number) if state.action < 0 else [state.action]
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
  match = re.search(r"^Spent: \[P0: (\d+) +P1: (\d+) +\]", str(state), re.MULTILINE)
  return (int(match[1]), int(match[2])) if match else None


def locks_text(game: pyspiel.Game, labels: Labels, rows: Mapping[int, np.ndarray]) -> str:
  """Locks in words, "after Check, Bet 15: Call with AA; others free", or "" without any.

  `rows` as for `tree.lock_rows`; it lists the locks of some public states, and counts the others.
  """
  places: dict[int, list[int]] = {}
  for n in rows:
    places.setdefault(labels.decisions[n].public_state, []).append(n)
  listed = []
  for state, numbers in itertools.islice(places.items(), MOST_LOCKS):
    line = ", ".join(map(grouped, line_to(game, labels, state)))
    words = (_lock_text(game, labels, labels.decisions[n], rows[n]) for n in numbers)
    listed.append(f"{f'after {line}' if line else 'at the start'}: {'; '.join(filter(None, words))}")
  more = len(places) - len(listed)
  return " | ".join(listed + ([f"and after {more:,} other lines"] if more else []))


def _lock_text(game: pyspiel.Game, labels: Labels, decision: Decision, strategy: np.ndarray) -> str:
  """A row's lock in words: each mixture with its hands, the one of most hands last; "" where it has none."""
  possible = [h for h, name in enumerate(decision.infostates) if name is not None]
  together: dict[tuple[float, ...], list[int]] = {}
  for h in possible:
    together.setdefault(tuple(strategy[:, h].round(4).tolist()), []).append(h)
  free = together.pop((0.0,) * len(strategy), [])
  if not together:
    return ""
  others = ["others free"] if free else []
  if len(together) > MOST_MIXTURES:
    return "; ".join([f"{len(possible) - len(free)} hands with a mixture of their own", *others])
  names, types = list(map(grouped, action_names(game, labels, decision))), labels.types[decision.player]
  words = []
  for shares, held in sorted(together.items(), key=lambda pair: len(pair[1])):
    played = [(name, share) for name, share in zip(names, shares, strict=True) if share]
    mixture = ", ".join(f"{name} {100 * share:.4g}%" for name, share in played)
    hands = _hands_text([types[h] for h in held], [types[h] for h in possible])
    words.append(f"{played[0][0] if len(played) == 1 else mixture} with {hands}")
  if not free:
    words[-1] = words[-1].rpartition(" with ")[0] + (" with all others" if words[1:] else "")
  return "; ".join(words + others)


def _hands_text(held: Sequence[str], possible: Sequence[str]) -> str:
  """Types by their names, or by their number where these take too long."""
  text = kinds_text(held, possible) if all(map(is_hand, possible)) else ", ".join(held)
  return text if len(text) <= LONGEST else f"{len(held)} hands"
