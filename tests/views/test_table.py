"""The page to play on: its data, its answers to a browser, and in a real browser a hand that is played."""

import contextlib
import html
import json
import re
import signal
import socket
import struct
import subprocess
import sys
import urllib.error
import urllib.request

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from ps_cfr_spiel.games import HIDDEN
from test_explore import BROWSER, needs_browser, served

import ps_cfr_spiel
from ps_cfr_spiel.apps.commands import play, program
from ps_cfr_spiel.apps.views import table_data
from ps_cfr_spiel.cards.poker import cards, strengths
from ps_cfr_spiel.evaluation import player_views
from ps_cfr_spiel.evaluation.table_play import Sitting

HOLDEM = "holdem(stack=2000,bets=fullgame)"
DRIVER = """<script>
(async () => {
  const seen = [];
  for (const [where, name] of STEPS) {
    const found = [...document.querySelectorAll(where)].find(
      (b) => name === b.textContent || b.tagName === "INPUT");
    if (!found || found.disabled) throw Error(`no ${name} in ${where}`);
    if (found.tagName === "INPUT") { found.value = name; found.oninput(); } else
      found.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    for (let k = 0; k < 200 && document.querySelector("#result").textContent.startsWith("Thinking"); k++)
      await new Promise((done) => setTimeout(done, 30));
    const texts = (what) => [...document.querySelectorAll(what)].map((e) => e.textContent);
    const [about, result, error, log] = ["about", "result", "error", "log"].flatMap((id) => texts(`#${id}`));
    seen.push({ cards: texts("#felt .card"), chances: texts(".chance"), about, result, error, log,
      wide: document.documentElement.scrollWidth > innerWidth });
  }
  const result = document.createElement("pre");
  result.id = "seen";
  result.textContent = JSON.stringify(seen);
  document.body.append(result);
})().catch((e) => { document.body.append(`failed: ${e}`); });
</script>"""


class Says(pyspiel.Bot):
  """Checks or calls, without probabilities."""

  def step(self, state):
    return 1

  def restart_at(self, state):
    pass

  def inform_action(self, state, player, action):
    pass


def table_of(name, opponent="always_call", seats=(0, 1), seed=0):
  game, rng = pyspiel.load_game(name), np.random.RandomState(seed)
  make = opponent if callable(opponent) else play.make_opponent(game, opponent, rng)
  return play.Table(game, seats, make, rng, "some bot", lambda state, seat: None)


class Browser:
  """Asks a table as a page does, without a server."""

  def __init__(self, table):
    self.table, self.data = table, {}
    self.reload()

  def reload(self):
    status, kind, page = self.table.answer("/", None)
    assert (status, kind) == (200, "text/html") and page.count("</script>") == 2
    self.data = json.loads(re.search(r'application/json">(.*?)</script>', page, re.DOTALL)[1])
    return self.data

  def send(self, path, **more):
    asked = {"number": self.data["number"], "moves": self.data["moves"], **more}
    status, _, text = self.table.answer(path, json.dumps(asked).encode())
    self.data = json.loads(text)
    assert status == (400 if self.data["error"] else 200)
    return self.data


def row(data, whose):
  """The faces of a row of the table, of a player or by its name."""
  (faces,) = (row["cards"] for row in data["table"]["rows"] if whose in (row["player"], row["name"]))
  return [face for face in faces if face not in ("", HIDDEN)]


