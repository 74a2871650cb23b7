"""Observations of a subgame of hold'em, of its players and of the public."""

from collections.abc import Iterable
from typing import Any

import pyspiel

from ps_cfr_spiel.poker import cards

from .. import observing

NUM_PLAYERS = 2
_DECK_SIZE = 52


class HoldemSubgameObserver:
  """The observation of a player or the public, conforming to OpenSpiel's PyObserver interface.

  `tensor` joins, in this order, the pieces that the observation type asks for; `dict` has views.
    player: float32[2], one-hot of the observing player (private information of one player).
    private_hands: float32[K, 52], the cards of the observing player (K = 1) or of both (K = 2).
    board: float32[52], all public cards so far (public, as all that follow).
    turn: float32[5 or 6], one-hot of the next event: deal to player 0, deal to player 1, player 0 acts,
      player 1 acts, if there are cards to come a card, nothing.
    betting: float32[max_game_length, num_distinct_actions], one-hot actions (with perfect recall).
    runout: float32[cards to come, 52], one-hot public cards since the root (with perfect recall, if any).
    pot_contribution: float32[2], chips of each player in the pot (without perfect recall).
  """

  def __init__(self, game: Any, iig_obs_type: pyspiel.IIGObservationType):
    self._private_info = iig_obs_type.private_info
    self._public_info = iig_obs_type.public_info
    self._perfect_recall = iig_obs_type.perfect_recall
    pieces: list[tuple[str, tuple[int, ...]]] = []
    if self._private_info == pyspiel.PrivateInfoType.SINGLE_PLAYER:
      pieces.append(("player", (NUM_PLAYERS,)))
    if self._seats(0):
      pieces.append(("private_hands", (len(self._seats(0)), _DECK_SIZE)))
    if self._public_info:
      pieces += [("board", (_DECK_SIZE,)), ("turn", (len(game.turns),))]
      if self._perfect_recall:
        pieces.append(("betting", (game.max_game_length(), game.num_distinct_actions())))
        if game.cards_to_come:
          pieces.append(("runout", (game.cards_to_come, _DECK_SIZE)))
      else:
        pieces.append(("pot_contribution", (NUM_PLAYERS,)))
    self.tensor, self.dict = observing.tensor_with_views(pieces)

  def _seats(self, player: int) -> tuple[int, ...]:
    """The players whose hands `player` sees."""
    return observing.seats(self._private_info, player)

  def set_from(self, state: Any, player: int) -> None:
    """Fills `tensor`, and with it `dict`, with the observation of `player` in `state`."""
    game = state.get_game()
    self.tensor.fill(0)
    if "player" in self.dict:
      self.dict["player"][player] = 1
    for row, seat in enumerate(self._seats(player)):
      if seat < len(state.hands):
        self.dict["private_hands"][row, game.ranges[seat].cards[state.hands[seat]]] = 1
    if self._public_info:
      self.dict["board"][[*game.board, *state.runout]] = 1
      self.dict["turn"][_turn(state)] = 1
    if "betting" in self.dict:
      moves = state.moves
      self.dict["betting"][range(len(moves)), moves] = 1
    if "runout" in self.dict:
      self.dict["runout"][range(len(state.runout)), state.runout] = 1
    if "pot_contribution" in self.dict:
      self.dict["pot_contribution"][:] = state.public_state.spent

  def string_from(self, state: Any, player: int) -> str:
    """The observation of `player` in `state`, such as the game's `infostate_string`."""
    private = hands_text(state, self._seats(player))
    if not self._public_info:
      return private
    game = state.get_game()
    if self._perfect_recall:
      return join(private, game.header, state.line)
    out = cards.card_names(sorted(state.runout))  # their order is forgotten
    spent = "in {} {}".format(*state.public_state.spent)
    return join(private, game.header, out, spent, game.turns[_turn(state)])


def _turn(state: Any) -> int:
  """The index in the game's `turns` of the next event."""
  if state.is_terminal():
    return len(state.get_game().turns) - 1
  if len(state.hands) < NUM_PLAYERS:
    return len(state.hands)
  player = state.current_player()
  return 2 * NUM_PLAYERS if player == pyspiel.PlayerId.CHANCE else NUM_PLAYERS + player


def hands_text(state: Any, seats: Iterable[int]) -> str:
  """The hands of some players, "p0 AsKd p1 6h2d"."""
  return " ".join(f"p{seat} {state.hand(seat)}".rstrip() for seat in seats)


def join(*parts: str) -> str:
  """The parts that are not empty, with strokes between them."""
  return " | ".join(part for part in parts if part)
