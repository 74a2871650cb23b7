"""All histories of a game as one table, from which trajectories are sampled.

The public tree keeps what the players know and folds chance into the leaves; to sample, the histories
themselves are needed. They come from where the public tree came from: the walk over a game, or its
Bayesian form. In the latter the nodes are the betting tree, and a history is a node together with the two
types that were dealt, so that the 61 million histories of a river subgame are 57 nodes and a deal.

Strategies, regrets and baselines are stored by *cell*, an infostate in which its player decides: tables have
the shape [A, S], with S cells of both players and A the most actions of any. Cells are
numbered so that a block of the public tree is a slice of a table (`blocks`).
"""

import dataclasses
import itertools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel

from ps_cfr_spiel.bayesian import BayesianForm
from ps_cfr_spiel.leaves import shares_card
from ps_cfr_spiel.tree import PublicTree
from ps_cfr_spiel.walk import CHANCE, TERMINAL, Histories, Walked

CHANCE_NODE, TERMINAL_NODE = 2, 3  # beside the players 0 and 1
Types = tuple[jax.Array, jax.Array]  # int32[B], each player's type; zeros in trees without a deal


class Level(NamedTuple):
  """The nodes of one depth: `start` to `stop` - 1.

  Attributes:
    start, stop: the range.
    kinds: which of 0, 1, `CHANCE_NODE` and `TERMINAL_NODE` there are.
    outcomes: most children of a chance node here.
    width: most children of any node here.
  """

  start: int
  stop: int
  kinds: tuple[int, ...]
  outcomes: int
  width: int

  @property
  def decides(self) -> bool:
    """Whether a player acts here."""
    return self.kinds[0] < CHANCE_NODE


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Deal:
  """The types of a Bayesian form: dealt before the first node, and compared at the end.

  Attributes:
    first: [H0] cumulative probabilities of player 0's type.
    second: [H0 * H1] cumulative probabilities of player 1's type, for each of player 0's.
    strength: (int32[H0], int32[H1]); the larger wins the stake.
    stake: [N] of each node; 0 before the end.
  """

  first: jax.Array
  second: jax.Array
  strength: Types
  stake: jax.Array

  def sample(self, uniforms: jax.Array) -> Types:
    """Types from uniform numbers [2, B]."""
    h0, h1 = self.strength[0].shape[0], self.strength[1].shape[0]
    start = jnp.zeros(uniforms.shape[1], jnp.int32)
    first = pick(self.first, start, h0, h0, uniforms[0])
    second = pick(self.second, first * h1, h1, h1, uniforms[1]) - first * h1
    return first, second


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Ends:
  """What the ends of a tree of public moves are worth, to vectors of types.

  Attributes:
    public: the public tree, for its leaf evaluator.
    leaf: int32[N], the leaf's number, counted through all parts; 0 before the end.
  """

  public: PublicTree
  leaf: jax.Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class SamplingTree:
  """A game as N nodes sorted by depth, siblings next to each other.

  Attributes:
    kind: int32[N], the player who acts, `CHANCE_NODE` or `TERMINAL_NODE`.
    first: int32[N], the first child; 0 at the end.
    count: int32[N], number of children.
    parent: int32[N], -1 at the root.
    cell: int32[N], the cell of the acting player's type 0, to which the type is added; 0 where nobody acts.
    chance: [N], probability of the chance move that leads here; 1 after other moves.
    cumulative: [N], sum of `chance` over the siblings up to here.
    utility: [N] to player 0; 0 before the end.
    legal: int32[S], number of actions of each cell.
    deal: the types, or None where all chance is among the nodes.
    ends: of a tree of public moves (`public_sampling`), else None; `utility` is then unused.
    levels: static; for each depth.
    shapes: static; `PlayerTree.block_shapes` of both players.
  """

  kind: jax.Array
  first: jax.Array
  count: jax.Array
  parent: jax.Array
  cell: jax.Array
  chance: jax.Array
  cumulative: jax.Array
  utility: jax.Array
  legal: jax.Array
  deal: Deal | None
  ends: Ends | None
  levels: tuple[Level, ...] = dataclasses.field(metadata={"static": True})
  shapes: tuple[tuple[tuple[int, int, int], ...], ...] = dataclasses.field(metadata={"static": True})

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
    return len(self.levels) - 1

  @property
  def first_decision(self) -> int:
    """The level at which a player first acts."""
    return next((d for d, level in enumerate(self.levels) if level.decides), self.depth)

  def blocks(self, table: jax.Array) -> list[list[jax.Array]]:
    """A table [A, S] as [A, rows, H] for each player and block."""
    first, result = 0, []
    for shapes in self.shapes:
      result.append([])
      for actions, rows, types in shapes:
        part = jax.lax.slice_in_dim(table[:actions], first, first + rows * types, axis=1)
        result[-1].append(part.reshape(actions, rows, types))
        first += rows * types
    return result

  def end_utility(self, node: jax.Array, types: Types) -> jax.Array:
    """Utility to player 0 of histories: int32[B] nodes and types to [B]."""
    value = self.utility[node]
    if self.deal is None:
      return value
    first, second = (strength[h] for strength, h in zip(self.deal.strength, types, strict=True))
    return value + self.deal.stake[node] * jnp.sign(first - second)


