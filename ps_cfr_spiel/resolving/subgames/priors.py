"""The deal of the infostates in which a subgame begins."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from ps_cfr_spiel.backend.array_shapes import Float, Int
from ps_cfr_spiel.compilation.compiler import FormOrigin
from ps_cfr_spiel.compilation.histories import HistoryOrigin
from ps_cfr_spiel.resolving.subgames.nodes import RootInfostates, SubgameNodes
from ps_cfr_spiel.tree import PublicTree


@dataclasses.dataclass(frozen=True)
class HistoriesPrior:
  """The histories at the roots, n of them."""

  #: for each player the root of each history.
  root: tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]]
  type: tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]]  #: for each player
  chance: Float[np.ndarray, " n"]  #: product of the chance probabilities on the way
  shapes: tuple[tuple[int, int], tuple[int, int]]  #: for each player (roots, H)
  largest_utility: float  #: of the whole game, in absolute terms

  def weight(self, player: int, range_: Float[np.ndarray, "_roots G"]) -> Float[np.ndarray, "_roots H"]:
    """Probability that chance and the opponent's range lead to the player's infostates; 0 in padding."""
    weight, other = np.zeros(self.shapes[player]), 1 - player
    probability = self.chance * range_[self.root[other], self.type[other]]
    np.add.at(weight, (self.root[player], self.type[player]), probability)
    return weight


@dataclasses.dataclass(frozen=True)
class DealsPrior:
  """The prior of a Bayesian form: its deal, and public cards."""

  deals: FormOrigin  #: of the form
  #: for each player the public states of the first n roots; the rest is padding.
  public: tuple[Int[np.ndarray, " _n"], Int[np.ndarray, " _n"]]

  @property
  def largest_utility(self) -> float:
    """The same as in `HistoriesPrior`."""
    return self.deals.largest_utility

  def weight(self, player: int, range_: Float[np.ndarray, "_roots G"]) -> Float[np.ndarray, "_roots H"]:
    """See `HistoriesPrior`."""
    public = self.public[player]
    weight = self.deals.weight(player, range_[: len(public)], public.tolist())
    return np.pad(weight, [(0, len(range_) - len(public)), (0, 0)])


Prior = HistoriesPrior | DealsPrior


def find_prior(tree: PublicTree, nodes: SubgameNodes, roots: Sequence[RootInfostates]) -> Prior:
  """The prior of a subgame with these roots."""
  shapes = [(len(s.sequence), player.types) for s, player in zip(roots, tree.players, strict=True)]
  source = tree.names.source
  if isinstance(source, FormOrigin):
    return DealsPrior(source, (roots[0].public, roots[1].public))
  assert isinstance(source, HistoryOrigin) and source.public is not None
  chosen = np.flatnonzero(np.isin(source.public, roots[0].public))
  known = [chosen if nodes.histories else source.public[chosen]] * 2
  first, second = (
    s.find(nodes.knowledge[i][node]) for i, (s, node) in enumerate(zip(roots, known, strict=True))
  )
  return HistoriesPrior(
    (first, second),
    (source.types[0][chosen], source.types[1][chosen]),
    source.histories.chance[chosen],
    (shapes[0], shapes[1]),
    source.histories.largest_utility,
  )