def test_hands_are_dealt_played_and_counted():
  """The result of a showdown is that of its cards; then seats change, and a fold loses the small blind."""
  browser = Browser(table_of(HOLDEM))
  assert browser.data["over"] and browser.data["number"] == 0
  first = browser.send("/deal")
  assert (first["seat"], first["number"], row(first, "Board")) == (0, 1, [])
  assert first["table"]["facts"] == ["Pot 200"] and not first["thoughts"]
  assert [len(row(first, player)) for player in (0, 1)] == [2, 0]
  assert first["actions"] == [[1, "Check"]]
  assert first["sized"] == {"least": 200, "most": 2000, "called": 100, "before": 0}
  browser.send("/move", action=300)
  assert browser.data["log"] == [[0, 1, "Call"], [0, 0, "Raise to 300"], [0, 1, "Call"]]
  assert len(row(browser.data, "Board")) == 3
  assert [one["notes"] for one in browser.data["table"]["rows"]] == [["1,700 behind"], ["1,700 behind"], []]
  for text in ("k", "b 100", "1"):
    assert not browser.data["over"]
    browser.send("/move", text=text)
  end = browser.data
  assert end["over"] and len(row(end, "Board")) == 5
  board, *hands = (cards.parse_cards("".join(row(end, whose))) for whose in ("Board", 0, 1))
  theirs = strengths(np.array(board), np.array(hands))
  assert end["won"] == 400 * np.sign(theirs[0] - theirs[1]) != 0
  assert [thought["chances"] for thought in end["thoughts"]][1] == [["Call", 1.0]]
  assert browser.reload()["thoughts"] == end["thoughts"]
  second = browser.send("/deal")
  assert (second["seat"], second["number"], second["result"]) == (1, 2, "")
  assert browser.send("/move", action=0)["won"] == end["won"] - 50


def test_mistakes_leave_the_game_as_it_is():
  table = table_of(HOLDEM, seats=[0])
  browser, other = Browser(table), Browser(table)
  assert browser.send("/move", action=1)["error"] == "No game is running; deal one."
  before = browser.send("/deal")
  assert "not over" in browser.send("/deal")["error"]
  for action in (0, 150, -1, 99999, "a", [], 1.5, None):
    assert browser.send("/move", action=action)["error"]
  assert (
    "'call' is not legal here. Legal: Check, Raise to 200 up to All-in 2,000"
    in browser.send("/move", text="call")["error"]
  )
  assert "another window" in other.send("/move", action=1)["error"]
  assert other.data | {"error": None} == browser.data | {"error": None} == before
  for sent in (b"", b"{", b"[1]", b"3", b"\xff"):
    assert table.answer("/move", sent)[0] == 400
  assert table.answer("/else", None) is table.answer("/move", None) is table.answer("/", b"{}") is None
  other.send("/move", action=1)
  assert "another window" in browser.send("/move", action=1)["error"]
  assert browser.send("/move", action=1)["error"] is None


@pytest.mark.parametrize("failure", [ValueError, RuntimeError])
def test_a_bot_that_fails_leaves_its_turn_to_itself(failure, capsys):
  """Its reason is shown, nobody else can make its move, and it is asked anew."""

  class Fails(Says):
    def step(self, state):
      if failing:
        raise failure("out of memory")
      return 1

  failing = [True]
  table = table_of("kuhn_poker", lambda seat: Fails(), seats=[0])
  game = json.loads(table.answer("/deal", b'{"number": 0, "moves": 0}')[2])
  asked = {"number": 1, "action": 0}
  status, _, text = table.answer("/move", json.dumps(asked | {"moves": game["moves"]}).encode())
  assert status == (400 if failure is ValueError else 500) and "out of memory" in json.loads(text)["error"]
  moves = json.loads(text)["moves"]
  assert moves == game["moves"] + 1
  status, _, text = table.answer("/move", json.dumps(asked | {"moves": moves}).encode())
  assert status == 400 and "opponent's turn" in json.loads(text)["error"]
  assert json.loads(text)["actions"] == []  # those of others may show their cards
  failing.clear()
  assert Browser(table).data["moves"] > moves


def test_nothing_hidden_is_sent_before_the_end():
  """Hands that differ in the opponent's cards alone give the same data."""
  found = []
  for theirs in ([0, 5], [30, 44]):
    sitting = Sitting(pyspiel.load_game(HOLDEM), 0, lambda seat: Says())
    for card in (51, 50, *theirs):
      sitting.move(card)
    assert not sitting.state.is_terminal()
    sitting.move(1)
    found.append(table_data(sitting))
  assert found[0] == found[1] and row(found[0], 0) == ["As", "Ah"] and not row(found[0], 1)


