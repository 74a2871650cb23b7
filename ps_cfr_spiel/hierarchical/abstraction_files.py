"""Abstractions of dealt games in files, of their own or of a run."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyspiel

from ps_cfr_spiel import storage
from ps_cfr_spiel.hierarchical.dealt_game import DealtGame
from ps_cfr_spiel.hierarchical.hierarchy import DealtAbstraction, Hierarchy
from ps_cfr_spiel.hierarchical.nearest import NearestAbstraction
from ps_cfr_spiel.hierarchical.shards import shard_folder


class InFile(NamedTuple):
  """An abstraction as a file holds it, unchecked."""

  game: str  #: `str(game)`
  special: int  #: the special round
  arrays: Mapping[str, np.ndarray]  #: of `Hierarchy.to_arrays`
  kept: Path | None = None  #: see `NearestAbstraction`

  def on(self, game: DealtGame) -> Hierarchy:
    """The abstraction, checked; ValueError if it does not fit the game, KeyError if an array is missing."""
    name = "centres" if "groups" in self.arrays else "buckets"
    tables = [self.arrays[key] for n in range(len(self.arrays)) if (key := f"{name}{n}") in self.arrays]
    if name == "centres":
      return NearestAbstraction.of(game, self.arrays["clusters"], self.arrays["groups"], tables, self.kept)
    return DealtAbstraction.of(game, self.arrays["clusters"], tables)


def from_file(file: storage.Stored) -> InFile:
  """The abstraction in a file, unchecked."""
  special = file.header.get("special", 1)
  return InFile(file.header["game"], special, file.arrays(file.shapes), shard_folder(file.path))


def save_abstraction(path: str | os.PathLike, abstraction: Hierarchy) -> None:
  """Save an abstraction alone, for `load_abstraction`; OSError if it cannot be written."""
  header = {"game": abstraction.game, "special": abstraction.special}
  storage.write(path, "abstraction", header, abstraction.to_arrays())


def _file_of(path: str | os.PathLike, game: str) -> storage.Stored:
  file = storage.read(path)
  if "special" not in file.header:
    raise ValueError(f"{path} holds {file.content}, not an abstraction.")
  if file.header["game"] != game:
    raise ValueError(f"{path} is an abstraction of {file.header['game']}, not of {game}.")
  return file


def load_abstraction(path: str | os.PathLike, game: DealtGame | pyspiel.Game) -> Hierarchy:
  """Read an abstraction of a file of `save_abstraction`, or of a run in it.

  `game` is dealt with the same special round, or a pyspiel game, which is dealt with that of the file.
  OSError without a file; ValueError if it is damaged, of another kind, or of another game.
  """
  file = _file_of(path, game.name if isinstance(game, DealtGame) else str(game))
  special = file.header.get("special", 1)
  game = game if isinstance(game, DealtGame) else DealtGame.of(game, special)
  if special != game.special:
    raise ValueError(
      f"{path} clusters the boards of round {special}; give DealtGame.of this round, not {game.special}."
    )
  try:
    return from_file(file).on(game)
  except KeyError as error:
    raise ValueError(f"{path} is damaged: it has no {error}.") from error
