"""All regret rules by name, the default among them.

The contract is `Rule`'s docstring. A new rule is a class here, with its name in `__all__`, and a line of
`options.RULES`: solvers, files, the command line and `ps_cfr_spiel.rules` then have it too.
"""

import dataclasses
import math
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from ps_cfr_spiel import options
from ps_cfr_spiel.arguments import JSON
from ps_cfr_spiel.backend.array_shapes import Float, Int
from ps_cfr_spiel.cfr.discounted import (
  DCFR,
  HSDCFR,
  LCFR,
  RM,
  HSPCFRPlus,
  PCFRPlus,
  PDCFRPlus,
  RMPlus,
  SAPCFRPlus,
)
from ps_cfr_spiel.cfr.rule import Rule, Scalar, check_numbers, namespace, positive_part, time_of
from ps_cfr_spiel.cfr.sixteen_bits import power, power_above, ratios, shares, signed, unsigned
from ps_cfr_spiel.tree import Array, normalise, sum_actions


@dataclasses.dataclass(frozen=True)
class VADCFR(Rule):
  """Volatility-adaptive discounted CFR (Li, Schultz, Hennes and Lanctot 2026, arXiv 2602.16928v1, Listing 5).

  For each infostate, with m the largest abs(x_a), e the moving average of m, v = min(e / 2, 1), and u = 1.1 x
  where x > 0, else x:
    d <- t^(1.5 - v/2) / (t^(1.5 - v/2) + 1) where R >= 0, else t^(-0.1 - v/2) / (t^(-0.1 - v/2) + 1)
    R <- max(d R + u, -20)
    strategy proportional to max(d R + u (1 - v/2) / (1 + (t - 1) / 100), 0) ** 1.5, with d by the new R
  The average begins after n / 2 iterations, and weighs an infostate by
  (t / n) ** (2 + 1.5 min(m / 2, 1)) sqrt(1 + m / 2) / (1 + m ** 1.5). The constants were found for games with
  utilities of some units; the unit of utility matters. There is no proof.

  Attributes:
    n: the planned iterations of the run.
  """

  n: float = 1000.0
  gamma: float = 2.0

  def __post_init__(self):
    check_numbers(self, n=(1, 1e9), gamma=(0, 100))

  def init(self, shape, dtype):
    """State: (R, e [1, rows, H])."""
    return np.zeros(shape, dtype), np.zeros((1, *shape[1:]), dtype)

  def schedule(self, t, dtype):
    """Nothing counts in the first half."""
    return (t > self.n / 2).astype(dtype)

  def trust(self, regret, t):
    """The weight of an infostate without t ** gamma."""
    m = jnp.abs(regret).max(0, keepdims=True)
    return (t / self.n) ** (1.5 * jnp.minimum(m / 2, 1)) * jnp.sqrt(1 + m / 2) / (1 + m**1.5)

  def update(self, state, strategy, regret, t):
    """One step; see the class."""
    (total, e), time = state, t.astype(regret.dtype)
    m = jnp.abs(regret).max(0, keepdims=True)
    e = jnp.where(t == 1, m, 0.1 * m + 0.9 * e)
    v = jnp.minimum(e / 2, 1)
    new = jnp.where(regret > 0, 1.1 * regret, regret)

    def faded(r):
      return r * jnp.where(r >= 0, 1 / (1 + time ** (v / 2 - 1.5)), 1 / (1 + time ** (v / 2 + 0.1)))

    total = jnp.maximum(faded(total) + new, -20)
    weights = positive_part(faded(total) + new * (1 - v / 2) / (1 + (time - 1) / 100))
    largest = weights.max(0, keepdims=True)  # powers of numbers up to 1: no small regret is lost
    return (total, e), normalise((weights / jnp.where(largest > 0, largest, 1)) ** 1.5)


def _length(x: Float[Array, "A rows H"]) -> Float[Array, "1 rows H"]:
  """Euclidean norm over actions, [1, rows, H]; no square leaves float32's range."""
  largest = jnp.abs(x).max(0, keepdims=True)
  return largest * jnp.sqrt(sum_actions((x / jnp.where(largest > 0, largest, 1)) ** 2))


