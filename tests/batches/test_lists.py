"""Situations that users write, and the table of what was found."""

import csv
import json

import numpy as np
import pytest

from ps_cfr_spiel.batches import Solution, read_boards, read_list, write_list
from ps_cfr_spiel.cards.poker import cards

ROWS = (
  {"board": "Ks7d2c5h9s", "pot": 20, "stack": 30, "bets": "a", "ranges": "AA KQs;TT+"},
  {"board": "Qs7d2c5h9s", "pot": 40, "stack": 60, "bets": "0.5 a", "ranges": "uniform"},
)


def csv_text(rows):
  lines = [",".join(ROWS[0]), *(",".join(map(str, row.values())) for row in rows)]
  return "\n".join(lines) + "\n"


def test_both_kinds_of_file_say_the_same(tmp_path):
  table, lines = tmp_path / "spots.CSV", tmp_path / "spots.jsonl"
  table.write_text("\ufeff" + csv_text(ROWS), encoding="utf-8")
  lines.write_text("\n\n".join(map(json.dumps, ROWS)))
  (rivers, ranges), (others, _) = read_list(table), read_list(lines)
  assert ranges == ["AA KQs;TT+", "uniform"]
  for mine, other, row in zip(rivers, others, ROWS, strict=True):
    assert mine[:4] == other[:4] and np.array_equal(mine.ranges, other.ranges)
    assert (cards.card_names(mine.board), mine.pot, mine.stack - mine.pot // 2, mine.bets) == tuple(
      row.values()
    )[:4]


def test_only_the_board_is_needed(tmp_path):
  path = tmp_path / "boards.csv"
  path.write_text("board\n9s7c5s4h3c\n")
  ((river,), _) = read_list(path)
  assert (river.pot, river.stack, river.bets) == (200, 20000, "fcpa") and (river.ranges > 0).sum() == 2162


@pytest.mark.parametrize(
  ("name", "text", "message"),
  [
    ("x.csv", csv_text([*ROWS, {**ROWS[0], "board": "9s9s"}]), r"x\.csv, line 4: board='9s9s'"),
    ("x.csv", csv_text(ROWS) + "9s7c5s4h3c,20\n", r"line 4: must have the fields of the first line"),
    ("x.csv", "board,blind\n9s7c5s4h3c,2\n", r"line 2: unknown field 'blind'"),
    ("x.csv", "board\n", "the file has no situations"),
    ("x.csv", "board,pot, pot\n9s7c5s4h3c,20,40\n", r"x\.csv, line 1: 'pot' is the name of two columns"),
    ("x.jsonl", '\n{"board": "9s7c5s4h3c", "pot": 20, "pot": 40}', "line 2: 'pot' is given twice, 20 and 40"),
    ("x.jsonl", '{"board": "9s7c5s4h3c"}\n{"board": ', r"line 2: not JSON"),
    ("x.jsonl", "[1]", r"line 1: must be an object"),
    ("x.jsonl", '{"board": "9s7c5s4h3c", "pot": "x"}', r"line 1: pot='x'"),
    ("x.jsonl", "[" * 100_000, r"x\.jsonl, line 1: not JSON: maximum recursion"),
    ("x.jsonl", '{"board": null}', r"x\.jsonl, line 1: no board"),
    ("x.jsonl", '{"board": "9s7c5s4h3c", "bets": 0.5}', r"x\.jsonl, line 1: bets=0\.5"),
    ("x.csv", "board\n" + "9" * 200_000, r"x\.csv: field larger than"),
    ("x.txt", "", r"must end in \.csv"),
  ],
)
def test_mistakes_are_named_by_line(tmp_path, name, text, message):
  (tmp_path / name).write_text(text)
  with pytest.raises(ValueError, match=message):
    read_list(tmp_path / name)


