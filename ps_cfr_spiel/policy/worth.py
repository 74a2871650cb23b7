"""The values of a policy's actions at every infostate, in the game's utility: at once, or board by board."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ps_cfr_spiel.backend.device import in_dtype, jit, precision, to_device
from ps_cfr_spiel.policy.reach import Reach, Strategies, Worths
from ps_cfr_spiel.reports import waiting
from ps_cfr_spiel.tree import (
  Array,
  BoardTraversal,
  Decision,
  PublicTree,
  action_values,
  best_response_values,
  pad_types,
  sequence_reach,
  streamed,
  tables_of,
)


def worths_of(
  tree: PublicTree, strategies: Strategies, reach: Callable[[Decision], Reach], dtype: str = "float64"
) -> Worths:
  """The values of every row of a profile, as numbers of `dtype` if they are found board by board.

  `reach` is that of a row by these strategies. All is computed in float64.
  """
  variant = pad_types(tree)  # so that boards share compiled code
  made, exact = streamed(variant.tree), "float64"

  def column(number: int) -> Array:
    """A player's strategy, written block by block: beside it there is no copy of all of them."""
    player, blocks = made.players[number], variant.there(number, strategies[number])
    shapes = player.bucket_shapes
    joined = np.empty((sum(actions * rows for actions, rows, *_ in shapes), player.types), dtype)
    tables = tables_of(joined, shapes)
    for (bucket, first), block in zip(player.places, blocks, strict=True):
      tables[bucket][:, first : first + block.shape[1]] = block
    return joined

  with precision(exact), waiting("Computing values"):
    if made.stream is None:
      padded = [variant.there(player, blocks) for player, blocks in enumerate(strategies)]
      both_players = all_at_once(*to_device((made, padded), exact))
    else:
      both_players = board_by_board(in_dtype(made, exact), [column(i) for i in range(len(made.players))])
  values, best = (
    [variant.back(player, [np.asarray(block) for block in blocks]) for player, blocks in enumerate(both)]
    for both in both_players
  )
  return Worths(values, best, reach)


@jit()
def all_at_once(tree: PublicTree, strategies: Any) -> Any:
  """Counterfactual action values of the profile, and of best responses to it: [A, rows, H] each."""
  reach = [sequence_reach(player, s) for player, s in zip(tree.players, strategies, strict=True)]
  players = range(len(tree.players))
  values = [action_values(tree, i, strategies[i], reach)[0] for i in players]
  best = [best_response_values(tree, i, *(strategies[j] for j in players if j != i))[0] for i in players]
  return values, best


def board_by_board(tree: PublicTree, columns: Sequence[Array]) -> Any:
  """The same in a tree with a `BoardTraversal`, from each player's strategy in a column; all on the host."""
  assert isinstance(tree.stream, BoardTraversal)
  values = tree.stream.values(tree.leaves, columns)
  blocks = [
    player.split(tables_of(column, player.bucket_shapes))
    for player, column in zip(2 * tree.players, values, strict=True)
  ]
  return blocks[:2], blocks[2:]
