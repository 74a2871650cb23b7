"""The page to explore a solution: its data, and in a real browser what it shows after clicks."""

import base64
import contextlib
import dataclasses
import functools
import html
import http.server
import json
import re
import shutil
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import numpy as np
import pytest
from random_policies import random_policy

from ps_cfr_spiel import TreePolicy, load_policy
from ps_cfr_spiel.apps.commands import program
from ps_cfr_spiel.apps.commands.framework.server import answers, serve
from ps_cfr_spiel.apps.views import (
  belief_at,
  beliefs,
  chance_moves,
  charts,
  explore_page,
  explore_script,
  explorer_page,
  spot,
  worth_at,
)
from ps_cfr_spiel.cards.notation import play_moves

RIVER = "river_subgame(bets=0.5 1 a,stack=1000,ranges=AA:0.5 KQs AKo:0.2 8h6h 22;TT QQ:0.3 87s AK)"
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium: apt-get install chromium")
LARGEST = 2_000_000  # bytes of the default river's page
PART = ["check, check, 2c ..."]  # of `turn`

DRIVER = """<script>
(async () => {
  const seen = [];
  for (const [where, name] of STEPS) {
    const found = [...document.querySelectorAll(where)].filter(
      (b) => name === (b.dataset.move ?? b.dataset.kind ?? b.textContent));
    if (where === "key") dispatchEvent(new KeyboardEvent("keydown", { key: name }));
    else if (where === "link") {
      location.hash = name;
      for (let k = 0; k < 99 && !document.title.includes(" · "); k++)
        await new Promise((done) => setTimeout(done, 50));
    }
    else if (!found.length || found[0].disabled) throw Error(`no ${name} in ${where}`);
    else found[0].dispatchEvent(new MouseEvent("click", { bubbles: true }));
    await new Promise((done) => setTimeout(done, 30));
    const texts = (what) => [...document.querySelectorAll(what)].map((e) => e.textContent);
    const rows = [...document.querySelectorAll("#table tr")];
    seen.push({
      hash: location.hash, here: document.querySelector("#here").textContent,
      path: texts("#path button"), moves: texts("#moves button"), title: document.title,
      seats: texts("#seats .card, #seats .who, #seats .bet, #seats strong"),
      map: texts("#drawn text"), felt: texts("#drawn .card"),
      cards: [...document.querySelectorAll("#grid [data-move]:enabled")].map((e) => e.dataset.move),
      views: texts("#views button"),
      table: rows.map((r) => [...r.children].map((e) => e.textContent)),
      cells: document.querySelectorAll("#grid:not([hidden]) [data-kind]").length,
      pieces: [...document.querySelectorAll("[data-piece]")].map((e) => +e.dataset.piece),
      wide: document.documentElement.scrollWidth > innerWidth,
    });
  }
  const result = document.createElement("pre");
  result.id = "result";
  result.textContent = JSON.stringify(seen);
  document.body.append(result);
})().catch((e) => { document.body.append(`failed: ${e}`); });
</script>"""


@functools.cache
def turn():
  """A policy, whose values are worked out once."""
  return random_policy("holdem_subgame(stack=1000,ranges=AK QQ:0.5;TT 98s)")


@contextlib.contextmanager
def served(answer, monkeypatch):
  """The address of a server in this process."""
  made = []

  class Known(http.server.ThreadingHTTPServer):
    def server_activate(self):
      super().server_activate()
      made.append(self)
      there.set()

  there = threading.Event()
  monkeypatch.setattr(http.server, "ThreadingHTTPServer", Known)
  thread = threading.Thread(target=serve, args=(answer, 0))
  thread.start()
  assert there.wait(60)
  try:
    yield f"http://127.0.0.1:{made[0].server_port}/"
  finally:
    made[0].shutdown()
    thread.join(60)


