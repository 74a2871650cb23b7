"""One player's sets on the host, laid out for a tree, to be split and brought to the device.

Infostates are named by their slots (`tree.sequences`); slots that are no infostates belong to no set.
"""

import dataclasses
from collections.abc import Sequence

import jax
import numpy as np

from ps_cfr_spiel.tree import PlayerTree, Sets, ranks, slot_tables

ROOM = 256  # least columns of a table that may grow


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Partition:
  """One player's sets."""

  sets: np.ndarray  #: int32[slots], the set of each slot, 0, 1, ...; -1 for none
  bucket: np.ndarray  #: int32[sets], the bucket whose tables hold the set
  column: np.ndarray  #: int32[sets], its column in these tables, 1, 2, ..
  origin: np.ndarray  #: int32[sets], the set of the first abstraction from which the set was split

  @property
  def count(self) -> int:
    """Number of sets."""
    return len(self.origin)

  @property
  def sizes(self) -> np.ndarray:
    """int[sets]: members of each set."""
    return np.bincount(self.sets[self.sets >= 0], minlength=self.count)

  def columns(self, buckets: int) -> np.ndarray:
    """int[buckets]: columns that the tables of each bucket need, the idle one counted."""
    return np.bincount(self.bucket, minlength=buckets) + 1


def room(tree: PlayerTree, parts: Partition) -> list[int]:
  """Columns for a player's tables of each bucket, with room for more sets, up to the most possible.

  Code is compiled for tables of a size, so these are powers of two: few splits compile anew.
  """
  most = [1 + rows * types for _, rows, types in tree.bucket_shapes]
  needed = parts.columns(len(most))
  return [min(m, max(ROOM, 1 << int(n).bit_length())) for m, n in zip(most, needed, strict=True)]


def roomy_sets(players: Sequence[PlayerTree], parts: Sequence[Partition]) -> tuple[Sets, Sets]:
  """Both players' sets as arrays for the solver's loop, on the host, with room for more."""
  first, second = (as_sets(player, p, room(player, p)) for player, p in zip(players, parts, strict=True))
  return first, second


def as_sets(tree: PlayerTree, parts: Partition, columns: Sequence[int] | None = None) -> Sets:
  """A partition as arrays for the loop, on the host; `columns` is K of each bucket, by default the least."""
  column = np.where(parts.sets >= 0, np.append(parts.column, 0)[parts.sets], 0)
  sizes = parts.columns(len(tree.buckets)).tolist() if columns is None else columns
  return Sets.create(tree, slot_tables(tree, column), sizes)


def entries(tables: Sequence[np.ndarray], slots: np.ndarray, fill: float) -> np.ndarray:
  """Entries at some slots of all buckets' tables [A, rows, H]: float[n, most actions], padded with `fill`."""
  width = max((x.shape[0] for x in tables), default=0)
  rows, start = np.full((len(slots), width), fill), 0
  for x in tables:
    flat = np.asarray(x).reshape(x.shape[0], -1)
    chosen = (start <= slots) & (slots < start + flat.shape[1])
    rows[chosen, : x.shape[0]] = flat[:, slots[chosen] - start].T
    start += flat.shape[1]
  return rows


def split(parts: Partition, slots: np.ndarray, groups: np.ndarray) -> tuple[Partition, np.ndarray]:
  """Move infostates, at `slots` int[n], out of their sets, those of one set and group into a new one.

  A set all of whose members are to move keeps those of its first group. Returns the refined sets, and
  int[new sets, 2]: for each the set from which it was split, and its number.
  """
  old = parts.sets[slots]
  pairs, member = np.unique(np.stack([old, groups]), axis=1, return_inverse=True)
  leaving = np.bincount(old, minlength=parts.count) == parts.sizes
  first = np.diff(pairs[0], prepend=-1) > 0
  stays = first & leaving[pairs[0]]
  number = np.where(stays, pairs[0], parts.count - 1 + np.cumsum(~stays))
  sets = parts.sets.copy()
  sets[slots] = number[member.reshape(-1)]
  origin = pairs[0][~stays]  # of each new set, the old one
  bucket, used = parts.bucket[origin], parts.columns(int(parts.bucket.max(initial=0)) + 1)
  refined = Partition(
    sets,
    np.append(parts.bucket, bucket).astype(np.int32),
    np.append(parts.column, used[bucket] + ranks(bucket)).astype(np.int32),
    np.append(parts.origin, parts.origin[origin]).astype(np.int32),
  )
  return refined, np.stack([origin, number[~stays]], 1)
