"""Options that several methods share, and those by which games are enumerated and become trees."""

import math
from collections.abc import Callable
from typing import Annotated, Any

from ps_cfr_spiel.arguments import MOST
from ps_cfr_spiel.options.names import ALIASES, RULES
from ps_cfr_spiel.options.option import Option, Options

AUTO, CPU = "auto", "cpu"
DEVICES = (AUTO, CPU, "gpu", "cuda", "rocm", "tpu")  # platforms as JAX names them
LEAVES = ("auto", "dense", "showdown", "native", "blocks", "sparse")
SOURCES = ("closure", "observer", "none")
DTYPES = ("float32", "float64")
BITS = (16, 32)
STRATEGIES = AVERAGE, BEST = "average", "best"
ABSTRACTIONS = ("observation", "initial", "identity")
BASELINES = ("learned", "zero", "oracle")
TRAJECTORIES = ("histories", "public")
LOSSLESS = "lossless"
AWARE = POTENTIAL, DISTRIBUTION = "potential", "distribution"
HANDS = ("all", "ranges")
ORDERS = ("map", "vmap")
LIMIT = 200_000_000  # histories: beyond any memory here, so that memory and patience decide

METHOD, SAMPLING, SPLITTING, DEALT = "Method", "Sampling", "CFR+IRA", "Hierarchical"
TREE = "Tree and memory"
MOST_SEED = 2**32 - 1


def count_or(*words: str) -> Callable[[str], int | str]:
  """A number of at least 1, or one of some words, as text; ValueError for anything else."""

  def read(text: str) -> int | str:
    if text in words:
      return text
    if not text.isdecimal() or int(text) < 1:
      raise ValueError(f"expected {', or '.join(('a number of at least 1', *words))}.")
    if int(text) > MOST:
      raise ValueError(f"expected a number of at most {MOST}.")
    return int(text)

  return read


Rule = Annotated[
  Any,
  Option(
    "Regret rule. nrm+ is this project's own; the others of this list are published. cfr is rm, cfr+ is "
    "rm+. Sampling takes rm and rm+, and dealt cards lcfr too.",
    "Or an instance of a rule; see `make_rule`.",
    choices=(*RULES, *ALIASES),
    group=METHOD,
  ),
]
DType = Annotated[str, Option("Precision of the arithmetic.", choices=DTYPES, group=METHOD)]
Alternating = Annotated[bool, Option("Update the players in turn rather than both at once.", group=METHOD)]
AveragingDelay = Annotated[
  int, Option("First iterations to leave out of the average strategy.", least=0, group=METHOD)
]
Tremble = Annotated[
  float,
  Option(
    "Least probability of every action in iteration t is this number / t, or half of a uniform share if that "
    "is less; 0: none. With 1 answers become good where equilibrium play never comes, too, and "
    "exploitability falls as 1 / t.",
    least=0,
    most=1e6,
    group=METHOD,
  ),
]
Seed = Annotated[int, Option("Seed of the random numbers.", least=0, most=MOST_SEED, group=METHOD)]
Abstracted = Annotated[
  Any,
  Option(
    "Infostates that play alike: observation joins those with the same view now, initial those with the same "
    "number of own decisions, identity none. Methods that split sets begin with it. Policies and "
    "exploitability are those of the whole game.",
    "Or an abstraction of `abstractions.abstract`, or a key that it takes.",
    "For hierarchical a saved abstraction, or a run in one.",
    value="NAME|FILE",
    group=METHOD,
    saved=False,
  ),
]
Batch = Annotated[
  int,
  Option(
    "Trajectories, or pairs of hands, under one strategy for each player's turn, whose mean is one update.",
    least=1,
    group=SAMPLING,
  ),
]
Leaves = Annotated[
  str,
  Option(
    "Evaluator of the game's ends: dense (two matrices over all pairs of hands), showdown (card removal "
    "instead of matrices, for poker with many hands), native (the same in C++, on CPUs); of enumerated games "
    "blocks (a matrix for each end, if all secrets are dealt once) or sparse (a number for each pair of "
    "sequences, for any game); or auto, the fastest for the game, the device and the installation.",
    choices=LEAVES,
    group=TREE,
  ),
]
Device = Annotated[
  str,
  Option(
    "Device that computes: auto, an accelerator where JAX has one and it is the faster, else the CPU; or one "
    "by the name of its platform in JAX.",
    "Results are the same up to rounding, and a run's file goes on on any device.",
    choices=DEVICES,
    group=TREE,
    saved=False,
    result=False,
  ),
]
Exploration = Annotated[
  float, Option("Share of uniform play in the samples of the traverser.", above=0, most=1, group=SAMPLING)
]
Trajectories = Annotated[
  str,
  Option(
    "Trajectories: histories, in any game; or public, lines of public moves, uniformly, on which all types "
    "are updated (the form in which the method was published), in games whose private information is "
    "dealt once and whose moves are all public.",
    choices=TRAJECTORIES,
    group=SAMPLING,
    flag=None,
  ),
]


class EnumerationOptions(Options):
  """Options by which a game's histories are enumerated."""

  public_states: Annotated[
    str,
    Option(
      "Source of public states: closure (common knowledge), the game's public observer, or none, for games "
      "that have none; solvers do not need them, but subgames, searches and views do.",
      choices=SOURCES,
      group=TREE,
    ),
  ] = "closure"
  limit: Annotated[
    int,
    Option(
      "Most histories to visit of a game that does not describe itself. Without it an enumeration in "
      "Python that would take more than an hour is refused.",
      least=1,
      most=math.inf,
      group=TREE,
      result=False,
    ),
  ] = LIMIT
  memory: Annotated[
    float | None,
    Option(
      "Most bytes to take, such as 4e9; by default half of the free memory, or all of it for a game that "
      "describes itself.",
      least=1,
      value="BYTES",
      group=TREE,
      saved=False,
      result=False,
    ),
  ] = None


class TreeOptions(EnumerationOptions):
  """Options of `build_tree`."""

  main = "leaves"
  leaves: Leaves = "auto"