def test_a_range_is_shown_by_kinds_of_hands():
  """Mean weights of the hands that the cards in sight allow, over the largest; none before there is one."""

  class Knows:
    def ranges(self, state):
      if len(state.runout) < 4:
        raise ValueError("no search yet")
      weights = np.zeros((2, len(cards.ALL_HANDS)))
      for hand, weight in {"AcAd": 4, "KsQs": 3, "7h6d": 1, "As2s": 9}.items():
        weights[0, cards.set_numbers(np.array(cards.parse_cards(hand)))] = weight
      return weights

  class Stacked:
    """A deck in a known order."""

    cards = iter(cards.parse_cards("AsAh2s2h3c4c5c6c7c"))

    def choice(self, actions, p):
      return next(self.cards)

  bot = Says()
  bot.policy = Knows()
  sitting = Sitting(pyspiel.load_game("holdem(bets=x)"), 0, lambda seat: bot, Stacked())
  while sitting.advance():
    sitting.move(1)
  thoughts = table_data(sitting)["thoughts"]
  assert [thought["held"] is None for thought in thoughts][:2] == [True, True]
  held = next(thought["held"] for thought in thoughts if thought["held"])
  shown = {k: share for k, share in enumerate(held) if share}
  # Of six AA all are possible, of four KQs all; 2s is in the bot's hand.
  assert shown[0] == pytest.approx(round(4 / 6 / (3 / 4), 3)) and shown[13 + 2] == 1
  assert set(shown) == {0, 13 + 2, 8 * 13 + 7}
  assert [thought["held"] is None for thought in thoughts][2:] == [False, False]


def test_a_uniform_range_is_even_in_a_small_deck():
  class Even:
    def ranges(self, state):
      return np.ones((2, len(cards.ALL_HANDS)))

  bot = Says()
  bot.policy = Even()
  sitting = Sitting(
    pyspiel.load_game("holdem(deck=13x2,bets=x)"), 0, lambda seat: bot, np.random.RandomState(0)
  )
  while sitting.advance():
    sitting.move(1)
  held = np.array(table_data(sitting)["thoughts"][0]["held"])
  # The bot's 9d and 8c leave no 99 and 88, of which two suits have one each, and no 98s.
  assert set(held) == {0, 1} and np.flatnonzero(held == 0).tolist() == [13 * 5 + 5, 13 * 5 + 6, 13 * 6 + 6]


def test_an_agent_tells_its_searches():
  game = pyspiel.load_game("holdem(stack=400,bets=fullgame)")
  blueprint = openspiel_policy.UniformRandomPolicy(pyspiel.load_game("holdem(stack=400,bets=x)"))
  make = lambda seat: ps_cfr_spiel.HoldemPolicy(game, blueprint, bets="a", iterations=1).bot(seat, 0)  # noqa: E731
  browser = Browser(table_of(str(game), make, seats=[0]))
  browser.send("/deal")
  while not browser.data["over"]:
    browser.send("/move", action=1)
  last = browser.data["thoughts"][-1]
  assert len(row(last, "Board")) == 5 and max(t["held"] is not None for t in browser.data["thoughts"])
  assert sum(chance for _, chance in last["chances"]) == pytest.approx(1)


GAMES = {
  "cheat(max_turns=6)": "heuristic",
  "leduc_poker": "random",
  "glasses(turns=2)": "random",
  "dark_hex(board_size=2)": "random",
  "liars_dice": "random",
}


