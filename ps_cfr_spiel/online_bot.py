"""A player of matches by online outcome sampling."""

from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
import pyspiel

from ps_cfr_spiel.aimed_runs import advance, average, begin
from ps_cfr_spiel.compilation import jit
from ps_cfr_spiel.policy import check_turn
from ps_cfr_spiel.precision import precision

if TYPE_CHECKING:
  from ps_cfr_spiel.online_sampling import OnlineOutcomeSampling

_begin = jit()(begin)


@jit(static_argnames="sampler")
def _play(situation, state, cell, iterations, *, sampler):
  """A run some iterations on, and what it then says of its target, [A]."""
  state = advance(situation, state, cell, iterations, sampler=sampler)
  return state, average(situation.tree, state, sampler)[:, cell]


class OnlineOutcomeSamplingBot(pyspiel.Bot):
  """Plays matches by online outcome sampling; made by `OnlineOutcomeSampling.bot`."""

  def __init__(self, method: "OnlineOutcomeSampling", player: int, seed: int, keep_tables: bool):
    """See `OnlineOutcomeSampling.bot`."""
    super().__init__()
    self._method, self._player, self._seed, self._keep = method, player, seed, keep_tables
    self._rng = np.random.default_rng(seed)
    self._match, self._tables = 0, None

  def get_policy(self, state: pyspiel.State) -> list[tuple[int, float]]:
    """Runs at the player's infostate; what it then plays there. Tables that are kept are run on."""
    check_turn(state, self._player)
    method = self._method
    cell = method._cell(self._player, state.information_state_string(self._player))
    with precision(method.dtype):
      if self._tables is None or not self._keep:
        self._tables = _begin(method._situation, method._empty(self._seed, self._match), jnp.int32(cell))
      self._tables, column = _play(
        method._situation, self._tables, jnp.int32(cell), method.iterations, sampler=method.sampler
      )
    return list(method._named(cell, column).items())

  def step_with_policy(self, state: pyspiel.State) -> tuple[list[tuple[int, float]], int]:
    """Runs at the player's infostate; what it then plays there, and the move drawn from it."""
    policy = self.get_policy(state)
    moves, probabilities = zip(*policy, strict=True)
    return policy, int(self._rng.choice(moves, p=probabilities))

  def step(self, state: pyspiel.State) -> int:
    """Runs at the player's infostate and returns the move."""
    return self.step_with_policy(state)[1]

  def provides_policy(self) -> bool:
    """Always."""
    return True

  def restart(self) -> None:
    """Forgets the match."""
    self._match, self._tables = self._match + 1, None

  def restart_at(self, state: pyspiel.State) -> None:
    """Forgets the match; the next move needs nothing but its state."""
    self.restart()

  def inform_action(self, state: pyspiel.State, player: int, action: int) -> None:
    """Does nothing: no time is spent on the opponent's turn."""
