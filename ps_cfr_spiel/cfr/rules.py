"""Regret rules: how counterfactual regrets become the next strategy.

The contract is `Rule`'s docstring. To add a rule, write a class here; `RULES` lists the ones that the command
line offers by name.
"""

import dataclasses
import math
from typing import Any, ClassVar, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.tree import Array, sum_actions

BlockShape = tuple[int, int, int]


class Rule(Protocol):
  """A regret rule: a frozen dataclass (hashable, so that `jit` compiles once for each rule).

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
    """Iteration t enters the average strategy with weight t ** gamma."""
    ...

  def init(self, shape: BlockShape, dtype: Any) -> Any:
    """The state before the first iteration: any pytree of NumPy arrays [n, rows, H].

    Args:
      shape: (A, rows, H); every (row, type) is a decision of its own. The loop puts rows together and takes
        them apart again (`PlayerTree.join`), so every array of a state has its rows on axis 1.
      dtype: of floats.
    """
    ...

  def update(self, state: Any, regret: Array, t: Array) -> tuple[Any, Array]:
    """One iteration, in pure JAX with static shapes; nothing may depend on the values of `state` or `t`.

    It is given all rows with the same number of actions at once, and treats each (row, type) on its own.

    Args:
      state: of `init` or of the last update.
      regret: [A, rows, H], the instantaneous counterfactual regret q(a) - sum_b sigma(b) q(b) under the
        strategy sigma that the rule returned last, uniform at first.
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


def _check(rule: Any, **bounds: tuple[float, float]) -> None:
  """Raises ValueError unless every named field of the rule is a number within its bounds."""
  for name, (low, high) in bounds.items():
    value = getattr(rule, name)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (number and not math.isnan(value) and low <= value <= high):
      raise ValueError(f"{type(rule).__name__}: {name} must be a number from {low} to {high}, got {value!r}.")


@dataclasses.dataclass(frozen=True)
class RM:
  """Regret matching: plain CFR (Zinkevich et al. 2007).

  R <- R + x; strategy proportional to max(R, 0).

  Attributes:
    floor: the least regret that is kept; Monte Carlo CFR, which updates few entries, goes by it.
  """

  floor: ClassVar[float] = -math.inf
  gamma: float = 0.0

  def __post_init__(self):
    _check(self, gamma=(0, 100))

  def init(self, shape, dtype):
    """State: R, of `shape`."""
    return np.zeros(shape, dtype)

  def update(self, state, regret, t):
    """One step; see the class."""
    total = state + regret
    return total, normalise(positive_part(total))


@dataclasses.dataclass(frozen=True)
class RMPlus(RM):
  """Regret matching plus: CFR+ with linear averaging (Tammelin 2014; Schmid 2021, Section 17.6).

  R <- max(R + x, 0).
  """

  floor: ClassVar[float] = 0.0
  gamma: float = 1.0

  def update(self, state, regret, t):
    """One step; see the class."""
    total = positive_part(state + regret)
    return total, normalise(total)


def _discount(t: Array, exponent: float, dtype: Any) -> Array:
  """u^e / (u^e + 1) with u = t - 1, the weight of the regrets from before iteration t.

  Written as 1 / (1 + u^-e), which is right at e = +-inf and at u = 0 (where R is 0 anyway).
  """
  u = jnp.maximum(t - 1, 1).astype(dtype)
  return 1 / (1 + u**-exponent)


@dataclasses.dataclass(frozen=True)
class DCFR:
  """Discounted regret matching (Brown and Sandholm 2019), with their recommended parameters.

  R <- R * d + x with d = u^alpha / (u^alpha + 1) where R > 0, else u^beta / (u^beta + 1), u = t - 1.
  """

  alpha: float = 1.5
  beta: float = 0.0
  gamma: float = 2.0

  def __post_init__(self):
    _check(self, alpha=(-100, math.inf), beta=(-math.inf, 100), gamma=(0, 100))

  def init(self, shape, dtype):
    """State: R, of `shape`."""
    return np.zeros(shape, dtype)

  def update(self, state, regret, t):
    """One step; see the class."""
    alpha, beta = (_discount(t, e, state.dtype) for e in (self.alpha, self.beta))
    total = state * jnp.where(state > 0, alpha, beta) + regret
    return total, normalise(positive_part(total))


@dataclasses.dataclass(frozen=True)
class LCFR(DCFR):
  """Linear CFR (Brown and Sandholm 2019): iteration t weighs t, in regrets and in the average.

  The same as DCFR(1, 1, 1).
  """

  alpha: float = 1.0
  beta: float = 1.0
  gamma: float = 1.0


@dataclasses.dataclass(frozen=True)
class PCFRPlus:
  """Predictive regret matching plus (Farina, Kroer and Sandholm 2021), the last regret as prediction.

  R <- max(R + x, 0); strategy proportional to max(R + phi * x, 0). phi = 1/3 tempers the prediction.
  """

  phi: float = 1.0
  gamma: float = 2.0

  def __post_init__(self):
    _check(self, phi=(0, 100), gamma=(0, 100))

  def init(self, shape, dtype):
    """State: R, of `shape`."""
    return np.zeros(shape, dtype)

  def update(self, state, regret, t):
    """One step; see the class."""
    total = positive_part(state + regret)
    return total, normalise(positive_part(total + self.phi * regret))


