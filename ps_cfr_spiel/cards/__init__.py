"""Games of cards, and the grammar of typed text."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["poker", "notation"])
