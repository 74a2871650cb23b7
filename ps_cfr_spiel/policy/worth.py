"""The values of a policy and of its actions, in the game's utility: at once, or board by board."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.typing import DTypeLike

from ps_cfr_spiel.backend.device import in_dtype, jit, precision, to_device
from ps_cfr_spiel.policy.reach import Reach, Strategies, Worths
from ps_cfr_spiel.reports import waiting
from ps_cfr_spiel.tree import (
  Array,
  BoardTraversal,
  Decision,
  Evaluation,
  PublicTree,
  evaluate,
  pad_types,
  streamed,
  tables_of,
  values_in_tables,
)

_values_in_tables = jit()(values_in_tables)


def worths_of(
  tree: PublicTree, strategies: Strategies, reach: Callable[[Decision], Reach], dtype: str = "float64"
) -> Worths:
  """The values of every row of a profile, as numbers of `dtype` if they are found board by board.

  `reach` is that of a row by these strategies. All is computed in float64.
  """
  made, exact = streamed(tree), "float64"
  with precision(exact), waiting("Computing values"):
    if made.stream is not None:
      values, best = board_by_board(in_dtype(made, exact), columns_of(made, strategies, dtype))
      return Worths(values, best, reach)
    variant = pad_types(tree)  # so that boards share compiled code
    padded = [variant.there(player, blocks) for player, blocks in enumerate(strategies)]
    both_players = all_at_once(variant.tree, padded)
  values, best = (
    [variant.back(player, blocks) for player, blocks in enumerate(both)] for both in both_players
  )
  return Worths(values, best, reach)


def evaluation_of(tree: PublicTree, strategies: Strategies, dtype: str = "float64") -> Evaluation:
  """Value and best responses of a profile, computed in `dtype`; in float64 board by board where possible.

  There is then one copy of the strategies, in their own dtype.
  """
  with precision(dtype):
    made = in_dtype(streamed(tree), dtype) if dtype == "float64" else tree
    if not isinstance(made.stream, BoardTraversal):
      return jax.tree.map(float, evaluate(*to_device((tree, strategies), dtype)))
    columns = columns_of(made, strategies, strategies[0][0].dtype)
    first, second, *values = made.stream.worth_of_strategies(made.leaves, columns).tolist()
    return Evaluation.of((first, second), *values)


def columns_of(tree: PublicTree, strategies: Strategies, dtype: DTypeLike) -> list[np.ndarray]:
  """Each player's strategy in a column, as a `BoardTraversal` reads it: its buckets below one another.

  Written block by block: beside the columns there is no copy of all strategies.
  """
  columns = []
  for player, blocks in zip(tree.players, strategies, strict=True):
    shapes = player.bucket_shapes
    column = np.empty((sum(actions * rows for actions, rows, *_ in shapes), player.types), dtype)
    tables = tables_of(column, shapes)
    for (bucket, first), block in zip(player.places, blocks, strict=True):
      tables[bucket][:, first : first + block.shape[1]] = block
    columns.append(column)
  return columns


def all_at_once(tree: PublicTree, strategies: Strategies) -> Any:
  """Counterfactual action values of a profile and of best responses to it: float64[A, rows, H] on the host.

  Blocks are put together and taken apart here: XLA takes seconds to compile those of deep games.
  """
  pairs = zip(tree.players, strategies, strict=True)
  tables = [player.join([np.asarray(block, float) for block in blocks]) for player, blocks in pairs]
  return [
    [player.split([*map(np.asarray, x)]) for player, x in zip(tree.players, of_players, strict=True)]
    for of_players in _values_in_tables(*to_device((tree, tables), "float64"))
  ]


def board_by_board(tree: PublicTree, columns: Sequence[Array]) -> Any:
  """The same in a tree with a `BoardTraversal`, from each player's strategy in a column; all on the host."""
  assert isinstance(tree.stream, BoardTraversal)
  values = tree.stream.values(tree.leaves, columns)
  blocks = [
    player.split(tables_of(column, player.bucket_shapes))
    for player, column in zip(2 * tree.players, values, strict=True)
  ]
  return blocks[:2], blocks[2:]
