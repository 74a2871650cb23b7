"""Public-state CFR as a solver in OpenSpiel's shape."""

import hashlib
import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel

from ps_cfr_spiel import cfr
from ps_cfr_spiel.abstraction import Abstraction, abstract_tree, as_sets, bind
from ps_cfr_spiel.backend.array_shapes import Float
from ps_cfr_spiel.backend.device import check_untraced, on, platform_of, precision, trim_heap
from ps_cfr_spiel.cfr import Rule, make_rule, rule_header
from ps_cfr_spiel.compilation.compiler import (
  PublicStateIndex,
  TreeUse,
  check_memory,
  fold_suits,
  form_of,
  index_of,
  is_streamed,
  memory_needs,
  policy_needs,
  solved_actions,
  values_needs,
)
from ps_cfr_spiel.memory import LARGE, TooLarge, check_needs
from ps_cfr_spiel.options import AUTO, BEST, PSCFROptions
from ps_cfr_spiel.policy import PartialStrategy, locks_from_file, locks_text, read_locks, types_header
from ps_cfr_spiel.reports import report
from ps_cfr_spiel.solvers.exact import TreeSolver
from ps_cfr_spiel.tree import (
  Array,
  Evaluation,
  NativeLeaves,
  PlayerTree,
  PublicTree,
  Variant,
  lock_rows,
  pad_types,
  sequence_values,
)


class MemoryNeeds(NamedTuple):
  """Estimated bytes, beside those of Python and JAX, for a game that describes itself."""

  run: int  #: of a run by the default rule in float32, and of its evaluation
  values: int  #: of the average policy and the values of all actions, after the run


