"""River subgame: the last betting round of heads-up no-limit Texas hold'em.

All five board cards are out and each player has put half of the pot in. Chance deals a hand to player 0 and
then one to player 1, each pair of hands that share no card with probability proportional to the product of
its weights in the two ranges. Then the players bet, player 0 first, with the bet sizes of an abstraction
(`betting.betting_states`). A fold gives the pot to the other player, else the better hand wins it and equal
hands split it; hands are not shown. Returns are chips won or lost since the hand began: to fold at once
against a bet loses half of the pot.

The default parameters are the subgame of Kovařík et al. (2021), Fast Algorithms for Poker Require Modelling
it as a Sequential Bayesian Game, Section 4 and Table 1: 57 public states after the deal, 21,620 infostates
that decide, 61,000,831 histories.

Parameters (`ValueError` for any other value): those of `holdem_subgame`, with five different cards as the
board, without "/" in the bets, and always with a whole deck.
"""

from .. import base
from . import holdem_subgame

_DEFAULTS = {**holdem_subgame.DEFAULTS, "board": "9s7c5s4h3c"}
del _DEFAULTS["deck"]


class RiverSubgameGame(holdem_subgame.HoldemSubgameGame):
  """A subgame of hold'em with a whole board and a whole deck."""

  game_type = base.game_type("river_subgame", "River Subgame of Texas Hold'em", _DEFAULTS)
  defaults = _DEFAULTS
  board_sizes = (5,)
  bayesian_form = holdem_subgame.HoldemSubgameGame.bayesian_form  # of the same rules


base.register(RiverSubgameGame)