def click(policy, steps, folder, width=1000, served_by=None, page=None, **options):
  """What the page shows after each of some clicks, [(CSS selector, name), ...].

  It is a file, or with a `monkeypatch` in `served_by` a page of the server; `page` is one that is made.
  """
  page = page or explore_page(policy, **options, served=served_by is not None)
  page = page.replace("</body>", DRIVER.replace("STEPS", json.dumps(steps)) + "</body>")
  file = folder / "page.html"
  file.write_text(page)
  flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"]
  flags += [f"--window-size={width},900", "--virtual-time-budget=20000", "--dump-dom"]
  with contextlib.ExitStack() as stack:
    address = file.as_uri()
    if served_by is not None:
      address = stack.enter_context(served(answers(policy, page), served_by))
    run = subprocess.run([str(BROWSER), *flags, address], capture_output=True, text=True, timeout=300)
  found = re.search('<pre id="result">(.*?)</pre>', run.stdout, re.S)
  assert found, run.stdout[-2000:] + run.stderr[-2000:]
  return json.loads(html.unescape(found[1]))


def test_a_page_of_three_players_has_everybodys_values():
  """Each plays once in every game: the worth of their decisions together is that of the game to them."""
  import heist  # noqa: F401  (registers the game)
  from open_spiel.python.algorithms import expected_game_score

  policy = random_policy("py_heist")
  data = explorer_page.page_data(policy)
  assert data["seats"] == ["player 0", "player 1", "player 2"]
  worth = np.zeros(3)
  for node in data["nodes"]:
    if "data" in node:
      columns = len(data["types"][node["types"]])
      table = np.frombuffer(base64.b64decode(node["data"]), "<f4").reshape(-1, columns)
      reach, _, mean, _, _, others, _ = table[2 * len(node["ids"]) :]
      worth[node["player"]] += (reach * others * mean).sum()
  state = policy.game.new_initial_state()
  np.testing.assert_allclose(worth, expected_game_score.policy_value(state, [policy] * 3), atol=1e-6)


def numbers(texts):
  """The numbers of cells or buttons, nan for a dash; shares for percents."""
  found = []
  for text in texts:
    match = re.search(r"(-?[\d.,]+(?:e-?\d+)?)(%?)$", text.replace(" · end", ""))
    found.append(float(match[1].replace(",", "")) / (100 if match[2] else 1) if match else np.nan)
  return found


@pytest.mark.parametrize("name", [RIVER, "kuhn_poker", "glasses(turns=1)"])
def test_the_data_are_those_of_the_rows(name):
  policy = random_policy(name)
  data = explorer_page.page_data(policy)
  seen = 0
  for number, node in enumerate(data["nodes"]):
    if "data" not in node:
      continue
    here = spot(policy, f"#{number}")
    types = data["types"][node["types"]]
    table = np.frombuffer(base64.b64decode(node["data"]), "<f4").reshape(-1, len(types))
    rows = {(row["infostate"], row["action"]): row for row in policy.to_rows([number])}
    for column, (row_number, h) in enumerate(here.cells):
      decision = policy.labels.decisions[row_number]
      mean = best = None
      for k, action in enumerate(node["ids"]):
        row = rows.get((decision.infostates[h], action))
        if row is None:
          assert np.isnan(table[k, column])
          continue
        seen += 1
        assert table[k, column] == pytest.approx(row["probability"], rel=1e-6)
        if row["value"] is not None:
          assert table[len(node["ids"]) + k, column] == pytest.approx(row["value"], rel=1e-5, abs=1e-5)
          mean = (mean or 0) + row["probability"] * row["value"]
          best = max(-np.inf if best is None else best, row["best_response_value"])
        assert table[2 * len(node["ids"]), column] == pytest.approx(row["reach"], rel=1e-6)
      if mean is not None and best is not None:
        assert table[-5, column] == pytest.approx(mean, rel=1e-5, abs=1e-5)
        assert table[-4, column] == pytest.approx(best - mean, rel=1e-4, abs=1e-4)
  assert seen == len(policy.to_rows())


def test_the_page_is_whole_and_needs_no_network():
  page = explore_page(random_policy("kuhn_poker"), "a policy </script> of tests")
  assert page.count("</script>") == 2  # what is put in cannot end a script
  page = explore_page(random_policy("kuhn_poker"), "a <!--<script> that a browser would never close")
  assert "<!--<script" not in page and page.count("<script") == 2
  assert not re.search(r"https?://|src=|@import", page)
  assert "/*DATA*/" not in page


def test_the_page_of_the_default_river_is_small():
  assert len(explore_page(random_policy("river_subgame")).encode()) < LARGEST


