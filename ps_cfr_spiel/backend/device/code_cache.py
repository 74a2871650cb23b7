"""Compiled code kept between processes: JAX's persistent compilation cache, in the user's own folder.

A solver's loop takes seconds to compile and a fraction of a second to read back. The command line keeps its
code; a notebook or program calls `keep_compiled_code()`. The folder holds at most `MOST_BYTES`; the least
recently used entries go first. JAX locks it, so two processes can share it.
"""

import contextlib
import os
import sys
import time
from pathlib import Path

import jax

from ps_cfr_spiel.storage import make_folder

SWITCH = "PS_CFR_SPIEL_CACHE"  # in the environment: a folder, or "off"
MOST_BYTES = 512 * 2**20
STALE_SECONDS = 60  # writing an entry takes far less
LEAST_SECONDS = 0.05  # shorter compilations are not worth a file


def cache_folder() -> Path | None:
  """The folder of compiled code: `SWITCH` if set, else the system's cache folder.

  None if it is off, or the user has no home folder; ValueError if `SWITCH` names an unknown user's.
  """
  chosen = os.environ.get(SWITCH, "").strip()
  if chosen.lower() in ("off", "0", "no", "none", "false"):
    return None
  try:
    if chosen:
      return Path(chosen).expanduser()
    if sys.platform == "darwin":
      return Path.home() / "Library" / "Caches" / "ps_cfr_spiel"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ps_cfr_spiel"
  except RuntimeError as error:
    if not chosen:
      return None
    raise ValueError(f"{SWITCH}={chosen}: no such user; name another folder, or 'off'.") from error


def keep_compiled_code(folder: str | os.PathLike | None = None) -> Path | None:
  """Read and keep compiled code in a folder, by default `cache_folder()`; call it before the first solve.

  A cache set up before, by `jax.config` or JAX_COMPILATION_CACHE_DIR, stays unchanged. Returns the folder in
  use; None if the cache is off or the folder is not writable.
  """
  if jax.config.jax_compilation_cache_dir:  # pyright: ignore[reportAttributeAccessIssue]
    return Path(jax.config.jax_compilation_cache_dir)  # pyright: ignore[reportAttributeAccessIssue]
  chosen = cache_folder() if folder is None else Path(folder).expanduser()
  if chosen is None:
    return None
  try:
    make_folder(chosen)
  except OSError:
    return None
  _sweep(chosen)
  jax.config.update("jax_compilation_cache_max_size", MOST_BYTES)
  jax.config.update("jax_persistent_cache_min_compile_time_secs", LEAST_SECONDS)
  jax.config.update("jax_compilation_cache_dir", str(chosen))
  return chosen


def _sweep(folder: Path) -> None:
  """Delete entries of processes killed while writing: JAX would warn about them at every compilation."""
  for entry in folder.glob("*-cache"):
    with contextlib.suppress(OSError):
      half = not entry.with_name(entry.name.removesuffix("-cache") + "-atime").exists()
      if half and time.time() - entry.stat().st_mtime > STALE_SECONDS:
        entry.unlink()