@dataclasses.dataclass(frozen=True)
class PDCFRPlus:
  """Predictive discounted CFR+ (Xu et al. 2024).

  R <- max(d(t) R + x, 0); strategy proportional to max(d(t + 1) R + phi * x, 0), with
  d(t) = u^alpha / (u^alpha + 1), u = t - 1.
  """

  alpha: float = 2.3
  phi: float = 1.0
  gamma: float = 5.0

  def __post_init__(self):
    _check(self, alpha=(-100, math.inf), phi=(0, 100), gamma=(0, 100))

  def init(self, shape, dtype):
    """State: R, of `shape`."""
    return np.zeros(shape, dtype)

  def update(self, state, regret, t):
    """One step; see the class."""
    now, following = (_discount(u, self.alpha, state.dtype) for u in (t, t + 1))
    total = positive_part(state * now + regret)
    return total, normalise(positive_part(total * following + self.phi * regret))


LOWEST = -1e18  # of a normalised regret: an action that got to minus infinity could never come back


@dataclasses.dataclass(frozen=True)
class NRMPlus:
  """The default: regret matching whose past counts at least s(t) times the positive regret that comes.

  This project's own rule, with a proof (docs/regret_rules.md): exploitability falls as 1 / sqrt(t) at worst,
  by alternating and by simultaneous updates. For each infostate, with x the regret of iteration t,
  u = sum_a max(x_a, 0) and s(t) = kappa * min(t, sqrt(tau * t)),
    N <- max((1 - 1/t) ** fade * n, s(t) * u)                  the weight of the past
    y <- x + (N * z where z > 0, else n * z * (1 - 1/t) ** gamma / 2)
    n <- sum_a max(y_a, 0);  z <- y / n                        z stays if n = 0 (or too small to divide by)
    strategy proportional to max(y, 0) + phi * clip(x, -b, b), b = min(max(y, 0), u)
  starting from z uniform and n = 0. Regrets n * z fade no faster than the average's weights, as a bound
  needs; the positive regret that comes never counts more than 1 / s(t) of the past, which makes it fast; and
  1 / s(t) shrinks as 1 / t for tau iterations and as 1 / sqrt(t) later, so that no cycle can hold up the
  average. Keeping z and n apart makes float32 safe: the strategy is known even where the opponent hardly ever
  comes. There z is kept above `LOWEST`, which takes nothing from the bound.

  Attributes:
    kappa: inertia; larger is slower and steadier.
    fade: how fast past regrets fade; at most gamma.
    phi: weight of the last regret as prediction of the next, below 1. Without it the rule is slow.
    tau: for how many iterations steps shrink as 1 / t.
  """

  kappa: float = 0.3
  fade: float = 2.5
  phi: float = 1 / 3
  tau: float = 125.0
  gamma: float = 5.0

  def __post_init__(self):
    _check(self, kappa=(1e-6, 1e6), gamma=(0, 100), phi=(0, 0.99), tau=(1e-3, 1e12))
    _check(self, fade=(0, self.gamma))

  def init(self, shape, dtype):
    """State: (z [A, rows, H], n [1, rows, H])."""
    actions, rows, types = shape
    return np.full(shape, 1 / actions, dtype), np.zeros((1, rows, types), dtype)

  def update(self, state, regret, t):
    """One step; see the class."""
    z, n = state
    time = t.astype(z.dtype)
    kept, steps = 1 - 1 / time, self.kappa * jnp.minimum(time, jnp.sqrt(self.tau * time))
    up = sum_actions(positive_part(regret))
    past = jnp.maximum(kept**self.fade * n, steps * up)
    y = jnp.where(z > 0, past, kept**self.gamma / 2 * n) * z + regret
    n = sum_actions(positive_part(y))
    heard = n >= jnp.finfo(n.dtype).tiny
    unit = jnp.where(heard, 1 / jnp.where(heard, n, 1), 0)
    z = jnp.where(heard, jnp.maximum(y * unit, LOWEST), z)
    weights = positive_part(z)
    bound = jnp.minimum(weights, up * unit)
    return (z, n), normalise(weights + self.phi * jnp.clip(regret * unit, -bound, bound))


RULES: dict[str, type] = {
  "rm": RM, "rm+": RMPlus, "dcfr": DCFR, "lcfr": LCFR, "pcfr+": PCFRPlus, "pdcfr+": PDCFRPlus,
  "nrm+": NRMPlus,
}  # fmt: skip
ALIASES = {"cfr": "rm", "cfr+": "rm+"}  # by the name of the algorithm, as papers and OpenSpiel have it


def make_rule(rule: Any) -> Rule:
  """A rule from itself, from its name in `RULES` or `ALIASES` or its class's name, or from a `rule_header`.

  Raises:
    ValueError: no rule has this name, or not these parameters.
  """
  if isinstance(rule, str):
    rule = {"name": rule}
  if isinstance(rule, dict):
    known = {**RULES, **{alias: RULES[name] for alias, name in ALIASES.items()}}
    known |= {kind.__name__.lower(): kind for kind in RULES.values()}
    parameters = dict(rule)
    name = parameters.pop("name", None)
    kind = known.get(name.lower()) if isinstance(name, str) else None
    if kind is None:
      raise ValueError(f"Unknown rule {name!r}; choose one of {', '.join(map(repr, (*RULES, *ALIASES)))}.")
    fields = [field.name for field in dataclasses.fields(kind)]
    if not set(parameters) <= set(fields):
      raise ValueError(f"Rule {name!r} has the parameters {fields}, got {sorted(parameters)}.")
    return kind(**parameters)
  if isinstance(rule, type) or not all(hasattr(rule, name) for name in ("init", "update", "gamma")):
    raise ValueError(f"Expected a rule such as NRMPlus() or a name such as 'nrm+', got {rule!r}.")
  return rule


def rule_header(rule: Rule) -> dict[str, Any]:
  """Name and parameters of a rule as JSON values; `make_rule` reads them back."""
  return {"name": type(rule).__name__, **dataclasses.asdict(rule)}  # pyright: ignore[reportArgumentType]
