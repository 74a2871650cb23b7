"""Every benchmark can be imported and says what it takes, and pages name benchmarks that exist."""

import json
import re
import sys
from pathlib import Path

import forked
import pyspiel
import pytest
from benchmark_scripts import NAMES, script

import ps_cfr_spiel as ps
from ps_cfr_spiel import build_tree
from ps_cfr_spiel.cards.poker import cards

REPOSITORY = Path(__file__).parents[1]
PAGES = [
  path for pattern in ("*.md", "docs/*.md", "ps_cfr_spiel/**/*.py") for path in REPOSITORY.glob(pattern)
]


def test_sizes_of_holdem_are_those_of_openspiels_game():
  """Decisions of each round with fixed cards; of limit hold'em as in Schmid 2021, Table 13.3."""
  module = script("benchmarks.papers.holdem_sizes")
  game = pyspiel.load_game(
    "universal_poker(betting=nolimit,bettingAbstraction=fullgame,numPlayers=2,numRounds=4,blind=2 1,"
    "stack=9 9,firstPlayer=2 1 1 1,numSuits=4,numRanks=13,numHoleCards=2,numBoardCards=0 3 1 1)"
  )
  counts = dict.fromkeys((4, 7, 8, 9), 0)  # by cards dealt

  def count(state, cards):
    if state.is_chance_node():
      count(state.child(state.legal_actions()[0]), cards + 1)
    elif not state.is_terminal():
      counts[cards] += 1
      for action in state.legal_actions():
        count(state.child(action), cards)

  count(game.new_initial_state(), 0)
  assert module.no_limit_decisions(stack=9, blind=2) == list(counts.values())
  assert [f"{n:.0e}" for n in module.sizes(module.limit_decisions())] == ["3e+17", "3e+14", "3e+11"]


@pytest.mark.parametrize("name", NAMES)
def test_it_says_what_it_takes(name, monkeypatch, capsys):
  module = script(name)
  assert module.__doc__
  if hasattr(module, "main"):
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as done:
      module.main()
    assert done.value.code == 0 and "--help" in capsys.readouterr().out


def test_lines_of_play_on_flops_have_the_solvers_answers():
  """Its matrix of equities and its loop against the tree of all runouts."""
  lines = script("benchmarks.engineering.flop_lines")
  spot, board = lines.Spot(48, 76, "JJ, A9s, KQs; TT, QJs"), "9s7c5s"
  solver = ps.PSCFRSolver(ps.holdem(board, pot=48, stack=76, bets="a / x / x", ranges=spot.ranges))
  solver.run(100, progress=False)
  _, value, exploitability, *shares = lines.solved(cards.parse_cards(board), spot)
  assert exploitability < 3e-3  # of the pot
  assert value == pytest.approx(0.5 + solver.value() / 48, abs=2e-3)
  come = (place := ps.views.spot(solver.average_policy(), "")).reach * place.others
  assert shares[0] == pytest.approx((place.probability[1] * come).sum() / come.sum(), abs=0.02)


def test_flops_that_were_solved_for_another_spot_are_refused(tmp_path, monkeypatch):
  lines, file = script("benchmarks.engineering.flop_lines"), tmp_path / "flops.jsonl"
  file.write_text(json.dumps((("once", *lines.settings_of("once"), "QsJh2h"), [1.0, 2.0])) + "\n")
  assert lines.kept_flops(file) == {("once", "QsJh2h"): [1.0, 2.0]}
  monkeypatch.setitem(lines.SPOTS, "once", lines.SPOTS["once"]._replace(bet=4))
  with pytest.raises(
    ValueError, match=r"line 1: solved with \[6, 3, .*the line 'once' is \[6, 4, .*a new file"
  ):
    lines.kept_flops(file)


def test_pages_name_benchmarks_that_exist():
  for page in PAGES:
    text = page.read_text()
    assert set(re.findall(r"-m (benchmarks[.\w]*\w)", text)) <= set(NAMES), page
    for path in re.findall(r"\bbenchmarks/[\w/]+\.\w+", text):
      assert (REPOSITORY / path).exists(), f"{page}: {path}"


def test_games_of_the_abstraction_papers_load():
  """Kuhn poker with five cards has 2 infostates a card and player."""
  games = script("benchmarks.papers.abstraction_games")
  for name in ("GS3", "GS3+", "P111", "Kuhn", "Kuhn5"):
    assert games.load(name, None).num_players() == 2
  tree = build_tree(games.load("Kuhn5", None))
  assert [tree.names.num_infostates(player) for player in (0, 1)] == [10, 10]


TWICE = """
import sys
from benchmarks.engineering import gpu

for seconds, output in zip(("700", "0.5"), sys.argv[1:]):
  words = ["--quick", "--run=0.01", f"--seconds={seconds}", f"--output={output}"]
  sys.argv = ["gpu", *words, "--only", "1x6", "64"]
  gpu.main()
"""


def test_the_benchmark_of_accelerators_compares_games_and_outlives_those_that_stop(tmp_path):
  """Liar's dice and the rivers of its rehearsal, where a CPU alone stands for both sides."""
  outputs = [tmp_path / "enough.json", tmp_path / "little.json"]
  done = forked.run(TWICE, *outputs, folder=REPOSITORY)
  assert done.returncode == 0, done.stderr
  found, stopped = (json.loads(output.read_text()) for output in outputs)
  assert all(sides["device"]["failed"] == "time is over" for sides in stopped.values())
  assert "64 rivers        device FAILED: time is over" in done.stdout
  assert set(found) == {"liar's dice 1x6", "64 rivers"}
  for sides in found.values():
    assert all(side["ms"] > 0 and "failed" not in side for side in sides.values())
    largest = max(map(abs, sides["cpu"]["values"]))
    assert sides["device"]["values"] == pytest.approx(sides["cpu"]["values"], abs=1e-5 * largest)
  small = found["liar's dice 1x6"]
  engines = [small[side]["engine"] for side in ("device", "cpu")]
  assert "native" not in engines[0].partition(":")[0] and engines[0] != engines[1]
  assert any("fusion" in name and us > 0 for name, us, _ in small["device"]["kernels"])


def test_what_failed_on_a_device_is_said_beside_the_cpu():
  compared = script("benchmarks.engineering.gpu").compared
  cpu = {"ms": 8.0, "from": 7.0, "to": 9.0, "values": [1.0, -2.0]}
  assert "4.00 times as fast; largest difference 0.25 of 2" in compared(
    {"ms": 2.0, "values": [1.25, -2.0]}, cpu
  )
  assert "times" not in compared({"failed": "RESOURCE_EXHAUSTED"}, cpu)
