"""Protocols of other programs: hands of `holdem` by the ACPC's, Slumbot's, and PHH files; tools by MCP.

May import: evaluation and lower layers. `hand_records` has a hand as all protocols of poker see it; each
protocol is a file.
"""

from ps_cfr_spiel.apps.protocols.acpc import Seat, join
from ps_cfr_spiel.apps.protocols.hand_records import Hand, big_blind, hand_of, result, rules_of
from ps_cfr_spiel.apps.protocols.phh import check_pokerkit, read_hands, write_hands
from ps_cfr_spiel.apps.protocols.slumbot import SLUMBOT, play_slumbot
