"""Traversals of a played game: all moves of one player, one of the other's, and what may be skipped.

External sampling (Lanctot et al. 2009, Section 3.2) with the pruning of Brown and Sandholm (2015, 2017; Yi
and Kaneko, Section 2.4), in sampled form. The game traverses itself (`TraversedGame`): billions of decisions
one after the other are no matter for arrays. Here is what it is asked for.

What the opponent does not play is never visited, since the opponent's moves are sampled: partial pruning is
part of the method. A move that is not played and has a negative regret may be skipped. Each skipped visit
adds the most that the move could have brought, U - v, so that the regret that is kept is never below the true
one, and when it rises above 0 the move is traversed again; regret matching's bound holds for the kept
regrets, whose increments are as bounded as others'. That is `regret`, for at most T' visits (equation 12, in
sampled values). With `best_response` what was lent is called in then: the skipped visits are entered with
the value that the move has against the opponent's average strategy, by which the opponent plays in the
subtree that is opened again (11, with the widest x of 10, for which the current strategy below is a T-near
counterfactual best response). The reach in condition 13 is that of the sampling itself: only visits count.
"""

import dataclasses
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp

from ps_cfr_spiel.arguments import MOST
from ps_cfr_spiel.simulated.played_game import PlayedGame
from ps_cfr_spiel.simulated.samplers import Found

PRUNINGS = ("none", "regret", "best_response")
SAMPLINGS = ("external", "plays")


class Tables(NamedTuple):
  """What is kept, [S] each.

  Attributes:
    regrets: cumulative; with pruning at least the true ones.
    average: sum of the opponent's policies, iteration t with weight t ** `gamma`.
    values: of moves, running means, to their players.
    visits: how often a move was valued, each visit counted once.
    skipped: how often it was skipped since it was last valued, iteration t with the same weight.
  """

  regrets: jax.Array
  average: jax.Array
  values: jax.Array
  visits: jax.Array
  skipped: jax.Array


class TraversedGame(PlayedGame, Protocol):
  """A played game that traverses itself."""

  def why_unavailable(self) -> str:
    """Why it cannot do so here, "" if it can."""
    ...

  def traverse(
    self,
    tables: Tables,
    fixed: jax.Array | None,
    traverser: jax.Array,
    weight: jax.Array,
    decay: jax.Array,
    key: jax.Array,
    batch: int,
    options: dict[str, Any],
  ) -> tuple[tuple[jax.Array, ...], jax.Array, jax.Array]:
    """Traverses `batch` games one after the other, learning after each; pure JAX.

    Args:
      tables: [S] each.
      fixed: see `Sampler`; for "plays" alone.
      traverser: int32[].
      weight: [], of what is learned.
      decay: [], weight of the newest value in a running mean.
      key: of JAX's random numbers.
      batch: B.
      options: `Traversals.numbers`.

    Returns:
      The tables; [B] values to the traverser; int32[5]: decisions met and moves skipped, in millions and the
      rest each, and whether a traversal was given up.
    """
    ...


@dataclasses.dataclass(frozen=True)
class Traversals:
  """How a game is traversed.

  Attributes:
    sampling: "external": all moves of the traverser, down to the end. "plays": one play, which teaches what
      `Trajectories` does with `Learned`, or if `corrected` with `Corrected`, but one after the other; regrets
      are never negative then.
    pruning: one of `PRUNINGS`, for "external".
    exploration: share of uniform play in the traverser's moves in "plays".
    decay: weight of the newest value in a running mean in iteration 1; in "external" the least one.
    most_weight: where weights are cut in "plays", as in `Learned`; infinite for `Corrected`.
    most_nodes: decisions after which a traversal is given up.
    depth: how many decisions of the traverser, one below the other, are traversed in "external"; one play by
      the current policies follows, from which nothing is learned.
    at_once: whether "external" learns after every decision, so that a key to which a traversal comes again
      has another policy, and moves to skip; else after every traversal. A key that forgets nothing comes only
      once.
    corrected: see `sampling`.
    gamma: iteration t counts t ** gamma: in "plays" in the average, in "external" in the regrets too.
    decay_power: in iteration t the decay is `decay` * t ** -decay_power.
  """

  sampling: str
  pruning: str
  exploration: float
  decay: float
  most_weight: float
  most_nodes: int
  depth: int = MOST
  at_once: bool = False
  corrected: bool = False
  gamma: float = 1.0
  decay_power: float = 0.0

  def tables(self, zeros: Any) -> Tables:
    """See `Sampler`."""
    return Tables(*[zeros] * len(Tables._fields))

  def __call__(
    self,
    game: Any,  # a `TraversedGame`
    tables: Tables,
    fixed: jax.Array | None,
    traverser: jax.Array,
    iteration: jax.Array,
    key: jax.Array,
    batch: int,
  ) -> Found:
    """See `Sampler`; policies change from one traversal to the next, also within a turn."""
    t = iteration.astype(tables.regrets.dtype)
    learning = t**self.gamma, self.decay * t**-self.decay_power
    new, values, counts = game.traverse(tables, fixed, traverser, *learning, key, batch, self.numbers())
    return Found(
      tables=Tables(*new),
      value=values.mean() if fixed is not None else jnp.where(traverser == 0, 1, -1) * values.mean(),
      nodes=counts[:2],
      skipped=counts[2:4],
      stopped=counts[4] > 0,
    )

  def numbers(self) -> dict[str, Any]:
    """The fields that stay the same in all iterations, names by their numbers."""
    return {
      "sampling": SAMPLINGS.index(self.sampling),
      "pruning": PRUNINGS.index(self.pruning),
      "exploration": float(self.exploration),
      "most_weight": float(self.most_weight),
      "most_nodes": self.most_nodes,
      "depth": self.depth,
      "at_once": int(self.at_once),
      "corrected": int(self.corrected),
    }
