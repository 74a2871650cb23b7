"""The contracts of a game too large to enumerate: keys of strategies, and hidden states.

OpenSpiel's states are the simulator. A game's method `keyed_form()` returns an object of a class that derives
from `KeyedGame`; a faster form of the states that a player holds possible derives from `HiddenStates`.
"""

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
import pyspiel

from ps_cfr_spiel.arguments import JSON

Cells = slice | np.ndarray  #: an index of tables by cell
Weighted = tuple[np.ndarray, np.ndarray]  #: hidden states [n, ...] and their weights float64[n]
Thin = Callable[[np.ndarray, np.ndarray], Weighted]


class HiddenStates(abc.ABC):
  """The functions of a game on states that a player cannot distinguish."""

  @abc.abstractmethod
  def seen(self, state: pyspiel.State, player: int) -> list:
    """The observations of the player up to one of their decisions, in order; they compare by `==`."""

  @abc.abstractmethod
  def begin(self, seen: Any) -> Weighted:
    """The hidden states after the first observation."""

  @abc.abstractmethod
  def step(self, hidden: np.ndarray, weights: np.ndarray, player: int, seen: Any, thin: Thin) -> Weighted:
    """The hidden states after a further observation of the player: successors that fit it.

    A step of several moves may `thin` in between.
    """

  @abc.abstractmethod
  def rollouts(
    self,
    state: pyspiel.State,
    player: int,
    hidden: np.ndarray,
    actions: np.ndarray,
    random: np.random.Generator,
  ) -> np.ndarray:
    """float64[B], the player's returns of plays by the policy from hidden states [B, ...] after int[B]
    actions.

    `state` is a state that the player cannot distinguish from them.
    """


class KeyedGame(abc.ABC):
  """A zero-sum game that is played, not enumerated, and the keys of its strategies.

  Nothing here depends on the number of histories or infostates. Strategies are kept in flat tables with a
  *cell* for every legal move of every *key*. A player's choice may depend on the key: the infostate, or less.
  With less (an abstraction that forgets), or with more than two players, no bound on exploitability holds.
  Fixed opponents are for two players.

  A game that is learned by plays of its states has cells of a key next to each other. A game with native code
  has `traverse` too. In JAX's traces a game is static: compiled code is kept for each that is not equal to
  others.
  """

  game: pyspiel.Game  #: whose states are played
  key: str  #: the name of the kind of keys
  cells: int  #: S, the number of cells

  def __init_subclass__(cls, **keywords: object):
    super().__init_subclass__(**keywords)
    jax.tree_util.register_static(cls)

  @property
  def players(self) -> int:
    """The number of players."""
    return self.game.num_players()

  @abc.abstractmethod
  def locate(self, state: pyspiel.State) -> tuple[Cells, list[int]]:
    """The cells of the player to move, an index of tables, and the action of each.

    The index is empty if the key has no cells (`visit`).
    """

  def visit(self, state: pyspiel.State) -> tuple[slice, list[int]]:
    """The same in a play from which tables learn: there a key may get its cells, next to each other.

    Raises:
      OverflowError: all cells are in use.
      ValueError: the states with this key have other legal moves, or another player acts there.
    """
    cells, actions = self.locate(state)
    if not isinstance(cells, slice):
      raise ValueError(
        f"{self.game} by {self.key}s is not played: cells of a key are not next to each other."
      )
    return cells, actions

  def hands_at(self, state: pyspiel.State) -> tuple[np.ndarray, np.ndarray] | None:
    """The cells of all hands of two cards of the player to move; None where keys do not say which they are.

    Returns:
      int[A, H], the cells of H hands, and int[H], their numbers in `poker.cards.ALL_HANDS`; others have no
      cells.
    """
    return None

  def hands_on_boards(
    self, state: pyspiel.State, last: Sequence[int]
  ) -> tuple[np.ndarray, np.ndarray] | None:
    """Those on n boards at once, int[A, n, H] and int[H]; None where the hands with cells may differ.

    `last` are chance's actions: each board ends with one of them in place of the last public card.
    """
    return None

  def why_not_native(self) -> str:
    """The reason why the game cannot traverse itself (`traverse`), "" if it can."""
    return "it has no native code for that"

  def traverse(
    self,
    tables: tuple[jax.Array | np.ndarray, ...],
    average: jax.Array | np.ndarray,
    fixed: jax.Array | None,
    traverser: jax.Array,
    weight: jax.Array | np.ndarray,
    decay: jax.Array,
    key: jax.Array,
    batch: int,
    options: dict[str, float],
  ) -> tuple[tuple[jax.Array, ...], jax.Array, jax.Array]:
    """Deal `batch` games by a JAX key and traverse one after the other, learning after each; pure JAX.

    Args:
      tables: regrets, the average's compensation (see `cfr.averages`), learned values, visits and skipped
        moves, as in `keyed.KeyTables`: [S] each, or [0].
      average: [S], the average itself.
      fixed: [S], weights of the opponent's moves, or None if that learns too; for plays alone.
      traverser: int32[], the player who learns.
      weight: [], the weight of this iteration in sums.
      decay: [], the weight of the newest value in a running mean.
      key: of the random numbers.
      batch: B, the number of games.
      options: of the sampler, by name; see `keyed.Plays` and `keyed.Traversals`.

    Returns:
      The tables brought up to date; [B] values to the traverser; int32[5]: decisions met and moves skipped,
      in millions and the rest each, and whether a traversal was given up.
    """
    raise NotImplementedError(f"{type(self).__name__} has no native code: {self.why_not_native()}.")

  def hidden_states(self, table: np.ndarray, tremble: float) -> HiddenStates | None:
    """The hidden states of a player, where all play by a table's strategy; None: histories show it.

    Args:
      table: [S], weights of moves by cell.
      tremble: share of uniform play that is mixed into the others' strategy.
    """
    return None

  def shared(self, other: "KeyedGame") -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """The keys that two games have in common, None if their keys cannot be compared.

    Returns:
      int[n] each, for n keys: their first cells in this game, in the other, and how many moves they share.
    """
    return None

  def arrays(self) -> dict[str, np.ndarray]:
    """The arrays that a file needs beside the tables, by name, to make the same keys again."""
    return {}

  def fields(self) -> dict[str, JSON]:
    """The fields of a file's header that it needs beside the game to make the same keys again."""
    return {"key": self.key}

  def relative(self, table: Any) -> dict[str, np.ndarray]:
    """The strategy in a table of sums as arrays for a file, by name: shares of each key's largest sum.

    ValueError for a game that cannot list its keys.
    """
    if (shared := self.shared(self)) is None:
      raise ValueError(f"{self.game} by {self.key}s does not list its keys; save the solver's run instead.")
    first, _, moves = shared
    key = np.repeat(np.arange(len(moves)), moves)
    cells = first[key] + np.arange(len(key)) - (moves.cumsum() - moves)[key]
    sums, most, whole = np.maximum(table[: self.cells], 0), np.zeros(len(moves)), np.zeros(self.cells)
    np.maximum.at(most, key, sums[cells])
    whole[cells] = sums[cells] / np.where(most > 0, most, 1)[key]
    return {"strategy": whole}

  def table_of(self, arrays: Mapping[str, np.ndarray]) -> Any:
    """A table of sums from the arrays of `relative`; errors of value or key if they do not fit."""
    return fitting(arrays["strategy"], (self.cells,))


def fitting(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
  """float32[shape]: an array of a file; ValueError if it has another shape."""
  if array.shape != shape:
    raise ValueError(f"its strategy has the shape {list(array.shape)}, expected {list(shape)}")
  return array.astype(np.float32)
