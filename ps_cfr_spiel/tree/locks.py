"""Locks: infostates in which a player must play a given strategy, and the tree of all other decisions.

A lock fixes some types of a row, or all. They skip the row: what followed it hangs on their choice before,
and the leaves below it count the probability that the player comes through, as they count chance. So solvers,
best responses and exploitability are those of the locked game, and know nothing of locks.

Types that skip different rows do not share the rows below these. Each such row has a *copy* for all types
that come to it by the same choices, and so has each leaf; in all other columns a copy is idle, as dead types
are. A row that is locked for all types has no copy, and the rows below it have one:

    row 1, of which type 0 is locked          type 1           type 0
      |                                         |                |
    action a                                  row 1            (before row 1)
      |                                         |                |
    row 2                                     copy of row 2    another copy of row 2
"""

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar, NamedTuple

import jax
import numpy as np

from ps_cfr_spiel.backend.array_shapes import Float, Int
from ps_cfr_spiel.tree.arrays import Array, Parts
from ps_cfr_spiel.tree.evaluators.board_leaves import BoardLeaves
from ps_cfr_spiel.tree.evaluators.leaves import check_two_players
from ps_cfr_spiel.tree.forest import make_forest
from ps_cfr_spiel.tree.labels import Decision
from ps_cfr_spiel.tree.leaf_evaluator import LeafEvaluator
from ps_cfr_spiel.tree.padding import fill
from ps_cfr_spiel.tree.public_tree import Link, PublicTree
from ps_cfr_spiel.tree.sequences import decision_sequences, sequence_starts
from ps_cfr_spiel.tree.variants import Rows, Tables, Variant, put_rows, take_rows

WHOLE = "Trees with locks are computed as a whole: the game's own tree is sampled, and has subgames."


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class LockedLeaves(LeafEvaluator):
  """The leaves behind locks, in the copies in which players come to them."""

  kind: ClassVar[str] = "locked"
  inner: LeafEvaluator  #: the evaluator of the game's leaves
  #: for each player, of each copy the product of the probabilities of locked choices on the
  #: way; 0 for types that come to another copy.
  through: tuple[Parts, Parts]
  copies: tuple[Link | None, Link | None]  #: for each player from copies to leaves; None: each leaf has one

  def __call__(self, player: int, opponent_reach: Parts, own_reach: Parts | None = None) -> Parts:
    mine = None if own_reach is None else self._reach(player, own_reach)
    values, copies = self.inner(player, self._reach(1 - player, opponent_reach), mine), self.copies[player]
    return _times(values if copies is None else copies.pull(values), self.through[player])

  def _reach(self, player: int, reach: Parts) -> Parts:
    """A player's reach of the game's leaves, from that of the copies."""
    through, copies = _times(reach, self.through[player]), self.copies[player]
    return through if copies is None else copies.push(through)

  def sampled(self, player: int, leaf: Int[Array, " B"], reach: Float[Array, "B G"]) -> Float[Array, "B H"]:
    raise NotImplementedError(WHOLE)

  def take(self, leaves: Sequence[Int[np.ndarray, "_boards _L"]]) -> LeafEvaluator:
    raise NotImplementedError(WHOLE)

  @property
  def zero_sum(self) -> bool:
    return self.inner.zero_sum

  def pad_types(self, types: Sequence[int]) -> "LockedLeaves | None":
    inner = self.inner.pad_types(types)
    first, second = ([fill(x, n) for x in through] for through, n in zip(self.through, types, strict=True))
    return None if inner is None else dataclasses.replace(self, inner=inner, through=(first, second))

  def on_boards(self, boards: Sequence[Int[np.ndarray, " _boards"]]) -> "LockedLeaves":
    """The same; the inner evaluator must be on boards, and each leaf must have one copy."""
    inner = self.inner
    assert isinstance(inner, BoardLeaves)
    counts = [(states, count) for states, both in zip(boards, inner.leaves, strict=True) for count in both]
    kept = [(states[:, None] * count + np.arange(count)).ravel() for states, count in counts]
    first, second = ([x[k] for x, k in zip(through, kept, strict=True)] for through in self.through)
    return dataclasses.replace(self, inner=inner.on_boards(boards), through=(first, second))


class _Group(NamedTuple):
  """Types that skip the same rows."""

  columns: np.ndarray | slice  #: their columns; all of them where all types are in one group
  #: for each block of the locked tree its rows with these types, int[n] or all.
  members: list[np.ndarray | slice]
  rows: Rows  #: those rows, as `take_rows` wants them


