"""Post-processing: a strategy is rounded before play, because small probabilities are mostly noise.

The family of Brown, Ganzfried and Sandholm 2015 (Section 4). Thresholding and purification (Ganzfried,
Sandholm and Waugh 2012) are members. Rounding usually makes a strategy easier to exploit; use it against
opponents who do not exploit.
"""

import dataclasses
import re
from collections.abc import Callable, Hashable, Sequence
from typing import overload

import numpy as np
import pyspiel

from ps_cfr_spiel.arguments import check_flag, check_number, declared
from ps_cfr_spiel.cards.notation import move_name
from ps_cfr_spiel.loading import sequential
from ps_cfr_spiel.policy.convert import OpenSpielPolicy, as_distribution, check_policy_of
from ps_cfr_spiel.policy.tree_policy import TreePolicy
from ps_cfr_spiel.policy.wrapped import Chance, Transformation, Wrapped, WrappedPolicy

Classes = Callable[[pyspiel.State, int], Hashable]  # (a state, a legal action) -> the action's class


def round_off(probabilities: np.ndarray, least: float) -> np.ndarray:
  """Set probabilities below `least` to zero, and scale the others to the same sum.

  The columns of [N, ...] are not all zero, and `least` is a share of their sums. The largest always stay;
  with `least=1` only they do, with equal shares: purification.
  """
  total = probabilities.sum(0)
  largest = probabilities.max(0)
  kept = probabilities >= np.minimum(least * total, largest) * (1 - 1e-9)  # ties up to rounding
  # Purified probabilities are equal; division by their own sum would make them so only up to rounding.
  rounded = np.where(kept, largest if least >= 1 else probabilities, 0.0)
  return rounded * (total / rounded.sum(0))


def betting_class(state: pyspiel.State, action: int) -> str:
  """The class of a move in poker: "fold", "call" (a check too) or "bet" (a raise and all-in too).

  ValueError if the game's name of the action is unknown.
  """
  name = move_name(state, action)
  words = {"fold": "fold", **dict.fromkeys(("call", "check"), "call")}
  words |= dict.fromkeys(("bet", "raise", "allin", "halfpot"), "bet")
  match = re.match(r"[a-z]+", name.lower().replace("-", ""))  # AllIn in universal_poker, All-in 900 here
  if not match or match[0] not in words:
    known = ", ".join(words)
    raise ValueError(f"Unknown poker move {name!r} (known: {known}); pass classes= for other games.")
  return words[match[0]]


@dataclasses.dataclass(frozen=True)
class PostProcessing(Transformation):
  """The rounding of a strategy at an infostate; the defaults change nothing.

  Actions belong to classes. If the conservative class has more than `caution`, it is played. Otherwise the
  classes are rounded off (`round_off`) at `between`, and then the actions inside each class at `within`. So a
  class of many similar actions, such as bet sizes, does not lose against a single action.
  """

  #: minimum probability of an action, as a share of its class; 1 keeps the most probable alone.
  within: float = 0.0
  between: float = 0.0  #: minimum probability of a class; 1 keeps the most probable alone
  classes: Classes | None = None  #: (state, action) -> class; None puts all into one
  conservative: Hashable = None  #: a class, or None for none
  caution: float = 1.0  #: the probability of the conservative class above which it is played
  #: whether a player's first action is rounded, too. In the paper's experiments purification left it alone
  #: (footnote 6).
  first_action: bool = True

  def __post_init__(self):
    for name in ("within", "between", "caution"):
      check_number(name, getattr(self, name), 0, 1)
    check_flag("first_action", self.first_action)
    if self.classes is not None and not callable(self.classes):
      raise ValueError(f"classes must be a function of a state and an action, got {self.classes!r}.")

  def __call__(self, probabilities: np.ndarray, classes: Sequence[Hashable]) -> np.ndarray:
    """Round a strategy [A, ...] at one or more infostates with the same actions, of these classes."""
    kinds = list(dict.fromkeys(classes))
    members = [np.flatnonzero([kind == other for other in classes]) for kind in kinds]
    mass = np.stack([probabilities[actions].sum(0) for actions in members])  # [K, ...]
    share = round_off(mass, self.between)
    if self.conservative in kinds:
      one = kinds.index(self.conservative)
      only = np.zeros_like(share)
      only[one] = 1
      share = np.where(mass[one] > self.caution, only, share)
    result = np.zeros_like(probabilities)
    for kind, actions in enumerate(members):
      played = mass[kind] > 0  # a class that is never played stays unchanged
      inside = round_off(np.where(played, probabilities[actions], 1.0), self.within)
      result[actions] = np.where(played, share[kind] * inside / inside.sum(0), 0.0)
    return result

  def changed(self, wrapped: Wrapped, state: pyspiel.State, player: int) -> dict[int, Chance]:
    """See `Transformation`: the strategy rounded; hands that have none stay without."""
    answer, actions = wrapped.ask(state, player), state.legal_actions(player)
    shape = np.shape(next(iter(answer.values()), 0.0))
    if not shape:
      return dict(
        zip(actions, self.at(state, player, as_distribution(answer, actions, f"{str(state)!r}")), strict=True)
      )
    table = np.stack([np.broadcast_to(answer.get(action, 0.0), shape) for action in actions])
    held = table.sum(0) > 0
    table[:, held] = self.at(state, player, table[:, held])
    return dict(zip(actions, table, strict=True))

  def at(self, state: pyspiel.State, player: int, probabilities: np.ndarray) -> np.ndarray:
    """Round the acting player's probabilities, [A, ...], of the legal actions at a state."""
    if not self.first_action and not any(move.player == player for move in state.full_history()):
      return probabilities
    actions = state.legal_actions(player)
    return self(probabilities, [self.classes(state, a) if self.classes else None for a in actions])


