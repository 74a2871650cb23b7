"""The rules of a game and views of one seat for a person at the table, in words where a game has them.

Games in Python write their strings for people. OpenSpiel's C++ games write them for programs, so machine-only
fields are removed from these.
"""

import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Collection, Mapping

import pyspiel

from ps_cfr_spiel.cards.notation import grouped, move_name
from ps_cfr_spiel.cards.poker import betting, cards
from ps_cfr_spiel.games import HIDDEN, Board, ForPeople, Row, Table, poker

UNSET = "-10000"  # of a card that is not dealt yet, in OpenSpiel's poker games
FOR_PROGRAMS = ("Observer", "Player", "Current player", "Terminal?")
WIDTH = 100  # of the rules
RULES = {  # of OpenSpiel's games, which carry no text
  "kuhn_poker": "Three cards, jack to king (0 to 2 in texts). Both players put one chip in and get a card. "
  "Pass or Bet one chip; a Bet may be called by Bet or given up by Pass. At the end the higher card wins "
  "the pot. You see your card, then p and b for every Pass and Bet.",
  "leduc_poker": "Six cards: jack to king, two of each; card numbers 2k and 2k+1 have the same rank. Both "
  "players put one chip in and get a card; raises are 2 chips in the first round and 4 in the second, at "
  "most two in a round. Between the rounds a public card is dealt. A pair with it wins, else the higher "
  "rank. Round1 and Round2 list the moves: 1 for Call, 2 for Raise.",
  "phantom_ttt": "Tic-tac-toe without sight of the other's marks. A player who chooses a taken square sees "
  "the mark there and chooses again. Three in a row, a column or a diagonal win; x(1,2) is row 1, "
  "column 2, both counted from 0.",
  "liars_dice": "Both players roll in secret and in turns make rising bids: 2-3 says that all dice together "
  "show at least two threes; the highest face is wild. Liar ends the game, and the wrong player loses.",
  "goofspiel": "Prize cards come up one by one. Each player bids a card of their own hand for it; the higher "
  "bid wins the prize, equal bids win nothing. The higher sum of prizes wins.",
}


def whole_view(state: pyspiel.State, player: int) -> str:
  """The player's view since the start."""
  if isinstance(state, poker.PokerState):
    return _hand_so_far(state, player)
  text = state.information_state_string(player)
  return text if writes_for_people(state.get_game()) else readable(text)


def present_view(state: pyspiel.State, player: int) -> str:
  """The player's present view; "" if it only repeats the past."""
  if (table := table_of(state, [player])) is not None:
    return drawn(table, player)
  return state.observation_string(player) if writes_for_people(state.get_game()) else ""


def revealed_view(state: pyspiel.State, player: int) -> str:
  """A player's knowledge, shown to the others at the end."""
  if isinstance(state, poker.PokerState):
    return f"Player {player} held {_held(state, player)}."
  return f"Player {player} saw: {whole_view(state, player)}"


# --- The table -----------------------------------------------------------------------------------


def table_of(state: pyspiel.State, seats: Collection[int]) -> Table | None:
  """The table as players in some seats see it; None in a game without, and before cards are dealt."""
  game = state.get_game()
  if state.is_chance_node():
    return None
  if isinstance(game, ForPeople):
    return game.table(state, seats)
  made = TABLES.get(game.get_type().short_name)
  return None if made is None else made(state, seats)


def drawn(table: Table, player: int) -> str:
  """A table in lines of text for the player who sees it: facts, cards, and the board below."""
  said = [*table.facts]
  for row in table.rows:
    hidden = row.cards.count(HIDDEN)
    shown = f"{hidden} card{'s' * (hidden != 1)}" if hidden else " ".join(filter(None, row.cards))
    words = ", ".join(filter(None, ["" if hidden and row.notes else shown, *row.notes]))
    words = words or "no cards" * (row.player >= 0 and not row.cards)
    if words:
      name = row.name or ("You" if row.player == player else f"Player {row.player}")
      said.append(f"{name}: {words}")
  lines, board = [f"{'. '.join(said)}."] if said else [], table.board
  if board is not None and not board.columns:
    lines += [f"{', '.join(f'{mark} on {k}' for k, mark in enumerate(board.marks) if mark)}."]
    return " ".join(lines)
  if board is not None:
    for row, start in enumerate(range(0, len(board.marks), board.columns)):
      marks = (mark or "." for mark in board.marks[start : start + board.columns])
      lines.append(" " * (2 + row * board.hexagons) + " ".join(marks))
  return "\n".join(lines if said else ["", *lines])


def _faces(ranks: int) -> str:
  """The highest cards below the ace, such as JQK."""
  return "A23456789TJQK"[-ranks:]


def _kuhn(state: pyspiel.State, seats: Collection[int]) -> Table:
  players = state.get_game().num_players()
  dealt, moves = state.history()[:players], state.history()[players:]
  faces = _faces(players + 1)
  hands = (faces[card] if i in seats else HIDDEN for i, card in enumerate(dealt))
  rows = tuple(Row((face,), i) for i, face in enumerate(hands))
  return Table((f"Pot {players + sum(moves)}",), rows)


