"""The walk: every history of a pyspiel game is visited once, where that is fastest.

A game that OpenSpiel's C++ knows by its string is walked in C++ once that is compiled, which the first long
walk does; any other game in Python. A long walk is shared: in C++ by threads, in Python by processes.
"""

import contextlib
import dataclasses
import logging
import math
import time
from collections.abc import Callable

import pyspiel

from ps_cfr_spiel.device import cores
from ps_cfr_spiel.histories.histories import Histories, others_or_none
from ps_cfr_spiel.histories.limits import FaultAtError, Limits, LongWalk, TooLarge, Watch
from ps_cfr_spiel.histories.native_walker import NativeWalk, compile_library, is_known, why_unavailable
from ps_cfr_spiel.histories.recorder import OnFault, Recorder, Start
from ps_cfr_spiel.histories.size_estimate import SizeEstimate, estimate_size
from ps_cfr_spiel.histories.workers import NoWorkersError, answer_tasks, pieces, subtrees

SOME = 10_000  # histories that show the pace of a walk
IN_CPP = 3  # times as fast as in Python, about
LONG = 10  # seconds left of a walk that are worth a compilation, and the start of workers


def walk(
  game: pyspiel.Game,
  limits: Limits | None = None,
  progress: bool | None = None,
  observe: Callable[[pyspiel.State], str] | None = None,
  on_fault: OnFault | None = None,
  processes: int | None = None,
) -> Histories:
  """Enumerate a sequential game, and check every state by the laws of `game_laws`.

  A game that OpenSpiel's C++ knows by its string is walked in C++ once that is compiled, which the first long
  walk does (see `native_walker`); `observe` and `on_fault` need Python.

  Args:
    observe: state -> public observation; kept as `Histories.public`.
    on_fault: called with each fault of a state, instead of a ValueError.
    processes: their number, in C++ that of threads; None: one at first, all cores for what would take long.

  Raises:
    TooLarge: the game exceeds the limits, or surely would.
    ValueError: a state breaks a law.
    WorkerError: a process that shares the walk ended before its work was done.
    Exception: any error of the game's own code, with a note on its history.
  """
  limits, wanted = limits or Limits.create(), processes or cores()
  if observe is not None or on_fault is not None:
    processes = wanted = 1
  faster = wanted > 1 or (processes is None and bool(why_unavailable(game)) and is_known(game))
  try:
    if processes is not None and processes > 1:
      raise LongWalk()
    in_python = 0 if faster and is_known(game) else wanted
    longest = LONG if faster and processes is None else math.inf
    with Watch(game, limits, progress, longest, processes=in_python) as watch:
      histories = walk_from(game, Start(), watch, observe, on_fault)
  except LongWalk as long:
    if is_known(game):
      compile_library(progress)
    histories = _walk_together(game, limits, progress, wanted, long.size)
  return dataclasses.replace(histories, others=others_or_none(histories))


def foretell(game: pyspiel.Game, most: int) -> tuple[SizeEstimate, float]:
  """An estimate of the histories of a game, tested against `most`, and seconds of a walk by free cores."""
  size, start, count = estimate_size(game, most), time.process_time(), 0
  with contextlib.suppress(TooLarge):
    count = len(walk_from(game, Start(), Watch(game, Limits(SOME, math.inf), False, size=size)).parent)
  pace = (count or SOME) / (time.process_time() - start)
  faster = IN_CPP if is_known(game) and why_unavailable(game) else 1
  return size, size.count / (pace * faster * cores())


def _walk_together(
  game: pyspiel.Game, limits: Limits, progress: bool | None, processes: int, size: SizeEstimate | None
) -> Histories:
  """The histories, by several threads in C++, or by several processes where that works."""
  native = not why_unavailable(game)
  length, starts = subtrees(game, processes) if processes > 1 and not native else (0, [])
  if starts:
    try:
      with (
        pieces(game, starts, limits, processes) as found,
        Watch(game, limits, progress, size=size) as watch,
      ):
        return Recorder(game).walk(Start(), watch, found, length)
    except NoWorkersError as error:
      logging.getLogger(__name__).info("One process walks, because %s.", error)
    except FaultAtError as error:
      with Watch(game, limits, progress, size=size) as watch:
        walk_from(game, Start(tuple(error.path)), watch)
  with Watch(game, limits, progress, size=size) as watch:
    return walk_from(game, Start(), watch, threads=processes)


def serve(parent: int) -> None:
  """The life of a worker of process `parent`; see `workers`."""
  answer_tasks(walk_from, parent)


def walk_from(
  game: pyspiel.Game,
  start: Start,
  watch: Watch,
  observe: Callable[[pyspiel.State], str] | None = None,
  on_fault: OnFault | None = None,
  threads: int = 1,
) -> Histories:
  """The histories that begin with that of `start`; in C++ if possible. Raises as `walk` does."""
  if observe is None and on_fault is None and not why_unavailable(game):
    try:
      with NativeWalk(game, start.path, start.rank, start.chance, threads=threads) as native:
        return native.run(watch)
    except FaultAtError as error:
      Recorder(game).repeat(error.path)
  return Recorder(game, observe, on_fault).walk(start, watch)
