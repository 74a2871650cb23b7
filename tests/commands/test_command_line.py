"""The program as its users run it: in fresh processes where that matters, else in this one."""

import contextlib
import csv
import fcntl
import io
import itertools
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import forked
import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import exploitability

import ps_cfr_spiel
from ps_cfr_spiel import options
from ps_cfr_spiel.apps.commands import program as command_line
from ps_cfr_spiel.apps.commands import train
from ps_cfr_spiel.apps.commands.framework import methods
from ps_cfr_spiel.apps.commands.framework.command import option_flags
from ps_cfr_spiel.apps.commands.framework.run import Run
from ps_cfr_spiel.apps.views import number_text
from ps_cfr_spiel.evaluation import points

PROGRAM = str(Path(sys.executable).with_name("ps-cfr-spiel"))
SMALL = "river_subgame(ranges=AA KQs;TT 87s)"
HEARS_CTRL_C = (  # even where the tests themselves run in the background, with SIGINT ignored
  "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
)
PNG = b"\x89PNG"
PATIENCE = 600  # seconds for a process: a loaded machine takes many times as long as a quiet one


def program(*words):
  """Runs the program in this process, which has imported all it needs; returns what it prints."""
  with contextlib.redirect_stdout(io.StringIO()) as out:
    assert command_line.run([*map(str, words)]) == 0
  return out.getvalue()


def rows(folder):
  with open(folder / "exploitability.csv", newline="") as file:
    return [(int(row["iteration"]), float(row["exploitability"])) for row in csv.DictReader(file)]


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
  """A folder with a run of 120 iterations, and what the program said."""
  folder = tmp_path_factory.mktemp("solved") / "new" / "folder"
  out = program("solve", SMALL, "--iterations=120", "--output", folder)
  return folder, out


def test_solve_saves_all_it_names(solved):
  folder, out = solved
  files = {"run.safetensors", "exploitability.csv", "exploitability.png", "strategy.png"}
  assert {path.name for path in folder.iterdir()} == files | {
    "values.safetensors"
  }  # for looks, made after this output
  for name in files:
    assert name in out.splitlines()[-2]
  assert (folder / "strategy.png").read_bytes().startswith(PNG)
  assert (folder / "exploitability.png").read_bytes().startswith(PNG)
  solver = ps_cfr_spiel.PSCFRSolver.load(folder / "run.safetensors")
  assert solver.iteration == 120
  assert rows(folder)[-1][0] == 120
  assert rows(folder)[-1][1] == pytest.approx(solver.exploitability(), rel=1e-4, abs=1e-6)


def test_solve_tells_what_it_does(solved):
  folder, out = solved
  assert "decision infostates: " in out
  table = [line.split() for line in out.splitlines() if re.match(r" +[0-9]", line)]
  assert [row[0] for row in table] == ["1", "2", "5", "10", "20", "50", "100", "120"]
  measured = dict(rows(folder))
  for iteration, _, chips, percent in table:
    assert float(chips.replace(",", "")) == pytest.approx(measured[int(iteration)], rel=1e-3)
    assert float(percent.replace(",", "")) == pytest.approx(measured[int(iteration)] / 2, rel=1e-3)
  assert re.search(r"^value to player 0: +-?[0-9.]+ chips$", out, re.M)
  assert re.search(r"^time: .* for 120 iterations, after .* to build and compile$", out, re.M)
  assert f"ps-cfr-spiel show {folder / 'run.safetensors'}" in out


def test_a_resumed_run_equals_an_unbroken_one(solved, tmp_path, capsys):
  words = [
    "solve",
    f"--resume={solved[0] / 'run.safetensors'}",
    "--iterations=30",
    f"--output={tmp_path}",
    "--quiet",
  ]
  assert command_line.run(words) == 0
  assert len(capsys.readouterr().out.splitlines()) == 7
  resumed = ps_cfr_spiel.PSCFRSolver.load(tmp_path / "run.safetensors")
  whole = ps_cfr_spiel.PSCFRSolver(pyspiel.load_game(SMALL))
  whole.run(150)
  assert resumed.iteration == 150
  for ours, theirs in zip(
    resumed.average_policy().strategies, whole.average_policy().strategies, strict=True
  ):
    for mine, other in zip(ours, theirs, strict=True):
      np.testing.assert_array_equal(mine, other)
  assert rows(tmp_path) == [*rows(solved[0]), rows(tmp_path)[-1]]
  assert rows(tmp_path)[-1][0] == 150


