"""Public states for OpenSpiel: public-state CFR on two-player zero-sum games, jitted with JAX.

Importing this package registers its games, so that `pyspiel.load_game` finds them.

  game = pyspiel.load_game("river_subgame")
  solver = ps_cfr_spiel.PSCFRSolver(game)
  solver.run(500)
  solver.exploitability(), solver.value(), solver.average_policy()
"""

from ps_cfr_spiel import games as games
from ps_cfr_spiel.build import build_tree
from ps_cfr_spiel.check import check_game
from ps_cfr_spiel.check_report import Report
from ps_cfr_spiel.cutting import Subgames
from ps_cfr_spiel.evaluate import Evaluation, evaluate_policy, exploitability
from ps_cfr_spiel.online_curves import online_runs
from ps_cfr_spiel.online_sampling import OnlineOutcomeSampling
from ps_cfr_spiel.policy import TreePolicy
from ps_cfr_spiel.resolve import ContinualResolving
from ps_cfr_spiel.rules import DCFR, LCFR, NRM, RM, RULES, NRMPlus, PCFRPlus, PDCFRPlus, RMPlus
from ps_cfr_spiel.sampling_curves import sampling_runs
from ps_cfr_spiel.sampling_solvers import ExternalSamplingSolver, OutcomeSamplingSolver, VRMCCFRSolver
from ps_cfr_spiel.solver import PSCFRSolver, load_policy, load_solver
from ps_cfr_spiel.tree import PublicTree
from ps_cfr_spiel.value_functions import CFRValues, SolvedValues
from ps_cfr_spiel.version import __version__

__all__ = [
  "DCFR",
  "LCFR",
  "NRM",
  "RM",
  "RULES",
  "CFRValues",
  "ContinualResolving",
  "Evaluation",
  "ExternalSamplingSolver",
  "NRMPlus",
  "OnlineOutcomeSampling",
  "OutcomeSamplingSolver",
  "PCFRPlus",
  "PDCFRPlus",
  "PSCFRSolver",
  "PublicTree",
  "RMPlus",
  "Report",
  "SolvedValues",
  "Subgames",
  "TreePolicy",
  "VRMCCFRSolver",
  "__version__",
  "build_tree",
  "check_game",
  "evaluate_policy",
  "exploitability",
  "load_policy",
  "load_solver",
  "online_runs",
  "sampling_runs",
]
