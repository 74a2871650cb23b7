"""The public betting tree of no-limit hold'em for two players under a bet abstraction.

It has one betting round, a *street*, or several with a public card dealt between them. The
betting does not depend on the card, so the tree is that of the *lines* of betting.

A bet abstraction lists the bets and raises that players may make (`notation.bet_sizes`). It may differ
between the first, the second and later bets of the round, as in the sparse lookahead trees of DeepStack
(Schmid 2021, Search in Imperfect Information Games, Table 21.2), between the players and between streets.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import pyspiel

from ps_cfr_spiel.cards.notation import BetSizes, Measure, Size, parse_sizes
from ps_cfr_spiel.cards.poker.rake import NO_RAKE, Rake

FOLD = 0
CALL = 1  # a check where there is nothing to call
FIRST_BET = 2  # the smallest bet size of the abstraction; the next larger one is 3, and so on
TERMINAL = int(pyspiel.PlayerId.TERMINAL)
CHANCE = int(pyspiel.PlayerId.CHANCE)
ANY_CARD = -1  # the one "action" where a public card comes
MAX_PUBLIC_STATES = 200_000
Bets = tuple[dict[int, Size], ...]  # action -> size at the first bet, the second, ..., all later ones
Numbered = tuple[Bets, Bets]  # of player 0 and of player 1


class BettingState(NamedTuple):
  """The public information after some bets."""

  parent: int  #: Index of the public state before the last action, -1 at the root
  action: int  #: The action that led here, `ANY_CARD` after a card, -1 at the root
  label: str  #: That action in words ("Raise to 800"), "" after a card and at the root
  #: All actions so far: x check, c call, f fold, b200 bet, r800 raise to. Amounts are chips put in during
  #: this street, as in the labels. Cards, between strokes, are left open, for `str.format`: "x x | {} |
  #: b200".
  line: str
  street: int  #: Number of cards since the root
  player: int  #: 0 or 1 to act, `CHANCE` where a card comes, `TERMINAL` at the end
  ante: int  #: Chips that each player had put into the pot when the street began
  spent: tuple[int, int]  #: Chips that each player has put into the pot since the hand began
  num_bets: int  #: Number of bets and raises on this street so far
  min_raise: int  #: The least addition of a bet or raise to the amount to call, in chips
  #: Fixed utility of each player at the end, for all hands, in units: after a fold all of it, at a
  #: showdown half of the rake is lost by either; 0 before.
  fold_payoff: tuple[float, float]
  showdown_payoff: float  #: The winner's gain of a showdown, and the loser's loss, beside it; else 0
  #: Action -> index of the public state that it leads to, actions ascending; `ANY_CARD` -> index where a card
  #: comes.
  children: dict[int, int]
  #: What each action so far has left its player with in the pot, in chips, without the root's pot.
  invested: tuple[int, ...] = ()

  def __deepcopy__(self, _: object) -> "BettingState":
    return self  # only `betting_states` changes children; OpenSpiel copies a state at every step


def parse_bets(text: str, streets: int = 1) -> tuple[Numbered, ...]:
  """The bet sizes of each street and player, as `text` lists them (`notation.parse_sizes`).

  Checks do not count as bets. Bets of both players are counted together, so in `0.5;1 | 2` the first raise of
  player 0 is one of the pot. The last street given holds for all later ones. Actions number the sizes of all
  groups together, from `FIRST_BET` in ascending order, so that an action is the same size everywhere.

  Returns:
    For each street the sizes of player 0 and of player 1.

  Raises:
    ValueError: Unknown size, group without any size, or more players or streets than there are.
  """
  return numbered(parse_sizes(text), streets, text)


def numbered(sizes: BetSizes, streets: int, text: str) -> tuple[Numbered, ...]:
  """Sizes with their actions, for each of some streets; ValueError if they are for more, given as `text`."""
  if len(sizes) > streets:
    raise ValueError(
      f"bets={text!r}: sizes for {len(sizes)} streets, and the board leaves only {streets}; leave out those "
      "after the last '/'"
    )
  every = sorted({size for street in sizes for player in street for group in player for size in group})
  actions = {size: FIRST_BET + i for i, size in enumerate(every)}

  def of_player(groups: Iterable[Iterable[Size]]) -> Bets:
    return tuple({actions[size]: size for size in sorted(group)} for group in groups)

  bets = [(of_player(first), of_player(second)) for first, second in sizes]
  return tuple(bets[min(street, len(bets) - 1)] for street in range(streets))


def sizes_of(bets: Sequence[Numbered]) -> BetSizes:
  """The sizes of each street and player, without their actions; the inverse of `numbered`."""

  def of_player(groups: Bets) -> tuple[tuple[Size, ...], ...]:
    return tuple(tuple(sorted(group.values())) for group in groups)

  return tuple((of_player(first), of_player(second)) for first, second in bets)


def num_actions(bets: Sequence[Numbered]) -> int:
  """The number of distinct actions: fold, call, and every size that is ever allowed."""
  sizes = (action for street in bets for player in street for group in player for action in group)
  return 1 + max(sizes, default=CALL)


def num_moves(line: str) -> int:
  """The number of players' actions in a line."""
  return sum(word not in ("|", "{}") for word in line.split())


