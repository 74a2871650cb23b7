"""Walks kept in a folder: columns in files of their own, which open in milliseconds and are read when used.

A kept walk has the game's string, the source of its public states and the versions of OpenSpiel and of this
package in its header; with other versions it is refused, because another version may play another game.
"""

import hashlib
import importlib.metadata
import json
import os
import secrets
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel

from ps_cfr_spiel.histories.histories import Histories
from ps_cfr_spiel.histories.native_walker import StoredNames
from ps_cfr_spiel.histories.public_states import PublicPartition
from ps_cfr_spiel.storage import DAMAGE, make_folder, open_array, replacing, write_array
from ps_cfr_spiel.version import __version__

HEADER = "walk.json"
COLUMNS = ("parent", "action", "rank", "depth", "player", "chance", "utility", "legal")


def versions() -> dict[str, str]:
  """The versions that a kept walk must have."""
  return {"OpenSpiel": importlib.metadata.version("open_spiel"), "ps_cfr_spiel": __version__}


def place_of(folder: str | os.PathLike, game: pyspiel.Game, source: str) -> Path:
  """The folder of a game's walk with public states of `source` in a folder of walks."""
  key = hashlib.sha256(f"{game} {source}".encode()).hexdigest()[:16]
  return Path(folder) / f"{game.get_type().short_name}-{key}"


def open_walk(
  folder: str | os.PathLike, game: pyspiel.Game, source: str
) -> tuple[Histories, PublicPartition | None] | None:
  """A game's histories and public states from a folder of walks; None if they were not kept.

  ValueError if other versions kept them, or they are damaged.
  """
  place = place_of(folder, game, source)
  try:
    header = json.loads((place / HEADER).read_text())
  except FileNotFoundError:
    return None
  except ValueError as error:
    raise ValueError(f"{place} is damaged: its header cannot be read. Delete the folder.") from error
  try:
    for name, version in versions().items():
      if header["versions"][name] != version:
        raise ValueError(
          f"{place} was kept by {name} {header['versions'][name]}, and this is {version}. Delete the folder, "
          f"or choose another one."
        )
    if header["game"] != str(game):
      raise ValueError(f"{place} holds a walk of {header['game']}, not of {game}. Choose another folder.")
    return _read(place, header, game)
  except (*DAMAGE, OSError) as error:
    if isinstance(error, ValueError) and str(place) in str(error):
      raise
    raise ValueError(f"{place} is damaged: {error}. Delete the folder.") from error


def _read(
  place: Path, header: dict[str, Any], game: pyspiel.Game
) -> tuple[Histories, PublicPartition | None]:
  def column(name: str) -> np.ndarray:
    shape, dtype, constant = header["arrays"][name]
    if constant is not None:
      return np.broadcast_to(np.dtype(dtype).type(constant), shape)
    return open_array(place / f"{name}.npy", tuple(shape), dtype)

  def columns(name: str) -> tuple[np.ndarray, ...]:
    return tuple(column(f"{name}{i}") for i in range(header[name]))

  own: dict[str, Any] = {name: column(name) for name in COLUMNS}
  infostate = columns("infostate")
  groups = zip(infostate, columns("places"), columns("text"), strict=True)
  names = tuple(
    StoredNames(game, player, (own["parent"], own["action"], of), places, text)
    for player, (of, places, text) in enumerate(groups)
  )
  histories = Histories(
    **own,
    infostate=infostate,
    names=names,
    legal_sets=[tuple(actions) for actions in header["legal_sets"]],
    public=column("public") if "public" in header["arrays"] else None,
    pruned=header["pruned"],
    others=columns("others") if header["others"] else None,
  )
  if "of" not in header["arrays"]:
    return histories, None
  return histories, PublicPartition(column("of"), column("above"), column("acting"))


def keep_walk(
  folder: str | os.PathLike,
  game: pyspiel.Game,
  source: str,
  histories: Histories,
  partition: PublicPartition | None,
) -> None:
  """Keep a game's histories and public states in a folder of walks; OSError if it cannot be written."""
  place = place_of(folder, game, source)
  make_folder(Path(folder))
  arrays = {name: getattr(histories, name) for name in COLUMNS}
  header: dict[str, Any] = {
    "game": str(game), "versions": versions(), "legal_sets": histories.legal_sets, "pruned": histories.pruned,
  }  # fmt: skip
  places, texts = zip(*map(_text, histories.names), strict=True)
  groups = {
    "infostate": histories.infostate, "places": places, "text": texts, "others": histories.others or (),
  }  # fmt: skip
  for name, group in groups.items():
    header[name] = len(group)
    arrays |= {f"{name}{i}": array for i, array in enumerate(group)}
  if histories.public is not None:
    arrays["public"] = histories.public
  if partition is not None:
    arrays |= {"of": partition.of, "above": partition.parent, "acting": partition.player}
  constant = {name: array.ravel()[0].item() for name, array in arrays.items() if array.strides[0] == 0}
  header["arrays"] = {
    name: [list(array.shape), array.dtype.str, constant.get(name)] for name, array in arrays.items()
  }
  temporary = place.with_name(f"{place.name}{secrets.token_hex(4)}.part")
  temporary.mkdir()
  try:
    for name, array in arrays.items():
      if name not in constant:
        write_array(temporary / f"{name}.npy", array)
    with replacing(temporary / HEADER) as file:
      json.dump(header, file)
    if not place.exists():
      temporary.rename(place)
  finally:
    shutil.rmtree(temporary, ignore_errors=True)


def _text(names: Any) -> tuple[np.ndarray, np.ndarray]:
  """Names as `NativeWalk` has them: where each begins and ends, int64[n, 2], and all text, uint8."""
  if isinstance(names, StoredNames):
    return names.places, np.frombuffer(names.text, np.uint8)
  encoded = [name.encode() for name in names]
  ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
  return np.stack([ends[:-1], ends[1:]], 1), np.frombuffer(b"".join(encoded), np.uint8)
