"""Parts that several commands share: flags, runs, input, a server."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
  __name__, submodules=["command", "flags", "methods", "run", "run_tables", "server", "user_input"]
)
