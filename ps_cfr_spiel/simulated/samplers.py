"""What a sampler of a played game is, and what it hands to the loop."""

from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp

from ps_cfr_spiel.simulated.played_game import PlayedGame

MILLION = 1_000_000


class Found(NamedTuple):
  """What the turn of one traverser brought.

  Attributes:
    tables: the sampler's, brought up to date.
    value: [], mean of what the B plays or traversals brought to player 0, or to the traverser where the
      opponent is fixed.
    nodes: int32[2], decisions of players that were met: the millions, and the rest.
    skipped: int32[2], moves that were pruned, likewise.
    stopped: bool[], whether a limit was reached and the turn was given up.
  """

  tables: Any
  value: jax.Array
  nodes: jax.Array
  skipped: jax.Array
  stopped: jax.Array


class Sampler(Protocol):
  """How a game is sampled and learned from: a frozen dataclass (hashable)."""

  def tables(self, zeros: Any) -> Any:
    """The tables before the first iteration, a NamedTuple with a field `average`; `zeros` is an empty one."""
    ...

  def __call__(
    self,
    game: PlayedGame,
    tables: Any,
    fixed: jax.Array | None,
    traverser: jax.Array,
    iteration: jax.Array,
    key: jax.Array,
    batch: int,
  ) -> Found:
    """The turn of int32[] `traverser`; pure JAX. Iterations are numbered from 1.

    Of a `fixed` opponent, who plays by these weights of moves [S] in every turn, nothing is learned: the
    average is then of the traverser's policies, a best response in the making.
    """
    ...


def add_counts(first: jax.Array, second: jax.Array) -> jax.Array:
  """The sum of two numbers, int32[2] each: the millions, and the rest."""
  millions, rest = first + second
  return jnp.stack([millions + rest // MILLION, rest % MILLION])


def table_size(game: PlayedGame) -> int:
  """The length of tables: the game's cells, and as many more as make the last window fit."""
  return game.cells + max(game.widths) - 1
