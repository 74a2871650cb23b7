"""Situations of hold'em as plain data: a board, the pot, the stacks, the bets, and the ranges of the players.

They are read from words, from arrays or from a game, or drawn at random (`RandomSituations`). Ranges are
weights of all 1,326 hands of a deck, in the order of `cards.ALL_HANDS`, so arrays of all boards have one
shape.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from ps_cfr_spiel.arguments import as_number
from ps_cfr_spiel.cards.notation import MAX_WEIGHT, MIN_WEIGHT, Measure, hands_text, parse_sizes
from ps_cfr_spiel.cards.poker import betting, cards
from ps_cfr_spiel.cards.poker.betting_lines import Betting
from ps_cfr_spiel.cards.poker.rake import NONE, Rake, parse_rake, with_rake
from ps_cfr_spiel.cards.poker.ranking import strengths
from ps_cfr_spiel.options import DISTRIBUTIONS, RandomSituationsOptions

MOST = 2**31 - 1  # chips, for OpenSpiel's whole numbers have 32 bits; and rivers
MOST_WEIGHT = 1e300  # the sum over all hands stays finite
FIELDS = ("board", "pot", "stack", "bets", "ranges", "rake", "cap")


class Situation(NamedTuple):
  """A river to be solved, or a turn or flop; its parameters are those of `river_subgame`.

  The values are not checked here: `situation` checks them, and `solve_batch` all of its situations.

  Attributes:
    board: Five cards; four on a turn, three on a flop.
    pot: Chips in the pot.
    stack: Chips that each player began the hand with, half of the pot included.
    bets: Bet sizes.
    ranges: float64[2, 1326], weights of player 0's and player 1's hands; 0 for those not held.
    rake: Share of the pot that is raked, as `with_rake` writes it.
    cap: Most chips that are raked; 0 for no cap.
  """

  board: cards.Board
  pot: int
  stack: int
  bets: str
  ranges: np.ndarray
  rake: str = NONE
  cap: int = 0

  @property
  def betting(self) -> Betting:
    """The lines of betting of its street; errors as of `street_betting`."""
    return street_betting(self.pot, self.stack, self.bets, self.rake, self.cap)

  def game(self) -> pyspiel.Game:
    """The same as an OpenSpiel game; ValueError if a range's weights differ by more than 10^18."""
    return pyspiel.load_game(
      "river_subgame" if len(self.board) == cards.BOARD_SIZE else "holdem_subgame",
      with_rake(
        {
          **self._asdict(),
          "board": cards.card_names(self.board),
          "ranges": ";".join(map(range_text, self.ranges)),
        }
      ),
    )


def range_text(weights: np.ndarray) -> str:
  """A range in the notation of `cards.parse_range`."""
  (held,) = weights.nonzero()
  # The largest weight is 1, unless the smallest would then be less than a text may say.
  scaled = weights * max(1 / weights[held].max(), 2 * MIN_WEIGHT / weights[held].min())
  if scaled.max() > MAX_WEIGHT:
    least, most = weights[held].min(), weights[held].max()
    raise ValueError(f"a range's weights, {least:g} to {most:g}, differ too much for a game's text")
  hands = zip(cards.ALL_HANDS[held].tolist(), scaled[held].tolist(), strict=True)
  return hands_text({(high, low): weight for (high, low), weight in hands})


def situation(
  board: Any,
  pot: Any = 200,
  stack: Any = 20000,
  bets: str = "fcpa",
  ranges: Any = "uniform",
  rake: str | float = NONE,
  cap: int = 0,
  sizes: tuple[int, ...] = (cards.BOARD_SIZE,),
) -> Situation:
  """A situation, checked.

  Args:
    board: "9s7c5s4h3c", or the cards as numbers.
    pot: See `Situation`.
    stack: See `Situation`.
    bets: As for `river_subgame`.
    ranges: As for `river_subgame`, or weights [2, 1326] in the order of `cards.ALL_HANDS`. Hands that hold a
      card of the board are left out.
    rake: As for `river_subgame`.
    cap: As for `river_subgame`.
    sizes: Allowed numbers of cards on the board.

  Raises:
    ValueError: A value that `river_subgame` does not allow.
  """
  dealt = cards.parse_board(
    board if isinstance(board, str) else cards.card_names(_card_list(board, sizes)), sizes
  )
  street_betting(pot, stack, bets, rake, cap)  # raises for chips and bets that it does not allow
  check_streets(bets, len(dealt))
  weights = cards.range_weights(ranges, dealt) if isinstance(ranges, str) else _weights(ranges, dealt)
  raked = with_rake({"rake": rake, "cap": cap})
  return Situation(dealt, int(pot), int(stack), bets, weights, **raked)


