"""Trajectories of a played game: B plays down to their ends, and what they teach on the way back.

As `mccfr.outcome`, without its tree: only the traverser explores, the opponent and chance play as they do, so
a node's weight is 1 / probability of the traverser's sampled moves before it (Schmid 2021, eq. 17.18).
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ps_cfr_spiel.playing import windows
from ps_cfr_spiel.playing.estimates import Estimate, Node
from ps_cfr_spiel.playing.played_game import CHANCE, PlayedGame
from ps_cfr_spiel.playing.samplers import MILLION, Found


class Step(NamedTuple):
  """Where trajectories stood and how they went on; of many times, with an axis [n] in front.

  Attributes:
    actor: int32[B].
    first, count: int32[B], of the actor's key.
    move: int32[B].
    weight: [B], 1 / probability of the traverser's moves before.
  """

  actor: jax.Array
  first: jax.Array
  count: jax.Array
  move: jax.Array
  weight: jax.Array


class Lessons(NamedTuple):
  """Sums over trajectories, by cell.

  Attributes:
    regrets: [S], of the traverser's moves.
    policies: [S], of the opponent's.
    values: [S], of what followed the sampled moves, to the actor.
    visits: [S], how often a move was sampled.
  """

  regrets: jax.Array
  policies: jax.Array
  values: jax.Array
  visits: jax.Array


class Tables(NamedTuple):
  """What is kept, [S] each.

  Attributes:
    regrets: cumulative, never negative (regret matching plus).
    average: sum of policies, iteration t with weight t.
    learned: the learned values of moves, to their players.
  """

  regrets: jax.Array
  average: jax.Array
  learned: jax.Array


@dataclasses.dataclass(frozen=True)
class Trajectories:
  """How trajectories are sampled and read.

  Attributes:
    estimate: of the moves' values.
    exploration: share of uniform play in the traverser's sampling policy, in (0, 1].
    decay: weight of the newest value in a learned one, in (0, 1].
  """

  estimate: Estimate
  exploration: float
  decay: float = 0.05

  def tables(self, zeros: Any) -> Tables:
    """See `Sampler`."""
    return Tables(zeros, zeros, zeros)

  def __call__(
    self,
    game: PlayedGame,
    tables: Tables,
    traverser: jax.Array,
    iteration: jax.Array,
    key: jax.Array,
    batch: int,
  ) -> Found:
    """See `Sampler`: plays B games under one strategy profile, and then adds their lessons, all at once."""
    deal, plays = jax.random.split(key)
    start = game.deal(deal, batch)
    path, turns, end = self.descend(game, start, tables.regrets, traverser, plays)
    lessons = self.ascend(game, path, turns, end, tables.regrets, tables.learned, traverser)
    met = lessons.visits.sum().astype(jnp.int32)
    return Found(
      tables=self.update(tables, lessons, iteration, batch),
      value=game.utility(end).mean().astype(tables.regrets.dtype),
      nodes=jnp.stack([met // MILLION, met % MILLION]),
      skipped=jnp.zeros(2, jnp.int32),
      stopped=game.full(end),
    )

  def update(self, tables: Tables, lessons: Lessons, iteration: jax.Array, batch: int) -> Tables:
    """Adds the lessons of `batch` plays to the tables.

    Values that several trajectories brought to one cell count as if they had come one after the other, each
    being their mean: a cell that n of them passed moves by 1 - (1 - decay)^n of the way.
    """
    visits = lessons.visits
    mean = lessons.values / jnp.maximum(visits, 1)
    step = 1 - (1 - self.decay) ** visits
    return Tables(
      regrets=jnp.maximum(tables.regrets + lessons.regrets / batch, 0),
      average=tables.average + lessons.policies * (iteration.astype(visits.dtype) / batch),
      learned=tables.learned + step * (mean - tables.learned),
    )

  def descend(self, game: PlayedGame, start: Any, regrets: jax.Array, traverser: jax.Array, key: jax.Array):
    """Plays from the states `start` to the end.

    Returns:
      A `Step` for each of the game's widths, [n, B], of which the first `turns` are filled; int32[] turns;
      and the last states.
    """
    turns = -(-game.longest // len(game.widths))
    numbers = jnp.zeros((turns, len(game.actor(start))), jnp.int32)
    empty = Step(numbers, numbers, numbers, numbers, numbers.astype(regrets.dtype))

    def turn(carry):
      number, state, weight, path = carry
      steps = []
      for place, width in enumerate(game.widths):
        own = jax.random.fold_in(key, number * len(game.widths) + place)
        step, state, weight = self.step(game, state, weight, regrets, traverser, own, width)
        steps.append(jax.tree.map(lambda all, one: all.at[number].set(one), path[place], step))
      return number + 1, state, weight, tuple(steps)

    def unfinished(carry):
      return (carry[0] < turns) & running(game, carry[1]).any()

    begin = (jnp.int32(0), start, jnp.ones_like(empty.weight[0]), (empty,) * len(game.widths))
    number, end, _, path = jax.lax.while_loop(unfinished, turn, begin)
    return path, number, end

  def step(self, game: PlayedGame, state: Any, weight, regrets, traverser, key, width: int):
    """One move of every play: the step, the states after it, and their weights."""
    actor = game.actor(state)
    first, count = game.decision(state)
    acts = actor >= 0
    first, count = jnp.where(acts, first, 0), jnp.where(acts, count, 1)
    policy = windows.matched(windows.read(regrets, first, width), count)
    uniforms = jax.random.uniform(key, (4, len(actor)), regrets.dtype)
    explores = actor == traverser
    anything = jnp.minimum((uniforms[2] * count).astype(jnp.int32), count - 1)
    move = jnp.where(
      explores & (uniforms[3] < self.exploration), anything, windows.sample(policy, uniforms[:2])
    )
    chosen = self.sampling(jnp.take_along_axis(policy, move[:, None], 1)[:, 0], count)
    made = jnp.where(actor == CHANCE, game.chance(state, uniforms[0]), move)
    after = jnp.where(explores, weight / chosen, weight)
    return Step(actor, first, count, move, weight), game.step(state, made), after

  def sampling(self, probability: jax.Array, count: jax.Array) -> jax.Array:
    """With which probability the traverser samples a move that the policy plays with [B] `probability`."""
    return self.exploration / count.astype(probability.dtype) + (1 - self.exploration) * probability

  def ascend(self, game, path, turns, end, regrets, learned, traverser) -> Lessons:
    """What trajectories teach, from their ends back to their first nodes."""

    def turn(number, carry):
      value, lessons = carry
      at = turns - 1 - number
      for width, steps in reversed(list(zip(game.widths, path, strict=True))):
        step = jax.tree.map(lambda all: all[at], steps)
        value, lessons = self.learn(step, value, lessons, regrets, learned, traverser, width)
      return value, lessons

    none = jnp.zeros_like(regrets)
    value = game.utility(end).astype(regrets.dtype)
    return jax.lax.fori_loop(0, turns, turn, (value, Lessons(none, none, none, none)))[1]

  def learn(self, step: Step, value, lessons: Lessons, regrets, learned, traverser, width: int):
    """Adds one time's lessons; the values [B] to player 0 before the moves, and the lessons."""
    actor, first, count, move, weight = step
    acts, sign = actor >= 0, (1 - 2 * actor).astype(value.dtype)
    policy = windows.matched(windows.read(regrets, first, width), count)
    own = windows.legal(count, width)
    guess = jnp.where(own, windows.read(learned, first, width), 0)
    chosen = jnp.take_along_axis(policy, move[:, None], 1)[:, 0]
    chosen = jnp.where(actor == traverser, self.sampling(chosen, count), chosen)
    node = Node(guess, policy, move, chosen, sign * value, weight)
    moves, before, weight = self.estimate(node)
    regret = moves - (policy * moves).sum(1, keepdims=True)
    mine, other = (jnp.where(actor == p, weight, 0)[:, None] for p in (traverser, 1 - traverser))
    cell = first + move
    lessons = Lessons(
      regrets=windows.add(lessons.regrets, first, jnp.where(own, mine * regret, 0)),
      policies=windows.add(lessons.policies, first, other * policy),
      values=lessons.values.at[cell].add(jnp.where(acts, sign * value, 0)),
      visits=lessons.visits.at[cell].add(acts.astype(value.dtype)),
    )
    return jnp.where(acts, sign * before, value), lessons


def running(game: PlayedGame, state: Any) -> jax.Array:
  """bool[B], whether a play goes on."""
  actor = game.actor(state)
  return (actor >= 0) | (actor == CHANCE)