def test_what_is_too_large_is_refused(monkeypatch):
  monkeypatch.setattr(explorer_page, "MOST_NUMBERS", 10)
  with pytest.raises(ValueError, match=r"^9 public states of kuhn_poker\(\) .* --part=.* show --csv"):
    explore_page(random_policy("kuhn_poker"), lines=["pass, bet", "pass, pass ...", "bet ..."])
  with pytest.raises(ValueError, match=r"^5 public states"):
    explore_page(random_policy("kuhn_poker"), lines=["pass, bet"])


def test_the_command(tmp_path, capsys):
  random_policy("kuhn_poker").save(tmp_path / "policy.safetensors")
  page = f"--html={tmp_path / 'policy.html'}"
  assert program.run(["show", str(tmp_path / "policy.safetensors"), page]) == 0
  assert (tmp_path / "policy.html").read_text().startswith("<!doctype html>")
  assert (tmp_path / "policy.html").as_uri() in capsys.readouterr().out
  capsys.readouterr()
  for words in (["--at=pass"], ["--csv=x.csv"], ["--json"], ["--hand=0"], ["--port=8000"]):
    assert program.run(["show", str(tmp_path / "policy.safetensors"), page, *words]) == 2
    assert f"{words[0].partition('=')[0]} " in capsys.readouterr().err


@needs_browser
def test_three_lines_of_a_river_are_clicked_through(tmp_path):
  policy = random_policy(RIVER)
  lines = {"AKo": ["Check", "Bet 100"], "TT": ["Bet 200"], "QQ": ["All-in 900"]}
  steps, places = [], []
  for kind, line in lines.items():
    steps += [("#path button", "Start"), *(("#moves button", move) for move in line), (".cell", kind)]
    places.append(len(steps) - 1)
  keys = [("key", "ArrowLeft"), ("key", "2"), ("key", "Escape"), ("key", "Escape"), ("key", "ArrowRight")]
  *seen, back, second, whole, start, on = click(
    policy, [*steps, ("#views button", "EV from now"), *keys], tmp_path, 390
  )
  first = spot(policy)
  likeliest = first.actions[int(np.argmax(first.frequencies()))]
  lines_seen = [[name.replace(",", "") for name in one["path"]] for one in (back, second, whole, start, on)]
  assert lines_seen == [["Start"], *2 * [["Start", first.actions[1]]], ["Start"], ["Start", likeliest]]
  assert second["title"].startswith(f"{first.actions[1]} · ")
  bet = spot(policy, "bet 100")
  assert second["seats"] == [
    "player 0 (OOP)800 behind",
    "",
    "",
    "bet 100",
    "9♠",
    "7♣",
    "5♠",
    "4♥",
    "3♣",
    "Pot 300",
    "player 1 (IP)900 behind",
    "",
    "",
  ]
  assert bet.spent == (200, 100)
  last = spot(policy, "All-in 900")
  assert last.spent[last.player] > 0
  assert_table_is(seen[-1], last, worth_at(policy, last), charts.find_types(last, "QQ"), chips=0)
  for (kind, line), place in zip(lines.items(), places, strict=True):
    here, shown = spot(policy, ", ".join(line)), seen[place]
    assert shown["hash"] == f"#{here.public_state}"
    assert [name.replace(",", "") for name in shown["path"]] == ["Start", *line]
    np.testing.assert_allclose(numbers(shown["moves"]), here.frequencies(), atol=0.00051)
    assert not shown["wide"]  # a phone's width is enough
    types = charts.find_types(here, kind)
    worth = worth_at(policy, here)
    table = assert_table_is(shown, here, worth, types)
    assert worth.equity is not None
    for h in types:
      assert table[here.types[h]][1] == pytest.approx(worth.equity[h], abs=0.00051)


def assert_table_is(shown, here, worth, types, chips=None):
  """A table of the page has the policy's numbers of some types, as far as they are printed.

  EVs are counted without some chips that the player had put in; by default all, so that a fold is worth 0.
  """
  value = worth.since(here.spent[here.player] if chips is None else chips).value
  table = {row[0]: numbers(row[1:]) for row in shown["table"][1:]}
  assert set(table) == {here.types[h] for h in types}
  for h in types:
    expected = np.stack([100 * here.probability[:, h], value[:, h]], 1).ravel()
    first = 1 + (worth.equity is not None)  # the value, and the equity
    found = np.array(table[here.types[h]])[first : first + len(expected)]
    found[::2] *= 100
    np.testing.assert_allclose(found, expected, atol=0.0501, rtol=6e-4)
  return table


