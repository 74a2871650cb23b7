"""Abstractions of imperfect recall: infostates that play alike, and algorithms that find them.

May import: policy, cfr, compiler and lower layers. `maps` makes abstractions for users, `partitions` lays
one player's out for a tree and splits it, `refine` says where; `cfr_ira` and `fpira` are the algorithms of
Čermák, Lisý and Bošanský (2020), `loss` measures an abstraction's cost. `public_clusters` (of boards) and
`buckets` (of hands, by the distances of `transport`) cluster rows of numbers, for games too large for keys.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
