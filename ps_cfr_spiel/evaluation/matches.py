"""Games played from Python: matches between bots and policies, and a person against one of them."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TextIO

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.bots import policy as openspiel_bots
from open_spiel.python.bots.uniform_random import UniformRandomBot

from ps_cfr_spiel.arguments import check_option
from ps_cfr_spiel.evaluation import table
from ps_cfr_spiel.evaluation.match_results import MatchResult, Played, evaluate_match
from ps_cfr_spiel.games import cheat
from ps_cfr_spiel.reports import progress_bar

Player = Callable[[int], pyspiel.Bot]  # makes the bot for a seat


class PolicyBot(openspiel_bots.PolicyBot):
  """OpenSpiel's bot that plays a policy, which would give up (-1) if action 0 is the only one."""

  def step_with_policy(self, state: pyspiel.State) -> tuple[list[tuple[int, float]], int]:
    """The probabilities of the actions, and one drawn by them."""
    policy = self._policy.action_probabilities(state, self._player_id)
    return list(policy.items()), int(self._rng.choice(list(policy), p=list(policy.values())))


def player(who: str | openspiel_policy.Policy, seed: int = 0) -> Player:
  """A player of matches: "random", in cheat also "naive" or "heuristic"; or one that plays a policy."""
  rng = np.random.RandomState(seed)
  if not isinstance(who, str):
    return lambda seat: PolicyBot(seat, rng, who)
  make = BOTS[check_option("bot", who, BOTS)]
  return lambda seat: make(seat, rng)


def play_games(
  game: pyspiel.Game,
  first: Player,
  second: Player,
  games: int = 1000,
  seed: int = 0,
  mirrored: bool = False,
) -> list[Played]:
  """Plays and records games of two players, who change seats after each.

  Args:
    game: any sequential two-player game.
    first: the agent of the records.
    second: the other.
    games: number of games, at least 1.
    seed: of chance.
    mirrored: deal every two games alike, so that each player has the other's luck once.

  Raises:
    ValueError: `games` is not positive.
  """
  if games < 1:
    raise ValueError(f"games must be at least 1, got {games!r}.")
  pairs = ((first(0), second(1)), (second(0), first(1)))
  records = []
  for number in progress_bar(None, iterable=range(games), desc="Playing", unit=" games"):
    deal = number // 2 if mirrored else number
    state = _play_one(game, pairs[number % 2], np.random.default_rng([seed, deal]))
    records.append(Played(number % 2, tuple(state.history()), deal))
  return records


def _play_one(game: pyspiel.Game, bots: Sequence[pyspiel.Bot], chance: np.random.Generator) -> pyspiel.State:
  """The end of a game; chance's outcomes depend on their number in it alone, not on the players."""
  state = game.new_initial_state()
  for bot in bots:
    bot.restart_at(state)
  while not state.is_terminal():
    player = state.current_player()
    if state.is_chance_node():
      actions, odds = zip(*state.chance_outcomes(), strict=True)
      action = actions[int(np.searchsorted(np.cumsum(odds) / sum(odds), chance.random(), "right"))]
    else:
      action = bots[player].step(state)
    for seat, bot in enumerate(bots):
      if seat != player:
        bot.inform_action(state, player, action)
    state.apply_action(action)
  return state


def match(
  game: pyspiel.Game,
  first: Player,
  second: Player,
  games: int = 1000,
  seed: int = 0,
  mirrored: bool = False,
  agent: Any = None,
  **evaluation: Any,
) -> MatchResult:
  """Plays games and evaluates them for the first player: `play_games`, then `evaluate_match`.

  `agent` is the policy of the first player, to take luck out of the result.
  """
  records = play_games(game, first, second, games, seed, mirrored)
  return evaluate_match(game, records, agent, **evaluation)


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
    moves: the person's lines, names or numbers of actions; at their end the person quits. By default they
      are asked for.
    seat: the person's.
    seed: of chance.
    output: file for the text; the standard output by default.

  Returns:
    The last state, terminal unless the person quit.
  """
  to, known = output or sys.stdout, None if moves is None else iter(moves)

  def read() -> str:
    try:  # `input` works in notebooks too, where the standard input does not
      line = input() + "\n" if known is None else next(known)
    except (EOFError, StopIteration):
      return ""
    if known is not None:
      print(line, file=to)
    return line

  return table.play(game, seat, opponent, read, to, np.random.RandomState(seed))


BOTS: Mapping[str, Callable[[int, np.random.RandomState], pyspiel.Bot]] = {
  "random": UniformRandomBot,
  "naive": cheat.NaiveBot,
  "heuristic": lambda player, _: cheat.HeuristicBot(player),
}
