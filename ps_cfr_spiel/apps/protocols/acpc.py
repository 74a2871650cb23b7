"""The protocol of the Annual Computer Poker Competition (version 2.0.0), for two players and no limit.

A dealer sends each player lines MATCHSTATE:position:hand:betting:cards, of which the one to act answers with
the same line, ":" and an action: f, c, or r and the chips that its player has then put in since the hand
began. Position 0 is the big blind. `join` plays as such a player; a `Seat` is the place of one in matches
that we deal.
"""

import contextlib
import re
import socket
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyspiel

from ps_cfr_spiel.apps.protocols import hand_records
from ps_cfr_spiel.apps.protocols.hand_records import Hand, moves, rules_of, shown
from ps_cfr_spiel.cards.poker import betting, cards
from ps_cfr_spiel.matches import Player

VERSION = "VERSION:2.0.0"
TIMEOUT = 600.0  # seconds of silence, as in the competition
END = "\r\n"
LINE = re.compile(r"MATCHSTATE:([01]):([0-9]{1,18}):([^:]*):([^:]*)")
TOKEN = re.compile(r"[fc/]|r[0-9]{1,10}")
LONGEST_LINE = 2**16  # characters; a hand of 200 raises takes 1,200


class MatchState(NamedTuple):
  """A line of the protocol."""

  number: int  #: of the hand in its match
  hand: Hand  #: as the player with its seat sees it

  def text(self, rules: betting.BettingRules) -> str:
    """The line, without its end."""
    hand, bets, streets = self.hand, "", [""]
    for move in moves(rules, hand.chips):
      bets += move.code + str(move.chips) * (move.code == "r") + "/" * move.streets_begun
    start = 0
    for end in cards.STREETS:
      streets += [hand.board[2 * start : 2 * end]] * (len(hand.board) >= 2 * end)
      start = end
    return f"MATCHSTATE:{hand.seat}:{self.number}:{bets}:{'|'.join(hand.holes)}{'/'.join(streets)}"

  @classmethod
  def parse(cls, line: str, rules: betting.BettingRules) -> "MatchState":
    """The content of a line; ValueError for any other text."""
    match = LINE.match(line)
    if not match:
      raise ValueError(f"{shown(line)} is no line MATCHSTATE:position:hand:betting:cards of two players.")
    seat, number, bets, dealt = match.groups()
    holes, *board = dealt.split("/")
    first, bar, second = holes.partition("|")
    if not bar:
      raise ValueError(f"{shown(line)}: the hands of two players have '|' between them.")
    return cls(int(number), Hand(int(seat), _chips(bets, rules), (first, second), "".join(board)))


def _chips(bets: str, rules: betting.BettingRules) -> tuple[int, ...]:
  """`Hand.chips` of a text such as "r300c/cr900f"; ValueError where the rules do not allow it."""
  if "".join(tokens := TOKEN.findall(bets)) != bets:
    raise ValueError(f"{shown(bets)}: betting is written with f, c, r and a number of chips, and /.")
  chips: list[int] = []
  begun = 0
  last = rules.root
  for token in tokens:
    if token == "/":
      begun += 1
      continue
    player, to_call = last.player, max(last.spent)
    if player < 0:
      raise ValueError(f"{shown(bets)}: goes on after its end.")
    chips.append(int(token[1:]) if token[0] == "r" else to_call if token == "c" else last.spent[player])
    *_, move = moves(rules, chips)
    if move.code != token[0]:
      raise ValueError(f"{shown(bets)}: {shown(token)} is no legal move.")
    last = move.after
  if begun != last.street:
    raise ValueError(f"{shown(bets)}: has {begun} '/', and {last.street} streets begin.")
  return tuple(chips)


class _Lines:
  """A connection, line by line."""

  def __init__(self, connection: socket.socket, sender: str):
    """A connection, with the name of the other end for errors."""
    self._sender = sender
    connection.settimeout(TIMEOUT)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # lines are short, and are awaited
    self._connection = connection
    self._file = connection.makefile("r", newline="\n", encoding="ascii", errors="replace")

  def send(self, line: str) -> None:
    """Send a line; `receive` notices if the other end has hung up."""
    with contextlib.suppress(ConnectionError):
      self._connection.sendall((line + END).encode())

  def receive(self) -> str:
    """The next line, without its end, or "" after the last or a long silence.

    Comments (# and ;) are left out. ValueError for a line of more than `LONGEST_LINE` characters.
    """
    while True:
      try:
        line = self._file.readline(LONGEST_LINE)
      except (ConnectionError, TimeoutError):
        return ""
      if len(line) == LONGEST_LINE and not line.endswith("\n"):
        raise ValueError(
          f"{self._sender} sent {shown(line)}, and more; lines have at most {LONGEST_LINE:,} characters."
        )
      if not line.startswith(("#", ";")):
        return line.rstrip("\r\n") if line.strip() else ""

  def close(self) -> None:
    self._file.close()
    self._connection.close()


