"""Public-state CFR (Kovařík et al. 2021, Algorithms 1 and 3): one loop for every game, rule and evaluator.

An iteration gives each player a turn (`_turn`):

  reach     down the player's own decisions, from the roots to the leaves        `_reach`
  leaves    their values to the player, by the opponents' reach there            `_leaf_values`
  values    up to the player's decisions, and by them the regrets                `_regrets`
  rule      the next strategy by the regrets; the average by the reach           `_learn`

Where players tremble they play the rule's strategies with a least probability of each action: reach and
values are of those (`Step.played`), regrets against the rule's own strategy, which the state keeps.

`iterate` is the loop, for use inside a trace, and `run` the same, jitted. This file has the reference,
by XLA; the native `engines` take over a turn, or whole iterations, where they apply, and another has passes
for tables by street. Under an abstraction a turn expands the strategy to all infostates, and adds the regrets
up in the sets.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp

from ps_cfr_spiel.backend.array_shapes import Float, Int
from ps_cfr_spiel.backend.device import jit
from ps_cfr_spiel.cfr import averages
from ps_cfr_spiel.cfr.averages import Step, Sum
from ps_cfr_spiel.cfr.engines import Engine, choose, iterate_in_library
from ps_cfr_spiel.cfr.rule import Rule
from ps_cfr_spiel.cfr.state import WHOLE, Abstraction, PlayerState, SolverState, sets_of_players
from ps_cfr_spiel.tree import (
  Array,
  Parts,
  Passes,
  PlayerPasses,
  PublicTree,
  Reach,
  Sets,
  collapse,
  column_of,
  expand,
  normalise,
  others_reach,
  sum_actions,
  tables_of,
)


class _Game(NamedTuple):
  """A tree as the loop visits it: each player's passes, and sets, if any."""

  tree: PublicTree
  passes: tuple[Passes, ...]
  sets: tuple[Sets | None, ...]

  @classmethod
  def of(cls, tree: PublicTree, sets: Abstraction, engine: Engine | None = None) -> "_Game":
    passes = engine.passes(tree) if engine and engine.passes else map(PlayerPasses.of, tree.players)
    return cls(tree, tuple(passes), sets_of_players(tree, sets))


def _reach(game: _Game, player: int, state: PlayerState, step: Step) -> Reach:
  """The player's own reach in an iteration, by the current strategy."""
  strategy = expand(game.sets[player], state.decompressed(step.rule).strategy)
  return game.passes[player].down(step.played(game.tree.players[player], strategy))


def _own_reach(game: _Game, player: int, reach: Reach) -> Float[Array, "S H"]:
  """The player's own reach in a column, made where it is read."""
  sequences, _ = reach
  if isinstance(sequences, list):
    return column_of(sequences, game.tree.players[player].types)
  return sequences


def _average_reach(game: _Game, player: int, state: PlayerState) -> Sequence[Float[Array, "_A _rows _H"]]:
  """The player's own reach by the average strategy, where that is kept without its sums; else nothing."""
  if isinstance(state.average, Sum):
    return ()
  strategy = expand(game.sets[player], list(map(normalise, state.weights)))
  column = _collapsed(game, player, _own_reach(game, player, game.passes[player].down(strategy)))
  return tables_of(column, [x.shape for x in state.strategy])


def _leaf_values(game: _Game, player: int, reach: tuple[Reach, ...]) -> Parts:
  """The values of the leaves to a player, by the reach of all players."""
  at_leaves = [passes.leaves(of) for passes, of in zip(game.passes, reach, strict=True)]
  return game.tree.leaves(player, others_reach(at_leaves, player), at_leaves[player])


def _regrets(
  game: _Game, player: int, state: PlayerState, leaf_values: Parts, step: Step
) -> list[Float[Array, "_A _rows H"]]:
  """Instantaneous counterfactual regrets for each bucket: q(a) - sum_b sigma(b) q(b)."""
  strategy, tree = expand(game.sets[player], state.strategy), game.tree.players[player]
  values, _ = game.passes[player].up(step.played(tree, strategy), leaf_values)
  return [q - sum_actions(p * q) for p, q in zip(strategy, values, strict=True)]


