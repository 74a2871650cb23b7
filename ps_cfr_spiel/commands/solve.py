"""The command `ps-cfr-spiel solve`: runs a solver, shows its progress, and saves the result."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from absl import flags
from tqdm.auto import tqdm

from ps_cfr_spiel import storage
from ps_cfr_spiel.arguments import check_seconds
from ps_cfr_spiel.commands.command import INTERRUPTED, USER_ERROR, Command
from ps_cfr_spiel.commands.flags import define_game, define_json, define_tree, join_others, say
from ps_cfr_spiel.commands.methods import FIXED, define_methods, new_solver
from ps_cfr_spiel.commands.run import (
  POINTS,
  RUN,
  Run,
  checkpoint,
  facts,
  measure,
  result,
  save,
  table_head,
  table_row,
  undisturbed,
)
from ps_cfr_spiel.commands.situations import define_sharing, refuse_sharing, solve_list
from ps_cfr_spiel.commands.user_input import (
  SPOT_FLAGS,
  UserError,
  load_game,
  make_folder,
  pictures_if,
  user_errors,
)
from ps_cfr_spiel.compiler import quiet_stderr
from ps_cfr_spiel.device import (
  asked_to_stop,
  broadcast,
  exit_with_parent,
  log_path,
  process_count,
  run_together,
)
from ps_cfr_spiel.evaluation import is_round, next_measurement, read_points
from ps_cfr_spiel.reports import report
from ps_cfr_spiel.solvers import (
  CHUNK_SECONDS,
  ExactSolver,
  load_solver,
)
from ps_cfr_spiel.views import pot_of

TRIES = 3  # starts of processes without anything saved between them


def define(values: flags.FlagValues) -> None:
  """Defines the command's flags, in the order in which `--help` lists them."""
  into: dict[str, Any] = {"flag_values": values}
  least: dict[str, Any] = {"lower_bound": 0, **into}
  flags.DEFINE_integer("iterations", 500, "Iterations to run; with --resume, how many more.", **least)
  flags.DEFINE_string("target", None, _HELP["target"], **into)
  flags.DEFINE_string("output", None, _HELP["output"], **into)
  flags.DEFINE_bool("plot", None, "Draw the pictures (default: if matplotlib is installed).", **into)
  flags.DEFINE_bool("quiet", False, "Print the result only.", **into)
  flags.DEFINE_string("resume", None, _HELP["resume"], **into)
  flags.DEFINE_float("checkpoint_seconds", 60.0, _HELP["checkpoint_seconds"], **least)
  define_methods(values)
  define_tree(values)
  define_game(values)
  flags.DEFINE_string("situations", None, _HELP["situations"], **into)
  define_sharing(values)
  define_json(values)


_HELP = {
  "situations": "Many rivers instead of GAME: a CSV file with columns board, pot, stack, bets, ranges, or "
  "JSON lines with these fields, of which only board is needed. The result is one table.",
  "target": "Stop as soon as exploitability is this low: in percent of the pot (0.1%) or, without "
  "the %, in the game's own unit (0.2).",
  "output": "Folder for the results; made if needed, and an earlier run there is replaced (default: "
  "runs/ and the game's name, or the folder of the resumed run).",
  "resume": "Continue this run.npz, with the game and the settings that it began with.",
  "checkpoint_seconds": "Save about this often while running, so that a crash costs little.",
}


