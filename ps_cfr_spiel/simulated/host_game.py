"""Any OpenSpiel game as a simulated one: its own states, on the host, a batch at once.

The device calls back for every move of a batch, so a play is as slow as OpenSpiel's states. Keys get their
cells at their first visit, until the tables are full; the table keeps a digest of 16 bytes of each key.
"""

import functools
import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
from jax.experimental import io_callback

from ps_cfr_spiel.arguments import check_count, check_option
from ps_cfr_spiel.histories import check_is_game, check_observer, scale_fault
from ps_cfr_spiel.options import KEYS
from ps_cfr_spiel.simulated.simulated_game import CHANCE, TERMINAL, SimulatedGame

DIGEST = 16  # bytes of a key
CELLS = 1_000_000


class Plays(NamedTuple):
  """The positions of B plays; the states themselves are the host's."""

  moves: jax.Array  #: int32[], the number of moves so far, which identifies the host's states
  #: actor, first, count: int32[B], see `SimulatedGame`.
  actor: jax.Array
  first: jax.Array
  count: jax.Array
  utility: jax.Array  #: [B], to player 0, in the dtype of the run
  full: jax.Array  #: bool[], whether a key found no place


def check_keys(saved: Sequence[np.ndarray]) -> None:
  """ValueError if these cannot be the arrays of a table of keys; see `KeyTable.arrays`."""
  arrays = list(saved) if isinstance(saved, Sequence) else []
  if [type(array) for array in arrays] == [np.ndarray] * 3:
    digests, players, counts = arrays
    kinds = digests.dtype == np.uint8 and all(
      np.issubdtype(x.dtype, np.integer) and x.shape == digests.shape[:1] for x in (players, counts)
    )
    if kinds and digests.shape[1:] == (DIGEST,) and np.isin(players, (0, 1)).all() and (counts >= 1).all():
      return
  raise ValueError(
    f"keys: expected those of an earlier run: digests uint8[n, {DIGEST}], players 0 or 1, and numbers of "
    f"moves of at least 1, int[n] each."
  )


class KeyTable:
  """The cells of keys, in the order in which they were met."""

  def __init__(self, cells: int, saved: Sequence[np.ndarray] | None = None):
    """An empty table, or that of `arrays`: OverflowError if that has more cells, ValueError for others."""
    self.cells = cells  #: the most cells
    self.used = 0  #: the number of cells in use
    #: player, first cell and number of moves of each key, by digest.
    self.known: dict[bytes, tuple[int, int, int]] = {}
    if saved is not None:
      check_keys(saved)
      digests, players, counts = saved
      for digest, player, count in zip(digests, players.tolist(), counts.tolist(), strict=True):
        self.add(digest.tobytes(), player, count)

  def add(self, digest: bytes, player: int, count: int) -> tuple[int, int, int]:
    """A new key; OverflowError if its moves find no place."""
    if self.used + count > self.cells:
      raise OverflowError(
        f"The tables are full: {len(self.known):,} keys have {self.used:,} of {self.cells:,} cells, and one "
        f"with {count} moves came. The run is unchanged; start a new one with a larger cells=."
      )
    entry = self.known[digest] = player, self.used, count
    self.used += count
    return entry

  def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """uint8[n, DIGEST] digests, int32[n] players and int32[n] numbers of moves."""
    digests = np.frombuffer(b"".join(self.known), np.uint8).reshape(-1, DIGEST)
    rows = np.array(list(self.known.values()), np.int32).reshape(-1, 3)
    return digests, rows[:, 0], rows[:, 2]


