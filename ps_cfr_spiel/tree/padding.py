"""Dead types: trees of one shape share compiled code, so types are filled up to one of few numbers of them.

A loop takes seconds to compile and a fraction of a second to run, and it is compiled for the shapes of its
arrays. The betting tree of a poker game says how many rows there are, but every board and every pair of
ranges leaves other numbers of hands. On the device each player therefore has some more types than the game,
at the end. They are *dead*: no chance deals them, so the leaf evaluator ignores their reach and gives them
the value 0, and every strategy of theirs stays what a rule begins with. The host's tree, and with it labels,
policies and files, has the game's own types only.
"""

import dataclasses
from typing import Any

import numpy as np

from ps_cfr_spiel.tree.public_tree import PublicTree

# Half steps between powers of two, and what all hands take on a river (1,081) and before any card (1,326).
SIZES = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1088, 1344)
STEP = 512  # beyond them


def padded_size(types: int) -> int:
  """The number of types, at least as many, that a player with so many is given on the device."""
  return next((size for size in SIZES if size >= types), -(-types // STEP) * STEP)


def pad_types(tree: PublicTree) -> PublicTree:
  """The tree with dead types, if its leaf evaluator can have them; else the tree itself.

  An evaluator that can has a method `widen(types)`, with the numbers of both players' types, which gives the
  evaluator of a tree with so many. Those of card games do; a walked game's shape is its own anyway.
  """
  if not hasattr(tree.leaves, "widen"):
    return tree
  types = [padded_size(player.types) for player in tree.players]
  first, second = (dataclasses.replace(p, types=n) for p, n in zip(tree.players, types, strict=True))
  leaves: Any = tree.leaves
  return dataclasses.replace(tree, players=(first, second), leaves=leaves.widen(types))


def fill(array: np.ndarray, *sizes: int, value: float = 0) -> np.ndarray:
  """The array filled up at the end of its last axes, to these sizes, with one value."""
  ahead = [(0, 0)] * (array.ndim - len(sizes))
  missing = [(0, size - has) for size, has in zip(sizes, array.shape[array.ndim - len(sizes) :], strict=True)]
  return np.pad(array, [*ahead, *missing], constant_values=value)