class BettingRules(NamedTuple):
  """No-limit betting from a root on, a street or several with public cards between them.

  On every street but perhaps the first player 0 acts first. A player who faces a bet folds, calls or raises;
  else checks or bets. A fold ends the game; a call of a bet, or passive actions of both players, end the
  street. Then a card comes, or after the last street the showdown. Once all chips are in the pot cards come
  one after the other, and no player acts, except on the first street, where players without chips check. The
  sizes of bets and raises follow no-limit hold'em:

  - A size f calls first and then adds f times the pot after that call, rounded to whole
    chips, half up. A multiple m of a bet b raises to m b. A number of chips counts those that the player
    has put in on this street then. A geometric size over n streets adds the share of the pot that, called,
    leads to all-in if it is bet on the n - 1 streets after this one too. All-in adds everything that is left.
  - A bet adds at least `least` chips, a raise at least as much as the bet or raise before it on this
    street; only all-in may add less.
  - A size that comes to less than that or to more than the stack is left out; one that is capped comes to
    no more than the stack. Of sizes that come to the same number of chips only the smallest is kept.
  """

  #: Sizes of each street and player, as `parse_bets` returns them; or the number of streets, for bets of any
  #: whole number of chips, where the number of an action is the chips that its player has spent after it.
  bets: Sequence[Numbered] | int
  stack: int  #: Chips that each player began the hand with, those in the pot included
  unit: int  #: Chips in the unit of labels, lines and utilities: with 100, a bet of 150 chips is "Bet 1.5"
  start: tuple[int, int]  #: Chips that each player has in the pot at the root
  ante: int  #: Those of them that belong to no bet; the others are blinds
  opener: int = 0  #: The player who acts first on the first street
  least: int = 1  #: The least bet that opens a street, and the least first raise over blinds, in chips
  rake: Rake = NO_RAKE  #: The share taken from the pot

  @property
  def streets(self) -> int:
    """The number of streets."""
    return self.bets if isinstance(self.bets, int) else len(self.bets)

  @property
  def root(self) -> BettingState:
    """The public state before the first action."""
    return BettingState(
      -1, -1, "", "", 0, self.opener, self.ante, self.start, 0, self.least, (0.0, 0.0), 0.0, {}
    )

  def moves(self, state: BettingState) -> dict[int, int]:
    """Each legal action of the player to act: the chips that the player has spent after it."""
    return {**self._passive(state), **self._raises(state, max(state.spent))}

  def after(self, state: BettingState, action: int, index: int = -1) -> BettingState | None:
    """The public state after an action, None if it is illegal; the state before has the index `index`."""
    if state.player == CHANCE:
      return self._after_card(state, index) if action == ANY_CARD else None
    chips = self._passive(state).get(action)
    if chips is None and isinstance(self.bets, int):  # quicker than a list of all chips
      chips = action if action in self._any(state) else None
    elif chips is None:
      chips = self._raises(state, max(state.spent)).get(action)
    return None if chips is None else self._after(state, action, chips, index)

  def action(self, state: BettingState, chips: int) -> int | None:
    """The action after which the player to act has spent some number of chips, or None."""
    if isinstance(self.bets, int) and chips in self._any(state):
      return chips
    moves = self._passive(state) if isinstance(self.bets, int) else self.moves(state)
    return next((action for action, spent in moves.items() if spent == chips), None)

  def nearest_bet(self, state: BettingState, chips: int) -> int:
    """The bet or raise nearest to a number of chips, the smaller one of two, or a call without bets."""
    exact = self.action(state, chips)
    if exact is not None and exact > CALL:
      return exact
    bets = [(n, a) for a, n in self.moves(state).items() if a > CALL]
    return min(bets, key=lambda bet: (abs(bet[0] - chips), bet))[1] if bets else CALL

  def states(self, most: int) -> tuple[BettingState, ...]:
    """All lines from the root on, depth first, children by ascending action.

    ValueError for more than `most`.
    """
    states: list[BettingState] = []
    pending = [self.root]
    while pending:
      state, index = pending.pop(), len(states)
      if index == most:
        raise ValueError(
          f"more than {most:,} public states; allow fewer bet sizes, above all for later bets (after ';')"
        )
      states.append(state)
      if state.parent >= 0:
        states[state.parent].children[state.action] = index
      if state.player != TERMINAL:
        pending.extend(reversed(list(self.successors(state, index))))
    return tuple(states)

  def successors(self, state: BettingState, index: int = -1) -> Iterator[BettingState]:
    """Yield the public states after each action at a state that is not terminal, actions ascending."""
    if state.player == CHANCE:
      yield self._after_card(state, index)
    else:
      for action, chips in self.moves(state).items():
        yield self._after(state, action, chips, index)

  def most_moves(self) -> int:
    """An upper bound of the players' actions: two a street that bet nothing, and the smallest raises."""
    passive = 2 * self.streets
    share: Fraction | float = 0 if isinstance(self.bets, int) else math.inf
    if not isinstance(self.bets, int):
      sizes = [
        size for street in self.bets for groups in street for group in groups for size in group.values()
      ]
      share = min((0 if size.measure else size.amount for size in sizes), default=share)
      if not sizes:
        return passive
    spent, raises = max(self.start), 0
    while spent < self.stack:
      spent = self.stack if share == math.inf else spent + max(self.least, int(2 * share * spent))
      raises += 1
    return passive + raises

  def _after(self, state: BettingState, action: int, chips: int, index: int) -> BettingState:
    player, mine, to_call = state.player, state.spent[state.player], max(state.spent)
    amount = amount_text(chips - state.ante, self.unit)
    if action == FOLD:
      label, code = "Fold", "f"
    elif action == CALL:
      label, code = ("Call", "c") if mine < to_call else ("Check", "x")
    else:
      verb, letter = ("Bet", "b") if to_call == state.ante else ("Raise to", "r")
      label, code = f"{'All-in' if chips == self.stack else verb} {amount}", f"{letter}{amount}"
    then = state._replace(
      parent=index,
      action=action,
      label=label,
      line=f"{state.line}{' | ' if state.line.endswith('{}') else ' '}{code}".lstrip(),
      player=1 - player,
      spent=(chips, state.spent[1]) if player == 0 else (state.spent[0], chips),
      children={},
      invested=(*state.invested, chips - self.ante),
    )
    if action == FOLD:
      lost = mine / self.unit
      won = lost - self.rake.of(state.street, mine) / self.unit
      return then._replace(player=TERMINAL, fold_payoff=(won, -lost) if player == 1 else (-lost, won))
    if action != CALL:
      return then._replace(num_bets=state.num_bets + 1, min_raise=chips - to_call)
    opens = player == (0 if state.street else self.opener)
    return then if opens and not state.num_bets else self._closed(then)

  def _closed(self, state: BettingState) -> BettingState:
    """The end of a street without a fold: a card comes, or the showdown."""
    if state.street < self.streets - 1:
      return state._replace(player=CHANCE)
    lost = 0.0 - self.rake.of(state.street, state.spent[0]) / 2 / self.unit  # by either, for all hands
    won = state.spent[0] / self.unit + lost
    return state._replace(player=TERMINAL, fold_payoff=(lost, lost), showdown_payoff=won)

  def _after_card(self, state: BettingState, index: int) -> BettingState:
    """The public state after a card: the next street begins, or all chips are in and it is over already."""
    spent = state.spent[0]
    begun = state._replace(
      parent=index,
      action=ANY_CARD,
      label="",
      line=f"{state.line} | {{}}",
      street=state.street + 1,
      player=0,
      ante=spent,
      num_bets=0,
      min_raise=self.least,
      children={},
    )
    return self._closed(begun) if spent == self.stack else begun

  def _passive(self, state: BettingState) -> dict[int, int]:
    """A fold, where there is a bet to answer, and a check or call."""
    mine, to_call = state.spent[state.player], max(state.spent)
    return {FOLD: mine, CALL: to_call} if mine < to_call else {CALL: to_call}

  def _any(self, state: BettingState) -> range:
    """All chips that a bet may come to, where it may be any number; these are its actions too."""
    to_call = max(state.spent)
    fewest = min(to_call + state.min_raise, self.stack)
    return range(fewest, self.stack + 1) if to_call < self.stack else range(0)

  def _raises(self, state: BettingState, to_call: int) -> Mapping[int, int]:
    """The bets and raises allowed: action -> chips that the bettor will have spent."""
    if isinstance(self.bets, int):
      return {chips: chips for chips in self._any(state)}
    chips_of: dict[int, int] = {}
    sizes = self.bets[state.street][state.player]
    for action, size in sizes[min(state.num_bets, len(sizes) - 1)].items():
      chips = self.chips(state, to_call, size)
      if chips is not None and chips not in chips_of.values():
        chips_of[action] = chips
    return chips_of

  def chips(self, state: BettingState, to_call: int, size: Size) -> int | None:
    """Chips that the bettor will have spent after a bet or raise of a size; None where it is left out."""
    chips = self.stack
    if isinstance(size.amount, Fraction):
      base, of = {
        Measure.POTS: (to_call, 2 * to_call),
        Measure.BETS: (state.ante, to_call - state.ante),
        Measure.CHIPS: (state.ante, self.unit),
        Measure.STREETS: (to_call, 0),
      }[size.measure]
      num, den = size.amount.as_integer_ratio()
      chips = base + (2 * num * of + den) // (2 * den)  # exact, half up
      if size.measure == Measure.STREETS:
        streets = int(size.amount) or self.streets - state.street
        chips = math.floor(to_call * (self.stack / to_call) ** (1 / streets) + 0.5)
      elif not of:  # no bet that a multiple could answer
        return None
    chips = min(chips, self.stack) if size.capped else chips
    legal = chips - to_call >= state.min_raise or chips == self.stack > to_call
    return chips if legal and chips <= self.stack else None


