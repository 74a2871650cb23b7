"""The public states of one game, by number, as a network's features; how searches ask it about them."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel import storage
from ps_cfr_spiel.arguments import JSON
from ps_cfr_spiel.backend.array_shapes import PyTree
from ps_cfr_spiel.backend.device import precision
from ps_cfr_spiel.learning.alpha_vectors import AlphaVectors, from_examples, serve
from ps_cfr_spiel.learning.boards.places import FrontierStates, Slots
from ps_cfr_spiel.learning.features import Features, Learned, Pair, Solved
from ps_cfr_spiel.learning.fitting import Tensors
from ps_cfr_spiel.learning.network import Network, ValueNetwork, normalised
from ps_cfr_spiel.resolving.subgames import PadTo, Ranges, Subgames
from ps_cfr_spiel.tree import Array

ROUNDING = 1e-6  # sizes below this share of the largest are rounding
POSSIBLE = ("possible0", "possible1")  # in files of examples


@dataclasses.dataclass(frozen=True, eq=False)
class StateFeatures(Features):
  """Public states of one game by number: for searches of this game. `scale` is float32[K]."""

  NAME = "public states"

  public_states: np.ndarray  #: int[K], ascending; a network serves those that are alike too
  #: for each player bool[K, M], see `places.Slots`; None in a file of values, whose network knows M.
  possible: Pair | None = None

  @classmethod
  def of(cls, frontier: FrontierStates) -> "StateFeatures":
    """Those where the lookahead of a search may end."""
    return cls(frontier.public_states, frontier.possible)

  @property
  def extent(self) -> tuple[int, tuple[int, int]]:
    assert self.possible is not None
    first, second = (p.shape[1] for p in self.possible)
    return len(self.public_states), (first, second)

  @property
  def hands(self) -> tuple[int, int]:
    return self.extent[1]

  def text(self, card: Mapping[str, JSON]) -> str:
    return f"{len(self.public_states)} public states of {card['game']}"

  def shapes(self, count: int) -> dict[str, storage.Shape]:
    return {"place": ((count,), np.dtype(np.int32))}

  def fault(self, examples: Solved) -> str | None:
    if (np.diff(self.public_states, prepend=-1) <= 0).any():
      return "its public states do not ascend"
    place = examples.inputs["place"]
    if ((place < 0) | (place >= len(self.public_states))).any():
      return "place has indices beyond its public states"
    assert self.possible is not None
    for i, (range_, possible) in enumerate(zip(examples.ranges, self.possible, strict=True)):
      if range_[~possible[place]].any():
        return f"ranges of player {i} include infostates that chance and the opponent exclude"
    return None

  def unlike(self, other: Features) -> str | None:
    assert isinstance(other, StateFeatures)
    same = np.array_equal(self.public_states, other.public_states)
    if same and None not in (self.possible, other.possible):
      same = self.extent == other.extent
    return None if same else "are of other public states"

  def scale(self, examples: Solved) -> np.ndarray:
    """float32[K]: the root mean square of values in each public state.

    Where this is only rounding, as when searches begin to teach upwards, it is the median of the others: in
    units of rounding all later values would be billions. Where all values are zero it is 1.
    """
    assert self.possible is not None
    place = examples.inputs["place"]
    squares = np.zeros(len(self.public_states))
    counts = np.zeros(len(self.public_states))
    for i in (0, 1):
      squares += np.bincount(place, (examples.values[i] ** 2).sum(1), len(squares))
      counts += np.bincount(place, minlength=len(squares)) * self.possible[i].sum(1)
    size = np.sqrt(squares / np.maximum(counts, 1))
    real = size > ROUNDING * size.max(initial=0)
    return np.where(real, size, np.median(size[real]) if real.any() else 1).astype(np.float32)

  def untrained(self, examples: Solved, scale: np.ndarray, seed: int, width: int, layers: int) -> Network:
    """A network whose values begin at the means of public states, or `AlphaVectors`."""
    if serve(self.extent[1]):
      return from_examples(examples, scale, seed, width)
    place = examples.inputs["place"]
    with precision("float32"):
      network = ValueNetwork(*self.extent, width, layers, jax.random.key(seed))
    counts, means = np.maximum(np.bincount(place, minlength=len(scale)), 1)[:, None], []
    for value in examples.values:
      total = np.zeros((len(scale), value.shape[1]))
      np.add.at(total, place, value)
      means.append((total / counts / scale[:, None]).astype(np.float32))
    return eqx.tree_at(lambda n: (n.last[0][1], n.last[1][1]), network, tuple(means))

  def tensors(self, scale: np.ndarray, examples: Solved, rows: np.ndarray) -> Tensors:
    assert self.possible is not None
    place = examples.inputs["place"][rows]
    unit = scale[place][:, None]
    pair = lambda x, y: (jnp.asarray(x), jnp.asarray(y))  # noqa: E731
    first, second = (v[rows] / unit for v in examples.values)
    ranges = pair(*(r[rows] for r in examples.ranges))
    return Tensors(jnp.asarray(place), ranges, pair(first, second), pair(*self.possible))

  def parameters(self, width: int, layers: int) -> int:
    if serve(self.hands):
      return len(self.public_states) * width * max(self.hands)  # of `AlphaVectors`
    return super().parameters(width, layers)

  @classmethod
  def blank(cls, places: int, slots: tuple[int, int], width: int, layers: int) -> Network:
    if layers:
      return eqx.filter_eval_shape(ValueNetwork, places, slots, width, layers, jax.random.key(0))
    return eqx.filter_eval_shape(AlphaVectors, places, slots, width)

  def in_examples(self) -> tuple[dict[str, JSON], dict[str, np.ndarray]]:
    assert self.possible is not None
    header = {"places": len(self.public_states), "slots": list(self.hands)}
    return header, {"public_states": self.public_states, **dict(zip(POSSIBLE, self.possible, strict=True))}

  @classmethod
  def unread(cls, header: dict[str, JSON]) -> tuple["StateFeatures", dict[str, storage.Shape]]:
    places, slots = header.pop("places"), header.pop("slots")
    first, second = (np.broadcast_to(False, (places, size)) for size in slots)
    shapes: dict[str, storage.Shape] = {"public_states": ((places,), np.dtype(np.int64))}
    shapes |= {name: (x.shape, x.dtype) for name, x in zip(POSSIBLE, (first, second), strict=True)}
    return cls(np.broadcast_to(0, places), (first, second)), shapes

  def with_arrays(self, arrays: Mapping[str, np.ndarray]) -> "StateFeatures":
    return StateFeatures(arrays["public_states"], (arrays[POSSIBLE[0]], arrays[POSSIBLE[1]]))

  @classmethod
  def stored(cls, places: int) -> dict[str, storage.Shape]:
    return {"scale": ((places,), np.dtype(np.float32)), "public_states": ((places,), np.dtype(int))}

  def to_arrays(self) -> dict[str, np.ndarray]:
    return {"public_states": self.public_states}

  @classmethod
  def from_file(cls, card: Mapping[str, JSON], arrays: Mapping[str, np.ndarray]) -> "StateFeatures":
    return cls(arrays["public_states"])

  def bind(
    self, values: Learned, subgames: Subgames, public_states: Sequence[int], pad_to: PadTo | None
  ) -> "BoundNetwork":
    """See `search.ValueFunction`; ValueError for another game, or a public state that the network lacks."""
    place = self._places(subgames.alike)[list(public_states)]
    if (place < 0).any():
      unknown = np.asarray(public_states)[place < 0].tolist()
      raise ValueError(
        f"These values do not know the public states {unknown} of {values.card['game']}; they were made with "
        "other public states."
      )
    subgame = subgames.cut(public_states, pad_to=pad_to)
    count = subgame.shape.roots[0]  # at least one infostate in each public state
    slots = Slots.of(subgame, public_states, count, values.network.slots)
    places = np.zeros(count, np.int32)
    places[: len(place)] = place
    shapes = tuple((subgame.shape.roots[i], subgame.tree.players[i].types) for i in (0, 1))
    return BoundNetwork(
      values.network, values.scale[places], places, slots.index, slots.possible, (shapes[0], shapes[1])
    )

  def _places(self, alike: np.ndarray) -> np.ndarray:
    """int[P]: the network's place of each public state, or of one that is alike; -1 without any."""
    known = self.public_states[self.public_states < len(alike)]
    of_kind = np.full(len(alike), -1)
    of_kind[alike[known]] = np.arange(len(known))
    places = of_kind[alike]
    places[known] = np.arange(len(known))
    return places


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class BoundNetwork:
  """Values with `StateFeatures` at some public states."""

  #: see `NetworkValues`; (places, ranges of sum one) -> values in units of `scale`.
  network: Callable[[PyTree, tuple[Array, Array]], tuple[Array, Array]]
  scale: Array  #: [K]
  place: (
    PyTree  #: for the network [K, ...], such as the number of each public state; arbitrary in the padding
  )
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
    # The slot of each row, and then a gather: searches of many ranges at once share the scatter.
    slot = (
      jnp.full(rows * types + 1, values.size)
      .at[self.index[player]]
      .set(jnp.arange(values.size).reshape(values.shape))
    )
    return jnp.append(values.ravel(), 0)[slot[:-1]].reshape(rows, types)
