"""The one program of a batch: `cfr.iterate` for every spot of a stack, divided among the devices.

All spots of a stack have the same decisions and differ in the tables of their leaf evaluators. On a CPU the
spots of a device come one after the other, because the tables and strategies of one stay in its caches; on
accelerators all are iterated at once.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec

from ps_cfr_spiel import cfr
from ps_cfr_spiel.backend.array_shapes import PyTree
from ps_cfr_spiel.backend.device import Device, jit, peers, platform
from ps_cfr_spiel.cfr import Rule, SolverState
from ps_cfr_spiel.options import CPU
from ps_cfr_spiel.tree import (
  Array,
  BoardTraversal,
  Evaluation,
  LeafEvaluator,
  PlayerTree,
  PublicTree,
  action_values,
  max_actions,
  on_one_board,
  sequence_reach,
  sequence_values,
)

AXIS = "spots"
ORDERS: dict[str, Callable] = {"map": jax.lax.map, "vmap": lambda solve, spots: jax.vmap(solve)(spots)}


class Spots(NamedTuple):
  """A stack of situations; each array has an axis in front, the spots."""

  leaves: LeafEvaluator  #: their leaf evaluators
  #: of each player [H]: weight of each type's value in the game's value; ones if the evaluator's values
  #: include it.
  weights: tuple[Array, Array]
  iterations: Array  #: int32[], at most. Spots that only fill the stack have 0.
  target: Array  #: [], the exploitability at which to stop


class BatchResult(NamedTuple):
  """The results of each spot; in the game's utility, with an axis in front, the spots."""

  evaluation: Evaluation  #: of the average strategies
  #: of each player [H], counterfactual values at the root under the average strategies.
  values: tuple[Array, Array]
  #: the same if both players check, of turns and flops; otherwise None.
  checked: tuple[Array, Array] | None = None


def order_here() -> str:
  """The name in `ORDERS` that suits the device."""
  return "map" if platform() == CPU else "vmap"


def local_mesh(device: Device | None = None) -> Mesh:
  """All devices of this process like a given one, by default CPUs, in one row."""
  return Mesh(np.array(peers(device)), (AXIS,))


@jit(static_argnames=("rule", "alternating", "tremble", "order", "mesh"))
def solve_spots(
  players: tuple[PlayerTree, PlayerTree],
  start: SolverState,
  stream: BoardTraversal | None,
  spots: Spots,
  beyond: PyTree,
  averaging_delay: Array | int,
  every: Array | int,
  *,
  rule: Rule,
  alternating: bool,
  tremble: float,
  order: str,
  mesh: Mesh,
) -> tuple[BatchResult, Array, list[cfr.Blocks]]:
  """Solve each spot of a stack until its target is met, or its iterations are done.

  `spots` has the same number for each device of the mesh; their results are looked at `every` iterations.
  `stream` is a traversal for native iterations on rivers, `beyond` the part of their evaluators that all
  share, if there is one.
  Returns BatchResult, iterations int32[N], and average strategies, [N, A, rows, H] for each player and block.
  """

  def of_device(players, start, stream, beyond, averaging_delay, every, spots):
    iterate = functools.partial(cfr.iterate, rule=rule, alternating=alternating, tremble=tremble)
    one = functools.partial(_solve, iterate, players, start, stream, beyond, averaging_delay, every)
    return ORDERS[order](one, spots)

  whole, cut = PartitionSpec(), PartitionSpec(AXIS)
  share = jax.shard_map(of_device, mesh=mesh, in_specs=(*[whole] * 6, cut), out_specs=cut, check_vma=False)
  return share(players, start, stream, beyond, averaging_delay, every, spots)


def _solve(iterate, players, start, stream, beyond, averaging_delay, every, spot):
  leaves = spot.leaves if beyond is None else dataclasses.replace(spot.leaves, beyond=beyond)
  tree = PublicTree(players, leaves)
  iterated = tree if stream is None else on_one_board(tree, stream)

  def goes_on(carry) -> Array:
    state, result = carry
    return (state.iteration < spot.iterations) & (result.evaluation.exploitability > spot.target)

  def advance(carry):
    state, _ = carry
    steps = jnp.minimum(every, spot.iterations - state.iteration)
    state = iterate(iterated, state, steps, averaging_delay)
    return state, _evaluate(tree, spot.weights, cfr.average_strategy(tree, state))

  shapes = jax.eval_shape(_evaluate, tree, spot.weights, cfr.average_strategy(tree, start))
  result = jax.tree.map(lambda x: jnp.full(x.shape, jnp.inf, x.dtype), shapes)
  state, result = jax.lax.while_loop(goes_on, advance, (start, result))
  return result, state.iteration, cfr.average_strategy(tree, state)


def _evaluate(tree: PublicTree, weights: tuple[Array, Array], strategies: list[cfr.Blocks]) -> BatchResult:
  """The result of average strategies; `tree.evaluation` with weights at the roots."""
  reach = [
    sequence_reach(player_tree, strategy)
    for player_tree, strategy in zip(tree.players, strategies, strict=True)
  ]
  at_leaves = [player_tree.leaf.pull(parts) for player_tree, parts in zip(tree.players, reach, strict=True)]
  checked = tree.leaves.checked()
  tree = dataclasses.replace(tree, leaves=tree.leaves.settle(at_leaves))

  def worth(i: int) -> tuple[Array, Array]:  # of the hands to the strategy, and to a best response
    _, roots, leaf_values = action_values(tree, i, strategies[i], reach)
    _, responding = sequence_values(tree.players[i], leaf_values, lambda _, q: max_actions(q))
    return roots[0], responding[0]

  (first, to_first), (second, to_second) = worth(0), worth(1)
  best = (weights[0] * to_first).sum(), (weights[1] * to_second).sum()
  to_both = (weights[0] * first).sum(), (weights[1] * second).sum()
  evaluation = Evaluation.of(best, *(to_both[:1] if tree.leaves.zero_sum else to_both))
  return BatchResult(evaluation, (first, second), checked)
