"""PHH files: PokerKit plays them to the same stacks, and they are read as they were written."""

import re
import sys
from decimal import Decimal

import numpy as np
import pokerkit
import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from ps_cfr_spiel import matches
from ps_cfr_spiel.apps.commands import program
from ps_cfr_spiel.apps.protocols import Hand, hand_of, read_hands, result, write_hands
from ps_cfr_spiel.apps.protocols.hand_records import possible_wins


@pytest.mark.parametrize(
  "game_string",
  [
    "holdem(stack=2000)",
    "holdem(stack=1000,blinds=10/5,bets=0.5 1 a)",
    "holdem(stack=9,blinds=2/1,bets=fullgame)",
  ],
)
def test_pokerkit_plays_what_is_written(game_string, tmp_path):
  game, path = pyspiel.load_game(game_string), tmp_path / "match.phhs"
  records = matches.play_games(game, matches.player("random"), matches.player("random", 1), 30, seed=3)
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


def test_folds_one_chip_short_of_a_call(tmp_path):
  """At blinds of 2 and 1, where a fold leaves one chip less in the pot, and PokerKit ends the hand."""
  game, path = pyspiel.load_game("holdem(stack=400,blinds=2/1,bets=fullgame)"), tmp_path / "one.phhs"
  hole, names = ("AsKd", "QhQd"), ("ours", "theirs")
  hands = [
    Hand(0, (1,), hole, "", 1.0),
    Hand(1, (2, 4, 4, 6, 4), hole, "2c3c4c", -4.0),
    Hand(0, (2, 2, 4, 2), hole, "2c3c4c", 2.0),
  ]
  write_hands(path, game, hands, names)
  with open(path, "rb") as file:
    ends = [[*history][-1] for history in pokerkit.HandHistory.load_all(file)]
  assert [end.status for end in ends] == [False] * 3
  assert [end.payoffs[hand.seat] for end, hand in zip(ends, hands, strict=True)] == [h.won for h in hands]
  assert [hand for _, hand in read_hands(path, "ours")] == hands


# Real hands have unequal stacks, and cents


def hand_file(folder, **fields):
  """A file with one hand, two tens against ace-king all-in before the flop, with these fields."""
  content = {
    "variant": "NT",
    "antes": [0, 0],
    "blinds_or_straddles": [5, 10],
    "min_bet": 10,
    "starting_stacks": [Decimal("1284.44"), Decimal("2043.58")],
    "actions": [
      *("d dh p1 AsKd", "d dh p2 ThTd", "p2 cbr 30.50", "p1 cbr 90", "p2 cbr 2043.58", "p1 cc"),
      *("d db 2c3c4c", "d db 5h", "d db 9d", "p1 sm AsKd", "p2 sm ThTd"),
    ],
    "players": ["Anna", "Bert"],
    **fields,
  }
  path = folder / "one.phh"
  path.write_text("".join(f"{name} = {toml(value)}\n" for name, value in content.items()))
  return path


def toml(value):
  if isinstance(value, list):
    return f"[{', '.join(map(toml, value))}]"
  return repr(value) if isinstance(value, str) else str(value).lower().replace("infinity", "inf")


def test_hands_of_unequal_stacks_with_cents(tmp_path):
  """They are played for the smaller stack, in cents; the rest of a larger bet comes back. A wheel wins."""
  path = hand_file(tmp_path)
  ((game, hand),) = read_hands(path, "Bert")
  assert str(game) == "holdem(bets=fullgame,blinds=1000/500,deck=13x4,stack=128444)"
  assert hand == Hand(1, (3050, 9000, 128444, 128444), ("AsKd", "ThTd"), "2c3c4c5h9d", -128444.0)
  with open(path, "rb") as file:
    *_, end = pokerkit.HandHistory.load(file)
  assert end.payoffs == [Decimal("1284.44"), Decimal("-1284.44")]
  stacks = [Decimal("2568.88"), Decimal("759.14")]
  assert read_hands(hand_file(tmp_path, finishing_stacks=stacks), "Bert") == [(game, hand)]
  whole = [Decimal("700.00"), Decimal("900.0")]
  actions = ["p2 cbr 900.0", "p1 f"]
  ((game, hand),) = read_hands(hand_file(tmp_path, starting_stacks=whole, actions=actions))
  assert str(game).endswith("blinds=10/5,deck=13x4,stack=700)") and hand == Hand(
    0, (700, 10), ("", ""), "", -10
  )


