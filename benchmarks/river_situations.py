"""Random river situations for the benchmarks: boards and ranges as data, so that nothing compiles twice.

Boards are uniform. Ranges are of one of two kinds:
  even     every hand has a weight of its own, uniform between 0 and 1: neither player is far ahead.
  halves   as DeepStack's training data were drawn (Moravčík et al. 2017, supplement): the weaker and the
           stronger half of the hands share the probability at random, and so on down to single hands.
           Often one player is far ahead.
"""

import dataclasses
from typing import NamedTuple

import numpy as np
import pyspiel
from ps_cfr_spiel.games.poker import cards

from ps_cfr_spiel import cfr
from ps_cfr_spiel.compiler import build_tree
from ps_cfr_spiel.device import jit, to_device
from ps_cfr_spiel.subgames import Ranges, Subgame, Subgames
from ps_cfr_spiel.tree import PublicTree, ShowdownLeaves, best_response_values

best_response = jit(static_argnames="player")(
  lambda tree, strategy, player: best_response_values(tree, player, strategy)[1]
)


class Situation(NamedTuple):
  """A river board and what the players may hold.

  Attributes:
    board: five cards.
    strength: int[1081], of all hands, the larger wins.
    ranges: for each player [1, 1081], summing to one.
  """

  board: str
  strength: np.ndarray
  ranges: Ranges


def draw(seed: int, count: int, kind: str) -> list[Situation]:
  """So many random situations, with ranges of one of `KINDS`."""
  rng, situations = np.random.default_rng(seed), []
  for _ in range(count):
    board = cards.card_names(rng.choice(52, cards.BOARD_SIZE, replace=False).tolist())
    parsed = cards.parse_board(board)
    strength = cards.strength(parsed, cards.parse_range("", parsed).cards)
    first, second = (KINDS[kind](rng, strength)[None] for _ in (0, 1))
    situations.append(Situation(board, strength, (first, second)))
  return situations


def _even(rng: np.random.Generator, strength: np.ndarray) -> np.ndarray:
  """[H], a range; see the module's docstring."""
  weights = rng.random(len(strength))
  return weights / weights.sum()


def _halves(rng: np.random.Generator, strength: np.ndarray) -> np.ndarray:
  """[H], a range; see the module's docstring."""
  probability = np.empty(len(strength))

  def share(hands: np.ndarray, mass: float) -> None:
    if len(hands) == 1:
      probability[hands] = mass
      return
    part, middle = mass * rng.random(), len(hands) // 2
    share(hands[:middle], part)
    share(hands[middle:], mass - part)

  share(np.argsort(strength, kind="stable"), 1.0)
  return probability


KINDS = {"even": _even, "halves": _halves}


def levels(situations: list[Situation]) -> int:
  """The most strengths that hands have on one of the boards."""
  return max(len(np.unique(situation.strength)) for situation in situations)


def load(situation: Situation, pot: int, stack: int, bets: str) -> pyspiel.Game:
  """The river of a situation, all hands equally likely; pot, stack, bets as in `river_subgame`."""
  parameters = {"board": situation.board, "pot": pot, "stack": stack, "bets": bets}
  return pyspiel.load_game("river_subgame", parameters)


def subgame(game: pyspiel.Game, width: int) -> Subgame:
  """The whole of a river as a subgame without ranges.

  Args:
    game: of `load`.
    width: of `levels`, so that all rivers with the same betting have arrays of the same shapes.
  """
  tree = build_tree(game, leaves="showdown")
  assert isinstance(tree.leaves, ShowdownLeaves)
  first, second = (
    dataclasses.replace(view, compare=np.pad(view.compare, ((0, 0), (0, width - view.compare.shape[1]))))
    for view in tree.leaves.views
  )
  leaves = dataclasses.replace(tree.leaves, views=(first, second))
  return Subgames(dataclasses.replace(tree, leaves=leaves)).cut([0])


def solve(tree: PublicTree, iterations: int, rule, alternating: bool = True, skip: int = 0):
  """Average strategies of both players, [A, rows, H] for each block, on the device, in float32."""
  tree = to_device(tree, "float32")
  state = cfr.init(tree, rule, "float32")
  state = cfr.solve(tree, state, iterations, skip, rule=rule, alternating=alternating)
  return [cfr.average_strategy(player) for player in state.players]


def response_values(tree: PublicTree, player: int, strategy) -> np.ndarray:
  """[1, H]: what a best response to the other's strategy gets in each of a player's infostates."""
  return np.asarray(best_response(*to_device((tree, strategy), "float32"), player=player), float)