@pytest.mark.parametrize("quiet", [False, True])
def test_a_quiet_solve_has_no_notices(quiet, tmp_path, monkeypatch):
  """Each notice takes a thread. Runs that are not quiet show them."""
  shown = []

  def evaluate(solver, progress):
    shown.append(progress)
    return usual(solver, progress)

  usual = ps_cfr_spiel.PSCFRSolver._evaluate
  monkeypatch.setattr(ps_cfr_spiel.PSCFRSolver, "_evaluate", evaluate)
  words = ["solve", "kuhn_poker", "--iterations=2", "--noplot", f"--output={tmp_path}"]
  assert command_line.run([*words, *["--quiet"] * quiet]) == 0
  assert {*shown} == {False if quiet else None}


def test_evaluate_agrees_with_openspiel(solved):
  out = program("evaluate", solved[0] / "run.safetensors")
  policy = ps_cfr_spiel.load_policy(solved[0] / "run.safetensors")
  expected = exploitability.exploitability(policy.game, policy)
  found = re.search(r"^exploitability: +(\S+) chips = (\S+)% of the pot", out, re.M)
  assert float(found[1]) == pytest.approx(expected, rel=1e-3)
  assert float(found[2]) == pytest.approx(expected / 2, rel=1e-3)
  assert "120 iterations of NRM" in out


def test_evaluate_rounds_first(solved):
  out = program("evaluate", solved[0] / "run.safetensors", "--post_processing=purify")
  policy = ps_cfr_spiel.load_policy(solved[0] / "run.safetensors")
  rounded = ps_cfr_spiel.abstractions.post_process(policy.game, policy, "purify")
  expected = exploitability.exploitability(policy.game, rounded)
  found = re.search(r"^exploitability: +(\S+) chips", out, re.M)
  assert float(found[1]) == pytest.approx(expected, rel=1e-3)
  assert "rounded average policy" in out


def test_show_draws_and_prints(solved, tmp_path):
  out = program("show", solved[0] / "run.safetensors", "--at=x b200", "--picture", tmp_path / "chart.png")
  assert "After Check, Bet 200: player 0 acts" in out
  assert "Raise to 800" in out
  assert (tmp_path / "chart.png").read_bytes().startswith(PNG)


def test_ctrl_c_keeps_what_was_reached(tmp_path):
  command = [sys.executable, "-c", HEARS_CTRL_C, PROGRAM, "solve", "kuhn_poker", "--iterations=1000000000"]
  process = subprocess.Popen(
    [*command, "--checkpoint_seconds=0.1", "--output", tmp_path],
    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
  )  # fmt: skip
  try:
    deadline = time.monotonic() + PATIENCE
    while not (tmp_path / "run.safetensors").exists() and time.monotonic() < deadline:
      time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
  finally:
    process.kill()
  assert process.returncode == 130
  assert "Interrupted" in err
  assert "Traceback" not in err
  assert "saved:" in out
  solver = ps_cfr_spiel.PSCFRSolver.load(tmp_path / "run.safetensors")
  assert solver.iteration == rows(tmp_path)[-1][0] > 0
  assert (tmp_path / "exploitability.png").exists()


def test_an_impatient_second_ctrl_c_loses_nothing(tmp_path, monkeypatch, capsys):
  """It comes while the run is being saved, and waits until that is done."""
  whole = Run.checkpoint

  def look(run, _):
    if run.solver.iteration == 7:
      raise KeyboardInterrupt

  def disturbed(run):
    signal.raise_signal(signal.SIGINT)
    whole(run)

  monkeypatch.setattr(Run, "_look", look)
  monkeypatch.setattr(Run, "checkpoint", disturbed)
  assert command_line.run(["solve", "kuhn_poker", f"--output={tmp_path}", "--quiet"]) == 130
  assert ps_cfr_spiel.load_solver(tmp_path / "run.safetensors").iteration == 7
  assert "interrupted" in capsys.readouterr().err.lower()


def test_what_nobody_reads_is_saved(tmp_path):
  """As after `| head -15`."""
  command = [PROGRAM, "solve", "kuhn_poker", "--iterations=1000000000", f"--output={tmp_path}"]
  with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
    assert any(re.match(r" +\d+ +\d", line) for line in process.stdout)  # the table's first row
    process.stdout.close()
    assert "Traceback" not in process.stderr.read()
  assert ps_cfr_spiel.load_solver(tmp_path / "run.safetensors").iteration > 0


