"""Games too large to walk: Monte Carlo CFR on plays, with tables by key.

May use: mccfr and what is below it. `played_game` says what is asked of a game; `trajectories` plays it and
`estimates` says what that teaches; `windows` are the moves of one key in a flat table; `loop` runs it all.
"""

from ps_cfr_spiel.playing.estimates import Corrected, Estimate, Learned
from ps_cfr_spiel.playing.loop import MILLION, PlayingState, init, solve
from ps_cfr_spiel.playing.played_game import PlayedGame
from ps_cfr_spiel.playing.trajectories import Trajectories, table_size

__all__ = [
  "MILLION",
  "Corrected",
  "Estimate",
  "Learned",
  "PlayedGame",
  "PlayingState",
  "Trajectories",
  "init",
  "solve",
  "table_size",
]
