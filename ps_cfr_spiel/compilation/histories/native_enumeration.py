"""The enumeration in C++ (histories.cc), by threads, for games that OpenSpiel's C++ knows by their string.

OpenSpiel's wheel ships the headers of its library. The first long enumeration compiles against them, where
there is a C++ compiler, and keeps the result in the folder of compiled code under a name made of the source
and of the wheel's library, so that another version of either compiles anew. A process of its own tries it
first: a library that does not fit may crash. If anything fails, Python enumerates.
"""

import concurrent.futures
import ctypes
import functools
import hashlib
import logging
import operator
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel

from ps_cfr_spiel.backend.device import cache_folder, trim_heap
from ps_cfr_spiel.backend.native import FOLDER
from ps_cfr_spiel.compilation.histories import player_information
from ps_cfr_spiel.compilation.histories.histories import Histories, path_to
from ps_cfr_spiel.compilation.histories.lazy_sequence import LazySequence
from ps_cfr_spiel.compilation.histories.limits import EnumerationProgress, FaultAtError, Limits, Watch
from ps_cfr_spiel.memory import TooLarge
from ps_cfr_spiel.reports import quiet_stderr, waiting
from ps_cfr_spiel.storage import make_folder

SOURCE = FOLDER / "histories.cc"
WHEEL = Path(str(pyspiel.__file__))  # its library
DONE, MORE, FAULT, NO_MEMORY = range(4)  # `Status` of the source
CROWN = -1  # the piece of all histories above the others
COLUMNS = 6  # of integers before those of the players' knowledge
COMPILE_SECONDS, TRIAL_SECONDS = 300, 60
EVERY = 8192  # histories between two looks: some 20 ms
LOOK_SECONDS = 0.05  # the same with several threads
ENOUGH = 16  # pieces for each thread, so that all end at about the same time
MOST, LONGEST = 20_000, 64  # histories of the crown, and their length: one thread enumerates them


def library_path() -> Path | None:
  """The place of the compiled enumeration; None without a folder of compiled code."""
  folder = cache_folder()
  if folder is None:
    return None
  key = hashlib.sha256(SOURCE.read_bytes())
  key.update(f"{WHEEL} {WHEEL.stat().st_size} {WHEEL.stat().st_mtime_ns}".encode())
  return folder / f"enumeration-{key.hexdigest()[:16]}.so"


@functools.cache
def compile_library(progress: bool | None = None) -> str:
  """Compile the enumeration unless that was done before. Returns the reason of a failure, "" for success."""
  path = library_path()
  if path is None:
    return "the folder of compiled code is off"
  if path.exists():
    return ""
  compiler = shutil.which(os.environ.get("CXX") or "g++")
  places = [WHEEL.parent, *(WHEEL.parent / "open_spiel" / name for name in ("abseil-cpp", "json/include"))]
  if compiler is None:
    return "there is no C++ compiler"
  try:
    make_folder(path.parent)
    with (
      waiting("Compiling the enumeration", progress),
      tempfile.TemporaryDirectory(dir=path.parent) as folder,
    ):
      made = Path(folder) / path.name
      # The wheel's library is linked by its full path: the loader then finds the one that Python has loaded.
      command = [
        compiler,
        "-std=c++17",
        "-O2",
        "-g0",
        "-shared",
        "-fPIC",
        *(f"-I{place}" for place in places),
      ]
      command += [str(SOURCE), str(WHEEL), "-o", str(made), "-Wl,--unresolved-symbols=ignore-all"]
      _run(command, COMPILE_SECONDS)
      trial = f"import sys; sys.path[:] = {sys.path}; "
      trial += "from ps_cfr_spiel.compilation.histories import native_enumeration"
      _run([sys.executable, "-c", f"{trial}; native_enumeration.try_out({str(made)!r})"], TRIAL_SECONDS)
      made.replace(path)
  except (OSError, ValueError, subprocess.SubprocessError) as error:
    last = (getattr(error, "stderr", None) or str(error)).strip().splitlines()[-1:]
    reason = f"it cannot be compiled ({' '.join(last)})"
    logging.getLogger(__name__).info("No native enumeration: %s. Python enumerates.", reason)
    return reason
  return ""


