"""The machine: JAX on its devices and processes, the native library."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["device", "native"])
