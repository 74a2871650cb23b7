"""The notation of bet sizes: of the pot, of the bet before, chips, geometric and all-in.

  33%, 0.33, 1/3, pot   of the pot after calling
  2.5x                  a raise to 2.5 times the bet; left out where there is no bet
  100c                  a bet of 100 chips, or a raise to 100, those of this street
  e, 2e                 the share of the pot that, bet on this and all later streets, or 2, ends all-in
  a, all-in             all-in
  50%a                  any of these, or all-in where the stack is less
  x                     no bet

A number without a unit is a multiple of the pot, at most `MOST_POTS`. Blanks and commas separate sizes, `;`
those of the first, the second and all later bets of a street, `|` those of player 0 from those of player 1,
and `/` streets. `fcpa` (fold, call, pot, all-in) is `pot a`.
"""

import enum
import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from ps_cfr_spiel.cards.notation.faults import fault

MOST_POTS = 10  # a larger number without a unit is one of percents, as other tools write it


class Measure(enum.IntEnum):
  """The unit of a size's amount."""

  POTS = 0  #: of the pot after calling
  BETS = 1  #: of the bet that a raise answers
  CHIPS = 2  #: put in on this street, in the game's unit
  STREETS = 3  #: on which the same share of the pot ends all-in; 0 for all that are left


class Size(NamedTuple):
  """The size of a bet or raise."""

  amount: Fraction | float  #: In its measure, or infinity, all-in
  capped: bool = False  #: True: all-in where the stack is less than that; False: left out there
  measure: Measure = Measure.POTS


Group = tuple[Size, ...]  # ascending
Player = tuple[Group, ...]  # at the first bet, the second, ..., all later ones
Street = tuple[Player, Player]  # of player 0 and of player 1
BetSizes = tuple[Street, ...]  # of the first street, the second, ..., all later ones

ALL_IN = Size(math.inf, True)
POT = Size(Fraction(1))
_NONE = "x"
_WORDS = {"a": (ALL_IN,), "allin": (ALL_IN,), "pot": (POT,), "fcpa": (POT, ALL_IN), _NONE: ()}
_UNITS = {
  Measure.POTS: "%",
  Measure.BETS: "x",
  Measure.CHIPS: "c",
}  # after a number; a size without is a word
_NAMES = {sizes[0]: word for word, sizes in reversed(_WORDS.items()) if len(sizes) == 1}
_NUMBER = r"[0-9]{1,15}\.?[0-9]{0,40}|\.[0-9]{1,40}"
_SMALL = "10|[1-9]"  # 33/75 are no fraction
# One size, or one of the marks between them. A fraction ends where a word does, as in "1/3 / 1/2".
_PART = re.compile(
  rf"(?<![^\s,;|])(?:{_SMALL})/(?:{_SMALL})a?(?=[\s,;|]|$)|[0-9]{{2,15}}/[0-9]{{1,15}}\s?%a?|(?:{_NUMBER})\s+%a?|"
  r"all[- ]in\b|[^\s,;|/]+|[;|/]",
  re.IGNORECASE,
)
_SIZE = re.compile(
  rf"(?P<over>{_NUMBER})(?:/(?P<under>[0-9]+))?\s*(?P<unit>[{''.join(_UNITS.values())}]?)(?P<cap>a?)"
)
_UNCLEAR = (  # texts that may be one size or several, and the text to write instead
  (r"([0-9]),([0-9]{3}c)", r"a comma separates sizes; write ...\1\2"),
  (
    r"(?<![0-9.])([0-9]{1,15}),([0-9]{1,15}[x%c])",
    r"a comma separates sizes; write \1.\2, or \1, \2 with a blank",
  ),
  (
    rf"(?:{_NUMBER})(?:/[0-9]+)?[%x]?\s*pots?\b",
    "it may be one size or two; write shares of the pot as 50%, and the pot as 100%",
  ),
  (
    rf"\bpot/[0-9.]+|(?<![^\s,;|])(?:{_SMALL})(?:/(?:{_SMALL})){{2,}}(?=[\s,;|]|$)",
    "write fractions of the pot as 1/2, and blanks around the '/' between streets",
  ),
)
_GEOMETRIC = re.compile(r"(?:(?P<streets>[1-9]?)e|geo)")
SYNTAX = (
  "write sizes as 33% or 0.33 or 1/3 (of the pot), pot, a (all-in), 50%a (all-in where the stack is less), "
  "2.5x (a raise to 2.5 times the bet), 100c (chips), e or 2e (geometric, over all streets or 2), "
  "x (no bet), with blanks or commas between them, ';' between the first, second and later bets, '|' between "
  "the players and '/' between streets"
)


