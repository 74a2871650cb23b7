"""Cheat (Doubt, Bullshit): get rid of your cards, by lying if need be.

Every player is dealt a hand; cards left over stay out of the game, unseen. In a turn, the discarder lays 1 to
`max_discard` cards face down on the pile and thereby claims that many cards of the turn's rank. The number is
true, the cards need not be of that rank. Then the other players, beginning next to the discarder, pass or
call "Cheat!". At the first such challenge the cards just laid are turned up for all to see: if any is not of
the rank the discarder takes the whole pile, else the challenger does. Only the player who takes the pile sees
the rest of it. Then rank and discarder advance by one; the first rank is the ace, and after the last rank it
is the ace's turn again. A player without cards at the end of their own turn wins 1, and the others lose 1 in
equal shares. After `max_turns` turns without a winner the game is a draw, worth 0.

Suits never matter, so cards are dealt and discarded by rank: an action is a multiset of ranks, and the
deck deals the ranks that are left with hypergeometric probabilities. Hands that differ only in suits are
strategically the same, so nothing is lost, and the game shrinks by orders of magnitude. Players see their
hand, not the order in which its cards were dealt.

Source: Yi and Kaneko, Improve Counterfactual Regret Minimization for Card Game Cheat, Sections 2.2
(rules) and 3.1 (half deck, ranks A to 7, six cards each for two players). Our additions: the horizon,
without which a play need not end; and current rank and claim in the observation, without which
their agent cannot find its legal or sensible moves.

Parameters (`ValueError` for any other value):
  players: 2 to 4.
  ranks, suits: The deck, 2 to 13 ranks (13 is a full deck, 7 the half) of 1 to 8 cards each.
  hand_size: Cards dealt to each player, at least 1; all hands together are at most the deck.
  max_discard: Most cards in one discard, 1 to suits; -1 means suits.
  max_turns: Horizon, at least 1.
  first_player: The player who discards first; -1 lets chance choose.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, ClassVar

from .. import base
from ..base import CHANCE, TERMINAL
from . import cheat_rules
from .bots import HeuristicBot, NaiveBot
from .cheat_rules import NOBODY
from .turns_observer import CheatObserver, line

if TYPE_CHECKING:
  from .keyed_cheat import KeyedCheat

_DEFAULTS = {
  "players": 2,
  "ranks": 7,
  "suits": 4,
  "hand_size": 6,
  "max_discard": cheat_rules.DISCARD_UP_TO_SUITS,
  "max_turns": 50,
  "first_player": cheat_rules.RANDOM_FIRST,
}


class CheatGame(base.Game):
  """The game; see `base.Game`.

  Actions: 0 passes, 1 challenges, 2 and up are `discards`. Chance's actions are the player who
  discards first, and ranks.
  """

  game_type = base.game_type("cheat", "Cheat", _DEFAULTS, players=4)
  bots: ClassVar = {"naive": NaiveBot, "heuristic": lambda player, _: HeuristicBot(player)}

  def __init__(self, params: base.Parameters | None = None):
    params = {**_DEFAULTS, **(params or {})}
    chosen = cheat_rules.parse_rules(params)
    discards = cheat_rules.discards(chosen.ranks, chosen.max_discard)
    super().__init__(
      params,
      actions=cheat_rules.FIRST_DISCARD + len(discards),
      outcomes=max(chosen.ranks, chosen.players),
      # A discard and an answer of every other player, all of them passes but the last, so that the game goes
      # on. With one card each the ranks may force a true, winning discard before the horizon.
      length=chosen.max_turns * chosen.players,
      most=1.0,
      players=chosen.players,
    )
    self.rules = chosen  #: the parameters
    self.discards = discards  #: ranks of the cards of action `FIRST_DISCARD` and of those after it
    #: number of chance's moves at the start: the first player, if random, and the deal.
    self.setup_moves = chosen.players * chosen.hand_size + (chosen.first_player == cheat_rules.RANDOM_FIRST)

  def max_chance_nodes_in_history(self) -> int:
    """The number of chance's moves, all at the start; OpenSpiel's default is that of decisions."""
    return self.setup_moves

  def keyed_form(self, key: str = "observation") -> KeyedCheat:
    """The game with keys of a kind, one of `keys.KEYS`; ValueError if they cannot be counted."""
    from .keyed_cheat import KeyedCheat  # it needs JAX, which takes long to import

    return KeyedCheat(self, key)

  def table(self, state: CheatState, seats: Collection[int]) -> base.Table:
    faces, rows = cheat_rules.RANKS, []
    for player, size in enumerate(state.hand_sizes()):
      held = (faces[rank] for rank in cheat_rules.cards_of(state.hand(player)))
      rows.append(base.Row(tuple(held) if player in seats else (base.HIDDEN,) * size, player))
    rows.append(base.Row((base.HIDDEN,) * sum(state.pile), name="Pile"))
    claim, picks = state.claim(), dict[int, tuple[str, ...]]()
    if claim:
      said = f"Player {state.discarder} claims {claim} of rank {faces[state.rank]}"
    else:
      said = "The game is over" if state.player == TERMINAL else f"Rank {faces[state.rank]} is next"
    if state.player in seats and not claim:
      picks = {a: tuple(faces[rank] for rank in self.cards(a)) for a in state.legal_actions()}
    return base.Table((said,), tuple(rows), picks=picks)

  def cards(self, action: int) -> tuple[int, ...]:
    """The ranks of the cards that a discard lays down."""
    return self.discards[action - cheat_rules.FIRST_DISCARD]

  def discards_from(self, hand: bytes) -> tuple[int, ...]:
    """The discards of cards in a hand, ascending."""
    return cheat_rules.discards_from(hand, self.rules.max_discard)


class CheatState(base.State):
  """A history; see `base.State`.

  Hands and pile are bytes, the number of cards of each rank, because a copy of bytes is free.
  """

  many_legal = "the discards of cards in the hand"

  def __init__(self, game: CheatGame):
    super().__init__(game)
    chosen = game.rules
    self.hands = bytes(chosen.players * chosen.ranks)  #: all players' hands, one after the other
    self.pile = bytes(chosen.ranks)  #: the cards on the table
    self.first = chosen.first_player  #: the first discarder, `NOBODY` until chance has chosen
    self.turn = 0  #: number of the turn, from 0
    self.discard = cheat_rules.PASS  #: the discard that is being answered, else `rules.PASS`
    self.player = CHANCE

  @property
  def discarder(self) -> int:
    """The player to discard or to be challenged, `NOBODY` before chance has chosen."""
    return NOBODY if self.first == NOBODY else (self.first + self.turn) % self.get_game().rules.players

  @property
  def rank(self) -> int:
    return self.turn % self.get_game().rules.ranks

  def hand(self, player: int) -> bytes:
    """The number of cards of each rank in a player's hand."""
    ranks = self.get_game().rules.ranks
    return self.hands[player * ranks : (player + 1) * ranks]

  def hand_sizes(self) -> list[int]:
    """The number of cards in each hand."""
    return [sum(self.hand(player)) for player in range(self.get_game().rules.players)]

  def claim(self) -> int:
    """The number of cards of the discard that is being answered, else 0."""
    return len(self.get_game().cards(self.discard)) if self.discard else 0

  def winner(self) -> int:
    """The winner, `NOBODY` before the end and after a draw."""
    if self.player != TERMINAL:
      return NOBODY
    sizes = self.hand_sizes()
    return sizes.index(0) if 0 in sizes else NOBODY

  def _legal_actions(self, player: int) -> list[int]:
    if self.discard:
      return [cheat_rules.PASS, cheat_rules.CHALLENGE]
    return list(self.get_game().discards_from(self.hand(player)))

  def chance_outcomes(self) -> list[tuple[int, float]]:
    chosen = self.get_game().rules
    if self.first == NOBODY:
      return [(player, 1 / chosen.players) for player in range(chosen.players)]
    cards = chosen.ranks * chosen.suits - sum(self.hands)
    held = map(sum, zip(*map(self.hand, range(chosen.players)), strict=True))
    return [(rank, (chosen.suits - count) / cards) for rank, count in enumerate(held) if count < chosen.suits]

  def _apply_action(self, action: int) -> None:
    self.check_legal(action)
    if self.player == CHANCE:
      self._set_up(action)
    elif not self.discard:
      self._lay(action)
    elif action == cheat_rules.CHALLENGE:
      self._turn_up(challenger=self.player)
      self._end_turn()
    else:
      self.player = self._after(self.player)
      if self.player == self.discarder:
        self._end_turn()

  def _set_up(self, action: int) -> None:
    """Chance chooses the first player, or deals a card of rank `action` to the next player."""
    chosen = self.get_game().rules
    if self.first == NOBODY:
      self.first = action
      return
    dealt = sum(self.hands)
    self._add(dealt % chosen.players, [action])
    if dealt + 1 == chosen.players * chosen.hand_size:
      self.player = self.first

  def _lay(self, action: int) -> None:
    pile, hands = bytearray(self.pile), bytearray(self.hands)
    start = self.player * len(pile)
    for rank in self.get_game().cards(action):
      pile[rank] += 1
      hands[start + rank] -= 1
    self.pile, self.hands = bytes(pile), bytes(hands)
    self.discard = action
    self.player = self._after(self.player)

  def _turn_up(self, challenger: int) -> None:
    """The last discard is turned up, and the liar or the challenger takes the pile."""
    honest = all(rank == self.rank for rank in self.get_game().cards(self.discard))
    self._add(challenger if honest else self.discarder, cheat_rules.cards_of(self.pile))
    self.pile = bytes(len(self.pile))

  def _end_turn(self) -> None:
    """The discarder has won or is followed by the next player, unless the horizon is reached."""
    won = not any(self.hand(self.discarder))
    self.turn += 1
    self.discard = cheat_rules.PASS
    self.player = TERMINAL if won or self.turn == self.get_game().rules.max_turns else self.discarder

  def _add(self, player: int, cards) -> None:
    hands = bytearray(self.hands)
    for rank in cards:
      hands[player * len(self.pile) + rank] += 1
    self.hands = bytes(hands)

  def _after(self, player: int) -> int:
    return (player + 1) % self.get_game().rules.players

  def _action_to_string(self, player: int, action: int) -> str:
    if player == CHANCE:
      if self.first == NOBODY:
        return f"p{action} first"
      return f"Deal {cheat_rules.RANKS[action]} to p{sum(self.hands) % self.get_game().rules.players}"
    if action < cheat_rules.FIRST_DISCARD:
      return ("Pass", "Cheat!")[action]
    return f"Discard {cheat_rules.cards_text(self.get_game().cards(action))}"

  def returns(self) -> list[float]:
    players, winner = self.get_game().rules.players, self.winner()
    if winner == NOBODY:
      return [0.0] * players
    return [1.0 if player == winner else -1.0 / (players - 1) for player in range(players)]

  def __str__(self) -> str:
    return line(self, seats=range(self.get_game().rules.players))


base.register(CheatGame, CheatState, CheatObserver)
