"""How much memory there is, so that a tree that does not fit is refused before it is built."""

from pathlib import Path

import jax

GROUPS = (
  "/sys/fs/cgroup/memory.max",
  "/sys/fs/cgroup/memory/memory.limit_in_bytes",
)  # what containers may use


def free_memory() -> int | None:
  """Bytes that arrays may still take on JAX's default device; None if nobody says."""
  if jax.default_backend() != "cpu":
    stats = jax.local_devices()[0].memory_stats() or {}
    return stats["bytes_limit"] - stats["bytes_in_use"] if "bytes_limit" in stats else None
  found = [int(text) for path in GROUPS if (text := _read(path).strip()).isdecimal()]
  for line in _read("/proc/meminfo").splitlines():
    if line.startswith("MemAvailable:"):
      found.append(int(line.split()[1]) * 1024)
  return min(found, default=None)


def _read(path: str) -> str:
  try:
    return Path(path).read_text()
  except OSError:
    return ""


def bytes_text(count: float) -> str:
  """A number of bytes for people, "1.5 GiB"."""
  for unit in ("bytes", "KiB", "MiB"):
    if count < 1024:
      return f"{count:.3g} {unit}"
    count /= 1024
  return f"{count:,.1f} GiB"