def parse_sizes(text: str) -> BetSizes:
  """The sizes of each street and player that a text lists; ValueError names the place of a fault."""
  streets: list[list[list[list[Size]]]] = [[[[]]]]
  words: list[list[str]] = [[]]  # of each group
  for mark, why in _UNCLEAR:
    if unclear := re.search(mark, text, re.IGNORECASE):
      raise fault("bets", text, unclear.start(), unclear[0], unclear.expand(why))
  for part in _PART.finditer(text):
    word = part[0]
    if word in ";|/":
      _check(text, part.start(), words[-1], len(streets[-1][-1]))
      words.append([])
      if word == "/":
        streets.append([[[]]])
      elif word == "|":
        streets[-1].append([[]])
      else:
        streets[-1][-1].append([])
      if len(streets[-1]) > 2:
        raise fault("bets", text, part.start(), word, "there are two players, so one '|' for each street")
    else:
      streets[-1][-1][-1] += _sizes(text, part.start(), word, words[-1])
      words[-1].append(word.lower())
  _check(text, len(text), words[-1], len(streets[-1][-1]))
  players = [[tuple(tuple(sorted({*group})) for group in player) for player in street] for street in streets]
  return tuple((street[0], street[-1]) for street in players)


def split_streets(text: str) -> list[str]:
  """The texts of each street; the stroke of a fraction, 1/3, separates none."""
  ends = [part.start() for part in _PART.finditer(text) if part[0] == "/"]
  return [text[a:b] for a, b in zip([0, *(end + 1 for end in ends)], [*ends, None], strict=True)]


def sizes_text(streets: BetSizes) -> str:
  """The text of sizes, as people write them; `parse_sizes` reads it back."""

  def player(groups: Player) -> str:
    return "; ".join(", ".join(map(size_text, group)) or _NONE for group in groups)

  return " / ".join(
    player(first) if first == second else f"{player(first)} | {player(second)}" for first, second in streets
  )


def size_text(size: Size) -> str:
  """A size as people write it: 33%, 1/3, 2.5x, 100c, 2e, a."""
  if size.measure == Measure.STREETS:
    return f"{size.amount or ''}e"
  if size.measure not in _UNITS or size.amount == math.inf:
    return _NAMES[size]
  amount, cap = Fraction(size.amount), "a" * size.capped
  if size.measure != Measure.POTS:
    return f"{_decimal(amount)}{_UNITS[size.measure]}{cap}"
  if percents := _decimal(100 * amount):
    return f"{percents}%{cap}"
  over, under = amount.as_integer_ratio()
  return f"{over}/{under}{cap}" if max(over, under) <= MOST_POTS else f"{100 * over}/{under}%{cap}"


def add_sizes(streets: BetSizes, street: int, made: Sequence[tuple[int, Fraction]]) -> BetSizes:
  """The sizes, and fractions of the pot on one street, each at its place in that street's order of bets."""
  wider = [*streets, *streets[-1:] * (street + 1 - len(streets))]

  def widened(groups: Player) -> Player:
    sizes = [*groups, *groups[-1:] * (max((place for place, _ in made), default=-1) + 2 - len(groups))]
    for place, amount in made:
      sizes[place] = tuple(sorted({*sizes[place], Size(amount)}))
    return tuple(sizes)

  first, second = wider[street]
  wider[street] = widened(first), widened(second)
  return tuple(wider)