def betting_states(
  pot: int, stack: int, bets: Sequence[Numbered], unit: int = 1, rake: Rake = NO_RAKE
) -> tuple[BettingState, ...]:
  """All lines of betting (`BettingRules`) from a pot on, depth first, children by ascending action.

  Half of `pot`, in chips, is from each player. ValueError if `unit` is less than 1, `pot` is not positive and
  even, `stack` is less than half of it, or there are more than `MAX_PUBLIC_STATES` public states.
  """
  if unit < 1:
    raise ValueError(f"unit={unit}: must be at least 1, the chips in a printed unit")
  if pot <= 0 or pot % 2:
    raise ValueError(f"pot={pot}: must be a positive even number, half of it from each player")
  if 2 * stack < pot:
    raise ValueError(
      f"stack={stack}: must be at least {pot // 2}, half of the pot; it counts the chips that each "
      "player began the hand with, those in the pot included"
    )
  ante = pot // 2
  try:
    return BettingRules(bets, stack, unit, (ante, ante), ante, rake=rake).states(MAX_PUBLIC_STATES)
  except ValueError as error:
    raise ValueError(f"pot={pot}, stack={stack}: {error}") from None


def left_out(states: Sequence[BettingState], rules: BettingRules) -> list[Size]:
  """The sizes that come to a legal bet nowhere among some public states, ascending."""
  if isinstance(rules.bets, int):
    return []
  players = [
    (number, player, bets) for number, both in enumerate(rules.bets) for player, bets in enumerate(both)
  ]
  offered = {state.action for state in states}
  never = {size for _, _, bets in players for group in bets for a, size in group.items() if a not in offered}
  for street, player, bets in players if never else ():  # where another size comes to the same chips they fit
    for state in states:
      if never and (state.street, state.player) == (street, player):
        group = never & {*bets[min(state.num_bets, len(bets) - 1)].values()}
        never -= {size for size in group if rules.chips(state, max(state.spent), size) is not None}
  return sorted(never)


def amount_text(chips: int, unit: int) -> str:
  """Chips in units, as a decimal number: 150 of 100 as 1.5."""
  return str(chips) if unit == 1 else f"{chips / unit:.10f}".rstrip("0").rstrip(".")


def sizes_in_pots(chips: Mapping[int, int], called: int) -> dict[int, float]:
  """The addition of each action over the pot after a call; `chips` has those that its player has then spent.

  A fold is left out, and a call is 0. `called` are the chips that each player has in the pot after it.
  """
  return {action: (n - called) / (2 * called) for action, n in chips.items() if action != FOLD}
