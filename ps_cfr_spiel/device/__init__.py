"""How JAX is used: precision, compilation, memory.

May use: the ground (arguments, reports, storage, version). A function that is jitted for users goes through
`jit` of `compilation`; arrays are made within `precision` of `dtype`.
"""

from ps_cfr_spiel.device.code_cache import cache_folder, keep_compiled_code
from ps_cfr_spiel.device.compilation import jit
from ps_cfr_spiel.device.dtype import DTYPES, check_dtype, precision, to_device
from ps_cfr_spiel.device.memory import bytes_text, free_memory

__all__ = [
  "DTYPES",
  "bytes_text",
  "cache_folder",
  "check_dtype",
  "free_memory",
  "jit",
  "keep_compiled_code",
  "precision",
  "to_device",
]
