"""Rules that fade, add and cut off one array of regrets: CFR, CFR+, DCFR, PCFR+ and their relatives."""

import abc
import dataclasses
import math
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from ps_cfr_spiel.backend.array_shapes import Float, Int
from ps_cfr_spiel.cfr.rule import Rule, Scalar, check_numbers, namespace, positive_part, time_of
from ps_cfr_spiel.tree import Array, normalise

FORMULA = 0  # the number of the formula of `Discounted` in `learn.cc`


class Discounted(Rule):
  """The rules that keep one array R: regrets are faded, added up, cut off below, and predicted.

    R <- max(R * (alpha where R > 0, else beta) + x, lowest)
    strategy proportional to max(R * ahead + phi * x, 0)

  A rule says the five numbers of an iteration. `learn.cc` computes the same in one pass for the rules that
  declare it in their own bodies, by `native = FORMULA` (see `Rule`).
  """

  def init(self, shape, dtype):
    """State: R, of `shape`."""
    return np.zeros(shape, dtype)

  @abc.abstractmethod
  def numbers(self, t: Int[Array, "..."], dtype: DTypeLike) -> tuple[Scalar, ...]:
    """alpha, beta, lowest, ahead and phi in iteration t."""

  def update(self, state, strategy, regret, t):
    """One step; see the class."""
    alpha, beta, lowest, ahead, phi = self.numbers(t, state.dtype)
    total = state * (alpha if beta is alpha else jnp.where(state > 0, alpha, beta)) + regret
    total = total if lowest == -math.inf else positive_part(total)
    return total, normalise(positive_part(total * ahead + phi * regret if phi else total))


@dataclasses.dataclass(frozen=True)
class RM(Discounted):
  """Regret matching: plain CFR (Zinkevich et al. 2007).

  R <- R + x; strategy proportional to max(R, 0).
  """

  native: ClassVar[int] = FORMULA
  floor: ClassVar[float] = -math.inf
  gamma: float = 0.0

  def __post_init__(self):
    check_numbers(self, gamma=(0, 100))

  def numbers(self, t, dtype):
    """No fading, no prediction."""
    return 1.0, 1.0, -math.inf, 1.0, 0.0


@dataclasses.dataclass(frozen=True)
class RMPlus(RM):
  """Regret matching plus: CFR+ with linear averaging (Tammelin 2014; Schmid 2021, Section 17.6).

  R <- max(R + x, 0).
  """

  native: ClassVar[int] = FORMULA
  floor: ClassVar[float] = 0.0
  gamma: float = 1.0

  def numbers(self, t, dtype):
    """Regrets never fall below 0."""
    return 1.0, 1.0, 0.0, 1.0, 0.0


def _discount(t: Int[Array, "..."], exponent: Scalar, dtype: DTypeLike) -> Float[Array, "..."]:
  """u^e / (u^e + 1) with u = t - 1, the weight of the regrets from before iteration t.

  Written as 1 / (1 + u^-e), which is right at e = +-inf and at u = 0 (where R is 0 anyway).
  """
  u = namespace(t).maximum(time_of(t - 1, dtype), 1)
  return 1 / (1 + u**-exponent)


@dataclasses.dataclass(frozen=True)
class DCFR(Discounted):
  """Discounted regret matching (Brown and Sandholm 2019), with their recommended parameters.

  R <- R * d + x with d = u^alpha / (u^alpha + 1) where R > 0, else u^beta / (u^beta + 1), u = t - 1.
  """

  native: ClassVar[int] = FORMULA
  alpha: float = 1.5
  beta: float = 0.0
  gamma: float = 2.0

  def __post_init__(self):
    check_numbers(self, alpha=(-100, math.inf), beta=(-math.inf, 100), gamma=(0, 100))

  def numbers(self, t, dtype):
    """Positive and negative regrets fade each in its way."""
    return _discount(t, self.alpha, dtype), _discount(t, self.beta, dtype), -math.inf, 1.0, 0.0


@dataclasses.dataclass(frozen=True)
class LCFR(DCFR):
  """Linear CFR (Brown and Sandholm 2019): iteration t weighs t, in regrets and in the average.

  The same as DCFR(1, 1, 1).
  """

  native: ClassVar[int] = FORMULA
  floor: ClassVar[float] = -math.inf
  power: ClassVar[int] = 1
  alpha: float = 1.0
  beta: float = 1.0
  gamma: float = 1.0


