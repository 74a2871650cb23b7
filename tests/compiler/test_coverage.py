"""How many of OpenSpiel's games work: with small parameters they are solved, and OpenSpiel evaluates them."""

import re
from pathlib import Path

import pyspiel
import pytest
from benchmark_scripts import script

from ps_cfr_spiel import PSCFRSolver

coverage = script("benchmarks.engineering.coverage")
PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"
WORKS = sorted(re.findall(r"(\w+) \([\d,]+\)", PAGE.read_text()))
LARGE = ("tic_tac_toe", "python_tic_tac_toe", "tiny_bridge_2p")  # a minute each


def test_most_games_work():
  assert len(WORKS) >= 70
  assert set(WORKS) <= set(coverage.names())


@pytest.mark.parametrize("name", [name for name in WORKS if name not in LARGE])
def test_nash_conv_falls(name, tmp_path):
  report, public_states = coverage.check(coverage.load(name, tmp_path), 100_000)
  report.assert_solvable()
  solver = PSCFRSolver(
    coverage.load(name, tmp_path), dtype="float64", public_states=public_states, progress=False
  )
  gains = []
  for iterations in (1, 9, 90):
    solver.run(iterations)
    gains.append(solver.game.num_players() * solver.exploitability())
  assert gains[-1] < max(gains[0] / 2, gains[1] / 2, 1e-9)
  if "infostates" not in solver.tree.names.remarks:
    table = solver.average_policy().to_pyspiel()
    kept = pyspiel.convert_to_cached_tree(solver.game)  # else it makes each state many times
    assert pyspiel.nash_conv(kept, table) == pytest.approx(gains[-1], abs=1e-9)
