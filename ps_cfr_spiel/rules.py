"""Regret rules, which solvers take by name or as instances: `PSCFRSolver(game, RMPlus(gamma=2.0))`."""

from ps_cfr_spiel.cfr.regret_rules import *  # noqa: F403
from ps_cfr_spiel.cfr.regret_rules import __all__ as __all__
