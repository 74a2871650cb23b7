"""The native library: all C++ of the package as one extension, and a table of its kernels.

May import: base layers. `kernels` names each kernel and its reference in Python, `library` loads the
extension and calls it; `native.h` is the common part of the sources. `histories.cc` alone is no part of the
extension: it needs the headers of OpenSpiel's wheel, so `histories/native_enumeration.py` compiles it on the
user's machine.
"""

from ps_cfr_spiel.backend.native.kernels import KERNELS, Kernel
from ps_cfr_spiel.backend.native.library import (
  FOLDER,
  address_of,
  call,
  call_plain,
  warn_if_missing,
  why_unavailable,
)
from ps_cfr_spiel.backend.native.table_calls import DirectCall, TableCall, call_directly
