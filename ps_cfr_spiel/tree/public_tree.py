"""The public tree: one structure of arrays that every solver of this package runs on.

Glossary, used in every file:
  public state      a node of the public tree: common knowledge.
  type              a player's private information in a Bayesian game (a poker hand).
  infostate         the knowledge of one player: a public state and, in Bayesian games, the player's type.
  sequence          (infostate, action): the last choice a player made; the empty sequence is "no choice yet".
  reach             product of one player's own action probabilities along a sequence.
  range             reach times the weight of the type, normalised.
  chance            folded into the leaf utilities, so that reaches are the players' alone.
  values            counterfactual and unnormalised, in the game's own utility; player 0 maximises
                    `returns()[0]`, player 1 `returns()[1]`.

Axes, in annotations such as `Float[Array, "L H"]`, which are jaxtyping's and which tests check
(`tests/test_shapes_of_arrays.py`):
  H, G       types of the player, and of the opponent; H0, H1 where it is said which player.
  A          actions of a row.
  rows       rows of a block or of a bucket; R those of all blocks of a player.
  S          sequences of a player, as `sequences` numbers them; cells, slots: see there. In a table that is
             sampled (`mccfr`) the cells of all players; entries: those of a learned baseline.
  L          leaves; roots: the empty sequences of a player.
  D, P, N    decisions of both players (`Labels.decisions`), public states, nodes of a tree.
  E, F       of a subgame (`subgames`): the ends inside, and a player's infostates at the frontier.
  B          computed side by side: sampled leaves, trajectories of a batch; draws: the random numbers of one.
  boards     boards of a street, or of all streets.
  M          rows that others stand for (`Orbit`).
  _, _rows   a name that begins with "_" is any number at each use: parts and blocks differ in it.
A dtype is named where it matters: `Float` numbers have the solver's, indices are int32 on the device.

**How it is laid out.** A player's decisions form a forest: from an infostate and an action to
the infostates where that player acts next. `PlayerTree` stores this forest in *levels* by the number
of the player's earlier decisions. A level is split into *blocks* of rows that have the same number of
actions; a row is a public state with all its types beside each other (the last axis, H). A game that
is not Bayesian has H = 1 and a row for each infostate. So one traversal (`traverse`) serves both: it is
dense arithmetic on arrays of shape [A, rows, H], joined by `Link`s. (Actions come first so that sums over
them are vectorised however small H is.)

The two players' forests meet only at the leaves (Kovařík et al. 2021, Proposition 3: given the
values at the leaves the rest is each player's own business), which is why nothing else of
the public tree is needed on the device; the rest is kept in `Labels`, on the host.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.arguments import JSON
from ps_cfr_spiel.backend.array_shapes import Float, Int, Shaped
from ps_cfr_spiel.backend.device import platform
from ps_cfr_spiel.cards.poker import describe
from ps_cfr_spiel.options import CPU
from ps_cfr_spiel.reports import report
from ps_cfr_spiel.tree.arrays import Array, Orbit, add_groups, row_groups, sum_rows
from ps_cfr_spiel.tree.labels import CHANCE, TERMINAL, Labels
from ps_cfr_spiel.tree.leaf_evaluator import LeafEvaluator


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Link:
  """Many-to-one pointers from child rows to parent rows, both cut in parts."""

  index: Int[Array, " m"]  #: for each child row the number of its parent row, counted through all parts
  #: rows in each part of the parent side.
  parents: tuple[int, ...] = dataclasses.field(metadata={"static": True})
  #: rows in each part of the child side; they sum to m.
  children: tuple[int, ...] = dataclasses.field(metadata={"static": True})
  #: the rows that these stand for, whose values count too; None if each stands for itself.
  orbit: Orbit | None = None
  #: how accelerators add the child rows up (`row_groups`); empty: by `index`.
  groups: tuple[Int[Array, "_n _k"], ...] = ()

  @classmethod
  def create(cls, index: Int[Array, " m"], parents: Sequence[int], children: Sequence[int]) -> "Link":
    """A link over host arrays, checked; see the class for the arguments."""
    if len(index) != sum(children):
      raise ValueError(f"A link needs {sum(children)} indices, one for each child row, got {len(index)}.")
    if len(index) and not 0 <= index.min() <= index.max() < sum(parents):
      raise ValueError(f"Link indices must be 0..{sum(parents) - 1}, got {index.min()}..{index.max()}.")
    return cls(np.asarray(index, np.int32), tuple(parents), tuple(children))

  def pull(self, parents: Sequence[Shaped[Array, "_rows H"]]) -> list[Shaped[jax.Array, "_rows H"]]:
    """Copy parent rows to their children."""
    rows = jnp.concatenate(list(parents))[self.index]
    return jnp.split(rows, np.cumsum(self.children)[:-1])

  def push(self, children: Sequence[Shaped[Array, "_rows H"]]) -> list[Shaped[jax.Array, "_rows H"]]:
    """Add child rows up in their parents: the transpose of `pull`."""
    rows, index = jnp.concatenate(list(children)), self.index
    if self.orbit is not None:
      rows, index = self.orbit.members(rows), self.orbit.parent
    if self.groups:
      rows = functools.reduce(add_groups, self.groups, rows)
    else:
      rows = sum_rows(rows, index, sum(self.parents))
    return jnp.split(rows, np.cumsum(self.parents)[:-1])

  def grouped(self, any_index: bool = False) -> "Link":
    """The link, on the host, with its `groups`; `any_index` is of `row_groups`."""
    index = np.asarray(self.index if self.orbit is None else self.orbit.parent)
    return dataclasses.replace(self, groups=row_groups(index, sum(self.parents), any_index))


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Level:
  """The rows in which a player makes the decision number d (d = 0, 1, ...)."""

  #: from the rows to the sequences of the level above (of level 0: to the roots). Sequences of a block are
  #: numbered action by action: action * rows + row.
  link: Link
  actions: tuple[int, ...] = dataclasses.field(metadata={"static": True})  #: A of each block

  @property
  def shapes(self) -> list[tuple[int, int]]:
    """(A, rows) of each block."""
    return list(zip(self.actions, self.link.children, strict=True))


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class PlayerTree:
  """One player's decisions and how the leaves hang on them."""

  levels: tuple[Level, ...]  #: from the player's first decision to the last
  #: link from the leaves to the sequences; part 0 of the sequences is the empty one, then come the blocks of
  #: all levels in order. The parts of the leaves are the leaf evaluator's. A subgame begins in several
  #: infostates, each with an empty sequence: its roots.
  leaf: Link
  types: int = dataclasses.field(metadata={"static": True})  #: H
  #: the number of first blocks that a gadget adds, whose decisions are not the game's.
  added: int = dataclasses.field(default=0, metadata={"static": True})

  def grouped(self, any_index: bool = False) -> "PlayerTree":
    """The same, on the host, with links as accelerators add up (`Link.grouped`); on a CPU itself."""
    if platform() == CPU:
      return self
    levels = [dataclasses.replace(level, link=level.link.grouped(any_index)) for level in self.levels]
    return dataclasses.replace(self, levels=tuple(levels), leaf=self.leaf.grouped(any_index))

  @property
  def roots(self) -> int:
    """Number of empty sequences: 1 in a whole game, the rows that a subgame begins in otherwise."""
    return self.leaf.parents[0]

  @property
  def block_shapes(self) -> list[tuple[int, int, int]]:
    """(A, rows, H) of every block, in the order that all per-block tuples of this package follow."""
    return [(a, n, self.types) for level in self.levels for a, n in level.shapes]

  @property
  def buckets(self) -> list[list[int]]:
    """The blocks of each number of actions, over all levels: a *bucket*, by ascending A."""
    actions = [a for a, _, _ in self.block_shapes]
    return [[k for k, a in enumerate(actions) if a == bucket] for bucket in sorted(set(actions))]

  @property
  def link_starts(self) -> list[int]:
    """For each level the number of the sequence from which its link counts, as in `sequences`."""
    sizes = [sum(a * n for a, n in level.shapes) for level in self.levels]
    return np.cumsum([0, self.roots, *sizes]).tolist()[: len(self.levels)]

  def above(self) -> list[Int[Array, " _rows"]]:
    """For each level the number of the sequence above each row, counted as in `sequences`."""
    return [level.link.index + start for level, start in zip(self.levels, self.link_starts, strict=True)]

  @property
  def bucket_shapes(self) -> list[tuple[int, int, int]]:
    """(A, rows, H) of each bucket's table; see `join`."""
    blocks = self.block_shapes
    return [(blocks[b[0]][0], sum(blocks[k][1] for k in b), self.types) for b in self.buckets]

  @property
  def places(self) -> list[tuple[int, int]]:
    """For each block its bucket, and its first row in the bucket's table."""
    places, filled = [], [0] * len(self.buckets)
    bucket_of = {k: n for n, blocks in enumerate(self.buckets) for k in blocks}
    for k, (_, rows, _) in enumerate(self.block_shapes):
      places.append((bucket_of[k], filled[bucket_of[k]]))
      filled[bucket_of[k]] += rows
    return places

  def join(self, blocks: Sequence[Shaped[Array, "_A _rows H"]]) -> list[Shaped[Array, "_A _rows H"]]:
    """The tables of all blocks as one for each bucket: its blocks' rows in order.

    On the host NumPy's stay NumPy's.
    """
    concatenate = np.concatenate if isinstance(next(iter(blocks), None), np.ndarray) else jnp.concatenate
    return [
      concatenate([blocks[k] for k in bucket], 1) if len(bucket) > 1 else blocks[bucket[0]]
      for bucket in self.buckets
    ]

  def split(self, tables: Sequence[Shaped[Array, "_A _rows H"]]) -> list[Shaped[Array, "_A _rows H"]]:
    """The tables of all buckets as one for each block; the inverse of `join`."""
    block_places = zip(self.places, self.block_shapes, strict=True)
    return [tables[bucket][:, row : row + rows] for (bucket, row), (_, rows, _) in block_places]


