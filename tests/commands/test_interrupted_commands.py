"""Commands that Ctrl-C or SIGTERM ends at any moment: exit codes 130 and 143, and a run that goes on."""

import csv
import itertools
import json
import random
import signal
import socket
import subprocess
import sys
import time

import forked
import pytest
from interrupts import assert_same, pressing

from ps_cfr_spiel import load_solver, matches, solvers, storage
from ps_cfr_spiel.apps.commands import program
from ps_cfr_spiel.apps.commands.framework import run as framework_run
from ps_cfr_spiel.apps.commands.framework import user_input
from ps_cfr_spiel.apps.commands.framework.run import Run
from ps_cfr_spiel.evaluation import comparison

TURN = "holdem_subgame(board=9s7c5s4h,pot=200,stack=300,bets=a,ranges=AA 76s;KK 8d8c)"
IN_PLACE = f"from ps_cfr_spiel.solvers import ps_cfr; ps_cfr.LARGE = 0\n{forked.PROGRAM}"
PATIENCE = 300  # seconds
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


pytestmark = pytest.mark.usefixtures("ctrl_c")


@pytest.fixture(autouse=True)
def tables_in_place(monkeypatch):
  monkeypatch.setattr("ps_cfr_spiel.solvers.ps_cfr.LARGE", 0)


