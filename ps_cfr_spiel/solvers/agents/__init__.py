"""Policies and bots that search or keep tables, for play."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
  __name__,
  submodules=[
    "cfr_d",
    "continual_resolving",
    "holdem_policy",
    "holdem_searches",
    "monte_carlo_resolving",
    "online_outcome_sampling",
    "particle_bot",
    "public_hand",
    "search_policy",
  ],
)