@dataclasses.dataclass(frozen=True)
class Boards:
  """The boards of a game with public cards to come, on the host; they are numbered street by street."""

  #: for each street the number on the street before of the board that each continues; the first
  #: street has one board, and nothing above it.
  above: tuple[Int[np.ndarray, " _boards"], ...]
  rows: tuple[tuple[Int[np.ndarray, " _rows"], ...], ...]  #: for each player and block the board of each row
  #: start, swap: the boards that each stands for below the board above it, itself
  #: included, as renamings (`Orbit.swap`).
  start: Int[np.ndarray, " _boards"]
  swap: Int[np.ndarray, " M"]

  @property
  def starts(self) -> Int[np.ndarray, " _streets"]:
    """The first board of each street, and the number of boards."""
    return np.cumsum([0, *map(len, self.above)])

  def with_first(self, player: int, counts: Sequence[int]) -> "Boards":
    """The same with further blocks, of `counts` rows on the first board, before those of a player."""
    rows = list(self.rows)
    rows[player] = *(np.zeros(count, int) for count in counts), *rows[player]
    return dataclasses.replace(self, rows=tuple(rows))


@runtime_checkable
class Traversal(Protocol):
  """The evaluation of a game on boards: by the native library (`streaming`), or by XLA (`board_passes`)."""

  def worth(
    self,
    leaves: LeafEvaluator,
    averages: Sequence[Sequence[Shaped[Array, "..."] | None]],
  ) -> Float[Array, " _numbers"]:
    """The worth of each player's best response to the averages, and their value to player 0.

    `averages` has of each player the pair of arrays that is the sum of strategies (`cfr.averages.Sum`), in
    columns of buckets, or in 16 bits of each bucket the codes, if it is the library's, else the weights;
    `leaves` are the tree's. In a general-sum game their value to player 1 too, the fourth number.
    """
    ...


