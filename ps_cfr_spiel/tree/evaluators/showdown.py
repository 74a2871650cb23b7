"""The leaf evaluator of card games where the stronger hand wins: card removal without a matrix."""

import dataclasses
import functools
import operator
from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.backend.array_shapes import Bool, Float, Int, Shaped
from ps_cfr_spiel.backend.device import platform
from ps_cfr_spiel.memory import HOST
from ps_cfr_spiel.options import CPU
from ps_cfr_spiel.tree.arrays import Array, Parts
from ps_cfr_spiel.tree.evaluators.leaves import TwoParts, dot
from ps_cfr_spiel.tree.padding import fill
from ps_cfr_spiel.tree.prior import WeightedTypes

BLOCK = 32  # hands that are summed in one step
WHOLE = 2.0**12  # the largest number of a row in `by_halves`, whose halves are then no subnormal numbers
#: pairs of hands for each number of `by_card`, up to which an accelerator multiplies a leaf's reach by a
#: matrix sooner than it gathers and adds up; rough (benchmarks/engineering/gpu.py, with 0 and with 1e9 here)
PAIRS = 13
CHUNK = 64  # leaves whose intermediate arrays stay in a core's cache (benchmarks/engineering/leaves.py)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class _View:
  """Tables from which one player values their H hands against the opponent's G hands.

  N is one more than the cards that both players may hold, W one more than the most opponent hands with one of
  them. Each array may have axes in front, one for boards or `jax.vmap`'s; whole numbers have 16 bits where
  they fit. Numbers that count from 1 have 0 for nothing, so zeros at the ends of axes change no value.
  """

  scale: Float[Array, "... H"]  #: own weight over Z
  weight: Float[Array, "... G"]  #: the opponent's weight
  order: Int[Array, "... G"]  #: the opponent's hands from 1, the weakest first
  place: Int[Array, "... G"]  #: of each opponent hand in this order, from 0
  by_card: Int[Array, "... W N"]  #: for each card those that have it, in the same order; no hand has card 0
  cards: Int[Array, "... 2 H"]  #: the cards of each own hand, from 1; 0 if no opponent may hold it
  ends: Int[Array, "... 2 H"]  #: the number of opponent hands that are weaker, and of those not stronger
  card_ends: Int[Array, "... 2 2 H"]  #: for either card of `cards` the same among the hands that have it
  same: Int[Array, "... H"]  #: the opponent's number of the same hand, from 1

  @classmethod
  def pair(cls, form: WeightedTypes, total: float) -> tuple["_View", "_View"]:
    """Tables for both players; `total` is Z, the sum of w0 w1 over compatible pairs."""
    common = np.intersect1d(*form.cards)
    order = [np.argsort(strength, axis=-1, kind="stable") for strength in form.strength]
    numbers = []  # [..., H, 2]: of cards
    for cards, strength in zip(form.cards, form.strength, strict=True):
      places = np.searchsorted(common, cards)
      is_common = np.append(common, -1)[places] == cards
      numbers.append(np.broadcast_to(np.where(is_common, places + 1, 0), (*strength.shape, 2)))

    def view(player: int, other: int) -> "_View":
      strength, cards = form.strength[player], numbers[player].swapaxes(-1, -2)
      ascending = np.take_along_axis(form.strength[other], order[other], -1)
      ends = np.stack([search_rows(ascending, strength, side) for side in ("left", "right")], -2)
      live = np.where(form.weights[other][..., None] != 0, numbers[other], 0)
      by_card, card_ends = _by_card(live, order[other], len(common), cards, ends)
      same = (same_hand(form.cards[player], form.cards[other]) + 1) % (ascending.shape[-1] + 1)
      place = np.argsort(order[other], axis=-1)
      shape = strength.shape
      tables = order[other] + 1, place, by_card, cards, ends, card_ends, np.broadcast_to(same, shape)
      return cls(form.weights[player] / total, form.weights[other], *map(_small, tables))

    return view(0, 1), view(1, 0)

  def padded(self, hands: int, opponents: int) -> "_View":
    """The view with dead hands, of no card; the other sizes are rounded up too."""
    wide, cards = (-(-n // 16) * 16 for n in self.by_card.shape)
    return _View(
      scale=fill(self.scale, hands),
      weight=fill(self.weight, opponents),
      order=fill(self.order, opponents),
      place=fill(self.place, opponents),
      by_card=fill(self.by_card, wide, cards),
      cards=fill(self.cards, hands),
      ends=fill(self.ends, hands),
      card_ends=fill(self.card_ends, hands),
      same=fill(self.same, hands),
    )

  def showdown(self, reach: Float[Array, "L G"], opponent: "_View") -> Float[Array, "L H"]:
    """Sum over disjoint opponent hands of reach x sign(own - opponent strength); `opponent` is their view.

    By sums of all hands, less for each own card the hands with that card. The hand itself is taken off twice,
    but ties with itself: its sign is 0.
    """
    if not self._multiplies(reach):
      return _in_chunks(self._showdown, reach)
    weaker, not_stronger, place = self.ends[:1], self.ends[1:], self.place[:, None]
    sign = (place < weaker).astype(jnp.int8) - (place >= not_stronger).astype(jnp.int8)
    return by_halves(reach, jnp.where(self._compatible(opponent), sign, 0))

  def _multiplies(self, reach: Float[Array, "L G"]) -> bool:
    """True where a matrix of all pairs of hands is the faster way, on accelerators alone."""
    leaves, opponents = reach.shape
    return platform() != CPU and opponents * len(self.scale) < PAIRS * leaves * self.by_card.size

  def _compatible(self, opponent: "_View") -> Bool[Array, "G H"]:
    """True where hands share no card."""
    pairs = [(a[:, None], b[None]) for a in opponent.cards for b in self.cards]
    # There is no card 0. Asked of the sum, that is part of the kernel that compares.
    return ~functools.reduce(operator.or_, [(a == b) & (a + b > 0) for a, b in pairs])

  def _showdown(self, reach: Array) -> Array:
    # Sums less half of the sum of all: two of them make the reach of weaker hands less that of stronger ones.
    rows, hands, leaves = _rows(reach), len(self.order), len(reach)
    # Of all hands in two steps, within blocks and of whole blocks, so that both triangles are small.
    count = hands // BLOCK + 1
    order = jnp.pad(self.order, (0, count * BLOCK - hands)).reshape(count, BLOCK).T
    blocks, place = _at(rows, order), lambda number: number % BLOCK * count + number // BLOCK
    sums = (running_sums(blocks) + running_sums(blocks.sum(0))[None]).reshape(count * BLOCK, leaves)
    sums = sums - sums[place(hands)][None] / 2
    weaker, not_stronger = place(_wide(self.ends))
    value = _at(sums, weaker) + _at(sums, not_stronger)
    # Of the hands with each card.
    sums, cards = running_sums(_at(rows, self.by_card)), self.by_card.shape[1]
    sums = (sums - sums[-1:] / 2).reshape(self.by_card.size, leaves)
    for card, ends in zip(self.cards, _wide(self.card_ends), strict=True):
      weaker, not_stronger = ends * cards + card[None]
      value = value - (_at(sums, weaker) + _at(sums, not_stronger))
    return value.T

  def disjoint(self, reach: Float[Array, "L G"], opponent: "_View") -> Float[Array, "L H"]:
    """Sum of reach over the opponent's disjoint hands, by inclusion and exclusion."""
    if self._multiplies(reach):
      return by_halves(reach, self._compatible(opponent))
    rows, (first, second) = _rows(reach), self.cards
    by_card = _at(rows, self.by_card).sum(0)
    return (rows.sum(0, keepdims=True) - _at(by_card, first) - _at(by_card, second) + _at(rows, self.same)).T


def by_halves(rows: Float[Array, "m n"], signs: Shaped[Array, "n k"]) -> Float[Array, "m k"]:
  """Product with a matrix of -1, 0 and 1, for units that multiply numbers of 16 bits and add in 32.

  A float32 is a multiple of its row's largest number in two halves of 11 bits each, and loses no more than
  sums of float32 do, if that number is above 1e-34.
  """
  if rows.dtype != np.float32:
    return dot(rows, signs.astype(rows.dtype))
  most = jnp.maximum(jnp.abs(rows).max(-1, keepdims=True), jnp.finfo(rows.dtype).tiny * WHOLE)
  scaled = rows / most * WHOLE
  # A conversion to 16 bits and back could be left out by XLA, this rounding not.
  upper = jax.lax.reduce_precision(scaled, exponent_bits=5, mantissa_bits=10)
  # One product for both halves, which reads the signs once.
  halves = jnp.stack([upper, scaled - upper]).astype(jnp.float16).reshape(-1, rows.shape[-1])
  both = jnp.matmul(halves, signs.astype(jnp.float16), preferred_element_type=np.float32)
  first, second = both.reshape(2, *rows.shape[:-1], -1)
  return (first + second) / WHOLE * most


def running_sums(rows: Float[Array, "n ..."]) -> Float[Array, "n ..."]:
  """The sum of the first k rows, for k = 0 ... n - 1.

  As a product with a small triangle of ones it is one kernel, and adds in the same order in every run.
  """
  order = np.arange(len(rows))
  triangle = jnp.asarray(order[:, None] > order, rows.dtype)
  return dot(triangle, rows.reshape(len(rows), -1)).reshape(rows.shape)


def _rows(reach: Float[Array, "L G"]) -> Float[Array, "G1 L"]:
  """A row for each hand, from 1, and row 0 of zeros. Leaves come last, so that whole rows are copied."""
  return jnp.pad(reach.T, ((1, 0), (0, 0)))


def _at(rows: Float[Array, "n L"], numbers: Int[Array, "..."]) -> Float[Array, "... L"]:
  """The rows with some numbers, without what JAX does for numbers out of range."""
  return jnp.take(rows, _wide(numbers), axis=0, mode="clip")


def _wide(numbers: Int[Array, "..."]) -> Int[jax.Array, "..."]:
  """In 32 bits, for arithmetic."""
  return jnp.asarray(numbers, jnp.int32)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class ShowdownLeaves(TwoParts):
  """Card games where the stronger hand wins, by running sums in array code: O(H0 + H1) tables, no matrix.

  The paper's domain-specific version (Kovařík et al. 2021, Appendix B; Johanson et al. 2011). Their sweep
  over sorted hands is sequential; here the running sums, of all hands and of those with each card, are
  products with triangles as large as a card's list: about 140,000 multiplications a leaf for 1,081 hands.
  The tables take 40 kB. Sums are the same in every run. Accelerators, to which products are cheap and copies
  dear, multiply many leaves by the matrix of a board's signs instead, made anew in every call.
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
    return cls(_View.pair(form, total), showdown_payoff, fold_payoff)

  @classmethod
  def table_bytes(cls, boards: int, cards: tuple[np.ndarray, np.ndarray], itemsize: int) -> int:
    # Of each hand eleven numbers, for each card the hands that have it, all in 16 bits; a scale and a weight.
    hands, common = len(cards[0]) + len(cards[1]), np.intersect1d(*cards)
    held = [np.bincount(one[np.isin(one, common)], minlength=1) for one in cards]
    numbers = 11 * hands + (len(common) + 1) * sum(int(count.max()) + 1 for count in held)
    return boards * 2 * (numbers * 2 + hands * 2 * HOST)

  def __call__(self, player: int, opponent_reach: Parts, own_reach: Parts | None = None) -> Parts:
    view, opponent = self.views[player], self.views[1 - player]
    showdowns, folds = (reach * view.weight[None] for reach in opponent_reach)
    return [
      view.showdown(showdowns, opponent) * self.showdown_payoff[:, None] * view.scale[None],
      view.disjoint(folds, opponent) * self.fold_payoff_of(player)[:, None] * view.scale[None],
    ]

  def pad_types(self, types: Sequence[int]) -> "ShowdownLeaves":
    first, second = (view.padded(types[i], types[1 - i]) for i, view in enumerate(self.views))
    return dataclasses.replace(self, views=(first, second))


def _in_chunks(function: Callable[[Array], Array], rows: Float[Array, "L G"]) -> Float[Array, "L H"]:
  """A function of rows to rows; on a CPU of at most `CHUNK` of them at a time, in chunks alike."""
  count = -(-len(rows) // CHUNK)
  if count <= 1 or platform() != CPU:
    return function(rows)
  size = -(-len(rows) // count)
  parts = jnp.pad(rows, ((0, count * size - len(rows)), (0, 0))).reshape(count, size, -1)
  return jax.lax.map(function, parts).reshape(count * size, -1)[: len(rows)]


def compatible_weight(form: WeightedTypes) -> float:
  """Z, the sum of w0[h] w1[g] over hands that share no card, by inclusion and exclusion."""
  cards = np.unique(np.concatenate([form.cards[0].ravel(), form.cards[1].ravel()]))
  held = [(hands[:, :, None] == cards).any(1).astype(float) for hands in form.cards]
  by_card = [weight @ has for weight, has in zip(form.weights, held, strict=True)]
  same = same_hand(form.cards[0], form.cards[1])
  both = form.weights[0] @ np.append(form.weights[1], 0.0)[same]
  return form.weights[0].sum() * form.weights[1].sum() - by_card[0] @ by_card[1] + both


def _by_card(
  hands: Int[np.ndarray, "... G 2"],
  order: Int[np.ndarray, "... G"],
  common: int,
  cards: Int[np.ndarray, "... 2 H"],
  ends: Int[np.ndarray, "... 2 H"],
) -> tuple[Int[np.ndarray, "... W N"], Int[np.ndarray, "... 2 2 H"]]:
  """The tables `by_card` and `card_ends` of a view.

  `hands` are the opponent's cards from 1, of `common` ones, 0 for none; the others are as in `_View`, but
  `order` counts from 0.
  """
  front, opponents = order.shape[:-1], order.shape[-1]
  in_order = np.take_along_axis(hands, order[..., None], -2).reshape(-1, 2 * opponents)
  # Each hand twice, by its cards and then from the weakest.
  by = np.argsort(in_order, axis=-1, kind="stable")
  card, place = np.take_along_axis(in_order, by, -1), by // 2
  boards = len(card)
  start = search_rows(card, np.broadcast_to(np.arange(common + 2), (boards, common + 2)), "left")
  slot = np.arange(2 * opponents) - np.take_along_axis(start, card, -1)
  width = int(slot[card > 0].max(initial=-1)) + 2
  table = np.zeros((boards, width, common + 1), np.int64)
  board, k = np.nonzero(card)
  table[board, slot[board, k], card[board, k]] = order.reshape(boards, -1)[board, place[board, k]] + 1
  # Of a card's hands those before a place in the order of all: by a search for the pair (card, place).
  shape = (*front, 2, 2, ends.shape[-1])
  held, wanted = (
    np.broadcast_to(x, shape).reshape(boards, -1) for x in (cards[..., :, None, :], ends[..., None, :, :])
  )
  before = search_rows(card * (opponents + 1) + place, held * (opponents + 1) + wanted, "left")
  card_ends = np.where(held > 0, before - np.take_along_axis(start, held, -1), 0)
  return table.reshape(*front, width, common + 1), card_ends.reshape(shape)


def _small(numbers: Int[np.ndarray, "..."]) -> Int[np.ndarray, "..."]:
  """In 16 bits if they fit."""
  return numbers.astype(np.int16 if numbers.max(initial=0) < 2**15 else np.int32)


def same_hand(hands: Int[Array, "... H 2"], opponent: Int[Array, "... G 2"]) -> Int[np.ndarray, "... H"]:
  """Index of the same hand among the opponent's, G if absent."""
  if np.array_equal(hands, opponent):  # dead hands, of which some are the same, weigh nothing
    return np.broadcast_to(np.arange(hands.shape[-2], dtype=np.int32), hands.shape[:-1])
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
  if ascending is values:  # an entry's place is where its equals begin, or end
    first, places = np.ones(values.shape, bool), np.arange(values.shape[-1])
    np.not_equal(values[..., 1:], values[..., :-1], out=first[..., 1:])
    if side == "left":
      return np.maximum.accumulate(np.where(first, places, 0), -1)
    last = np.concatenate([first[..., 1:], np.ones_like(first[..., :1])], -1)
    backwards = np.where(last, places + 1, values.shape[-1])[..., ::-1]
    return np.minimum.accumulate(backwards, -1)[..., ::-1]
  keys = [x.reshape(-1, x.shape[-1]).astype(np.int64) for x in (ascending, values)]
  least = min(x.min(initial=0) for x in keys)
  span = max(x.max(initial=0) for x in keys) - least + 1
  # Rows one after the other, each above the one before, are one ascending list.
  rows = np.arange(len(keys[0]))[:, None]
  flat, wanted = (x - least + span * rows for x in keys)
  place = np.searchsorted(flat.ravel(), wanted.ravel(), side).reshape(wanted.shape) - flat.shape[1] * rows
  return place.reshape(values.shape)
