"""The program `ps-cfr-spiel`: solves a game, evaluates and shows what was saved.

Every command has its own absl flags and knows no others, so that a misspelt one is an error and
`--help` lists only what matters. A mistake of the user is answered in one line, with exit code 2.
"""

import contextlib
import csv
import dataclasses
import os
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pyspiel
from absl import app, flags
from tqdm.auto import tqdm

from ps_cfr_spiel import charts
from ps_cfr_spiel.build import LEAVES, build_tree
from ps_cfr_spiel.evaluate import evaluate_policy
from ps_cfr_spiel.policy import TreePolicy
from ps_cfr_spiel.precision import DTYPES
from ps_cfr_spiel.rules import RULES, rule_header
from ps_cfr_spiel.solver import CHUNK_SECONDS, PSCFRSolver, load_policy
from ps_cfr_spiel.version import __version__

PROGRAM = "ps-cfr-spiel"
DEFAULT_GAME = "river_subgame"
USER_ERROR, INTERRUPTED = 2, 130  # exit codes


class UserError(Exception):
  """A mistake of the user; its text is the one line to show."""


@contextlib.contextmanager
def user_errors() -> Iterator[None]:
  """Turns the errors by which this package answers wrong input into `UserError`."""
  try:
    yield
  except (ValueError, flags.Error, pyspiel.SpielError, ModuleNotFoundError) as error:
    raise UserError(str(error)) from error


# --- solve --------------------------------------------------------------------------------------


def _define_solve(values: flags.FlagValues) -> None:
  flags.DEFINE_integer(
    "iterations", 500, "How many iterations to run; with --resume, how many more.", 0, flag_values=values
  )
  flags.DEFINE_string(
    "target", None, "Stop as soon as the exploitability is this low: in percent of the pot (0.1%), or, "
    "without the %, in the game's own units (0.2).", flag_values=values,
  )  # fmt: skip
  flags.DEFINE_string(
    "output", None, "Folder for the results, made if needed; files of an earlier run there are replaced "
    "(default: runs/ and the game's name, or the folder of the resumed run).", flag_values=values,
  )  # fmt: skip
  flags.DEFINE_bool(
    "plot", None, "Draw the pictures (default: if matplotlib is installed).", flag_values=values
  )
  flags.DEFINE_bool("quiet", False, "Print the result only.", flag_values=values)
  flags.DEFINE_string(
    "resume", None, "A saved run (run.npz) to go on from, with its own game, rule, dtype and leaves.",
    flag_values=values,
  )  # fmt: skip
  flags.DEFINE_float(
    "checkpoint_seconds", 60.0, "Also save the run about this often while it runs.", 0, flag_values=values
  )
  flags.DEFINE_enum(
    "rule", "nrm", list(RULES), "How regrets become the next strategy. nrm, this project's own, needs the "
    "fewest iterations here but has no proof; the others are published.", flag_values=values,
  )  # fmt: skip
  flags.DEFINE_bool(
    "alternating", True, "Update the players in turns rather than at the same time.", flag_values=values
  )
  flags.DEFINE_integer(
    "skip", 0, "Leave this many first iterations out of the average strategy.", 0, flag_values=values
  )
  flags.DEFINE_enum("dtype", "float32", list(DTYPES), "Precision of the arithmetic.", flag_values=values)
  flags.DEFINE_enum(
    "leaves", "auto", ["auto", *LEAVES], "How the ends of the game are evaluated: dense, by matrices of all "
    "pairs of hands; showdown, faster with many hands; auto chooses.", flag_values=values,
  )  # fmt: skip


class Point(NamedTuple):
  """A row of exploitability.csv.

  Attributes:
    iteration: iterations done.
    seconds: time they took, without compilation and evaluation.
    exploitability: of the average strategy, in the game's units.
    value: to player 0, in the game's units.
  """

  iteration: int
  seconds: float
  exploitability: float
  value: float


