"""What an accelerator gains: an iteration, compilation, memory and values of ten games, beside the CPU's.

  pip install -e . "jax[cuda12]"                           # on a bare machine with a driver
  python -m benchmarks.engineering.gpu --output gpu.json    # under six minutes
  python -m benchmarks.engineering.gpu --only turn flop --seconds 120
  python -m benchmarks.engineering.gpu --only "1,024 rivers" --seconds 240
  JAX_PLATFORMS=cpu python -m benchmarks.engineering.gpu --quick    # a rehearsal on small games

Every game runs on JAX's accelerator, small ones too, and then on the CPU with the native library, each in a
process of its own, so that one that fails does not stop the rest. On all cores but four processes are set up
and compile side by side; then they are measured one after the other, with the machine for itself. The rule is
--rule, in float32. Where JAX has a CPU alone, it stands for an accelerator. After --seconds in all no process
is begun, and those that run are stopped. --output has each figure as soon as it is known.

ms is the median of three runs of --run seconds, without evaluations, compile the seconds of the first
iteration, "to 0.5%" those of a run without compilation to 0.5% of the pot with an evaluation every ten, MB
the allocator's peak on the device, on a CPU the growth of the resident set. The difference is the largest of
the value and both best responses after two iterations: later ones amplify rounding, so the
exploitability after all iterations stands beside it. Batches are of rivers with all hands, ten pots behind;
their differences are of values and exploitability of each after one iteration, because in some of many rivers
exact ties of the first are decided by rounding. The kernels that take longest, by `jax.profiler`,
follow for every game but the batches.
"""

import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pyspiel

from benchmarks.engineering.batch import rivers
from benchmarks.engineering.small_games import GOOFSPIEL
from benchmarks.engineering.streets import PRESET
from benchmarks.machine import PeakMemory, describe, flags
from ps_cfr_spiel import PSCFRSolver
from ps_cfr_spiel.backend.device import accelerator, cores, platform_of, rehearsal
from ps_cfr_spiel.batches import solve_batch

TURN = {"board": "9s7c5s4h", "pot": 200, "stack": 1000}
#: a game with its parameters, or a number of rivers; the most important first.
GAMES: dict[str, tuple[str, Mapping[str, Any]] | int] = {
  "river": ("river_subgame", {}),
  "turn": ("holdem_subgame", TURN),
  "flop": ("holdem_subgame", PRESET),
  "1,024 rivers": 1024,
  "64 rivers": 64,
  "Leduc": ("leduc_poker", {}),
  "liar's dice 1x6": ("liars_dice", {}),
  "liar's dice 2x5": ("liars_dice", {"numdice": 2, "dice_sides": 5}),
  "goofspiel 6": (GOOFSPIEL.format(6), {}),
  "goofspiel 7": (GOOFSPIEL.format(7), {}),
}
NARROW = {"stack": 300, "ranges": "AA KQs;QQ AKs"}
QUICK: dict[str, tuple[str, Mapping[str, Any]] | int] = {
  **GAMES,
  "river": ("river_subgame", NARROW),
  "turn": ("holdem_subgame", {**TURN, **NARROW}),
  "flop": ("holdem_subgame", {**TURN, **NARROW, "board": "9s7s5s", "bets": "1"}),
  "64 rivers": 2,
  "1,024 rivers": 3,
  "liar's dice 1x6": ("liars_dice", {"dice_sides": 2}),
  "liar's dice 2x5": ("liars_dice", {"numdice": 2, "dice_sides": 2}),
  "goofspiel 6": (GOOFSPIEL.format(3), {}),
  "goofspiel 7": (GOOFSPIEL.format(4), {}),
}
SHOWN = 12  # kernels of a profile


# --- One game, in a process of its own ------------------------------------------------------------------


def measured(
  game: tuple[str, Mapping[str, Any]] | int, rule: str, seconds: float, device: str, profile: bool
) -> Iterator[dict]:
  """Figures of a game as they come; those after "ready" are of speed, with the machine for itself."""
  kind = jax.devices()[0]
  yield {"device": kind.device_kind}
  peak = PeakMemory() if kind.platform == "cpu" else None

  def memory() -> dict[str, int | None]:
    most = peak() * 1e6 if peak else (kind.memory_stats() or {}).get("peak_bytes_in_use")
    return {"MB": None if most is None else round(most / 1e6)}

  if isinstance(game, int):
    yield from _batch(game, rule, seconds, device)
    yield memory()
    return
  name, parameters = game
  loaded = pyspiel.load_game(name, parameters) if parameters else pyspiel.load_game(name)
  started = time.perf_counter()
  solver = PSCFRSolver(loaded, rule, device=device, progress=False)
  yield {"set-up": time.perf_counter() - started}
  yield from _solver(solver, seconds)
  yield memory()
  if "pot" in parameters:
    again = PSCFRSolver(loaded, rule, device=device, progress=False)
    yield {"to 0.5%": _time(lambda most: _reach_target(again, most, 0.005 * parameters["pot"]), 1000)}
    yield {"iterations to 0.5%": again.iteration}
  if profile:
    yield {"kernels": profiled(lambda: solver._advance(4), 4)}


