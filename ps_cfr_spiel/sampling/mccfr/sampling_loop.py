"""The Monte Carlo CFR loop: one for every game and sampler; `run` is jitted, `iterate` is the same, traced.

An iteration lets each player in turn be the traverser (alternating updates, as in Schmid et al. 2019): the
sampler samples B times under one strategy profile and brings its tables up to date. With B = 1 it is one
iteration of OpenSpiel's solvers.

Iterations come in blocks. The random numbers of a block are drawn at once, from the run's key and the block's
number, so that a run in two calls equals a run in one. Where a block begins, and where the weights t ** gamma
are scaled, every `averages.Sum` in the tables is carried over: so the average strategy is exact over 10^7
iterations, in float32 too.
"""

import abc
from typing import Generic, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from ps_cfr_spiel.arguments import declared
from ps_cfr_spiel.backend.array_shapes import Float, Int, Key, Shaped, UInt32
from ps_cfr_spiel.backend.device import jit, to_device
from ps_cfr_spiel.cfr import Rule, averages, make_rule
from ps_cfr_spiel.tree import Array

PIECE = 2**20  # numbers of a table that are carried over at once
Sampled = TypeVar("Sampled")  # the source of samples: a pytree, such as a `SamplingTree`
Tables = TypeVar("Tables")  # of a run: a pytree of arrays


class Turn(NamedTuple):
  """One player's turn in an iteration."""

  traverser: Int[jax.Array, ""]  #: the player whose regrets are updated
  iteration: Int[jax.Array, ""]  #: from 1
  random: Shaped[jax.Array, "..."]  #: its random numbers, drawn by `Sampler.draw`


class Turns(NamedTuple):
  """Some turns of a block of iterations."""

  key: Key[jax.Array, ""]  #: of the block's random numbers
  before: Int[jax.Array, ""]  #: iterations before the block
  #: first, last: the turns from `first` to `last` - 1, counted within the block.
  first: Int[jax.Array, ""]
  last: Int[jax.Array, ""]