def nearest_sizes(wanted: BetSizes, allowed: BetSizes) -> tuple[BetSizes, Group]:
  """The allowed sizes nearest to the wanted, by street, player and bet; and the wanted ones that are lacking.

  A size that is allowed stays; where no bet is, none does. Another becomes the share of the pot nearest to it
  by their ratio, or where there are no shares all sizes of other measures; without these, all-in.
  """
  replaced: set[Size] = set()

  def nearest(size: Size, group: Group) -> Group:
    if size in group or not group:
      return (size,) if group else ()
    replaced.add(size)
    shares = [other for other in group if other.measure == Measure.POTS and other.amount < math.inf]
    if not shares:
      return tuple(other for other in group if other.measure != Measure.POTS) or group
    if size.amount == math.inf:
      return (max(shares),)
    return (min(shares, key=lambda other: (abs(math.log(other.amount / size.amount)), other)),)

  def player(sizes: Player, most: Player) -> Player:
    bets = range(max(len(sizes), len(most)))
    pairs = [(sizes[min(k, len(sizes) - 1)], most[min(k, len(most) - 1)]) for k in bets]
    return tuple(
      tuple(sorted({kept for size in group for kept in nearest(size, there)})) for group, there in pairs
    )

  streets = [(wanted[min(k, len(wanted) - 1)], street) for k, street in enumerate(allowed)]
  return tuple(
    (player(sizes[0], first), player(sizes[1], second)) for sizes, (first, second) in streets
  ), tuple(sorted(replaced))


def _check(text: str, at: int, words: Sequence[str], bet: int) -> None:
  """ValueError for a group that ends at a place without a size."""
  if not words:
    raise fault("bets", text, at, text[at : at + 1], f"no size given for bet {bet}; {SYNTAX}")


def _sizes(text: str, at: int, word: str, before: Sequence[str]) -> Group:
  """The sizes that a word names, one but for `fcpa`; `before` are those before it in its group."""
  plain = word.lower()
  if before and _NONE in (plain, *before):
    raise fault("bets", text, at, word, "'x' is no bet, so no size stands beside it; leave out one of them")
  if (known := _WORDS.get(re.sub(r"[- ]", "", plain) if plain.startswith("all") else plain)) is not None:
    return known
  if geometric := _GEOMETRIC.fullmatch(plain):
    return (Size(Fraction(geometric["streets"] or 0), False, Measure.STREETS),)
  why = f"unknown bet size; {SYNTAX}"
  if size := _SIZE.fullmatch(plain):
    amount = Fraction(size["over"]) / Fraction(size["under"] or 1) if int(size["under"] or 1) else Fraction(0)
    unit, capped = size["unit"], bool(size["cap"])
    if amount <= 0:
      why = "a size is more than 0; for no bet write x"
    elif unit == "x" and amount <= 1:
      why = f"a raise is to more than the bet; for shares of the pot write {size_text(Size(amount))}"
    elif unit or size["under"]:
      measure = {letter: measure for measure, letter in _UNITS.items()}[unit or "%"]
      return (Size(amount / 100 if unit == "%" else amount, capped, measure),)
    elif before and before[-1] in ("geo", "e"):
      why = f"write {word}e for {word} streets, or {_decimal(100 * amount)}% for that many pots"
    elif amount <= MOST_POTS:
      return (Size(amount, capped),)
    else:
      percent, part, pots = (_decimal(x) for x in (amount, amount / 100, 100 * amount))
      cap = size["cap"]
      why = f"write {percent}%{cap} or {part}{cap} ({pots}%{cap}, if you mean {percent} pots)"
  elif plain == "min":
    why = "a spot has no least bet; write its chips, such as 2c, or 2x for the least raise"
  elif re.fullmatch(r"[0-9]*e[0-9].*", plain):
    why = "a geometric size has no limit here; write e, or 2e for two streets"
  raise fault("bets", text, at, word, why)


def _decimal(amount: Fraction) -> str:
  """A number as an exact decimal, "" if it has none."""
  scale, under = 0, amount.denominator
  for prime in (2, 5):
    power = 0
    while under % prime == 0:
      under, power = under // prime, power + 1
    scale = max(scale, power)
  if under != 1:
    return ""
  digits = f"{amount.numerator * 10**scale // amount.denominator:0{scale + 1}d}"
  return f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits
