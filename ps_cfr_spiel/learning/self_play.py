"""Learning in turns: solve situations, train, search with the learned values, solve the situations met, ...

Situations are solved in two ways. "solve" goes to the end of the game, in small games. "search" looks one
decision ahead and uses the network's own values beyond, so only the last decisions are ever solved to the
end: values spread from there upwards, turn by turn (Brown et al. 2020, ReBeL).
"""

import functools
import os
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel

from ps_cfr_spiel.arguments import check_count, check_integer, check_option
from ps_cfr_spiel.learning.examples import Examples
from ps_cfr_spiel.learning.learned_values import LearnedValues
from ps_cfr_spiel.learning.listening import SearchSampler
from ps_cfr_spiel.learning.places import FrontierStates
from ps_cfr_spiel.learning.ranges import ReachSampler
from ps_cfr_spiel.learning.settings import TrainingSettings
from ps_cfr_spiel.learning.teaching import OneAhead, generate_examples, usual_teacher
from ps_cfr_spiel.learning.training import resume, train
from ps_cfr_spiel.storage import make_folder
from ps_cfr_spiel.subgames import Subgames

TEACHERS = ("solve", "search")
MOST_TEXT = 80  # characters of a difference in messages
REMEMBERED = 4  # turns of data to train on if searches teach: older values came from worse networks


def self_play(
  game: pyspiel.Game,
  turns: int = 3,
  draws: int = 1200,
  chains: int = 100,
  teacher: str = "solve",
  seed: int = 0,
  iterations: int = 100,
  folder: str | os.PathLike | None = None,
  progress: bool | None = None,
  callback: Callable[[LearnedValues], None] | None = None,
  training: dict[str, Any] | None = None,
  **options: Any,
) -> LearnedValues:
  """Learn the values of a game, more and more of them at the ranges of its own searches.

  Ctrl-C in training ends the call and keeps the best network of this turn. OSError if the folder cannot be
  written or read; ValueError for a wrong argument, or a folder with files of another call.

  Args:
    game: any that `build_tree` takes, with public states.
    turns: rounds of listening to searches; 0 learns from `ReachSampler` alone.
    draws: of ranges by `ReachSampler`, at the start.
    chains: of searches by `SearchSampler`, in each turn.
    teacher: "solve" or "search"; see the file.
    seed: of all random numbers.
    iterations: of CFR for each situation.
    folder: keeps the data and values of each turn, created if needed; existing files of the same call are
      reused, and a training that ended early is continued.
    progress: show progress bars; None: on a terminal or in a notebook, after two seconds.
    callback: called with the values after each turn.
    training: further arguments of `train` about its method, and `checkpoint_seconds`.
    **options: of `build_tree`.
  """
  turns, chains = check_count("turns", turns, 0), check_count("chains", chains, 1)
  check_option("teacher", teacher, TEACHERS)
  seed = check_integer("seed", seed, 0)
  check_integer("seed + turns", seed + turns, 0)
  if callback is not None and not callable(callback):
    raise ValueError(f"callback must be a function of the values, got {callback!r}.")
  training = {} if training is None else training
  settings, subgames = TrainingSettings.of(seed, training), Subgames.of(game, **options)
  frontier = FrontierStates.of(subgames)
  settings.check_memory(*LearnedValues.extent(frontier))
  every = {name: training[name] for name in ("checkpoint_seconds",) if name in training}
  place = None if folder is None else make_folder(Path(folder))
  sampler, parts, values = ReachSampler(), [], None
  for turn in range(turns + 1):
    beyond = OneAhead(iterations, values) if teacher == "search" else usual_teacher(frontier, iterations)
    count, first = (draws, 0) if values is None else (chains, (turn - 1) * chains)
    make = functools.partial(
      generate_examples, subgames, count, seed, first, iterations, sampler, beyond, progress
    )
    wanted = {
      "game": subgames.labels.game,
      "seed": seed,
      "ranges": repr(sampler),
      "teacher": repr(beyond),
      "draws": f"{first} to {first + count - 1}",
      "public states": frontier.public_states.tolist(),
    }
    parts.append(_kept(place and place / f"examples-{turn}.safetensors", make, wanted))
    if teacher == "search":  # older values came from worse networks
      parts = [part for part in parts if part.card["teacher"] == repr(beyond)][-REMEMBERED:]
    file = place and place / f"values-{turn}.safetensors"
    values = _trained(  # the newest come first, of which the first draw is held out
      Examples.mixed(parts[::-1]), values, file, settings._replace(seed=seed + turn), progress, every
    )
    if callback is not None:
      callback(values)
    if not values.card["finished"]:
      break
    sampler = SearchSampler(values)
  assert values is not None
  return values


def _kept(file: Path | None, make: Callable[[], Examples], wanted: dict[str, Any]) -> Examples:
  """The examples of a turn: from their file if it fits `wanted`, else made and saved."""
  if file is None or not file.exists():
    made = make()
    if file is not None:
      made.save(file)
    return made
  found = Examples.load(file)
  numbers = np.unique(found.draw)
  draws = f"{numbers.min(initial=0)} to {numbers.max(initial=-1)}"
  given = {name: found.card.get(name) for name in wanted}
  given |= {"draws": draws, "public states": found.public_states.tolist()}
  _same_call(file, given, wanted)
  return found


def _trained(
  examples: Examples,
  start: LearnedValues | None,
  file: Path | None,
  settings: TrainingSettings,
  progress: bool | None,
  every: dict[str, Any],
) -> LearnedValues:
  """The values of a turn: from their file, continued if unfinished."""
  if file is None or not file.exists():
    return train(examples, start=start, checkpoint=file, progress=progress, **settings._asdict(), **every)
  found = LearnedValues.load(file)
  _same_call(file, TrainingSettings.from_card(found.card)._asdict(), settings._asdict())
  return resume(examples, found, file, progress=progress, **every)


def _same_call(file: Path, given: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
  """ValueError, naming the first difference, unless a file was made by the same call."""
  for name, value in wanted.items():
    if given[name] != value:
      found, asked = (textwrap.shorten(str(x), MOST_TEXT) for x in (given[name], value))
      raise ValueError(f"{file} is of another call: its {name}: {found}, not {asked}; choose another folder.")
