"""Shared by all benchmarks: the machine that one ran on, times and memory, figures kept for pictures.

Benchmarks are modules, run from the repository: `python -m benchmarks.papers.table1`. `papers` has a script
for a table or figure of a paper, `engineering` those that a change must not slow down.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

import jax
import numpy as np

DATA = Path(__file__).parent / "data"


def describe() -> str:
  """One line: processor, cores, versions, and an anchor that tells machines apart."""
  model = platform.processor() or platform.machine()
  try:
    with open("/proc/cpuinfo") as file:
      model = next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
  except (OSError, StopIteration):
    pass
  cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
  return (
    f"{model}, {cores} core(s) allowed, {jax.default_backend()}, Python {platform.python_version()}, "
    f"jax {jax.__version__}, open_spiel {importlib.metadata.version('open_spiel')}; anchor: float32 "
    f"(1081, 1081) @ (1081, 37) in {anchor():.2f} ms"
  )


def anchor() -> float:
  """Milliseconds of a matrix product in NumPy, the median of 31."""
  a, b = np.ones((1081, 1081), np.float32), np.ones((1081, 37), np.float32)
  return 1e3 * median_seconds(lambda: a @ b, 31)


def median_seconds(function, repetitions: int, clock: Callable[[], float] = time.perf_counter) -> float:
  """Median time of calls to `function`, by the wall or another clock."""
  seconds = []
  for _ in range(repetitions):
    start = clock()
    function()
    seconds.append(clock() - start)
  return float(np.median(seconds))


class Seconds(NamedTuple):
  """The time of some work, of the wall and of the processor, which a busy machine lengthens less."""

  wall: float
  processor: float

  @classmethod
  def of(cls, work: Callable[[], object]) -> Self:
    """Do the work."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return cls(time.perf_counter() - wall, time.process_time() - processor)

  @classmethod
  def median(cls, work: Callable[[], object], repetitions: int, parts: int = 1) -> Self:
    """The medians of a part, of `parts` equal ones, of work that is repeated."""
    turns = [cls.of(work) for _ in range(repetitions)]
    return cls(*(float(np.median(times)) / parts for times in zip(*turns, strict=True)))


class PeakMemory:
  """Most memory that this process has used since this object was made, over what it used then, in MB."""

  def __init__(self):
    with open("/proc/self/clear_refs", "w") as file:
      file.write("5")  # forget the peak so far (Linux)
    self.before = self._read("VmRSS")

  def _read(self, name: str) -> float:
    with open("/proc/self/status") as file:
      return next(int(line.split()[1]) for line in file if line.startswith(name)) / 1024

  def __call__(self) -> float:
    """Reads it."""
    return self._read("VmHWM") - self.before


def duration(seconds: float) -> str:
  """A time with a unit that suits it."""
  for unit, size in (("h", 3600), ("min", 60), ("s", 1)):
    if seconds >= size:
      return f"{seconds / size:.2f} {unit}"
  return f"{1e3 * seconds:.2f} ms" if seconds >= 1e-4 else f"{1e6 * seconds:.1f} us"


def in_process(module: str, *words: str, timeout: float | None = None, **environment: str) -> Any:
  """Runs a benchmark with some arguments in a process of its own; what it prints last, read as JSON."""
  command = [sys.executable, "-m", module, *words]
  done = subprocess.run(
    command, check=True, capture_output=True, text=True, timeout=timeout, env={**os.environ, **environment}
  )
  return json.loads(done.stdout.strip().splitlines()[-1])


def peer_lines(command: str, spot: Mapping[str, Any], *words: str) -> list[str]:
  """The lines that a peer, another solver behind a program of one's own, prints of a hold'em spot.

  The command is given --board, --pot, --stack (behind), --oop and --ip (ranges with commas, or all),
  --flop-bets, --turn-bets and --river-bets ("50%,a;45%": bets, raises), as postflop-solver takes them.

  Args:
    command: the program with its own options, split at blanks.
    spot: parameters of `holdem_subgame`; the same bets for both players.
    *words: further arguments of the program.
  """
  ranges = "all;all" if spot.get("ranges", "uniform") == "uniform" else spot["ranges"]
  oop, ip = (",".join(side.split()) for side in ranges.split(";"))
  streets = [_percent(street) for street in spot.get("bets", "fcpa").replace("fcpa", "1 a").split("/")]
  streets = [streets[0]] * (len(("flop", "turn", "river")) - len(streets)) + streets
  behind = spot.get("stack", 20000) - spot["pot"] // 2
  given = {"board": spot["board"], "pot": spot["pot"], "stack": behind, "oop": oop, "ip": ip}
  given |= {f"{name}-bets": bets for name, bets in zip(("flop", "turn", "river"), streets, strict=True)}
  flags = [word for name, value in given.items() for word in (f"--{name}", str(value))]
  done = subprocess.run([*command.split(), *flags, *words], check=True, capture_output=True, text=True)
  return done.stdout.splitlines()


def _percent(street: str) -> str:
  """Bets of a street in percent: "0.5 1 a;0.45a" as "50%,100%,a;45%"."""
  sizes = [[size if size == "a" else f"{100 * float(size.rstrip('a')):g}%" for size in group.split()]
           for group in street.split(";")]  # fmt: skip
  return ";".join(map(",".join, sizes))


def flags(doc: str | None, **defaults: Any) -> argparse.Namespace:
  """Reads the command line: a flag for each default, of its type; `doc` is the help.

  A tuple is the choice of a first word, a list takes several values, False is a switch; None stands for a
  text and a type for a value of it, None where the flag is not given.
  """
  parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
  for name, default in defaults.items():
    if isinstance(default, tuple):
      parser.add_argument(name, choices=default)
    elif default is False:
      parser.add_argument(f"--{name}", action="store_true")
    elif isinstance(default, list):
      parser.add_argument(f"--{name}", nargs="*", default=default, type=type(default[0]) if default else str)
    elif default is None or isinstance(default, type):
      parser.add_argument(f"--{name}", type=default or str)
    else:
      parser.add_argument(f"--{name}", default=default, type=type(default))
  return parser.parse_args()


def picture(
  options: argparse.Namespace, measure: Callable[[], Any], draw: Callable[[Any, str], None]
) -> None:
  """Measures; with --plot=FILE keeps the figures in benchmarks/data and draws them, with --redraw only draws.

  `draw` is given the figures as JSON has them: lists, and keys as text.
  """
  if not options.redraw:
    print(describe(), flush=True)
    found = measure()
    if options.plot:
      keep(options.plot, found)
  if options.plot:
    draw(kept(options.plot), options.plot)
    print(f"drawn: {options.plot}")


def keep(picture: str | Path, found: Any) -> None:
  """Keeps a picture's figures in benchmarks/data, as JSON: numbers to six digits, lists, keys as text."""
  DATA.mkdir(exist_ok=True)
  _file(picture).write_text(json.dumps(_plain(found)) + "\n")


def kept(picture: str | Path) -> Any:
  """The figures that the last run for a picture of this name kept."""
  return json.loads(_file(picture).read_text())


def _file(picture: str | Path) -> Path:
  return DATA / f"{Path(picture).stem}.json"


def _plain(found: Any) -> Any:
  if hasattr(found, "tolist"):
    found = found.tolist()
  if isinstance(found, dict):
    return {str(key): _plain(value) for key, value in found.items()}
  if isinstance(found, list | tuple):
    return [_plain(value) for value in found]
  return float(f"{found:.6g}") if isinstance(found, float) else found
