"""The options of methods that learn a game too large to enumerate by playing it."""

from typing import Annotated, Any

from ps_cfr_spiel.options.option import Option, Options
from ps_cfr_spiel.options.shared import MOST_SEED

ESTIMATES = ("learned", "corrected")
UPDATES = ("at_once", "together")
PRUNINGS = ("none", "regret", "best_response")
KEYS = ("infostate", "observation")

Seed = Annotated[int, Option("Seed of the random numbers.", least=0, most=MOST_SEED)]
DType = Annotated[str, Option("Precision of the arithmetic.", choices=("float32", "float64"), flag=None)]
Batch = Annotated[
  int | None,
  Option(
    "Games, or traversals, under one strategy for a side; an iteration has twice that number (default: 4096, "
    "or 256 for plays of OpenSpiel's states, at most 1,048,576 of them).",
    least=1,
  ),
]
Decay = Annotated[
  float,
  Option(
    "Weight of the newest value in a learned one: of plays in the first iteration, where 0 with corrected is "
    "outcome sampling; of external sampling the least weight, where 0 is the mean of all.",
    least=0,
    most=1,
  ),
]


def _rule_of_power(text: str) -> dict[str, Any]:
  """The rule rm+ with a power of the average, written as text; ValueError if that is no number."""
  try:
    return {"name": "rm+", "gamma": float(text)}
  except ValueError:
    raise ValueError("expected a number of at least 0.") from None


class KeyedMCCFROptions(Options):
  """Options of Monte Carlo CFR on plays."""

  main = "estimate"
  estimate: Annotated[
    str,
    Option(
      "Estimate of the worth of a move: learned is a running mean of the plays after it, of little variance "
      "but biased, without a guarantee; corrected (VR-MCCFR) makes that unbiased, with more noise, and with "
      "keys that forget nothing the average policy converges.",
      choices=ESTIMATES,
    ),
  ] = "learned"
  exploration: Annotated[
    float, Option("Share of uniform play in the sampled plays of the traverser.", above=0, most=1)
  ] = 0.1
  decay: Decay = 1.0
  decay_power: Annotated[
    float,
    Option(
      "Power of the decay of plays: in iteration t it is decay * t**-decay_power. At first values follow the "
      "strategies, which change fast, later they are means of more plays.",
      least=0,
      most=1,
    ),
  ] = 0.4
  most_weight: Annotated[float, Option("Bound of the weights of plays, for learned.", least=1, most=1e30)] = (
    5.0
  )
  batch: Batch = None
  seed: Seed = 0
  dtype: DType = "float32"
  key: Annotated[
    Any,
    Option(
      "Information of a choice: infostate or observation, which forgets where observations do; in cheat "
      "observation or memory, which adds cards whose place is certain, takes six times the memory and needs "
      "longer runs (default: infostate; in cheat observation).",
      choices=(*KEYS, "memory"),  # which is Cheat's own
    ),
  ] = None
  cells: Annotated[
    int | None,
    Option(
      "Most moves of keys that plays meet (default: a million; in cheat all keys are counted, and with this "
      "option they are not, for decks of too many); a run with full tables ends.",
      least=1,
    ),
  ] = None
  keys: Annotated[
    Any, Option("Those of an earlier run of such a game, from its file.", flag=None, saved=False)
  ] = None
  against: Annotated[
    Any,
    Option(
      "Agent that plays the other side, in both seats, and does not learn: the run learns a best response to "
      "it, and its matches show how far the agent is from unbeatable.",
      "Its policy, or its table of this game from a file.",
      "A run.safetensors.",
      value="FILE",
      saved=False,
    ),
  ] = None
  rule: Annotated[
    Any,
    Option(
      "Power of the average: iteration t of plays counts t**gamma (default: 4). At 1 the average is linear; "
      "the larger, the sooner the strategies of a run's beginning are forgotten.",
      "The regret rule is rm+ with this gamma; or give `RM` or `RMPlus` with any gamma.",
      value="N",
      flag="gamma",
      read=_rule_of_power,
    ),
  ] = None

  def __post_init__(self):
    super().__post_init__()
    if self.estimate == "learned" and self.decay == 0:
      raise ValueError("decay=0 learns no values; estimate='learned' needs a decay above 0.")


class KeyedExternalOptions(Options):
  """Options of external sampling on traversals of plays."""

  main = "pruning"
  pruning: Annotated[str, Option("Moves that external sampling prunes.", choices=PRUNINGS)] = "best_response"
  decay: Decay = 0.05
  most_nodes: Annotated[
    int, Option("Decisions after which external sampling gives up a traversal.", least=1)
  ] = 2_000_000_000
  batch: Batch = 1
  seed: Seed = 0
  dtype: DType = "float32"
  updates: Annotated[
    str,
    Option(
      "Time of learning of external sampling: at_once after every decision, so that moves may be skipped "
      "where a traversal comes to a key again, or together after a traversal.",
      choices=UPDATES,
    ),
  ] = "at_once"
  depth: Annotated[
    int | None,
    Option(
      "Decisions of a side, one below the other, that external sampling traverses before it plays on by the "
      "current policies (default: all); keys that occur only there are not learned.",
      least=1,
    ),
  ] = None
