"""Public-state CFR as a solver in OpenSpiel's shape."""

import dataclasses
import hashlib
import math
from typing import Any

import jax
import numpy as np
import pyspiel

from ps_cfr_spiel import cfr
from ps_cfr_spiel.abstraction import Abstraction, abstract_tree, as_sets, bind
from ps_cfr_spiel.cfr import Rule, make_rule, rule_header
from ps_cfr_spiel.compiler import check_memory, fold_suits, form_of, is_streamed, memory_needs
from ps_cfr_spiel.device import precision, to_device, trim_heap
from ps_cfr_spiel.options import PSCFROptions
from ps_cfr_spiel.policy import PartialStrategy, locks_from_file, locks_text, read_locks, types_header
from ps_cfr_spiel.reports import report
from ps_cfr_spiel.solvers.exact import TreeSolver
from ps_cfr_spiel.tree import (
  Evaluation,
  PublicTree,
  Variant,
  evaluate,
  lock_rows,
  ordered,
  pad_types,
  streamed,
)

# Bytes of tables, as they were in 32 bits with one array of averages, from which on they change in place, and
# there is no state to go back to.
IN_PLACE = 2**26


class PSCFRSolver(TreeSolver):
  """Public-state CFR on a two-player zero-sum game; `tree` is the game's public tree, on the host."""

  options_type = PSCFROptions
  options: PSCFROptions

  def __init__(
    self,
    game: pyspiel.Game,
    options: PSCFROptions | Rule | str | None = None,
    *,
    progress: bool | None = None,
    **keywords: Any,
  ):
    """Build the tree; nothing is compiled yet. ValueError for a wrong option, or a game that does not fit.

    Args:
      game: from `pyspiel.load_game`.
      options: all options, or the rule alone.
      progress: show a progress bar while walking; None: on a terminal or in a notebook, after two seconds.
      **keywords: options by name; see `PSCFROptions`.
    """
    options = PSCFROptions.of(options, **keywords)
    self.rule = make_rule(options.rule, alternating=options.alternating)
    options = options.changed(rule=self.rule)
    bits, leaves, dtype = options.bits, options.leaves, options.dtype
    cfr.check_bits(bits, self.rule, dtype)
    whole = options.abstraction is None and options.locks is None
    streams = whole and cfr.knows(self.rule) and is_streamed(game, leaves, options.memory)
    itemsize, kept = np.dtype(dtype).itemsize, cfr.num_tables(self.rule, dtype, bits, not streams)
    folds, locks = options.abstraction is None, options.locks
    #: estimated bytes of a run, beside those of Python and JAX; None for a game that is enumerated.
    self.estimated_bytes = check_memory(
      game, options.memory, kept, itemsize, folds, locks is not None, leaves, streams
    )
    self._build(game, options, dtype, progress)
    if options.abstraction is not None:
      self._start = abstract_tree(self.tree, self.game, options.abstraction)
    if locks is not None and not isinstance(locks, PartialStrategy):
      locks = read_locks(self.tree, self.game, locks)
    self.locks = locks  #: the strategies that players must play in some public states
    variant = Variant.of(self.tree)
    if self.locks is not None:
      variant = lock_rows(self.tree, self.locks.rows(self.tree))
    if folds:  # sets are of the game's own rows
      variant, before = fold_suits(self.tree, variant), variant
      if self.locks is not None and variant is before:
        kept *= max(1.0, _actions(variant.tree) / _actions(self.tree))  # locks of some hands copy rows
        self.estimated_bytes = check_memory(game, options.memory, kept, itemsize, False, True, leaves)
    variant = variant.then(pad_types(variant.tree))
    sets = sets_of(self.tree, self._start, variant)
    tree, native = variant.tree, whole and cfr.knows(self.rule)
    if native:
      tree = streamed(tree) if bits == 16 else ordered(streamed(tree))
    numbers = sum(a * n * h for own in tree.players for a, n, h in own.bucket_shapes)
    plain = (cfr.num_tables(self.rule, dtype) - 1) * itemsize * numbers
    self._in_place = native and (bits == 32 or tree.stream is not None) and plain > IN_PLACE
    with precision(self.dtype):
      self._tree, self._sets = to_device((tree, sets), self.dtype)
      self._variant = variant._replace(tree=self._tree)
      del variant, tree  # the host's arrays, before there are tables
      # An iteration over large tables takes too long for late ones to be lost in one array.
      self._state = self._first(not self._in_place)
    trim_heap()  # memory of the compiler's own arrays

  def _first(self, compensated: bool) -> cfr.SolverState:
    return cfr.init(self._tree, self.rule, self.dtype, self._sets, self.options.bits, compensated)

  @property
  def name(self):
    return type(self.rule).__name__

  @property
  def description(self):
    fields = dataclasses.fields(self.rule)  # pyright: ignore[reportArgumentType]
    default = {field.name: field.default for field in fields}
    changed = {k: v for k, v in rule_header(self.rule).items() if k != "name" and v != default[k]}
    parameters = f"({', '.join(f'{k}={v:g}' for k, v in changed.items())})" if changed else ""
    options = self.options
    order = "alternating" if options.alternating else "simultaneous"
    locked = "" if self.locks is None else f", {len(self.locks.public_states)} public states locked"
    kept = "" if options.bits == 32 else f", kept in {options.bits} bits"
    better = ", the better of average and last strategies" if options.better else ""
    return f"{self.name}{parameters}, {order} updates, {self.dtype}{kept}{locked}{better}"

  def _template(self, file):
    """Also of a run with tables in place, whose averages are one array; it goes on so without the library."""

    def fits(state) -> bool:
      leaves = enumerate(jax.tree.leaves(state))
      return all(file.shapes.get(f"state{i}") == (x.shape, np.dtype(x.dtype)) for i, x in leaves)

    kept = self._kept()
    forms = [kept] if self._in_place or fits(kept) else [kept, self._first(compensated=False)]
    return next(filter(fits, forms), kept)

  def _step(self, state, iterations):
    run = cfr.run_in_place if self._in_place else cfr.run
    method = {"rule": self.rule, "alternating": self.options.alternating}
    return run(self._tree, state, iterations, self.options.skip, self._sets, **method)

  def _evaluated(self):
    if self.options.better:
      return self._better()[0]
    return cfr.evaluate_average(self._tree, self._state, self._sets)

  def _strategies(self, average):
    if average and self.options.better:
      return self._better()[1]
    return cfr.average_strategy(self._tree, self._state, self._sets) if average else self._last()

  def _last(self) -> Any:
    return cfr.current_strategy(self._tree, self._state, self._sets, self.rule)

  def _better(self) -> tuple[Evaluation, Any]:
    """The evaluation and the strategies of the average, or of the last ones where these are closer."""
    found = cfr.average_strategy(self._tree, self._state, self._sets), self._last()
    return min(((evaluate(self._tree, x), x) for x in found), key=lambda pair: float(pair[0].exploitability))

  def _of_game(self, player, tables):
    return self._variant.back(player, [np.asarray(table) for table in tables])

  @property
  def locked(self) -> str:
    """The locks in words; "" without any."""
    rows = {} if self.locks is None else self.locks.rows(self.tree)
    return locks_text(self.game, self.tree.names, rows)

  def summary(self):
    locked = [] if self.locks is None else [report({"locked": self.locked})]
    return "\n".join([super().summary(), *locked])

  def _header(self):
    if self.locks is None:
      return super()._header()
    to = hashlib.sha256(self.locks.probabilities.tobytes()).hexdigest()[:16]
    held = types_header(self.locks.rows(self.tree))
    states = list(self.locks.public_states)
    return {**super()._header(), "locks": states, "locked_types": held, "locked_to": to}

  def _arrays(self):
    return {**super()._arrays(), **({} if self.locks is None else {"locks": self.locks.probabilities})}

  @classmethod
  def _from_arrays(cls, file):
    locks = {"locks": locks_from_file(file)} if "locks" in file.header else {}
    return {**super()._from_arrays(file), **locks}


def _actions(tree: PublicTree) -> int:
  """The number of actions of all infostates, those of dead types included; at least 1."""
  return max(1, sum(math.prod(shape) for own in tree.players for shape in own.block_shapes))


def memory_to_solve(game: pyspiel.Game, bits: int = 32, leaves: str = "auto") -> int | None:
  """Estimated bytes of a run by the default rule in float32; None if it has to be enumerated first."""
  form = form_of(game)
  if form is None:
    return None
  streams = is_streamed(game, leaves)
  tables = cfr.num_tables(make_rule("nrm+"), "float32", bits, not streams)
  return sum(memory_needs(form, tables, 4, leaves=leaves, streamed=streams).values())


def sets_of(tree: PublicTree, abstraction: Abstraction | None, variant: Variant) -> cfr.Abstraction:
  """Each player's sets for a variant of the game's tree, on the host; `WHOLE` if every set has one member."""
  if abstraction is None or abstraction.count == abstraction.infostates:
    return cfr.WHOLE
  sets = list(map(as_sets, tree.players, bind(tree, abstraction)))
  return sets[0].of_variant(tree, variant, 0), sets[1].of_variant(tree, variant, 1)