def whole(name: str, value: Any, most: int = MOST) -> int:
  """A whole number from 0 to `most`, an integer or a float, Python's or NumPy's, or ValueError."""
  number = as_number(value)
  if not (0 <= number <= most and number == int(number)):
    raise ValueError(f"{name}={value!r}: must be a whole number from 0 to {most}")
  return int(number)


def _array(given: Any) -> np.ndarray:
  """The given value as an array, without a shape if NumPy finds none."""
  try:
    return np.asarray(given)
  except (ValueError, TypeError):
    return np.array(None)


def _card_list(board: Any, sizes: Sequence[int]) -> list[int]:
  numbers = _array(board)
  if numbers.dtype.kind not in "iu" or numbers.ndim != 1 or not np.isin(numbers, cards.WHOLE_DECK).all():
    count = " or ".join(map(str, sizes))
    raise ValueError(f"board={board!r}: must be {count} cards, as text or as numbers from 0 to 51")
  return numbers.tolist()


def _weights(ranges: Any, board: cards.Board) -> np.ndarray:
  """Checked weights, without the hands that cannot be dealt."""
  weights = _array(ranges)
  shape = (2, len(cards.ALL_HANDS))
  if weights.shape != shape or weights.dtype.kind not in "fiu":
    raise ValueError(f"ranges: must be a text or numbers {list(shape)}, got {weights.dtype} {weights.shape}")
  weights = weights.astype(float)
  if not ((weights >= 0) & (weights <= MOST_WEIGHT)).all():
    raise ValueError(f"ranges: weights must be finite, not negative and at most {MOST_WEIGHT:g}")
  weights[:, ~cards.unblocked(board)] = 0
  weights *= compatible(weights[::-1] > 0) > 0  # hands without any compatible hand of the other player go
  if not weights.any(1).all():
    raise ValueError("ranges: no two hands of theirs can be dealt on this board")
  return weights


def compatible(weights: np.ndarray) -> np.ndarray:
  """float64[..., 1326]: for each hand the weight of all hands that share no card with it."""
  by_card = weights @ _HOLDS
  return by_card.sum(-1, keepdims=True) / cards.HAND_SIZE - by_card @ _HOLDS.T + weights


_HOLDS = (cards.ALL_HANDS[:, :, None] == np.array(cards.WHOLE_DECK)).any(1).astype(float)  # [1326, 52]


def of_game(game: pyspiel.Game) -> Situation:
  """The situation of a `river_subgame`; ValueError for one with a unit of several chips."""
  parameters = game.get_parameters()
  if parameters["unit"] != 1:
    raise ValueError(f"unit={parameters['unit']}: rivers in bulk count whole chips; multiply pot and stack")
  return situation(**{name: parameters[name] for name in FIELDS if name in parameters})


def check_streets(bets: str, count: int) -> None:
  """ValueError for sizes that depend on the streets after one solved alone, on a board of `count` cards."""
  left = cards.BOARD_SIZE + 1 - count
  sizes = (size for street in parse_sizes(bets) for player in street for group in player for size in group)
  if left > 1 and any(size.measure == Measure.STREETS and not size.amount for size in sizes):
    raise ValueError(f"bets={bets!r}: 'e' counts the streets of a game, and here it has one; write {left}e")


