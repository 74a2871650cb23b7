"""A policy that is changed before it is played: one wrapper, and the contract of the changes.

`PostProcessing` rounds a policy, `Translation` plays it with bets of other sizes. Both take the answers for
one hand, and in hold'em on those for all 1,326 hands at once.
"""

import abc
import collections
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel.arguments import check_instance, declared
from ps_cfr_spiel.cards.poker import cards
from ps_cfr_spiel.policy.convert import OpenSpielPolicy, answer_of, check_policy_of
from ps_cfr_spiel.policy.hand_states import HOLE_CARDS, HandStates, dealt_again, public_cards
from ps_cfr_spiel.policy.state_answers import acting_player

KEPT = 64  # answers for all hands
KEPT_BOARDS = 16  # answers for all hands on some boards, up to 50 times as large

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
#: A probability, or float64[1326], that of each hand of `cards.ALL_HANDS`; or [n, 1326], for n boards.
Chance = float | np.ndarray
Answer = Mapping[int, Chance]  # by action


class Recent(collections.OrderedDict[Key, Value], Generic[Key, Value]):
  """The last results, by key; of more than `most` those that were asked for longest ago go."""

  def __init__(self, most: int):
    super().__init__()
    self._most = most

  def once(self, key: Key, compute: Callable[[], Value]) -> Value:
    """A kept result, or that of `compute`, which may ask for others."""
    if key not in self:
      self[key] = compute()
      while len(self) > self._most:
        self.popitem(last=False)
    self.move_to_end(key)
    return self[key]


class Wrapped(NamedTuple):
  """The policy that is changed, as it is asked."""

  game: pyspiel.Game  #: its own game
  ask: Callable[[pyspiel.State, int], Answer]  #: its answer at a state of that game, to the player there
  #: results of a transformation for the last questions by this `ask`, by its own keys; None to keep none.
  kept: Recent[tuple[Hashable, ...], Any] | None = None


class Transformation(abc.ABC):
  """A change of policies before they are played."""

  @abc.abstractmethod
  def changed(self, wrapped: Wrapped, state: pyspiel.State, player: int) -> Answer:
    """The changed answer at a state of the game that is played; legal actions may be missing.

    Chances of `wrapped` are numbers, or all arrays, and so are the result's. ValueError for wrong answers.
    """

  def check(self, game: pyspiel.Game, policy: OpenSpielPolicy) -> None:
    """TypeError or ValueError if the result would not be one of the game; by default for that of another."""
    check_policy_of(game, policy)


class WrappedPolicy(openspiel_policy.Policy):
  """Another policy, changed at each state that it is asked about; it has no strategy of its own."""

  def __init__(self, game: pyspiel.Game, policy: OpenSpielPolicy, how: Transformation):
    """Change a policy; nothing is asked yet.

    Args:
      game: the game that is played.
      policy: any OpenSpiel policy that `how` can change.
      how: a `PostProcessing` or a `Translation`.

    TypeError or ValueError for another argument.
    """
    check_instance("how", how, Transformation)
    how.check(game, policy)
    super().__init__(game, [0, 1])
    self.policy = policy  #: before the change
    self.how = how  #: the change
    self._given = game if isinstance(policy, pyspiel.Policy) else policy.game or game
    self._known = Recent[tuple[Hashable, ...], Answer](KEPT)  # places of a hand are asked at each decision
    self._on_boards = Recent[tuple[Hashable, ...], Answer](KEPT_BOARDS)
    self._wrapped = Recent[tuple[int, ...], Wrapped](2)  # for all hands, and on the last boards

  def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
    """Probability of every legal action at a state; errors as of the policy itself and of the change."""
    player = acting_player(state, player_id)
    ask = Wrapped(self._given, lambda at, i: answer_of(self.policy, at, i))
    answer = self.how.changed(ask, state, player)
    return {**dict.fromkeys(state.legal_actions(player), 0.0), **{a: float(p) for a, p in answer.items()}}

  def for_hands_at(self, state: pyspiel.State) -> dict[int, np.ndarray]:
    """See `for_hands`."""
    return self._for_hands(state, self._ask_for_hands, (), KEPT)

  def for_boards_at(self, state: pyspiel.State, places: Sequence[int]) -> dict[int, np.ndarray]:
    """See `for_boards`."""
    came = len(public_cards(state))

    def ask(at: pyspiel.State, player: int) -> Answer:
      if len(public_cards(at)) < came:  # it is the same on all
        return self._ask_for_hands(at, player)

      return self._on_boards.once((player, *places, _public(at)), lambda: for_boards(self.policy, at, places))

    answer = self._for_hands(state, ask, (came, *places), KEPT_BOARDS)
    shape = len(places), len(cards.ALL_HANDS)
    return {action: np.broadcast_to(chances, shape) for action, chances in answer.items()}

  def _for_hands(
    self, state: pyspiel.State, ask: Callable[[pyspiel.State, int], Answer], asked: tuple[int, ...], most: int
  ) -> dict[int, np.ndarray]:
    """The changed answer; `asked` stands for `ask`, which `most` results are kept for."""
    wrapped = self._wrapped.once(asked, lambda: Wrapped(self._given, ask, Recent(most)))
    answer = self.how.changed(wrapped, state, state.current_player())
    return {action: np.asarray(chances) for action, chances in answer.items()}

  def _ask_for_hands(self, state: pyspiel.State, player: int) -> Answer:
    return self._known.once((player, _public(state)), lambda: for_hands(self.policy, state))


