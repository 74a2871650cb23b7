"""The device of a run: the rule by which `device="auto"` takes an accelerator where it is the faster one.

An accelerator's program compiles for some 25 seconds, and starts some hundred kernels an iteration, however
small the tables; a core of a CPU begins at once, and takes nanoseconds for each action of an infostate.
"""

from collections.abc import Callable
from typing import NamedTuple

from ps_cfr_spiel.backend.device import Device, accelerator, device_named, platform_of
from ps_cfr_spiel.options import AUTO

#: nanoseconds of a core for an action of an infostate in an iteration, natively: 3 in a river, 5 in the
#: preset flop, 6 to 7 in a turn (docs/measurements.md)
EACH = 5
#: nanoseconds of an iteration on an accelerator, however small: 1 ms to start kernels, and 25 ms for the 25 s
#: of compilation in a run of 1,000 iterations (an H200, benchmarks/engineering/gpu.py)
LEAST = 26_000_000


class Placement(NamedTuple):
  """The device of a run; its text says both."""

  device: Device | None  #: None: the CPU
  reason: str = ""  #: of `auto`, where there was a choice

  def __str__(self) -> str:
    name = "cpu" if self.device is None else platform_of(self.device)
    return f"{name}: {self.reason}" if self.reason else name


def place(name: str, actions: Callable[[], int | None], obstacle: str = "") -> Placement:
  """The device that the option `device` names for a run; ValueError if it cannot be there.

  `actions` gives the number of actions of all infostates with tables, None where it is not known yet, and
  `obstacle` is the reason why the run is for CPUs alone, "" if it is not.
  """
  device = accelerator() if name == AUTO else device_named(name)
  if device is None or (name != AUTO and not obstacle):
    return Placement(device)
  if name != AUTO:
    raise ValueError(f"device={name!r}: {obstacle}; choose auto or cpu.")
  if obstacle:
    return Placement(None, obstacle)
  other = platform_of(device)
  if (count := actions()) is None:
    return Placement(None)
  core, start = 1e-6 * EACH * count, 1e-6 * LEAST
  means = f"some {core:.2g} ms an iteration on a core for {count:,} actions, by estimate"
  least = f"{start:.2g} in a run of 1,000, with compilation"
  if core <= start:
    return Placement(None, f"{means}; the {other} takes at least {least}")
  return Placement(device, f"{means}, and here at least {least}")
