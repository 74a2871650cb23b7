"""The place of this process among those that a launcher started: Slurm's `srun`, Open MPI's `mpirun`.

Launchers describe it in the environment. JAX reads the same variables, but only once it connects, and
`join_processes` needs the address sooner.
"""

import os
import re
from collections.abc import Mapping
from typing import NamedTuple

PORTS = range(61440, 65536)  # high ones, which few programs listen at


class Place(NamedTuple):
  """A process among others; the fields are the arguments of `join_processes`."""

  coordinator: str
  processes: int
  process: int


def launched() -> Place | None:
  """The place of this process; None if no launcher is known, or it started this process alone."""
  found = _slurm(os.environ) or _open_mpi(os.environ)
  return found if found and found.processes > 1 else None


def _slurm(given: Mapping[str, str]) -> Place | None:
  """The place within a step of `srun`; a batch script by itself is no step."""
  if "SLURM_STEP_NUM_TASKS" not in given:
    return None
  # "gpu[003-007,9],cpu1" begins with the host gpu003
  host = re.sub(r"\[(\w+).*", r"\1", given["SLURM_STEP_NODELIST"]).split(",")[0]
  step = 64 * int(given["SLURM_JOB_ID"]) + int(given["SLURM_STEP_ID"])
  return Place(_address(host, step), int(given["SLURM_STEP_NUM_TASKS"]), int(given["SLURM_PROCID"]))


def _open_mpi(given: Mapping[str, str]) -> Place | None:
  """The place within `mpirun`, whose own host is that of process 0."""
  # such as "1551302656.0;tcp://10.96.0.1,10.148.0.1:34911"
  uri = re.match(r"(\d+).*?tcp://([^,:]+)", given.get("OMPI_MCA_orte_hnp_uri", ""))
  if not uri:
    return None
  job = int(uri[1]) >> 12  # the lower bits are zero
  count, local = (int(given[f"OMPI_COMM_WORLD_{name}"]) for name in ("SIZE", "LOCAL_SIZE"))
  host = "localhost" if count == local else uri[2]
  return Place(_address(host, job), count, int(given["OMPI_COMM_WORLD_RANK"]))


def _address(host: str, job: int) -> str:
  return f"{host}:{PORTS[job % len(PORTS)]}"
