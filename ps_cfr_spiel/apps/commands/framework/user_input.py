"""Games, files and folders named on the command line; a mistake is a ValueError of one line."""

from __future__ import annotations

import fcntl
import importlib
import inspect
import itertools
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType

import pyspiel
from absl import flags

import ps_cfr_spiel as ps
from ps_cfr_spiel import storage
from ps_cfr_spiel.apps.commands.framework.command import flags_of, given_options
from ps_cfr_spiel.backend.uninterrupted import Uninterrupted
from ps_cfr_spiel.cards.poker import holdem, river
from ps_cfr_spiel.loading import game_in, given_name
from ps_cfr_spiel.loading import load_game as load_game_text
from ps_cfr_spiel.options import SpotOptions
from ps_cfr_spiel.reports import quiet_stderr

DEFAULT_GAME = "river_subgame"
PRETRAINED = "pretrained"  # in place of a file of values: those of this package
AGENT = "agent"  # by the package's policy, or after a colon by that of a file; values follow a comma
SEARCH = "search"  # the player; after a colon a file of values
# What matplotlib draws by itself.
PICTURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg", ".webp", ".tif", ".eps")


SPOT_FLAGS = flags_of(SpotOptions)


def load_values(file: str, game: pyspiel.Game) -> ps.values.NetworkValues:
  """The values in a file of learn, or `PRETRAINED`, for searches of a game."""
  return ps.values.pretrained(game) if file == PRETRAINED else _read_values(file)


def _read_values(file: str) -> ps.values.NetworkValues:
  """The values in a file of learn, with features of one's own if their module is imported."""
  values = ps.values.NetworkValues.load(file)
  module, _, name = (values.own_features or "").rpartition(".")
  function = vars(sys.modules[module]).get(name) if module in sys.modules else None
  return values.with_features(function) if inspect.isfunction(function) else values


def own_features(name: str, module: str | None) -> Callable[[pyspiel.State, int], Sequence[float]]:
  """The function of --features in the module of --module; ValueError without."""
  if module is None:
    raise ValueError(f"--features={name} names a function of --module; give --module=FILE with it.")
  known = vars(sys.modules[_module_name(module)])
  functions = {key: x for key, x in known.items() if inspect.isfunction(x) and _is_found_again(x)}
  if name not in functions:
    some = ", ".join(functions) or "none"
    more = " It has no def of its own there, by which later commands find it." if name in known else ""
    raise ValueError(
      f"--features={name}: the functions of --module={module} are {some}; name one of them.{more}"
    )
  return functions[name]


def _is_found_again(function: Callable) -> bool:
  """True for a function that its module has under its own name, as the file of values names it."""
  return vars(sys.modules[function.__module__]).get(function.__qualname__) is function


def names_search(word: str) -> bool:
  """True if a word names a search, with or without a file of values."""
  return word.partition(":")[0] == SEARCH


def values_of_search(word: str) -> ps.values.NetworkValues | None:
  """The values of a search, None without; ValueError if their file has no name."""
  name, colon, file = word.partition(":")
  if colon and not file:
    raise ValueError(f"{word} lacks the name of a file; write {name}:FILE, or {name} alone.")
  return _read_values(file) if file else None


def check_expansions(values: flags.FlagValues, players: Sequence[str]) -> None:
  """ValueError for expansions where no player is a search by values."""
  if values.expansions is not None and not any(p.startswith(f"{SEARCH}:") for p in players):
    raise ValueError(
      f"--expansions={values.expansions} is for trees of {SEARCH}:FILE; leave it out, or name that player."
    )


def names_agent(word: str) -> bool:
  """True if a word names an agent, with or without a file."""
  return word.partition(":")[0] == AGENT


def load_game(words: Sequence[str], values: flags.FlagValues | None = None) -> pyspiel.Game:
  """The game that a command line names; without words the default one.

  `values` are those of a command whose flags may describe a spot of hold'em instead.
  """
  if len(words) > 1:
    raise ValueError(f"Expected one game, got {' and '.join(map(repr, words))}; put a game in quotes.")
  if values is not None and (spot := given_options(values, SpotOptions)):
    if words:
      raise ValueError(f"--{', --'.join(spot)}: these describe a spot, so leave out {words[0]!r}.")
    if "ranges" in spot:
      sides = spot["ranges"].split(";")
      spot["ranges"] = tuple(sides) if len(sides) == 2 else spot["ranges"]
    with quiet_stderr(), warnings.catch_warnings():
      warnings.simplefilter("ignore")  # the summary says the same
      return (holdem if "board" in spot else river)(**spot)
  return load_game_text(words[0] if words else DEFAULT_GAME)


