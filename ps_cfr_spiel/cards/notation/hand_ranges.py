"""The notation of cards, hands and ranges.

A card is an integer `4 * rank + suit`, ranks and suits in the order of `RANKS` and `SUITS`, and a hand is two
cards, the higher one first. Upper and lower case mean the same, and 10 is T. A range is hands and kinds of
hands, with blanks or commas between them:

  AsKd               one hand
  AA, AKs, AKo, AK   a pair; suited, offsuit, either
  Ax, Kxs            an ace with any other rank, a king with any lower one, suited
  TT+, A9s+, Kxs+    pairs up to aces; up to AKs; Kxs and Axs; T9s+ is refused, as others read it as T9s-AKs
  KK-QQ, A5s-A2s     from one to the other; of one high card, or as T9s-54s with one gap
  random, any two    all hands
  15%                the best kinds, by equity against a random hand, that are together at most 15% of all
                     hands; as the first word alone
  AA:0.5, AA:50%     the share that is held, also `AA@50`; `AA:0` takes aces out again
  [50]AA,KK[/50]     the share in percent for all in between

Where hands are named twice, the later time counts. Without a word the range is all hands.
"""

import functools
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping

from ps_cfr_spiel.cards.notation.faults import fault

RANKS = "23456789TJQKA"
SUITS = "cdhs"
MIN_WEIGHT, MAX_WEIGHT = 1e-9, 1e9  # keeps products of two weights far from under- and overflow

Hand = tuple[int, int]
Kind = tuple[int, int, str]  # the higher rank, the lower one or `ANY`, and "s", "o" or ""
ANY = -1

_SIGNS = {"♣": "c", "♧": "c", "♦": "d", "♢": "d", "♥": "h", "♡": "h", "♠": "s", "♤": "s"}
_RANK = "10|[2-9TJQKA]"
_SUIT = f"[{SUITS}{''.join(_SIGNS)}]"
_CARD = rf"({_RANK})({_SUIT})\ufe0f?"
_A_CARD = re.compile(_CARD, re.IGNORECASE)
_KIND = rf"(?:{_RANK})(?:{_RANK}|X)[so]?"
# Kinds by their equity against a random hand before the flop, `python -m benchmarks.engineering.hand_order`.
_BEST = """
AA KK QQ JJ TT 99 88 AKs 77 AQs AJs AKo ATs AQo AJo KQs 66 A9s ATo KJs A8s KTs KQo A7s A9o KJo 55 QJs
K9s A5s A6s A8o KTo QTs A4s A7o K8s A3s QJo K9o A5o A6o Q9s K7s JTs A2s QTo 44 A4o K6s K8o Q8s A3o K5s
J9s Q9o JTo K7o A2o K4s Q7s K6o K3s T9s J8s 33 Q6s Q8o K5o J9o K2s Q5s T8s K4o J7s Q4s Q7o T9o J8o K3o
Q6o Q3s 98s T7s J6s K2o 22 Q2s Q5o J5s T8o J7o Q4o 97s J4s T6s J3s Q3o 98o 87s T7o J6o 96s J2s Q2o T5s
J5o T4s 97o 86s J4o T6o 95s T3s 76s J3o 87o T2s 85s 96o J2o T5o 94s 75s T4o 93s 86o 65s 84s 95o T3o 92s
76o 74s T2o 54s 85o 64s 83s 94o 75o 82s 73s 93o 65o 53s 63s 84o 92o 43s 74o 72s 54o 64o 52s 62s 83o 42s
82o 73o 53o 63o 32s 43o 72o 52o 62o 42o 32o
"""
_DASH = "[-\u2010-\u2015\u2212]"  # the hyphen, and what word processors and pages make of it
_WEIGHT = r"[^\s,;\[\]]*"
_ALL = ("random", "any two", "any", "all", "100%")
_ITEM = re.compile(
  rf"(?P<best>[0-9]{{1,2}}(?:\.[0-9]*)?|\.[0-9]+)%|(?P<hand>{_CARD}{_CARD})|(?P<first>{_KIND})(?:\s*{_DASH}\s*(?P<last>{_KIND})|(?P<plus>\+))?"
  rf"|(?P<all>{'|'.join(_ALL).replace(' ', ' *')})",
  re.IGNORECASE,
)
_SHARE = re.compile(rf"\s*(?P<mark>[:@])\s*(?P<weight>{_WEIGHT})")
_BRACKET = re.compile(r"\[(?P<close>/?)\s*(?P<share>[^\s/\]][^\s\]]*)\s*\]")
_BLANK = re.compile(r"[\s,]*")
_WORD = re.compile(r"\[[^\]]*\]?|[^\s,\[]+")
SYNTAX = (
  "a range is written as AA AKs AKo AK AsKd TT+ A9s+ A5s-A2s T9s-54s Ax random, with blanks or commas, each "
  "with a weight if it is not 1 (AKs:0.5 or AKs:50%)"
)
_DIALECTS = (  # beginnings that other tools read, and what to write here
  (rf"{_CARD}{_CARD}{_CARD}", "more than two cards, as in Omaha; a hold'em hand is AsKd"),
  (r"[0-9.]+%?\(|\(|\{", "weights stand behind hands here, not before brackets; write AA:50%"),
  (r"[!-]", "hands are taken out by the weight 0; write random, AA:0"),
  (r"[0-9.]+%", "a share of all hands, of at most 100%, stands first; a weight is written AA:50%"),
  (rf"(?:{_RANK})[X*](?:{_RANK})[X*]|(?:{_RANK})?\*|XX", "write AK, Ax or random, without signs for suits"),
  (r"[0-9.]+$", "a number alone; write AA:0.5 for a weight, and 15% as the first word for the best kinds"),
  (rf"(?:{_RANK}){{2}}[so]?[+-]", "write A5s-A2s, from one kind to another, or A9s+"),
)


