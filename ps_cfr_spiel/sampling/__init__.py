"""Monte Carlo CFR: of trees, and of games too large to enumerate."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["mccfr", "keyed"])
