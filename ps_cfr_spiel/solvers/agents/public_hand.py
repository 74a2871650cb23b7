"""The public part of a hand of hold'em: the stakes, the cards on the table and the chips of all moves."""

import warnings
from fractions import Fraction
from typing import Any, NamedTuple

import pyspiel

from ps_cfr_spiel.cards.poker import betting, cards

HOLDEM, UNIVERSAL = "holdem", "universal_poker"
BLUEPRINTS = (HOLDEM, UNIVERSAL)  # games of blueprints
State = Any  # a state of `holdem`, whose class is not one of this package
Game = Any  # `holdem` or a `holdem_subgame`, likewise


class PublicHand(NamedTuple):
  """All that is public in a hand."""

  board: tuple[int, ...]  #: the public cards; those of a street ascending
  chips: tuple[int, ...]  #: see `BettingState.invested`
  street: int  #: 0 before the flop

  @classmethod
  def of(cls, state: State) -> "PublicHand":
    """That of a state of `holdem`."""
    public = state.public_state
    board = [card for street in state.board_by_street() for card in street]
    return cls(tuple(board), public.invested, public.street)

  def moves(self, rules: betting.BettingRules, before: int) -> list[tuple[betting.BettingState, int]]:
    """The moves before some street: the state, and the mover's chips afterwards."""
    moves, state = [], rules.root
    for chips in self.chips:
      while state is not None and state.player == betting.CHANCE:
        state = rules.after(state, betting.ANY_CARD)
      assert state is not None
      if state.street >= before:
        break
      moves.append((state, chips))
      action = rules.action(state, chips)
      assert action is not None
      state = rules.after(state, action)
    return moves

  def on_street(self, rules: betting.BettingRules, street: int) -> tuple[int, tuple[int, ...]]:
    """The number of moves before a street, and the chips of the moves on it."""
    start, end = (len(self.moves(rules, s)) for s in (street, street + 1))
    return start, self.chips[start:end]

  def sizes(self, rules: betting.BettingRules, street: int) -> list[tuple[int, Fraction]]:
    """The bets made on a street: how many came before each on it, and its size in pots."""
    made = [(state, n) for state, n in self.moves(rules, street + 1) if state.street == street]
    return [
      (state.num_bets, Fraction(n - max(state.spent), 2 * max(state.spent)))
      for state, n in made
      if n > max(state.spent)
    ]

  def until(self, moves: int, street: int) -> "PublicHand":
    """The same when a street began."""
    return self._replace(
      chips=self.chips[:moves], board=self.board[: cards.BOARD_SIZES[street]], street=street
    )


def stakes(game: pyspiel.Game) -> tuple[int, int, int]:
  """The chips of the small blind, the big blind and the shorter stack, of one of `BLUEPRINTS`."""
  parameters = game.get_parameters()
  blinds = parameters["blind" if game.get_type().short_name == UNIVERSAL else "blinds"]
  small, big = sorted(map(int, str(blinds).replace("/", " ").split()))
  return small, big, min(map(int, str(parameters["stack"]).split()))


def check_stakes(game: pyspiel.Game, blueprint: pyspiel.Game) -> None:
  """ValueError for a blueprint's game with other blinds, in any unit; a warning for much deeper stacks."""
  (small, big, stack), (other, larger, deeper) = stakes(game), stakes(blueprint)
  if small * larger != other * big:
    raise ValueError(
      f"blueprint must be a policy for blinds like {big}/{small}, in any unit, got one for {larger}/{other}."
    )
  depth, theirs = stack / big, deeper / larger
  if 2 * depth < theirs:
    warnings.warn(
      f"HoldemPolicy plays {depth:.3g} big blinds deep by a blueprint for {theirs:.3g}: before its searches "
      "it folds as deep stacks do, which is too much. Give a blueprint of this depth.",
      stacklevel=3,
    )
