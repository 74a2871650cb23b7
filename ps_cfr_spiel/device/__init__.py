"""How JAX is used: precision, compilation.

May use: the ground (arguments, reports, storage, version). A function that is jitted for users goes through
`jit` of `compilation`; arrays are made within `precision` of `dtype`.
"""

from ps_cfr_spiel.device.code_cache import cache_folder, keep_compiled_code
from ps_cfr_spiel.device.compilation import jit
from ps_cfr_spiel.device.dtype import DTYPES, check_dtype, check_finite, precision, to_device
from ps_cfr_spiel.device.freed import give_back

__all__ = [
  "DTYPES",
  "cache_folder",
  "check_dtype",
  "check_finite",
  "give_back",
  "jit",
  "keep_compiled_code",
  "precision",
  "to_device",
]
