"""Strategies of a public tree as OpenSpiel policies, and back.

May import: compiler, cfr and lower layers. `tree_policy` is a policy over a tree's arrays; `convert`
turns any OpenSpiel policy into such arrays; `reach` has the reach of infostates and the values of their
actions, which `worth` computes, `rows` puts both into a table, with names from `naming`; `kept` is a policy
in a file to look at; `paths` finds places by typed moves, and `read_locks` reads the strategies locked
there. `post_processing` rounds strategies, and `action_translation` plays them where more
bet sizes are allowed.
"""

from typing import TYPE_CHECKING

from ps_cfr_spiel.faces import on_first_use

if TYPE_CHECKING:
  from ps_cfr_spiel.policy.action_translation import (
    MAPPINGS,
    Recent,
    TranslatedPolicy,
    Understood,
    for_hands,
    translate,
  )
  from ps_cfr_spiel.policy.convert import check_policy_of, strategies_of
  from ps_cfr_spiel.policy.kept import KEPT, keep, kept_beside, may_keep
  from ps_cfr_spiel.policy.naming import (
    action_name,
    action_names,
    bet_sizes,
    line_to,
    locks_text,
    make_state,
    move_name,
    state_after,
  )
  from ps_cfr_spiel.policy.partial_strategy import PartialStrategy, lines_states, types_header
  from ps_cfr_spiel.policy.paths import decision_moves, find_public_state, legal_moves, play_moves
  from ps_cfr_spiel.policy.post_processing import (
    PostProcessing,
    betting_class,
    cautious_purification,
    parse_post_processing,
    post_process,
    purification,
    thresholding,
  )
  from ps_cfr_spiel.policy.reach import Reach, Worth, Worths, choice_probabilities, reaches
  from ps_cfr_spiel.policy.read_locks import ALL, locks_from_file, read_locks
  from ps_cfr_spiel.policy.rows import write_rows
  from ps_cfr_spiel.policy.tree_policy import TreePolicy, check_turn, game_of, normalised, probabilities_at
else:
  __getattr__ = on_first_use(__name__)