def _solver(solver: PSCFRSolver, seconds: float) -> Iterator[dict]:
  yield {"evaluator": solver.tree.leaves.kind, "engine": str(solver.engine)}
  yield {"compile": _time(solver._advance, 1)}
  solver._advance(1)
  after = solver.evaluation()
  yield {"values": [float(after.value), *map(float, after.best_response)], "ready": True}
  count = max(int(seconds / _time(solver._advance, 4) * 4), 2)
  yield _spread([1e3 * _time(solver._advance, count) / count for _ in range(3)])
  yield {"iterations": solver.iteration, "exploitability": float(solver.exploitability())}


def _reach_target(solver: PSCFRSolver, most: int, target: float) -> None:
  while solver.iteration < most and (not solver.iteration or solver.exploitability() > target):
    solver._advance(10)


def _batch(count: int, rule: str, seconds: float, device: str) -> Iterator[dict]:
  def solve(iterations: int):
    return solve_batch(
      rivers(count), rule, iterations=iterations, hands="all", strategies=False, chunk=min(count, 1024),
      device=device, progress=False,
    )  # fmt: skip

  yield {"compile": _time(solve, 1)}
  yield {"values": [float(x) for one in solve(1) for x in (one.value, one.exploitability)], "ready": True}
  # A call makes tables too, as long for few iterations as for many.
  tables, few = _time(solve, 1), 4
  while _time(solve, few) < tables + 2 * seconds:
    few *= 4  # each call of many rivers takes seconds for their tables
  yield _spread([1e3 * (_time(solve, 2 * few) - _time(solve, few)) / few for _ in range(3)])


def _time(run: Callable[[int], object], count: int) -> float:
  started = time.perf_counter()
  run(count)
  return time.perf_counter() - started


def _spread(times: list[float]) -> dict[str, float]:
  """The median of milliseconds, the least and the most."""
  return {"ms": statistics.median(times), "from": min(times), "to": max(times)}


def profiled(run: Callable[[], object], iterations: int) -> list[tuple[str, float, int]]:
  """The kernels that take longest: name, us an iteration, number of calls."""
  with tempfile.TemporaryDirectory() as folder:
    with jax.profiler.trace(folder):
      run()
    spent, calls = Counter(), Counter()
    for path in Path(folder).rglob("*.xplane.pb"):
      planes = list(jax.profiler.ProfileData.from_file(str(path)).planes)
      devices = [plane for plane in planes if plane.name.startswith("/device:")]
      for plane in devices or [plane for plane in planes if plane.name == "/host:CPU"]:
        for line in plane.lines:
          if devices and not line.name.startswith("Stream"):
            continue  # the same again, by operation or by module
          for event in line.events:
            if not devices and not re.fullmatch(r"[\w.-]+", event.name):
              continue  # Python's functions and the runtime's own
            spent[event.name] += event.duration_ns / 1e3
            calls[event.name] += 1
  return [(name, us / iterations, calls[name]) for name, us in spent.most_common(SHOWN)]


# --- All games ------------------------------------------------------------------------------------------


class Run:
  """A game on a device, in a process; its figures grow while it works."""

  def __init__(
    self, words: list[str], until: float, keep: Callable[[], None], environment: Mapping[str, str]
  ):
    """Begin it; it is stopped at a time, `until`, and `keep` is called after each of its figures."""
    self.figures: dict[str, Any] = {}
    self.ready, self._keep = threading.Event(), keep
    self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
    self._process = subprocess.Popen(
      [sys.executable, "-m", "benchmarks.engineering.gpu", *words],
      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True,
      env={**os.environ, **environment},
    )  # fmt: skip
    self._stop = threading.Timer(max(until - time.monotonic(), 0.1), self._process.kill)
    self._stop.start()
    self._reader = threading.Thread(target=self._follow, daemon=True)
    self._reader.start()

  def _follow(self) -> None:
    for line in self._process.stdout or ():
      if line.startswith("{"):
        self.figures.update(json.loads(line))
      if self.figures.pop("ready", False):
        self.ready.set()
      self._keep()
    code, late = self._process.wait(), not self._stop.is_alive()
    self._stop.cancel()
    if code:
      self._errors.seek(0)
      said = self._errors.read().strip().splitlines() or [f"exit code {code}"]
      self.figures["failed"] = "time is over" if late else said[-1]
    self.ready.set()

  def finish(self) -> dict[str, Any]:
    """The figures, after its speed has been measured; for one that is `ready`."""
    assert self._process.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # of one that failed
      self._process.stdin.write("measure\n")
      self._process.stdin.close()
    self._reader.join()
    return self.figures