@dataclasses.dataclass(frozen=True)
class APCFRPlus(Rule):
  """Asymmetric predictive CFR+ (Meng et al. 2026, arXiv 2503.12770v2, Section 4.1 and Equation 3).

  PCFR+ that trusts predictions the less, the more they missed so far. For each infostate, with sums over all
  iterations and a regret of zero before the first,
    R <- max(R + x, 0)
    a = min(sqrt(sum |x - last x|^2 / sum |R - last R|^2), most)
    strategy proportional to max(R + x / (1 + a), 0)

  Attributes:
    most: the largest a. With 0 the rule is PCFR+.
  """

  most: float = 5.0
  gamma: float = 2.0

  def __post_init__(self):
    check_numbers(self, most=(0, 1e6), gamma=(0, 100))

  def init(self, shape, dtype):
    """State: (R, last x, roots of the two sums [2, rows, H])."""
    return np.zeros(shape, dtype), np.zeros(shape, dtype), np.zeros((2, *shape[1:]), dtype)

  def update(self, state, strategy, regret, t):
    """One step; see the class."""
    total, last, roots = state
    now = positive_part(total + regret)
    missed = jnp.hypot(roots[:1], _length(regret - last))
    moved = jnp.hypot(roots[1:], _length(now - total))
    a = jnp.where(missed < self.most * moved, missed / jnp.where(moved > 0, moved, 1), self.most)
    weights = positive_part(now + regret / (1 + a))
    return (now, regret, jnp.concatenate([missed, moved])), normalise(weights)


@dataclasses.dataclass(frozen=True)
class Hedge(Rule):
  """Hedge, or multiplicative weights (Freund and Schapire 1997; Schmid 2021, Section 17.2.3).

  For each infostate with A actions, and m the largest abs(x_a) so far,
    R <- R + x
    strategy proportional to exp(beta sqrt(2 ln(A) / t) R / m)
  The source's step sqrt(2 ln(A) / T) is for T iterations planned and payoffs that span 1; here t iterations
  are over, and m stands for the span. Its average is uniform.

  Attributes:
    beta: a factor of the step. 1 has the bound of the source up to a constant; larger ones are often faster.
  """

  beta: float = 1.0
  gamma: float = 0.0

  def __post_init__(self):
    check_numbers(self, beta=(1e-6, 1e6), gamma=(0, 100))

  def init(self, shape, dtype):
    """State: (R, m [1, rows, H])."""
    return np.zeros(shape, dtype), np.zeros((1, *shape[1:]), dtype)

  def update(self, state, strategy, regret, t):
    """One step; see the class."""
    total, m = state[0] + regret, jnp.maximum(state[1], jnp.abs(regret).max(0, keepdims=True))
    step = self.beta * jnp.sqrt(2 * math.log(len(regret)) / t.astype(regret.dtype))
    below = (total - total.max(0, keepdims=True)) / jnp.where(
      m > 0, m, 1
    )  # exponents up to 0: none overflows
    return (total, m), normalise(jnp.exp(step * below))


FAINT, UNHEARD = 2.0**-90, 2.0**-100  # of narrow n z: the least n, and its place if it is zero
LOWEST = -1e18  # of a normalised regret: an action that got to minus infinity could never come back


