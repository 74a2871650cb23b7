"""The engines: the ways to compute an iteration of CFR, in one table, `ENGINES`, and the choice among them.

`loop` states the algorithm, and is itself the engine "xla", which takes any rule and leaf evaluator, with
passes over rows, or in card games on accelerators with the boards as an axis (`tree.board_passes`). The
others compute the same in C++, up to rounding (WalkLearn, Iterations and BoardsLearn in `native.KERNELS`).
Each is much faster where it applies: in Leduc poker an iteration takes 91 us by native iterations, 184 by
native turns, and 327 where XLA computes the rule between the library's passes down and up the tree.

`choose` picks the engine of a run, and says why no faster one applies; `equip` adds to a tree, once for a
run, what engines of whole iterations read.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from ps_cfr_spiel.backend.array_shapes import Float, Int, Shaped
from ps_cfr_spiel.backend.device import platform
from ps_cfr_spiel.backend.native import TableCall, why_unavailable
from ps_cfr_spiel.cfr import averages
from ps_cfr_spiel.cfr.averages import Step
from ps_cfr_spiel.cfr.rule import Rule, RuleState, Scalar, namespace
from ps_cfr_spiel.cfr.sixteen_bits import first_threshold
from ps_cfr_spiel.cfr.state import WHOLE, Abstraction, PlayerState
from ps_cfr_spiel.options import CPU
from ps_cfr_spiel.tree import (
  Array,
  BoardAxis,
  BoardPasses,
  BoardTraversal,
  Parts,
  Passes,
  Payoffs,
  PlayerPasses,
  PublicTree,
  iterations_natively,
  on_axis,
  ordered,
  streamed,
)

Players = tuple[PlayerState, ...]


class Case(NamedTuple):
  """A question to an engine; all that counts is known while a loop is traced."""

  tree: PublicTree
  rule: Rule
  players: Players
  sets: Abstraction


# What engines need. Each function gives the reason why a case has it not, or "".


def _library(case: Case) -> str:
  reason = why_unavailable()
  return f"the native library is missing: {reason}" if reason else ""


def _native_rule(case: Case) -> str:
  if case.rule.has_native_form:
    return ""
  inherited = ", which is not inherited" if case.rule.native >= 0 else ""
  return f"the rule {type(case.rule).__name__} has no native form{inherited}"


def _every_infostate(case: Case) -> str:
  return "" if case.sets is WHOLE else "an abstraction joins infostates in sets"


def _no_record(case: Case) -> str:
  return "values of leaves are recorded" if any(player.recorded for player in case.players) else ""


def _payoffs(case: Case) -> str:
  leaves = case.tree.leaves
  return "" if leaves.has_payoffs else f"the leaves ({leaves.kind!r}) have no small matrices of payoffs"


def _full_tables(case: Case) -> str:
  return "the tables are compressed" if any(player.is_compressed for player in case.players) else ""


def _boards(case: Case) -> str:
  has = isinstance(case.tree.stream, BoardTraversal)
  return "" if has else "the tree has no traversal of boards"


def _axis(case: Case) -> str:
  return (
    ""
    if isinstance(case.tree.stream, BoardAxis)
    else "the tree has no axis of boards, as card games without locks have"
  )


def _sixteen_bits(case: Case) -> str:
  compressed = any(
    table.dtype == jnp.int16 for player in case.players for table in jax.tree.leaves(player.rule)
  )
  return "" if compressed else "the tables have 32 bits"


class Engine(NamedTuple):
  """A way to compute iterations; a row of `ENGINES`."""

  name: str
  needs: tuple[Callable[[Case], str], ...]  #: each gives the reason why a case lacks it, or ""
  tested: str  #: the test of its results, and the reference that they are compared with
  #: a player after a turn, in place of `loop`'s rule: of the passes, the state, the player's own reach in a
  #: column, the values of the leaves, and the step.
  turn: Callable[[Passes, PlayerState, Float[Array, "S H"], Parts, Step], PlayerState] | None = None
  #: the call of the library that takes iterations, in place of `loop`'s; of the tree, the passes, the
  #: players, the rule, and true for alternating updates.
  iterations: Callable[[PublicTree, tuple[Passes, ...], Players, Rule, bool], TableCall] | None = None
  #: each player's passes, and so the tables, in place of `PlayerPasses` and buckets.
  passes: Callable[[PublicTree], tuple[BoardPasses, BoardPasses]] | None = None


class Choice(NamedTuple):
  """The engine of a run; its text says both."""

  engine: Engine
  reason: str  #: why a faster engine does not apply; "" without a faster one

  def __str__(self) -> str:
    return f"{self.engine.name}: {self.reason}" if self.reason else self.engine.name


def choose(tree: PublicTree, rule: Rule, players: Players, sets: Abstraction = WHOLE) -> Choice:
  """The first engine in `ENGINES` whose needs are met, and the reason why the one before it is not chosen.

  The arguments are those of `loop.iterate`, on the host, on the device or traced.
  """
  case, reason, on_cpu = Case(tree, rule, players, sets), "", platform() == CPU
  for engine in ENGINES:
    missing = next(filter(None, (need(case) for need in engine.needs)), "")
    if not missing:
      fastest = engine.iterations or engine.passes  # those of whole iterations are equally fast
      return Choice(engine, "" if fastest else reason)
    if (engine.passes is None) == on_cpu:  # an axis of boards is for accelerators, the others are for CPUs
      reason = missing
  raise AssertionError("the last engine needs nothing")


def equip(tree: PublicTree, rule: Rule, bits: int = 32) -> PublicTree:
  """A tree on the host with what whole iterations read beside it, if a run by this rule has them.

  On accelerators that is an axis of boards, or else the rows that each sum adds up; on CPUs the traversal of
  boards of card games, and otherwise leaves in the order of the players' sequences.
  """
  if platform() != CPU:
    tree = on_axis(tree)
    return tree.grouped() if tree.stream is None else tree
  if not rule.has_native_form:
    return tree
  tree = streamed(tree)
  return tree if bits == 16 else ordered(tree)


# The native engines. -------------------------------------------------------------------------------


def _turn(
  passes: Passes, state: PlayerState, own_reach: Float[Array, "S H"], leaf_values: Parts, step: Step
) -> PlayerState:
  """Values up, regrets, the rule and the average, in one pass of the library."""
  assert isinstance(passes, PlayerPasses)
  numbers = _joined(_of_turn(step, state.dtype), state.dtype)
  tables = passes.learn(_tables(state), own_reach, leaf_values, step.rule.native, numbers)
  return _with_tables(state, tables)


def _iterations(
  tree: PublicTree, passes: tuple[Passes, ...], players: Players, rule: Rule, alternating: bool
) -> TableCall:
  """Whole iterations on the matrices by which leaves pay."""
  dtype, leaves = players[0].dtype, tree.leaves
  payoffs = [
    Payoffs(jnp.asarray(matrix, dtype), jnp.asarray(number, jnp.int32), jnp.asarray(factor, dtype))
    for matrix, number, factor in leaves.payoffs() or ()
  ]
  both_passes = [each for each in passes if isinstance(each, PlayerPasses)]
  first, pair = len(_tables(players[0], whole=True)), _has_pair(players)
  return iterations_natively(both_passes, payoffs, leaves.orders, first, pair, rule.native, alternating)


def _boards_in_turn(
  tree: PublicTree, _: tuple[Passes, ...], players: Players, rule: Rule, alternating: bool
) -> TableCall:
  """Whole iterations, one board after the other."""
  assert isinstance(tree.stream, BoardTraversal)
  first = len(_tables(players[0], whole=True))
  each = len(jax.tree.leaves(next(bucket for player in players for bucket in _changed(player, True)[0])))
  return tree.stream.iterations(tree.leaves, first, each, _has_pair(players), rule.native, alternating)


def _has_pair(players: Players) -> bool:
  average = players[0].average
  return isinstance(average, averages.Sum) and average.average is not None


def iterate_in_library(made: TableCall, players: Players, step: Step, count: Int[Array, ""]) -> Players:
  """The players after `count` iterations from a step on, at most `averages.LENGTH`, in a trace."""
  rows = iteration_numbers(step, averages.LENGTH, players[0].dtype, players[0].keeps_shares)
  return with_tables(players, made.traced(count, rows, tables_of_players(players)))


def iteration_numbers(step: Step, count: int, dtype: DTypeLike, shares: bool) -> Float[Array, "count K"]:
  """The numbers of iterations from a step on, as calls of whole iterations read them.

  They are 1 if averages are carried over, their factor, the first threshold of `sixteen_bits`, the weight of
  all before in an average that is kept as `shares`, and then those of a turn.
  """

  def numbers(t: Int[Array, ""]) -> Float[Array, " K"]:
    at = step._replace(t=t)
    return _joined((*_carried(at, dtype, shares), *_of_turn(at, dtype)), dtype)

  return jax.vmap(numbers)(step.t + jnp.arange(count, dtype=jnp.int32))


def numbers_on_host(step: Step, count: int, dtype: DTypeLike, shares: bool) -> Float[np.ndarray, "count K"]:
  """The same by NumPy, each rounded once; late in a run the powers of 1 - 1 / t in float32 are rough."""
  t = step.t + np.arange(count, dtype=np.int32)
  with np.errstate(all="ignore"):  # powers of zero, and those that are infinite
    numbers = *_carried(step._replace(t=t), dtype, shares), *_of_turn(step._replace(t=t), dtype)
    return np.stack([np.broadcast_to(np.asarray(x), t.shape) for x in numbers], 1).astype(dtype)


def _carried(step: Step, dtype: DTypeLike, shares: bool) -> tuple[Array | float, ...]:
  t, threshold = step.t, first_threshold(step.t, namespace(step.t))
  before = step.before(dtype) if shares else 0.0  # else code would be compiled that nothing reads
  return averages.begins(t), averages.scale(t, step.rule.gamma), threshold, before


def _of_turn(step: Step, dtype: DTypeLike) -> tuple[Scalar, ...]:
  """[3 + K]: an iteration's weight in the average, `Step.least` before and after it, the rule's numbers."""
  of_play = step.share(dtype), step.least(dtype), step.following().least(dtype)
  return *of_play, *step.rule.numbers(step.t, dtype)


def _joined(numbers: Sequence[Shaped[Array, "..."] | float], dtype: DTypeLike) -> Float[Array, " K"]:
  return jnp.stack([jnp.asarray(x, dtype) for x in numbers])


def tables_of_players(players: Players) -> list[Array]:
  """The tables that calls of whole iterations change, of one player after the other."""
  return [table for player in players for table in _tables(player, whole=True)]


def with_tables(players: Players, tables: Sequence[Array]) -> Players:
  """The players, of whom the form alone is read, with other tables: the inverse of `tables_of_players`."""
  first = jax.tree.structure(_changed(players[0], whole=True)).num_leaves
  parts = tables[:first], tables[first:]
  return tuple(_with_tables(player, part, whole=True) for player, part in zip(players, parts, strict=True))


def _changed(
  state: PlayerState, whole: bool
) -> tuple[Sequence[tuple[RuleState, ...]], averages.Sum | Array | None]:
  """The tables that a turn changes: of each bucket the strategy, the rule's, and in 16 bits the average's.

  Last comes an average in a column: the compensation alone, unless the turn carries it over (`whole`).
  """
  average = state.average
  if not isinstance(average, averages.Sum):
    return list(zip(state.strategy, state.rule, average, strict=True)), None
  buckets = list(zip(state.strategy, state.rule, strict=True))
  return buckets, average if whole else average.compensation


def _tables(state: PlayerState, whole: bool = False) -> list[Array]:
  return jax.tree.leaves(_changed(state, whole))


def _with_tables(state: PlayerState, tables: Sequence[Array], whole: bool = False) -> PlayerState:
  buckets, column = jax.tree.unflatten(jax.tree.structure(_changed(state, whole)), tables)
  strategy, rules, *kept = zip(*buckets, strict=True) if buckets else ((), ())
  if isinstance(state.average, averages.Sum):
    average = column if whole else state.average._replace(compensation=column)
  else:
    average = kept[0] if kept else ()
  return PlayerState(strategy, average, rules)


def _passes_of_axis(tree: PublicTree) -> tuple[BoardPasses, BoardPasses]:
  assert isinstance(tree.stream, BoardAxis)
  return tree.stream.passes


_NATIVE = _library, _native_rule, _every_infostate
#: all engines, the fastest first.
ENGINES = (
  Engine(
    "xla on an axis of boards",
    (_every_infostate, _no_record, _axis),
    "tests/cfr/test_board_passes.py, with xla on all boards at once and with the native boards",
    passes=_passes_of_axis,
  ),
  Engine(
    "boards, 16 bits",
    (*_NATIVE, _no_record, _boards, _sixteen_bits),
    "tests/cfr/test_streaming.py, with xla on all boards at once, whose numbers differ by a step of 16 bits",
    iterations=_boards_in_turn,
  ),
  Engine(
    "boards, 32 bits",
    (*_NATIVE, _no_record, _boards),
    "tests/cfr/test_streaming.py, with native turns on all boards at once",
    iterations=_boards_in_turn,
  ),
  Engine(
    "native iterations",
    (*_NATIVE, _no_record, _payoffs, _full_tables),
    "tests/cfr/test_learn.py, with xla",
    iterations=_iterations,
  ),
  Engine("native turns", _NATIVE, "tests/cfr/test_learn.py, with xla", turn=_turn),
  Engine("xla", (), "tests/cfr/test_rules.py, with OpenSpiel's CFR and formulas written out in NumPy"),
)
