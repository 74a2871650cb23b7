"""Learning in turns: solve situations, train, search with the learned values, solve the situations met, ...

Situations of a game are solved in two ways. "solve" goes to the end of the game, in small games. "search"
looks one decision ahead and uses the network's own values beyond, so only the last decisions are ever solved
to the end: values spread from there upwards, turn by turn (Brown et al. 2020, ReBeL). Boards of hold'em are
solved to the end of their street.
"""

import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pyspiel

from ps_cfr_spiel.arguments import JSON, check_seconds
from ps_cfr_spiel.backend.device import Uninterrupted, process_count
from ps_cfr_spiel.batches import RandomSituations, Situation, StreetValues, solve_batch
from ps_cfr_spiel.cards.poker import cards
from ps_cfr_spiel.learning.boards.places import FrontierStates
from ps_cfr_spiel.learning.boards.ranges import RangeSampler, ReachSampler
from ps_cfr_spiel.learning.boards.solved_boards import load_boards
from ps_cfr_spiel.learning.examples import Examples
from ps_cfr_spiel.learning.listening import SearchSampler, rivers_met
from ps_cfr_spiel.learning.network_values import NetworkValues
from ps_cfr_spiel.learning.settings import check_memory
from ps_cfr_spiel.learning.state_features import StateFeatures
from ps_cfr_spiel.learning.teaching import solve_draws, usual_teacher
from ps_cfr_spiel.learning.training import check_same_call, train_in
from ps_cfr_spiel.options import LearnOptions, TrainingOptions
from ps_cfr_spiel.resolving.search import CFRValues
from ps_cfr_spiel.resolving.subgames import Subgames
from ps_cfr_spiel.storage import make_folder

REMEMBERED = 4  # turns of data to train on if searches teach: older values came from worse networks


def learn(
  source: pyspiel.Game | RandomSituations,
  options: LearnOptions | None = None,
  *,
  values: StreetValues | None = None,
  folder: str | os.PathLike | None = None,
  chunk: int | None = None,
  checkpoint_seconds: float = 60.0,
  progress: bool | None = None,
  callback: Callable[[NetworkValues], None] | None = None,
  **tree: JSON,
) -> NetworkValues | None:
  """Make examples and learn from them; in further turns those at the ranges of the network's own searches.

  A turn has no pace of its own: it is made of other loops, those of `solve_batch` or searches and `training`.

  Ctrl-C in training ends the call and keeps the best network of this turn; while situations are solved it is
  a KeyboardInterrupt, after those that are done are saved. The same call goes on from the files.

  Args:
    source: a game that `build_tree` takes, with public states; or boards of hold'em's rivers, turns or flops.
      Those have their own number and seed, in place of `draws` and of the seed for the draws.
    options: `LearnOptions`; unchanged by default. The seed of the network in each turn is `seed` + turn.
    values: of turns and flops, the values of the street after them.
    folder: keeps the examples and values of each turn, created if needed. Existing examples of the same call
      are reused, and more are made if `draws` has grown: then each turn learns anew, from all of them. A
      training that ended early is continued.
    chunk: of boards, see `solve_batch`.
    checkpoint_seconds: minimum time between two saves of a network in training.
    progress: show progress bars; None: on a terminal or in a notebook, after two seconds.
    callback: called with the values after each turn.
    **tree: of `build_tree`.

  Returns the values of the last turn. Processes that share the work (`join_processes`) solve boards, into the
  same folder, and return None: the same call in one process then learns from them.

  OSError if the folder cannot be written or read; ValueError for a wrong argument, or a folder with files of
  another call.
  """
  options = LearnOptions.of(options)
  options.changed(seed=options.seed + options.turns)  # refused now rather than after the first turns
  if callback is not None and not callable(callback):
    raise ValueError(f"callback must be a function of the values, got {callback!r}.")
  every = check_seconds("checkpoint_seconds", checkpoint_seconds)
  kind = _Boards if isinstance(source, RandomSituations) else _States
  teacher = kind(source, options, values, chunk, progress, tree)
  if process_count() > 1 and (folder is None or kind is _States):
    raise ValueError("Several processes share the boards of a folder: give the same one to all of them.")
  place, learned = None if folder is None else make_folder(Path(folder)), None
  with tempfile.TemporaryDirectory() as temporary:  # where solved boards of a call without a folder go
    for turn in range(options.turns + 1):
      examples = teacher.examples(turn, learned, place, Path(temporary))
      if examples is None:
        return None
      training = TrainingOptions(**options.values(TrainingOptions)).changed(seed=options.seed + turn)
      file = place and place / f"values-{turn}.safetensors"
      learned = train_in(file, examples, training, learned, every, progress)
      if callback is not None:
        callback(learned)
      if not learned.card["finished"]:
        break
  return learned


