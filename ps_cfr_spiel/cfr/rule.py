"""The contract of a regret rule, `Rule`, and the parts that rules share."""

import abc
import dataclasses
import math
from types import ModuleType
from typing import Any, ClassVar, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from ps_cfr_spiel.arguments import JSON, check_number, declared
from ps_cfr_spiel.backend.array_shapes import Float, Int, Shaped
from ps_cfr_spiel.tree import Array

BlockShape = tuple[int, int, int]
RuleState: TypeAlias = Any  # of one rule: a pytree of arrays [n, rows, H]
Scalar: TypeAlias = Float[Array, "..."] | float
Table: TypeAlias = Float[Array, "A rows H"]


class Rule(abc.ABC):
  """A regret rule: a frozen dataclass (hashable, so that `jit` compiles once for each rule).

  A rule has a field `gamma`, and defines `init` and `update`. All else has a default. The average weighs
  iteration t by t ** gamma, and by the factors `schedule` and `trust`.

  Three class attributes and a pair of methods are shortcuts that a solver may take past `init` and `update`:
  `native`, `floor` with `power`, `compress` and `decompress`. They count for the class alone whose own body
  declares them. A class that derives from such a rule runs by its own methods, unless it declares them again,
  as in `native = RMPlus.native` (`arguments.declared`).

  The solver guarantees:

  - regrets include chance and the opponent's reach, are in the game's utility, and are not normalised; they
    are zero where the opponent never comes;
  - with alternating updates (the default) player 1's regrets are against player 0's newest strategy,
    otherwise both are against the old ones;
  - every action of a row is legal: there is no padding and no mask;
  - it keeps the average strategy, the reach-weighted sum of strategies, compensated so that float32 runs do
    not lose late iterations.
  """

  __dataclass_fields__: ClassVar[dict[str, dataclasses.Field]]  # of every rule, a dataclass

  gamma: float  #: iteration t enters the average strategy with weight t ** gamma

  #: the number of the formula in `learn.cc` that computes all of `init`, `update` and `numbers`, of a rule
  #: without `trust`; one pass in C++ then does the whole turn. -1: no formula.
  native: ClassVar[int] = -1
  #: where declared, the rule is regret matching with regrets kept above this number, so samplers, which
  #: update few entries, add regrets up themselves.
  floor: ClassVar[float] = -math.inf
  power: ClassVar[int] = 0  #: with `floor`: regrets of iteration t count t ** power, 0 or 1

  @abc.abstractmethod
  def init(self, shape: BlockShape, dtype: DTypeLike) -> RuleState:
    """The state before the first iteration: any pytree of NumPy arrays [n, rows, H].

    `shape` is (A, rows, H); every (row, type) is a decision of its own. The loop puts rows together and takes
    them apart again (`PlayerTree.join`), so every array of a state has its rows on axis 1.
    """

  @abc.abstractmethod
  def update(
    self, state: RuleState, strategy: Table, regret: Table, t: Int[Array, ""]
  ) -> tuple[RuleState, Table]:
    """One iteration, in pure JAX with static shapes; nothing may depend on the values of `state` or `t`.

    It is given all rows with the same number of actions at once, and treats each (row, type) on its own.

    Args:
      state: of `init` or of the last update.
      strategy: the sigma that the rule returned last, uniform at first.
      regret: the instantaneous counterfactual regret q(a) - sum_b sigma(b) q(b).
      t: the iteration: 1, 2, ...

    Returns:
      The new state, and the next strategy: not negative, summing to one over A. `normalise`
      makes it sum to one, and uniform where all is zero.
    """

  def resume(self, strategy: Table) -> RuleState:
    """The state, as of `init`, of a run that has come to a strategy, float [A, rows, H], and plays it next.

    A rule whose state says so leaves it as slowly as after the iterations before; here it is that of `init`.
    """
    actions, rows, types = strategy.shape
    return self.init((actions, rows, types), strategy.dtype)

  def schedule(self, t: Int[Array, "..."], dtype: DTypeLike) -> Scalar:
    """A further factor of the weight of iteration t, or of many as in `numbers`; 1 by default.

    It may depend on the planned length of the run, a field of the rule, and is 0 in iterations that the
    average leaves out. It must not grow with t as a power does: that is gamma's.
    """
    return 1.0

  def trust(self, regret: Table, t: Int[Array, ""]) -> Float[Array, "1 rows H"] | None:
    """A further factor for each infostate, from the arguments of `update`; None, as here: 1."""
    return None

  def numbers(self, t: Int[Array, "..."], dtype: DTypeLike) -> tuple[Scalar, ...]:
    """The numbers of iteration t that the formula `native` reads: K of them, in a trace of `dtype`.

    On the host t may be many iterations at once, an array of NumPy.
    """
    raise NotImplementedError(f"{type(self).__name__} has no native form.")

  def compress(
    self, strategy: Table, state: RuleState, bits: int
  ) -> tuple[Int[Array, "A rows H"], RuleState]:
    """Strategy and state, for a bucket, in the form in which tables of 16 or 32 bits are kept.

    The strategy's place has 8 bits; see `sixteen_bits`.
    """
    raise NotImplementedError(f"{type(self).__name__} has no compressed tables.")

  def decompress(self, strategy: Int[Array, "A rows H"], state: RuleState) -> tuple[Table, RuleState]:
    """The inverse of `compress`, in float32."""
    raise NotImplementedError(f"{type(self).__name__} has no compressed tables.")

  @classmethod
  def defaults(cls) -> dict[str, JSON]:
    """The parameters of the class, a dataclass, with their defaults."""
    return {field.name: field.default for field in dataclasses.fields(cls)}

  @property
  def parameters(self) -> dict[str, JSON]:
    """The rule's parameters by name."""
    return {name: vars(self)[name] for name in self.defaults()}

  @property
  def has_native_form(self) -> bool:
    """True if the rule's own class declares a formula `native`."""
    return declared(self, "native") not in (None, -1)

  @property
  def has_compressed_tables(self) -> bool:
    """True if the rule's own class has both `compress` and `decompress`."""
    return declared(self, "compress") is not None and declared(self, "decompress") is not None


def namespace(x: Array) -> ModuleType:
  """`jax.numpy`, or `numpy` for its own arrays: numbers on the host, for which no program is compiled."""
  return np if isinstance(x, np.ndarray | np.generic) else jnp


def time_of(t: Int[Array, "..."], dtype: DTypeLike) -> Float[Array, "..."]:
  """Counts as floats, to compute with: of `dtype` in a trace; on the host float64, to be rounded once."""
  return t.astype(np.float64 if namespace(t) is np else dtype)


def positive_part(x: Shaped[Array, "..."]) -> Shaped[jax.Array, "..."]:
  """max(x, 0)."""
  return jnp.maximum(x, 0)


def check_numbers(rule: Rule, **bounds: tuple[float, float]) -> None:
  """Make the named fields of the rule numbers of Python; ValueError unless they are within their bounds."""
  for name, (low, high) in bounds.items():
    number = check_number(f"{type(rule).__name__}: {name}", vars(rule)[name], low, high)
    object.__setattr__(rule, name, number)
