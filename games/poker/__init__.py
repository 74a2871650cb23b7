"""Poker: cards, betting, and subgames of Texas hold'em."""

from . import holdem_subgame as holdem_subgame
from . import river_subgame as river_subgame
from .river import river as river
