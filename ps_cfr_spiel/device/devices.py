"""The devices and processes that share work: cores as devices, and meeting other processes."""

import os

import jax

from ps_cfr_spiel.arguments import check_count


def use_cores(count: int | None = None) -> None:
  """From now on JAX sees so many devices on a CPU, between which `solve_batch` divides its work.

  Call it before JAX computes anything, and before `join`; other solvers go on with one device.

  Args:
    count: how many; None for all cores that this process may use, if JAX has not started yet.

  Raises:
    ValueError: `count` is not positive, or JAX has started with another number of devices.
  """
  wanted = _cores() if count is None else check_count("cores", count, 1)
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


def join(coordinator: str, processes: int, process: int) -> None:
  """Makes this one of several processes that share work; call it before JAX computes anything.

  Args:
    coordinator: address and port of process 0, such as "localhost:4321".
    processes: how many there are.
    process: which this is, from 0.

  Raises:
    ValueError: there is no such process, or JAX has started already.
  """
  check_count("processes", processes, 1)
  if check_count("process", process, 0) >= processes:
    raise ValueError(f"process must be less than {processes}, the number of processes, got {process}.")
  jax.config.update("jax_cpu_collectives_implementation", "gloo")
  try:
    jax.distributed.initialize(coordinator, processes, process)
  except RuntimeError as error:
    raise ValueError(f"This process cannot join {processes - 1} others at {coordinator}: {error}") from error


def meet(name: str) -> None:
  """Waits until all processes of `jax.distributed` have come here; `name` says where."""
  if jax.process_count() > 1:
    from jax.experimental import multihost_utils

    multihost_utils.sync_global_devices(name)
