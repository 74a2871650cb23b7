"""The contract of a game that is simulated rather than enumerated."""

from typing import Any, Protocol

import jax
import pyspiel

CHANCE, TERMINAL = int(pyspiel.PlayerId.CHANCE), int(pyspiel.PlayerId.TERMINAL)


class SimulatedGame(Protocol):
  """B plays of a two-player zero-sum game side by side: a pytree whose methods are pure JAX.

  Nothing here depends on the number of histories or infostates. Strategies are kept in flat tables with
  a *cell* for every legal move of every *key*, the moves of one key next to each other. A player's choice may
  depend on the key: the infostate, or less. With less (an abstraction that forgets) no bound on
  exploitability holds. The moves of a key are numbered from 0, independent of the game's action numbers.

  Attributes:
    cells: the number of cells.
    widths: most moves at successive nodes of a play, which repeat: (192, 2) stands for 192, 2, 192, 2, ...
    longest: most nodes of a play before its end.
  """

  @property
  def cells(self) -> int: ...

  @property
  def widths(self) -> tuple[int, ...]: ...

  @property
  def longest(self) -> int: ...

  def deal(self, key: jax.Array, batch: int) -> Any:
    """The first state of `batch` plays, a pytree of arrays [..., B], with random numbers from a JAX key."""
    ...

  def actor(self, state: Any) -> jax.Array:
    """int32[B], the player to move, 0 or 1, `CHANCE` or `TERMINAL`."""
    ...

  def decision(self, state: Any) -> tuple[jax.Array, jax.Array]:
    """int32[B] first cell of the actor's key, and its number of moves; anything where no player acts."""
    ...

  def chance(self, state: Any, uniform: jax.Array) -> jax.Array:
    """int32[B], chance's moves by uniform numbers [B]; anything where chance does not act."""
    ...

  def step(self, state: Any, move: jax.Array) -> Any:
    """The states after one move each, int32[B]; a play that is over stays as it is."""
    ...

  def utility(self, state: Any) -> jax.Array:
    """[B] to player 0; anything before the end."""
    ...

  def full(self, state: Any) -> jax.Array:
    """bool[], whether a key found no place in the tables, so that the play changes nothing."""
    ...

  def locate(self, state: pyspiel.State) -> tuple[int, list[int]]:
    """On the host: the first cell of the player to move, and the actions of the cells from there on."""
    ...
