"""The options of a spot of hold'em: a subgame as poker players write it."""

from typing import Annotated, Any

from ps_cfr_spiel.options.option import Option, Options

SPOT = "Hold'em instead of GAME"


class SpotOptions(Options):
  """Options of `river` and `holdem`."""

  main = "board"
  board: Annotated[
    Any,
    Option(
      "A river's five cards, such as 'Ks 7d 2c 5h 9s', a turn's four or a flop's three.",
      '"Ks7d2c5h9s", "Ks, 7d, 2c, 5h, 9s" or "K♠7♦2♣5♥9♠"; by default 9s7c5s4h3c, of `holdem` 9s7c5s4h.',
      value="CARDS",
      group=SPOT,
    ),
  ] = None
  ranges: Annotated[
    Any,
    Option(
      "Both ranges, such as 'AA, KQs, A5s-A2s:50%; TT+, AQ'.",
      'In one text, or in two: of player 0 (out of position) and of player 1 (`notation.hand_ranges`); "" '
      "means all hands.",
      value="RANGES",
      group=SPOT,
    ),
  ] = "uniform"
  bets: Annotated[
    Any,
    Option(
      "Bet sizes, such as '33%, 1/2, pot, a' (of the pot, and all-in), 2.5x (a raise to 2.5 times the bet), "
      "40c (chips) or e (geometric); ';' separates those of the first, second and later bets, '|' those of "
      "player 0 and player 1, '/' those of streets.",
      "Or a text for each of the first, the second and all later bets; `notation.bet_sizes` has all sizes. "
      "The sizes of the last street given count for all later ones.",
      value="SIZES",
      group=SPOT,
    ),
  ] = "fcpa"
  pot: Annotated[
    Any,
    Option("The pot, in chips or big blinds, such as 5.5.", value="CHIPS", group=SPOT),
  ] = 200
  stack: Annotated[
    Any,
    Option(
      "The stack behind, of each player.",
      "A game's own string counts half of the pot too. Bets are rounded to the last decimal of pot and "
      'stack, or of half of the pot; "6.00" makes them finer than 6.',
      value="CHIPS",
      group=SPOT,
    ),
  ] = 19900