def _run(command: list[str], seconds: float) -> None:
  subprocess.run(
    command, check=True, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL
  )


@functools.cache
def _load(path: Path) -> Any:
  """The library; None if it does not load."""
  try:
    library = ctypes.CDLL(str(path))
    library.enumeration_share.restype = ctypes.c_double
    for name in (
      "enumeration_count",
      "enumeration_pieces",
      "enumeration_bytes",
      "enumeration_sets",
      "enumeration_legal",
    ):
      getattr(library, name).restype = ctypes.c_int64
  except (OSError, AttributeError):
    return None
  return library


def why_unavailable(game: pyspiel.Game) -> str:
  """The reason why this game cannot be enumerated natively now, "" if it can."""
  path = library_path()
  if path is None or not path.exists() or _load(path) is None:
    return "the native enumeration is not compiled"
  return "" if is_known(game) else "OpenSpiel's C++ does not know the game by its string"


def is_known(game: pyspiel.Game) -> bool:
  """Whether OpenSpiel's C++ makes this very game from its string: not a game in Python or made from data."""
  if not type(game).__module__.startswith("pyspiel"):
    return False
  try:
    with quiet_stderr():
      inner = game.get_parameters().get("game")
      if isinstance(inner, dict):  # a wrapper
        name = inner["name"]
        if not is_known(pyspiel.load_game(name, {key: inner[key] for key in inner if key != "name"})):
          return False
      same = pyspiel.load_game(str(game))
  except Exception:  # OpenSpiel raises many kinds
    return False
  facts = ("num_players", "num_distinct_actions", "max_game_length", "min_utility", "max_utility", "__str__")
  return all(getattr(same, fact)() == getattr(game, fact)() for fact in facts)


def try_out(path: str) -> None:
  """Enumerate a small game with a new library, and see that each history is that of Python's state."""
  for name in ("kuhn_poker", "first_sealed_auction(max_value=2)"):
    game = player_information.sequential(pyspiel.load_game(name))
    with NativeEnumeration(game, library=Path(path)) as native:
      histories = native.run(Watch(game, Limits.create(), False))
    for h in range(len(histories.parent)):
      state = game.new_initial_state()
      for action in histories.path(h):
        state.apply_action(action)
      known = [state.information_state_string(i) for i in histories.players]
      recorded = [names[of[h]] for names, of in zip(histories.names, histories.infostate, strict=True)]
      values = [column[h] for column in (histories.utility, *(histories.others or ()))]
      if (known, state.current_player()) != (recorded, histories.player[h]) or (
        state.is_terminal() and values != state.returns()[: len(values)]
      ):
        raise ValueError(f"{path} does not fit this OpenSpiel: {name}, history {histories.path(h)}")


class StoredNames(LazySequence[str]):
  """The names of a player's infostates, in one text; those left out are read from a state, on request.

  Attributes:
    places: int64[names, 2], where each begins and ends in the text; -1 where it is left out.
    text: of all, in UTF-8.
  """

  def __init__(
    self, game: pyspiel.Game, player: int, columns: Sequence[np.ndarray], places: np.ndarray, text
  ):
    """`columns`: parent, action and the player's infostate, as in `Histories`."""
    super().__init__(len(places), self._name)
    self.places, self.text = places, text
    self._game, self._player = game, player
    self._parent, self._action, self._of = columns

  def _name(self, number: int) -> str:
    begin, end = self.places[number].tolist()
    if begin >= 0:
      return str(memoryview(self.text)[begin:end], "utf-8")
    state = self._game.new_initial_state()
    for move in path_to(self._parent, self._action, int(np.argmax(self._of == number))):
      state.apply_action(move)
    return operator.methodcaller(player_information.strings_of(self._game), self._player)(state)


