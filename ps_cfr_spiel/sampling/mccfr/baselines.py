"""Baselines: guesses at the values of the moves that a trajectory did not take (Schmid 2021, Section 17.8).

Values of all kinds are utilities to player 0; the game is zero-sum, so player 1's baselines are their
negatives. A baseline is a small frozen dataclass: which moves it guesses, and how it learns. The sampler
keeps the guesses.
"""

import dataclasses
from typing import ClassVar

from ps_cfr_spiel.arguments import check_number


class Baseline:
  """A baseline: a frozen dataclass (hashable, as part of a sampler).

  Importance sampling corrects the sampled move, so that the estimates are unbiased: a bad baseline costs only
  variance.

  Attributes:
    name: as users write it.
    oracle: whether it reads the exact values of all nodes, rather than a table that is learned.
    decisions: whether it applies to the moves of players.
    outcomes: whether it applies to the moves of chance.
    decay: weight of the newest value in a learned table, from 0 to 1.
  """

  name: ClassVar[str]
  oracle: ClassVar[bool] = False
  decisions: ClassVar[bool] = True
  decay: float = 0.0

  @property
  def outcomes(self) -> bool:
    return self.decisions


@dataclasses.dataclass(frozen=True)
class ZeroBaseline(Baseline):
  """No guess: outcome sampling (Lanctot et al. 2009; Schmid 2021, Section 17.7.1)."""

  name = "zero"
  decisions = False


@dataclasses.dataclass(frozen=True)
class LearnedBaseline(Baseline):
  """The values that were sampled after a move, averaged with exponentially decaying weight.

  b(s, a) <- (1 - decay) b(s, a) + decay v(ha|z), with v the bootstrapped value of eq. 17.17: for
  decisions an entry for each infostate and action, for chance an entry for each history (chance sees all).
  Where a batch meets an entry several times, v is the mean over these times: the sum of
  their steps would overshoot, and diverge as soon as it exceeds 2.

  Attributes:
    decay: weight of the newest value, from 0 to 1.
    chance: whether chance nodes have baselines too.
  """

  name = "learned"
  decay: float = 0.5
  chance: bool = True

  def __post_init__(self):
    check_number("decay", self.decay, 0, 1)

  @property
  def outcomes(self) -> bool:
    return self.chance


@dataclasses.dataclass(frozen=True)
class OracleBaseline(Baseline):
  """The exact value of every history under the current strategies (Schmid 2021, Lemma 28).

  It costs a full traversal at each step: a bound on the gain of a baseline, not a method.
  """

  name = "oracle"
  oracle = True
