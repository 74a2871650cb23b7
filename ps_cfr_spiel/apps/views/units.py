"""Chips, pots and shares: all knowledge of single games' parameters for reports."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyspiel

from ps_cfr_spiel.cards.poker import HOLDEM, describe
from ps_cfr_spiel.options import RARE

if TYPE_CHECKING:  # JAX
  from ps_cfr_spiel.measures import LocalRegrets, Losses

NOTHING = 1e-6  # of the pot, or of the span of utilities: rounding
LONGEST_TITLE = 70  # characters, which fit above a picture
POSITIONS = ("out of position", "in position")  # of hold'em's two players after the flop
SEATS = ("OOP", "IP")


def pot_of(game: pyspiel.Game) -> float | None:
  """Chips in the pot at the start; None if the game has no pot."""
  given = game.get_parameters()
  return given["pot"] / given["unit"] if game.get_type().short_name in HOLDEM else None


def seat_of(game: pyspiel.Game, player: int) -> str:
  """The name of a player: "player 0 (OOP)", with the position in poker."""
  if game.get_type().short_name not in HOLDEM:
    return f"player {player}"
  return f"player {player} ({SEATS[player]})"


def unit_of(game: pyspiel.Game) -> str:
  """The unit of the game's utility."""
  return "chips" if pot_of(game) else "utility"


def title_of(game: pyspiel.Game) -> str:
  """The game as `poker.describe` writes it, cut to `LONGEST_TITLE` characters."""
  spaced = re.sub(r",(?! )", ", ", describe(str(game)).removesuffix("()"))
  return textwrap.shorten(spaced, LONGEST_TITLE, placeholder=" ...")


def value_lines(values: Sequence[float], game: pyspiel.Game) -> dict[str, str]:
  """The value of a game in a report: to each player, or in a zero-sum game of two to player 0.

  With a pot, also each player's EV from now on.
  """
  pot, values = pot_of(game), [without_rounding(value, game) for value in values]
  lines = {f"value to player {i}": in_unit(number_text(value), game) for i, value in enumerate(values)}
  if pot:
    both = enumerate(values if len(values) > 1 else (values[0], -values[0]))
    shares = (f"{number_text(without_rounding(pot / 2 + x, game))} for {seat_of(game, i)}" for i, x in both)
    lines["EV from now"] = f"{', '.join(shares)}, of a pot of {number_text(pot)}"
  return lines


def with_unit(amount: float, game: pyspiel.Game) -> str:
  """An amount of the game's utility with its unit, and as a share of the pot where there is one."""
  pot = pot_of(game)
  share = f" = {number_text(100 * amount / pot)}% of the pot" if pot else ""
  return in_unit(number_text(amount), game) + share


def local_regret_lines(regrets: LocalRegrets, game: pyspiel.Game) -> dict[str, str]:
  """Lines of a report on local regrets: for all infostates, onward too, and for those where play is rare."""

  def text(losses: Losses) -> str:
    amounts = [without_rounding(x, game) for x in losses[1:]]
    mean, percentile, worst = map(number_text, amounts)
    text = f"mean {mean}, 99th percentile {percentile}, worst {in_unit(worst, game)}"
    if regrets.stakes > 0:
      text += f" ({', '.join(f'{number_text(100 * x / regrets.stakes)}%' for x in amounts)} of the stakes)"
    return f"{text} at {losses.infostates:,} infostates"

  groups = {"local regret": regrets.losses(), "local regret onward": regrets.losses(onward=True)}
  groups |= {name: regrets.losses(name) for name in RARE}
  return {name: text(losses) for name, losses in groups.items() if losses.infostates}


def without_rounding(value: float, game: pyspiel.Game) -> float:
  """A value of the game, 0 where it is so near that rounding explains the rest."""
  span = pot_of(game) or game.max_utility() - game.min_utility()
  return 0.0 if math.isfinite(span) and abs(value) < NOTHING * span else value


def decimals_of(game: pyspiel.Game) -> int:
  """Decimals of amounts side by side in a table: two with a pot below 1,000, fewer with larger ones."""
  pot, span = pot_of(game), game.max_utility() - game.min_utility()
  digits = math.floor(math.log10(max(pot or span, 1e-9))) + 1 if math.isfinite(span) else 3
  return min(max(5 - digits, 0), 2 if pot else 4)


def in_unit(number: str, game: pyspiel.Game) -> str:
  """A number of the game's utility, with its unit if it has a name."""
  return f"{number} {unit_of(game)}" if pot_of(game) else number


def number_text(x: float) -> str:
  """Four digits, without an exponent where that is readable."""
  return f"{x:,.1f}" if abs(x) >= 1000 else f"{x:.4g}"
