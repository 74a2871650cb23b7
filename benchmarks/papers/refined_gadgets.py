"""Exploitability of continual re-solving with the safe gadgets as they are, and refined.

  python -m benchmarks.papers.refined_gadgets

Kubíček, Lisý and Sandholm 2026 report reductions of more than half. Exploitability is exact, of the
tabularised policy, in float64.
"""

import pyspiel

from benchmarks.machine import flags
from benchmarks.papers.resolving_exploitability import resolved

GOOFSPIEL = "turn_based_simultaneous_game(game=goofspiel(num_cards=4,imp_info=True,points_order=descending))"
GAMES = {
  "Leduc": "leduc_poker",
  "goofspiel, 4 cards": GOOFSPIEL,
  "liar's dice, 3 sides": "liars_dice(dice_sides=3)",
  "Glasses": "glasses",
}
MARKS = (30, 100, 300, 1000)


def main() -> None:
  """Print the table."""
  flags(__doc__)
  for title, name in GAMES.items():
    cells = [
      " / ".join(f"{resolved(pyspiel.load_game(name), gadget=kind + gadget)(n):.1e}" for n in MARKS)
      for gadget in ("cfr-d", "max-margin")
      for kind in ("", "refined-")
    ]
    print("|", " | ".join([title, *cells]), "|", flush=True)


if __name__ == "__main__":
  main()