def _learn(
  game: _Game,
  player: int,
  state: PlayerState,
  own_reach: Float[Array, "S H"],
  regrets: Sequence[Float[Array, "_A _rows H"]],
  step: Step,
) -> PlayerState:
  """The player after a turn: the rule's next strategy, and the average with this iteration's share."""
  t, rule, average, dtype = step.t, step.rule, state.average, state.dtype
  assert isinstance(average, Sum)
  regrets, share = collapse(game.sets[player], regrets), step.share(dtype)
  trust = [rule.trust(x, t) for x in regrets]
  if any(x is not None for x in trust):
    factors = [jnp.broadcast_to(1 if f is None else f, x.shape) for f, x in zip(trust, regrets, strict=True)]
    share = share * column_of(factors, average.compensation.shape[1])
  compensation = average.compensation - share * _collapsed(game, player, own_reach)
  buckets = zip(state.rule, state.strategy, regrets, strict=True)
  steps = [rule.update(*bucket, t) for bucket in buckets]
  rules, strategy = zip(*steps, strict=True) if steps else ((), ())
  return PlayerState(tuple(strategy), average._replace(compensation=compensation), tuple(rules))


def _recorded(
  game: _Game, player: int, state: PlayerState, leaf_values: Parts, step: Step
) -> tuple[Float[Array, "..."], ...]:
  """`PlayerState.recorded` after a turn: S <- S ((t - 1) / t)^gamma + new, as averages weigh iterations.

  Leaves are at no infostate, so a rule's `trust` does not touch it.
  """
  record, gamma, dtype = game.tree.leaves.recorded(player, leaf_values), step.rule.gamma, state.dtype
  faded = -jnp.expm1(gamma * jnp.log1p(-1 / step.t.astype(dtype))) if gamma else jnp.zeros((), dtype)
  terms, counts = (*record, jnp.ones((), dtype)) if record else (), step.counts(dtype)
  return tuple(v + (counts * x - faded * v) for v, x in zip(state.recorded, terms, strict=True))


def _collapsed(game: _Game, player: int, column: Float[Array, "_S _H"]) -> Float[Array, "_K _H"]:
  """A column of all infostates, added up in the player's sets, if there are any."""
  player_tree, sets = game.tree.players[player], game.sets[player]
  if sets is None:
    return column
  return column_of(collapse(sets, tables_of(column, player_tree.bucket_shapes)), player_tree.types)


def _turn(
  game: _Game, engine: Engine, player: int, state: PlayerState, reach: tuple[Reach, ...], step: Step
) -> PlayerState:
  """The player after a turn against the reach of all players."""
  wide = state.opened(step, game.tree.players[player].types)
  own_reach, leaf_values = _own_reach(game, player, reach[player]), _leaf_values(game, player, reach)
  if engine.turn is not None:
    after = engine.turn(game.passes[player], wide, own_reach, leaf_values, step)
  else:
    regrets = _regrets(game, player, wide, leaf_values, step)
    after = _learn(game, player, wide, own_reach, regrets, step)
  recorded = _recorded(game, player, state, leaf_values, step)
  return after._replace(recorded=recorded).kept_as(state, _average_reach(game, player, state), step)


