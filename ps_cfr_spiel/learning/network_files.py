"""Files of value networks: the weights, their origin, and the other arrays of their kind."""

import os
from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import numpy as np

from ps_cfr_spiel import storage
from ps_cfr_spiel.arguments import MOST
from ps_cfr_spiel.learning.network import ValueNetwork

KIND, SIZES = "values", ("places", "slots", "width", "layers")

Read = tuple[ValueNetwork, dict[str, Any], np.ndarray, dict[str, np.ndarray]]


def write_network(
  path: str | os.PathLike,
  features: str,
  network: ValueNetwork,
  card: Mapping[str, Any],
  losses: np.ndarray,
  more: Mapping[str, np.ndarray],
) -> None:
  """Write a file.

  Args:
    path: of the file.
    features: the network's input beside ranges.
    network: on the host.
    card: its origin; JSON values.
    losses: float64[n, 3].
    more: arrays of its kind.

  Raises:
    OSError: the file cannot be written.
  """
  places, width = network.places.shape
  sizes = (places, [len(weights) for weights in network.ranges], width, len(network.inner))
  header = {**card, "features": features, **dict(zip(SIZES, sizes, strict=True)), "measured": len(losses)}
  arrays = {f"parameter{k}": np.asarray(leaf, np.float32) for k, leaf in enumerate(jax.tree.leaves(network))}
  storage.write(path, KIND, header, {**arrays, **more, "losses": losses})


def features_of(path: str | os.PathLike) -> str:
  """The features of the network in a file; errors of `storage.read`, and ValueError for other files."""
  header = storage.read(path).header
  if header["kind"] != KIND:
    raise ValueError(f"{path} holds {header['kind']}, not learned values.")
  return header["features"]


def read_network(
  path: str | os.PathLike, features: str, more: Callable[[int], Mapping[str, storage.Shape]]
) -> Read:
  """Read a file of `write_network`: network, card, losses, and the arrays of its kind.

  Args:
    path: of the file.
    features: the known features.
    more: from the number of places to the shapes of its kind's arrays.

  Raises:
    OSError: the file cannot be read.
    ValueError: it is truncated or damaged, holds something else, or has other features.
  """
  if (wanted := features_of(path)) != features:
    raise ValueError(f"{path}: the network has the features {wanted!r}; these values have {features!r}.")
  file = storage.read(path)
  header = dict(file.header)
  places, slots, width, layers = (header.pop(name) for name in SIZES)
  if layers > len(file.shapes):  # each has arrays of its own
    raise ValueError(f"{path} is damaged: {layers} layers, but {len(file.shapes)} arrays.")
  shape = eqx.filter_eval_shape(ValueNetwork, places, tuple(slots), width, layers, jax.random.key(0))
  leaves, structure = jax.tree.flatten(shape)
  single, names = np.dtype(np.float32), [f"parameter{k}" for k in range(len(leaves))]
  expected: dict[str, Any] = {name: (leaf.shape, single) for name, leaf in zip(names, leaves, strict=True)}
  expected |= {**more(places), "losses": ((header.pop("measured"), 3), np.dtype(np.float64))}
  arrays = file.arrays(expected)
  steps = arrays["losses"][:, 0]
  if (np.diff(steps, prepend=0) < 1).any() or steps.max(initial=0) > MOST or (steps % 1).any():
    raise ValueError(f"{path} is damaged: the steps of its losses do not ascend from 1 or more.")
  if not (arrays.get("scale", np.ones(1)) > 0).all():
    raise ValueError(f"{path} is damaged: its scale is not positive.")
  network = jax.tree.unflatten(structure, [arrays.pop(name) for name in names])
  stamp = ("format", "format_version", "version", "kind", "features")
  card = {key: x for key, x in header.items() if key not in stamp}
  return network, card, arrays.pop("losses"), arrays
