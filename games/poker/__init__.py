"""Poker games: Texas hold'em, its subgames, parametric poker. Cards and betting are in the room `poker`."""

from . import holdem as holdem
from . import holdem_subgame as holdem_subgame
from . import parametric_poker as parametric_poker
from . import river_subgame as river_subgame
from .observer import PokerState as PokerState