def _leduc(state: pyspiel.State, seats: Collection[int]) -> Table:
  """Cards and chips in the fields of observation strings."""
  game, parts = state.get_game(), dict[str, str]()
  isomorphic = game.get_parameters()["suit_isomorphism"]
  faces = _faces(game.num_players() + 1)

  def face(number: str) -> str:
    rank, suit = (int(number), 0) if isomorphic else divmod(int(number), 2)
    return faces[rank] + ("" if isomorphic else "sh"[suit])

  pot, rows = 0, []
  for player in range(game.num_players()):
    fields = re.findall(r"\[([^][:]*): ([^][]*)\]", state.observation_string(player))
    parts = dict(fields)
    behind, spent = (float(parts[field].split()[player]) for field in ("Money", "Ante"))
    if state.is_terminal():  # the pot is shown unpaid
      behind -= spent + state.returns()[player]
    pot += round(spent)
    shown = face(parts["Private"]) if player in seats else HIDDEN
    rows.append(Row((shown,), player, notes=(f"{round(behind)} behind",)))
  public = parts.get("Public", UNSET)
  rows.append(Row((face(public) if public != UNSET else "",), name="Board"))
  return Table((f"Pot {pot}",), tuple(rows))


def _marks(state: pyspiel.State, seats: Collection[int]) -> Table:
  """Boards of crosses and noughts, of which several seats together see all."""
  text = state.observation_string(*seats) if len(seats) == 1 else str(state)
  rows = [line.replace(" ", "") for line in text.splitlines()]
  rows = [line for line in rows if line and set(line) <= {*CROSSES, *NOUGHTS, "."}]
  marks = ["x" if c in CROSSES else "o" if c in NOUGHTS else "" for line in rows for c in line]
  name, mover = state.get_game().get_type().short_name, state.current_player()
  picks = {a: (str(a),) for a in state.legal_actions()} if mover in seats else {}
  marked = f"Player {mover}, {'xo'[mover]}, to move" if mover >= 0 else "The game is over"
  return Table((marked,), board=Board(tuple(marks), len(rows[0]), "hex" in name), picks=picks)


CROSSES, NOUGHTS = "xXyz", "oOpq"  # also those of hex that touch an edge
#: The tables of OpenSpiel's games.
TABLES: Mapping[str, Callable[[pyspiel.State, Collection[int]], Table]] = {
  "kuhn_poker": _kuhn,
  "leduc_poker": _leduc,
  **dict.fromkeys(("tic_tac_toe", "phantom_ttt", "dark_hex", "hex"), _marks),
}


# --- Words ---------------------------------------------------------------------------------------


def _hand_so_far(state: poker.PokerState, player: int) -> str:
  """The public part of a hand of hold'em, "stack 400 blinds 2/1 | Player 1: Call, You: Check | 2c 4h Ac"."""
  game, before = state.get_game(), betting.TERMINAL
  text, position = game.header, game.new_initial_state()
  for action in state.history():
    mover, name = position.current_player(), grouped(move_name(position, action))
    if mover >= 0:
      who = "You" if mover == player else f"Player {mover}"
      text, before = f"{text}{', ' if before >= 0 else ' | '}{who}: {name}", mover
    elif position.public_state.player == mover:  # a card on the board
      text, before = f"{text}{' ' if before == mover else ' | '}{name.removeprefix('Deal ')}", mover
    position.apply_action(action)
  return text


def _held(state: poker.PokerState, player: int) -> str:
  return " ".join(cards.card_names([card]) for card in sorted(state.hole(player), reverse=True))


def writes_for_people(game: pyspiel.Game) -> bool:
  """Whether a game is written in Python, with strings of present views."""
  return is_observed(game) and game.get_type().provides_observation_string


def readable(text: str) -> str:
  """One of OpenSpiel's strings without machine-only fields; "[Pot: 2][Round1: ]" is "Pot: 2"."""
  fields = re.findall(r"\[([^][]*)\]", text)
  if fields and not re.sub(r"\[[^][]*\]|\s", "", text):
    return ", ".join(filter(_says_something, fields))
  lines = [line.rstrip() for line in text.splitlines() if _says_something(line)]
  return "".join(f"\n  {line}" for line in lines) if len(lines) > 1 else text.strip()


def _says_something(field: str) -> bool:
  key, colon, value = (part.strip() for part in field.partition(":"))
  return key not in ("", *FOR_PROGRAMS) and not (colon and value in ("", UNSET))


# --- The rules -----------------------------------------------------------------------------------


def rules_of(game: pyspiel.Game) -> str:
  """The rules of a game; a Python game has them in its module's docstring."""
  name = game.get_type().short_name
  inner = str(game).partition("game=")[2].partition("(")[0]  # within turn_based_simultaneous_game
  if name in RULES or inner in RULES:
    return textwrap.fill(RULES.get(name) or RULES[inner], WIDTH)
  text = inspect.getdoc(sys.modules.get(type(game).__module__)) if is_observed(game) else None
  if text:
    return text.partition("\nParameters")[0].rstrip() + map_of(game)
  return (
    f"{game.get_type().long_name}: OpenSpiel has no text of its rules. {game.num_players()} players, "
    f"between {game.min_utility():g} and {game.max_utility():g} to win, "
    f"at most {game.max_game_length()} moves."
  )


def is_observed(game: pyspiel.Game) -> bool:
  """Whether a game is written in Python and has observers, which OpenSpiel looks up by this name."""
  return hasattr(game, "make_py_observer")


def map_of(game: pyspiel.Game) -> str:
  """For a game with a map, a line for each node with its neighbours, the goal and the start; else ""."""
  state = game.new_initial_state()
  if not isinstance(game, ForPeople) or (place := game.map()) is None:
    return ""
  start = game.position(state)
  others = "/".join(map(str, start.others))
  goal = "" if place.goal is None else f"the goal is {place.goal}, "
  heading = (
    f"The map, each node with its neighbours; {goal}the {place.sought} starts on {start.sought}, the "
    f"{place.others} on {others}:"
  )
  lines = [f"  {node}: {' '.join(map(str, near))}" for node, near in enumerate(place.ways)]
  return "\n" + "\n".join([heading, *lines])
