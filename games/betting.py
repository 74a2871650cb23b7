"""The public betting tree of one no-limit round for two players under a bet abstraction.

A bet abstraction names the bets and raises a player may make, as fractions of the pot and all-in.
It may differ between the first, the second and later bets of the round, as the sparse lookahead
trees of DeepStack do (Schmid 2021, Table 21.2).
"""

import math
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import pyspiel

FOLD = 0
CALL = 1  # a check, where there is nothing to call
FIRST_BET = 2  # the smallest bet size that the abstraction names; the next one is 3, and so on
ALL_IN = math.inf

Size = Fraction | float  # a fraction of the pot, or ALL_IN
Sizes = tuple[frozenset[Size], ...]  # of the first bet, the second, ...; the last one repeats


class PublicState(NamedTuple):
  """What both players know after some bets.

  Attributes:
    parent: Index of the public state before the last action, -1 at the root.
    action: The action that led here, -1 at the root.
    label: That action in words ("Raise to 800"), "" at the root.
    line: All actions so far: x check, c call, f fold, b200 bet, r800 raise to; amounts are chips
      put in during this round, as in the labels.
    player: 0 or 1 to act, `pyspiel.PlayerId.TERMINAL` at the end.
    spent: Chips that each player put into the pot since the hand began.
    bets: Number of bets and raises so far.
    last_raise: Chips that the last bet or raise added to what there was to call.
    constant: Utility of player 0 after a fold, 0 elsewhere.
    stake: What player 0 wins or loses at a showdown, 0 elsewhere.
    children: Action -> index of the public state it leads to, actions ascending.
  """

  parent: int
  action: int
  label: str
  line: str
  player: int
  spent: tuple[int, int]
  bets: int
  last_raise: int
  constant: float
  stake: float
  children: dict[int, int]


def parse_bets(text: str) -> Sizes:
  """Returns the bet sizes of the first, second, ... bet; the last entry holds for all later ones.

  `fcpa` (fold, call, pot, all-in) is short for `1 a`.

  Raises:
    ValueError: A size that is neither a positive decimal number nor `a`, or no size at all.
  """
  if re.fullmatch(r"\s*[0-9.]+\s*", text):
    raise ValueError(
      f"bets={text!r}: OpenSpiel keeps a lone number as a number, not as text; "
      f"write it twice, {f'{text.strip()};{text.strip()}'!r}"
    )
  groups = [group.split() for group in ("1 a" if text == "fcpa" else text).split(";")]
  if not all(groups):
    raise ValueError(f"bets={text!r}: no bet size given for bet {groups.index([]) + 1}; {_SIZES}")
  return tuple(frozenset(_parse_size(token, text) for token in group) for group in groups)


_SIZES = (
  "allowed are 'fcpa', or fractions of the pot as 0.5 and 'a' for all-in, separated by blanks, "
  "with ';' between the sizes of the first, second and later bets"
)


def _parse_size(token: str, text: str) -> Size:
  if token == "a":
    return ALL_IN
  if re.fullmatch(r"[0-9]*\.?[0-9]+", token) and Fraction(token) > 0:
    return Fraction(token)
  raise ValueError(f"bets={text!r}: unknown bet size {token!r}; {_SIZES}")


def num_actions(sizes: Sizes) -> int:
  """Returns the number of actions: fold, call, and one for every bet size that is ever allowed."""
  return FIRST_BET + len(frozenset.union(*sizes))


def public_tree(pot: int, stack: int, sizes: Sizes) -> tuple[PublicState, ...]:
  """Returns all public states of the round, depth first, children by ascending action.

  Player 0 acts first. Rules:
  - One may check, or fold and call where there is a bet; the round ends with a fold, a call, or two
    checks.
  - A bet of fraction f calls first and then adds f times the pot after that call, rounded to whole
    chips, half up.
  - A bet is at least one chip, a raise adds at least as much as the bet or raise before it; only
    all-in may add less. A bet that would be smaller than that or larger than the stack is left
    out, and of sizes that come to the same chips only the smallest stays.
  - `ALL_IN` bets the whole stack.

  Actions are `FOLD`, `CALL` and, in ascending order from `FIRST_BET`, all sizes that `sizes` names
  anywhere: an action stands for the same size in every public state.

  Args:
    pot: Chips in the pot, half from each player.
    stack: Chips each player began the hand with, at least half the pot.
    sizes: Bet sizes, as `parse_bets` returns them.
  """
  spent = (pot // 2, pot // 2)
  states: list[PublicState] = []
  pending = [PublicState(-1, -1, "", "", 0, spent, 0, 1, 0.0, 0.0, {})]
  while pending:
    state = pending.pop()
    index = len(states)
    states.append(state)
    if state.parent >= 0:
      states[state.parent].children[state.action] = index
    if state.player != pyspiel.PlayerId.TERMINAL:
      pending.extend(reversed(list(_successors(state, index, pot // 2, stack, sizes))))
  return tuple(states)


def _successors(state: PublicState, index: int, ante: int, stack: int, sizes: Sizes) -> Iterator[PublicState]:
  """Yields the public states after each action at `state`, whose index is `index`."""
  player, opponent = state.player, 1 - state.player
  to_call = state.spent[opponent]

  def after(action: int, label: str, code: str, chips: int, **changes) -> PublicState:
    spent = (chips, to_call) if player == 0 else (to_call, chips)
    line = f"{state.line} {code}".lstrip()
    changes = {"player": opponent, "spent": spent, **changes}
    return state._replace(parent=index, action=action, label=label, line=line, children={}, **changes)

  end = {"player": pyspiel.PlayerId.TERMINAL}
  facing_bet = state.spent[player] < to_call
  if facing_bet:
    lost = state.spent[player]
    yield after(FOLD, "Fold", "f", lost, constant=float(lost if player else -lost), **end)
    yield after(CALL, "Call", "c", to_call, stake=float(to_call), **end)
  else:
    closing = {"stake": float(to_call), **end} if state.line else {}
    yield after(CALL, "Check", "x", to_call, **closing)
  for action, chips in _bets(state, to_call, stack, sizes).items():
    verb, code = ("Raise to", "r") if facing_bet else ("Bet", "b")
    verb = "All-in" if chips == stack else verb
    raised = {"bets": state.bets + 1, "last_raise": chips - to_call}
    yield after(action, f"{verb} {chips - ante}", f"{code}{chips - ante}", chips, **raised)


def _bets(state: PublicState, to_call: int, stack: int, sizes: Sizes) -> dict[int, int]:
  """Returns action -> chips the bettor will have spent, for the bets and raises allowed."""
  actions = {size: FIRST_BET + i for i, size in enumerate(sorted(frozenset.union(*sizes)))}
  chips_of: dict[int, int] = {}
  for size in sorted(sizes[min(state.bets, len(sizes) - 1)]):
    # After the call both players have spent `to_call`. Fractions round exactly.
    chips = stack if size == ALL_IN else to_call + math.floor(2 * to_call * size + Fraction(1, 2))
    legal = chips >= to_call + state.last_raise or chips == stack > to_call
    if legal and chips <= stack and chips not in chips_of.values():
      chips_of[actions[size]] = chips
  return chips_of
