"""Card games on CPUs, natively: `ShowdownLeaves` as one sweep over sorted hands in C++ (`sweep.cc`).

If the library is missing, `ShowdownLeaves` replaces it.
"""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.backend.array_shapes import Float, Int
from ps_cfr_spiel.backend.native import call, why_unavailable
from ps_cfr_spiel.memory import HOST
from ps_cfr_spiel.tree.arrays import Array, Parts
from ps_cfr_spiel.tree.evaluators.leaves import TwoParts
from ps_cfr_spiel.tree.evaluators.showdown import compatible_weight, same_hand, search_rows
from ps_cfr_spiel.tree.padding import fill
from ps_cfr_spiel.tree.prior import WeightedTypes

MOST = 2**15 - 2  # types of a player, whose numbers have 16 bits


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class _View:
  """Tables from which one player values their H hands against the opponent's G hands.

  The hands are listed from weakest to strongest. Each array may have axes in front, `jax.vmap`'s or one for
  boards; where they are of length 1, all share it.
  """

  scale: Float[Array, "... H"]  #: own weight over Z
  weight: Float[Array, "... G"]  #: the opponent's weight
  opponent: Int[Array, "... 3 G"]  #: : hand, its two cards
  #: int16: hand, its two cards, the number of opponent hands that are weaker, of those not stronger,
  #: the opponent's index of the same hand (G if it has none).
  hands: Int[Array, "... 6 H"]

  @classmethod
  def pair(cls, form: WeightedTypes, total: float) -> tuple["_View", "_View"]:
    """Tables for both players; `total` is Z, the sum of w0 w1 over compatible pairs."""
    alike = all(np.array_equal(*pair) for pair in (form.cards, form.strength))  # weights apart
    number_of = np.cumsum(np.bincount(np.concatenate([cards.ravel() for cards in form.cards])) > 0) - 1
    orders, strengths, hands = [], [], []
    for strength, cards in zip(form.strength[: 2 - alike], form.cards, strict=False):
      order = np.argsort(strength, axis=-1, kind="stable")
      numbered = number_of[cards]
      held = [_in_order(numbered[..., k], order)[..., None, :] for k in range(cards.shape[-1])]
      orders.append(order)
      strengths.append(np.take_along_axis(strength, order, -1))
      # int16[..., 3, H]: the hands in order, and the numbers of their cards
      hands.append(np.concatenate([order[..., None, :], *held], -2, dtype=np.int16, casting="unsafe"))

    def view(player: int, other: int) -> "_View":
      counts = [search_rows(strengths[other], strengths[player], side) for side in ("left", "right")]
      same = _in_order(same_hand(form.cards[player], form.cards[other]), orders[player])
      more = [x[..., None, :] for x in (*counts, same)]
      return cls(
        scale=form.weights[player] / total,
        weight=form.weights[1 - player],
        opponent=hands[other],
        hands=np.concatenate([hands[player], *more], -2, dtype=np.int16, casting="unsafe"),
      )

    if not alike:
      return view(0, 1), view(1, 0)
    first = view(0, 0)
    return first, dataclasses.replace(first, scale=form.weights[1] / total, weight=form.weights[0])

  def padded(self, hands: int, opponents: int) -> "_View":
    """The view with dead hands: behind all others, of the first card, with weight and scale 0."""
    had_hands, had_opponents = self.hands.shape[1], self.opponent.shape[1]
    opponent, table = fill(self.opponent, opponents), fill(self.hands, hands)
    opponent[0, had_opponents:] = np.arange(had_opponents, opponents)
    table[0, had_hands:] = np.arange(had_hands, hands)
    table[3:5, had_hands:] = had_opponents  # only the order matters, since dead hands weigh nothing
    table[5] = np.where(table[5] == had_opponents, opponents, table[5])  # "no such hand" has a new number
    table[5, had_hands:] = opponents
    return _View(fill(self.scale, hands), fill(self.weight, opponents), opponent, table)