def parse_cards(text: str, name: str = "cards") -> tuple[int, ...]:
  """The cards of a text such as "Ks7d2c", "K♠ 7♦ 2♣" or "10h, 4s"; ValueError names the place of a fault."""
  numbers, at = [], _skip(text, 0)
  while at < len(text):
    if not (match := _A_CARD.match(text, at)):
      word = "".join(text[at:].split()[0][:2])
      raise fault(name, text, at, word, f"not a card; a card is a rank of {RANKS} and a suit of {SUITS}")
    numbers.append(_number(match[1], match[2]))
    at = _skip(text, match.end())
  return tuple(numbers)


def parse_hands(text: str, name: str = "range", shares: bool = False) -> dict[Hand, float]:
  """The hands of a text and their weights, of which only the ratios count.

  `shares` are weights of at most 1; a list of single hands, each with a weight, may have larger ones anyway.
  ValueError names the place of a fault.
  """
  weights: dict[Hand, float] = {}
  large: list[ValueError] = []
  listed, share, opened = True, "", 0  # whether only single hands with weights came; the open bracket
  first = at = _skip(text, 0)
  if at == len(text):
    return dict.fromkeys(_every_hand(), 1.0)
  while at < len(text):
    start = at
    if bracket := _BRACKET.match(text, at):
      if bool(bracket["close"]) != bool(share) or (share and share != bracket["share"]):
        why = f"[{share}] is open; close it by [/{share}]" if share else "no such bracket is open"
        raise fault(name, text, at, bracket[0], why)
      share, opened = "" if share else bracket["share"], at
      if share:
        _weight(name, text, at, bracket[0], share.removesuffix("%") + "%")
      at = _skip(text, bracket.end())
      continue
    item = _ITEM.match(text, at)
    end = item.end() if item else at
    given = _SHARE.match(text, end) if item else None
    end = given.end() if given else end
    late = item is not None and item["best"] and start > first  # AA 50% is meant as half of AA elsewhere
    if item is None or late or (end < len(text) and not re.match(r"[\s,\[]", text[end])):
      raise _unknown(name, text, at)
    word = text[start:end]
    weight, percent = 1.0, f"{share.removesuffix('%')}%"
    if given and share:
      raise fault(name, text, start, word, f"its weight is [{share}] already; leave out one of them")
    if given:
      number, marked = given["weight"], given["mark"] == "@" and not given["weight"].endswith("%")
      percent = number + "%" * marked
      if marked and re.match(r"0*\.[0-9]*[1-9]", number):
        why = (
          f"a number behind @ is in percent; write :{number} for that share, or @{number}% for that percent"
        )
        raise fault(name, text, start, word, why)
    if given or share:
      weight = _weight(name, text, start, word, percent)
    listed &= bool(given and item["hand"])
    if weight > 1:
      why = (
        f"write {weight:g}% or {weight / 100:g}, at most 1"
        if given and "%" not in percent
        else "at most 100%"
      )
      why = f"a weight is the share that is held; {why}"
      large.append(fault(name, text, start, word, why))
    for hand in _expand(name, text, start, word, item):
      weights.pop(hand, None)
      if weight:
        weights[hand] = weight
    at = _skip(text, end)
  if share:
    raise fault(name, text, opened, f"[{share}]", f"it is open at the end; close it by [/{share}]")
  if shares and large and not listed:
    raise large[0]
  return weights