def pick(cumulative: jax.Array, first: jax.Array, count, most: int, uniform: jax.Array) -> jax.Array:
  """Samples from distributions that stand one after the other in a table, by binary search.

  Exact up to the resolution of the uniform numbers, 2^-23 in float32.

  Args:
    cumulative: cumulative probabilities, ending at 1 for each distribution.
    first: int32[B], where each distribution begins.
    count: its length.
    most: the longest length, known at trace time.
    uniform: [B] in [0, 1).

  Returns:
    int32[B], places in the table.
  """
  low, high = first, first + count - 1
  for _ in range((most - 1).bit_length()):
    middle = (low + high) // 2
    right = uniform >= cumulative[middle]
    low, high = jnp.where(right, jnp.minimum(middle + 1, high), low), jnp.where(right, high, middle)
  return low


class Nodes(NamedTuple):
  """Nodes in any order in which parents stand before their children and siblings by ascending action.

  Fields as in `SamplingTree`; `kind` is whom OpenSpiel says to act.
  """

  parent: np.ndarray
  kind: np.ndarray
  cell: np.ndarray
  chance: np.ndarray
  utility: np.ndarray


def build_sampling_tree(game: pyspiel.Game, tree: PublicTree) -> SamplingTree:
  """The histories of a compiled game, as NumPy arrays in float64.

  Args:
    game: the game.
    tree: its public tree, by `build_tree`.
  """
  assert tree.labels is not None
  if isinstance(tree.labels.source, Walked):
    return sort_nodes(tree, _walked(tree, tree.labels.source.histories))[0]
  form: BayesianForm = game.bayesian_form()  # pyright: ignore[reportAttributeAccessIssue]
  sampling_tree, order = sort_nodes(tree, _betting(tree, form))
  return dataclasses.replace(sampling_tree, deal=_deal(form, order))


