"""The grammar of moves: how a typed text becomes one of the legal moves, and how moves are printed.

In this order a text is read as a whole name, as a word of poker, as the end or the number of a move, as an
abbreviation. A text that fits no legal move, or several, is refused; nothing is guessed.
"""

import dataclasses
import functools
import math
import re
from collections.abc import Sequence

MAX_LISTED = 30  # moves that are listed with their numbers unasked
_MOST_NAMED = 12  # in an error
_NEAR = 0.05  # of a typed amount: the farthest that a bet may be from it
_ALIKE = 0.02  # of a share of the pot: closer bets differ by the rounding to chips alone

_NUMBER = r"(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
_BETTING = re.compile(rf"(check|call|fold|bet|raise|all-?in) ?(?:to )?({_NUMBER})?", re.IGNORECASE)
_WORDS = {  # reserved where players bet: the kinds of moves, the first one that is legal
  **dict.fromkeys(("x", "k", "check"), ("check",)),
  "c": ("call", "check"),
  "call": ("call",),
  **dict.fromkeys(("f", "fold"), ("fold",)),
  **dict.fromkeys(("a", "allin", "all-in", "all in"), ("all-in",)),
}
_BET = re.compile(  # "b 200", "raise to 800", "b75%", "1/2 pot", "pot", "min"
  rf"(?:(?P<bet>b(?:et)?)|(?P<rise>r(?:aise)?(?: ?to)?))? ?"
  rf"(?:(?P<share>(?:{_NUMBER}%|[0-9]+/[0-9]+)(?: ?pots?)?|(?:{_NUMBER} ?)?pots?)"
  rf"|(?P<least>min)|(?P<amount>{_NUMBER}))?(?!\S)"
)


@dataclasses.dataclass(frozen=True)
class Moves:
  """The legal moves at one point of a game, as far as reading one of them takes."""

  names: Sequence[str]  #: as the game writes them
  ids: Sequence[int]  #: OpenSpiel's numbers, negative for a move without one
  #: for each move the chips that it adds after calling, over the pot after the call; () if not known.
  sizes: Sequence[float | None] = ()
  history: Sequence[str] = ()  #: names of the moves before, for errors

  @functools.cached_property
  def kinds(self) -> list[tuple[str, float | None]]:
    """For each move its kind in poker, "" for none, and the amount in its name; a free call is a check."""
    matches = [_BETTING.fullmatch(name) for name in self.names]
    kinds = [match[1].lower().replace("allin", "all-in") if match else "" for match in matches]
    free = "fold" not in kinds
    amounts = [float(match[2]) if match and match[2] else None for match in matches]
    return [("check" if free and kind == "call" else kind, x) for kind, x in zip(kinds, amounts, strict=True)]

  @functools.cached_property
  def amounts(self) -> dict[int, float]:
    """The amounts of bets, raises and all-ins, by the move's place."""
    return {k: amount for k, (_, amount) in enumerate(self.kinds) if amount is not None}

  @functools.cached_property
  def words(self) -> list[list[str]]:
    """The words of each name in lower case."""
    return [split_words(name.lower()) for name in self.names]

  def of_kind(self, kind: str) -> list[int]:
    """The places of the moves of a kind."""
    return [k for k, (other, _) in enumerate(self.kinds) if other == kind]

  def text(self) -> str:
    """The moves in one line; of many bets the least and the largest."""
    names = [grouped(name) for name in self.names]
    if len(names) <= _MOST_NAMED:
      return ", ".join(names)
    if len(self.amounts) > 1:
      others = [name for k, name in enumerate(names) if k not in self.amounts]
      return ", ".join([*others, bets_text(self)])
    return f"{', '.join(names[: _MOST_NAMED - 1])} and {len(names) - _MOST_NAMED + 1:,} more"


def bets_text(moves: Moves) -> str:
  """The range of the bets, and how to write one."""
  by_amount = sorted(moves.amounts, key=moves.amounts.__getitem__)
  least, most = (grouped(moves.names[k]) for k in (by_amount[0], by_amount[-1]))
  share, all_in = ", b 75%, pot" * bool(moves.sizes), ", a" * bool(moves.of_kind("all-in"))
  return f"{least} up to {most} (b AMOUNT{share}, min{all_in})"


