"""The state of CFR between iterations, and strategies from it.

A run has one layout of a player's tables, in the loop, between calls and in files: strategies and the rule's
tables are in *buckets*, [A, rows, H] for each number of actions (`PlayerTree.join`), so that a rule runs once
for a bucket, however many levels there are. Averages, to which an action is like any other, are in one
*column* of all buckets (`tree.column_of`), and in 16 bits in buckets too. Small games are many small kernels:
the fewer, the faster they run and compile. Large tables are never copied to another layout but to read a
strategy: `average_strategy` and `current_strategy` give *blocks*, one for each level and number of actions.

Under an abstraction (`tree.Sets`) tables have a column for each set, [A, K, 1].
"""

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ps_cfr_spiel.backend.array_shapes import Float, Int, Shaped
from ps_cfr_spiel.backend.device import jit
from ps_cfr_spiel.cfr import averages
from ps_cfr_spiel.cfr.averages import Step, Sum
from ps_cfr_spiel.cfr.rule import Rule, RuleState
from ps_cfr_spiel.cfr.sixteen_bits import Shares
from ps_cfr_spiel.tree import (
  Array,
  BoardPasses,
  BoardTraversal,
  Evaluation,
  Passes,
  PlayerTree,
  PublicTree,
  Sets,
  column_of,
  evaluate,
  expand,
  normalise,
  sum_actions,
  tables_of,
)

Blocks = tuple[Shaped[Array, "_A _rows _H"], ...]  # a player's tables, one for each block
Abstraction = tuple[Sets, Sets] | None  # each player's sets; None: every infostate for itself
WHOLE: Abstraction = None
Arrays = TypeVar("Arrays")


class PlayerState(NamedTuple):
  """The state of one player; S is the number of sequences, the sum of A * rows."""

  #: the current strategy for each bucket; `sixteen_bits` has another form.
  strategy: tuple[Shaped[Array, "_A _rows H"], ...]
  #: [S, H], reach-weighted sum of strategies, up to a factor common to the whole array; in 16 bits the
  #: average strategy of each bucket.
  average: Sum | tuple[Shares, ...]
  rule: tuple[RuleState, ...]  #: the rule's own state of each bucket
  #: sums of records of the leaf evaluator (`LeafEvaluator.recorded`), weighted as `average` is, and last
  #: the sum of the weights; empty if it records nothing.
  recorded: tuple[Float[Array, "..."], ...] = ()

  @property
  def is_compressed(self) -> bool:
    """True if the tables are in the form of `Rule.compress`."""
    return any(table.dtype == np.int8 for table in self.strategy)

  @property
  def keeps_shares(self) -> bool:
    """True if the average is a strategy in 16 bits."""
    return not isinstance(self.average, Sum)

  @property
  def dtype(self) -> np.dtype:
    """The dtype that is computed in."""
    return self.average.dtype if isinstance(self.average, Sum) else np.dtype("float32")

  @property
  def weights(self) -> list[Float[Array, "_A _rows H"]]:
    """The average strategies for each bucket, up to a factor in each infostate."""
    if isinstance(self.average, Sum):
      return tables_of(self.average.total, [x.shape for x in self.strategy])
    return [x.weights for x in self.average]

  def begun(self, rule: Rule, bits: int) -> "PlayerState":
    """The player before the first iteration, with tables in the form of 16 or 32 bits."""
    average = self.average if bits == 32 else tuple(Shares.even(len(table)) for table in self.strategy)
    return self.compressed(rule, bits)._replace(average=average)

  def compressed(self, rule: Rule, bits: int) -> "PlayerState":
    """The player with a strategy and a rule's tables in the form of 16 or 32 bits."""
    return self._changed(lambda strategy, tables: rule.compress(strategy, tables, bits))

  def decompressed(self, rule: Rule) -> "PlayerState":
    """The player with a strategy and a rule's tables that are not compressed; others are unchanged."""
    return self._changed(rule.decompress) if self.is_compressed else self

  def opened(self, step: Step, types: int) -> "PlayerState":
    """The player as a turn needs it, nothing compressed; `types` are the player's.

    In 16 bits the average is the addition of the turn.
    """
    wide = self.decompressed(step.rule)
    if isinstance(self.average, Sum):
      return wide
    nothing = [jnp.zeros(x.shape, wide.dtype) for x in self.strategy]
    return wide._replace(average=Sum(None, column_of(nothing, types)))

  def kept_as(
    self, before: "PlayerState", reach: Sequence[Float[Array, "_A _rows H"]], step: Step
  ) -> "PlayerState":
    """The player after an iteration with compressed tables if those `before` are, else unchanged.

    `reach` is in 16 bits the player's own by the average `before`, for each bucket.
    """
    if isinstance(before.average, Sum):
      return self.compressed(step.rule, 32) if before.is_compressed else self
    weight, average = step.before(self.dtype), []
    for shares, added, by_average in zip(before.average, self.weights, reach, strict=True):
      average.append(shares.plus(added, weight * sum_actions(by_average), step.t))
    return self.compressed(step.rule, 16)._replace(average=tuple(average))

  def _changed(self, change: Callable[[Array, RuleState], tuple[Array, RuleState]]) -> "PlayerState":
    buckets = [change(*bucket) for bucket in zip(self.strategy, self.rule, strict=True)]
    strategy, rules = zip(*buckets, strict=True) if buckets else ((), ())
    return self._replace(strategy=tuple(strategy), rule=tuple(rules))

  def in_tables(self, passes: Passes) -> "PlayerState":
    """The player with the tables that the passes of an engine have, and the average in a column of these."""
    if not isinstance(passes, BoardPasses):
      return self
    return self._moved(passes.split, passes.split_column)

  def in_buckets(self, passes: Passes) -> "PlayerState":
    """The inverse of `in_tables`."""
    if not isinstance(passes, BoardPasses):
      return self
    return self._moved(passes.join, passes.join_column)

  def _moved(
    self, tables: Callable[[Sequence[RuleState]], list[RuleState]], column: Callable[[Array], Array]
  ) -> "PlayerState":
    in_column = isinstance(self.average, Sum)
    average = jax.tree.map(column, self.average) if in_column else tuple(tables(self.average))
    return self._replace(
      strategy=tuple(tables(self.strategy)), average=average, rule=tuple(tables(self.rule))
    )

  def carried_over(self, step: Step) -> "PlayerState":
    """The player before an iteration, with the average as `averages.carry_over` leaves it.

    In 16 bits it is carried over in each turn, `opened`.
    """
    if not isinstance(self.average, Sum):
      return self
    return self._replace(average=averages.carry_over(self.average, step.t, step.rule.gamma))


