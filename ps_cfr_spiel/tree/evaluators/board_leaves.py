"""Leaves on many boards: public cards are still to come, and each board has a leaf evaluator of its own.

A game with public cards has *streets*, one more than cards to come. On each street there are
boards (the cards that have come so far), and on each board the same betting lines end the same ways: by
all-ins or showdowns, and by folds. Types are dealt for good at the root, so every board has all of them; one
that holds a card of the board is dead there, of weight 0.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.backend.array_shapes import Float, Int
from ps_cfr_spiel.backend.device import platform
from ps_cfr_spiel.options import CPU
from ps_cfr_spiel.tree.arrays import Array, Parts
from ps_cfr_spiel.tree.evaluators.leaves import dot, pick
from ps_cfr_spiel.tree.leaf_evaluator import LeafEvaluator, Order, Payoffs
from ps_cfr_spiel.tree.padding import fill


class BoardTypes(NamedTuple):
  """The types on one board, or on many (an axis in front), as evaluators of two parts want them of a form."""

  weights: tuple[Float[np.ndarray, "... H0"], Float[np.ndarray, "... H1"]]  #: 0 for dead types
  cards: tuple[Int[np.ndarray, "H0 2"], Int[np.ndarray, "H1 2"]]
  strength: tuple[Int[np.ndarray, "... H0"], Int[np.ndarray, "... H1"]]  #: larger wins


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class AllInLeaves(LeafEvaluator):
  """All-ins with public cards to come, after which no player acts, and folds, on one board."""

  kind: ClassVar[str] = "all-in"
  native: ClassVar[bool] = True  #: as `NativeLeaves`, if `folds` is
  #: the number of ways for the cards to come that player 0's type wins, less those it
  #: loses; 0 for types that are not dealt together. A flop has fifty such matrices.
  net_wins: Int[Array, "... H0 H1"]
  #: for each player numbers whose products are the probabilities of two types and of one way.
  weights: tuple[Float[Array, "... H0"], Float[Array, "... H1"]]
  showdown_payoff: Float[Array, "... L0"]  #: chips at stake in each all-in
  folds: LeafEvaluator  #: evaluator of two parts, of which the first is empty

  def __call__(self, player: int, opponent_reach: Parts, own_reach: Parts | None = None) -> Parts:
    all_ins, folds = opponent_reach
    return [self._all_ins(player, all_ins, self.showdown_payoff), self.folds(player, [all_ins[:0], folds])[1]]

  def _all_ins(
    self, player: int, reach: Float[Array, "L G"], showdown_payoff: Float[Array, " L"]
  ) -> Float[Array, "L H"]:
    weights, other = self.weights[player], self.weights[1 - player]
    net_wins = (self.net_wins.T if player == 0 else self.net_wins).astype(weights.dtype)
    return dot(reach * other[None], net_wins) * weights[None] * ((1 - 2 * player) * showdown_payoff)[:, None]

  def sampled(self, player: int, leaf: Int[Array, " B"], reach: Float[Array, "B G"]) -> Float[Array, "B H"]:
    count = len(self.showdown_payoff)
    all_ins = self._all_ins(player, reach, self.showdown_payoff[jnp.minimum(leaf, count - 1)])
    folds = self.folds.sampled(player, jnp.maximum(leaf - count, 0), reach)
    return jnp.where(leaf[:, None] < count, all_ins, folds)

  def take(self, leaves: Sequence[Int[np.ndarray, "_boards _L"]]) -> LeafEvaluator:
    folds = self.folds.take((leaves[0][:, :0], leaves[1]))
    if not leaves[0].size:
      return folds  # and no matrix
    return dataclasses.replace(self, showdown_payoff=pick(self.showdown_payoff, leaves[0]), folds=folds)

  @property
  def zero_sum(self) -> bool:
    return self.folds.zero_sum


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class BoardLeaves(LeafEvaluator):
  """The leaves of a game with public cards.

  There are two parts for each street: all-ins (on the last street showdowns) and folds. A part has the
  leaves of the first board, then those of the second, ..., the same number of each.
  """

  kind: ClassVar[str] = "boards"
  native: ClassVar[bool] = True  #: as `NativeLeaves`, if the evaluators of all boards are
  takes_orders: ClassVar[bool] = True
  #: for each street an evaluator of two parts, all of whose arrays have an axis in front, the boards.
  streets: tuple[LeafEvaluator, ...]
  #: the number of boards of each street.
  boards: tuple[int, ...] = dataclasses.field(metadata={"static": True})
  #: for each street the numbers of all-ins or showdowns and of folds of one board.
  leaves: tuple[tuple[int, int], ...] = dataclasses.field(metadata={"static": True})
  #: whether all boards of a street are evaluated in one call, or one after the other.
  batched: bool = dataclasses.field(metadata={"static": True})
  orders: tuple[Order | None, Order | None] = (None, None)  #: of many leaves, see `player_passes.ordered`

  @classmethod
  def create(
    cls, streets: Sequence[Sequence[LeafEvaluator]], leaves: Sequence[tuple[int, int]]
  ) -> "BoardLeaves":
    """Make it from an evaluator for each board of each street; the other arguments as in the class."""
    boards = tuple(map(len, streets))
    return cls(tuple(map(stacked, streets)), boards, tuple(leaves), is_batched(streets[-1][0].kind, boards))

  def __call__(self, player: int, opponent_reach: Parts, own_reach: Parts | None = None) -> Parts:

    def on_board(board: tuple[LeafEvaluator, Parts]) -> Parts:
      return board[0](player, board[1])

    values, on_each_board = (
      [],
      jax.vmap(on_board) if self.batched else functools.partial(jax.lax.map, on_board),
    )
    for street, (evaluator, boards) in enumerate(zip(self.streets, self.boards, strict=True)):
      parts = opponent_reach[2 * street : 2 * street + 2]
      reach = [part.reshape(boards, len(part) // boards, part.shape[1]) for part in parts]
      values += [x.reshape(-1, x.shape[2]) for x in on_each_board((evaluator, reach))]
    return values

  def sampled(self, player: int, leaf: Int[Array, " B"], reach: Float[Array, "B G"]) -> Float[Array, "B H"]:
    total, start = jnp.zeros(()), 0
    for evaluator, boards, each in zip(self.streets, self.boards, self.leaves, strict=True):
      # A leaf's place: its board, and its number among that board's leaves, through both parts.
      ends, folds = leaf - start, leaf - start - boards * each[0]
      board, number = (
        jnp.where(folds < 0, ends // max(each[0], 1), folds // max(each[1], 1)),
        jnp.where(folds < 0, ends % max(each[0], 1), each[0] + folds % max(each[1], 1)),
      )
      live = (ends >= 0) & (folds < boards * each[1])
      board, number = jnp.where(live, board, 0), jnp.where(live, number, 0)
      tables = jax.tree.map(lambda table, board=board: table[board], evaluator)
      one = jax.vmap(lambda tables, leaf, reach: tables.sampled(player, leaf[None], reach[None])[0])
      total = total + jnp.where(live[:, None], one(tables, number, reach), 0)
      start += boards * sum(each)
    return total

  @property
  def zero_sum(self) -> bool:
    return all(street.zero_sum for street in self.streets)

  @property
  def has_payoffs(self) -> bool:
    return super().has_payoffs and all(street.has_payoffs for street in self.streets)

  def payoffs(self) -> tuple[Payoffs, Payoffs]:
    streets = [street.payoffs() or () for street in self.streets]
    first, second = (self._joined([pair[i] for pair in streets], self.orders[i]) for i in (0, 1))
    return first, second

  @staticmethod
  def _joined(of_streets: Sequence[Payoffs], order: Order | None) -> Payoffs:
    """A player's payoffs of all streets, of which each leaf has a number."""
    matrix = jnp.concatenate([payoffs.matrix for payoffs in of_streets])
    if order is not None:
      return Payoffs(matrix, order.number, order.factor)
    starts = np.cumsum([0, *(len(payoffs.matrix) for payoffs in of_streets)])
    pairs = zip(of_streets, starts[:-1].tolist(), strict=True)
    number = jnp.concatenate([start + payoffs.number for payoffs, start in pairs])
    return Payoffs(matrix, number, jnp.concatenate([payoffs.factor for payoffs in of_streets]))

  def on_boards(self, boards: Sequence[Int[np.ndarray, " _boards"]]) -> "BoardLeaves":
    """The leaves of some boards, given by their numbers on each street."""
    pairs = zip(self.streets, boards, strict=True)
    streets = tuple(jax.tree.map(lambda table, kept=kept: table[kept], street) for street, kept in pairs)
    return dataclasses.replace(self, streets=streets, boards=tuple(map(len, boards)))

  def take(self, leaves: Sequence[Int[np.ndarray, "_boards _L"]]) -> "BoardLeaves":
    pairs = zip(self.boards, self.leaves, strict=True)
    every = [np.arange(boards * n).reshape(boards, n) for boards, each in pairs for n in each]
    if all(map(np.array_equal, leaves, every)):  # a search of the whole game takes every leaf
      return self
    taken, counts = [], []
    for street, (evaluator, each) in enumerate(zip(self.streets, self.leaves, strict=True)):
      parts = leaves[2 * street : 2 * street + 2]
      # The board of each row, from any of its leaves; any board will do for a row without leaves.
      board = np.max([np.max(p // max(n, 1), 1, initial=0) for p, n in zip(parts, each, strict=True)], 0)
      local = [np.where(p < 0, -1, p % max(n, 1)) for p, n in zip(parts, each, strict=True)]
      taken.append([
        jax.tree.map(lambda table, b=b: table[b], evaluator).take([p[row : row + 1] for p in local])
        for row, b in enumerate(board.tolist())
      ])  # fmt: skip
      counts.append((parts[0].shape[1], parts[1].shape[1]))
    streets = tuple(map(stacked, taken))
    return dataclasses.replace(self, streets=streets, boards=tuple(map(len, taken)), leaves=tuple(counts))


class Places(NamedTuple):
  """The places of L leaves in their evaluator, of K parts."""

  part: Int[np.ndarray, " L"]  #: int[L]
  number: Int[np.ndarray, " L"]  #: counted within the part
  board: Int[np.ndarray, " L"]  #: among the boards of the street; 0 where there are no boards
  street: Int[np.ndarray, " K"]  #: the street of each part


def leaf_places(leaves: LeafEvaluator, parts: Sequence[int]) -> Places:
  """The places of all leaves in order; `parts` are the sizes of the evaluator's parts."""
  part = np.repeat(np.arange(len(parts)), parts)
  number = np.concatenate([np.arange(size) for size in parts])
  if not isinstance(leaves, BoardLeaves):
    return Places(part, number, np.zeros(len(part), int), np.zeros(len(parts), int))
  each = np.maximum(np.array(leaves.leaves).ravel(), 1)
  return Places(part, number, number // each[part], np.arange(len(parts)) // 2)


def is_batched(kind: str, boards: Sequence[int]) -> bool:
  """Whether evaluators of a kind take all boards of a street in one call; `boards` are those of each."""
  # The native one takes the boards of one call one by one anyway.
  return kind == "native" or platform() != CPU or max(boards) == 1


def stacked(boards: Sequence[LeafEvaluator]) -> LeafEvaluator:
  """The evaluators of some boards as one, all of whose arrays have an axis in front, the boards."""
  return joined([jax.tree.map(lambda array: np.asarray(array)[None], board) for board in boards])


def joined(parts: Sequence[LeafEvaluator]) -> LeafEvaluator:
  """Evaluators whose arrays have an axis in front, the boards, as one of all their boards."""
  return jax.tree.map(_joined, *parts)


def _joined(*arrays: np.ndarray) -> np.ndarray:
  """The arrays one after the other, and zeros at the end of the axes that are shorter than others'."""
  shape = np.max([array.shape[1:] for array in arrays], axis=0).tolist()
  return np.concatenate([a if [*a.shape[1:]] == shape else fill(a, *shape) for a in arrays])