@dataclasses.dataclass(frozen=True)
class PublicTree:
  """A compiled game: arrays for the device, labels for reports.

  Attributes:
    players: each player's forest of decisions.
    leaves: the leaf evaluator that joins them.
    labels: host-side names; dropped, as `boards` is, when the tree enters a jitted function.
    boards: with public cards to come, the boards.
    stream: the traversal of all boards, in trees that a solver runs on.
  """

  players: tuple[PlayerTree, ...]
  leaves: LeafEvaluator
  labels: Labels | None = None
  boards: Boards | None = None
  stream: Traversal | None = None

  @property
  def names(self) -> Labels:
    """The labels, for code that needs them; ValueError for a tree without."""
    if self.labels is None:
      raise ValueError("This tree has no labels: they were dropped when it entered a jitted function.")
    return self.labels

  def grouped(self, any_index: bool = False) -> "PublicTree":
    """The tree, on the host, as accelerators add up; on a CPU itself. `any_index` is of `row_groups`.

    With it, trees that are padded to one shape share compiled code.
    """
    return dataclasses.replace(self, players=tuple(player.grouped(any_index) for player in self.players))

  def sizes(self) -> dict[str, JSON]:
    """The tree's size, as numbers; those of the players in lists."""
    labels = self.names
    groups = {"decisions": range(len(self.players)), "chance": (CHANCE,), "terminal": (TERMINAL,)}
    return {
      "game": labels.game,
      "histories": labels.histories,
      "public_states": {name: labels.num_public_states(group) for name, group in groups.items()},
      "infostates": [labels.num_infostates(i) for i in range(len(self.players))],
      "rows": [sum(rows for _, rows, _ in player.block_shapes) for player in self.players],
      "types": [player.types for player in self.players],
      "leaves": sum(self.players[0].leaf.children),
      "evaluator": self.leaves.kind,
    }

  def summary(self, arrays: bool = True) -> str:
    """The tree's size: histories, public states, infostates; with `arrays` also rows, types and leaves."""
    sizes, labels = self.sizes(), self.names
    kinds = [f"{count:,} {name}" for name, count in sizes["public_states"].items() if count]
    infostates = sizes["infostates"]
    rows = [f"{r:,} x {t:,}" for r, t in zip(sizes["rows"], sizes["types"], strict=True)]
    layout = {
      "rows x types": " and ".join(rows),
      "leaves": f"{sizes['leaves']:,}, evaluator '{self.leaves.kind}'",
    }
    lines = {
      "game": describe(labels.game),
      "histories": f"{labels.histories:,}{labels.source.remark}",
      "public states": f"{len(labels.public_states):,}: {', '.join(kinds)}" if kinds else "none",
      "decision infostates": f"{sum(infostates):,} ({' and '.join(f'{n:,}' for n in infostates)})",
      **(layout if arrays else {}),
      **labels.remarks,
    }
    return report(lines)


jax.tree_util.register_pytree_node(
  PublicTree,
  lambda tree: ((tree.players, tree.leaves, tree.stream), None),
  lambda _, children: PublicTree(*children[:2], stream=children[2]),
)
