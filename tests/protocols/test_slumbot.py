"""The client of Slumbot's interface, against an imitation on this machine and texts written by hand."""

import functools
import http.server
import json
import math
import re
import socket
import threading

import numpy as np
import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ps_cfr_spiel import matches
from ps_cfr_spiel.apps.commands import program
from ps_cfr_spiel.apps.protocols import play_slumbot, read_hands
from ps_cfr_spiel.apps.protocols.hand_records import chips_after, moves, rules_of, state_of
from ps_cfr_spiel.apps.protocols.slumbot import increment, read_reply
from ps_cfr_spiel.cards.poker import cards, strengths

FULL = "holdem(bets=fullgame)"


class Imitation:
  """The rules of the interface around a state of `holdem`: the server calls, and leads for 100 at times."""

  def __init__(self):
    self.game, self.hands, self.said = pyspiel.load_game(FULL), 0, []

  def new_hand(self, content):
    assert content == ({"token": "secret"} if self.hands else {})
    self.seat, self.hands = self.hands % 2, self.hands + 1
    self.rng, self.text, self.state = np.random.default_rng(self.hands), "", self.game.new_initial_state()
    return self.reply()

  def act(self, content):
    assert content["token"] == "secret"
    incr, state = content["incr"], self.state
    self.said.append(incr)
    here = state.public_state
    action = {"f": 0, "c": 1, "k": 1}[incr] if incr in "fck" else here.ante + int(incr[1:])
    if action not in state.legal_actions() or increment(state, action) != incr:
      return {"error_msg": f"Illegal {incr}"}
    self.do(action)
    return self.reply()

  def do(self, action):
    street = self.state.public_state.street
    self.text += increment(self.state, action)
    self.state.apply_action(action)
    self.text += "/" * (self.state.is_chance_node() and street < 3)

  def reply(self):
    state = self.state
    while not state.is_terminal() and state.current_player() != self.seat:
      if state.is_chance_node():
        state.apply_action(int(self.rng.choice(state.legal_actions())))
      else:
        least = next((a for a in state.legal_actions() if a > 1), 1)
        quiet = 0 in state.legal_actions() or self.rng.random() < 0.5
        self.do(1 if quiet else least)

    def names(hand):
      return [cards.card_names([card]) for card in hand]

    board = names(card for street in state.board_by_street() for card in street)
    reply = {
      "token": "secret",
      "action": self.text.rstrip("/") if state.is_terminal() else self.text,
      "client_pos": self.seat,
      "hole_cards": names(state.hole(self.seat)),
      "board": board,
    }
    if state.is_terminal():
      reply["winnings"] = int(state.returns()[self.seat])
      reply["bot_hole_cards"] = names(state.hole(1 - self.seat))
    return reply


@pytest.fixture
def server():
  imitation = Imitation()

  class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
      content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
      reply = getattr(imitation, self.path.removeprefix("/slumbot/api/"))(content)
      text = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
      self.send_response(500 if isinstance(reply, dict) and "error_msg" in reply else 200)
      self.send_header("Content-Length", str(len(text)))
      self.end_headers()
      self.wfile.write(text)

    def log_message(self, *_):
      pass

  web = http.server.HTTPServer(("localhost", 0), Handler)
  threading.Thread(target=web.serve_forever, daemon=True).start()
  yield imitation, f"http://localhost:{web.server_port}"
  web.shutdown()
  web.server_close()


@pytest.mark.parametrize("who", ["always_call", "all_in", "fold", "random"])
def test_hands_against_an_imitation(server, who):
  imitation, url = server
  game = pyspiel.load_game(FULL)
  hands = list(play_slumbot(matches.player(who, 3), game, 12, url))
  assert [hand.seat for hand in hands] == [0, 1] * 6
  assert all(hand.won is not None and all(hand.holes) for hand in hands)
  showdowns = [hand for hand in hands if len(hand.board) == 10]
  for hand in showdowns:
    holes = np.array([cards.parse_cards(hole) for hole in hand.holes])
    strength = strengths(np.array(cards.parse_cards(hand.board)), holes)
    lead = np.sign(int(strength[hand.seat]) - int(strength[1 - hand.seat]))
    assert hand.won == lead * min(hand.chips[-2:])
  if who == "always_call":
    assert set(imitation.said) == {"c", "k"} and len(showdowns) == 12
  elif who == "all_in":
    assert all(said == "c" or said == f"b{20000}" for said in imitation.said)


