"""A searching response: the yardstick of games that are played.

It plays matches against the policy, with particles by the policy's own probabilities and rollouts of the
policy. Its mean is a lower bound on the value of a best response, up to the noise of the games, as that of
every fixed opponent is.
"""

import pyspiel
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel.evaluation import match_play
from ps_cfr_spiel.evaluation.match_results import MatchResult
from ps_cfr_spiel.options import ParticleBotOptions, SearchResponseOptions
from ps_cfr_spiel.solvers import ParticleBot


def search_response(
  game: pyspiel.Game,
  policy: openspiel_policy.Policy,
  options: SearchResponseOptions | int | None = None,
  **keywords: object,
) -> MatchResult:
  """The result of a searching opponent against a policy, over games with alternating seats.

  Args:
    game: any for two whose players move one after the other.
    policy: an OpenSpiel policy of both players that answers at infostates.
    options: all options, or the number of games alone.
    **keywords: options by name; see `SearchResponseOptions`.

  Returns:
    The opponent's result: `.score` has the wins, `.mean` the utility, in expectation at most the mean of both
    seats' best responses.

  Raises:
    ValueError: a wrong argument, or a policy of another game.
  """
  if game.num_players() != 2:
    raise ValueError(f"{game} has {game.num_players()} players; a searching response plays games for two.")
  options = SearchResponseOptions.of(options, **keywords)
  limits = options.values(ParticleBotOptions)

  def searcher(seat: int) -> pyspiel.Bot:
    return ParticleBot(game, seat, policy, **limits, tremble=0.0)

  agent = match_play.player(policy, options.seed % 2**32)
  return match_play.match(game, searcher, agent, options.games, seed=options.seed)
