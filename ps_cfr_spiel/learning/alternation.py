"""Learning in turns: solve situations, train, search with the learned values, solve the situations met, ...

Situations of a game are solved in three ways. "solve" goes to the end of the game, in small games. "search"
looks one decision ahead and uses the network's own values beyond, so only the last decisions are ever solved
to the end: values spread from there upwards, turn by turn (Brown et al. 2020, ReBeL). "self-play" searches
as "search" does, in a game that is not listed (`tensors.self_play`), and takes its place in one that is too
large for a list. Boards of hold'em are solved to the end of their street.
"""

import abc
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pyspiel

from ps_cfr_spiel.arguments import JSON, check_seconds
from ps_cfr_spiel.backend.device import Device, device_named, on, process_count
from ps_cfr_spiel.batches import RandomSituations, Situation, StreetValues, solve_batch
from ps_cfr_spiel.cards.poker import cards
from ps_cfr_spiel.cfr import NRMPlus, num_tables
from ps_cfr_spiel.compilation import compiler
from ps_cfr_spiel.learning.boards.draws import of_draws
from ps_cfr_spiel.learning.boards.places import FrontierStates
from ps_cfr_spiel.learning.boards.ranges import RangeSampler, ReachSampler
from ps_cfr_spiel.learning.boards.solved_boards import load_boards
from ps_cfr_spiel.learning.examples import Examples
from ps_cfr_spiel.learning.listening import SearchSampler, rivers_met
from ps_cfr_spiel.learning.network_values import NetworkValues
from ps_cfr_spiel.learning.settings import check_memory
from ps_cfr_spiel.learning.state_features import StateFeatures
from ps_cfr_spiel.learning.teaching import solve_draws, usual_teacher
from ps_cfr_spiel.learning.tensors.observations import Own
from ps_cfr_spiel.learning.tensors.self_play import SelfPlay
from ps_cfr_spiel.learning.tensors.tensor_features import TensorFeatures
from ps_cfr_spiel.learning.training import train_in
from ps_cfr_spiel.memory import TooLarge
from ps_cfr_spiel.options import (
  AUTO,
  SELF_PLAY,
  EnumerationOptions,
  LearnOptions,
  OnDemandResolvingOptions,
  TrainingOptions,
  TreeOptions,
)
from ps_cfr_spiel.resolving.search import CFRValues
from ps_cfr_spiel.resolving.subgames import Subgames, public_states_of
from ps_cfr_spiel.storage import make_folder

SEARCH = "search"  # the teacher that looks one decision ahead
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
  features: Own | None = None,
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
    features: with teacher="self-play", a function (state, player) -> numbers that the player knows there, in
      place of the game's tensors; see `observations`.
    **tree: of `build_tree`; with teacher="self-play", of `public_states_of`.

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
  if features is not None and options.teacher != SELF_PLAY:
    raise ValueError(f"features are for teacher={SELF_PLAY!r}, got teacher={options.teacher!r}.")
  teacher = _teacher(_Call(source, options, values, chunk, progress, features, tree))
  if process_count() > 1 and (folder is None or not isinstance(teacher, _Boards)):
    raise ValueError("Several processes share the boards of a folder: give the same one to all of them.")
  place, learned = None if folder is None else make_folder(Path(folder)), None
  with tempfile.TemporaryDirectory() as temporary:  # where solved boards of a call without a folder go
    for turn in range(options.turns + 1):
      with on(teacher.device):
        examples = teacher.examples(turn, learned, place, Path(temporary))
      if examples is None:
        return None
      training = TrainingOptions(**options.values(TrainingOptions)).changed(seed=options.seed + turn)
      file = place and place / f"values-{turn}.safetensors"
      learned = train_in(file, examples, training, learned, every, progress)
      if features is not None:
        learned = learned.with_features(features)  # which files do not have
      if callback is not None:
        callback(learned)
      if not learned.card["finished"]:
        break
  return learned


