"""Results of an agent in games against others: mean, standard error, and the worth of each game.

Games are recorded with all moves (`Played`), so that they can be evaluated later, from any source. With the
agent's policy, `aivat` takes luck out of them.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from ps_cfr_spiel.arguments import check_list, check_player, is_integer
from ps_cfr_spiel.evaluation import aivat
from ps_cfr_spiel.evaluation.street_guesses import StreetGuesses
from ps_cfr_spiel.games import GuessesForHands, GuessesValues
from ps_cfr_spiel.loading import sequential
from ps_cfr_spiel.options import MatchResultOptions
from ps_cfr_spiel.policy import OpenSpielPolicy, answers_at_once, strategies_of, tree_for
from ps_cfr_spiel.reports import waiting
from ps_cfr_spiel.solvers import HoldemPolicy
from ps_cfr_spiel.tree import PublicTree, check_zero_sum

NO_GAMES = "There are no games to evaluate."


class Played(NamedTuple):
  """A game that was played to its end."""

  seat: int  #: of the agent
  #: OpenSpiel actions from the start, those of chance among them: `state.history()`.
  actions: tuple[int, ...]
  #: a common number of games with the same luck, such as mirrored ones; None for a game by itself.
  deal: int | None = None
  #: names of all players by seat, for `matches.judge`; by default those of `seat` are A, all others B.
  players: tuple[str, ...] | None = None


class MatchResult(NamedTuple):
  """The result of an agent in a match."""

  values: np.ndarray  #: float64[games], the worth of each game to the agent, in the game's utility
  #: of their mean; games of one deal count as one observation. nan if there is only one.
  standard_error: float
  score: "Score"  #: numbers of games that the agent won, drew and lost
  method: str  #: of `options.METHODS`

  @classmethod
  def of(
    cls,
    worth: Sequence[float],
    utilities: Sequence[float],
    deals: Sequence[Hashable],
    method: str,
    strata: Sequence[Hashable] | None = None,
  ) -> "MatchResult":
    """The result of games with these values, utilities to the agent and deals (`Played.deal`).

    `strata` are as of `standard_error`.
    """
    signs = np.sign(utilities)
    score = Score(*(int((signs == sign).sum()) for sign in (1, 0, -1)))
    groups = [("alone", n) if deal is None else deal for n, deal in enumerate(deals)]
    return cls(np.array(worth), standard_error(worth, groups, strata), score, method)

  @property
  def mean(self) -> float:
    """For a game, in the game's utility."""
    return float(self.values.mean())

  def __str__(self) -> str:
    """The score, and the mean with its 95% interval."""
    how = "" if self.method == "chips" else f" by {self.method}"
    return f"{self.score}; {self.interval(f'a game{how}')}"

  def interval(self, unit: str, mean: str = ".4g", half: str = ".2g", scale: float = 1.0) -> str:
    """The mean times a scale, in these formats, with its 95% interval unless all games are of one deal."""
    text = format(scale * self.mean, mean)
    if math.isnan(self.standard_error):
      return f"{text} {unit}"
    return f"{text} ± {format(1.96 * scale * self.standard_error, half)} {unit} (95% interval)"


class Score(NamedTuple):
  """Numbers of games that a player won, drew and lost."""

  wins: int
  draws: int
  losses: int

  @property
  def games(self) -> int:
    return self.wins + self.draws + self.losses

  @property
  def interval(self) -> tuple[float, float]:
    """The 95% interval of the share of wins."""
    return wilson(self.wins, self.games)

  def __str__(self) -> str:
    """The shares of wins, with their 95% interval, of draws and of losses."""
    wins, draws, losses = (f"{100 * count / self.games:.1f}%" for count in self)
    low, high = self.interval
    return (
      f"won {wins} (95% interval {100 * low:.1f}% to {100 * high:.1f}%), drew {draws}, lost {losses} of "
      f"{self.games:,} games"
    )


