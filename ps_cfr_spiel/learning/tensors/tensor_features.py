"""The tensors of a game as a network's features, for public states that no list has.

A public state is known by its public tensor and by those of its infostates (`observations`), in rows of
slots, the same number for all; the rest is padding. Values are counterfactual, so they shrink with the
probability of chance; the network learns them in units of the weight of the public state at even ranges.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pyspiel

from ps_cfr_spiel import storage
from ps_cfr_spiel.arguments import JSON
from ps_cfr_spiel.backend.device import precision
from ps_cfr_spiel.learning.boards.places import Slots
from ps_cfr_spiel.learning.features import Features, Learned, Pair, Solved
from ps_cfr_spiel.learning.network import Network
from ps_cfr_spiel.learning.state_features import BoundNetwork
from ps_cfr_spiel.learning.tensors.observations import OPENSPIEL, Observations, Own, function_name
from ps_cfr_spiel.learning.tensors.reading import Reading, paths_of
from ps_cfr_spiel.learning.tensors.tensor_blocks import BLOCK, ObservedTensors, block_size
from ps_cfr_spiel.learning.tensors.tensor_network import Observed, Read, TensorNetwork
from ps_cfr_spiel.resolving.subgames import PadTo, Subgame, Subgames


class Met(NamedTuple):
  """The tensors of K public states of a cut, with M slots of each player, padded."""

  public: np.ndarray  #: float32[K, P]
  private: Pair  #: for each player float32[K, M, D]
  slots: Slots  #: index, possible: [K, M] of each player
  unit: np.ndarray  #: float32[K], the weight of the public state at even ranges
  states: int  #: the number of public states that are not padding


@dataclasses.dataclass(frozen=True, eq=False)
class TensorFeatures(Features):
  """Tensors of public states and infostates: for searches of one game. `scale` is float32[]."""

  NAME = "tensors"
  listed = False

  sizes: tuple[int, tuple[int, int]] | None = None  #: P, and D of each player; None before any is read
  columns: tuple[int, int] = (0, 0)  #: M of each player, of examples
  source: str = OPENSPIEL  #: of the tensors: see `Observations`
  function: Own | None = None  #: one's own, which a file does not have
  _observations: dict[str, Observations] = dataclasses.field(default_factory=dict, init=False, repr=False)

  @classmethod
  def of(cls, function: Own | None = None) -> "TensorFeatures":
    """Those of a game's own tensors, or of a function of one's own: see `Observations`."""
    if function is not None and not callable(function):
      raise ValueError(f"features must be a function (state, player) -> numbers, got {function!r}.")
    return cls(source=OPENSPIEL if function is None else function_name(function), function=function)

  @property
  def extent(self) -> tuple[int, tuple[int, int]]:
    """P and D of each player."""
    assert self.sizes is not None
    return self.sizes

  @property
  def hands(self) -> tuple[int, int]:
    return self.columns

  def text(self, card: Mapping[str, JSON]) -> str:
    return f"tensors of {card['game']}"

  # --- Examples ----------------------------------------------------------------------------

  def shapes(self, count: int) -> dict[str, storage.Shape]:
    """Those of `public`, `private` and `possible` of each player, and `unit`: see `Met`."""
    (public, private), single = self.extent, np.dtype(np.float32)
    shapes = {"public": ((count, public), single), "unit": ((count,), single)}
    for i, (size, slots) in enumerate(zip(private, self.columns, strict=True)):
      shapes[f"private{i}"] = ((count, slots, size), single)
      shapes[f"possible{i}"] = ((count, slots), np.dtype(bool))
    return shapes

  def fault(self, examples: Solved) -> str | None:
    inputs = examples.inputs
    if not (inputs["unit"] > 0).all():
      return "the weight of a public state is not positive"
    for name in ("public", "private0", "private1"):
      if not np.isfinite(inputs[name]).all():
        return f"{name} has numbers that are not finite"
    for i, range_ in enumerate(examples.ranges):
      if range_[~inputs[f"possible{i}"]].any():
        return f"ranges of player {i} include infostates that chance and the opponent exclude"
    return None

  def unlike(self, other: Features) -> str | None:
    assert isinstance(other, TensorFeatures)
    if self.source != other.source:
      return f"have the features of {other.source}, not of {self.source}"
    if self.sizes is None or other.sizes is None:  # of a file of values, whose network knows them
      return None
    return None if self.extent == other.extent else f"have tensors of {other.extent}, not {self.extent}"

  def widened(self, inputs: Mapping[str, np.ndarray], columns: tuple[int, int]) -> dict[str, np.ndarray]:
    more = {f"{name}{i}": columns[i] for name in ("private", "possible") for i in (0, 1)}
    return {name: wide(x, more[name]) if name in more else x for name, x in inputs.items()}

  def with_columns(self, columns: tuple[int, int]) -> "TensorFeatures":
    return dataclasses.replace(self, columns=columns)

  # --- Training ----------------------------------------------------------------------------

  def scale(self, examples: Solved) -> np.ndarray:
    squares = count = 0.0
    for i, value in enumerate(examples.values):
      possible = examples.inputs[f"possible{i}"]
      squares += ((value / examples.inputs["unit"][:, None])[possible] ** 2).sum()
      count += possible.sum()
    return np.asarray(np.sqrt(squares / max(count, 1)) or 1.0, np.float32)

  def untrained(
    self, examples: Solved, scale: np.ndarray, seed: int, width: int, layers: int
  ) -> TensorNetwork:
    """A network with random weights that centres and scales the tensors of these examples."""
    with precision("float32"):
      network = TensorNetwork(*self.extent, width, layers, jax.random.key(seed))
    inputs = examples.inputs
    rows = [inputs["public"], *(inputs[f"private{i}"][inputs[f"possible{i}"]] for i in (0, 1))]
    centre = tuple(x.mean(0, dtype=float).astype(np.float32) for x in rows)
    spread = tuple(_spread(x, c) for x, c in zip(rows, centre, strict=True))
    return eqx.tree_at(lambda n: (n.reader.centre, n.reader.spread), network, (centre, spread))

  def tensors(self, scale: np.ndarray, examples: Solved, rows: np.ndarray) -> ObservedTensors:
    inputs, unit = examples.inputs, (examples.inputs["unit"][rows] * scale)[:, None]
    size = block_size(inputs, rows)
    pair = lambda x, y: (jnp.asarray(x), jnp.asarray(y))  # noqa: E731
    blocks = lambda x: x.reshape(-1, size, x.shape[1])  # noqa: E731
    first, second = (blocks(v[rows] / unit) for v in examples.values)
    one = rows[::size]
    private, possible = (pair(*(inputs[f"{n}{i}"][one] for i in (0, 1))) for n in ("private", "possible"))
    ranges = pair(*(blocks(r[rows]) for r in examples.ranges))
    place = Observed(jnp.asarray(inputs["public"][one]), private)
    return ObservedTensors(place, ranges, pair(first, second), possible)

  def outputs(self, width: int, layers: int) -> int:
    public, private = self.extent
    read = sum(m * (d + 6 * width) for m, d in zip(self.columns, private, strict=True))
    return (public + read) // BLOCK + super().outputs(width, layers + 1)  # tensors are read once a block

  # --- Files -------------------------------------------------------------------------------

  @classmethod
  def blank(cls, places: int, slots: tuple[int, int], width: int, layers: int) -> Network:
    return eqx.filter_eval_shape(TensorNetwork, places, slots, width, layers, jax.random.key(0))

  @classmethod
  def stored(cls, places: int) -> dict[str, storage.Shape]:
    return {"scale": ((), np.dtype(np.float32))}

  def to_arrays(self) -> dict[str, np.ndarray]:
    return {}

  @classmethod
  def from_file(cls, card: Mapping[str, JSON], arrays: Mapping[str, np.ndarray]) -> "TensorFeatures":
    return cls(source=str(card.get("tensors", OPENSPIEL)))

  def in_card(self) -> dict[str, JSON]:
    return {"tensors": self.source}

  def in_examples(self) -> tuple[dict[str, JSON], dict[str, np.ndarray]]:
    public, private = self.extent
    return {"tensors": self.source, "sizes": [public, *private], "slots": list(self.columns)}, {}

  @classmethod
  def unread(cls, header: dict[str, JSON]) -> tuple["TensorFeatures", dict[str, storage.Shape]]:
    (public, *private), (first, second) = header.pop("sizes"), header.pop("slots")
    one, other = private
    return cls((public, (one, other)), (first, second), header.pop("tensors")), {}

  # --- Searches ----------------------------------------------------------------------------

  def meet(
    self,
    subgames: Subgames,
    subgame: Subgame,
    public_states: Sequence[int],
    count: int = 1,
    columns: tuple[int, int] = (1, 1),
  ) -> Met:
    """The tensors of the public states where a cut begins.

    K and M are powers of two, for few shapes; `count` and `columns` are the least.

    ValueError for infostates with equal tensors.
    """
    observations = self.observations(subgames.labels.start().get_game())
    rows = [np.unique(roots.public, return_counts=True)[1].max(initial=0) for roots in subgame.roots]
    first, second = (
      max(_power(int(n)) * player.types, least)
      for n, player, least in zip(rows, subgame.tree.players, columns, strict=True)
    )
    slots = Slots.of(subgame, public_states, max(_power(len(public_states)), count), (first, second))
    read = Reading(observations, paths_of(subgames, subgame, public_states), public_states, slots)
    private: Pair = read.private(0), read.private(1)
    public, unit = read.public(private), _units(subgame, len(public_states), slots)
    return Met(public, private, slots, unit, len(public_states))

  def observations(self, game: pyspiel.Game) -> Observations:
    """The tensors of a game; ValueError without them, or where a file's function is missing."""
    if self.function is None and self.source != OPENSPIEL:
      raise ValueError(
        f"These values read features of your own, {self.source}: give that function, by "
        "values.with_features(function), or on the command line by --module, the file that has it."
      )
    name = str(game)
    if name not in self._observations:
      self._observations[name] = Observations(game, self.function)
    return self._observations[name]

  def bind(
    self, values: Learned, subgames: Subgames, public_states: Sequence[int], pad_to: PadTo | None
  ) -> BoundNetwork:
    """See `search.ValueFunction`; ValueError for another game, and errors of `meet`."""
    subgame = subgames.cut(public_states, pad_to=pad_to)
    return self.bound(values, subgame, self.meet(subgames, subgame, public_states))

  def bound(self, values: Learned, subgame: Subgame, met: Met) -> BoundNetwork:
    """The values at the public states where a cut begins."""
    network = values.network
    shapes = [(subgame.shape.roots[i], player.types) for i, player in enumerate(subgame.tree.players)]
    assert isinstance(network, TensorNetwork)
    tensors, sizes = [met.public, *met.private], (network.places, *network.slots)
    if not met.states:  # a padded search ended before the frontier
      tensors = [np.zeros((*x.shape[:-1], size), np.float32) for x, size in zip(tensors, sizes, strict=True)]
    if tuple(x.shape[-1] for x in tensors) != sizes:
      given = tuple(x.shape[-1] for x in tensors)
      raise ValueError(
        f"These values read a public tensor and the players' of {sizes} numbers; those of "
        f"{values.card['game']} here have {given}. Learn them anew: tensors have other features since."
      )
    public, first, second = tensors
    read = _read(network, Observed(public, (first, second)))
    head, unit = network.head, values.scale * met.unit
    return BoundNetwork(head, unit, read, met.slots.index, met.slots.possible, (shapes[0], shapes[1]))


