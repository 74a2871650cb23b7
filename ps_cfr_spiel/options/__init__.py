"""The options of every method, each written once: its default, its check, its help.

May import: base layers. `option` is the mechanism, `names` lists the objects that options choose among,
`shared` has options of several methods, `solving` those of methods on trees and dealt cards, `playing` those
of methods that learn by play, `searching` those of searches, `evaluating` those of measures of strength,
`spot` those of spots of hold'em, `value_learning` those of networks of values. They need no JAX: the
program's flags are made from them.
"""

from ps_cfr_spiel.options.evaluating import (
  JUDGING,
  METHODS,
  RARE,
  ComparisonOptions,
  LocalResponseOptions,
  MatchOptions,
  MatchResultOptions,
)
from ps_cfr_spiel.options.names import (
  AGENTS,
  ALIASES,
  DEEPSTACK_BETS,
  GADGETS,
  MAPPINGS,
  PRESETS,
  ROUND,
  RULES,
  STREET_NAMES,
  agent_bets,
  agent_searches,
  objects,
  preset,
)
from ps_cfr_spiel.options.option import FLAGS, Field, Option, Options, fields_of
from ps_cfr_spiel.options.playing import (
  ESTIMATES,
  KEYS,
  PRUNINGS,
  UPDATES,
  KeyedExternalOptions,
  KeyedMCCFROptions,
)
from ps_cfr_spiel.options.re_solving import (
  CFRDOptions,
  ContinualResolvingOptions,
  MonteCarloResolvingOptions,
  OnDemandResolvingOptions,
)
from ps_cfr_spiel.options.searching import (
  TARGETS,
  HoldemPolicyOptions,
  OnlineOutcomeSamplingOptions,
  ParticleBotOptions,
  SearchOptions,
  SearchResponseOptions,
)
from ps_cfr_spiel.options.shared import (
  ABSTRACTIONS,
  AUTO,
  BASELINES,
  BEST,
  BITS,
  CPU,
  DEVICES,
  DISTRIBUTION,
  DTYPES,
  HANDS,
  LEAVES,
  LIMIT,
  LOSSLESS,
  METHOD,
  ORDERS,
  POTENTIAL,
  SOURCES,
  TRAJECTORIES,
  EnumerationOptions,
  TreeOptions,
)
from ps_cfr_spiel.options.solving import (
  PARTS,
  AnySamplerOptions,
  BatchOptions,
  CFRPlusIRAOptions,
  ClusteringOptions,
  ExternalSamplingOptions,
  FictitiousPlayOptions,
  FPIRAOptions,
  HierarchicalMCCFROptions,
  MakeAbstractionOptions,
  OutcomeSamplingOptions,
  PSCFROptions,
  Refinement,
  RunOptions,
  SamplingOptions,
  VRMCCFROptions,
)
from ps_cfr_spiel.options.spot import DISTRIBUTIONS, RandomSituationsOptions, Ratio, SpotOptions
from ps_cfr_spiel.options.value_learning import SELF_PLAY, TEACHERS, LearnOptions, TrainingOptions