@dataclasses.dataclass
class _Run:
  """A solver at work: what it has to reach and what was measured on the way.

  Attributes:
    solver: the solver.
    points: measurements, in order.
    pot: chips in the pot, None if the game has none.
    target: exploitability at which to stop, in the game's units.
    folder: where the results go.
    checkpoint_seconds: least time between two saves.
    quiet: no progress bar and no table.
  """

  solver: PSCFRSolver
  points: list[Point]
  pot: float | None
  target: float
  folder: Path
  checkpoint_seconds: float
  quiet: bool

  @property
  def file(self) -> Path:
    """Where the run is saved."""
    return self.folder / "run.npz"

  @property
  def reached(self) -> bool:
    """Whether the target is."""
    return bool(self.points) and self.points[-1].exploitability <= self.target

  def measure(self, seconds: float) -> None:
    """Adds the point of the present iteration."""
    value, _, exploitability = self.solver.evaluation()
    self.points.append(Point(self.solver.iteration, seconds, float(exploitability), float(value)))

  def iterate(self, iterations: int) -> None:
    """Runs, measuring more rarely as the run gets longer, until the end, the target or Ctrl-C."""
    end = self.solver.iteration + iterations
    seconds, pace, saved_at = self.points[-1].seconds, 0.0, time.monotonic()
    name = type(self.solver.rule).__name__
    with tqdm(total=iterations, desc=name, unit="it", disable=True if self.quiet else None) as bar:

      def tick(solver: PSCFRSolver) -> None:
        nonlocal saved_at
        bar.update(solver.iteration - (end - iterations) - bar.n)
        if time.monotonic() - saved_at >= self.checkpoint_seconds:
          solver.save(self.file)
          saved_at = time.monotonic()

      while self.solver.iteration < end and not self.reached:
        before, started = self.solver.iteration, time.perf_counter()
        steps = min(_next_measurement(before), end) - before
        try:
          self.solver.run(steps, every=max(1, int(pace * CHUNK_SECONDS)), callback=tick)
        finally:
          elapsed = time.perf_counter() - started
          seconds, pace = seconds + elapsed, (self.solver.iteration - before) / elapsed
          if self.solver.iteration > before:
            self.measure(seconds)
        bar.set_postfix_str(f"exploitability {self.in_units(self.points[-1].exploitability)}")
        if not self.quiet and (_is_round(self.solver.iteration) or self.solver.iteration == end or self.reached):
          bar.write(self.row(self.points[-1]))

  def head(self) -> str:
    """Column names of the table."""
    unit = "chips" if self.pot else "utility"
    return f"{'iteration':>10}{'seconds':>11}{f'exploitability ({unit})':>27}" + (
      f"{'(% of the pot)':>17}" if self.pot else ""
    )

  def row(self, point: Point) -> str:
    """A line of the table."""
    share = f"{_number(100 * point.exploitability / self.pot):>17}" if self.pot else ""
    return f"{point.iteration:>10,}{point.seconds:>11.3f}{_number(point.exploitability):>27}{share}"

  def in_units(self, exploitability: float) -> str:
    """An exploitability with its unit."""
    return f"{_number(100 * exploitability / self.pot)}% of the pot" if self.pot else _number(exploitability)


def _next_measurement(iteration: int) -> int:
  """1, 2, ..., 10, 15, 20, ..., 100, 150, 200, ..., 1000, 1500, ...: the first beyond `iteration`."""
  step = max(1, 5 * 10 ** (len(str(iteration)) - 2)) if iteration >= 10 else 1
  return iteration - iteration % step + step


def _is_round(iteration: int) -> bool:
  """1, 2, 5, 10, 20, 50, ..."""
  digits = str(iteration)
  return digits[0] in "125" and not digits[1:].strip("0")


def _number(x: float) -> str:
  return f"{x:,.1f}" if abs(x) >= 1000 else f"{x:.4g}"


def _solve(values: flags.FlagValues, words: Sequence[str]) -> int:
  pictures = _pictures(required=values.plot) if values.plot is not False else None
  run, started_at, setup = _set_up(values, words)
  print_more = (lambda *_: None) if values.quiet else lambda *lines: print(*lines, sep="\n", flush=True)
  print_more(run.solver.tree.summary(), _method(run.solver), "")
  interrupted = False
  try:
    setup += _compile(run)
    print_more(f"Ready after {setup:.1f} s: the tree is built, the solver compiled.", "", run.head())
    run.iterate(values.iterations)
  except KeyboardInterrupt:
    interrupted = True
    print(f"\n{PROGRAM}: interrupted; keeping what was reached.", file=sys.stderr)
  if interrupted and run.solver.iteration == started_at:
    print(f"{PROGRAM}: no iteration was finished; nothing is saved.", file=sys.stderr)
    return INTERRUPTED
  files = _save(run, pictures)
  print_more("")
  _print_result(run, files, setup, started_at)
  if values.target and not run.reached:
    print(f"The target of {values.target} was not reached; go on with --resume {run.file}.")
  if pictures is None and values.plot is None:
    print("No pictures, because matplotlib is missing: pip install 'ps_cfr_spiel[plot]'")
  return INTERRUPTED if interrupted else 0


