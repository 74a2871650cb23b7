"""The compilation of a pyspiel game into a public tree.

May import: histories and lower layers. `build` is the entry; `from_form` compiles games that
describe themselves, `from_histories` all others. `game_check` reports on all checks that a game must pass.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
