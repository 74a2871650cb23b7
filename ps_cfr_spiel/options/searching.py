"""The options of methods that search while they play."""

from typing import Annotated, Any

from ps_cfr_spiel.options import playing
from ps_cfr_spiel.options.names import AGENTS, GADGETS, MAPPINGS, ROUND, STREET_NAMES
from ps_cfr_spiel.options.option import Option, Options
from ps_cfr_spiel.options.shared import (
  METHOD,
  Alternating,
  AveragingDelay,
  Device,
  DType,
  EnumerationOptions,
  Exploration,
  Rule,
  Seed,
  Tremble,
  count_or,
)

TARGETS = ("infostate", "public")


def _numbers(text: str) -> list[int]:
  """Numbers of actions, with commas; ValueError for a text that has others."""
  words = text.split(",")
  if not all(word.isdecimal() for word in words):
    raise ValueError("expected OpenSpiel's numbers of actions, such as 0,1,3.")
  return [int(word) for word in words]


MoveSeconds = Annotated[
  float | None,
  Option(
    "Time of a decision of search; compilation comes on top, in first decisions.",
    "Of its plays, or with depth of its iterations; the rest comes on top.",
    "In play and match an agent of train searches on top of its strategy; 0: it does not.",
    above=0,
    flag="move_seconds",
  ),
]

Lookahead = Annotated[
  Any,
  Option(
    "Own decisions that a search looks ahead, 1 for the present one only, or round, for those until the "
    "next public chance event, such as a card; a value function evaluates the rest (default: to the end of "
    "the game).",
    value="N|round",
    group=METHOD,
    read=count_or(ROUND),
  ),
]


class SearchOptions(Options):
  """Options of a search of continual re-solving."""

  main = "iterations"
  iterations: Annotated[int, Option("Iterations of CFR in each search.", least=1)] = 1000
  rule: Rule = "nrm+"
  gadget: Annotated[
    Any,
    Option(
      "Constraint from one search to the next: with cfr-d the new search cannot help the opponent, with "
      "max-margin it hurts the opponent as much as possible, and refined ones answer well also where "
      "promises are slack; expected ones answer the opponent's expected play best, which with --tremble "
      "is good everywhere; unsafe has none, for comparison.",
      "Or a function like these; see `subgames.gadgets`.",
      choices=tuple(GADGETS),
      group=METHOD,
    ),
  ] = "cfr-d"
  lookahead: Lookahead = None
  value_function: Annotated[Any, Option("The values beyond; by default `CFRValues()`.", flag=None)] = None
  actions: Annotated[
    Any,
    Option(
      "OpenSpiel's numbers of the actions that searches consider, such as 0,1,3 (default: all).",
      "Others may still be played by the opponent, where the player acts next.",
      value="N,...",
      group=METHOD,
      read=_numbers,
    ),
  ] = None
  alternating: Alternating = True
  averaging_delay: AveragingDelay = 0
  tremble: Tremble = 0.0
  dtype: DType = "float32"
  knowledge: Annotated[
    int | None,
    Option(
      "Search by the player's knowledge of this order, 1 or more, in place of public states, which it does "
      "not need.",
      "See `search.known_problems`.",
      least=1,
      group=METHOD,
    ),
  ] = None
  keep: Annotated[
    bool,
    Option(
      "With knowledge: every search starts from the results of all earlier ones, so together they are safe; "
      "otherwise from those on the way to its place, so that it does not depend on earlier searches, but "
      "unsafe.",
      flag=None,
    ),
  ] = True

  def __post_init__(self):
    super().__post_init__()
    if self.averaging_delay >= self.iterations:
      raise ValueError(
        f"averaging_delay must be less than iterations={self.iterations}, got {self.averaging_delay}."
      )
    if self.knowledge is not None and (self.lookahead is not None or self.actions is not None):
      raise ValueError(
        "knowledge is for searches to the end with all actions; leave lookahead and actions out."
      )
    if self.knowledge is None and not self.keep:
      raise ValueError("keep=False is for searches by knowledge; give knowledge=1 or more too.")


class OnlineOutcomeSamplingOptions(EnumerationOptions):
  """Options of online outcome sampling."""

  main = "iterations"
  iterations: Annotated[
    int, Option("Iterations of a run; each is a trajectory for either player.", least=1)
  ] = 10_000
  target: Annotated[
    str,
    Option(
      "Target of runs: infostate, histories through the infostate at hand (information set targeting); or "
      "public, those through its public state (public subgame targeting).",
      choices=TARGETS,
    ),
  ] = "infostate"
  delta: Annotated[
    float,
    Option(
      "Probability that an iteration is targeted, below 1; 0 is plain outcome sampling.", least=0, below=1
    ),
  ] = 0.9
  exploration: Exploration = 0.4
  seed: Seed = 0
  dtype: DType = "float32"
  favoured: Annotated[
    Any,
    Option(
      "(player, information state string) -> an OpenSpiel policy of both players. The run aimed at that "
      "infostate begins with cumulative regrets `favour` times this policy rather than with zeros, and so "
      "tends to equilibria near it. It converges all the same: a bounded start is forgotten on average.",
      saved=False,
    ),
  ] = None
  favour: Annotated[float, Option("See `favoured`; in the game's utility.", least=0, most=1e30)] = 1000.0

  def __post_init__(self):
    super().__post_init__()
    if self.target == "public" and self.public_states == "none":
      raise ValueError("target='public' needs public states; public_states must be 'closure' or 'observer'.")


Rollouts = Annotated[
  int | None,
  Option(
    "Plays of a decision of search (default: 4000, or by the time alone; with depth 4000 in any case).",
    "At least one for each action or end.",
    least=1,
  ),
]
Particles = Annotated[
  int | None,
  Option(
    "Most hidden states that search holds possible (default: 2000, or with depth ten times the histories).",
    least=1,
  ),
]


