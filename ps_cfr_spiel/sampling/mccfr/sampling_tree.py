"""All histories of a game as one table, from which trajectories are sampled.

The public tree keeps the knowledge of the players and folds chance into the leaves; sampling needs the
histories themselves. Their source is that of the public tree: the enumeration of a game, or its Bayesian
form. With a form the nodes are the public states, and a history is a node together with the two types that
were dealt, so that the 61 million histories of a river subgame are 57 nodes and a deal, and the 5 billion of
a turn are 4,785. Where a public card comes, a node has all cards as children; in a deal those are possible
that no player holds.

Strategies, regrets and baselines are stored by *cell*, an infostate in which its player decides: tables have
the shape [A, S], with S cells of all players and A the most actions of any. Infostates are
numbered so that a block of the public tree is a slice of a table (`blocks`). Under an abstraction a cell is a
set of infostates.
"""

import dataclasses
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.backend.array_shapes import Float, Int, Shaped
from ps_cfr_spiel.sampling.mccfr.columns import sample_cumulative
from ps_cfr_spiel.tree import Array, PublicTree, cell_starts

CHANCE_NODE, TERMINAL_NODE = 1_000, 1_001  # beside the players 0, 1, ...
# Each player's type; zeros in trees without a deal.
Types: TypeAlias = tuple[Int[Array, "..."], Int[Array, "..."]]


class Depth(NamedTuple):
  """The nodes of one depth: `start` to `stop` - 1."""

  start: int
  stop: int
  #: which players, and whether `CHANCE_NODE` and `TERMINAL_NODE`, there are, ascending.
  actors: tuple[int, ...]
  outcomes: int  #: most children of a chance node here
  width: int  #: most children of any node here

  @property
  def decides(self) -> bool:
    """Whether a player acts here."""
    return self.actors[0] < CHANCE_NODE


class PublicCards(NamedTuple):
  """The cards that come after the deal."""

  came: Int[Array, " N"]  #: the card that leads to each node; -1 where none does
  held: tuple[Int[Array, "H0 2"], Int[Array, "H1 2"]]  #: the cards that types hold


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class DealtTypes:
  """The types of a Bayesian form: dealt before the first node, and compared at the end."""

  first: Float[Array, " H0"]  #: cumulative probabilities of player 0's type
  #: H0 * H1 cumulative probabilities of player 1's type, for each of player 0's.
  second: Float[Array, " deals"]
  #: when all cards are out, in each of the ways in which they may come, the runouts; the larger wins the
  #: payoff.
  strength: tuple[Int[Array, "runouts H0"], Int[Array, "runouts H1"]]
  showdown_payoff: Float[Array, " N"]  #: of each node; 0 before the end
  runout: Int[Array, " N"]  #: the number of the runout that has come; 0 before the last card
  cards: PublicCards | None  #: the public cards; None if all are out

  def sample(self, uniforms: Float[Array, "2 B"]) -> Types:
    """Types from uniform numbers."""
    h0, h1 = self.strength[0].shape[1], self.strength[1].shape[1]
    start = jnp.zeros(uniforms.shape[1], jnp.int32)
    first = sample_cumulative(self.first, start, h0, h0, uniforms[0])
    second = sample_cumulative(self.second, first * h1, h1, h1, uniforms[1]) - first * h1
    return first, second


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Ends:
  """The values of the ends of a tree of public moves, to vectors of types."""

  public: PublicTree  #: the public tree, for its leaf evaluator
  leaf: Int[Array, " N"]  #: the leaf's number, counted through all parts; 0 before the end