def test_actions_are_read_and_written():
  """A conversation written by hand: amounts count the chips of a street."""
  game = pyspiel.load_game(FULL)
  reply = {
    "client_pos": 0,
    "hole_cards": ["Ac", "9d"],
    "board": ["2c", "3c", "4c", "5h"],
    "action": "b200c/kb300c/b1000",
  }
  hand = read_reply(reply, game)
  assert hand.chips == (200, 200, 200, 500, 500, 1500)
  assert (hand.holes, hand.board, hand.won) == (("Ac9d", ""), "2c3c4c5h", None)
  over = {**reply, "action": "b200c/kb300f", "winnings": -200, "board": ["2c", "3c", "4c"]}
  assert read_reply(over, game).won == -200
  state = pyspiel.load_game(FULL).new_initial_state()
  for action in (0, 1, 2, 3):
    state.apply_action(action)
  assert [increment(state, action) for action in (0, 1, 300)] == ["f", "c", "b300"]
  state.apply_action(300)
  state.apply_action(1)
  for action in (10, 11, 12):
    state.apply_action(action)
  assert [increment(state, action) for action in (1, 500)] == ["k", "b200"]
  assert chips_after(state, 500) == 500


load_full = functools.cache(lambda: pyspiel.load_game(FULL))
REPLY = {"client_pos": 0, "hole_cards": ["Ac", "9d"], "board": [], "action": "b200", "token": "secret"}
OVER = {
  **REPLY,
  "board": ["2c", "3c", "4c", "5h", "Jd"],
  "action": "b200c/kk/kk/kk",
  "bot_hole_cards": ["Ks", "Qs"],
  "winnings": 200,
}


@pytest.mark.parametrize(
  ("change", "message"),
  [
    ({"client_pos": 5}, "client_pos 5; expected 0 or 1"),
    ({"client_pos": -1}, "client_pos -1; expected 0 or 1"),
    ({"client_pos": True}, "client_pos True; expected 0 or 1"),
    ({"client_pos": None}, "client_pos None; expected 0 or 1"),
    ({"token": 3}, "token 3; expected a text"),
    ({"hole_cards": ["Ac"]}, "hole_cards ['Ac']; expected 2 cards such as 'Ac'"),
    ({"hole_cards": "Ac9d"}, "hole_cards 'Ac9d'; expected 2 cards"),
    ({"hole_cards": ["Ac", ["9d"]]}, "expected 2 cards"),
    ({"hole_cards": ["A", "c9d"]}, "expected 2 cards"),
    ({"hole_cards": ["Ac", "Ac"]}, "Ac"),
    ({"board": ["2c"]}, "board ['2c']; expected 0 or 3 or 4 or 5 cards"),
    ({"board": ["Ac", "3c", "4c"]}, "do not fit together"),
    ({"board": None}, "board None; expected 0 or 3 or 4 or 5 cards"),
    ({"bot_hole_cards": ["Ks"]}, "bot_hole_cards ['Ks']; expected 0 or 2 cards"),
    ({"action": None}, "action None; expected a text such as 'b200c/kk'"),
    ({"action": ["b200"]}, "action ['b200']; expected a text"),
    ({"action": "x"}, "written with k, c, f, b"),
    ({"action": "b20"}, "20 chips are no legal move"),
    ({"action": "b200fk"}, "goes on after its end"),
    ({"action": "b100"}, "b100 is no legal move after 0 '/'"),
    ({"action": "b200k"}, "k is no legal move after 0 '/'"),
    ({"action": "b200ck"}, "k is no legal move after 0 '/'"),
    ({"winnings": 200}, "winnings 200; expected none, for the hand is not over"),
    *[
      ({**OVER, "winnings": won}, f"winnings {text}")
      for won, text in ((-200, "-200"), (math.nan, "nan"), (math.inf, "inf"), (10**400, "1000"))
    ],
    *[({**OVER, "winnings": won}, "expected 200, by the cards") for won in ("200", [200], True, None)],
    ({**OVER, "bot_hole_cards": [], "winnings": 100}, "expected -200 or 0 or 200, by the cards"),
    ({"action": "b200f", "winnings": 100}, "winnings 100; expected -100, by the cards"),
  ],
)
def test_other_answers_are_refused(change, message):
  with pytest.raises(ValueError, match=r"^[^\n]{,500}$") as error:
    read_reply({**REPLY, **change}, load_full())
  assert message in str(error.value)


