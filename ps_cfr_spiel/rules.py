"""Regret rules, which solvers take by name or as instances: `PSCFRSolver(game, RMPlus(gamma=2.0))`."""

from ps_cfr_spiel.cfr import DCFR, LCFR, RM, RULES, NRMPlus, PCFRPlus, PDCFRPlus, RMPlus, Rule, make_rule

__all__ = ["DCFR", "LCFR", "RM", "RULES", "NRMPlus", "PCFRPlus", "PDCFRPlus", "RMPlus", "Rule", "make_rule"]
