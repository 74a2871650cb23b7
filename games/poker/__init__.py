"""Poker: cards, betting, subgames of Texas hold'em, and parametric poker."""

from . import holdem_subgame as holdem_subgame
from . import parametric_poker as parametric_poker
from . import river_subgame as river_subgame
from . import situations as situations
from .river import holdem as holdem
from .river import river as river
