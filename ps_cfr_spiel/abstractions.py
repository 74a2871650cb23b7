"""Abstractions of infostates, of dealt cards and of bets: makers, solvers, loss, files."""

from ps_cfr_spiel.abstraction import Abstraction, Key, Loss, abstract, abstraction_loss
from ps_cfr_spiel.hierarchical import (
  DealtAbstraction,
  Hierarchy,
  NearestAbstraction,
  card_game,
  exact_values,
  has_clusters,
  load_abstraction,
  make_abstraction,
  measure,
  rounded,
  save_abstraction,
  shares_beaten,
  value_against,
)
from ps_cfr_spiel.policy import PostProcessing, Translation, WrappedPolicy, post_process
from ps_cfr_spiel.solvers import CFRPlusIRASolver, FPIRASolver, HierarchicalMCCFRSolver

__all__ = [
  "Abstraction",
  "CFRPlusIRASolver",
  "DealtAbstraction",
  "FPIRASolver",
  "HierarchicalMCCFRSolver",
  "Hierarchy",
  "Key",
  "Loss",
  "NearestAbstraction",
  "PostProcessing",
  "Translation",
  "WrappedPolicy",
  "abstract",
  "abstraction_loss",
  "card_game",
  "exact_values",
  "has_clusters",
  "load_abstraction",
  "make_abstraction",
  "measure",
  "post_process",
  "rounded",
  "save_abstraction",
  "shares_beaten",
  "value_against",
]
