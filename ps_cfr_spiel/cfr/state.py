"""What CFR remembers between iterations, and how it lies: at a start, in the loop, elsewhere and in files.

A player's tables come in blocks, one for each level and number of actions, as everywhere else. For the loop
they are *joined*: in *buckets*, one for each number of actions (`PlayerTree.join`), so that a rule runs once
for a bucket, however many levels there are. Averages, to which an action is like any other, are in one
*column* of all buckets (`tree.column_of`). Small games are many small kernels: the fewer, the faster they run
and compile. Where tables are large, regrouping costs as much memory as the tables.

Under an abstraction (`tree.Sets`) the tables have a column for each set, and come in buckets outside the loop
too.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from ps_cfr_spiel.cfr.rules import Rule, normalise
from ps_cfr_spiel.device import to_device
from ps_cfr_spiel.tree import (
  Array,
  PublicTree,
  Sets,
  bucket_shapes,
  column_of,
  expand,
  record_of,
  tables_of,
)

Blocks = tuple[Array, ...]  # of a player: [A, rows, H] for each block; of sets: [A, K, 1] for each bucket
Abstraction = tuple[Sets, Sets] | tuple[None, None]  # each player's, or none
WHOLE: Abstraction = (None, None)


class PlayerState(NamedTuple):
  """What CFR remembers of one player; each field has an entry for every block.

  With an abstraction there is an entry for every bucket instead, of shape [A, K, 1]. In a loop (`join`) there
  is one for every bucket too, but `average` and `excess` have a single one, a column of all buckets.

  Attributes:
    strategy: [A, rows, H], the current strategy.
    average: [A, rows, H], reach-weighted sum of strategies, up to a factor common to the whole array, once
      `excess` is taken away.
    excess: [A, rows, H]; see `averages`.
    rule: the rule's own state.
    recorded: sums of what the leaf evaluator records (`tree.record_of`), weighted as `average` is, and last
      the sum of the weights, []; empty if it records nothing.
  """

  strategy: Blocks
  average: Blocks
  excess: Blocks
  rule: tuple[Any, ...]
  recorded: tuple[Array, ...] = ()


class SolverState(NamedTuple):
  """All that a run remembers.

  Attributes:
    iteration: int32[], iterations done.
    players: one `PlayerState` for each player.
  """

  iteration: Array
  players: tuple[PlayerState, PlayerState]


def init(
  tree: PublicTree, rule: Rule, dtype: str, sets: Abstraction = WHOLE, *, joined: bool = False
) -> SolverState:
  """The state before the first iteration: uniform strategies.

  Args:
    tree: the game.
    rule: how regrets become strategies.
    dtype: "float32" or "float64".
    sets: the players' abstractions, if any.
    joined: laid out as `advance` wants it.

  Raises:
    ValueError: the rule's state is not of arrays [n, rows, H].
  """

  def player_state(i, player):
    shapes = player.block_shapes if sets[i] is None and not joined else bucket_shapes(player, sets[i])
    column = sum(a * n for a, n, _ in shapes), shapes[0][2] if shapes else player.types
    leaves = [np.zeros((n, player.types), dtype) for n in player.leaf.children]
    record = jax.eval_shape(functools.partial(record_of, tree.leaves, i), leaves)
    # Table by table, so that there is no second copy of them all.
    zeros = lambda shapes: [to_device(np.zeros(shape, dtype), dtype) for shape in shapes]  # noqa: E731
    return PlayerState(
      strategy=tuple(to_device(np.full(shape, 1 / shape[0], dtype), dtype) for shape in shapes),
      average=tuple(zeros([column] if joined else shapes)),
      excess=tuple(zeros([column] if joined else shapes)),
      rule=tuple(to_device(_checked(rule, shape, dtype), dtype) for shape in shapes),
      recorded=tuple(zeros([*(x.shape for x in record), ()])) if record else (),
    )

  first, second = (player_state(i, player) for i, player in enumerate(tree.players))
  return SolverState(to_device(np.zeros((), np.int32), dtype), (first, second))


def num_tables(rule: Rule, dtype: str) -> float:
  """How many numbers a run keeps for each action of an infostate; rules differ with the number of actions."""
  shares = [
    sum(np.size(array) for array in jax.tree.leaves(rule.init((actions, 1, 1), dtype))) / actions
    for actions in (2, 3, 4)
  ]
  return len(("strategy", "average", "excess")) + sum(shares) / len(shares)


def without_dead(state: SolverState, types: Sequence[int]) -> SolverState:
  """The state on the host with so many types of each player; what comes after them is dead (`pad_types`)."""
  first, second = (
    jax.tree.map(lambda x, n=n: np.asarray(x)[..., :n], player)
    for player, n in zip(state.players, types, strict=True)
  )
  return SolverState(np.asarray(state.iteration), (first, second))


def with_dead(state: SolverState, start: SolverState) -> SolverState:
  """The inverse of `without_dead`; dead types, on which nothing depends, are as in `start`, of `init`."""
  widen = lambda x, begun: np.concatenate([x, np.asarray(begun)[..., np.shape(x)[-1] :]], -1)  # noqa: E731
  return SolverState(state.iteration, jax.tree.map(widen, state.players, start.players))


def _checked(rule: Rule, shape: tuple[int, int, int], dtype: str) -> Any:
  """The rule's first state for a block; see `init`."""
  state = rule.init(shape, dtype)
  for array in jax.tree.leaves(state):
    if np.shape(array)[1:] != shape[1:]:
      raise ValueError(
        f"{type(rule).__name__}.init(shape={shape}) must return arrays [n, {shape[1]}, {shape[2]}], which "
        f"the loop can put beside those of other rows; got one of shape {np.shape(array)}."
      )
  return state


