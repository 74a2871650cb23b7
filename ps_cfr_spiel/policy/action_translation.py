"""Action translation: a strategy for few bet sizes plays the game with any bet sizes.

An opponent's bet that the smaller game lacks is translated as one of the two sizes around it, at random
(Ganzfried and Sandholm 2013). The choice is remembered for the hand. As a policy, which remembers nothing but
the infostate, this is the mixture over all translations of the hand so far, each weighted by its
probability and by the strategy's own probability of coming there; by Kuhn's theorem it wins as much as the
remembering player, against any opponent.

Sizes are shares of the pot: the chips added after calling, over the pot after the call; 0 for a check or
call.
"""

import collections
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel import options
from ps_cfr_spiel.arguments import check_option, declared, is_number
from ps_cfr_spiel.cards.notation import bet_sizes, move_name
from ps_cfr_spiel.cards.poker import cards
from ps_cfr_spiel.loading import check_is_game
from ps_cfr_spiel.policy.state_answers import acting_player


def pseudo_harmonic(size: float, lower: float, upper: float) -> float:
  """Probability of `lower`: (B - x)(1 + A) / ((B - A)(1 + x)) (Ganzfried and Sandholm 2013, Section 5).

  An opponent who calls a bet of A or B with a share 1 / (1 + A) or 1 / (1 + B) of hands, which leaves a bluff
  worth nothing, then calls x with 1 / (1 + x).
  """
  return (upper - size) * (1 + lower) / ((upper - lower) * (1 + size))


def arithmetic(size: float, lower: float, upper: float) -> float:
  """Probability of `lower` by distance."""
  return (upper - size) / (upper - lower)


def nearest(size: float, lower: float, upper: float) -> float:
  """The nearer size, always; ties go to `lower`."""
  return float(size - lower <= upper - size)


def nearest_ratio(size: float, lower: float, upper: float) -> float:
  """The nearer size by ratio, always: the geometric mean divides them."""
  return float(size * size <= lower * upper)


HOLE_CARDS = 2 * cards.HAND_SIZE  # of both players
KEPT = 64  # answers for all hands, and sizes

Split = Callable[[float, float, float], float]  # (size, lower, upper) -> probability of `lower`
Sizes = Callable[[pyspiel.State], Mapping[int, float]]  # see `bet_sizes`
# A strategy: from a state and its player to the probability of each action, or float64[1326] for all hands.
Ask = Callable[[pyspiel.State, int], Mapping[int, Any]]

MAPPINGS: dict[str, Split] = options.objects(options.MAPPINGS)


def translate(
  size: float, sizes: Sequence[float] | np.ndarray, mapping: Split = pseudo_harmonic
) -> np.ndarray:
  """The probabilities, float64[N], with which a size is translated as each of N different ones, all in pots.

  `mapping` has the probability of the next size below; a size beyond all counts as the nearest.
  """
  given = np.asarray(sizes, float)
  ascending = np.argsort(given, kind="stable")  # quick if they ascend
  result = np.zeros(len(sizes))
  above = int(np.searchsorted(given[ascending], size))  # the first that is not smaller
  if above == len(sizes):
    result[ascending[-1]] = 1
  elif above == 0 or given[ascending[above]] == size:
    result[ascending[above]] = 1
  else:
    pair = ascending[above - 1 : above + 1]
    below = mapping(size, *given[pair].tolist())
    if not (is_number(below) and 0 <= below <= 1):
      raise ValueError(f"mapping must give a probability; for size {size} it gave {below!r}.")
    result[pair] = below, 1 - below
  return result


def for_hands(policy: openspiel_policy.Policy, state: pyspiel.State) -> Mapping[int, np.ndarray]:
  """For each action that may be played float64[1326]: a policy of all hands of the player to move.

  The state is one of `holdem`, or of another hold'em with a whole deck; the cards in both hands do not
  matter, and hands with a card of the board, or outside the deck, have any probabilities. A policy whose own
  class has a method `for_hands_at` answers at once, unless that returns None.
  """
  at_once = declared(policy, "for_hands_at")
  if at_once is not None and (answer := at_once(state)) is not None:
    return answer
  legal, by_action = state.legal_actions(), dict[int, np.ndarray]()
  if type(policy) is openspiel_policy.UniformRandomPolicy:
    return dict.fromkeys(legal, np.full(len(cards.ALL_HANDS), 1 / len(legal)))
  player, history = state.current_player(), [move.action for move in state.full_history()]
  board = [move.action for move in state.full_history() if move.player < 0][HOLE_CARDS:]
  deck = getattr(state.get_game(), "deck", cards.WHOLE_DECK)
  live = [place for place in range(len(deck)) if place not in board]
  for high, low in itertools.combinations(live[::-1], cards.HAND_SIZE):
    h, hole = int(cards.hand_numbers(np.array([deck[high], deck[low]]))), [high, low]
    rest = [place for place in live if place not in hole][: cards.HAND_SIZE]
    held = state.get_game().new_initial_state()
    for action in [*(hole + rest if player == 0 else rest + hole), *history[HOLE_CARDS:]]:
      held.apply_action(action)
    for action, chance in policy.action_probabilities(held, player).items():
      if chance:
        by_action.setdefault(action, np.zeros(len(cards.ALL_HANDS)))[h] = chance
  return by_action


