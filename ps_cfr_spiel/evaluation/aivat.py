"""The worth of recorded games to an agent with a known policy, with less luck in it than in the chips.

The opponent's policy is unknown, but they have perfect recall, so their *sequences* suffice: between one of
their choices and the next, chance and the agent move, by known probabilities. Let V(s) be the agent's
expected utility after sequence s, with a guess u(I) of it at the opponent's next infostate I, and exact if
the game ends before:

  V(s) = E[utility; the game ends | s] + sum over next infostates I of P(I | s) u(I)
  estimate = V(empty) + sum over the opponent's choices (I, a) of V(I, a) - u(I).

Given the game up to s, the mean of the next subtracted u(I) is its share in V(s), for any u, so the estimate
is unbiased. This is AIVAT (Burch et al. 2018; Schmid 2021, Section 21.6.2), which
averages over histories that the opponent cannot distinguish, with the coarsest classes that allow it. Its
numbers are those of the solver: the weight of infostates, leaf values, and a pass up the opponent's forest.
"""

import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyspiel

from ps_cfr_spiel.backend.device import jit, precision, to_device
from ps_cfr_spiel.cards.poker import cards, set_numbers
from ps_cfr_spiel.compilation.histories import Histories, history_origin
from ps_cfr_spiel.evaluation.street_guesses import HandsGuess
from ps_cfr_spiel.games import GuessesForHands
from ps_cfr_spiel.policy import (
  HandStates,
  OpenSpielPolicy,
  choice_probabilities,
  for_hands,
  reaches,
)
from ps_cfr_spiel.tree import (
  CHANCE,
  Array,
  Decision,
  PublicTree,
  action_values,
  sequence_reach,
  sequence_values,
  sum_actions,
)

Strategies = Sequence[Sequence[np.ndarray]]  # for each player [A, rows, H] for each block
Guess = Callable[[int, str], float]
StateGuess = Callable[
  [pyspiel.State], Mapping[int, float]
]  # of each action at a state: the utility of player 0
MOST = 1e30  # of a guess
HOLE_CARDS = 2 * cards.HAND_SIZE  # of both players
IMPOSSIBLE = "the agent's policy never plays so"


class Choice(NamedTuple):
  """One choice of the opponent in a game: a row, the number of the action, and the type."""

  decision: Decision
  action: int
  type: int


class Game(NamedTuple):
  """A game as estimators see it."""

  actions: Sequence[int]  #: OpenSpiel actions from the start to the end, chance's too
  choices: Sequence[Choice]  #: the opponent's
  utility: float  #: to the agent


# The agent's expected utility by a game of one seat; ValueError if the agent cannot have played it.
Estimator = Callable[[Game], float]


def chips(game: Game) -> float:
  """The chips that the agent won: the estimator without knowledge."""
  return game.utility


class Sequences:
  """The worth of the opponent's sequences to an agent, and their probabilities without the opponent."""

  def __init__(self, tree: PublicTree, strategies: Strategies, agent: int):
    """Take strategies of both players, and ignore the opponent's."""
    self.opponent = 1 - agent  #: their seat
    #: [rows, H] for each block: probability that chance and the agent play to an infostate.
    self.weight = [np.zeros((n, h)) for _, n, h in tree.players[self.opponent].block_shapes]
    for decision, reach in zip(tree.names.decisions, reaches(tree.names, strategies), strict=True):
      if decision.player == self.opponent:
        self.weight[decision.block][decision.row] = reach.others
    with precision("float64"):
      self._tree, strategy = to_device((tree, list(strategies[agent])), "float64")
      self._leaves = _leaf_values(self._tree, strategy, opponent=self.opponent)

  def push(self, rows: Sequence[np.ndarray], leaves: bool) -> tuple[list[np.ndarray], float]:
    """Add [rows, H] of infostates, and the opponent's leaf values, up in the sequences before them.

    Returns [A, rows, H] for each block, and the sum at the empty sequences.
    """
    with precision("float64"):
      below = self._leaves if leaves else [0 * values for values in self._leaves]
      values, root = _push(self._tree, below, to_device(list(rows), "float64"), opponent=self.opponent)
    return [np.asarray(v) for v in values], float(np.asarray(root).sum())


class Aivat:
  """See the module."""

  def __init__(self, sequences: Sequences, guesses: Sequence[np.ndarray]):
    """`guesses` are the agent's expected utilities at the opponent's infostates, [rows, H] for each block."""
    self._weight, self._guesses = sequences.weight, guesses
    worth = [-w * u for w, u in zip(sequences.weight, guesses, strict=True)]
    values, root = sequences.push(worth, leaves=True)
    self._start, self._values = -root, [-v for v in values]

  def __call__(self, game: Game) -> float:
    """See `Estimator`."""
    total = self._start
    for decision, action, h in game.choices:
      weight = self._weight[decision.block][decision.row, h]
      if weight <= 0:
        raise ValueError(IMPOSSIBLE)
      value = self._values[decision.block][action, decision.row, h] / weight
      total += value - self._guesses[decision.block][decision.row, h]
    return float(total)


class Imaginary:
  """The mean over all games that end after the same choices of the opponent: imaginary observations.

  Bowling et al. 2008; Schmid 2021, Section 21.6.1.
  """

  def __init__(self, sequences: Sequences):
    values, root = sequences.push([0 * w for w in sequences.weight], leaves=True)
    later, first = sequences.push(sequences.weight, leaves=False)
    self._start = (-root, 1 - first)
    self._ends = [(-v, w - after) for v, w, after in zip(values, sequences.weight, later, strict=True)]

  def __call__(self, game: Game) -> float:
    """See `Estimator`."""
    value, weight = self._start
    if game.choices:
      decision, action, h = game.choices[-1]
      value, weight = (x[action, decision.row, h] for x in self._ends[decision.block])
    if weight <= 0:
      raise ValueError(IMPOSSIBLE)
    return float(value / weight)


