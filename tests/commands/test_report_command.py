"""The command `report`: rows against single solves, and what is left after an interruption."""

import csv
import json
import signal
import subprocess
import sys

import pytest

import ps_cfr_spiel
from ps_cfr_spiel.apps.commands import program, report
from ps_cfr_spiel.apps.commands.framework.shared_table import SharedTable
from ps_cfr_spiel.apps.views import spot
from ps_cfr_spiel.cards.poker import cards, holdem, next_boards, representatives

SPOT = {"pot": "20", "stack": "30", "bets": "a", "ranges": "AA:0.5, KK, 76s; QQ, A9s"}
FLAGS = [f"--{name}={value}" for name, value in SPOT.items()]


def run(capsys, *words):
  code = program.run([str(word) for word in words])
  return (code, *capsys.readouterr())


def rows_of(path):
  with open(path, newline="", encoding="utf-8") as file:
    return list(csv.DictReader(file))


def mean(rows, name, weights):
  """The mean of a column of a policy's rows."""
  return sum(w * row[name] for row, w in zip(rows, weights, strict=True)) / sum(weights)


@pytest.mark.parametrize(
  ("boards", "line", "tremble"),
  [("9s7c5s4h3c:2\nKs7d2c5h9s", "", 0), ("9s7c5s4h3c", "x", 1), ("9s7c5s4h", "", 0)],
)
def test_rows_are_those_of_single_solves(tmp_path, capsys, boards, line, tremble):
  (tmp_path / "boards.txt").write_text(boards)
  words = [tmp_path / "boards.txt", *FLAGS, "--iterations=40", f"--at={line}", f"--csv={tmp_path / 'x.csv'}"]
  words.append(f"--tremble={tremble}")
  code, out, _ = run(capsys, "report", *words, "--json")
  assert code == 0 and json.loads(out)["boards"] == len(boards.split())
  _, shown, _ = run(capsys, "report", *words, f"--html={tmp_path / 'x.html'}")
  assert ("local regret" in (tmp_path / "x.html").read_text()) == bool(tremble)
  for text, row in zip(boards.split(), rows_of(tmp_path / "x.csv"), strict=True):
    board, _, weight = text.partition(":")
    assert (row["board"], row["weight"]) == (board, weight or "1")
    solver = ps_cfr_spiel.PSCFRSolver(holdem(board, **SPOT), tremble=tremble)
    solver.run(40)
    policy = solver.average_policy()
    here = spot(policy, line)
    assert (row["line"], row["moves"]) == (line, "Check" if line else "")
    found = {name: float(row[name]) for name in row if name not in ("board", *report.GIVEN)}
    assert found["percent_of_pot"] == pytest.approx(5 * solver.exploitability(), rel=1e-4)
    assert found["iterations"] == 40
    if tremble:
      losses = ps_cfr_spiel.measures.local_regrets(policy.game, policy, solver.tree).losses()
      regrets = [found[f"{name}_local_regret_percent_of_pot"] for name in ("mean", "worst")]
      assert regrets == pytest.approx([5 * losses.mean, 5 * losses.worst], rel=1e-4)
      assert len(boards.split()) > 1 or f"mean {regrets[0]:.3g}%, worst {regrets[1]:.3g}% of the pot" in shown
    else:
      assert not any("local" in name for name in found)
    everything = policy.to_rows([here.public_state])
    come = {r["infostate"]: r["reach"] * r["others_reach"] for r in everything}
    evs = [0.0, 0.0]
    for name in here.actions:
      rows = [r for r in everything if r["action_name"] == name]
      weights = [come[r["infostate"]] for r in rows]
      often = [w * r["probability"] for w, r in zip(weights, rows, strict=True)]
      assert found[name] == pytest.approx(mean(rows, "probability", weights), rel=1e-4, abs=1e-6)
      assert found[f"{name} EV"] == pytest.approx(mean(rows, "ev", often), rel=1e-4, abs=1e-4)
      evs[here.player] += mean(rows, "ev", often) * sum(often) / sum(weights)
      assert found[f"equity_{here.player}"] == pytest.approx(mean(rows, "equity", weights), rel=1e-4)
    if not line:
      evs = [10 + solver.value(), 10 - solver.value()]
      assert found["deals"] == pytest.approx(float(weight or 1) * pairs(policy.game), rel=1e-5)
    else:
      evs[0] = 20 - evs[1]
      assert found["deals"] == pytest.approx(pairs(policy.game) * sum(come.values()), rel=1e-5)
    assert [found["ev_0"], found["ev_1"]] == pytest.approx(evs, rel=1e-4, abs=1e-3)


