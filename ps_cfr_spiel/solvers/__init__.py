"""Classes in OpenSpiel's shape, thin and with state: solvers, policies that search, bots.

May import: hierarchical, search, abstraction, keyed, policy, mccfr and lower layers. `solver` and
`run_files` are the base class of all solvers; `exact` that of solvers that are evaluated exactly,
`splitting` that of solvers that split an abstraction; `ps_cfr`, `sampling`, `cfr_ira_solver`,
`fictitious_play_solvers`, `keyed_solver`, `keyed_mccfr` and `hierarchical` are solvers; `saved_policies`
reads policies from files;
`search_policy` is the contract of policies that search, and the bot that plays any policy;
`continual_resolving`, `online_outcome_sampling` and `holdem_policy`, by `holdem_searches`, are such policies,
and `particle_bot` is a bot that searches.
"""

from ps_cfr_spiel.solvers.agents.cfr_d import CFRD
from ps_cfr_spiel.solvers.agents.continual_resolving import ContinualResolving
from ps_cfr_spiel.solvers.agents.holdem_policy import HoldemPolicy
from ps_cfr_spiel.solvers.agents.monte_carlo_resolving import MonteCarloResolving
from ps_cfr_spiel.solvers.agents.on_demand_resolving import OnDemandResolving
from ps_cfr_spiel.solvers.agents.online_outcome_sampling import OnlineOutcomeSampling
from ps_cfr_spiel.solvers.agents.particle_bot import ParticleBot
from ps_cfr_spiel.solvers.agents.search_policy import PolicyBot, SearchPolicy
from ps_cfr_spiel.solvers.cfr_ira_solver import CFRPlusIRASolver
from ps_cfr_spiel.solvers.exact import ExactSolver, TreeSolver
from ps_cfr_spiel.solvers.fictitious_play_solvers import FictitiousPlaySolver, FPIRASolver
from ps_cfr_spiel.solvers.hierarchical import HierarchicalMCCFRSolver
from ps_cfr_spiel.solvers.keyed_mccfr import KeyedMCCFRSolver
from ps_cfr_spiel.solvers.keyed_solver import KeyedExternalSolver, KeyedSolver
from ps_cfr_spiel.solvers.ps_cfr import MemoryNeeds, PSCFRSolver
from ps_cfr_spiel.solvers.sampling import (
  ExternalSamplingSolver,
  OutcomeSamplingSolver,
  SamplingSolver,
  VRMCCFRSolver,
)
from ps_cfr_spiel.solvers.saved_policies import load_policy, pretrained_policy
from ps_cfr_spiel.solvers.solver import Solver, load_solver