@dataclasses.dataclass(frozen=True)
class NRMPlus(Rule):
  """The default: normalised regret matching whose memory and foresight grow as regrets come as predicted.

  This project's own rule, with a proof (docs/regret_rules.md): exploitability falls as 1 / sqrt(t) at worst,
  by alternating and by simultaneous updates. For each infostate, with x the regret of iteration t,
  u = sum_a max(x_a, 0), s(t) = kappa * min(t, sqrt(tau * t)), and c from 0 to 1 as below,
    h = min(1, s(t) * u / (quiet * n))                                        1 if n = 0
    N <- max((1 - c * h * (1 - (1 - 1/t) ** fade)) * n, s(t) * u)             the weight of the past
    y <- x + (N * z where z > 0, else n * z * (1 - 1/t) ** gamma / 2)
    n <- sum_a max(y_a, 0);  z <- y / n              z stays if n = 0 (or too small to divide by)
    v = clip(x / n, -b, b), b = min(w, u / n), w = max(z, 0)                  the prediction
    strategy proportional to w + (phi + c * (ahead - phi)) * v
  starting from z uniform and n = 0. The positive regret that comes never counts more than 1 / s(t) of the
  past, which makes the rule fast; 1 / s(t) shrinks as 1 / t for tau iterations and as 1 / sqrt(t) later, so
  that no cycle can hold up the average. Keeping z and n apart makes float32 safe: the strategy is known even
  where the opponent hardly ever comes. There z is kept above `LOWEST`, which takes nothing from the bound.

  The past fades, and predictions are believed, only while regrets agree: steps are then too small. Where they
  turn, steps are large enough, and a past that is kept lets play converge. With the last prediction v, and
  with e = clip(x / n, -w, w) by the w and n from before the iteration,
    r <- memory * r + (1 - memory) * 2 <v, e> / (|v|^2 + |e|^2);  c = max(r, 0)
  starting from r = 1. Before the first regret, and where v = 0, r stays. v is not kept: the strategy was made
  from it. h stops the fading where hardly any regret comes, so that rounding errors never grow to be the
  whole of the past.

  The parameters are for alternating updates; by name the rule gets `TOGETHER` for simultaneous ones.

  Attributes:
    kappa: inertia; larger is slower and steadier.
    fade: how fast past regrets fade at most; at most gamma.
    phi: weight of the last regret as prediction of the next where regrets do not agree.
    ahead: the same where they agree entirely; below 1.
    memory: of the agreement, from one iteration to the next. With 1 regrets always count as agreeing.
    quiet: the share of the past below which the regret that comes slows the fading; 0: never.
    tau: for how many iterations steps shrink as 1 / t.
  """

  native: ClassVar[int] = 1
  kappa: float = 0.35
  fade: float = 3.0
  phi: float = 1 / 3
  ahead: float = 0.8
  memory: float = 0.6
  quiet: float = 0.01
  tau: float = 50.0
  gamma: float = 7.0

  def __post_init__(self):
    check_numbers(self, kappa=(1e-6, 1e6), gamma=(0, 100), ahead=(0.01, 0.99), tau=(1e-3, 1e12))
    check_numbers(self, fade=(0, self.gamma), phi=(0.01, self.ahead), memory=(0, 1), quiet=(0, 1))

  def init(self, shape, dtype):
    """State: (z [A, rows, H], three numbers [3, rows, H]: n, the total of the weights, r)."""
    _, rows, types = shape
    numbers = np.array([0, 1, 1], dtype)[:, None, None]
    return np.full(shape, 1 / shape[0], dtype), np.broadcast_to(numbers, (3, rows, types)).copy()

  def resume(self, strategy):
    """See `Rule`: z is the strategy, which s(t) times the positive regret that comes holds on to."""
    actions, rows, types = strategy.shape
    return strategy, self.init((actions, rows, types), strategy.dtype)[1]

  def numbers(self, t: Int[Array, "..."], dtype: DTypeLike) -> tuple[Scalar, ...]:
    """The most that n fades, the fading of negative regrets, s(t), constants; as `learn.cc` takes them."""
    time, xp = time_of(t, dtype), namespace(t)
    kept, steps = 1 - 1 / time, self.kappa * xp.minimum(time, xp.sqrt(self.tau * time))
    faintest = (64 * float(jnp.finfo(dtype).eps)) ** 2  # of predictions: smaller ones are rounding errors
    constants = self.phi, self.ahead - self.phi, self.memory, self.quiet, faintest, LOWEST
    return 1 - kept**self.fade, kept**self.gamma / 2, steps, *constants

  def update(self, state, strategy, regret, t):
    """One step; see the class."""
    (z, known), tiny = state, jnp.finfo(state[0].dtype).tiny
    n, total, agreed = known[:1], known[1:2], known[2:]
    fade, halved, steps, phi, more, memory, quiet, faintest, _ = self.numbers(t, z.dtype)
    weights, up = positive_part(z), sum_actions(positive_part(regret))
    predicted = (strategy * total - weights) / (phi + more * positive_part(agreed))
    came = jnp.clip(regret / jnp.where(n >= tiny, n, 1), -weights, weights)
    size = sum_actions(predicted * predicted)
    ratio = 2 * sum_actions(predicted * came) / jnp.maximum(size + sum_actions(came * came), faintest)
    agreed = jnp.where((n >= tiny) & (size >= faintest), memory * agreed + (1 - memory) * ratio, agreed)
    trust, came = positive_part(agreed), steps * up
    few = came < quiet * n
    heeded = jnp.where(few, came / jnp.where(few, quiet * n, 1), 1)
    past = jnp.maximum((1 - trust * heeded * fade) * n, came)
    y = jnp.where(z > 0, past, halved * n) * z + regret
    n = sum_actions(positive_part(y))
    heard = n >= tiny
    unit = jnp.where(heard, 1 / jnp.where(heard, n, 1), 0)
    z = jnp.where(heard, jnp.maximum(y * unit, LOWEST), z)
    weights = positive_part(z)
    bound = jnp.minimum(weights, up * unit)
    weights = weights + (phi + more * trust) * jnp.clip(regret * unit, -bound, bound)
    return (z, jnp.concatenate([n, sum_actions(weights), agreed])), normalise(weights)

  def compress(self, strategy, state, bits):
    """The prediction in place of the strategy, and regrets n z, as [z, (n's power of two and) r].

    In 16 bits z is in units of the power of two above n, and cut off at -1, which only raises regrets as NRM+
    may. In 32, n below `FAINT` becomes zero.
    """
    xp = namespace(state[0])
    z, (n, total, agreed) = state[0], xp.split(state[1], 3)
    weights = xp.maximum(z, 0)
    predicted, agreed = shares(weights, strategy * total - weights), xp.round(agreed * 127 + 127)
    if bits == 32:
      return predicted, (z * xp.where(n > FAINT, n, UNHEARD), agreed.astype(xp.uint8))
    exponent = power_above(n)
    z = signed(z * xp.where(exponent > 0, n / xp.where(exponent > 0, power(exponent), 1), 1))
    return predicted, (z, xp.concatenate([agreed.astype(xp.uint8), exponent]))

  def decompress(self, strategy, state):
    """The inverse of `compress`, with the strategy by the kept numbers."""
    z, known = state
    sixteen = z.dtype == jnp.int16
    z = z.astype("float32")
    size = sum_actions(positive_part(z))
    weights = positive_part(z) * (1 + ratios(strategy))
    n = unsigned(size * power(known[1:])) if sixteen else jnp.where(size > FAINT, size, 0)
    numbers = [n, sum_actions(weights) / size, known[:1].astype(z.dtype) / 127 - 1]
    return normalise(weights), (z / size, jnp.concatenate(numbers))


