"""The Monte Carlo loop on a played game: play, learn, and once more.

As `mccfr.loop`, on flat tables. An iteration lets each player in turn be the traverser of B trajectories
under one strategy profile, and then adds their lessons to the tables, all at once.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.device import jit, to_device
from ps_cfr_spiel.playing.played_game import PlayedGame
from ps_cfr_spiel.playing.trajectories import Lessons, Trajectories, table_size

MILLION = 1_000_000


class PlayingState(NamedTuple):
  """All that a run remembers; tables are [S].

  Attributes:
    iteration: int32[], iterations done.
    key: uint32[2], of the run's random numbers; it never changes.
    regrets: cumulative, never negative (regret matching plus).
    average: sum of policies, iteration t with weight t.
    learned: the learned values of moves.
    nodes: int32[2], decisions of players met so far: the millions, and the rest.
  """

  iteration: jax.Array
  key: jax.Array
  regrets: jax.Array
  average: jax.Array
  learned: jax.Array
  nodes: jax.Array


def init(game: PlayedGame, seed: int, dtype: str) -> PlayingState:
  """The state before the first iteration."""
  table: Any = np.zeros(table_size(game), dtype)
  key: Any = np.asarray(jax.random.key_data(jax.random.key(seed, impl="threefry2x32")))
  iteration: Any = np.zeros((), np.int32)
  nodes: Any = np.zeros(2, np.int32)
  return to_device(PlayingState(iteration, key, table, table, table, nodes), dtype)


@jit(static_argnames=("sampler", "batch", "decay"))
def solve(
  game: PlayedGame,
  state: PlayingState,
  iterations: jax.Array | int,
  *,
  sampler: Trajectories,
  batch: int,
  decay: float,
) -> PlayingState:
  """Runs some iterations; in parts or at once, the result is the same.

  Args:
    game: on the device.
    state: from `init` or an earlier call.
    iterations: how many more.
    sampler: how trajectories are sampled and read.
    batch: B.
    decay: weight of the newest value in a learned one, in (0, 1].

  Returns:
    The state `iterations` later.
  """
  key = jax.random.wrap_key_data(state.key, impl="threefry2x32")

  def turn(number: jax.Array, state: PlayingState) -> PlayingState:
    own = jax.random.fold_in(key, number)
    lessons = sampler(game, state.regrets, state.learned, number % 2, own, batch)
    return learn(state, lessons, number // 2 + 1, batch, decay)

  end = state.iteration + iterations
  state = jax.lax.fori_loop(2 * state.iteration, 2 * end, turn, state)
  return state._replace(iteration=end)


def learn(
  state: PlayingState, lessons: Lessons, iteration: jax.Array, batch: int, decay: float
) -> PlayingState:
  """Adds a batch's lessons to the tables.

  Values that several trajectories brought to one cell count as if they had come one after the other, each
  being their mean: a cell that n of them passed moves by 1 - (1 - decay)^n of the way.
  """
  visits = lessons.visits
  mean = lessons.values / jnp.maximum(visits, 1)
  step = 1 - (1 - decay) ** visits
  rest = state.nodes[1] + visits.sum().astype(jnp.int32)
  share = iteration.astype(visits.dtype) / batch
  return state._replace(
    regrets=jnp.maximum(state.regrets + lessons.regrets / batch, 0),
    average=state.average + lessons.policies * share,
    learned=state.learned + step * (mean - state.learned),
    nodes=jnp.stack([state.nodes[0] + rest // MILLION, rest % MILLION]),
  )
