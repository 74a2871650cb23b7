"""Solvers whose policies are evaluated exactly: `ExactSolver`, and `TreeSolver` on a public tree."""

import abc
from typing import ClassVar

import jax
import numpy as np

from ps_cfr_spiel import cfr
from ps_cfr_spiel.device import check_finite, precision
from ps_cfr_spiel.policy import TreePolicy
from ps_cfr_spiel.reports import waiting
from ps_cfr_spiel.solvers.solver import Policy, Solver
from ps_cfr_spiel.tree import Evaluation, PublicTree, evaluate


class ExactSolver(Solver[Policy]):
  """A solver whose average policy is evaluated exactly, in the whole game.

  Attributes:
    slowly_evaluated: whether an evaluation takes far longer than an iteration.
  """

  slowly_evaluated: ClassVar[bool] = False
  _evaluation: tuple[int, Evaluation] | None = None

  @abc.abstractmethod
  def _evaluate(self, progress: bool | None) -> Evaluation:
    """Evaluates the average policy."""

  def evaluation(self, progress: bool | None = None) -> Evaluation:
    """Value, best responses and exploitability of the average policy, in the game's utility, as floats.

    Args:
      progress: see `compile`.

    Raises:
      FloatingPointError: they are beyond the range of the solver's dtype.
    """
    if self._evaluation is None or self._evaluation[0] != self.iteration:
      result = self._evaluate(progress)
      check_finite(f"The evaluation of {self.name} at {self.iteration:,}", result, self.dtype)
      self._evaluation = self.iteration, result
    return self._evaluation[1]

  def exploitability(self) -> float:
    """NashConv / 2 of the average policy, exact up to rounding in the solver's dtype."""
    return self.evaluation().exploitability

  def value(self) -> float:
    """Value to player 0 when both follow the average policy."""
    return self.evaluation().value


class TreeSolver(ExactSolver[TreePolicy]):
  """A solver on the public tree of a game, whose policies are tables over the tree's rows.

  Attributes:
    tree: the game's public tree, on the host.
    _tree: the tree on the device.
  """

  tree: PublicTree
  _tree: PublicTree

  @abc.abstractmethod
  def _strategies(self, average: bool) -> list[cfr.Blocks]:
    """The average or the current strategy of each player, [A, rows, H] for each block, on the device."""

  def _of_game(self, player: int, tables: cfr.Blocks) -> list[np.ndarray]:
    """A player's tables, [n, rows, H] for each block of the host's `tree`, from those of the device's."""
    return [np.asarray(block)[..., : self.tree.players[player].types] for block in tables]

  def summary(self):
    """The size of the tree, as lines of text."""
    return self.tree.summary()

  def compile(self, progress=None):
    """Compiles the programs of a run and of an evaluation; see `Solver.compile`."""
    super().compile(progress)
    self.evaluation(progress)

  def _evaluate(self, progress):
    with precision(self.dtype), waiting("Evaluating", progress):
      return jax.tree.map(float, evaluate(self._tree, self._strategies(average=True)))

  def _policy(self, average):
    with precision(self.dtype):
      strategies = self._strategies(average)
    own = [self._of_game(player, blocks) for player, blocks in enumerate(strategies)]
    return TreePolicy(self.game, self.tree.names, own, self._policy_info(average))
