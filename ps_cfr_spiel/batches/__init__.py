"""Many situations at once: rivers and other games, on all devices and processes, into files.

May import: policy, subgames and lower layers (not search). `batch_run` is the entry, `groups` stacks
situations with the same decisions, `batch_program` runs on the devices, `solutions` holds the results.
"""

from ps_cfr_spiel.batches.batch_run import solve_batch
from ps_cfr_spiel.batches.groups import StreetValues
from ps_cfr_spiel.batches.lists import read_boards, read_list, write_list
from ps_cfr_spiel.batches.solutions import Solution, Solutions
from ps_cfr_spiel.cards.poker import RandomSituations, Situation, situation

__all__ = [
  "RandomSituations",
  "Situation",
  "Solution",
  "Solutions",
  "StreetValues",
  "read_boards",
  "read_list",
  "situation",
  "solve_batch",
  "write_list",
]
