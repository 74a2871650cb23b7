"""Subgames of hold'em from what poker players write: stacks behind, commas in ranges, sizes in percent.

OpenSpiel's game strings separate parameters by commas, so ranges and sizes have blanks there.
"""

import contextlib
import functools
import itertools
import os
import re
import warnings
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyspiel

from ps_cfr_spiel.cards.notation import MIN_WEIGHT, parse_cards, parse_hands, parse_sizes, sizes_text
from ps_cfr_spiel.cards.poker import cards
from ps_cfr_spiel.cards.poker.betting import amount_text
from ps_cfr_spiel.cards.poker.rake import with_rake
from ps_cfr_spiel.cards.poker.situations import FIELDS, MOST, Situation, range_text, situation, whole
from ps_cfr_spiel.options import SpotOptions

LIBRATUS = {1: ("7s9h9cTc", 500), 2: ("Ts6hAh7c", 4780), 3: ("4s8hTc9h2s", 500), 4: ("JsKs5cQs7d", 3750)}
_WHOLE = "13x4"
HOLDEM = ("river_subgame", "holdem_subgame")  # the games that spots are
DEAL = "Deal "  # before a public card, in the name of its move
MOST_DIGITS = 4  # after the point, of a pot or a stack


def river(options: SpotOptions | str | None = None, **keywords: Any) -> pyspiel.Game:
  """The `river_subgame` of a spot, written as poker players do.

  Args:
    options: all options, or the board alone.
    **keywords: options by name; see `SpotOptions`.

  Returns:
    The game; its string has blanks in place of commas. A warning names sizes that fit nowhere in it.

  Raises:
    ValueError: an option is not understood, there are not two ranges, or a list of bets has "|" or "/".
  """
  return _load("river_subgame", "9s7c5s4h3c", SpotOptions.of(options, **keywords))


def holdem(options: SpotOptions | str | None = None, **keywords: Any) -> pyspiel.Game:
  """The `holdem_subgame` of a spot, from a flop or a turn on; of five cards the `river_subgame`.

  Arguments, result and errors as of `river`.
  """
  options = SpotOptions.of(options, **keywords)
  board = options.board
  is_river = isinstance(board, str) and len(parse_cards(board, "board")) == cards.BOARD_SIZE
  return _load("river_subgame" if is_river else "holdem_subgame", "9s7c5s4h", options)