class Mivat:
  """Chips, less the luck of chance as a profile values it (White and Bowling 2009; Section 21.6.1).

  The one estimator that needs nothing of the agent but a guess, and single histories.
  """

  def __init__(self, tree: PublicTree, strategies: Strategies, agent: int):
    """Values of all histories when both go on by the strategies; ValueError if they were not enumerated."""
    source = history_origin(tree.names)
    if source is None:
      raise ValueError(
        f"method='mivat' needs values of single histories, and {tree.names.game} was compiled without "
        f"them; choose 'aivat', 'imaginary' or 'chips'"
      )
    self._histories, self._sign = source.histories, 1 - 2 * agent
    choice = choice_probabilities(tree.names, source.histories, strategies)
    self._values = _history_values(source.histories, choice)
    span = int(source.histories.action.max(initial=0)) + 1
    keys = source.histories.parent.astype(np.int64) * span + source.histories.action
    self._order, self._span = np.argsort(keys, kind="stable"), span
    self._keys = keys[self._order]

  def __call__(self, game: Game) -> float:
    """See `Estimator`."""
    history, luck = 0, 0.0
    for action in game.actions:
      child = int(self._order[np.searchsorted(self._keys, history * self._span + action)])
      if self._histories.player[history] == CHANCE:
        luck += self._values[child] - self._values[history]
      history = child
    return game.utility - self._sign * float(luck)


class Corrected:
  """Chips, less the luck of chance as guesses value it: MIVAT for games too large to compile.

  Guesses are asked for along the game alone, and each number subtracted has the mean 0 for any guesses.
  """

  def __init__(self, game: pyspiel.Game, guess: StateGuess, agent: int):
    """Take the agent's seat."""
    self._game, self._guess, self._agent = game, guess, agent

  def __call__(self, game: Game) -> float:
    """See `Estimator`."""
    state, luck = self._game.new_initial_state(), 0.0
    for action in game.actions:
      if state.is_chance_node() and len(odds := state.chance_outcomes()) > 1:
        values = self._guess(state)
        luck += values[action] - sum(chance * values[a] for a, chance in odds if chance)
      state.apply_action(action)
    return game.utility - (1 - 2 * self._agent) * float(luck)


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


def _history_values(histories: Histories, choice: np.ndarray) -> np.ndarray:
  """float64[N]: expected utility to player 0 at each history, from the probabilities of players' choices."""
  values, above = histories.utility.astype(float), histories.parent
  chance = np.where(above >= 0, histories.chance / histories.chance[above], 1.0)
  for layer in reversed(histories.layers[1:]):
    np.add.at(values, above[layer], choice[layer] * chance[layer] * values[layer])
  return values


def guesses_of(
  tree: PublicTree, sequences: Sequences, strategies: Strategies, values: Guess | None
) -> list[np.ndarray]:
  """Guesses of the agent's gain at the opponent's infostates, [rows, H] for each block.

  They are the values of the strategies (the opponent's is a guess), or what `values` gives by opponent and
  information state string; ValueError if that is not a number, or beyond `MOST`.
  """
  opponent, guesses = sequences.opponent, []
  if values is not None:
    guesses = [np.zeros_like(weight) for weight in sequences.weight]
    for decision, h, name in tree.names.infostates():
      if decision.player == opponent:
        guess = np.asarray(values(opponent, name))
        if guess.ndim or guess.dtype.kind not in "iuf" or not abs(guess) <= MOST:  # NaN fails too
          raise ValueError(
            f"values must give numbers up to {MOST:g}; values({opponent}, {name!r}) is {guess!r}."
          )
        guesses[decision.block][decision.row, h] = guess
    return guesses
  with precision("float64"):
    row_values = _row_values(*to_device((tree, tuple(map(list, strategies))), "float64"), player=opponent)
  for value, weight in zip(row_values, sequences.weight, strict=True):
    guesses.append(np.divide(-np.asarray(value), weight, out=np.zeros_like(weight), where=weight > 0))
  return guesses


@jit(static_argnames="opponent")
def _leaf_values(tree: PublicTree, agent: Sequence[Array], opponent: int) -> Sequence[Array]:
  """The opponent's values of the leaves against the agent's strategy."""
  other = tree.players[1 - opponent]
  return tree.leaves(opponent, other.leaf.pull(sequence_reach(other, agent)))


@jit(static_argnames="opponent")
def _push(
  tree: PublicTree, leaves: Sequence[Array], rows: Sequence[Array], opponent: int
) -> tuple[Sequence[Array], Array]:
  """See `Sequences.push`: a pass up the forest in which each row has a value already."""
  return sequence_values(tree.players[opponent], leaves, lambda k, _: rows[k][None])


@jit(static_argnames="player")
def _row_values(tree: PublicTree, strategies: Sequence[Sequence[Array]], player: int) -> list[Array]:
  """Counterfactual values [rows, H] of a player's infostates."""
  reach = [sequence_reach(p, s) for p, s in zip(tree.players, strategies, strict=True)]
  values = action_values(tree, player, strategies[player], reach)[0]
  return [sum_actions(s * v)[0] for s, v in zip(strategies[player], values, strict=True)]
