"""Pictures of hierarchical abstractions show every board once, and a colour for each bucket."""

import numpy as np
import pyspiel
import pytest

from ps_cfr_spiel.apps.pictures import bucket_chart, cluster_chart
from ps_cfr_spiel.cards.poker.suits import set_numbers
from ps_cfr_spiel.hierarchical import card_game, make_abstraction, shares_beaten

GAME = (
  "universal_poker(betting=limit,numPlayers=2,numRounds=2,blind=1 2,raiseSize=2 4,firstPlayer=1 1,"
  "maxRaises=1 1,numSuits=3,numRanks=5,numHoleCards=2,numBoardCards=0 2,stack=20 20)"
)


@pytest.fixture(scope="module")
def made():
  dealt = card_game(pyspiel.load_game(GAME))
  return dealt, make_abstraction(dealt, clusters=4, buckets=5, restarts=1)


def test_every_board_is_in_the_row_of_its_cluster(made):
  dealt, abstraction = made
  [axes] = cluster_chart(dealt, abstraction).axes
  places = {text.get_position(): text.get_text() for text in axes.texts}
  labels = {y: int(name) for (x, y), name in places.items() if x < 0}
  assert sorted(labels.values()) == [0, 1, 2, 3]
  boards = dealt.deal.tables[1].cards
  for cluster in range(4):
    row = next(y for y, number in labels.items() if number == cluster)
    shown = sorted(name for (x, y), name in places.items() if x > 0 and y == row)
    ranks = np.sort(boards[abstraction.clusters == cluster] // 3, 1)[:, ::-1]
    assert shown == sorted("".join("23456"[rank] for rank in some) for some in ranks)


def test_hands_of_a_bucket_have_one_colour(made):
  dealt, abstraction = made
  board = dealt.deal.deck.find("6c2d")
  [axes] = bucket_chart(dealt, abstraction, board).axes
  colors = {}
  for boxes in axes.collections:
    faces = np.resize(boxes.get_facecolors(), (len(boxes.get_paths()), 4))
    for path, face in zip(boxes.get_paths(), faces, strict=True):
      x, y = np.floor(path.vertices.min(0)).astype(int)
      colors[x, y] = tuple(face)  # what is drawn later covers what was drawn before
  found, shares = {}, {}
  for hand in dealt.deal.hands:
    assert colors[tuple(hand)] == colors[tuple(hand[::-1])]
    if not set(hand.tolist()) & set(board):
      seen = dealt.deal.seen(hand.tolist(), list(board))
      found.setdefault(abstraction.find(seen)[1], set()).add(colors[tuple(hand)])
      shares[tuple(hand)] = shares_beaten(dealt.deal, 1, seen[1][0])[seen[1][1]]
  assert len(found) > 1 and all(len(colors) == 1 for colors in found.values())
  assert len(set.union(*found.values())) == len(found)
  strongest = max(shares, key=shares.get)
  ranked = dealt.deal.strengths(np.array([board]))[0]
  alive = [hand for hand in dealt.deal.hands if not set(hand.tolist()) & set(board)]
  assert ranked[set_numbers(np.array(strongest))] == max(ranked[set_numbers(hand)] for hand in alive)


def test_shares_beaten_are_those_of_a_plain_count(made):
  """Before the cards come: the mean over all boards without the hand, of the hands on them."""
  dealt, _ = made
  boards = [set(cards) for cards in np.array(np.triu_indices(15, 1)).T.tolist()]
  for hand in ((0, 1), (0, 14), (7, 9)):
    shares = []
    for board in boards:
      if board & set(hand):
        continue
      strength = dealt.deal.strengths(np.array([sorted(board)]))[0]
      own = strength[set_numbers(np.array(hand))]
      others = [
        int(strength[k]) for k, other in enumerate(dealt.deal.hands) if not board & set(other.tolist())
      ]
      shares.append(np.mean([(np.sign(int(own) - other) + 1) / 2 for other in others]))
    assert shares_beaten(dealt.deal, 0, 0)[set_numbers(np.array(hand))] == pytest.approx(np.mean(shares))