class OutcomeClusters(NamedTuple):
  """The outcomes of chance in C public clusters, of all chance nodes; see `outcome_clusters`."""

  members: Int[Array, "C most"]  #: the nodes of each, then -1
  depth: Int[Array, " C"]  #: of the chance node


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class SamplingTree:
  """A game as N nodes sorted by depth, siblings next to each other."""

  actor: Int[Array, " N"]  #: the player who acts, `CHANCE_NODE` or `TERMINAL_NODE`
  first: Int[Array, " N"]  #: the first child; 0 at the end
  count: Int[Array, " N"]  #: number of children
  parent: Int[Array, " N"]  #: -1 at the root
  #: the infostate of the acting player's type 0, to which the type is added (`cell_at`); 0 where no player
  #: acts.
  cell: Int[Array, " N"]
  #: probability of the chance move that leads here, for public cards if no player holds the card
  #: (`chance_of`); 1 after other moves.
  chance: Float[Array, " N"]
  cumulative: Float[Array, " N"]  #: sum of `chance` over the siblings up to here
  utility: Float[Array, "*players N"]  #: [N] to player 0, or in a general-sum game to each; 0 before the end
  legal: Int[Array, " S"]  #: number of actions of each cell
  deal: DealtTypes | None  #: the types, or None where all chance is among the nodes
  ends: Ends | None  #: of a tree of public moves (`public_lines`), else None; `utility` is then unused
  #: the cell of each infostate under an abstraction (`abstracted`), else None: the
  #: infostates are the cells.
  sets: Int[Array, " infostates"] | None
  depths: tuple[Depth, ...] = dataclasses.field(metadata={"static": True})  #: depth 0 is the root's
  #: `PlayerTree.block_shapes` of each player.
  shapes: tuple[tuple[tuple[int, int, int], ...], ...] = dataclasses.field(metadata={"static": True})
  clusters: OutcomeClusters | None = None  #: for samplers that follow an outcome of each

  @property
  def actions(self) -> int:
    """A."""
    return max((a for shapes in self.shapes for a, _, _ in shapes), default=1)

  @property
  def cells(self) -> int:
    """S."""
    return self.legal.shape[0]

  @property
  def depth(self) -> int:
    """Number of moves of the longest history."""
    return len(self.depths) - 1

  @property
  def first_decision(self) -> int:
    """The depth at which a player first acts."""
    return next((d for d, depth in enumerate(self.depths) if depth.decides), self.depth)

  def blocks(self, table: Shaped[Array, "_A S"]) -> list[list[Shaped[Array, "_A _rows _H"]]]:
    """A table [A, S] as [A, rows, H] of infostates for each player and block; NumPy's stays NumPy's."""
    table = table if self.sets is None else table[:, self.sets]
    result = []
    for shapes, starts in zip(self.shapes, cell_starts(self.shapes), strict=True):
      result.append([])
      for (actions, rows, types), start in zip(shapes, starts.tolist(), strict=False):
        part = table[:actions, start : start + rows * types]
        result[-1].append(part.reshape(actions, rows, types))
    return result

  def cell_of(self, infostate: Int[Array, "*shape"]) -> Int[Array, "*shape"]:
    """The cell of each infostate."""
    return infostate if self.sets is None else self.sets[infostate]

  def cell_at(self, node: Int[Array, "..."], types: Types) -> Int[Array, "..."]:
    """The cell of the actor at each node, given types that broadcast; anything without one."""
    infostate = self.cell[node]
    if self.deal is not None:
      infostate = infostate + jnp.where(self.actor[node] == 0, *types)
    return self.cell_of(infostate)

  @property
  def players(self) -> int:
    """The number of players."""
    return len(self.shapes)

  def sign(self, traverser: Int[Array, ""]) -> Float[Array, ""]:
    """The factor from `end_utility` to the traverser's utility."""
    factor = 1 - 2 * traverser if self.utility.ndim == 1 else jnp.ones_like(traverser)
    return factor.astype(self.utility.dtype)

  def end_utility(
    self, node: Int[Array, " B"], types: Types, traverser: Int[Array, ""] | int = 0
  ) -> Float[Array, " B"]:
    """Utility of histories, given by nodes and types: to player 0, in general sum to the traverser."""
    general_sum = self.utility.ndim == 2
    value = self.utility[traverser, node] if general_sum else self.utility[node]
    if self.deal is None:
      return value
    runout = self.deal.runout[node]
    first, second = (strength[runout, h] for strength, h in zip(self.deal.strength, types, strict=True))
    lead = jnp.sign(first - second)
    return value + self.deal.showdown_payoff[node] * (lead * (1 - 2 * traverser) if general_sum else lead)

  def chance_of(self, node: Int[Array, "*shape"], types: Types) -> Float[Array, "*shape"]:
    """Probability of the chance move that leads to each node, given the types; 1 after other moves.

    Axes of `node` in front of those of the types share them.
    """
    chance, cards = self.chance[node], None if self.deal is None else self.deal.cards
    if cards is None:
      return chance
    card = cards.came[node][..., None]
    for held, h in zip(cards.held, types, strict=True):
      hand = jnp.expand_dims(held[h], tuple(range(node.ndim - h.ndim)))
      chance = jnp.where((card == hand).any(-1), 0, chance)
    return chance

  def sample_chance(
    self, d: int, node: Int[Array, " B"], types: Types, uniform: Float[Array, " B"]
  ) -> Int[Array, " B"]:
    """Chance's moves at nodes of depth d by uniform numbers: the next nodes.

    Where chance does not act, any node.
    """
    first, count, most = self.first[node], self.count[node], self.depths[d].outcomes
    if self.deal is None:
      return sample_cumulative(self.cumulative, first, count, most, uniform)
    # Public cards: the k-th of those that no player holds, each with the same probability.
    number = jax.lax.broadcasted_iota(jnp.int32, (most, len(node)), 0)
    child = first[None] + jnp.minimum(number, jnp.maximum(count - 1, 0)[None])
    live = (self.chance_of(child, types) > 0) & (number < count[None])
    before = jnp.cumsum(live, 0)
    return first + (before <= (uniform * before[-1])[None]).sum(0)


def abstracted(tree: SamplingTree, sets: Int[np.ndarray, " infostates"]) -> SamplingTree:
  """A tree of host arrays whose tables have a cell for each set of infostates.

  `sets` has the set of each, from 0 without gaps; members have the same number of actions.
  """
  legal = np.zeros(int(sets.max()) + 1, np.int32)
  legal[sets] = tree.legal
  return dataclasses.replace(tree, sets=sets.astype(np.int32), legal=legal)
