"""Subgames of hold'em from what poker players write: commas in ranges, sizes in percent.

OpenSpiel's game strings separate parameters by commas, so ranges and sizes have blanks there.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import pyspiel

from ps_cfr_spiel.poker import cards
from ps_cfr_spiel.poker.situations import whole


def river(
  board: str = "9s7c5s4h3c",
  pot: int = 200,
  stack: int = 20000,
  bets: str | Iterable[str] = "fcpa",
  ranges: str | tuple[str, str] = "uniform",
) -> pyspiel.Game:
  """The `river_subgame` of a spot, written as poker players do.

  Args:
    board: five cards, "Ks7d2c5h9s" or "Ks, 7d, 2c, 5h, 9s".
    pot: chips in the pot.
    stack: chips that each player began the hand with, half of the pot included.
    bets: sizes of the pot, "50%, 100%, a" or "0.5 1 a" ("a" is all-in, "50%a" all-in where the stack is less
      than that, "x" no bet), with ";" between those of the first, the second and all later bets, or such a
      text for each of these. In one text "|" separates the sizes of player 0 (out of position) from those of
      player 1, "50%, a; a | 33%".
    ranges: those of player 0 (out of position) and of player 1, each such as "AA, KQs, A5s-A2s:0.5"; ""
      means all hands.

  Returns:
    The game; its string has blanks in place of commas.

  Raises:
    ValueError: a parameter is not understood, there are not two ranges, or a list of bets has "|" or "/".
  """
  return _load("river_subgame", board, pot, stack, bets, ranges)


def holdem(
  board: str = "9s7c5s4h",
  pot: int = 200,
  stack: int = 20000,
  bets: str | Iterable[str] = "fcpa",
  ranges: str | tuple[str, str] = "uniform",
) -> pyspiel.Game:
  """The `holdem_subgame` of a spot, from a flop or a turn on; of five cards the `river_subgame`.

  Args:
    board: three, four or five cards.
    pot: chips in the pot.
    stack: as for `river`.
    bets: as for `river`; in one text "/" separates the sizes of one street from those of the next, and the
      last ones count for all later streets, "33%, 75% / 66%, a".
    ranges: as for `river`.

  Returns:
    The game; its string has blanks in place of commas.

  Raises:
    ValueError: as for `river`.
  """
  letters = _blanks(str(board)).replace(" ", "")
  is_river = len(letters) == 2 * cards.BOARD_SIZE
  return _load("river_subgame" if is_river else "holdem_subgame", board, pot, stack, bets, ranges)


def _load(
  name: str, board: str, pot: int, stack: int, bets: str | Iterable[str], ranges: str | tuple[str, str]
) -> pyspiel.Game:
  """The game of this name; see `river`."""
  if not isinstance(board, str):
    raise ValueError(f"board={board!r}: must be a text such as 'Ks7d2c5h9s'.")
  sizes, both = _texts("bets", bets), _texts("ranges", ranges)
  if not isinstance(bets, str) and any(mark in text for text in sizes for mark in "|/"):
    raise ValueError(f"bets={bets!r}: sizes for each player or street are one text, '50%, a; a | 33% / a'.")
  if not isinstance(ranges, str) and len(both) != 2:
    raise ValueError(f"ranges={ranges!r}: expected two, of player 0 and of player 1, got {len(both)}.")
  texts = {"board": board, "bets": ";".join(sizes), "ranges": ";".join(map(_blanks, both))}
  parameters = {**plain(texts), "pot": whole("pot", pot), "stack": whole("stack", stack)}
  try:
    return pyspiel.load_game(name, parameters)
  except pyspiel.SpielError as error:
    raise ValueError(str(error)) from error


def _texts(name: str, given: Any) -> list[str]:
  """One text, or the texts of an iterable, or ValueError."""
  try:
    texts = [given] if isinstance(given, str) else list(given)
  except TypeError:  # not iterable
    texts = [given]
  if not all(isinstance(text, str) for text in texts):
    raise ValueError(f"{name}={given!r}: must be a text, or several in a list.")
  return texts


def plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
  """Parameters of a subgame that a poker player wrote, as game strings have them; only texts change."""
  written = {name: value.strip() if isinstance(value, str) else value for name, value in parameters.items()}
  for name, read in (("board", _blanks), ("bets", _sizes), ("ranges", _blanks)):
    if isinstance(written.get(name), str):
      written[name] = read(written[name])
  return written


def _blanks(text: str) -> str:
  """Commas and any white space as single blanks."""
  return " ".join(text.replace(",", " ").split())


def _sizes(text: str) -> str:
  """Sizes of one or several bets, percents as fractions of the pot: "50%, 33.5%" as "0.5 0.335"."""
  sizes = re.sub(r"([0-9]*\.?[0-9]+) ?%", lambda found: _fraction(found[1]), _blanks(text))
  # A lone number stands once more for later bets, since OpenSpiel would read it as a number.
  return f"{sizes};{sizes}" if re.fullmatch(r"[0-9.]+", sizes) else sizes


def _fraction(percent: str) -> str:
  """Percents as a decimal fraction, exactly: "150" as "1.5"."""
  whole, _, rest = percent.partition(".")
  digits = whole.rjust(3, "0")
  return f"{digits[:-2].lstrip('0') or '0'}.{digits[-2:]}{rest}".rstrip("0").rstrip(".")
