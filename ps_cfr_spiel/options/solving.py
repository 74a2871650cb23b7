"""The options of methods that solve a game, exactly or by sampling it."""

from typing import Annotated, Any

from ps_cfr_spiel.options.option import Option, Options
from ps_cfr_spiel.options.shared import (
  AWARE,
  BASELINES,
  BITS,
  DEALT,
  HANDS,
  LOSSLESS,
  METHOD,
  ORDERS,
  SAMPLING,
  SPLITTING,
  STRATEGIES,
  Abstracted,
  Alternating,
  AveragingDelay,
  Batch,
  Device,
  DType,
  EnumerationOptions,
  Exploration,
  Leaves,
  Rule,
  Seed,
  Trajectories,
  TreeOptions,
  Tremble,
  count_or,
)


class RunOptions(Options):
  """Options of a run of a solver."""

  main = "iterations"
  iterations: Annotated[int, Option("Iterations to run; with --resume, further iterations.", least=0)] = 500
  checkpoint_seconds: Annotated[
    float,
    Option(
      "Seconds between two saves of the run.",
      "At least; slow saves wait until they take at most 5% of the time.",
      least=0,
    ),
  ] = 60.0


class PSCFROptions(TreeOptions):
  """Options of public-state CFR."""

  main = "rule"
  rule: Rule = "nrm+"
  alternating: Alternating = True
  averaging_delay: AveragingDelay = 0
  tremble: Tremble = 0.0
  strategy: Annotated[
    str,
    Option(
      "Strategy that a run has found: average, or best, the last one where that is less exploitable.",
      "Reading or evaluating strategies then evaluates both.",
      choices=STRATEGIES,
      group=METHOD,
    ),
  ] = STRATEGIES[0]
  dtype: DType = "float32"
  bits: Annotated[
    int,
    Option(
      "Bits of regrets and averages between iterations; 16 takes two thirds of the memory, with the rule "
      "nrm+ and float32.",
      "Averages are then exact to some 1e-4 however long a run is. In place of strategies there are "
      "predictions in 8 bits, as in any large tables that are solved board by board.",
      choices=BITS,
      group=METHOD,
    ),
  ] = 32
  device: Device = "auto"
  abstraction: Abstracted = None
  tree: Annotated[
    Any,
    Option(
      "The game's public tree, on the host, if it is not to be built: that of `build_tree`, or one with a "
      "leaf evaluator of your own, `dataclasses.replace(tree, leaves=mine)`. Values are then the "
      "evaluator's. A file of the run holds no tree: `load(path, tree=tree)`.",
      flag=None,
      saved=False,
    ),
  ] = None
  locks: Annotated[
    Any,
    Option(
      "Strategies that players must play after chosen lines; all else is solved around them.",
      "{'check, bet 200': how}, where how is an OpenSpiel policy, {'fold': 1} for all hands, or "
      "{'AK, QQ+': {'call': 1}} for some; see `policy.read_locks`. Best responses keep to the locks too. A "
      "locked infostate leaves its set of the abstraction. Locks that distinguish suits take up more memory, "
      "and those of some hands: these have their own copy of what follows.",
      "HOW is a saved policy (FILE), an action or a mixture for all hands, as in --lock='check, bet "
      "200=fold:0.7,call:0.3'; for some hands, which leaves the others free: --lock='x b200=call@AKs,QQ+'; "
      "or both: --lock='x b200=fold; call@AKs,QQ+'. May be given several times.",
      value="LINE=HOW",
      group=METHOD,
      flag="lock",
      several=True,
      saved=False,
    ),
  ] = None

  def __post_init__(self):
    super().__post_init__()
    usual = vars(TreeOptions())
    given = [name for name, value in self.values(TreeOptions).items() if value != usual[name]]
    if self.tree is not None and given:
      raise ValueError(f"{', '.join(given)}: only for a tree that is built; leave this out, or tree=.")


