"""Baselines: guesses at the values of the moves that a trajectory did not take (Schmid 2021, Section 17.8).

Values of all kinds are utilities to player 0; the game is zero-sum, so player 1's baselines are their
negatives. A baseline is a small frozen dataclass: which moves it guesses, and how it learns. The sampler
keeps the guesses.
"""

import dataclasses
import math
from typing import ClassVar, Protocol


class Baseline(Protocol):
  """A baseline: a frozen dataclass (hashable, as part of a sampler).

  Whatever a baseline guesses, the move that was taken is corrected by importance sampling, so that the
  estimates are unbiased: a bad baseline costs variance and nothing else. One that learns has a field
  `decay` too, the weight of the newest value, from 0 to 1; the sampler keeps its table.

  Attributes:
    name: as users write it.
    oracle: whether it reads the exact values of all nodes, rather than a table that is learned.
  """

  name: ClassVar[str]
  oracle: ClassVar[bool]

  @property
  def decisions(self) -> bool:
    """Whether it applies to the moves of players."""
    ...

  @property
  def outcomes(self) -> bool:
    """Whether it applies to the moves of chance."""
    ...


@dataclasses.dataclass(frozen=True)
class ZeroBaseline:
  """No guess: outcome sampling (Lanctot et al. 2009; Schmid 2021, Section 17.7.1)."""

  name: ClassVar[str] = "zero"
  oracle: ClassVar[bool] = False
  decisions = False
  outcomes = False


@dataclasses.dataclass(frozen=True)
class LearnedBaseline:
  """The values that were sampled after a move, averaged with exponentially decaying weight.

  b(s, a) <- (1 - decay) b(s, a) + decay v(ha|z), with v the bootstrapped value of eq. 17.17: for
  decisions an entry for each infostate and action, for chance an entry for each history (chance sees all).
  Where a batch meets an entry several times, v is the mean over these times: the sum of
  their steps would overshoot, and diverge as soon as it exceeds 2.

  Attributes:
    decay: weight of the newest value, from 0 to 1.
    chance: whether chance nodes have baselines too.
  """

  name: ClassVar[str] = "learned"
  oracle: ClassVar[bool] = False
  decisions = True
  decay: float = 0.5
  chance: bool = True

  def __post_init__(self):
    number = isinstance(self.decay, int | float) and not isinstance(self.decay, bool)
    if not (number and not math.isnan(self.decay) and 0 <= self.decay <= 1):
      raise ValueError(f"decay must be a number from 0 to 1, got {self.decay!r}.")

  @property
  def outcomes(self) -> bool:
    """See `Baseline`."""
    return self.chance


@dataclasses.dataclass(frozen=True)
class OracleBaseline:
  """The exact value of every history under the current strategies (Schmid 2021, Lemma 28).

  As dear as a full traversal at each step: a bound on what a baseline can do, not a method.
  """

  name: ClassVar[str] = "oracle"
  oracle: ClassVar[bool] = True
  decisions = True
  outcomes = True
