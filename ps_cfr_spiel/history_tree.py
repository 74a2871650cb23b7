"""All histories of a game as one table that trajectories are sampled from.

The public tree keeps what the players know and folds chance into the leaves; to sample one needs the histories
themselves. `build_history_tree` takes them from where the public tree took them: from the walk
over a game, or from a game's Bayesian form. In the latter case the nodes are public states and a history is a
node together with the two types that were dealt, so that the 61 million histories of a river
subgame cost 57 nodes.

Strategies, regrets and baselines are stored by *cell*: a cell is an infostate in which its player decides.
Tables have the shape [A, S], S cells of both players, A the most actions of any.
"""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel

from ps_cfr_spiel.leaves import shares_card
from ps_cfr_spiel.tree import Deals, Labels, PublicTree
from ps_cfr_spiel.walk import CHANCE, Histories, Walked

CHANCE_NODE, TERMINAL_NODE = 2, 3  # beside the players 0 and 1
Types = tuple[jax.Array, jax.Array]  # int32[...] each player's type; zeros in trees without a deal


class Level(NamedTuple):
  """The nodes of one depth, numbered from `start` to `stop` - 1.

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
  def players(self) -> tuple[int, ...]:
    """The players who decide here."""
    return tuple(kind for kind in self.kinds if kind < CHANCE_NODE)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Deal:
  """The types of a Bayesian form: what is dealt before the first node, and what it is worth in the end.

  Attributes:
    first: [H0] cumulative probabilities of player 0's type.
    second: [H0 * H1] cumulative probabilities of player 1's type given player 0's.
    strength: (int32[H0], int32[H1]), larger wins the stake.
    stake: [N] of each node, 0 before the end.
  """

  first: jax.Array
  second: jax.Array
  strength: Types
  stake: jax.Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class HistoryTree:
  """A game as N nodes in the order of their depth, siblings next to each other.

  Attributes:
    kind: int32[N], the player who acts, `CHANCE_NODE` or `TERMINAL_NODE`.
    first: int32[N], the first child; the others follow. 0 at terminals.
    count: int32[N], number of children.
    parent: int32[N], -1 at the root.
    cell: int32[N], where a player acts: the infostate's cell, to which the player's type is added; else 0.
    chance: [N], probability of the chance move that leads here; 1 after other moves.
    cumulative: [N], sum of `chance` over the siblings up to here.
    utility: [N] to player 0; 0 before the end.
    deal: the types, or None where chance is all among the nodes.
    levels: static; one for each depth. Decisions begin at level `first_decision`.
    offsets: static; for each player the first cell of each block.
    cells: static; S.
    actions: static; A.
  """

  kind: jax.Array
  first: jax.Array
  count: jax.Array
  parent: jax.Array
  cell: jax.Array
  chance: jax.Array
  cumulative: jax.Array
  utility: jax.Array
  deal: Deal | None
  levels: tuple[Level, ...] = dataclasses.field(metadata={"static": True})
  shapes: tuple[tuple[tuple[int, int, int], ...], ...] = dataclasses.field(metadata={"static": True})
  cells: int = dataclasses.field(metadata={"static": True})
  actions: int = dataclasses.field(metadata={"static": True})