def join(host: str, port: int, player: Player, game: pyspiel.Game) -> Iterator[Hand]:
  """Play the hands that a dealer deals; yield each when it is over.

  The `player` makes the bot of each seat; in the states that it sees, cards not shown are any that are left.
  The game is `holdem` with the dealer's stacks and blinds, with bets=fullgame for all bets that an opponent
  may make. ValueError if the dealer does not keep to the protocol, or to the game; OSError if the connection
  fails.
  """
  rules = rules_of(game)
  bots = [player(seat) for seat in (0, 1)]
  try:
    connection = socket.create_connection((host, port), TIMEOUT)
  except OSError as error:
    raise type(error)(f"{host}:{port} cannot be reached ({error}); does a server run there?") from error
  lines = _Lines(connection, f"{host}:{port}")
  number, informed = None, 0
  over = True  # no hand is under way
  with contextlib.closing(lines):
    lines.send(VERSION)
    while line := lines.receive():
      match = MatchState.parse(line, rules)
      hand, bot = match.hand, bots[match.hand.seat]
      state = hand_records.state_of(game, hand)
      if number != match.number:
        bot.restart_at(game.new_initial_state())
        number, informed = match.number, 0
      informed = hand_records.inform(bot, game, hand, informed)
      over = state.is_terminal()
      if over:
        yield hand._replace(won=hand_records.won_by_cards(game, hand))
      elif state.current_player() == hand.seat:
        lines.send(f"{line}:{answer(state, bot.step(state))}")
  if not over:
    raise ValueError(f"{host}:{port} hung up, or is silent, in hand {number}.")


def answer(state: Any, action: int) -> str:
  """A player's action in a line."""
  if action in (betting.FOLD, betting.CALL):
    return "fc"[action]
  return f"r{hand_records.chips_after(state, action)}"


class Seat:
  """The place of a foreign player in a match that we deal, at a port of this machine.

  With `host` "" the port is open on all network interfaces. The first program to connect is the player.

  `player` is one for `matches.play_games`; several matches may follow each other. `close` ends them, which
  the player notices.
  """

  def __init__(self, port: int = 0, host: str = "localhost"):
    """Open the port, a free one for 0; OSError if it is taken."""
    self._listener = socket.create_server((host, port))
    self.port: int = self._listener.getsockname()[1]
    self._lines: _Lines | None = None
    self.number = -1  # of the hand

  @property
  def lines(self) -> _Lines:
    """The connection; waits for the player to come. ValueError if it has another version of the protocol."""
    if self._lines is None:
      self._listener.settimeout(TIMEOUT)
      self._lines = _Lines(self._listener.accept()[0], f"The player at port {self.port}")
      version = self._lines.receive()
      if not version.startswith(VERSION.rpartition(".")[0].rpartition(".")[0]):
        raise ValueError(f"The player at port {self.port} began with {shown(version)}; expected {VERSION}.")
    return self._lines

  def player(self, seat: int) -> "SeatBot":
    """The foreign player in a seat of the game."""
    return SeatBot(self, seat)

  def close(self) -> None:
    """End the match."""
    if self._lines is not None:
      self._lines.close()
    self._listener.close()


class SeatBot(pyspiel.Bot):
  """A foreign player in one seat of the game: states go out, actions come in."""

  def __init__(self, seat: Seat, player: int):
    super().__init__()
    self._seat, self._player, self._sent = seat, player, ""

  def restart_at(self, state: pyspiel.State) -> None:
    self._seat.number += 1

  def inform_action(self, state: pyspiel.State, player: int, action: int) -> None:
    """Send the state after an action of another player or of chance, unless more cards come."""
    self._send(state.child(action))

  def step(self, state: pyspiel.State) -> int:
    """The player's action; a bet beyond the rules becomes the nearest legal one, as by the ACPC's dealer."""
    line = self._send(state)
    while not (reply := self._seat.lines.receive()).startswith(line + ":"):
      if not reply:
        raise ValueError(f"The player at port {self._seat.port} hung up, or is silent, at {line}.")
    action = read_answer(state, reply[len(line) + 1 :])
    self._send(state.child(action))
    return action

  def _send(self, state: Any) -> str:
    """Send the view of a state once; none while cards come."""
    if state.is_chance_node():
      return ""
    match = MatchState(self._seat.number, hand_records.seen(state, self._player))
    line = match.text(rules_of(state.get_game()))
    if line != self._sent:
      self._seat.lines.send(line)
      self._sent = line
    return line


def read_answer(state: Any, text: str) -> int:
  """The action of a player's answer; ValueError for any other text."""
  if not re.fullmatch(r"[fc]|r[0-9]{1,10}", text):
    raise ValueError(f"{shown(text)} is no action; expected f, c, or r and a number of chips.")
  if text[0] != "r":
    legal = state.legal_actions()
    return betting.FOLD if text == "f" and betting.FOLD in legal else betting.CALL
  return state.get_game().rules.nearest_bet(state.public_state, int(text[1:]))
