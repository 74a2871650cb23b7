"""The card game Cheat: its rules, observer and bots."""

from .behaviour import Behaviour
from .bots import HeuristicBot, NaiveBot
from .cheat import CheatGame
from .cheat_rules import RANKS

__all__ = ["RANKS", "Behaviour", "CheatGame", "HeuristicBot", "NaiveBot"]
