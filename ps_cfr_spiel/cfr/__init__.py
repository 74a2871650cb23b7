"""Regret rules and the one CFR loop.

May import: tree and lower layers (not compiler). A new rule goes into `regret_rules`; `loop` never changes
for it. `fictitious_play` is the other way to a solution, by best responses.
"""

from ps_cfr_spiel.cfr import averages, fictitious_play
from ps_cfr_spiel.cfr.engines import ENGINES, Choice, Engine, choose, equip
from ps_cfr_spiel.cfr.fictitious_play import Response, respond, row_reach
from ps_cfr_spiel.cfr.first_state import changes_on_host, init, resumed
from ps_cfr_spiel.cfr.host_state import DirectRun, HostState, Method, RunInPlace, direct_run, placed
from ps_cfr_spiel.cfr.loop import iterate, run, run_in_place, take_turn
from ps_cfr_spiel.cfr.placement import Placement, place
from ps_cfr_spiel.cfr.regret_rules import (
  LCFR,
  RM,
  RULES,
  NRMPlus,
  RMPlus,
  make_rule,
  rule_header,
)
from ps_cfr_spiel.cfr.rule import Rule, positive_part
from ps_cfr_spiel.cfr.sixteen_bits import check_bits
from ps_cfr_spiel.cfr.state import (
  WHOLE,
  Abstraction,
  Blocks,
  PlayerState,
  SolverState,
  average_record,
  average_strategy,
  current_strategy,
  evaluate_average,
  evaluate_current,
  in_blocks,
  num_tables,
  table_shapes,
)
from ps_cfr_spiel.tree import normalise
