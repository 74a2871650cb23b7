"""One search after the other: what a search asks for, solves, and promises to the next.

May use: subgames and what is below it. `searcher` runs the searches; `value_functions` say what lies beyond
their lookahead, and a new value function goes there or into your own code.
"""

from ps_cfr_spiel.search.levels import Levels
from ps_cfr_spiel.search.promises import Search
from ps_cfr_spiel.search.searcher import Searcher, Settings
from ps_cfr_spiel.search.value_functions import CFRValues, SolvedValues, ValueFunction

__all__ = [
  "CFRValues",
  "Levels",
  "Search",
  "Searcher",
  "Settings",
  "SolvedValues",
  "ValueFunction",
]
