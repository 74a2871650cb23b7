"""Lies, challenges and right challenges of a player of Cheat, counted over games.

Yi and Kaneko, Section 4, name these three rates as a description of an agent.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyspiel

from . import cheat_rules

#: names of the rates.
RATES = ("discards that are lies", "claims challenged", "challenges that are right")


class Behaviour(NamedTuple):
  """Counts int[D, R] by the number of cards claimed, 1 to D, and the rank."""

  laid: np.ndarray  #: the player's discards
  lies: np.ndarray  #: those of them with a card of another rank
  heard: np.ndarray  #: claims that the player had to answer
  called: np.ndarray  #: those that the player challenged
  right: np.ndarray  #: those challenges that turned up a lie

  def rates(self, axis: int) -> np.ndarray:
    """float[3, n]: lies per discard, challenges per claim heard, right ones per challenge; nan for 0 / 0.

    Args:
      axis: the axis to sum over: 1 for rates by claim, 0 for rates by rank.
    """
    laid, lies, heard, called, right = (counts.sum(axis) for counts in self)
    with np.errstate(invalid="ignore"):
      return np.stack([lies / laid, called / heard, right / called])

  def panels(self) -> list[tuple[str, list[str], np.ndarray]]:
    """For `pictures.bars`: the rates by cards claimed and by rank, with the names of axes and columns."""
    claims, ranks = self.laid.shape
    return [
      ("cards claimed", [str(number) for number in range(1, claims + 1)], self.rates(1)),
      ("rank", list(cheat_rules.RANKS[:ranks]), self.rates(0)),
    ]

  def __str__(self) -> str:
    """A table of the rates, a line for each number of cards claimed and each rank."""
    lines = [f"{'claim':<10}{'discards':>10}{'lies':>8}{'heard':>10}{'challenged':>12}{'rightly':>9}"]
    for axis, (_, names, rates) in zip((1, 0), self.panels(), strict=True):
      for name, laid, heard, shares in zip(
        names, self.laid.sum(axis), self.heard.sum(axis), rates.T, strict=True
      ):
        claim = f"rank {name}" if axis == 0 else f"{name} card{'s' * (name != '1')}"
        lies, called, right = (" -" if share != share else f"{100 * share:.1f}%" for share in shares)
        lines.append(f"{claim:<10}{laid:>10,}{lies:>8}{heard:>10,}{called:>12}{right:>9}")
    return "\n".join(lines)


def count(game: pyspiel.Game, played: Iterable[tuple[int, Sequence[int]]]) -> Behaviour:
  """Count lies and challenges in games of cheat: `played` has the observed player and all actions of each."""
  chosen: cheat_rules.Rules = game.rules  # pyright: ignore  (a game of cheat)
  counts = Behaviour(*(np.zeros((chosen.max_discard, chosen.ranks), int) for _ in Behaviour._fields))
  for player, actions in played:
    state = game.new_initial_state()
    for action in actions:
      if state.current_player() == player:
        _count_one(counts, state, action)
      state.apply_action(action)
  return counts


def _count_one(counts: Behaviour, state, action: int) -> None:
  """Add one move, at a state before it."""
  cards = state.get_game().cards(state.discard or action)
  place, lie = (len(cards) - 1, state.rank), any(card != state.rank for card in cards)
  if not state.discard:
    counts.laid[place] += 1
    counts.lies[place] += lie
    return
  counts.heard[place] += 1
  if action == cheat_rules.CHALLENGE:
    counts.called[place] += 1
    counts.right[place] += lie