def solve(values: flags.FlagValues, words: Sequence[str]) -> int:
  """Runs the command; returns its exit code."""
  if values.situations is not None:
    return solve_list(values, words)
  refuse_sharing(values)
  pictures = pictures_if(values.plot)
  if values.processes is not None and values.coordinator is None and values.process is None:
    return _together(values, words)
  with user_errors():
    exit_with_parent()
    join_others(values)
  run = _set_up(values, words)
  run.say(run.solver.summary(), report({"method": run.solver.description}), "")
  interrupted = False
  try:
    _compile(run)
    run.say(f"Built and compiled in {run.setup_seconds:.1f} s.", "", table_head(run))
    interrupted = _iterate(run, values.iterations)
  except KeyboardInterrupt:
    interrupted = True
  except FloatingPointError as error:
    kept = ""
    if run.solver.iteration > run.start:
      checkpoint(run)
      kept = f" What was reached by iteration {run.solver.iteration:,} is in {run.file}."
    raise UserError(f"{error}{kept}") from error
  except BrokenPipeError:  # nobody reads what is told, as after `| head`
    if run.solver.iteration > run.start:
      checkpoint(run)
    raise
  if interrupted:
    if run.solver.iteration > run.start:
      with undisturbed():  # by an impatient second Ctrl-C
        checkpoint(run)
    print("\nInterrupted.", file=sys.stderr)
  if interrupted and run.solver.iteration == run.start:
    print("No iteration was finished, nothing is saved.", file=sys.stderr)
    return INTERRUPTED
  measure(run)
  files = save(run, pictures)
  run.say("")
  say(values, facts(run, files), result(run, files))
  if values.json:
    return INTERRUPTED if interrupted else 0
  if values.target and not run.reached:
    print(f"The target of {values.target} was not reached. To continue: --resume={run.file}")
  if pictures is None and values.plot is None:
    print("No pictures were drawn; for them: pip install 'ps_cfr_spiel[plot]'")
  return INTERRUPTED if interrupted else 0


def _set_up(values: flags.FlagValues, words: Sequence[str]) -> Run:
  """The run that the command line describes; every mistake in it shows up here."""
  started = time.perf_counter()
  solver = _resumed(values, words) if values.resume is not None else new_solver(values, words)
  if process_count() > 1 and not solver.shared:
    raise UserError(f"{values.resume} is a run of {solver.name}, which processes cannot share.")
  with user_errors():
    solver.end_of(values.iterations)
    check_seconds("--checkpoint_seconds", values.checkpoint_seconds)
  target = _target(values.target, pot_of(solver.game))
  points = []
  if values.resume is not None:
    with user_errors():
      points = read_points(Path(values.resume).with_name(POINTS), solver.iteration)
  quiet = values.quiet or values.json
  run = Run(solver, points, _folder(values, words), target, values.checkpoint_seconds, quiet)
  run.setup_seconds = time.perf_counter() - started
  return run


def _resumed(values: flags.FlagValues, words: Sequence[str]) -> ExactSolver:
  fixed = [f"--{name}" for name in (*FIXED, *SPOT_FLAGS) if values[name].present]
  if words or fixed:
    what = ", ".join([*map(repr, words), *fixed])
    raise UserError(f"--resume continues with the game and settings of the saved run; leave out {what}.")
  with user_errors(), quiet_stderr():
    solver = load_solver(values.resume, **({"limit": values.limit} if values["limit"].present else {}))
  if not isinstance(solver, ExactSolver):
    raise UserError(f"{values.resume} is a run of the command train; resume it there.")
  return solver


def _folder(values: flags.FlagValues, words: Sequence[str]) -> Path:
  """The folder for the results."""
  if values.output is not None:
    folder = Path(values.output)
  elif values.resume is not None:
    folder = Path(values.resume).parent
  else:
    folder = Path("runs") / load_game(words, values).get_type().short_name
  return make_folder(folder)


def _target(text: str | None, pot: float | None) -> float:
  """The exploitability at which to stop, in the game's unit; minus infinity for never."""
  if text is None:
    return -np.inf
  try:
    number = float(text.removesuffix("%"))
  except ValueError:
    number = np.nan
  if not 0 <= number < np.inf:
    raise UserError(f"--target={text}: expected a number such as 0.2 or a share of the pot such as 0.1%.")
  if not text.endswith("%"):
    return number
  if pot is None:
    raise UserError(f"--target={text}: this game has no pot; give a number in its own unit, without the %.")
  return number / 100 * pot