def sort_nodes(tree: PublicTree, nodes: Nodes) -> tuple[SamplingTree, np.ndarray]:
  """The nodes by depth, without a deal, and int[N], which of the given nodes stands in each place."""
  size = len(nodes.parent)
  depth = np.zeros(size, int)
  for node in range(1, size):
    depth[node] = depth[nodes.parent[node]] + 1
  by_depth = np.argsort(depth, kind="stable")
  starts = np.searchsorted(depth[by_depth], np.arange(depth.max() + 2)).tolist()
  order, place = np.zeros(size, int), np.zeros(size, int)
  for start, stop in itertools.pairwise(starts):
    here = by_depth[start:stop]
    here = here[np.argsort(place[nodes.parent[here]], kind="stable")]
    order[start:stop] = here
    place[here] = np.arange(start, stop)
  parent, kind, cell, chance, utility = (column[order] for column in nodes)
  kind = np.select([kind == CHANCE, kind == TERMINAL], [CHANCE_NODE, TERMINAL_NODE], kind)
  parent = np.where(parent >= 0, place[parent], -1)
  count = np.bincount(parent[1:], minlength=size)
  first = np.where(count > 0, 1 + np.cumsum(count) - count, 0)
  running = np.cumsum(chance)
  cumulative = running - np.append(0, running)[first[parent]]
  ends = (first + np.maximum(count, 1) - 1)[parent]
  arrays: dict[str, Any] = {
    "kind": kind.astype(np.int32),
    "first": first.astype(np.int32),
    "count": count.astype(np.int32),
    "parent": parent.astype(np.int32),
    "cell": cell.astype(np.int32),
    "chance": chance,
    "cumulative": cumulative / cumulative[ends],
    "utility": utility,
    "legal": _legal(tree),
  }
  sampling_tree = SamplingTree(
    **arrays,
    deal=None,
    ends=None,
    levels=tuple(_level(start, stop, kind, count) for start, stop in itertools.pairwise(starts)),
    shapes=tuple(tuple(player.block_shapes) for player in tree.players),
  )
  return sampling_tree, order


def _level(start: int, stop: int, kind: np.ndarray, count: np.ndarray) -> Level:
  kinds, counts = kind[start:stop], count[start:stop]
  outcomes = int(counts[kinds == CHANCE_NODE].max(initial=0))
  return Level(start, stop, tuple(np.unique(kinds).tolist()), outcomes, int(counts.max()))


def _legal(tree: PublicTree) -> np.ndarray:
  """int32[S]: number of actions of each cell."""
  shapes = [shape for player in tree.players for shape in player.block_shapes]
  return np.concatenate([np.full(rows * types, a, np.int32) for a, rows, types in shapes] or [[]])


def first_cells(tree: PublicTree) -> list[int]:
  """The cell of type 0 in each row of `tree.labels.decisions`."""
  assert tree.labels is not None
  starts, total = [], 0
  for player in tree.players:
    starts.append([])
    for _, rows, types in player.block_shapes:
      starts[-1].append(total)
      total += rows * types
  return [starts[d.player][d.block] + d.row * tree.players[d.player].types for d in tree.labels.decisions]


def _walked(tree: PublicTree, histories: Histories) -> Nodes:
  """Every history of a walk; the cells include the types."""
  assert tree.labels is not None
  cells: tuple[dict[str, int], ...] = ({}, {})
  for decision, first in zip(tree.labels.decisions, first_cells(tree), strict=True):
    cells[decision.player].update(
      {name: first + h for h, name in enumerate(decision.infostates) if name is not None}
    )
  cell = np.zeros(len(histories.parent), int)
  for player in (0, 1):
    by_infostate = np.array([cells[player].get(name, 0) for name in histories.names[player]])
    cell = np.where(histories.player == player, by_infostate[histories.infostate[player]], cell)
  above = np.where(histories.parent >= 0, histories.chance[histories.parent], 1.0)
  return Nodes(histories.parent, histories.player, cell, histories.chance / above, histories.utility)


def _betting(tree: PublicTree, form: BayesianForm) -> Nodes:
  """The public states of a Bayesian form."""
  assert tree.labels is not None
  cell = np.zeros(len(form.parent), int)
  cell[[decision.public_state for decision in tree.labels.decisions]] = first_cells(tree)
  return Nodes(form.parent, form.player, cell, np.ones(len(cell)), form.constant)


def _deal(form: BayesianForm, order: np.ndarray) -> Deal:
  """The types of a Bayesian form whose public states are taken in some order."""
  prior = form.weights[0][:, None] * form.weights[1][None, :] * ~shares_card(*form.cards)
  first, second = np.cumsum(prior.sum(1)), np.cumsum(prior, 1)
  arrays: dict[str, Any] = {
    "first": first / first[-1],
    "second": (second / second[:, -1:]).ravel(),
    "strength": (form.strength[0].astype(np.int32), form.strength[1].astype(np.int32)),
    "stake": form.stake[order],
  }
  return Deal(**arrays)
