"""The command `ps-cfr-spiel solve`: runs a solver, shows its progress, and saves the result."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from absl import flags
from tqdm.auto import tqdm

from ps_cfr_spiel.abstraction import PRESETS
from ps_cfr_spiel.arguments import check_seconds
from ps_cfr_spiel.commands.command import Command
from ps_cfr_spiel.commands.flags import define_game, define_json, define_rule, define_tree, say
from ps_cfr_spiel.commands.run import (
  POINTS,
  Run,
  checkpoint,
  facts,
  measure,
  result,
  save,
  table_head,
  table_row,
)
from ps_cfr_spiel.commands.situations import define_sharing, refuse_sharing, solve_list
from ps_cfr_spiel.commands.user_input import (
  SPOT_FLAGS,
  UserError,
  load_game,
  load_saved_policy,
  make_folder,
  pictures_if,
  user_errors,
)
from ps_cfr_spiel.compiler import quiet_stderr
from ps_cfr_spiel.device import DTYPES
from ps_cfr_spiel.evaluation import is_round, next_measurement, read_points
from ps_cfr_spiel.reports import report
from ps_cfr_spiel.solvers import (
  BASELINES,
  CHUNK_SECONDS,
  CFRPlusIRASolver,
  ExternalSamplingSolver,
  FictitiousPlaySolver,
  FPIRASolver,
  IterativeSolver,
  OutcomeSamplingSolver,
  PlayedSolver,
  PSCFRSolver,
  VRMCCFRSolver,
  load_solver,
)
from ps_cfr_spiel.views import pot_of

INTERRUPTED = 130  # exit code


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
  flags.DEFINE_enum("solver", "ps-cfr", list(SOLVERS), _HELP["solver"], **into)
  define_rule(values)
  flags.DEFINE_bool("alternating", True, "Update the players in turn rather than both at once.", **into)
  flags.DEFINE_integer("skip", 0, _HELP["skip"], **least)
  flags.DEFINE_enum("dtype", "float32", list(DTYPES), "Precision of the arithmetic.", **into)
  flags.DEFINE_enum("abstraction", None, list(PRESETS), _HELP["abstraction"], **into)
  flags.DEFINE_integer("bound", 10, "CFR+IRA: infostates whose regrets are tracked against a bound.", **least)
  flags.DEFINE_integer("heuristic", 90, "CFR+IRA: infostates that are compared in a turn.", **least)
  flags.DEFINE_multi_string("lock", None, _HELP["lock"], **into)
  flags.DEFINE_enum("baseline", "learned", list(BASELINES), "Sampling: what reduces the variance.", **into)
  flags.DEFINE_float("exploration", 0.6, "Sampling: share of uniform play in what is sampled.", **into)
  flags.DEFINE_bool("plus", False, "Sampling: regret matching plus, with linear averaging.", **into)
  flags.DEFINE_integer("batch", 1, "Sampling: trajectories for one update.", lower_bound=1, **into)
  flags.DEFINE_integer("seed", 0, "Sampling and CFR+IRA: seed of the random numbers.", **least)
  define_tree(values)
  define_game(values)
  flags.DEFINE_string("situations", None, _HELP["situations"], **into)
  define_sharing(values)
  define_json(values)


_HELP = {
  "situations": "Many rivers instead of GAME: a CSV file with columns board, pot, stack, bets, ranges, or "
  "JSON lines with these fields, of which only board is needed. The result is one table.",
  "skip": "Leave this many first iterations out of the average strategy (cfr+ira: 100 unless given).",
  "solver": "ps-cfr visits the whole public tree in each iteration. vr-mccfr and those with sampling in the "
  "name sample it, and need many more, but much cheaper, iterations. cfr+ira and fpira keep strategies for "
  "few sets of infostates, and split these sets until the whole game is solved.",
  "abstraction": "Play alike where the player sees the same now (observation) or has made as many decisions "
  "(initial); identity joins nothing. cfr+ira and fpira begin with it, initial by default.",
  "lock": "A line after which the player who acts plays as given, LINE=FILE with a saved policy, or "
  "LINE=ACTION for all hands, such as --lock='check, bet 200=fold'; all else is solved around it. May be "
  "given several times.",
  "target": "Stop as soon as exploitability is this low: in percent of the pot (0.1%) or, without "
  "the %, in the game's own unit (0.2).",
  "output": "Folder for the results; made if needed, and an earlier run there is replaced (default: "
  "runs/ and the game's name, or the folder of the resumed run).",
  "resume": "Continue this run.npz, with the game and the settings that it began with.",
  "checkpoint_seconds": "Save about this often while running, so that a crash costs little.",
}


_COMMON = ("dtype", "public_states", "limit", "memory")  # flags that every solver has
_SAMPLING = ("plus", "batch", "seed", "leaves")
SOLVERS: dict[str, tuple[Any, tuple[str, ...]]] = {  # and the flags that are its own
  "ps-cfr": (PSCFRSolver, ("rule", "alternating", "skip", "abstraction", "leaves", "lock")),
  "cfr+ira": (CFRPlusIRASolver, ("bound", "heuristic", "abstraction", "seed", "skip", "leaves")),
  "fpira": (FPIRASolver, ("abstraction",)),
  "fictitious-play": (FictitiousPlaySolver, ()),
  "vr-mccfr": (VRMCCFRSolver, ("baseline", "exploration", *_SAMPLING)),
  "outcome-sampling": (OutcomeSamplingSolver, ("exploration", *_SAMPLING)),
  "external-sampling": (ExternalSamplingSolver, _SAMPLING),
}
_WALKING = (PSCFRSolver, CFRPlusIRASolver, FPIRASolver, FictitiousPlaySolver)  # with progress
_OWN = tuple(dict.fromkeys(name for _, names in SOLVERS.values() for name in names))
_FIXED = tuple(name for name in ("solver", *_OWN, *_COMMON) if name != "limit")  # on resuming


def solve(values: flags.FlagValues, words: Sequence[str]) -> int:
  """Runs the command; returns its exit code."""
  if values.situations is not None:
    return solve_list(values, words)
  refuse_sharing(values)
  pictures = pictures_if(values.plot)
  run = _set_up(values, words)
  run.say(run.solver.tree.summary(), report({"method": run.solver.description}), "")
  interrupted = False
  try:
    _compile(run)
    run.say(f"Built and compiled in {run.setup_seconds:.1f} s.", "", table_head(run))
    _iterate(run, values.iterations)
  except KeyboardInterrupt:
    interrupted = True
    print("\nInterrupted.", file=sys.stderr)
  except FloatingPointError as error:
    kept = ""
    if run.solver.iteration > run.start:
      checkpoint(run)
      kept = f" What was reached by iteration {run.solver.iteration:,} is in {run.file}."
    raise UserError(f"{error}{kept}") from error
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
  solver = _resumed(values, words) if values.resume is not None else _new(values, words)
  with user_errors():
    solver.end_of(values.iterations)
    check_seconds("--checkpoint_seconds", values.checkpoint_seconds)
  target = _target(values.target, pot_of(solver.game))
  points = []
  if values.resume is not None:
    with user_errors():
      points = read_points(Path(values.resume).with_name(POINTS), solver.iteration)
  quiet = values.quiet or values.json
  run = Run(solver, points, _folder(values, solver), target, values.checkpoint_seconds, quiet)
  run.setup_seconds = time.perf_counter() - started
  return run


def _new(values: flags.FlagValues, words: Sequence[str]) -> IterativeSolver:
  game = load_game(words, values)
  kind, own = SOLVERS[values.solver]
  foreign = sorted(set(_OWN) - set(own))
  wrong = [f"--{name}" for name in foreign if values[name].present]
  if wrong:
    allowed = f"it has --{', --'.join(own)}" if own else "it has no flags of its own"
    raise UserError(f"--solver={values.solver} has no {', '.join(wrong)}; {allowed}.")
  # What was not given is left to the solver: of some flags the defaults differ.
  options: dict[str, Any] = {name: values[name].value for name in (*own, *_COMMON) if values[name].present}
  if "lock" in options:
    options["locks"] = _locks(options.pop("lock"), values.limit)
  if kind in _WALKING:
    options["progress"] = False if values.quiet or values.json else None
  with user_errors():
    return kind(game, **options)


def _locks(words: Sequence[str], limit: int) -> dict[str, Any]:
  """What --lock says: for each line a policy from a file, or one action."""
  locks: dict[str, Any] = {}
  for word in words:
    line, equals, how = word.rpartition("=")
    if not equals or not how:
      raise UserError(f"--lock={word}: expected LINE=FILE or LINE=ACTION, such as 'check, bet 200=fold'.")
    if line in locks:
      raise UserError(f"--lock: {line!r} is locked twice.")
    locks[line] = load_saved_policy(how, limit) if how.endswith(".npz") else {how: 1}
  return locks


def _resumed(values: flags.FlagValues, words: Sequence[str]) -> IterativeSolver:
  fixed = [f"--{name}" for name in (*_FIXED, *SPOT_FLAGS) if values[name].present]
  if words or fixed:
    what = ", ".join([*map(repr, words), *fixed])
    raise UserError(f"--resume continues with the game and settings of the saved run; leave out {what}.")
  with user_errors(), quiet_stderr():
    solver = load_solver(values.resume, **({"limit": values.limit} if values["limit"].present else {}))
  if isinstance(solver, PlayedSolver):
    raise UserError(f"{values.resume} is a run of the command train; resume it there.")
  return solver


def _folder(values: flags.FlagValues, solver: IterativeSolver) -> Path:
  """The folder for the results."""
  if values.output is not None:
    folder = Path(values.output)
  elif values.resume is not None:
    folder = Path(values.resume).parent
  else:
    folder = Path("runs") / solver.game.get_type().short_name
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


def _compile(run: Run) -> None:
  """Compiles solver and evaluation, so that later times are those of the work alone."""
  started = time.perf_counter()
  run.solver.compile(False if run.quiet else None)
  run.setup_seconds += time.perf_counter() - started


def _iterate(run: Run, iterations: int) -> None:
  """Runs until the end, the target or Ctrl-C, and measures on the way, ever more rarely."""
  solver, end = run.solver, run.start + iterations
  pace, saved_at = 0.0, time.monotonic()  # iterations a second; when the last checkpoint was made

  def tick(_) -> None:
    nonlocal saved_at
    bar.update(solver.iteration - run.start - bar.n)
    if time.monotonic() - saved_at >= run.checkpoint_seconds:
      checkpoint(run)
      saved_at = time.monotonic()

  name = solver.name
  with tqdm(total=iterations, desc=name, unit="it", disable=True if run.quiet else None) as bar:
    while solver.iteration < end and not run.reached:
      before, started = solver.iteration, time.perf_counter()
      steps = min(next_measurement(before), end) - before
      try:
        solver.run(steps, every=max(1, int(pace * CHUNK_SECONDS)), callback=tick)
      finally:
        elapsed = time.perf_counter() - started
        run.seconds += elapsed
        pace = (solver.iteration - before) / elapsed
      measure(run)
      if is_round(solver.iteration) or solver.iteration == end or run.reached:
        bar.clear()
        run.say(table_row(run))
        bar.refresh()


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
