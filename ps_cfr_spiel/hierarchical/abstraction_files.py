"""Abstractions of dealt games in files, of their own or of a run."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ps_cfr_spiel import storage
from ps_cfr_spiel.cards.poker import CardDeal, CardGame
from ps_cfr_spiel.hierarchical.hierarchy import DealtAbstraction, Hierarchy
from ps_cfr_spiel.hierarchical.nearest import NearestAbstraction
from ps_cfr_spiel.hierarchical.shards import shard_folder


class InFile(NamedTuple):
  """An abstraction as a file holds it, unchecked."""

  game: str  #: `str(game)`
  clustered_round: int  #: the round whose boards are clustered
  arrays: Mapping[str, np.ndarray]  #: of `Hierarchy.to_arrays`
  kept: Path | None = None  #: see `NearestAbstraction`

  def on(self, game: CardGame[CardDeal]) -> Hierarchy:
    """The abstraction, checked; ValueError if it does not fit the game, KeyError if an array is missing."""
    name = "centres" if "groups" in self.arrays else "buckets"
    tables = [self.arrays[key] for n in range(len(self.arrays)) if (key := f"{name}{n}") in self.arrays]
    if name == "centres":
      return NearestAbstraction.of(game, self.arrays["clusters"], self.arrays["groups"], tables, self.kept)
    return DealtAbstraction.of(game, self.arrays["clusters"], tables, self.clustered_round)


def from_file(file: storage.Stored) -> InFile:
  """The abstraction in a file, unchecked; ValueError for a file without one."""
  if "clustered_round" not in file.header:
    raise ValueError(f"{file.path} holds {file.content}, not an abstraction.")
  header, arrays = file.header, file.arrays(file.shapes)
  return InFile(header["game"], header["clustered_round"], arrays, shard_folder(file.path))


def save_abstraction(path: str | os.PathLike, abstraction: Hierarchy) -> None:
  """Save an abstraction alone, for `load_abstraction`; OSError if it cannot be written."""
  header = {"game": abstraction.game, "clustered_round": abstraction.clustered_round}
  storage.write(path, "abstraction", header, abstraction.to_arrays())


def load_abstraction(path: str | os.PathLike, game: CardGame[CardDeal]) -> Hierarchy:
  """Read an abstraction of a file of `save_abstraction`, or of a run or a policy in it.

  OSError without a file; ValueError if it is damaged, of another kind, or of another game.
  """
  stored = from_file(storage.read(path))
  if stored.game != str(game.game):
    raise ValueError(f"{path} is an abstraction of {stored.game}, not of {game.game}.")
  try:
    return stored.on(game)
  except KeyError as error:
    raise ValueError(f"{path} is damaged: it has no {error}.") from error
