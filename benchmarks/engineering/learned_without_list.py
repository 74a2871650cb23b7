"""Values learned by self-play without a list of the game: exploitability of searches by them, turn by turn.

  python -m benchmarks.engineering.learned_without_list --game leduc_poker
  python -m benchmarks.engineering.learned_without_list --exact 40 160 640
  python -m benchmarks.engineering.learned_without_list --game 'liars_dice(dice_sides=6)' --seeds 0
    --features last-bid --turns 9 --games 100 --chains 100 --steps 2000 --width 96 --every 9 --marks 1000

Prints a line for each seed and every --every turns: examples, error of values held out, exploitability of
searches of one decision ahead after each of --marks iterations, processor seconds of learning so far. The
game is listed to measure alone: `ContinualResolving` plays as `OnDemandResolving` does, and is quicker to
evaluate whole. --exact instead learns from the ends of some games, whose values are exact: is the error one
of data, or of the network? The network reads OpenSpiel's tensors, or with --features last-bid the numbers of
Brown et al. (2020) in liar's dice: the last bid, the player to act, and the dice; earlier bids play no part.
"""

import argparse
import time

import pyspiel

from benchmarks.machine import describe, flags
from ps_cfr_spiel.arguments import check_option
from ps_cfr_spiel.evaluation import evaluate_policy
from ps_cfr_spiel.learning import LearnOptions, NetworkValues
from ps_cfr_spiel.solvers import ContinualResolving
from ps_cfr_spiel.values import learn


def last_bid(state: pyspiel.State, player: int) -> list[float]:
  """The last bid of liar's dice and the player to act, as indicators, and a count of the own dice by face."""
  game, moves = state.get_game(), state.history()
  parameters = game.get_parameters()
  dice, bids = parameters.get("numdice", 1), [0.0] * game.num_distinct_actions()
  faces = [0.0] * parameters.get("dice_sides", 6)
  for face in moves[player * dice : (player + 1) * dice]:
    faces[face] += 1
  for bid in moves[2 * dice :][-1:]:
    bids[bid] = 1.0
  return [*bids, *faces, *(float(state.current_player() == i) for i in (0, 1))]


FEATURES = {"tensors": None, "last-bid": last_bid}


def learned(game: pyspiel.Game, seed: int, options: argparse.Namespace) -> None:
  """Learns, and prints a line for each turn; what the measuring takes is not counted."""
  spent, began, turn = 0.0, time.process_time(), 0

  def tell(values: NetworkValues) -> None:
    nonlocal spent, began, turn
    spent += time.process_time() - began
    card, gains = values.card, ""
    if not turn % options.every:
      for mark in options.marks:
        search = ContinualResolving(game, mark, lookahead=1, value_function=values)
        gains += f"{evaluate_policy(game, search.tabularise(progress=False)).exploitability:9.4f}"
    facts = f"{seed:4}{turn:5}{card['learned_from']:10}{card['error']:8.3f}{spent:9.0f}"
    print(f"{facts}{gains}", flush=True)
    began, turn = time.process_time(), turn + 1

  size = {"steps": options.steps, "width": options.width, "batch": 256, "layers": 2, "learning_rate": 3e-3}
  count = {"turns": options.turns, "draws": options.games, "chains": options.chains}
  teacher = {"teacher": "self-play", "iterations": options.iterations, "seed": seed}
  folder = f"{options.folder}-{seed}{options.ends}" if options.folder else None
  learn(
    game,
    LearnOptions(**size, **count, **teacher),
    callback=tell,
    progress=False,
    folder=folder,
    features=FEATURES[options.features],
  )


def main() -> None:
  """Prints the table."""
  options = flags(
    __doc__, game="leduc_poker", seeds=[0, 1, 2], turns=8, games=150, chains=40, steps=3000, width=64,
    iterations=100, marks=[100, 1000], every=4, folder=None, exact=[0], features="tensors",
  )  # fmt: skip
  game = pyspiel.load_game(options.game)
  check_option("--features", options.features, FEATURES)
  print(describe(), f"\n\n{options.game}, exploitability after iterations:", sep="")
  head = f"{'seed':>4}{'turn':>5}{'examples':>10}{'error':>8}{'seconds':>9}"
  print(head + "".join(f"{mark:9,}" for mark in options.marks))
  for seed in options.seeds:
    for games in options.exact:
      ends = {"turns": 0, "games": games, "marks": [], "ends": f"-{games}"} if games else {"ends": ""}
      learned(game, seed, argparse.Namespace(**{**vars(options), **ends}))


if __name__ == "__main__":
  main()
