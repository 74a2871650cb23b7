"""A network that reads tensors: from a public state, its infostates and both ranges to all values there.

It is the network of numbered public states (`network.ValueNetwork`), but the vectors of a public state and of
each infostate are not learned one by one: they are made of their tensors. So neither the order nor the number
of infostates matters, and a network serves public states that it never met (Zaheer et al. 2017, "Deep Sets";
the inputs are those of Brown et al. 2020 and Schmid et al. 2023, whose ranges have fixed places). They do not
depend on ranges: a search makes them once, and its iterations pay for the rest alone.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from ps_cfr_spiel.learning.network import zero_sum
from ps_cfr_spiel.tree import Array


class Observed(NamedTuple):
  """The tensors of n public states."""

  public: Array  #: [n, P]
  private: tuple[Array, Array]  #: for each player [n, M, D], of the infostates; any numbers in padding


class Read(NamedTuple):
  """The vectors that a network makes of them, for all ranges."""

  public: Array  #: [n, width]
  ranges: tuple[Array, Array]  #: for each player [n, M, width]: of infostates, to be weighted by a range
  values: tuple[Array, Array]  #: for each player [n, M, width]: a value is a product with the result
  offsets: tuple[Array, Array]  #: for each player [n, M]


class Reader(eqx.Module):
  """The part of a network that does not depend on ranges; inputs are centred and scaled first."""

  #: centre, spread: of the public tensor [P] and of both players' [D]; they do not learn.
  centre: tuple[Array, Array, Array]
  spread: tuple[Array, Array, Array]
  first: tuple[Array, Array, Array]  #: [P, width], and for each player [D, width]
  beside: tuple[Array, Array]  #: for each player [width, width], of the public state's vector
  inner: tuple[tuple[Array, Array], ...]  #: of the public state and both players ([width, width], [width])
  #: for each player ([width, width], [width, width], [width]): see `Read`.
  last: tuple[tuple[Array, Array, Array], tuple[Array, Array, Array]]

  def __call__(self, observed: Observed) -> Read:
    """The vectors of public states and infostates."""
    tensors = (observed.public, *observed.private)
    public, *private = (
      (x - _beside(x, jax.lax.stop_gradient(c))) / _beside(x, jax.lax.stop_gradient(s)) @ w
      for x, c, s, w in zip(tensors, self.centre, self.spread, self.first, strict=True)
    )
    private = [x + (public @ w)[:, None] for x, w in zip(private, self.beside, strict=True)]
    public, *private = (
      x + jax.nn.gelu(jax.nn.gelu(x) @ w + _beside(x, b))
      for x, (w, b) in zip([public, *private], self.inner, strict=True)
    )
    made = [(x @ w, x @ out, x @ offset) for x, (w, out, offset) in zip(private, self.last, strict=True)]
    ranges, values, offsets = ((one, other) for one, other in zip(*made, strict=True))
    return Read(public, ranges, values, offsets)


class Head(eqx.Module):
  """The part of a network that depends on ranges."""

  layers: list[tuple[Array, Array]]  #: residual, each ([width, width], [width])

  def __call__(self, read: Read, ranges: tuple[Array, Array]) -> tuple[Array, Array]:
    """Values of both players, [n, M] each, for ranges [n, M] of sum one."""
    x = read.public
    for vectors, range_ in zip(read.ranges, ranges, strict=True):
      x = x + jnp.einsum("nm,nmw->nw", range_, vectors)
    x = jax.nn.gelu(x)
    for weights, bias in self.layers:
      x = x + jax.nn.gelu(x @ weights + _beside(x, bias))
    first, second = (
      jnp.einsum("nw,nmw->nm", x, vectors) + offsets
      for vectors, offsets in zip(read.values, read.offsets, strict=True)
    )
    return zero_sum((first, second), ranges)


class TensorNetwork(eqx.Module):
  """A `Reader` and a `Head`."""

  reader: Reader
  head: Head

  def __init__(self, places: int, slots: tuple[int, int], width: int, layers: int, key: Array):
    """Random weights, for public tensors of `places` numbers and private ones of `slots` numbers."""
    draw = iter(jax.random.split(key, 14 + layers))

    def weights(inputs: int, outputs: int = width, size: float = 1.0) -> Array:
      return jax.random.normal(next(draw), (inputs, outputs), jnp.float32) * (size / max(inputs, 1) ** 0.5)

    sizes, zeros = (places, *slots), jnp.zeros(width)
    first, second, third = (weights(size) for size in sizes)
    # Values begin near zero: their vectors are small beside those of ranges.
    last = [(weights(width), weights(width, size=0.1 / width**0.5), jnp.zeros(width)) for _ in (0, 1)]
    self.reader = Reader(
      (jnp.zeros(sizes[0]), jnp.zeros(sizes[1]), jnp.zeros(sizes[2])),
      (jnp.ones(sizes[0]), jnp.ones(sizes[1]), jnp.ones(sizes[2])),
      (first, second, third),
      (weights(width), weights(width)),
      tuple((weights(width, size=2**0.5), zeros) for _ in sizes),
      (last[0], last[1]),
    )
    self.head = Head([(weights(width, size=2**0.5), zeros) for _ in range(layers)])

  @property
  def places(self) -> int:
    """P, the numbers of a public tensor."""
    return len(self.reader.first[0])

  @property
  def slots(self) -> tuple[int, int]:
    """D, the numbers of an infostate's tensor, of each player."""
    return len(self.reader.first[1]), len(self.reader.first[2])

  @property
  def size(self) -> tuple[int, int]:
    """Width and number of the residual layers."""
    return self.reader.first[0].shape[1], len(self.head.layers)

  def __call__(self, place: Observed, ranges: tuple[Array, Array]) -> tuple[Array, Array]:
    """Values of both players, [n, M] each, for ranges [n, M] of sum one, which are 0 in padding."""
    return self.head(self.reader(place), ranges)


def _beside(x: Array, vector: Array) -> Array:
  """A vector [D] for the sum with an array [..., D]."""
  return vector.reshape((1,) * (x.ndim - 1) + (-1,))
