"""Abstractions of imperfect recall: infostates that play alike, and algorithms that find them.

May use: policy, cfr, compiler and what is below them. `maps` makes abstractions for users, `partitions` lays
one player's out for a tree and splits it, `refine` says where; `cfr_ira` and `fpira` are the algorithms of
Čermák, Lisý and Bošanský (2020), `double_oracle` what they are compared with, `loss` says what an abstraction
costs.
"""

from ps_cfr_spiel.abstraction import cfr_ira
from ps_cfr_spiel.abstraction.maps import (
  PRESETS,
  Abstraction,
  Key,
  abstract,
  abstract_tree,
  bind,
  from_arrays,
  to_arrays,
  unbind,
)
from ps_cfr_spiel.abstraction.partitions import Partition, as_sets

__all__ = [
  "PRESETS",
  "Abstraction",
  "Key",
  "Partition",
  "abstract",
  "abstract_tree",
  "as_sets",
  "bind",
  "cfr_ira",
  "from_arrays",
  "to_arrays",
  "unbind",
]
