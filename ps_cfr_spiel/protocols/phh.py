"""Hand histories in the PHH format, hand by hand in one .phhs file (Kim 2024; PokerKit reads and writes it).

A file is TOML with a table for each hand. Players are in the order of the game: p1 posts the big blind and
p2, the button, the small one, which the field `blinds_or_straddles` lists first. Amounts count the chips of a
street.
"""

import itertools
import os
import re
import tomllib
from collections.abc import Iterable, Sequence
from typing import Any

import pyspiel

from ps_cfr_spiel import storage
from ps_cfr_spiel.poker import betting, cards
from ps_cfr_spiel.protocols.hands import PLAYERS, Hand, moves, rules_of, won_by_cards

UNKNOWN = "????"
PLAYERS_IN_FILES = ("agent", "opponent")


def write_hands(
  path: str | os.PathLike, game: pyspiel.Game, hands: Iterable[Hand], names: Sequence[str] = PLAYERS_IN_FILES
) -> None:
  """Write hands of a game as a .phhs file; `names` are the agent's and the opponent's.

  It replaces an earlier file when it is complete; FileExistsError where it would replace an archive.
  """
  text = "\n".join(f"[{n}]\n{hand_text(game, hand, n, names)}" for n, hand in enumerate(hands, start=1))
  with storage.replacing(path, encoding="utf-8") as file:
    file.write(text)


def hand_text(game: pyspiel.Game, hand: Hand, number: int, names: Sequence[str] = PLAYERS_IN_FILES) -> str:
  """A hand as the lines of a table."""
  rules = rules_of(game)
  actions = [f"d dh p{player + 1} {hole or UNKNOWN}" for player, hole in enumerate(hand.holes)]
  after = rules.root
  for move in moves(rules, hand.chips):
    before, after = move.before, move.after
    did = {"f": "f", "c": "cc", "r": f"cbr {move.chips - before.ante}"}[move.code]
    actions.append(f"p{before.player + 1} {did}")
    streets = itertools.pairwise(cards.BOARD_SIZES[before.street : after.street + 1])
    actions += [f"d db {came}" for a, b in streets if (came := hand.board[2 * a : 2 * b])]
  if after.stake:
    actions += [f"p{player + 1} sm {hole}".rstrip() for player, hole in enumerate(hand.holes)]
  stacks = [rules.stack] * PLAYERS
  fields: dict[str, Any] = {
    "variant": "NT",
    "antes": [0] * PLAYERS,
    "blinds_or_straddles": list(rules.start[::-1]),
    "min_bet": rules.least,
    "starting_stacks": stacks,
    "actions": actions,
    "hand": number,
    "players": [names[0], names[1]] if hand.seat == 0 else [names[1], names[0]],
  }
  if hand.won is not None:
    gain = hand.won if hand.seat == 0 else -hand.won
    fields["finishing_stacks"] = [_number(stacks[0] + gain), _number(stacks[1] - gain)]
  return "".join(f"{name} = {_toml(value)}\n" for name, value in fields.items())


def _number(chips: float) -> int | float:
  return int(chips) if float(chips).is_integer() else chips


def _toml(value: Any) -> str:
  if isinstance(value, list):
    return f"[{', '.join(map(_toml, value))}]"
  if isinstance(value, str):
    escaped = re.sub(r"[\x00-\x1f\x7f]", "?", value.replace("\\", "\\\\").replace('"', '\\"'))
    return f'"{escaped}"'
  return str(value)


def read_hands(
  path: str | os.PathLike, agent: str = PLAYERS_IN_FILES[0], bets: str = "fullgame"
) -> list[tuple[pyspiel.Game, Hand]]:
  """The hands of a .phh or .phhs file, each with its game, with these `bets`.

  The file has heads-up no-limit hold'em with equal stacks, no antes and blinds of two sizes at most;
  ValueError for another. `agent` is the player from whose seat the hands are seen; seat 0 where it does not
  play.
  """
  with open(path, "rb") as file:
    try:
      content = tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
      raise ValueError(f"{os.fspath(path)} is no PHH file: {error}.") from error
  tables = [content] if "actions" in content else list(content.values())
  found, games = [], {}
  for number, table in enumerate(tables, start=1):
    try:
      parameters = _parameters(table, bets)
      key = tuple(parameters.values())
      if key not in games:
        games[key] = pyspiel.load_game("holdem", parameters)
      found.append((games[key], _hand(games[key], table, agent)))
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, pyspiel.SpielError) as error:
      raise ValueError(f"{os.fspath(path)}, hand {number}: {type(error).__name__}: {error}") from error
  return found


def _parameters(table: dict[str, Any], bets: str) -> dict[str, Any]:
  blinds, stacks = table["blinds_or_straddles"], table["starting_stacks"]
  amounts = [*blinds, *stacks, *table["antes"], table["min_bet"]]
  same = len(blinds) == len(stacks) == PLAYERS and stacks[0] == stacks[1] and not any(table["antes"])
  whole = all(isinstance(n, int) and not isinstance(n, bool) for n in amounts)
  if table["variant"] != "NT" or not same or not whole or table["min_bet"] != blinds[1]:
    raise ValueError(
      "expected variant NT for two with equal stacks, no antes, whole numbers and a min_bet of the big blind"
    )
  return {"stack": stacks[0], "blinds": f"{blinds[1]}/{blinds[0]}", "bets": bets}


def _hand(game: pyspiel.Game, table: dict[str, Any], agent: str) -> Hand:
  rules, names = rules_of(game), table.get("players", ())
  state, chips, holes, board = rules.root, [], ["", ""], ""
  for action in table["actions"]:
    match action.partition("#")[0].split():
      case ["d", "dh", "p1" | "p2" as player, shown]:
        holes[int(player[1]) - 1] = "" if "?" in shown else shown
      case ["d", "db", came]:
        board += came
      case ["p1" | "p2" as player, "sm", *shown]:
        if shown and "?" not in shown[0] and shown[0] != "-":
          holes[int(player[1]) - 1] = shown[0]
      case ["p1" | "p2" as player, "f" | "cc" | "cbr" as did, *amount]:
        if int(player[1]) - 1 != state.player:
          raise ValueError(f"{action!r}: it is not the turn of {player}")
        spent = {"f": state.spent[state.player], "cc": max(state.spent)}
        chips.append(spent[did] if did in spent else state.ante + int(amount[0]))
        *_, move = moves(rules, chips)
        state = move.after
      case []:
        pass
      case _:
        raise ValueError(f"{action!r} is no action of hold'em")
  hand = Hand(names.index(agent) if agent in names else 0, tuple(chips), (holes[0], holes[1]), board)
  if state.player != betting.TERMINAL:
    return hand
  if "finishing_stacks" in table:
    return hand._replace(won=float(table["finishing_stacks"][hand.seat] - rules.stack))
  known = not state.stake or all(holes)
  return hand._replace(won=won_by_cards(game, hand)) if known else hand
