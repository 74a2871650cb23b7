"""The options of methods that search while they play."""

from typing import Annotated, Any

from ps_cfr_spiel.options import playing
from ps_cfr_spiel.options.option import Option, Options
from ps_cfr_spiel.options.solving import DType, Exploration, Seed, WalkOptions

TARGETS = ("infostate", "public")


class OnlineOutcomeSamplingOptions(WalkOptions):
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


class SearchResponseOptions(Options):
  """Options of a searching opponent, which responds to an agent by plays from particles."""

  main = "games"
  games: Annotated[int, Option("Games to play, in alternating seats.", least=1, flag=None)] = 1000
  rollouts: Annotated[
    int | None, Option("Plays of a decision of search (default: 4000, or by the time alone).", least=1)
  ] = None
  seconds: Annotated[float | None, Option("Time of a decision of search.", above=0, flag="move_seconds")] = (
    None
  )
  particles: Annotated[int, Option("Most hidden states that search holds possible.", least=1)] = 2000
  seed: playing.Seed = 0