def passing(**info):
  """Kuhn poker, where player 0 never bets."""
  policy = random_policy("kuhn_poker")
  strategies = [[block.copy() for block in blocks] for blocks in policy.strategies]
  for block in strategies[0]:
    block[:] = np.array([1.0, 0.0])[:, None, None]
  return TreePolicy(policy.game, policy.labels, strategies, info)


def test_answers_that_are_not_to_be_trusted_are_marked(tmp_path, capsys):
  """Where play hardly ever comes, unless the strategy was solved with trembles."""
  assert spot(passing(), "Bet").rare == "the others"
  assert spot(passing(), "Pass, Bet").rare == spot(passing(), "Pass").rare == ""
  for trembled, marked in ((0, True), (1, False)):
    file = tmp_path / f"policy{trembled}.safetensors"
    passing(options={"tremble": trembled}).save(file)
    assert program.run(["show", str(file), "--at=Bet"]) == 0
    shown = capsys.readouterr().out
    assert ("Do not trust these answers: by the choices of the others" in shown) == marked
    assert ("solve --tremble=1" in shown) == marked
    assert program.run(["show", str(file), "--at=Pass"]) == 0
    assert "trust" not in capsys.readouterr().out


@needs_browser
@pytest.mark.parametrize("trembled", [0, 1])
def test_the_page_marks_them_too(tmp_path, trembled):
  policy = passing(options={"tremble": trembled})
  steps = [("#moves button", "Bet"), ("#path button", "Start"), ("#moves button", "Pass")]
  bet, _, passed = click(policy, steps, tmp_path)
  marked = [row[0].endswith(" ?") for row in bet["table"][1:]]
  assert marked == 3 * [not trembled]
  assert not any(row[0].endswith(" ?") for row in passed["table"][1:])


@needs_browser
def test_classes_of_hands_lead_to_their_hands(tmp_path):
  """The table of classes has the numbers of `show --classes`; a click shows the hands of one."""
  policy, kind = random_policy(RIVER), "overpair"
  here = spot(policy, "Check")
  steps = [("#path button", "Start"), ("#moves button", "Check"), ("#table button", kind), (".cell", "AKo")]
  _, table, hands, cell = click(policy, steps, tmp_path, 390)
  lines = charts.classes_text(here, worth_at(policy, here).since(here.spent[1])).splitlines()
  expected = {line[:15].strip(): numbers(re.split(r" {2,}", line[15:].strip())) for line in lines[1:]}
  assert [row[0] for row in table["table"][1:]] == list(expected)
  for name, *cells in table["table"][1:]:
    combos, value, equity, *actions = numbers(cells)
    theirs = expected[name]
    np.testing.assert_allclose([combos, value], [theirs[0], theirs[-2]], rtol=2e-3, atol=0.051)
    np.testing.assert_allclose([equity, *actions], [theirs[-1], *theirs[2:-2]], atol=0.00056)
  assert_table_is(hands, here, worth_at(policy, here), charts.find_types(here, kind))
  assert_table_is(cell, here, worth_at(policy, here), charts.find_types(here, "AKo"))
  assert not table["wide"] and not hands["wide"]


@needs_browser
def test_a_line_of_a_turn_goes_through_a_card(tmp_path):
  policy = turn()
  line, kind = ["Check", "Bet 200", "Call", "Deal 2c"], "AKo"
  seen = click(policy, [*through(line), (".cell", kind)], tmp_path)
  assert len(seen[2]["cards"]) == 52 - len("9s7c5s4h") // 2
  here, shown = spot(policy, ", ".join(line)), seen[-1]
  assert shown["hash"] == f"#{here.public_state}"
  assert [name.replace(",", "") for name in shown["path"]] == ["Start", *line]
  np.testing.assert_allclose(numbers(shown["moves"]), here.frequencies(), atol=0.00051)
  table = assert_table_is(shown, here, worth_at(policy, here), charts.find_types(here, kind))
  shares = worth_at(policy, here).equity
  assert shares is not None
  equity = dict(zip(here.types, shares, strict=True))
  assert {hand: row[1] for hand, row in table.items()} == pytest.approx(
    {hand: equity[hand] for hand in table}, abs=0.00051
  )
  assert [name for name in seen[-1]["views"] if name.startswith("range")] == [
    "range of player 0 (OOP)",
    "range of player 1 (IP)",
  ]


