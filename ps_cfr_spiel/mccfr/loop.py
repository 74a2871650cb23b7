"""The Monte Carlo CFR loop: `solve`, one jitted function for every game, sampler and batch size.

An iteration lets each player in turn be the traverser: B trajectories are sampled under one strategy profile,
the mean of their estimates is added to the traverser's regrets (Schmid 2021, eq. 17.11, with alternating
updates as in Schmid et al. 2019), and the opponent's strategy to its average. So an iteration is 2 B
trajectories; with B = 1 it is one iteration of OpenSpiel's solvers.
"""

from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel

from ps_cfr_spiel.cfr import Blocks, normalise
from ps_cfr_spiel.device import jit, to_device
from ps_cfr_spiel.mccfr.sampling_tree import SamplingTree
from ps_cfr_spiel.mccfr.updates import Updates
from ps_cfr_spiel.tree import PublicTree

UNIFORMS = 65_536  # random numbers made at a time
COPIES = 2  # of the tables: what goes into an iteration and what comes out
STEP = 8  # numbers that a trajectory keeps of a step, beside those of the actions


class Sampler(Protocol):
  """A way to sample: a frozen dataclass (hashable, so that `jit` compiles once for each sampler).

  What it must guarantee is unbiasedness. Given the strategies, the expected sum of its `regrets` in a cell of
  the traverser is the instantaneous counterfactual regret there, and that of its `averages` in a cell of the
  opponent is proportional to the opponent's strategy times the opponent's reach. Trajectories of a batch
  may depend on each other. The loop divides the sums by B, adds them to the tables, and derives the random
  numbers from the seed and the iteration, so that a run in two calls equals a run in one.
  """

  def sampling_tree(self, game: pyspiel.Game, tree: PublicTree) -> SamplingTree:
    """The tree that is sampled, of NumPy arrays, from a game and its public tree.

    `SamplingSolver` asks for it; `solve` is given it.

    Raises:
      ValueError: the game is not one that can be sampled so.
    """
    ...

  def draws(self, tree: SamplingTree) -> int:
    """How many uniform numbers a trajectory takes."""
    ...

  def entries(self, tree: SamplingTree) -> int:
    """The size of the table of a learned baseline; 0 without one."""
    ...

  @property
  def decay(self) -> float:
    """The weight of the newest value in a learned baseline, from 0 to 1."""
    ...

  def __call__(
    self,
    tree: SamplingTree,
    regrets: jax.Array,
    learned: jax.Array,
    traverser: jax.Array,
    uniforms: jax.Array,
  ) -> Updates:
    """Samples B trajectories under one strategy profile; pure JAX.

    Args:
      tree: on the device.
      regrets: [A, S], cumulative; regret matching makes the current strategies of them (`columns.matched`).
      learned: [entries], the table of a learned baseline.
      traverser: int32[], whose regrets are estimated, 0 or 1.
      uniforms: [draws, B], independent and uniform in [0, 1).

    Returns:
      The increments, summed over the batch.
    """
    ...


class SamplingState(NamedTuple):
  """All that a run remembers.

  Attributes:
    iteration: int32[], iterations done.
    key: uint32[2], of the run's random numbers; it never changes.
    regrets: [A, S].
    average: [A, S], sum of strategies up to the last full block, see `solve`.
    recent: [A, S], the same since then.
    learned: the learned baseline; empty for others.
  """

  iteration: jax.Array
  key: jax.Array
  regrets: jax.Array
  average: jax.Array
  recent: jax.Array
  learned: jax.Array


def init(tree: SamplingTree, sampler: Sampler, seed: int, dtype: str) -> SamplingState:
  """The state before the first iteration."""
  table: Any = np.zeros((tree.actions, tree.cells), dtype)
  key: Any = np.asarray(jax.random.key_data(jax.random.key(seed, impl="threefry2x32")))
  iteration: Any = np.zeros((), np.int32)
  learned: Any = np.zeros(sampler.entries(tree), dtype)
  return to_device(SamplingState(iteration, key, table, table, table, learned), dtype)