@dataclasses.dataclass(frozen=True)
class PCFRPlus(Discounted):
  """Predictive regret matching plus (Farina, Kroer and Sandholm 2021), the last regret as prediction.

  R <- max(R + x, 0); strategy proportional to max(R + phi * x, 0). phi = 1/3 tempers the prediction.
  """

  native: ClassVar[int] = FORMULA
  phi: float = 1.0
  gamma: float = 2.0

  def __post_init__(self):
    check_numbers(self, phi=(0, 100), gamma=(0, 100))

  def numbers(self, t, dtype):
    """No fading."""
    return 1.0, 1.0, 0.0, 1.0, self.phi


@dataclasses.dataclass(frozen=True)
class PDCFRPlus(Discounted):
  """Predictive discounted CFR+ (Xu et al. 2024).

  R <- max(d(t) R + x, 0); strategy proportional to max(d(t + 1) R + phi * x, 0), with
  d(t) = u^alpha / (u^alpha + 1), u = t - 1.
  """

  native: ClassVar[int] = FORMULA
  alpha: float = 2.3
  phi: float = 1.0
  gamma: float = 5.0

  def __post_init__(self):
    check_numbers(self, alpha=(-100, math.inf), phi=(0, 100), gamma=(0, 100))

  def numbers(self, t, dtype):
    """Regrets fade, and fade once more for the prediction."""
    now, following = (_discount(u, self.alpha, dtype) for u in (t, t + 1))
    return now, now, 0.0, following, self.phi


@dataclasses.dataclass(frozen=True)
class SAPCFRPlus(PCFRPlus):
  """Simple asymmetric predictive CFR+ (Meng et al. 2026, arXiv 2503.12770v2): PCFR+ with phi = 1/3."""

  native: ClassVar[int] = FORMULA
  phi: float = 1 / 3


@dataclasses.dataclass(frozen=True)
class _Scheduled(Discounted):
  """Hyperparameter schedules: iteration t fades the average by ((t - 1) / t) ** (gamma - 5 p).

  p = min((t - 1) / n, 1) says how far a run is that is planned to have n iterations. The weights that follow,
  t ** gamma * prod_k (k / (k - 1)) ** (-5 p_k), are known in closed form:
  sum_{k <= t} (k - 1) log(k / (k - 1)) = t log t - log t!, here by Stirling's series.
  """

  n: float = 1000.0
  gamma: float = 30.0

  def __post_init__(self):
    check_numbers(self, n=(1, 1e9), gamma=(0, 100))

  def progress(self, t: Int[Array, "..."], dtype: DTypeLike) -> Float[Array, "..."]:
    return namespace(t).minimum(time_of(t - 1, dtype) / self.n, 1)

  def schedule(self, t: Int[Array, "..."], dtype: DTypeLike) -> Float[Array, "..."]:
    time, xp = time_of(t, dtype), namespace(t)
    s = xp.minimum(time, self.n)
    logarithm = s - xp.log(2 * math.pi * s) / 2 - 1 / (12 * s) + 1 / (360 * s**3)
    return xp.exp(-5 / self.n * logarithm) * xp.maximum(time / self.n, 1) ** -5


@dataclasses.dataclass(frozen=True)
class HSDCFR(_Scheduled):
  """HS-DCFR (Zhang, McAleer and Sandholm 2026, arXiv 2404.09097v2): DCFR(1 + 3p, -1 - 2p, gamma - 5p).

  HS-DCFR(15) is gamma=15.

  Attributes:
    n: the planned iterations of the run; p = min((t - 1) / n, 1).
  """

  native: ClassVar[int] = FORMULA

  def numbers(self, t, dtype):
    """DCFR's, with exponents that change with t."""
    p = self.progress(t, dtype)
    return _discount(t, 1 + 3 * p, dtype), _discount(t, -1 - 2 * p, dtype), -math.inf, 1.0, 0.0


@dataclasses.dataclass(frozen=True)
class HSPCFRPlus(_Scheduled):
  """HS-PCFR+: PCFR+ whose average has gamma - 5p, 30 - 5p by default; source and n as of `HSDCFR`."""

  native: ClassVar[int] = FORMULA

  def numbers(self, t, dtype):
    """PCFR+'s."""
    return 1.0, 1.0, 0.0, 1.0, 1.0
