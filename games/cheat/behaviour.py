"""What a player of Cheat does, counted over games: lies, challenges, and how many of those were right.

Yi and Kaneko, Section 4, name the three rates as what one would like to know of an agent.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyspiel

from . import rules


class Behaviour(NamedTuple):
  """Counts int[D, R] by the number of cards claimed, 1 to D, and the rank.

  Attributes:
    laid: the player's discards.
    lies: those of them with a card of another rank.
    heard: claims that the player was to answer.
    called: those that the player challenged.
    right: those challenges that turned a lie up.
  """

  laid: np.ndarray
  lies: np.ndarray
  heard: np.ndarray
  called: np.ndarray
  right: np.ndarray

  def rates(self, axis: int) -> np.ndarray:
    """float[3, n]: lies by discard, challenges by claim heard and right ones by challenge; nan of nothing.

    Args:
      axis: what is summed over: 1 gives rates by claim, 0 by rank.
    """
    laid, lies, heard, called, right = (counts.sum(axis) for counts in self)
    with np.errstate(invalid="ignore"):
      return np.stack([lies / laid, called / heard, right / called])


def count(game: pyspiel.Game, played: Iterable[tuple[int, Sequence[int]]]) -> Behaviour:
  """Counts what players did.

  Args:
    game: a game of cheat.
    played: the player to look at, and all actions of a game from the deal on; for each game.
  """
  chosen: rules.Rules = game.rules  # pyright: ignore  (a game of cheat)
  found = Behaviour(*(np.zeros((chosen.max_discard, chosen.ranks), int) for _ in Behaviour._fields))
  for player, actions in played:
    state = game.new_initial_state()
    for action in actions:
      if state.current_player() == player:
        _count_one(found, state, action)
      state.apply_action(action)
  return found


def _count_one(found: Behaviour, state, action: int) -> None:
  """Adds one move, at a state before it."""
  cards = state.get_game().cards(state.discard or action)
  place, lie = (len(cards) - 1, state.rank), any(card != state.rank for card in cards)
  if not state.discard:
    found.laid[place] += 1
    found.lies[place] += lie
    return
  found.heard[place] += 1
  if action == rules.CHALLENGE:
    found.called[place] += 1
    found.right[place] += lie