class Sampler(abc.ABC, Generic[Sampled, Tables]):
  """A way to sample a game and to learn from it: a frozen dataclass.

  It is hashable, so that `jit` compiles once for each sampler. Samplers on a tree of histories derive from
  `TreeSampler` and only return estimates.
  """

  @abc.abstractmethod
  def init(self, game: Sampled, dtype: str) -> Tables:
    """The tables before the first iteration: a pytree of NumPy arrays.

    Sums of strategies are `averages.Sum`s, to whose `compensation` a turn adds *minus* its strategies,
    iteration t with weight `averages.weight`.
    """

  @abc.abstractmethod
  def turn(self, game: Sampled, tables: Tables, turn: Turn, rule: Rule, batch: int) -> Tables:
    """The tables after a turn with `batch` samples; pure JAX."""

  def turns(self, game: Sampled, tables: Tables, turns: Turns, rule: Rule, batch: int) -> Tables:
    """The tables after some turns of a block, by default one after the other; pure JAX."""
    players = self.players(game)
    draws = self.draw(game, turns.key, players * self.block(game, batch), batch)

    def turn(n: Int[Array, ""] | int, tables: Tables) -> Tables:
      n = jnp.asarray(n, jnp.int32)  # with `jax.disable_jit` the loop counts in Python
      now = Turn(n % players, turns.before + n // players + 1, draws[n])
      return self.turn(game, tables, now, rule, batch)

    return jax.lax.fori_loop(turns.first, turns.last, turn, tables)

  def players(self, game: Sampled) -> int:
    """The number of players, each of whom has a turn in an iteration."""
    return 2

  def block(self, game: Sampled, batch: int) -> int:
    """The number of iterations whose random numbers are drawn at once."""
    return averages.LENGTH

  def draw(
    self, game: Sampled, key: Key[jax.Array, ""], turns: int, batch: int
  ) -> Shaped[jax.Array, "{turns} ..."]:
    """The random numbers of `turns` turns, from a JAX key; by default a key for each turn."""
    return jax.random.split(key, turns)

  def scaled(self, tables: Tables, scale: Float[Array, ""] | float) -> Tables:
    """The tables with other sums of weights t ** gamma, as regrets may be, multiplied by `scale`."""
    return tables


class SamplingState(NamedTuple, Generic[Tables]):
  """All that a run remembers."""

  iteration: Int[Array, ""]  #: iterations done
  key: UInt32[Array, "2"]  #: of the run's random numbers; it never changes
  tables: Tables  #: the sampler's


def check_rule(rule: object, linear: bool = False) -> Rule:
  """A rule that can be sampled, from anything that `make_rule` takes; ValueError for another.

  `linear` says whether the sampler can weigh regrets by their iterations, as LCFR does.
  """
  made = make_rule(rule)
  if declared(made, "floor") is None or (made.power and not linear):
    names = "'rm', 'rm+' and 'lcfr' (RM(), RMPlus(), LCFR())" if linear else "'rm' and 'rm+' (RM(), RMPlus())"
    raise ValueError(f"Sampling takes the rules {names}, got {rule!r}.")
  return made


def regret_weight(rule: Rule, t: Int[Array, ""], dtype: DTypeLike) -> Float[Array, ""] | float:
  """The factor of the regrets of iteration t: t for LCFR, else 1."""
  return t.astype(dtype) if rule.power else 1.0


def start(game: Sampled, sampler: Sampler[Sampled, Tables], seed: int, dtype: str) -> SamplingState[Tables]:
  """The state before the first iteration, on the host."""
  key = np.asarray(jax.random.key_data(jax.random.key(seed, impl="threefry2x32")))
  return SamplingState(np.zeros((), np.int32), key, sampler.init(game, dtype))


def init(game: Sampled, sampler: Sampler[Sampled, Tables], seed: int, dtype: str) -> SamplingState[Tables]:
  """The state before the first iteration, on the device."""
  return to_device(start(game, sampler, seed, dtype), dtype)


def iterate(
  game: Sampled,
  state: SamplingState[Tables],
  iterations: Int[Array, ""] | int,
  *,
  sampler: Sampler[Sampled, Tables],
  rule: Rule,
  batch: int = 1,
) -> SamplingState[Tables]:
  """The state after further iterations of Monte Carlo CFR with batches of B = `batch`, inside a trace.

  `rule` is regret matching, or regret matching plus; its `gamma` is that of the average.
  """
  length, players = sampler.block(game, batch), sampler.players(game)
  end = state.iteration + iterations
  key = jax.random.wrap_key_data(jnp.asarray(state.key), impl="threefry2x32")

  def block(state: SamplingState[Tables]) -> SamplingState[Tables]:
    done = jnp.asarray(state.iteration)
    begin = done // length * length
    stop, begins, scale = jnp.minimum(begin + length, end), done == begin, 1.0
    if rule.gamma:
      t = done + 1
      stop = jnp.minimum(stop, averages.before_doubling(t))
      begins, scale = begins | averages.doubles(t), averages.scale(t, rule.gamma)
    # A loop of one turn or none: a table that is not carried over is not touched.
    once = begins.astype(jnp.int32)
    tables = jax.lax.fori_loop(
      0, once, lambda _, x: sampler.scaled(_carried_over(x, scale, once), scale), state.tables
    )
    # Turns are counted within the block: those of a whole run may be more than int32 holds.
    first, last = (players * (t - begin) for t in (done, stop))
    turns = Turns(jax.random.fold_in(key, done // length), begin, first, last)
    return SamplingState(stop, state.key, sampler.turns(game, tables, turns, rule, batch))

  return jax.lax.while_loop(lambda state: state.iteration < end, block, state)


run = jit(static_argnames=("sampler", "rule", "batch"))(iterate)


def _carried_over(tables: Tables, scale: Float[Array, ""] | float, once: Int[Array, ""]) -> Tables:
  """The tables with all sums carried over and scaled, piece by piece, so that little is kept twice.

  `once` is 1, which XLA does not know.
  """

  def whole(x: averages.Sum) -> averages.Sum:
    return averages.carry_over_where(jnp.bool_(True), x, scale)

  def piece(start: Int[Array, ""] | int, size: int, x: averages.Sum) -> averages.Sum:
    # Both pieces are made before either table changes, by loops of one turn, which XLA does not fuse: it
    # would copy the tables, since each new piece depends on both.
    def part(y: Float[Array, " _n"]) -> Float[Array, " size"]:
      return jax.lax.dynamic_slice(y, (start,), (size,))

    rows = jax.tree.map(lambda y: jnp.zeros(size, y.dtype), x)
    one = jax.lax.fori_loop(0, once, lambda _, z: whole(jax.tree.map(part, x)), rows)
    return jax.lax.fori_loop(
      0, once, lambda _, y: jax.tree.map(lambda a, b: jax.lax.dynamic_update_slice(a, b, (start,)), y, one), x
    )

  def carried(x: averages.Sum | Array) -> averages.Sum | Array:
    if not isinstance(x, averages.Sum):
      return x
    flat, shape = jax.tree.map(jnp.ravel, x), x.compensation.shape
    count, rest = divmod(x.compensation.size, PIECE)
    if count:
      flat = jax.lax.fori_loop(0, count, lambda n, y: piece(n * PIECE, PIECE, y), flat)
    flat = piece(count * PIECE, rest, flat) if rest else flat
    return jax.tree.map(lambda y: y.reshape(shape), flat)

  return jax.tree.map(carried, tables, is_leaf=lambda x: isinstance(x, averages.Sum))
