"""Public states for OpenSpiel: public-state CFR on two-player zero-sum games, jitted with JAX.

Importing this package registers its games, so that `pyspiel.load_game` finds them.

  game = pyspiel.load_game("river_subgame")
  solver = ps_cfr_spiel.PSCFRSolver(game)
  solver.run(500)
  solver.exploitability(), solver.value(), solver.average_policy()

The doors `rules`, `matches`, `abstractions`, `batches`, `values` and `runtime` are modules with the rest.
Rooms, for those who build on the package, are folders with a face of their own (docs/index.md).
"""

import pathlib as _pathlib

if not _pathlib.Path(__file__).with_name("games").is_dir():  # in a checkout the games lie beside the package
  __path__.append(str(_pathlib.Path(__file__).parents[1]))

from . import abstractions, batches, games, matches, rules, runtime, values  # isort: skip
from ps_cfr_spiel.compiler import Report, build_tree, check_game
from ps_cfr_spiel.evaluation import evaluate_policy, exploitability
from ps_cfr_spiel.poker import holdem, river
from ps_cfr_spiel.policy import TreePolicy
from ps_cfr_spiel.solvers import (
  CFRPlusIRASolver,
  ContinualResolving,
  ExternalSamplingSolver,
  FictitiousPlaySolver,
  FPIRASolver,
  HierarchicalMCCFRSolver,
  OnlineOutcomeSampling,
  OutcomeSamplingSolver,
  PlayedExternalSolver,
  PlayedMCCFRSolver,
  PSCFRSolver,
  Solver,
  VRMCCFRSolver,
  load_policy,
  load_solver,
)
from ps_cfr_spiel.tree import Evaluation, PublicTree
from ps_cfr_spiel.version import __version__

__all__ = [
  "CFRPlusIRASolver",
  "ContinualResolving",
  "Evaluation",
  "ExternalSamplingSolver",
  "FPIRASolver",
  "FictitiousPlaySolver",
  "HierarchicalMCCFRSolver",
  "OnlineOutcomeSampling",
  "OutcomeSamplingSolver",
  "PSCFRSolver",
  "PlayedExternalSolver",
  "PlayedMCCFRSolver",
  "PublicTree",
  "Report",
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
  "values",
]
