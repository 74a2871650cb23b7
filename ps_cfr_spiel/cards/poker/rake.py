"""Rake: the share of a pot that the card room takes."""

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import pyspiel

from ps_cfr_spiel.arguments import as_number

NONE = "0%"


class Rake(NamedTuple):
  """A share of the pot, at most a number of chips, is taken when a hand ends after the flop.

  The pot is the chips that both players have put in and that are matched: an uncalled bet goes back before.
  The winner pays all of it, and two players who split the pot half each. No flop, no drop: a hand that ends
  before the flop pays none, as in most cardrooms and in postflop-solver (its `rake_rate`, `rake_cap`).
  """

  share: float = 0.0  #: at least 0, below 1
  cap: float = math.inf  #: chips
  street: int = 0  #: the number of the first street on which it is taken, counted as of `BettingState`

  def of(self, street: int, called: int) -> float:
    """The chips taken from a pot to which each player has put in `called`; none before its first street."""
    return min(self.share * 2 * called, self.cap) if street >= self.street else 0.0


NO_RAKE = Rake()


def parse_rake(rake: Any, cap: Any, street: int = 0) -> Rake:
  """Rake by a share, "5%" or "0.05", and a number of chips; 0 chips: without a cap.

  Raises:
    ValueError: The share is no number from 0% to below 100%, the cap is negative, or nothing is raked and
      there is a cap.
  """
  match = re.fullmatch(r"\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*(%?)\s*", str(rake))
  share = Fraction(match[1]) / (100 if match[2] else 1) if match else Fraction(-1)
  if not 0 <= share < 1:
    raise ValueError(
      f"rake={rake!r}: must be a share of the pot from 0% to below 100%, such as '5%' or '0.05'"
    )
  most = as_number(cap)
  if not (0 <= most < math.inf and most == int(most)):
    raise ValueError(f"cap={cap!r}: must be the most chips that are raked, a whole number; 0 for no cap")
  if most and not share:
    raise ValueError(f"cap={cap} without rake: give the share of the pot too, such as rake=5%")
  return Rake(float(share), int(most) or math.inf, street)


def with_rake(parameters: Mapping[str, Any]) -> dict[str, Any]:
  """A game's parameters without `rake` and `cap` where nothing is raked, so that its string says neither.

  The share is in percent, because OpenSpiel reads 0.05 as a number, not as a text. Errors are those of
  `parse_rake`.
  """
  others = {name: value for name, value in parameters.items() if name not in ("rake", "cap")}
  share = parse_rake(parameters.get("rake", NONE), cap := parameters.get("cap", 0)).share
  percent = f"{100 * share:.10f}".rstrip("0").rstrip(".")
  return {**others, "rake": f"{percent}%", **({"cap": int(cap)} if cap else {})} if share else others


def check_unraked(game: pyspiel.Game, use: str) -> None:
  """ValueError if a game of hold'em is raked; `use`, in the plural, names the purpose."""
  if rake := game.get_parameters().get("rake"):
    raise ValueError(
      f"rake={rake}: {use} are for zero-sum games, and with rake both players can lose; leave out rake, or "
      "solve a river, turn or flop by PSCFRSolver (the command solve)."
    )
