"""The walk in C++ (walker.cc), for games that OpenSpiel's C++ knows by their string.

OpenSpiel's wheel ships the headers of its library. The first long walk compiles against them, where there is
a C++ compiler, and keeps the result in the folder of compiled code under a name made of the source and of the
wheel's library, so that another version of either compiles anew. A process of its own tries it first: a
library that does not fit may crash. Where anything fails, Python walks.
"""

import ctypes
import functools
import hashlib
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel

from ps_cfr_spiel.device import cache_folder, trim_heap
from ps_cfr_spiel.histories import game_laws, knowledge
from ps_cfr_spiel.histories.histories import Histories
from ps_cfr_spiel.histories.limits import FaultAtError, Limits, Watch
from ps_cfr_spiel.reports import quiet_stderr, waiting
from ps_cfr_spiel.storage import make_folder

SOURCE = Path(__file__).with_name("walker.cc")
WHEEL = Path(str(pyspiel.__file__))  # its library
DONE, MORE = 0, 1  # `Status` of the source
COLUMNS = 6  # of integers before those of the players' knowledge
COMPILE_SECONDS, TRIAL_SECONDS = 300, 60
EVERY = 8192  # histories between two looks: some 20 ms


def library_path() -> Path | None:
  """The place of the compiled walk; None without a folder of compiled code."""
  folder = cache_folder()
  if folder is None:
    return None
  key = hashlib.sha256(SOURCE.read_bytes())
  key.update(f"{WHEEL} {WHEEL.stat().st_size} {WHEEL.stat().st_mtime_ns}".encode())
  return folder / f"walker-{key.hexdigest()[:16]}.so"


@functools.cache
def compile_library(progress: bool | None = None) -> str:
  """Compile the walk unless that was done before. Returns the reason of a failure, "" for success."""
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
    with waiting("Compiling the walk", progress), tempfile.TemporaryDirectory(dir=path.parent) as folder:
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
      trial = f"import sys; sys.path[:] = {sys.path}; from ps_cfr_spiel.histories import native_walker"
      _run([sys.executable, "-c", f"{trial}; native_walker.try_out({str(made)!r})"], TRIAL_SECONDS)
      made.replace(path)
  except (OSError, ValueError, subprocess.SubprocessError) as error:
    last = (getattr(error, "stderr", None) or str(error)).strip().splitlines()[-1:]
    reason = f"it cannot be compiled ({' '.join(last)})"
    logging.getLogger(__name__).info("No native walk: %s. Python walks.", reason)
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
    library.walk_begin.restype = ctypes.c_void_p
    library.walk_share.restype = ctypes.c_double
    for name in ("walk_lengths", "walk_legal"):
      getattr(library, name).restype = ctypes.c_int64
  except (OSError, AttributeError):
    return None
  return library


def why_unavailable(game: pyspiel.Game) -> str:
  """The reason why this game cannot be walked natively now, "" if it can."""
  path = library_path()
  if path is None or not path.exists() or _load(path) is None:
    return "the native walk is not compiled"
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
  except Exception:  # whatever OpenSpiel raises
    return False
  facts = ("num_players", "num_distinct_actions", "max_game_length", "min_utility", "max_utility", "__str__")
  return all(getattr(same, fact)() == getattr(game, fact)() for fact in facts)


def try_out(path: str) -> None:
  """Walk a small game with a new library, and see that each history is that of Python's state."""
  for name in ("kuhn_poker", "first_sealed_auction(max_value=2)"):
    game = knowledge.sequential(pyspiel.load_game(name))
    with NativeWalk(game, (), 0, 1.0, Path(path)) as native:
      histories = native.run(Watch(game, Limits.create(), False))
    for h in range(len(histories.parent)):
      state = game.new_initial_state()
      for action in histories.path(h):
        state.apply_action(action)
      known = [state.information_state_string(i) for i in histories.players]
      found = [names[of[h]] for names, of in zip(histories.names, histories.infostate, strict=True)]
      values = [column[h] for column in (histories.utility, *(histories.others or ()))]
      if (known, state.current_player()) != (found, histories.player[h]) or (
        state.is_terminal() and values != state.returns()[: len(values)]
      ):
        raise ValueError(f"{path} does not fit this OpenSpiel: {name}, history {histories.path(h)}")


