"""The one grammar of what users type: moves, bet sizes, cards and ranges.

May import: `arguments`. Text in, data out, and back again. Every command, flag, page and Python call reads
its text here, so a text means the same everywhere; any other text is refused with the place of the fault.
"""

from ps_cfr_spiel.cards.notation.bet_sizes import (
  ALL_IN,
  BetSizes,
  Measure,
  Size,
  Street,
  add_sizes,
  nearest_sizes,
  parse_sizes,
  size_text,
  sizes_text,
  split_streets,
)
from ps_cfr_spiel.cards.notation.hand_ranges import (
  MAX_WEIGHT,
  MIN_WEIGHT,
  RANKS,
  SUITS,
  card_names,
  hands_text,
  is_hand,
  kinds_text,
  parse_cards,
  parse_hands,
  range_words,
)
from ps_cfr_spiel.cards.notation.moves import (
  MAX_LISTED,
  Moves,
  bets_text,
  fitting_moves,
  grouped,
  letters,
  next_move,
  read_move,
  split_words,
)
from ps_cfr_spiel.cards.notation.state_moves import (
  bet_sizes,
  game_over,
  legal_moves,
  move_name,
  play_moves,
  sizes_of,
  state_after,
)
