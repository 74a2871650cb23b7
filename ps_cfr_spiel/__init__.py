"""Public states for OpenSpiel: public-state CFR on two-player zero-sum games, jitted with JAX.

Importing this package registers its games, so that `pyspiel.load_game` finds them.

  game = pyspiel.load_game("river_subgame")
  solver = ps_cfr_spiel.PSCFRSolver(game)
  solver.run(500)
  solver.exploitability(), solver.value(), solver.average_policy()

The submodules `rules`, `matches`, `abstractions`, `batches`, `values` and `runtime` have the rest of the
public API; other subpackages are to build on (docs/index.md). The first use of a name
imports its package: JAX takes most of a second, and `ps-cfr-spiel --help` does not need it.
"""

import importlib as _importlib
import pathlib as _pathlib
import typing as _typing

from ps_cfr_spiel.version import __version__

if not _pathlib.Path(__file__).with_name("games").is_dir():  # in a checkout the games lie beside the package
  __path__.append(str(_pathlib.Path(__file__).parents[1]))

from . import games  # isort: skip

if _typing.TYPE_CHECKING:
  from ps_cfr_spiel.compiler import build_tree, check_game
  from ps_cfr_spiel.evaluation import evaluate_policy, exploitability, search_response
  from ps_cfr_spiel.poker import holdem, river
  from ps_cfr_spiel.policy import TreePolicy
  from ps_cfr_spiel.solvers import (
    ContinualResolving,
    ExternalSamplingSolver,
    FictitiousPlaySolver,
    HoldemAgent,
    OnlineOutcomeSampling,
    OutcomeSamplingSolver,
    PSCFRSolver,
    SimulatedExternalSolver,
    SimulatedMCCFRSolver,
    Solver,
    VRMCCFRSolver,
    load_policy,
    load_solver,
  )
  from ps_cfr_spiel.tree import PublicTree

  from . import (
    abstraction,
    abstractions,
    batches,
    cfr,
    compiler,
    device,
    evaluation,
    hierarchical,
    histories,
    matches,
    policy,
    protocols,
    rules,
    runtime,
    search,
    simulated,
    solvers,
    subgames,
    tree,
    values,
    views,
  )

__all__ = [
  "ContinualResolving",
  "ExternalSamplingSolver",
  "FictitiousPlaySolver",
  "HoldemAgent",
  "OnlineOutcomeSampling",
  "OutcomeSamplingSolver",
  "PSCFRSolver",
  "PublicTree",
  "SimulatedExternalSolver",
  "SimulatedMCCFRSolver",
  "Solver",
  "TreePolicy",
  "VRMCCFRSolver",
  "__version__",
  "abstractions",
  "batches",
  "build_tree",
  "check_game",
  "evaluate_policy",
  "exploitability",
  "holdem",
  "load_policy",
  "load_solver",
  "matches",
  "river",
  "rules",
  "runtime",
  "search_response",
  "values",
]

_HOMES = ("poker", "tree", "policy", "compiler", "solvers", "evaluation")  # of the names above, lowest first


def __getattr__(name: str) -> _typing.Any:
  """Import a submodule, or a name of the top level with its package (PEP 562)."""
  if not name.startswith("_"):
    try:
      return _importlib.import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
      if error.name != f"{__name__}.{name}":
        raise
    for home in _HOMES if name in __all__ else ():
      if hasattr(package := _importlib.import_module(f"{__name__}.{home}"), name):
        return globals().setdefault(name, getattr(package, name))
  raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
  return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