@jax.tree_util.register_static
class HostGame(SimulatedGame):
  """A game of OpenSpiel as a simulated one; plays go one way, so a state is stepped once."""

  def __init__(
    self,
    game: pyspiel.Game,
    key: str = "infostate",
    cells: int = CELLS,
    saved: Sequence[np.ndarray] | None = None,
  ):
    """Nothing is played yet; `saved` are the arrays of a table of keys.

    The `key` is "infostate", or "observation", which forgets the past where observations do. ValueError if
    the game is not of two players, zero-sum and sequential, or has no strings to be keys, or utilities out of
    range; or `saved` holds no keys, or too many. TypeError if `game` is not a game.
    """
    check_is_game(game)
    kind = game.get_type()
    self.key = check_option("key", key, KEYS)
    needs = {
      "two players": game.num_players() == 2,
      "utilities that sum to zero": kind.utility == pyspiel.GameType.Utility.ZERO_SUM,
      "players who move one after the other": kind.dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL,
      "information state strings": key != "infostate" or kind.provides_information_state_string,
      "observation strings": key != "observation" or kind.provides_observation_string,
    }
    if missing := [need for need, met in needs.items() if not met]:
      raise ValueError(
        f"{game} cannot be played here: it has no {' and no '.join(missing)}. PSCFRSolver (solve) takes any "
        f"number of players and any utilities."
      )
    if fault := scale_fault(max(abs(game.min_utility()), abs(game.max_utility()))):
      raise ValueError(f"{game} cannot be played here: {fault}")
    try:
      self.game, self.table = game, KeyTable(check_count("cells", cells, 1), saved)
    except OverflowError as error:
      raise ValueError(f"cells={cells} are fewer than the keys of that run have. {error}") from error
    #: the reason for which no play goes on, or None; the solver reports and clears it.
    self.error: Exception | None = None
    self._states: list[pyspiel.State] = []
    self._moves = 0

  @property
  def cells(self) -> int:
    return self.table.cells

  @property
  def widths(self) -> tuple[int, ...]:
    """Every node may have any action."""
    return (max(self.game.num_distinct_actions(), 1),)  # 0 where only chance moves

  @property
  def longest(self) -> int:
    """Nodes of players and of chance."""
    return self.game.max_game_length() + self.game.max_chance_nodes_in_history()

  def deal(self, key: jax.Array, batch: int) -> Plays:
    """The states before chance's first move."""
    return self._called(self._begin, batch, jnp.zeros(batch, jnp.int32))

  def actor(self, state: Plays) -> jax.Array:
    return state.actor

  def decision(self, state: Plays) -> tuple[jax.Array, jax.Array]:
    return state.first, state.count

  def chance(self, state: Plays, uniform: jax.Array) -> jax.Array:
    return io_callback(self._chance, jax.ShapeDtypeStruct(uniform.shape, jnp.int32), state.moves, uniform)

  def step(self, state: Plays, move: jax.Array) -> Plays:
    return self._called(self._step, len(move), state.moves, move)

  def utility(self, state: Plays) -> jax.Array:
    return state.utility

  def full(self, state: Plays) -> jax.Array:
    return state.full

  def locate(self, state: pyspiel.State) -> tuple[int, list[int]]:
    """The first cell and the actions; a key that was never met has its cells behind all others."""
    known = self.table.known.get(self._digest(state))
    return (self.cells if known is None else known[1]), state.legal_actions()

  def _called(self, function: Any, batch: int, *operands: jax.Array) -> Plays:
    number, numbers, utility = jnp.int32(0), jnp.zeros(batch, jnp.int32), jnp.zeros(batch)
    plays = Plays(number, numbers, numbers, numbers, utility, jnp.bool_(False))
    like = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), plays)
    return io_callback(functools.partial(function, utility.dtype), like, *operands)

  def _begin(self, dtype: np.dtype, columns: Any) -> Plays:
    self._moves = 0
    self._states = [self.game.new_initial_state() for _ in np.asarray(columns)]
    return self._described(dtype)

  def _chance(self, moves: Any, uniform: Any) -> np.ndarray:
    self._check(moves)
    moves_drawn = np.zeros(len(self._states), np.int32)
    for column, (state, number) in enumerate(zip(self._states, np.asarray(uniform), strict=True)):
      if state.is_chance_node():
        sums = np.cumsum([probability for _, probability in state.chance_outcomes()])
        moves_drawn[column] = min(np.searchsorted(sums, number * sums[-1], "right"), len(sums) - 1)
    return moves_drawn

  def _step(self, dtype: np.dtype, moves: Any, move: Any) -> Plays:
    self._check(moves)
    for state, number in zip(self._states, np.asarray(move).tolist(), strict=True):
      if state.is_chance_node():
        state.apply_action(state.chance_outcomes()[number][0])
      elif not (state.is_terminal() or self.error):
        state.apply_action(state.legal_actions()[number])
    self._moves += 1
    return self._described(dtype)

  def _check(self, moves: Any) -> None:
    if int(moves) != self._moves:
      raise RuntimeError(
        f"{self.game}: a state after {int(moves)} moves, but the plays are at {self._moves}."
      )

  def _described(self, dtype: np.dtype) -> Plays:
    actor, first, count = (np.zeros(len(self._states), np.int32) for _ in range(3))
    utility = np.zeros(len(self._states))
    for column, state in enumerate(self._states):
      if state.is_terminal() or self.error:
        actor[column] = TERMINAL
        utility[column] = state.player_return(0) if state.is_terminal() else 0
      elif state.is_chance_node():
        actor[column] = CHANCE
      else:
        actor[column] = state.current_player()
        try:
          _, first[column], count[column] = self._met(state)
        except (OverflowError, ValueError) as error:  # the solver reports it and restores its state
          self.error, actor[column] = error, TERMINAL
    full, utilities = np.bool_(self.error is not None), utility.astype(dtype)
    return Plays(np.int32(self._moves), actor, first, count, utilities, full)  # pyright: ignore

  def _met(self, state: pyspiel.State) -> tuple[int, int, int]:
    """The entry of the key at a decision; OverflowError or ValueError if it cannot have one."""
    digest, player, count = self._digest(state), state.current_player(), len(state.legal_actions())
    known = self.table.known.get(digest)
    if known is None:
      return self.table.add(digest, player, count)
    if known[0] != player:
      raise ValueError(f"{self.game}: both players have the {self.key} {self._string(state)!r}.")
    if known[2] != count:
      raise ValueError(
        f"{self.game}: {known[2]} moves and {count} moves are legal at the same {self.key} "
        f"{self._string(state)!r}; it is no key to choose by."
      )
    return known

  def _string(self, state: pyspiel.State) -> str:
    try:
      if self.key == "observation":
        return state.observation_string(state.current_player())
      return state.information_state_string(state.current_player())
    except AttributeError as error:
      check_observer(self.game, error)
      raise

  def _digest(self, state: pyspiel.State) -> bytes:
    return hashlib.blake2b(self._string(state).encode(), digest_size=DIGEST).digest()