def _together(values: flags.FlagValues, words: Sequence[str]) -> int:
  """Runs the command in several processes of this machine; when one dies all go on from what was saved."""
  begun = 0
  if values.resume is not None:
    with user_errors():
      begun = storage.read(values.resume).header.get("iteration", 0)
  elif values.solver != "hierarchical":
    raise UserError(f"--processes={values.processes}: --solver={values.solver} runs in one process.")
  folder = _folder(values, words)
  file, end = folder / RUN, begun + values.iterations
  program = [sys.executable, "-m", "ps_cfr_spiel", "solve", *words, *_given(values, ("processes",))]
  stamp, reached, tries = _stamp(file), begun, TRIES

  def command(address: str, process: int) -> list[str]:
    shared = [f"--coordinator={address}", f"--processes={values.processes}", f"--process={process}"]
    return [*program, *shared]

  while True:
    ending = run_together(command, values.processes, folder, (0, INTERRUPTED))
    if ending.code in (0, INTERRUPTED, USER_ERROR) and ending.process == 0:
      return ending.code
    log = f"; what it said is in {log_path(folder, ending.process)}" if ending.process else ""
    if ending.code == USER_ERROR:
      raise UserError(f"{ending}{log}.")
    saved = storage.read(file).header["iteration"] if _stamp(file) != stamp else begun
    tries = TRIES if saved > reached else tries - 1
    reached = max(saved, reached)
    if not tries:
      raise UserError(f"{ending}, the last of {TRIES} times since anything was saved{log}.")
    print(f"\n{ending}{log}. All begin again after iteration {reached:,}.", file=sys.stderr, flush=True)
    if _stamp(file) != stamp:
      kept = _given(values, (*FIXED, *SPOT_FLAGS, "processes", "resume", "iterations"))
      more = [f"--resume={file}", f"--iterations={end - reached}"]
      program = [sys.executable, "-m", "ps_cfr_spiel", "solve", *kept, *more]


def _given(values: flags.FlagValues, without: Sequence[str]) -> list[str]:
  """The flags of a command line, as they may be given again."""
  return [values[name].serialize() for name in values if values[name].present and name not in without]


def _stamp(file: Path) -> int | None:
  """What changes when a file is written; None if there is none."""
  return file.stat().st_mtime_ns if file.exists() else None


def _compile(run: Run) -> None:
  """Compiles solver and evaluation, so that later times are those of the work alone."""
  started = time.perf_counter()
  run.solver.compile(False if run.quiet else None)
  run.setup_seconds += time.perf_counter() - started


def _iterate(run: Run, iterations: int) -> bool:
  """Runs until the end, the target or Ctrl-C, and measures on the way, ever more rarely.

  Returns:
    Whether the process that watches this one has asked it to stop.
  """
  solver, end = run.solver, run.start + iterations
  clock = solver.clock  # by which all processes do the same
  pace, saved_at, stopped = 0.0, clock(), False  # iterations a second; when the last checkpoint was made

  def tick(_) -> bool:
    nonlocal saved_at, stopped
    bar.update(solver.iteration - run.start - bar.n)
    if clock() - saved_at >= run.checkpoint_seconds:
      checkpoint(run)
      saved_at = clock()
    stopped = bool(broadcast(asked_to_stop()))
    return stopped

  name = solver.name
  with tqdm(total=iterations, desc=name, unit="it", disable=True if run.quiet else None) as bar:
    while solver.iteration < end and not run.reached and not stopped:
      before, started = solver.iteration, clock()
      steps = min(next_measurement(before), end) - before
      try:
        solver.run(steps, every=max(1, int(pace * CHUNK_SECONDS)), callback=tick)
      finally:
        elapsed = clock() - started
        run.seconds += elapsed
        pace = (solver.iteration - before) / max(elapsed, 1e-9)
      last = solver.iteration == end
      # Where a look takes longer than many iterations, as much time goes into looks as into these.
      if stopped or (solver.slowly_evaluated and run.measuring > run.seconds and not last):
        continue
      started = clock()
      measure(run)
      run.measuring += clock() - started
      if is_round(solver.iteration) or last or run.reached:
        bar.clear()
        run.say(table_row(run))
        bar.refresh()
  return stopped


COMMAND = Command(
  name="solve",
  arguments="[GAME]",
  summary="Solve a game and save the result",
  text="GAME is written as for OpenSpiel's load_game, in quotes if it has parameters. Without it: "
  "river_subgame, the last betting round of a hand of no-limit Texas hold'em. Shows how exploitability "
  "falls, and saves the run (run.npz), exploitability.csv, exploitability.png and, in poker, strategy.png. "
  "Ctrl-C ends the run early and keeps what it reached.",
  examples=(
    "solve",
    "solve 'river_subgame(board=KhKd8c4s2h,pot=100,stack=500,bets=0.5 1 a,ranges=AA KQs 76s;TT+ AQ)'",
    "solve --board='Kh Kd 8c 4s 2h' --stack=500 --bets='50%, a' --ranges='AA, KQs; TT+, AQ'",
    "solve --target=0.01% --output=exact",
    "solve --resume=exact/run.npz --iterations=1000",
  ),
  define=define,
  run=solve,
)
