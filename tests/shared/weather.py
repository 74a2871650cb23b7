"""A game with public chance that is not poker: a coin for each player, a public sky, then a move each."""

import itertools

import numpy as np

SKIES = (0.1, 0.2, 0.3, 0.4)  # their probabilities


def weather(kinds=(0, 1, 2, 3)):
  """The game in Gambit's format, for `pyspiel.load_efg_game`; random payoffs by kinds of skies."""
  generator, lines = np.random.default_rng(0), ['EFG 2 R "weather" { "a" "b" } ""']
  ends, infostates, payoffs = itertools.count(1), ({}, {}), {}

  def play(coins, sky, moves):
    player = len(moves)
    if player == 2:
      payoff = payoffs.setdefault((coins, kinds[sky], moves), round(float(generator.normal()), 3))
      lines.append(f't "" {next(ends)} "" {{ {payoff} {-payoff} }}')
      return
    known = coins[player], sky, *moves
    number = infostates[player].setdefault(known, len(infostates[player]) + 1)
    name = " ".join(map(str, known))
    lines.append(f'p "" {player + 1} {number} "{player}: {name}" {{ "stay" "go" }} 0')
    for move in "sg":
      play(coins, sky, (*moves, move))

  lines.append('c "" 1 "first" { "0" 0.5 "1" 0.5 } 0')
  for first in (0, 1):
    lines.append(f'c "" {2 + first} "second" {{ "0" 0.25 "1" 0.75 }} 0')
    for second in (0, 1):
      odds = " ".join(f'"{sky}" {share}' for sky, share in enumerate(SKIES))
      lines.append(f'c "" {4 + 2 * first + second} "sky" {{ {odds} }} 0')
      for sky in range(len(SKIES)):
        play((first, second), sky, ())
  return "\n".join(lines) + "\n"