class _Call(NamedTuple):
  """The arguments of `learn` from which examples are made."""

  source: pyspiel.Game | RandomSituations
  options: LearnOptions
  values: StreetValues | None
  chunk: int | None
  progress: bool | None
  features: Own | None
  tree: Mapping[str, JSON]


class _Teacher(abc.ABC):
  """The maker of the examples of each turn."""

  device: Device | None = None  # of its searches; None: CPUs, or another that it chooses itself

  def __init__(self, call: _Call):
    self.options, self.progress = call.options, call.progress

  @abc.abstractmethod
  def examples(
    self, turn: int, values: NetworkValues | None, place: Path | None, temporary: Path
  ) -> Examples | None:
    """Those to learn from in a turn, by the values of the one before; None where processes share the work."""


def _teacher(call: _Call) -> _Teacher:
  """The maker of the examples of a call; searches of a game too large to list are self-play."""
  if isinstance(call.source, RandomSituations):
    return _Boards(call)
  if call.options.teacher == SELF_PLAY:
    return _Games(call)
  try:
    return _States(call)
  except _TooLargeToListError as error:
    if call.options.teacher != SEARCH:
      raise
    warnings.warn(
      f"{call.source} is too large to list, so its searches play against themselves, as with "
      f"teacher={SELF_PLAY!r}: {error}",
      stacklevel=3,
    )
    return _Games(call)


class _TooLargeToListError(TooLarge):
  """A game that `_States` cannot list."""


class _OfGames(_Teacher):
  """Examples of a game."""

  def __init__(self, call: _Call):
    if call.values is not None or call.chunk is not None or call.options.target is not None:
      raise ValueError("values, chunk and target are for boards of hold'em; leave them out for a game.")
    assert isinstance(call.source, pyspiel.Game)
    super().__init__(call)
    self.game, self.parts = call.source, list[Examples]()
    if self.options.device != AUTO:  # searches of small games are faster on CPUs
      self.device = device_named(self.options.device)


class _States(_OfGames):
  """Examples of all public states of a game where a search's lookahead may end."""

  def __init__(self, call: _Call):
    super().__init__(call)
    options = self.options
    if options.teacher == SEARCH and options.turns and options.chains < 2:
      raise ValueError(f"chains={options.chains}: one is held out of each turn, so give at least 2.")
    try:
      self._check_tree(TreeOptions.of(None, **call.tree).memory)
      self.subgames = Subgames.of(self.game, **call.tree)
    except TooLarge as error:
      more = (
        ""
        if self.options.teacher == SEARCH
        else f" Or learn with teacher={SELF_PLAY!r}, which lists no game."
      )
      raise _TooLargeToListError(f"{error}{more}") from error
    self.frontier = FrontierStates.of(self.subgames)
    check_memory(self.options, StateFeatures.of(self.frontier))

  def _check_tree(self, memory: float | None) -> None:
    """TooLarge, before a tree is built, where strategies of the whole game (`ReachSampler`) do not fit."""
    if (form := compiler.form_of(self.game)) is not None:
      use = compiler.TreeUse(num_tables(NRMPlus(), "float32"), folded=False)
      compiler.check_memory(self.game, compiler.index_of(self.game, form, memory), memory, use)

  def examples(
    self, turn: int, values: NetworkValues | None, place: Path | None, temporary: Path
  ) -> Examples:
    """Those of this turn, and of those before that are still right, the newest first."""
    options = self.options
    searched = options.teacher == SEARCH
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
    seed = self.options.seed
    wanted: dict[str, JSON] = {
      "game": self.subgames.labels.game,
      "seed": seed,
      "ranges": repr(sampler),
      "teacher": repr(teacher),
      "public states": self.frontier.public_states.tolist(),
    }

    def facts(read: Examples) -> dict[str, JSON]:
      states = read.features
      if not isinstance(states, StateFeatures):
        return {**dict.fromkeys(wanted), **read.card}
      return {
        **{name: read.card.get(name) for name in wanted},
        "public states": states.public_states.tolist(),
      }

    def make(first: int, count: int) -> Iterator[Examples]:
      return solve_draws(self.frontier, count, seed, first, sampler, teacher, self.progress)

    return of_draws(file, first, count, wanted, facts, make)


