"""A report over boards: averages by a law, and the page in a real browser."""

import html
import json
import re
import subprocess

import numpy as np
import pytest
from random_policies import random_policy
from test_explore import BROWSER, needs_browser

from ps_cfr_spiel.apps.views import average_row, board_row, boards_page, boards_text
from ps_cfr_spiel.cards.poker import cards, deals_on, holdem

RANGES = "AA KQs:0.5 7h6h;TT AhQh:0.3 22"
CLICKS = """<script>
const seen = [], head = (k) => document.querySelectorAll("thead button")[k];
for (const k of COLUMNS) {
  head(k).click();
  const rows = [...document.querySelectorAll("tbody tr")];
  seen.push(rows.map((row) => [...row.children].map((e) => e.textContent)));
}
const texts = (where) => [...document.querySelectorAll(where)].map((e) => e.textContent);
const result = document.createElement("pre");
result.id = "result";
result.textContent = JSON.stringify({ seen, head: texts("thead button"), average: texts("thead td"),
  wide: document.documentElement.scrollWidth > innerWidth });
document.body.append(result);
</script>"""


def solved(board, line="", **spot):
  """A row of a random strategy."""
  game = holdem(cards.card_names(board), ranges=RANGES, **spot)
  return board_row(random_policy(str(game)), line, deals_on(board, RANGES))


def test_without_bets_the_average_over_rivers_is_the_turn():
  """All-in already: EVs and equities of the rivers, weighed by their deals, are those of the turn."""
  turn = cards.parse_cards("9s7c5s4h")
  rows = [{"weight": 1.0, **solved((*turn, card), pot=20, stack=0)} for card in range(52) if card not in turn]
  found, whole = average_row(rows), solved(turn, pot=20, stack=0)
  for name in ("ev_0", "ev_1", "equity_0", "equity_1"):
    assert found[name] == pytest.approx(whole[name])
  assert found["weight"] == 48


@pytest.mark.parametrize("line", ["", "check", "check, bet 20"])
def test_evs_of_actions_add_up(line):
  row = solved(cards.parse_cards("9s7c5s4h3c"), line, pot=20, stack=100)
  actions = [name.removesuffix(" EV") for name in row if name.endswith(" EV")]
  assert sum(row[name] for name in actions) == pytest.approx(1)
  player = 1 if line == "check" else 0
  total = sum(row[name] * row[f"{name} EV"] for name in actions)
  assert total == pytest.approx(row[f"ev_{player}"])
  assert row["ev_0"] + row["ev_1"] == pytest.approx(40 if "bet" in line else 20)
  assert row.get("Fold EV", 0) == pytest.approx(0, abs=1e-9)  # from now
  assert 0 < row["deals"] <= deals_on(cards.parse_cards("9s7c5s4h3c"), RANGES)


def some_rows():
  names = ["Ks7d2c", "9h8h7h", "AsAhAd", "2c2d2h"]
  rng = np.random.default_rng(0)
  rows = []
  for k, _ in enumerate(names):
    share = rng.random()
    row = {"weight": k + 1.0, "deals": 10.0 * (k + 1), "ev_0": rng.normal(), "ev_1": 2000 + rng.normal()}
    row |= {"equity_0": share, "equity_1": 1 - share, "Check": share, "Check EV": rng.normal()}
    rows.append(row | {"Bet 1500": 1 - share, "Bet 1500 EV": np.nan, "percent_of_pot": 0.1 * k})
  return names, rows


def test_the_table_ends_with_the_average():
  names, rows = some_rows()
  lines = boards_text(names, rows).splitlines()
  assert [line.split()[0] for line in lines[1:]] == [*names, "average"]
  mean = sum(row["deals"] * row["Check"] for row in rows) / 100
  assert f"{100 * mean:.2f}%" in lines[-1] and "Bet 1,500" in lines[0]


@needs_browser
def test_the_page_sorts(tmp_path):
  names, rows = some_rows()
  page = boards_page(names, rows, "a </script> spot")
  assert not re.search(r"https?://|src=|@import", page) and page.count("</script>") == 2
  columns = [0, 0, 2, 2, 6, 5]  # board, "Check", "EV OOP", an EV that is never known
  file = tmp_path / "page.html"
  file.write_text(page.replace("</body>", CLICKS.replace("COLUMNS", json.dumps(columns)) + "</body>"))
  flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
  flags += ["--window-size=500,900", "--virtual-time-budget=5000", "--dump-dom"]
  run = subprocess.run([str(BROWSER), *flags, file.as_uri()], capture_output=True, text=True, timeout=300)
  found = re.search('<pre id="result">(.*?)</pre>', run.stdout, re.S)
  assert found, run.stdout[-2000:] + run.stderr[-2000:]
  shown = json.loads(html.unescape(found[1]))
  assert shown["head"][:3] == ["board", "boards", "Check"] and shown["head"][5].startswith("EV ")
  assert not shown["wide"] and shown["average"][0] == "average"
  order = [[row[0] for row in rows] for rows in shown["seen"]]
  assert order[0] == ["2c2d2h", "9h8h7h", "Ks7d2c", "AsAhAd"] == order[1][::-1]
  by_share = [names[k] for k in np.argsort([row["Check"] for row in rows])]
  assert order[2] == by_share[::-1] and order[3] == by_share
  assert order[4] == [names[k] for k in np.argsort([row["ev_0"] for row in rows])[::-1]]
  assert {row[5] for row in shown["seen"][5]} == {"\u2013"}
  cells = dict(zip(order[2], (row[2] for row in shown["seen"][2]), strict=True))
  assert cells == {name: f"{100 * row['Check']:.1f}%" for name, row in zip(names, rows, strict=True)}
