"""Values by solved situations themselves, where one player has no private information: nothing is trained.

Against a fixed strategy of that player the *informed* one has a best value of each infostate, an *alpha
vector*, and is worth its product with the range. The value of a public state is the least such product over
all strategies, so it is concave in the range and linear in pieces (Horák, Bošanský and Pěchouček 2017, for
one-sided partially observable games). In a solved situation the informed player's best responses are the
vector of a strategy: the least product over some of them is right at their ranges, and nowhere too small.

Searches go to the kinks between the pieces, which a perceptron rounds off. On Glasses searches by a network
of smaller error on held-out ranges were ten times as exploitable.
"""

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.learning.features import Solved, held_out
from ps_cfr_spiel.tree import Array


def serve(slots: Sequence[int]) -> bool:
  """True if a player has a single infostate in each public state, given the most that each player has."""
  return 1 in slots


class AlphaVectors(eqx.Module):
  """P vectors for each of K public states, as a network: the least that the informed player is worth."""

  vectors: Array  #: [K, P, M]
  informed: int = eqx.field(static=True)  #: the player whose values these are

  def __init__(self, places: int, slots: tuple[int, int], count: int):
    """Zeros, for K public states with M slots of each player."""
    self.informed = int(slots[0] == 1)
    self.vectors = jnp.zeros((places, count, slots[self.informed]), jnp.float32)

  @property
  def slots(self) -> tuple[int, int]:
    """M of each player."""
    slots = self.vectors.shape[2]
    return (1, slots) if self.informed else (slots, 1)

  @property
  def size(self) -> tuple[int, int]:
    """P, in place of the width of layers, and no layers."""
    return self.vectors.shape[1], 0

  def __call__(self, place: Array, ranges: tuple[Array, Array]) -> tuple[Array, Array]:
    """Values of both players, [n, M] each, in public states int[n] for ranges [n, M] of sum one."""
    vectors, range_ = self.vectors[place], ranges[self.informed]
    worth = jnp.einsum("npm,nm->np", vectors, range_)
    values = jnp.take_along_axis(vectors, worth.argmin(1)[:, None, None], 1)[:, 0]
    other = -worth.min(1, keepdims=True)
    return (other, values) if self.informed else (values, other)


def from_examples(examples: Solved, scale: np.ndarray, seed: int, count: int) -> AlphaVectors:
  """The vectors of `count` examples of each public state, in units of `scale`; all where there are fewer."""
  place, rows = examples.inputs["place"], np.flatnonzero(~held_out(examples))
  places, (first, second) = examples.features.extent
  rows = np.random.default_rng(seed).permutation(rows)
  number = np.bincount(place[rows], minlength=places)  # of examples in each place
  network = AlphaVectors(places, (first, second), max(1, min(count, int(number.max()))))
  rows = rows[np.argsort(place[rows], kind="stable")]  # place after place
  of_place = (number.cumsum() - number)[:, None] + np.arange(network.size[0]) % np.maximum(number, 1)[:, None]
  given = examples.values[network.informed] / scale[place][:, None]
  vectors = given[rows[np.minimum(of_place, len(rows) - 1)]] * (number > 0)[:, None, None]
  return eqx.tree_at(lambda n: n.vectors, network, vectors.astype(np.float32))
