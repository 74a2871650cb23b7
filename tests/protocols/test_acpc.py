"""The ACPC's protocol: texts against PokerKit's and against lines written by hand, both ends over sockets."""

import contextlib
import socket
import threading

import numpy as np
import pyspiel
import pytest

from ps_cfr_spiel import matches
from ps_cfr_spiel.apps.protocols import Hand, Seat, hand_of, join, write_hands
from ps_cfr_spiel.apps.protocols.acpc import MatchState, answer, read_answer
from ps_cfr_spiel.apps.protocols.hand_records import rules_of, seen, state_of
from ps_cfr_spiel.apps.protocols.phh import history

FULL = "holdem(bets=fullgame)"


@pytest.fixture(scope="module")
def game():
  return pyspiel.load_game(FULL)


class RandomKinds(pyspiel.Bot):
  """A fold, a call or any bet, the small ones above all, so hands reach all streets."""

  def __init__(self, seed):
    super().__init__()
    self.rng, self.told, self.restarts = np.random.default_rng(seed), [], 0

  def step(self, state):
    legal = state.legal_actions()
    bets, kind = [action for action in legal if action > 1], self.rng.random()
    if kind < 0.1 or (kind < 0.65 or not bets):
      return legal[0] if kind < 0.1 else 1
    return bets[int(len(bets) * self.rng.random() ** 4)]

  def restart_at(self, state):
    self.restarts += 1

  def inform_action(self, state, player, action):
    if player >= 0:
      self.told.append((player, state.public_state.street, action))


def random_hands(game, count, seed):
  first, second = RandomKinds(seed), RandomKinds(seed + 1)
  records = matches.play_games(game, lambda _: first, lambda _: second, count, seed=seed)
  return records, [hand_of(game, record) for record in records]


# Lines


@pytest.mark.parametrize(
  ("line", "chips", "acts"),
  [
    ("MATCHSTATE:0:0::TdAs|", (), 1),
    ("MATCHSTATE:1:7:c:|TdAs", (100,), 0),
    ("MATCHSTATE:1:31:r300r900r3000:|JdTc", (300, 900, 3000), 0),
    ("MATCHSTATE:0:30:cc/:9s8h|/8c8d5c", (100, 100), 0),
    ("MATCHSTATE:0:30:cr300c/cr900c/:9s8h|/8c8d5c/5s", (100, 300, 300, 300, 900, 900), 0),
    ("MATCHSTATE:0:31:r20000c///:JsTs|QdQh/6dJc9c/Kh/Qc", (20000, 20000), -4),
    ("MATCHSTATE:1:2:r300f:|AhKh", (300, 100), -4),
  ],
)
def test_lines_are_read_and_written(game, line, chips, acts):
  found = MatchState.parse(line, rules_of(game))
  assert found.hand.chips == chips
  assert found.text(rules_of(game)) == line
  assert state_of(game, found.hand).current_player() == acts


def test_lines_are_pokerkits(game):
  """PokerKit's own converter writes the same lines, for both players and all moments of random hands."""
  records, hands = random_hands(game, 12, 3)
  rules = rules_of(game)
  for number, (record, hand) in enumerate(zip(records, hands, strict=True)):
    written = history(game, hand, number)
    for seat in (0, 1):
      theirs = [line.rstrip() for kind, line in written.to_acpc_protocol(seat, number) if kind == "S->"]
      ours, state = [], game.new_initial_state()
      for action in record.actions:
        state.apply_action(action)
        if not state.is_chance_node():
          ours.append(MatchState(number, seen(state, seat)).text(rules))
      assert theirs[: len(ours) - 1] == ours[:-1]
      # After a fold PokerKit adds streets and after an all-in it shows hands at once, unlike the dealer.
      assert ours[-1].split(":")[3].rstrip("/") in theirs[-1]


