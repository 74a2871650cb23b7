"""All histories of a pyspiel game, as arrays: the only package that enumerates them.

May import: tree and lower layers. `walker` visits every history, within `limits` that `size_estimate`
helps to apply early; `histories` holds the result, in columns that `numbering` counts. The checks that a game
must pass are in `game_checks` and `history_checks`; `player_information` names infostates, `public_states`
finds common knowledge. `grown` histories are those around some given ones, of games too large to enumerate.
"""

from typing import TYPE_CHECKING

from ps_cfr_spiel.faces import on_first_use

if TYPE_CHECKING:
  from ps_cfr_spiel.histories.game_checks import (
    KIND_CHECKS,
    START_AT,
    check_is_game,
    check_kind,
    check_observer,
    check_start,
    scale_fault,
  )
  from ps_cfr_spiel.histories.grown import grow
  from ps_cfr_spiel.histories.histories import (
    Histories,
    Walked,
    choice_rows,
    last_choices,
    layers,
    walked_source,
  )
  from ps_cfr_spiel.histories.history_checks import (
    acting,
    actions_fault,
    names_fault,
    recall_fault,
    timing_fault,
  )
  from ps_cfr_spiel.histories.limits import (
    BYTES,
    LIMIT,
    Limits,
    TooLarge,
    free_memory,
    readable_bytes,
    readable_count,
    readable_seconds,
  )
  from ps_cfr_spiel.histories.numbering import first_members, is_constant, number_rows, one_to_one
  from ps_cfr_spiel.histories.player_information import (
    past_remark,
    remember,
    remembered,
    sequential,
    sequential_state,
    strings_of,
  )
  from ps_cfr_spiel.histories.public_states import (
    SOURCES,
    NoPublicStatesError,
    PublicPartition,
    augmented_infostates,
    components,
    public_observer,
    public_partition,
  )
  from ps_cfr_spiel.histories.walker import foretell, walk
else:
  __getattr__ = on_first_use(__name__)
