"""A client of Slumbot's HTTP interface: POST /api/new_hand and /api/act, with JSON in both directions.

Its hands have blinds of 50 and 100 and stacks of 20,000. A client in position 0 is the big blind, as in
`holdem`. Actions are k (check), c (call), f (fold), or b and the chips of a bet or raise on its street; "/"
begins a street.
"""

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pyspiel

from ps_cfr_spiel.evaluation import Player
from ps_cfr_spiel.poker import betting
from ps_cfr_spiel.protocols.hands import Hand, chips_after, moves, rules_of, state_of, tell

SLUMBOT = "https://slumbot.com"
TIMEOUT = 60.0  # seconds for an answer
TOKEN = re.compile(r"[kcf/]|b[0-9]+")


def play_slumbot(player: Player, game: pyspiel.Game, hands: int, url: str = SLUMBOT) -> Iterator[Hand]:
  """Play hands against Slumbot; yield each when it is over.

  The `player` is as for `acpc.join`, the game `holdem` with stacks of 20,000 and blinds of 100 and 50, with
  bets=fullgame for all bets of Slumbot. ValueError if the server reports an error, or its answer is not that
  of a hand of the game; OSError if it does not answer.
  """
  rules, token = rules_of(game), None
  bots = [player(seat) for seat in (0, 1)]
  for number in range(hands):
    reply = _post(url, "new_hand", {"token": token} if token else {})
    told: int | None = None
    while True:
      token = reply.get("token") or token
      hand = read_reply(reply, rules)
      if hand.won is not None:
        yield hand
        break
      bot, state = bots[hand.seat], state_of(game, hand)
      if told is None:
        bot.restart_at(game.new_initial_state())
      told = tell(bot, game, hand, told or 0)
      if state.current_player() != hand.seat:
        raise ValueError(f"Hand {number}: it is not our turn after {reply.get('action')!r}.")
      reply = _post(url, "act", {"token": token, "incr": increment(state, bot.step(state))})


def read_reply(reply: dict[str, Any], rules: betting.Betting) -> Hand:
  """The hand that an answer of the server describes, or ValueError."""
  try:
    seat, own, board = int(reply["client_pos"]), "".join(reply["hole_cards"]), "".join(reply["board"])
    action, won = str(reply["action"]), reply.get("winnings")
  except (KeyError, TypeError, ValueError) as error:
    raise ValueError(f"The server's answer lacks {error}: {reply}.") from error
  other = "".join(reply.get("bot_hole_cards") or ())
  chips = _chips(action, rules)
  first, second = (own, other) if seat == 0 else (other, own)
  return Hand(seat, chips, (first, second), board, None if won is None else float(won))


def _chips(text: str, rules: betting.Betting) -> tuple[int, ...]:
  """`Hand.chips` of a text such as "b200c/kk/b300f"; ValueError where the rules do not allow it."""
  if "".join(tokens := TOKEN.findall(text)) != text:
    raise ValueError(f"{text!r}: actions are written with k, c, f, b and a number of chips, and /.")
  chips: list[int] = []
  last = rules.root
  for token in tokens:
    if token == "/":
      continue
    if last.player < 0:
      raise ValueError(f"{text!r}: goes on after its end.")
    called, mine = max(last.spent), last.spent[last.player]
    chips.append({"k": called, "c": called, "f": mine}.get(token[0], last.ante + int(token[1:] or 0)))
    *_, move = moves(rules, chips)
    last = move.after
  return tuple(chips)


def increment(state: Any, action: int) -> str:
  """An action as the server reads it."""
  here = state.public_state
  if action == betting.FOLD:
    return "f"
  if action == betting.CALL:
    return "c" if here.spent[here.player] < max(here.spent) else "k"
  return f"b{chips_after(state, action) - here.ante}"


def _post(url: str, name: str, content: dict[str, Any]) -> dict[str, Any]:
  """The server's answer."""
  request = urllib.request.Request(
    f"{url.rstrip('/')}/api/{name}", json.dumps(content).encode(), {"Content-Type": "application/json"}
  )
  try:
    with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
      text = response.read()
  except urllib.error.HTTPError as error:
    text = error.read()
  try:
    reply = json.loads(text)
  except ValueError:
    reply = None
  if not isinstance(reply, dict) or "error_msg" in reply:
    why = reply["error_msg"] if isinstance(reply, dict) else text[:200]
    raise ValueError(f"{url} answered {why!r} to {name} {content}.")
  return reply