@pytest.mark.parametrize(("name", "opponent"), GAMES.items())
def test_other_games_have_their_table_or_text(name, opponent):
  """Every pick is of a legal move, and of a place or a card that the person sees."""
  browser = Browser(table_of(name, opponent))
  data = browser.send("/deal")
  while not data["over"]:
    assert data["log"] is None and data["story"] and data["actions"] and not data["revealed"]
    table, actions = data["table"], [str(action) for action, _ in data["actions"]]
    assert (table is None) == (name == "liars_dice")
    for action, picks in (table or {"picks": {}})["picks"].items():
      places = [str(k) for k in range(len(table["board"]["marks"]))] if table["board"] else row(data, 0)
      assert action in actions and set(picks) <= set(places)
    name_of_move = data["actions"][0][1]
    data = browser.send("/move", text=name_of_move)
    assert data["made"] == name_of_move
  assert data["result"] and data["revealed"][0].startswith("Player 1 saw")


@pytest.mark.parametrize(
  "name",
  ["cheat(max_turns=6)", "cheat(players=3,max_turns=6)", "graph_pursuit(preset=alleys)", "glasses(turns=4)"],
)
def test_only_the_mover_sees_picks(name):
  """Which moves are legal may show hidden cards or pieces."""
  game, random, seen = pyspiel.load_game(name), np.random.RandomState(0), 0
  state = game.new_initial_state()
  while not state.is_terminal():
    mover, legal = state.current_player(), state.legal_actions()
    others = [seat for seat in range(game.num_players()) if seat != mover]
    if not state.is_chance_node():
      for seats in ([], others, *([seat] for seat in others)):
        assert not player_views.table_of(state, seats).picks
      seen += bool(player_views.table_of(state, [mover]).picks)
    state.apply_action(int(random.choice(legal)))
  assert seen > 1


def test_the_end_of_cheat_in_words():
  """The hand that is empty is named, and no rank comes next."""
  state = pyspiel.load_game("cheat(ranks=2,suits=2,hand_size=1,first_player=0)").new_initial_state()
  for move in ("Deal A to p0", "Deal 2 to p1", "Discard A"):
    state.apply_action(state.string_to_action(move))
  assert player_views.present_view(state, 1).startswith("Player 0 claims 1 of rank A. Player 0: no cards.")
  state.apply_action(state.string_to_action("Pass"))
  assert state.is_terminal()
  assert player_views.present_view(state, 0).startswith("The game is over. You: no cards. Player 1: 1 card.")


def test_only_the_mover_has_a_bet_to_call():
  """It is counted from their own bet, and is not shown at the end."""
  state = pyspiel.load_game(HOLDEM).new_initial_state()
  for card in cards.parse_cards("AsAhKsKh"):
    state.apply_action(card)

  def facts(*seats):
    return player_views.table_of(state, seats).facts

  assert (facts(1), facts(0), facts(0, 1)) == (
    ("Pot 150", "To call 50"), ("Pot 150",), ("Pot 150", "To call 50"),
  )  # fmt: skip
  state.apply_action(300)
  assert (facts(0), facts(1), facts()) == (("Pot 400", "To call 200"), ("Pot 400",), ("Pot 400",))
  state.apply_action(0)
  assert state.is_terminal() and facts(0, 1) == ("Pot 400",)


@pytest.mark.parametrize("name", ["leduc_poker", "leduc_poker(players=3)"])
def test_chips_of_leduc_add_up_to_the_end(name):
  """In every play the pot and the chips behind are 100 for each player."""
  game, random = pyspiel.load_game(name), np.random.RandomState(0)
  for _ in range(20):
    state = game.new_initial_state()
    while not state.is_terminal():
      state.apply_action(int(random.choice(state.legal_actions())))
      if not state.is_chance_node():
        table = player_views.table_of(state, [0])
        chips = [note.removesuffix(" behind") for one in table.rows for note in one.notes]
        assert sum(map(int, [*chips, table.facts[0].removeprefix("Pot ")])) == 100 * game.num_players()
  assert state.is_terminal()


def test_a_bot_of_many_moves_tells_the_likeliest():
  browser = Browser(table_of(HOLDEM, "random", seats=[0], seed=3))
  browser.send("/deal")
  while not browser.data["over"]:
    browser.send("/move", action=browser.data["actions"][-1][0])
  first = browser.data["thoughts"][0]
  assert len(first["chances"]) + first["others"] == 2 + 1801 and len(first["chances"]) <= 9