@pytest.mark.parametrize("closed", ["<&- >&-", "2>&-"])
def test_closed_streams(closed):
  command = shlex.join([PROGRAM, "play", "kuhn_poker", "--opponent=random"])
  quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
  done = subprocess.run(f"{command} {closed}", shell=True, text=True, timeout=PATIENCE, **quiet)
  assert done.returncode == 0 and "Traceback" not in done.stderr


def test_without_matplotlib(tmp_path):
  """A run goes without its pictures, unless they are asked for."""
  code = (
    "import sys; sys.modules['matplotlib'] = None\n"
    "from ps_cfr_spiel.apps.commands.program import run\n"
    "print([run([*sys.argv[1:], *more]) for more in ([], ['--plot'])])"
  )
  command = [sys.executable, "-c", code, "solve", "kuhn_poker", "--iterations=1", "--output", str(tmp_path)]
  done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
  assert done.stdout.endswith("[0, 2]\n"), done
  assert "pip install 'ps_cfr_spiel[plot]'" in done.stdout
  assert {path.name for path in tmp_path.iterdir()} == {"run.safetensors", "exploitability.csv"}
  assert re.fullmatch(r"ps-cfr-spiel: error: .*pip install 'ps_cfr_spiel\[plot\]'\n", done.stderr)


def test_an_error_is_one_line_and_nothing_else():
  result = forked.run(forked.PROGRAM, "solve", "river_subgame(nothing=1)")
  assert (result.returncode, result.stdout) == (2, "")
  assert re.fullmatch(r"ps-cfr-spiel: error: Unknown parameter 'nothing'.+\n", result.stderr), result.stderr


def test_a_reader_that_leaves_is_no_error(solved):
  command = f"{PROGRAM} show {solved[0] / 'run.safetensors'} | head -n 1"
  result = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=PATIENCE)
  assert result.stdout.startswith("river 9s7c5s4h3c, pot 200, behind 19900, bets (100%, a), ranges of ")
  assert result.stderr == ""


# --- In this process ----------------------------------------------------------------------------


def test_a_sampling_run_is_solved_resumed_and_evaluated(tmp_path, capfd):
  words = ["solve", "kuhn_poker", "--solver=external-sampling", "--iterations=200", "--seed=3", "--noplot"]
  assert command_line.run([*words, f"--output={tmp_path}", "--quiet"]) == 0
  run = tmp_path / "run.safetensors"
  assert command_line.run(["solve", f"--resume={run}", "--iterations=100", "--noplot", "--quiet"]) == 0
  capfd.readouterr()
  assert command_line.run(["evaluate", str(run)]) == 0
  assert "300 iterations of ExternalSamplingSolver" in capfd.readouterr().out


def test_a_local_best_response_is_below_the_best(solved):
  facts = json.loads(program("evaluate", solved[0] / "run.safetensors", "--lbr", "--json"))
  pairs = zip(facts["local_best_responses"], facts["best_responses"], strict=True)
  assert all(local <= best + 1e-9 for local, best in pairs)
  out = program("evaluate", solved[0] / "run.safetensors", "--lbr", "--lbr_actions=0,1;0,1,2")
  assert re.search(r"local responses: +\S+ for player 0, \S+ for player 1", out)


def test_a_search_is_evaluated_saved_and_shown(tmp_path):
  words = ["resolve", "kuhn_poker", "--iterations=300", "--lookahead=1", "--value_iterations=50"]
  out = program(*words, f"--output={tmp_path}", "--quiet")
  policy = ps_cfr_spiel.load_policy(tmp_path / "policy.safetensors")
  expected = exploitability.exploitability(pyspiel.load_game("kuhn_poker"), policy.to_tabular())
  assert 0 < expected < 0.01
  found = re.search(r"^exploitability: +([0-9.e-]+)$", out, re.M)
  assert found
  assert float(found[1]) == pytest.approx(expected, rel=1e-3)
  shown = program("show", tmp_path / "policy.safetensors")
  assert "re-solving policy after 300 iterations of NRM" in shown