def through(line):
  """Clicks on the moves of a line; cards are those of a grid."""
  return [(".cell" if move.startswith("Deal ") else "#moves button", move) for move in line]


@needs_browser
def test_cards_that_may_come_have_the_numbers_of_their_spots(tmp_path):
  """In a grid that replaces the chart, and in a table; of chosen hands alone too; on a telephone as well."""
  policy = turn()
  steps = [
    *through(["Check", "Check"]),
    ("#views button", "value"),
    ("#path button", "Start"),
    (".cell", "AKo"),
  ]
  steps += through(["Check", "Check"])
  page = explore_page(policy)
  seen, narrow = (click(policy, steps, tmp_path, width, page=page) for width in (1280, 390))
  assert not any(shown["wide"] for shown in (*seen, *narrow)) and seen[3]["cells"] and not seen[1]["cells"]
  assert [shown["table"] for shown in narrow] == [shown["table"] for shown in seen]
  after = chance_moves(policy, "check, check")
  for shown, hands in ((seen[2], None), (seen[-1], "AKo")):
    assert shown["cards"] and {f"Deal {card}" for card in written(shown)} == set(after)
    for card, numbers_shown in written(shown).items():
      here = after[f"Deal {card}"]
      worth = worth_at(policy, here).since(here.spent[here.player])
      kept = np.isin(
        np.arange(len(here.types)), charts.find_types(here, hands) if hands else np.arange(len(here.types))
      )
      weight, visits = here.weight * kept, here.reach * here.others * kept
      mean = np.nan_to_num(here.probability * worth.value).sum(0)
      expected = [
        mean @ visits / visits.sum(),
        worth.equity @ visits / visits.sum(),
        *(here.probability @ weight / weight.sum()),
      ]
      np.testing.assert_allclose(numbers_shown, expected, atol=0.0051)


def written(shown):
  """The table of cards that may come: numbers by card."""
  signs = dict(zip("♠♥♦♣", "shdc", strict=True))
  return {row[0][:-1].replace("10", "T") + signs[row[0][-1]]: numbers(row[1:]) for row in shown["table"][1:]}


@needs_browser
@pytest.mark.parametrize("width", [1280, 390])
def test_games_have_their_table(tmp_path, width):
  """Hands of Leduc are cards with the policy's numbers; the board is seen, others' cards are not."""
  policy = random_policy("leduc_poker")
  steps = [("#moves button", "Call"), ("#moves button", "Call"), ("#moves button", "Deal 4")]
  *_, shown = click(policy, steps, tmp_path, width)
  here = spot(policy, "call, call, 4")
  assert shown["felt"] == ["", "", "K♠"] and not shown["wide"]
  names = {f"{'JQK'[k // 2]}{'♠♥'[k % 2]}": k for k in range(6)}
  assert [row[0] for row in shown["table"][1:]] == ["K♥", "Q♠", "Q♥", "J♠", "J♥"]
  for name, _, call, _, raised, *_ in shown["table"][1:]:
    (column,) = (
      c
      for c, (n, h) in enumerate(here.cells)
      if f"[Private: {names[name]}]" in policy.labels.decisions[n].infostates[h]
    )
    np.testing.assert_allclose(numbers([call, raised]), here.probability[:, column], atol=6e-4)


@needs_browser
def test_moves_are_chosen_on_the_map(tmp_path):
  """Two clicked nodes are a move of the stones."""
  policy = random_policy("glasses(turns=1)")
  steps = [(f'[data-place="{node}"]', name) for node, name in ((1, ""), (9, ""))]
  first, second = click(policy, steps, tmp_path)
  assert first["path"] == ["Start"] and second["path"] == ["Start", "Stones to 1/9"]


