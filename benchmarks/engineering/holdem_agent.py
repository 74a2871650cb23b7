"""The agent of the whole hold'em against simple bots: hands without an error, its gain, its time by street.

  python -m benchmarks.engineering.holdem_agent --hands 300 --iterations 100

The blueprint is uniform play, so the gain says nothing about a good one. Prints for each stack and bot
the gain in mbb a hand with its 95% interval, and for decisions before the turn, on the turn and on the river
their number, the median and the 95% quantile of their seconds.
"""

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

import ps_cfr_spiel
from benchmarks.machine import flags
from ps_cfr_spiel import matches


class Timed(ps_cfr_spiel.HoldemAgent):
  """Keeps the street of each decision."""

  def probabilities(self, state):
    self.streets.append(state.public_state.street)
    return super().probabilities(state)


def main() -> None:
  """Prints a line for each stack and bot."""
  options = flags(
    __doc__,
    hands=300,
    stacks=[2000, 5000, 20000],
    bots=["random", "always_call", "all_in"],
    sizes="fullgame",
    searched="1 a / 1 a",
    iterations=100,
    seed=0,
  )
  for stack in options.stacks:
    game = pyspiel.load_game("holdem", {"stack": stack, "bets": options.sizes})
    blueprint = openspiel_policy.UniformRandomPolicy(pyspiel.load_game("holdem", {"stack": stack}))
    for bot in options.bots:
      agents = []

      def make(seat, game=game, blueprint=blueprint, agents=agents):
        agent = Timed(game, blueprint, seat, options.searched, options.iterations, seed=options.seed)
        agent.streets = []
        agents.append(agent)
        return agent

      records = matches.play_games(game, make, matches.player(bot, options.seed), options.hands, options.seed)
      found = matches.evaluate_match(game, records, method="mivat")
      streets = np.concatenate([agent.streets for agent in agents])
      seconds = np.concatenate([agent.seconds for agent in agents])
      times = ""
      for name, which in (("before", streets < 2), ("turn", streets == 2), ("river", streets == 3)):
        took = seconds[which]
        quantiles = np.quantile(took, [0.5, 0.95]) if len(took) else [np.nan, np.nan]
        times += f"  {name} {len(took):5} {quantiles[0]:7.4f} {quantiles[1]:7.3f}"
      gain, error = 10 * found.mean, 19.6 * found.standard_error
      print(f"stack {stack:>6} {bot:12}{gain:9.0f} ± {error:6.0f} mbb{times}", flush=True)


if __name__ == "__main__":
  main()
