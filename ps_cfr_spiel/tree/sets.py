"""One player's abstraction as arrays: sets of infostates that play alike.

Such a group is an *abstract infostate*, here a *set*: its members have the same number of actions, matched by
their order, and one strategy. The game does not change: reaches and values are those of all infostates, and
only a solver's tables have a column for each set instead of one for each infostate. `traverse.expand` copies
such tables to the members, `traverse.collapse` adds members up.

Members also have the same number of earlier decisions of their player, so no path meets a set twice.
"""

import dataclasses
from collections.abc import Sequence

import jax
import numpy as np

from ps_cfr_spiel.backend.array_shapes import Int
from ps_cfr_spiel.tree.arrays import Array
from ps_cfr_spiel.tree.public_tree import PlayerTree, PublicTree
from ps_cfr_spiel.tree.variants import Variant


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Sets:
  """A player's sets, numbered anew in each bucket (the infostates with one number of actions)."""

  #: for each bucket the set of each infostate, 1, 2, ...; 0 for types that cannot be there.
  #: Rows are in the order of `PlayerTree.join`.
  cells: tuple[Int[Array, "_rows H"], ...]
  #: (A, K, 1) of each bucket's tables; K has room for set 0, which plays no part, for all sets, and perhaps
  #: for more to come.
  shapes: tuple[tuple[int, int, int], ...] = dataclasses.field(metadata={"static": True})

  @classmethod
  def create(
    cls, tree: PlayerTree, cells: Sequence[Int[np.ndarray, "_rows H"]], columns: Sequence[int]
  ) -> "Sets":
    """Sets over host arrays, checked; `columns` is K of each bucket, see the class for the rest."""
    shapes = tree.bucket_shapes
    if [x.shape for x in cells] != [shape[1:] for shape in shapes]:
      raise ValueError(
        f"Sets need cells of shapes {[s[1:] for s in shapes]}, got {[x.shape for x in cells]}."
      )
    for x, k in zip(cells, columns, strict=True):
      if x.size and not 0 <= x.min() <= x.max() < k:
        raise ValueError(f"Sets of a bucket must be numbered 0..{k - 1}, got {x.min()}..{x.max()}.")
    tables = tuple((a, int(k), 1) for (a, _, _), k in zip(shapes, columns, strict=True))
    return cls(tuple(np.asarray(x, np.int32) for x in cells), tables)

  def of_variant(self, game: PublicTree, variant: Variant, player: int) -> "Sets":
    """One player's sets in a variant of the game's tree; columns of sets without members there stay idle."""
    player_tree, seen, columns = (
      game.players[player],
      variant.tree.players[player],
      {a: k for a, k, _ in self.shapes},
    )
    cells = [
      np.broadcast_to(np.asarray(x), (a, *x.shape))
      for x, (a, _, _) in zip(self.cells, self.shapes, strict=True)
    ]
    there = [
      np.asarray(x[0])
      for x in seen.join(variant.there(player, [np.asarray(x) for x in player_tree.split(cells)]))
    ]
    return Sets.create(seen, there, [columns[a] for a, _, _ in seen.bucket_shapes])