# --- The server ---------------------------------------------------------------------------------


def test_a_game_over_http(monkeypatch):
  """Also while another connection is open on which nothing is asked."""
  with served(table_of("kuhn_poker", "random", seed=1).answer, monkeypatch) as address:
    port = int(address.split(":")[-1].strip("/"))
    with socket.create_connection(("127.0.0.1", port)):
      assert b"<!doctype html>" in urllib.request.urlopen(address).read()
      ask = lambda path, body: json.loads(urllib.request.urlopen(address + path, body).read())  # noqa: E731
      data = ask("deal", b'{"number": 0, "moves": 0}')
      while not data["over"]:
        asked = {"number": 1, "moves": data["moves"], "action": 0}
        data = ask("move", json.dumps(asked).encode())
    assert abs(data["won"]) in (1, 2)
    for path, body, code in (
      ("move", b"{}", 400),
      ("deal", b"[" * 9_999, 400),
      ("deal", b"x" * 99_999, 413),
      ("other", b"{}", 404),
    ):
      with pytest.raises(urllib.error.HTTPError, match=str(code)):
        urllib.request.urlopen(address + path, body)
    assert program.run(["play", "kuhn_poker", "--opponent=random", "--browser", f"--port={port}"]) == 2


def test_pages_from_elsewhere_may_only_link(monkeypatch, capfd):
  """A browser says which page asks (https://www.w3.org/TR/fetch-metadata/); no script can change that."""
  answer = lambda path, sent: (200, "text/javascript", "add({})") if path in ("/", "/0.js") else None  # noqa: E731
  opens = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
  cases = [
    ("", {}, 200),
    ("", {"Host": "elsewhere.example"}, 403),
    ("", {"Origin": "http://elsewhere.example"}, 403),
    ("", {"Sec-Fetch-Site": "none", **opens}, 200),
    ("0.js", {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "script"}, 200),
    *[
      ("0.js", {"Sec-Fetch-Site": site, "Sec-Fetch-Dest": "script"}, 403)
      for site in ("cross-site", "same-site")
    ],
    ("", {"Sec-Fetch-Site": "cross-site", **opens}, 200),  # a link in a mail or a notebook
    ("0.js", {"Sec-Fetch-Site": "cross-site", **opens}, 403),
    ("", {"Sec-Fetch-Site": "cross-site", **opens, "Sec-Fetch-Dest": "iframe"}, 403),
  ]
  with served(answer, monkeypatch) as address:
    for path, header, code in cases:
      with contextlib.suppress(urllib.error.HTTPError):
        found = urllib.request.urlopen(urllib.request.Request(address + path, headers=header))
        assert found.status == code, (path, header)
        continue
      assert code == 403, (path, header)
  assert not capfd.readouterr().err


def test_absurd_requests_are_refused(monkeypatch, capfd):
  """By a status, without a traceback on the terminal, and the server goes on."""
  with served(table_of("kuhn_poker", "random", seed=1).answer, monkeypatch) as address:
    port = int(address.split(":")[-1].strip("/"))

    def status(request):
      with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(request)
        return connection.makefile("rb").readline().split()[1]

    start = b"POST /deal HTTP/1.1\r\nHost: localhost\r\n"
    for length, code in ((b"9" * 5000, b"413"), (b"-1", b"400"), (b"x", b"400"), (b"", b"400")):
      assert status(start + b"Content-Length: " + length + b"\r\n\r\n") == code
    assert status(start + b"\r\n") == b"400"
    assert status(b"GET /streets/" + b"9" * 5000 + b".js HTTP/1.1\r\nHost: localhost\r\n\r\n") == b"404"
    with socket.create_connection(("127.0.0.1", port)) as connection:  # hangs up in its request, by a reset
      connection.sendall(start)
      connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert urllib.request.urlopen(address).status == 200
  assert not capfd.readouterr().err