MOMENTS = {  # an owner, a name, whether Ctrl-C comes after the call, and in which
  "a measurement": (solvers.PSCFRSolver, "_evaluate", False, 3),
  "the last measurement": (Run, "measure", False, 12),
  "after the last measurement": (Run, "measure", True, 12),
  "a save": (Run, "checkpoint", False, 1),
  "after the save": (Run, "checkpoint", True, 1),
  "a file": (storage, "write", False, 1),
  "the points": (framework_run, "write_points", False, 1),
  "the values": (Run, "values_fit", False, 1),
  "an iteration": (solvers.PSCFRSolver, "_step", True, 5),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_ctrl_c_in_solve_keeps_the_run(moment, monkeypatch, tmp_path, capsys):
  owner, name, after, times = MOMENTS[moment]
  words = ["solve", "kuhn_poker", "--iterations=60", f"--output={tmp_path}", "--quiet", "--noplot"]
  with monkeypatch.context() as patch:
    patch.setattr(owner, name, pressing(getattr(owner, name), after, times))
    assert program.run(words) == 130
  assert "nterrupted" in capsys.readouterr().err
  whole, kept = (
    solvers.PSCFRSolver(load_solver(tmp_path / "run.safetensors").game),
    load_solver(tmp_path / "run.safetensors"),
  )
  whole.run(70)
  assert 0 < kept.iteration <= 60
  again = ["solve", f"--resume={tmp_path / 'run.safetensors'}", "--quiet", "--noplot"]
  assert program.run([*again, f"--iterations={70 - kept.iteration}"]) == 0
  assert_same(load_solver(tmp_path / "run.safetensors"), whole)


def test_before_the_first_iteration_there_is_nothing_to_keep(monkeypatch, tmp_path, capsys):
  monkeypatch.setattr(Run, "iterate", pressing(Run.iterate))
  assert program.run(["solve", "kuhn_poker", f"--output={tmp_path}", "--quiet"]) == 130
  assert "nothing is saved" in capsys.readouterr().err
  assert not (tmp_path / "run.safetensors").exists()


@pytest.mark.parametrize(
  "error", [MemoryError(), OSError(28, "No space left on device"), FloatingPointError("nan")]
)
def test_an_error_says_what_is_saved(error, monkeypatch, tmp_path, capsys):
  """Its line ends with the iteration that the file has."""
  step, calls = solvers.PSCFRSolver._step, itertools.count()

  def failing(self, state, iterations):
    if next(calls) == 8:
      raise error
    return step(self, state, iterations)

  monkeypatch.setattr(solvers.PSCFRSolver, "_step", failing)
  words = ["solve", "kuhn_poker", "--checkpoint_seconds=0", f"--output={tmp_path}", "--quiet", "--noplot"]
  assert program.run(words) == 2
  kept = load_solver(tmp_path / "run.safetensors").iteration
  line = capsys.readouterr().err.splitlines()[-1]
  assert kept > 1 and f"The run up to iteration {kept:,} is in {tmp_path / 'run.safetensors'};" in line


@pytest.mark.parametrize("words", ["No space left on device", "No space left on device."])
def test_a_note_is_a_sentence_after_the_error(words):
  error = ValueError(words)
  assert user_input.answer_to(error) == words
  error.add_note("Nothing was saved.")
  assert user_input.answer_to(error) == "No space left on device. Nothing was saved."


def test_learn_says_how_it_goes_on(monkeypatch, tmp_path, capsys):
  from ps_cfr_spiel.learning import alternation

  monkeypatch.setattr(alternation, "solve_batch", pressing(alternation.solve_batch))
  words = ["learn", "--street=river", "--draws=2", "--iterations=1", "--bets=a", f"--output={tmp_path}"]
  assert program.run(words) == 130
  assert "the same call continues with the files in" in capsys.readouterr().err


def test_a_match_has_the_hands_before(monkeypatch, capsys):
  def played(*_):
    yield from itertools.islice(play(*_), 3)
    signal.raise_signal(signal.SIGINT)

  play = matches.each_game
  monkeypatch.setattr(matches, "each_game", played)
  assert program.run(["match", "always_call", "fold", "--hands=8", "--game=leduc_poker", "--json"]) == 130
  found = json.loads(capsys.readouterr().out)
  assert (found["hands"], found["failed"]) == (3, "interrupted")


def test_a_judgement_has_the_games_before(monkeypatch, capsys):
  def played(*_):
    yield from itertools.islice(play(*_), 3)
    signal.raise_signal(signal.SIGINT)

  play = matches.each_game
  monkeypatch.setattr(matches, "each_game", played)
  assert (
    program.run(["judge", "leduc_poker", "always_call", "fold", "--hands=8", "--json", "--iterations=2"])
    == 130
  )
  out, err = capsys.readouterr()
  found = json.loads(out)
  assert found["failed"] == "interrupted" and "Interrupted after 3 games, which are judged." in err
  assert {agent["agent"]: agent["games"] for agent in found["agents"]} == {"always_call": 3, "fold": 3}


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_comparison_has_the_runs_before(form, monkeypatch, tmp_path, capsys):
  """Two rounds of three solvers, of which the fifth run is ended."""
  monkeypatch.setattr(comparison, "measure", pressing(comparison.measure, after=False, times=5))
  words = ["compare", "kuhn_poker", "--solvers=rm,rm+,nrm+", "--seconds=0.02", "--seeds=2"]
  assert program.run([*words, f"--csv={tmp_path / 'runs.csv'}", *["--json"] * (form == "json")]) == 130
  out, err = capsys.readouterr()
  assert "Interrupted after 4 runs." in err
  rows = list(csv.DictReader((tmp_path / "runs.csv").read_text().splitlines()))
  assert {(row["solver"], row["seed"]) for row in rows} == {
    ("rm", "0"),
    ("rm", "1"),
    ("rm+", "0"),
    ("nrm+", "0"),
  }
  if form == "json":
    found = json.loads(out)
    assert found["interrupted"] and [*found["runs"]] == ["rm", "rm+", "nrm+"]
  else:
    assert all(name in out for name in ("rm+", "nrm+", "runs.csv"))


def test_a_comparison_without_a_run_is_interrupted(monkeypatch, tmp_path, capsys):
  monkeypatch.setattr(comparison, "measure", pressing(comparison.measure))
  assert program.run(["compare", "kuhn_poker", "--solvers=rm", f"--csv={tmp_path / 'runs.csv'}"]) == 130
  assert capsys.readouterr().err.endswith("ps-cfr-spiel: interrupted\n")
  assert not (tmp_path / "runs.csv").exists()


def signalled(words, number, seconds, folder, program=forked.PROGRAM):
  """The exit code and the errors of the program, which gets a signal some seconds after its first save."""
  with forked.Copy(program, *words, f"--output={folder}") as process:
    deadline = time.monotonic() + PATIENCE
    while (
      not (folder / "run.safetensors").exists() and process.poll() is None and time.monotonic() < deadline
    ):
      time.sleep(0.02)
    time.sleep(seconds)
    process.send_signal(number)
    code, errors = process.wait(PATIENCE), process.err
  assert "Traceback" not in errors
  return code, errors


@pytest.mark.parametrize(("number", "code"), CODES.items())
def test_a_signal_at_a_random_moment(number, code, tmp_path):
  """A turn whose tables change in place is saved, and goes on to the bits of a run in one piece."""
  words = ["solve", TURN, "--iterations=1000000", "--checkpoint_seconds=0.3", "--noplot"]
  seconds = random.uniform(0, 0.5)
  found, errors = signalled(words, number, seconds, tmp_path, IN_PLACE)
  assert found == code, (seconds, errors)
  assert "Interrupted; the run is saved." in errors
  kept = load_solver(tmp_path / "run.safetensors")
  whole = solvers.PSCFRSolver(kept.game)
  whole.run(kept.iteration + 5, progress=False)
  kept.run(5, progress=False)
  assert_same(kept, whole)


@pytest.mark.parametrize(("number", "receiver"), [(signal.SIGTERM, 1), (signal.SIGINT, 0)])
def test_a_signal_to_one_of_two_processes_ends_both(number, receiver, tmp_path):
  """Both stop at the same iteration, which the first saves; the receiver's exit code is the signal's."""
  with socket.socket() as free:
    free.bind(("localhost", 0))
    address = f"localhost:{free.getsockname()[1]}"
  words = ["solve", "leduc_poker", "--solver=hierarchical", "--clusters=1", "--buckets=3", "--noplot"]
  words += ["--iterations=100000000", "--checkpoint_seconds=0.3"]
  other = 1 - receiver
  joined = [*words, f"--output={tmp_path}", f"--join={other}/2@{address}"]
  with forked.Copy(forked.PROGRAM, *joined) as process:
    code, errors = signalled([*words, f"--join={receiver}/2@{address}"], number, 0.3, tmp_path)
    assert (code, process.wait(PATIENCE)) == (CODES[number], CODES[signal.SIGINT]), errors
    assert "Interrupted; the run is saved." in errors and "the run is saved." in process.err
  assert load_solver(tmp_path / "run.safetensors").iteration > 0


PRESSED = """
import signal, sys

class Pressing:
  def find_spec(name, path, target=None):
    if name == {library!r}:
      sys.meta_path.remove(Pressing)
      signal.raise_signal({number})

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Pressing)
"""


def pressed_in_import(library, number, code, *words):
  """A new Python that runs code, and gets a signal when it begins to import a library."""
  start = PRESSED.format(library=library, number=int(number))
  return subprocess.run([sys.executable, "-c", start + code, *words], capture_output=True, text=True)


@pytest.mark.parametrize(("number", "code"), CODES.items())
def test_a_signal_while_jax_is_imported(number, code, tmp_path):
  words = ["solve", "kuhn_poker", f"--output={tmp_path}"]
  ended = pressed_in_import("jaxlib", number, forked.PROGRAM, *words)
  assert (ended.returncode, ended.stderr) == (code, "ps-cfr-spiel: interrupted\n")


def test_ctrl_c_in_the_import_of_the_package_comes_after_it():
  code = "try:\n  import ps_cfr_spiel\nexcept KeyboardInterrupt:\n  print('pyspiel' in sys.modules)"
  assert pressed_in_import("pyspiel", signal.SIGINT, code).stdout == "True\n"


def test_a_signal_in_training(tmp_path):
  words = ["train", "kuhn_poker", "--iterations=1000000", "--games=5", "--batch=16"]
  code, errors = signalled(words, signal.SIGTERM, 0.1, tmp_path)
  assert code == CODES[signal.SIGTERM], errors
  assert f"iteration {load_solver(tmp_path / 'run.safetensors').iteration:,} is saved" in errors