def compare(names: list[str], words: list[str], seconds: float, output: str | None) -> dict[str, Any]:
  """Print all games, on JAX's device and on the CPU; their figures."""
  until = time.monotonic() + seconds
  every = {name: {"device": {}, "cpu": {}} for name in names}
  lock, ahead = threading.Lock(), max(cores() - 4, 1)
  shared = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"} if ahead > 1 else {}

  def keep() -> None:
    if output:
      with lock:
        Path(output).write_text(json.dumps(every, indent=1) + "\n")

  def begin(name: str, where: str) -> Run:
    of_device = ["--accelerator"] if where == "device" else []
    environment = shared if of_device else {"JAX_PLATFORMS": "cpu"}
    run = Run(["--one", name, *of_device, *words], until, keep, environment)
    every[name][where] = run.figures
    return run

  waiting = [(name, where) for where in ("device", "cpu") for name in names]
  while waiting:
    if time.monotonic() > until:
      for name, where in waiting:
        every[name][where] = {"failed": "time is over"}
        print(f"{name:16} {where:6} {_shown(every[name][where])}")
      break
    runs = [(name, where, begin(name, where)) for name, where in waiting[:ahead]]
    del waiting[:ahead]
    for *_, run in runs:
      run.ready.wait()
    for name, where, run in runs:
      print(f"{name:16} {where:6} {_shown(run.finish())}", flush=True)
  print("\nBeside the CPU:")
  for name, figures in every.items():
    print(f"{name:16} {compared(figures['device'], figures['cpu'])}")
  for name, figures in every.items():
    for kernel, us, calls in figures["device"].get("kernels", []):
      print(f"{name:16} {us:10.1f} us an iteration, {calls:5} calls: {kernel}")
  keep()
  return every


def _shown(figures: dict[str, Any]) -> str:
  """The figures of a game on one device."""
  parts = [
    f"{figures['ms']:.3f} ms ({figures['from']:.3f}-{figures['to']:.3f})" if "ms" in figures else "",
    *(f"{name} {figures[name]:.1f} s" for name in ("set-up", "compile", "to 0.5%") if name in figures),
    f"{figures['MB']} MB" if figures.get("MB") else "",
    *(figures[name] for name in ("evaluator", "engine", "device") if name in figures),
    f"FAILED: {figures['failed']}" if "failed" in figures else "",
  ]
  return "; ".join(filter(None, parts))


def compared(device: dict[str, Any], cpu: dict[str, Any]) -> str:
  """A game on the device beside the CPU."""
  parts = [] if cpu else ["no figures of the CPU"]
  if "ms" in device and "ms" in cpu:
    parts.append(f"the device is {cpu['ms'] / max(device['ms'], 1e-9):.2f} times as fast")
  if "values" in device and "values" in cpu:
    difference = np.abs(np.subtract(device["values"], cpu["values"])).max()
    parts.append(f"largest difference {difference:.2g} of {np.abs(cpu['values']).max():.3g}")
  if "exploitability" in device and "exploitability" in cpu:
    told = [f"{x['exploitability']:.3g} after {x['iterations']}" for x in (device, cpu)]
    parts.append(f"exploitability {told[0]}, of the CPU {told[1]}")
  return "; ".join(parts)


def main() -> None:
  options = flags(
    __doc__ or "",
    only=[""],
    rule="nrm+",
    seconds=330.0,
    run=1.0,
    output=None,
    quick=False,
    one=None,
    accelerator=False,
  )
  games = QUICK if options.quick else GAMES
  if options.one:
    alone = options.accelerator and accelerator() is None
    with rehearsal("gpu") if alone else contextlib.nullcontext():
      first = accelerator() if options.accelerator else None
      device = "cpu" if first is None else platform_of(first)
      profile = options.accelerator
      for figures in measured(games[options.one], options.rule, options.run, device, profile):
        print(json.dumps(figures), flush=True)
        if "ready" in figures:
          sys.stdin.readline()
    return
  names = [name for name in games if any(word.lower() in name.lower() for word in options.only)]
  if not names:
    raise SystemExit(f"--only {' '.join(options.only)}: choose among {', '.join(games)}.")
  print(describe(), flush=True)
  words = ["--rule", options.rule, "--run", str(options.run), *["--quick"] * options.quick]
  compare(names, words, options.seconds, options.output)


if __name__ == "__main__":
  main()
