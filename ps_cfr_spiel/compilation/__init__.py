"""Games become trees: enumerated histories, forms, limits."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["histories", "compiler"])