def hands_text(weights: Mapping[Hand, float]) -> str:
  """A range as its hands with their weights, AsKd:0.5; `parse_hands` reads it back."""
  return " ".join(f"{card_names(hand)}:{weight!r}" for hand, weight in weights.items())


def range_words(weights: Mapping[Hand, float]) -> str:
  """A range in few words, kinds where all their hands weigh the same: AA, AKs:0.5, AhKd:0.2.

  `parse_hands` reads it back. Hands of weight 0 are left out.
  """
  every = [card_names(hand) for hand in _every_hand()]
  by_weight: dict[float, list[str]] = {}
  for hand in _every_hand():
    if weight := weights.get(hand, 0):
      by_weight.setdefault(weight, []).append(card_names(hand))
  if by_weight.keys() == {1.0} and len(by_weight[1.0]) == len(every):
    return "random"
  texts = {weight: kinds_text(hands, every).split(", ") for weight, hands in by_weight.items()}
  return ", ".join(
    word if weight == 1 else f"{word}:{weight!r}" for weight, words in texts.items() for word in words
  )


def is_hand(name: str) -> bool:
  """True for a hold'em hand such as AhKd."""
  return re.fullmatch(f"(?:[{RANKS}][{SUITS}]){{2}}", name) is not None


def kinds_text(hands: Iterable[str], possible: Iterable[str]) -> str:
  """Hands such as AsKd, or their kind, such as AA or AKs, where all of its possible ones are among them."""

  def by_kind(names: Iterable[str]) -> dict[str, list[str]]:
    names_of: dict[str, list[str]] = {}
    for name in names:
      high, low = sorted((name[0], name[2]), key=RANKS.index, reverse=True)
      suited = "" if high == low else "s" if name[1] == name[3] else "o"
      names_of.setdefault(f"{high}{low}{suited}", []).append(name)
    return names_of

  every = by_kind(possible)
  kinds = by_kind(hands).items()
  return ", ".join(
    kind if len(members) == len(every[kind]) else ", ".join(members) for kind, members in kinds
  )


