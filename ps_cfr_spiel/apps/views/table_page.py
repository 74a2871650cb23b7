"""A person's game against bots as a page for the browser: their own view, and at the end the bots' thoughts.

The page is `table.html` with the game's data put in, which its server renews after each move. During the game
the data are made of the person's own view alone. A game with a `table()` is drawn, others have their text.
"""

import itertools

import numpy as np
import pyspiel

from ps_cfr_spiel.apps.views.charts import cell
from ps_cfr_spiel.apps.views.game_tables import drawn_table
from ps_cfr_spiel.apps.views.pages import page_of
from ps_cfr_spiel.arguments import JSON
from ps_cfr_spiel.cards.notation import MAX_LISTED, grouped, move_name, state_after
from ps_cfr_spiel.cards.poker import betting, cards
from ps_cfr_spiel.games import poker
from ps_cfr_spiel.matches import Sitting, Thought

MOST_NAMES = 1000  # of legal moves; further ones may be typed
MOST_CHANCES = 8  # actions of a bot's thought that are shown
LEAST_CHANCE = 0.0005  # of them
CELLS = np.array([13 * row + column for row, column in (cell(cards.card_names(h)) for h in cards.ALL_HANDS)])


def table_page(data: dict[str, JSON]) -> str:
  """The page with the data of `table_data` and of the server, or without the former before the first game."""
  return page_of("table.html", data)


def table_data(sitting: Sitting) -> dict[str, JSON]:
  """The person's view as JSON values, and the legal moves at their turn; all else when the game is over."""
  state, seat = sitting.state, sitting.human
  over = state.is_terminal()
  story, present = sitting.views()
  data = {
    "moves": len(state.history()),
    "seat": seat,
    "over": over,
    "story": story,
    "present": present,
    "made": sitting.made,
    "players": len(sitting.bots) + 1,
    "table": drawn_table(state, range(len(sitting.bots) + 1) if over else [seat]),
    "log": _log(state),
    "actions": [],
    "sized": None,
    "result": "",
    "revealed": [],
    "thoughts": [],
  }
  if over:
    ending = {"result": sitting.result(), "revealed": sitting.revealed()}
    return data | ending | {"thoughts": _thoughts(sitting)}
  if state.current_player() != seat:  # a bot failed, and its moves may show its cards
    return data
  sized, legal = _sizes(state), state.legal_actions()
  few = [a for a in legal if a <= betting.CALL] if sized else legal[:MOST_NAMES]
  names = [[a, grouped(move_name(state, a))] for a in few]
  return data | {"actions": names, "listed": MAX_LISTED, "sized": sized}


def _log(state: pyspiel.State) -> list[list[JSON]] | None:
  """The moves of a hand of hold'em, all public: street, player and name; None in other games."""
  if not isinstance(state, poker.PokerState):
    return None
  log, position = [], state.get_game().new_initial_state()
  for action in state.history():
    if position.current_player() >= 0:
      log.append(
        [position.public_state.street, position.current_player(), grouped(move_name(position, action))]
      )
    position.apply_action(action)
  return log


def _sizes(state: pyspiel.State) -> dict[str, int] | None:
  """Bets of any number of chips: the least and the most, the pot after a call, and what names leave out.

  An action of such a bet is the chips in its name, and those that its player had put in on streets before.
  """
  if not isinstance(state, poker.PokerState):
    return None
  rules, public = getattr(state.get_game(), "rules", None), state.public_state
  if rules is None or not isinstance(rules.bets, int):
    return None
  bets = [action for action in state.legal_actions() if action > betting.CALL]
  if not bets:
    return None
  return {"least": bets[0], "most": bets[-1], "called": max(public.spent), "before": public.ante}


# --- Thoughts -------------------------------------------------------------------------------------


def _thoughts(sitting: Sitting) -> list[dict[str, JSON]]:
  """The bots' decisions in a game that is over; a range equal to that of the thought before is left out."""
  thoughts = [_thought(sitting, thought) for thought in sitting.thoughts]
  for before, after in reversed(list(itertools.pairwise(thoughts))):
    if after["held"] == before["held"]:
      after["held"] = None
  return thoughts


def _thought(sitting: Sitting, thought: Thought) -> dict[str, JSON]:
  state = state_after(sitting.game, sitting.state.history()[: thought.moves])
  chances = sorted((thought.chances or {}).items(), key=lambda pair: -pair[1])
  shown = [pair for pair in chances[:MOST_CHANCES] if pair[1] >= LEAST_CHANCE or pair[0] == thought.action]
  return {
    "player": thought.player,
    "table": drawn_table(state, [thought.player]),
    "log": _log(state),
    "view": thought.view,
    "move": grouped(move_name(state, thought.action)),
    "chances": [[grouped(move_name(state, action)), chance] for action, chance in shown],
    "others": len(chances) - len(shown),
    "held": _held(sitting, state, thought.player),
  }


def _held(sitting: Sitting, state: pyspiel.State, seat: int) -> list[float] | None:
  """The person's range, had they played as the bot would: 169 cells of `charts`, the fullest 1; or None."""
  ranges = getattr(getattr(sitting.bots[seat], "policy", None), "ranges", None)
  try:
    weights = ranges(state)[sitting.human] if ranges else None
  except ValueError:  # before its first search
    weights = None
  if weights is None:
    return None
  live = cards.unblocked({*cards.WHOLE_DECK} - {*sitting.game.deck} | {*state.runout, *state.hole(seat)})
  total, count = (np.bincount(CELLS, x, 169) for x in (weights * live, live))
  means = total / np.maximum(count, 1)
  return [float(f"{mean:.3g}") for mean in means / (means.max() or 1)]
