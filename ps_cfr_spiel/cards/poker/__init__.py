"""Poker for every package and every game: cards, hands, suits, betting, and river situations.

May import: base layers. Nothing here is a game: `games/poker` has the games of this package, and OpenSpiel
has others. `cards` has the numbering of cards and hands, and ranges on a board; `ranking` and `suits` work on
arrays of hands and boards. `bayesian_form` is how a game describes itself to the compiler, and `card_game`
is such a description in three parts: `betting_lines`, one of `deals`, and `infostate_names`; `dealt`
reads them off a game of OpenSpiel. `spots` and `situations` read what users describe.
"""

from ps_cfr_spiel.cards.poker import betting as betting
from ps_cfr_spiel.cards.poker import cards as cards
from ps_cfr_spiel.cards.poker.bayesian_form import BayesianForm as BayesianForm
from ps_cfr_spiel.cards.poker.betting_lines import Betting
from ps_cfr_spiel.cards.poker.board_lists import deals_on, next_boards, representatives
from ps_cfr_spiel.cards.poker.card_game import CardGame, Names
from ps_cfr_spiel.cards.poker.cards import RANKS, card_sets, set_numbers
from ps_cfr_spiel.cards.poker.deals import RANKED, CardDeal, Deal, Place
from ps_cfr_spiel.cards.poker.dealt import cards_of, is_by_name, read_card_game
from ps_cfr_spiel.cards.poker.infostate_names import HoldemNames, StateNames
from ps_cfr_spiel.cards.poker.made_hands import CLASSES, made_hands, named_hands
from ps_cfr_spiel.cards.poker.rake import check_unraked, parse_rake, with_rake
from ps_cfr_spiel.cards.poker.ranking import strengths
from ps_cfr_spiel.cards.poker.situations import (
  FIELDS,
  RandomSituations,
  Situation,
  check_streets,
  compatible,
  left_by_betting,
  of_game,
  range_text,
  situation,
  street_betting,
)
from ps_cfr_spiel.cards.poker.spots import (
  HOLDEM,
  board_of,
  describe,
  for_game_string,
  from_words,
  holdem,
  libratus,
  plain,
  river,
)
from ps_cfr_spiel.cards.poker.suits import (
  CHUNK,
  Deck,
  Runouts,
  count_classes,
  hand_classes,
  renamed_sets,
  renamings,
  runouts,
)
