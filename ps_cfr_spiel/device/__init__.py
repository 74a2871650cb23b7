"""How JAX is used: precision, compilation, devices, processes.

May use: the ground (arguments, reports, storage, version). A function that is jitted for users goes through
`jit` of `compilation`; arrays are made within `precision` of `dtype`.
"""

from ps_cfr_spiel.device.code_cache import cache_folder, keep_compiled_code
from ps_cfr_spiel.device.compilation import jit
from ps_cfr_spiel.device.devices import use_cores
from ps_cfr_spiel.device.dtype import DTYPES, check_dtype, check_finite, precision, to_device
from ps_cfr_spiel.device.freed import trim_heap
from ps_cfr_spiel.device.processes import added_up, agreed, join, leads, meet, processes
from ps_cfr_spiel.device.watching import asked_to_stop, exit_with_parent, log_of, run_together

__all__ = [
  "DTYPES",
  "added_up",
  "agreed",
  "asked_to_stop",
  "cache_folder",
  "check_dtype",
  "check_finite",
  "exit_with_parent",
  "jit",
  "join",
  "keep_compiled_code",
  "leads",
  "log_of",
  "meet",
  "precision",
  "processes",
  "run_together",
  "to_device",
  "trim_heap",
  "use_cores",
]
