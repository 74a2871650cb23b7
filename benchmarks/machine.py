"""Names the machine that a benchmark ran on, so that its figures can be read."""

import importlib.metadata
import os
import platform
import time

import jax
import numpy as np


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


def median_seconds(function, repetitions: int) -> float:
  """Median wall time of calls to `function`."""
  seconds = []
  for _ in range(repetitions):
    start = time.perf_counter()
    function()
    seconds.append(time.perf_counter() - start)
  return float(np.median(seconds))