def street_betting(pot: int, stack: int, bets: str, rake: str | float = NONE, cap: int = 0) -> Betting:
  """The lines of betting on a river, or on another street that is solved alone.

  ValueError if `river_subgame` does not allow it, or there are more than `MOST` chips.
  """
  if not isinstance(bets, str):
    raise ValueError(f"bets={bets!r}: must be a text such as 'fcpa' or '0.5 1 a'")
  return _street_betting(whole("pot", pot), whole("stack", stack), bets, parse_rake(rake, cap))


@functools.lru_cache(maxsize=4096)
def _street_betting(pot: int, stack: int, bets: str, rake: Rake) -> Betting:
  return Betting.of_states(betting.betting_states(pot, stack, betting.parse_bets(bets), rake=rake))


Generators = Sequence["np.random.Generator"]


def even(rngs: Generators, orders: np.ndarray, _: Sequence[cards.Board]) -> np.ndarray:
  """Ranges; arguments as for `DRAWN`."""
  weights = np.stack([rng.random((2, orders.shape[1])) for rng in rngs])
  return weights / weights.sum(-1, keepdims=True)


def halves(rngs: Generators, orders: np.ndarray, _: Sequence[cards.Board]) -> np.ndarray:
  """Ranges; arguments as for `DRAWN`."""
  halvings, mass = _halvings(orders.shape[1]), np.ones((len(rngs), 2, 1))
  ends = np.cumsum([0, *(len(divided) for divided, _ in halvings)])
  shares = np.stack([rng.random((2, ends[-1])) for rng in rngs])
  for start, (divided, held) in zip(ends, halvings, strict=False):
    part = mass * shares[..., start : start + len(divided)] * divided
    mass = np.stack([part, mass - part], -1).reshape(len(rngs), 2, -1)[..., held]
  return mass


@functools.lru_cache(maxsize=64)  # the same for all ranges of a size
def _halvings(count: int) -> list[tuple[np.ndarray, np.ndarray]]:
  """For each halving: bool[n], parts of more than one hand; int[m], those of the 2n halves with a hand."""
  size, halvings = np.array([count]), []
  while size.max() > 1:
    half = size // 2  # 0 of a single hand, which keeps all
    halves = np.stack([half, size - half], 1).ravel()
    held = np.flatnonzero(halves)
    halvings.append((half > 0, held))
    size = halves[held]
  return halvings


def left_by_betting(rngs: Generators, orders: np.ndarray, boards: Sequence[cards.Board]) -> np.ndarray:
  """Ranges; arguments as for `DRAWN`."""

  def drawn(rng: "np.random.Generator", order: np.ndarray, strength: np.ndarray) -> np.ndarray:
    hands = cards.ALL_HANDS[order]
    rank, suit = np.divmod(hands, len(cards.SUITS))
    starting = rank[:, 0] * 13 + rank[:, 1] + 169 * (suit[:, 0] == suit[:, 1])
    weights = rng.random(2 * 169)[starting] ** rng.choice(POWERS)
    for _ in range(rng.integers(4)):  # bets and calls before the river
      going_on = rng.random(len(POINTS)) ** rng.choice(POWERS)
      weights *= np.interp(strength, POINTS, going_on) * rng.uniform(0.5, 1, len(hands))
    return weights / weights.sum()

  return np.stack(
    [
      [drawn(rng, order, _before(board[: cards.BOARD_SIZE - 1])[order]) for _ in range(2)]
      for rng, order, board in zip(rngs, orders, boards, strict=True)
    ]
  )


@functools.lru_cache(maxsize=1)  # both players' ranges ask
def _before(board: cards.Board) -> np.ndarray:
  """[1326]: the strength of hands before the last card, from 0 to 1: their mean place over the last cards."""
  last = np.setdiff1d(cards.WHOLE_DECK, board)
  order = strengths(np.array([(*board, card) for card in last]), cards.ALL_HANDS).argsort(1)
  place = np.empty(order.shape)
  np.put_along_axis(place, order, np.linspace(0, 1, len(cards.ALL_HANDS))[None], 1)
  possible = (last[:, None, None] != cards.ALL_HANDS).all(2)
  return (place * possible).sum(0) / possible.sum(0)


