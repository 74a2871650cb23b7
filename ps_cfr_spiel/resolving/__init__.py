"""Cut subgames, and search one after the other."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["subgames", "search"])
