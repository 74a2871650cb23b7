"""Games of dealt cards for abstractions: read off OpenSpiel's games, and how often their hands win."""

import numpy as np
import pyspiel

from ps_cfr_spiel.backend.native import why_unavailable
from ps_cfr_spiel.cards.poker import CardDeal, CardGame, Place, read_card_game
from ps_cfr_spiel.hierarchical.dealt_hands import BINS, equities, histograms
from ps_cfr_spiel.memory import card_needs, check_needs

ENUMERATED = (
  "Where a game with public chance can be enumerated, use "
  "ExternalSamplingSolver(game, abstraction=abstract_by_clusters(game, clusters), every_cluster=True)."
)


def card_game(game: pyspiel.Game) -> CardGame[CardDeal]:
  """The game that `poker.read_card_game` reads, for abstractions of its cards.

  ValueError for another game, or one without public cards to come or with too many cards.
  """
  try:
    cards = read_card_game(game)
  except ValueError as error:
    raise ValueError(f"{error} {ENUMERATED}") from error
  if cards.deal.streets == 1:
    raise ValueError(f"{game}: no public cards come; expected some before each round but the first.")
  if cards.deal.in_tables:
    needs = card_needs(cards.deal)
    check_needs(str(game), needs, None, "Fewer public cards, ranks or suits take less")
  elif reason := why_unavailable():
    raise ValueError(f"{game} has too many boards for tables, and the native library is missing: {reason}.")
  return cards


def shares_beaten(deal: CardDeal, number: int, board: Place) -> np.ndarray:
  """float64[H]: the share of hands that each hand beats on a class of runouts, averaged over later cards.

  Ties count half; cards that hands share are not removed; the share of dead hands is 0. If boards are in no
  table, `board` is as in `CardDeal.seen`, the cards are removed, and shares before the last round are
  rounded.
  """
  if not deal.in_tables:
    return _untabulated_shares(deal, number, board)
  assert isinstance(board, int)
  alive = deal.hand_classes[number][board] >= 0
  if number == deal.streets - 1:
    strength = deal.strength_table[board]
    lead = np.sign(strength[:, None] - strength[alive])
    return np.where(alive, (1 + lead.mean(1)) / 2, 0)
  after = deal.tables[number + 1]
  total, times = np.zeros(len(deal.hands)), np.zeros(len(deal.hands))
  for child in np.unique(after.index[board][after.index[board] >= 0]):
    beaten, lives = shares_beaten(deal, number + 1, int(child)), deal.hand_classes[number + 1][child] >= 0
    for came in np.flatnonzero(after.index[board] == child):
      hands = deal.hand_swaps[after.swap[board, came]]  # by the child's names of suits
      total += np.where(lives[hands], beaten[hands], 0)
      times += lives[hands]
  return np.divide(total, times, out=np.zeros_like(total), where=alive & (times > 0))


def _untabulated_shares(deal: CardDeal, number: int, board: Place) -> np.ndarray:
  """`shares_beaten` without tables; ValueError before public cards come."""
  if number == 0:
    raise ValueError("The game has too many boards to go through all of them; give public cards.")
  cards = deal.tables[1].cards[board].tolist() if isinstance(board, int) else list(board)
  if left := sum(deal.public) - len(cards):
    shares = 1 - (histograms(deal.deck, deal.hole, cards, left)[0].sum(1) + 0.5) / BINS
  else:
    shares = equities(deal.deck, deal.hole, np.array([cards]), np.zeros(len(deal.hands), int))[0, :, 0]
  return np.where(np.isin(deal.hands, cards).any(1), 0, shares)
