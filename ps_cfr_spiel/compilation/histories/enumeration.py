"""The enumeration: every history of a pyspiel game is visited once, where that is fastest.

A game that OpenSpiel's C++ knows by its string is enumerated in C++ once that is compiled, which the first
long enumeration does, and threads share it; any other game is enumerated in Python.
"""

import contextlib
import dataclasses
import math
import time
from collections.abc import Callable

import pyspiel

from ps_cfr_spiel.backend.device import cores
from ps_cfr_spiel.compilation.histories.histories import Histories, others_or_none
from ps_cfr_spiel.compilation.histories.limits import FaultAtError, Limits, LongEnumeration, Watch
from ps_cfr_spiel.compilation.histories.native_enumeration import (
  NativeEnumeration,
  compile_library,
  is_known,
  why_unavailable,
)
from ps_cfr_spiel.compilation.histories.recorder import OnFault, Recorder
from ps_cfr_spiel.compilation.histories.size_estimate import SizeEstimate, estimate_size
from ps_cfr_spiel.memory import TooLarge

SOME = 2_000  # histories that show the pace of an enumeration
IN_CPP = 3  # times as fast as in Python, about
LONG = 10  # seconds left of an enumeration that are worth a compilation


def enumerate_histories(
  game: pyspiel.Game,
  limits: Limits | None = None,
  progress: bool | None = None,
  observe: Callable[[pyspiel.State], str] | None = None,
  on_fault: OnFault | None = None,
  threads: int | None = None,
) -> Histories:
  """Enumerate a sequential game, and check every state by `game_checks`.

  A game that OpenSpiel's C++ knows by its string is enumerated in C++ once that is compiled, which the first
  long enumeration does (see `native_enumeration`); `observe` and `on_fault` need Python.

  Args:
    observe: state -> public observation; kept as `Histories.public`.
    on_fault: called with each fault of a state, instead of a ValueError.
    threads: their number, in C++; None: one at first, all cores for what would take long.

  Raises:
    TooLarge: the game exceeds the limits, or surely would.
    ValueError: a state fails a check.
    Exception: any error of the game's own code, with a note on its history.
  """
  limits = limits or Limits.create()
  known = observe is None and on_fault is None and is_known(game)
  wanted = (threads or cores()) if known else 1
  faster = wanted > 1 or (known and threads is None and bool(why_unavailable(game)))
  try:
    if threads is not None and wanted > 1:
      raise LongEnumeration()
    longest = LONG if faster and threads is None else math.inf
    with Watch(game, limits, progress, longest, in_python=not faster) as watch:
      histories = enumerate_watched(game, watch, observe, on_fault)
  except LongEnumeration as long:
    compile_library(progress)
    with Watch(game, limits, progress, size=long.size) as watch:
      histories = enumerate_watched(game, watch, threads=wanted)
  return dataclasses.replace(histories, others=others_or_none(histories))


def foretell(game: pyspiel.Game, most: int) -> tuple[SizeEstimate, float]:
  """An estimate of the histories of a game, tested against `most`, and the seconds that free cores need."""
  size, start, count = estimate_size(game, most), time.process_time(), 0
  with contextlib.suppress(TooLarge):
    count = len(enumerate_watched(game, Watch(game, Limits(SOME, math.inf), False, size=size)).parent)
  pace = (count or SOME) / (time.process_time() - start)
  if is_known(game):
    pace *= cores() * (IN_CPP if why_unavailable(game) else 1)
  return size, size.count / pace


def enumerate_watched(
  game: pyspiel.Game,
  watch: Watch,
  observe: Callable[[pyspiel.State], str] | None = None,
  on_fault: OnFault | None = None,
  threads: int = 1,
) -> Histories:
  """All histories, in C++ if possible. Raises as `enumerate_histories` does."""
  if observe is None and on_fault is None and not why_unavailable(game):
    try:
      with NativeEnumeration(game, threads) as native:
        return native.run(watch)
    except FaultAtError as error:
      Recorder(game).repeat(error.path)
  return Recorder(game, observe, on_fault).run(watch)
