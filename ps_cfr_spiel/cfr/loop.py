"""The CFR loop: one jitted function for every game, rule, leaf evaluator and update order.

PS-CFR (Kovařík et al. 2021, Algorithms 1 and 3): reach down the player's own decisions, leaf
values from the opponent's reach, values up, regrets to the rule.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.cfr.rules import Rule, normalise
from ps_cfr_spiel.device import jit, to_device
from ps_cfr_spiel.tree import Array, PublicTree, action_values, sequence_reach, sum_actions

Blocks = tuple[Array, ...]  # [A, rows, H] for each block of a player


class PlayerState(NamedTuple):
  """What CFR remembers of one player; each field has an entry for every block.

  Attributes:
    strategy: [A, rows, H], the current strategy.
    average: [A, rows, H], reach-weighted sum of strategies, up to a factor common to the whole array.
    excess: [A, rows, H], by how much rounding has made `average` too large (Kahan summation).
    rule: the rule's own state.
    values: sums of leaf values, weighted as `average` is, [L_k, H] for each part that `tree.leaves.averaged`
      names (the ends of a limited lookahead), and last the sum of the weights, []; empty elsewhere.
  """

  strategy: Blocks
  average: Blocks
  excess: Blocks
  rule: tuple[Any, ...]
  values: tuple[Array, ...] = ()


class SolverState(NamedTuple):
  """All that a run remembers.

  Attributes:
    iteration: int32[], iterations done.
    players: one `PlayerState` for each player.
  """

  iteration: Array
  players: tuple[PlayerState, PlayerState]


def init(tree: PublicTree, rule: Rule, dtype: str) -> SolverState:
  """The state before the first iteration: uniform strategies."""

  def player_state(player):
    shapes = player.block_shapes
    ends = [(player.leaf.children[k], player.types) for k in averaged_parts(tree)]
    return PlayerState(
      strategy=tuple(np.full(shape, 1 / shape[0], dtype) for shape in shapes),
      average=tuple(np.zeros(shape, dtype) for shape in shapes),
      excess=tuple(np.zeros(shape, dtype) for shape in shapes),
      rule=tuple(rule.init(shape, dtype) for shape in shapes),
      values=tuple(np.zeros(shape, dtype) for shape in (*ends, ())) if ends else (),
    )

  first, second = (player_state(player) for player in tree.players)
  return to_device(SolverState(np.zeros((), np.int32), (first, second)), dtype)


def averaged_parts(tree: PublicTree) -> tuple[int, ...]:
  """The parts of the leaves whose values `solve` averages; none unless the evaluator names some."""
  return getattr(tree.leaves, "averaged", ())


def _regrets(tree, player, strategy, reach) -> tuple[list[Array], list[Array]]:
  """Instantaneous counterfactual regrets, [A, rows, H] for each block, and the leaf values to average."""
  values, _, leaf_values = action_values(tree, player, strategy, reach)
  regrets = [q - sum_actions(p * q) for p, q in zip(strategy, values, strict=True)]
  return regrets, [leaf_values[k] for k in averaged_parts(tree)]


def _advance(state: PlayerState, reach, step, rule: Rule, t: Array, skip: Array) -> PlayerState:
  """Puts the current strategy into the average and asks the rule for the next.

  The average is kept as S <- S ((t - 1) / t)^gamma + reach, which weighs iteration t by t^gamma without
  growing; iterations up to `skip` are left out (Schmid 2021, Section 21.1). The sum is compensated: late
  iterations would otherwise be lost in float32, and exploitability would rise again.
  """
  regrets, ends = step
  dtype = state.average[0].dtype if state.average else jnp.float32
  time = t.astype(dtype)
  faded = -jnp.expm1(rule.gamma * jnp.log1p(-1 / time)) if rule.gamma else jnp.zeros((), dtype)
  counts = (t > skip).astype(dtype)
  average, excess = [], []
  for s, c, r in zip(state.average, state.excess, reach[1:], strict=True):
    change = counts * r.reshape(s.shape) - faded * s - c
    total = s + change
    average.append(total)
    excess.append((total - s) - change)
  steps = [rule.update(s, x, t) for s, x in zip(state.rule, regrets, strict=True)]
  rules, strategy = zip(*steps, strict=True) if steps else ((), ())
  sums = (*ends, jnp.ones((), dtype)) if ends else ()
  values = tuple(v + (counts * x - faded * v) for v, x in zip(state.values, sums, strict=True))
  return PlayerState(tuple(strategy), tuple(average), tuple(excess), tuple(rules), values)


def iterate(
  tree: PublicTree,
  state: SolverState,
  iterations: Array | int,
  skip: Array | int = 0,
  *,
  rule: Rule,
  alternating: bool = True,
) -> SolverState:
  """Runs CFR for some iterations.

  For use inside a traced function; `solve` is the same, jitted.

  Args:
    tree: on the device.
    state: from `init` or an earlier call; a run in two calls equals a run in one, bit by bit.
    iterations: how many more.
    skip: the average leaves out iterations 1..skip.
    rule: how regrets become strategies.
    alternating: player 1 answers player 0's new strategy; otherwise both answer old ones.

  Returns:
    The state `iterations` later.
  """
  turns = ((0,), (1,)) if alternating else ((0, 1),)

  def iteration(_, carry):
    t, players, reach = carry[0] + 1, list(carry[1]), list(carry[2])
    for turn in turns:
      steps = {i: _regrets(tree, i, players[i].strategy, reach) for i in turn}
      for i in turn:
        players[i] = _advance(players[i], reach[i], steps[i], rule, t, skip)
        reach[i] = sequence_reach(tree.players[i], players[i].strategy)
    return t, tuple(players), tuple(reach)

  reach = tuple(
    sequence_reach(player, p.strategy) for player, p in zip(tree.players, state.players, strict=True)
  )
  t, players, _ = jax.lax.fori_loop(0, iterations, iteration, (state.iteration, state.players, reach))
  return SolverState(t, players)


solve = jit(static_argnames=("rule", "alternating"))(iterate)


@jax.jit
def average_strategy(state: PlayerState) -> Blocks:
  """The average strategy, [A, rows, H] for each block; uniform where the player never came."""
  return tuple(normalise(s) for s in state.average)