def pairs(game):
  first, second = game.ranges
  return first.weights @ game.disjoint @ second.weights


def test_a_killed_report_goes_on(tmp_path, capsys, monkeypatch):
  """After Ctrl-C, and with a row that is not whole; in the end the file is that of a single call."""
  (tmp_path / "boards.txt").write_text("Ks7d2c5h9s\n9s7c5s4h3c\nKs7d2c5h8s")
  words = ["report", tmp_path / "boards.txt", *FLAGS, "--iterations=10"]
  assert run(capsys, *words, f"--csv={tmp_path / 'whole.csv'}")[0] == 0
  append, file = SharedTable.append, tmp_path / "cut.csv"

  def pressed(table, names, texts):
    append(table, names, texts)
    if texts[0].startswith("9s"):
      raise KeyboardInterrupt

  monkeypatch.setattr(SharedTable, "append", pressed)
  code, out, _ = run(capsys, *words, f"--csv={file}")
  assert code == 130 and f"{file} has 2 of 3 boards; the same command continues it." in out
  monkeypatch.setattr(SharedTable, "append", append)
  file.write_bytes(file.read_bytes()[:-7])
  code, out, _ = run(capsys, *words, f"--csv={file}", f"--html={tmp_path / 'page.html'}")
  assert code == 0 and "average" in out
  assert file.read_bytes() == (tmp_path / "whole.csv").read_bytes()
  assert "<!doctype html>" in (tmp_path / "page.html").read_text()
  monkeypatch.setattr(SharedTable, "append", None)  # all is done
  assert run(capsys, *words, f"--csv={file}")[0] == 0
  code, _, error = run(capsys, *words, f"--csv={file}", "--stack=40")
  assert code == 2 and "is a report with stack '30', not '40'" in error
  (tmp_path / "boards.txt").write_text("Ks7d2c5h9s\n9s7c5s4h2c\nKs7d2c5h8s")
  code, _, error = run(capsys, *words, f"--csv={file}")
  assert code == 2 and "is a report on other boards" in error


HOLD = """
import pathlib, sys, time
from ps_cfr_spiel.apps.commands.framework.shared_table import SharedTable
with SharedTable(pathlib.Path(sys.argv[1])) as table, table.claim(0):
  print("held", flush=True)
  time.sleep(60)
"""


def test_a_board_of_a_killed_process_is_solved_by_another(tmp_path, capsys, monkeypatch):
  """Its lock goes with it; until then the other boards are solved, and this one last."""
  (tmp_path / "boards.txt").write_text("Ks7d2c5h9s\n9s7c5s4h3c")
  file = tmp_path / "x.csv"
  words = ["report", tmp_path / "boards.txt", *FLAGS, "--iterations=1"]
  assert run(capsys, *words, f"--csv={tmp_path / 'alone.csv'}")[0] == 0
  append, order = SharedTable.append, []
  with SharedTable(file) as late:
    (tmp_path / "x.csv.lock").unlink()  # as the last process does at its end
    with subprocess.Popen([sys.executable, "-c", HOLD, file], stdout=subprocess.PIPE) as other:
      assert other.stdout and other.stdout.readline() == b"held\n"
      with late.claim(0, wait=False) as mine:
        assert not mine

      def killed_after(table, names, texts):
        order.append((texts[0], other.poll()))
        append(table, names, texts)
        other.kill()

      monkeypatch.setattr(SharedTable, "append", killed_after)
      code, out, _ = run(capsys, *words, f"--csv={file}")
  assert code == 0 and "Boards to go: 1, at most " in out
  assert order == [("9s7c5s4h3c", None), ("Ks7d2c5h9s", -signal.SIGKILL)]
  assert sorted(file.read_text().splitlines()) == sorted((tmp_path / "alone.csv").read_text().splitlines())
  assert {path.name for path in tmp_path.iterdir()} == {"boards.txt", "alone.csv", "x.csv"}


