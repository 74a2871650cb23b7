"""Games for reinforcement learning: thousands at once on the device, in the shape of pgx's environments.

The tables are those of `Histories`; a step is a look-up, so that every game that can be walked can be played.
pgx: Koyamada et al. 2023, "Pgx: Hardware-Accelerated Parallel Game Simulators for Reinforcement Learning".
"""

import dataclasses
import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel

from ps_cfr_spiel.histories.histories import Histories
from ps_cfr_spiel.histories.knowledge import sequential
from ps_cfr_spiel.histories.limits import LIMIT, Limits, TooLarge, readable_bytes
from ps_cfr_spiel.histories.numbering import first_members
from ps_cfr_spiel.histories.walker import walk
from ps_cfr_spiel.tree import CHANCE, TERMINAL, Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class EnvironmentState:
  """A state of one game; `jax.vmap` gives every field a leading axis for the games.

  Attributes:
    history: int32[], its number in `Environment.histories`.
    current_player: int32[], the player to act; -1 at the end.
    observation: float32[D], that player's; player 0's at the end.
    rewards: float32[P], of the last step: the players' returns at the end, zeros before.
    terminated: bool[], whether the game is over.
    truncated: bool[], always False.
    legal_action_mask: bool[A]; all True at the end, as in pgx.
  """

  history: Array
  current_player: Array
  observation: Array
  rewards: Array
  terminated: Array
  truncated: Array
  legal_action_mask: Array


