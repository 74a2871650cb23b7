"""A network's knowledge of a public state beside both players' ranges, and checks of examples."""

import abc
from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol, Self

import jax
import numpy as np

from ps_cfr_spiel import storage
from ps_cfr_spiel.arguments import JSON
from ps_cfr_spiel.batches import Situation
from ps_cfr_spiel.learning.fitting import Data
from ps_cfr_spiel.learning.network import Network
from ps_cfr_spiel.resolving.subgames import BoundValues, PadTo, Subgames
from ps_cfr_spiel.tree import LeafEvaluator

Pair = tuple[np.ndarray, np.ndarray]
ROUNDING = 1e-3  # largest error of the sum of a range
LARGEST = 1e15  # of values: float32 holds sums of their squares
HELD_OUT = 20  # one draw in this number is for validation


class Solved(Protocol):
  """The part of `Examples` that features use, n of them."""

  @property
  def features(self) -> "Features":
    """A network's knowledge of their public states."""
    ...

  @property
  def inputs(self) -> Mapping[str, np.ndarray]:
    """[n, ...] by name, as `Features.shapes` has them."""
    ...

  @property
  def ranges(self) -> Pair:
    """For each player float32[n, M], of sum one."""
    ...

  @property
  def values(self) -> Pair:
    """For each player float32[n, M], for ranges of sum one."""
    ...

  @property
  def draw(self) -> np.ndarray:
    """int[n], the number of the draw."""
    ...


class Learned(Protocol):
  """The part of `NetworkValues` that features use."""

  @property
  def network(self) -> Network:
    """The map of ranges to values in units of `scale`."""
    ...

  @property
  def scale(self) -> np.ndarray:
    """float32, the size of values."""
    ...

  @property
  def card(self) -> Mapping[str, JSON]:
    """Their origin."""
    ...


