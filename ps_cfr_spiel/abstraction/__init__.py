"""Abstractions of imperfect recall: infostates that play alike, and algorithms that find them.

May import: policy, cfr, compiler and lower layers. `maps` makes abstractions for users, `partitions` lays
one player's out for a tree and splits it, `refine` says where; `cfr_ira` and `fpira` are the algorithms of
Čermák, Lisý and Bošanský (2020), `loss` measures an abstraction's cost. `public_clusters` (of boards) and
`buckets` (of hands, by the distances of `transport`) cluster rows of numbers, for games too large for keys.
"""

from ps_cfr_spiel.abstraction import cfr_ira, fpira
from ps_cfr_spiel.abstraction.buckets import MOST_ROWS, Buckets, Distance, bucketed, cluster_equities, squared
from ps_cfr_spiel.abstraction.loss import Loss, abstraction_loss
from ps_cfr_spiel.abstraction.maps import (
  Abstraction,
  Key,
  abstract,
  abstract_tree,
  bind,
  from_file,
  to_arrays,
  unbind,
)
from ps_cfr_spiel.abstraction.partitions import Partition, as_sets, roomy_sets
from ps_cfr_spiel.abstraction.public_clusters import board_distances, public_clusters, spread
from ps_cfr_spiel.abstraction.transport import greedy_distances, line_distances
