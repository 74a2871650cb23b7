"""A network as a value function of searches, and its file."""

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pyspiel

from ps_cfr_spiel import storage
from ps_cfr_spiel.compiler import load_game
from ps_cfr_spiel.learning.network import ValueNetwork, normalised
from ps_cfr_spiel.learning.places import Slots
from ps_cfr_spiel.subgames import Fit, Ranges, Subgames
from ps_cfr_spiel.tree import Array

FEATURES = "public states"  # what a network is told of a public state: which one it is
PRETRAINED = Path(__file__).parent / "pretrained"
SIZES = ("places", "slots", "width", "layers")


@dataclasses.dataclass(frozen=True, eq=False)
class LearnedValues:
  """What a network has learned of a game: a `ValueFunction` for `ContinualResolving`.

  Attributes:
    network: from ranges to values in units of `scale`.
    scale: float32[K], the size of values in each public state.
    places: int[K], the public states that it knows, ascending.
    card: how it was made: game, teacher, data, seed, errors; saved with it.
    losses: float64[n, 3], (step, training loss, validation loss) while it was trained.
  """

  network: ValueNetwork
  scale: np.ndarray
  places: np.ndarray
  card: dict[str, Any]
  losses: np.ndarray

  def __repr__(self) -> str:
    """What searches that use it call it."""
    return f"LearnedValues({len(self.places)} public states of {self.card['game']})"

  def bind(self, subgames: Subgames, public_states: Sequence[int], fit: Fit | None = None) -> "BoundNetwork":
    """See `search.ValueFunction`.

    Raises:
      ValueError: the network is of another game, or does not know one of the public states.
    """
    if subgames.labels.game != self.card["game"]:
      raise ValueError(f"These values are of {self.card['game']}, not of {subgames.labels.game}.")
    place = np.searchsorted(self.places, public_states)
    unknown = np.take(self.places, place, mode="clip") != np.asarray(public_states)
    if unknown.any():
      raise ValueError(
        f"These values know {len(self.places)} public states of {self.card['game']}, and not "
        f"{np.asarray(public_states)[unknown].tolist()}; they were made with other public states."
      )
    subgame = subgames.cut(public_states, fit=fit)
    count = subgame.shape.roots[0]  # at least one infostate in each public state
    slots = Slots.of(subgame, public_states, count, self.network_slots)
    places = np.zeros(count, np.int32)
    places[: len(place)] = place
    shapes = tuple((subgame.shape.roots[i], subgame.tree.players[i].types) for i in (0, 1))
    return BoundNetwork(
      self.network, self.scale[places], places, slots.index, slots.possible, (shapes[0], shapes[1])
    )

  @property
  def network_slots(self) -> tuple[int, int]:
    """M of each player."""
    first, second = (len(weights) for weights in self.network.ranges)
    return first, second

  @property
  def size(self) -> tuple[int, int]:
    """Width and number of the network's inner layers."""
    return self.network.places.shape[1], len(self.network.inner)

  def save(self, path: str | os.PathLike) -> None:
    """Saves the network with its card; OSError if the file cannot be written."""
    leaves = jax.tree.leaves(self.network)
    arrays = {f"parameter{k}": np.asarray(leaf, np.float32) for k, leaf in enumerate(leaves)}
    sizes = dict(zip(SIZES, (len(self.places), list(self.network_slots), *self.size), strict=True))
    header = {**self.card, "features": FEATURES, **sizes, "measured": len(self.losses)}
    arrays |= {"scale": self.scale, "public_states": self.places, "losses": self.losses}
    storage.write(path, "values", header, arrays)

  @classmethod
  def pretrained(cls, game: pyspiel.Game | str) -> "LearnedValues":
    """Values that come with this package, made by `benchmarks/learned_values.py`; their `card` says how.

    Args:
      game: or its name.

    Raises:
      ValueError: there are none for this game.
    """
    name = str(load_game(game) if isinstance(game, str) else game)
    for path in sorted(PRETRAINED.glob("*.npz")):
      found = cls.load(path)
      if found.card["game"] == name:
        return found
    known = ", ".join(sorted(path.stem for path in PRETRAINED.glob("*.npz")))
    raise ValueError(f"No values of {name} come with ps_cfr_spiel, only of {known}; train some.")

  @classmethod
  def load(cls, path: str | os.PathLike) -> "LearnedValues":
    """Reads a file of `save`.

    Raises:
      OSError: the file cannot be read.
      ValueError: it is truncated or damaged, holds something else, or its features are unknown here.
    """
    file = storage.read(path)
    header = dict(file.header)
    if header["kind"] != "values":
      raise ValueError(f"{path} holds {header['kind']}, not learned values.")
    if header["features"] != FEATURES:
      raise ValueError(
        f"{path}: the network wants the features {header['features']!r}; this version has {FEATURES!r}."
      )
    places, slots, width, layers = (header.pop(name) for name in SIZES)
    shape = eqx.filter_eval_shape(ValueNetwork, places, tuple(slots), width, layers, jax.random.key(0))
    leaves, structure = jax.tree.flatten(shape)
    single = np.dtype(np.float32)
    expected: dict[str, Any] = {f"parameter{k}": (leaf.shape, single) for k, leaf in enumerate(leaves)}
    expected["scale"] = ((places,), single)
    expected["public_states"] = ((places,), np.dtype(np.int64))
    expected["losses"] = ((header.pop("measured"), 3), np.dtype(np.float64))
    arrays = file.arrays(expected)
    network = jax.tree.unflatten(structure, [arrays[f"parameter{k}"] for k in range(len(leaves))])
    card = {key: value for key, value in header.items() if key not in ("format", "format_version", "kind")}
    return cls(network, arrays["scale"], arrays["public_states"], card, arrays["losses"])


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class BoundNetwork:
  """`LearnedValues` at some public states.

  Attributes:
    network: see `LearnedValues`.
    scale: [K].
    place: int[K], of each public state in the network; anything in the padding.
    index, possible: see `Slots`.
    shapes: (R, H) of each player's ranges.
  """

  network: ValueNetwork
  scale: Array
  place: Array
  index: tuple[Array, Array]
  possible: tuple[Array, Array]
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
    flat = (
      jnp.zeros(rows * types + 1, values.dtype)
      .at[self.index[player]]
      .set(jnp.where(self.possible[player], values, 0))
    )
    return flat[:-1].reshape(rows, types)
