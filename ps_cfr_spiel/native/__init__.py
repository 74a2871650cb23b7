"""Native code: the one loader of libraries in C++, and the header that their sources share (`native.h`).

May import: base layers. A library's sources and its callers stand together, in `tree/` and in `games/cheat/`.
"""

from ps_cfr_spiel.native.library import Library, call, handler
