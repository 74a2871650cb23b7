"""The state of a run before its first iteration: of uniform play, or of strategies that it begins with."""

import functools
from collections.abc import Callable, Sequence

import jax
import numpy as np

from ps_cfr_spiel.backend.device import to_device
from ps_cfr_spiel.cfr.averages import Sum
from ps_cfr_spiel.cfr.filled import filled_array, filled_on_host
from ps_cfr_spiel.cfr.rule import Rule, RuleState
from ps_cfr_spiel.cfr.state import (
  WHOLE,
  Abstraction,
  Blocks,
  PlayerState,
  SolverState,
  is_kept_compressed,
  table_shapes,
)
from ps_cfr_spiel.tree import Array, BoardTraversal, PlayerTree, PublicTree

Zeros = Callable[[tuple[int, ...]], Array]  # an array of zeros of a shape


def init(
  tree: PublicTree,
  rule: Rule,
  dtype: str,
  sets: Abstraction = WHOLE,
  bits: int = 32,
  compensated: bool = True,
  in_place: bool = False,
) -> SolverState:
  """The state before the first iteration: uniform strategies.

  A `compensated` average is a pair of arrays (`averages.Sum`). If it is not, or with 16 `bits`, tables are as
  `sixteen_bits` keeps them, if the rule can. `in_place`: no state before is kept (`changes_on_host`).
  ValueError if the rule's state is not of arrays [n, rows, H].
  """
  compressed = is_kept_compressed(rule, dtype, bits, compensated)
  compressed &= bits == 16 or not tree.leaves.has_payoffs  # else the library iterates on full tables

  def zeros(shape):
    return fill(np.zeros((), dtype), shape)

  def begun(shape):
    return _checked(rule.init(shape, dtype), shape, f"{type(rule).__name__}.init(shape={shape})")

  def player_state(i, player, shapes):
    # Table by table, so that there is no second copy of them all.
    if not (rule.has_native_form or compressed):
      rules = tuple(to_device(begun(shape), dtype) for shape in shapes)
    else:  # all infostates begin alike
      rules = tuple(begun((a, 1, 1)) for a, _, _ in shapes)
    one = PlayerState(
      strategy=tuple(np.full((a, 1, 1), 1 / a, dtype) for a, _, _ in shapes),
      average=Sum(None, np.zeros((sum(a for a, _, _ in shapes), 1), dtype)),
      rule=rules,
    )
    with np.errstate(divide="ignore"):  # of sums of nothing
      one = one.begun(rule, bits) if compressed else one

    def filled(tables):
      of_shapes = zip(tables, shapes, strict=True)
      return tuple(
        jax.tree.map(lambda x, shape=shape: fill(x, (len(x), *shape[1:])), x) for x, shape in of_shapes
      )

    if isinstance(one.average, Sum):
      average = _empty_average(player, shapes, zeros, compensated)
    else:
      average = filled(one.average)
    return PlayerState(filled(one.strategy), average, filled(one.rule), _empty_record(tree, i, dtype, zeros))

  on_host = changes_on_host(tree, in_place)
  shapes, fill = table_shapes(tree, sets), filled_on_host if on_host else filled_array
  players = tuple(player_state(i, *pair) for i, pair in enumerate(zip(tree.players, shapes, strict=True)))
  state = SolverState(np.zeros((), np.int32), players)
  return state if on_host else jax.device_put(state)  # at once: each call takes some 0.1 ms


def resumed(
  tree: PublicTree,
  rule: Rule,
  dtype: str,
  strategies: Sequence[Blocks],
  iterations: int,
  in_place: bool = False,
) -> SolverState:
  """The state of a run that begins with strategies, [A, rows, H] for each block, in place of uniform ones.

  It goes on as if they were what that many `iterations` had come to (`Rule.resume`); the average is of those
  to come alone, a pair. The rule's tables are not compressed. `in_place` as in `init`.
  """

  def begun(strategy):
    said = f"{type(rule).__name__}.resume(a strategy of shape {strategy.shape})"
    return _checked(rule.resume(strategy), strategy.shape, said)

  def zeros(shape):
    return fill(np.zeros((), dtype), shape)

  on_host = changes_on_host(tree, in_place)
  fill = filled_on_host if on_host else filled_array
  players = list[PlayerState]()
  for i, (forest, blocks) in enumerate(zip(tree.players, strategies, strict=True)):
    buckets = tuple(forest.join([np.asarray(block, dtype) for block in blocks]))
    average = _empty_average(forest, forest.bucket_shapes, zeros)
    rules = tuple(map(begun, buckets))
    if on_host:  # tables that change in their places have memory of their own
      buckets, rules = jax.tree.map(np.array, (buckets, rules))
    players.append(PlayerState(buckets, average, rules, _empty_record(tree, i, dtype, zeros)))
  state = SolverState(np.asarray(iterations, np.int32), tuple(players))
  return state if on_host else jax.device_put(state)


def changes_on_host(tree: PublicTree, in_place: bool) -> bool:
  """True if a run's tables are NumPy's, changed by the library; `in_place`: no state before is kept."""
  return in_place and isinstance(tree.stream, BoardTraversal)


def _empty_average(
  player: PlayerTree, shapes: Sequence[tuple[int, int, int]], zeros: Zeros, compensated: bool = True
) -> Sum:
  """An average in one column before the first iteration; `shapes` are those of the player's buckets."""
  column = sum(a * n for a, n, _ in shapes), shapes[0][2] if shapes else player.types
  return Sum(zeros(column) if compensated else None, zeros(column))


def _empty_record(tree: PublicTree, i: int, dtype: str, zeros: Zeros) -> tuple[Array, ...]:
  """`PlayerState.recorded` before the first iteration."""
  if not tree.leaves.has_record:
    return ()
  player = tree.players[i]
  leaves = [jax.ShapeDtypeStruct((n, player.types), np.dtype(dtype)) for n in player.leaf.children]
  record = jax.eval_shape(functools.partial(tree.leaves.recorded, i), leaves)
  return tuple(zeros(shape) for shape in (*(x.shape for x in record), ())) if record else ()


def _checked(state: RuleState, shape: tuple[int, int, int], made: str) -> RuleState:
  """A rule's state of a table, `made` by a call that the error names."""
  for array in jax.tree.leaves(state):
    if np.shape(array)[1:] != shape[1:]:
      raise ValueError(
        f"{made} must return arrays [n, {shape[1]}, {shape[2]}], a "
        f"column for each row and type; got one of shape {np.shape(array)}."
      )
  return state
