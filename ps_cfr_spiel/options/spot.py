"""The options of spots of hold'em: of a subgame as poker players write it, and of random ones."""

import re
from collections.abc import Iterable
from typing import Annotated, Any

import numpy as np

from ps_cfr_spiel.options.option import Option, Options
from ps_cfr_spiel.options.shared import MOST_SEED

SPOT = "Hold'em instead of GAME"
BOARDS = "Boards of hold'em instead of GAME"
RATIOS = (1.0, 3.0, 10.0)
MOST = 2**31 - 1  # chips, for OpenSpiel's whole numbers have 32 bits
DISTRIBUTIONS = ("halves", "even", "betting")
Ratio = float | tuple[float, float]  # of a stack behind to the pot, or the least and the largest


class SpotOptions(Options):
  """Options of `river` and `holdem`."""

  main = "board"
  board: Annotated[
    Any,
    Option(
      "A river's five cards, such as 'Ks 7d 2c 5h 9s', a turn's four or a flop's three.",
      '"Ks7d2c5h9s", "Ks, 7d, 2c, 5h, 9s" or "K♠7♦2♣5♥9♠"; by default 9s7c5s4h3c, of `holdem` 9s7c5s4h.',
      value="CARDS",
      group=SPOT,
    ),
  ] = None
  ranges: Annotated[
    Any,
    Option(
      "Both ranges, such as 'AA, KQs, A5s-A2s:50%; TT+, AQ'.",
      'In one text, or in two: of player 0 (out of position) and of player 1 (`notation.hand_ranges`); "" '
      "means all hands.",
      value="RANGES",
      group=SPOT,
    ),
  ] = "uniform"
  bets: Annotated[
    Any,
    Option(
      "Bet sizes, such as '33%, 1/2, pot, a' (of the pot, and all-in), 2.5x (a raise to 2.5 times the bet), "
      "40c (chips) or e (geometric); ';' separates those of the first, second and later bets, '|' those of "
      "player 0 and player 1, '/' those of streets.",
      "Or a text for each of the first, the second and all later bets; `notation.bet_sizes` has all sizes. "
      "The sizes of the last street given count for all later ones.",
      value="SIZES",
      group=SPOT,
    ),
  ] = "fcpa"
  pot: Annotated[
    Any,
    Option("The pot, in chips or big blinds, such as 5.5.", value="CHIPS", group=SPOT),
  ] = 200
  stack: Annotated[
    Any,
    Option(
      "The stack behind, of each player.",
      "A game's own string counts half of the pot too. Bets are rounded to the last decimal of pot and "
      'stack, or of half of the pot; "6.00" makes them finer than 6.',
      value="CHIPS",
      group=SPOT,
    ),
  ] = 19900
  rake: Annotated[
    Any,
    Option(
      "The share of the pot that the card room takes, such as 5%; with rake a game is of general sum.",
      "Of the chips that both players have put in; an uncalled bet goes back first.",
      value="SHARE",
      group=SPOT,
    ),
  ] = "0%"
  cap: Annotated[
    Any,
    Option(
      "The most that is raked, in chips or big blinds as the pot; 0 for no cap.", value="CHIPS", group=SPOT
    ),
  ] = 0


def _read_ratios(text: str) -> list[float | tuple[float, ...]]:
  """Numbers with commas, and pairs of them with a hyphen, such as 1,2-4; ValueError for other texts."""
  ratios: list[float | tuple[float, ...]] = []
  for word in text.split(","):
    try:
      # No exponent, such as 1e-3, is split.
      least, *most = map(float, re.split(r"(?<=[0-9.])-(?=[0-9.])", word))
    except ValueError as error:
      raise ValueError("expected numbers, such as 1,3,10, or from one to another, such as 1-4.") from error
    ratios.append((least, *most) if most else least)  # the options check them
  return ratios


def _ratios(given: Any) -> tuple[Ratio, ...]:
  """Ratios as they are kept, or ValueError."""
  wrong = ValueError(
    f"ratios={given!r}: must be one or more numbers above 0, at most {MOST}, or pairs that ascend"
  )
  if isinstance(given, str | bytes) or not isinstance(given, Iterable) or np.ndim(_array(given)) < 1:
    raise wrong
  ratios: list[Ratio] = []
  for entry in given:
    numbers = _array(entry)
    if numbers.dtype.kind not in "fiu" or numbers.shape not in ((), (2,)):
      raise wrong
    least, *most = map(float, np.atleast_1d(numbers))
    if not 0 < least <= MOST or not all(least < ratio <= MOST for ratio in most):
      raise wrong
    ratios.append((least, most[0]) if most else least)
  if not ratios:
    raise wrong
  return tuple(ratios)


def _array(given: Any) -> np.ndarray:
  """The given value as an array, without a shape if NumPy finds none."""
  try:
    return np.asarray(given)
  except (ValueError, TypeError):
    return np.array(None)


class RandomSituationsOptions(Options):
  """Options of random rivers, turns and flops.

  The board is uniform. The stack behind is one of `ratios` times the pot, uniformly; of a pair it is any
  ratio between the two, uniformly by its logarithm. Ranges are of one distribution:
    halves   As DeepStack's training data were drawn (Moravčík et al. 2017, supplement): the weaker and the
             stronger half of the hands share the probability at random, and so on down to single hands.
             Often one player is far ahead.
    even     Every hand has a weight of its own, uniform between 0 and 1: neither player is far ahead.
    betting  As betting leaves them: starting hands are alike up to suits, and in each of up to three bets or
             calls the share of hands that continue depends on their strength on the turn.
  """

  main = "seed"
  seed: Annotated[int, Option("Seed of the random numbers.", least=0, most=MOST_SEED, flag=None)] = 0
  pot: Annotated[int, Option("Chips in the pot, an even number.", least=2, most=MOST, flag=None)] = 1000
  ratios: Annotated[
    Any,
    Option(
      "Stacks behind, in pots, of which each draw has one; each is compiled once. 1-4 is any between "
      "(default: 1,3,10).",
      "Numbers or pairs. Pairs without a whole bet in between share a betting tree too.",
      value="X,...",
      group=BOARDS,
      read=_read_ratios,
    ),
  ] = None
  bets: Annotated[Any, Option("Bet sizes, as of a spot.", flag=None)] = "fcpa"
  distribution: Annotated[
    str,
    Option(
      "Distribution of ranges: halves, as DeepStack's; even, every hand by itself; or betting, as bets "
      "before the river leave them.",
      choices=DISTRIBUTIONS,
      group=BOARDS,
    ),
  ] = DISTRIBUTIONS[0]
  cards: Annotated[
    int,
    Option(
      "Cards of the board: 4 and 3 draw turns and flops, whose hands are ordered by their mean place after "
      "the next card.",
      choices=(3, 4, 5),
      flag=None,
    ),
  ] = 5

  def __post_init__(self):
    super().__post_init__()
    object.__setattr__(self, "ratios", _ratios(RATIOS if self.ratios is None else self.ratios))
