"""How JAX is used: precision, compilation, devices.

May use: the ground (arguments, reports, storage, version). A function that is jitted for users goes through
`jit` of `compilation`; arrays are made within `precision` of `dtype`.
"""

from ps_cfr_spiel.device.code_cache import cache_folder, keep_compiled_code
from ps_cfr_spiel.device.compilation import jit
from ps_cfr_spiel.device.devices import join, meet, use_cores
from ps_cfr_spiel.device.dtype import DTYPES, check_dtype, check_finite, precision, to_device
from ps_cfr_spiel.device.freed import give_back

__all__ = [
  "DTYPES",
  "cache_folder",
  "check_dtype",
  "check_finite",
  "give_back",
  "jit",
  "join",
  "keep_compiled_code",
  "meet",
  "precision",
  "to_device",
  "use_cores",
]
