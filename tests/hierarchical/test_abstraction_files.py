"""Abstractions of dealt cards in files of their own and of runs: saving, reading, looking up hands."""

import pyspiel
import pytest
from dealt_games import poker

from ps_cfr_spiel import storage
from ps_cfr_spiel.abstractions import HierarchicalMCCFRSolver
from ps_cfr_spiel.apps.commands import program
from ps_cfr_spiel.hierarchical import (
  card_game,
  from_file,
  load_abstraction,
  make_abstraction,
  measure,
  save_abstraction,
)

LEDUC = pyspiel.load_game("leduc_poker")


@pytest.fixture(scope="module")
def dealt():
  return card_game(LEDUC)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
  """A run of the command solve, which makes the abstraction itself."""
  folder = tmp_path_factory.mktemp("run")
  words = ["leduc_poker", "--solver=hierarchical", "--clusters=2", "--buckets=lossless", "--iterations=2"]
  assert program.run(["solve", *words, "--quiet", "--noplot", f"--output={folder}"]) == 0
  return folder / "run.safetensors"


def test_sizes_of_leduc(dealt):
  """936 infostates by OpenSpiel; 468 up to names of suits; 6 boards, 3 up to names of suits."""
  sizes = measure(dealt.betting, dealt.deal)
  assert (sizes.infostates, sizes.infostate_classes) == (936, 468)
  assert (sizes.boards[1], sizes.classes[1]) == (6, 3)


@pytest.mark.parametrize("of_run", [False, True])
def test_what_is_saved_is_read(of_run, dealt, run, tmp_path):
  made = make_abstraction(dealt, clusters=2, buckets="lossless")
  save_abstraction(tmp_path / "abstraction.safetensors", made)
  found = load_abstraction(run if of_run else tmp_path / "abstraction.safetensors", dealt)
  assert found.count == 2 and (found.clusters == made.clusters).all()
  assert found.facts()["clusters"] == "2, each of 1 to 2 boards up to names of suits"
  assert all((x == y).all() for x, y in zip(found.buckets, made.buckets, strict=True))


def test_a_hand_is_found(dealt):
  """The same hand under other names of suits is in the same bucket; a pair is not with a single card."""
  found, places = make_abstraction(dealt, clusters=2, buckets="lossless"), []
  for hand, board in (("2c", "3d"), ("2d", "3c"), ("3d", "3c")):
    hand, board = dealt.deal.deck.find(hand), dealt.deal.deck.find(board)
    places.append(found.find(dealt.deal.seen(hand, board)))
  assert places[0] == places[1] and places[0][0] == places[2][0] and places[0] != places[2]


def test_cards_that_no_round_has(dealt):
  with pytest.raises(ValueError, match="Expected 0, 1 public cards, got 2"):
    dealt.deal.seen([0], [2, 4])
  with pytest.raises(ValueError, match="Expected a hand of 1"):
    dealt.deal.seen([], [2])


def test_a_file_knows_its_clustered_round(tmp_path, capsys):
  """A cluster of boards of two cards, none after the first card."""
  game, file = poker(3, 2, 1, "0 1 1", raises=1), tmp_path / "abstraction.safetensors"
  dealt = card_game(pyspiel.load_game(game))
  made = make_abstraction(dealt, clusters=2, buckets=2, clustered_round=2)
  assert "boards up to names of suits, after the cards of round 2" in made.facts()["clusters"]
  save_abstraction(file, made)
  for board, cluster in ((["3c"], {-1}), (["3c", "4d"], {0, 1})):
    hand, shown = dealt.deal.deck.find("2c"), dealt.deal.deck.find("".join(board))
    assert load_abstraction(file, dealt).find(dealt.deal.seen(hand, shown))[0] in cluster
  solve = [f"--abstraction={file}", "--solver=hierarchical", "--iterations=2", "--noplot", "--quiet"]
  assert program.run(["solve", game, *solve, f"--output={tmp_path}"]) == 0
  words = ["solve", "leduc_poker", "--solver=hierarchical", f"--abstraction={file}"]
  assert program.run([*words, f"--output={tmp_path / 'leduc'}"]) == 2
  assert "is an abstraction of universal_poker" in capsys.readouterr().err
  with pytest.raises(ValueError, match="The abstraction is one of universal_poker"):
    HierarchicalMCCFRSolver(LEDUC, abstraction=from_file(storage.read(file)))


def test_more_clusters_than_boards(dealt):
  with pytest.raises(ValueError, match="there are only 3 boards"):
    make_abstraction(dealt, 4)