def test_values_of_the_next_street_are_close_to_the_whole_solution(tmp_path, capsys):
  """Equities are equal, EVs within 3% of the pot, and frequencies those of the strategies, hand by hand."""
  pytest.importorskip("equinox")
  (tmp_path / "boards.txt").write_text("Ks7d2c9c:3")
  spot = {"pot": "100", "stack": "100", "bets": "a", "ranges": "AA:0.5, KK, 76s, QTs; TT+, A9s"}
  words = [tmp_path / "boards.txt", *(f"--{name}={value}" for name, value in spot.items())]
  for name, more in (("quick", ["--values=pretrained"]), ("whole", [])):
    words[1 + len(spot) :] = ["--iterations=100", f"--csv={tmp_path / name}.csv", *more]
    code, out, _ = run(capsys, "report", *words)
    assert code == 0 and ("then values: pretrained" in out) == bool(more)
    assert ("if the values are right" in out) == bool(more)
  (quick,), (whole,) = (rows_of(tmp_path / f"{name}.csv") for name in ("quick", "whole"))
  assert list(quick) == list(whole)
  for name, share in (("deals", 0), ("weight", 0), ("equity_0", 1e-4), ("ev_0", 3), ("ev_1", 3)):
    assert float(quick[name]) == pytest.approx(float(whole[name]), rel=1e-6, abs=share), name
  assert quick["All-in 100 EV"] == "" and "target=none, bits=32, values=pretrained" in quick["method"]
  words[1 + len(spot) :] = [f"--csv={tmp_path / 'alone.csv'}", "--values=pretrained"]
  assert run(capsys, "report", *words)[0] == 0
  (alone,) = rows_of(tmp_path / "alone.csv")
  assert float(alone["percent_of_pot"]) <= 0.5 and int(alone["iterations"]) < 100  # by --target=0.5%
  game = holdem("Ks7d2c9c", **spot)
  given = {"board": "Ks7d2c9c", **spot, "ranges": game.get_parameters()["ranges"]}
  values = ps_cfr_spiel.values.pretrained(game)
  (solution,) = ps_cfr_spiel.batches.solve_batch([given], iterations=100, values=values, progress=False)
  first, second = game.ranges
  assert solution.strategies and solution.hands
  come = first.weights * (game.disjoint @ second.weights)
  all_in = solution.strategies[0][0][1, 0][solution.hands[0].searchsorted(first.numbers)]
  assert float(quick["All-in 100"]) == pytest.approx(come @ all_in / come.sum(), rel=1e-3)


def test_a_report_that_began_meanwhile_keeps_its_file(tmp_path, capsys, monkeypatch):
  """Two reports of different methods in one file, at once: the later row is refused, not mixed in."""
  (tmp_path / "boards.txt").write_text("Ks7d2c5h9s")
  words = ["report", tmp_path / "boards.txt", *FLAGS]
  assert run(capsys, *words, "--iterations=1", f"--csv={tmp_path / 'first.csv'}")[0] == 0
  solve, first, file = report._to_the_end, (tmp_path / "first.csv").read_bytes(), tmp_path / "x.csv"

  def begun_meanwhile(*given):
    solved = solve(*given)
    file.write_bytes(first)
    return solved

  monkeypatch.setattr(report, "_to_the_end", begun_meanwhile)
  code, _, error = run(capsys, *words, "--iterations=2", f"--csv={file}")
  assert code == 2 and "x.csv is a report with method" in error and file.read_bytes() == first


