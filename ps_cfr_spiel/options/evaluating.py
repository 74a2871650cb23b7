"""The options of measures of strength: matches, local best responses, solvers side by side."""

from typing import Annotated, Any

from ps_cfr_spiel.options.option import Option, Options
from ps_cfr_spiel.options.shared import MOST_SEED

METHODS = ("chips", "mivat", "imaginary", "aivat")

Seed = Annotated[int, Option("Seed of chance and of the bots.", least=0, most=MOST_SEED - 1)]

JUDGING = 3000  # iterations of a solution that players are judged by
#: The groups of infostates that play comes to rarely, and the reach below which it does.
RARE = {"rare for the player": 1e-3, "rare for the others": 1e-4}


class MatchOptions(Options):
  """Options of matches."""

  main = "games"
  games: Annotated[
    int, Option("Hands (games) to play; an ACPC server decides the number itself.", least=1, flag="hands")
  ] = 1000
  seed: Seed = 0
  mirrored: Annotated[
    bool,
    Option(
      "Deal hands alike until A has had each seat once.", "A is the first player; both have the same luck."
    ),
  ] = False


class MatchResultOptions(Options):
  """Options of the result of an agent in games that were played."""

  main = "method"
  method: Annotated[
    str | None,
    Option(
      "Estimate of the result: chips, the utility; mivat, less the luck of chance; imaginary, the mean over "
      "all hands of the agent, in games that are enumerated; aivat, less the luck of chance and of the "
      "agent's own choices, averaged likewise.",
      "By default aivat if the agent's probabilities are known, else chips. White and Bowling 2009; Bowling "
      "et al. 2008; Burch et al. 2018. All but chips are for two players and zero sums. In `holdem` mivat "
      "needs no agent, and aivat averages over the agent's hands.",
      "The agent is A (default: chips; in holdem aivat, or mivat where A's probabilities are unknown).",
      choices=METHODS,
    ),
  ] = None
  values: Annotated[
    Any,
    Option(
      "A guess of the rest of a game: a policy of the opponent's, by default the agent's; for aivat also a "
      "function (player, information state string of the opponent) -> the agent's expected utility. In "
      "`holdem` a function, for mivat state -> {action: player 0's expected utility after it}, by default "
      "the game's `guess_values`; for aivat (state, player) -> {action: the player's with each hand}, or a "
      "policy of both players, by default their own, and of a search its blueprint, until the street ends. "
      "Good values reduce the noise, and none change the mean.",
      flag=None,
    ),
  ] = None
  opponent: Annotated[
    Any,
    Option(
      "In `holdem` by aivat: the opponent's policy, so that the luck of their choices is taken out, too.",
      flag=None,
    ),
  ] = None


class LocalResponseOptions(Options):
  """Options of local best responses."""

  main = "actions"
  actions: Annotated[
    Any,
    Option(
      "With --lbr: its actions, in poker fc for folds and calls, c for calls alone, with / between rounds; "
      "or OpenSpiel's numbers, such as 0,1, with ; between rounds; the last round counts for all later ones "
      "(default: all).",
      "In sampled hands of `holdem` by default fold, call, bet the pot and all-in; there bets as in "
      '`holdem`, and "56bets", 0.1 to 5.5 pots and all-in. Or, not in sampled hands, OpenSpiel actions: one '
      "collection, or a sequence with one for each round (None for all). A round begins where chance moves "
      "after players have.",
      value="ACTIONS",
      flag="lbr_actions",
    ),
  ] = None
  depth: Annotated[
    int | None,
    Option(
      "Own decisions that a search looks at; None for all, which makes it a best response with these "
      "actions.",
      least=1,
      flag=None,
    ),
  ] = 1
  rollout: Annotated[
    Any,
    Option(
      'Play of both players beyond. "call": both check or call, and the last answer of the opponent that is '
      'looked at counts as a fold or a call, as in the paper. "uniform": at random. Or any policy of both '
      'players. By default "call" where the game has moves of these names, else "uniform". Sampled hands '
      'have depth 1 and the rollout "call" alone.',
      flag=None,
    ),
  ] = None
  hands: Annotated[
    int | None,
    Option(
      "Hands to sample, each a deal with many hands of the searcher; None for the exact value.", least=2
    ),
  ] = None
  seed: Annotated[int, Option("Seed of the sampled hands.", least=0, most=MOST_SEED)] = 0


class ComparisonOptions(Options):
  """Options of comparisons of solvers."""

  main = "seconds"
  seconds: Annotated[
    float, Option("Seconds of iterations of each solver, without compilation.", above=0, most=1e6)
  ] = 1.0
  solvers: Annotated[
    Any,
    Option(
      "Names with commas: regret rules such as rm+ and nrm+, or solvers such as 'OpenSpiel CFR+' and "
      "'external sampling' (default: CFR, CFR+, NRM+ and external sampling, and OpenSpiel's own).",
      "Here makers by name, functions of the game; by default `OURS` and `THEIRS`. A maker with a parameter "
      "`seed` gets the number of the run.",
      value="NAME,...",
    ),
  ] = None
  seeds: Annotated[
    int,
    Option(
      "Runs of each solver; the table has means with 95% intervals. Solvers that draw get seeds from 0.",
      "The others differ in seconds alone.",
      least=1,
    ),
  ] = 1
