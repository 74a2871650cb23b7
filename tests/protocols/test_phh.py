"""PHH files: PokerKit plays them to the same stacks, and they are read as they were written."""

import numpy as np
import pokerkit
import pyspiel
import pytest

from ps_cfr_spiel import matches
from ps_cfr_spiel.protocols import Hand, hand_of, read_hands, write_hands


@pytest.mark.parametrize("game_string", ["holdem(stack=2000)", "holdem(stack=1000,blinds=10/5,bets=0.5 1 a)"])
def test_pokerkit_plays_what_is_written(game_string, tmp_path):
  game, path = pyspiel.load_game(game_string), tmp_path / "match.phhs"
  records = matches.play_games(game, matches.player("random"), matches.player("random", 1), 30, 3)
  hands = [hand_of(game, record) for record in records]
  write_hands(path, game, hands, ("ours", "theirs"))
  with open(path, "rb") as file:
    histories = list(pokerkit.HandHistory.load_all(file))
  for number, (hand, history) in enumerate(zip(hands, histories, strict=True), start=1):
    *_, end = history
    assert not end.status
    assert [stack - game.max_utility() for stack in end.stacks] == [end.payoffs[0], -end.payoffs[0]]
    assert end.payoffs[hand.seat] == hand.won
    assert (history.hand, history.players[hand.seat]) == (number, "ours")
    assert history.finishing_stacks == end.stacks
  read = read_hands(path, "ours", game.get_parameters()["bets"])
  assert [hand._replace(deal=None) for hand in hands] == [hand for _, hand in read]
  assert {str(found) for found, _ in read} == {str(game)}
  assert len({hand.board for hand in hands}) > 4


def test_unknown_cards(tmp_path):
  game, path = pyspiel.load_game("holdem"), tmp_path / "one.phhs"
  hand = Hand(1, (300, 300, 300, 900, 300), ("", "QhQd"), "2c3c4c", 300.0)
  write_hands(path, game, [hand])
  assert "d dh p1 ????" in path.read_text()
  with open(path, "rb") as file:
    ((*_, end),) = pokerkit.HandHistory.load_all(file)
  assert end.payoffs == [-300, 300]
  ((_, found),) = read_hands(path)
  assert found == hand


def test_a_file_of_pokerkit_is_read(tmp_path):
  """Written by PokerKit, a file for one hand."""
  path = tmp_path / "one.phh"
  history = pokerkit.HandHistory(
    variant="NT",
    antes=[0, 0],
    blinds_or_straddles=[50, 100],
    min_bet=100,
    starting_stacks=[20000, 20000],
    actions=[
      "d dh p1 AsKd",
      "d dh p2 ????",
      "p2 cbr 250 # a raise",
      "p1 cc",
      "d db 2c3c4c",
      "p1 cc",
      "p2 cc",
      "d db 5h",
      "p1 cbr 500",
      "p2 cc",
      "d db 9d",
      "p1 cc",
      "p2 cc",
      "p1 sm AsKd",
      "p2 sm QhQd",
    ],
    players=["Anna", "Bert"],
  )
  path.write_text(history.dumps())
  ((game, hand),) = read_hands(path, "Bert")
  assert str(game) == "holdem(bets=fullgame,blinds=100/50,deck=13x4,stack=20000)"
  assert hand == Hand(1, (250, 250, 250, 250, 750, 750, 750, 750), ("AsKd", "QhQd"), "2c3c4c5h9d", -750.0)
  assert read_hands(path, "Anna")[0][1].won == 750


@pytest.mark.parametrize(
  ("old", "new", "message"),
  [
    ('variant = "NT"', 'variant = "PO"', "expected variant NT for two"),
    ("[50, 100]", "[50, 100, 0]", "expected variant NT for two"),
    ("antes = [0, 0]", "antes = [5, 5]", "no antes"),
    ("min_bet = 100", "min_bet = 50", "a min_bet of the big blind"),
    ("p2 cbr 300", "p1 cbr 300", "it is not the turn of p1"),
    ("p2 cbr 300", "p2 cbr 150", "150 chips are no legal move"),
    ("p2 cbr 300", "p2 jump", "'p2 jump' is no action of hold'em"),
    ("antes", "aunts", "KeyError: 'antes'"),
    ("[1]", "[1", "is no PHH file"),
  ],
)
def test_other_files_are_refused(tmp_path, old, new, message):
  path = tmp_path / "one.phhs"
  write_hands(path, pyspiel.load_game("holdem"), [Hand(0, (300, 100), ("AsKd", "QhQd"), "", -100.0)])
  text = path.read_text()
  assert old in text
  path.write_text(text.replace(old, new, 1))
  with pytest.raises(ValueError, match=r"one.phhs") as error:
    read_hands(path)
  assert message in str(error.value)


def test_a_file_is_replaced_whole_and_a_run_never(tmp_path):
  """A hand that the game does not have leaves the earlier file; what holds arrays is no file for hands."""
  game, path = pyspiel.load_game("holdem"), tmp_path / "match.phhs"
  folded = Hand(1, (50,), ("AsKd", "QhQd"), "", -50.0)
  write_hands(path, game, [folded])
  before = path.read_bytes()
  with pytest.raises(ValueError, match="7 chips are no legal move"):
    write_hands(path, game, [folded, folded._replace(chips=(7,))])
  assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
  np.savez(tmp_path / "run.npz", regrets=np.zeros(3))
  with pytest.raises(FileExistsError, match="It holds a run or other arrays"):
    write_hands(tmp_path / "run.npz", game, [folded])
  assert np.load(tmp_path / "run.npz")["regrets"].tolist() == [0, 0, 0]