def test_table(tmp_path):
  lines = tmp_path / "spots.jsonl"
  lines.write_text("\n".join(map(json.dumps, ROWS)))
  rivers, ranges = read_list(lines)
  values = (np.zeros(1326), np.zeros(1326))
  found = [Solution(-(k + 1) / 3, (k, 0.25), 0.5, 10 + k, values, None, None) for k in (0, 1)]
  write_list(tmp_path / "found.csv", rivers, ranges, found)
  with open(tmp_path / "found.csv", newline="") as file:
    rows = list(csv.DictReader(file))
  assert [{name: row[name] for name in ROWS[0]} for row in rows] == [
    {name: str(value) for name, value in row.items()} for row in ROWS
  ]
  assert [row["value_0"] for row in rows] == ["-0.333333", "-0.666667"]
  assert [row["value_1"] for row in rows] == ["0.333333", "0.666667"]
  assert [row["percent_of_pot"] for row in rows] == ["2.5", "1.25"]
  assert [row["iterations"] for row in rows] == ["10", "11"]


def test_a_raked_river_has_a_value_for_each_player(tmp_path):
  lines = tmp_path / "spots.csv"
  lines.write_text("board,rake,cap\n9s7c5s4h3c,5%,3\n9s7c5s4h3c,,\n")
  rivers, ranges = read_list(lines)
  assert [(river.rake, river.cap) for river in rivers] == [("5%", 3), ("0%", 0)]
  values = (np.zeros(1326), np.zeros(1326))
  solved = [Solution(1.0, (1, 1), 0.5, 10, values, None, None, None, others) for others in ((-4.0,), None)]
  write_list(tmp_path / "table.csv", rivers, ranges, solved)
  with open(tmp_path / "table.csv", newline="") as file:
    rows = list(csv.DictReader(file))
  assert [[row[name] for name in ("rake", "cap", "value_0", "value_1")] for row in rows] == [
    ["5%", "3", "1", "-4"],
    ["0%", "0", "1", "-1"],
  ]
  lines.write_text("board,rake\n9s7c5s4h3c,500%\n")
  with pytest.raises(ValueError, match="line 2: rake='500%'"):
    read_list(lines)


def test_as_poker_players_write(tmp_path):
  path = tmp_path / "spots.csv"
  path.write_text('board,bets,ranges\n"Ks, 7d, 2c, 5h, 9s","50%, a","AA, KQs:0.5; TT+"\n')
  (found,), _ = read_list(path)
  path.write_text("board,bets,ranges\nKs7d2c5h9s,50% a,AA KQs:0.5;TT+\n")
  (expected,), _ = read_list(path)
  assert found.board == expected.board and found.bets == expected.bets
  np.testing.assert_array_equal(found.ranges, expected.ranges)


@pytest.mark.parametrize(
  ("name", "text"),
  [
    ("boards.csv", 'board,weight\nKs7d2c,4\n"9h, 9d, 9c",1\n'),
    ("boards.txt", "Ks 7d 2c : 4\n\n9h9d9c\n"),
  ],
)
def test_lists_of_boards(tmp_path, name, text):
  (tmp_path / name).write_text(text)
  found = [(cards.card_names(board), weight) for board, weight in read_boards(tmp_path / name)]
  assert found == [("Ks7d2c", 4), ("9h9d9c", 1)]


@pytest.mark.parametrize(
  ("name", "text", "message"),
  [
    ("x.txt", "Ks7d2c\nKs7d2\n", r"x\.txt, line 2: board='Ks7d2'"),
    ("x.txt", "Ks7d2c\n2c7dKs:3\n", r"line 2: board='2c7dKs': listed twice"),
    ("x.txt", "Ks7d2c:0", r"line 1: weight='0': must be a number above 0"),
    ("x.txt", "Ks7d2c:much", r"line 1: weight='much'"),
    ("x.txt", "Ks7d2c\nKs7d2c5h\n", r"line 2: .*a flop board has 3 different cards"),
    ("x.txt", "\n", "no boards"),
    ("x.csv", "board,weight,weight\nKs7d2c,1,3\n", r"x\.csv, line 1: 'weight' is the name of two columns"),
    ("x.csv", "weight\n1\n", "line 1: got weight; must name the fields"),
    ("x.csv", "Ks7d2c\n9s7c5s\n", r"line 1: got Ks7d2c; must name the fields, such as board,weight"),
    ("x.csv", "board,pot\nKs7d2c,3\n", r"line 2: unknown field 'pot'; the fields are board and weight"),
  ],
)
def test_mistakes_in_lists_of_boards(tmp_path, name, text, message):
  (tmp_path / name).write_text(text)
  with pytest.raises(ValueError, match=message):
    read_boards(tmp_path / name)
