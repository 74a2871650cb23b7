"""Policies in files: of runs, of policies alone, and those that come with this package."""

import functools
import math
import os
from pathlib import Path

import pyspiel

from ps_cfr_spiel import hierarchical, storage
from ps_cfr_spiel.arguments import check_instance
from ps_cfr_spiel.loading import game_in, load_game
from ps_cfr_spiel.options import LIMIT
from ps_cfr_spiel.policy import TreePolicy
from ps_cfr_spiel.sampling.keyed import KeyedPolicy
from ps_cfr_spiel.solvers.agents.public_hand import HOLDEM, stakes
from ps_cfr_spiel.solvers.keyed_solver import keyed_form
from ps_cfr_spiel.solvers.solver import Solver

PACKAGED = Path(__file__).parents[1] / "learning" / "pretrained"  # beside learned values


def load_policy(path: str | os.PathLike, limit: int = LIMIT) -> TreePolicy | KeyedPolicy:
  """The policy in a file of a policy's `save`, or the average policy in a solver's file; errors as of `load`.

  `limit` is the maximum number of histories of the game that the file names.
  """
  file = storage.read(path)
  if file.header["kind"] == "run":
    options = {"limit": limit} if "limit" in file.header.get("options", {}) else {}
    return Solver.kind_in(file).policy_in(file, options)
  if file.header["kind"] == "policy" and "key" in file.header:
    return _keyed_policy(file)
  return TreePolicy.from_file(file, limit)


def _keyed_policy(file: storage.Stored) -> KeyedPolicy:
  """The policy in a file of `KeyedPolicy.save`."""
  game, arrays = game_in(file.header, file.path), file.arrays(file.shapes)
  # Outside of the try: where the native library is missing the file is not to blame.
  dealt = hierarchical.card_game(game) if "clustered_round" in file.header else None
  try:
    if dealt is None:
      form = keyed_form(game, file.header["key"])
    else:
      form = hierarchical.ClusteredGame(dealt, hierarchical.from_file(file).on(dealt))
    return KeyedPolicy(form, form.table_of(arrays), file.header)
  except (KeyError, ValueError) as error:
    raise ValueError(f"{file.path} is damaged: {error}.") from error


def pretrained_policy(game: pyspiel.Game | str) -> KeyedPolicy:
  """Load the policy that comes with this package for a game; its `info` has a card: how it was made.

  For `holdem` with the whole deck it is a blueprint of fold, call, pot and all-in, of
  benchmarks/papers/blueprint.py, 20, 50 or 200 big blinds deep, the nearest by ratio; `HoldemPolicy` plays it
  with other bets and stacks. For `cheat` with the default rules it is an agent of the command train.
  ValueError for other games.
  """
  loaded = load_game(game) if isinstance(game, str) else game
  check_instance("game", loaded, pyspiel.Game)
  name, given = loaded.get_type().short_name, loaded.get_parameters()
  paths = sorted(PACKAGED.glob(f"{name}_policy*.safetensors"))
  usual = load_game(name).get_parameters() if paths else {"deck": ""}
  if any(given.get(key) != usual[key] for key in (["deck"] if name == HOLDEM else usual)):
    raise ValueError(
      f"No policy for {loaded} comes with ps_cfr_spiel, only for holdem with the whole deck, and for cheat "
      "with the default parameters; name a file."
    )
  if name == HOLDEM:
    depths = {path: _depth(game_in(storage.read(path).header, path)) for path in paths}
    paths.sort(key=lambda path: abs(math.log(depths[path] / _depth(loaded))))
  return _packaged(paths[0])


def _depth(game: pyspiel.Game) -> float:
  """The big blinds of the shorter stack in hold'em."""
  _, big, stack = stakes(game)
  return stack / big


@functools.lru_cache
def _packaged(path: Path) -> KeyedPolicy:
  return _keyed_policy(storage.read(path))
