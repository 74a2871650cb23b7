"""The program, texts and pages, charts, and protocols; they import the public API and the layers below."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
  __name__, submodules=["commands", "views", "pictures", "protocols"]
)