class HoldemPolicyOptions(Options):
  """Options of a policy for the whole of hold'em, a blueprint and searches."""

  main = "bets"
  bets: Annotated[
    str | None,
    Option(
      "Bet sizes of the searches, from the first searched street on: as in `holdem_subgame`, for both "
      "players alike (default: the preset's).",
      value="SIZES",
    ),
  ] = None
  iterations: Annotated[int | None, Option("Iterations of each search (default: the preset's).", least=1)] = (
    None
  )
  preset: Annotated[
    str,
    Option(
      "Bets and iterations of an agent of hold'em: quick, the pot and all-in, later raises all-in alone, "
      "and 100 iterations; or deepstack, those of Schmid (2021), Tables 21.1 and 21.2, whose deep turns "
      "take gigabytes.",
      choices=AGENTS,
    ),
  ] = "quick"
  seconds: Annotated[
    float | None,
    Option(
      "Most seconds of a search, of the preset quick (default: no limit); the iterations, and with them the "
      "moves, then depend on the machine.",
      above=0,
      flag="move_seconds",
    ),
  ] = None
  mapping: Annotated[
    Any,
    Option(
      "Mapping of foreign bets where the blueprint plays.",
      "Or a function like these; see `policy.MAPPINGS`.",
      choices=tuple(MAPPINGS),
    ),
  ] = "pseudo-harmonic"
  gadget: Annotated[
    Any,
    Option(
      "Constraint from one search to the next, as of `ContinualResolving`.",
      "Or a function like these; see `subgames.gadgets`.",
      choices=tuple(GADGETS),
    ),
  ] = "cfr-d"
  tremble: Tremble = 0.0
  values: Annotated[
    Any,
    Option(
      "Value function of turns, such as `learning.NetworkValues`: flops are then searched, too; or one of "
      "flops and one of turns: the agent then searches from the first move on.",
      flag=None,
    ),
  ] = None
  street: Annotated[
    str | None,
    Option(
      "Street of the first search (default: turn, or the first that `values` allow). Without values searches "
      "go to the end of the hand; on flops and before they fit into memory in small decks alone.",
      choices=STREET_NAMES,
      flag=None,
    ),
  ] = None
  device: Device = "auto"

  def __post_init__(self):
    super().__post_init__()
    if self.street is not None and self.values is not None:
      raise ValueError(f"street={self.street!r}: with values= searches begin where these are; leave it out.")
    if self.seconds is not None and self.preset != AGENTS[0]:
      raise ValueError(
        f"seconds={self.seconds:g} might end before the iterations that preset={self.preset!r} averages; "
        f"leave it out, or choose preset={AGENTS[0]!r}."
      )


class SearchResponseOptions(Options):
  """Options of a searching opponent, which responds to an agent by plays from particles."""

  main = "games"
  games: Annotated[int, Option("Games to play, in alternating seats.", least=1, flag=None)] = 1000
  rollouts: Rollouts = None
  seconds: MoveSeconds = None
  particles: Particles = None
  seed: playing.Seed = 0


class ParticleBotOptions(Options):
  """Options of a bot that searches from sampled histories, the particles that it holds possible."""

  main = "depth"
  depth: Annotated[
    int | None,
    Option(
      "Moves, of both players, from the decision to the ends of the game that is solved; None: to the end of "
      "the game; 0: no game is made, actions are tried by plays.",
      least=0,
    ),
  ] = 0
  rollouts: Rollouts = None
  seconds: MoveSeconds = None
  particles: Particles = None
  tremble: Annotated[
    float,
    Option(
      "Share of uniform play that is mixed into the blueprint of others, with depth of both players before "
      "the ends, so that no surprise rules out all particles.",
      least=0,
      most=1,
    ),
  ] = 0.01
  seed: playing.Seed = 0
  temperature: Annotated[
    float,
    Option(
      "Without depth, in units of utility: the difference of values for which the ratio of two actions' "
      "probabilities changes by e; 0 plays the best action alone.",
      least=0,
    ),
  ] = 0.0
  iterations: Annotated[
    int | None,
    Option("With depth, of a decision's search (default: 200, or by the time alone).", least=1),
  ] = None
  histories: Annotated[
    int | None,
    Option(
      "With depth, the most that a search begins in: the player's, and at least one more for each infostate "
      "of the opponent (default: 40).",
      least=2,
    ),
  ] = None
  values: Annotated[
    Any,
    Option(
      "With depth, the value to player 0 of each of a list of states, where the depth ends; by default the "
      "mean return of plays by the blueprint."
    ),
  ] = None
  gadget: Annotated[
    Any,
    Option(
      'With depth, as of `ContinualResolving`, by default "max-margin"; "unsafe" makes no promises. With '
      '"cfr-d" a move that beats the blueprint a little is as good as any better one.',
      choices=tuple(GADGETS),
    ),
  ] = None
  rule: Annotated[Any, Option("With depth, a regret rule or its name; by default nrm+.")] = None

  def __post_init__(self):
    super().__post_init__()
    if self.depth != 0:
      if self.temperature:
        raise ValueError(f"temperature={self.temperature:g} is for searches without depth; give depth=0.")
      if self.values is not None and not callable(self.values):
        raise ValueError(f"values must be a function of a list of states, got {self.values!r}.")
      return
    solving = ("iterations", "histories", "values", "gadget", "rule")
    if given := [name for name in solving if vars(self)[name] is not None]:
      raise ValueError(f"{', '.join(given)}: for searches that solve a game; give depth=1 or more too.")
