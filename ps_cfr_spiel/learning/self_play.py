"""Learns in turns: solve situations, train, search with what was learned, solve what the searches met, ...

Two ways to solve. "solve" goes to the end of the game, which small games allow. "search" looks one decision
ahead and takes the network's own values beyond, so that nothing is ever solved to its end but what lies at
the end: values spread from there upwards, turn by turn (Brown et al. 2020, ReBeL).
"""

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyspiel

from ps_cfr_spiel.arguments import check_count, check_integer, check_option
from ps_cfr_spiel.learning.learned_values import LearnedValues
from ps_cfr_spiel.learning.listening import Searches
from ps_cfr_spiel.learning.ranges import RangeSampler, Reaches
from ps_cfr_spiel.learning.situations import Situations
from ps_cfr_spiel.learning.teaching import OneAhead, Teacher, generate
from ps_cfr_spiel.learning.training import resume, train
from ps_cfr_spiel.search import CFRValues
from ps_cfr_spiel.subgames import Subgames

TEACHERS = ("solve", "search")
REMEMBERED = 4  # turns whose data are trained on if searches teach: older values came from worse networks


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
  """Learns the values of a game, more and more of them at the ranges that its own searches ask about.

  Ctrl-C in training ends all of it and keeps the best of this turn.

  Args:
    game: any that `build_tree` takes, with public states.
    turns: how often searches are listened to; 0 learns from `Reaches` alone.
    draws: of ranges by `Reaches`, at the start.
    chains: of searches by `Searches`, in each turn.
    teacher: "solve" or "search"; see the file.
    seed: of all random numbers.
    iterations: of CFR by which situations are solved.
    folder: keeps the data and values of each turn; what is there of the same call is not done again, and a
      training that ended early goes on.
    progress: show progress bars; None shows them to people who wait for more than two seconds.
    callback: called with the values after each turn.
    training: further arguments of `train`.
    **options: of `build_tree`.

  Raises:
    OSError: the folder cannot be written or read.
    ValueError: an argument is not one of the allowed (see `generate` and `train`), or the folder has files of
      another call.
  """
  turns, chains = check_count("turns", turns, 0), check_count("chains", chains, 1)
  check_option("teacher", teacher, TEACHERS)
  subgames, place = Subgames.of(game, **options), None if folder is None else Path(folder)
  seed, sampler, parts, values = check_integer("seed", seed, 0), Reaches(), [], None
  for turn in range(turns + 1):
    beyond = OneAhead(iterations, values) if teacher == "search" else CFRValues(iterations)
    count, first = (draws, 0) if values is None else (chains, (turn - 1) * chains)
    make = functools.partial(generate, subgames, count, seed, first, iterations, sampler, beyond, progress)
    parts.append(_kept(place and place / f"situations-{turn}.npz", make, seed, sampler, beyond))
    if teacher == "search":  # older values came from worse networks
      parts = [part for part in parts if part.card["teacher"] == repr(beyond)][-REMEMBERED:]
    file = place and place / f"values-{turn}.npz"
    values = _trained(Situations.mixed(parts), values, file, seed + turn, progress, training or {})
    if callback is not None:
      callback(values)
    if not values.card["finished"]:
      break
    sampler = Searches(values)
  assert values is not None
  return values


def _kept(
  file: Path | None, make: Callable[[], Situations], seed: int, sampler: RangeSampler, teacher: Teacher
) -> Situations:
  """The situations of a turn: from their file if it is there, else made and kept."""
  if file is None or not file.exists():
    made = make()
    if file is not None:
      made.save(file)
    return made
  found = Situations.load(file)
  wanted = {"seed": seed, "ranges": repr(sampler), "teacher": repr(teacher)}
  given = {name: found.card.get(name) for name in wanted}
  if given != wanted:
    raise ValueError(f"{file} is of another call: {given}, not {wanted}; choose another folder.")
  return found


def _trained(
  situations: Situations,
  start: LearnedValues | None,
  file: Path | None,
  seed: int,
  progress: bool | None,
  training: dict[str, Any],
) -> LearnedValues:
  """The values of a turn: from their file as far as it goes."""
  if file is not None and file.exists():
    values = resume(situations, LearnedValues.load(file), file, progress=progress)
  else:
    values = train(situations, seed, start=start, checkpoint=file, progress=progress, **training)
  if file is not None:
    values.save(file)
  return values
