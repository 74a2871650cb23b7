"""The command `ps-cfr-spiel solve`: runs a solver, shows its progress, and saves the result."""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from absl import flags
from tqdm.auto import tqdm

from ps_cfr_spiel import storage
from ps_cfr_spiel.arguments import check_seconds
from ps_cfr_spiel.commands.command import INTERRUPTED, USER_ERROR, Command, Flag
from ps_cfr_spiel.commands.flags import JSON, QUIET, SPOT, TREE, join_others, say
from ps_cfr_spiel.commands.methods import FIXED, METHOD_FLAGS, new_solver
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
from ps_cfr_spiel.commands.situations import SHARING, refuse_sharing, solve_list
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
from ps_cfr_spiel.reports import Stopwatch, report
from ps_cfr_spiel.solvers import (
  CHUNK_SECONDS,
  ExactSolver,
  load_solver,
)
from ps_cfr_spiel.views import pot_of

TRIES = 3  # starts of processes without anything saved between them


# fmt: off
FLAGS = (
  Flag("iterations", 500, "Iterations to run; with --resume, further iterations.", least=0),
  Flag("target", None,
    "Exploitability at which to stop: in percent of the pot (0.1%) or, without the %, in the game's own unit "
    "(0.2)."),
  Flag("output", None,
    "Folder for the results, made if needed; it replaces an earlier run there (default: runs/ and the game's "
    "name, or the folder of the resumed run).", value="FOLDER"),
  Flag("plot", None, "Draw the pictures (default: if matplotlib is installed).", kind=bool),
  QUIET,
  Flag("resume", None, "Run to continue, a run.npz, with its game and its settings.", value="FILE"),
  Flag("checkpoint_seconds", 60.0, "Seconds between two saves of the run.", least=0),
  *METHOD_FLAGS,
  *TREE,
  *SPOT,
  Flag("situations", None,
    "Many rivers instead of GAME: a CSV file with columns board, pot, stack, bets, ranges, or JSON lines "
    "with these fields, of which only board is needed. The result is one table.", value="FILE"),
  *SHARING,
  JSON,
)
# fmt: on


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
  interrupted = _run(run, values.iterations)
  if interrupted:
    if _kept(run):
      print("\nInterrupted.", file=sys.stderr)
    else:
      print("\nInterrupted.\nNo iteration was finished, nothing is saved.", file=sys.stderr)
      return INTERRUPTED
  measure(run)
  files = save(run, pictures)
  run.say("")
  say(values, facts(run, files), result(run, files))
  if values.target and not (run.reached or values.json):
    print(f"The target of {values.target} was not reached. To continue: --resume={run.file}")
  if pictures is None and values.plot is None and not values.json:
    print("No pictures were drawn; for them: pip install 'ps_cfr_spiel[plot]'")
  return INTERRUPTED if interrupted else 0


def _set_up(values: flags.FlagValues, words: Sequence[str]) -> Run:
  """The run that the command line describes, whose mistakes are all refused here."""
  with Stopwatch() as building:
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
  folder = _folder(values, words)
  return Run(solver, points, folder, target, values.checkpoint_seconds, quiet, building)


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
  """Runs the command in several processes of this machine; after a death all continue from the last save."""
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
    log = f"; its output is in {log_path(folder, ending.process)}" if ending.process else ""
    if ending.code == USER_ERROR:
      raise UserError(f"{ending}{log}.")
    saved = storage.read(file).header["iteration"] if _stamp(file) != stamp else begun
    tries = TRIES if saved > reached else tries - 1
    reached = max(saved, reached)
    if not tries:
      raise UserError(f"{ending}, the last of {TRIES} times since the last save{log}.")
    print(f"\n{ending}{log}. All begin again after iteration {reached:,}.", file=sys.stderr, flush=True)
    if _stamp(file) != stamp:
      kept = _given(values, (*FIXED, *SPOT_FLAGS, "processes", "resume", "iterations"))
      more = [f"--resume={file}", f"--iterations={end - reached}"]
      program = [sys.executable, "-m", "ps_cfr_spiel", "solve", *kept, *more]


def _given(values: flags.FlagValues, without: Sequence[str]) -> list[str]:
  """The given flags, to be given again."""
  return [values[name].serialize() for name in values if values[name].present and name not in without]


def _stamp(file: Path) -> int | None:
  """The time of the last change of a file; None without a file."""
  return file.stat().st_mtime_ns if file.exists() else None


def _run(run: Run, iterations: int) -> bool:
  """Compiles and iterates, and saves the run where an error ends it; whether it was interrupted."""
  try:
    with run.building:  # so that later times are those of the work alone
      run.solver.compile(False if run.quiet else None)
    run.say(f"Built and compiled in {run.building.seconds:.1f} s.", "", table_head(run))
    return _iterate(run, iterations)
  except KeyboardInterrupt:
    return True
  except FloatingPointError as error:
    kept = f" The run up to iteration {run.solver.iteration:,} is in {run.file}." if _kept(run) else ""
    raise UserError(f"{error}{kept}") from error
  except BrokenPipeError:  # the reader has gone, as in `| head`
    _kept(run)
    raise


def _kept(run: Run) -> bool:
  """Saves the run, if it has got further; whether it has."""
  if run.solver.iteration > run.start:
    with undisturbed():  # by an impatient second Ctrl-C
      checkpoint(run)
  return run.solver.iteration > run.start


def _iterate(run: Run, iterations: int) -> bool:
  """Runs until the end, the target or Ctrl-C, and measures on the way, ever more rarely.

  Returns:
    Whether the watching process has asked this one to stop.
  """
  solver, end = run.solver, run.start + iterations
  clock = solver.clock  # which all processes of a run share
  pace, saved_at, stopped = 0.0, clock(), False  # iterations a second; time of the last checkpoint

  def tick(_) -> bool:
    nonlocal saved_at, stopped
    bar.update(solver.iteration - run.start - bar.n)
    if clock() - saved_at >= run.checkpoint_seconds:
      checkpoint(run)
      saved_at = clock()
    stopped = bool(broadcast(asked_to_stop()))
    return stopped

  with tqdm(total=iterations, desc=solver.name, unit="it", disable=True if run.quiet else None) as bar:
    while solver.iteration < end and not run.reached and not stopped:
      before = solver.iteration
      steps = min(next_measurement(before), end) - before
      with run.iterating:
        solver.run(steps, every=max(1, int(pace * CHUNK_SECONDS)), callback=tick)
      pace = (solver.iteration - before) / max(run.iterating.last, 1e-9)
      last = solver.iteration == end
      # Where measuring is slow it takes half of the time.
      slow = solver.slowly_evaluated and run.measuring.seconds > run.iterating.seconds
      if stopped or (slow and not last):
        continue
      with run.measuring:
        measure(run)
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
  own=FLAGS,
  run=solve,
)
