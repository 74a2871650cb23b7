"""Random small extensive-form games of perfect recall, as text for OpenSpiel's `efg_game`."""

import numpy as np
import pyspiel


def random_game(seed: int) -> pyspiel.Game:
  """A two-player zero-sum game with a few hundred histories at most.

  Chance deals one of a few situations, each player sees a random function of it; then up to four moves, each
  seen by the opponent or hidden, with a player and a number of actions that are common knowledge. Information
  is made from what a player saw and did, so that recall is perfect; everyone sees that a move was made.
  """
  rng = np.random.default_rng(seed)
  situations = int(rng.integers(2, 5))
  prior = rng.integers(1, 6, situations)
  signals = rng.integers(0, int(rng.integers(1, 4)), (2, situations))
  moves = int(rng.integers(2, 5))
  plan = [(int(rng.integers(2)), int(rng.integers(2, 4)), bool(rng.random() < 0.6)) for _ in range(moves)]
  stops = {(d, a) for d in range(len(plan) - 1) for a in range(3) if plan[d][2] and rng.random() < 0.3}
  names: tuple[dict, dict] = ({}, {})
  lines, outcome = [], 0

  def walk(situation, depth, seen, stopped):
    nonlocal outcome
    if stopped or depth == len(plan):
      outcome += 1
      payoff = int(rng.integers(-9, 10))
      lines.append(f't "" {outcome} "" {{ {payoff} {-payoff} }}')
      return
    player, actions, public = plan[depth]
    own = names[player]
    number = own.setdefault(seen[player], len(own) + 1)
    choices = " ".join(f'"a{a}"' for a in range(actions))
    lines.append(f'p "" {player + 1} {number} "i{number}" {{ {choices} }} 0')
    for a in range(actions):
      after = list(seen)
      after[player] += (("own", a),)
      after[1 - player] += (("other", a if public else "?"),)
      walk(situation, depth + 1, tuple(after), (depth, a) in stops)

  weights = " ".join(f'"s{s}" {p / prior.sum():.12f}' for s, p in enumerate(prior))
  lines.append(f'c "" 1 "deal" {{ {weights} }} 0')
  for s in range(situations):
    walk(s, 0, tuple(((("signal", int(signals[i, s])),)) for i in (0, 1)), False)
  text = 'EFG 2 R "random" { "A" "B" } ""\n' + "\n".join(lines) + "\n"
  return pyspiel.load_efg_game(text)
