"""A compiled game: data, leaf evaluators, reach down and values up; nothing here knows OpenSpiel's states.

May import: device and base layers. `public_tree` has the glossary and the data; `labels` the names of its
parts; `forest` packs decisions into arrays; `leaves` and `showdown` evaluate the ends, and a new leaf
evaluator is their neighbour; every solver runs `traverse`, `walk` and `strategy_values`; `sets` is an
abstraction; `padding`, `locks` and `compiler.suit_isomorphism` make the `variants` of a tree that solvers run
on.
"""

from typing import TYPE_CHECKING

from ps_cfr_spiel.faces import on_first_use

if TYPE_CHECKING:
  from ps_cfr_spiel.tree.board_leaves import AllInLeaves, BoardLeaves, BoardTypes, Places, leaf_places
  from ps_cfr_spiel.tree.forest import block_sizes, make_forest, row_depths
  from ps_cfr_spiel.tree.labels import (
    CHANCE,
    TERMINAL,
    Decision,
    Labels,
    LazySequence,
    PublicState,
    Source,
    children,
    information_state_string,
  )
  from ps_cfr_spiel.tree.leaves import (
    BlockLeaves,
    DenseLeaves,
    GeneralSumLeaves,
    SparseLeaves,
    check_two_players,
    check_zero_sum,
    dot,
  )
  from ps_cfr_spiel.tree.library import warn_if_missing, why_unavailable
  from ps_cfr_spiel.tree.locks import lock_rows
  from ps_cfr_spiel.tree.native import NativeLeaves
  from ps_cfr_spiel.tree.orbits import Orbit
  from ps_cfr_spiel.tree.padding import pad_types, padded_size
  from ps_cfr_spiel.tree.prior import deal_weights, shares_card
  from ps_cfr_spiel.tree.public_tree import (
    Array,
    Boards,
    LeafEvaluator,
    Level,
    Link,
    Parts,
    PlayerTree,
    PublicTree,
  )
  from ps_cfr_spiel.tree.sequences import (
    cell_starts,
    decision_sequences,
    first_cells,
    ranks,
    sequence_choices,
    sequence_numbers,
    sequence_starts,
    slot_starts,
    slot_tables,
    split_types,
  )
  from ps_cfr_spiel.tree.sets import Sets
  from ps_cfr_spiel.tree.showdown import ShowdownLeaves
  from ps_cfr_spiel.tree.strategy_values import (
    Evaluation,
    action_values,
    best_response_values,
    evaluate,
    evaluation,
    gain_of,
    record_of,
  )
  from ps_cfr_spiel.tree.streaming import Stream, streamed
  from ps_cfr_spiel.tree.traverse import (
    collapse,
    expand,
    max_actions,
    others_reach,
    sequence_reach,
    sequence_values,
    sum_actions,
  )
  from ps_cfr_spiel.tree.variants import Variant, put_rows, take_rows
  from ps_cfr_spiel.tree.walk import Walk, column_of, ordered, play, tables_of
else:
  __getattr__ = on_first_use(__name__)