def _public(state: pyspiel.State) -> tuple[int, ...]:
  """The actions of a hand after the deal of hole cards."""
  return tuple(state.history())[HOLE_CARDS:]


def for_hands(
  policy: OpenSpielPolicy,
  state: pyspiel.State,
  hands: np.ndarray | None = None,
  states: HandStates | None = None,
) -> Mapping[int, np.ndarray]:
  """For each action that may be played float64[1326]: a policy of all hands of the player to move.

  The state is one of `holdem`, or of another hold'em with a whole deck; the cards in both hands do not
  matter, and hands with a card of the board, or outside the deck, have any probabilities. A policy whose own
  class has a method `for_hands_at` answers at once, unless that returns None. Another is asked hand by hand:
  only for `hands`, bool[1326], if given, and at `states` that move on from question to question.
  """
  at_once = declared(policy, "for_hands_at")
  if at_once is not None and (answer := at_once(state)) is not None:
    return answer
  legal, by_action = state.legal_actions(), dict[int, np.ndarray]()
  if type(policy) is openspiel_policy.UniformRandomPolicy:
    return dict.fromkeys(legal, np.full(len(cards.ALL_HANDS), 1 / len(legal)))
  player = state.current_player()
  for h, at in (HandStates() if states is None else states).at(state, hands).items():
    for action, chance in answer_of(policy, at, player).items():
      if chance:
        by_action.setdefault(action, np.zeros(len(cards.ALL_HANDS)))[h] = chance
  return by_action


def for_boards(
  policy: OpenSpielPolicy, state: pyspiel.State, places: Sequence[int]
) -> Mapping[int, np.ndarray]:
  """For each action float64[n, 1326]: the answers for all hands on n boards; see `for_hands`.

  They differ in the last public card, which is one of `places`, chance's actions, on each. A policy whose own
  class has a method `for_boards_at` answers at once, unless that returns None.
  """
  at_once = declared(policy, "for_boards_at")
  if at_once is not None and (answer := at_once(state, places)) is not None:
    return answer
  board = public_cards(state)[:-1]
  answers = [for_hands(policy, dealt_again(state, [*board, place])) for place in places]
  none, actions = np.zeros(len(cards.ALL_HANDS)), sorted({a for answer in answers for a in answer})
  return {action: np.array([answer.get(action, none) for answer in answers]) for action in actions}


def answers_at_once(policy: OpenSpielPolicy) -> bool:
  """Whether `for_hands` need not ask a policy hand by hand."""
  inner = policy.policy if isinstance(policy, WrappedPolicy) else policy
  return type(inner) is openspiel_policy.UniformRandomPolicy or declared(inner, "for_hands_at") is not None