def split_words(text: str) -> list[str]:
  """The words of a typed text; commas separate too, except in 19,900. ValueError for no text."""
  if not isinstance(text, str):
    raise ValueError(f"moves must be a text, such as 'check, bet 200', got {text!r}.")
  return re.sub(r"(?<=\d),(?=\d{3}\b)", "", text).replace(",", " ").split()


def grouped(name: str) -> str:
  """A move's name with thousands separators in its amount: All-in 19,900, but Discard 3456."""
  return re.sub(r"\b(Bet|Raise to|All-in) (\d+)", lambda match: f"{match[1]} {int(match[2]):,}", name)


def letters(names: Sequence[str]) -> tuple[str, ...]:
  """A letter for each move, for charts: its first one, or the next free one if an earlier move begins alike.

  Letters are for legends alone; they are not read.
  """
  reserved = {name[0].lower() for name in names}
  chosen: list[str] = []
  for name in names:
    letter = name[0].lower()
    if letter in chosen:
      after = "abcdefghijklmnopqrstuvwxyz".partition(letter)
      letter = next((other for other in after[2] + after[0] if other not in reserved | set(chosen)), "?")
    chosen.append(letter)
  return tuple(chosen)


# --- Reading ----------------------------------------------------------------------------------------


def read_move(text: str, moves: Moves) -> int:
  """The place in `moves` of the one move that a text means; ValueError if it means none, or several."""
  words = split_words(text)
  choice, end = next_move(words, 0, moves)
  if end < len(words):
    left = " ".join(words[end:])
    raise ValueError(
      f"{text!r} is more than one move: {left!r} (word {end + 1}) follows {grouped(moves.names[choice])}; "
      "write one move."
    )
  return choice


def next_move(words: Sequence[str], start: int, moves: Moves) -> tuple[int, int]:
  """Read one move of a line of words: its place in `moves`, and the place in the line after it.

  ValueError, with the place of the word, if it means no legal move, or several.
  """
  fits, end = fitting_moves(words, start, moves)
  if len(fits) == 1:
    return fits[0], end
  said = " ".join(words[start:end])
  what = repr(said) + (f" (word {start + 1})" if len(words) > max(1, end - start) else "")
  if fits:
    names = [grouped(moves.names[k]) + f" (number {said})" * (str(moves.ids[k]) == said) for k in fits]
    shown = names if len(names) <= _MOST_NAMED else [*names[:3], f"{len(names) - 3:,} more"]
    raise ValueError(f"{what} may be {', '.join(shown[:-1])} or {shown[-1]}; write which one.")
  where = f"after {', '.join(map(grouped, moves.history))}" if moves.history else "here"
  raise ValueError(f"{what} is not legal {where}. Legal: {moves.text()}.")


def fitting_moves(words: Sequence[str], start: int, moves: Moves) -> tuple[list[int], int]:
  """All moves that the first words from `start` on may mean, and the place in the line after these words."""
  longest = max(map(len, moves.words), default=1)
  rest = list(words[start : start + max(longest, 4)])
  if rest:
    for read in (_by_name, _by_poker, _by_end, _by_abbreviation):
      fits, used = read(rest, moves)
      if used:
        return fits, start + used
  return [], min(start + 1, len(words))


def _by_name(words: list[str], moves: Moves) -> tuple[list[int], int]:
  for used in range(len(words), 0, -1):
    said = [word.lower() for word in words[:used]]
    fits = [k for k, name in enumerate(moves.words) if name == said]
    if fits:  # chess has both bxc3 and Bxc3
      exact = [k for k in fits if split_words(moves.names[k]) == words[:used]]
      return exact or fits, used
  return [], 0


