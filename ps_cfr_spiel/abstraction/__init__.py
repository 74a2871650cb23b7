"""Abstractions of imperfect recall: infostates that play alike, and algorithms that find them.

May use: policy, cfr, compiler and what is below them. `maps` makes abstractions for users, `partitions` lays
one player's out for a tree and splits it, `refine` says where; `cfr_ira` and `fpira` are the algorithms of
Čermák, Lisý and Bošanský (2020), `double_oracle` what they are compared with, `loss` says what an abstraction
costs.
"""

from ps_cfr_spiel.abstraction import cfr_ira, fpira
from ps_cfr_spiel.abstraction.double_oracle import double_oracle
from ps_cfr_spiel.abstraction.loss import Loss, abstraction_loss
from ps_cfr_spiel.abstraction.maps import (
  PRESETS,
  Abstraction,
  Key,
  abstract,
  abstract_tree,
  bind,
  from_file,
  to_arrays,
  unbind,
)
from ps_cfr_spiel.abstraction.partitions import Partition, as_sets

__all__ = [
  "PRESETS",
  "Abstraction",
  "Key",
  "Loss",
  "Partition",
  "abstract",
  "abstract_tree",
  "abstraction_loss",
  "as_sets",
  "bind",
  "cfr_ira",
  "double_oracle",
  "fpira",
  "from_file",
  "to_arrays",
  "unbind",
]
