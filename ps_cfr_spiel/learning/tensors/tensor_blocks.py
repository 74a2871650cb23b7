"""Examples of public states with tensors in the form for training: blocks that share one public state.

Searches teach many pairs of ranges of one public state together, and its tensors are most of the work of a
step: read once for a block, they cost an eighth.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.learning.fitting import Errors
from ps_cfr_spiel.learning.network import Network
from ps_cfr_spiel.learning.tensors.tensor_network import Observed
from ps_cfr_spiel.tree import Array

BLOCK = 8  # examples of one public state in a step of training, at most


class ObservedTensors(NamedTuple):
  """Examples on the device, in the form for training, in blocks of S of one public state.

  The network reads the tensors of a block once. Values are in units of `scale`.
  """

  place: Observed  #: of n / S public states
  ranges: tuple[Array, Array]  #: for each player [n / S, S, M]
  values: tuple[Array, Array]  #: the same
  possible: tuple[Array, Array]  #: for each player bool[n / S, M]

  def rows(self, at: Array) -> "ObservedTensors":
    """The blocks of the first of these numbers, with their count of examples."""
    size = self.ranges[0].shape[1]
    blocks = at[: -(-len(at) // size)] // size
    return jax.tree.map(lambda x: x[blocks], self)

  def errors(self, network: Network) -> Errors:
    """The errors of a network."""
    outputs = jax.vmap(network, (None, 1), 1)(self.place, self.ranges)
    flat = lambda x: x.reshape(-1, x.shape[-1])  # noqa: E731
    weights = tuple(
      flat(jnp.broadcast_to(p[:, None], r.shape).astype(jnp.float32))
      for p, r in zip(self.possible, self.ranges, strict=True)
    )
    values, ranges = (tuple(flat(x) for x in pair) for pair in (self.values, self.ranges))
    off = tuple((flat(f) - v) * w for f, v, w in zip(outputs, values, weights, strict=True))
    return Errors(off, values, weights, ranges)


def block_size(inputs: Mapping[str, np.ndarray], rows: np.ndarray) -> int:
  """S, the size of blocks of rows with the same tensors, one after the other, into which all rows fit."""
  same = np.ones(max(len(rows) - 1, 0), bool)
  for x in inputs.values():
    same &= (x[rows[1:]] == x[rows[:-1]]).reshape(len(same), -1).all(1)
  ends = np.flatnonzero(~same) + 1
  return int(np.gcd.reduce(ends, initial=math.gcd(len(rows), BLOCK)))
