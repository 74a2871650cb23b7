"""A network as a value function of searches, and its file."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.device import precision
from ps_cfr_spiel.learning.alpha_vectors import AlphaVectors, from_examples, serve
from ps_cfr_spiel.learning.examples import Examples
from ps_cfr_spiel.learning.fitting import Tensors
from ps_cfr_spiel.learning.network import UserNetwork, ValueNetwork, normalised
from ps_cfr_spiel.learning.network_values import NOTHING, NetworkValues
from ps_cfr_spiel.learning.places import FrontierStates, Slots
from ps_cfr_spiel.subgames import PadTo, Ranges, Subgames
from ps_cfr_spiel.tree import Array

ROUNDING = 1e-6  # sizes below this share of the largest are rounding


@dataclasses.dataclass(frozen=True, eq=False)
class LearnedValues(NetworkValues):
  """The learned values of a game: a `ValueFunction` for `ContinualResolving`; `scale` is float32[K]."""

  FEATURES = "public states"

  public_states: np.ndarray  #: int[K], the network's, ascending; it serves those that are alike too

  def __repr__(self) -> str:
    return f"LearnedValues({len(self.public_states)} public states of {self.card['game']})"

  def bind(
    self, subgames: Subgames, public_states: Sequence[int], pad_to: PadTo | None = None
  ) -> "BoundNetwork":
    """As a `search.ValueFunction`; ValueError for another game, or a public state that the network lacks."""
    if subgames.labels.game != self.card["game"]:
      raise ValueError(f"These values are for {self.card['game']}, not for {subgames.labels.game}.")
    place = self._places(subgames.alike)[list(public_states)]
    if (place < 0).any():
      unknown = np.asarray(public_states)[place < 0].tolist()
      raise ValueError(
        f"These values do not know the public states {unknown} of {self.card['game']}; they were made with "
        "other public states."
      )
    subgame = subgames.cut(public_states, pad_to=pad_to)
    count = subgame.shape.roots[0]  # at least one infostate in each public state
    slots = Slots.of(subgame, public_states, count, self.network_slots)
    places = np.zeros(count, np.int32)
    places[: len(place)] = place
    shapes = tuple((subgame.shape.roots[i], subgame.tree.players[i].types) for i in (0, 1))
    return BoundNetwork(
      self.network, self.scale[places], places, slots.index, slots.possible, (shapes[0], shapes[1])
    )

  def _places(self, alike: np.ndarray) -> np.ndarray:
    """int[P]: the network's place of each public state, or of one that is alike; -1 without any."""
    known = self.public_states[self.public_states < len(alike)]
    of_kind = np.full(len(alike), -1)
    of_kind[alike[known]] = np.arange(len(known))
    places = of_kind[alike]
    places[known] = np.arange(len(known))
    return places

  @property
  def network_slots(self) -> tuple[int, int]:
    """M of each player."""
    return self.network.slots

  @classmethod
  def untrained(cls, examples: Examples, seed: int, width: int, layers: int) -> "LearnedValues":
    """A network with random weights, whose values begin at the means of public states, or `AlphaVectors`."""
    scale = _sizes(examples)
    if serve(cls.extent(examples)[1]):
      return cls(from_examples(examples, scale, seed, width), scale, {}, NOTHING, examples.public_states)
    with precision("float32"):
      network = ValueNetwork(*cls.extent(examples), width, layers, jax.random.key(seed))
    counts, means = np.maximum(np.bincount(examples.place, minlength=len(scale)), 1)[:, None], []
    for value in examples.values:
      total = np.zeros((len(scale), value.shape[1]))
      np.add.at(total, examples.place, value)
      means.append((total / counts / scale[:, None]).astype(np.float32))
    network = eqx.tree_at(lambda n: (n.last[0][1], n.last[1][1]), network, tuple(means))
    return cls(network, scale, {}, NOTHING, examples.public_states)

  @classmethod
  def of_network(cls, examples: Examples, network: Any) -> "LearnedValues":
    """A network of the user's own, not trained here; ValueError if it is not as `train` says."""
    own = UserNetwork(network, *cls.extent(examples))
    return cls(own, _sizes(examples), {}, NOTHING, examples.public_states)

  @staticmethod
  def extent(examples: Examples | FrontierStates) -> tuple[int, tuple[int, int]]:
    """K, and M of each player, of a network for these public states."""
    first, second = (p.shape[1] for p in examples.possible)
    return len(examples.public_states), (first, second)

  def tensors(self, examples: Examples, rows: np.ndarray) -> Tensors:
    """The examples of some rows, in the form for training."""
    place = examples.place[rows]
    unit = self.scale[place][:, None]
    ranges, values = (tuple(jnp.asarray(x[rows]) for x in p) for p in (examples.ranges, examples.values))
    possible = tuple(map(jnp.asarray, examples.possible))
    return Tensors(jnp.asarray(place), ranges, tuple(v / unit for v in values), possible)  # pyright: ignore

  def check(self, examples: Any) -> None:
    """ValueError unless the examples are of the same game and public states."""
    if self.card["game"] != examples.card["game"]:
      raise ValueError(f"The values are for {self.card['game']}, the examples of {examples.card['game']}.")
    slots = self.extent(examples)[1]
    if not np.array_equal(self.public_states, examples.public_states) or self.network_slots != slots:
      raise ValueError(f"The values know other public states of {self.card['game']} than the examples.")

  @classmethod
  def shapes(cls, places):
    return {"scale": ((places,), np.dtype(np.float32)), "public_states": ((places,), np.dtype(int))}


def _sizes(examples: Examples) -> np.ndarray:
  """float32[K]: the root mean square of values in each public state.

  Where this is only rounding, as when searches begin to teach upwards, it is the median of the others: in
  units of rounding all later values would be billions. Where all values are zero it is 1.
  """
  squares = np.zeros(len(examples.public_states))
  counts = np.zeros(len(examples.public_states))
  for i in (0, 1):
    squares += np.bincount(examples.place, (examples.values[i] ** 2).sum(1), len(squares))
    counts += np.bincount(examples.place, minlength=len(squares)) * examples.possible[i].sum(1)
  size = np.sqrt(squares / np.maximum(counts, 1))
  real = size > ROUNDING * size.max(initial=0)
  return np.where(real, size, np.median(size[real]) if real.any() else 1).astype(np.float32)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class BoundNetwork:
  """`LearnedValues` at some public states."""

  network: ValueNetwork | UserNetwork | AlphaVectors  #: see `LearnedValues`
  scale: Array  #: [K]
  place: Array  #: int[K], number of each public state in the network; arbitrary in the padding
  #: index, possible: see `Slots`.
  index: tuple[Array, Array]
  possible: tuple[Array, Array]
  #: (R, H) of each player's ranges.
  shapes: tuple[tuple[int, int], tuple[int, int]] = dataclasses.field(metadata={"static": True})

  def __call__(self, player: int, ranges: Ranges) -> Array:
    """See `subgames.BoundValues`: the network's values, times the other player's total range."""
    given = [
      normalised(jnp.append(r.ravel(), 0)[at], may)
      for r, at, may in zip(ranges, self.index, self.possible, strict=True)
    ]
    values = self.network(self.place, (given[0][0], given[1][0]))[player]
    values = values * self.scale[:, None] * given[1 - player][1]
    rows, types = self.shapes[player]
    values = jnp.where(self.possible[player], values, 0)
    flat = jnp.zeros(rows * types + 1, values.dtype).at[self.index[player]].set(values)
    return flat[:-1].reshape(rows, types)
