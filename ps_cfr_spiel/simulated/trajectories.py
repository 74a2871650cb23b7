"""Trajectories of a simulated game: B plays down to their ends, and their increments on the way back.

As `mccfr.outcome`, without its tree: only the traverser explores, the opponent and chance play as they do, so
a node's weight is 1 / probability of the traverser's sampled moves before it (Schmid 2021, eq. 17.18).
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ps_cfr_spiel.cfr import Rule, averages
from ps_cfr_spiel.mccfr import Sampler, Turn, regret_matching
from ps_cfr_spiel.simulated import windows
from ps_cfr_spiel.simulated.estimates import MoveEstimate, Node
from ps_cfr_spiel.simulated.samplers import MILLION, KeyTables, Simulation
from ps_cfr_spiel.simulated.simulated_game import CHANCE, SimulatedGame


class Step(NamedTuple):
  """The nodes and moves of trajectories at one time; of many times, with an axis [n] in front."""

  actor: jax.Array  #: int32[B]
  #: first, count: int32[B], of the actor's key.
  first: jax.Array
  count: jax.Array
  move: jax.Array  #: int32[B]
  weight: jax.Array  #: [B], 1 / probability of the traverser's moves before
  reach: jax.Array  #: [B], the probability of these moves by the policy itself, times that


class Increments(NamedTuple):
  """Sums over trajectories, by cell."""

  regrets: jax.Array  #: [S], of the traverser's moves
  policies: jax.Array  #: [S], of the opponent's; of the traverser's, if the opponent is fixed
  values: jax.Array  #: [S], results after the sampled moves, to the actor; a fixed opponent's are left out
  visits: jax.Array  #: [S], how often a move was sampled, likewise
  nodes: jax.Array  #: int32[], the number of decisions met


@dataclasses.dataclass(frozen=True)
class Trajectories(Sampler[Simulation, KeyTables]):
  """B games at a time under one strategy profile, with increments from all of them together."""

  estimate: MoveEstimate  #: of the moves' values
  exploration: float  #: share of uniform play in the traverser's sampling policy, in (0, 1]
  #: weight of the newest value in a learned one in iteration 1, in [0, 1]; at 0 nothing is learned.
  decay: float = 0.05
  decay_power: float = 0.0  #: in iteration t the decay is `decay` * t ** -decay_power

  def init(self, game: Simulation, dtype: str) -> KeyTables:
    return KeyTables.empty(game.game, dtype, counted=False)

  def decay_at(self, t: jax.Array, dtype: jnp.dtype) -> jax.Array:
    """The decay in iteration t, int32[]."""
    return self.decay * t.astype(dtype) ** -self.decay_power

  def turn(self, game: Simulation, tables: KeyTables, turn: Turn, rule: Rule, batch: int) -> KeyTables:
    deal, plays = jax.random.split(turn.random)
    rules, fixed = game
    start = rules.deal(deal, batch)
    path, turns, end = self.descend(rules, start, tables.regrets, turn.traverser, plays, fixed)
    increments = self.ascend(rules, path, turns, end, tables.regrets, tables.learned, turn.traverser, fixed)
    value = rules.utility(end).mean()
    nodes = jnp.stack([increments.nodes // MILLION, increments.nodes % MILLION])
    record = jnp.where(turn.traverser == 0, value, -value), nodes, jnp.zeros_like(nodes), rules.full(end)
    return self.update(tables, increments, turn.iteration, rule, batch)._replace(
      tally=tables.tally.add(turn, game, *record)
    )

  def update(
    self, tables: KeyTables, increments: Increments, t: jax.Array, rule: Rule, batch: int
  ) -> KeyTables:
    """Add the increments of `batch` plays in iteration t, int32[], to the tables.

    Several values of one cell in a batch are applied as if in sequence, each being their mean: a cell that n
    of them passed moves by 1 - (1 - decay)^n of the way.
    """
    visits, dtype = increments.visits, increments.visits.dtype
    mean = increments.values / jnp.maximum(visits, 1)
    step = 1 - (1 - self.decay_at(t, dtype)) ** visits
    weight = averages.weight(t, rule.gamma, dtype) / batch
    average = tables.average._replace(compensation=tables.average.compensation - increments.policies * weight)
    return tables._replace(
      regrets=jnp.maximum(tables.regrets + increments.regrets / batch, rule.floor),
      average=average,
      learned=tables.learned + step * (mean - tables.learned),
    )

  def descend(self, game: SimulatedGame, start: Any, regrets, traverser, key: jax.Array, fixed=None):
    """Play from the states `start` to the end.

    Returns a `Step` for each of the game's widths, [n, B], of which the first `turns` are filled; int32[]
    turns; and the last states.
    """
    turns = -(-game.longest // len(game.widths))
    numbers = jnp.zeros((turns, len(game.actor(start))), jnp.int32)
    ones = jnp.ones(numbers.shape, regrets.dtype)
    empty = Step(numbers, numbers, numbers, numbers, ones, ones)

    def turn(carry):
      number, state, before, path = carry
      steps = []
      for place, width in enumerate(game.widths):
        turn_key = jax.random.fold_in(key, number * len(game.widths) + place)
        step, state, before = self.step(game, state, before, regrets, traverser, turn_key, width, fixed)
        steps.append(jax.tree.map(lambda all, one: all.at[number].set(one), path[place], step))
      return number + 1, state, before, tuple(steps)

    def unfinished(carry):
      return (carry[0] < turns) & running(game, carry[1]).any()

    begin = (jnp.int32(0), start, (ones[0], ones[0]), (empty,) * len(game.widths))
    number, end, _, path = jax.lax.while_loop(unfinished, turn, begin)
    return path, number, end

  def step(self, game: SimulatedGame, state: Any, before, regrets, traverser, key, width: int, fixed):
    """One move of every play: the step, the states after it, and weight and reach of their next steps."""
    actor = game.actor(state)
    first, count = game.decision(state)
    acts = actor >= 0
    first, count = jnp.where(acts, first, 0), jnp.where(acts, count, 1)
    explores = actor == traverser
    policy = self.policy(regrets, fixed, explores, first, count, width)
    uniforms = jax.random.uniform(key, (4, len(actor)), regrets.dtype)
    anything = jnp.minimum((uniforms[2] * count).astype(jnp.int32), count - 1)
    tries = explores & (uniforms[3] < self.exploration)
    move = jnp.where(tries, anything, windows.sample(policy, uniforms[:2]))
    played = jnp.take_along_axis(policy, move[:, None], 1)[:, 0]
    chosen = self.sampling(played, count)
    made = jnp.where(actor == CHANCE, game.chance(state, uniforms[0]), move)
    weight, reach = before
    after = jnp.where(explores, weight / chosen, weight), jnp.where(explores, reach * played / chosen, reach)
    return Step(actor, first, count, move, weight, reach), game.step(state, made), after

  def policy(self, regrets, fixed, learns, first, count, width: int) -> jax.Array:
    """The policies [B, W]: by the regrets, by a fixed opponent's weights where not bool[B] `learns`."""
    weights = windows.read(regrets, first, width)
    if fixed is not None:
      weights = jnp.where(learns[:, None], weights, windows.read(fixed, first, width))
    return regret_matching(jnp.where(windows.legal(count, width), weights, 0), count, axis=1)

  def sampling(self, probability: jax.Array, count: jax.Array) -> jax.Array:
    """[B], the traverser's sampling probability of a move that the policy plays with `probability`, [B]."""
    return self.exploration / count.astype(probability.dtype) + (1 - self.exploration) * probability

  def ascend(self, game, path, turns, end, regrets, learned, traverser, fixed=None) -> Increments:
    """The increments of trajectories, from their ends back to their first nodes."""

    def turn(number, carry):
      value, increments = carry
      at = turns - 1 - number
      for width, steps in reversed(list(zip(game.widths, path, strict=True))):
        step = jax.tree.map(lambda all: all[at], steps)
        value, increments = self.accumulate(
          step, value, increments, regrets, learned, traverser, width, fixed
        )
      return value, increments

    none = jnp.zeros_like(regrets)
    value = game.utility(end).astype(regrets.dtype)
    return jax.lax.fori_loop(0, turns, turn, (value, Increments(none, none, none, none, jnp.int32(0))))[1]

  def accumulate(
    self, step: Step, value, increments: Increments, regrets, learned, traverser, width: int, fixed
  ):
    """Add one time's increments; the values [B] to player 0 before the moves, and the increments."""
    actor, first, count, move, weight, reach = step
    acts, learns, sign = actor >= 0, actor == traverser, (1 - 2 * actor).astype(value.dtype)
    policy = self.policy(regrets, fixed, learns, first, count, width)
    legal = windows.legal(count, width)
    guess = jnp.where(legal, windows.read(learned, first, width), 0)
    chosen = jnp.take_along_axis(policy, move[:, None], 1)[:, 0]
    chosen = jnp.where(learns, self.sampling(chosen, count), chosen)
    node = Node(guess, policy, move, chosen, sign * value, weight)
    moves, before, weight = self.estimate(node)
    regret = moves - (policy * moves).sum(1, keepdims=True)
    averaged = jnp.where(actor == 1 - traverser, weight, 0) if fixed is None else jnp.where(learns, reach, 0)
    valued = acts if fixed is None else learns
    cell, regret = first + move, jnp.where(legal & learns[:, None], weight[:, None] * regret, 0)
    increments = Increments(
      regrets=windows.add(increments.regrets, first, regret),
      policies=windows.add(increments.policies, first, averaged[:, None] * policy),
      values=increments.values.at[cell].add(jnp.where(valued, sign * value, 0)),
      visits=increments.visits.at[cell].add(valued.astype(value.dtype)),
      nodes=increments.nodes + acts.sum(dtype=jnp.int32),
    )
    return jnp.where(acts, sign * before, value), increments


def running(game: SimulatedGame, state: Any) -> jax.Array:
  """bool[B], whether a play goes on."""
  actor = game.actor(state)
  return (actor >= 0) | (actor == CHANCE)