def test_random_hands_of_unequal_stacks(tmp_path):
  """PokerKit plays both stacks by random moves and writes them; we read the same results, in cents."""
  rng = np.random.default_rng(5)
  for _ in range(25):
    stacks = [Decimal(int(n)) / 100 for n in rng.integers(2500, 40000, 2)]
    blank = {"variant": "NT", "antes": [0, 0], "blinds_or_straddles": [5, 10], "min_bet": 10}
    game = pokerkit.HandHistory(**blank, starting_stacks=stacks, actions=[]).create_game()
    state = game(stacks, 2)
    deck = [f"{rank}{suit}" for rank in "23456789TJQKA" for suit in "cdhs"]
    rng.shuffle(deck)
    for player in range(2):
      state.deal_hole(deck.pop() + deck.pop(), player)
    while state.status:
      if state.can_burn_card():
        state.burn_card("??")
      elif state.can_deal_board():
        state.deal_board("".join(deck.pop() for _ in range(state.board_dealing_count)))
      elif state.actor_index is not None:
        least = state.min_completion_betting_or_raising_to_amount
        most = state.max_completion_betting_or_raising_to_amount
        kind = rng.random()
        if kind < 0.1 and state.can_fold():
          state.fold()
        elif kind < 0.5 and state.can_complete_bet_or_raise_to():
          more = int(rng.integers(int(100 * (most - least)) + 1)) * (rng.random() < 0.4)
          state.complete_bet_or_raise_to(min(least + Decimal(more) / 100, most))
        else:
          state.check_or_call()
      else:
        state.show_or_muck_hole_cards(True)
    path = tmp_path / "one.phh"
    written = pokerkit.HandHistory.from_game_state(
      game, state, **blank, finishing_stacks=list(state.stacks), players=["Anna", "Bert"]
    )
    path.write_text(written.dumps())
    for seat, name in enumerate(written.players):
      ((_, hand),) = read_hands(path, name)
      assert (hand.seat, hand.won) == (seat, 100 * state.payoffs[seat])


def test_other_games_in_a_file(tmp_path):
  """Files of card rooms mix tables: others than of two players are refused, or left out when asked for."""
  path = hand_file(tmp_path)
  text = path.read_text()
  three = (
    text.replace("[0, 0]", "[0, 0, 0]").replace("[5, 10]", "[5, 10, 0]").replace("2043.58]", "2043.58, 90]")
  )
  (tmp_path / "all.phhs").write_text(f"[1]\n{three}\n[2]\n{text}\n[3]\n{text.replace('NT', 'PO')}")
  with pytest.raises(ValueError, match=r"all.phhs, hand 1: expected variant NT with two players, got 'NT'"):
    read_hands(tmp_path / "all.phhs")
  assert read_hands(tmp_path / "all.phhs", skip_other_games=True) == read_hands(path)