def test_answers_at_the_end():
  """Hands that are not shown, or of a chopped pot."""
  game = pyspiel.load_game(FULL)
  assert read_reply(OVER, game).won == 200
  for won in (-200, 0, 200.0):
    assert read_reply({**OVER, "bot_hole_cards": None, "winnings": won}, game).won == won
  chopped = {**OVER, "board": ["Tc", "Jd", "Qh", "Kd", "Ah"], "bot_hole_cards": ["2s", "2d"], "winnings": 0}
  assert read_reply(chopped, game).won == 0
  assert read_reply({**REPLY, "action": "b200f", "winnings": -100}, game).won == -100


JSON = st.recursive(
  st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
  lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
  max_leaves=6,
)
FIELDS = {
  "action": st.text("kcfb/0123456789", max_size=12),
  "board": st.lists(st.sampled_from(["2c", "3c", "4c", "5h", "Jd", "Ac", "x"]), max_size=6),
  "client_pos": st.integers(-2, 3),
  "winnings": st.sampled_from([math.nan, -math.inf, 10**400, -200, 0, 1e-9]),
}


@settings(max_examples=20 * settings().max_examples)
@given(st.sampled_from([REPLY, OVER]), st.data())
def test_changed_answers_are_refused_or_hands_of_the_game(reply, data):
  """In one short line; a hand that is read has a result by its cards, exactly if it is over."""
  reply, game = dict(reply), load_full()
  for name in data.draw(st.sets(st.sampled_from(sorted(reply)), min_size=1, max_size=2)):
    if data.draw(st.booleans()):
      reply[name] = data.draw(FIELDS.get(name, JSON) | JSON)
    else:
      del reply[name]
  try:
    hand = read_reply(reply, game)
  except ValueError as error:
    assert len(str(error)) < 600 and "\n" not in str(error)
    return
  state = state_of(game, hand)
  assert hand.seat == reply["client_pos"]
  if hand.won is None:
    assert not state.is_terminal()
  elif state.is_terminal() and all(hand.holes):
    assert hand.won == state.returns()[hand.seat]
  else:
    assert abs(hand.won) in (0, min(hand.chips[-2:]))


TEXTS = {
  "'[[[": b"[" * 50_000,
  "'{": b'{"a":' * 10_000,
  "it is down": b"it is down",
  "99": b'{"winnings": ' + b"9" * 5000 + b"}",
  "'\\xff": b"\xff\x00",
  "[1, 2]": b"[1, 2]",
  "''": b"",
}


@pytest.mark.parametrize(("message", "text"), TEXTS.items())
def test_texts_that_are_no_answer(server, message, text):
  """Refused in one short line, after the hands so far."""
  imitation, url = server
  game, hands = pyspiel.load_game(FULL), []
  genuine = imitation.new_hand
  imitation.new_hand = lambda content: genuine(content) if imitation.hands < 2 else text
  with pytest.raises(ValueError, match=r"^http://localhost:\d+ answered [^\n]{,300} to new_hand\.$") as error:
    for hand in play_slumbot(matches.player("always_call"), game, 5, url):
      hands.append(hand)
  assert message.strip("'") in str(error.value) and len(hands) == 2


