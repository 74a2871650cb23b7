"""A network as a value function of searches, and its file."""

import dataclasses
import os
from collections.abc import Sequence

import jax
import numpy as np

from ps_cfr_spiel import storage
from ps_cfr_spiel.arguments import JSON, MOST
from ps_cfr_spiel.backend.array_shapes import PyTree
from ps_cfr_spiel.batches import Situation, StreetValues
from ps_cfr_spiel.cards.poker import cards
from ps_cfr_spiel.learning.alpha_vectors import AlphaVectors
from ps_cfr_spiel.learning.examples import FEATURES, Examples
from ps_cfr_spiel.learning.features import Features, Pair
from ps_cfr_spiel.learning.fitting import Data
from ps_cfr_spiel.learning.network import Network, UserNetwork, ValueNetwork
from ps_cfr_spiel.learning.tensors.observations import OPENSPIEL, Own, function_name
from ps_cfr_spiel.learning.tensors.tensor_features import TensorFeatures
from ps_cfr_spiel.learning.tensors.tensor_network import TensorNetwork
from ps_cfr_spiel.resolving.search import ValueFunction
from ps_cfr_spiel.resolving.subgames import BoundValues, PadTo, Subgames
from ps_cfr_spiel.tree import LeafEvaluator

KIND, SIZES = "values", ("places", "slots", "width", "layers")
STAMP = (*storage.STAMP, "version", "features")
NOTHING = np.zeros((0, 3))  # losses before the first step


