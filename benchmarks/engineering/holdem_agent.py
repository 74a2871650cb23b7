"""The agent of the whole hold'em against simple bots: hands without an error, its gain, its time by street.

  python -m benchmarks.engineering.holdem_agent --hands 300 --iterations 100
  python -m benchmarks.engineering.holdem_agent --hands 10000 --iterations 2 --searched a
  python -m benchmarks.engineering.holdem_agent --stacks 2000 --iterations 10 --hands 100 \
    --lbr fc c/c/fcpa/fcpa

The blueprint is uniform play, so the gain says nothing about a good one. Prints for each stack and bot
the gain in mbb a hand with its 95% interval, and for decisions before the turn, on the turn and on the river
their number, the median and the 95% quantile of their seconds. `--lbr` plays local best responses with these
actions (`evaluation.sampled_response`) to a player who always calls, to uniform play with fold, call, pot and
all-in, and to the agent instead, and prints their gain.
"""

import time

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

import ps_cfr_spiel
from benchmarks.machine import flags
from ps_cfr_spiel import matches
from ps_cfr_spiel.abstractions import TranslatedPolicy
from ps_cfr_spiel.evaluation import sampled_response


class Timed(ps_cfr_spiel.HoldemAgent):
  """Keeps the street of each decision."""

  def probabilities(self, state):
    self.streets.append(state.public_state.street)
    return super().probabilities(state)


class MinBet(openspiel_policy.Policy):
  """Makes the least bet or raise wherever there is one."""

  def action_probabilities(self, state, player_id=None):
    return {min(a for a in state.legal_actions() if a >= min(2, state.legal_actions()[-1])): 1.0}


def player(bot: str, seed: int) -> matches.Player:
  return matches.player(MinBet(None, [0, 1]) if bot == "min_bet" else bot, seed)


def respond(game, blueprint, options) -> None:
  """Prints a line for each opponent and its responses."""
  searched = options.searched, options.iterations
  players = {
    "always_call": matches.Habit("always_call"),
    "uniform": TranslatedPolicy(game, blueprint),
    "agent": ps_cfr_spiel.HoldemAgent(game, blueprint, 0, *searched).policy,
  }
  for name in options.against:
    for actions in options.lbr:
      began = time.perf_counter()
      found = sampled_response(game, players[name], options.hands, options.seed, False, actions)
      mean, error, each = 10 * found.mean, 19.6 * found.error, (time.perf_counter() - began) / options.hands
      print(f"{name:12} {actions:16} {mean:9,.0f} ± {error:6,.0f} mbb, {each:.2f} s a hand", flush=True)


def main() -> None:
  """Prints a line for each stack and bot."""
  options = flags(
    __doc__,
    hands=300,
    stacks=[2000, 5000, 20000],
    bots=["random", "min_bet", "always_call", "all_in"],
    lbr=[""],
    against=["always_call", "uniform", "agent"],
    sizes="fullgame",
    searched="1 a / 1 a",
    iterations=100,
    seed=0,
  )
  for stack in options.stacks:
    game = pyspiel.load_game("holdem", {"stack": stack, "bets": options.sizes})
    blueprint = openspiel_policy.UniformRandomPolicy(pyspiel.load_game("holdem", {"stack": stack}))
    if options.lbr[0]:
      respond(game, blueprint, options)
      continue
    for bot in options.bots:
      agents = []

      def make(seat, game=game, blueprint=blueprint, agents=agents):
        agent = Timed(game, blueprint, seat, options.searched, options.iterations, seed=options.seed)
        agent.streets = []
        agents.append(agent)
        return agent

      records = matches.play_games(game, make, player(bot, options.seed), options.hands, options.seed)
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
