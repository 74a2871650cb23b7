"""The leaves of a subgame: three wrappers, each a leaf evaluator around another.

  RangedLeaves     a player comes to the roots with a range.
  FrontierLeaves   the lookahead ends at a frontier, evaluated by a value function.
  GadgetLeaves     one player, the chooser, may terminate rather than play on.

A subgame's leaves are GadgetLeaves(RangedLeaves(FrontierLeaves(the game's own leaves))), without unneeded
ones: a limited lookahead has a frontier; unsafe re-solving gives a range to both players and has no gadget.
"""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.backend.array_shapes import Float, Int, Shaped
from ps_cfr_spiel.tree import Array, LeafEvaluator, Parts, Rooted

# Of each player: reach probabilities, or any multiple of them.
Ranges = tuple[Float[Array, "_roots H0"], Float[Array, "_roots H1"]]


@runtime_checkable
class BoundValues(Protocol):
  """A value function at certain public states: a pytree, for use in jitted functions."""

  def __call__(self, player: int, ranges: Ranges) -> Float[Array, "F H"]:
    """Counterfactual values of a player's infostates: they count chance and the opponent's range.

    The `player` is known at trace time. Both players' `ranges` are [F, H], with a row for each infostate of
    the frontier (in Bayesian games for each public state): reach since the lookahead's roots times the range
    there. Rows of padding are zero, and their values must be finite too.
    """
    ...


