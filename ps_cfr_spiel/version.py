"""The installed version, as pyproject.toml names it."""

import importlib.metadata

__version__ = importlib.metadata.version("ps_cfr_spiel")
