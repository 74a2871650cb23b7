"""Matches of a search by knowledge over a cheap blueprint, in games of hidden moves that are not compiled.

  python -m benchmarks.papers.hidden_moves [--games 20] [--names phantom_ttt] [--against random mcts]

The opponents: the blueprint (OpenSpiel's outcome sampling), random moves, OpenSpiel's IS-MCTS with the hidden
states that our particles draw, because these games cannot draw them, and its MCTS, which sees all hidden
moves. Seats alternate. A row has the games won, drawn and lost, the mean with its 95% interval, the mean of
the blueprint itself against the same opponent, and the processor time of a decision of the search with
compilation: median, and 95% of all are shorter. Budgets are counts: a busy machine plays the same games.
"""

import time

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import ismcts, mcts

from benchmarks.machine import describe, duration, flags
from ps_cfr_spiel import KnowledgeBot, matches
from ps_cfr_spiel.simulated import OpenSpielStates, Particles

NAMES = ["phantom_ttt", "dark_hex(board_size=3)"]
BLUEPRINT = 100_000  # iterations of outcome sampling
SIMULATIONS = 200  # of a tree search's decision
EVERY = 20  # games between two rows


class Blueprint(openspiel_policy.Policy):
  """The average policy of OpenSpiel's outcome sampling, as a policy of Python."""

  def __init__(self, game: pyspiel.Game, iterations: int):
    """Samples."""
    super().__init__(game, [0, 1])
    self._solver = pyspiel.OutcomeSamplingMCCFRSolver(game, 0.6, 1)  # its policy needs it alive
    for _ in range(iterations):
      self._solver.run_iteration()
    self._policy = self._solver.average_policy()

  def action_probabilities(self, state, player_id=None):
    return self._policy.action_probabilities(state)


class InformationSetSearch(ismcts.ISMCTSBot):
  """OpenSpiel's IS-MCTS, in matches."""

  def restart_at(self, state):
    self.restart()


def information_set_search(game: pyspiel.Game, seat: int) -> pyspiel.Bot:
  """OpenSpiel's IS-MCTS, with hidden states of uniform play."""
  bot = InformationSetSearch(
    game, mcts.RandomRolloutEvaluator(1, np.random.RandomState(seat)), 2.0, SIMULATIONS,
    random_state=np.random.RandomState(seat),
  )  # fmt: skip
  random = np.random.default_rng(seat)
  particles = Particles(OpenSpielStates(game, openspiel_policy.UniformRandomPolicy(game)), seat, SIMULATIONS)

  def resample(state, player):
    particles.follow(state)
    return particles.hidden[particles.draw(1, random)[0]].clone() if len(particles) else state.clone()

  bot.set_resampler(resample)
  return bot


class Result:
  """The utility of each game of a match, for the first player."""

  def __init__(self):
    self.worth = np.empty(0)

  def add(self, game: pyspiel.Game, first: matches.Player, second: matches.Player) -> None:
    """Play `EVERY` more games."""
    self.worth = np.append(self.worth, matches.match(game, first, second, EVERY).values)

  def score(self) -> str:
    """Games won, drawn and lost."""
    return " / ".join(str((np.sign(self.worth) == sign).sum()) for sign in (1, 0, -1))

  def mean(self) -> str:
    """The result with its 95% interval."""
    return f"{self.worth.mean():.3f} ± {1.96 * self.worth.std(ddof=1) / len(self.worth) ** 0.5:.3f}"


class Timed(KnowledgeBot):
  """The search; `seconds` are the processor's."""

  def step(self, state):
    began = time.process_time()
    action = super().step(state)
    self.seconds[-1] = time.process_time() - began
    return action


def main() -> None:
  """Print a row for each game and opponent."""
  options = flags(
    __doc__, games=20, names=NAMES, against=["blueprint", "random", "is-mcts", "mcts"], gadget="max-margin",
    depth=1, iterations=100, histories=20, rollouts=400, seed=0,
  )  # fmt: skip
  print(describe(), flush=True)
  budget = {key: getattr(options, key) for key in ("gadget", "depth", "iterations", "histories", "rollouts")}
  print(budget, flush=True)
  for name in options.names:
    game = pyspiel.load_game(name)
    blueprint = Blueprint(game, BLUEPRINT)
    evaluator = pyspiel.RandomRolloutEvaluator(1, 0)
    opponents = {
      "blueprint": matches.player(blueprint, options.seed + 1),
      "random": matches.player("random", options.seed + 1),
      "is-mcts": lambda seat, game=game: information_set_search(game, seat),
      "mcts": lambda seat, game=game, of=evaluator: pyspiel.MCTSBot(
        game, of, 2.0, SIMULATIONS, 100, False, seat, False
      ),
    }
    # Bots keep their compiled shapes.
    bots = {seat: Timed(game, seat, blueprint, seed=2 * options.seed + seat, **budget) for seat in (0, 1)}
    for who in options.against:
      for bot in bots.values():
        bot.seconds.clear()
      plain = Result()
      result = Result()
      for _ in range(0, options.games, EVERY):  # a row for each of them: the last one counts
        plain.add(game, matches.player(blueprint, options.seed + 2 + len(plain.worth)), opponents[who])
        result.add(game, bots.__getitem__, opponents[who])
        half, most = np.percentile([seconds for bot in bots.values() for seconds in bot.seconds], [50, 95])
        row = name, who, result.score(), result.mean(), plain.mean(), duration(half), duration(most)
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
  main()
