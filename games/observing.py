"""Common parts of the observers of this package: one flat tensor with named views into it."""

import math
from collections.abc import Sequence

import numpy as np
import pyspiel


def tensor_with_views(
  pieces: Sequence[tuple[str, tuple[int, ...]]],
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
  """Zeros float32[sum of sizes] and, by name, the pieces' views into it, in order.

  OpenSpiel's Python tools read the tensor and its C++ tools the views, so views must be filled in place.
  """
  tensor = np.zeros(sum(math.prod(shape) for _, shape in pieces), np.float32)
  views, start = {}, 0
  for name, shape in pieces:
    end = start + math.prod(shape)
    views[name] = tensor[start:end].reshape(shape)
    start = end
  return tensor, views


def seats(private_info: pyspiel.PrivateInfoType, player: int) -> tuple[int, ...]:
  """The players of two whose private information `player` sees."""
  return {
    pyspiel.PrivateInfoType.NONE: (),
    pyspiel.PrivateInfoType.SINGLE_PLAYER: (player,),
    pyspiel.PrivateInfoType.ALL_PLAYERS: (0, 1),
  }[private_info]
