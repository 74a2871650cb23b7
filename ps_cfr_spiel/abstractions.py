"""Abstractions of infostates, of dealt cards and of bets: to make them, their loss, their files."""

from ps_cfr_spiel.abstraction import Abstraction, Key, Loss, abstract, abstraction_loss
from ps_cfr_spiel.hierarchical import (
  DealtAbstraction,
  DealtGame,
  Hierarchy,
  NearestAbstraction,
  load_abstraction,
  make_abstraction,
  save_abstraction,
)
from ps_cfr_spiel.policy import PostProcessing, TranslatedPolicy, post_process

__all__ = [
  "Abstraction",
  "DealtAbstraction",
  "DealtGame",
  "Hierarchy",
  "Key",
  "Loss",
  "NearestAbstraction",
  "PostProcessing",
  "TranslatedPolicy",
  "abstract",
  "abstraction_loss",
  "load_abstraction",
  "make_abstraction",
  "post_process",
  "save_abstraction",
]
