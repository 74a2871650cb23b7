"""A policy kept with the values of its actions, to look at a solution without JAX, its tree, or all of it.

`keep` writes the file beside a run, and `kept_beside` opens it: tables stay on disk, and each look reads its
own rows. Only games that describe themselves have such files, because their labels need no enumeration. Large
tables are in float32.
"""

import os
from pathlib import Path

import numpy as np
import pyspiel

from ps_cfr_spiel import storage
from ps_cfr_spiel.compilation.compiler import EXACT, FormLabels, PublicStateIndex, form_of, game_in
from ps_cfr_spiel.memory import check_needs
from ps_cfr_spiel.policy.reach import Worths
from ps_cfr_spiel.policy.tree_policy import TreePolicy
from ps_cfr_spiel.tree import Labels

KEPT = "values.safetensors"  # beside a run
TABLES = ("strategy", "value", "best")
ADVICE = "Looks at the run compute them"


def may_keep(game: pyspiel.Game, labels: Labels, memory: float | None = None) -> bool:
  """True if a policy of a game can be kept: its labels need no enumeration.

  TooLarge if that takes more memory than `memory` bytes; None: than is free.
  """
  from ps_cfr_spiel.compilation.compiler import values_needs  # JAX, which looks at the file do without

  form = form_of(game)
  if form is None or not isinstance(labels, FormLabels):
    return False
  check_needs("Computing them", values_needs(form), memory, ADVICE)
  return True


def keep(policy: TreePolicy, run: str | os.PathLike, memory: float | None = None) -> Path | None:
  """Write the file beside a policy's run; OSError if it cannot, None if there is nothing to keep.

  TooLarge as of `may_keep`.
  """
  labels, cells = policy.labels, sum(block.size for blocks in policy.strategies for block in blocks)
  if not may_keep(policy.game, labels, memory):
    return None
  assert isinstance(labels, FormLabels)
  path, dtype = Path(run).with_name(KEPT), np.float64 if cells <= EXACT else np.float32
  tables = (policy.strategies, policy.worths.values, policy.worths.best)
  arrays = {f"places{i}": np.asarray(places, np.int32) for i, places in enumerate(labels.places)}
  for kind, both in zip(TABLES, tables, strict=True):
    for i, blocks in enumerate(both):
      arrays |= {f"{kind}{i}_{k}": np.asarray(block, dtype) for k, block in enumerate(blocks)}
  header = {**policy.info, "game": labels.game, "run": storage.read(run).fingerprint}
  storage.write(path, "policy", header, arrays)
  return path


def kept_beside(run: str | os.PathLike) -> TreePolicy | None:
  """The average policy of a run, from the file beside it; None without one of the very same run."""
  if not Path(run).is_file():
    return None
  path = Path(run).with_name(KEPT)
  if not path.exists() or path == Path(run):
    return None
  try:
    file, origin = storage.read(path), storage.read(run)
    if file.header.get("run") != origin.fingerprint:
      return None
    return _opened(file)
  except (OSError, ValueError, KeyError):  # the run itself has all that it holds
    return None


def _opened(file: storage.Stored) -> TreePolicy:
  game, arrays = game_in(file.header, file.path), file.mapped(file.shapes)
  places = [arrays[f"places{i}"] for i in (0, 1)]
  form = form_of(game)
  if form is None:
    raise ValueError(f"{file.path} is damaged: {game} has no form.")
  labels = FormLabels.create(game, PublicStateIndex.of(form), places)
  strategies, values, best = (
    tuple(
      tuple(np.asarray(array) for name, array in arrays.items() if name.startswith(f"{kind}{i}_"))
      for i in (0, 1)
    )
    for kind in TABLES
  )
  policy = TreePolicy(
    game, labels, (), {k: v for k, v in file.header.items() if k not in (*storage.STAMP, "run")}
  )
  policy.strategies, policy.worths = strategies, Worths(values, best, policy.reach)
  return policy
