"""The device of computations: the CPU, where the native library is, unless a run takes an accelerator.

`on` chooses one for a block of code; all that depends on the device asks `platform`. Both go by JAX's own
`jax.default_device`, so that its compiled code is kept apart by device.
"""

import contextlib
import functools
import operator
from collections.abc import Iterator, Mapping
from typing import Protocol, runtime_checkable

import jax

from ps_cfr_spiel.arguments import check_option
from ps_cfr_spiel.options import AUTO, CPU, DEVICES


@runtime_checkable
class Device(Protocol):
  """A device of JAX, whose own class has no public name for types."""

  @property
  def platform(self) -> str:
    """The name of its platform, such as "gpu"."""
    ...

  def memory_stats(self) -> Mapping[str, int] | None:
    """Bytes in use and others, by name."""
    ...


INSTALL = {
  "gpu": "for NVIDIA's pip install -U 'jax[cuda12]', in Colab Runtime > Change runtime type",
  "tpu": "on Google's machines with TPUs pip install -U 'jax[tpu]'",
  "rocm": "for AMD's see docs.jax.dev/en/latest/installation.html",
}
INSTALL["cuda"] = INSTALL["gpu"]
_chosen = operator.attrgetter("jax_default_device")  # which pyright does not know of; this thread's own
_platforms = operator.attrgetter("jax_platforms")
_rehearsed = ""  # the platform that this process's last CPU device stands for


@contextlib.contextmanager
def rehearsal(platform: str) -> Iterator[None]:
  """A context in which this process's last CPU device stands for an accelerator, to try programs without one.

  With one device alone, what is `on` it is on the accelerator, and all else on the CPU.
  """
  global _rehearsed
  before, _rehearsed = _rehearsed, platform
  try:
    yield
  finally:
    _rehearsed = before


def accelerator() -> Device | None:
  """The first accelerator of this process; None if JAX has none, or by JAX_PLATFORMS takes the CPU first."""
  if _rehearsed:
    return jax.local_devices()[-1]
  return None if jax.default_backend() == CPU else jax.local_devices()[0]


def device_named(name: str = AUTO) -> Device | None:
  """The device that an option names: an accelerator, or None for the CPU; auto is `accelerator()`.

  ValueError if JAX has no such device.
  """
  check_option("device", name, DEVICES)
  first = accelerator()
  if name == AUTO or (first is not None and name == platform_of(first)):
    return first
  if name == CPU:
    if _cpu() is not None:
      return None
    raise ValueError(f"device='cpu': JAX has {_there()}; leave JAX_PLATFORMS unset, or add ',cpu' to it.")
  try:
    return jax.local_devices(backend=name)[0]
  except RuntimeError:
    way = INSTALL[name]
    raise ValueError(
      f"device={name!r}: JAX has {_there()}; choose auto or one of these, or install JAX for it: {way}."
    ) from None


def _there() -> str:
  """The platforms that JAX has, in words, and the setting that leaves others out."""
  first = accelerator()
  have = [] if first is None else [platform_of(first)]
  named = " and ".join([*have, *([] if _cpu() is None else [CPU])])
  return f"{named} alone" + (f" by JAX_PLATFORMS={only}" if (only := _platforms(jax.config)) else "")


def platform_of(device: Device) -> str:
  """The name of a device's platform, such as "gpu"."""
  return _rehearsed if _rehearsed and device == accelerator() else device.platform


def platform() -> str:
  """The platform of computations in this context: of `on`, or of a default device that the user has set."""
  chosen = _chosen(jax.config)
  if chosen is None:
    return CPU if _cpu() is not None else jax.default_backend()
  return platform_of(jax.local_devices(backend=chosen)[0] if isinstance(chosen, str) else chosen)


def accelerator_memory() -> float | None:
  """Bytes that JAX can still take of the accelerator that is chosen; None on a CPU, or if it does not say."""
  device = accelerator()
  if device is None or platform() != platform_of(device):
    return None
  statistics = device.memory_stats() or {}
  limit = statistics.get("bytes_limit")
  return None if limit is None else max(limit - statistics.get("bytes_in_use", 0), 1)


def on(device: Device | None = None) -> contextlib.AbstractContextManager:
  """A context for computations on a device; None: on the one chosen around it, without one on the CPU."""
  if device is not None:
    return jax.default_device(device)
  chosen = _chosen(jax.config)
  if chosen is not None or jax.default_backend() == CPU:
    return _nothing
  return _nothing if _cpu() is None else jax.default_device(_cpu())


def peers(device: Device | None) -> list[Device]:
  """All devices of this process of the kind of one; None: of the CPU, its cores by `use_cores`."""
  if device is None:
    return jax.local_devices(backend=CPU) if _cpu() is not None else jax.local_devices()
  return [device] if _rehearsed else jax.local_devices(backend=device.platform)


_nothing = contextlib.nullcontext()


@functools.cache
def _cpu() -> Device | None:
  """The CPU as JAX's device; None where JAX_PLATFORMS leaves it out."""
  try:
    return jax.local_devices(backend=CPU)[0]
  except RuntimeError:
    return None
