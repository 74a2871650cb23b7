"""The base class of solvers that split their abstraction while they run, and its part in files."""

import abc

import jax
import numpy as np

from ps_cfr_spiel.abstraction import Abstraction, Partition, bind, roomy_sets, unbind
from ps_cfr_spiel.backend.device import precision, to_device
from ps_cfr_spiel.solvers.exact import TreeSolver
from ps_cfr_spiel.solvers.run_files import RunState
from ps_cfr_spiel.tree import Sets


class SplittingSolver(TreeSolver):
  """A solver that begins with an abstraction and splits it: in each turn a step, then a split.

  A field `parts` of its state has both players' present sets, and a field `iteration` counts rounds.
  """

  _start: Abstraction

  @abc.abstractmethod
  def _begin_on(self, parts: tuple[Partition, Partition]) -> RunState:
    """The state before the first iteration, on the device, with tables for these sets."""

  @abc.abstractmethod
  def _take_turn(self, state: RunState, sets: tuple[Sets, Sets], player: int) -> RunState:
    """The state after a player's turn on the present sets, and the splits that follow it.

    Its `parts` are the same object if nothing is split.
    """

  def _step(self, state, iterations):
    state = state._replace(parts=jax.tree.map(np.asarray, state.parts))
    sets = self._sets(state.parts)
    for _ in range(iterations):
      for player in (0, 1):
        before = state.parts
        state = self._take_turn(state, sets, player)
        if state.parts is not before:
          sets = self._sets(state.parts)
      state = state._replace(iteration=state.iteration + 1)
    return state

  def _sets(self, parts: tuple[Partition, Partition]) -> tuple[Sets, Sets]:
    """Both players' sets as CFR takes them, on the device."""
    return to_device(roomy_sets(self.tree.players, parts), self.dtype)

  @property
  def abstraction(self) -> Abstraction:
    """The present sets, a copy: to solve on, or to begin another run with."""
    key = f"{self._start.key}, split in {self.iteration} iterations of {self.name}"
    return unbind(self.tree, self._parts(), key)

  def _parts(self) -> tuple[Partition, Partition]:
    """Both players' sets, on the host."""
    return jax.tree.map(np.asarray, self._state.parts)

  def _compile_step(self):
    """One iteration, whose result is dropped: splits happen on the host, and grown tables compile again."""
    with precision(self.dtype):
      jax.block_until_ready(self._step(self._state, 1))

  def _template(self, file):
    arrays, structure = file.arrays(file.shapes), jax.tree.structure(self._state)
    try:
      saved = jax.tree.unflatten(structure, [arrays[f"state{i}"] for i in range(structure.num_leaves)]).parts
      parts = bind(self.tree, unbind(self.tree, saved, self._start.key))
    except (KeyError, IndexError, ValueError) as error:
      raise ValueError(f"{file.path} is damaged: it has no sets of this game: {error}") from error
    # The tables and columns of sets follow from their members.
    if not all(map(np.array_equal, jax.tree.leaves(parts), jax.tree.leaves(saved))):
      raise ValueError(f"{file.path} is damaged: its sets are not where they must be.")
    with precision(self.dtype):
      return self._begin_on(parts)
