"""Monte Carlo CFR: trees to sample from, samplers, baselines, and the one loop.

May import: compiler, cfr and lower layers. `sampling_loop` runs any sampler on any game, also those of
`keyed` and `hierarchical`. `sampling_trees` makes a `sampling_tree`; `outcome`, `external` and
`public_lines` are samplers on it, and a new one is their neighbour: `tables` has their contract,
`baselines` and `targeting` plug into them. `aimed` runs towards one decision; `passes` and `variance`
measure over the whole tree.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
