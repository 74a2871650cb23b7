"""Random river situations for the benchmarks: boards and ranges as data, so that nothing compiles twice.

They are drawn as `RandomSituations` draws them.
"""

import dataclasses
from typing import NamedTuple

import numpy as np
import pyspiel

from ps_cfr_spiel import cfr
from ps_cfr_spiel.backend.device import jit, to_device
from ps_cfr_spiel.cards.poker import cards
from ps_cfr_spiel.cards.poker.ranking import strengths
from ps_cfr_spiel.cards.poker.situations import RandomSituations
from ps_cfr_spiel.compilation.compiler import build_tree
from ps_cfr_spiel.resolving.subgames import Ranges, Subgame, Subgames
from ps_cfr_spiel.tree import NativeLeaves, PublicTree, ShowdownLeaves, best_response_values

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
  """So many random situations, with ranges of one of `options.DISTRIBUTIONS`."""
  situations = []
  for river in RandomSituations(count, seed, distribution=kind):
    (live,) = (~np.isin(cards.ALL_HANDS, river.board).any(1)).nonzero()
    strength = strengths(np.array(river.board), cards.ALL_HANDS[live])
    first, second = (own[None, live] for own in river.ranges)
    situations.append(Situation(cards.card_names(river.board), strength, (first, second)))
  return situations


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
  assert isinstance(tree.leaves, ShowdownLeaves | NativeLeaves)
  first, second = (
    dataclasses.replace(view, compare=np.pad(view.compare, ((0, 0), (0, width - view.compare.shape[1]))))
    for view in tree.leaves.views
  )
  leaves = dataclasses.replace(tree.leaves, views=(first, second))
  return Subgames(dataclasses.replace(tree, leaves=leaves)).cut([0])


def solve(tree: PublicTree, iterations: int, rule, alternating: bool = True, averaging_delay: int = 0):
  """Average strategies of both players, [A, rows, H] for each block, on the device, in float32."""
  tree = to_device(tree, "float32")
  state = cfr.init(tree, rule, "float32")
  state = cfr.run(tree, state, iterations, averaging_delay, rule=rule, alternating=alternating)
  return cfr.average_strategy(tree, state)


def response_values(tree: PublicTree, player: int, strategy) -> np.ndarray:
  """[1, H]: what a best response to the other's strategy gets in each of a player's infostates."""
  return np.asarray(best_response(*to_device((tree, strategy), "float32"), player=player), float)