def _set_up(values: flags.FlagValues, words: Sequence[str]) -> tuple[_Run, int, float]:
  """The run as the flags want it, its first iteration, and the seconds it took to build it."""
  started = time.perf_counter()
  if values.resume is None:
    game = _load_game(_at_most_one(words, DEFAULT_GAME))
    with user_errors():
      solver = PSCFRSolver(
        game, values.rule, values.alternating, values.dtype, leaves=values.leaves, skip=values.skip
      )
    points = []
  else:
    fixed = [name for name in ("rule", "alternating", "skip", "dtype", "leaves") if values[name].present]
    if words or fixed:
      given = "another game" if words else f"--{fixed[0]}"
      raise UserError(f"--resume goes on with the saved run's own settings; {given} cannot be given with it.")
    with user_errors(), _quiet_stderr():
      solver = PSCFRSolver.load(values.resume)
      points = _read_points(Path(values.resume).with_name("exploitability.csv"), solver.iteration)
  pot = charts.pot(solver.game)
  folder = _output_folder(values, solver)
  run = _Run(
    solver, points, pot, _target(values.target, pot), folder, values.checkpoint_seconds, values.quiet
  )
  return run, solver.iteration, time.perf_counter() - started


def _output_folder(values: flags.FlagValues, solver: PSCFRSolver) -> Path:
  """The folder for the results, made and tried now rather than after a long run."""
  default = Path(values.resume).parent if values.resume else Path("runs", solver.game.get_type().short_name)
  folder = Path(values.output) if values.output is not None else default
  try:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
      pass
  except OSError as error:
    raise UserError(f"Cannot write to the folder {str(folder)!r}: {error.strerror}.") from error
  return folder


def _target(text: str | None, pot: float | None) -> float:
  """The exploitability at which to stop, in the game's units; minus infinity for none."""
  if text is None:
    return -np.inf
  try:
    number = float(text.strip().removesuffix("%"))
  except ValueError:
    number = np.nan
  if not 0 <= number < np.inf:
    raise UserError(f"--target={text}: expected a number such as 0.2, or a percentage of the pot such as 0.1%.")
  if not text.strip().endswith("%"):
    return number
  if pot is None:
    raise UserError(f"--target={text}: this game has no pot; give a number in its own units, without the %.")
  return number / 100 * pot


def _compile(run: _Run) -> float:
  """Compiles solver and evaluation; returns the seconds that took."""
  started = time.perf_counter()
  run.solver._advance(0)
  run.solver.evaluation()
  elapsed = time.perf_counter() - started
  if not run.points or run.points[-1].iteration != run.solver.iteration:
    run.measure(0.0)
  return elapsed


def _method(solver: PSCFRSolver) -> str:
  name, *parameters = rule_header(solver.rule).items()
  rule = f"{name[1]}({', '.join(f'{key}={value:g}' for key, value in parameters)})"
  order = "alternating" if solver.alternating else "simultaneous"
  return f"{'method:':21}{rule}, {order} updates, {solver.dtype}"


def _save(run: _Run, pictures: ModuleType | None) -> list[str]:
  """Writes all results; returns the names of the files."""
  run.solver.save(run.file)
  names = [run.file.name, "exploitability.csv"]
  _write_points(run.folder / names[1], run)
  if pictures is not None:
    policy = run.solver.average_policy()
    label = f"{run.solver.game.get_type().short_name}, {type(run.solver.rule).__name__}"
    iterations, _, exploitability, _ = zip(*run.points, strict=True)
    drawn = {"exploitability.png": pictures.exploitability_curve(
      iterations, exploitability, run.solver.game, label
    )}  # fmt: skip
    if charts.has_hands(policy):
      drawn["strategy.png"] = pictures.hand_chart(policy)
    for name, figure in drawn.items():
      figure.savefig(run.folder / name)
      names.append(name)
  return names


