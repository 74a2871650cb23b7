"""Limits on histories and memory for compiling a game, and the watch over them during an enumeration."""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from typing import TYPE_CHECKING, Protocol

import pyspiel

from ps_cfr_spiel.arguments import is_integer
from ps_cfr_spiel.compilation.histories.size_estimate import LONGEST, SizeEstimate, estimate_size
from ps_cfr_spiel.memory import HISTORY, TooLarge, allowed_memory, readable_bytes, readable_count
from ps_cfr_spiel.options import LIMIT
from ps_cfr_spiel.reports import progress_bar

if TYPE_CHECKING:
  from tqdm import tqdm

PATIENCE_SECONDS = 3600  # of an enumeration in Python, unless `limit` is given
TRIED_SECONDS = 60  # most of an enumeration to a limit that the estimate exceeds, if not surely
SHARE = 0.5  # of the free memory, the default limit
EVERY = 256  # histories between two looks
PATIENCE = 0.5  # seconds of enumeration before the game's size is estimated
PACED = 5000  # histories by which the enumeration's pace is measured
HOPELESS = 100  # multiple of the limit beyond which raising it is no advice


class Stopped(Exception):  # noqa: N818
  """An enumeration ends for a reason outside the game."""


class LongEnumeration(Stopped):
  """An enumeration takes longer than its `Watch` allows; another may be faster. `size`: an estimate."""

  def __init__(self, size: SizeEstimate | None = None):
    super().__init__(size)
    self.size = size


class FaultAtError(Stopped):
  """The enumeration cannot go on at the history `path`, or below; Python has the words for it."""

  def __init__(self, path: list[int]):
    super().__init__(path)
    self.path = path


@dataclasses.dataclass(frozen=True)
class Limits:
  """The limits on compiling a game."""

  histories: int  #: maximum number to enumerate
  memory: float  #: maximum bytes, for the histories and the tree

  @classmethod
  def create(cls, limit: object = LIMIT, memory: object = None) -> Limits:
    """The limits given by a user; without `memory`, a share of the free memory.

    ValueError if one of them is not a number, or too small.
    """
    if not is_integer(limit) or limit < 1:
      raise ValueError(f"limit must be an integer of at least 1 (histories); got {limit!r}.")
    return cls(limit, allowed_memory(memory, SHARE))


class EnumerationProgress(Protocol):
  """The progress of an enumeration, as a watch needs it."""

  def key_bytes(self) -> int:
    """Bytes of all strings and sets of actions, each held once."""
    ...

  def share(self) -> float:
    """The share of the game that has been enumerated, if all children of a state are equally large."""
    ...