class Environment:
  """A game for `jax.jit` and `jax.vmap`; chance moves by itself.

    env = Environment(pyspiel.load_game("leduc_poker"))
    init, step = jax.jit(jax.vmap(env.init)), jax.jit(jax.vmap(env.step))
    state = init(jax.random.split(key, 4096))
    state = step(state, actions, jax.random.split(key, 4096))

  A simultaneous game is played in its turn-based version.

  Attributes:
    histories: all histories of the game.
    num_players: P.
    num_actions: A, the game's number of distinct actions.
    observation_shape: (D,), of the game's information state tensor; of its observation tensor if it has none.
  """

  def __init__(
    self, game: pyspiel.Game, limit: int = LIMIT, memory: float | None = None, progress: bool | None = None
  ):
    """Walk the game; arguments and errors as of `build_tree`.

    ValueError, too, if the game has no tensors, or tables beyond `memory`.
    """
    game, limits = sequential(game), Limits.create(limit, memory)
    read, size = _tensors(game)
    histories = walk(game, limits, progress)
    self.histories, self.num_players = histories, game.num_players()
    self.num_actions, self.observation_shape = game.num_distinct_actions(), (size,)
    rows = sum(map(len, histories.names))
    needed = 4 * rows * size + len(histories.legal_sets) * self.num_actions
    if needed > limits.memory:
      raise TooLarge(
        f"The observations of {game} need {readable_bytes(needed)}, {rows:,} of {size:,} numbers; allowed "
        f"are {readable_bytes(limits.memory)}. Play a smaller game, or raise memory."
      )
    mask = np.zeros((len(histories.legal_sets), self.num_actions), bool)
    for row, legal in zip(mask, histories.legal_sets, strict=True):
      row[[action for action in legal if action < self.num_actions]] = True  # chance may have more actions
    mask[histories.legal[histories.player == TERMINAL]] = True
    self._mask = jnp.asarray(mask)
    self._legal, self._player = jnp.asarray(histories.legal), jnp.asarray(histories.player, jnp.int32)
    others = histories.others if histories.others is not None else (-histories.utility,)
    self._returns = jnp.asarray(np.stack([histories.utility, *others], 1), jnp.float32)
    self._worst = jnp.float32(game.min_utility())
    self._observations = jnp.asarray(_observations(game, histories, read, size))
    starts = np.cumsum([0, *map(len, histories.names)])[:-1]
    self._rows = jnp.asarray(np.stack(histories.infostate, 1) + starts, jnp.int32)
    self._set_children(histories)

  def _set_children(self, histories: Histories) -> None:
    """The children of each history, side by side, with the cumulative odds among siblings."""
    children = np.argsort(histories.parent[1:], kind="stable") + 1
    parent = histories.parent[children]
    count = np.bincount(parent, minlength=len(histories.parent))
    first = np.cumsum(count) - count
    above = histories.chance[parent]
    odds = np.where(above > 0, histories.chance[children] / np.where(above > 0, above, 1), 0)
    total = np.cumsum(odds)
    before = np.concatenate([[0], total])[first[parent]]
    self._children, self._first = jnp.asarray(children, jnp.int32), jnp.asarray(first, jnp.int32)
    self._count = jnp.asarray(count, jnp.int32)
    self._cumulative = jnp.asarray(total - before, jnp.float32)
    chances = count[histories.player == CHANCE]
    self._halvings = int(chances.max(initial=1)).bit_length()
    self._random = bool((histories.player[1:] == CHANCE).any())

  def init(self, key: Array) -> EnvironmentState:
    """The first decision of a game; `key` of `jax.random` draws the deal."""
    return self.at(self._dealt(jnp.int32(0), key))

  reset = init

  def step(self, state: EnvironmentState, action: Array, key: Array | None = None) -> EnvironmentState:
    """The state after an action and the chance moves that follow.

    As in pgx an illegal action ends the game: the player gets the game's lowest utility, the others share the
    reverse. After the end nothing changes, and rewards are zero.

    Args:
      action: int[], OpenSpiel's number.
      key: of `jax.random`; only games whose chance never moves after the first decision go without.
    """
    if key is None and self._random:
      raise ValueError("step needs a key: chance moves in this game; pass one of jax.random.split.")
    here, legal = state.history, state.legal_action_mask[action]
    rank = jnp.cumsum(state.legal_action_mask)[action] - 1
    child = self._children[jnp.clip(self._first[here] + rank, 0, len(self._children) - 1)]
    after = jnp.where(jnp.logical_and(legal, ~state.terminated), child, here)
    found = self.at(after if key is None else self._dealt(after, key))
    wrong = jnp.logical_not(jnp.logical_or(state.terminated, legal))
    share = -self._worst / max(self.num_players - 1, 1)
    lost = jnp.where(jnp.arange(self.num_players) == state.current_player, self._worst, share)
    rewards = jnp.where(state.terminated, 0.0, jnp.where(wrong, lost, found.rewards))
    return dataclasses.replace(
      found,
      rewards=rewards,
      terminated=found.terminated | state.terminated | wrong,
      legal_action_mask=found.legal_action_mask | state.terminated | wrong,
      current_player=jnp.where(state.terminated | wrong, -1, found.current_player),
    )

  def observe(self, state: EnvironmentState, player: Array) -> Array:
    """float32[D]: a player's observation, acting or not."""
    return self._observations[self._rows[state.history, player]]

  def at(self, history: Array) -> EnvironmentState:
    """The state after a history of `histories`, by its number; chance must not be the next to move."""
    player, over = self._player[history], self._player[history] == TERMINAL
    return EnvironmentState(
      history=history,
      current_player=jnp.where(over, -1, player),
      observation=self._observations[self._rows[history, jnp.maximum(player, 0)]],
      rewards=jnp.where(over, self._returns[history], 0.0),
      terminated=over,
      truncated=jnp.zeros_like(over),
      legal_action_mask=self._mask[self._legal[history]],
    )

  def _dealt(self, history: Array, key: Array) -> Array:
    """The history after all chance moves that come next."""

    def draw(carry: Any) -> Any:
      history, key = carry
      key, own = jax.random.split(key)
      low = self._first[history]
      high = low + self._count[history] - 1
      point = jax.random.uniform(own) * self._cumulative[high]
      for _ in range(self._halvings):  # the first outcome whose cumulative odds exceed the point
        middle = (low + high) // 2
        beyond = self._cumulative[middle] > point
        low, high = jnp.where(beyond, low, jnp.minimum(middle + 1, high)), jnp.where(beyond, middle, high)
      return self._children[low], key

    chance = lambda carry: self._player[carry[0]] == CHANCE  # noqa: E731
    return jax.lax.while_loop(chance, draw, (history, key))[0]


def _tensors(game: pyspiel.Game) -> tuple[str, int]:
  """The method of states that gives tensors, and their length."""
  kind = game.get_type()
  if kind.provides_information_state_tensor:
    return "information_state_tensor", game.information_state_tensor_size()
  if kind.provides_observation_tensor:
    return "observation_tensor", game.observation_tensor_size()
  raise ValueError(f"{game} has no tensors for observations; give it an information state tensor.")


def _observations(game: pyspiel.Game, histories: Histories, read: str, size: int) -> np.ndarray:
  """float32[infostates of all players in turn, D]: the tensors, each of the first history that has it."""
  shown = np.flatnonzero(
    histories.player != CHANCE
  )  # at a deal, a tensor may lack entries that the same name has later
  table = np.zeros((sum(map(len, histories.names)), size), np.float32)
  starts = itertools.accumulate(map(len, histories.names), initial=0)
  for player, start in zip(histories.players, starts, strict=False):
    first = first_members(histories.infostate[player][shown], len(histories.names[player]))
    for number in np.flatnonzero(first >= 0):
      state = game.new_initial_state()
      for action in histories.path(int(shown[first[number]])):
        state.apply_action(action)
      table[start + number] = getattr(state, read)(player)
  return table
