"""The sizes of subgames: subgames of one shape share compiled code."""

from typing import NamedTuple


class Shape(NamedTuple):
  """The size of a subgame's arrays; subgames of one shape share compiled code.

  Attributes:
    rows: for each player the rows of each block, by (own depth in the subgame, number of actions).
    leaves: leaves in each part of the inner evaluator.
    roots, frontier: for each player the rows there.
  """

  rows: tuple[dict[tuple[int, int], int], dict[tuple[int, int], int]]
  leaves: tuple[int, ...]
  roots: tuple[int, int]
  frontier: tuple[int, int]

  def union(self, other: "Shape") -> "Shape":
    """The least shape that holds both."""
    first, second = (
      {key: max(a.get(key, 0), b.get(key, 0)) for key in sorted({*a, *b})}
      for a, b in zip(self.rows, other.rows, strict=True)
    )
    longest = [
      tuple(max(pair) for pair in zip(a, b, strict=True)) for a, b in zip(self[1:], other[1:], strict=True)
    ]
    return Shape((first, second), *longest)  # pyright: ignore[reportArgumentType]

  def rounded(self) -> "Shape":
    """All sizes rounded up to powers of two."""
    up = [tuple(1 << (n - 1).bit_length() if n else 0 for n in sizes) for sizes in self[1:]]
    first, second = ({key: 1 << (n - 1).bit_length() for key, n in rows.items()} for rows in self.rows)
    return Shape((first, second), *up)  # pyright: ignore[reportArgumentType]
