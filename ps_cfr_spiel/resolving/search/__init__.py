"""Searches one after the other: their questions, their solutions, and their promises to the next.

May import: subgames and lower layers. `searcher` runs the searches; `problems` has the needs of a search,
`public_problems` begin in public states and `known_problems` at infostates of one player; `search_steps` go
from tree to tree in games that are not enumerated, and `growing_searches` in trees that grow where
simulations lead, each searched by `growing_searcher`. `sampled_searcher` samples the histories of
`sampled_problems`, `trunk_searcher` solves all below its lookahead apart. `value_functions`
evaluate the frontier of a lookahead, and a new value function goes there or into your own code.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
