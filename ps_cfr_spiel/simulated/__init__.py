"""Games too large to walk: Monte Carlo CFR on plays or traversals, with tables by key.

May use: mccfr and what is below it. `played_game` says what is asked of a game, `samplers` what of a sampler.
`trajectories` plays a game and `estimates` says what that teaches, `windows` are the moves of one key in a
flat table; `traversals` has games that traverse themselves, with pruning; `host_game` makes any other game
one that is played; `loop` runs it all, and `warm_start` says with what it may begin.
"""

from ps_cfr_spiel.simulated.estimates import Corrected, Estimate, Learned
from ps_cfr_spiel.simulated.host_game import CELLS, DIGEST, KEYS, HostGame, check_keys
from ps_cfr_spiel.simulated.loop import PlayingState, init, solve
from ps_cfr_spiel.simulated.played_game import PlayedGame
from ps_cfr_spiel.simulated.samplers import MILLION, Sampler, table_size
from ps_cfr_spiel.simulated.trajectories import Trajectories
from ps_cfr_spiel.simulated.traversals import PRUNINGS, SAMPLINGS, Traversals
from ps_cfr_spiel.simulated.warm_start import taken_over

__all__ = [
  "CELLS",
  "DIGEST",
  "KEYS",
  "MILLION",
  "PRUNINGS",
  "SAMPLINGS",
  "Corrected",
  "Estimate",
  "HostGame",
  "Learned",
  "PlayedGame",
  "PlayingState",
  "Sampler",
  "Trajectories",
  "Traversals",
  "check_keys",
  "init",
  "solve",
  "table_size",
  "taken_over",
]