class Features(abc.ABC):
  """The input of a network beside ranges: `StateFeatures` of one game, or `BoardFeatures` of hold'em.

  `values` are the `NetworkValues` with these features, `examples` the `Examples`.
  """

  NAME: ClassVar[str]  #: in files
  cards: int = 0  #: number of cards on the boards, 0 of public states
  listed: bool = True  #: whether searches need the whole game, in which public states have numbers

  @property
  @abc.abstractmethod
  def extent(self) -> tuple[int, tuple[int, int]]:
    """The numbers K of places and M of slots of each player, of a network."""

  @abc.abstractmethod
  def text(self, card: Mapping[str, JSON]) -> str:
    """The origin of values with this card, such as "16 rivers"."""

  # --- Examples ----------------------------------------------------------------------------

  @abc.abstractmethod
  def shapes(self, count: int) -> dict[str, storage.Shape]:
    """Shapes and dtypes of `Examples.inputs`, of this number of examples."""

  @property
  @abc.abstractmethod
  def hands(self) -> tuple[int, int]:
    """The numbers of columns of ranges and values of the examples, of each player."""

  @abc.abstractmethod
  def fault(self, examples: Solved) -> str | None:
    """The reason why a network cannot learn from examples of the right shapes, or None."""

  @abc.abstractmethod
  def unlike(self, other: "Features") -> str | None:
    """The difference of other features of this class, after "they", or None."""

  def with_columns(self, columns: tuple[int, int]) -> "Features":
    """The same features with other numbers of columns; of those with fixed ones, themselves."""
    return self

  def widened(self, inputs: Mapping[str, np.ndarray], columns: tuple[int, int]) -> Mapping[str, np.ndarray]:
    """`Examples.inputs` with more columns."""
    return inputs

  # --- Training ----------------------------------------------------------------------------

  @abc.abstractmethod
  def scale(self, examples: Solved) -> np.ndarray:
    """float32, the size of values."""

  @abc.abstractmethod
  def untrained(self, examples: Solved, scale: np.ndarray, seed: int, width: int, layers: int) -> Network:
    """A network with random weights."""

  @abc.abstractmethod
  def tensors(self, scale: np.ndarray, examples: Solved, rows: np.ndarray) -> Data:
    """The examples of some rows on the device, in the form for training."""

  def parameters(self, width: int, layers: int) -> int:
    """The number of parameters of a network."""
    one, two = (
      sum(x.size for x in jax.tree.leaves(self.blank(*self.extent, width, count))) for count in (1, 2)
    )
    return one + (layers - 1) * (two - one)  # layers are alike, and may be too many to list

  def outputs(self, width: int, layers: int) -> int:
    """The numbers that a network makes in its layers for one example, about."""
    return width * (layers + 1)

  # --- Files -------------------------------------------------------------------------------

  @classmethod
  @abc.abstractmethod
  def blank(cls, places: int, slots: tuple[int, int], width: int, layers: int) -> Network:
    """The shapes of a network in a file of values, as a pytree."""

  def in_card(self) -> dict[str, JSON]:
    """Fields of the card in a file of values, beside those of examples."""
    return {}

  def in_examples(self) -> tuple[dict[str, JSON], dict[str, np.ndarray]]:
    """Fields of the header and arrays in a file of examples; ValueError for boards."""
    raise ValueError("Examples of boards have the files of solve_batch: give it a folder as output.")

  @classmethod
  def unread(cls, header: dict[str, JSON]) -> tuple["Features", dict[str, storage.Shape]]:
    """Features by the header of a file of examples, whose fields are taken out, and their arrays there."""
    raise ValueError("Examples of boards are in folders of solve_batch; see load_examples.")

  def with_arrays(self, arrays: Mapping[str, np.ndarray]) -> "Features":
    """Features of `unread` with their arrays."""
    return self

  @classmethod
  @abc.abstractmethod
  def stored(cls, places: int) -> dict[str, storage.Shape]:
    """Shapes and dtypes of `scale` and `to_arrays` in a file of values, for K places of the network."""

  @abc.abstractmethod
  def to_arrays(self) -> dict[str, np.ndarray]:
    """Its arrays in a file of values."""

  @classmethod
  @abc.abstractmethod
  def from_file(cls, card: Mapping[str, JSON], arrays: Mapping[str, np.ndarray]) -> Self:
    """The features by the card and the arrays of a file of values."""

  # --- Searches ----------------------------------------------------------------------------

  @abc.abstractmethod
  def bind(
    self, values: Learned, subgames: Subgames, public_states: Sequence[int], pad_to: PadTo | None
  ) -> BoundValues:
    """See `search.ValueFunction`."""

  def street_leaves(
    self, situations: Sequence[Situation], hands: np.ndarray, ranges: Sequence[np.ndarray], ends: Pair
  ) -> LeafEvaluator:
    """See `batches.StreetValues`; ValueError unless they are of boards."""
    raise ValueError("Values of public states end no street; give values of boards.")

  def worths(self, values: Learned, given: Situation) -> np.ndarray:
    """See `batches.StreetValues`; ValueError unless they are of boards."""
    raise ValueError("Values of public states are of one game; give values of boards.")


def misshapen(arrays: Mapping[str, np.ndarray], expected: Mapping[str, storage.Shape]) -> str | None:
  """The first array with a wrong shape, or another kind of numbers (of any width), as text; None without."""
  for name, (shape, dtype) in expected.items():
    given = arrays[name]
    if given.shape != shape or given.dtype.kind != dtype.kind:
      return f"{name} is {given.dtype}{list(given.shape)}, expected {dtype}{list(shape)}"
  return None


def unsound(ranges: Pair, *values: Pair) -> str | None:
  """The first range [n, M] that is not a distribution, or unsound values [n, M], as text; None without."""
  for i, range_ in enumerate(ranges):
    distribution = (range_ >= 0).all(1) & (np.abs(range_.sum(1) - 1) <= ROUNDING)  # false for nan
    sound = np.all([(np.abs(pair[i]) <= LARGEST).all(1) for pair in values], 0)
    checks = {"range is not a distribution": distribution, f"values are not all within {LARGEST:g}": sound}
    for fault, passed in checks.items():
      if not passed.all():
        return f"in example {np.argmin(passed)} player {i}'s {fault}"
  return None


def held_out(examples: Solved) -> np.ndarray:
  """bool[n]: the examples for validation."""
  return examples.draw % HELD_OUT == 0