class Refinement(Options):
  """Conditions under which CFR+IRA splits sets."""

  bound: Annotated[
    int,
    Option(
      "Most infostates, of both players, whose regrets are tracked against a bound at a time; 0 for none.",
      "k_b of the paper.",
      least=0,
      group=SPLITTING,
    ),
  ] = 10
  heuristic: Annotated[
    int,
    Option(
      "Most infostates that are compared in a turn; 0 for none.",
      "k_h of the paper.",
      least=0,
      group=SPLITTING,
    ),
  ] = 90
  tolerance: Annotated[
    float,
    Option(
      "The heuristic's tolerance, divided by sqrt(t), in counterfactual utility.",
      least=0,
      most=1e9,
      flag=None,
    ),
  ] = 0.2
  relative: Annotated[
    bool,
    Option(
      "Whether it is multiplied by the largest regret in the sampled part of the set: counterfactual utility "
      "shrinks with the number of types and of cards to come, and no regret on a river would count.",
      flag=None,
    ),
  ] = False


PARTS = 8  # of the samples of a turn of CFR+IRA, whose estimates are compared


class CFRPlusIRAOptions(Refinement, TreeOptions):
  """Options of CFR+IRA."""

  main = ""
  samples: Annotated[
    int,
    Option(
      f"Traversals of external sampling from which each turn estimates its regrets, a multiple of {PARTS}; 0 "
      "traverses the whole game.",
      least=0,
      group=SPLITTING,
    ),
  ] = 0
  abstraction: Abstracted = "initial"
  seed: Seed = 0
  averaging_delay: AveragingDelay = 100
  tremble: Tremble = 0.0
  dtype: DType = "float32"

  def __post_init__(self):
    super().__post_init__()
    if self.samples % PARTS:
      raise ValueError(
        f"samples={self.samples}: samples are in {PARTS} equal parts; give a multiple of {PARTS}, such as "
        f"{-(-self.samples // PARTS) * PARTS}."
      )
    if self.samples and self.tremble:
      raise ValueError(
        f"samples={self.samples} with tremble={self.tremble}: sampled regrets are of strategies without "
        f"trembles; give one of the two."
      )


class FictitiousPlayOptions(EnumerationOptions):
  """Options of fictitious play."""

  dtype: DType = "float64"


class FPIRAOptions(FictitiousPlayOptions):
  """Options of fictitious play in an abstraction that is split."""

  abstraction: Abstracted = "initial"


class SamplingOptions(TreeOptions):
  """Options of Monte Carlo CFR on a tree."""

  main = ""
  rule: Rule = "rm"
  batch: Batch = 1
  seed: Seed = 0
  dtype: DType = "float32"
  abstraction: Abstracted = None


class AnySamplerOptions(SamplingOptions):
  """Options of Monte Carlo CFR with a sampler of one's own."""

  main = "sampler"
  sampler: Annotated[
    Any,
    Option("The sampler, a frozen dataclass; see `mccfr.TreeSampler`. Files hold only its name.", flag=None),
  ]

  def header(self):
    return {**super().header(), "sampler": repr(self.sampler)}


class OutcomeSamplingOptions(SamplingOptions):
  """Options of outcome sampling."""

  exploration: Exploration = 0.6
  trajectories: Trajectories = "histories"


class VRMCCFROptions(OutcomeSamplingOptions):
  """Options of variance-reduced Monte Carlo CFR."""

  main = "baseline"
  baseline: Annotated[
    str, Option("Baseline that reduces the variance.", choices=BASELINES, group=SAMPLING)
  ] = "learned"
  decay: Annotated[
    float, Option("Weight of the newest value in a learned baseline.", least=0, most=1, flag=None)
  ] = 0.5
  chance_baseline: Annotated[
    bool, Option("Whether a learned baseline covers chance nodes too.", flag=None)
  ] = True


class ExternalSamplingOptions(SamplingOptions):
  """Options of external sampling."""

  every_cluster: Annotated[
    bool,
    Option(
      "Whether a traversal follows an outcome of chance in each public cluster, not one of all (Brown et al. "
      "2015, Algorithm 4): outcomes whose play shares no set of the abstraction are in different clusters.",
      group=SAMPLING,
    ),
  ] = False


