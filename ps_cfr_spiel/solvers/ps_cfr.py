"""Public-state CFR as a solver in OpenSpiel's shape."""

from collections.abc import Mapping
from typing import Any

import jax
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
from ps_cfr_spiel.tree import PublicTree, expand, lock_rows, pad_types


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
    abstraction: which infostates play alike; None if each for itself.
    locks: where a player must play a given strategy; None if nowhere.
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
      abstraction: of `abstractions.abstract`, or a key that it takes. The policies are still of the whole
        game, and so is their exploitability, which an abstraction may keep from falling to zero.
      locks: what players must play after chosen lines, {"check, bet 200": an OpenSpiel policy, or {"fold": 1}
        for all hands}; see `policy.read_locks`. Everything else is solved around that, and value and
        exploitability are of this game: best responses keep to the locks too.

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
    itemsize, folded = np.dtype(self.dtype).itemsize, locks is None and abstraction is None
    tables = cfr.num_tables(self.rule, self.dtype)
    check_memory(game, memory, tables, itemsize, folded, locks is not None, leaves)
    self.tree = build_tree(game, leaves, public_states, limit, progress, memory)
    self.abstraction = None if abstraction is None else abstract_tree(self.tree, game, abstraction)
    if abstraction is not None and locks is not None:
      raise ValueError("An abstraction and locks cannot be had together: sets might join what is locked.")
    self.locks = (
      locks if locks is None or isinstance(locks, PartialStrategy) else read_locks(self.tree, game, locks)
    )
    self._locked = None if self.locks is None else lock_rows(self.tree, self.locks.rows(self.tree))
    sets = sets_of(self.tree, self.abstraction)
    # What is not of the game itself, as dead types, is on the device only; sets are of the game's own tree,
    # and a lock may tell suits apart.
    plain = sets is cfr.WHOLE and self._locked is None
    self._folded = fold_suits(self.tree) if plain else None
    if self._locked is not None:
      shown = self._locked.tree
    elif self._folded is not None:
      shown = self._folded.tree
    else:
      shown = pad_types(self.tree) if plain else self.tree
    with precision(self.dtype):
      self._tree, self._sets = to_device((shown, sets), self.dtype)
      self._state = cfr.init(self._tree, self.rule, self.dtype, self._sets, joined=True)
    trim_heap()  # what building took

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
    on_host = jax.tree.map(np.asarray, self._state)
    players = cfr.in_tables(self._tree, on_host, self._sets).players
    tables = [cfr.average_strategy(p) for p in players] if average else [p.strategy for p in players]
    own = zip(self._tree.players, self._sets, tables, strict=True)
    return [
      tuple(player.split([np.asarray(table) for table in expand(sets, joined)]))
      for player, sets, joined in own
    ]

  def _of_game(self, player, tables):
    if self._folded is not None:
      return self._folded.unfold(player, tables)
    if self._locked is not None:
      return self._locked.whole(player, [np.asarray(table) for table in tables])
    return super()._of_game(player, tables)

  def _kept(self):
    state = cfr.without_dead(self._state, [player.types for player in self.tree.players])
    state = cfr.split(self._tree, state, self._sets)
    return state if self._folded is None else cfr.regroup(state, self._folded.unfold)

  def _taken_up(self, kept):
    if self._folded is not None:
      kept = cfr.regroup(kept, self._folded.fold)
    return cfr.with_dead(cfr.join(self._tree, kept, self._sets), self._state)

  def _options(self):
    return {
      **super()._options(),
      "rule": rule_header(self.rule),
      **({} if self.abstraction is None else {"abstraction": self.abstraction.key}),
      **({} if self.locks is None else {"locks": list(self.locks.public_states)}),
    }

  def _arrays(self):
    locks = {} if self.locks is None else {"locks": self.locks.probabilities}
    return locks if self.abstraction is None else to_arrays(self.abstraction)

  @classmethod
  def _arguments(cls, file):
    options = super()._arguments(file)
    if "locks" in options:
      options["locks"] = locks_from_file(file)
    return {**options, "abstraction": from_file(file)} if "abstraction" in options else options


def sets_of(tree: PublicTree, abstraction: Abstraction | None) -> cfr.Abstraction:
  """Each player's sets for the loop, on the host, with no room for more; none where nobody has company."""
  if abstraction is None or abstraction.count == abstraction.infostates:
    return cfr.WHOLE
  first, second = (
    as_sets(own, parts, parts.columns(len(own.buckets)).tolist())
    for own, parts in zip(tree.players, bind(tree, abstraction), strict=True)
  )
  return first, second
