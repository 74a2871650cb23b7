"""The one driver of iterations: calls of the device of a fraction of a second, between which others act.

Between two calls a caller shows progress, measures, saves, and stops; a signal waits for one call at most.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence

from ps_cfr_spiel.backend.device.compilation import uncompiled_seconds
from ps_cfr_spiel.reports import Stopwatch

CHUNK_SECONDS = 0.25  # a call lasts about this long
LEAST_CHUNK = 4  # iterations of all calls but the first: copying and checking large tables takes long


class Pace(Stopwatch):
  """The time of calls of the device so far, and the length of the next one.

  Attributes:
    chunk: iterations of the next call.
    rate: iterations a second in the last call.
  """

  def __init__(self, clock: Callable[[], float] = time.monotonic, chunk: int = 1):
    """Begin with `chunk` iterations; `clock` gives the time in seconds."""
    super().__init__(clock)
    self.chunk, self.rate = chunk, math.inf

  def adjust(self, done: int) -> None:
    """Set the length of the next call, after one of `done` iterations: at most double, for `CHUNK_SECONDS`.

    If a run ends or reaches a mark, `done` is below `chunk`, which then stays unless the call was slow.
    """
    self.rate = done / max(self.last, 1e-9)
    if done == self.chunk or self.last > CHUNK_SECONDS:
      self.chunk = max(LEAST_CHUNK, min(2 * self.chunk, int(self.rate * CHUNK_SECONDS)))


def advance(
  step: Callable[[int], object],
  start: int,
  end: int,
  pace: Pace,
  marks: Callable[[int], int] | None = None,
  seconds: float = math.inf,
) -> Iterator[int]:
  """Take the iterations after `start` up to `end`, and yield the number of the last one after each call.

  Args:
    step: takes some further iterations, and waits for them.
    start: iterations done.
    end: the last iteration.
    pace: the length of calls; kept between runs, which then begin at their pace.
    marks: the first iteration beyond a given one with which a call has to end.
    seconds: time of all calls, after which no second one begins; later ones are not longer than is left.
  """
  done, until = start, pace.seconds + seconds
  while done < end and (done == start or pace.seconds < until):
    goal = end if marks is None else min(end, marks(done))
    fitting = math.inf if done == start else pace.rate * (until - pace.seconds)
    count = int(max(min(pace.chunk, goal - done, fitting), 1))
    with pace:
      step(count)
    pace.adjust(count)
    done += count
    yield done


def run_for(step: Callable[[int], object], iterations: int, seconds: float | None, first: int) -> None:
  """Take iterations: all in one call, or those that fit into `seconds`, `first` of them in the first call.

  Compilation does not count: else a first search would have nothing but its first call.
  """
  if seconds is None:
    step(iterations)
    return
  for _ in advance(step, 0, iterations, Pace(uncompiled_seconds, first), seconds=seconds):
    pass


def run_to(step: Callable[[int], object], marks: Sequence[int]) -> Iterator[int]:
  """Take iterations up to each of `marks`, ascending, and yield it: in one call each, unless that is slow."""
  pace = Pace(chunk=marks[-1])
  for done in advance(step, 0, marks[-1], pace, lambda done: next(mark for mark in marks if mark > done)):
    if done in marks:
      yield done
