"""Runs in files: saving a solver, and going on from its file.

A file holds the options and all arrays of the state. `Resumable` is the part of `Solver` that writes and
reads it.
"""

import abc
import importlib
import operator
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self, TypeAlias, TypeVar

import jax
import numpy as np
import pyspiel

from ps_cfr_spiel import storage
from ps_cfr_spiel.arguments import JSON, MOST_ITERATIONS
from ps_cfr_spiel.backend.device import Device, precision, to_device
from ps_cfr_spiel.cfr import rule_header
from ps_cfr_spiel.loading import game_fields, game_in
from ps_cfr_spiel.options import LIMIT, Options, fields_of

RunState: TypeAlias = Any  # of one solver: a pytree of arrays with a field `iteration`
# Fields of states with (sums of) probabilities.
SUMS = ("strategy", "average", "averages", "sums")
Run = TypeVar("Run", bound="Resumable")
ROUNDING = 1e-5  # by how much these may be off in a file, relative to the largest


class Resumable(abc.ABC):
  """A solver whose runs can be saved and continued."""

  options_type: ClassVar[type[Options]]  #: the class of its options
  game: pyspiel.Game  #: the game
  options: Any  #: the options as the run uses them, of `options_type`
  dtype: str  #: "float32" or "float64"
  device: Device | None = None  #: the accelerator that computes; None for the CPU
  _state: RunState  #: the whole state of a run

  @abc.abstractmethod
  def __init__(self, game: pyspiel.Game, options: Any = None, **keywords: object):
    """Set up a run of a game; `options` has all of them, or the main one alone, and keywords change them."""

  @property
  def iteration(self) -> int:
    """The number of iterations done."""
    return int(self._state.iteration)

  def _options_header(self) -> dict[str, JSON]:
    """The options as JSON values, but for those that files keep as arrays."""
    header = self.options.header()
    return header if "rule" not in header else {**header, "rule": rule_header(header["rule"])}

  def _arrays(self) -> dict[str, np.ndarray]:
    """The options that a file keeps as arrays; see `_from_arrays`."""
    return {}

  @classmethod
  def _from_arrays(cls, file: storage.Stored) -> dict[str, object]:
    """The inverse of `_arrays`: options by name."""
    return {}

  def _kept(self) -> RunState:
    """The part of the state that files keep."""
    return self._state

  def _header(self) -> dict[str, JSON]:
    """The description of the run in files, and in policies of their origin."""
    return {
      "solver": type(self).__name__,
      **game_fields(self.game),
      "options": self._options_header(),
      "iteration": self.iteration,
    }

  def is_saved_in(self, path: Path) -> bool:
    """Whether a file has a run of this game and these options; ValueError if it has anything else.

    Options that change no result may differ, and so may the module that registers the game.
    """
    if not path.exists():
      return False
    header, saved = {"kind": "run", **self._header()}, storage.read(path).header.get("options", {})
    for name in ("iteration", "module"):
      header.pop(name, None)
    free = [f.name for f in fields_of(self.options_type).values() if not f.option.result and f.name in saved]
    header["options"] = {**header["options"], **{name: saved[name] for name in free}}
    return storage.has_same_options(path, header)

  def save(self, path: str | os.PathLike) -> None:
    """Save the whole run, for `load`; OSError if the file cannot be written, and an earlier one stays."""
    self._write(path)

  def _write(self, path: str | os.PathLike, **more: JSON) -> None:
    leaves = jax.tree.leaves(self._kept())
    state = {f"state{i}": leaf for i, leaf in enumerate(leaves)}
    storage.write(path, "run", {**self._header(), **more}, {**state, **self._arrays()})

  @classmethod
  def load(cls, path: str | os.PathLike, **options: object) -> Self:
    """Read a file of `save`, of a solver of this class or one below it.

    Args:
      path: the file.
      **options: replace those in the file; `rule` is needed if it is not one of this package's, and `limit`
        if the game has more histories than the default limit: a file cannot raise that.

    OSError without such a file; ValueError if it is truncated, damaged or foreign, or its rule is unknown.
    """
    return cls.from_file(storage.read(path), options)

  @classmethod
  def from_file(cls, file: storage.Stored, options: Mapping[str, object]) -> Self:
    """The same as `load`, from a file that has been read."""
    kind = cls.kind_in(file)
    try:
      solver = kind(game_in(file.header, file.path), kind._saved_options(file).changed(**options))
    except (KeyError, TypeError, RuntimeError) as error:
      raise ValueError(f"{file.path} is damaged: {error}") from error
    solver._restore(file)
    return solver

  @classmethod
  def _saved_options(cls, file: storage.Stored) -> Any:
    """The options in a file, of `options_type`; ValueError if it has others, KeyError if it lacks arrays."""
    header, arrays = dict(file.header["options"]), cls._from_arrays(file)
    try:
      if "limit" in header:
        header["limit"] = min(header["limit"], LIMIT)
      return cls.options_type.from_header(header, **arrays)
    except (TypeError, ValueError) as error:
      raise ValueError(f"{file.path} is damaged: {error}") from error

  def _restore(self, file: storage.Stored) -> None:
    """Take over saved arrays; ValueError unless they fit the tree and the rule."""
    expected, structure = jax.tree_util.tree_flatten_with_path(self._template(file))
    names = [f"state{i}" for i in range(len(expected))]
    shapes = [(leaf.shape, np.dtype(leaf.dtype)) for _, leaf in expected]
    others = {name: (x.shape, np.dtype(x.dtype)) for name, x in self._arrays().items()}
    in_place = {  # of a run whose tables, new and contiguous, change in their places: no second copy is made
      name: leaf
      for name, (_, leaf) in zip(names, expected, strict=True)
      if isinstance(leaf, np.ndarray) and leaf.flags.writeable
    }
    arrays = file.arrays({**dict(zip(names, shapes, strict=True)), **others}, in_place)
    for name, (path, _) in zip(names, expected, strict=True):
      field = next((key.name for key in reversed(path) if isinstance(key, jax.tree_util.GetAttrKey)), "")
      array = arrays[name]
      if not np.issubdtype(array.dtype, np.floating):
        continue
      if field in SUMS and array.min(initial=0) < -ROUNDING * array.max(initial=0):
        raise ValueError(f"{file.path} is damaged: {name} holds negative probabilities.")
      if field == "strategy" and (np.abs(array.sum(0) - 1) > ROUNDING * len(array)).any():
        raise ValueError(f"{file.path} is damaged: the probabilities in {name} do not sum to one.")
    with precision(self.dtype, self.device):
      kept = [arrays[name] if name in in_place else to_device(arrays[name], self.dtype) for name in names]
      self._state = jax.tree.unflatten(structure, kept)
    if not self.iteration == file.header["iteration"] <= MOST_ITERATIONS:
      raise ValueError(
        f"{file.path} is damaged: it names iteration {file.header['iteration']}, its arrays are of iteration "
        f"{self.iteration}; a run has at most {MOST_ITERATIONS:,}."
      )
    if wrong := self._obstacle():
      raise ValueError(f"{file.path} is damaged: {wrong}.")

  @classmethod
  def kind_in(cls, file: storage.Stored) -> type[Self]:
    """The class of the solver in a file, this one or one below it; ValueError for any other file."""
    is_run = file.header["kind"] == "run"
    kind = cls._kinds(file.header["solver"]).get(file.header["solver"]) if is_run else None
    if kind is None:
      raise ValueError(f"{file.path} holds {file.content}, not a {cls.__name__}.")
    return kind

  @classmethod
  def kind_for(cls, options: type[Options]) -> type[Self]:
    """The class of solver that takes these options."""
    kinds = cls._kinds(f"{options.__name__.removesuffix('Options')}Solver").values()
    return next(kind for kind in kinds if vars(kind).get("options_type") is options)

  @classmethod
  def _kinds(cls, name: str) -> dict[str, type[Self]]:
    """The class and all that are imported below it, by name: the package's solver of a name among them."""
    solvers = importlib.import_module("ps_cfr_spiel.solvers")
    if name in solvers.__all__:  # imported on first use
      operator.attrgetter(name)(solvers)
    return {kind.__name__: kind for kind in _with_subclasses(cls)}

  def _obstacle(self) -> str | None:
    """The reason why no run can have this state, beyond what its numbers alone show."""
    return None

  def _template(self, file: storage.Stored) -> RunState:
    """The part that files keep, with the shapes of a file's arrays; a state that grows asks the file."""
    return self._kept()


def _with_subclasses(kind: type[Run]) -> list[type[Run]]:
  return [kind, *(k for below in kind.__subclasses__() for k in _with_subclasses(below))]