class _Games(_OfGames):
  """Examples of the public states that searches meet when they play against themselves."""

  def __init__(self, call: _Call):
    super().__init__(call)
    EnumerationOptions.of(None, **call.tree)  # refuses options of searches, which self-play does not read
    given = OnDemandResolvingOptions.of(None, **call.tree)
    states = public_states_of(self.game, given.public_states, given.limit, given.memory)
    tensors = TensorFeatures.of(call.features)
    tensors.observations(states.game)  # refused now without any
    self.played = SelfPlay(states, tensors, self.options.iterations)

  def examples(
    self, turn: int, values: NetworkValues | None, place: Path | None, temporary: Path
  ) -> Examples:
    """Those of this turn and of the last ones, the newest first, and those of the first.

    Older values came from worse networks, but in the first turn all are solved to the end of the game.
    """
    seed = self.options.seed + turn
    count = self.options.draws if turn == 0 else self.options.chains
    wanted = {**self.played.card, "seed": seed, "tensors": self.played.features.source}

    def facts(read: Examples) -> dict[str, JSON]:
      return {
        **{name: read.card.get(name) for name in wanted},
        "tensors": read.features.in_card().get("tensors"),
      }

    def make(first: int, count: int) -> Iterator[Examples]:
      return self.played.play(values, seed, first, count, self.progress)

    file = place and place / f"examples-{turn}.safetensors"
    self.parts.append(of_draws(file, 0, count, wanted, facts, make))
    if len(self.parts) > REMEMBERED:
      del self.parts[1]
    return Examples.mixed(self.parts[::-1])


class _Boards(_Teacher):
  """Solved boards, drawn at random, and rivers that searches of turns ask about."""

  def __init__(self, call: _Call):
    drawn, options, values = call.source, call.options, call.values
    assert isinstance(drawn, RandomSituations)
    street = cards.STREETS[drawn.options.cards]
    if call.tree:
      raise ValueError(f"{street}s have no options of a tree; leave out {', '.join(call.tree)}.")
    if options.teacher != "solve":
      raise ValueError(
        f"teacher={options.teacher!r} is for games; {street}s are solved to the end of their street."
      )
    if (values is None) != (drawn.options.cards == cards.BOARD_SIZE):
      raise ValueError("values belong to turns and flops, which end with a street; rivers have none.")
    if options.turns and drawn.options.cards != cards.BOARD_SIZE:
      raise ValueError(f"turns={options.turns}: searches of turns ask about rivers alone; use turns=0.")
    if options.turns and process_count() > 1:
      raise ValueError(f"turns={options.turns}: searches run in one process; use turns=0 in several.")
    super().__init__(call)
    self.drawn = drawn
    self.method = {
      "iterations": options.iterations,
      "target": options.target,
      "device": options.device,
      "values": values,
      "chunk": call.chunk,
      "hands": "all",
      "strategies": False,
      "progress": call.progress,
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
      with on(device_named(self.options.device)):
        drawn = rivers_met(values, turns, progress=self.progress)
    folder = (place or temporary) / f"examples-{turn}"
    self.folders.append(folder)
    solve_batch(drawn, output=folder, **self.method)
    if process_count() > 1:
      return None
    return load_boards(*self.folders, progress=self.progress, device=self.options.device)


def load_examples(*paths: str | os.PathLike, progress: bool | None = None, device: str = AUTO) -> Examples:
  """Read the examples that `learn` keeps: files of those of a game, or folders of boards.

  Arguments and errors are those of `Examples.load`, `Examples.mixed` and `load_boards`.
  """
  if any(Path(path).is_dir() for path in paths):
    return load_boards(*paths, progress=progress, device=device)
  sets = [Examples.load(path) for path in paths]
  return sets[0] if len(sets) == 1 else Examples.mixed(sets)
