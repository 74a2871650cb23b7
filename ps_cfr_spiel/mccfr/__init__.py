"""Monte Carlo CFR: trees to sample from, samplers, baselines, and the one loop.

May use: compiler, cfr and what is below them. `build` makes a `sampling_tree`; `outcome`, `external` and
`public_lines` are samplers, and a new one is their neighbour; `baselines` and `targeting` plug into them;
`loop` runs them all, `aimed` towards one decision; `passes` and `variance` measure over the whole tree.
"""

from ps_cfr_spiel.mccfr.aimed import AimedRuns, Situation, averages
from ps_cfr_spiel.mccfr.baselines import Baseline, LearnedBaseline, OracleBaseline, ZeroBaseline
from ps_cfr_spiel.mccfr.build import build_public_sampling_tree, build_sampling_tree
from ps_cfr_spiel.mccfr.columns import at, matched, row_sum, sample_rows
from ps_cfr_spiel.mccfr.external import ExternalSampling
from ps_cfr_spiel.mccfr.loop import (
  Sampler,
  SamplingState,
  add,
  average_strategy,
  average_total,
  block_length,
  current_strategy,
  init,
  iterate,
  memory_needs,
  merged,
  solve,
)
from ps_cfr_spiel.mccfr.outcome import OutcomeSampling
from ps_cfr_spiel.mccfr.public_lines import PublicSampling
from ps_cfr_spiel.mccfr.sampling_tree import SamplingTree
from ps_cfr_spiel.mccfr.updates import Updates, join, nothing
from ps_cfr_spiel.mccfr.variance import check_variance, variance

__all__ = [
  "AimedRuns",
  "Baseline",
  "ExternalSampling",
  "LearnedBaseline",
  "OracleBaseline",
  "OutcomeSampling",
  "PublicSampling",
  "Sampler",
  "SamplingState",
  "SamplingTree",
  "Situation",
  "Updates",
  "ZeroBaseline",
  "add",
  "at",
  "average_strategy",
  "average_total",
  "averages",
  "block_length",
  "build_public_sampling_tree",
  "build_sampling_tree",
  "check_variance",
  "current_strategy",
  "init",
  "iterate",
  "join",
  "matched",
  "memory_needs",
  "merged",
  "nothing",
  "row_sum",
  "sample_rows",
  "solve",
  "variance",
]
