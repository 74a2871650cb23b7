"""States of hold'em after the same events with other cards, at which a policy is asked hand by hand."""

from collections.abc import Sequence

import numpy as np
import pyspiel

from ps_cfr_spiel.cards.poker import cards

HOLE_CARDS = 2 * cards.HAND_SIZE  # of both players


class HandStates:
  """The states of a player's hands, moved on from one question to the next of a game.

  A question that does not follow the last one is answered from the deal on.
  """

  def __init__(self) -> None:
    self._player: int | None = None
    self._events: list[tuple[int, int]] = []  # (player, action) after the deal
    self._states: dict[int, pyspiel.State] = {}

  def at(self, state: pyspiel.State, hands: np.ndarray | None = None) -> dict[int, pyspiel.State]:
    """For each hand of the player to move, by its number in `cards.ALL_HANDS`, the state with that hand.

    Hands are those of the deck without cards of the board, and of `hands`, bool[1326], if given; the states
    may be looked at until the next call.
    """
    player, board = state.current_player(), public_cards(state)
    events = [(move.player, move.action) for move in state.full_history()[HOLE_CARDS:]]
    came = len(self._events)
    follows = player == self._player and events[:came] == self._events
    deck: Sequence[int] = getattr(state.get_game(), "deck", cards.WHOLE_DECK)
    live = [deck[place] for place in range(len(deck)) if place not in board]
    asked = np.isin(cards.ALL_HANDS, live).all(1)
    before, self._states = self._states if follows else {}, {}
    self._player, self._events = player, events
    for h in np.flatnonzero(asked if hands is None else asked & hands).tolist():
      kept = before.get(h)
      if kept is None or not _moved(kept, events[came:]):
        kept = dealt_again(state, board, [deck.index(card) for card in cards.ALL_HANDS[h].tolist()])
      self._states[h] = kept
    return self._states


def public_cards(state: pyspiel.State) -> list[int]:
  """Chance's actions that dealt the public cards."""
  return [move.action for move in state.full_history() if move.player < 0][HOLE_CARDS:]


def dealt_again(state: pyspiel.State, board: Sequence[int], held: Sequence[int] = ()) -> pyspiel.State:
  """The state after the same moves with other cards, public and of the player to move.

  The other player keeps their cards, but for those that are taken.
  """
  again, public = state.get_game().new_initial_state(), iter(board)
  history, player = state.history()[:HOLE_CARDS], state.current_player()
  others = history[: cards.HAND_SIZE] if player else history[cards.HAND_SIZE :]
  places = [*others, *range(HOLE_CARDS + cards.BOARD_SIZE + cards.HAND_SIZE)]
  free = dict.fromkeys(place for place in places if place not in board and place not in held)
  rest = list(free)[: HOLE_CARDS - len(held)]
  for action in [*rest, *held] if player else [*held, *rest]:
    again.apply_action(action)
  for move in state.full_history()[HOLE_CARDS:]:
    again.apply_action(next(public) if move.player < 0 else move.action)
  return again


def _moved(state: pyspiel.State, events: Sequence[tuple[int, int]]) -> bool:
  """Whether a state could move on in place: a public card may lie in the other player's hand."""
  came = {action for player, action in events if player < 0}
  if came and not came.isdisjoint(state.history()[:HOLE_CARDS]):
    return False
  for _, action in events:
    state.apply_action(action)
  return True
