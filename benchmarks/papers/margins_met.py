"""Fig. 20.7 of Schmid 2021 on rivers that a blueprint comes to by itself.

  python -m benchmarks.papers.margins_met [--situations 100] [--iterations 2000] [--seed 0]
      [--least 0.001] [--plot docs/resolving_margins_met.png]

The packaged blueprint of no-limit hold'em (200 big blinds; fold, call, pot, all-in) plays against itself. On
each river where a decision is left, player 0's strategy there is solved again for all hands, without buckets,
from the ranges that the blueprint comes with. Promises are player 1's best response values against the
blueprint. The margin is that of `resolving_margins`, in chips for each visit, 100 to the big blind: the
least of all hands of player 1, or of those whose share of the likeliest one's range is at least --least.
Rivers with the same pot have the same betting, so one compiled program serves them (`leaves="native"`, where
a board's order of hands is data of one shape).
"""

import argparse

import numpy as np
import pyspiel
from tqdm.auto import tqdm

from benchmarks.machine import flags, picture
from benchmarks.papers import river_situations as rivers
from benchmarks.papers.resolving_margins import THESIS, draw, report
from ps_cfr_spiel.abstractions import Translation, WrappedPolicy
from ps_cfr_spiel.cards.poker import cards
from ps_cfr_spiel.cfr import make_rule
from ps_cfr_spiel.matches import pretrained_policy
from ps_cfr_spiel.resolving.subgames import GADGETS, Subgames
from ps_cfr_spiel.solvers.agents.holdem_searches import HandSearch

STACK = 20_000
HOLDEM = f"holdem(stack={STACK},blinds=100/50,bets=fcpa)"
RIVER = 3


def met(game: pyspiel.Game, policy: WrappedPolicy, random: np.random.Generator):
  """A state where a river begins, and both players' ranges there, float64[2, 1326]; None before one."""
  state, ranges = game.new_initial_state(), np.ones((2, len(cards.ALL_HANDS)))
  while not state.is_terminal():
    if state.is_chance_node():
      actions, chances = zip(*state.chance_outcomes(), strict=True)
      state.apply_action(int(random.choice(actions, p=chances)))
      continue
    if state.public_state.street == RIVER:
      return state, ranges
    player = state.current_player()
    odds, answer = policy.for_hands_at(state), policy.action_probabilities(state)
    actions, chances = zip(*answer.items(), strict=True)
    action = int(random.choice(actions, p=np.array(chances) / sum(chances)))
    ranges[player] *= odds[action]
    state.apply_action(action)
  return None


def pot_of(state: pyspiel.State) -> int:
  """The chips in the pot where a street begins."""
  return 2 * max(state.public_state.spent)


def margins(state: pyspiel.State, ranges: np.ndarray, policy: WrappedPolicy, options) -> dict[str, float]:
  """The smallest margin of each gadget's refinement."""
  board = [card for street in state.board_by_street() for card in street]
  parameters = {
    "board": cards.card_names(board),
    "pot": pot_of(state),
    "stack": STACK,
    "bets": "fcpa",
  }
  game = pyspiel.load_game("holdem_subgame", parameters)
  subgames = Subgames.of(game, leaves="native")
  blueprint = HandSearch(game, subgames).following(policy, state, [0])
  river = subgames.cut([0])
  first, second = (ranges[i][blueprint.hands(i)][None] / ranges[i].max() for i in (0, 1))
  pair = first, second
  ranged = GADGETS["unsafe"](river, 0, pair, None).tree
  promises = rivers.response_values(ranged, 1, river.there(0, blueprint.tables[0]))
  weight = river.prior.weight(1, first)
  held = (weight > 0) & (second >= options.least)
  result = {}
  for name in THESIS:
    tree = GADGETS[name](river, 0, pair, promises).tree
    strategy = rivers.solve(tree, options.iterations, make_rule(options.rule))[0]
    values = rivers.response_values(ranged, 1, strategy)
    result[name] = float(((promises - values)[held] / weight[held]).min())
  return result


def measure(options: argparse.Namespace) -> dict[int, list[dict[str, float]]]:
  """Print margins by pot and over all rivers; those of each river, by pot."""
  game, random = pyspiel.load_game(HOLDEM), np.random.default_rng(options.seed)
  policy = WrappedPolicy(game, pretrained_policy("holdem"), Translation())
  rows: dict[int, list[dict[str, float]]] = {}
  with tqdm(total=options.situations, unit=" rivers", disable=None) as bar:
    while sum(map(len, rows.values())) < options.situations:
      if (river := met(game, policy, random)) is not None:
        rows.setdefault(pot_of(river[0]), []).append(margins(*river, policy, options))
        bar.update()
  rows = dict(sorted(rows.items()))
  print(
    f"{options.situations} rivers, seed {options.seed}, {options.iterations:,} iterations of {options.rule}"
  )
  print("rivers by pot:", {pot: len(group) for pot, group in rows.items()})
  report(rows)
  return rows


def main() -> None:
  options = flags(
    __doc__ or "", situations=100, iterations=2000, rule="nrm+", seed=0, least=0.0, plot=None, redraw=False
  )
  picture(options, lambda: measure(options), draw)


if __name__ == "__main__":
  main()