class Watch:
  """Regular looks at an enumeration: they show its progress and end it beyond the limits.

  After half a second of enumeration the watch estimates the game's size, and refuses a game that is surely
  too large, or probably if the enumeration to the limit would take longer than `TRIED_SECONDS`.
  """

  def __init__(
    self,
    game: pyspiel.Game,
    limits: Limits,
    progress: bool | None,
    longest: float = math.inf,
    size: SizeEstimate | None = None,
    in_python: bool = False,
  ):
    """Start its clock.

    An enumeration with more than `longest` seconds left ends in LongEnumeration. `size` is an estimate made
    before. An enumeration that stays `in_python` ends in TooLarge, too, if it would take longer than
    `PATIENCE_SECONDS`.
    """
    self.game, self.limits, self.longest, self.every = game, limits, longest, EVERY
    self.start = time.perf_counter()
    self.most = min(limits.histories, limits.memory / HISTORY)  # histories within both limits
    self.size, self.impatient = size, in_python and limits.histories == LIMIT
    self.progress = progress
    self._announce(0)

  @functools.cached_property
  def bar(self) -> tqdm:
    """Its progress bar, made at the first look: the import of tqdm takes longer than a small game."""
    return progress_bar(
      self.progress, unit=" histories", desc="Enumerating", unit_scale=True, delay=1, leave=False
    )

  def look(self, count: int, enumeration: EnumerationProgress) -> int:
    """Look again after `count` histories; returns the count for the next look, or raises TooLarge."""
    taken = count * HISTORY + enumeration.key_bytes()
    if count and not self.bar.disable:
      share = enumeration.share()
      self.bar.total = round(count / share) if share > 1e-9 else None
      self.bar.set_postfix_str(readable_bytes(taken), refresh=False)
      self.bar.update(count - self.bar.n)
    over = count >= self.limits.histories or taken > self.limits.memory
    if over or (self.size is None and time.perf_counter() > self.start + PATIENCE):
      pace = count / (time.perf_counter() - self.start) if count else math.inf
      # In Python more than these take longer than the user's patience.
      most = min(self.most, PATIENCE_SECONDS * pace) if self.impatient else self.most
      self.size = self.size or estimate_size(self.game, most)
      likely = self.size.count > most > TRIED_SECONDS * pace
      if over or likely or self.size.exceeds:
        raise TooLarge(self._refusal(self.size, count, taken, most))
      self._announce(count)
    if self.size is not None and self._left(count, enumeration) > self.longest:
      raise LongEnumeration(self.size)
    return min(count + self.every, self.limits.histories)

  def _announce(self, count: int) -> None:
    """Report the size of the game, once there is an estimate, and the time after `count` histories."""
    if self.size is not None and self.size.probes and not self.bar.disable:
      expected = f"about {readable_count(self.size.count)} in {readable_bytes(self.size.count * HISTORY)}"
      if count:
        seconds = (time.perf_counter() - self.start) * self.size.count / count
        expected += f", {readable_seconds(seconds)}"
      self.bar.set_description(f"Enumerating {expected}", refresh=False)

  def _left(self, count: int, enumeration: EnumerationProgress) -> float:
    """Seconds that remain: by the estimate at first, later by the enumerated share of the game too."""
    assert self.size is not None
    elapsed, expected = time.perf_counter() - self.start, self.size.count
    if count and elapsed > self.longest:
      expected = max(expected, count / max(enumeration.share(), 1 / self.most))
    return elapsed * (expected / max(count, 1) - 1)

  def _refusal(self, size: SizeEstimate, count: int, taken: float, most: float) -> str:
    if size.endless:
      return f"{self.game} does not end: each of {size.probes} random paths has more than {LONGEST:,} moves."
    if most < self.most and size.count <= self.most:
      what = (
        f"takes more than {readable_seconds(PATIENCE_SECONDS)} to enumerate, the limit unless you give one"
      )
      name = "limit"
    elif self.most < self.limits.histories or taken > self.limits.memory:
      what = f"needs more than {readable_bytes(self.limits.memory)} of memory, the limit"
      name = "memory"
    else:
      what = f"has more than {self.limits.histories:,} histories, the limit"
      name = "limit"
    expected = max(size.count, count)
    each = max(taken / max(count, 1), HISTORY)
    about = (
      f"more than {readable_count(expected)} histories"
      if size.cut
      else f"about {readable_count(expected)} histories in {readable_bytes(expected * each)}"
    )
    if count >= PACED and not size.cut:
      about += f", {readable_seconds(expected / count * (time.perf_counter() - self.start))} of enumeration"
    change = (
      "Choose smaller parameters of the game, or a solver that needs none: KeyedMCCFRSolver (train), in "
      "poker HierarchicalMCCFRSolver (solve --solver=hierarchical)"
    )
    if expected < HOPELESS * self.most:
      change += f", or raise the limit: build_tree(game, {name}=...), PSCFRSolver(game, {name}=...), --{name}"
    return f"{self.game} {what}: {about}, by {size.probes} random paths through it. {change}."

  def __enter__(self) -> Watch:
    return self

  def __exit__(self, *_: object) -> None:
    if "bar" in vars(self):
      self.bar.close()


def readable_seconds(number: float) -> str:
  """A duration in seconds or minutes, two digits."""
  return f"{max(number, 1):.0f} s" if number < 90 else f"{readable_count(number / 60)} min"
