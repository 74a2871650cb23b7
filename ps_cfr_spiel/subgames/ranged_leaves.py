"""The leaves of a subgame: reach counts from ranges at its roots, and a frontier may end it early."""

import dataclasses
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from ps_cfr_spiel.tree import Array, LeafEvaluator, Parts


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class RangedLeaves:
  """The leaves of a subgame; `gadgets` makes them.

  Attributes:
    inner: evaluator of the game's own ends.
    weights: for each player the range at the root of each leaf, parts [L_k, H].
    frontier: a value function bound to the frontier of a limited lookahead, its leaves the last of `weights`;
      or None.
    bounds: in a gadget what `chooser` gets for not playing on, one more part [L, H of the forest]; or None.
    chooser: the player who chooses in a gadget, or -1.
    types: H of each player in the evaluators.
    columns: H of each player in the forests; 1 where a gadget has made a row of every type.
  """

  kind: ClassVar[str] = "subgame"
  inner: LeafEvaluator
  weights: tuple[Parts, Parts]
  frontier: Any
  bounds: Array
  chooser: int = dataclasses.field(metadata={"static": True})
  types: tuple[int, int] = dataclasses.field(metadata={"static": True})
  columns: tuple[int, int] = dataclasses.field(metadata={"static": True})

  @property
  def averaged(self) -> tuple[int, ...]:
    """The part whose values `cfr.solve` averages: the frontier's."""
    return () if self.frontier is None else (len(self.weights[0]) - 1,)

  def __call__(self, player: int, opponent_reach: Parts, own_reach: Parts | None = None) -> list[Array]:
    """See `tree.LeafEvaluator`."""
    opponent = self._ranges(1 - player, opponent_reach)
    values = list(self.inner(player, opponent[: len(opponent) - len(self.averaged)]))
    if self.frontier is not None:
      own = None if own_reach is None else self._ranges(player, own_reach)[-1]
      ranges = (own, opponent[-1]) if player == 0 else (opponent[-1], own)
      values.append(self._frontier_values(player, ranges))
    if player == self.chooser:  # whose weights are the gadget's, not a range: they count for both players
      values = [v * w for v, w in zip(values, self.weights[player], strict=True)]
    values = [v.reshape(-1, self.columns[player]) for v in values]
    if self.bounds is not None:
      # Not to play on is worth something to the chooser alone: the other player has no say in it.
      other = jnp.zeros((len(self.bounds), self.columns[player]), self.bounds.dtype)
      values.append(self.bounds if player == self.chooser else other)
    return values

  def _frontier_values(self, player: int, ranges: Any) -> Array:
    """[F, H], of the value function; ValueError (in tracing) if they are not so many."""
    values, expected = self.frontier(player, ranges), self.weights[player][-1].shape
    if getattr(values, "shape", None) != expected:
      given = values if values is None else f"the shape {jnp.shape(values)}"
      raise ValueError(
        f"The value function {type(self.frontier).__name__} must give player {player} values of the shape "
        f"{expected} (infostates of the frontier, types), got {given}."
      )
    return values

  def _ranges(self, player: int, reach: Parts) -> list[Array]:
    """Ranges at the leaves: reach since the root times the range there."""
    return [r.reshape(w.shape) * w for w, r in zip(self.weights[player], reach, strict=False)]
