"""Public states for OpenSpiel: public-state CFR on two-player zero-sum games, jitted with JAX.

Importing this package registers its games, so that `pyspiel.load_game` finds them.

  game = pyspiel.load_game("river_subgame")
  solver = ps_cfr_spiel.PSCFRSolver(game)
  solver.run(500)
  solver.exploitability(), solver.value(), solver.average_policy()
"""

from pathlib import Path

if not Path(__file__).with_name("games").is_dir():  # in a checkout the games lie beside the package
  __path__.append(str(Path(__file__).parents[1]))

from ps_cfr_spiel import games as games
from ps_cfr_spiel.abstraction import Abstraction, abstract, abstraction_loss
from ps_cfr_spiel.batches import Solutions, solve_batch
from ps_cfr_spiel.cfr import DCFR, LCFR, RM, RULES, NRMPlus, PCFRPlus, PDCFRPlus, RMPlus
from ps_cfr_spiel.cfr import rules as rules
from ps_cfr_spiel.compiler import Report, build_tree, check_game

# Modules that notebooks and examples know by these names.
from ps_cfr_spiel.device import dtype as precision
from ps_cfr_spiel.device import join_processes, keep_compiled_code, use_cores
from ps_cfr_spiel.evaluation import (
  LocalBestResponseBot,
  evaluate_match,
  evaluate_policy,
  exploitability,
  local_best_response,
  online_runs,
  sampling_runs,
)
from ps_cfr_spiel.evaluation import comparison as comparison
from ps_cfr_spiel.evaluation import matches as matches
from ps_cfr_spiel.poker import RandomRivers, Situation, holdem, river
from ps_cfr_spiel.policy import PostProcessing, TranslatedPolicy, TreePolicy, post_process
from ps_cfr_spiel.search import CFRValues, SolvedValues
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
  VRMCCFRSolver,
  load_policy,
  load_solver,
)
from ps_cfr_spiel.subgames import Subgames
from ps_cfr_spiel.tree import Evaluation, PublicTree
from ps_cfr_spiel.version import __version__
from ps_cfr_spiel.views import charts as charts
from ps_cfr_spiel.views import glasses as glasses_beliefs

__all__ = [
  "DCFR",
  "LCFR",
  "RM",
  "RULES",
  "Abstraction",
  "CFRPlusIRASolver",
  "CFRValues",
  "ContinualResolving",
  "Evaluation",
  "ExternalSamplingSolver",
  "FPIRASolver",
  "FictitiousPlaySolver",
  "HierarchicalMCCFRSolver",
  "LocalBestResponseBot",
  "NRMPlus",
  "OnlineOutcomeSampling",
  "OutcomeSamplingSolver",
  "PCFRPlus",
  "PDCFRPlus",
  "PSCFRSolver",
  "PlayedExternalSolver",
  "PlayedMCCFRSolver",
  "PostProcessing",
  "PublicTree",
  "RMPlus",
  "RandomRivers",
  "Report",
  "Situation",
  "Solutions",
  "SolvedValues",
  "Subgames",
  "TranslatedPolicy",
  "TreePolicy",
  "VRMCCFRSolver",
  "__version__",
  "abstract",
  "abstraction_loss",
  "build_tree",
  "check_game",
  "evaluate_match",
  "evaluate_policy",
  "exploitability",
  "holdem",
  "join_processes",
  "keep_compiled_code",
  "load_policy",
  "load_solver",
  "local_best_response",
  "online_runs",
  "post_process",
  "river",
  "sampling_runs",
  "solve_batch",
  "use_cores",
]