def test_a_report_without_local_regrets_is_not_continued_with_them(tmp_path, capsys):
  """Whatever made the file: rows with more columns would be read wrongly."""
  (tmp_path / "boards.txt").write_text("Ks7d2c5h9s\n9s7c5s4h3c")
  file = tmp_path / "x.csv"
  words = ["report", tmp_path / "boards.txt", *FLAGS, "--iterations=1", f"--csv={file}"]
  assert run(capsys, *words)[0] == 0
  code, _, error = run(capsys, *words, "--tremble=1")
  assert code == 2 and "is a report with method" in error
  lines = file.read_text().replace("bits=32", "bits=32, tremble=1").splitlines(keepends=True)
  for rows in (lines, lines[:2]):  # finished or not
    file.write_text("".join(rows))
    code, _, error = run(capsys, *words, "--tremble=1")
    assert code == 2 and "is not a report of this command" in error and error.count("\n") == 1
    assert file.read_text() == "".join(rows)


def test_classes_of_turns_have_weights(tmp_path, capsys):
  """Of a flop of one suit, by the next card: a class has up to three boards, which are solved once."""
  ranges = "--ranges=AA, KK; QQ"
  words = ["report", "rivers", "--board=9s 7s 5s 2s", "--pot=20", "--stack=0", ranges, "--iterations=1"]
  assert run(capsys, *words, f"--csv={tmp_path / 'x.csv'}")[0] == 0
  rows = rows_of(tmp_path / "x.csv")
  assert sum(int(row["weight"]) for row in rows) == 48 and len(rows) == 9 + 13


@pytest.mark.parametrize(
  ("words", "message"),
  [
    ([], "report needs flops, turns, rivers or one file with boards; got 0 words"),
    (["turns"], "report turns needs --board with 3 cards"),
    (["turns", "--board=Ks7d2c5h"], "a flop board has 3 different cards"),
    (["flops", "--board=Ks7d2c"], "--board is not for a report on flops"),
    (["no-such.csv"], "no-such.csv"),
    (["list.txt", "--ranges=AsKs;QQ"], "list.txt: no hands of these ranges can be dealt on Ks7d2c5h9s"),
    (["list.txt", "--board=Ks7d2c"], "--board is not for the boards of list.txt"),
    (["list.txt", "--at=check, check"], "The game is over after Check, Check"),
    (["list.txt", "--at=jump"], "'jump' is not legal here"),
    (["list.txt", "--target=much"], "--target must be a number"),
    (["list.txt", "--csv=list.txt"], "--csv=list.txt would replace the file that is read"),
    (["list.txt", "--csv=other.csv"], "other.csv is not a report of this command"),
    (["list.txt", "--bets=big"], "unknown bet size"),
    (["list.txt", "--values=pretrained"], "rivers are solved to the end"),
    (["turns", "--board=Ks7d2c", "--values=pretrained", "--at=check"], "--at is not for --values"),
    (["turns", "--board=Ks7d2c", "--values=pretrained", "--bets=a / 50%"], "the bets of one street"),
  ],
)
def test_mistakes(words, message, capsys, tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  (tmp_path / "list.txt").write_text("Ks7d2c5h9s")
  (tmp_path / "other.csv").write_text("board,weight\n")
  code, _, error = run(capsys, "report", *words)
  assert code == 2 and message in error and error.count("\n") == 1
  assert (tmp_path / "list.txt").read_text() == "Ks7d2c5h9s"


def test_some_boards_that_stand_for_all(tmp_path, capsys):
  """Rows are those of the boards that are chosen, with their weights; a wrong number is refused."""
  flags = [*FLAGS, "--board=Ks 7d 2c 5h", "--iterations=3", f"--csv={tmp_path / 'x.csv'}"]
  code, out, _ = run(capsys, "report", "rivers:3", *flags, "--json")
  assert code == 0 and json.loads(out)["boards"] == 3
  boards = next_boards(cards.parse_cards("Ks7d2c5h"), 1, SPOT["ranges"])
  expected = [(cards.card_names(board), f"{weight:.6g}") for board, weight in representatives(boards, 3)]
  assert [(row["board"], row["weight"]) for row in rows_of(tmp_path / "x.csv")] == expected
  for words, message in ((["flops:x"], "such as flops:49"), (["rivers:99", *flags], "choose 1 to")):
    code, _, error = run(capsys, "report", *words)
    assert code == 2 and message in error
