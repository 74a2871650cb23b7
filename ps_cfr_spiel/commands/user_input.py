"""What a user of the command line may get wrong, turned into one line instead of a traceback."""

import contextlib
import importlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pyspiel
from absl import flags

from ps_cfr_spiel import compiler, storage
from ps_cfr_spiel.compiler import quiet_stderr
from ps_cfr_spiel.poker import holdem, river
from ps_cfr_spiel.policy import TreePolicy
from ps_cfr_spiel.solvers import HierarchicalPolicy, PlayedPolicy, load_policy

DEFAULT_GAME = "river_subgame"
# What matplotlib draws by itself.
PICTURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg", ".webp", ".tif", ".eps")


class UserError(Exception):
  """A mistake of the user; its text is the one line to show."""


@contextlib.contextmanager
def user_errors() -> Iterator[None]:
  """Turns the errors by which this package and OpenSpiel answer wrong input into `UserError`."""
  try:
    yield
  except (ValueError, FloatingPointError, flags.Error, pyspiel.SpielError) as error:
    raise UserError(str(error)) from error


SPOT_FLAGS = ("board", "pot", "stack", "bets", "ranges")


def load_game(words: Sequence[str], values: flags.FlagValues | None = None) -> pyspiel.Game:
  """The game that a command line names; else `UserError`.

  Args:
    words: without a game's name, the default one.
    values: of a command whose flags may describe a spot of hold'em instead.
  """
  if len(words) > 1:
    raise UserError(f"Expected one game, got {' and '.join(map(repr, words))}; put a game in quotes.")
  spot: dict[str, Any] = (
    {} if values is None else {n: values[n].value for n in SPOT_FLAGS if values[n].present}
  )
  if spot:
    if words:
      raise UserError(f"--{', --'.join(spot)}: these describe a spot, so leave out {words[0]!r}.")
    if "ranges" in spot:
      sides = spot["ranges"].split(";")
      spot["ranges"] = tuple(sides) if len(sides) == 2 else spot["ranges"]
    with user_errors(), quiet_stderr():
      return (holdem if "board" in spot else river)(**spot)
  with user_errors():
    return compiler.load_game(words[0] if words else DEFAULT_GAME)


def load_module(name: str) -> None:
  """Imports the user's module, a file or a name, for the games that it registers; else `UserError`."""
  path = Path(name)
  is_file = path.suffix == ".py"
  if is_file and not path.is_file():
    raise UserError(f"--module={name}: no such file.")
  sys.path.insert(0, str(path.parent.resolve() if is_file else Path.cwd()))
  try:
    importlib.import_module(path.stem if is_file else name)
  except Exception as error:  # the user's own code: whatever it raises
    raise UserError(f"--module={name}: {type(error).__name__}: {error}") from error


def load_saved_policy(path: str, limit: int) -> TreePolicy:
  """The policy in a file, whose game may have at most `limit` histories to walk.

  Raises:
    UserError: the file is damaged or foreign, its game is too large, or its strategy has no public tree.
    OSError: there is no such file.
  """
  return walked(load_opponent(path, limit), path)


def walked(policy: Any, path: str) -> TreePolicy:
  """The policy, if its game is compiled to a public tree; else `UserError`."""
  if not isinstance(policy, TreePolicy):
    raise UserError(
      f"{path}: strategies for {policy.game} have no public tree; use them in play, and those of dealt cards "
      "in evaluate."
    )
  return policy


def load_opponent(path: str, limit: int) -> TreePolicy | PlayedPolicy | HierarchicalPolicy:
  """The policy in a file of any kind that the package saves."""
  with user_errors(), quiet_stderr():
    return load_policy(path, limit)


def load_pictures() -> ModuleType:
  """The module that draws; `UserError` if matplotlib is missing."""
  try:
    from ps_cfr_spiel import pictures
  except ModuleNotFoundError as error:
    raise UserError(str(error)) from error
  return pictures


def pictures_if(plot: bool | None) -> ModuleType | None:
  """The module that draws; None if pictures are not wanted, or not insisted on and matplotlib is missing."""
  try:
    return None if plot is False else load_pictures()
  except UserError:
    if plot:
      raise
    return None


def drawing(text: str | None) -> tuple[ModuleType, Path] | None:
  """The module that draws and the file that --png names, tried now rather than after a long run.

  Raises:
    UserError: nothing can be drawn there, or matplotlib is missing.
  """
  if not text:
    return None
  path = Path(text)
  if path.is_dir():
    raise UserError(f"--png={text} is a folder; name a file in it, such as {path / 'picture.png'}.")
  path = path if path.suffix else path.with_suffix(".png")
  if path.suffix.lower() not in PICTURES:
    raise UserError(f"--png={text}: pictures end in one of {', '.join(PICTURES)}; {path.suffix} is none.")
  with _unwritable(path.parent):
    storage.try_folder(path.parent)
  return load_pictures(), path


def refuse(values: flags.FlagValues, names: Sequence[str], why: str) -> None:
  """`UserError` if one of these flags is given, where it would have no effect; `why` follows its name."""
  for name in names:
    if values[name].present:
      raise UserError(f"--{name} {why}; leave it out.")


def keep_apart(flag: str, file: str | Path | None, source: str) -> None:
  """`UserError` if a flag names the file that is read, which would be lost."""
  if file and Path(file).exists() and Path(source).exists() and Path(file).samefile(source):
    raise UserError(f"--{flag}={file} would replace the file that is read; name another one.")


def make_folder(folder: Path) -> Path:
  """Makes a folder for results and tries it, now rather than after a long run; else `UserError`."""
  with _unwritable(folder):
    return storage.make_folder(folder)


@contextlib.contextmanager
def _unwritable(folder: Path) -> Iterator[None]:
  """Turns the error of a folder where nothing can be written into `UserError`."""
  try:
    yield
  except OSError as error:
    raise UserError(f"Cannot write to the folder {str(folder)!r}: {error.strerror}.") from error