def wilson(wins: int, games: int) -> tuple[float, float]:
  """95% interval of a probability (Wilson 1927), also valid near 0 and 1."""
  from scipy import stats  # imported here: it takes 0.3 s

  low, high = stats.binomtest(wins, games).proportion_ci(0.95, method="wilson")
  return float(low), float(high)


class MatchEstimate:
  """The result of an agent in games that are given one after the other.

  A search that is asked again right after its game still knows its answers.
  """

  def __init__(
    self,
    game: pyspiel.Game,
    agent: OpenSpielPolicy | None = None,
    options: MatchResultOptions | str | None = None,
    **keywords: object,
  ):
    """Take no games yet; arguments and errors are those of `evaluate_match`."""
    game = sequential(game)
    given = MatchResultOptions.of(options, **MatchResultOptions.picked(keywords))
    of_tree = {name: value for name, value in keywords.items() if name not in vars(given)}
    values, method = given.values, given.method or ("chips" if agent is None else "aivat")
    guesses = _guesses_of(game)
    if guesses is not None and method == "imaginary":
      raise ValueError(f"method='imaginary' needs a compiled game; for {game} choose 'aivat' or 'mivat'.")
    if agent is None and method != "chips" and not (method == "mivat" and guesses is not None):
      raise ValueError(f"method={method!r} needs the agent's policy; give agent=, or method='chips'.")
    if given.opponent is not None and (method != "aivat" or guesses is None):
      raise ValueError(
        f"opponent= is for method='aivat' in holdem, not for {method!r} in {game}; leave it out."
      )
    self._game, self._agent, self._values, self.method = game, agent, values, method
    self._estimators: dict[int, aivat.Estimator] = {}
    self._tree: PublicTree | None = None
    if guesses is not None and method != "chips":
      is_policy = isinstance(values, OpenSpielPolicy)  # Python's are callable, but give probabilities
      if not (method == "aivat" if is_policy else values is None or callable(values)):
        raise TypeError(f"values must be a function of a state of {game}, got {type(values).__name__}.")
      self._estimators = {seat: _by_guesses(game, guesses, given, agent, method, seat) for seat in (0, 1)}
    elif method != "chips":
      self._tree = tree_for(game, agent, None, None, **of_tree)
      check_zero_sum(self._tree, "estimates without luck", "method='chips' takes any game")
    self._worth: list[float] = []
    self._utilities: list[float] = []
    self._deals: list[Hashable] = []

  def add(self, record: Played) -> None:
    """Evaluate one more game; ValueError if it is not over or cannot have been played."""
    number, tree = len(self._worth), self._tree
    _check_record(number, record)
    seat = check_player(record.seat, self._game.num_players())
    if seat not in self._estimators:
      made = None if tree is None else _estimator(tree, self._agent, self._values, self.method, seat)
      self._estimators[seat] = made or aivat.chips
    try:
      seen = _replay(self._game, tree, seat, record.actions)
      worth = self._estimators[seat](seen)
    except ValueError as error:
      raise ValueError(f"Game {number} ({list(record.actions)}): {error}.") from error
    self._worth.append(worth)
    self._utilities.append(seen.utility)
    self._deals.append(record.deal)

  def result(self) -> MatchResult:
    """The result of the games so far; ValueError without games."""
    worth = self._worth
    if not worth:
      raise ValueError(NO_GAMES)
    if self.method != "chips" and None not in self._deals and len({*self._deals}) < len(worth):
      worth = mixed_with_chips(worth, self._utilities, self._deals).tolist()
    return MatchResult.of(worth, self._utilities, self._deals, self.method)


