"""All histories of a pyspiel game, as arrays: the only package that enumerates them.

May import: tree and lower layers. `enumeration` visits every history, within `limits` that `size_estimate`
helps to apply early; `histories` holds the result, in columns that `numbering` counts. The checks that a game
must pass are in `game_checks` and `history_checks`; `player_information` names infostates, `public_states`
finds common knowledge. `grown` histories are those around some given ones, of games too large to enumerate.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
