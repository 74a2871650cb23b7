"""Public-state CFR as a solver in OpenSpiel's shape."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyspiel

from ps_cfr_spiel import cfr
from ps_cfr_spiel.abstraction import Abstraction, Key, abstract_tree, as_sets, bind, from_file, to_arrays
from ps_cfr_spiel.arguments import check_count, check_flag
from ps_cfr_spiel.cfr import NRMPlus, Rule, make_rule, rule_header
from ps_cfr_spiel.compiler import build_tree, check_memory, fold_suits
from ps_cfr_spiel.device import check_dtype, precision, to_device, trim_heap
from ps_cfr_spiel.histories import LIMIT
from ps_cfr_spiel.policy import PartialStrategy, locks_from_file, read_locks
from ps_cfr_spiel.solvers.exact import TreeSolver
from ps_cfr_spiel.tree import PublicTree, Variant, lock_rows, pad_types


class PSCFRSolver(TreeSolver):
  """Solves a two-player zero-sum game by public-state CFR.

  Attributes:
    game: the game.
    tree: its public tree, on the host.
    rule: regret rule.
    alternating: whether player 1 answers player 0's newest strategy.
    dtype: "float32" or "float64".
    skip: iterations left out of the average at the start.
    leaves, public_states, limit: how the tree was built.
    abstraction: the sets of infostates that play alike; None if each plays for itself.
    locks: the strategies that players must play in some public states; None if there are none.
    iteration: iterations done.
  """

  _apart = ("abstraction", "locks")

  def __init__(
    self,
    game: pyspiel.Game,
    rule: Rule | str | None = None,
    alternating: bool = True,
    dtype: str = "float32",
    leaves: str = "auto",
    skip: int = 0,
    public_states: str = "closure",
    limit: int = LIMIT,
    progress: bool | None = None,
    memory: float | None = None,
    abstraction: Abstraction | Key | str | None = None,
    locks: Mapping[str, Any] | PartialStrategy | None = None,
  ):
    """Builds the tree; nothing is compiled yet.

    Args:
      game: from `pyspiel.load_game`.
      rule: a rule or its name in `rules.RULES`; `NRMPlus()` by default.
      alternating: see the class.
      dtype: see the class.
      leaves: leaf evaluator, "auto", "dense", "showdown", "native" or "sparse"; see `build_tree`.
      skip: see the class.
      public_states: "closure", "observer" or "none"; see `build_tree`.
      limit: most histories to walk.
      progress: show a progress bar while walking; see `build_tree`.
      memory: most bytes to take; see `build_tree`.
      abstraction: an abstraction of `abstractions.abstract`, or a key that it takes. The policies are still
        of the whole game, and so is their exploitability, which an abstraction may keep from falling to zero.
      locks: the strategies that players must play after chosen lines, {"check, bet 200": an OpenSpiel policy,
        or {"fold": 1} for all hands}; see `policy.read_locks`. Everything else is solved around them, and
        value and exploitability are of this game: best responses keep to the locks too. A locked infostate
        leaves its set of the abstraction. Locks that tell suits apart take up more memory.

    Raises:
      ValueError: an argument is not one of the allowed, or the game cannot be compiled, or its tables
        do not fit into memory; or a line of `locks` does not exist.
    """
    self.game = game
    self.rule = make_rule(NRMPlus() if rule is None else rule)
    self.dtype = check_dtype(dtype)
    self.alternating = check_flag("alternating", alternating)
    self.skip = check_count("skip", skip, 0)
    self.leaves, self.public_states, self.limit = leaves, public_states, limit
    itemsize, kept = np.dtype(self.dtype).itemsize, cfr.num_tables(self.rule, self.dtype)
    check_memory(game, memory, kept, itemsize, abstraction is None, locks is not None, leaves)
    self.tree = build_tree(game, leaves, public_states, limit, progress, memory)
    self.abstraction = None if abstraction is None else abstract_tree(self.tree, game, abstraction)
    self.locks = (
      locks if locks is None or isinstance(locks, PartialStrategy) else read_locks(self.tree, game, locks)
    )
    variant = Variant.of(self.tree)
    if self.locks is not None:
      variant = lock_rows(self.tree, self.locks.rows(self.tree))
    if abstraction is None:  # sets are of the game's own rows
      variant, before = fold_suits(self.tree, variant), variant
      if self.locks is not None and variant is before:
        check_memory(game, memory, kept, itemsize, False, True, leaves)
    self._variant = variant.then(pad_types(variant.tree))
    with precision(self.dtype):
      sets = sets_of(self.tree, self.abstraction, self._variant)
      self._tree, self._sets = to_device((self._variant.tree, sets), self.dtype)
      self._state = cfr.init(self._tree, self.rule, self.dtype, self._sets)
    trim_heap()  # memory of the compiler's own arrays

  @property
  def name(self):
    """See `Solver`."""
    return type(self.rule).__name__

  @property
  def description(self):
    """See `Solver`."""
    parameters = ", ".join(f"{k}={v:g}" for k, v in rule_header(self.rule).items() if k != "name")
    order = "alternating" if self.alternating else "simultaneous"
    locked = "" if self.locks is None else f", {len(self.locks.public_states)} public states locked"
    return f"{self.name}({parameters}), {order} updates, {self.dtype}{locked}"

  def _step(self, state, iterations):
    return cfr.run(
      self._tree, state, iterations, self.skip, self._sets, rule=self.rule, alternating=self.alternating
    )

  def _strategies(self, average):
    read = cfr.average_strategy if average else cfr.current_strategy
    return read(self._tree, self._state, self._sets)

  def _of_game(self, player, tables):
    return self._variant.back(player, [np.asarray(table) for table in tables])

  def _options(self):
    return {
      **super()._options(),
      **({} if self.abstraction is None else {"abstraction": self.abstraction.key}),
      **({} if self.locks is None else {"locks": list(self.locks.public_states)}),
    }

  def _arrays(self):
    locks = {} if self.locks is None else {"locks": self.locks.probabilities}
    return locks if self.abstraction is None else {**locks, **to_arrays(self.abstraction)}

  @classmethod
  def _arguments(cls, file):
    options = super()._arguments(file)
    read = {"locks": locks_from_file, "abstraction": from_file}
    return {**options, **{name: read[name](file) for name in read if name in options}}


def sets_of(tree: PublicTree, abstraction: Abstraction | None, variant: Variant) -> cfr.Abstraction:
  """Each player's sets for a variant of the game's tree, on the host; `WHOLE` if every set has one member."""
  if abstraction is None or abstraction.count == abstraction.infostates:
    return cfr.WHOLE
  sets = [
    as_sets(own, parts, parts.columns(len(own.buckets)).tolist())
    for own, parts in zip(tree.players, bind(tree, abstraction), strict=True)
  ]
  return sets[0].of_variant(tree, variant, 0), sets[1].of_variant(tree, variant, 1)