def thresholding(least: float = 0.15) -> PostProcessing:
  """Drop actions with a probability below `least` (Ganzfried, Sandholm and Waugh 2012)."""
  return PostProcessing(within=least)


def purification() -> PostProcessing:
  """Play only the most probable action, ties with equal probabilities (2012, too)."""
  return PostProcessing(within=1.0)


def cautious_purification(caution: float = 0.2, classes: Classes = betting_class) -> PostProcessing:
  """The proposal of Brown, Ganzfried and Sandholm 2015 for poker.

  Fold if fold has more than `caution`; else play the most probable of fold, call and bet, and of the bets the
  most probable one.
  """
  return PostProcessing(1.0, 1.0, classes, conservative="fold", caution=caution)


NAMES = {"threshold": thresholding, "purify": purification, "cautious": cautious_purification}


def parse_post_processing(text: str) -> PostProcessing:
  """Read "purify", "threshold", "threshold=0.1", "cautious" or "cautious=0.3"; ValueError for others."""
  name, equals, number = text.strip().partition("=")
  try:
    return NAMES[name](*([float(number)] if equals else []))
  except (KeyError, TypeError, ValueError) as error:
    detail = f": {str(error).rstrip('.')}" if str(error).startswith(("within", "caution")) else ""
    raise ValueError(
      f"Unknown post-processing {text!r}{detail}; allowed are purify, threshold, cautious, and with another "
      f"probability threshold=0.1 and cautious=0.3."
    ) from error


@overload
def post_process(game: pyspiel.Game, policy: TreePolicy, how: PostProcessing | str) -> TreePolicy: ...
@overload
def post_process(game: pyspiel.Game, policy: OpenSpielPolicy, how: PostProcessing | str) -> WrappedPolicy: ...
def post_process(
  game: pyspiel.Game, policy: OpenSpielPolicy, how: PostProcessing | str
) -> TreePolicy | WrappedPolicy:
  """Round a policy before it is played (Brown, Ganzfried and Sandholm 2015, Section 4).

  `how` is a `PostProcessing`, or its name: "purify", "threshold=0.15", "cautious=0.2" (in poker). The result
  is a `TreePolicy` for a `TreePolicy`, with files and views; else a `WrappedPolicy`. ValueError if
  `how` is unknown, the policy is for another game, or the game's actions have no classes; TypeError unless
  `game` is a game and `policy` a policy.
  """
  how = parse_post_processing(how) if isinstance(how, str) else how
  if not isinstance(how, PostProcessing):
    raise ValueError(f"how must be a PostProcessing or its name, got {how!r}.")
  game = sequential(game)
  check_policy_of(game, policy)
  if not (isinstance(policy, TreePolicy) and declared(policy, "tabulated")):
    return WrappedPolicy(game, policy, how)
  strategies = tuple(tuple(block.copy() for block in blocks) for blocks in policy.strategies)
  for decision in policy.labels.decisions:
    types = [h for h, name in enumerate(decision.infostates) if name is not None]
    table = strategies[decision.player][decision.block][:, decision.row]
    if types:  # of a row they have the same actions, and all or none acted before: one state stands for all
      state = policy.labels.state(decision, types[0])
      table[:, types] = how.at(state, decision.player, table[:, types])
  info = {**policy.info, "policy": f"rounded {policy.info.get('policy', 'average')}"}
  return TreePolicy(policy.game, policy.labels, strategies, info)
