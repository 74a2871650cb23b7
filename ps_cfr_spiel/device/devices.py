"""The devices that share work: cores as devices."""

import os

import jax

from ps_cfr_spiel.arguments import check_count

MOST_EACH = 16  # devices a core: more only wait for each other


def use_cores(count: int | None = None) -> None:
  """From now on JAX sees so many devices on a CPU, between which `solve_batch` divides its work.

  Call it before JAX computes anything, and before `join`; other solvers go on with one device.

  Args:
    count: how many; None for all cores that this process may use, if JAX has not started yet.

  Raises:
    ValueError: `count` is not positive, or far more than there are, or JAX has started with another number
      of devices.
  """
  wanted = _cores() if count is None else check_count("cores", count, 1)
  if wanted > MOST_EACH * _cores():
    raise ValueError(
      f"cores={count}: this process may use {_cores()}; expected {MOST_EACH * _cores()} at most."
    )
  try:
    jax.config.update("jax_num_cpu_devices", wanted)
  except RuntimeError as error:
    if count is not None and jax.local_device_count() != count:
      raise ValueError(
        f"cores={count}: JAX has started already, with {jax.local_device_count()} device(s); say so first."
      ) from error


def _cores() -> int:
  """Cores that this process may use."""
  return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
