"""The one driver of iterations: calls of the device of a fraction of a second, between which others act.

Between two calls a caller shows progress, measures, saves, and stops; a signal waits for one call at most.
"""

import math
import time
from collections.abc import Callable, Iterator

from ps_cfr_spiel.reports import Stopwatch

CHUNK_SECONDS = 0.25  # a call lasts about this long
LEAST_CHUNK = 4  # iterations of all calls but the first: copying and checking large tables takes long


class Pace(Stopwatch):
  """The time of calls of the device so far, and the length of the next one.

  Attributes:
    chunk: iterations of the next call.
  """

  def __init__(self, clock: Callable[[], float] = time.monotonic):
    """Begin with one iteration; `clock` gives the time in seconds."""
    super().__init__(clock)
    self.chunk = 1

  def adjust(self, done: int) -> None:
    """Set the length of the next call, after one of `done` iterations: at most double, for `CHUNK_SECONDS`.

    If a run ends or reaches a mark, `done` is below `chunk`, which then stays unless the call was slow.
    """
    if done == self.chunk or self.last > CHUNK_SECONDS:
      fitting = int(done * CHUNK_SECONDS / max(self.last, 1e-9))
      self.chunk = max(LEAST_CHUNK, min(2 * self.chunk, fitting))


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
    seconds: time of all calls, after which none begins.
  """
  done, spent = start, pace.seconds
  while done < end and pace.seconds - spent < seconds:
    goal = end if marks is None else min(end, marks(done))
    count = min(pace.chunk, goal - done)
    with pace:
      step(count)
    pace.adjust(count)
    done += count
    yield done
