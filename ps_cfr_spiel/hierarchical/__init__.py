"""Games of cards too large to enumerate: dealt, in public clusters that share only values.

May import: abstraction, keyed, mccfr and lower layers. `dealt_game` reads a card
game; `hierarchy` is the abstraction and `clustering` makes it; `lines` is external sampling over lines,
`card_draws` deals, `cluster_sampling` is the sampler for the Monte Carlo loop, Algorithm 4 over clusters, and
`mesh` runs it on all devices; `shards` keeps clusters in files; `evaluation` computes the value of a strategy
in the whole game, `clustered_game` has the keys of policies, and `sizes` the size of that game.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
