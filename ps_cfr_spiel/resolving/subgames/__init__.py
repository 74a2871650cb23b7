"""Subgames cut from a compiled game, and the gadgets that make them safe to solve.

May import: compiler, cfr and lower layers. `cut` takes a subgame out at any public states, with `nodes`
of the compiled game and the deal from `priors`, and `known` at an infostate of one player; `on_demand` makes
the public states and trees of games that are not enumerated, `lines_on_demand` those of card games from their
lines; `alike` finds equal subgames; `gadgets` puts a choice of the opponent on top, and a new gadget goes
there; `ranged_leaves` evaluates the ends of a subgame.
"""

from ps_cfr_spiel.resolving.subgames.cut import Subgames
from ps_cfr_spiel.resolving.subgames.gadgets import (
  GADGETS,
  Gadget,
  GadgetTree,
  cfr_d,
  gadget_of,
  max_margin,
  unsafe,
)
from ps_cfr_spiel.resolving.subgames.known import KnownSubgames
from ps_cfr_spiel.resolving.subgames.lines_on_demand import PublicLines, public_states_of
from ps_cfr_spiel.resolving.subgames.nodes import RootInfostates
from ps_cfr_spiel.resolving.subgames.on_demand import Dealt, Members, PublicStates
from ps_cfr_spiel.resolving.subgames.priors import HistoriesPrior
from ps_cfr_spiel.resolving.subgames.ranged_leaves import (
  BoundValues,
  EchoedRanges,
  FrontierLeaves,
  RangedLeaves,
  Ranges,
  SubgameLeaves,
  with_beyond,
  with_ranges,
)
from ps_cfr_spiel.resolving.subgames.shapes import PaddedShapes, PadTo, Shape
from ps_cfr_spiel.resolving.subgames.subgame import Subgame
