"""The ranges at which situations are solved: random ones, and reaches of strategies.

A sampler draws by number: a draw is one or more ranges for all public states of the frontier at once, and
depends on the seed and its number alone. In most draws here ranges are *reaches*, of two strategies from
early and late iterations of CFR, mixed with random ones; in the others they are random, with zeros among
them. The ranges in a search are reaches too, and a network trained on random ranges alone serves it badly.
`listening` has a sampler of the ranges in searches.
"""

import abc
import dataclasses
import functools
from collections.abc import Callable, Sequence

import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel import cfr
from ps_cfr_spiel.arguments import check_number
from ps_cfr_spiel.backend.device import jit, precision, to_device
from ps_cfr_spiel.cfr import NRMPlus
from ps_cfr_spiel.learning.boards.places import Drawn, FrontierStates, even_if_zero
from ps_cfr_spiel.tree import Array, PublicTree, sequence_reach

ITERATIONS = (1, 2, 3, 5, 8, 13, 20, 40, 80, 160)  # of CFR, the source of strategies for reaches
NOISE = (0.0, 0.02, 0.1, 0.3)  # shares of random strategies in them


class RangeSampler(abc.ABC):
  """A source of ranges; its `repr` goes into the card of the examples."""

  @abc.abstractmethod
  def bind(self, frontier: FrontierStates, seed: int) -> Callable[[int], list[Drawn]]:
    """A function from the number of a draw to its ranges, the same number of them for every draw."""


@dataclasses.dataclass(frozen=True)
class ReachSampler(RangeSampler):
  """Reaches of strategies of CFR, and random ranges; see the file."""

  share: float = 0.7  #: share of draws that are reaches

  def __post_init__(self):
    check_number("share", self.share, 0, 1)

  def bind(self, frontier: FrontierStates, seed: int) -> Callable[[int], list[Drawn]]:
    return _ReachSampler(frontier, seed, self.share)


class _ReachSampler:
  def __init__(self, frontier: FrontierStates, seed: int, share: float):
    self.frontier, self.seed, self.share = frontier, seed, share

  def __call__(self, number: int) -> list[Drawn]:
    random = np.random.default_rng([self.seed, number])
    reached = random.random() < self.share
    reach = [self._reach(i, random) if reached else None for i in (0, 1)]
    drawn = []
    for cut, slots in zip(self.frontier.cuts, self.frontier.slots, strict=True):
      pair = []
      for i in (0, 1):
        possible, reach_of_player = slots.possible[i], reach[i]
        if reach_of_player is not None:
          there = np.append(reach_of_player[cut.roots[i].sequence].ravel(), 0.0)[slots.index[i]]
        else:
          power = random.choice([0.5, 1.0, 2.0, 4.0], (len(possible), 1))
          there = random.random(possible.shape) ** power * (random.random(possible.shape) > 0.15)
        pair.append(even_if_zero(there, possible))
      drawn.append((pair[0], pair[1]))
    return [drawn]

  @functools.cached_property
  def profiles(self) -> list[list[list[np.ndarray]]]:
    """Strategies of the whole game for each player, from early and late iterations of CFR."""
    rule, strategies_of = NRMPlus(), [[], []]
    with precision("float32"):
      tree = to_device(self.frontier.subgames.tree.grouped(), "float32")
      state, done = cfr.init(tree, rule, "float32"), 0
      for mark in ITERATIONS:
        state = cfr.run(tree, state, mark - done, rule=rule)
        done = mark
        for strategies in (cfr.current_strategy(tree, state), cfr.average_strategy(tree, state)):
          for i, blocks in enumerate(strategies):
            strategies_of[i].append([np.asarray(block) for block in blocks])
    return strategies_of

  def _reach(self, player: int, random: np.random.Generator) -> np.ndarray:
    """[sequences, H]: the reach of a strategy of CFR, mixed with a random one."""
    profiles = self.profiles[player]
    strategy, share = profiles[random.integers(len(profiles))], random.choice(NOISE)
    mixed = perturbed(strategy, share, random)
    with precision("float32"):
      tree = self.frontier.subgames.tree
      return np.asarray(_reach(*to_device((tree, mixed), "float32"), player=player), float)


def perturbed(strategy: Sequence[np.ndarray], share: float, random: np.random.Generator) -> list[np.ndarray]:
  """A strategy [A, rows, H] for each block, mixed with a share of a random one."""
  mixed = []
  for block in strategy:
    noise = random.random(block.shape) ** random.choice([1.0, 3.0]) + 1e-9
    mixed.append((1 - share) * block + share * noise / noise.sum(0))
  return mixed


@jit(static_argnames="player")
def _reach(tree: PublicTree, strategy: Sequence[Array], player: int) -> Array:
  return jnp.concatenate(sequence_reach(tree.players[player], strategy))