def join(tree: PublicTree, state: SolverState, sets: Abstraction = WHOLE) -> SolverState:
  """The state as `advance` wants it: tables in buckets, where those of sets are already, sums in columns."""
  state = regroup(state, lambda i, tables: tree.players[i].join(tables) if sets[i] is None else tables)
  return _with_sums(state, lambda i, tables: [column_of(tables, tree.players[i].types)])


def split(tree: PublicTree, state: SolverState, sets: Abstraction = WHOLE) -> SolverState:
  """The inverse of `join`."""
  state = in_tables(tree, state, sets)
  return regroup(state, lambda i, tables: tree.players[i].split(tables) if sets[i] is None else tables)


def in_tables(tree: PublicTree, state: SolverState, sets: Abstraction = WHOLE) -> SolverState:
  """A joined state with averages in tables of buckets again, as everything else is."""
  return _with_sums(state, lambda i, column: tables_of(column[0], bucket_shapes(tree.players[i], sets[i])))


def _with_sums(state: SolverState, how: Callable[[int, Blocks], Sequence[Array]]) -> SolverState:
  """The state with the averages of each player, and their errors, laid out in another way."""
  first, second = (
    own._replace(average=tuple(how(i, own.average)), excess=tuple(how(i, own.excess)))
    for i, own in enumerate(state.players)
  )
  return state._replace(players=(first, second))


def regroup(state: SolverState, how: Callable[[int, Sequence[Array]], Sequence[Array]]) -> SolverState:
  """The state with its tables in other groups: `how` gives a player's tables anew, [n, rows, H] for each."""

  def player(i: int, own: PlayerState) -> PlayerState:
    if not own.rule:
      return own
    strategy, average, excess = (tuple(how(i, x)) for x in (own.strategy, own.average, own.excess))
    # A rule's state is a tree of tables for each group: the first tables of all groups, the second, ...
    tables = [how(i, column) for column in zip(*map(jax.tree.leaves, own.rule), strict=True)]
    structure = jax.tree.structure(own.rule[0])
    rule = tuple(jax.tree.unflatten(structure, [table[k] for table in tables]) for k in range(len(strategy)))
    return own._replace(strategy=strategy, average=average, excess=excess, rule=rule)

  return SolverState(state.iteration, (player(0, state.players[0]), player(1, state.players[1])))


def of_infostates(tree: PublicTree, sets: Abstraction, tables: Sequence[Blocks]) -> list[Blocks]:
  """Both players' tables between calls as those of all infostates, [A, rows, H] for each block."""
  players = zip(tree.players, sets, tables, strict=True)
  return [own if of is None else tuple(forest.split(expand(of, own))) for forest, of, own in players]


def average_record(state: PlayerState) -> list[np.ndarray]:
  """The averages of what the leaf evaluator recorded, as float64 on the host; weighted as the strategy's."""
  if not state.recorded:
    return []
  *sums, weight = state.recorded
  return [np.asarray(x, float) / float(weight) for x in sums]


def average_strategy(state: PlayerState) -> Blocks:
  """The average strategy, [A, rows, H] for each block; uniform where the player never came.

  That of an abstraction is one of sets; see `of_infostates`. Tables on the host, where they are between
  calls, are averaged there: each shape would be code to compile.
  """
  if all(isinstance(x, np.ndarray) for x in (*state.average, *state.excess)):
    with np.errstate(all="ignore"):  # of infinities, NaN; who asks for the strategy looks for them
      return _average(state)
  return _compiled_average(state)


def _average(state: PlayerState) -> Blocks:
  return tuple(normalise(s - c) for s, c in zip(state.average, state.excess, strict=True))


_compiled_average = jax.jit(_average)
