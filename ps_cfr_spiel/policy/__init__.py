"""Strategies of a public tree as OpenSpiel policies, and back.

May use: compiler, cfr and what is below them. `tree_policy` is a policy over a tree's arrays; `convert` turns
any OpenSpiel policy into such arrays.
"""

from ps_cfr_spiel.policy.convert import make_state, strategies_of
from ps_cfr_spiel.policy.tree_policy import TreePolicy, check_turn, game_of, probabilities_at

__all__ = [
  "TreePolicy",
  "check_turn",
  "game_of",
  "make_state",
  "probabilities_at",
  "strategies_of",
]
