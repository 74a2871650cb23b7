"""Abstractions of infostates, of dealt cards and of bets: makers, solvers, loss, files."""

from ps_cfr_spiel.backend.first_use import on_first_use

__getattr__, __dir__, __all__ = on_first_use(__name__, __file__)
