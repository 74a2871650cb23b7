"""The command solve on cards that are dealt: in one process, in several, and when one of them is killed."""

import json
import os
import time

import forked
import jax
import numpy as np
import pytest
from xla_settings import users_environment

from ps_cfr_spiel import load_solver
from ps_cfr_spiel.abstractions import HierarchicalMCCFRSolver, exact_values, rounded
from ps_cfr_spiel.apps.commands import program

GAME = "leduc_poker"
ITERATIONS = 200
SOLVE = (
  GAME,
  "--solver=hierarchical",
  "--clusters=3",
  "--buckets=lossless",
  "--batch=4",
  "--noplot",
  "--json",
)
# XLA's own settings: the bits depend on them
ENVIRONMENT = users_environment() | {"JAX_PLATFORMS": "cpu"}


def start(folder, *more, **environment):
  """The program in a process of its own."""
  words = ["solve", *SOLVE, f"--iterations={ITERATIONS}", f"--output={folder}", *more]
  return forked.Copy(forked.PROGRAM, *words, environment={**ENVIRONMENT, **environment})


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
  folder = tmp_path_factory.mktemp("one")
  assert program.run(["solve", *SOLVE, "--iterations=20", "--boards=2", f"--output={folder}"]) == 0
  return folder / "run.safetensors"


@pytest.mark.usefixtures("optimized")
def test_a_killed_task_changes_nothing(tmp_path, capsys):
  """One of two tasks of Slurm is killed after a checkpoint: resumed by one, the run ends in the same bits."""
  file, seconds = tmp_path / "two" / "run.safetensors", "--checkpoint_seconds=0"
  step = {"SLURM_JOB_ID": str(os.getpid()), "SLURM_STEP_NODELIST": "localhost", "SLURM_NTASKS": "2"}
  tasks = [{**step, "SLURM_PROCID": process, "SLURM_LOCALID": process} for process in "01"]
  with (
    start(file.parent, seconds, "--join=auto", **tasks[0]) as first,
    start(file.parent, seconds, "--join=auto", **tasks[1]) as second,
  ):
    while second.poll() is None and not file.exists():
      time.sleep(0.02)
    second.kill()
    first.wait(500)
    complaint = first.err.splitlines()[-1]
    assert complaint.startswith("ps-cfr-spiel: error: Stopped, as another process of this run may have: ")
    assert "The run up to iteration " in complaint and first.returncode == 2
    assert complaint.endswith(f" is in {file}; continue with --resume.")
    second.wait()
    assert '"value"' not in second.out  # the first one speaks for all
  whole = [*SOLVE, f"--iterations={ITERATIONS}", f"--output={tmp_path / 'one'}"]
  left = f"--iterations={ITERATIONS - load_solver(file).iteration}"
  for words in (whole, [f"--resume={file}", left, "--noplot", "--json"]):
    assert program.run(["solve", *words]) == 0
  facts = json.loads(capsys.readouterr().out.splitlines()[-1])
  assert facts["iterations"] == ITERATIONS
  one, two = (HierarchicalMCCFRSolver.load(tmp_path / name / "run.safetensors") for name in ("one", "two"))
  for x, y in zip(*(jax.tree.leaves((run._kept(), run._here())) for run in (one, two)), strict=True):
    np.testing.assert_array_equal(x, y)
  assert facts["exploitability"] == pytest.approx(one.exploitability())


def test_a_run_is_told_and_resumed(saved, capsys):
  assert load_solver(saved).iteration == 20
  assert program.run(["solve", f"--resume={saved}", "--iterations=5", "--noplot"]) == 0
  told = capsys.readouterr().out
  assert "936, 468 up to names of suits" in told and "3, each of 1 board up" in told and "boards=2" in told
  assert load_solver(saved).iteration == 25
  for words in (["show", str(saved)], ["evaluate", str(saved), "--lbr"]):
    assert program.run(words) == 2
    message = "have no public tree; use them in play, and those of dealt cards in evaluate"
    assert message in " ".join(capsys.readouterr().err.split())
  assert len((saved.parent / "exploitability.csv").read_text().splitlines()) > 3


def test_the_abstraction_of_a_run_is_solved_again_and_its_policy_evaluated(tmp_path, capsys):
  made = [GAME, "--solver=hierarchical", "--clusters=2", "--buckets=2", "--iterations=1", "--quiet"]
  assert program.run(["solve", *made, "--noplot", f"--output={tmp_path / 'made'}"]) == 0
  given = ["--solver=hierarchical", f"--abstraction={tmp_path}/made/run.safetensors", f"--output={tmp_path}"]
  assert program.run(["solve", GAME, *given, "--iterations=10", "--quiet", "--noplot"]) == 0
  solver = HierarchicalMCCFRSolver.load(tmp_path / "run.safetensors")
  assert solver.abstraction.count == 2 and solver.options.batch == 16
  capsys.readouterr()
  assert program.run(["evaluate", str(tmp_path / "run.safetensors"), "--json"]) == 0
  assert json.loads(capsys.readouterr().out)["exploitability"] == pytest.approx(solver.exploitability())
  assert (
    program.run(["evaluate", str(tmp_path / "run.safetensors"), "--json", "--post_processing=purify"]) == 0
  )
  purified = exact_values(rounded(solver.average_policy(), "purify")).exploitability
  assert json.loads(capsys.readouterr().out)["exploitability"] == pytest.approx(purified)


@pytest.mark.parametrize(
  ("words", "message"),
  [
    ([GAME, "--join=2/2@localhost:4321"], "process must be less than 2, the number of processes, got 2"),
    ([GAME, "--clusters=2"], "--solver=ps-cfr has no --clusters"),
    ([GAME, "--solver=hierarchical", "--leaves=dense"], "--solver=hierarchical has no --leaves"),
    ([GAME, "--solver=hierarchical", "--limit=5"], "--solver=hierarchical has no --limit"),
    ([GAME, "--solver=hierarchical", "--abstraction=no.safetensors"], "no.safetensors: No such file"),
    (
      [GAME, "--solver=hierarchical", "--abstraction=a.safetensors", "--clusters=2"],
      "--clusters is in --abstraction=a.safetensors already; leave it out",
    ),
    (["liars_dice", "--solver=hierarchical"], "expected universal_poker for two"),
    (["kuhn_poker", "--solver=hierarchical"], "no public cards come; expected some before each round but"),
    ([GAME, "--solver=hierarchical", "--join=0"], "expected auto, or K/N@HOST:PORT"),
  ],
)
def test_mistakes(words, message, capsys, tmp_path):
  assert program.run(["solve", *words, f"--output={tmp_path}", "--quiet"]) == 2
  assert message in " ".join(capsys.readouterr().err.split())