def evaluate_match(
  game: pyspiel.Game,
  games: Iterable[Played],
  agent: OpenSpielPolicy | None = None,
  options: MatchResultOptions | str | None = None,
  **keywords: object,
) -> MatchResult:
  """The result of an agent in recorded games, with its standard error.

  All methods have the same mean over many games, the agent's expected utility, if the agent played `agent`,
  for any `values`; good values reduce the noise.

  Args:
    game: the game; for other methods than "chips" one that `build_tree` takes, or `holdem`.
    games: such as `matches.play_games` records.
    agent: the agent's OpenSpiel policy, asked for all possible deals. A search must answer the same question
      in the same way, as those of `ContinualResolving` do; `tabularise` makes it fast.
    options: all options, or the method alone.
    **keywords: options by name, see `MatchResultOptions`; and those of `build_tree`.

  ValueError for a wrong argument, a game that is not over or cannot have been played, or `values` that are
  not numbers; TypeError if `game`, `agent` or `values` is of another kind.
  """
  estimate = MatchEstimate(game, agent, options, **keywords)
  with waiting("Evaluating games"):
    for record in check_records(games):
      estimate.add(record)
  return estimate.result()


def check_records(games: Iterable[Played]) -> list[Played]:
  """A list of some recorded games, at least one; ValueError for anything else."""
  played = check_list("games", games)
  if not played:
    raise ValueError(NO_GAMES)
  for number, record in enumerate(played):
    _check_record(number, record)
  return played


def _check_record(number: int, record: object) -> None:
  """ValueError unless it is a recorded game."""
  if not (isinstance(record, Played) and isinstance(record.actions, Sequence) and _hashable(record.deal)):
    raise ValueError(f"Game {number}: expected Played(seat, actions, deal), got {record!r}.")


def _guesses_of(game: pyspiel.Game) -> GuessesValues | None:
  return game if isinstance(game, GuessesValues) else None


def _by_guesses(
  game: pyspiel.Game,
  guesses: GuessesValues,
  options: MatchResultOptions,
  agent: OpenSpielPolicy | None,
  method: str,
  seat: int,
) -> aivat.Estimator:
  """The estimator of a method for one seat of the agent in a game that is not compiled."""
  if method == "mivat":
    return aivat.Corrected(game, options.values or guesses.guess_values, seat)
  if agent is None or not isinstance(guesses, GuessesForHands):
    raise ValueError(f"method='aivat' needs guesses for all hands, which {game} lacks; choose 'mivat'.")
  values, opponent = options.values, options.opponent
  if values is not None and not isinstance(values, OpenSpielPolicy):
    return aivat.OverHands(game, guesses, lambda state, i, _: values(state, i), agent, seat, opponent)
  ours, theirs = _without_search(values or agent), _without_search(values or opponent or agent)
  if not (answers_at_once(ours) and answers_at_once(theirs)):  # the whole street would be asked hand by hand
    equity = guesses.guess_for_hands
    return aivat.OverHands(game, guesses, lambda state, i, _: equity(state, i), agent, seat, opponent)
  guess = StreetGuesses(guesses, (ours, theirs) if seat == 0 else (theirs, ours))
  return aivat.OverHands(game, guesses, guess, agent, seat, opponent, guess.of_deals(game, seat))


def _without_search(policy: OpenSpielPolicy) -> OpenSpielPolicy:
  """A policy that is quick to ask: of an agent that searches its blueprint."""
  return policy.blueprint if isinstance(policy, HoldemPolicy) else policy


def _hashable(value: object) -> bool:
  try:
    hash(value)
  except TypeError:
    return False
  return True


LEAST_DEALS = 10  # by which the share of chips is chosen: fewer mislead more than chips help


def mixed_with_chips(
  worth: Sequence[float], utilities: Sequence[float], deals: Sequence[Hashable]
) -> np.ndarray:
  """Estimates of games, mixed with the chips won there to the least noise.

  In mirrored games chips cancel at times better than estimates do, which look at single games. The share of
  chips, from none to all, is that of least variance in all other deals, so it is independent of the game, and
  the mean stays. With fewer than `LEAST_DEALS` of these the share is 0.
  """
  group = _numbered(deals)
  count = max(group)
  estimate, more = np.asarray(worth, float), np.asarray(utilities, float) - worth
  if count < LEAST_DEALS:
    return estimate
  by_deal = np.array([np.bincount(group, estimate), np.bincount(group, more)])
  sums = by_deal.sum(1, keepdims=True) - by_deal  # of all other deals
  products = by_deal * by_deal[1]
  covariance, variance = products.sum(1, keepdims=True) - products - sums * sums[1] / count
  known = variance > 1e-9 * products[1].sum()  # beyond rounding errors
  share = np.clip(np.where(known, -covariance / np.where(known, variance, 1), 0), 0, 1)
  return estimate + share[group] * more


