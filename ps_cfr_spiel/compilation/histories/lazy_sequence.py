"""A sequence whose items are made when they are read."""

from collections.abc import Callable, Sequence
from typing import Generic, SupportsIndex, TypeVar, overload

Item = TypeVar("Item")


class LazySequence(Sequence[Item], Generic[Item]):
  """A sequence that makes its items on access: games with public cards have millions of names."""

  def __init__(self, length: int, make: Callable[[int], Item]):
    """`make` gives the item of each number below `length`."""
    self._length, self._make = length, make

  def __len__(self) -> int:
    return self._length

  @overload
  def __getitem__(self, index: SupportsIndex) -> Item: ...

  @overload
  def __getitem__(self, index: slice) -> list[Item]: ...

  def __getitem__(self, index: SupportsIndex | slice) -> Item | list[Item]:
    numbers = range(self._length)[index]
    return self._make(numbers) if isinstance(numbers, int) else [self._make(n) for n in numbers]