@pytest.mark.parametrize("saved", [False, True], ids=["lines", "part"])
@needs_browser
def test_a_line_of_a_turn_alone(tmp_path, saved):
  """Asked for, or all that a file has; of a part what depends on other lines is not known."""
  policy, lines = turn(), PART
  if saved:
    policy.save(tmp_path / "part.safetensors", PART)
    policy, lines = load_policy(tmp_path / "part.safetensors"), None
  line, kind = ["Check", "Check", "Deal 2c", "Bet 200"], "TT"
  steps = [(".cell", "AKo"), *through(line), (".cell", kind)]
  seen = click(policy, steps, tmp_path, lines=lines)
  whole = spot(turn(), ", ".join(line))
  assert seen[-1]["hash"] == f"#{whole.public_state}"
  assert_table_is(seen[-1], whole, worth_at(turn(), whole), charts.find_types(whole, kind))
  assert [move.split(" · ")[-1] for move in seen[0]["moves"][1:]] == ["not here"] * 2
  assert seen[2]["cards"] == ["Deal 2c"]
  check = seen[0]["table"][0].index("EV Check")
  assert {np.isnan(numbers(row[1:])[check - 1]) for row in seen[0]["table"][1:]} == {saved}


@needs_browser
def test_a_served_page_loads_what_is_clicked(tmp_path, monkeypatch):
  """Of a turn too large for a page: the first street is there, the river of a card comes with a click."""
  monkeypatch.setattr(explorer_page, "STREET_STATES", 1000)  # a file would have all of it
  policy = turn()
  assert '"missing":true' not in explore_page(policy) and len(policy.labels.public_states) > 1000
  line, kind = ["Check", "Check", "Deal 2c", "Bet 200"], "TT"
  here = spot(policy, ", ".join(line))
  steps = [
    ("link", f"#{here.public_state}"),
    (".cell", kind),
    ("#path button", "Start"),
    ("link", "#999999"),
    ("#path button", "Start"),
    *through(line),
  ]
  linked, chosen, start, unknown, after, *seen = click(policy, steps, tmp_path, served_by=monkeypatch)
  assert "does not have public state #999999" in unknown["here"]
  assert after["here"] == start["here"] and after["hash"] == start["hash"] == unknown["hash"]
  assert linked["hash"] == seen[-1]["hash"] and chosen["table"] == seen[-1]["table"]
  assert chosen["path"] == seen[-1]["path"]
  assert len(seen[1]["cards"]) == 48
  assert not any("not here" in move for move in seen[1]["moves"])
  assert seen[-1]["hash"] == f"#{here.public_state}"
  assert_table_is(seen[-1], here, worth_at(policy, here), charts.find_types(here, kind))


def test_the_server(tmp_path, monkeypatch):
  """Its page and scripts; it ends with Ctrl-C, and answers nothing else."""
  policy = random_policy("kuhn_poker")
  policy.save(tmp_path / "policy.safetensors")
  words = [sys.executable, "-m", "ps_cfr_spiel", "show", str(tmp_path / "policy.safetensors"), "--serve"]
  ignored = signal.signal(signal.SIGINT, signal.default_int_handler)  # a child inherits what is ignored
  with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
    signal.signal(signal.SIGINT, ignored)
    try:
      assert server.stdout is not None
      address = server.stdout.readline().split()[-1]
      assert urllib.request.urlopen(address).read().decode().startswith("<!doctype html>")
      with urllib.request.urlopen(f"{address}streets/3.js") as reply:
        script = reply.read().decode()
        assert reply.headers["Cache-Control"] == "no-store"
      assert script == explore_script(policy, 3)
      for wrong in (
        "streets/99.js",
        f"streets/{'9' * 5000}.js",
        "streets/../policy.safetensors",
        "policy.safetensors",
      ):
        with pytest.raises(urllib.error.HTTPError, match="404"):
          urllib.request.urlopen(address + wrong)
      server.send_signal(signal.SIGINT)
      assert server.wait(60) == 0
    finally:
      server.kill()


def test_too_large_for_a_page_means_its_first_street(tmp_path, capsys, monkeypatch):
  monkeypatch.setattr(explorer_page, "MOST_NUMBERS", 1000)
  policy = turn()
  policy.save(tmp_path / "policy.safetensors")
  assert program.run(["show", str(tmp_path / "policy.safetensors"), f"--html={tmp_path / 'page.html'}"]) == 0
  assert "first street alone. All of it: show" in capsys.readouterr().out
  shown = explorer_page.street(policy, 0)
  deals = {child for n in shown for child in policy.labels.children[n]}.difference(shown)
  assert len(deals) % 48 == 0 and {policy.labels.public_states[n].parent for n in deals} <= {*shown}
  assert program.run(["show", str(tmp_path / "policy.safetensors"), "--serve", "--html=x.html"]) == 2


