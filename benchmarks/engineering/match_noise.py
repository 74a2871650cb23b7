"""The noise of matches in hold'em: standard deviations of a hand's worth to the first player, by method.

  python -m benchmarks.engineering.match_noise

Prints a line for each pair of players and seed: the standard error of the mean times the square root of the
hands, in big blinds, for chips and for the estimates with less luck, with and without mirrored deals.
"""

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from benchmarks.machine import flags
from ps_cfr_spiel import matches


def main() -> None:
  """Prints the table."""
  options = flags(__doc__, hands=1000, stack=20000, seeds=3)
  game = pyspiel.load_game(f"holdem(stack={options.stack})")
  players = {
    "random": openspiel_policy.UniformRandomPolicy(game),
    **{name: matches.Habit(name) for name in ("always_call", "all_in", "fold")},
  }
  pairs = [
    ("always_call", "random"),
    ("random", "always_call"),
    ("random", "random"),
    ("all_in", "always_call"),
  ]
  methods = ("chips", "mivat", "aivat")
  print(f"{'players':28}{'seed':>5}{'mirrored':>10}" + "".join(f"{method:>10}" for method in methods))
  for first, second in pairs:
    for seed in range(options.seeds):
      for mirrored in (False, True):
        made = [matches.player(players[name], 2 * seed + n) for n, name in enumerate((first, second))]
        records = matches.play_games(game, *made, options.hands, seed=seed, mirrored=mirrored)
        found = [
          matches.evaluate_match(game, records, players[first], method=method).standard_error
          for method in methods
        ]
        deviations = "".join(f"{error * np.sqrt(options.hands) / 100:10.3g}" for error in found)
        print(f"{first + ' v ' + second:28}{seed:5}{mirrored!s:>10}{deviations}", flush=True)


if __name__ == "__main__":
  main()