@pytest.mark.parametrize(
  ("fields", "message"),
  [
    ({"finishing_stacks": [Decimal("2568.88"), 759]}, "p1 has won +1284.44 from the other player"),
    ({"finishing_stacks": [Decimal("1284.44"), Decimal("2043.58")]}, "p1 has won +1284.44"),
    ({"finishing_stacks": [0, Decimal("3328.02")]}, "p1 has won +1284.44"),
    ({"finishing_stacks": [900050, 0]}, "p1 has won +1284.44"),
    (
      {"finishing_stacks": [Decimal("nan"), Decimal("nan")]},
      "finishing_stacks has NaN; expected numbers",
    ),
    ({"finishing_stacks": [Decimal("inf"), 0]}, "expected numbers"),
    ({"finishing_stacks": [3328]}, "expected amounts of two players"),
    ({"starting_stacks": [10**20, 10**20]}, "expected 0 to 21,474,836, in whole cents"),
    ({"starting_stacks": [Decimal("1E+999999999"), 5]}, "expected 0 to 21,474,836, in whole cents"),
    ({"starting_stacks": [-5, 900]}, "expected 0 to 21,474,836, in whole cents"),
    ({"starting_stacks": [True, 900]}, "expected numbers"),
    ({"starting_stacks": [Decimal("900.001"), 900]}, "in whole cents"),
    ({"starting_stacks": [8, 900]}, "must be more than the big blind"),
    ({"actions": ["d dh p1 AsAs", "d dh p2 ThTd", "p2 f"]}, "hand 1: "),
    (
      {"actions": ["p2 cbr 30.505"]},
      "actions has 30.505; expected 0 to 21,474,836, in whole cents",
    ),
    ({"actions": ["p2 cbr nan"]}, "hand 1: "),
    ({"actions": [3]}, "hand 1: "),
    ({"actions": ["p2 cc", "p1 cc", "p1 cc"]}, "'p1 cc': "),
    ({"actions": ["p2 cc"], "finishing_stacks": [0, 0]}, "by which p1 has won nothing before the end"),
  ],
)
def test_hands_that_cannot_be_are_refused(tmp_path, fields, message):
  with pytest.raises(ValueError, match=r"^[^\n]*one.phh, hand 1: [^\n]{,500}$") as error:
    read_hands(hand_file(tmp_path, **fields))
  assert message in str(error.value)


def test_a_chopped_board_is_won_by_nobody(tmp_path):
  """Both play the straight of the board, whatever the stacks at the end say."""
  actions = ["d dh p1 2s2d", "d dh p2 3s3d", "p2 cbr 100", "p1 cc", "d db TcJdQh", "p1 cc", "p2 cc"]
  actions += ["d db Kd", "p1 cc", "p2 cc", "d db Ah", "p1 cc", "p2 cc", "p1 sm 2s2d", "p2 sm 3s3d"]
  fields = {"actions": actions, "starting_stacks": [20000, 20000]}
  ((_, hand),) = read_hands(hand_file(tmp_path, **fields))
  assert hand.won == 0
  assert read_hands(hand_file(tmp_path, **fields, finishing_stacks=[20000, 20000]))[0][1] == hand
  for stacks in ([20100, 19900], [20100, 20100]):
    with pytest.raises(ValueError, match=r"p1 has won \+0 from the other player"):
      read_hands(hand_file(tmp_path, **fields, finishing_stacks=stacks))


def test_without_pokerkit(monkeypatch, tmp_path, capsys):
  """A clear line, and before a match begins."""
  monkeypatch.setitem(sys.modules, "pokerkit", None)
  path = hand_file(tmp_path)
  with pytest.raises(ModuleNotFoundError, match=r"need PokerKit: run pip install 'ps_cfr_spiel\[hands\]'"):
    read_hands(path)
  with pytest.raises(ModuleNotFoundError, match="need PokerKit"):
    write_hands(path, pyspiel.load_game("holdem"), [])
  assert program.run(["match", "fold", "fold", "--hands=100000000", f"--phh={path}"]) == 2
  assert "error: Hand histories need PokerKit" in capsys.readouterr().err


def test_results_of_unknown_cards(tmp_path):
  """A hand that is mucked has no result, and none is counted."""
  actions = ["d dh p1 AsKd", "d dh p2 ????", "p2 cc", "p1 cc", "d db 2c3c4c", "p1 cc", "p2 cc", "d db 5h"]
  actions += ["p1 cc", "p2 cc", "d db 9d", "p1 cc", "p2 cc", "p1 sm AsKd", "p2 sm ????"]
  ((_, hand),) = read_hands(hand_file(tmp_path, actions=actions))
  assert hand.won is None and hand.holes == ("AsKd", "")
  with pytest.raises(ValueError, match="Hand 1 has no result: leave out hands"):
    result([hand])


