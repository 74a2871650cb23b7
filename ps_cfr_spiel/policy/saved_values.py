"""A policy saved with the values of its actions, to look at a solution without JAX, its tree, or all of it.

`save` writes the file beside a run, and `saved_beside` opens it: tables stay on disk, and each look reads its
own rows. Only games that describe themselves have such files, because their labels need no enumeration. Large
tables are in float32.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from ps_cfr_spiel import storage
from ps_cfr_spiel.cards.poker import describe
from ps_cfr_spiel.compilation.compiler import EXACT, FormLabels, FormOrigin, PublicStateIndex, form_of
from ps_cfr_spiel.loading import game_in
from ps_cfr_spiel.memory import check_needs
from ps_cfr_spiel.tree import Labels

SAVED = "values.safetensors"  # beside a run
TABLES = ("strategy", "value", "best")
ADVICE = "Narrower ranges and fewer bet sizes need less; later looks at a run compute its values too"

Tables = Sequence[Sequence[np.ndarray]]  # for each player [A, rows, H] for each block


class Saved(NamedTuple):
  """A policy with the values of its actions, as a file has it."""

  game: pyspiel.Game
  labels: Labels
  strategies: Tables
  values: Tables
  best: Tables
  info: Mapping[str, Any]


def may_save_values(game: pyspiel.Game, labels: Labels, memory: float | None = None) -> bool:
  """True if a policy of a game can be saved with values: its labels need no enumeration.

  TooLarge if that takes more memory than `memory` bytes; None: than is free.
  """
  from ps_cfr_spiel.compilation.compiler import values_needs  # JAX, which looks at the file do without

  if not isinstance(labels, FormLabels) or not isinstance(labels.source, FormOrigin):
    return False
  needs = values_needs(labels.source.lines)
  check_needs(f"A table of all values of {describe(str(game))}", needs, memory, ADVICE)
  return True


def save(saved: Saved, run: str | os.PathLike) -> Path:
  """Write the file beside a policy's run; OSError if it cannot."""
  labels, cells = saved.labels, sum(block.size for blocks in saved.strategies for block in blocks)
  assert isinstance(labels, FormLabels)
  path, dtype = Path(run).with_name(SAVED), np.float64 if cells <= EXACT else np.float32
  tables = (saved.strategies, saved.values, saved.best)
  arrays = {f"places{i}": np.asarray(places, np.int32) for i, places in enumerate(labels.places)}
  for kind, both in zip(TABLES, tables, strict=True):
    for i, blocks in enumerate(both):
      arrays |= {f"{kind}{i}_{k}": np.asarray(block, dtype) for k, block in enumerate(blocks)}
  header = {**saved.info, "game": labels.game, "run": storage.read(run).fingerprint}
  storage.write(path, "policy", header, arrays)
  return path


def saved_beside(run: str | os.PathLike) -> Saved | None:
  """The average policy of a run, from the file beside it; None without one of the very same run."""
  if not Path(run).is_file():
    return None
  path = Path(run).with_name(SAVED)
  if not path.exists() or path == Path(run):
    return None
  try:
    file, origin = storage.read(path), storage.read(run)
    if file.header.get("run") != origin.fingerprint:
      return None
    return _opened(file)
  except (OSError, ValueError, KeyError):  # the run itself has all that it holds
    return None


def _opened(file: storage.Stored) -> Saved:
  game, arrays = game_in(file.header, file.path), file.mapped(file.shapes)
  places = [arrays[f"places{i}"] for i in (0, 1)]
  form = form_of(game)
  if form is None:
    raise ValueError(f"{file.path} is damaged: {game} has no form.")
  labels = FormLabels.create(game, PublicStateIndex.of(form), places)
  strategies, values, best = (
    tuple(
      tuple(np.asarray(arrays[f"{kind}{i}_{k}"]) for k in range(_blocks(arrays, f"{kind}{i}_")))
      for i in (0, 1)
    )
    for kind in TABLES
  )
  info = {k: v for k, v in file.header.items() if k not in (*storage.STAMP, "run")}
  return Saved(game, labels, strategies, values, best, info)


def _blocks(names: Iterable[str], start: str) -> int:
  """The number of a player's tables; a file has their names in the order of letters, 10 before 2."""
  return sum(name.startswith(start) for name in names)