class PSCFRSolver(TreeSolver):
  """Public-state CFR on a two-player zero-sum game; `tree` is the game's public tree, on the host."""

  options_type = PSCFROptions
  options: PSCFROptions
  _direct: cfr.DirectRun | None = None  # its calls of the library, if it makes them itself

  def __init__(
    self,
    game: pyspiel.Game,
    options: PSCFROptions | Rule | str | None = None,
    *,
    progress: bool | None = None,
    **keywords: object,
  ):
    """Build the tree; nothing is compiled yet. ValueError for a wrong option, or a game that does not fit.

    Args:
      game: from `pyspiel.load_game`.
      options: all options, or the rule alone.
      progress: of an enumeration, a progress bar; None: on a terminal or in a notebook, after two seconds.
      **keywords: options by name; see `PSCFROptions`.
    """
    options = PSCFROptions.of(options, **keywords)
    self.rule = make_rule(options.rule, alternating=options.alternating)
    options = options.changed(rule=self.rule)
    cfr.check_bits(options.bits, self.rule, options.dtype)
    abstraction, locks = options.abstraction, options.locks
    plain = abstraction is None and locks is None  # each infostate plays for itself, and is free to
    native = self.rule.has_native_form and (options.tree is None or options.tree.leaves.is_native)
    form = form_of(game)
    lines = None if form is None else index_of(game, form, options.memory)
    estimate = partial(_estimate, game, lines, self.rule, options)

    def estimated() -> int | None:
      streams = lines is not None and plain and native and is_streamed(lines, options.leaves)
      return estimate(abstraction is None, locks is not None, streams)

    #: the device of the run, and why `auto` chose it; estimated bytes of the run, beside those of Python and
    #: JAX, None for a game that is enumerated.
    self.placement, self.estimated_bytes = _placed(lines, options, estimated)
    with on(self.placement.device):
      self._build(game, options, options.dtype, progress, options.tree, lines)
    if self.estimated_bytes is None:  # the size is known only now
      self.placement = cfr.place(options.device, lambda: _actions(self.tree), _for_cpus(options))
    self.device = self.placement.device
    if abstraction is not None:
      self._start = abstract_tree(self.tree, self.game, abstraction)
    if locks is not None and not isinstance(locks, PartialStrategy):
      locks = read_locks(self.tree, locks)
    self.locks = locks  #: the strategies that players must play in some public states
    with on(self.device):
      self._place(*self._prepared(estimate), plain)
      trim_heap()  # memory of the compiler's own arrays, before the tables come
      with precision(self.dtype):
        # An iteration over large tables takes too long for late ones to be lost in one array.
        self._state = self._first(not self._in_place)

  def _prepared(self, estimate: Callable[..., int | None]) -> tuple[Variant, cfr.Abstraction]:
    """The variant of the game's tree that is solved, on the host, and the players' sets of its infostates.

    Its locked rows are gone, boards that are alike are one, and types are padded.
    """
    variant = Variant.of(self.tree)
    if self.locks is not None:
      variant = lock_rows(self.tree, self.locks.rows(self.tree))
    if self._start is None:  # sets are of the game's own rows
      variant, before = fold_suits(self.tree, variant), variant
      if self.locks is not None and variant is before:  # locks of some hands copy rows
        copies = max(1.0, _actions(variant.tree) / _actions(self.tree))
        self.estimated_bytes = estimate(False, True, False, copies)
    variant = variant.then(pad_types(variant.tree))
    return variant, sets_of(self.tree, self._start, variant)

  def _place(self, variant: Variant, sets: cfr.Abstraction, plain: bool) -> None:
    """Put the tree and the sets on the device; `plain` as in the constructor. No host's array is kept."""
    tree = cfr.equip(variant.tree, self.rule, self.options.bits) if plain else variant.tree
    self._in_place = _table_bytes(tree, sets, self.rule, self.dtype) > LARGE
    with precision(self.dtype):
      self._tree, self._sets = cfr.placed(tree, sets, self.dtype, self._in_place)
    self._variant = variant._replace(tree=self._tree)

  @staticmethod
  def memory_needs(game: pyspiel.Game, bits: int = 32, leaves: str = "auto") -> MemoryNeeds | None:
    """The estimated memory of a run before any is made; None if the game has to be enumerated first."""
    form = form_of(game)
    if form is None:
      return None
    lines = index_of(game, form)
    streams = is_streamed(lines, leaves)
    rule, dtype = make_rule("nrm+"), "float32"
    tables, uncompressed = cfr.num_tables(rule, dtype, bits, not streams), _uncompressed(rule, dtype)
    run = memory_needs(lines, TreeUse(tables, leaves=leaves, streamed=streams, uncompressed=uncompressed))
    return MemoryNeeds(sum(run.values()), sum(values_needs(lines).values()))

  @property
  def engine(self) -> cfr.Choice:
    """The way in which iterations are computed (`cfr.engines`), and why a faster one does not apply."""
    with on(self.device):
      return cfr.choose(self._tree, self.rule, self._state.players, self._sets)

  def _first(self, compensated: bool) -> cfr.SolverState:
    bits, in_place = self.options.bits, not compensated  # tables in their places are large
    return cfr.init(self._tree, self.rule, self.dtype, self._sets, bits, compensated, in_place)

  @property
  def name(self):
    return type(self.rule).__name__

  @property
  def description(self):
    default = self.rule.defaults()
    changed = {k: v for k, v in rule_header(self.rule).items() if k != "name" and v != default[k]}
    parameters = f"({', '.join(f'{k}={v:g}' for k, v in changed.items())})" if changed else ""
    options = self.options
    order = "alternating" if options.alternating else "simultaneous"
    locked = "" if self.locks is None else f", {len(self.locks.public_states)} public states locked"
    kept = "" if options.bits == 32 else f", kept in {options.bits} bits"
    best = ", the better of average and last strategies" if options.strategy == BEST else ""
    trembles = f", every action at least {options.tremble:g} / t" if options.tremble else ""
    return f"{self.name}{parameters}, {order} updates{trembles}, {self.dtype}{kept}{locked}{best}"

  def _template(self, file):
    """Also of a run with tables in place, whose averages are one array; it goes on so without the library."""

    def fits(state) -> bool:
      leaves = enumerate(jax.tree.leaves(state))
      return all(file.shapes.get(f"state{i}") == (x.shape, np.dtype(x.dtype)) for i, x in leaves)

    kept = self._kept()
    forms = [kept] if self._in_place or fits(kept) else [kept, self._first(compensated=False)]
    return next(filter(fits, forms), kept)

  def _advance(self, iterations):
    direct = self._direct
    if direct is None or not direct.knows(self._state, iterations):
      super()._advance(iterations)
      return
    check_untraced()
    self._state = direct.after(self._state, iterations)  # a signal before the assignment leaves the old state

  def _step(self, state, iterations):
    options = self.options
    method = cfr.Method(options.averaging_delay, self.rule, options.alternating, options.tremble)
    if self._direct is None and self.engine.engine.iterations is not None:
      self._direct = cfr.direct_run(self._tree, state, self._in_place, method)
    if self._direct is not None:
      return self._direct.after(state, iterations)
    run = cfr.run_in_place if self._in_place else cfr.run
    return run(self._tree, state, iterations, sets=self._sets, **method._asdict())

  def _all_numbers(self):
    return self._state.numbers if isinstance(self._state, cfr.HostState) else self._state

  def __getstate__(self):
    """For pickle; the direct calls hold addresses of this process."""
    return {**vars(self), "_direct": None}

  def _evaluated(self):
    if self.options.strategy == BEST:
      return self._best()[0]
    return cfr.evaluate_average(self._tree, self._state, self._sets)

  def _strategies(self, average):
    if average and self.options.strategy == BEST:
      return self._best()[1]
    return cfr.average_strategy(self._tree, self._state, self._sets) if average else self._last()

  def _policy(self, average):
    """TooLarge if it does not fit beside the run."""
    needs, memory = policy_needs(_actions(self.tree)), self.options.memory
    if memory is not None:
      needs["for the run"] = self.estimated_bytes or 0
    check_needs(
      f"A policy of {self.game}", needs, memory, "Give more, or leave memory= out; evaluations need no policy"
    )
    return super()._policy(average)

  def _last(self) -> list[cfr.Blocks]:
    return cfr.current_strategy(self._tree, self._state, self._sets, self.rule, self.options.tremble)

  def _best(self) -> tuple[Evaluation, list[cfr.Blocks]]:
    """The evaluation and the strategies of the average, or of the last ones where these are closer."""
    of = self._tree, self._state, self._sets
    average = cfr.evaluate_average(*of), cfr.average_strategy(*of)
    last = cfr.evaluate_current(*of, self.rule, self.options.tremble), self._last()
    return min(average, last, key=lambda pair: float(pair[0].exploitability))

  def cce_gap(self) -> float | None:
    """The most that a player gains by leaving the joint play of all iterations for a strategy of its own.

    All play the strategies of one iteration, drawn alike; where the gap is 0, that is a coarse correlated
    equilibrium. It is found from the sums of regrets (Zinkevich et al. 2007, lemma 5), which the rule "rm"
    has; None for other rules, and with alternating updates, abstractions or locks.
    """
    plain = self.locks is None and self._start is None and not self.options.alternating
    if type(self.rule) is not cfr.RM or not plain or not self.iteration:
      return None
    with precision(self.dtype, self.device):
      gaps = map(_largest_regret, self._tree.players, self._state.players)
      return float(max(map(float, gaps)) / self.iteration)

  def _of_game(self, player, tables):
    return self._variant.back(player, [np.asarray(table) for table in tables])

  @property
  def locked(self) -> str:
    """The locks in words; "" without any."""
    rows = {} if self.locks is None else self.locks.rows(self.tree)
    return locks_text(self.tree.names, rows)

  def summary(self):
    locked = {} if self.locks is None else {"locked": self.locked}
    place = {"device": str(self.placement)} if self.device or self.placement.reason else {}
    return "\n".join([super().summary(), report({**place, "engine": str(self.engine), **locked})])

  def _header(self):
    header = super()._header()
    if self.options.tree is not None:
      header["tree"] = f"{self.tree.leaves.kind} {_digest(*jax.tree.leaves(self.tree))}"
    if self.locks is None:
      return header
    held = types_header(self.locks.rows(self.tree))
    states = list(self.locks.public_states)
    to = _digest(self.locks.probabilities)
    return {**header, "locks": states, "locked_types": held, "locked_to": to}

  def _restore(self, file):
    if (saved := file.header.get("tree")) != self._header().get("tree"):
      which = "the tree that build_tree makes" if saved is None else f"another tree, {saved}"
      raise ValueError(
        f"{file.path} is a run on {which}; load it {'without' if saved is None else 'with that as'} tree=."
      )
    super()._restore(file)

  def _arrays(self):
    return {**super()._arrays(), **({} if self.locks is None else {"locks": self.locks.probabilities})}

  @classmethod
  def _from_arrays(cls, file):
    locks = {"locks": locks_from_file(file)} if "locks" in file.header else {}
    return {**super()._from_arrays(file), **locks}


