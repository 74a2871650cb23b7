"""One search after the other: what a search asks for, solves, and promises to the next.

May use: subgames and what is below it. `searcher` runs the searches; `value_functions` say what lies beyond
their lookahead, and a new value function goes there or into your own code.
"""

from ps_cfr_spiel.search.levels import ROUND, Levels, Lookahead, by_row
from ps_cfr_spiel.search.promises import Search
from ps_cfr_spiel.search.searcher import Searcher, Settings
from ps_cfr_spiel.search.value_functions import BoundCFR, CFRValues, FrozenValues, SolvedValues, ValueFunction

__all__ = [
  "ROUND",
  "BoundCFR",
  "CFRValues",
  "FrozenValues",
  "Levels",
  "Lookahead",
  "Search",
  "Searcher",
  "Settings",
  "SolvedValues",
  "ValueFunction",
  "by_row",
]
