"""The contract of a regret rule, and the parts that rules share."""

from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.arguments import check_number
from ps_cfr_spiel.tree import Array, sum_actions

BlockShape = tuple[int, int, int]


class Rule(Protocol):
  """A regret rule: a frozen dataclass (hashable, so that `jit` compiles once for each rule).

  The average weighs iteration t by t ** gamma. A rule may have further factors of this weight, in two methods
  that `Rule` does not ask for:

  - `schedule(t, dtype)`, [], which may also depend on the planned length of the run, a field of the rule, and
    is 0 in iterations that the average leaves out. It must not grow with t as a power does: that is gamma's.
  - `trust(regret, t)`, [1, rows, H], a weight for each infostate, from the arguments of `update`.

  A rule's class declares in its own body the shortcuts that a solver may take past `update`. A class that
  derives from such a rule does not inherit them, and runs by its own methods:

  - `native`, the number of its formula in `learn.cc`: all of `init`, `update` and `numbers(t, dtype)` compute
    it, and it has no `trust`; one pass in C++ then does the whole turn;
  - `narrow` and `widen`: its state and strategy fit into 16 bits (see `sixteen_bits`);
  - `floor`: it is regret matching with regrets kept above this number, so samplers add regrets up themselves;
    those of iteration t count `t ** power`, 0 or 1.

  The solver guarantees:

  - regrets include chance and the opponent's reach, are in the game's utility, and are not normalised; they
    are zero where the opponent never comes;
  - with alternating updates (the default) player 1's regrets are against player 0's newest strategy,
    otherwise both are against the old ones;
  - every action of a row is legal: there is no padding and no mask;
  - it keeps the average strategy, the reach-weighted sum of strategies, compensated so that float32 runs do
    not lose late iterations.
  """

  @property
  def gamma(self) -> float:
    """Iteration t enters the average strategy with weight t ** gamma, times the factors above."""
    ...

  def init(self, shape: BlockShape, dtype: Any) -> Any:
    """The state before the first iteration: any pytree of NumPy arrays [n, rows, H].

    `shape` is (A, rows, H); every (row, type) is a decision of its own. The loop puts rows together and takes
    them apart again (`PlayerTree.join`), so every array of a state has its rows on axis 1.
    """
    ...

  def update(self, state: Any, strategy: Array, regret: Array, t: Array) -> tuple[Any, Array]:
    """One iteration, in pure JAX with static shapes; nothing may depend on the values of `state` or `t`.

    It is given all rows with the same number of actions at once, and treats each (row, type) on its own.

    Args:
      state: of `init` or of the last update.
      strategy: [A, rows, H], the sigma that the rule returned last, uniform at first.
      regret: [A, rows, H], the instantaneous counterfactual regret q(a) - sum_b sigma(b) q(b).
      t: int32[], the iteration: 1, 2, ...

    Returns:
      The new state, and the next strategy [A, rows, H]: not negative, summing to one over A. `normalise`
      makes it sum to one, and uniform where all is zero.
    """
    ...


def normalise(weights: Array) -> Array:
  """Non-negative weights [A, rows, H] scaled to sum to one over A; uniform where all are zero.

  NaN propagates, so that a diverged run is detected. NumPy's arrays stay NumPy's.
  """
  here: Any = np if isinstance(weights, np.ndarray) else jnp
  if here is jnp:
    # Else XLA's CPU backend computes the weights anew for each action that it adds up.
    weights = jax.lax.optimization_barrier(weights)
  total = sum_actions(weights)
  nothing = total < np.finfo(total.dtype).tiny
  scale = 1 / here.where(nothing, 1, total)
  return here.where(nothing, 1 / weights.shape[0], weights * scale)


def positive_part(x: Array) -> Array:
  """max(x, 0)."""
  return jnp.maximum(x, 0)


def check_numbers(rule: Any, **bounds: tuple[float, float]) -> None:
  """Raise ValueError unless every named field of the rule is a number within its bounds."""
  for name, (low, high) in bounds.items():
    check_number(f"{type(rule).__name__}: {name}", getattr(rule, name), low, high)
