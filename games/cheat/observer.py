"""Observations of a game of Cheat: its turns, read from the history, and the observers."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

import pyspiel

from .. import observing
from . import rules
from .rules import NOBODY

_CHANCE, _TERMINAL = int(pyspiel.PlayerId.CHANCE), int(pyspiel.PlayerId.TERMINAL)


class Turn(NamedTuple):
  """A turn, perhaps unfinished.

  Attributes:
    discarder: The player who laid cards down.
    claim: Their number.
    rank: Their claimed rank.
    cards: Their true ranks, None if unseen.
    passes: Number of players who have passed.
    challenger: The challenger, or `NOBODY`.
    taker: The player who took the pile, or `NOBODY`.
    pile: Ranks of the cards that the taker took, None if unseen; () without a taker.
    pile_size: Their number.
  """

  discarder: int
  claim: int
  rank: int
  cards: tuple[int, ...] | None
  passes: int = 0
  challenger: int = NOBODY
  taker: int = NOBODY
  pile: tuple[int, ...] | None = ()
  pile_size: int = 0

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
    if action >= rules.FIRST_DISCARD:
      number, cards = len(turns), game.cards(action)
      discarder = (state.first + number) % game.rules.players
      pile += cards
      turns.append(Turn(discarder, len(cards), number % game.rules.ranks, cards))
    elif action == rules.PASS:
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
  if game.rules.first_player == rules.RANDOM_FIRST:
    deals = deals[1:]
  return tuple(sorted(deals[player :: game.rules.players]))


def line(state: pyspiel.State, seats: Collection[int]) -> str:
  """All that the players at `seats` together have seen, in order.

  Such as "p0 AA37 | p1 first; p1 1xA pass; p0 2x2(A3) cheat! A3 p0 +3(A37)": player 1 claims an ace
  and player 0 passes; player 0 lays A3, claiming two 2s, is challenged, and takes the pile of three
  cards; in brackets the cards that only the players at `seats` have seen.
  """
  hands = _hands_text(seats, (dealt_hand(state, seat) for seat in seats))
  turns = [_setup_text(state), *map(_turn_text, seen_turns(state, seats))]
  return _join(hands, "; ".join(turns))


def _setup_text(state: pyspiel.State) -> str:
  """The first player and, until the deal is over, the number of cards dealt."""
  chosen = state.get_game().rules
  texts = [f"p{state.first} first"] if state.first != NOBODY else []
  if state.player == _CHANCE:
    texts.append(f"{sum(state.hands)} of {chosen.players * chosen.hand_size} cards dealt")
  return ", ".join(texts)


def _turn_text(turn: Turn) -> str:
  own = f"({rules.cards_text(turn.cards)})" if turn.cards and not turn.challenged else ""
  text = f"p{turn.discarder} {turn.claim}x{rules.RANKS[turn.rank]}{own}{' pass' * turn.passes}"
  if not turn.challenged:
    return text
  pile = f"({rules.cards_text(turn.pile)})" if turn.pile else ""
  return f"{text} cheat! {rules.cards_text(turn.cards or ())} p{turn.taker} +{turn.pile_size}{pile}"


class CheatObserver:
  """The observation of a player or the public, conforming to OpenSpiel's PyObserver interface.

  `tensor` joins, in this order, the pieces that the observation type asks for; `dict` has views. There
  are P players, R ranks, T = max_turns turns, D = max_discard; private information is that of K = 1 or
  of all K = P players; cards are numbers of cards of each rank.
    player: float32[P], one-hot of the observing player (private information of one player).
  Without perfect recall:
    hands: float32[K, R], cards held (private).
    hand_sizes: float32[P] (public, as all that follow).
    pile_size: float32[1].
    rank: float32[R], one-hot of the turn's rank; zeros at the end, as the next two.
    discarder: float32[P], one-hot of the player whose turn it is or will be; zeros until known.
    claim: float32[D], one-hot of the number of cards of the claim that is being answered, else zeros.
    to_move: float32[P + 2], one-hot of the player to move, chance, the end.
  With perfect recall:
    dealt: float32[K, R], cards dealt (private, as the next two).
    discarded: float32[K, T, R], own cards laid down in each turn.
    taken: float32[K, T, R], cards of the pile that was taken in each turn.
    cards_dealt: float32[1], their number (public, as all that follow).
    first: float32[P], one-hot of the first discarder, zeros until known.
    claims: float32[T, D], one-hot of the number of cards laid down in each turn.
    challenger: float32[T, P], one-hot of the challenger in each turn.
    turned_up: float32[T, R], cards turned up in each turn.
    answering: float32[1], 1 while the last claim is being answered.
    to_move: float32[P + 2], as above.
  """

  def __init__(self, game: pyspiel.Game, iig_obs_type: pyspiel.IIGObservationType):
    self._rules = game.rules
    self._public_info = iig_obs_type.public_info
    self._perfect_recall = iig_obs_type.perfect_recall
    self._private_info = iig_obs_type.private_info
    players, ranks, turns = game.rules.players, game.rules.ranks, game.rules.max_turns
    most, seats = game.rules.max_discard, len(self._seats(0))
    pieces: list[tuple[str, tuple[int, ...]]] = []
    if self._private_info == pyspiel.PrivateInfoType.SINGLE_PLAYER:
      pieces.append(("player", (players,)))
    if seats and self._perfect_recall:
      pieces += [
        ("dealt", (seats, ranks)),
        ("discarded", (seats, turns, ranks)),
        ("taken", (seats, turns, ranks)),
      ]
    elif seats:
      pieces.append(("hands", (seats, ranks)))
    if self._public_info and self._perfect_recall:
      pieces += [("cards_dealt", (1,)), ("first", (players,)), ("claims", (turns, most))]
      pieces += [("challenger", (turns, players)), ("turned_up", (turns, ranks)), ("answering", (1,))]
    elif self._public_info:
      pieces += [("hand_sizes", (players,)), ("pile_size", (1,)), ("rank", (ranks,))]
      pieces += [("discarder", (players,)), ("claim", (most,))]
    if self._public_info:
      pieces.append(("to_move", (players + 2,)))
    self.tensor, self.dict = observing.tensor_with_views(pieces)

  def _seats(self, player: int) -> tuple[int, ...]:
    """The players whose private information `player` sees."""
    return {
      pyspiel.PrivateInfoType.NONE: (),
      pyspiel.PrivateInfoType.SINGLE_PLAYER: (player,),
      pyspiel.PrivateInfoType.ALL_PLAYERS: tuple(range(self._rules.players)),
    }[self._private_info]

  def set_from(self, state: pyspiel.State, player: int) -> None:
    """Fills `tensor`, and with it `dict`, with what `player` sees in `state`."""
    self.tensor.fill(0)
    if "player" in self.dict:
      self.dict["player"][player] = 1
    if self._perfect_recall:
      self._set_past(state, self._seats(player))
    else:
      self._set_present(state, self._seats(player))
    if self._public_info:
      others = {_CHANCE: self._rules.players, _TERMINAL: self._rules.players + 1}
      self.dict["to_move"][others.get(state.player, state.player)] = 1

  def _set_present(self, state: pyspiel.State, seats: tuple[int, ...]) -> None:
    for row, seat in enumerate(seats):
      self.dict["hands"][row] = list(state.hand(seat))
    if not self._public_info:
      return
    self.dict["hand_sizes"][:] = state.hand_sizes()
    self.dict["pile_size"][:] = sum(state.pile)
    if state.player == _TERMINAL:
      return
    self.dict["rank"][state.rank] = 1
    if state.discarder != NOBODY:
      self.dict["discarder"][state.discarder] = 1
    if state.discard:
      self.dict["claim"][state.claim() - 1] = 1

  def _set_past(self, state: pyspiel.State, seats: tuple[int, ...]) -> None:
    for row, seat in enumerate(seats):
      _count(self.dict["dealt"][row], dealt_hand(state, seat))
    if self._public_info:
      self.dict["cards_dealt"][:] = sum(state.hands) + sum(state.pile)
      self.dict["answering"][:] = state.discard != rules.PASS
      if state.first != NOBODY:
        self.dict["first"][state.first] = 1
    for number, turn in enumerate(seen_turns(state, seats)):
      if turn.discarder in seats:
        _count(self.dict["discarded"][seats.index(turn.discarder), number], turn.cards)
      if turn.taker in seats:
        _count(self.dict["taken"][seats.index(turn.taker), number], turn.pile)
      if self._public_info:
        self.dict["claims"][number, turn.claim - 1] = 1
        if turn.challenged:
          self.dict["challenger"][number, turn.challenger] = 1
          _count(self.dict["turned_up"][number], turn.cards)

  def string_from(self, state: pyspiel.State, player: int) -> str:
    """The observation of `player`: with perfect recall as `line`, else the present, in words."""
    seats = self._seats(player)
    if self._perfect_recall:
      return line(state, seats) if self._public_info else _private_past(state, seats)
    hands = " ".join(
      f"p{seat} {rules.cards_text(rules.cards_of(state.hand(seat)))}".rstrip() for seat in seats
    )
    return _join(hands, _present(state)) if self._public_info else hands


def _count(into, cards) -> None:
  """Adds cards to numbers of cards of each rank."""
  for rank in cards:
    into[rank] += 1


def _present(state: pyspiel.State) -> str:
  """Written as "cards 5 4 | pile 2 | rank 3 | p1 claims 2, p0 to answer", without the past."""
  sizes = " ".join(map(str, state.hand_sizes()))
  common = f"cards {sizes} | pile {sum(state.pile)}"
  if state.player == _TERMINAL:
    return f"{common} | {'draw' if state.winner() == NOBODY else f'p{state.winner()} wins'}"
  if state.player == _CHANCE:
    doing = "dealing" if state.first == NOBODY else f"p{state.first} first, dealing"
  elif state.discard:
    doing = f"p{state.discarder} claims {state.claim()}, p{state.player} to answer"
  else:
    doing = f"p{state.player} to discard"
  return f"{common} | rank {rules.RANKS[state.rank]} | {doing}"


def _private_past(state: pyspiel.State, seats: tuple[int, ...]) -> str:
  """Written as "p0 A37 | turn 1 -A3 | turn 1 +A34": the deal, own cards laid down, piles taken."""
  words = [_hands_text(seats, (dealt_hand(state, seat) for seat in seats))]
  for number, turn in enumerate(seen_turns(state, seats)):
    if turn.discarder in seats and turn.cards:
      words.append(f"turn {number} -{rules.cards_text(turn.cards)}")
    if turn.taker in seats and turn.pile:
      words.append(f"turn {number} +{rules.cards_text(turn.pile)}")
  return " | ".join(words)


def _hands_text(seats: Iterable[int], hands: Iterable[tuple[int, ...]]) -> str:
  return " ".join(
    f"p{seat} {rules.cards_text(hand)}".rstrip() for seat, hand in zip(seats, hands, strict=True)
  )


def _join(*parts: str) -> str:
  return " | ".join(part for part in parts if part)
