"""The noise of matches in hold'em: standard deviations of a hand's worth to the first player, by method.

  python -m benchmarks.engineering.match_noise
  python -m benchmarks.engineering.match_noise --blueprint FILE --pairs blueprint:blueprint \
    --methods chips both --mirrored 0 --seeds 1

Prints a line for each pair of players and seed: the standard error of the mean times the square root of the
hands, in big blinds, for chips and for the estimates with less luck, with and without mirrored deals. The
method `both` is AIVAT with the probabilities of both players, `aivat` with the first player's alone.
`--blueprint` has a file of `solve` or `train`, which plays as `blueprint`.
"""

import time

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from benchmarks.machine import flags
from ps_cfr_spiel import matches
from ps_cfr_spiel.abstractions import Translation, WrappedPolicy
from ps_cfr_spiel.solvers import load_policy


def main() -> None:
  """Prints the table."""
  options = flags(
    __doc__,
    hands=1000,
    stack=20000,
    seeds=3,
    blueprint="",
    pairs=["always_call:random", "random:always_call", "random:random", "all_in:always_call"],
    methods=["chips", "mivat", "aivat"],
    mirrored=[0, 1],
  )
  game = pyspiel.load_game(f"holdem(stack={options.stack})")
  players = {
    "random": openspiel_policy.UniformRandomPolicy(game),
    **{name: matches.Habit(name) for name in ("always_call", "all_in", "fold")},
  }
  if options.blueprint:
    players["blueprint"] = WrappedPolicy(game, load_policy(options.blueprint), Translation())
  print(f"{'players':28}{'seed':>5}{'mirrored':>10}" + "".join(f"{method:>10}" for method in options.methods))
  for first, second in (pair.split(":") for pair in options.pairs):
    for seed in range(options.seeds):
      for mirrored in map(bool, options.mirrored):
        made = [matches.player(players[name], 2 * seed + n) for n, name in enumerate((first, second))]
        records = matches.play_games(
          game, made[0], made[1], games=options.hands, seed=seed, mirrored=mirrored
        )
        deviations = ""
        for method in options.methods:
          both = method == "both"
          result = matches.evaluate_match(
            game,
            records,
            players[first],
            method="aivat" if both else method,
            opponent=players[second] if both else None,
          )
          deviations += f"{result.standard_error * np.sqrt(options.hands) / 100:10.3g}"
        seconds = f"{time.process_time():8.0f} s of processor"
        print(f"{first + ' v ' + second:28}{seed:5}{mirrored!s:>10}{deviations}{seconds}", flush=True)


if __name__ == "__main__":
  main()
