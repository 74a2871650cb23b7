"""Observations of a game of Cheat: its turns, read from the history, and the observers."""

from collections.abc import Collection
from typing import NamedTuple

import pyspiel

from .. import base
from ..base import CHANCE, TERMINAL, join
from . import cheat_rules
from .cheat_rules import NOBODY


class Turn(NamedTuple):
  """A turn, perhaps unfinished."""

  discarder: int  #: the player who laid cards down
  claim: int  #: their number
  rank: int  #: their claimed rank
  cards: tuple[int, ...] | None  #: their true ranks, None if unseen
  passes: int = 0  #: number of players who have passed
  challenger: int = NOBODY  #: the challenger, or `NOBODY`
  taker: int = NOBODY  #: the player who took the pile, or `NOBODY`
  #: ranks of the cards that the taker took, None if unseen; () without a taker.
  pile: tuple[int, ...] | None = ()
  pile_size: int = 0  #: their number

  @property
  def challenged(self) -> bool:
    """True if the cards were turned up."""
    return self.challenger != NOBODY

  def seen_from(self, seats: Collection[int]) -> "Turn":
    """The turn as the players at `seats` together see it."""
    shown = self.challenged or self.discarder in seats
    taken = not self.challenged or self.taker in seats
    return self._replace(cards=self.cards if shown else None, pile=self.pile if taken else None)


def seen_turns(state: pyspiel.State, seats: Collection[int]) -> list[Turn]:
  """All turns so far as the players at `seats` together have seen them."""
  game = state.get_game()
  turns: list[Turn] = []
  pile: list[int] = []
  for action in state.history()[game.setup_moves :]:
    if action >= cheat_rules.FIRST_DISCARD:
      number, cards = len(turns), game.cards(action)
      discarder = (state.first + number) % game.rules.players
      pile += cards
      turns.append(Turn(discarder, len(cards), number % game.rules.ranks, cards))
    elif action == cheat_rules.PASS:
      turns[-1] = turns[-1]._replace(passes=turns[-1].passes + 1)
    else:
      turns[-1] = _challenged(turns[-1], pile, game.rules.players)
      pile = []
  return [turn.seen_from(seats) for turn in turns]


def _challenged(turn: Turn, pile: list[int], players: int) -> Turn:
  assert turn.cards is not None
  challenger = (turn.discarder + turn.passes + 1) % players
  honest = all(rank == turn.rank for rank in turn.cards)
  return turn._replace(
    challenger=challenger,
    taker=challenger if honest else turn.discarder,
    pile=tuple(sorted(pile)),
    pile_size=len(pile),
  )


def dealt_hand(state: pyspiel.State, player: int) -> tuple[int, ...]:
  """The ranks of the cards dealt to a player so far."""
  game = state.get_game()
  deals = state.history()[: game.setup_moves]
  if game.rules.first_player == cheat_rules.RANDOM_FIRST:
    deals = deals[1:]
  return tuple(sorted(deals[player :: game.rules.players]))


def line(state: pyspiel.State, seats: Collection[int]) -> str:
  """All that the players at `seats` together have seen, in order.

  Such as "p0 AA37 | p1 first; p1 1xA pass; p0 2x2(A3) cheat! A3 p0 +3(A37)": player 1 claims an ace
  and player 0 passes; player 0 lays A3, claiming two 2s, is challenged, and takes the pile of three
  cards; in brackets the cards that only the players at `seats` have seen.
  """
  turns = [_setup_text(state), *map(_turn_text, seen_turns(state, seats))]
  return join(_dealt_text(state, seats), "; ".join(turns))


def _setup_text(state: pyspiel.State) -> str:
  """The first player and, until the deal is over, the number of cards dealt."""
  chosen = state.get_game().rules
  texts = [f"p{state.first} first"] if state.first != NOBODY else []
  if state.player == CHANCE:
    texts.append(f"{sum(state.hands)} of {chosen.players * chosen.hand_size} cards dealt")
  return ", ".join(texts)


def _turn_text(turn: Turn) -> str:
  shown = f"({cheat_rules.cards_text(turn.cards)})" if turn.cards and not turn.challenged else ""
  text = f"p{turn.discarder} {turn.claim}x{cheat_rules.RANKS[turn.rank]}{shown}{' pass' * turn.passes}"
  if not turn.challenged:
    return text
  pile = f"({cheat_rules.cards_text(turn.pile)})" if turn.pile else ""
  return f"{text} cheat! {cheat_rules.cards_text(turn.cards or ())} p{turn.taker} +{turn.pile_size}{pile}"


