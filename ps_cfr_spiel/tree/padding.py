"""Dead types: trees of one shape share compiled code, so types are filled up to one of a few sizes.

A loop takes seconds to compile and a fraction of a second to run, and it is compiled for the shapes of its
arrays. The betting tree of a poker game fixes the number of rows, but every board and every pair of ranges
leaves other numbers of hands. On the device each player therefore has some more types than the game, at the
end. They are *dead*: chance never deals them, so the leaf evaluator ignores their reach and gives them the
value 0, and their strategy stays the rule's first.
"""

import dataclasses
from collections.abc import Sequence
from functools import partial

import numpy as np

from ps_cfr_spiel.backend.array_shapes import Shaped
from ps_cfr_spiel.tree.arrays import Array
from ps_cfr_spiel.tree.public_tree import PublicTree
from ps_cfr_spiel.tree.variants import Tables, Variant

# Half steps between powers of two, and sizes for all hands of a river (1,081), a turn (1,128) and a flop
# (1,176), and before any card (1,326).
SIZES = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1088, 1136, 1184, 1344)
STEP = 512  # beyond them


def padded_size(types: int) -> int:
  """The number of types, dead ones counted, of a player with `types` in the game."""
  return next((size for size in SIZES if size >= types), -(-types // STEP) * STEP)


def pad_types(tree: PublicTree) -> Variant:
  """The tree with dead types, if its leaf evaluator supports them; else the tree itself.

  Those of card games do (`LeafEvaluator.pad_types`); an enumerated game's shape is its own anyway.
  """
  had = [player.types for player in tree.players]
  types = [padded_size(n) for n in had]
  leaves = tree.leaves.pad_types(types)
  if leaves is None:
    return Variant.of(tree)
  first, second = (dataclasses.replace(p, types=n) for p, n in zip(tree.players, types, strict=True))
  return Variant(
    PublicTree((first, second), leaves),
    partial(_padded, types),
    partial(_cut, had),
  )


def _padded(types: Sequence[int], player: int, tables: Tables) -> list[np.ndarray]:
  return [fill(x, types[player]) for x in tables]


def _cut(types: Sequence[int], player: int, tables: Tables) -> list[np.ndarray]:
  return [x[..., : types[player]] for x in tables]


def fill(array: Shaped[Array, "..."], *sizes: int, value: float = 0) -> Shaped[np.ndarray, "..."]:
  """Fill the array up at the end of its last axes, to these sizes, with one value; ValueError for smaller."""
  shape = (*array.shape[: array.ndim - len(sizes)], *sizes)
  if any(size < old for size, old in zip(shape, array.shape, strict=True)):
    raise ValueError(f"An array of shape {array.shape} cannot be filled up to {shape}.")
  if shape == array.shape:
    return np.array(array)
  filled = np.full(shape, value, array.dtype)  # quicker than np.pad, of which a search makes thousands
  filled[tuple(map(slice, array.shape))] = array
  return filled
