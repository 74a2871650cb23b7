"""River subgame: the last betting round of heads-up no-limit Texas hold'em.

All five board cards are out and each player has put half of the pot in. Chance deals a hand to
player 0 and then one to player 1, each pair of hands that share no card with probability
proportional to the product of its weights in the two ranges. Then the players bet, player 0 first,
with the bet sizes of an abstraction (`betting.betting_states`). A fold gives the pot to the other
player, else the better hand wins it and equal hands split it; hands are not shown. Returns are
chips won or lost since the hand began: to fold at once against a bet loses half of the pot.

Rules: Schmid (2021), Search in Imperfect Information Games, Section 12.3 (no-limit hold'em) and
Table 21.2 (bet abstractions). The default parameters are the subgame of Kovařík et al. (2021), Fast
Algorithms for Poker Require Modelling it as a Sequential Bayesian Game, Section 4 and Table 1: 57
public states after the deal, 21,620 infostates that decide, 61,000,831 histories.

Parameters (`ValueError` for any other value):
  board: Five different cards, "9s7c5s4h3c".
  pot: Chips in the pot, positive and even.
  stack: Chips that each player began the hand with, half of the pot included. With half of the pot
    and no more both players are all-in already and can only check.
  bets: Bet sizes: "fcpa" (pot and all-in), or fractions of the pot and "a" for all-in, "0.5 1 2 a",
    or "x" for none, with ";" between those of the first, second and later bets, "0.5 1 a;1 a", and "|"
    between those of player 0 and of player 1, "0.5 1 a | 0.33 a"; "0.5a" is half of the pot, or
    all-in where the stack is less (`betting.parse_bets`).
  ranges: "uniform" (all hands), or player 0's range, ";", player 1's, "AA KQs 76s:0.5;TT+ AsKd"; an
    empty side means all hands (`cards.parse_range`).

With cards to come it is `holdem_subgame`. OpenSpiel's own `universal_poker` with a board has the same
betting tree when its blinds are half of the pot each. When they do not add up to its `potSize`, it pays
folds by `potSize` but showdowns by the blinds, so it cannot serve as a reference for river subgames in
general.
"""

import pyspiel

from . import holdem_subgame

_DEFAULTS = {
  "board": "9s7c5s4h3c",
  "pot": 200,
  "stack": 20000,
  "bets": "fcpa",
  "ranges": "uniform",
}

_GAME_TYPE = holdem_subgame.game_type("river_subgame", "River Subgame of Texas Hold'em", _DEFAULTS)


class RiverSubgameGame(holdem_subgame.HoldemSubgameGame):
  """A subgame of hold'em with a whole board and a whole deck."""

  game_type = _GAME_TYPE
  defaults = _DEFAULTS
  board_sizes = (5,)


pyspiel.register_game(_GAME_TYPE, RiverSubgameGame)