def _digest(*arrays: Array) -> str:
  """A short hash of the bytes of some arrays."""
  return hashlib.sha256(b"".join(np.asarray(array).tobytes() for array in arrays)).hexdigest()[:16]


def _largest_regret(forest: PlayerTree, player: cfr.PlayerState) -> Float[Array, ""]:
  """A player's regret in a whole game, over all iterations, from the regrets of each infostate.

  Playing an action once, and the best from then on, has the regret of the action there, and those of the
  infostates that may follow.
  """
  regrets = forest.split(player.rule)

  def best(block: int, after: Float[Array, "A rows H"]) -> Float[Array, "1 rows H"]:
    return (regrets[block] + after).max(0, keepdims=True)

  nothing = [jnp.zeros((count, forest.types), player.dtype) for count in forest.leaf.children]
  return sequence_values(forest, nothing, best)[1].sum()


def _actions(tree: PublicTree) -> int:
  """The number of actions of all infostates, those of dead types included; at least 1."""
  return max(1, sum(math.prod(shape) for player_tree in tree.players for shape in player_tree.block_shapes))


def _uncompressed(rule: Rule, dtype: str) -> float:
  """Numbers for each infostate and action of tables in full precision, with one array of averages."""
  return cfr.num_tables(rule, dtype) - 1


