"""Games played from Python: matches between bots and policies, and a person against one of them."""

import builtins
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TextIO

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.bots.policy import PolicyBot
from open_spiel.python.bots.uniform_random import UniformRandomBot

from ps_cfr_spiel.arguments import check_option
from ps_cfr_spiel.evaluation import table
from ps_cfr_spiel.games.cheat.bots import HeuristicBot, NaiveBot  # pyright: ignore  (games/ is mapped)

Player = Callable[[int], pyspiel.Bot]  # makes the bot for a seat


class Score(NamedTuple):
  """How many games a player won, drew and lost."""

  wins: int
  draws: int
  losses: int

  @property
  def games(self) -> int:
    """How many were played."""
    return self.wins + self.draws + self.losses

  def __str__(self) -> str:
    """The shares of wins, with their 95% interval, of draws and of losses."""
    wins, draws, losses = (f"{100 * count / self.games:.1f}%" for count in self)
    low, high = wilson(self.wins, self.games)
    return (
      f"won {wins} (95% interval {100 * low:.1f}% to {100 * high:.1f}%), drew {draws}, lost {losses} of "
      f"{self.games:,} games"
    )


def wilson(wins: int, games: int) -> tuple[float, float]:
  """95% interval of a probability (Wilson 1927), which is right near 0 and 1 too."""
  from scipy import stats  # a third of a second, which only those pay who ask

  low, high = stats.binomtest(wins, games).proportion_ci(0.95, method="wilson")
  return float(low), float(high)


def player(who: str | openspiel_policy.Policy, seed: int = 0) -> Player:
  """Somebody to play with.

  Args:
    who: "random", in cheat also "naive" or "heuristic"; or a policy.
    seed: of the random numbers.

  Raises:
    ValueError: no bot has this name.
  """
  rng = np.random.RandomState(seed)
  if not isinstance(who, str):
    return lambda seat: PolicyBot(seat, rng, who)
  make = BOTS[check_option("bot", who, BOTS)]
  return lambda seat: make(seat, rng)


def match(game: pyspiel.Game, first: Player, second: Player, games: int = 1000, seed: int = 0) -> Score:
  """Plays games of two players, who change seats after each.

  Args:
    game: any sequential two-player game.
    first: whose score is returned.
    second: the other.
    games: how many, at least 1.
    seed: of chance.

  Raises:
    ValueError: `games` is not positive.
  """
  if games < 1:
    raise ValueError(f"games must be at least 1, got {games!r}.")
  pairs = ((first(0), second(1)), (second(0), first(1)))
  counts = {1: 0, 0: 0, -1: 0}
  for number in range(games):
    seat = number % 2
    returns = pyspiel.evaluate_bots(game.new_initial_state(), list(pairs[seat]), seed + number)
    counts[int(np.sign(returns[seat]))] += 1
  return Score(counts[1], counts[0], counts[-1])


def play(
  game: pyspiel.Game,
  opponent: Player,
  moves: Iterable[str] | None = None,
  seat: int = 0,
  seed: int = 0,
  output: TextIO | None = None,
) -> pyspiel.State:
  """Lets a person play a game once, typing moves, or shows a game with moves that are given.

  Args:
    game: any sequential game with observation and information state strings.
    opponent: of `player`.
    moves: what the person types, names or numbers of actions; at their end the person quits. Without
      them, they are asked for.
    seat: the person's.
    seed: of chance.
    output: where to write; the standard output by default.

  Returns:
    The last state, terminal unless the person quit.
  """
  to = output or sys.stdout
  lines = _Asked() if moves is None else _Given(moves, to)
  return table.play(game, seat, opponent, lines, to, np.random.RandomState(seed))


class _Given:
  """Lines that are known beforehand, echoed as if somebody typed them."""

  def __init__(self, moves: Iterable[str], output: TextIO):
    self._moves, self._output = iter(moves), output

  def readline(self) -> str:
    move = next(self._moves, "")
    if move:
      print(move, file=self._output)
    return move


class _Asked:
  """Lines from `input`, which works in notebooks too, where the standard input does not."""

  def readline(self) -> str:
    try:
      return builtins.input() + "\n"
    except EOFError:
      return ""


BOTS: Mapping[str, Callable[[int, np.random.RandomState], pyspiel.Bot]] = {
  "random": UniformRandomBot,
  "naive": NaiveBot,
  "heuristic": lambda player, _: HeuristicBot(player),
}