RULES: dict[str, type[Rule]] = options.objects(options.RULES)
__all__ = [  # ps_cfr_spiel.rules offers the same; checkers of types read a list of texts alone
  "DCFR",
  "HSDCFR",
  "LCFR",
  "RM",
  "RULES",
  "VADCFR",
  "APCFRPlus",
  "HSPCFRPlus",
  "Hedge",
  "NRMPlus",
  "PCFRPlus",
  "PDCFRPlus",
  "RMPlus",
  "Rule",
  "SAPCFRPlus",
  "make_rule",
]
TOGETHER = {"fade": 1.0, "phi": 0.95, "ahead": 0.95, "tau": 15.0}  # of NRM+ if both are updated at once


def make_rule(rule: object, iterations: int | None = None, alternating: bool = True) -> Rule:
  """The rule that a solver's argument names.

  Args:
    rule: a rule, its name in `RULES` or `options.ALIASES`, its class's name, or a `rule_header`; by default
      "nrm+".
    iterations: planned for the run: the n of rules that have one, unless `rule` has it.
    alternating: whether updates alternate; if not, "nrm+" without parameters takes those in `TOGETHER`.

  Raises:
    ValueError: no rule has this name, or not these parameters.
  """
  rule = "nrm+" if rule is None else rule
  if isinstance(rule, str):
    rule = {"name": rule}
  if isinstance(rule, dict):
    parameters = dict(rule)
    name = parameters.pop("name", None)
    kind = _by_name(name) if isinstance(name, str) else None
    if kind is None:
      raise ValueError(
        f"Unknown rule {name!r}; choose one of {', '.join(map(repr, (*RULES, *options.ALIASES)))}."
      )
    fields = [*kind.defaults()]
    if not set(parameters) <= set(fields):
      raise ValueError(f"Rule {name!r} has the parameters {fields}, got {sorted(parameters)}.")
    planned: dict[str, float] = {"n": iterations} if iterations and "n" in fields else {}
    if kind is NRMPlus and not (alternating or parameters):
      planned = TOGETHER
    return kind(**{**planned, **parameters})
  if not isinstance(rule, Rule):
    raise ValueError(
      f"Expected a rule such as NRMPlus() or a name such as 'nrm+', got {rule!r}. A rule of your own derives "
      "from ps_cfr_spiel.rules.Rule."
    )
  return rule


def _by_name(name: str) -> type[Rule] | None:
  """The rule of a name in `RULES` or `options.ALIASES`, or else of a class's name; None for another name."""
  classes = {kind.__name__.lower(): kind for kind in RULES.values()}
  aliases = {alias: RULES[name] for alias, name in options.ALIASES.items()}
  return {**classes, **aliases, **RULES}.get(name.lower())


def rule_header(rule: Rule) -> dict[str, JSON]:
  """Name and parameters of a rule as JSON values; `make_rule` reads them back if `RULES` has the rule.

  The name is the class's, and with its module where that alone is another rule's.
  """
  kind = type(rule)
  name = kind.__name__ if _by_name(kind.__name__) in (None, kind) else f"{kind.__module__}.{kind.__name__}"
  return {"name": name, **rule.parameters}