def lock_rows(tree: PublicTree, rows: Mapping[int, Float[np.ndarray, "_A _H"]]) -> Variant:
  """The tree without its locked infostates; on the way back these get the locked strategies.

  `rows` has the strategies [A, H] of rows with locks, by their numbers in `Labels.decisions`; columns of
  zeros are free.
  """
  check_two_players(tree, "locks")
  forests, groups, tables, through, copies = zip(
    *(_without(tree, player, rows) for player in (0, 1)), strict=True
  )
  return Variant(
    PublicTree(forests, LockedLeaves(tree.leaves, through, copies)),
    partial(_free, [forest.block_shapes for forest in forests], groups),
    partial(_with_locked, groups, tables),
  )


def _free(
  all_shapes: Sequence[Sequence[tuple[int, ...]]],
  groups: Sequence[Sequence[_Group]],
  player: int,
  given: Tables,
) -> list[np.ndarray]:
  """A player's tables of the game's tree as those of the tree without locks."""
  shapes, tables_of_groups = all_shapes[player], []
  for group in groups[player]:
    few = [(a, len(source), *more) for (a, _, *more), (source, _) in zip(shapes, group.rows, strict=True)]
    tables_of_groups.append(take_rows(few, group.rows, [table[..., group.columns] for table in given]))
  if len(tables_of_groups) == 1:
    return tables_of_groups[0]
  blocks = [np.full(shape, 1 / shape[0]) for shape in shapes]
  for group, parts in zip(groups[player], tables_of_groups, strict=True):
    for block, members, part in zip(blocks, group.members, parts, strict=True):
      assert isinstance(members, np.ndarray)  # a slice stands in a group that is alone
      block[:, members[:, None], group.columns] = part
  return blocks


def _with_locked(
  groups: Sequence[Sequence[_Group]], tables: Sequence[Tables], player: int, blocks: Tables
) -> list[np.ndarray]:
  """The inverse of `_free`; `tables` are the locked strategies of each player."""
  blocks_of_groups = []
  for group in groups[player]:
    parts = [b[:, members][..., group.columns] for b, members in zip(blocks, group.members, strict=True)]
    blocks_of_groups.append(
      put_rows(group.rows, parts, [table[..., group.columns] for table in tables[player]])
    )
  if len(blocks_of_groups) == 1:
    return blocks_of_groups[0]
  whole = [np.empty(table.shape, blocks_of_groups[0][k].dtype) for k, table in enumerate(tables[player])]
  for group, parts in zip(groups[player], blocks_of_groups, strict=True):
    for table, part in zip(whole, parts, strict=True):
      table[..., group.columns] = part
  return whole