def test_the_page_of_a_river_of_a_turn_is_small():
  """All hands, and one of the 48 cards."""
  page = explore_page(random_policy("holdem_subgame(stack=1000)"), lines=PART)
  assert len(page.encode()) < LARGEST


@needs_browser
def test_glasses_has_a_map_with_beliefs(tmp_path):
  policy = random_policy("glasses")
  seen = click(policy, [("#moves button", "Stones to 1/9"), ("#moves button", "...")], tmp_path)
  state, _ = play_moves(policy.game, "1/9, 4")
  belief = belief_at(state, policy).sought
  assert seen[1]["pieces"] == [1, 9]
  shown = [float(text[:-1]) for text in seen[1]["map"] if text.endswith("%")]
  np.testing.assert_allclose(shown, 100 * belief[belief > 0], atol=0.051)
  probabilities = list(policy.action_probabilities(state).values())
  found = {
    name: p for name, p in zip(seen[1]["moves"], numbers(seen[1]["moves"]), strict=True) if "end" not in name
  }
  assert len(found) == len(probabilities)
  np.testing.assert_allclose(sorted(found.values()), sorted(probabilities), atol=0.00051)


PURSUIT = "graph_pursuit(preset=alleys,turns=2)"


def sights(state):
  """What both players have seen."""
  game = state.get_game()
  return [game.contact(*position) for position in state.positions()], state.turn


def test_beliefs_in_a_pursuit_are_those_of_all_its_histories():
  """Of those with the same sights; public states by common knowledge are not asked."""
  policy = random_policy(PURSUIT)
  together = {}

  def walk(state, weight):
    together.setdefault(str(sights(state)), []).append((state.attacker, state.units, weight))
    for action, probability in ({} if state.is_terminal() else policy.action_probabilities(state)).items():
      walk(state.child(action), weight * probability)

  walk(policy.game.new_initial_state(), 1)
  found = beliefs(policy)
  assert len(found) >= len(together) > 10
  for number, belief in found.items():
    state = policy.game.new_initial_state()
    for action in policy.labels.source.history(number):
      state.apply_action(action)
    alike = together[str(sights(state))]
    total = sum(weight for _, _, weight in alike)
    for node in range(len(policy.game.pursuit.ways)):
      attacker = sum(weight for where, _, weight in alike if where == node)
      unit = sum(weight for _, where, weight in alike if node in where)
      assert belief.sought[node] == pytest.approx(attacker / total)
      assert belief.others[node] == pytest.approx(unit / total)


@needs_browser
def test_a_pursuit_has_a_map_with_beliefs(tmp_path):
  policy = random_policy(PURSUIT)
  (seen,) = click(policy, [("#moves button", "...")], tmp_path, 390)
  number = int(seen["hash"][1:])
  belief = beliefs(policy, [number])[number]
  assert seen["pieces"] == np.flatnonzero(belief.others).tolist()
  shares = sorted(100 * p for p in (*belief.sought, *belief.others[belief.others < 1]) if p)
  shown = sorted(float(text[:-1]) for text in seen["map"] if text.endswith("%"))
  np.testing.assert_allclose(shown, shares, atol=0.051)
  assert not seen["wide"]


@needs_browser
def test_leduc_is_a_tree_with_tables(tmp_path):
  policy = random_policy("leduc_poker")
  line = ["Raise", "Call", "Deal 0"]
  seen = click(policy, [("#moves button", move) for move in line], tmp_path)
  here = spot(policy, ", ".join(line))
  worth = worth_at(policy, here)
  assert seen[-1]["hash"] == f"#{here.public_state}"
  cards = dict(zip("012345", ("J♠", "J♥", "Q♠", "Q♥", "K♠", "K♥"), strict=True))
  named = dataclasses.replace(here, types=[cards[name] for name in here.types])
  assert [row[0] for row in seen[-1]["table"][1:]] == ["K♠", "K♥", "Q♠", "Q♥", "J♥"]  # the highest first
  assert_table_is(seen[-1], named, worth, range(len(here.types)))
