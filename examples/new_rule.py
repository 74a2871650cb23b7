"""A new regret rule: polynomial regret matching (Hart and Mas-Colell 2001; Greenwald, Li and Marks 2006)."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pyspiel

import ps_cfr_spiel
from ps_cfr_spiel.cfr import normalise, positive_part


@dataclasses.dataclass(frozen=True)
class PolynomialRM(ps_cfr_spiel.rules.Rule):
  """R <- R + x; strategy proportional to max(R, 0) ** (p - 1). With p = 2 it is plain regret matching.

  Attributes:
    p: degree, above 1.
    gamma: iteration t enters the average strategy with weight t ** gamma.
  """

  p: float = 2.5
  gamma: float = 0.0

  def init(self, shape, dtype):
    """State: R, an array of `shape`, (A, rows, H)."""
    return np.zeros(shape, dtype)

  def update(self, state, strategy, regret, t):
    """The state after iteration t and the next strategy; `regret` and both are [A, rows, H]."""
    total = state + regret
    positive = positive_part(total)
    largest = positive.max(0, keepdims=True)  # powers of numbers up to 1: nothing overflows
    return total, normalise((positive / jnp.where(largest > 0, largest, 1)) ** (self.p - 1))


if __name__ == "__main__":
  solver = ps_cfr_spiel.PSCFRSolver(pyspiel.load_game("leduc_poker"), PolynomialRM())
  solver.run(1000)
  print(f"exploitability {solver.exploitability():.4f}")