def standard_error(
  values: Sequence[float], groups: Sequence[Hashable], strata: Sequence[Hashable] | None = None
) -> float:
  """Standard error of the mean of values that depend on each other within groups.

  With strata, such as seats, the number of values in each is not by chance, and their means may differ. nan
  if there are not more groups than strata.
  """
  group, stratum = _numbered(groups), _numbered(["all"] * len(values) if strata is None else strata)
  count = max(group) + 1
  free = count - (max(stratum) + 1)
  if free < 1:
    return float("nan")
  means = np.bincount(stratum, values) / np.bincount(stratum)
  sums = np.bincount(group, np.asarray(values) - means[stratum])
  return float(np.sqrt((sums**2).sum() * count / free) / len(values))


def _numbered(keys: Sequence[Hashable]) -> list[int]:
  """Equal numbers from 0 on for equal keys."""
  number = {key: n for n, key in enumerate(dict.fromkeys(keys))}
  return [number[key] for key in keys]


def replay(
  game: pyspiel.Game, actions: Sequence[int], look: Callable[[pyspiel.State, int, int], None] | None = None
) -> pyspiel.State:
  """The end of a recorded game; `look` sees each state, who acts there, and the action.

  ValueError if it is not a game from start to end.
  """
  state = game.new_initial_state()
  for action in actions:
    if state.is_terminal() or not is_integer(action) or action not in state.legal_actions():
      raise ValueError(f"{action!r} is not legal after {state.history()}")
    if look is not None:
      look(state, state.current_player(), action)
    state.apply_action(action)
  if not state.is_terminal():
    raise ValueError("it is not over")
  return state


def _replay(game: pyspiel.Game, tree: PublicTree | None, seat: int, actions: Sequence[int]) -> aivat.Game:
  """A recorded game for the estimators; ValueError if it is not a game."""
  choices = []

  def look(state: pyspiel.State, player: int, action: int) -> None:
    if tree is not None and player == 1 - seat:
      decision, h = tree.names.decision_at(state, player)
      choices.append(aivat.Choice(decision, decision.legal_actions.index(action), h))

  return aivat.Game(actions, choices, replay(game, actions, look).returns()[seat])


def _estimator(
  tree: PublicTree,
  agent: OpenSpielPolicy | None,
  values: OpenSpielPolicy | aivat.Guess | None,
  method: str,
  seat: int,
) -> aivat.Estimator:
  """The estimator of a method for one seat of the agent."""
  decisions = tree.names.decisions
  guess: Any = None  # a user's function, whose answers `guesses_of` checks
  if values is not None and not isinstance(values, OpenSpielPolicy):
    if not callable(values) or method != "aivat":
      raise TypeError(f"values must be a policy, or for 'aivat' a function, got {type(values).__name__}.")
    guess = values
  strategies = []
  for player in (0, 1):
    policy = agent if player == seat or values is None or guess is not None else values
    asked = [] if player != seat and guess is not None else [d for d in decisions if d.player == player]
    strategies.append(strategies_of(tree, policy, asked)[player])
  if method == "mivat":
    return aivat.Mivat(tree, strategies, seat)
  sequences = aivat.Sequences(tree, strategies, seat)
  if method == "imaginary":
    return aivat.Imaginary(sequences)
  return aivat.Aivat(sequences, aivat.guesses_of(tree, sequences, strategies, guess))
