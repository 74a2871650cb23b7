"""The losses of a strategy at each infostate: exploitability counts only those that its own play comes to.

The value of an action counts the others' hands, and other hidden moves, by how their strategies come there.
So that this is said where they never do, they are trembled: each of their actions has at least the
probability `TREMBLE`, too little to move any other value beyond rounding.
"""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyspiel

from ps_cfr_spiel.loading import sequential
from ps_cfr_spiel.options import RARE
from ps_cfr_spiel.policy import OpenSpielPolicy, TreePolicy, strategies_of, tree_for
from ps_cfr_spiel.tree import Labels, PublicTree

TREMBLE = 1e-12


class Losses(NamedTuple):
  """Losses at some infostates, in the game's utility; nan without any."""

  infostates: int
  mean: float
  percentile: float  #: the 99th
  worst: float

  @classmethod
  def of(cls, losses: np.ndarray) -> "Losses":
    """Those of float64[n] losses."""
    if not len(losses):
      return cls(0, np.nan, np.nan, np.nan)
    return cls(len(losses), float(losses.mean()), float(np.quantile(losses, 0.99)), float(losses.max()))


@dataclasses.dataclass(frozen=True)
class LocalRegrets:
  """The losses of a profile at n infostates: all to which chance may lead, without locked ones."""

  labels: Labels
  stakes: float  #: half of the largest less the smallest utility of the game
  decision: np.ndarray  #: int[n], the number of the infostate's row in `labels.decisions`
  type: np.ndarray  #: int[n], its type there
  #: float64[n], the value of the best action less that of the strategy, if all then follow the profile.
  following: np.ndarray
  #: float64[n], the same if the player goes on by a best response, after either: at least `following`.
  onward: np.ndarray
  acting: np.ndarray  #: float64[n], probability that the player's own choices lead there
  others: np.ndarray  #: float64[n], that the others' do, given that chance does

  @property
  def groups(self) -> dict[str, np.ndarray]:
    """bool[n] for each group of infostates: "all", and those of `RARE`, by reach without chance."""
    rare = zip(RARE.items(), (self.acting, self.others), strict=True)
    return {"all": np.ones(len(self.acting), bool), **{name: reach < most for (name, most), reach in rare}}

  def losses(self, group: str = "all", onward: bool = False) -> Losses:
    """The losses of a group if the player then follows the strategy, or goes on by a best response."""
    return Losses.of((self.onward if onward else self.following)[self.groups[group]])

  def worst(self, count: int = 10) -> list[tuple[int, str, float]]:
    """The infostates with the largest `following` in order: (player, information state string, loss)."""
    places = []
    for k in np.argsort(-self.following, kind="stable")[:count]:
      decision = self.labels.decisions[int(self.decision[k])]
      places.append((decision.player, str(decision.infostates[int(self.type[k])]), float(self.following[k])))
    return places


def local_regrets(
  game: pyspiel.Game,
  policy: OpenSpielPolicy,
  tree: PublicTree | None = None,
  progress: bool | None = None,
  **options: object,
) -> LocalRegrets:
  """The losses of any OpenSpiel policy at each infostate, in float64; all 0 in a sequential equilibrium.

  Args:
    game: any game that `build_tree` takes.
    policy: any OpenSpiel policy, Python or C++, of all players.
    tree: of `build_tree(game)`, for many policies of one game; by default it is built.
    progress: of `build_tree`.
    **options: of `build_tree`; by default those with which a `TreePolicy` was made.

  ValueError if the policy or the tree is not one of this game, or an option is unknown; TypeError if it is
  not a policy.
  """
  game = sequential(game)
  tree = tree_for(game, policy, tree, progress, **options)
  played, labels = as_table(tree, policy, game), tree.names
  columns: list[np.ndarray] = [np.zeros((6, 0))]
  for player in range(game.num_players()):
    trembled = against_trembles(played, player)
    for number, decision in enumerate(labels.decisions):
      if decision.player == player:
        columns.append(_row(played, trembled, number))
  decision, type_, *measured = np.concatenate(columns, 1)
  stakes = (game.max_utility() - game.min_utility()) / 2
  return LocalRegrets(labels, stakes, decision.astype(int), type_.astype(int), *measured)


def as_table(tree: PublicTree, policy: OpenSpielPolicy, game: pyspiel.Game) -> TreePolicy:
  """An OpenSpiel policy as a table of the tree; errors as of `strategies_of`."""
  info = policy.info if isinstance(policy, TreePolicy) else None
  strategies = [[answered(block) for block in blocks] for blocks in strategies_of(tree, policy)]
  table = TreePolicy(game, tree.names, strategies, info)
  table.tree = tree
  return table


def answered(block: np.ndarray) -> np.ndarray:
  """[A, rows, H], uniform for types that cannot be in a row, for which no policy was asked."""
  return np.where(block.any(0), block, 1.0)


def against_trembles(policy: TreePolicy, player: int) -> TreePolicy:
  """The policy with trembles of all but one player: it has values of all that player's actions."""
  strategies = [s if i == player else _trembled(s) for i, s in enumerate(policy.strategies)]
  trembled = TreePolicy(policy.game, policy.labels, strategies)
  trembled.tree = policy.tree
  return trembled


def _trembled(strategy: Sequence[np.ndarray]) -> list[np.ndarray]:
  """A player's strategy, [A, rows, H] for each block, with at least `TREMBLE` for each action."""
  return [(1 - len(block) * TREMBLE) * block + TREMBLE for block in strategy]


def _row(played: TreePolicy, trembled: TreePolicy, number: int) -> np.ndarray:
  """float64[6, n]: the fields of `LocalRegrets` at the infostates of one row, the opponents `trembled`."""
  decision = played.labels.decisions[number]
  worth, reach, strategy = trembled.worths.at(decision), played.reach(decision), played.table(decision)
  value = (strategy * worth.value).sum(0)
  others = np.divide(reach.others, reach.dealt, out=np.zeros_like(value), where=reach.dealt > 0)
  counted = np.isfinite(value) & [infostate is not None for infostate in decision.infostates]
  if number in played.locked:
    counted &= ~played.locked[number].any(0)
  losses = (np.maximum(most.max(0) - value, 0) for most in (worth.value, worth.best))
  fields = np.full(len(value), number), np.arange(len(value)), *losses, reach.acting, others
  return np.stack(fields)[:, counted]