class SolverState(NamedTuple):
  """The state of a run."""

  iteration: Int[Array, ""]  #: iterations done
  players: tuple[PlayerState, ...]  #: one `PlayerState` for each player


@runtime_checkable
class ReadState(Protocol):
  """The state of a run, to be read: a `SolverState`, or one in a block of the host (`HostState`)."""

  @property
  def iteration(self) -> Int[Array, ""]:
    """See `SolverState`."""
    ...

  @property
  def players(self) -> tuple[PlayerState, ...]:
    """See `SolverState`."""
    ...


def sets_of_players(tree: PublicTree, sets: Abstraction) -> tuple[Sets | None, ...]:
  """Each player's sets; None where every infostate plays for itself."""
  return (None,) * len(tree.players) if sets is None else sets


def table_shapes(tree: PublicTree, sets: Abstraction) -> list[Sequence[tuple[int, int, int]]]:
  """For each player (A, rows, H) of each bucket, under an abstraction (A, K, 1)."""
  pairs = zip(tree.players, sets_of_players(tree, sets), strict=True)
  return [player.bucket_shapes if of_player is None else of_player.shapes for player, of_player in pairs]


@functools.cache
def num_tables(rule: Rule, dtype: str, bits: int = 32, compensated: bool = True) -> float:
  """The numbers that a run keeps for each action of an infostate, on average over 2, 3 and 4 actions.

  A number of 16 bits counts as half a float32, one of 8 as a quarter; the arguments are those of `init`.
  """

  def share(actions: int) -> float:
    column = np.zeros((actions, 1), dtype)
    average = Sum(column if compensated and bits == 32 else None, column)
    state = PlayerState((column[:, None],), average, (rule.init((actions, 1, 1), dtype),))
    if is_kept_compressed(rule, dtype, bits, compensated):
      with np.errstate(divide="ignore"):  # of sums of nothing
        state = state.begun(rule, bits)
    sizes = [np.size(x) * x.dtype.itemsize for x in jax.tree.leaves(state)]
    return sum(sizes) / np.dtype(dtype).itemsize / actions

  return sum(map(share, (2, 3, 4))) / 3


def is_kept_compressed(rule: Rule, dtype: str, bits: int, compensated: bool) -> bool:
  """Whether a run's tables are as `sixteen_bits` keeps them; the arguments are those of `init`."""
  return bits == 16 or (not compensated and dtype == "float32" and rule.has_compressed_tables)


