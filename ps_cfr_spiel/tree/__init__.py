"""A compiled game: data, leaf evaluators, reach down and values up; `labels` alone knows OpenSpiel's states.

May import: device and base layers. `public_tree` has the glossary and the data; `labels` the names of its
parts, and it reads lines of moves; `forest` packs decisions into arrays; `leaves` and `showdown` evaluate the
ends, and a new leaf evaluator is their neighbour; every solver runs `traverse`, `player_passes` and
`strategy_values`; `sets` is an abstraction; `padding`, `locks` and `compiler.suit_isomorphism` make the
`variants` of a tree that solvers run on.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