class NativeEnumeration(EnumerationProgress):
  """An enumeration through all histories of a game."""

  def __init__(self, game: pyspiel.Game, threads: int = 1, library: Path | None = None):
    """Stands before the first history."""
    library, kind = library or library_path(), game.get_type()
    assert library is not None
    zero_sum = kind.utility == pyspiel.GameType.Utility.ZERO_SUM
    self.library, self.game, self.threads = _load(library), game, threads
    self.players = game.num_players()
    self.utilities = 1 if zero_sum and self.players == 2 else self.players
    self._kind = kind.provides_information_state_string, zero_sum
    self.handle = ctypes.c_void_p()
    self.handle = self._begin(-1)

  def _begin(self, split: int) -> ctypes.c_void_p:
    """Start before the first history, with pieces below histories of length `split` if it is not -1."""
    given = (*self._kind, self.threads, split)
    handle = ctypes.c_void_p()
    status = self.library.enumeration_begin(str(self.game).encode(), *given, ctypes.byref(handle))
    self._check_memory(status)
    if status != DONE:
      raise FaultAtError([])
    return handle

  def __enter__(self) -> "NativeEnumeration":
    return self

  def __exit__(self, *_: object) -> None:
    self.library.enumeration_end(self.handle)

  def run(self, watch: Watch) -> Histories:
    """Go on to the end.

    FaultAtError at the first history that fails a check, or where the game raises an error; TooLarge beyond
    the limits, or without more memory.
    """
    watch.every = EVERY
    if self.threads > 1 and self._split():
      self._enumerate_pieces(watch)
    else:
      status = MORE
      while status == MORE:
        count = self._count()
        status = self._more(CROWN, 0, watch.look(count, self) - count)
      self._refuse(status, CROWN)
    return self._histories()

  def _split(self) -> bool:
    """Enumerate the crown of the least length with enough pieces; False, at the start, if no length has."""
    for length in range(1, LONGEST):
      self.library.enumeration_end(self.handle)
      self.handle = ctypes.c_void_p()
      self.handle = self._begin(length)
      status = self._more(CROWN, 0, MOST)
      pieces = self.library.enumeration_pieces(self.handle)
      if status not in (DONE, FAULT) or not pieces:
        break
      if status == FAULT or pieces >= ENOUGH * self.threads:
        self._crown = status
        return True
    self.library.enumeration_end(self.handle)
    self.handle = ctypes.c_void_p()
    self.handle = self._begin(-1)
    return False

  def _enumerate_pieces(self, watch: Watch) -> None:
    """Enumerate all pieces. After a fault only those before it go on: a fault of theirs would come first."""
    pieces, free = self.library.enumeration_pieces(self.handle), queue.SimpleQueue()
    for thread in range(self.threads):
      free.put(thread)
    stop, faults = threading.Event(), {} if self._crown == DONE else {pieces: (self._crown, CROWN)}

    def run(piece: int) -> None:
      thread, status = free.get(), MORE
      try:
        while status == MORE and not stop.is_set() and piece < min(faults, default=pieces):
          status = self._more(piece, thread, EVERY)
        if status in (FAULT, NO_MEMORY):
          faults[piece] = (status, piece)
      finally:
        free.put(thread)

    with concurrent.futures.ThreadPoolExecutor(self.threads) as pool:
      try:
        left = {pool.submit(run, piece) for piece in range(pieces)}
        while left:
          # At the limit an enumeration that is not over will be beyond it soon; one that is over is not.
          watch.look(min(self._count(), watch.limits.histories - 1), self)
          if self._count() > watch.limits.histories:
            watch.look(self._count(), self)
          left = concurrent.futures.wait(left, LOOK_SECONDS).not_done
      finally:
        stop.set()
        pool.shutdown(cancel_futures=True)
    if faults:
      self._refuse(*faults[min(faults)])
    if self._count() > watch.limits.histories:
      watch.look(self._count(), self)

  def _more(self, piece: int, thread: int, count: int) -> int:
    """Visit up to `count` further histories of a piece; returns the `Status`."""
    return self.library.enumeration_more(self.handle, ctypes.c_int64(piece), thread, ctypes.c_int64(count))

  def _refuse(self, status: int, piece: int) -> None:
    """Raise the error of a piece that ended with this status, if it is one."""
    self._check_memory(status)
    if status != DONE:
      index, length = ctypes.c_int64(piece), ctypes.c_int64()
      given = self.handle, index, ctypes.byref(length)
      self._check_memory(self.library.enumeration_path(*given, None))
      path = (ctypes.c_int64 * length.value)()
      self._check_memory(self.library.enumeration_path(*given, path))
      raise FaultAtError(list(path))

  def _check_memory(self, status: int) -> None:
    if status == NO_MEMORY:
      visited = self._count() if self.handle else 0
      raise TooLarge(
        f"{self.game}: no more memory after {visited:,} histories. Choose smaller parameters of the game, or "
        f"try again with more free memory."
      )

  def _count(self) -> int:
    return self.library.enumeration_count(self.handle)

  def key_bytes(self) -> int:
    return self.library.enumeration_bytes(self.handle)

  def share(self) -> float:
    return self.library.enumeration_share(self.handle)

  def _integers(self, column: int) -> np.ndarray:
    joined = column in (0, 5) or column >= COLUMNS  # others are copied unchanged
    width = 4 if joined else self.library.enumeration_width(self.handle, column)
    values = np.empty(self._count(), f"i{width}")
    status = self.library.enumeration_integers(self.handle, column, ctypes.c_void_p(values.ctypes.data))
    self._refuse(status, CROWN)
    return values

  def _numbers(self, column: int) -> np.ndarray:
    first = ctypes.c_double()
    width = self.library.enumeration_number_width(self.handle, column, ctypes.byref(first))
    if not width:
      return np.broadcast_to(np.float64(first.value), self._count())
    values = np.empty(self._count(), f"f{width}")
    self.library.enumeration_numbers(self.handle, column, width, ctypes.c_void_p(values.ctypes.data))
    return values

  def _legal(self, number: int) -> tuple[int, ...]:
    actions = ctypes.POINTER(ctypes.c_int64)()
    size = self.library.enumeration_legal(self.handle, ctypes.c_int64(number), ctypes.byref(actions))
    return tuple(actions[:size])

  def _text(self, player: int) -> tuple[np.ndarray, bytearray]:
    """Begin and end of a player's names in the text of all, int64[names, 2], -1 without; and the text."""
    sizes = (ctypes.c_int64 * 3)()
    self.library.enumeration_named(self.handle, player, sizes)
    count, _, size = sizes
    places, text = np.full((count, 2), -1, np.int64), bytearray(size)
    given = ctypes.c_void_p(places.ctypes.data), (ctypes.c_char * size).from_buffer(text)
    self.library.enumeration_names(self.handle, player, *given)
    return places, text

  def _histories(self) -> Histories:
    integers = [self._integers(column) for column in range(COLUMNS + self.players)]
    numbers = [self._numbers(column) for column in range(1 + self.utilities)]
    texts = [self._text(player) for player in range(self.players)]
    sets = [self._legal(number) for number in range(self.library.enumeration_sets(self.handle))]
    trim_heap()  # names were many small pieces
    names = [
      StoredNames(self.game, player, (*integers[:2], integers[COLUMNS + player]), *text)
      for player, text in enumerate(texts)
    ]
    return Histories(
      *integers[:5],
      chance=numbers[0],
      utility=numbers[1],
      infostate=tuple(integers[COLUMNS:]),
      names=tuple(names),
      legal=integers[5],
      legal_sets=sets,
      public=None,
      pruned=bool(self.library.enumeration_pruned(self.handle)),
      others=tuple(numbers[2:]),
    )