def _write_points(path: Path, run: _Run) -> None:
  with open(path, "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow([*Point._fields, *(["percent_of_pot"] if run.pot else [])])
    for point in run.points:
      share = [repr(100 * point.exploitability / run.pot)] if run.pot else []
      writer.writerow([point.iteration, f"{point.seconds:.6f}", repr(point.exploitability), repr(point.value), *share])


def _read_points(path: Path, iteration: int) -> list[Point]:
  """The points of an earlier run up to an iteration; none if there is no file.

  Raises:
    ValueError: the file is not one of `_write_points`.
  """
  if not path.exists():
    return []
  try:
    with open(path, newline="") as file:
      rows = [
        Point(int(row["iteration"]), *(float(row[name]) for name in Point._fields[1:]))
        for row in csv.DictReader(file)
      ]
  except (KeyError, TypeError, ValueError) as error:
    raise ValueError(f"{path} is not a table of {PROGRAM}; move it away to go on.") from error
  return [point for point in rows if point.iteration <= iteration]


def _print_result(run: _Run, files: Sequence[str], setup: float, started_at: int) -> None:
  last, unit = run.points[-1], "chips" if run.pot else "utility"
  seconds = last.seconds - next((p.seconds for p in run.points if p.iteration == started_at), 0.0)
  share = f" = {run.in_units(last.exploitability)}" if run.pot else ""
  print(f"value to player 0:   {last.value:.4g} {unit}")
  print(f"exploitability:      {_number(last.exploitability)} {unit}{share}")
  print(f"time:                {seconds:.2f} s for {run.solver.iteration - started_at:,} iterations, "
        f"after {setup:.1f} s to build and compile")  # fmt: skip
  print(f"saved in {str(run.folder) + ':':12}{', '.join(files)}")
  print(f"to look at it:       {PROGRAM} show {run.file}")


def _pictures(required: bool | None) -> ModuleType | None:
  """The module that draws, or None if matplotlib is missing and pictures are not required."""
  try:
    from ps_cfr_spiel import pictures
  except ModuleNotFoundError as error:
    if required:
      raise UserError(str(error)) from error
    return None
  return pictures


# --- evaluate, show, summary --------------------------------------------------------------------


def _evaluate(_: flags.FlagValues, words: Sequence[str]) -> int:
  if not words:
    raise UserError("evaluate needs at least one file, such as runs/river_subgame/run.npz.")
  for number, path in enumerate(words):
    policy = _load_policy(path)
    with user_errors():
      value, best, exploitability = evaluate_policy(policy.game, policy)
    pot = charts.pot(policy.game)
    unit = "chips" if pot else "utility"
    share = f" = {_number(100 * exploitability / pot)}% of the pot" if pot else ""
    lines = {
      "file": path,
      "game": policy.labels.game,
      "made by": _origin(policy),
      "value to player 0": f"{value:.6g} {unit}",
      "best responses": f"{best[0]:.6g} for player 0, {best[1]:.6g} for player 1",
      "exploitability": f"{exploitability:.6g} {unit}{share} (their mean; computed in float64)",
    }
    print("\n" * bool(number) + "\n".join(f"{name + ':':21}{text}" for name, text in lines.items()))
  return 0


def _origin(policy: TreePolicy) -> str:
  """How a policy came about, as far as its file knows."""
  info = policy.info
  if "rule" not in info or "iteration" not in info:
    return "unknown"
  order = "alternating" if info.get("alternating") else "simultaneous"
  kind = info.get("policy", "average")
  return f"{info['rule']['name']}, {info['iteration']:,} iterations, {order} updates, {info.get('dtype')}; {kind} policy"


def _define_show(values: flags.FlagValues) -> None:
  flags.DEFINE_string(
    "at", "", "Where to look: the actions so far, such as \"check, bet 200\", \"x b200\" or, by number, "
    "\"1 2\". At the start of the game by default.", flag_values=values,
  )  # fmt: skip
  flags.DEFINE_string(
    "hand", None, "Show every hand of this kind: one (AhKd) or all suits (AKs, AKo, AK, TT).",
    flag_values=values,
  )  # fmt: skip
  flags.DEFINE_string(
    "action", None, "Let the chart show how often this action is played, in percent.", flag_values=values
  )
  flags.DEFINE_string("png", None, "Also draw the chart into this file.", flag_values=values)


def _show(values: flags.FlagValues, words: Sequence[str]) -> int:
  if len(words) != 1:
    raise UserError(f"show needs one file, such as runs/river_subgame/run.npz; got {len(words)}.")
  pictures = _pictures(required=True) if values.png else None
  policy = _load_policy(words[0])
  with user_errors():
    spot = charts.spot(policy, values.at)
    action = None if values.action is None else spot.find_action(values.action)
    types = None if values.hand is None else spot.find_types(values.hand)
  print(_origin(policy))
  print(charts.heading(policy, spot))
  print(charts.actions_text(spot))
  print()
  if types is not None:
    print(charts.types_text(spot, types))
  elif charts.has_hands(policy):
    print(charts.chart_text(spot, action))
    print(charts.legend_text(spot, action))
  else:
    print(charts.types_text(spot, range(len(spot.types))))
  if pictures is not None:
    with user_errors():
      pictures.hand_chart(policy, values.at).savefig(values.png)
    print(f"\nSaved {values.png}")
  return 0


def _summary(_: flags.FlagValues, words: Sequence[str]) -> int:
  game = _load_game(_at_most_one(words, DEFAULT_GAME))
  with user_errors():
    print(build_tree(game).summary())
  return 0


# --- Input --------------------------------------------------------------------------------------


def _at_most_one(words: Sequence[str], default: str) -> str:
  if len(words) > 1:
    raise UserError(f"Expected one game, got {len(words)}: {' '.join(words)} (quotes keep a game in one piece).")
  return words[0] if words else default


def _load_game(text: str) -> pyspiel.Game:
  name = text.partition("(")[0].strip()
  if name not in pyspiel.registered_names():
    raise UserError(f"Unknown game {name!r}; for instance {DEFAULT_GAME!r} or {'leduc_poker'!r} would be known.")
  with user_errors(), _quiet_stderr():
    return pyspiel.load_game(text)


def _load_policy(path: str) -> TreePolicy:
  with user_errors(), _quiet_stderr():
    return load_policy(path)


@contextlib.contextmanager
def _quiet_stderr() -> Iterator[None]:
  """Hides what OpenSpiel's C++ writes to stderr before it raises the same text."""
  sys.stderr.flush()
  kept = os.dup(2)
  try:
    with open(os.devnull, "w") as nowhere:
      os.dup2(nowhere.fileno(), 2)
    yield
  finally:
    os.dup2(kept, 2)
    os.close(kept)


# --- The program --------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Command:
  """What follows the program's name.

  Attributes:
    name: the word to type.
    arguments: what it takes besides flags.
    summary: one line on what it does.
    text: what else to know.
    examples: arguments after the program's name.
    define: defines its flags.
    run: from the parsed flags and the other words to an exit code.
  """

  name: str
  arguments: str
  summary: str
  text: str
  examples: tuple[str, ...]
  define: Callable[[flags.FlagValues], None]
  run: Callable[[flags.FlagValues, Sequence[str]], int]

  def flags(self) -> flags.FlagValues:
    """A fresh set of its flags, at their defaults."""
    values = flags.FlagValues()
    self.define(values)
    return values

  def help(self) -> str:
    """What `--help` prints."""
    usage = " ".join(word for word in (PROGRAM, self.name, self.arguments) if word)
    values = self.flags()
    lines = [f"Usage: {usage}{' [flags]' if len(values) else ''}", "", self.summary + ".", *_wrap(self.text)]
    if len(values):
      lines += ["", "Flags:"]
      for flag in [flag for group in values.flags_by_module_dict().values() for flag in group]:
        lines += _flag_help(flag)
    return "\n".join([*lines, "", "Examples:", *(f"  {PROGRAM} {example}" for example in self.examples)])


COMMANDS = (
  Command(
    "solve", "[GAME]", "Solve a game and save the result",
    "GAME is a game as OpenSpiel's load_game takes it, in quotes if it has parameters; without it, "
    "river_subgame, a river in no-limit Texas hold'em. Prints how exploitability falls, and saves the run (run.npz), "
    "exploitability.csv and two pictures. Ctrl-C ends a run early and keeps what was reached.",
    (
      "solve",
      "solve 'river_subgame(board=KhKd8c4s2h,pot=100,stack=500,bets=0.5 1 a,ranges=AA KQs 76s;TT+ AQ)'",
      "solve --target=0.01% --output=exact",
      "solve --resume=exact/run.npz --iterations=1000",
    ),
    _define_solve, _solve,
  ),
  Command(
    "show", "FILE", "Look at a saved strategy",
    "FILE is a run.npz, or any file of TreePolicy.save. In poker the acting player's hands are shown as a chart: "
    "suited hands above the diagonal, offsuit ones below, with the action that each plays most and how often. Follow the "
    "tree with --at.",
    (
      "show runs/river_subgame/run.npz",
      "show runs/river_subgame/run.npz --at='check, bet 200' --action=fold",
      "show runs/river_subgame/run.npz --hand=AKs",
      "show runs/river_subgame/run.npz --png=chart.png",
    ),
    _define_show, _show,
  ),
  Command(
    "evaluate", "FILE...", "Measure saved strategies exactly",
    "Value, best responses and exploitability, in float64.",
    ("evaluate runs/river_subgame/run.npz",),
    lambda values: None, _evaluate,
  ),
  Command(
    "summary", "[GAME]", "Print how large a game's public tree is",
    "GAME as in solve.", ("summary 'river_subgame(bets=0.5 1 2 a)'",),
    lambda values: None, _summary,
  ),
)  # fmt: skip


def _program_help() -> str:
  usages = {f"{command.name} {command.arguments}": command.summary for command in COMMANDS}
  return "\n".join([
    f"Usage: {PROGRAM} COMMAND ...",
    "",
    "Solves two-player zero-sum games of OpenSpiel by public-state CFR, and shows the result.",
    "",
    "Commands:",
    *(f"  {usage:20}{summary}" for usage, summary in usages.items()),
    "",
    f"The first thing to try: {PROGRAM} solve",
    f"More about a command:   {PROGRAM} solve --help",
  ])  # fmt: skip


def _flag_help(flag: flags.Flag) -> list[str]:
  name = f"--[no]{flag.name}" if flag.boolean else f"--{flag.name}={_placeholder(flag)}"
  text = flag.help or ""
  if flag.default is not None and flag.default != "" and not (flag.boolean and not flag.default):
    text += f" (default: {'on' if flag.default is True else flag.default})"
  return [f"  {name}", *textwrap.wrap(text, 84, initial_indent=" " * 6, subsequent_indent=" " * 6)]


def _placeholder(flag: flags.Flag) -> str:
  choices = getattr(flag.parser, "enum_values", None)
  return "|".join(choices) if choices else {"output": "DIR", "resume": "FILE", "png": "FILE"}.get(
    flag.name, {"int": "N", "float": "X"}.get(flag.flag_type(), "TEXT")
  )  # fmt: skip


def _wrap(text: str) -> list[str]:
  return textwrap.wrap(text, 90)


HELP = ("-h", "-help", "--help", "--helpfull", "--helpshort")


def _parse(argv: Sequence[str]) -> Callable[[], int]:
  """The command line as something to run, as `absl.app.run` wants its parser."""
  flags.FLAGS(argv[:1])  # absl's own flags keep their defaults
  return lambda: _dispatch(argv[1:])


def _dispatch(words: Sequence[str]) -> int:
  """Runs what the words after the program's name ask for; returns the exit code."""
  commands = {command.name: command for command in COMMANDS}
  if not words or words[0] in HELP:
    print(_program_help())
    return 0 if words else USER_ERROR
  if words[0] == "--version":
    print(f"{PROGRAM} {__version__}")
    return 0
  command = commands.get(words[0])
  if command is None:
    raise UserError(f"Unknown command {words[0]!r}; choose one of {', '.join(commands)}, or --help.")
  if any(word in HELP for word in words):
    print(command.help())
    return 0
  values = command.flags()
  with user_errors():
    rest = values([PROGRAM, *words[1:]])[1:]
  return command.run(values, rest)


def _guarded(run: Callable[[], int]) -> int:
  """Runs, with one line for the user's mistakes and no traceback."""
  try:
    code = run()
    sys.stdout.flush()
    return code
  except UserError as error:
    message = " ".join(str(error).split())
  except BrokenPipeError:  # whoever read our output has gone, as `head` does
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1
  except OSError as error:
    message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
  except KeyboardInterrupt:
    message = "interrupted."
    code = INTERRUPTED
    print(f"{PROGRAM}: {message}", file=sys.stderr)
    return code
  print(f"{PROGRAM}: error: {message}", file=sys.stderr)
  return USER_ERROR


def main(argv: Sequence[str] | None = None) -> None:
  """The program; ends the process with its exit code."""
  app.run(_guarded, None if argv is None else list(argv), flags_parser=_parse)
