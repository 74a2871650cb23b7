"""Searches in trees made on demand beside those in the tree of the whole game: the largest difference.

  python -m benchmarks.engineering.made_on_demand --plays 1

Both play the same random games in float64, and answer at every decision on the way. --ahead lets searches end
one decision ahead, at values by CFR. Prints for each game its histories, the answers, the largest difference
of a probability, and processor seconds. By --rule rm+ some regrets tie in liar's dice 1x5, and the last bits
of chance's probabilities decide; games whose histories are made have a row for each infostate in both trees.
"""

import time
from typing import Any

import numpy as np
import pyspiel

from benchmarks.machine import describe, flags
from ps_cfr_spiel import ContinualResolving
from ps_cfr_spiel.matches import OnDemandResolving
from ps_cfr_spiel.resolving.subgames import PublicLines, Subgames
from ps_cfr_spiel.values import CFRValues

GOOFSPIEL = "goofspiel(num_cards={},imp_info=True,points_order=descending,returns_type=win_loss)"
GAMES = [
  "kuhn_poker",
  "leduc_poker",
  *(f"liars_dice(dice_sides={sides})" for sides in (4, 5, 6)),
  *(GOOFSPIEL.format(cards) for cards in (4, 5)),
  "cheat(ranks=3,suits=2,hand_size=1,max_turns=3,first_player=0)",
]


class Listed(ContinualResolving):
  """The searches in the whole tree, with a row for each infostate if `sparse`."""

  def __init__(self, game: pyspiel.Game, sparse: bool, **options: Any):
    """Compile the game."""
    super().__init__(game, **options)
    if sparse:
      subgames = Subgames.of(self.game, leaves="sparse")
      self.searcher = self._make_searcher(subgames)
      self._problems, self.tree, self.labels = self.searcher.problems, subgames.tree, subgames.labels


def compared(name: str, plays: int, options: dict[str, Any]) -> str:
  """The row of a game."""
  began, game, answers, largest = time.process_time(), pyspiel.load_game(name), 0, 0.0
  made = OnDemandResolving(game, **options)
  listed = Listed(game, not isinstance(made.searches.states, PublicLines), **options)
  for seed in range(plays):
    random, state = np.random.default_rng(seed), game.new_initial_state()
    while not state.is_terminal():
      if not state.is_chance_node():
        for player in (0, 1) if state.is_simultaneous_node() else (state.current_player(),):
          pair = [policy.action_probabilities(state, player) for policy in (listed, made)]
          largest = max(largest, *(abs(pair[0][action] - pair[1][action]) for action in pair[0]))
          answers += 1
      outcomes = dict(state.chance_outcomes()) if state.is_chance_node() else {}
      state.apply_action(int(random.choice([a for a in state.legal_actions() if outcomes.get(a, 1) > 0])))
  spent = time.process_time() - began
  return f"{name.partition(',')[0]:26}{listed.labels.histories:10,}{answers:9}{largest:12.1e}{spent:9.0f}"


def main() -> None:
  """Prints the table."""
  options = flags(__doc__, games=GAMES, plays=1, iterations=10, rule="nrm+", ahead=False)
  print(describe(), f"\n\n{'game':26}{'histories':>10}{'answers':>9}{'difference':>12}{'seconds':>9}", sep="")
  solving = {"rule": options.rule, "dtype": "float64", "iterations": options.iterations}
  if options.ahead:
    solving |= {"lookahead": 1, "value_function": CFRValues(3, rule=options.rule)}
  for name in options.games:
    print(compared(name, options.plays, solving), flush=True)


if __name__ == "__main__":
  main()
