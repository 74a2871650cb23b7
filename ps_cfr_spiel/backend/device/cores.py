"""Cores as devices that share work."""

import os

import jax

from ps_cfr_spiel.arguments import check_count
from ps_cfr_spiel.backend.device.platforms import peers

MOST_EACH = 16  # devices a core: more only wait for each other


def use_cores(count: int | None = None) -> None:
  """Show JAX `count` devices on a CPU from now on; `solve_batch` divides its work between them.

  Call it before JAX computes anything, and before `join_processes`; other solvers use one device. None stands
  for all cores that this process may use, if JAX has not started yet. ValueError if `count` is not positive,
  exceeds `MOST_EACH` for each core, or JAX runs with another number of devices.
  """
  wanted = cores() if count is None else check_count("cores", count, 1)
  if wanted > MOST_EACH * cores():
    raise ValueError(
      f"cores={count}: this process may use {cores()} core(s); choose at most {MOST_EACH * cores()}."
    )
  try:
    jax.config.update("jax_num_cpu_devices", wanted)
  except RuntimeError as error:
    if count is not None and (have := len(peers(None))) != count:
      raise ValueError(
        f"cores={count}: JAX is already running with {have} device(s); call use_cores before any computation."
      ) from error


def cores() -> int:
  """Cores that this process may use."""
  return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