def card_names(cards: Iterable[int]) -> str:
  """Cards as letters, "AsKd"."""
  return "".join(RANKS[card // len(SUITS)] + SUITS[card % len(SUITS)] for card in cards)


def _skip(text: str, at: int) -> int:
  """The place of the next word."""
  blank = _BLANK.match(text, at)
  return blank.end() if blank else at


def _rank(text: str) -> int:
  return RANKS.index("T" if text == "10" else text.upper())


def _number(rank: str, suit: str) -> int:
  return len(SUITS) * _rank(rank) + SUITS.index(_SIGNS.get(suit, suit.lower()))


def _unknown(name: str, text: str, at: int) -> ValueError:
  match = _WORD.match(text, at)
  word = match[0] if match else text[at : at + 1]
  hint = next((hint for start, hint in _DIALECTS if re.match(start, word, re.IGNORECASE)), "")
  return fault(name, text, at, word, f"not understood; {hint or SYNTAX}")


def _weight(name: str, text: str, at: int, word: str, given: str) -> float:
  number = re.fullmatch(r"([0-9]{1,20}\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,3})?(%?)", given, re.IGNORECASE)
  weight = float(number[1] + (number[2] or "")) / (100 if number[3] else 1) if number else math.nan
  if not (weight == 0 or MIN_WEIGHT <= weight <= MAX_WEIGHT):  # so is nan
    why = f"its weight {given!r} is not 0 or a number from {MIN_WEIGHT:g} to 1, such as 0.5 or 50%"
    raise fault(name, text, at, word, why)
  return weight


def _expand(name: str, text: str, at: int, word: str, item: re.Match[str]) -> Iterable[Hand]:
  if item["all"]:
    return _every_hand()
  if item["best"]:
    return itertools.chain.from_iterable(_best(float(item["best"]) / 100))
  if item["hand"]:
    cards = parse_cards(item["hand"])
    if cards[0] == cards[1]:
      raise fault(name, text, at, word, "a hand has two different cards")
    return [(max(cards), min(cards))]
  first, last = (_read_kind(item[end] or item["first"]) for end in ("first", "last"))
  if any(high == low and suited for high, low, suited in (first, last)):
    raise fault(name, text, at, word, "a pair is neither suited nor offsuit")
  if item["plus"] and first[0] - first[1] == 1 and first[0] < len(RANKS) - 1:
    alone, top = word.partition("+")[0], f"AK{first[2]}"
    why = f"some tools read it as {alone} alone, others as {alone}-{top}; write the one that is meant"
    raise fault(name, text, at, word, why)
  if first[2] != last[2]:
    raise fault(name, text, at, word, "both ends must be suited, offsuit, or neither")
  kinds = _row(first, last) if item["last"] else _upwards(first) if item["plus"] else _lower(first)
  if not kinds:
    raise fault(name, text, at, word, "these are no row of kinds; write KK-QQ, A5s-A2s or T9s-54s")
  return itertools.chain.from_iterable(_hands(high, low, first[2]) for high, low in kinds)


def _lower(kind: Kind) -> list[tuple[int, int]]:
  """The ranks of a kind; of Kx those of all below the king."""
  high, low, _ = kind
  return [(high, k) for k in range(high)] if low == ANY else [(high, low)]


def _upwards(kind: Kind) -> list[tuple[int, int]]:
  """The ranks of a kind and of those above it: TT+ to AA, A9+ to AK, Kx+ with Ax."""
  high, low, suited = kind
  tops = range(high, len(RANKS))
  if low == ANY:
    return [ranks for top in tops for ranks in _lower((top, ANY, suited))]
  return [(top, top) for top in tops] if high == low else [(high, k) for k in range(low, high)]


def _row(first: Kind, last: Kind) -> list[tuple[int, int]]:
  """The ranks of all kinds from one to another, with one high card or one gap; [] if there is no such row."""
  (high, low, _), (high2, low2, _) = first, last
  if ANY in (low, low2):
    return []
  if high == high2 and high not in (low, low2):
    return [(high, k) for k in _between(low, low2)]
  gap = high - low
  return [(k, k - gap) for k in _between(high, high2)] if high2 - low2 == gap else []


def _between(first: int, last: int) -> range:
  return range(min(first, last), max(first, last) + 1)


def _read_kind(text: str) -> Kind:
  ranks = re.match(rf"({_RANK})({_RANK}|X)", text, re.IGNORECASE)
  assert ranks is not None
  suited = text[ranks.end() :].lower()
  if ranks[2].upper() == "X":
    return _rank(ranks[1]), ANY, suited
  low, high = sorted((_rank(ranks[1]), _rank(ranks[2])))
  return high, low, suited


@functools.cache
def _hands(high: int, low: int, suited: str) -> tuple[Hand, ...]:
  """The hands of a kind, the higher cards first."""
  suits = range(len(SUITS))
  pairs = ((len(SUITS) * high + a, len(SUITS) * low + b) for a in suits for b in suits)
  return tuple(
    (first, second)
    for first, second in pairs
    if first > second and (not suited or (suited == "s") == ((first - second) % len(SUITS) == 0))
  )


def _best(share: float) -> Iterator[tuple[Hand, ...]]:
  """The hands of the best kinds that are together at most a share of all hands."""
  left = share * len(_every_hand()) + 1e-9
  for kind in _BEST.split():
    hands = _hands(*_read_kind(kind))
    if (left := left - len(hands)) < 0:
      return
    yield hands


@functools.cache
def _every_hand() -> tuple[Hand, ...]:
  return tuple(itertools.combinations(range(len(RANKS) * len(SUITS) - 1, -1, -1), 2))
