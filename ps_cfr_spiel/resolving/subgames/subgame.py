"""Subgames: the tree below some public states, to the end of the game or to a frontier.

A subgame is cut from a compiled game by `cut.Subgames`. It is a `PublicTree` like any other, with two
differences. It begins in several infostates of each player, its *roots* (`PlayerTree.roots`), so the values
that come up are those of the public state's infostates, unnormalised. And its leaves count the opponent's
reach from the range at those roots (`ranged_leaves`). A player's own range does not affect that player's own
values, so infostates that the player avoids get a sensible strategy too.

Several public states may be roots at once, unless one lies below another: such subgames have nothing in
common, and one run of the solver solves them all.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from ps_cfr_spiel.backend.array_shapes import Float, Int
from ps_cfr_spiel.resolving.subgames.nodes import RootInfostates
from ps_cfr_spiel.resolving.subgames.priors import Prior
from ps_cfr_spiel.resolving.subgames.shapes import Shape
from ps_cfr_spiel.tree import PublicTree, put_rows, take_rows

Sources = list[tuple[Int[np.ndarray, "_n 2"], Int[np.ndarray, "_A _n"]]]  # of one player's blocks
Strategy = Sequence[Float[np.ndarray, "_A _rows H"]]  # of one player for each block


@dataclasses.dataclass(frozen=True)
class Subgame:
  """A subgame, on the host."""

  #: forests with a root for each infostate, and the evaluator of the game's own ends (a gadget puts the
  #: wrappers of `ranged_leaves` around it). If there is a frontier, it is the last part of the leaves.
  tree: PublicTree
  public_states: tuple[int, ...]  #: the roots' public states
  shape: Shape  #: see `Shape`
  roots: tuple[RootInfostates, RootInfostates]  #: for each player the infostates at the roots
  #: for each player those at the frontier; no rows if the subgame goes to the end of the game.
  frontier: tuple[RootInfostates, RootInfostates]
  #: for each player the root of each leaf, in parts, the frontier's last.
  leaf_roots: tuple[list[Int[np.ndarray, " _L"]], list[Int[np.ndarray, " _L"]]]
  #: for each player and block (source, action): the (block, row) in the whole game's tree of the first n
  #: rows, and the numbers of their actions there.
  rows: tuple[Sources, Sources]
  prior: Prior  #: the deal of the roots' infostates

  @property
  def limited(self) -> bool:
    """True if there is a frontier."""
    return max(self.shape.frontier) > 0

  @property
  def frontier_states(self) -> list[int]:
    """The public states of the frontier, ascending."""
    return sorted({int(s) for infostates in self.frontier for s in infostates.public})

  def there(self, player: int, tables: Strategy) -> list[Float[np.ndarray, "_A _rows H"]]:
    """A strategy of the whole game, [A, rows, H] for each block, in the rows of this subgame."""
    return take_rows(self.tree.players[player].block_shapes, self.rows[player], tables)

  def back(self, player: int, blocks: Strategy, tables: Strategy) -> list[Float[np.ndarray, "_A _rows H"]]:
    """A strategy of the whole game, `tables`, with this subgame's in its rows; left-out actions get 0."""
    return put_rows(self.rows[player], blocks, tables)
