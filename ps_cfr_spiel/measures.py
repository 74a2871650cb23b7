"""Measures of solvers and strategies: evaluations, curves of runs, solvers side by side with OpenSpiel's."""

from ps_cfr_spiel.backend.first_use import on_first_use

__getattr__, __dir__, __all__ = on_first_use(__name__, __file__)