@pytest.mark.parametrize(
  ("line", "message"),
  [
    ("MATCHSTATE:2:0::AsKs|", "is no line MATCHSTATE"),
    ("hello", "is no line MATCHSTATE"),
    ("MATCHSTATE:0:0:x:AsKs|", "betting is written with f, c, r"),
    ("MATCHSTATE:0:0::AsKs", "have '|' between them"),
    ("MATCHSTATE:0:0:r150:AsKs|", "150 chips are no legal move"),
    ("MATCHSTATE:0:0:r300c:AsKs|", "has 0 '/', and 1 streets begin"),
    ("MATCHSTATE:0:0:r300fc:AsKs|", "goes on after its end"),
    ("MATCHSTATE:0:0:cf:AsKs|", "'f' is no legal move"),
    (f"MATCHSTATE:0:0:r{'9' * 9999}:AsKs|", r"'r9{50,99}\.{3}9{50,99}': betting is written with"),
    (f"MATCHSTATE:0:{'9' * 9999}::AsKs|", "is no line MATCHSTATE"),
  ],
)
def test_other_lines_are_refused(game, line, message):
  with pytest.raises(ValueError, match=message.replace("|", r"\|")):
    MatchState.parse(line, rules_of(game))


def test_answers(game):
  state = state_of(game, MatchState.parse("MATCHSTATE:1:0:r300c/cr900:|AsKs/2c3c4c", rules_of(game)).hand)
  assert [answer(state, action) for action in (0, 1, 1500, 20000)] == ["f", "c", "r1500", "r20000"]
  assert [read_answer(state, text) for text in ("f", "c", "r1500", "r1499", "r99999")] == [
    0,
    1,
    1500,
    1500,
    20000,
  ]
  with pytest.raises(ValueError, match="'x' is no action; expected f, c, or r"):
    read_answer(state, "x")
  few = state_of(pyspiel.load_game("holdem"), Hand(1, (300, 300), ("", "AsKs"), "2c3c4c"))
  assert read_answer(few, "r1000") == 2  # a bet of the pot, 900 in all, is the nearest
  assert read_answer(few, "f") == 1  # there is nothing to fold to


# A dealer that is a script


def test_a_client_keeps_to_a_transcript(game):
  """Two hands, lines written by hand; the client calls always and says who it is first."""
  first, second = "MATCHSTATE:0:0:{}:AsKd|", "MATCHSTATE:1:1:{}:|7h2d"
  flop, turn = "/2c3c4c", "/2c3c4c/5h"
  script = [
    ("VERSION:2.0.0", ["# a comment", first.format(""), first.format("r300")]),
    ("r300:AsKd|:c", [first.format("r300c/") + flop]),
    (f"r300c/:AsKd|{flop}:c", [first.format(f"r300c/{more}") + flop for more in ("c", "cr1000")]),
    (f"r300c/cr1000:AsKd|{flop}:c", [first.format("r300c/cr1000c/") + turn]),
    (f"r300c/cr1000c/:AsKd|{turn}:c", [first.format("r300c/cr1000c/cc/") + f"{turn}/9d"]),
    (
      f"r300c/cr1000c/cc/:AsKd|{turn}/9d:c",
      [first.format("r300c/cr1000c/cc/cc") + f"QhQd{turn}/9d", second.format("")],
    ),
    (":|7h2d:c", [second.format("cr400")]),
    ("cr400:|7h2d:c", [second.format("cr400c/r500") + "/AsAdAh"]),
    ("cr400c/r500:|7h2d/AsAdAh:c", [second.format("cr400c/r500c/r20000") + "/AsAdAh/Kd"]),
    (
      "cr400c/r500c/r20000:|7h2d/AsAdAh/Kd:c",
      ["MATCHSTATE:1:1:cr400c/r500c/r20000c/:QsQd|7h2d/AsAdAh/Kd/Ac", "#GAMEOVER"],
    ),
  ]
  server, heard = socket.create_server(("localhost", 0)), []

  def deal():
    connection, _ = server.accept()
    with connection, connection.makefile("r") as lines:
      for expected, replies in script:
        heard.append((expected, lines.readline().rstrip()))
        connection.sendall("".join(f"{reply}\r\n" for reply in replies).encode())

  thread = threading.Thread(target=deal)
  thread.start()
  hands = list(join("localhost", server.getsockname()[1], matches.player("always_call"), game))
  thread.join()
  server.close()
  assert all(said.endswith(expected) for expected, said in heard), heard
  assert len(heard) == len(script)
  assert [(hand.seat, hand.won) for hand in hands] == [(0, 1000), (1, 0)]  # a wheel; four aces on the board
  assert hands[0].holes == ("AsKd", "QhQd")


