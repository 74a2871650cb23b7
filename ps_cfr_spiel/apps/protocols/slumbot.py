"""A client of Slumbot's HTTP interface: POST /slumbot/api/new_hand and act, with JSON in both directions.

Its hands have blinds of 50 and 100 and stacks of 20,000. A client in position 0 is the big blind, as in
`holdem`. Actions are k (check), c (call), f (fold), or b and the chips of a bet or raise on its street; "/"
begins a street.
"""

import http.client
import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any

import pyspiel

from ps_cfr_spiel.apps.protocols.hand_records import (
  Hand,
  chips_after,
  inform,
  moves,
  possible_wins,
  rules_of,
  shown,
  state_of,
)
from ps_cfr_spiel.arguments import JSON, is_integer
from ps_cfr_spiel.cards.poker import betting, cards
from ps_cfr_spiel.matches import Player

SLUMBOT = "https://slumbot.com"
INTERFACE = "slumbot/api"  # path of the interface at a server
TIMEOUT = 60.0  # seconds for an answer
LONGEST = 100_000  # bytes of an answer
NAMES = [cards.card_names([card]) for card in cards.parse_deck("13x4")]
TOKEN = re.compile(r"[kcf/]|b[0-9]{1,10}")


def play_slumbot(player: Player, game: pyspiel.Game, hands: int, url: str = SLUMBOT) -> Iterator[Hand]:
  """Play hands against Slumbot; yield each when it is over.

  The `player` is as for `acpc.join`, the game `holdem` with stacks of 20,000 and blinds of 100 and 50, with
  bets=fullgame for all bets of Slumbot; `url` is that of a server with Slumbot's interface, such as the
  default. ValueError if the server reports an error, or its answer is not that of a hand of the game; OSError
  if it does not answer.
  """
  if not url.startswith(("http://", "https://")):
    raise ValueError(f"{shown(url)} is no URL of a server; expected one such as {SLUMBOT}.")
  rules_of(game)
  token = None
  bots = [player(seat) for seat in (0, 1)]
  for _ in range(hands):
    reply = _post(url, "new_hand", {"token": token} if token else {})
    before: Hand | None = None  # with our move
    informed = 0
    while True:
      token = reply.get("token") or token
      hand = read_reply(reply, game)
      if before is not None and not _follows(hand, before):
        raise ValueError(
          f"The server's answer has another hand, or other moves, than before: {shown(reply)}."
        )
      if hand.won is not None:
        yield hand
        break
      bot, state = bots[hand.seat], state_of(game, hand)
      if before is None:
        bot.restart_at(game.new_initial_state())
      informed = inform(bot, game, hand, informed)
      if state.current_player() != hand.seat:
        raise ValueError(f"It is not our turn after the server's answer {shown(reply)}.")
      action = bot.step(state)
      before = hand._replace(chips=(*hand.chips, chips_after(state, action)))
      reply = _post(url, "act", {"token": token, "incr": increment(state, action)})


def _follows(hand: Hand, before: Hand) -> bool:
  """True if a hand goes on from before."""
  seat, number = before.seat, len(before.chips)
  same = (hand.seat, hand.holes[seat], hand.chips[:number]) == (seat, before.holes[seat], before.chips)
  return same and hand.board.startswith(before.board)


def read_reply(reply: Mapping[str, JSON], game: pyspiel.Game) -> Hand:
  """The hand that an answer of the server describes; ValueError if it is not one of the game."""
  seat, action, won = reply.get("client_pos"), reply.get("action"), reply.get("winnings")
  if not is_integer(seat) or seat not in (0, 1):
    raise _wrong("client_pos", seat, "0 or 1")
  if not isinstance(action, str):
    raise _wrong("action", action, "a text such as 'b200c/kk'")
  if not isinstance(reply.get("token", ""), str):
    raise _wrong("token", reply["token"], "a text")
  hole, board = _cards(reply, "hole_cards", (2,)), _cards(reply, "board", (0, 3, 4, 5))
  other = _cards(reply, "bot_hole_cards", (0, 2)) if reply.get("bot_hole_cards") is not None else ""
  holes = (hole, other) if seat == 0 else (other, hole)
  hand = Hand(seat, _chips(action, rules_of(game)), holes, board)
  wins = possible_wins(game, hand)
  if won is None and not wins:
    return hand
  if isinstance(won, bool) or not isinstance(won, int | float) or won not in wins:
    expected = " or ".join(f"{n:g}" for n in wins) if wins else "none, for the hand is not over"
    raise _wrong("winnings", won, f"{expected}, by the cards and by the action {shown(action)}")
  return hand._replace(won=float(won))


def _cards(reply: Mapping[str, JSON], name: str, counts: tuple[int, ...]) -> str:
  """The cards in a field of an answer, or ValueError."""
  value = reply.get(name)
  if isinstance(value, list) and len(value) in counts and all(card in NAMES for card in value):
    return "".join(value)
  raise _wrong(name, value, f"{' or '.join(map(str, counts))} cards such as 'Ac'")


def _wrong(name: str, value: object, expected: str) -> ValueError:
  return ValueError(f"The server's answer has {name} {shown(value)}; expected {expected}.")


def _chips(text: str, rules: betting.BettingRules) -> tuple[int, ...]:
  """`Hand.chips` of a text such as "b200c/kk/b300f"; ValueError where the rules do not allow it."""
  if "".join(tokens := TOKEN.findall(text)) != text:
    raise ValueError(f"{shown(text)}: actions are written with k, c, f, b and a number of chips, and /.")
  chips: list[int] = []
  begun, last = 0, rules.root
  for token in tokens:
    if token == "/":
      begun += 1
      continue
    if last.player < 0:
      raise ValueError(f"{shown(text)}: goes on after its end.")
    called, mine = max(last.spent), last.spent[last.player]
    chips.append({"k": called, "c": called, "f": mine}.get(token[0], last.ante + int(token[1:] or 0)))
    *_, move = moves(rules, chips)
    code = {"f": "f", "r": "b"}.get(move.code, "k" if mine == called else "c")
    if token[0] != code or begun != last.street:
      raise ValueError(f"{shown(text)}: {token} is no legal move after {begun} '/'.")
    last = move.after
  return tuple(chips)


def increment(state: Any, action: int) -> str:
  """An action as the server reads it."""
  public = state.public_state
  if action == betting.FOLD:
    return "f"
  if action == betting.CALL:
    return "c" if public.spent[public.player] < max(public.spent) else "k"
  return f"b{chips_after(state, action) - public.ante}"


def _post(url: str, name: str, content: dict[str, JSON]) -> dict[str, JSON]:
  """The server's answer."""
  request = urllib.request.Request(
    f"{url.rstrip('/')}/{INTERFACE}/{name}",
    json.dumps(content).encode(),
    {"Content-Type": "application/json"},
  )
  try:
    with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
      text = response.read(LONGEST)
  except urllib.error.HTTPError as error:
    text = error.read(LONGEST)
  except urllib.error.URLError as error:
    raise ConnectionError(f"{url} cannot be reached ({error.reason}); is the address right?") from error
  except http.client.HTTPException as error:
    raise ValueError(f"{url} does not answer by HTTP: {type(error).__name__} {shown(str(error))}.") from error
  try:
    reply = json.loads(text)
  except (ValueError, RecursionError):
    reply = None
  if not isinstance(reply, dict) or reply.get("error_msg"):
    why = reply["error_msg"] if isinstance(reply, dict) else text
    raise ValueError(f"{url} answered {shown(why)} to {name} {content.get('incr', '')}".rstrip() + ".")
  return reply
