"""The common part of learned values: a network with its card, and their file."""

import dataclasses
import os
from typing import Any, ClassVar, Self

import equinox as eqx
import jax
import numpy as np

from ps_cfr_spiel import storage
from ps_cfr_spiel.arguments import MOST
from ps_cfr_spiel.learning.alpha_vectors import AlphaVectors
from ps_cfr_spiel.learning.network import ValueNetwork

KIND, SIZES = "values", ("places", "slots", "width", "layers")
STAMP = (*storage.STAMP, "version", "features")
NOTHING = np.zeros((0, 3))  # losses before the first step


@dataclasses.dataclass(frozen=True, eq=False)
class NetworkValues:
  """A network that was trained on solved situations; subclasses are value functions of searches."""

  FEATURES: ClassVar[str]  # the network's input beside ranges

  #: a `ValueNetwork`, an `UserNetwork` or `AlphaVectors`, from ranges to values in units of `scale`.
  network: Any
  scale: np.ndarray  #: float32, the size of values
  card: dict[str, Any]  #: their origin: game, teacher, data, seed, errors; saved with them
  losses: np.ndarray  #: float64[n, 3], (step, training loss, validation loss) during training

  @classmethod
  def shapes(cls, places: int) -> dict[str, storage.Shape]:
    """Shapes and dtypes of the attributes of this kind that a file has, for K places of the network."""
    raise NotImplementedError

  def save(self, path: str | os.PathLike) -> None:
    """Save the network with its card; OSError if that fails, ValueError for a network of the user's own."""
    network = self.network
    if not isinstance(network, ValueNetwork | AlphaVectors):
      raise ValueError("A network of your own has no file here: save its arrays, as by numpy.savez.")
    sizes = (len(jax.tree.leaves(network)[0]), list(network.slots), *network.size)
    header = {**self.card, "features": self.FEATURES, "measured": len(self.losses)}
    arrays = {
      f"parameter{k}": np.asarray(leaf, np.float32) for k, leaf in enumerate(jax.tree.leaves(network))
    }
    arrays |= {name: getattr(self, name) for name in (*self.shapes(sizes[0]), "losses")}
    storage.write(path, KIND, header | dict(zip(SIZES, sizes, strict=True)), arrays)

  @classmethod
  def load(cls, path: str | os.PathLike) -> Self:
    """Read a file of `save`.

    OSError if it cannot be read; ValueError if it is damaged, holds something else, or has other features.
    """
    if (features := features_of(path)) != cls.FEATURES:
      raise ValueError(
        f"{path}: the network has the features {features!r}; these values have {cls.FEATURES!r}."
      )
    file = storage.read(path)
    header = dict(file.header)
    places, slots, width, layers = (header.pop(name) for name in SIZES)
    if layers > len(file.shapes):  # each has arrays of its own
      raise ValueError(f"{path} is damaged: {layers} layers, but {len(file.shapes)} arrays.")
    if layers:
      shape = eqx.filter_eval_shape(ValueNetwork, places, tuple(slots), width, layers, jax.random.key(0))
    else:
      shape = eqx.filter_eval_shape(AlphaVectors, places, tuple(slots), width)
    leaves, structure = jax.tree.flatten(shape)
    expected: dict[str, Any] = {
      f"parameter{k}": (leaf.shape, np.dtype(np.float32)) for k, leaf in enumerate(leaves)
    }
    expected |= {**cls.shapes(places), "losses": ((header.pop("measured"), 3), np.dtype(np.float64))}
    arrays = file.arrays(expected)
    steps = arrays["losses"][:, 0]
    if (np.diff(steps, prepend=0) < 1).any() or steps.max(initial=0) > MOST or (steps % 1).any():
      raise ValueError(f"{path} is damaged: the steps of its losses do not ascend from 1 or more.")
    if not (arrays["scale"] > 0).all():
      raise ValueError(f"{path} is damaged: its scale is not positive.")
    network = jax.tree.unflatten(structure, [arrays.pop(f"parameter{k}") for k in range(len(leaves))])
    card = {key: x for key, x in header.items() if key not in STAMP}
    return cls(network=network, card=card, **arrays)


def features_of(path: str | os.PathLike) -> str:
  """The features of the network in a file; errors of `storage.read`, and ValueError for other files."""
  header = storage.read(path).header
  if header["kind"] != KIND:
    raise ValueError(f"{path} holds {header['kind']}, not learned values.")
  return header["features"]
