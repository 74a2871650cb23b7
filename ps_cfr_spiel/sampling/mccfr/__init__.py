"""Monte Carlo CFR: trees to sample from, samplers, baselines, and the one loop.

May import: compiler, cfr and lower layers. `sampling_loop` runs any sampler on any game, also those of
`keyed` and `hierarchical`. `sampling_trees` makes a `sampling_tree`; `outcome`, `external` and
`public_lines` are samplers on it, and a new one is their neighbour: `tables` has their contract,
`baselines` and `targeting` plug into them. `aimed` runs towards one decision; `passes` and `variance`
measure over the whole tree.
"""

from ps_cfr_spiel.sampling.mccfr import aimed
from ps_cfr_spiel.sampling.mccfr.aimed import AimedRuns
from ps_cfr_spiel.sampling.mccfr.baselines import Baseline, LearnedBaseline, OracleBaseline, ZeroBaseline
from ps_cfr_spiel.sampling.mccfr.columns import at, regret_matching, row_sum, sample_rows
from ps_cfr_spiel.sampling.mccfr.external import ExternalSampling
from ps_cfr_spiel.sampling.mccfr.outcome import OutcomeSampling
from ps_cfr_spiel.sampling.mccfr.public_lines import PublicSampling
from ps_cfr_spiel.sampling.mccfr.sampling_loop import (
  Sampler,
  SamplingState,
  Turn,
  Turns,
  check_rule,
  init,
  iterate,
  regret_weight,
  run,
  start,
)
from ps_cfr_spiel.sampling.mccfr.sampling_tree import SamplingTree, abstracted
from ps_cfr_spiel.sampling.mccfr.sampling_trees import (
  HistoryNodes,
  build_public_sampling_tree,
  build_sampling_tree,
  histories_to_sample,
  sort_nodes,
)
from ps_cfr_spiel.sampling.mccfr.tables import (
  Tables,
  TreeSampler,
  Updates,
  add,
  batch_bytes,
  join,
  nothing,
  strategies,
)
from ps_cfr_spiel.sampling.mccfr.variance import check_variance, variance
