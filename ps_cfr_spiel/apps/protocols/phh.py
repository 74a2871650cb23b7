"""Hand histories in the PHH format, hand by hand in one .phhs file (Kim 2024), read and written by PokerKit.

Players are in the order of the game: p1 posts the big blind and p2, the button, the small one, which the
field `blinds_or_straddles` lists first. PokerKit, an extra, is imported when it is first used.
"""

import importlib
import os
import re
import tomllib
import warnings
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyspiel

from ps_cfr_spiel import storage
from ps_cfr_spiel.apps.protocols.hand_records import PLAYERS, Hand, moves, possible_wins, rules_of, shown
from ps_cfr_spiel.cards.poker import betting, cards

if TYPE_CHECKING:
  from pokerkit import HandHistory, State

UNKNOWN = "????"
PLAYERS_IN_FILES = ("agent", "opponent")
CENTS = 100  # in a unit of a file with amounts that are not whole
MOST = 2**31 - 1  # chips; OpenSpiel's whole numbers have 32 bits
AMOUNTS = ("antes", "blinds_or_straddles", "starting_stacks", "finishing_stacks", "min_bet")
FIELDS = ("variant", "antes", "blinds_or_straddles", "min_bet", "starting_stacks", "actions")
# What PokerKit and we raise for fields of other types or content.
MISTAKES = (
  LookupError,
  TypeError,
  AttributeError,
  ValueError,
  ArithmeticError,
  AssertionError,
  RecursionError,
)


def check_pokerkit() -> None:
  """ModuleNotFoundError if PokerKit, an extra, is not installed."""
  try:
    importlib.import_module("pokerkit")
  except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
      "Hand histories need PokerKit: run pip install 'ps_cfr_spiel[hands]'"
    ) from error


def write_hands(
  path: str | os.PathLike, game: pyspiel.Game, hands: Iterable[Hand], names: Sequence[str] = PLAYERS_IN_FILES
) -> None:
  """Write hands of a game as a .phhs file; `names` are the agent's and the opponent's.

  It replaces an earlier file when it is complete; FileExistsError where it would replace a file of arrays,
  ModuleNotFoundError without PokerKit.
  """
  check_pokerkit()
  from pokerkit import HandHistory

  histories = [history(game, hand, number, names) for number, hand in enumerate(hands, start=1)]
  with storage.replacing(path, encoding="utf-8") as file:
    file.write(HandHistory.dumps_all(histories))


def history(
  game: pyspiel.Game, hand: Hand, number: int, names: Sequence[str] = PLAYERS_IN_FILES
) -> "HandHistory":
  """A hand as PokerKit's hand history."""
  from pokerkit import HandHistory

  rules = rules_of(game)
  actions = [f"d dh p{player + 1} {hole or UNKNOWN}" for player, hole in enumerate(hand.holes)]
  last = rules.root
  for move in moves(rules, hand.chips):
    before, last = move.before, move.after
    made = {"f": "f", "c": "cc", "r": f"cbr {move.chips - before.ante}"}[move.code]
    actions.append(f"p{before.player + 1} {made}")
    for street in range(before.street, last.street):
      came = hand.board[2 * cards.BOARD_SIZES[street] : 2 * cards.BOARD_SIZES[street + 1]]
      actions += [f"d db {came}"] * bool(came)
  if last.showdown_payoff:
    actions += [f"p{player + 1} sm {hole}".rstrip() for player, hole in enumerate(hand.holes)]
  stacks = [rules.stack] * PLAYERS
  players = [re.sub(r"[\x00-\x1f\x7f\ud800-\udfff]|'''", "?", name) for name in names]
  finishing = None
  if hand.won is not None:
    gain = int(hand.won) if hand.seat == 0 else -int(hand.won)
    finishing = [stacks[0] + gain, stacks[1] - gain]
  return HandHistory(
    variant="NT",
    antes=[0] * PLAYERS,
    blinds_or_straddles=list(rules.start[::-1]),
    min_bet=rules.least,
    starting_stacks=stacks,
    actions=actions,
    hand=number,
    players=players if hand.seat == 0 else players[::-1],
    finishing_stacks=finishing,
  )