def test_the_command(capsys):
  assert program.run(["play", "kuhn_poker", "--port=80"]) == 2
  assert "--port belongs to --browser" in capsys.readouterr().err
  words = [sys.executable, "-m", "ps_cfr_spiel", "play", "kuhn_poker", "--browser", "--opponent=random"]
  ignored = signal.signal(signal.SIGINT, signal.default_int_handler)  # a child inherits what is ignored
  with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
    signal.signal(signal.SIGINT, ignored)
    assert server.stdout.readline().startswith("Opponent: random")
    address = server.stdout.readline().split()[-1]
    assert "Kuhn Poker" in urllib.request.urlopen(address).read().decode()
    server.send_signal(signal.SIGINT)
    assert server.wait(60) == 0


def in_browser(table, steps, folder, monkeypatch):
  """What a page shows after each click or text of a person; see `DRIVER`."""

  def answer(path, sent):
    status, kind, text = table.answer(path, sent) or (404, "text/plain", "")
    driver = DRIVER.replace("STEPS", json.dumps(steps))
    return status, kind, text.replace("</body>", driver + "</body>")

  flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}"]
  flags += ["--window-size=390,900", "--virtual-time-budget=20000", "--dump-dom"]
  with served(answer, monkeypatch) as address:
    run = subprocess.run([str(BROWSER), *flags, address], capture_output=True, text=True, timeout=100)
  found = re.search('<pre id="seen">(.*?)</pre>', run.stdout, re.DOTALL)
  assert found, run.stdout[-2000:] + run.stderr[-2000:]
  return json.loads(html.unescape(found[1]))


@needs_browser
def test_stones_are_moved_on_the_map(tmp_path, monkeypatch):
  """Two nodes are clicked, and the move is made; no buttons are needed, and the page is not too wide."""
  table = table_of("glasses(turns=2)", "random", seats=[0])
  steps = [("#moves button", "Deal"), *((f'[data-place="{node}"]', "") for node in (1, 8))]
  dealt, first, second = in_browser(table, steps, tmp_path, monkeypatch)
  assert not dealt["log"].startswith("You") and not first["log"].startswith("You")
  assert second["log"].startswith("You: Stones to 1/8") and not any(
    s["wide"] or s["error"] for s in (first, second)
  )


@needs_browser
def test_a_hand_in_a_browser(tmp_path, monkeypatch):
  """Deal, bet in chips and by the pot, see the cards and the thoughts; then fold the next hand."""
  table = table_of(HOLDEM)
  field, go, check = ("#form input", "350"), ("#form button", "Raise to 350"), ("#moves button", "Check")
  half = [("#form input", "1/2 pot"), ("#form button", "Move: 1/2 pot")]
  steps = [("#moves button", "Deal"), field, go, *half, check, ("#form button", "all-in")]
  steps += [("#form button", "All-in 1,300"), ("#moves button", "Deal again"), ("#moves button", "Fold")]
  seen = in_browser(table, steps, tmp_path, monkeypatch)
  assert [len(list(filter(None, shown["cards"]))) for shown in seen] == [2, 2, 5, 5, 6, 7, 7, 9, 2, 4]
  assert not any(shown["wide"] or shown["error"] for shown in seen)
  assert seen[2]["log"] == "Opponent: Call, You: Raise to 350, Opponent: Call"
  won = int(re.search(r"([+-][\d,]+) after 1 game$", seen[7]["about"])[1].replace(",", ""))
  assert abs(won) == 2000 and seen[7]["result"] == f"You {'win' if won > 0 else 'lose'} 2,000."
  assert seen[7]["chances"] == [f"{name}100.0%" for name in ("Call", "Call", "Call", "Check", "Call")]
  assert seen[4]["log"].endswith("You: Bet 350, Opponent: Call")
  assert seen[9]["result"] == "You lose 50." and f"{won - 50:+,} after 2 games" in seen[9]["about"]
