"""The CFR loop: one jitted function for every game, rule, leaf evaluator and update order.

PS-CFR (Kovařík et al. 2021, Algorithms 1 and 3): reach down the player's own decisions, leaf
values from the opponent's reach, values up, regrets to the rule.

`iterate` is the loop, for use inside a trace, and `run` the same, jitted. Under an abstraction a turn expands
the strategy to all infostates, and adds the regrets up in the sets.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from ps_cfr_spiel.cfr import averages
from ps_cfr_spiel.cfr.rules import Rule
from ps_cfr_spiel.cfr.state import WHOLE, Abstraction, PlayerState, SolverState
from ps_cfr_spiel.device import jit
from ps_cfr_spiel.tree import (
  Array,
  LeafEvaluator,
  PublicTree,
  Walk,
  collapse,
  column_of,
  expand,
  record_of,
  sum_actions,
  tables_of,
)


class _Game(NamedTuple):
  """The parts of the game that the loop visits: the leaves, and each player's walk and sets, if any."""

  leaves: LeafEvaluator
  walks: tuple[Walk, Walk]
  sets: Abstraction

  def reach(self, player: int, state: PlayerState) -> tuple[Array, list[Array]]:
    """Reach of the sequences, as a column, and of the leaves; see `Walk.down`."""
    return self.walks[player].down(expand(self.sets[player], state.strategy))

  def collapsed(self, player: int, column: Array) -> Array:
    """A column of all infostates, added up in the player's sets, if there are any."""
    own, sets = self.walks[player].tree, self.sets[player]
    if sets is None:
      return column
    return column_of(collapse(sets, tables_of(column, own.bucket_shapes)), own.types)

  def regrets(self, player: int, state: PlayerState, reach) -> tuple[list[Array], tuple[Array, ...]]:
    """Instantaneous counterfactual regrets, [A, rows, H] for each bucket, and the leaves' record."""
    strategy = expand(self.sets[player], state.strategy)
    leaf_values = self.leaves(player, reach[1 - player][1], reach[player][1])
    values, _ = self.walks[player].up(strategy, leaf_values)
    regrets = [q - sum_actions(p * q) for p, q in zip(strategy, values, strict=True)]
    return regrets, record_of(self.leaves, player, leaf_values)


def _learn(state: PlayerState, reach, step, rule: Rule, t: Array, skip: Array) -> PlayerState:
  """Adds the current strategy, whose reach is a column, to the average and asks the rule for the next.

  Iterations up to `skip` are left out of the average (Schmid 2021, Section 21.1). The leaves' record is
  kept as S <- S ((t - 1) / t)^gamma + new, which weighs iteration t by t^gamma too.
  """
  regrets, record = step
  dtype = state.excess.dtype
  counts = (t > skip).astype(dtype)
  excess = state.excess - counts * averages.weight(t, rule.gamma, dtype) * reach
  steps = [rule.update(s, x, t) for s, x in zip(state.rule, regrets, strict=True)]
  rules, strategy = zip(*steps, strict=True) if steps else ((), ())
  faded = -jnp.expm1(rule.gamma * jnp.log1p(-1 / t.astype(dtype))) if rule.gamma else jnp.zeros((), dtype)
  terms = (*record, jnp.ones((), dtype)) if record else ()
  recorded = tuple(v + (counts * x - faded * v) for v, x in zip(state.recorded, terms, strict=True))
  return PlayerState(tuple(strategy), state.average, excess, tuple(rules), recorded)


def _folded(state: PlayerState, rule: Rule, t: Array) -> PlayerState:
  """The player before iteration t, with the average as `averages.fold` leaves it."""
  average, excess = averages.fold(state.average, state.excess, t, rule.gamma)
  return state._replace(average=average, excess=excess)


def _play(game: _Game, players, reach, turn, t, skip, rule):
  """One turn of iteration t, of one player or of both: `turn` is (0,), (1,) or (0, 1).

  Returns players and reach afterwards, and {player: regrets of the turn, [A, rows, H] for each bucket}.
  """
  players, reach = list(players), list(reach)
  steps = {i: game.regrets(i, players[i], reach) for i in turn}
  for i in turn:
    regrets, record = steps[i]
    folded = collapse(game.sets[i], regrets), record
    players[i] = _learn(players[i], game.collapsed(i, reach[i][0]), folded, rule, t, skip)
    reach[i] = game.reach(i, players[i])
  return tuple(players), tuple(reach), {i: regrets for i, (regrets, _) in steps.items()}


def iterate(
  tree: PublicTree,
  state: SolverState,
  iterations: Array | int,
  skip: Array | int = 0,
  sets: Abstraction = WHOLE,
  *,
  rule: Rule,
  alternating: bool = True,
) -> SolverState:
  """Runs CFR for some iterations, inside a trace; `run` is the same, jitted.

  Args:
    tree: on the device.
    state: from `init` or an earlier call; a run in two calls equals a run in one, bit by bit.
    iterations: number of further iterations.
    skip: the average leaves out iterations 1..skip.
    sets: the players' abstractions, as in `init`.
    rule: how regrets become strategies.
    alternating: player 1 answers player 0's new strategy; otherwise both answer old ones.

  Returns:
    The state `iterations` later.
  """
  turns = ((0,), (1,)) if alternating else ((0, 1),)
  game, reach = _begin(tree, sets, state.players)
  end = state.iteration + iterations

  def iteration(t, carry):
    t, (players, reach) = jnp.asarray(t, jnp.int32), carry  # with `jax.disable_jit` the loop counts in Python
    for turn in turns:
      players, reach, _ = _play(game, players, reach, turn, t, skip, rule)
    return players, reach

  def block(carry):
    done, players, reach = carry
    t = done + 1
    last = jnp.minimum(averages.last_of_block(t), end)
    first, second = (_folded(player, rule, t) for player in players)
    return last, *jax.lax.fori_loop(t, last + 1, iteration, ((first, second), reach))

  t, players, _ = jax.lax.while_loop(
    lambda carry: carry[0] < end, block, (state.iteration, state.players, reach)
  )
  return SolverState(t, players)


run = jit(static_argnames=("rule", "alternating"))(iterate)


def _begin(tree, sets, players):
  """The parts of the game, and both players' reach."""
  first, second = map(Walk.of, tree.players)
  game = _Game(tree.leaves, (first, second), sets)
  return game, tuple(game.reach(i, player) for i, player in enumerate(players))


def take_turn(
  tree: PublicTree,
  state: SolverState,
  skip: Array | int,
  sets: Abstraction = WHOLE,
  *,
  player: int,
  rule: Rule,
) -> tuple[tuple[PlayerState, PlayerState], list[Array]]:
  """One player's turn of the next iteration, for callers that need the regrets of every infostate.

  Player 0's turn and then player 1's are an iteration with alternating updates; the caller counts. Arguments
  are those of `iterate`. Returns both players afterwards, and the regrets of the turn, [A, rows, H] for each
  bucket.
  """
  game, reach = _begin(tree, sets, state.players)
  t, players = state.iteration + 1, list(state.players)
  players[player] = _folded(players[player], rule, t)
  players, _, regrets = _play(game, players, reach, (player,), t, skip, rule)
  return players, regrets[player]
