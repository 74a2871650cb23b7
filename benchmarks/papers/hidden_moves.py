"""Matches of a search by knowledge over a cheap blueprint, in games of hidden moves that are not compiled.

  python -m benchmarks.papers.hidden_moves [--games 200] [--names phantom_ttt] [--against random mcts]
      [--output FILE]

--output keeps the games, a line for every 20, and goes on where an earlier call stopped.

The opponents: the blueprint (OpenSpiel's outcome sampling), random moves, OpenSpiel's IS-MCTS with the hidden
states that our particles draw, because these games cannot draw them, its MCTS, which sees all hidden moves,
and a sampled local best response to the blueprint (`ParticleBot` without depth), whose results are lower
bounds on exploitability. Seats alternate. A row has the games won, drawn and lost, the mean with its 95%
interval, the mean of the blueprint itself against the same opponent, and the processor time of a decision of
the search: median, and 95% of all are shorter. Budgets are counts: a busy machine plays the same games.
"""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import ismcts, mcts

from benchmarks.machine import describe, duration, flags
from ps_cfr_spiel import matches
from ps_cfr_spiel.matches import ParticleBot
from ps_cfr_spiel.sampling.keyed import OpenSpielStates, Particles

NAMES = ["dark_hex(board_size=3)", "phantom_ttt"]
BLUEPRINT = 100_000  # iterations of outcome sampling
SIMULATIONS = 200  # of a tree search's decision
PLAYS, PARTICLES = 1000, 500  # of a decision of the response
EVERY = 20  # games that are played and kept together


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


def information_set_search(
  game: pyspiel.Game, seat: int, seed: int, simulations: int = SIMULATIONS
) -> pyspiel.Bot:
  """OpenSpiel's IS-MCTS, with hidden states of uniform play."""
  bot = InformationSetSearch(
    game, mcts.RandomRolloutEvaluator(1, np.random.RandomState(seed)), 2.0, simulations,
    random_state=np.random.RandomState(seed),
  )  # fmt: skip
  random = np.random.default_rng(seed)
  particles = Particles(
    OpenSpielStates(game, openspiel_policy.UniformRandomPolicy(game)), seat, simulations, seed
  )

  def resample(state, player):
    particles.follow(state)
    return particles.hidden[particles.draw(1, random)[0]].clone() if len(particles) else state.clone()

  bot.set_resampler(resample)
  return bot


class Search(ParticleBot):
  """The search; `seconds` are the processor's."""

  def begin(self, seed: int) -> None:
    """New random numbers, with the compiled shapes of all games so far."""
    self._plays = self._random = np.random.default_rng(seed)
    self.particles.seed = seed
    self._answers.clear()
    self.seconds.clear()

  def step(self, state):
    began = time.process_time()
    action = super().step(state)
    self.seconds[-1] = time.process_time() - began
    return action


def row(kept: list[dict[str, Any]]) -> list[str]:
  """Score and mean of the search, mean of the blueprint, seconds of a decision: median and 95%."""
  search, blueprint, seconds = (
    np.concatenate([games[name] for games in kept]) for name in ("search", "blueprint", "seconds")
  )
  score = " / ".join(str((np.sign(search) == sign).sum()) for sign in (1, 0, -1))
  means = [f"{x.mean():.3f} ± {1.96 * x.std(ddof=1) / len(x) ** 0.5:.3f}" for x in (search, blueprint)]
  searched = seconds[seconds > 1e-3]  # the others are answers that the bot has kept
  return [score, *means, *map(duration, np.percentile(searched, [50, 95]))]


def main() -> None:
  """Print a row for each game and opponent."""
  options = flags(
    __doc__, games=200, names=NAMES, against=["blueprint", "is-mcts", "response", "random", "mcts"],
    gadget="max-margin", depth=1, iterations=100, histories=20, rollouts=400, seed=0, output=None,
  )  # fmt: skip
  print(describe(), flush=True)
  budget = {key: getattr(options, key) for key in ("gadget", "depth", "iterations", "histories", "rollouts")}
  print(budget, flush=True)
  output = None if options.output is None else Path(options.output)
  known = [json.loads(line) for line in output.open()] if output and output.exists() else []
  evaluator = pyspiel.RandomRolloutEvaluator(1, 0)
  for name in options.names:
    game = pyspiel.load_game(name)
    blueprint = Blueprint(game, BLUEPRINT)
    bots = [Search(game, seat, blueprint, **budget) for seat in (0, 1)]
    for who in options.against:
      match = {"game": name, "against": who, "seed": options.seed, **budget}
      kept = [games for games in known if match.items() <= games.items()]
      for part in range(len(kept), -(-options.games // EVERY)):
        seed = 4 * (1000 * options.seed + part)
        opponent = {
          "blueprint": matches.player(blueprint, seed),
          "random": matches.player("random", seed),
          "is-mcts": lambda seat, game=game, seed=seed: information_set_search(game, seat, seed + seat),
          "response": lambda seat, game=game, of=blueprint, seed=seed: ParticleBot(
            game, seat, of, rollouts=PLAYS, particles=PARTICLES, seed=seed + seat
          ),
          "mcts": lambda seat, game=game, seed=seed: pyspiel.MCTSBot(
            game, evaluator, 2.0, SIMULATIONS, 100, False, seed + seat, False
          ),
        }[who]
        for seat, bot in enumerate(bots):
          bot.begin(seed + 2 + seat)
        played = {
          key: matches.match(game, player, opponent, EVERY).values.tolist()
          for key, player in (
            ("search", bots.__getitem__),
            ("blueprint", matches.player(blueprint, seed + 2)),
          )
        }
        seconds = [round(second, 4) for bot in bots for second in bot.seconds]
        kept.append({**match, **played, "seconds": seconds})
        if output:
          with output.open("a") as file:
            file.write(json.dumps(kept[-1]) + "\n")
        if part % 5 == 4:
          print("|", " | ".join([name, who, *row(kept)]), "|", flush=True)
      print("|", " | ".join([name, who, *row(kept)]), "|", flush=True)


if __name__ == "__main__":
  main()
