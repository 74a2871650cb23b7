"""A local best response (Lisý and Bowling 2017) to a policy that no list of the game holds, in sampled deals.

The responder knows the policy, and by Bayes' rule the opponent's range. An action is worth what the best
move that ends the game wins at the responder's next decision (in liar's dice the call), after the opponent's
answers by the policy; an action that ends the game, what it wins. The best of `considered` actions is played.
So the policy is asked at one public state for each. It may search: the answers must follow from the moves.

Against a range the opponent's hand is never drawn: a deal is the responder's hand, and of the opponent's
answers those that end the game count by their probability, and of the others one is drawn, with the
probability of them all as its weight. A response cannot win more than the best one, so the mean gain of both
seats is at most the policy's exploitability, up to the error.

For two players, where chance moves only before them, and all see their moves.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

Choose = Callable[[Sequence[float]], list[tuple[int, float]]]  # of masses: which are followed, with factors


class Range(NamedTuple):
  """The histories that the responder cannot tell apart; all have the same moves of the players."""

  states: list[pyspiel.State]
  weights: np.ndarray  #: [n], the probability of each, by chance and the opponent's policy

  @classmethod
  def of_deals(cls, game: pyspiel.Game, seat: int) -> "list[Range]":
    """A range for each of the responder's hands; ValueError if not two players play the game in turns."""
    if game.num_players() != 2 or game.get_type().dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
      raise ValueError(f"{game}: a response is for two players who move in turns.")
    hands, deals = dict[str, list[tuple[pyspiel.State, float]]](), [(game.new_initial_state(), 1.0)]
    while deals:
      state, chance = deals.pop()
      if state.is_chance_node():
        deals += [(state.child(action), chance * p) for action, p in state.chance_outcomes() if p > 0]
      else:
        hands.setdefault(state.information_state_string(seat), []).append((state, chance))
    return [cls([s for s, _ in deal], np.array([p for _, p in deal])) for deal in hands.values()]

  @property
  def ended(self) -> bool:
    """Whether the game is over."""
    return self.states[0].is_terminal()

  @property
  def actor(self) -> int:
    """The player to move."""
    return self.states[0].current_player()

  def after(self, action: int, chances: np.ndarray | float = 1.0) -> "Range":
    """The range after a move that has these probabilities, [n]; histories of probability 0 are left out.

    ValueError if chance moves then.
    """
    weights = self.weights * chances
    states = [self.states[n].child(action) for n in np.flatnonzero(weights)]
    if any(state.is_chance_node() for state in states):
      raise ValueError(f"{states[0].get_game()}: chance moves after the players, who then have no response.")
    return Range(states, weights[weights > 0])

  def gain(self, seat: int) -> float:
    """The responder's win at the end of the game, times the range's probability."""
    return float(self.weights @ [state.returns()[seat] for state in self.states])


class Response(NamedTuple):
  """The response from one seat; see the module."""

  policy: openspiel_policy.Policy  #: the opponent's
  seat: int
  nearest: int | None  #: first legal actions that are considered, beside those that end the game; None: all

  def gain(self, place: Range, choose: Choose) -> float:
    """What the response wins from a range on, times the range's probability."""
    if place.ended:
      return place.gain(self.seat)
    if place.actor == self.seat:
      return self.gain(max(self.considered(place), key=self.worth), choose)
    ends, others = self.answers(place)
    followed = choose([other.weights.sum() for other in others])
    later = sum(factor * self.gain(others[n], choose) for n, factor in followed)
    return later + sum(end.gain(self.seat) for end in ends)

  def answers(self, place: Range) -> tuple[list[Range], list[Range]]:
    """The ranges after the opponent's answers: those that end the game, and the others."""
    state, opponent = place.states[0], 1 - self.seat
    known, legal = dict[str, dict[int, float]](), state.legal_actions()
    chances = np.zeros((len(legal), len(place.states)))
    for n, state in enumerate(place.states):
      infostate = state.information_state_string(opponent)
      if infostate not in known:
        known[infostate] = self.policy.action_probabilities(state, opponent)
      chances[:, n] = [known[infostate].get(action, 0.0) for action in legal]
    after = [place.after(a, p) for a, p in zip(legal, chances, strict=True) if (place.weights * p).any()]
    return [r for r in after if r.ended], [r for r in after if not r.ended]

  def considered(self, place: Range) -> list[Range]:
    """The ranges after the actions that the responder considers."""
    after = [place.after(action) for action in place.states[0].legal_actions()]
    return [r for n, r in enumerate(after) if n in range(len(after))[: self.nearest] or r.ended]

  def worth(self, place: Range) -> float:
    """What an action that led to a range is worth to the responder, times the range's probability."""
    if place.ended:
      return place.gain(self.seat)
    if place.actor == self.seat:
      return self.at_once(place)
    ends, others = self.answers(place)
    return sum(end.gain(self.seat) for end in ends) + sum(map(self.at_once, others))

  def at_once(self, place: Range) -> float:
    """The most that a move wins which ends the game; ValueError if there is none."""
    after = map(place.after, place.states[0].legal_actions())
    if gains := [r.gain(self.seat) for r in after if r.ended]:
      return max(gains)
    state = place.states[0]
    raise ValueError(f"{state.get_game()}: no move ends the game after {state.history()}.")


def everything(masses: Sequence[float]) -> list[tuple[int, float]]:
  """Follows all: gains are exact."""
  return [(n, 1.0) for n in range(len(masses))]


def sampled(generator: np.random.Generator) -> Choose:
  """Follows one of several, drawn by its mass."""

  def choose(masses: Sequence[float]) -> list[tuple[int, float]]:
    if not masses:
      return []
    chances = np.divide(masses, sum(masses))
    n = int(generator.choice(len(masses), p=chances))
    return [(n, float(1 / chances[n]))]

  return choose


def exact_gains(
  game: pyspiel.Game, policy: openspiel_policy.Policy, nearest: int | None
) -> tuple[float, float]:
  """What responses to a policy win from both seats, by all deals and answers; of small games."""
  first, second = (
    sum(Response(policy, seat, nearest).gain(hand, everything) for hand in Range.of_deals(game, seat))
    for seat in (0, 1)
  )
  return first, second


def sampled_gains(
  game: pyspiel.Game, policy: openspiel_policy.Policy, nearest: int | None, deals: range, seed: int
) -> np.ndarray:
  """float64[deals], what responses win in deals of these numbers, each with draws of its own.

  Seats alternate: the responder is player 0 in even deals.
  """
  hands, gains = [Range.of_deals(game, seat) for seat in (0, 1)], []
  chances = [np.array([hand.weights.sum() for hand in some]) for some in hands]
  for number in deals:
    generator, seat = np.random.default_rng([seed, number]), number % 2
    n = generator.choice(len(hands[seat]), p=chances[seat] / chances[seat].sum())
    gain = Response(policy, seat, nearest).gain(hands[seat][n], sampled(generator))
    gains.append(gain / chances[seat][n])
  return np.array(gains)
