"""AIVAT in a hold'em too large to compile: averages over all hands of the agent, and guesses for them."""

import itertools
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyspiel

from ps_cfr_spiel.cards.poker import cards, set_numbers
from ps_cfr_spiel.evaluation.aivat import IMPOSSIBLE, Game
from ps_cfr_spiel.games import GuessesForHands
from ps_cfr_spiel.policy import HandStates, OpenSpielPolicy, for_hands

#: (state, player, actions) -> for each action a guess of the player's return with each hand, float64[1326].
HandsGuess = Callable[[pyspiel.State, int, Collection[int]], Mapping[int, np.ndarray]]
FEW = 12  # actions that a policy may play where guesses follow it
LEAST = 1e-3  # of a line, the probability down to which they do
HOLE_CARDS = 2 * cards.HAND_SIZE  # of both players


class OverHands:
  """AIVAT where a policy is known for all hands of two cards, in a game too large to compile.

  As in `Aivat` the classes are the opponent's knowledge: their hand and all that is public, over all hands of
  the agent, each weighed by the probability that the agent plays so. Events are the deal of the opponent's
  hand, public cards, the agent's moves, and the opponent's if their policy is known. An event's luck is the
  guess of the class after it, less its mean over the events that could come; the base is the mean utility
  over the hands at the end.

  Without the deal of the opponent's hand the two games of a mirrored deal would not cancel: in each the
  agent's own hand is averaged out, and the luck of the other hand stays.
  """

  def __init__(
    self,
    game: pyspiel.Game,
    worths: GuessesForHands,
    guess: HandsGuess,
    policy: OpenSpielPolicy,
    agent: int,
    opponent: OpenSpielPolicy | None = None,
    deal: np.ndarray | None = None,
  ):
    """Take the agent's policy and seat, and the opponent's policy if that is known; `worths` is the game.

    `deal` has guesses of the agent's return against each hand of the opponent, float64[1326].
    """
    self._game, self._worths, self._guess, self._agent = game, worths, guess, agent
    self._policies = (policy, opponent) if agent == 0 else (opponent, policy)
    self._states = HandStates(), HandStates()  # of each player, for policies that are asked hand by hand
    self._free = cards.unblocked({*cards.WHOLE_DECK} - {*worths.deck})
    self._without = [cards.unblocked({card}) for card in worths.deck]  # by the place of a card
    deal = np.zeros(len(self._free)) if deal is None else deal
    self._luck_of_hands = deal - deal[self._free].mean()
    self._events: list[object] = []  # of the last game: the deal of the opponent's hand, and what followed
    self._steps: list[_Step] = []  # after each of these; the agent's own hand does not matter

  def __call__(self, game: Game) -> float:
    """See `Estimator`."""
    state, agent = self._game.new_initial_state(), self._agent
    for action in game.actions[:HOLE_CARDS]:
      state.apply_action(action)
    mine, other = (int(set_numbers(np.array(state.hole(player)))) for player in (agent, 1 - agent))
    events, last = [{*state.hole(1 - agent)}, *game.actions[HOLE_CARDS:]], self._events
    alike = sum(1 for _ in itertools.takewhile(bool, map(operator.eq, events, last)))
    steps = self._steps[:alike] or [self._step(state, self._deal(state), self._luck_of_hands[other], other)]
    for n, action in enumerate(game.actions[HOLE_CARDS:], start=1):
      before, mover = steps[n - 1], state.current_player()
      weight = before.weight_after(action)
      if weight[mine] <= 0:
        raise ValueError(IMPOSSIBLE if mover == agent else "opponent= never plays so")
      state.apply_action(action)
      if n == len(steps):
        steps.append(self._step(state, weight, before.luck_after(action), other))
    self._events, self._steps = events, steps
    weight = steps[-1].weight
    return float(weight @ self._worths.returns_for_hands(state, agent)) / weight.sum() - steps[-1].luck

  def _deal(self, state: pyspiel.State) -> np.ndarray:
    """float64[1326]: the weight of the agent's hands after the deal."""
    return 1.0 * (self._free & cards.unblocked(state.hole(1 - self._agent)))

  def _step(self, state: pyspiel.State, weight: np.ndarray, luck: float, other: int) -> "_Step":
    """A step with the events that may follow, if their probabilities are known; `other` is their hand."""
    if state.is_terminal() or (odds := self._odds(state, weight, other)) is None:
      return _Step(weight, luck, None)
    odds = {a: chances for a, chances in odds.items() if chances.any()}
    weights = {a: weight * chances for a, chances in odds.items()}
    guesses = self._guess(state, self._agent, odds)
    mean = sum(float(w @ guesses[a]) for a, w in weights.items()) / weight.sum()
    return _Step(weight, luck, _Events(weights, guesses, mean))

  def _odds(self, state: pyspiel.State, weight: np.ndarray, other: int) -> Mapping[int, np.ndarray] | None:
    """For each event that may come float64[1326], its probability with each hand; None if unknown."""
    if state.is_chance_node():
      places, deck = state.legal_actions(), self._worths.deck  # one number of them for any hand
      left = sorted([*places, *map(deck.index, state.hole(self._agent))])
      return {place: self._without[place] / len(places) for place in left}
    player = state.current_player()
    if (policy := self._policies[player]) is None:
      return None
    ours = player == self._agent
    asked = weight > 0 if ours else np.arange(len(weight)) == other
    odds = for_hands(policy, state, asked, self._states[player])
    if ours:
      return odds
    return {action: np.full(len(chances), chances[other]) for action, chances in odds.items()}


class _Events(NamedTuple):
  """The events that may follow at a step of `OverHands`: float64[1326] of each by action, with each hand."""

  weights: Mapping[int, np.ndarray]  # of hands after it
  guesses: Mapping[int, np.ndarray]
  mean: float  # of the guesses over all


class _Step(NamedTuple):
  """A place in a game as `OverHands` sees it."""

  weight: np.ndarray  # float64[1326]: the probability of the past with each hand of the agent
  luck: float  # so far
  events: _Events | None  # None where the game ends or probabilities are unknown

  def weight_after(self, action: int) -> np.ndarray:
    """float64[1326]: the weight after an action, 0 for one that may not follow."""
    return self.weight if self.events is None else self.events.weights.get(action, 0 * self.weight)

  def luck_after(self, action: int) -> float:
    """The luck after an action that may follow."""
    if self.events is None:
      return self.luck
    weight = self.events.weights[action]
    return self.luck + float(weight @ self.events.guesses[action]) / weight.sum() - self.events.mean


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
    for place in range(HOLE_CARDS):
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