class NativeWalk:
  """A walk through the histories of a game that begin with a path."""

  def __init__(
    self, game: pyspiel.Game, path: tuple[int, ...], rank: int, chance: float, library: Path | None = None
  ):
    """Stands before the first history; `rank` and `chance` are its, as in `Histories`."""
    library, zero_sum = library or library_path(), game_laws.is_zero_sum(game)
    assert library is not None
    self.library, self.path = _load(library), path
    self.players = game.num_players()
    self.utilities = 1 if zero_sum and self.players == 2 else self.players
    self.walker = ctypes.c_void_p(
      self.library.walk_begin(
        str(game).encode(),
        knowledge.strings_of(game) == "information_state_string",
        zero_sum,
        (ctypes.c_int64 * len(path))(*path),
        ctypes.c_int64(len(path)),
        path[-1] if path else -1,
        rank,
        ctypes.c_double(chance),
      )
    )
    if not self.walker:
      raise FaultAtError(list(path))

  def __enter__(self) -> "NativeWalk":
    return self

  def __exit__(self, *_: object) -> None:
    self.library.walk_end(self.walker)

  def run(self, watch: Watch) -> Histories:
    """Walk to the end.

    Raises:
      FaultAtError: a history breaks a law, or the game raises an error there.
    """
    status, watch.every = MORE, EVERY
    while status == MORE:
      count = self._sizes()[0]
      status = self.library.walk_more(self.walker, ctypes.c_int64(watch.look(count, self)))
    if status != DONE:
      raise FaultAtError(self._next())
    return self._histories()

  def key_bytes(self) -> int:
    """See `limits.WalkProgress`; 150 bytes for the tables that number a name."""
    _, size, named, sets, *_ = self._sizes()
    return size + 150 * (named + sets)

  def share(self) -> float:
    """See `limits.WalkProgress`."""
    return self.library.walk_share(self.walker)

  def _sizes(self) -> list[int]:
    sizes = (ctypes.c_int64 * 7)()
    self.library.walk_sizes(self.walker, sizes)
    return list(sizes)

  def _next(self) -> list[int]:
    """The history at which the walk stands."""
    *_, above, move, _ = self._sizes()
    if above < 0:
      return list(self.path)
    parent, action = self._integers(0), self._integers(1)
    actions = [move]
    while parent[above] >= 0:
      actions.append(int(action[above]))
      above = parent[above]
    return [*self.path, *actions[::-1]]

  def _integers(self, column: int) -> np.ndarray:
    values = np.empty(self._sizes()[0], np.int32)
    self.library.walk_integers(self.walker, column, ctypes.c_void_p(values.ctypes.data))
    return values

  def _numbers(self, column: int) -> np.ndarray:
    values = np.empty(self._sizes()[0])
    self.library.walk_numbers(self.walker, column, ctypes.c_void_p(values.ctypes.data))
    return values

  def _text(self, player: int) -> tuple[memoryview, list[int]]:
    """A player's names one after the other, and their ends; the walk forgets them."""
    count = self.library.walk_lengths(self.walker, player, None)
    lengths = np.empty(count, np.int64)
    self.library.walk_lengths(self.walker, player, ctypes.c_void_p(lengths.ctypes.data))
    text = ctypes.create_string_buffer(int(lengths.sum()))
    self.library.walk_names(self.walker, player, text)
    return memoryview(text), np.cumsum(lengths).tolist()

  def _names(self) -> tuple[list[str], ...]:
    texts = [self._text(player) for player in range(self.players)]
    trim_heap()  # names are many small pieces, those of all players mixed
    return tuple(
      [str(text[a:b], "utf-8") for a, b in zip([0, *ends[:-1]], ends, strict=True)] for text, ends in texts
    )

  def _legal(self, number: int) -> tuple[int, ...]:
    actions = ctypes.POINTER(ctypes.c_int64)()
    size = self.library.walk_legal(self.walker, ctypes.c_int64(number), ctypes.byref(actions))
    return tuple(actions[:size])

  def _histories(self) -> Histories:
    sets, pruned = self._sizes()[3], self._sizes()[6]
    integers = [self._integers(column) for column in range(COLUMNS + self.players)]
    numbers = [self._numbers(column) for column in range(1 + self.utilities)]
    return Histories(
      *integers[:5],
      chance=numbers[0],
      utility=numbers[1],
      infostate=tuple(integers[COLUMNS:]),
      names=self._names(),
      legal=integers[5],
      legal_sets=[self._legal(number) for number in range(sets)],
      public=None,
      pruned=bool(pruned),
      others=tuple(numbers[2:]),
    )
