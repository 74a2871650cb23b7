"""Guesses of a hold'em player's return with every hand, as AIVAT subtracts them, by the play of both."""

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
import pyspiel

from ps_cfr_spiel.cards.poker import cards, set_numbers
from ps_cfr_spiel.games import GuessesForHands
from ps_cfr_spiel.policy import OpenSpielPolicy, for_hands

#: (state, player, actions) -> for each action a guess of the player's return with each hand, float64[1326].
HandsGuess = Callable[[pyspiel.State, int, Collection[int]], Mapping[int, np.ndarray]]
FEW = 12  # actions that a policy may play where guesses follow it
LEAST = 1e-3  # of a line, the probability down to which they do


class StreetGuesses:
  """A `HandsGuess`: a player's return if both play by policies until the street ends, and then check.

  Where a policy plays more than `FEW` actions, or hardly ever comes, both check from there on.
  """

  def __init__(self, worths: GuessesForHands, policies: tuple[OpenSpielPolicy, OpenSpielPolicy]):
    """Take the policy of each seat; `worths` is the game."""
    self._worths, self._policies = worths, policies

  def __call__(self, state: pyspiel.State, player: int, actions: Collection[int]) -> Mapping[int, np.ndarray]:
    """See `HandsGuess`."""
    if state.is_chance_node() or len(actions) > FEW:
      return self._worths.guess_for_hands(state, player)
    other = state.hole(1 - player)
    return {action: self._worth(state.child(action), player, [tuple(other)]) for action in actions}

  def of_deals(self, game: pyspiel.Game, player: int) -> np.ndarray:
    """float64[1326]: a player's mean return against each hand of the other, of hands up to suits alike."""
    state, free = game.new_initial_state(), cards.unblocked({*cards.WHOLE_DECK} - {*self._worths.deck})
    for place in range(2 * cards.HAND_SIZE):
      state.apply_action(place)
    rank, suit = np.divmod(np.sort(cards.ALL_HANDS, 1), len(cards.SUITS))
    kinds = np.where(free, (rank @ [13, 1]) * 2 + (suit[:, 0] == suit[:, 1]), -1)
    _, first, kind = np.unique(kinds, return_index=True, return_inverse=True)
    others = [tuple(hand) for hand in cards.ALL_HANDS[first].tolist()]
    apart = np.array([cards.unblocked(other) for other in others]) & free
    worth = self._worth(state, player, others, deals=True)
    return ((worth * apart).sum(1) / np.maximum(apart.sum(1), 1))[kind.ravel()]

  def _worth(
    self,
    state: pyspiel.State,
    player: int,
    others: Sequence[tuple[int, ...]],
    deals: bool = False,
    likely: float = 1.0,
  ) -> np.ndarray:
    """float64[1326], or with `deals` [n, 1326]: the return with each hand against those of the other."""
    mover = state.current_player()
    if mover >= 0 and likely >= LEAST:
      odds = for_hands(self._policies[mover], state)
      if mover != player:
        numbers = set_numbers(np.array(others))
        odds = {action: chances[numbers][:, None] for action, chances in odds.items()}
      odds = {action: chances for action, chances in odds.items() if chances.any()}
      if 0 < len(odds) <= FEW:
        worths = [
          chances * self._worth(state.child(action), player, others, deals, likely * float(chances.mean()))
          for action, chances in odds.items()
        ]
        total = sum(worths, start=np.zeros(()))
        return total if deals else total.reshape(-1)
    return self._worths.returns_for_hands(state, player, others if deals else ())
