"""Searches one after the other: their questions, their solutions, and their promises to the next.

May import: subgames and lower layers. `searcher` runs the searches; `problems` has the needs of a search,
`public_problems` begin in public states and `known_problems` at infostates of one player; `search_steps` go
from tree to tree in games that are not enumerated, and `growing_searches` in trees that grow where
simulations lead, each searched by `growing_searcher`. `sampled_searcher` samples the histories of
`sampled_problems`, `trunk_searcher` solves all below its lookahead apart. `value_functions`
evaluate the frontier of a lookahead, and a new value function goes there or into your own code.
"""

from ps_cfr_spiel.resolving.search.growing_searcher import GrowingSearcher, carried_state
from ps_cfr_spiel.resolving.search.growing_searches import GrowingSearches
from ps_cfr_spiel.resolving.search.levels import Levels, Lookahead, by_row, stops_ahead
from ps_cfr_spiel.resolving.search.promises import Search, best_responses
from ps_cfr_spiel.resolving.search.sampled_searcher import SampledSearcher
from ps_cfr_spiel.resolving.search.search_steps import SearchesOnDemand, Step, carried, column
from ps_cfr_spiel.resolving.search.searcher import Searcher, SearchSettings
from ps_cfr_spiel.resolving.search.trunk_searcher import TrunkSearches, ValuesApart, asked_ranges
from ps_cfr_spiel.resolving.search.value_functions import (
  BoundCFR,
  BoundStateValues,
  BoundStrategies,
  CFRValues,
  FrozenValues,
  SolvedValues,
  StateValues,
  ValueFunction,
)
