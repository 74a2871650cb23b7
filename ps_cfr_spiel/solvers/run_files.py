"""Runs in files: saving a solver, and going on from its file.

A file holds the constructor's arguments and all arrays of the state. `Resumable` is the part of
`Solver` that writes and reads it.
"""

import abc
import inspect
import os
from pathlib import Path
from typing import Any, ClassVar, Self

import jax
import numpy as np
import pyspiel

from ps_cfr_spiel import storage
from ps_cfr_spiel.arguments import MOST_ITERATIONS
from ps_cfr_spiel.cfr import rule_header
from ps_cfr_spiel.compiler import game_fields
from ps_cfr_spiel.device import precision, to_device
from ps_cfr_spiel.histories import LIMIT
from ps_cfr_spiel.policy import game_of

# Fields of states with (sums of) probabilities.
SUMS = ("strategy", "average", "averages", "sums")
ROUNDING = 1e-5  # by how much these may be off in a file, relative to the largest


class Resumable(abc.ABC):
  """A solver whose runs can be saved and continued."""

  game: pyspiel.Game  #: the game
  dtype: str  #: "float32" or "float64"
  _state: Any  #: pytree of arrays, the whole state of a run, with a field `iteration`
  #: arguments of the constructor that are not among `_options`, such as those that `_arrays` holds. A
  #: subclass names its own.
  _apart: ClassVar[tuple[str, ...]] = ()

  @property
  def iteration(self) -> int:
    """The number of iterations done."""
    return int(self._state.iteration)

  def _options(self) -> dict[str, Any]:
    """The arguments of the constructors after the game, as JSON values; saved in files.

    By default each is the attribute of its name; None, the value of an argument that is not given, is left
    out.
    """
    apart = {"self", "game", *(name for kind in type(self).__mro__ for name in vars(kind).get("_apart", ()))}
    makers = [vars(kind)["__init__"] for kind in type(self).__mro__[:-1] if "__init__" in vars(kind)]
    parameters = [p for maker in makers for p in inspect.signature(maker).parameters.values()]
    names = [p.name for p in parameters if p.kind is not p.VAR_KEYWORD and p.name not in apart]
    options = {name: value for name in names if (value := getattr(self, name)) is not None}
    return options if "rule" not in options else {**options, "rule": rule_header(options["rule"])}

  def _arrays(self) -> dict[str, np.ndarray]:
    """The constructor's arguments that a file keeps as arrays; see `_arguments`."""
    return {}

  @classmethod
  def _arguments(cls, file: storage.Stored) -> dict[str, Any]:
    """The constructor's arguments after the game, from a file; the inverse of `_options` and `_arrays`."""
    return {key: file.header[key] for key in file.header["options"]}

  def _kept(self) -> Any:
    """The part of the state that files keep."""
    return self._state

  def _header(self) -> dict[str, Any]:
    """The description of the run in files, and in policies of their origin."""
    options = self._options()
    return {
      "solver": type(self).__name__,
      **game_fields(self.game),
      **options,
      "options": sorted(options),
      "iteration": self.iteration,
    }

  def is_saved_in(self, path: Path) -> bool:
    """Whether a file has a run of this game and these options; ValueError if it has anything else."""
    header = {"kind": "run", **self._header()}
    del header["iteration"]
    for changes_no_result in ("limit", "module"):
      header.pop(changes_no_result, None)
    return storage.made_alike(path, header)

  def save(self, path: str | os.PathLike) -> None:
    """Save the whole run, for `load`; OSError if the file cannot be written, and an earlier one stays."""
    self._write(path)

  def _write(self, path: str | os.PathLike, **more: Any) -> None:
    leaves = jax.tree.leaves(self._kept())
    state = {f"state{i}": leaf for i, leaf in enumerate(leaves)}
    storage.write(path, "run", {**self._header(), **more}, {**state, **self._arrays()})

  @classmethod
  def load(cls, path: str | os.PathLike, **options: Any) -> Self:
    """Read a file of `save`, of a solver of this class or one below it.

    Args:
      path: the file.
      **options: replace the constructor's arguments in the file; `rule` is needed if it is not one of this
        package's, and `limit` if the game has more histories than the default limit: a file cannot raise
        that.

    OSError without such a file; ValueError if it is truncated, damaged or foreign, or its rule is unknown.
    """
    return cls.from_file(storage.read(path), options)

  @classmethod
  def from_file(cls, file: storage.Stored, options: dict[str, Any]) -> Self:
    """The same as `load`, from a file that has been read."""
    kind = kind_in(file, cls)
    try:
      saved = kind._arguments(file)
      if "limit" in saved:
        saved["limit"] = min(saved["limit"], LIMIT)
      solver = kind(game_of(file), **{**saved, **options})
    except (KeyError, TypeError, RuntimeError) as error:
      raise ValueError(f"{file.path} is damaged: {error}") from error
    solver._restore(file)
    return solver

  def _restore(self, file: storage.Stored) -> None:
    """Take over saved arrays; ValueError unless they fit the tree and the rule."""
    expected, structure = jax.tree_util.tree_flatten_with_path(self._template(file))
    names = [f"state{i}" for i in range(len(expected))]
    shapes = [(leaf.shape, np.dtype(leaf.dtype)) for _, leaf in expected]
    others = {name: (x.shape, np.dtype(x.dtype)) for name, x in self._arrays().items()}
    arrays = file.arrays({**dict(zip(names, shapes, strict=True)), **others})
    for name, (path, _) in zip(names, expected, strict=True):
      field = next((key.name for key in reversed(path) if hasattr(key, "name")), "")
      array = arrays[name]
      if not np.issubdtype(array.dtype, np.floating):
        continue
      if field in SUMS and array.min(initial=0) < -ROUNDING * array.max(initial=0):
        raise ValueError(f"{file.path} is damaged: {name} holds negative probabilities.")
      if field == "strategy" and (np.abs(array.sum(0) - 1) > ROUNDING * len(array)).any():
        raise ValueError(f"{file.path} is damaged: the probabilities in {name} do not sum to one.")
    with precision(self.dtype):
      kept = jax.tree.unflatten(structure, [arrays[name] for name in names])
      self._state = to_device(kept, self.dtype)
    if not self.iteration == file.header["iteration"] <= MOST_ITERATIONS:
      raise ValueError(
        f"{file.path} is damaged: it names iteration {file.header['iteration']}, its arrays are of iteration "
        f"{self.iteration}; a run has at most {MOST_ITERATIONS:,}."
      )
    if wrong := self._obstacle():
      raise ValueError(f"{file.path} is damaged: {wrong}.")

  def _obstacle(self) -> str | None:
    """The reason why no run can have this state, beyond what its numbers alone show."""
    return None

  def _template(self, file: storage.Stored) -> Any:
    """The part that files keep, with the shapes of a file's arrays; a state that grows asks the file."""
    return self._kept()


def kind_in(file: storage.Stored, base: type[Resumable]) -> Any:
  """The class of the solver in a file, `base` or one below it; ValueError for any other file."""
  kinds: dict[str, Any] = {kind.__name__: kind for kind in _with_subclasses(base)}
  kind = kinds.get(file.header["solver"]) if file.header["kind"] == "run" else None
  if kind is None:
    raise ValueError(f"{file.path} holds {file.content}, not a {base.__name__}.")
  return kind


def _with_subclasses(kind: type) -> list[type]:
  return [kind, *(k for below in kind.__subclasses__() for k in _with_subclasses(below))]
