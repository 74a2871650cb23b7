"""The numbers that a network reads of a game: a tensor of each infostate, and one of each public state.

OpenSpiel's games give them: the information state tensor, else the observation tensor, of each player, and
many the tensor of a public observer. For other games the tensor of a public state is the mean of those of its
infostates, which is public, too. Legal actions of the player to act are added: they often say at once which
part of a long past still matters, such as the last bid in liar's dice. A function of one's own replaces all
of it.
"""

import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyspiel
from open_spiel.python import observation

from ps_cfr_spiel.loading import sequential

KEPT_BYTES = 256 * 2**20  # of tensors that are kept, at most
KEPT_STATES = 20_000  # at most
OPENSPIEL = "OpenSpiel"  # the source of tensors that are a game's own
SCRIPT = "__main__"  # the module of the functions of a script that is run
Own = Callable[[pyspiel.State, int], Sequence[float]]


class Observations:
  """The tensors of a game; each state is asked about once."""

  def __init__(self, game: pyspiel.Game, function: Own | None = None):
    """Choose the tensors; ValueError for a game without any.

    Args:
      game: of two players.
      function: (state, player) -> numbers that the player knows there, always the same count; in place of
        the game's tensors.
    """
    self.game, self.function = sequential(game), function  #: turn-based; as given
    kind = self.game.get_type()
    self._remembers = kind.provides_information_state_tensor
    if function is None and not self._remembers and not kind.provides_observation_tensor:
      raise ValueError(
        f"{game} has no tensors of information states or observations for a network to read. Give it a "
        "function (state, player) -> numbers: values.learn(game, options, features=function), or learn "
        "--module=FILE --features=FUNCTION."
      )
    # A player who has moved in secret remembers it; the game's tensor does not.
    self._moves = kind.short_name == "turn_based_simultaneous_game"
    self._observer = None if function is not None else _public_observer(self.game)
    self._kept: dict[tuple[tuple[int, ...], int], np.ndarray] = {}
    self._bytes = 0
    self._states: dict[tuple[int, ...], pyspiel.State] = {}

  @property
  def source(self) -> str:
    """The name of the function of one's own, or `OPENSPIEL`."""
    return OPENSPIEL if self.function is None else function_name(self.function)

  @property
  def public(self) -> bool:
    """True if the game has a tensor of public states."""
    return self._observer is not None

  def at(self, path: tuple[int, ...], who: int) -> np.ndarray:
    """float32[D]: the tensor of player 0 or 1, or with 2 the public one, after the actions of a path.

    ValueError for numbers that are not finite.
    """
    if (path, who) not in self._kept:
      state = self._above(path[:-1]).child(path[-1]) if path else self._above(path)
      tensor = np.array(self._read(state, path, who), np.float32).ravel()
      if not np.isfinite(tensor).all():
        raise ValueError(f"{self.game}: the tensor of {self.source} after {list(path)} is not finite.")
      self._bytes += tensor.nbytes
      if self._bytes > KEPT_BYTES:
        self._kept.clear()
        self._bytes = tensor.nbytes
      self._kept[path, who] = tensor
    return self._kept[path, who]

  def _above(self, path: tuple[int, ...]) -> pyspiel.State:
    """The state after some actions, kept: many histories follow it."""
    known = len(path)
    while known and path[:known] not in self._states:
      known -= 1
    state = self._states[path[:known]] if known else self.game.new_initial_state()
    if len(self._states) > KEPT_STATES:
      self._states.clear()
    for number in range(known, len(path)):
      state = state.child(path[number])
      self._states[path[: number + 1]] = state
    return state

  def _read(self, state: pyspiel.State, path: tuple[int, ...], who: int) -> Sequence[float] | np.ndarray:
    if who == 2:
      assert self._observer is not None and self._observer.tensor is not None
      self._observer.set_from(state, 0)
      return self._observer.tensor
    if self.function is not None:
      try:
        return np.array(self.function(state, who), np.float32)
      except Exception as error:  # the user's own code: it may raise anything
        raise ValueError(
          f"{self.source} must give numbers, for player {who} of {self.game} after {list(path)}: "
          f"{type(error).__name__}: {error}"
        ) from error
    read = state.information_state_tensor if self._remembers else state.observation_tensor
    legal = np.zeros(self.game.num_distinct_actions(), np.float32)
    if state.current_player() == who:
      legal[state.legal_actions()] = 1
    moved = self._last_move(path, who) if self._moves else []
    return np.concatenate([read(who), moved, legal])

  def _last_move(self, path: tuple[int, ...], player: int) -> np.ndarray:
    """[actions]: 1 at the last action of a player, if there is one."""
    state, last = self.game.new_initial_state(), np.zeros(self.game.num_distinct_actions(), np.float32)
    for action in path:
      if state.current_player() == player:
        last[:] = np.arange(len(last)) == action
      state.apply_action(action)
    return last


def function_name(function: Own) -> str:
  """The name of a function of one's own, or of the class of another object, in cards and files.

  One of a script that is run has the same name where the script's module is imported.
  """
  named = function if inspect.isroutine(function) else type(function)
  return f"{_script_name() if named.__module__ == SCRIPT else named.__module__}.{named.__qualname__}"


def _script_name() -> str:
  """The name under which the script that is run would be imported; `SCRIPT` in a notebook."""
  script = vars(sys.modules[SCRIPT])
  if spec := script["__spec__"]:  # of python -m
    return spec.name
  return Path(script.get("__file__", SCRIPT)).stem


def _public_observer(game: pyspiel.Game):
  """OpenSpiel's public observer of a game with a tensor, or None."""
  kind = pyspiel.IIGObservationType(
    perfect_recall=True, public_info=True, private_info=pyspiel.PrivateInfoType.NONE
  )
  try:
    observer = observation.make_observation(game, kind)
    if observer is None or observer.tensor is None or not len(observer.tensor):
      return None
    observer.set_from(game.new_initial_state(), 0)
  except (AttributeError, RuntimeError, TypeError, ValueError):  # some Python games have no maker
    return None
  return observer
