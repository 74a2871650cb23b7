"""Poker games: Texas hold'em, its subgames, parametric poker. The package `poker` has cards and betting."""

from . import holdem as holdem
from . import holdem_subgame as holdem_subgame
from . import parametric_poker as parametric_poker
from . import river_subgame as river_subgame
from .observer import PokerState as PokerState