@dataclasses.dataclass(frozen=True, eq=False)
class NetworkValues(ValueFunction, StreetValues):
  """A network that was trained on examples: a `ValueFunction` for `ContinualResolving`.

  With `BoardFeatures` also the values of the next street for `solve_batch` and `HoldemPolicy`.
  """

  features: Features  #: the network's knowledge of a public state
  #: a `ValueNetwork`, a `UserNetwork` or `AlphaVectors`, from ranges to values in units of `scale`.
  network: Network
  scale: np.ndarray  #: float32, the size of values
  card: dict[str, JSON]  #: their origin: game, teacher, data, seed, errors; saved with them
  losses: np.ndarray  #: float64[n, 3], (step, training loss, validation loss) during training

  def __repr__(self) -> str:
    return f"{type(self).__name__}({self.features.text(self.card)})"

  @classmethod
  def untrained(cls, examples: Examples, seed: int, width: int, layers: int) -> "NetworkValues":
    """A network with random weights, or what `Features.untrained` has in its place."""
    scale = examples.features.scale(examples)
    network = examples.features.untrained(examples, scale, seed, width, layers)
    return cls(examples.features, network, scale, examples.card, NOTHING)

  @classmethod
  def of_network(cls, examples: Examples, network: PyTree) -> "NetworkValues":
    """A network of the user's own, not trained here; ValueError if it is not as `train` says."""
    features = examples.features
    return cls(
      features, UserNetwork(network, *features.extent), features.scale(examples), examples.card, NOTHING
    )

  @property
  def solves(self) -> bool:
    """True if searches need the game below their frontier; False for values that read tensors."""
    return self.features.listed

  @property
  def own_features(self) -> str | None:
    """The name of the function of one's own that the network reads, `module.function`; None without."""
    read = self.features
    return read.source if isinstance(read, TensorFeatures) and read.source != OPENSPIEL else None

  def with_features(self, function: Own) -> "NetworkValues":
    """Values from a file whose network reads features of one's own, with their function.

    ValueError for other values, or a function with another name.
    """
    features = self.features
    if not isinstance(features, TensorFeatures) or features.source != function_name(function):
      wanted = features.source if isinstance(features, TensorFeatures) else features.NAME
      raise ValueError(f"{self} read {wanted}, not {function_name(function)}.")
    return dataclasses.replace(self, features=dataclasses.replace(features, function=function))

  def tensors(self, examples: Examples, rows: np.ndarray) -> Data:
    """The examples of some rows, in the form for training."""
    return examples.features.tensors(self.scale, examples, rows)

  def check(self, examples: Examples) -> None:
    """ValueError unless the examples have the same features, for further training."""
    mine, others = self.features, examples.features
    game, other = self.card["game"], examples.card["game"]
    if type(mine) is not type(others):
      raise ValueError(f"The values are for {mine.NAME}, the examples of {others.NAME} ({other}).")
    if not mine.cards and game != other:
      raise ValueError(f"The values are for {game}, the examples of {other}.")
    wrong = mine.unlike(others)
    if wrong is None and self.network.slots != others.extent[1]:
      wrong = "have other numbers of infostates"
    if wrong is not None:
      raise ValueError(f"{self} cannot learn from these examples: they {wrong}.")

  @property
  def game(self) -> str | None:
    return None if self.cards else str(self.card["game"])

  def bind(
    self, subgames: Subgames, public_states: Sequence[int], pad_to: PadTo | None = None
  ) -> BoundValues:
    """Bind as a `search.ValueFunction` does; errors as of `Features.bind`."""
    self.check_game(subgames.labels.game)
    return self.features.bind(self, subgames, public_states, pad_to)

  # --- Streets: see `batches.StreetValues` --------------------------------------------------

  @property
  def cards(self) -> int:
    """The number of cards on the boards where these values serve: 5 on rivers; 0 without boards."""
    return self.features.cards

  @property
  def deck(self) -> tuple[int, ...]:
    return cards.WHOLE_DECK

  @property
  def beyond(self) -> tuple[Network, np.ndarray]:
    """The shared part of `street_leaves`: the network and its scale."""
    return self.network, self.scale

  def street_leaves(
    self, situations: Sequence[Situation], hands: np.ndarray, ranges: Sequence[np.ndarray], ends: Pair
  ) -> LeafEvaluator:
    return self.features.street_leaves(situations, hands, ranges, ends)

  def worths(self, given: Situation) -> np.ndarray:
    return self.features.worths(self, given)

  # --- Files -------------------------------------------------------------------------------

  def save(self, path: str | os.PathLike) -> None:
    """Save the network with its card; OSError if that fails, ValueError for a network of the user's own."""
    network = self.network
    if not isinstance(network, ValueNetwork | AlphaVectors | TensorNetwork):
      raise ValueError("A network of your own has no file here: save its arrays, as by safetensors.")
    places = network.places if isinstance(network, TensorNetwork) else len(jax.tree.leaves(network)[0])
    sizes = (places, list(network.slots), *network.size)
    header = {
      **self.card,
      **self.features.in_card(),
      "features": self.features.NAME,
      "measured": len(self.losses),
    }
    arrays = {
      f"parameter{k}": np.asarray(leaf, np.float32) for k, leaf in enumerate(jax.tree.leaves(network))
    }
    arrays |= {**self.features.to_arrays(), "scale": self.scale, "losses": self.losses}
    storage.write(path, KIND, header | dict(zip(SIZES, sizes, strict=True)), arrays)

  @classmethod
  def load(cls, path: str | os.PathLike) -> "NetworkValues":
    """Read a file of `save`.

    OSError if it cannot be read; ValueError if it is damaged, holds something else, or has unknown features.
    """
    file = storage.read(path)
    header = dict(file.header)
    if header["kind"] != KIND:
      raise ValueError(f"{path} holds {file.content}, not learned values.")
    if (name := header["features"]) not in FEATURES:
      raise ValueError(f"{path}: the network has the features {name!r}; known are {', '.join(FEATURES)}.")
    kind = FEATURES[name]
    places, slots, width, layers = (header.pop(name) for name in SIZES)
    if layers > len(file.shapes):  # each has arrays of its own
      raise ValueError(f"{path} is damaged: {layers} layers, but {len(file.shapes)} arrays.")
    shape = kind.blank(places, tuple(slots), width, layers)
    leaves, structure = jax.tree.flatten(shape)
    count = sum(name.startswith("parameter") for name in file.shapes)
    if not kind.listed and count != len(leaves):
      raise ValueError(
        f"{path} has a network of an earlier version of this package, of {count} arrays in place of "
        f"{len(leaves)}; learn the values again (learn --teacher=self-play)."
      )
    expected: dict[str, storage.Shape] = {
      f"parameter{k}": (leaf.shape, np.dtype(np.float32)) for k, leaf in enumerate(leaves)
    }
    expected |= {**kind.stored(places), "losses": ((header.pop("measured"), 3), np.dtype(np.float64))}
    arrays = file.arrays(expected)
    steps = arrays["losses"][:, 0]
    if (np.diff(steps, prepend=0) < 1).any() or steps.max(initial=0) > MOST or (steps % 1).any():
      raise ValueError(f"{path} is damaged: the steps of its losses do not ascend from 1 or more.")
    if not (arrays["scale"] > 0).all():
      raise ValueError(f"{path} is damaged: its scale is not positive.")
    network = jax.tree.unflatten(structure, [arrays.pop(f"parameter{k}") for k in range(len(leaves))])
    card = {key: x for key, x in header.items() if key not in STAMP}
    return cls(kind.from_file(card, arrays), network, arrays["scale"], card, arrays["losses"])