def test_a_run_of_another_call_keeps_its_folder(tmp_path, monkeypatch, capsys):
  monkeypatch.chdir(tmp_path)
  words = ["solve", "--iterations=1", "--noplot"]
  assert command_line.run([*words, "kuhn_poker"]) == 0
  before = Path("runs/kuhn_poker/run.safetensors").read_bytes()
  for other in (["leduc_poker"], ["kuhn_poker", "--rule=rm"], ["kuhn_poker", "--solver=fpira"]):
    assert command_line.run([*words, *other, "--output=runs/kuhn_poker"]) == 2
    error = capsys.readouterr().err
    assert "runs/kuhn_poker/run.safetensors has other results: " in error and "expected" in error
    assert "Use another folder, or delete this one." in error
  assert Path("runs/kuhn_poker/run.safetensors").read_bytes() == before
  for said in (True, True, False):
    assert command_line.run([*words, "kuhn_poker", *(["--rule=rm"] if said else [])]) == 0
    text = "runs/kuhn_poker holds another run, so this one goes to runs/kuhn_poker-2."
    assert (text in capsys.readouterr().out) == said
  assert sorted(os.listdir("runs")) == ["kuhn_poker", "kuhn_poker-2"]
  for iterations, number in ((3, ""), (2, "-3")):  # a longer run is not replaced either
    assert command_line.run(["solve", "kuhn_poker", "--noplot", f"--iterations={iterations}"]) == 0
    assert f"run.safetensors, exploitability.csv in runs/kuhn_poker{number}\n" in capsys.readouterr().out
  assert ps_cfr_spiel.load_solver("runs/kuhn_poker/run.safetensors").iteration == 3


def test_a_copy_that_is_resumed_does_not_replace_another_run(tmp_path, capsys):
  words = ["solve", "--iterations=1", "--noplot"]
  for name in ("kuhn_poker", "leduc_poker"):
    assert command_line.run([*words, name, f"--output={tmp_path / name}"]) == 0
  run, copy = tmp_path / "leduc_poker" / "run.safetensors", tmp_path / "leduc_poker" / "copy.safetensors"
  copy.write_bytes((tmp_path / "kuhn_poker" / "run.safetensors").read_bytes())
  before = run.read_bytes()
  assert command_line.run([*words, f"--resume={copy}"]) == 2
  assert "leduc_poker/run.safetensors has other results: game" in capsys.readouterr().err
  assert run.read_bytes() == before
  more = [f"--resume={run}", f"--output={run.parent}", "--limit=100000"]  # a limit changes no result
  assert command_line.run([*words, *more]) == 0
  assert command_line.run([*words, f"--resume={run}"]) == 0
  assert ps_cfr_spiel.load_solver(run).iteration == 3