class SubgameLeaves(LeafEvaluator):
  """The common part of the wrappers: a subgame is solved whole, so its leaves are neither cut nor sampled."""

  kind: ClassVar[str] = "subgame"

  def take(self, leaves: Sequence[Int[np.ndarray, "_boards _L"]]) -> LeafEvaluator:
    raise TypeError("A subgame cannot be cut from a subgame; cut the game's own tree.")

  def sampled(self, player: int, leaf: Int[Array, " B"], reach: Float[Array, "B G"]) -> Float[Array, "B H"]:
    raise TypeError("A subgame's leaves cannot be sampled; sample the game's own tree.")


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class RangedLeaves(SubgameLeaves):
  """Leaves below roots where a player has a range: reach counts from there."""

  inner: LeafEvaluator  #: the evaluator of the leaves
  ranges: Parts  #: parts [L_k, H], the range at the root of each leaf; [1, H] if there is one root
  player: int = dataclasses.field(metadata={"static": True})  #: the player with the range

  def __call__(self, player: int, opponent_reach: Parts, own_reach: Parts | None = None) -> Parts:
    if player != self.player:
      return self.inner(player, self._times_range(opponent_reach), own_reach)
    reach = None if own_reach is None else self._times_range(own_reach)
    return self.inner(player, opponent_reach, reach)

  @property
  def zero_sum(self) -> bool:
    return self.inner.zero_sum

  def rooted(self) -> Rooted:
    inner = Rooted.of(self.inner)
    if inner.ranges[self.player] is not None or any(len(part) != 1 for part in self.ranges):
      return Rooted(self)
    ranges = list(inner.ranges)
    ranges[self.player] = self.ranges[0]
    return inner._replace(ranges=(ranges[0], ranges[1]))

  def recorded(self, player: int, values: Parts) -> tuple[Shaped[Array, "..."], ...]:
    return self.inner.recorded(player, values)

  def _times_range(self, reach: Parts) -> list[Float[Array, "_L _H"]]:
    return [r * w for w, r in zip(self.ranges, reach, strict=True)]


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class FrontierLeaves(SubgameLeaves):
  """Leaves with a frontier, where the lookahead ends, as their last part."""

  inner: LeafEvaluator  #: the evaluator of the other parts: the game's own ends
  beyond: BoundValues  #: the value function, bound to the frontier
  #: for each player (F, H), the infostates of the frontier and their types.
  shapes: tuple[tuple[int, int], tuple[int, int]] = dataclasses.field(metadata={"static": True})

  def __call__(self, player: int, opponent_reach: Parts, own_reach: Parts | None = None) -> Parts:
    reach = None if own_reach is None else own_reach[-1]
    ranges = (reach, opponent_reach[-1]) if player == 0 else (opponent_reach[-1], reach)
    ends = self.inner(player, opponent_reach[:-1], None if own_reach is None else own_reach[:-1])
    # A best response has no reach of its own; the values of its frontier are fixed, and read none (`settle`).
    return [*ends, self._checked(player, self.beyond(player, ranges))]  # pyright: ignore[reportArgumentType]

  def recorded(self, player: int, values: Parts) -> tuple[Shaped[Array, "..."], ...]:
    """The values at the frontier, [F, H]: the player's results of the search there."""
    return (values[-1],)

  def _checked(self, player: int, values: Float[Array, "..."]) -> Float[Array, "F H"]:
    if isinstance(values, jax.Array | np.ndarray) and values.shape == self.shapes[player]:
      return values
    given = values if values is None else f"the shape {jnp.shape(values)}"
    raise ValueError(
      f"The value function {type(self.beyond).__name__} must give player {player} values of the shape "
      f"{self.shapes[player]} (infostates of the frontier, types); got {given}."
    )


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class GadgetLeaves(SubgameLeaves):
  """Leaves of a gadget; the chooser's terminate actions are the last part.

  The chooser has no range. A visit of a root counts `scale` instead, as if chance led there with this weight:
  it multiplies the chooser's reach for the other player, and the chooser's own values.
  """

  inner: LeafEvaluator  #: the evaluator of the leaves below `follow`
  scale: Parts | None  #: parts [L_k, H], at the root of each leaf, or [1, H]; None for 1 everywhere
  terminate: Float[Array, "m columns"]  #: the chooser's values of the terminate actions
  chooser: int = dataclasses.field(metadata={"static": True})  #: 0 or 1
  #: for each player H in the forest: 1 for a chooser with a row for every type.
  columns: tuple[int, int] = dataclasses.field(metadata={"static": True})

  def __call__(self, player: int, opponent_reach: Parts, own_reach: Parts | None = None) -> Parts:
    reach = None if own_reach is None else self._inside(player, own_reach)
    values = self.inner(player, self._inside(1 - player, opponent_reach), reach)
    if player != self.chooser:  # only the chooser's terminate actions have a value; the other player gets 0
      return [*values, jnp.zeros((len(self.terminate), self.columns[player]), self.terminate.dtype)]
    if self.scale is not None:
      values = [(v * s).reshape(-1, self.columns[player]) for v, s in zip(values, self.scale, strict=True)]
    return [*values, self.terminate]

  def rooted(self) -> Rooted:
    inner = Rooted.of(self.inner)
    if inner.known is not None or self.scale is not None:
      return Rooted(self)
    promised = np.asarray(self.terminate)
    nothing = np.zeros((len(promised), self.columns[1 - self.chooser]), promised.dtype)
    return inner._replace(known=(promised, nothing) if self.chooser == 0 else (nothing, promised))

  def recorded(self, player: int, values: Parts) -> tuple[Shaped[Array, "..."], ...]:
    """In the units of the inner evaluator, and 0 in impossible places."""
    inner = values[:-1]
    if player == self.chooser and self.scale is not None:
      inner = [
        jnp.where(s > 0, v.reshape(-1, s.shape[1]) / jnp.where(s > 0, s, 1), 0)
        for v, s in zip(inner, self.scale, strict=True)
      ]
    return self.inner.recorded(player, inner)

  def _inside(self, player: int, reach: Parts) -> Parts:
    """The reach of the leaves inside the subgame, for the inner evaluator."""
    if player != self.chooser or self.scale is None:
      return reach[:-1]
    return [r.reshape(-1, s.shape[1]) * s for r, s in zip(reach[:-1], self.scale, strict=True)]


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class RefinedLeaves(GadgetLeaves):
  """Leaves of a refined gadget: the chooser's last part are all choices, those of playing on first.

  The choice is beside the decisions below the roots, so a leaf's reach does not count it. The chooser comes
  to a root with the probability of the choice plus a tremble; the choice is worth the value of the root.
  """

  roots: Sequence[Int[Array, " _L"]]  #: parts, the root of each leaf
  tremble: Float[Array, "roots H"]

  def __call__(self, player: int, opponent_reach: Parts, own_reach: Parts | None = None) -> Parts:
    """ValueError for a best response: it would choose before it has a value."""
    if own_reach is None:
      raise ValueError("A refined gadget has no best responses; take those in the gadget without refine.")
    *values, choices = super().__call__(player, opponent_reach, own_reach)
    if player == self.chooser:
      visits, choices = jnp.zeros_like(self.tremble), jnp.asarray(choices)
      for v, r, at in zip(values, own_reach[:-1], self.roots, strict=True):
        visits = visits.at[at].add((v * r).reshape(-1, visits.shape[1]))
      visits = visits.reshape(-1, choices.shape[1])
      choices = choices.at[: len(visits)].add(visits)
    return [*values, choices]

  def _inside(self, player: int, reach: Parts) -> Parts:
    inside = super()._inside(player, reach)
    if player != self.chooser:
      return inside
    entered = reach[-1].reshape(-1)[: self.tremble.size].reshape(self.tremble.shape) + self.tremble
    return [r * entered[at] for r, at in zip(inside, self.roots, strict=True)]


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class EchoedRanges(BoundValues):
  """Bound values that are the player's own ranges: they show the questions to a value function."""

  def __call__(self, player: int, ranges: Ranges) -> Float[Array, "F H"]:
    return ranges[player]


def with_beyond(leaves: LeafEvaluator, beyond: BoundValues) -> LeafEvaluator:
  """A subgame's leaves with another value function at the frontier."""
  if isinstance(leaves, FrontierLeaves):
    return dataclasses.replace(leaves, beyond=beyond)
  assert isinstance(leaves, RangedLeaves | GadgetLeaves), "these leaves have no frontier"
  return dataclasses.replace(leaves, inner=with_beyond(leaves.inner, beyond))


def at_leaves(
  roots: Float[Array, "roots H"], leaf_roots: Sequence[Int[Array, " _L"]]
) -> list[Float[Array, "_L H"]]:
  """Arrays of the roots at the leaves below them: parts [L_k, H], or [1, H] for one root.

  The shorter ones spare a pass over the leaves, which takes as long as a game's own evaluator.
  """
  return [roots if len(roots) == 1 else roots[at] for at in leaf_roots]


def with_ranges(
  leaves: LeafEvaluator, ranges: Ranges, leaf_roots: Sequence[Sequence[Int[Array, " _L"]]]
) -> RangedLeaves:
  """Leaves with a range for each player; arguments as in `Subgame`."""
  for player in (0, 1):
    leaves = RangedLeaves(leaves, at_leaves(ranges[player], leaf_roots[player]), player)
  assert isinstance(leaves, RangedLeaves)
  return leaves
