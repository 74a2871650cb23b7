"""Solvers whose policies are evaluated exactly: `ExactSolver`, and `TreeSolver` on a public tree."""

import abc
from typing import ClassVar

import jax
import numpy as np
import pyspiel

from ps_cfr_spiel import cfr
from ps_cfr_spiel.abstraction import Abstraction, from_file, to_arrays
from ps_cfr_spiel.backend.device import check_finite, precision
from ps_cfr_spiel.backend.native import warn_if_missing
from ps_cfr_spiel.compilation.compiler import PublicStateIndex, build_tree
from ps_cfr_spiel.compilation.histories import NoPublicStatesError
from ps_cfr_spiel.hierarchical import Hierarchy
from ps_cfr_spiel.loading import sequential
from ps_cfr_spiel.options import EnumerationOptions, TreeOptions
from ps_cfr_spiel.policy import TreePolicy, check_tree_of, may_save_values, normalised
from ps_cfr_spiel.reports import report, waiting
from ps_cfr_spiel.solvers.solver import Policy, Solver
from ps_cfr_spiel.tree import Evaluation, PublicTree, evaluate


class ExactSolver(Solver[Policy]):
  """A solver whose average policy is evaluated exactly, in the whole game."""

  slowly_evaluated: ClassVar[bool] = False  #: whether an evaluation takes far longer than an iteration
  tree: PublicTree | None = None  #: the game's public tree, on the host; None in a solver without one
  abstraction: Abstraction | Hierarchy | None = None  #: the present one; None without any
  _evaluation: tuple[int, Evaluation] | None = None

  @property
  def evaluable(self) -> bool:
    """Whether the game is small enough for exact values."""
    return True

  def values_fit(self, memory: float | None = None) -> bool:
    """Whether `TreePolicy.save_values` saves the values of the average policy's actions; by default not.

    TooLarge if they need more memory than `memory` bytes; None: than is free.
    """
    return False

  @abc.abstractmethod
  def _evaluate(self, progress: bool | None) -> Evaluation:
    """Evaluate the average policy."""

  def evaluation(self, progress: bool | None = None) -> Evaluation:
    """Value, best responses and exploitability of the average policy, in the game's utility, as floats.

    FloatingPointError if they are beyond the range of the solver's dtype.
    """
    if self._evaluation is None or self._evaluation[0] != self.iteration:
      result = self._evaluate(progress)
      check_finite(f"The evaluation of {self.name} at {self.iteration:,}", result, self.dtype)
      self._evaluation = self.iteration, result
    return self._evaluation[1]

  def exploitability(self) -> float:
    """NashConv / 2 of the average policy, exact up to rounding in the solver's dtype."""
    return float(self.evaluation().exploitability)

  def value(self) -> float:
    """Value to player 0 when both follow the average policy."""
    return float(self.evaluation().value)


class TreeSolver(ExactSolver[TreePolicy]):
  """A solver on the public tree of a game, whose policies are tables over the tree's rows."""

  tree: PublicTree  #: the game's public tree, on the host
  _tree: PublicTree  #: the tree on the device
  #: the abstraction to begin with; None if every infostate plays for itself.
  _start: Abstraction | None = None
  _remark: str = ""  # on the tree

  def _build(
    self,
    game: pyspiel.Game,
    options: EnumerationOptions,
    dtype: str,
    progress: bool | None,
    tree: PublicTree | None = None,
    lines: PublicStateIndex | None = None,
    **fixed: object,
  ) -> None:
    """Set `game`, `options`, `dtype` and `tree`, which `fixed` options of `build_tree` concern too.

    So do `lines`. A game without public states is solved without them. ValueError if a given tree is another
    game's.
    """
    self.game, self.dtype = sequential(game), dtype
    warn_if_missing()
    if tree is not None:
      check_tree_of(self.game, tree)
      self.tree, self.options = tree, options
      return
    of_tree = TreeOptions(**{**options.values(TreeOptions), **fixed})
    try:
      self.tree = build_tree(self.game, of_tree, progress=progress, lines=lines)
    except NoPublicStatesError:
      if options.public_states != "closure":
        raise
      self._remark = "without public states: time or the acting player is not common knowledge"
      options = options.changed(public_states="none")
      self.tree = build_tree(self.game, of_tree.changed(public_states="none"), progress=progress)
    self.options = options

  @abc.abstractmethod
  def _strategies(self, average: bool) -> list[cfr.Blocks]:
    """The average or the current strategy of each player, [A, rows, H] for each block, on the device."""

  def _of_game(self, player: int, tables: cfr.Blocks) -> list[np.ndarray]:
    """A player's tables, [n, rows, H] for each block of the host's `tree`, from those of the device's."""
    return [np.asarray(block)[..., : self.tree.players[player].types] for block in tables]

  @property
  def abstraction(self) -> Abstraction | None:
    """The sets of infostates that play alike; None if every infostate plays for itself."""
    return self._start

  def values_fit(self, memory=None):
    return may_save_values(self.game, self.tree.names, memory)

  def _header(self):
    return {**super()._header(), **({} if self._start is None else {"abstraction": self._start.key})}

  def _arrays(self):
    return {} if self._start is None else to_arrays(self._start)

  @classmethod
  def _from_arrays(cls, file):
    return {"abstraction": from_file(file)} if "abstraction" in file.header else {}

  def summary(self):
    remark = [report({"solved": self._remark})] if self._remark else []
    return "\n".join([self.tree.summary(arrays=False), *remark])

  def compile(self, progress=None):
    super().compile(progress)
    self.evaluation(progress)

  def _evaluate(self, progress):
    with precision(self.dtype, self.device), waiting("Evaluating", progress):
      return jax.tree.map(float, self._evaluated())

  def _evaluated(self) -> Evaluation:
    """The evaluation of the average strategies on the solver's own tree, on the device."""
    return evaluate(self._tree, self._strategies(average=True))

  def _policy(self, average):
    with precision(self.dtype, self.device):
      strategies = [
        [*self._of_game(player, blocks)] for player, blocks in enumerate(self._strategies(average))
      ]
    policy = TreePolicy(self.game, self.tree.names, (), self._policy_info(average))
    policy.strategies = normalised(strategies)
    policy.tree = self.tree  # or its values would build it again
    return policy
