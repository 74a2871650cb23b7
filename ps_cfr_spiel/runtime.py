"""The set-up of JAX for a process: cores, several processes, precision, compiled code that is kept."""

from ps_cfr_spiel.device import (
  cache_folder,
  join_processes,
  keep_compiled_code,
  precision,
  to_device,
  use_cores,
)

__all__ = ["cache_folder", "join_processes", "keep_compiled_code", "precision", "to_device", "use_cores"]