def _by_poker(words: list[str], moves: Moves) -> tuple[list[int], int]:
  """The reserved words, which mean nothing else where players bet."""
  if not any(kind for kind, _ in moves.kinds):
    return [], 0
  for used in (2, 1)[-len(words) :]:
    if (word := " ".join(words[:used]).lower()) in _WORDS:
      return next(filter(None, map(moves.of_kind, _WORDS[word])), []), used
  said = _BET.match(" ".join(words if moves.amounts or moves.sizes else words[:1]).lower())
  if not said or not said[0].strip() or (said["amount"] and not (said["bet"] or said["rise"])):
    return [], 0
  return _bets(said, moves), len(said[0].split())


def _bets(said: re.Match[str], moves: Moves) -> list[int]:
  """The moves that a text of `_BET` means."""
  if said["amount"]:
    return _nearest(float(said["amount"]), moves.amounts)
  if said["share"]:
    sizes = {k: size for k, size in enumerate(moves.sizes) if size}
    return _nearest(_share(said["share"]), sizes, _ALIKE)
  if said["least"]:
    bets = {k: amount for k, amount in moves.amounts.items() if moves.kinds[k][0] != "all-in"}
    return [k for k, amount in bets.items() if amount == min(bets.values())]
  return moves.of_kind("bet" if said["bet"] else "raise")


def _share(text: str) -> float:
  """The share of the pot in "75%", "1/2 pot", "2 pots" or "pot"; infinite for 1/0."""
  number = re.sub(r" ?pots?$", "", text)
  over, slash, under = number.partition("/")
  if slash:
    return float(over) / float(under) if float(under) else math.inf
  return float(number.rstrip("%")) / 100 if "%" in number else float(number or 1)


def _nearest(wanted: float, amounts: dict[int, float], alike: float = 0.0) -> list[int]:
  """The move with an amount, or with the nearest if that is clearly meant; two that are about as near."""
  if not math.isfinite(wanted):
    return []
  distances = {k: abs(amount - wanted) for k, amount in amounts.items()}
  nearest = sorted(distances, key=lambda k: (distances[k], -amounts[k]))[:2]
  near = [k for k in nearest if distances[k] <= _NEAR * wanted]
  if len(near) < 2 or 3 * distances[near[0]] <= distances[near[1]]:
    return near[:1]
  return near[:1] if abs(amounts[near[0]] - amounts[near[1]]) <= alike * wanted else sorted(near)


def _by_end(words: list[str], moves: Moves) -> tuple[list[int], int]:
  """The last words of a name, "2c" for Deal 2c, or its number."""
  for used in range(len(words), 0, -1):
    said = [word.lower() for word in words[:used]]
    fits = {k for k, name in enumerate(moves.words) if _ends(" ".join(name), " ".join(said))}
    if used == 1 and re.fullmatch("[0-9]+", said[0]):
      # Bets too many to be listed with their numbers are written by their amounts.
      listed = moves.amounts if len(moves.names) > MAX_LISTED else ()
      fits |= {k for k, number in enumerate(moves.ids) if str(number) == said[0] and k not in listed}
      fits |= {k for k, amount in moves.amounts.items() if amount == float(said[0])}
    if fits:
      return sorted(fits), used
  return [], 0


def _ends(name: str, said: str) -> bool:
  return name.endswith(said) and name[: -len(said)][-1:] in (" ", "]")


def _by_abbreviation(words: list[str], moves: Moves) -> tuple[list[int], int]:
  """Beginnings of a name's words, "st to 1/9"; or one word of letters and a number, "e4" for Evader to 4.

  A word with digits, and a bet, are never shortened.
  """
  names = [(k, name) for k, name in enumerate(moves.words) if k not in moves.amounts]
  for used in range(len(words), 0, -1):
    said = [word.lower() for word in words[:used]]
    fits = [k for k, name in names if len(name) >= used and all(map(_begins, name, said))]
    if fits:
      return fits, used
  parts = re.fullmatch(r"([a-z]+)([0-9]\S*)", words[0].lower())
  if parts:
    fits = [k for k, name in names if len(name) > 1 and name[0].startswith(parts[1]) and name[-1] == parts[2]]
    return fits, bool(fits)
  return [], 0


def _begins(word: str, said: str) -> bool:
  if not said[0].isalnum() or any(letter.isdigit() for letter in said):
    return word == said
  return word.startswith(said)