# Both ends of ours


def test_a_match_over_sockets_is_the_match_at_the_table(game):
  """The dealer's records, the client's hands and the same match without any socket are the same."""
  seat, count, seed = Seat(), 25, 5
  theirs, found = RandomKinds(seed + 1), []
  client = threading.Thread(target=lambda: found.extend(join("localhost", seat.port, lambda _: theirs, game)))
  client.start()
  ours = RandomKinds(seed)
  records = matches.play_games(game, lambda _: ours, seat.player, count, seed=seed)
  seat.close()
  client.join()
  same, dealt = random_hands(game, count, seed)
  assert records == same
  assert len(found) == count == theirs.restarts
  for own, hand in zip(found, dealt, strict=True):
    assert (own.seat, own.chips, own.board, own.won) == (1 - hand.seat, hand.chips, hand.board, -hand.won)
    assert own.holes[own.seat] == hand.holes[own.seat]
  assert {0, 6, 10} <= {len(hand.board) for hand in dealt}
  assert {player for player, _, _ in theirs.told} == {0, 1}


def test_a_dealer_for_two_foreign_bots(game):
  """Both bots come over sockets; bets that are too large or too small become legal ones."""

  class Wild(RandomKinds):
    def step(self, state):
      return super().step(state)

  seats, results = [Seat(), Seat()], [[], []]
  clients = [
    threading.Thread(
      target=lambda k=k: results[k].extend(join("localhost", seats[k].port, lambda _: Wild(k), game))
    )
    for k in (0, 1)
  ]
  for client in clients:
    client.start()
  records = matches.play_games(game, seats[0].player, seats[1].player, 10, seed=9, mirrored=True)
  for seat in seats:
    seat.close()
  for client in clients:
    client.join()
  assert [hand.won for hand in results[0]] == [-hand.won for hand in results[1]]
  assert matches.evaluate_match(game, records).values.tolist() == [hand.won for hand in results[0]]


@pytest.mark.parametrize(
  ("said", "message"),
  [
    (["HELLO"], "began with 'HELLO'; expected VERSION:2.0.0"),
    (["H" * 5000], r"began with 'H{50,99}\.{3}H{50,99}'; expected VERSION:2.0.0"),
    (
      ["H" * 1_000_000],
      r"at port \d+ sent 'H{50,99}\.{3}H{50,99}', and more; lines have at most 65,536 characters",
    ),
    (["V\x00\xe9"], "began with 'V.{6,9}'; expected VERSION:2.0.0"),
    (["VERSION:2.0.0"], "hung up, or is silent, at MATCHSTATE:1:0::"),
    (["VERSION:2.0.0", "{line}:b300"], "'b300' is no action; expected f, c, or r"),
  ],
)
def test_players_that_break_the_protocol(game, said, message):
  seat = Seat()

  def misbehave():
    with socket.create_connection(("localhost", seat.port)) as connection, connection.makefile("r") as lines:
      with contextlib.suppress(ConnectionError):  # of what nobody reads to its end
        connection.sendall(f"{said[0]}\r\n".encode())
      if len(said) > 1:
        connection.sendall(f"{said[1].format(line=lines.readline().rstrip())}\r\n".encode())

  thread = threading.Thread(target=misbehave)
  thread.start()
  with pytest.raises(ValueError, match=message):
    matches.play_games(game, matches.player("always_call"), seat.player, 1)
  thread.join()
  seat.close()


def test_hands_are_of_holdem_alone():
  with pytest.raises(ValueError, match="Hands are exchanged in holdem alone, got kuhn_poker"):
    write_hands("nowhere", pyspiel.load_game("kuhn_poker"), [Hand(0, (), ("", ""), "")])
