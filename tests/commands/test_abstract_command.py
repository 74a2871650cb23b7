"""The command abstract: sizes, a saved abstraction, where a hand is, mistakes."""

import json

import pyspiel
import pytest
from dealt_games import poker

from ps_cfr_spiel import storage
from ps_cfr_spiel.abstractions import HierarchicalMCCFRSolver
from ps_cfr_spiel.commands import program
from ps_cfr_spiel.hierarchical import (
  DealtGame,
  from_file,
  load_abstraction,
  make_abstraction,
  save_abstraction,
)

GAME = "leduc_poker"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
  folder = tmp_path_factory.mktemp("abstraction")
  words = [GAME, "--clusters=2", "--buckets=lossless", "--quiet", f"--output={folder}"]
  assert program.run(["abstract", *words]) == 0
  return folder


def test_sizes_come_before_the_work(capsys):
  assert program.run(["abstract", GAME, "--sizes", "--buckets=2"]) == 0
  told = capsys.readouterr().out
  assert "936, 468 up to names of suits" in told and "6, 3 up to names of suits" in told
  assert "3 x 2 buckets" in told  # all boards, fewer than 60
  assert program.run(["abstract", GAME, "--sizes", "--json"]) == 0
  assert json.loads(capsys.readouterr().out)["infostates"] == 936


def test_what_is_saved_is_read(folder):
  dealt = DealtGame.of(pyspiel.load_game(GAME))
  found, made = load_abstraction(folder / "abstraction.npz", dealt), make_abstraction(dealt, 2, "lossless")
  assert found.count == 2 and (found.clusters == made.clusters).all()
  assert found.facts()["clusters"] == "2, each of 1 to 2 boards up to names of suits"
  assert all((x == y).all() for x, y in zip(found.buckets, made.buckets, strict=True))


def test_hands_are_told_apart_as_asked(tmp_path):
  game = (
    "universal_poker(betting=limit,numRounds=3,blind=1 2,raiseSize=2 4 4,firstPlayer=1 1 1,"
    "maxRaises=1 1 1,numSuits=2,numRanks=3,numHoleCards=1,numBoardCards=0 1 1,stack=20 20)"
  )
  dealt = DealtGame.of(pyspiel.load_game(game))
  for aware in ("potential", "distribution"):
    words = [game, "--clusters=1", "--buckets=3", f"--aware={aware}", "--quiet", f"--output={tmp_path}"]
    assert program.run(["abstract", *words]) == 0
    found = load_abstraction(tmp_path / "abstraction.npz", dealt)
    made = make_abstraction(dealt, 1, 3, aware=aware)
    assert all((x == y).all() for x, y in zip(found.buckets, made.buckets, strict=True))


def test_a_hand_is_found(folder, capsys):
  """The same hand under other names of suits is in the same bucket; a pair is not with a single card."""
  places = []
  for hand, board in (("2c", "3d"), ("2d", "3c"), ("3d", "3c")):
    words = [
      "abstract",
      GAME,
      f"--abstraction={folder}/abstraction.npz",
      f"--hand={hand}",
      f"--board={board}",
    ]
    assert program.run([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    places.append((found["cluster"], found["bucket"]))
  assert places[0] == places[1] and places[0][0] == places[2][0] and places[0] != places[2]


def test_a_file_knows_its_special_round(tmp_path, capsys):
  """A cluster of boards of two cards, none after the first card."""
  game, file = poker(3, 2, 1, "0 1 1", raises=1), tmp_path / "abstraction.npz"
  words = ["--clusters=2", "--buckets=2", "--special=2", f"--output={tmp_path}"]
  assert program.run(["abstract", game, *words]) == 0
  assert "boards up to names of suits, after the cards of round 2" in capsys.readouterr().out
  for board, cluster in (("3c", {-1}), ("3c4d", {0, 1})):
    look = [f"--abstraction={file}", "--hand=2c", f"--board={board}", "--json"]
    assert program.run(["abstract", game, *look]) == 0
    assert json.loads(capsys.readouterr().out)["cluster"] in cluster
  solve = [f"--abstraction={file}", "--solver=hierarchical", "--iterations=2", "--noplot", "--quiet"]
  assert program.run(["solve", game, *solve, f"--output={tmp_path}"]) == 0
  with pytest.raises(
    ValueError, match=r"clusters the boards of round 2; give DealtGame.of this round, not 1"
  ):
    load_abstraction(file, DealtGame.of(pyspiel.load_game(game)))
  assert program.run(["abstract", "leduc_poker", f"--abstraction={file}"]) == 2
  assert "is an abstraction of universal_poker" in capsys.readouterr().err
  with pytest.raises(ValueError, match="The abstraction is one of universal_poker"):
    HierarchicalMCCFRSolver(pyspiel.load_game("leduc_poker"), abstraction=from_file(storage.read(file)))


@pytest.mark.parametrize(
  ("words", "message"),
  [
    (
      [GAME, "--sizes", "--special=2"],
      "special=2: public cards come before rounds 1 to 1; give one of these",
    ),
    ([], "abstract needs a game"),
    (["kuhn_poker"], "expected universal_poker for two"),
    ([GAME, "--clusters=4"], "there are only 3 boards"),
    ([GAME, "--buckets=many"], "expected a number of at least 1, or lossless"),
    ([GAME, "--hand=9s"], "expected different cards of the 6 of 234 and cd"),
    ([GAME, "--hand=2c", "--board=2c"], "expected different cards"),
    ([GAME, "--hand=2c", "--board=3c4c"], "Expected 0, 1 public cards, got 2"),
    ([GAME, "--hand=", "--board=2c"], "Expected a hand of 1"),
    ([GAME, "--board=2c3c", "--png=x"], "Expected 0, 1 public cards, got 2"),
    ([GAME, "--board=2c"], "--board=2c is for --hand or --png"),
    ([GAME, "--png=no_such_folder/a.png"], "Cannot write to the folder 'no_such_folder'"),
    ([GAME, "--png=clusters.0"], "--png=clusters.0: pictures end in one of .png, .svg"),
    ([GAME, "--abstraction=nothing.npz"], "nothing.npz: No such file"),
  ],
)
def test_mistakes(words, message, capsys, tmp_path, monkeypatch):
  """And nothing is clustered before they are found."""
  monkeypatch.chdir(tmp_path)
  assert program.run(["abstract", *words, "--quiet"]) == 2
  assert message in capsys.readouterr().err
  assert not any(path.is_file() for path in tmp_path.rglob("*"))


def test_an_abstraction_of_another_game(tmp_path, capsys):
  small = pyspiel.load_game(
    "universal_poker(betting=limit,numPlayers=2,numRounds=2,blind=1 2,raiseSize=2 4,firstPlayer=1 1,"
    "maxRaises=1 1,numSuits=2,numRanks=3,numHoleCards=1,numBoardCards=0 1,stack=20 20)"
  )
  save_abstraction(tmp_path / "small.npz", make_abstraction(DealtGame.of(small), 2, "lossless"))
  assert program.run(["abstract", GAME, f"--abstraction={tmp_path}/small.npz"]) == 2
  assert "is an abstraction of universal_poker" in capsys.readouterr().err
