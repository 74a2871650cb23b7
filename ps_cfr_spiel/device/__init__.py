"""How JAX is used: precision and compilation.

May use: the ground (arguments, storage, version).
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