POWERS = (0.25, 1.0, 3.0)  # of random shares: nearly all, any, few
POINTS = np.linspace(0, 1, 6)  # strengths at which shares are drawn
TOGETHER = 64  # situations that are drawn side by side

# Both players' ranges [N, 2, n] on N boards, of the hands `orders` [N, n], numbers in `cards.ALL_HANDS` from
# the weakest; each board has a generator of its own.
DRAWN: dict[str, Callable[[Generators, np.ndarray, Sequence[cards.Board]], np.ndarray]] = dict(
  zip(DISTRIBUTIONS, (halves, even, left_by_betting), strict=True)
)


class RandomSituations(Sequence):
  """Random rivers, turns or flops, each drawn on demand, from the options and its number alone.

  `options` has all of `RandomSituationsOptions`.
  """

  def __init__(self, count: int, options: RandomSituationsOptions | int | None = None, **keywords: Any):
    """Draw nothing yet.

    Args:
      count: Their number.
      options: All options, or the seed alone.
      **keywords: Options by name.

    ValueError for a wrong option, or bets that the pot and the stacks do not allow.
    """
    self._count = whole("count", count)
    self.options = options = RandomSituationsOptions.of(options, **keywords)  #: as given
    for ratio in np.hstack(options.ratios).tolist():
      street_betting(options.pot, self._stack(ratio), options.bets)
      if self._stack(ratio) == options.pot // 2:
        raise ValueError(
          f"ratios: {ratio} of pot={options.pot} is less than a chip; give a larger ratio or pot"
        )
    check_streets(options.bets, options.cards)

  def _stack(self, ratio: float) -> int:
    """Chips that each player began with."""
    return self.options.pot // 2 + round(ratio * self.options.pot)

  def __len__(self) -> int:
    return self._count

  def __getitem__(self, number: Any) -> Any:
    """The situation of a number, or those of a slice; IndexError outside the list."""
    try:
      chosen = range(self._count)[number]
    except (IndexError, TypeError):
      raise IndexError(
        f"situation {number!r} of {self._count}: out of range; give a whole number below that or a slice"
      ) from None
    if isinstance(chosen, int):
      return self.draw(chosen)
    parts = (chosen[k : k + TOGETHER] for k in range(0, len(chosen), TOGETHER))
    return [drawn for part in parts for drawn in self._drawn(part)]

  def draw(self, number: int) -> Situation:
    """The situation of a number, beyond `count` too; ValueError for anything but a whole number from 0."""
    return self._drawn([whole("number", number)])[0]

  def _drawn(self, numbers: Sequence[int]) -> list[Situation]:
    """The situations of some numbers, drawn side by side."""
    options = self.options
    rngs = [np.random.default_rng((options.seed, number)) for number in numbers]
    boards = [tuple(rng.choice(len(cards.WHOLE_DECK), options.cards, replace=False).tolist()) for rng in rngs]
    stacks = []
    for rng in rngs:
      ratio = options.ratios[rng.integers(len(options.ratios))]
      if isinstance(ratio, tuple):
        ratio = float(np.exp(rng.uniform(*np.log(ratio))))
      stacks.append(self._stack(ratio))
    last = options.cards == cards.BOARD_SIZE
    ranked = strengths(np.array(boards), cards.ALL_HANDS) if last else np.stack(list(map(_before, boards)))
    live = np.array([np.flatnonzero(cards.unblocked(board)) for board in boards])
    by_strength = np.argsort(np.take_along_axis(ranked, live, 1), 1, kind="stable")
    orders = np.take_along_axis(live, by_strength, 1)
    ranges = np.zeros((len(boards), 2, len(cards.ALL_HANDS)))
    np.put_along_axis(ranges, orders[:, None], DRAWN[options.distribution](rngs, orders, boards), 2)
    drawn = zip(boards, stacks, ranges, strict=True)
    return [Situation(board, options.pot, stack, options.bets, both) for board, stack, both in drawn]