def test_names_of_players(tmp_path):
  """Words of a command line, of any characters."""
  game, path = pyspiel.load_game("holdem"), tmp_path / "one.phhs"
  folded = Hand(1, (50,), ("AsKd", "QhQd"), "", -50.0)
  for name in ("it's", "'", '"', "a\\b", "v1.5/run.safetensors", "é", "''"):
    write_hands(path, game, [folded], (name, "other"))
    assert [hand for _, hand in read_hands(path, name)] == [folded]
    assert str(read_hands(path)[0][0]).endswith("stack=20000)")
  for name in ("a\nb", "'''", "\udcff"):
    write_hands(path, game, [folded], (name, "other"))
    assert read_hands(path, "other")[0][1] == folded._replace(seat=0, won=50.0)


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
    ("variant = 'NT'", "variant = 'PO'", "expected variant NT with two players"),
    ("[50, 100]", "[50, 100, 0]", "blinds_or_straddles is [50, 100, 0]; expected amounts of two players"),
    ("antes = [0, 0]", "antes = [5, 5]", "no antes"),
    ("min_bet = 100", "min_bet = 50", "a min_bet of the big blind"),
    ("p2 cbr 300", "p1 cbr 300", "'p1 cbr 300': "),
    ("p2 cbr 300", "p2 cbr 150", "'p2 cbr 150': 'The amount 150 is below the minimum allowed 200.'"),
    ("p2 cbr 300", "p2 jump", "'p2 jump': "),
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
  save_file({"regrets": np.zeros(3)}, tmp_path / "run.safetensors")
  with pytest.raises(FileExistsError, match="It holds a run or other arrays"):
    write_hands(tmp_path / "run.safetensors", game, [folded])
  assert load_file(tmp_path / "run.safetensors")["regrets"].tolist() == [0, 0, 0]


VALUES = [
  "[0, 0]",
  "[]",
  "nan",
  "-1",
  "[1e999, 2]",
  "[20100, 19900]",
  "'NT'",
  "{}",
  "true",
  "00:01:02",
  "[[[]]]",
]
WORDS = [
  "p1",
  "p2",
  "p3",
  "d",
  "dh",
  "db",
  "f",
  "cc",
  "cbr",
  "sm",
  "-",
  "????",
  "300",
  "nan",
  "99.995",
  "AsKd",
  "é",
]


@settings(max_examples=20 * settings().max_examples)
@given(st.data())
def test_changed_files_are_refused_or_hands_of_the_game(tmp_path_factory, data):
  """In one line; a hand that is read has a result by its cards."""
  folder = tmp_path_factory.getbasetemp()
  lines = hand_file(folder).read_text().splitlines()
  for _ in range(data.draw(st.integers(1, 2))):
    number = data.draw(st.integers(0, len(lines) - 1))
    name, _, value = lines[number].partition(" = ")
    if name == "actions" and data.draw(st.booleans()):
      words = value.split(" ")
      words[data.draw(st.integers(0, len(words) - 1))] = data.draw(
        st.sampled_from(WORDS)
      ) + "', '" * data.draw(st.booleans())
      value = " ".join(words)
    else:
      value = data.draw(st.sampled_from(VALUES))
    lines[number] = f"{name} = {value}"
  if data.draw(st.booleans()):
    lines.append(f"finishing_stacks = {data.draw(st.sampled_from(VALUES))}")
  (folder / "one.phh").write_text("\n".join(lines))
  try:
    ((game, hand),) = read_hands(folder / "one.phh")
  except ValueError as error:
    assert re.search(r"^[^\n]*one.phh(, hand 1: | is no PHH file: )[^\n]{1,600}$", str(error))
    return
  assert hand.won in (None, *possible_wins(game, hand))
