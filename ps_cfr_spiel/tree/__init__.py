"""A compiled game: data, leaf evaluators, reach down and values up; nothing here knows OpenSpiel's states.

May use: device.
"""

from ps_cfr_spiel.tree.forest import block_sizes, make_forest, row_depths
from ps_cfr_spiel.tree.labels import CHANCE, TERMINAL, Decision, Labels, PublicState, Source
from ps_cfr_spiel.tree.leaves import BlockLeaves, DenseLeaves, SparseLeaves, shares_card
from ps_cfr_spiel.tree.public_tree import Array, LeafEvaluator, Level, Link, Parts, PlayerTree, PublicTree
from ps_cfr_spiel.tree.showdown import ShowdownLeaves
from ps_cfr_spiel.tree.traverse import max_actions, sequence_reach, sequence_values, sum_actions
from ps_cfr_spiel.tree.values import Evaluation, action_values, best_response_values, evaluate, evaluation

__all__ = [
  "CHANCE",
  "TERMINAL",
  "Array",
  "BlockLeaves",
  "Decision",
  "DenseLeaves",
  "Evaluation",
  "Labels",
  "LeafEvaluator",
  "Level",
  "Link",
  "Parts",
  "PlayerTree",
  "PublicState",
  "PublicTree",
  "ShowdownLeaves",
  "Source",
  "SparseLeaves",
  "action_values",
  "best_response_values",
  "block_sizes",
  "evaluate",
  "evaluation",
  "make_forest",
  "max_actions",
  "row_depths",
  "sequence_reach",
  "sequence_values",
  "shares_card",
  "sum_actions",
]
