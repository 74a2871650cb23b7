"""How JAX is used: precision and compilation.

May use: the ground (arguments, reports, storage, version). A function that is jitted for users goes through
`jit` of `compilation`; arrays are made within `precision` of `dtype`.
"""

from ps_cfr_spiel.device.compilation import jit
from ps_cfr_spiel.device.dtype import DTYPES, check_dtype, precision, to_device

__all__ = [
  "DTYPES",
  "check_dtype",
  "jit",
  "precision",
  "to_device",
]
