"""Strategies of a public tree as OpenSpiel policies, and back.

May use: compiler, cfr and what is below them. `tree_policy` is a policy over a tree's arrays; `convert` turns
any OpenSpiel policy into such arrays; `reach` says how often play comes to an infostate, `worth` what its
actions are worth, `rows` puts both into a table, with names from `naming`; `notation` reads what people type.
"""

from ps_cfr_spiel.policy.convert import strategies_of
from ps_cfr_spiel.policy.naming import action_name, action_names, line, make_state
from ps_cfr_spiel.policy.notation import find_action, find_one_action, letters, split_words
from ps_cfr_spiel.policy.reach import Reach, choice_probabilities, reaches
from ps_cfr_spiel.policy.rows import write_rows
from ps_cfr_spiel.policy.tree_policy import TreePolicy, check_turn, game_of, probabilities_at
from ps_cfr_spiel.policy.worth import Worth, Worths

__all__ = [
  "Reach",
  "TreePolicy",
  "Worth",
  "Worths",
  "action_name",
  "action_names",
  "check_turn",
  "choice_probabilities",
  "find_action",
  "find_one_action",
  "game_of",
  "letters",
  "line",
  "make_state",
  "probabilities_at",
  "reaches",
  "split_words",
  "strategies_of",
  "write_rows",
]