class CheatObserver(base.Observer):
  """The view of a player or of the public; see `base.Observer`.

  There are P players, R ranks, T = max_turns turns, D = max_discard; private information is that of K = 1 or
  of all K = P players; cards are numbers of cards of each rank.
  Without perfect recall:
    hands: [K, R], cards held (private).
    hand_sizes: [P] (public, as all that follow).
    pile_size: [1].
    rank: [R], one-hot of the turn's rank; zeros at the end, as the next two.
    discarder: [P], one-hot of the player whose turn it is or will be; zeros until known.
    claim: [D], one-hot of the number of cards of the claim that is being answered, else zeros.
    to_move: [P + 2], one-hot of the player to move, chance, the end.
  With perfect recall:
    dealt: [K, R], cards dealt (private, as the next two).
    discarded: [K, T, R], own cards laid down in each turn.
    taken: [K, T, R], cards of the pile that was taken in each turn.
    cards_dealt: [1], their number (public, as all that follow).
    first: [P], one-hot of the first discarder, zeros until known.
    claims: [T, D], one-hot of the number of cards laid down in each turn.
    challenger: [T, P], one-hot of the challenger in each turn.
    turned_up: [T, R], cards turned up in each turn.
    answering: [1], 1 while the last claim is being answered.
    to_move: [P + 2], as above.
  """

  def pieces(self, game: pyspiel.Game) -> list[base.Piece]:
    players, ranks, turns = game.rules.players, game.rules.ranks, game.rules.max_turns
    most, seats = game.rules.max_discard, len(self.seats(0))
    private, public = [("hands", (seats, ranks))], [("hand_sizes", (players,)), ("pile_size", (1,))]
    if self.recall:
      private = [(name, (seats, turns, ranks)) for name in ("discarded", "taken")]
      private = [("dealt", (seats, ranks)), *private]
      public = [("cards_dealt", (1,)), ("first", (players,)), ("claims", (turns, most))]
      public += [("challenger", (turns, players)), ("turned_up", (turns, ranks)), ("answering", (1,))]
    else:
      public += [("rank", (ranks,)), ("discarder", (players,)), ("claim", (most,))]
    public.append(("to_move", (players + 2,)))
    return private * bool(seats) + public * self.public

  def fill(self, state: pyspiel.State, seats: tuple[int, ...]) -> None:
    (self._set_past if self.recall else self._set_present)(state, seats)
    if self.public:  # chance and the end stand behind the players
      self.dict["to_move"][{CHANCE: -2, TERMINAL: -1}.get(state.player, state.player)] = 1

  def _set_present(self, state: pyspiel.State, seats: tuple[int, ...]) -> None:
    for row, seat in enumerate(seats):
      self.dict["hands"][row] = list(state.hand(seat))
    if not self.public:
      return
    self.dict["hand_sizes"][:] = state.hand_sizes()
    self.dict["pile_size"][:] = sum(state.pile)
    if state.player == TERMINAL:
      return
    self.dict["rank"][state.rank] = 1
    if state.discarder != NOBODY:
      self.dict["discarder"][state.discarder] = 1
    if state.discard:
      self.dict["claim"][state.claim() - 1] = 1

  def _set_past(self, state: pyspiel.State, seats: tuple[int, ...]) -> None:
    for row, seat in enumerate(seats):
      _count(self.dict["dealt"][row], dealt_hand(state, seat))
    if self.public:
      self.dict["cards_dealt"][:] = sum(state.hands) + sum(state.pile)
      self.dict["answering"][:] = state.discard != cheat_rules.PASS
      if state.first != NOBODY:
        self.dict["first"][state.first] = 1
    for number, turn in enumerate(seen_turns(state, seats)):
      if turn.discarder in seats:
        _count(self.dict["discarded"][seats.index(turn.discarder), number], turn.cards)
      if turn.taker in seats:
        _count(self.dict["taken"][seats.index(turn.taker), number], turn.pile)
      if self.public:
        self.dict["claims"][number, turn.claim - 1] = 1
        if turn.challenged:
          self.dict["challenger"][number, turn.challenger] = 1
          _count(self.dict["turned_up"][number], turn.cards)

  def string_from(self, state: pyspiel.State, player: int) -> str:
    """The `line` if recall is perfect, else the present."""
    seats = self.seats(player)
    if self.recall:
      return line(state, seats) if self.public else _private_past(state, seats)
    hands = base.held_text(
      seats, (cheat_rules.cards_text(cheat_rules.cards_of(state.hand(seat))) for seat in seats)
    )
    return join(hands, _present(state)) if self.public else hands


def _count(into, cards) -> None:
  for rank in cards:
    into[rank] += 1


def _present(state: pyspiel.State) -> str:
  """Written as "cards 5 4 | pile 2 | rank 3 | p1 claims 2, p0 to answer", without the past."""
  sizes = " ".join(map(str, state.hand_sizes()))
  common = f"cards {sizes} | pile {sum(state.pile)}"
  if state.player == TERMINAL:
    return f"{common} | {'draw' if state.winner() == NOBODY else f'p{state.winner()} wins'}"
  if state.player == CHANCE:
    doing = "dealing" if state.first == NOBODY else f"p{state.first} first, dealing"
  elif state.discard:
    doing = f"p{state.discarder} claims {state.claim()}, p{state.player} to answer"
  else:
    doing = f"p{state.player} to discard"
  return f"{common} | rank {cheat_rules.RANKS[state.rank]} | {doing}"


def _private_past(state: pyspiel.State, seats: tuple[int, ...]) -> str:
  """Written as "p0 A37 | turn 1 -A3 | turn 1 +A34": the deal, own cards laid down, piles taken."""
  words = [_dealt_text(state, seats)]
  for number, turn in enumerate(seen_turns(state, seats)):
    if turn.discarder in seats and turn.cards:
      words.append(f"turn {number} -{cheat_rules.cards_text(turn.cards)}")
    if turn.taker in seats and turn.pile:
      words.append(f"turn {number} +{cheat_rules.cards_text(turn.pile)}")
  return " | ".join(words)


def _dealt_text(state: pyspiel.State, seats: Collection[int]) -> str:
  return base.held_text(seats, (cheat_rules.cards_text(dealt_hand(state, seat)) for seat in seats))