def read_hands(
  path: str | os.PathLike,
  agent: str = PLAYERS_IN_FILES[0],
  bets: str = "fullgame",
  skip_other_games: bool = False,
) -> list[tuple[pyspiel.Game, Hand]]:
  """The hands of a .phh or .phhs file, each with its game, with these `bets`.

  The hands are heads-up no-limit hold'em without antes, with blinds of two sizes at most. The game's stack is
  the smaller of both, for which the hand was played. If any amount in the file has cents, all are counted in
  cents. `finishing_stacks` must be those of the moves and cards. Rake is left out.

  Args:
    path: the file.
    agent: the player from whose seat the hands are seen; seat 0 where it does not play.
    bets: the bet sizes of the games.
    skip_other_games: leave out hands of other games and of other numbers of players, which are refused else.

  ValueError for any other hand, with its number in the file; ModuleNotFoundError without PokerKit.
  """
  check_pokerkit()
  name = os.fspath(path)
  with open(path, "rb") as file:
    try:
      content = tomllib.load(file, parse_float=Decimal)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, ArithmeticError, RecursionError) as error:
      raise ValueError(f"{name} is no PHH file: {type(error).__name__}: {error}.") from error
  tables = [content] if "actions" in content else list(content.values())
  numbered = [
    (n, table) for n, table in enumerate(tables, start=1) if not skip_other_games or _is_ours(table)
  ]
  unit = CENTS if any(map(_has_cents, (table for _, table in numbered))) else 1
  hands: list[tuple[pyspiel.Game, Hand]] = []
  games: dict[tuple[object, ...], pyspiel.Game] = {}
  for number, table in numbered:
    try:
      parameters = _parameters(table, unit, bets)
      key = tuple(parameters.values())
      if key not in games:
        games[key] = pyspiel.load_game("holdem", parameters)
      hands.append((games[key], _hand(games[key], table, unit, agent)))
    except (*MISTAKES, pyspiel.SpielError) as error:
      kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
      raise ValueError(f"{name}, hand {number}: {kind}{' '.join(str(error).split())}") from error
  return hands


def _is_ours(table: Any) -> bool:
  """True for a hand of no-limit hold'em between two players."""
  stacks = table.get("starting_stacks") if isinstance(table, dict) else None
  return isinstance(stacks, list) and len(stacks) == PLAYERS and table.get("variant") == "NT"


def _has_cents(table: Any) -> bool:
  """True if any amount of a hand is not whole."""
  if not isinstance(table, dict):
    return False
  fields = [table.get(name) for name in AMOUNTS]
  amounts = [n for field in fields for n in (field if isinstance(field, list) else [field])]
  bets = re.search(r"cbr [0-9]*\.[0-9]*[1-9]", str(table.get("actions")))
  return bool(bets) or any(
    isinstance(n, Decimal) and n.is_finite() and n != n.to_integral_value() for n in amounts
  )


def _amounts(table: dict[str, Any], name: str, unit: int) -> list[int]:
  """The chips in a field, for both players, in a unit of the file; ValueError for anything else."""
  values = table[name]
  if not isinstance(values, list) or len(values) != PLAYERS:
    raise ValueError(f"{name} is {shown(values)}; expected amounts of two players")
  return [_chips(value, name, unit) for value in values]


def _chips(value: object, name: str, unit: int) -> int:
  if not isinstance(value, int | Decimal) or isinstance(value, bool) or not Decimal(value).is_finite():
    raise ValueError(f"{name} has {shown(value)}; expected numbers")
  if not 0 <= value <= MOST // unit or value * unit != int(value * unit):
    raise ValueError(f"{name} has {shown(value)}; expected 0 to {MOST // unit:,}, in whole cents")
  return int(value * unit)