def test_a_server_that_speaks_no_http():
  with socket.create_server(("localhost", 0)) as listener:

    def answer():
      connection, _ = listener.accept()
      with connection:
        connection.recv(10_000)
        connection.sendall(b"220 ready for mail\r\n")

    thread = threading.Thread(target=answer)
    thread.start()
    url = f"http://localhost:{listener.getsockname()[1]}"
    with pytest.raises(ValueError, match=rf"^{url} does not answer by HTTP: BadStatusLine "):
      list(play_slumbot(matches.player("fold"), pyspiel.load_game(FULL), 1, url))
    thread.join()
  with pytest.raises(
    ValueError, match=r"'file:///etc/hosts' is no URL of a server; expected one such as https"
  ):
    list(play_slumbot(matches.player("fold"), pyspiel.load_game(FULL), 1, "file:///etc/hosts"))


@pytest.mark.parametrize(
  "change",
  [
    {"client_pos": 1},
    {"hole_cards": ["2c", "2d"]},
    {"action": "", "board": []},
    {"action": "b200b400", "board": []},
    {"action": "b250c/"},
  ],
)
def test_a_hand_that_changes_on_its_way_is_refused(server, change):
  """Position, cards and moves of a later answer are those of the earlier one, with our move."""
  imitation, url = server
  imitation.new_hand = lambda content: REPLY
  imitation.act = lambda content: {**REPLY, "action": "b200c/", "board": ["2s", "3c", "4c"], **change}
  with pytest.raises(ValueError, match="another hand, or other moves, than before"):
    list(play_slumbot(matches.player("always_call"), pyspiel.load_game(FULL), 1, url))


def test_every_move_is_told_once(server):
  """To a bot that counts: the opponent's moves in their order, each in the state before it."""
  told, hands = [], []

  class Counts(matches.PolicyBot):
    def restart_at(self, state):
      told.append([])

    def inform_action(self, state, player, action):
      told[-1].append((state.public_state.invested, player, chips_after(state, action)))

  make = lambda seat: Counts(seat, None, matches.Habit("always_call"))  # noqa: E731
  _, url = server
  hands = list(play_slumbot(make, pyspiel.load_game(FULL), 12, url))
  assert len(told) == len(hands) == 12
  for hand, moves_told in zip(hands, told, strict=True):
    expected = [
      (hand.chips[:number], move.before.player, move.chips)
      for number, move in enumerate(moves(rules_of(pyspiel.load_game(FULL)), hand.chips))
      if move.before.player != hand.seat
    ]
    # The last one may come with the end of the hand, of which nobody is told.
    assert moves_told in (expected, expected[:-1]) and len(moves_told) >= 3


def test_errors_of_the_server(server):
  _, url = server
  bot = matches.player("always_call")
  bad = type("Bad", (pyspiel.Bot,), {"step": lambda self, state: 1, "restart_at": lambda *_: None})
  imitation = server[0]
  imitation.act = lambda content: {"error_msg": "Illegal bet"}
  with pytest.raises(ValueError, match=r"answered 'Illegal bet' to act"):
    list(play_slumbot(lambda _: bad(), pyspiel.load_game(FULL), 3, url))
  with pytest.raises(OSError):
    list(play_slumbot(bot, pyspiel.load_game(FULL), 1, "http://localhost:9"))


def test_the_command_keeps_the_hands_before_an_error(server, tmp_path, capsys):
  """The server fails in the fifth of six hands: four are printed and written, and the exit code is 1."""
  imitation, url = server
  genuine, file = imitation.new_hand, tmp_path / "hands.phhs"
  imitation.new_hand = lambda content: (
    genuine(content) if imitation.hands < 4 else {"error_msg": "Too\nmany hands"}
  )
  words = ["match", "always_call", f"slumbot:{url}", "--hands=6", f"--phh={file}"]
  assert program.run(words) == 1
  out, error = capsys.readouterr()
  assert re.search(r"of 4 games\nchips: .* mbb a hand \(95% interval\)\nsaved: ", re.sub(" +", " ", out))
  assert error.strip() == rf"Failed after 4 hands: {url} answered 'Too\nmany hands' to new_hand."
  assert len(read_hands(file, "always_call")) == 4