def load_game_or_opponents(words: Sequence[str], values: flags.FlagValues) -> pyspiel.Game:
  """The game that a command line names, or else that of the file of --opponent."""
  if words or given(values, SPOT_FLAGS):
    return load_game(words, values)
  path = Path(values.opponent or "")
  if path.suffix != storage.SUFFIX:
    raise ValueError(
      "play needs a game, such as river_subgame or kuhn_poker, or --opponent=FILE, with a policy of one."
    )
  return game_in(storage.read(path).header, path)


def _module_name(name: str) -> str:
  """The name by which Python knows the module of --module."""
  return Path(name).stem if Path(name).suffix == ".py" else name


def load_module(name: str) -> None:
  """Imports the user's module, a file or a name, for the games that it registers."""
  path = Path(name)
  is_file = path.suffix == ".py"
  if is_file and not path.is_file():
    raise ValueError(f"--module={name}: no such file.")
  sys.path.insert(0, str(path.parent.resolve() if is_file else Path.cwd()))
  try:
    imported = importlib.import_module(_module_name(name))
  except Exception as error:  # the user's own code: it may raise anything
    raise ValueError(f"--module={name}: {type(error).__name__}: {error}") from error
  if is_file and not (imported.__file__ and path.samefile(imported.__file__)):
    raise ValueError(
      f"--module={name}: Python has another module {path.stem!r}, {imported.__file__}; rename the file."
    )


def load_saved_policy(path: str, limit: int) -> ps.TreePolicy:
  """The policy with a public tree in a file, whose game may have at most `limit` histories to enumerate."""
  return ps.TreePolicy.with_values(path) or with_tree(load_opponent(path, limit), path)


def with_tree(policy: ps.TreePolicy | ps.KeyedPolicy, path: str) -> ps.TreePolicy:
  """The policy, if its game is compiled to a public tree."""
  if not isinstance(policy, ps.TreePolicy):
    raise ValueError(
      f"{path}: strategies for {policy.game} have no public tree; use them in play, and those of dealt cards "
      "in evaluate."
    )
  return policy


def load_opponent(path: str, limit: int) -> ps.TreePolicy | ps.KeyedPolicy:
  """The policy in a file of any kind that the package saves."""
  if (folder := Path(path)).is_dir():
    raise ValueError(f"{folder} is a folder; name a file in it, such as {folder / 'run.safetensors'}.")
  with Uninterrupted():  # of show, which imports JAX here
    ps.runtime.keep_compiled_code()
  with quiet_stderr():
    return ps.load_policy(path, limit)


def pictures_if(plot: bool | None) -> ModuleType | None:
  """The module that draws; None if pictures are not wanted, or not insisted on and matplotlib is missing."""
  try:
    return None if plot is False else importlib.import_module("ps_cfr_spiel.apps.pictures")
  except ModuleNotFoundError:
    if plot:
      raise
    return None


def drawing(text: str | None) -> tuple[ModuleType, Path] | None:
  """The module that draws and the file that --picture names, tried now rather than after a long run."""
  if not text:
    return None
  path = Path(text)
  path = path if path.suffix or path.is_dir() else path.with_suffix(".png")
  writable("picture", path, "picture.png")
  if path.suffix.lower() not in PICTURES:
    raise ValueError(f"--picture={text}: pictures end in one of {', '.join(PICTURES)}, not in {path.suffix}.")
  return importlib.import_module("ps_cfr_spiel.apps.pictures"), path


def writable(flag: str, path: str | Path, example: str) -> Path:
  """The file that a flag names, whose folder is tried now rather than after a long run."""
  path = Path(path)
  if path.is_dir():
    raise ValueError(f"--{flag}={path} is a folder; name a file in it, such as {path / example}.")
  make_folder(path.parent, storage.try_folder)
  return path


def answer_to(error: Exception) -> str | None:
  """The answer to a mistake of the user, in one line with its notes; None for an error of the program."""
  mistakes = ValueError, FloatingPointError, ModuleNotFoundError, flags.Error, pyspiel.SpielError
  if isinstance(error, mistakes):
    message = str(error)
  elif isinstance(error, MemoryError):
    message = "There is not enough memory for this game."
  elif isinstance(error, OSError):
    message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
  elif "jax" not in sys.modules or not isinstance(error, ps.runtime.JaxRuntimeError):
    return None
  elif "RESOURCE_EXHAUSTED" in (message := str(error)):
    message = "There is not enough memory for this."
  elif "Disallowed" in message and "transfer" in message:
    message = "JAX_TRANSFER_GUARD forbids copies between host and device; unset it."
  elif ps.runtime.process_count() == 1:
    return None
  notes = vars(error).get("__notes__", ())  # such as the saved iteration
  end = "." if notes and not message.endswith((".", "!", "?")) else ""
  return " ".join(" ".join([message + end, *notes]).split())