def libratus(
  number: int, file: str | os.PathLike, bets: str | Iterable[str] = "50%, 100%, a"
) -> pyspiel.Game:
  """A subgame of Libratus's match, the usual spots for comparing regret rules (Brown and Sandholm 2019).

  Numbers 1 and 2 begin on the turn with pots of 500 and 4,780 chips, 3 and 4 on the river with 500 and 3,750;
  each player began the hand with 20,000.

  Args:
    number: 1 to 4.
    file: its ranges, such as `subgame3.txt` from `open_spiel/games/universal_poker/endgames` of OpenSpiel's
      repository (its wheels leave them out): weights of player 0's 1,326 hands, then of player 1's, in the
      order 2s2h, 2s2d, 2s2c, 2s3s, ..., AdAc.
    bets: sizes as for `holdem`; the files say none, so the default is this project's.

  Raises:
    ValueError: there is no such subgame, or the file does not hold 2,652 weights.
    OSError: the file cannot be read.
  """
  if number not in LIBRATUS:
    raise ValueError(f"Subgames of Libratus are {', '.join(map(str, LIBRATUS))}, got {number!r}.")
  board, pot = LIBRATUS[number]
  with open(file) as text:
    words = text.read().split()
  try:
    weights = np.array(words, float).reshape(2, len(cards.ALL_HANDS))
  except ValueError:
    weights = np.full(2, np.nan)
  if not ((weights >= 0) & np.isfinite(weights)).all():
    raise ValueError(
      f"{os.fspath(file)} must hold {2 * len(cards.ALL_HANDS):,} weights, got {len(words):,} words; give one "
      "of OpenSpiel's files, subgame1.txt to subgame4.txt."
    )
  # OpenSpiel lists hands by ascending cards, too, but suits in the order "shdc", ours reversed.
  hands = np.array(list(itertools.combinations(cards.WHOLE_DECK, cards.HAND_SIZE)))
  hands += len(cards.SUITS) - 1 - 2 * (hands % len(cards.SUITS))
  ranges = np.zeros_like(weights)
  ranges[:, cards.set_numbers(hands)] = weights
  ranges[:, ~cards.unblocked(cards.parse_cards(board))] = 0
  ranges[ranges < MIN_WEIGHT * ranges.max(1, keepdims=True)] = 0
  both = range_text(ranges[0]), range_text(ranges[1])
  return holdem(board, pot=pot, stack=20000 - pot // 2, bets=bets, ranges=both)


def _load(name: str, usual_board: str, options: SpotOptions) -> pyspiel.Game:
  board, bets, ranges = options.board, options.bets, options.ranges
  board = usual_board if board is None else board
  if not isinstance(board, str):
    raise ValueError(f"board={board!r}: must be a text such as 'Ks7d2c5h9s'.")
  sizes, both = _texts("bets", bets), _texts("ranges", ranges)
  if not isinstance(bets, str) and any("|" in text or len(parse_sizes(text)) > 1 for text in sizes):
    raise ValueError(f"bets={bets!r}: sizes for each player or street are one text, '50%, a; a | 33% / a'.")
  if not isinstance(ranges, str) and len(both) != 2:
    raise ValueError(f"ranges={ranges!r}: expected two, of player 0 and of player 1, got {len(both)}.")
  texts = {"board": board, "bets": "; ".join(sizes), "ranges": ";".join(side.strip() for side in both)}
  chips = _chips(options.pot, options.stack, options.cap)
  parameters = with_rake({**plain(texts), "rake": options.rake, **chips})
  try:
    game: Any = pyspiel.load_game(name, parameters)
  except pyspiel.SpielError as error:
    raise ValueError(str(error)) from error
  if text := game.left_out():
    warnings.warn(text, stacklevel=3)
  return game


def _chips(pot: Any, stack: Any, cap: Any) -> dict[str, int]:
  """The parameters of a subgame by a pot, a stack behind and a cap of rake, all as people write them."""
  amounts = [_decimal("pot", pot), _decimal("stack", stack), _decimal("cap", cap)]
  digits = max(0, *(-int(x.as_tuple().exponent) for x in (*amounts, (amounts[0] / 2).normalize())))
  unit = 10**digits
  chips, behind, most = (int(x * unit) for x in amounts)
  return {
    "pot": whole("pot", chips),
    "stack": whole("stack", behind + chips // 2),
    "cap": whole("cap", most),
    **({"unit": unit} if digits else {}),
  }


def _decimal(name: str, value: Any) -> Decimal:
  """An amount as written; ValueError unless it is a number from 0 with at most `MOST_DIGITS` decimals."""
  number = isinstance(value, int | float | str | Decimal | np.number) and not isinstance(value, bool)
  if isinstance(value, float | np.floating) and float(value).is_integer():
    value = int(value)
  try:
    amount = Decimal(str(value)) if number else Decimal("nan")
  except InvalidOperation:
    amount = Decimal("nan")
  decimals = -int(amount.as_tuple().exponent) if amount.is_finite() else 0
  if not (amount.is_finite() and 0 <= amount <= MOST and decimals <= MOST_DIGITS):
    raise ValueError(
      f"{name}={value!r}: must be a number from 0 to {MOST} with at most {MOST_DIGITS} decimals, such as 5.5"
    )
  return amount


def _texts(name: str, given: Any) -> list[str]:
  try:
    texts = [given] if isinstance(given, str) else list(given)
  except TypeError:  # not iterable
    texts = [given]
  if not all(isinstance(text, str) for text in texts):
    raise ValueError(f"{name}={given!r}: must be a text, or several in a list.")
  return texts


def plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
  """Parameters of a subgame that a poker player wrote, as game strings have them; only texts change.

  ValueError for a board, sizes or ranges that are not understood, and for weights above 1 (`parse_hands`),
  which a game's own string may have.
  """
  texts = {name: value.strip() for name, value in parameters.items() if isinstance(value, str)}
  if "board" in texts:
    parse_cards(texts["board"], "board")
  if "bets" in texts:
    parse_sizes(texts["bets"])
  sides = texts.get("ranges", "uniform").split(";")
  for player, side in enumerate(sides if sides != ["uniform"] else ()):
    parse_hands(side, f"the range of player {player}", shares=True)
  return for_game_string({**parameters, **texts})


def from_words(given: Mapping[str, Any], sizes: tuple[int, ...] = (cards.BOARD_SIZE,)) -> Situation:
  """A situation as a poker player writes it, such as a table's row or a JSON object; numbers may be texts.

  `stack` is the stack behind. ValueError if a field is unknown or missing, or not as it should be; see
  `plain`.
  """
  unknown = [name for name in given if name not in FIELDS]
  fields = {name: value for name, value in given.items() if value is not None and str(value) != ""}
  if unknown or "board" not in fields:
    what = f"unknown field {unknown[0]!r}" if unknown else "no board"
    raise ValueError(f"{what}; the fields are {', '.join(FIELDS)}, of which only board is needed")
  fields = plain(fields)
  for name in ("pot", "stack", "cap"):
    if isinstance(text := fields.get(name), str):
      with contextlib.suppress(ValueError):  # `situation` refuses other texts
        fields[name] = int(text)
  if "stack" in fields:
    fields["stack"] = whole("stack", fields["stack"]) + whole("pot", fields.get("pot", 200)) // 2
  return situation(**fields, sizes=sizes)


def for_game_string(parameters: Mapping[str, Any]) -> dict[str, Any]:
  """Parameters with blanks in place of commas, which separate parameters in OpenSpiel's game strings."""
  written = dict(parameters)
  for name in {"board", "bets", "ranges"} & {*written}:
    if isinstance(text := written[name], str) and "," in text:
      text = (
        re.sub(r",\s*pot\b", " 100%", text, flags=re.IGNORECASE) if name == "bets" else text
      )  # 50% pot is 50%
      written[name] = " ".join(text.replace(",", " ").split())
  if isinstance(text := written.get("bets"), str) and re.fullmatch(r"\s*[0-9.]+\s*", text):
    written["bets"] = sizes_text(parse_sizes(text))  # OpenSpiel would read it as a number
  return written


def board_of(game: pyspiel.Game, history: Iterable[str] = ()) -> str | None:
  """The cards on the board after moves, by their names, "Ks7d2c"; None if the game is no spot of hold'em."""
  if game.get_type().short_name not in HOLDEM:
    return None
  dealt = [name.removeprefix(DEAL) for name in history if name.startswith(DEAL)]
  return "".join([cards.card_names(parse_cards(game.get_parameters()["board"])), *dealt])


def without_defaults(game: str) -> str:
  """The string of a game in Python, which has all parameters, without those that have their defaults.

  Other games' strings have the parameters that were given; they are unchanged.
  """
  given = pyspiel.game_parameters_from_string(game)
  name = given.pop("name")
  kinds = (kind for kind in pyspiel.registered_games() if kind.short_name == name)
  usual = next((kind.parameter_specification for kind in kinds), {})
  if set(given) != set(usual):
    return game
  changed = {key: value for key, value in given.items() if usual[key] != value}
  text = f"{name}({','.join(f'{key}={value}' for key, value in changed.items())})"
  # Games within games are written otherwise.
  return text if pyspiel.game_parameters_from_string(text) == {"name": name, **changed} else game


@functools.lru_cache(64)
def describe(game: str) -> str:
  """A subgame of hold'em, by `str(game)`, in the words of a poker player; another game without its defaults.

  Chips are in the game's unit, the stack is behind, and a range is its number of combos: of hands that can be
  dealt, each times its weight, or times its share of the largest weight if that is above 1.
  """
  if not game.startswith(("river_subgame(", "holdem_subgame(")):
    return without_defaults(game)
  given = {"unit": 1, "deck": _WHOLE, **pyspiel.game_parameters_from_string(game)}
  deck = cards.parse_deck(given["deck"])
  board = parse_cards(given["board"])
  ranges, _ = cards.parse_ranges(given["ranges"], board, deck)
  pot, behind = (amount_text(n, given["unit"]) for n in (given["pot"], given["stack"] - given["pot"] // 2))
  rake, cap = given.get("rake", ""), given.get("cap", 0)
  rake += f" up to {amount_text(cap, given['unit'])}" if cap else ""
  combos = [f"{hands.weights.sum() / max(1, hands.weights.max()):,.6g}" for hands in ranges]
  return ", ".join(
    [
      f"{cards.STREETS[len(board)]} {cards.card_names(board)}",
      *([f"deck {given['deck']}"] if given["deck"] != _WHOLE else []),
      f"pot {pot}",
      f"behind {behind}",
      *([f"rake {rake}"] if rake else []),
      f"bets ({sizes_text(parse_sizes(given['bets']))})",
      f"ranges of {' and '.join(combos)} combos",
    ]
  )