def block_length(tree: SamplingTree, sampler: Sampler, batch: int) -> int:
  """Iterations whose random numbers are made at a time."""
  return max(16, UNIFORMS // (2 * batch * max(sampler.draws(tree), 1)))


def memory_needs(tree: SamplingTree, sampler: Sampler, batch: int, dtype: str) -> dict[str, int]:
  """Estimated bytes of a run, by what they are for.

  Args:
    tree: that is sampled.
    sampler: how.
    batch: trajectories for one update.
    dtype: of the run.
  """
  tables = 3 * tree.actions * tree.cells + sampler.entries(tree)
  types = 1 if tree.ends is None else max(player.types for player in tree.ends.public.players)
  steps = sum(max(depth.slots, 1) for depth in tree.depths) * types * (tree.actions + STEP)
  numbers = 2 * block_length(tree, sampler, batch) * sampler.draws(tree)
  size = np.dtype(dtype).itemsize
  return {
    "for regrets and averages": COPIES * tables * size,
    "for a batch of trajectories": (steps + numbers) * batch * size,
  }


def iterate(
  tree: SamplingTree,
  state: SamplingState,
  iterations: jax.Array | int,
  *,
  sampler: Sampler,
  batch: int = 1,
  plus: bool = False,
) -> SamplingState:
  """Runs Monte Carlo CFR for some iterations; `solve` is this, jitted.

  Iterations come in blocks. A block's random numbers are made at once, from the run's key and the block's
  number, so that a run in two calls equals a run in one. And within a block the strategies are
  summed up separately, because in a float32 sum over 10^7 iterations the next one would be lost to rounding.

  Args:
    tree: on the device.
    state: from `init` or an earlier call.
    iterations: how many more.
    sampler: how trajectories are sampled and what is estimated from them.
    batch: B.
    plus: regret matching plus and linear averaging; else regret matching and uniform averaging.

  Returns:
    The state `iterations` later.
  """
  dtype = state.regrets.dtype
  length = block_length(tree, sampler, batch)
  end = state.iteration + iterations
  key = jax.random.wrap_key_data(state.key, impl="threefry2x32")

  def block(state: SamplingState) -> SamplingState:
    number = state.iteration // length
    begin = number * length
    close = begin + length
    shape = (length, 2, sampler.draws(tree), batch)
    uniforms = jax.random.uniform(jax.random.fold_in(key, number), shape, dtype)
    uniforms = uniforms.reshape(-1, *shape[2:])

    def turn(n: jax.Array, tables):
      updates = sampler(tree, tables[0], tables[2], n % 2, uniforms[n])
      share = ratio(begin + n // 2 + 1, close, dtype) if plus else jnp.ones((), dtype)
      return add(tables, updates, share, sampler.decay, batch, plus)

    stop = jnp.minimum(close, end)
    tables = (state.regrets, state.recent, state.learned)
    # Turns are counted within the block: those of a whole run may be more than int32 holds.
    first, last = (2 * (t - begin) for t in (state.iteration, stop))
    regrets, recent, learned = jax.lax.fori_loop(first, last, turn, tables)
    full = stop == close
    average = jnp.where(full, merged(state.average, recent, begin, close, plus), state.average)
    recent = jnp.where(full, 0, recent)
    return SamplingState(stop, state.key, regrets, average, recent, learned)

  return jax.lax.while_loop(lambda s: s.iteration < end, block, state)


solve = jit(static_argnames=("sampler", "batch", "plus"))(iterate)


def ratio(a: jax.Array, b: jax.Array, dtype) -> jax.Array:
  """Quotient of integers, in the full precision of `dtype`."""
  return a.astype(dtype) / b.astype(dtype)


def merged(average, recent, begin, close, plus: bool) -> jax.Array:
  """Sum of strategies by the end of a block: weight 1 each, or with `plus` t / close in iteration t."""
  return average * ratio(begin, close, average.dtype) + recent if plus else average + recent


def add(tables, updates: Updates, share: jax.Array, decay: float, batch: int, plus: bool):
  """Adds a batch's estimates to the tables.

  Args:
    tables: regrets [A, S], recent sum of strategies [A, S], learned baseline.
    updates: of the sampler, for the whole batch.
    share: [], weight of this iteration in the average.
    decay: of the learned baseline.
    batch: B.
    plus: regret matching plus.

  Returns:
    The tables.
  """
  regrets, recent, learned = tables
  regrets = regrets.at[:, updates.cells].add(updates.regrets / batch)
  if plus:
    regrets = regrets.at[:, updates.cells].max(0)
  recent = recent.at[:, updates.cells].add(updates.averages * (share / batch))
  if len(learned):
    entries = updates.entries
    step = decay * updates.visits * (updates.targets - learned[entries])
    if batch > 1:  # a trajectory alone meets no entry twice
      visits = jnp.zeros_like(learned).at[entries].add(updates.visits)
      step /= jnp.maximum(visits[entries], 1)
    learned = learned.at[entries].add(step)
  return regrets, recent, learned


@jit()
def current_strategy(tree: SamplingTree, state: SamplingState) -> list[Blocks]:
  """The current strategies, [A, rows, H] for each player and block."""
  return [tuple(normalise(jnp.maximum(r, 0)) for r in blocks) for blocks in tree.blocks(state.regrets)]


@jit(static_argnames=("sampler", "batch", "plus"))
def average_strategy(
  tree: SamplingTree, state: SamplingState, *, sampler: Sampler, batch: int, plus: bool
) -> list[Blocks]:
  """The average strategies, [A, rows, H] for each player and block; uniform where nobody came."""
  total = average_total(tree, state, sampler=sampler, batch=batch, plus=plus)
  return [tuple(normalise(s) for s in blocks) for blocks in tree.blocks(total)]


def average_total(
  tree: SamplingTree, state: SamplingState, *, sampler: Sampler, batch: int = 1, plus: bool = False
) -> jax.Array:
  """The weighted sum of all strategies so far, [A, S]."""
  length = block_length(tree, sampler, batch)
  begin = state.iteration // length * length
  return merged(state.average, state.recent, begin, begin + length, plus)