def test_a_simultaneous_games_folder_has_its_name(tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  assert command_line.run(["solve", "matrix_pd", "--iterations=1", "--noplot", "--quiet"]) == 0
  assert os.listdir("runs") == ["matrix_pd"]


@pytest.mark.parametrize("table", [methods.METHODS, train.METHODS])
def test_every_option_has_one_description(table):
  """Methods that share a flag share its `Option`."""
  described = {}
  for kind in table.values():
    for field in options.fields_of(kind).values():
      if field.flag is not None:
        assert described.setdefault(field.flag, field.option) == field.option, field
  assert {*described} == {flag.name for flag in option_flags(table)}


@pytest.mark.parametrize("method", methods.METHODS)
def test_each_method_has_the_flags_of_its_options_and_no_others(method, capsys):
  """Each field of the class is a flag, and the program refuses all other flags by name."""
  own = {field.flag for field in options.fields_of(methods.METHODS[method]).values()} - {None}
  foreign = {flag.name: flag for flag in methods.METHOD_FLAGS if flag.name not in own | {"solver", "join"}}
  for flag in foreign.values():
    value = "" if flag.type is bool else f"={(*flag.choices, 1)[0]}"
    assert command_line.run(["solve", "kuhn_poker", f"--solver={method}", f"--{flag.name}{value}"]) == 2
    assert f"--solver={method} has no --{flag.name};" in capsys.readouterr().err
  assert own | set(foreign) == {flag.name for flag in methods.METHOD_FLAGS} - {"solver", "join"}


def test_help_is_about_our_flags_alone(capsys):
  assert command_line.run([]) == 2
  assert command_line.run(["--help"]) == 0
  general = capsys.readouterr().out
  for command in command_line.COMMANDS.values():
    assert command.summary in general
    assert command_line.run([command.name, "--help"]) == 0
    text = capsys.readouterr().out
    flags = re.findall(r"^  (?:-\w, )?--(?:\[no\])?(\w+)", text, re.M)
    assert flags == sorted((name for name in command.flags() if len(name) > 1), key=flags.index)
    assert "alsologtostderr" not in text
    assert max(map(len, text.splitlines())) <= 112
    for example in command.examples:
      assert f"ps-cfr-spiel {example}" in text


def test_version(capsys):
  assert command_line.run(["--version"]) == 0
  assert capsys.readouterr().out == f"ps-cfr-spiel {ps_cfr_spiel.__version__}\n"


@pytest.mark.parametrize(("target", "chips"), [("1%", 2.0), ("0.5", 0.5)])
def test_solve_stops_at_the_target(target, chips, tmp_path, capsys):
  assert command_line.run(["solve", SMALL, f"--target={target}", f"--output={tmp_path}", "--noplot"]) == 0
  *before, last = [value for _, value in rows(tmp_path)]
  assert last <= chips < min(before)
  assert "not reached" not in capsys.readouterr().out


def test_a_target_out_of_reach_is_admitted(tmp_path, capsys):
  words = ["solve", SMALL, "--target=0%", "--iterations=3", f"--output={tmp_path}", "--noplot", "--quiet"]
  assert command_line.run(words) == 0
  assert "The target of 0% was not reached" in capsys.readouterr().out


def test_options_reach_the_solver(tmp_path, capsys):
  options = [
    "--rule=dcfr",
    "--noalternating",
    "--averaging_delay=2",
    "--dtype=float64",
    "--leaves=sparse",
    "--noplot",
  ]
  assert command_line.run(["solve", "kuhn_poker", *options, "--iterations=4", f"--output={tmp_path}"]) == 0
  solver = ps_cfr_spiel.PSCFRSolver.load(tmp_path / "run.safetensors")
  assert solver.rule == ps_cfr_spiel.rules.DCFR()
  assert (solver.options.alternating, solver.options.averaging_delay, solver.dtype) == (False, 2, "float64")
  assert solver.tree.leaves.kind == "sparse"
  assert "DCFR" in capsys.readouterr().out


def test_no_iterations_at_all(tmp_path):
  assert command_line.run(["solve", SMALL, "--iterations=0", f"--output={tmp_path}"]) == 0
  assert [iteration for iteration, _ in rows(tmp_path)] == [0]


def test_show_by_hand_and_by_action(solved, capsys):
  file = str(solved[0] / "run.safetensors")
  policy = ps_cfr_spiel.load_policy(file)
  state = policy.game.new_initial_state()
  state.apply_action(0)
  state.apply_action(state.legal_actions()[0])
  assert command_line.run(["show", file, "--hand", state.hand(0)]) == 0
  line = capsys.readouterr().out.splitlines()[-1].split()
  expected = [f"{100 * p:.2f}%" for p in policy.action_probabilities(state).values()]
  decision, h = policy.labels.find(0, state.information_state_string(0))
  values = [number_text(value + 100) for value in policy.worths.at(decision).value[:, h]]  # half of the pot
  assert line[:-1] == [state.hand(0), *itertools.chain(*zip(expected, values, strict=True)), "100.00%"]
  equity = policy.reach(decision).equity
  assert equity is not None and line[-1] == f"{100 * equity[h]:.2f}%"
  assert command_line.run(["show", file, "--action=check"]) == 0
  assert "how often Check is played" in capsys.readouterr().out


def test_other_games_are_solved_and_shown_as_tables(tmp_path, capsys):
  assert command_line.run(["solve", "kuhn_poker", "--iterations=300", f"--output={tmp_path}"]) == 0
  out = capsys.readouterr().out
  assert "exploitability (utility)" in out
  assert re.search(r"^value to player 0: +-0\.05\d+$", out, re.M)  # the unit has no name of its own
  assert {path.name for path in tmp_path.iterdir()} == {
    "run.safetensors",
    "exploitability.csv",
    "exploitability.png",
  }
  file = str(tmp_path / "run.safetensors")
  assert command_line.run(["show", file, "--player=1", "--hand=2"]) == 0
  lines = capsys.readouterr().out.splitlines()[3:]
  assert [line.split()[:3] for line in lines] == [["player", "1", "2p"], ["player", "1", "2b"]]
  assert command_line.run(["show", file, "--at=Bet"]) == 0
  assert "After Bet: player 1 acts" in capsys.readouterr().out
  assert command_line.run(["show", file, "--action=Bet"]) == 2
  assert command_line.run(["evaluate", file]) == 0
  assert "(the best responses' mean)" in capsys.readouterr().out


def test_a_table_that_is_not_ours_is_not_overwritten(solved, tmp_path, capsys):
  (tmp_path / "run.safetensors").write_bytes((solved[0] / "run.safetensors").read_bytes())
  (tmp_path / "exploitability.csv").write_text("a,b\n1,2\n")
  assert command_line.run(["solve", f"--resume={tmp_path / 'run.safetensors'}"]) == 2
  assert "move it away" in capsys.readouterr().err
  assert (tmp_path / "exploitability.csv").read_text() == "a,b\n1,2\n"


def test_summary_of_a_solved_game(capsys):
  """The table of solved games gives them; Kuhn poker is worth -1/18."""
  assert command_line.run(["summary", "kuhn_poker"]) == 0
  out = capsys.readouterr().out
  assert "-0.05556\n" in out and "local regret: mean " in out
  assert command_line.run(["summary", "kuhn_poker(players=3)"]) == 0
  assert "with trembles" not in capsys.readouterr().out


def test_summary_measures_iterations_and_names_the_unit(capsys):
  words = ["summary", "--pot=5.5", "--stack=11", "--board=Ks 7d 2c 5h 9s", "--ranges=AA; KK", "--bets=a"]
  assert command_line.run([*words, "--measure"]) == 0
  lines = dict(re.findall(r"^(.*?): +(.*)$", capsys.readouterr().out, re.MULTILINE))
  assert lines["unit"] == "chips; shares are of the pot of 5.5"
  each, whole, _ = map(float, re.findall(r"([\d.e-]+) s\b", lines["time to solve"]))
  assert 0 < each < 1 and whole == pytest.approx(500 * each, rel=1e-2)
  peak, unit = lines["peak memory"].split()
  assert 50e6 < float(peak.replace(",", "")) * {"MB": 1e6, "GB": 1e9}[unit] < 10e9


def test_summary_measures_the_tree_of_its_flags(capsys):
  flags = ["--limit=100000", "--leaves=sparse", "--public_states=observer"]
  assert command_line.run(["summary", "kuhn_poker", "--measure", "--json", *flags]) == 0
  assert json.loads(capsys.readouterr().out)["iteration_seconds"] > 0


def test_summary_of_a_run(tmp_path, capsys):
  """It has its locks and how far it is, and refuses what is for games."""
  solve = ["solve", "kuhn_poker", "--iterations=7", f"--output={tmp_path}", "--quiet", "--noplot"]
  assert command_line.run([*solve, "--lock=Pass, Bet=Pass"]) == 0
  run = str(tmp_path / "run.safetensors")
  capsys.readouterr()
  assert command_line.run(["summary", run]) == 0
  lines = dict(re.findall(r"^(.*?): +(.*)$", capsys.readouterr().out, re.MULTILINE))
  assert (
    lines["iterations"] == "7" and "Pass, Bet" in lines["locked"] and "1 public states" in lines["method"]
  )
  assert command_line.run(["summary", run, "--json", "--measure"]) == 0
  found = json.loads(capsys.readouterr().out)
  assert found["iterations"] == 7 and found["iteration_seconds"] > 0 and found["peak_bytes"] > 5e7
  assert command_line.run(["summary", run, "--tree"]) == 2
  assert "--tree is for games, not for a run" in capsys.readouterr().err


def test_summary(capsys):
  assert command_line.run(["summary"]) == 0
  out = capsys.readouterr().out
  for number in ("61,000,831", "57", "21,620"):
    assert number in out


def test_measurements_get_rarer():
  iteration, found = 0, []
  while iteration < 1000:
    iteration = points.next_measurement(iteration)
    found.append(iteration)
  assert found == [*range(1, 10), *range(10, 100, 5), *range(100, 1001, 50)]
  shown = [n for n in range(1, 1001) if points.is_round(n)]
  assert shown == [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]


@pytest.mark.parametrize("power", [0.5, 1, 2])
def test_measurements_come_where_the_target_is_expected(power):
  """A fall by a power of the iterations is met exactly, another at most a twentieth late."""

  def run(exploitability, target):
    measured, iteration = [], 0
    while not measured or measured[-1].exploitability > target:
      iteration = points.next_measurement_towards(target, measured, iteration)
      measured.append(points.Point(iteration, 0.0, exploitability(iteration), 0.0))
    return [point.iteration for point in measured]

  for end in (7, 123, 790, 4321):
    assert run(lambda n: n**-power, (end - 1e-6) ** -power) == points.measurements(end)
    slowing = run(lambda n, end=end: n**-power + end**-power / 2, end**-power * (1.5 + 1e-9))
    assert end <= slowing[-1] <= min(1.05 * end + 1, points.next_measurement(end - 1))
  assert run(lambda n: 1.0 if n < 300 else 0.0, 0.5)[-1] == 300  # nothing is expected without a fall
  assert points.next_measurement_towards(float("-inf"), [points.Point(100, 0.0, 0.1, 0.0)], 100) == 150
  falling = [points.Point(50, 0.0, 0.2, 0.0), points.Point(100, 0.0, 0.1, 0.0)]
  assert points.next_measurement_towards(0.08 + 1e-9, falling, 100) == 125
  assert points.next_measurement_towards(0.08 + 1e-9, falling, 125) == 150  # it was not measured there


def test_the_main_job(tmp_path):
  """One command, and the paper's subgame is solved."""
  result = subprocess.run([PROGRAM, "solve"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
  assert result.returncode == 0, result
  assert float(re.search(r"= (\S+)% of the pot", result.stdout)[1]) < 0.1
  value = float(re.search(r"value to player 0: +(\S+) chips", result.stdout)[1])
  assert value == pytest.approx(-7.40, abs=0.02)
  assert sorted(os.listdir(tmp_path / "runs" / "river_subgame")) == [
    "exploitability.csv", "exploitability.png", "run.safetensors", "strategy.png", "values.safetensors",
  ]  # fmt: skip


@pytest.mark.parametrize(
  ("typed", "offered"),
  [
    ("so", ["solve"]),
    ("solve --chec", ["--checkpoint_seconds="]),
    ("show --qu", []),
    ("solve --qu", ["--quiet"]),
    ("help comp", ["compare"]),
  ],
)
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash itself completes")
def test_bash_completes(capsys, typed, offered):
  assert command_line.run(["completion", "bash"]) == 0
  words = ["ps-cfr-spiel", *typed.split()]
  state = f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}"
  ask = f"{state}; _ps_cfr_spiel; printf '%s\\n' \"${{COMPREPLY[@]}}\""
  result = subprocess.run(["bash", "-c", f"{capsys.readouterr().out}\n{ask}"], capture_output=True, text=True)
  assert result.stderr == ""
  assert result.stdout.split() == offered


def test_words_that_help(capsys):
  """`help` is another way to ask; a misspelt command is answered with the one that was meant."""
  assert command_line.run(["help", "solve"]) == command_line.run(["solve", "--help"]) == 0
  text = capsys.readouterr().out
  assert text[: len(text) // 2] == text[len(text) // 2 :]
  assert "\nHold'em instead of GAME:\n" in text
  assert command_line.run(["help"]) == 0
  assert command_line.run(["slove"]) == command_line.run(["completion", "csh"]) == 2
  assert re.search(
    "did you mean solve.*completion csh: choose one of bash, zsh, fish", capsys.readouterr().err, re.S
  )


def test_a_folder_to_which_another_process_writes(tmp_path, monkeypatch, capsys):
  monkeypatch.chdir(tmp_path)
  first = tmp_path / "runs" / "kuhn_poker"
  first.mkdir(parents=True)
  place = os.open(first, os.O_RDONLY)
  fcntl.flock(place, fcntl.LOCK_EX)  # as a process that writes there
  words = ["solve", "kuhn_poker", "--iterations=5", "--noplot"]
  assert command_line.run([*words, f"--output={first}"]) == 2
  assert f"Another process writes to {first}; wait for its end" in capsys.readouterr().err
  assert command_line.run(words) == 0
  assert (tmp_path / "runs" / "kuhn_poker-2" / "run.safetensors").exists() and not (
    first / "run.safetensors"
  ).exists()
  os.close(place)
  assert (
    command_line.run([*words, f"--output={first}"]) == 0 == command_line.run([*words, f"--output={first}"])
  )