def _in_order(numbers: np.ndarray, order: np.ndarray) -> np.ndarray:
  """Numbers of hands, [..., H] or the same [H] for all, in an order of them, int[..., H]."""
  return np.take_along_axis(np.broadcast_to(numbers, order.shape), order, -1)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class NativeLeaves(TwoParts):
  """Card games where the stronger hand wins, by a sweep over sorted hands: O(H0 + H1) for each leaf.

  Kovařík et al. 2021, Theorem 4 and Appendix B; Johanson et al. 2011. The tables take 30 kB for 1,081 hands.
  """

  kind: ClassVar[str] = "native"
  native: ClassVar[bool] = True  #: see `LeafEvaluator`
  views: tuple[_View, _View]  #: tables of the two players
  showdown_payoff: Float[Array, "... L0"]
  fold_payoff: Float[Array, "... L1"]

  @classmethod
  def create(
    cls,
    form: WeightedTypes,
    showdown_payoff: Float[Array, "... L0"],
    fold_payoff: Float[Array, "... L1"],
    total: float | None = None,
  ) -> "NativeLeaves":
    """Make it from the types of a form and the utilities of its leaves; see `DenseLeaves.create`.

    ValueError where there is no native evaluator.
    """
    if reason := why_unavailable():
      raise ValueError(
        f"leaves='native' is not available: {reason}. Use 'auto' or 'showdown', or install a C++ compiler "
        "and then this package again (docs/leaf_evaluators.md)."
      )
    if (most := max(x.shape[-1] for x in form.weights)) > MOST:
      raise ValueError(
        f"leaves='native' takes up to {MOST:,} types of a player, and this game has {most:,}; "
        "choose 'showdown'."
      )
    total = compatible_weight(form) if total is None else total
    return cls(_View.pair(form, total), showdown_payoff, fold_payoff)

  @classmethod
  def table_bytes(cls, boards: int, cards: tuple[np.ndarray, np.ndarray], itemsize: int) -> int:
    # Of each hand nine numbers in 16 bits, a scale and a weight.
    return boards * 2 * (len(cards[0]) + len(cards[1])) * (9 * 2 + 2 * HOST)

  def __call__(self, player: int, opponent_reach: Parts, own_reach: Parts | None = None) -> Parts:
    view = self.views[player]
    floats = (
      *opponent_reach,
      self.showdown_payoff,
      self.fold_payoff_of(player),
      view.weight,
      view.scale,
    )
    dtype = jnp.result_type(*floats)
    values = [jax.ShapeDtypeStruct((len(reach), view.hands.shape[1]), dtype) for reach in opponent_reach]
    given = *(jnp.asarray(x, dtype) for x in floats), view.opponent, view.hands
    return call("Showdowns", dtype, given, values, "expand_dims")

  def shared(self) -> "NativeLeaves":
    """The same on the host with each table once: those that both players have alike, and opponents' hands."""
    first, second = self.views
    alike = {
      name: first_table
      for name, first_table in vars(first).items()
      if np.array_equal(first_table, vars(second)[name])
    }
    second = dataclasses.replace(second, **alike)
    views = [
      dataclasses.replace(view, opponent=other.hands[..., :3, :])
      for view, other in ((first, second), (second, first))
    ]
    return dataclasses.replace(self, views=tuple(views))

  def ranged(self, ranges: Sequence[Float[Array, "1 _H"] | None]) -> "NativeLeaves":
    """The same where a player's reach counts by a range; see `Rooted.ranges`."""
    views = [
      view if range_ is None else dataclasses.replace(view, weight=view.weight * np.asarray(range_))
      for view, range_ in zip(self.views, reversed(ranges), strict=True)
    ]
    return dataclasses.replace(self, views=tuple(views))

  def pad_types(self, types: Sequence[int]) -> "NativeLeaves":
    first, second = (view.padded(types[i], types[1 - i]) for i, view in enumerate(self.views))
    return dataclasses.replace(self, views=(first, second))
