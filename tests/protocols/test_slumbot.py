"""The client of Slumbot's interface, against an imitation on this machine and texts written by hand."""

import http.server
import json
import threading

import numpy as np
import pyspiel
import pytest

from ps_cfr_spiel import matches
from ps_cfr_spiel.poker import cards, strengths
from ps_cfr_spiel.protocols import play_slumbot
from ps_cfr_spiel.protocols.hands import chips_after, rules_of
from ps_cfr_spiel.protocols.slumbot import increment, read_reply

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
      reply = getattr(imitation, self.path.removeprefix("/api/"))(content)
      text = json.dumps(reply).encode()
      self.send_response(500 if "error_msg" in reply else 200)
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
  rules = rules_of(pyspiel.load_game(FULL))
  reply = {
    "client_pos": 0,
    "hole_cards": ["Ac", "9d"],
    "board": ["2c", "3c", "4c", "5h"],
    "action": "b200c/kb300c/b1000",
  }
  hand = read_reply(reply, rules)
  assert hand.chips == (200, 200, 200, 500, 500, 1500)
  assert (hand.holes, hand.board, hand.won) == (("Ac9d", ""), "2c3c4c5h", None)
  over = {**reply, "action": "b200c/kb300f", "winnings": 200, "board": ["2c", "3c", "4c"]}
  assert read_reply(over, rules).won == 200
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


@pytest.mark.parametrize(
  ("reply", "message"),
  [
    ({"client_pos": 0, "hole_cards": ["Ac", "9d"], "board": []}, "lacks 'action'"),
    ({"client_pos": 0, "hole_cards": ["Ac", "9d"], "board": [], "action": "x"}, "written with k, c, f, b"),
    (
      {"client_pos": 0, "hole_cards": ["Ac", "9d"], "board": [], "action": "b20"},
      "20 chips are no legal move",
    ),
    ({"client_pos": 0, "hole_cards": ["Ac", "9d"], "board": [], "action": "b200fk"}, "goes on after its end"),
  ],
)
def test_other_answers_are_refused(reply, message):
  with pytest.raises(ValueError, match=message):
    read_reply(reply, rules_of(pyspiel.load_game(FULL)))


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
