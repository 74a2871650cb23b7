"""The leaf evaluator of card games where the stronger hand wins: card removal without a matrix."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from ps_cfr_spiel.tree.arrays import Array, Parts
from ps_cfr_spiel.tree.evaluators.leaves import TwoParts, dot
from ps_cfr_spiel.tree.padding import fill
from ps_cfr_spiel.tree.prior import WeightedTypes

CHUNK = 64  # leaves whose intermediate arrays stay in a core's cache (benchmarks/engineering/leaves.py)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class _View:
  """Tables from which one player values their H hands against the opponent's G hands.

  N is the number of distinct cards in anyone's hand, W (V) the most hands of the player (opponent) with
  a common card, K the number of distinct strengths of the player's hands. "Own" is the player's.
  """

  scale: Float[Array, "... 1 H"]  #: own weight over Z
  weight: Float[Array, "... 1 G"]  #: the opponent's weight
  compare: Float[Array, "... G K"]  #: sign(own strength number k - opponent strength)
  rank: Int[Array, "... H"]  #: column of `compare` for each own hand
  opponent_by_card: Int[Array, "... N V"]  #: opponent hands with each card, padded with G
  sign: Float[Array, "... N W V"]  #: sign(own strength - opponent strength) for hands with a common card
  own_at: Int[Array, "... 2 H"]  #: place of each own hand among N x W, by its first and its second card
  #: opponent_has, own_has: incidence of hands and cards.
  opponent_has: Float[Array, "... G N"]
  own_has: Float[Array, "... H N"]
  #: the opponent's index of the same hand, G if it has none; None: the lists are equal.
  same: Int[Array, "... H"] | None

  @classmethod
  def create(cls, form: WeightedTypes, player: int, total: float) -> "_View":
    """Tables for `player`; `total` is Z, the sum of w0 w1 over compatible pairs."""
    opponent = 1 - player
    has = [_incidence(form, i) for i in (player, opponent)]
    by_card = [_hands_by_card(h) for h in has]
    strength = [form.strength[player], form.strength[opponent]]
    padded = [np.append(s, 0)[hands] for s, hands in zip(strength, by_card, strict=True)]
    real = by_card[1] < len(strength[1])
    sign = np.sign(padded[0][:, :, None] - padded[1][:, None, :]) * real[:, None, :]
    levels, rank = np.unique(strength[0], return_inverse=True)
    same = same_hand(form.cards[player], form.cards[opponent])
    identical = len(same) == len(strength[1]) and (same == np.arange(len(same))).all()
    return cls(
      scale=form.weights[player][None] / total,
      weight=form.weights[opponent][None],
      compare=np.sign(levels[None, :] - strength[1][:, None]).astype(float),
      rank=rank.astype(np.int32),
      opponent_by_card=by_card[1],
      sign=sign.astype(float),
      own_at=_positions(form, player, by_card[0]),
      opponent_has=has[1],
      own_has=has[0],
      same=None if identical else same,
    )

  def padded(self, hands: int, opponents: int) -> "_View":
    """The view with dead hands, of no card; the other sizes are rounded up too."""
    (had_hands,), (had_opponents, levels) = self.rank.shape, self.compare.shape
    cards, wide, opponent_wide = (-(-n // 16) * 16 for n in self.sign.shape)
    levels = max(64, 2 ** (levels - 1).bit_length())
    by_card = np.where(self.opponent_by_card == had_opponents, opponents, self.opponent_by_card)
    card, slot = np.divmod(self.own_at, self.sign.shape[1])
    same = np.arange(had_hands) if self.same is None else self.same
    return _View(
      scale=fill(self.scale, hands),
      weight=fill(self.weight, opponents),
      compare=fill(self.compare, opponents, levels),
      rank=fill(self.rank, hands),
      opponent_by_card=fill(by_card, cards, opponent_wide, value=opponents),
      sign=fill(self.sign, cards, wide, opponent_wide),
      own_at=fill((card * wide + slot).astype(np.int32), hands),
      opponent_has=fill(self.opponent_has, opponents, cards),
      own_has=fill(self.own_has, hands, cards),
      same=fill(np.where(same == had_opponents, opponents, same).astype(np.int32), hands, value=opponents),
    )

  def showdown(self, reach: Float[Array, "L G"]) -> Float[Array, "L H"]:
    """Sum over disjoint opponent hands of reach x sign(own - opponent strength).

    All hands, less for each own card the hands with that card. The hand itself is taken off twice,
    but ties with itself: its sign is 0.
    """
    return _in_chunks(self._showdown, reach)

  def _showdown(self, reach: Array) -> Array:
    leaves = reach.shape[0]
    everyone = dot(reach, self.compare)[:, self.rank]
    columns = jnp.concatenate([reach.T, jnp.zeros((1, leaves), reach.dtype)])
    grouped = columns[self.opponent_by_card]  # [N, V, L]
    blocked = dot(self.sign, grouped).reshape(self.sign.shape[0] * self.sign.shape[1], leaves)
    return everyone - (blocked[self.own_at[0]] + blocked[self.own_at[1]]).T

  def disjoint(self, reach: Float[Array, "L G"]) -> Float[Array, "L H"]:
    """Sum of reach over the opponent's disjoint hands, by inclusion and exclusion."""
    by_card = dot(reach, self.opponent_has)
    everyone = by_card.sum(1, keepdims=True) / 2
    twice = reach if self.same is None else jnp.pad(reach, ((0, 0), (0, 1)))[:, self.same]
    return everyone - dot(by_card, self.own_has.T) + twice


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class ShowdownLeaves(TwoParts):
  """Card games where the stronger hand wins, without any H0 x H1 matrix.

  The paper's domain-specific version (Kovařík et al. 2021, Appendix B; Johanson et al. 2011). Their sweep
  over sorted hands with running sums is sequential; here each card has a small matrix of signs, all in one
  batched product: N W V = 99,452 multiplications a leaf for 1,081 hands. Tables: about 1 MB.
  """

  kind: ClassVar[str] = "showdown"
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
  ) -> "ShowdownLeaves":
    """Make it from the types of a form and the utilities of its leaves; see `DenseLeaves.create`."""
    total = compatible_weight(form) if total is None else total
    return cls((_View.create(form, 0, total), _View.create(form, 1, total)), showdown_payoff, fold_payoff)

  def __call__(self, player: int, opponent_reach: Parts, own_reach: Parts | None = None) -> Parts:
    view = self.views[player]
    showdowns, folds = (reach * view.weight for reach in opponent_reach)
    return [
      view.showdown(showdowns) * self.showdown_payoff[:, None] * view.scale,
      view.disjoint(folds) * self.fold_payoff_of(player)[:, None] * view.scale,
    ]

  def pad_types(self, types: Sequence[int]) -> "ShowdownLeaves":
    first, second = (view.padded(types[i], types[1 - i]) for i, view in enumerate(self.views))
    return dataclasses.replace(self, views=(first, second))