class _States:
  """Examples of all public states of a game where a search's lookahead may end."""

  def __init__(
    self,
    game: pyspiel.Game,
    options: LearnOptions,
    values: StreetValues | None,
    chunk: int | None,
    progress: bool | None,
    tree: Mapping[str, JSON],
  ):
    if values is not None or chunk is not None or options.target is not None:
      raise ValueError("values, chunk and target are for boards of hold'em; leave them out for a game.")
    self.options, self.progress = options, progress
    self.subgames = Subgames.of(game, **tree)
    self.frontier = FrontierStates.of(self.subgames)
    check_memory(options, *StateFeatures.of(self.frontier).extent)
    self.parts: list[Examples] = []

  def examples(
    self, turn: int, values: NetworkValues | None, place: Path | None, temporary: Path
  ) -> Examples:
    """Those of this turn, and of those before that are still right, the newest first."""
    options = self.options
    searched = options.teacher == "search"
    teacher = (
      CFRValues(options.iterations, beyond=values, lookahead=1)
      if searched
      else usual_teacher(self.frontier, options.iterations)
    )
    sampler = ReachSampler() if values is None else SearchSampler(values)
    first, count = (0, options.draws) if turn == 0 else ((turn - 1) * options.chains, options.chains)
    file = place and place / f"examples-{turn}.safetensors"
    self.parts.append(self._of_draws(file, first, count, sampler, teacher))
    if searched:  # older values came from worse networks
      self.parts = [part for part in self.parts if part.card["teacher"] == repr(teacher)][-REMEMBERED:]
    return Examples.mixed(self.parts[::-1])  # of which the first draw is held out

  def _of_draws(
    self, file: Path | None, first: int, count: int, sampler: RangeSampler, teacher: CFRValues
  ) -> Examples:
    """The examples of some draws: from their file, and solved where it has not all of them."""
    seed, kept = self.options.seed, []
    if file is not None and file.exists():
      wanted = {
        "game": self.subgames.labels.game,
        "seed": seed,
        "ranges": repr(sampler),
        "teacher": repr(teacher),
        "public states": self.frontier.public_states.tolist(),
      }
      read = Examples.load(file)
      states, given = read.features, {name: read.card.get(name) for name in wanted}
      assert isinstance(states, StateFeatures)
      check_same_call(file, {**given, "public states": states.public_states.tolist()}, wanted)
      draws = np.unique(read.draw)
      if not np.array_equal(draws, np.arange(first, first + len(draws))) or len(draws) > count:
        text = f"{draws.min(initial=0)} to {draws.max(initial=-1)}"
        check_same_call(file, {"draws": text}, {"draws": f"{first} to {first + count - 1}"})
      if len(draws) == count:
        return read
      kept = [read] if len(draws) else []
      first, count = first + len(draws), count - len(draws)
    solved = solve_draws(self.frontier, count, seed, first, sampler, teacher, self.progress)
    try:
      for part in solved:
        kept.append(part)
    except KeyboardInterrupt:
      if kept and file is not None:
        with Uninterrupted():
          _without_last_draw(Examples.join(kept)).save(file)
      raise
    made = Examples.join(kept)
    if file is not None:
      made.save(file)
    return made


def _without_last_draw(examples: Examples) -> Examples:
  """The examples of all draws but the last, some of whose situations may be missing."""
  return examples.rows(np.flatnonzero(examples.draw < examples.draw.max()))


class _Boards:
  """Solved boards, drawn at random, and rivers that searches of turns ask about."""

  def __init__(
    self,
    drawn: RandomSituations,
    options: LearnOptions,
    values: StreetValues | None,
    chunk: int | None,
    progress: bool | None,
    tree: Mapping[str, JSON],
  ):
    street = cards.STREETS[drawn.options.cards]
    if tree:
      raise ValueError(f"{street}s have no options of a tree; leave out {', '.join(tree)}.")
    if options.teacher != "solve":
      raise ValueError(f"teacher='search' is for games; {street}s are solved to the end of their street.")
    if (values is None) != (drawn.options.cards == cards.BOARD_SIZE):
      raise ValueError("values belong to turns and flops, which end with a street; rivers have none.")
    if options.turns and drawn.options.cards != cards.BOARD_SIZE:
      raise ValueError(f"turns={options.turns}: searches of turns ask about rivers alone; use turns=0.")
    if options.turns and process_count() > 1:
      raise ValueError(f"turns={options.turns}: searches run in one process; use turns=0 in several.")
    self.drawn, self.options, self.progress = drawn, options, progress
    self.method = {
      "iterations": options.iterations,
      "target": options.target,
      "device": options.device,
      "values": values,
      "chunk": chunk,
      "hands": "all",
      "strategies": False,
      "progress": progress,
    }
    self.folders: list[Path] = []

  def examples(
    self, turn: int, values: NetworkValues | None, place: Path | None, temporary: Path
  ) -> Examples | None:
    """Those of this turn and of all before; None where processes share the work."""
    drawn: RandomSituations | list[Situation] = self.drawn
    if values is not None:
      changes = {"distribution": "betting", "cards": cards.BOARD_SIZE - 1}
      options = self.drawn.options.changed(seed=self.drawn.options.seed + turn, **changes)
      turns = RandomSituations(self.options.chains, options)
      drawn = rivers_met(values, turns, progress=self.progress)
    folder = (place or temporary) / f"examples-{turn}"
    self.folders.append(folder)
    solve_batch(drawn, output=folder, **self.method)
    return load_boards(*self.folders, progress=self.progress) if process_count() == 1 else None


def load_examples(*paths: str | os.PathLike, progress: bool | None = None) -> Examples:
  """Read the examples that `learn` keeps: files of those of a game, or folders of boards.

  Errors are those of `Examples.load`, `Examples.mixed` and `load_boards`.
  """
  if any(Path(path).is_dir() for path in paths):
    return load_boards(*paths, progress=progress)
  sets = [Examples.load(path) for path in paths]
  return sets[0] if len(sets) == 1 else Examples.mixed(sets)
