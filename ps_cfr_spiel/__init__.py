"""Public states for OpenSpiel: public-state CFR on two-player zero-sum games, jitted with JAX.

Importing this package registers its games, so that `pyspiel.load_game` finds them.

  game = pyspiel.load_game("river_subgame")
  solver = ps_cfr_spiel.PSCFRSolver(game)
  solver.run(500)
  solver.exploitability(), solver.value(), solver.average_policy()

The submodules `rules`, `matches`, `measures`, `abstractions`, `batches`, `values` and `runtime` have the rest
of the public API; other subpackages are to build on (docs/index.md). The first use of a name
imports its package: JAX takes most of a second, and `ps-cfr-spiel --help` does not need it.
"""

import pathlib as _pathlib

import lazy_loader as _lazy_loader

if not _pathlib.Path(__file__).with_name("games").is_dir():  # in a checkout the games lie beside the package
  __path__.append(str(_pathlib.Path(__file__).parents[1]))

from .backend.uninterrupted import Uninterrupted as _Uninterrupted  # isort: skip

with _Uninterrupted():  # OpenSpiel's import would make an ImportError of Ctrl-C
  from . import games  # isort: skip

__getattr__, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)
__all__.remove("pictures")  # `import *` imports all names, and this needs matplotlib, an extra