def _table_bytes(tree: PublicTree, sets: cfr.Abstraction, rule: Rule, dtype: str) -> float:
  """Bytes of these tables; `LARGE` ones change in place, and there is no state to go back to."""
  numbers = sum(math.prod(shape) for shapes in cfr.table_shapes(tree, sets) for shape in shapes)
  return _uncompressed(rule, dtype) * np.dtype(dtype).itemsize * numbers


def _estimate(
  game: pyspiel.Game,
  lines: PublicStateIndex | None,
  rule: Rule,
  options: PSCFROptions,
  folded: bool,
  locked: bool,
  streamed: bool,
  copies: float = 1.0,
) -> int | None:
  """Estimated bytes of a run, None without a form; errors as of `compiler.check_memory`.

  `copies` is the factor by which locks of some hands multiply the rows.
  """
  if lines is None:
    return None
  tables = copies * cfr.num_tables(rule, options.dtype, options.bits, compensated=not streamed)
  itemsize, uncompressed = np.dtype(options.dtype).itemsize, _uncompressed(rule, options.dtype)
  use = TreeUse(tables, itemsize, folded, locked, options.leaves, streamed, uncompressed)
  return check_memory(game, lines, options.memory, use)


def _placed(
  lines: PublicStateIndex | None, options: PSCFROptions, estimated: Callable[[], int | None]
) -> tuple[cfr.Placement, int | None]:
  """The device of a run, before its tree is built, and its estimated bytes there; `auto` sees that it fits.

  ValueError for a device that is not there, or a game that does not fit.
  """
  tree, folded = options.tree, options.abstraction is None and options.locks is None

  def count() -> int | None:
    if tree is not None:
      return _actions(tree)
    return None if lines is None else solved_actions(lines, folded)

  placement = cfr.place(options.device, count, _for_cpus(options))
  device = placement.device
  try:
    with on(device):
      return placement, estimated()
  except TooLarge:
    if device is None or options.device != AUTO:
      raise
  return cfr.Placement(None, f"the {platform_of(device)} has too little memory for this game"), estimated()


def _for_cpus(options: PSCFROptions) -> str:
  """The reason why a run is for CPUs alone, "" if it is not."""
  leaves = () if options.tree is None else jax.tree.leaves(options.tree.leaves, is_leaf=_is_native)
  native = options.leaves == "native" or any(map(_is_native, leaves))
  return "native leaves are for CPUs" if native else ""


def _is_native(part: object) -> bool:
  return isinstance(part, NativeLeaves)


def sets_of(tree: PublicTree, abstraction: Abstraction | None, variant: Variant) -> cfr.Abstraction:
  """Each player's sets for a variant of the game's tree, on the host; `WHOLE` if every set has one member."""
  if abstraction is None or abstraction.count == abstraction.infostates:
    return cfr.WHOLE
  sets = list(map(as_sets, tree.players, bind(tree, abstraction)))
  return sets[0].of_variant(tree, variant, 0), sets[1].of_variant(tree, variant, 1)
