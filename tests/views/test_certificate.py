"""The public tree as text: Kuhn poker pinned whole."""

import pyspiel
import pytest

from ps_cfr_spiel import build_tree
from ps_cfr_spiel.apps.views import certificate

KUHN = """\
#0 root: chance, {''} x {''}, 1 history
  #1 ...: chance, {'0', '1', '2'} x {''}, 3 histories
    #2 ...: player 0, {'0', '1', '2'} x {'0', '1', '2'}, 6 histories
      #3 Pass: player 1, {'0p', '1p', '2p'} x {'0p', '1p', '2p'}, 6 histories
        #4 Pass: end, {'0pp', '1pp', '2pp'} x {'0pp', '1pp', '2pp'}, 6 histories
        #5 Bet: player 0, {'0pb', '1pb', '2pb'} x {'0pb', '1pb', '2pb'}, 6 histories
          #6 Pass: end, {'0pbp', '1pbp', '2pbp'} x {'0pbp', '1pbp', '2pbp'}, 6 histories
          #7 Bet: end, {'0pbb', '1pbb', '2pbb'} x {'0pbb', '1pbb', '2pbb'}, 6 histories
      #8 Bet: player 1, {'0b', '1b', '2b'} x {'0b', '1b', '2b'}, 6 histories
        #9 Pass: end, {'0bp', '1bp', '2bp'} x {'0bp', '1bp', '2bp'}, 6 histories
        #10 Bet: end, {'0bb', '1bb', '2bb'} x {'0bb', '1bb', '2bb'}, 6 histories"""


def test_kuhn():
  game = pyspiel.load_game("kuhn_poker")
  assert certificate(build_tree(game)) == KUHN


def test_river_without_walking():
  game = pyspiel.load_game("river_subgame")
  lines = certificate(build_tree(game), depth=1, infostates=False).split("\n")
  assert lines == [
    "#0 root: player 0, 1,081 x 1,081, 1,070,190 histories",
    "  #1 Check: player 1, 1,081 x 1,081, 1,070,190 histories",
    "  #30 Bet 200: player 1, 1,081 x 1,081, 1,070,190 histories",
    "  #54 All-in 19900: player 1, 1,081 x 1,081, 1,070,190 histories",
  ]


def test_hidden_moves_are_not_named():
  game = pyspiel.load_game(
    "turn_based_simultaneous_game(game=goofspiel(num_cards=3,imp_info=True,points_order=descending))"
  )
  assert "...: player" in certificate(build_tree(game))


def test_no_public_states():
  game = pyspiel.load_game("kuhn_poker")
  with pytest.raises(ValueError, match="has no public states"):
    certificate(build_tree(game, public_states="none"))