def iterate(
  tree: PublicTree,
  state: SolverState,
  iterations: Int[Array, ""] | int,
  averaging_delay: Int[Array, ""] | int = 0,
  sets: Abstraction = WHOLE,
  *,
  rule: Rule,
  alternating: bool = True,
  tremble: float = 0.0,
) -> SolverState:
  """The state after further iterations of CFR, inside a trace; `run` is the same, jitted.

  A run in two calls equals a run in one, bit by bit. The average leaves out iterations 1 to
  `averaging_delay`. With `alternating` updates a player answers the new strategies of those before; otherwise
  all answer old ones. In iteration t every action has a probability of at least `tremble` / t, or half of a
  uniform share if that is less.
  """
  engine, end = choose(tree, rule, state.players, sets).engine, state.iteration + iterations
  game = _Game.of(tree, sets, engine)
  players = tuple(map(PlayerState.in_tables, state.players, game.passes))
  everyone = tuple(range(len(tree.players)))
  turns = tuple((i,) for i in everyone) if alternating else (everyone,)
  made = engine.iterations(tree, game.passes, players, rule, alternating) if engine.iterations else None

  def iteration(t, carry):
    players, reach = carry
    # With `jax.disable_jit` the loop counts in Python.
    step = Step(jnp.asarray(t, jnp.int32), averaging_delay, rule, tremble)
    for turn in turns:  # all in a turn answer the same reach
      after = {i: _turn(game, engine, i, players[i], reach, step) for i in turn}
      players = tuple(after[i] if i in turn else player for i, player in enumerate(players))
      reach = tuple(
        _reach(game, i, players[i], step.following()) if i in turn else reach[i] for i in everyone
      )
    return players, reach

  def block(carry):  # of iterations between which averages are not carried over
    done, players, reach = carry
    step = Step(done + 1, averaging_delay, rule, tremble)
    last = jnp.minimum(averages.last_of_block(step.t), end)
    if made is not None:
      return last, iterate_in_library(made, players, step, last - done), reach
    players = tuple(player.carried_over(step) for player in players)
    return last, *jax.lax.fori_loop(step.t, last + 1, iteration, (players, reach))

  # A call of an engine for whole iterations begins with the reach itself.
  first = Step(state.iteration + 1, averaging_delay, rule, tremble)
  reach = () if engine.iterations else tuple(_reach(game, i, players[i], first) for i in everyone)
  t, players, _ = jax.lax.while_loop(lambda carry: carry[0] < end, block, (state.iteration, players, reach))
  return SolverState(t, tuple(map(PlayerState.in_buckets, players, game.passes)))


METHOD = "rule", "alternating", "tremble"
run = jit(static_argnames=METHOD)(iterate)
run_in_place = jit(static_argnames=METHOD, donate_argnames=("state",))(iterate)


def take_turn(
  tree: PublicTree,
  state: SolverState,
  averaging_delay: Int[Array, ""] | int,
  sets: Abstraction = WHOLE,
  regrets: Sequence[Float[Array, "_A _rows _H"]] | None = None,
  *,
  player: int,
  rule: Rule,
  tremble: float = 0.0,
) -> tuple[tuple[PlayerState, ...], Sequence[Float[Array, "_A _rows _H"]]]:
  """One player's turn of the next iteration, for callers that need the regrets of every infostate.

  Player 0's turn and then player 1's are an iteration with alternating updates; the caller counts. Arguments
  are those of `iterate`. Returns both players afterwards, and the regrets of the turn, for each bucket; or
  those that were given, estimates of them, and then the turn visits only the player's own decisions.
  """
  game, players = _Game.of(tree, sets), list(state.players)
  step = Step(state.iteration + 1, averaging_delay, rule, tremble)
  steps = [step.following() if i < player else step for i in range(len(players))]
  before = players[player]
  wide = before.carried_over(step).opened(step, tree.players[player].types)
  if regrets is None:
    reach = tuple(_reach(game, i, x, at) for i, (x, at) in enumerate(zip(players, steps, strict=True)))
    of_player, leaf_values = reach[player], _leaf_values(game, player, reach)
    regrets = _regrets(game, player, wide, leaf_values, step)
    recorded = _recorded(game, player, before, leaf_values, step)
  else:
    if before.recorded:
      raise ValueError("values at a frontier are not recorded in turns whose regrets are given")
    of_player, recorded = _reach(game, player, before, step), ()
  own_reach = _own_reach(game, player, of_player)
  after = _learn(game, player, wide, own_reach, regrets, step)._replace(recorded=recorded)
  players[player] = after.kept_as(before, _average_reach(game, player, before), step)
  return tuple(players), regrets