class ClusteringOptions(Options):
  """Options of clusters of boards, and of buckets of hands."""

  main = "clusters"
  clusters: Annotated[
    Any,
    Option(
      "Public clusters of the boards of the clustered round (default: 60, or all if fewer).",
      "Or the cluster of each class of boards, as an array.",
      value="N",
      read=count_or(),
      group=DEALT,
      saved=False,
    ),
  ] = None
  buckets: Annotated[
    int | str,
    Option(
      "Buckets for the hands of each cluster and round, or lossless, which joins hands that differ in suits "
      "alone.",
      value="N|lossless",
      read=count_or(LOSSLESS),
      group=DEALT,
      saved=False,
    ),
  ] = 50
  earlier_buckets: Annotated[
    int | str,
    Option(
      "Buckets for the hands of each round before the clustered one, or lossless.",
      value="N|lossless",
      read=count_or(LOSSLESS),
      group=DEALT,
      saved=False,
    ),
  ] = LOSSLESS
  clustered_round: Annotated[
    int,
    Option(
      "Round whose boards are clustered: 1 after the first public cards, 2 after the next.",
      least=1,
      group=DEALT,
      saved=False,
    ),
  ] = 1


class MakeAbstractionOptions(ClusteringOptions):
  """Options of `make_abstraction`."""

  seed: Seed = 0
  restarts: Annotated[int, Option("Restarts of each clustering.", least=1)] = 5
  aware: Annotated[
    str | None,
    Option(
      "Description of hands before the last round, always under an earth mover's distance: potential, how "
      "likely they are to come into each bucket of the next round (Ganzfried and Sandholm 2014), or "
      "distribution, a histogram of the shares that they beat at the end. By default potential, and "
      "distribution, the only one there, in a game whose boards are not all in tables.",
      choices=AWARE,
    ),
  ] = None


class HierarchicalMCCFROptions(ClusteringOptions):
  """Options of Monte Carlo CFR on dealt cards, in public clusters."""

  rule: Rule = "rm+"
  batch: Batch = 16
  boards: Annotated[
    int,
    Option("Boards that each cluster draws for a pair of hands, and averages.", least=1, group=DEALT),
  ] = 1
  seed: Seed = 0
  dtype: DType = "float32"
  abstraction: Abstracted = None
  pruning: Annotated[
    float | None,
    Option(
      "Negative regret, in the game's utility (chips), below which 95% of the traversals leave an action "
      "out: regret-based pruning (Brown and Sandholm 2019, Pluribus), for rm and lcfr.",
      group=DEALT,
    ),
  ] = None


class BatchOptions(Options):
  """Options of public-state CFR on many situations."""

  main = "rule"
  rule: Rule = "nrm+"
  iterations: Annotated[int, Option("Most iterations of each situation.", least=1)] = 500
  target: Annotated[
    Any,
    Option(
      "Exploitability at which to stop: in percent of the pot (0.1%) or, without the %, in the game's own "
      "unit (0.2).",
      value="AMOUNT",
    ),
  ] = None
  every: Annotated[
    int, Option("Iterations between two evaluations, if there is a target.", least=1, flag=None)
  ] = 25
  averaging_delay: AveragingDelay = 0
  alternating: Alternating = True
  tremble: Tremble = 0.0
  dtype: DType = "float32"
  leaves: Leaves = "auto"
  device: Device = "auto"
  hands: Annotated[
    str,
    Option(
      "Of rivers, ranges: the hands of each player's range, or all: all hands on the board, also those of "
      "weight 0, with their values. With values of the next street, ranges: the hands of either range, and "
      "a few more.",
      choices=HANDS,
      flag=None,
    ),
  ] = "ranges"
  strategies: Annotated[bool, Option("Keep the average strategies, too.", flag=None)] = True
  order: Annotated[
    str | None,
    Option(
      "Order of a device's share, map: one after the other, or vmap: all at once.", choices=ORDERS, flag=None
    ),
  ] = None
  values: Annotated[
    Any,
    Option(
      "Value function of the next street, such as `learning.NetworkValues`, for turns or flops: each is "
      "solved to the end of its betting, and its exploitability counts deviations there.",
      flag=None,
      saved=False,
    ),
  ] = None
