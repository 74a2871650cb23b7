"""A searching response: the yardstick of games that are played.

It plays matches against the policy, with particles by the policy's own probabilities and rollouts of the
policy. Its mean is a lower bound on the value of a best response, up to the noise of the games, as that of
every fixed opponent is.
"""

from typing import Any

import pyspiel

from ps_cfr_spiel.arguments import check_count, check_integer
from ps_cfr_spiel.evaluation import match_play
from ps_cfr_spiel.evaluation.match_results import MatchResult
from ps_cfr_spiel.solvers import ParticleBot


def search_response(
  game: pyspiel.Game,
  policy: Any,
  games: int = 1000,
  rollouts: int | None = None,
  seconds: float | None = None,
  particles: int = 2000,
  seed: int = 0,
) -> MatchResult:
  """The result of a searching opponent against a policy, over games with alternating seats.

  Args:
    game: any for two whose players move one after the other.
    policy: an OpenSpiel policy of both players that answers at infostates.
    games: to play, in alternating seats.
    rollouts: of `ParticleBot`.
    seconds: of `ParticleBot`.
    particles: of `ParticleBot`.
    seed: of the games and of the searches.

  Returns:
    The opponent's result: `.score` has the wins, `.mean` the utility, in expectation at most the mean of both
    seats' best responses.

  Raises:
    ValueError: a wrong argument, or a policy of another game.
  """
  if game.num_players() != 2:
    raise ValueError(f"{game} has {game.num_players()} players; a searching response plays games for two.")
  seed = check_integer("seed", seed, 0)

  def searcher(seat: int) -> pyspiel.Bot:
    return ParticleBot(game, seat, policy, 0, rollouts, seconds, particles, tremble=0.0, seed=seed)

  agent = match_play.player(policy, seed % 2**32)
  return match_play.match(game, searcher, agent, check_count("games", games, 1), seed)