def _units(subgame: Subgame, states: int, slots: Slots) -> np.ndarray:
  """float32[K]: the weights of public states at even ranges; 1 in the padding."""
  even = np.ones((subgame.shape.roots[1], subgame.tree.players[1].types))
  weight = np.append(subgame.prior.weight(0, even).ravel(), 0.0)[slots.index[0]].sum(1)
  pairs = np.maximum(slots.possible[0].sum(1) * slots.possible[1].sum(1), 1)
  return np.where(np.arange(len(weight)) < states, weight / pairs, 1).astype(np.float32)


def _spread(tensors: np.ndarray, centre: np.ndarray) -> np.ndarray:
  """float32[D]: the standard deviations of some tensors [n, D] around the centre.

  At least half of the largest deviation, so rare indicators are not far out; 1 where nothing ever varied, for
  it may do so later.
  """
  off = tensors - centre
  spread = np.maximum(np.sqrt((off**2).mean(0, dtype=float)), np.abs(off).max(0, initial=0) / 2)
  return np.where(spread > 0, spread, 1).astype(np.float32)


def _power(count: int) -> int:
  """The next power of two: few shapes hold all."""
  return 1 << max(count - 1, 0).bit_length()


def wide(array: np.ndarray, columns: int) -> np.ndarray:
  """An array [n, M, ...] with more columns of zeros."""
  return np.pad(array, [(0, 0), (0, columns - array.shape[1]), *[(0, 0)] * (array.ndim - 2)])


@eqx.filter_jit
def _read(network: TensorNetwork, observed: Observed) -> Read:
  return network.reader(observed)