def _in_chunks(function: Callable[[Array], Array], rows: Float[Array, "L G"]) -> Float[Array, "L H"]:
  """A function of rows to rows, on at most `CHUNK` of them at a time, in chunks alike."""
  count = -(-len(rows) // CHUNK)
  if count <= 1:
    return function(rows)
  size = -(-len(rows) // count)
  parts = jnp.pad(rows, ((0, count * size - len(rows)), (0, 0))).reshape(count, size, -1)
  return jax.lax.map(function, parts).reshape(count * size, -1)[: len(rows)]


def compatible_weight(form: WeightedTypes) -> float:
  """Z, the sum of w0[h] w1[g] over hands that share no card, by inclusion and exclusion."""
  by_card = [form.weights[i] @ _incidence(form, i) for i in (0, 1)]
  same = same_hand(form.cards[0], form.cards[1])
  both = form.weights[0] @ np.append(form.weights[1], 0.0)[same]
  return form.weights[0].sum() * form.weights[1].sum() - by_card[0] @ by_card[1] + both


def _incidence(form: WeightedTypes, player: int) -> Float[np.ndarray, "H N"]:
  """1 where the hand has the card."""
  cards = np.unique(np.concatenate([form.cards[0].ravel(), form.cards[1].ravel()]))
  return (form.cards[player][:, :, None] == cards).any(1).astype(float)


def _hands_by_card(has: Float[np.ndarray, "H N"]) -> Int[np.ndarray, "N W"]:
  """The hands with each card, padded with H."""
  hands, cards = has.shape
  width = max(int(has.sum(0).max()), 1)
  table = np.full((cards, width), hands, np.int32)
  for card in range(cards):
    members = np.flatnonzero(has[:, card])
    table[card, : len(members)] = members
  return table


def _positions(form: WeightedTypes, player: int, by_card: Int[np.ndarray, "N W"]) -> Int[np.ndarray, "2 H"]:
  """The place of each hand in the flattened `by_card`, by its first and by its second card."""
  card, slot = np.nonzero(by_card < len(form.strength[player]))
  hand = by_card[card, slot]
  order = np.argsort(hand, kind="stable")  # two entries a hand, the lower card first
  return (card * by_card.shape[1] + slot)[order].reshape(-1, 2).T.astype(np.int32)


def same_hand(hands: Int[Array, "... H 2"], opponent: Int[Array, "... G 2"]) -> Int[np.ndarray, "... H"]:
  """Index of the same hand among the opponent's, G if absent."""
  codes = []
  for cards in (hands, opponent):
    first, second = np.moveaxis(np.asarray(cards, np.int64), -1, 0)
    codes.append(np.minimum(first, second) << 16 | np.maximum(first, second))
  order = np.argsort(codes[1], -1)
  place = search_rows(np.take_along_axis(codes[1], order, -1), codes[0], "left")
  absent = opponent.shape[-2]
  index = np.take_along_axis(order, np.minimum(place, absent - 1), -1)
  return np.where(np.take_along_axis(codes[1], index, -1) == codes[0], index, absent).astype(np.int32)


def search_rows(
  ascending: Int[np.ndarray, "... G"], values: Int[np.ndarray, "... H"], side: Literal["left", "right"]
) -> Int[np.ndarray, "... H"]:
  """`np.searchsorted` of integers in each row."""
  keys = [x.reshape(-1, x.shape[-1]).astype(np.int64) for x in (ascending, values)]
  least = min(x.min(initial=0) for x in keys)
  span = max(x.max(initial=0) for x in keys) - least + 1
  # Rows one after the other, each above the one before, are one ascending list.
  rows = np.arange(len(keys[0]))[:, None]
  flat, wanted = (x - least + span * rows for x in keys)
  place = np.searchsorted(flat.ravel(), wanted.ravel(), side).reshape(wanted.shape) - flat.shape[1] * rows
  return place.reshape(values.shape)
