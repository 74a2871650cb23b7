"""The program `ps-cfr-spiel`; absl's flags live only here.

May use: every other room.
"""
