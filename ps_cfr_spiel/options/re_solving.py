"""The options of continual re-solving: of enumerated games, by samples, on demand, and of CFR-D."""

from typing import Annotated

from ps_cfr_spiel.options.names import ROUND
from ps_cfr_spiel.options.option import Option
from ps_cfr_spiel.options.searching import Lookahead, MoveSeconds, SearchOptions
from ps_cfr_spiel.options.shared import (
  METHOD,
  SAMPLING,
  TREE,
  Alternating,
  EnumerationOptions,
  Exploration,
  Rule,
  Seed,
)

SAMPLERS = ("external", "outcome")
EXPLORATION = 0.6


class ContinualResolvingOptions(EnumerationOptions, SearchOptions):
  """Options of continual re-solving."""

  blueprint: Annotated[
    object, Option("Any OpenSpiel policy, in the place of the first search.", flag=None, saved=False)
  ] = None


class MonteCarloResolvingOptions(ContinualResolvingOptions):
  """Options of continual re-solving by samples."""

  iterations: Annotated[
    int,
    Option("Samples of each search, one for either player's turn.", least=1),
  ] = 10_000
  rule: Rule = "rm+"
  sampler: Annotated[
    object,
    Option(
      "Samples of a search: external, all of the player's moves against one of each other's; or outcome, "
      "single histories.",
      "Or a sampler of trees, as `SamplingSolver` takes.",
      choices=SAMPLERS,
      group=SAMPLING,
    ),
  ] = SAMPLERS[0]
  exploration: Exploration = EXPLORATION
  seed: Seed = 0

  def header(self):
    return {
      **super().header(),
      "sampler": self.sampler if isinstance(self.sampler, str) else repr(self.sampler),
    }

  def __post_init__(self):
    super().__post_init__()
    usual = vars(ContinualResolvingOptions())
    whole = (
      "lookahead",
      "value_function",
      "actions",
      "knowledge",
      "alternating",
      "averaging_delay",
      "tremble",
    )
    if given := [name for name in whole if vars(self)[name] != usual[name]]:
      raise ValueError(
        f"{', '.join(given)}: samples go to the end of the game, in turns, with all actions; leave this "
        f"out, or use ContinualResolving."
      )
    if self.sampler != "outcome" and self.exploration != EXPLORATION:
      raise ValueError(
        f"exploration={self.exploration!r} is for sampler='outcome', got sampler={self.sampler!r}; leave it "
        "out."
      )


class OnDemandResolvingOptions(EnumerationOptions, SearchOptions):
  """Options of continual re-solving in a game that is not enumerated."""

  limit: Annotated[
    int, Option("Most histories of a search, or lines of a card game.", least=1, group=TREE, result=False)
  ] = 10**6
  seconds: MoveSeconds = None
  expansions: Annotated[
    int | None,
    Option(
      "Public states that a search opens, where its simulations lead, in place of a lookahead (growing-tree "
      "CFR); values end its tree.",
      "A time limit includes the making of trees, and the search then opens fewer.",
      least=0,
      group=METHOD,
    ),
  ] = None
  seed: Seed = 0

  def __post_init__(self):
    super().__post_init__()
    if self.expansions is None and self.seed:
      raise ValueError(f"seed={self.seed} is for the simulations of expansions=; leave it out.")
    if self.expansions is not None and (self.lookahead is not None or self.value_function is None):
      raise ValueError(
        f"expansions={self.expansions} stands in place of a lookahead, and ends at values: leave lookahead "
        "out, and give value_function=StateValues(function) or NetworkValues."
      )
    if self.public_states == "none" or self.knowledge is not None or self.actions is not None:
      raise ValueError(
        "Searches without an enumeration need public states, and consider all actions; leave "
        "public_states='none', knowledge= and actions= out."
      )


class CFRDOptions(OnDemandResolvingOptions):
  """Options of CFR-D."""

  iterations: Annotated[int, Option("Iterations of the trunk of each search.", least=1)] = 200
  rule: Rule = "rm+"
  alternating: Alternating = False
  lookahead: Lookahead = ROUND
  below: Annotated[
    int,
    Option("Iterations of CFR in a subgame below the trunk, in each of the trunk's iterations.", least=1),
  ] = 40
  keep_trees: Annotated[
    bool,
    Option(
      "Whether trees below the trunk are kept, without their tables: sooner, in more memory.", result=False
    ),
  ] = False

  def __post_init__(self):
    if self.expansions is not None:
      raise ValueError(f"expansions={self.expansions}: the trunk of CFR-D does not grow; leave it out.")
    super().__post_init__()
    if self.lookahead is None or self.value_function is not None:
      raise ValueError(
        "CFR-D has a trunk, and CFR gives its values; give lookahead='round' or a number, and no "
        "value_function."
      )
    if self.alternating:
      raise ValueError(
        "alternating=True: values below the trunk are of both players' strategies at once; leave it out."
      )
