"""The set-up of JAX for a process: cores, several processes, precision, compiled code that is kept."""

from ps_cfr_spiel.backend.device import (
  JaxRuntimeError,
  ask_to_stop,
  cache_folder,
  is_first_process,
  join_processes,
  keep_compiled_code,
  lost_processes,
  precision,
  process_count,
  to_device,
  use_cores,
)

__all__ = [
  "JaxRuntimeError",
  "ask_to_stop",
  "cache_folder",
  "is_first_process",
  "join_processes",
  "keep_compiled_code",
  "lost_processes",
  "precision",
  "process_count",
  "to_device",
  "use_cores",
]
