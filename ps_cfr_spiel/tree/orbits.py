"""Rows that stand for others, which renamings of the types make of them.

With suits that are alike, on the board and in both ranges, the rivers 2d and 2h are one river with other
names for the hands. All public states that renamings make of one another are an *orbit*. One row is kept for
it; the numbers of another member are those of the kept row, in other columns.
"""

import dataclasses

import jax
import jax.numpy as jnp
from jaxtyping import Shaped

Array = jax.typing.ArrayLike


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Orbit:
  """The child rows of a link, M of them, that the rows kept stand for; those that are kept are among them."""

  source: Array  #: int32[M], ascending, the kept row that each is made from
  parent: Array  #: int32[M], the parent row of each, counted through all parts
  swap: Array  #: int32[M], the renaming that makes it
  columns: Array  #: int32[S, H], for each renaming the column of the kept row from which each column comes

  def members(self, rows: Shaped[jax.Array, "_ H"]) -> Shaped[jax.Array, "_ H"]:
    """The rows of all members, [M, H], from those kept, [m, H]."""
    columns = jnp.asarray(self.columns)[self.swap]
    return jnp.take_along_axis(rows[self.source], columns, axis=1)
