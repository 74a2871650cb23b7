"""The commands `report` and `learn --street` by an accelerator's programs, run on a CPU, beside the CPU's."""

import csv

import jax
import numpy as np
import pytest

from ps_cfr_spiel import PSCFRSolver
from ps_cfr_spiel.apps.commands.program import run as run_program
from ps_cfr_spiel.backend.device import platform, rehearsal
from ps_cfr_spiel.batches import batch_run
from ps_cfr_spiel.learning import NetworkValues, alternation, load_boards
from ps_cfr_spiel.learning.tensors.self_play import SelfPlay
from ps_cfr_spiel.resolving.search import Searcher

DEVICES = ("cpu", "gpu")
SPOT = ("--pot=20", "--stack=30", "--bets=a", "--ranges=AA:0.5, KK, 76s; QQ, A9s")


@pytest.fixture
def programs(monkeypatch):
  """The engines of solvers, and the order and platform of batches, as they run."""
  names, run, solve = [], PSCFRSolver.run, batch_run.solve_spots

  def run_here(solver, *given, **options):
    names.append(str(solver.engine).partition(":")[0])
    return run(solver, *given, **options)

  def solve_here(*given, order, **options):
    names.append(f"{order} on {platform()}")
    return solve(*given, order=order, **options)

  monkeypatch.setattr(PSCFRSolver, "run", run_here)
  monkeypatch.setattr(batch_run, "solve_spots", solve_here)
  return names


@pytest.mark.parametrize(
  ("values", "engines"),
  [
    ([], ["native turns", "xla on an axis of boards"]),
    (["--values=pretrained"], ["map on cpu", "vmap on gpu"]),
  ],
)
def test_rows_of_a_report(values, engines, programs, tmp_path):
  if values:
    pytest.importorskip("equinox")
  (tmp_path / "boards.txt").write_text("Ks7d2c9c")
  rows = []
  for device in DEVICES:
    file = tmp_path / f"{device}.csv"
    words = [str(tmp_path / "boards.txt"), *SPOT, *values, "--iterations=2", f"--csv={file}"]
    with rehearsal("gpu"):
      assert run_program(["report", *words, f"--device={device}", "--quiet"]) == 0
    with open(file, newline="", encoding="utf-8") as text:
      rows += csv.DictReader(text)
  assert programs == engines
  one, other = ({k: float(v) for k, v in row.items() if k[:3] in ("ev_", "All", "per") and v} for row in rows)
  assert one["percent_of_pot"] > 1 and 0 < one["All-in 30"] < 1 and one["ev_1"] != 0
  assert other == pytest.approx(one, rel=1e-5, abs=2e-5)  # chips of a pot of 20


@pytest.mark.parametrize("street", ["river", "turn"])
def test_targets_of_boards(street, programs, tmp_path, monkeypatch):
  """All computations of `learn` are on the device given, and folders of both are learned from together."""
  pytest.importorskip("equinox")
  taught = []

  class Taught(KeyboardInterrupt):
    """Ends `learn` before its training."""

  def stop(_, examples, *others):
    taught.append(examples)
    raise Taught

  monkeypatch.setattr(alternation, "train_in", stop)
  monkeypatch.setitem(batch_run.CHUNKS, "vmap", 2)  # of 1,024 rivers, which suit a GPU alone
  more = ["--values=pretrained"] if street == "turn" else []
  words = ["learn", f"--street={street}", "--draws=2", "--ratios=0.5", "--bets=a", "--iterations=2", *more]
  for device in DEVICES:
    with rehearsal("gpu"):
      run_program([*words, f"--device={device}", f"--output={tmp_path / device}", "--quiet"])
  many = len(programs) // 2
  assert programs == ["map on cpu"] * many + ["vmap on gpu"] * many and many == (
    2 if street == "river" else 1
  )
  for one, other in zip(*map(jax.tree.leaves, [(x.inputs, x.ranges, x.values) for x in taught]), strict=True):
    np.testing.assert_allclose(one, other, rtol=0, atol=2e-6)
  assert min(np.abs(x).max() for x in taught[0].values) > 0.1
  assert len(load_boards(*(tmp_path / device / "examples-0" for device in DEVICES), progress=False)) == 4


@pytest.mark.parametrize(
  ("words", "automatic"),
  [
    (["kuhn_poker", "--teacher=search", "--draws=3", "--iterations=10"], "cpu"),
    (["kuhn_poker", "--teacher=self-play", "--draws=4", "--iterations=10"], "cpu"),
    (["--street=river", "--draws=2", "--ratios=1", "--bets=a", "--iterations=2"], "gpu"),
  ],
)
def test_searches_that_teach(words, automatic, monkeypatch, tmp_path):
  """Their first search is on the device given; by itself, that of a small game is on the CPU."""
  pytest.importorskip("equinox")
  places = set()

  def noted(*_):
    places.add(platform())
    raise KeyboardInterrupt

  def untrained(_file, examples, *others):
    values = NetworkValues.untrained(examples, 0, 4, 1)
    values.card["finished"] = True
    return values

  monkeypatch.setattr(Searcher, "solve", noted)
  monkeypatch.setattr(SelfPlay, "_search", noted)
  monkeypatch.setattr(alternation, "train_in", untrained)
  words = ["learn", *words, "--turns=1", "--chains=2", "--quiet"]
  for device in (*DEVICES, "auto"):
    places.clear()
    with rehearsal("gpu"):
      run_program([*words, f"--device={device}", f"--output={tmp_path / device}"])
    assert places == {automatic if device == "auto" else device}