def average_strategy(tree: PublicTree, state: ReadState, sets: Abstraction = WHOLE) -> list[Blocks]:
  """The players' average strategies, [A, rows, H] for each block; uniform where a player never came.

  Outside a trace they are computed on the host, because each shape would be code to compile.
  """
  players, sets = _at_hand((state.players, sets))

  def average(
    forest: PlayerTree, of: Sets | None, player: PlayerState
  ) -> Blocks:  # its sums are gone afterwards
    return tuple(map(normalise, forest.split(expand(of, player.weights))))

  with np.errstate(all="ignore"):  # NaN propagates, so that a diverged run is detected
    return [*map(average, tree.players, sets_of_players(tree, sets), players)]


def current_strategy(
  tree: PublicTree,
  state: ReadState,
  sets: Abstraction = WHOLE,
  rule: Rule | None = None,
  tremble: float = 0.0,
) -> list[Blocks]:
  """The strategies that players play next; see `average_strategy`. Compressed tables need the rule.

  Tables that a run changes in place are copied.
  """
  given = [player.strategy for player in _wide(state, rule)], state.iteration
  (tables, t), sets = _at_hand((jax.tree.map(_kept_apart, given), sets))
  players = zip(tree.players, tables, strict=True)
  return in_blocks(tree, [averages.played(forest, x, tremble, t + 1) for forest, x in players], sets)


def _wide(state: ReadState, rule: Rule | None) -> Sequence[PlayerState]:
  """The players with tables that are not compressed; compressed ones need the rule."""
  return state.players if rule is None else [player.decompressed(rule) for player in state.players]


def in_blocks(
  tree: PublicTree, tables: Sequence[Sequence[Shaped[Array, "_A _rows _H"]]], sets: Abstraction = WHOLE
) -> list[Blocks]:
  """The players' tables of buckets, or of sets, as those of all infostates, [A, rows, H] for each block."""
  players = zip(tree.players, sets_of_players(tree, sets), tables, strict=True)
  return [tuple(forest.split(expand(of, tables_of_player))) for forest, of, tables_of_player in players]


def evaluate_average(tree: PublicTree, state: ReadState, sets: Abstraction = WHOLE) -> Evaluation:
  """Value, best responses and exploitability of the average strategies; board by board where possible."""
  if tree.stream is None or sets is not WHOLE:
    return evaluate(tree, average_strategy(tree, state, sets))
  codes = isinstance(tree.stream, BoardTraversal)  # which the library reads in this form
  return _board_by_board(tree, [_readable(player, codes) for player in state.players])


def evaluate_current(
  tree: PublicTree,
  state: ReadState,
  sets: Abstraction = WHOLE,
  rule: Rule | None = None,
  tremble: float = 0.0,
) -> Evaluation:
  """The same of the strategies that players play next; the arguments are those of `current_strategy`."""
  if tree.stream is None or sets is not WHOLE:
    return evaluate(tree, current_strategy(tree, state, sets, rule, tremble))
  columns = []
  for player, forest in zip(_wide(state, rule), tree.players, strict=True):
    played = averages.played(forest, player.strategy, tremble, state.iteration + 1)
    columns.append(column_of(played, forest.types))
  return _board_by_board(tree, [Sum(None, -column) for column in columns])  # each sum is of one strategy


def _readable(player: PlayerState, codes: bool) -> Sequence[Array | None]:
  """An average as a traversal reads it; in 16 bits the codes or the weights of each bucket."""
  if isinstance(player.average, Sum):
    return player.average
  return [x.codes for x in player.average] if codes else player.weights


def _board_by_board(tree: PublicTree, sums: Sequence[Sequence[Array | None]]) -> Evaluation:
  traced = any(isinstance(x, Tracer) for x in jax.tree.leaves(sums))
  if isinstance(tree.stream, BoardTraversal) and not traced:
    numbers = tree.stream.worth(tree.leaves, sums)  # no program of XLA, nor for the arithmetic below
  else:
    numbers = _worth(tree, sums)
  first, second, *values = numbers
  return Evaluation.of((first, second), *values)


@jit()
def _worth(tree: PublicTree, averages: Sequence[Sequence[Array | None]]) -> Float[Array, " _numbers"]:
  assert tree.stream is not None
  return tree.stream.worth(tree.leaves, averages)


def average_record(state: PlayerState) -> list[Float[np.ndarray, "..."]]:
  """The averages of the leaf evaluator's record, as float64 on the host; weighted as the strategy's."""
  if not state.recorded:
    return []
  *sums, weight = state.recorded
  return [np.asarray(x, float) / float(weight) for x in sums]


def _kept_apart(array: Array) -> Array:
  """An array that does not change afterwards."""
  return array.copy() if isinstance(array, np.ndarray) and array.flags.writeable else array


def _at_hand(arrays: Arrays) -> Arrays:
  """A pytree of arrays on the host, unless it is traced."""
  traced = any(isinstance(x, Tracer) for x in jax.tree.leaves(arrays))
  return arrays if traced else jax.device_get(arrays)