class Recent(collections.OrderedDict[Any, Any]):
  """The last results, by key; of more than `most` those that were asked for longest ago go."""

  def __init__(self, most: int):
    super().__init__()
    self._most = most

  def once(self, key: Any, compute: Callable[[], Any]) -> Any:
    """A kept result, or that of `compute`, which may ask for others."""
    if key not in self:
      self[key] = compute()
      while len(self) > self._most:
        self.popitem(last=False)
    self.move_to_end(key)
    return self[key]


class TranslatedHistory(NamedTuple):
  """A translation of a hand so far, with its probabilities."""

  state: pyspiel.State  #: of the smaller game
  likely: float  #: probability that the moves of chance and the opponent are translated this way
  reach: Any  #: probability of the strategy's own moves; float64[1326] for all hands


class _Bets(NamedTuple):
  """The legal actions of a state."""

  actions: np.ndarray  #: int[N], all but a fold
  sizes: np.ndarray  #: [N], in pots
  fold: int | None

  @property
  def call(self) -> int:
    """The check or call."""
    return int(self.actions[np.argmin(self.sizes)])


class TranslatedPolicy(openspiel_policy.Policy):
  """A strategy for a game with few bet sizes, as a policy of the same game with other sizes.

  `pyspiel`'s bots play it: `open_spiel.python.bots.policy.PolicyBot(player, rng, policy)`. In a hand
  translated as one in which it is not the player's turn, the player checks or calls.
  """

  def __init__(
    self,
    game: pyspiel.Game,
    policy: openspiel_policy.Policy,
    mapping: str | Split = "pseudo-harmonic",
    sizes: Sizes = bet_sizes,
  ):
    """Translate a policy; nothing is computed yet.

    Args:
      game: the game to play, which must deal like the policy's own.
      policy: the strategy, a Python policy of OpenSpiel.
      mapping: a name in `MAPPINGS`, or a function such as those there.
      sizes: a function from a state to the sizes of its bets, by action.

    Raises:
      ValueError: an unknown mapping, or `sizes` that are not a function.
      TypeError: `game` is not a game, or `policy` not a Python policy.
    """
    check_is_game(game)
    if not isinstance(policy, openspiel_policy.Policy):
      raise TypeError(f"Expected a Python policy of OpenSpiel, got {type(policy).__name__}.")
    if not callable(sizes):
      raise ValueError(f"sizes must be a function of a state, got {sizes!r}.")
    super().__init__(game, [0, 1])
    self.policy, self.smaller = policy, policy.game  # the strategy, and the game with few sizes
    self._given_sizes = sizes
    self._known = Recent(KEPT)  # the places of a hand are asked about at each decision
    self._split = mapping if callable(mapping) else MAPPINGS[check_option("mapping", mapping, MAPPINGS)]

  def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
    """Probability of every legal action at a state of the larger game.

    ValueError if the smaller game lacks a dealt card, no player acts, a game has no sizes of bets, or `sizes`
    or `mapping` gives no number.
    """
    player = acting_player(state, player_id)
    return {**dict.fromkeys(state.legal_actions(player), 0.0), **self._mixed(state, player, self._ask)}

  def for_hands_at(self, state: pyspiel.State) -> dict[int, np.ndarray]:
    """See `for_hands`."""
    return self._mixed(state, state.current_player(), self._ask_for_hands)

  def _mixed(self, state: pyspiel.State, player: int, ask: Ask) -> dict[int, Any]:
    readings, mixed = self.translations(state, player, ask), dict[int, Any]()
    total = sum(reading.likely * reading.reach for reading in readings)
    for reading in readings:
      for _, chosen, played in self._moves(state, player, reading.state, ask):
        for action, probability in played.items():
          mixed[action] = (
            mixed.get(action, 0.0) + reading.likely * reading.reach / total * chosen * probability
          )
    return mixed

  def _ask(self, smaller: pyspiel.State, player: int) -> dict[int, float]:
    return self.policy.action_probabilities(smaller, player)

  def _ask_for_hands(self, smaller: pyspiel.State, player: int) -> Mapping[int, np.ndarray]:
    """The same for all hands."""
    public = tuple(smaller.history())[HOLE_CARDS:]
    return self._known.once((player, public), lambda: for_hands(self.policy, smaller))

  def translations(
    self, state: pyspiel.State, player: int, ask: Ask | None = None
  ) -> list[TranslatedHistory]:
    """All translations of a hand so far, of positive probability, that a player may have made.

    The player's own move that the strategy never makes is translated like an opponent's. `ask` has the
    strategy, by default for the player's hand.
    """
    position = self.game.new_initial_state()
    readings = [TranslatedHistory(self.smaller.new_initial_state(), 1.0, 1.0)]
    for action in state.history():
      mover = position.current_player()
      if mover < 0:
        readings = [
          reading._replace(state=self._dealt(reading.state, position, action)) for reading in readings
        ]
      else:
        asked = ask or self._ask
        next_readings = (
          [new for reading in readings for new in self._own(position, action, reading, asked)]
          if mover == player
          else []
        )
        never = np.equal(sum(reading.reach for reading in next_readings), 0)
        if np.any(never):
          next_readings += [
            w._replace(reach=w.reach * never)
            for reading in readings
            for w in self._opponents(position, action, reading)
          ]
        readings = next_readings
      position.apply_action(action)
    return readings

  def _own(
    self, state: pyspiel.State, action: int, reading: TranslatedHistory, ask: Ask
  ) -> Iterator[TranslatedHistory]:
    for chosen, probability, played in self._moves(state, state.current_player(), reading.state, ask):
      if np.any(made := probability * played.get(action, 0.0)):
        after = reading.state if chosen is None else reading.state.child(chosen)
        yield TranslatedHistory(after, reading.likely, reading.reach * made)

  def _opponents(
    self, state: pyspiel.State, action: int, reading: TranslatedHistory
  ) -> Iterator[TranslatedHistory]:
    if reading.state.current_player() != state.current_player():
      yield reading
      return
    for translated, probability in self._translated(state, action, reading.state).items():
      yield TranslatedHistory(reading.state.child(translated), reading.likely * probability, reading.reach)

  def _moves(
    self, state: pyspiel.State, player: int, smaller: pyspiel.State, ask: Ask | None = None
  ) -> Iterator[tuple[int | None, Any, dict[int, float]]]:
    """The strategy's moves: in the smaller game, their probability, and the same in the larger game."""
    if smaller.current_player() != player:
      yield None, 1.0, {self._sizes(state).call: 1.0}
      return
    for action, probability in (ask or self._ask)(smaller, player).items():
      if np.any(probability > 0):
        yield action, probability, self._translated(smaller, action, state)

  def _sizes(self, state: pyspiel.State) -> "_Bets":
    """See `bet_sizes`, checked."""

    def compute() -> _Bets:
      given = self._given_sizes(state)
      sizes = np.array(list(given.values()), None if given else bool)
      if sizes.dtype.kind not in "iuf" or not np.isfinite(sizes).all():  # all at once: they may be thousands
        raise ValueError(
          f"sizes must give the size in pots of each action but a fold; got {given} at {state}."
        )
      folds = [action for action in state.legal_actions() if action not in given]
      return _Bets(np.array(list(given)), sizes, folds[0] if folds else None)

    return self._known.once((str(state.get_game()), *state.history()), compute)

  def _translated(self, state: pyspiel.State, action: int, other: pyspiel.State) -> dict[int, float]:
    """An action of a state as actions of a state of the other game, with probabilities."""
    sizes, other_sizes = self._sizes(state), self._sizes(other)
    at = np.flatnonzero(sizes.actions == action)
    if not len(at):  # a fold
      return {other_sizes.call if other_sizes.fold is None else other_sizes.fold: 1.0}
    shares = translate(float(sizes.sizes[at[0]]), other_sizes.sizes, self._split)
    return {int(other_sizes.actions[k]): float(shares[k]) for k in shares.nonzero()[0]}

  def _dealt(self, smaller: pyspiel.State, state: pyspiel.State, action: int) -> pyspiel.State:
    """The smaller game's state after a deal of chance in the larger one.

    A player still to act in the smaller game checks or calls first. A finished game stays finished.
    """
    smaller = smaller.clone()
    while smaller.current_player() >= 0:
      smaller.apply_action(self._sizes(smaller).call)
    if smaller.is_terminal():
      return smaller
    dealt = move_name(state, action)
    outcomes = [outcome for outcome, _ in smaller.chance_outcomes()]
    # The same outcome has the same number, unless the games' ranges differ.
    for outcome in sorted(outcomes, key=lambda outcome: outcome != action):
      if move_name(smaller, outcome) == dealt:
        smaller.apply_action(outcome)
        return smaller
    raise ValueError(f"The strategy is for {self.smaller}, which has no {dealt!r} after {smaller}.")
