"""The card game Cheat: its rules, observer and bots."""

from . import cheat as cheat
