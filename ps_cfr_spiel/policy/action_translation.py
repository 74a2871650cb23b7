"""Action translation: a strategy for few bet sizes plays the game with any bet sizes.

An opponent's bet that the smaller game lacks is translated as one of the two sizes around it, at random
(Ganzfried and Sandholm 2013). The choice is remembered for the hand. As a policy, which remembers nothing but
the infostate, this is the mixture over all translations of the hand so far, each weighted by its
probability and by the strategy's own probability of coming there; by Kuhn's theorem it wins as much as the
remembering player, against any opponent.

Sizes are shares of the pot: the chips added after calling, over the pot after the call; 0 for a check or
call.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel import options
from ps_cfr_spiel.arguments import as_number, check_option
from ps_cfr_spiel.cards.notation import bet_sizes, move_name
from ps_cfr_spiel.loading import check_is_game
from ps_cfr_spiel.policy.convert import OpenSpielPolicy
from ps_cfr_spiel.policy.wrapped import Chance, Recent, Transformation, Wrapped


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


KEPT = 64  # sizes of bets

Split = Callable[[float, float, float], float]  # (size, lower, upper) -> probability of `lower`
Sizes = Callable[[pyspiel.State], Mapping[int, float]]  # see `bet_sizes`
Ask = Callable[[pyspiel.State, int], Mapping[int, Chance]]  # see `Wrapped`

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
    if not 0 <= as_number(below) <= 1:
      raise ValueError(f"mapping must give a probability; for size {size} it gave {below!r}.")
    result[pair] = below, 1 - below
  return result


class TranslatedHistory(NamedTuple):
  """A translation of a hand so far."""

  state: pyspiel.State  #: of the smaller game
  #: the probability that the opponent's moves are translated this way, times that of the own moves.
  weight: Chance


class _Bets(NamedTuple):
  """The legal actions of a state."""

  actions: np.ndarray  #: int[N], all but a fold
  sizes: np.ndarray  #: [N], in pots
  fold: int | None

  @property
  def call(self) -> int:
    """The check or call."""
    return int(self.actions[np.argmin(self.sizes)])


class Translation(Transformation):
  """A strategy for a game with few bet sizes becomes one for the same game with other sizes.

  In a hand translated as one in which it is not the player's turn, the player checks or calls. ValueError
  where the smaller game lacks a dealt card, or a game has no sizes of bets.
  """

  def __init__(self, mapping: str | Split = "pseudo-harmonic", sizes: Sizes = bet_sizes):
    """Translate nothing yet.

    Args:
      mapping: a name in `MAPPINGS`, or a function such as those there.
      sizes: a function from a state to the sizes of its bets, by action.

    ValueError for an unknown mapping, or `sizes` that are not a function.
    """
    if not callable(sizes):
      raise ValueError(f"sizes must be a function of a state, got {sizes!r}.")
    self._given_sizes = sizes
    self._known = Recent[tuple[Hashable, ...], _Bets](KEPT)  # a hand's places are asked at each decision
    self._split = mapping if callable(mapping) else MAPPINGS[check_option("mapping", mapping, MAPPINGS)]

  def check(self, game: pyspiel.Game, policy: OpenSpielPolicy) -> None:
    """TypeError unless `game` is a game, and the policy has one, which must deal like it."""
    check_is_game(game)
    if not isinstance(policy, openspiel_policy.Policy):
      raise TypeError(f"Expected a Python policy of OpenSpiel, got {type(policy).__name__}.")

  def changed(self, wrapped: Wrapped, state: pyspiel.State, player: int) -> dict[int, Chance]:
    """See `Transformation`: the moves after each translation of the hand, weighted by its probability."""
    readings, mixed = self.translations(wrapped, state, player), dict[int, Chance]()
    total = sum(reading.weight for reading in readings)
    for reading in readings:
      for _, chosen, played in self._moves(state, player, reading.state, wrapped.ask):
        for action, probability in played.items():
          mixed[action] = mixed.get(action, 0.0) + reading.weight / total * chosen * probability
    return mixed

  def translations(self, wrapped: Wrapped, state: pyspiel.State, player: int) -> list[TranslatedHistory]:
    """All translations of a hand so far, of positive probability, that a player may have made.

    The player's own move that the strategy never makes is translated like an opponent's.
    """
    actions, game = tuple(state.history()), str(state.get_game())
    kept = wrapped.kept if wrapped.kept is not None else Recent(len(actions) + 1)
    known = next((n for n in range(len(actions), 0, -1) if (game, player, *actions[:n]) in kept), 0)
    position, readings = (
      kept[game, player, *actions[:known]]
      if known
      else (
        state.get_game().new_initial_state(),
        [TranslatedHistory(wrapped.game.new_initial_state(), 1.0)],
      )
    )
    for n, action in enumerate(actions[known:], start=known + 1):
      readings = self._after(wrapped, player, position, action, readings)
      position = position.child(action)
      kept.once((game, player, *actions[:n]), lambda: (position, readings))  # noqa: B023
    return readings

  def _after(
    self,
    wrapped: Wrapped,
    player: int,
    position: pyspiel.State,
    action: int,
    readings: list[TranslatedHistory],
  ) -> list[TranslatedHistory]:
    """The translations of a hand with one more action, from those before it; see `translations`."""
    if (mover := position.current_player()) < 0:
      return [reading._replace(state=self._dealt(reading.state, position, action)) for reading in readings]
    after = []
    if mover == player:
      after = [new for reading in readings for new in self._own(position, action, reading, wrapped.ask)]
    never = np.equal(sum(reading.weight for reading in after), 0)
    if np.any(never):
      after += [
        w._replace(weight=w.weight * never)
        for reading in readings
        for w in self._opponents(position, action, reading)
      ]
    return _joined(after)

  def _own(
    self, state: pyspiel.State, action: int, reading: TranslatedHistory, ask: Ask
  ) -> Iterator[TranslatedHistory]:
    for chosen, probability, played in self._moves(state, state.current_player(), reading.state, ask):
      if np.any(made := probability * played.get(action, 0.0)):
        after = reading.state if chosen is None else reading.state.child(chosen)
        yield TranslatedHistory(after, reading.weight * made)

  def _opponents(
    self, state: pyspiel.State, action: int, reading: TranslatedHistory
  ) -> Iterator[TranslatedHistory]:
    if reading.state.current_player() != state.current_player():
      yield reading
      return
    for translated, probability in self._translated(state, action, reading.state).items():
      yield TranslatedHistory(reading.state.child(translated), reading.weight * probability)

  def _moves(
    self, state: pyspiel.State, player: int, smaller: pyspiel.State, ask: Ask
  ) -> Iterator[tuple[int | None, Chance, dict[int, float]]]:
    """The strategy's moves: in the smaller game, their probability, and the same in the larger game."""
    if smaller.current_player() != player:
      yield None, 1.0, {self._sizes(state).call: 1.0}
      return
    for action, probability in ask(smaller, player).items():
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
    raise ValueError(f"The strategy is for {smaller.get_game()}, which has no {dealt!r} after {smaller}.")


def _joined(readings: Sequence[TranslatedHistory]) -> list[TranslatedHistory]:
  """The same with one for each history of the smaller game, in the order in which they come first."""
  together = dict[tuple[int, ...], TranslatedHistory]()
  for reading in readings:
    same = together.get(history := tuple(reading.state.history()))
    together[history] = reading if same is None else same._replace(weight=same.weight + reading.weight)
  return list(together.values())