def _parameters(table: dict[str, Any], unit: int, bets: str) -> dict[str, Any]:
  """Those of the hand's game."""
  if not _is_ours(table):
    raise ValueError(
      f"expected variant NT with two players, got {shown(table.get('variant'))} with starting_stacks "
      f"{shown(table.get('starting_stacks'))}; skip_other_games=True leaves such hands out"
    )
  blinds = _amounts(table, "blinds_or_straddles", unit)
  if any(_amounts(table, "antes", unit)) or _chips(table["min_bet"], "min_bet", unit) != blinds[1]:
    raise ValueError("expected no antes, and a min_bet of the big blind")
  stack = min(_amounts(table, "starting_stacks", unit))
  return {"stack": stack, "blinds": f"{blinds[1]}/{blinds[0]}", "bets": bets}


def _hand(game: pyspiel.Game, table: dict[str, Any], unit: int, agent: str) -> Hand:
  """The hand, with its result as far as it follows from the moves, the cards and the stacks."""
  players = table.get("players")
  seat = players.index(agent) if isinstance(players, list) and agent in players else 0
  hand = _played(rules_of(game), _replayed(table), unit)._replace(seat=seat)
  wins = possible_wins(game, hand)
  if "finishing_stacks" in table:
    starting, finishing = (_amounts(table, f"{name}_stacks", unit) for name in ("starting", "finishing"))
    gain = finishing[seat] - starting[seat]
    if sum(starting) != sum(finishing) or gain not in wins:
      expected = " or ".join(f"{n / unit:+.10g}" for n in wins) or "nothing before the end"
      raise ValueError(
        f"finishing_stacks {shown(table['finishing_stacks'])} are not those of its moves and cards, by which "
        f"p{seat + 1} has won {expected} from the other player"
      )
    wins = (float(gain),)
  return hand._replace(won=wins[0]) if len(wins) == 1 else hand


def _played(rules: betting.BettingRules, state: "State", unit: int) -> Hand:
  """The moves and cards of PokerKit's state, seen from seat 0, without a result."""
  from pokerkit import (
    BoardDealing,
    CheckingOrCalling,
    CompletionBettingOrRaisingTo,
    Folding,
    HoleCardsShowingOrMucking,
    HoleDealing,
  )

  last, chips, holes, board = rules.root, [], ["", ""], ""
  for operation in state.operations:
    spent: int | None = None
    match operation:
      case (
        HoleDealing(player_index=player, cards=dealt)
        | HoleCardsShowingOrMucking(player_index=player, hole_cards=dealt)
      ):
        holes[player] = _known(dealt) or holes[player]
      case BoardDealing(cards=dealt):
        board += _known(dealt)
      case Folding():
        spent = last.spent[last.player]
      case CheckingOrCalling():
        spent = max(last.spent)
      case CompletionBettingOrRaisingTo(amount=amount):  # of which more than the other's stack is returned
        spent = min(last.ante + _chips(amount, "actions", unit), rules.stack)
    if spent is not None:
      chips.append(spent)
      *_, move = moves(rules, chips)
      last = move.after
  return Hand(0, tuple(chips), (holes[0], holes[1]), board)


def _known(dealt: Iterable[object]) -> str:
  """The names of PokerKit's cards, "" if any is unknown."""
  text = "".join(map(repr, dealt))
  return "" if "?" in text else text


def _replayed(table: dict[str, Any]) -> "State":
  """PokerKit's state after the actions; ValueError for one against the rules."""
  from pokerkit import HandHistory, parse_action

  with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of unknown cards; the game checks those that are known
    state = HandHistory(**{name: table[name] for name in FIELDS}).create_state()
    for action in table["actions"]:
      while True:
        try:
          parse_action(state, action)
          break
        except ValueError as error:
          if not _goes_on(state):
            raise ValueError(f"{shown(action)}: {shown(str(error))}") from error
  return state


def _goes_on(state: "State") -> bool:
  """Let PokerKit deal unknown hands, burn a card or show hands at an all-in, as files leave it to it.

  Returns False if there is no such step.
  """
  if state.can_deal_hole():
    state.deal_hole(UNKNOWN)
  elif state.can_burn_card():
    state.burn_card(UNKNOWN[:2])
  elif state.all_in_status and state.can_show_or_muck_hole_cards(()):
    state.show_or_muck_hole_cards(())
  elif state.can_select_runout_count():
    state.select_runout_count()
  else:
    return False
  return True
