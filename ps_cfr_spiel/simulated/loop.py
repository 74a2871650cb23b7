"""The Monte Carlo loop on a played game: sample, learn, and once more.

As `mccfr.loop`, on flat tables. An iteration lets each player in turn be the traverser of B plays, or of B
traversals; the sampler says what they add to the tables.
"""

from typing import Any, NamedTuple

import jax
import numpy as np

from ps_cfr_spiel.device import jit, to_device
from ps_cfr_spiel.simulated.played_game import PlayedGame
from ps_cfr_spiel.simulated.samplers import Sampler, add_counts, table_size


class PlayingState(NamedTuple):
  """All that a run remembers.

  Attributes:
    iteration: int32[], iterations done.
    key: uint32[2], of the run's random numbers; it never changes.
    tables: the sampler's, [S] each.
    value: [], the mean of all iterations of `Found.value`.
    nodes, skipped: int32[2] each, sums of those of `Found`.
    stopped: bool[], whether a limit was reached.
  """

  iteration: jax.Array
  key: jax.Array
  tables: Any
  value: jax.Array
  nodes: jax.Array
  skipped: jax.Array
  stopped: jax.Array


def init(game: PlayedGame, sampler: Sampler, seed: int, dtype: str) -> PlayingState:
  """The state before the first iteration."""
  tables = sampler.tables(np.zeros(table_size(game), dtype))
  key = np.asarray(jax.random.key_data(jax.random.key(seed, impl="threefry2x32")))
  none, nothing = np.zeros(2, np.int32), np.zeros((), dtype)
  state: Any = (np.zeros((), np.int32), key, tables, nothing, none, none, np.zeros((), bool))
  return to_device(PlayingState(*state), dtype)


@jit(static_argnames=("sampler", "batch"))
def solve(
  game: PlayedGame,
  state: PlayingState,
  iterations: jax.Array | int,
  fixed: jax.Array | None = None,
  *,
  sampler: Sampler,
  batch: int,
) -> PlayingState:
  """Runs some iterations; in parts or at once, the result is the same.

  Args:
    game: on the device.
    state: from `init` or an earlier call.
    iterations: how many more.
    fixed: [S], by which a fixed opponent plays, if there is one; see `Sampler`.
    sampler: how the game is sampled and learned from.
    batch: B.

  Returns:
    The state `iterations` later; if its `stopped` is set, numbers that are of no use.
  """
  key = jax.random.wrap_key_data(state.key, impl="threefry2x32")

  def turn(number: jax.Array, state: PlayingState) -> PlayingState:
    own = jax.random.fold_in(key, number)
    found = sampler(game, state.tables, fixed, number % 2, number // 2 + 1, own, batch)
    return state._replace(
      tables=found.tables,
      value=state.value + (found.value - state.value) / (number + 1).astype(found.value.dtype),
      nodes=add_counts(state.nodes, found.nodes),
      skipped=add_counts(state.skipped, found.skipped),
      stopped=state.stopped | found.stopped,
    )

  end = state.iteration + iterations
  state = jax.lax.fori_loop(2 * state.iteration, 2 * end, turn, state)
  return state._replace(iteration=end)