def _without(tree: PublicTree, player: int, rows: Mapping[int, Float[np.ndarray, "_A _H"]]):
  """One player's forest without locked infostates; its groups; two kinds of tables; the leaves' copies.

  The tables are the locked strategies, [A, rows, H] for each block of the game's tree, uniform elsewhere; and
  `LockedLeaves.through`.
  """
  forest, decisions = tree.players[player], list(tree.names.decisions)
  of_player = [n for n, d in enumerate(decisions) if d.player == player]
  place = np.array([(decisions[n].block, decisions[n].row) for n in of_player], int).reshape(-1, 2)
  actions = np.array([len(decisions[n].legal_actions) for n in of_player], int)
  locked = {k: rows[n] for k, n in enumerate(of_player) if n in rows}
  held = {k: _held(strategy, decisions[of_player[k]]) for k, strategy in locked.items()}
  skipped, group = _groups(held, len(of_player), forest.types)

  # Each group's choice, as row * most + action with a new row's number, or -1, in place of each sequence.
  ends = np.cumsum([rows for _, rows, _ in forest.block_shapes])
  over = np.split(np.concatenate([np.zeros(0, int), *forest.above()]), ends[:-1])
  above = np.array([over[k][row] for k, row in place], int)
  starts, sequences = sequence_starts(forest.block_shapes, forest.roots), decision_sequences(tree)[of_player]
  most, count = sequences.shape[1], 0
  choice, copies = np.full((len(skipped), starts[-1]), -1), []
  blocks = np.repeat(np.arange(len(forest.levels)), [len(level.actions) for level in forest.levels])
  for level in range(len(forest.levels)):
    rows_of_level = np.flatnonzero(blocks[place[:, 0]] == level)
    before, skips = choice[:, above[rows_of_level]], skipped[:, rows_of_level]
    row, parent, number = _distinct(before, ~skips)
    for a in range(actions[rows_of_level].max(initial=0)):
      some = actions[rows_of_level] > a
      after = np.where(skips, before, (count + number) * most + a)
      choice[:, sequences[rows_of_level[some], a]] = after[:, some]
    copies.append((rows_of_level[row], parent, _members(number, ~skips, len(row))))
    count += len(row)
  nothing = np.zeros(0, int), np.zeros(0, int), np.zeros((0, len(skipped)), bool)
  source, parent, users = (np.concatenate(parts) for parts in zip(nothing, *copies, strict=True))
  order = np.argsort(source, kind="stable")  # parents before children, as decisions are
  source, parent, users = source[order], parent[order], users[order]
  rank = np.append(np.argsort(order), -1)

  def choices(codes: np.ndarray) -> np.ndarray:
    """int[n, 2], as `make_forest` takes them."""
    return np.where(codes[:, None] < 0, -1, np.stack([rank[codes // most], codes % most], 1))

  hung = choice[:, forest.leaf.index]
  leaf, last, number = _distinct(hung, np.ones(hung.shape, bool))
  cuts = np.searchsorted(leaf, np.cumsum(forest.leaf.children)[:-1])
  smaller, places = make_forest(choices(parent), actions[source], np.split(choices(last), cuts), forest.types)
  few = len(leaf) == hung.shape[1]
  link = None if few else Link.create(leaf, forest.leaf.children, smaller.leaf.children)

  groups = []
  for g in range(len(skipped)):
    columns = slice(None) if len(skipped) == 1 else np.flatnonzero(group == g)
    members, kept = [], []
    for block, (actions_of, *_) in enumerate(smaller.block_shapes):
      at = places[:, 0] == block
      used = np.flatnonzero(users[at, g])
      members.append(slice(None) if len(skipped) == 1 else used)
      kept.append((place[source[at][used]], np.repeat(np.arange(actions_of)[:, None], len(used), 1)))
    groups.append(_Group(columns, members, kept))

  table = [np.full(shape, 1 / shape[0]) for shape in forest.block_shapes]
  factors = [np.ones(shape) for shape in forest.block_shapes]
  for k, strategy in locked.items():
    block, row = place[k]
    given = strategy.any(0)
    table[block][:, row, given] = factors[block][:, row, given] = strategy[:, given]

  # `sequence_reach` of the factors, on the host.
  reach = np.ones((starts[-1], forest.types))
  for start, factor, rows_above in zip(starts, factors, over, strict=False):
    reach[start : start + rows_above.size * len(factor)] = (factor * reach[rows_above]).reshape(
      -1, forest.types
    )
  through = reach[forest.leaf.index[leaf]]
  if not few:
    through *= _members(number, np.ones(number.shape, bool), len(leaf))[:, group]
  return smaller, groups, table, np.split(through, cuts), link


def _held(strategy: np.ndarray, decision: Decision) -> np.ndarray:
  """bool[H]: the types that a row's lock holds; all where it holds all that can be there."""
  held = np.any(strategy, 0)
  if held.all():
    return held
  possible = [h for h, name in enumerate(decision.infostates) if name is not None]
  return held | np.all(held[possible])


def _groups(held: Mapping[int, np.ndarray], count: int, types: int) -> tuple[np.ndarray, np.ndarray]:
  """bool[G, R], the rows that each group of types skips, and int[H], the group of each type."""
  patterns, group = np.unique([np.zeros(types, bool), *held.values()], axis=1, return_inverse=True)
  skipped = np.zeros((patterns.shape[1], count), bool)
  skipped[:, list(held)] = patterns[1:].T
  return skipped, group.reshape(-1)


def _distinct(codes: np.ndarray, counted: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
  """The different (column, code), ascending, among those of `codes`, int[G, n] from -1 on, that count.

  Returns their columns, int[m], their codes, int[m], and the number among them of each code, int[G, n].
  """
  base, number = codes.max(initial=-1) + 2, np.zeros(codes.shape, int)
  keys = np.arange(codes.shape[1]) * base + codes + 1
  pairs, number[counted] = np.unique(keys[counted], return_inverse=True)
  return pairs // base, pairs % base - 1, number


def _members(number: np.ndarray, counted: np.ndarray, count: int) -> np.ndarray:
  """bool[m, G]: which groups have each of the `count` numbers, int[G, n], where they count."""
  members = np.zeros((count, len(number)), bool)
  for g, (numbers_of_group, mask) in enumerate(zip(number, counted, strict=True)):
    members[numbers_of_group[mask], g] = True
  return members


def _times(parts: Parts, factors: Parts) -> list[Array]:
  return [part * factor for part, factor in zip(parts, factors, strict=True)]