def in_words(error: Exception) -> str:
  """An error in one line, with its type unless the text is clear without."""
  text = str(error) if isinstance(error, ValueError | OSError) else ""
  return " ".join((text or f"{type(error).__name__}: {error}").split())


def given(values: flags.FlagValues, names: Iterable[str]) -> list[str]:
  """Those of some flags that the command line has, by their long names, --noNAME if switched off."""
  present = [values[name] for name in names if values[name].present and values[name].name == name]
  return [f"--no{flag.name}" if flag.value is False else f"--{flag.name}" for flag in present]


def refuse(values: flags.FlagValues, names: Sequence[str], why: str) -> None:
  """ValueError if one of these flags is given, where it would have no effect; `why` follows its name."""
  for flag in given(values, names):
    raise ValueError(f"{flag} {why}; leave it out.")


def refuse_fixed(values: flags.FlagValues, words: Sequence[str], names: Iterable[str]) -> None:
  """ValueError if --resume comes with a game, or with one of these flags, which the saved run has already."""
  if what := ", ".join([*map(repr, words), *given(values, names)]):
    raise ValueError(f"--resume continues with the game and settings of the saved run; leave out {what}.")


def keep_apart(flag: str, file: str | Path | None, source: str) -> None:
  """ValueError if a flag names the file that is read, which would be lost."""
  if file and Path(file).exists() and Path(source).exists() and Path(file).samefile(source):
    raise ValueError(f"--{flag}={file} would replace the file that is read; name another one.")


def make_folder(folder: str | Path, make: Callable[[Path], Path] = storage.make_folder) -> Path:
  """Make a folder for results and try it, now rather than after a long run."""
  try:
    return make(Path(folder))
  except OSError as error:
    raise ValueError(f"Cannot write to the folder {str(folder)!r}: {error.strerror}.") from error


def results_folder(
  values: flags.FlagValues, solver: ps.Solver, file: str, iterations: int | None = None
) -> Path:
  """The folder for a run's `file`: that of --output or --resume, else the first of `default_folders`.

  There it replaces no run of other options, or of more than some iterations, by default those of the command.
  ValueError if the folder of --output or --resume holds a run of another game or other options, or another
  process writes to it.
  """
  resumed = values.resume and Path(values.resume)
  if values.output is not None or resumed:
    folder = make_folder(values.output or resumed.parent)
    if not _hold(folder):
      raise ValueError(f"Another process writes to {folder}; wait for its end, or name a folder by --output.")
    if not (resumed and (folder / file).exists() and resumed.samefile(folder / file)):
      solver.is_saved_in(folder / file)
    return folder

  def fits(folder: Path) -> bool:
    try:
      saved = solver.is_saved_in(folder / file)
    except ValueError:
      return False
    if folder.exists() and not _hold(folder):
      return False
    most = values.iterations if iterations is None else iterations
    return not saved or storage.read(folder / file).header["iteration"] <= most

  first, folder = next(default_folders(solver.game)), next(filter(fits, default_folders(solver.game)))
  if folder != first and not (values.quiet or values.json):
    print(f"{first} holds another run, so this one goes to {folder}.")
  _hold(make_folder(folder))
  return folder


_held: list[int] = []  # the folder that this process writes to, open


def _hold(folder: Path) -> bool:
  """Lock a folder until this process ends or holds another one; False if another process has it."""
  while _held:
    os.close(_held.pop())
  if ps.runtime.process_count() > 1:
    return True  # they share it
  _held.append(os.open(folder, os.O_RDONLY))
  try:
    fcntl.flock(_held[0], fcntl.LOCK_EX | fcntl.LOCK_NB)
  except BlockingIOError:
    return False
  except OSError:
    pass  # the file system has no locks
  return True


def default_folders(game: pyspiel.Game) -> Iterator[Path]:
  """Folders for runs of a game that name themselves: runs/leduc_poker, runs/leduc_poker-2, ..."""
  name = Path("runs") / given_name(game)
  return (Path(f"{name}-{number}") if number > 1 else name for number in itertools.count(1))
