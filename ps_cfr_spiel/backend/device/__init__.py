"""The use of JAX: precision, compilation, devices, processes.

May import: base layers (arguments, reports, storage, version). Functions that users call are jitted by `jit`
of `compilation`; arrays are made within `precision` of `dtype`.
"""

from jax.errors import JaxRuntimeError

from ps_cfr_spiel.backend.device.code_cache import cache_folder, keep_compiled_code
from ps_cfr_spiel.backend.device.compilation import jit, trim_heap, uncompiled_seconds
from ps_cfr_spiel.backend.device.cores import cores, use_cores
from ps_cfr_spiel.backend.device.driver import CHUNK_SECONDS, Pace, advance, run_for, run_to
from ps_cfr_spiel.backend.device.dtype import (
  bytes_of,
  check_dtype,
  check_finite,
  check_untraced,
  in_dtype,
  precision,
  to_device,
)
from ps_cfr_spiel.backend.device.interrupts import block_until_ready, interruptible
from ps_cfr_spiel.backend.device.platforms import (
  Device,
  accelerator,
  accelerator_memory,
  device_named,
  on,
  peers,
  platform,
  platform_of,
  rehearsal,
)
from ps_cfr_spiel.backend.device.processes import (
  all_gather_rows,
  ask_to_stop,
  asked_to_stop,
  assigned_here,
  barrier,
  broadcast,
  is_first_process,
  join_processes,
  lost_processes,
  process_count,
  sum_over_processes,
)
from ps_cfr_spiel.backend.uninterrupted import Uninterrupted
