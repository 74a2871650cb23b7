"""Many boards on the command line: `solve --situations` and `learn --street`."""

import csv
import json

import forked
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from ps_cfr_spiel.apps.commands import program
from ps_cfr_spiel.batches import RandomSituations

SPOTS = """board,pot,stack,bets,ranges
9s7c5s4h3c,20,30,a,AA KK QQ JJ;TT 99 88 AKs
KhKd8c4s2h,20,30,a,AA KK QQ JJ;TT 99 88 AKs
"""
RIVERS = ["--street=river", "--draws=3", "--seed=1", "--pot=20", "--ratios=1", "--bets=a"]
TRAIN = ["--steps=1", "--width=2", "--noplot"]


def run(capsys, *words):
  code = program.run(words)
  return (code, *capsys.readouterr())


def test_a_list_becomes_a_table(tmp_path, capsys):
  path = tmp_path / "spots.csv"
  path.write_text(SPOTS)
  words = [f"--situations={path}", f"--output={tmp_path / 'out'}", "--chunk=4", "--target=0.5%"]
  code, out, _ = run(capsys, "solve", *words, "--json")
  facts = json.loads(out)
  assert code == 0 and facts["situations"] == 2
  assert 0 < facts["largest_exploitability_percent_of_pot"] <= 0.5
  with open(facts["table"], newline="") as file:
    rows = list(csv.DictReader(file))
  assert [row["board"] for row in rows] == ["9s7c5s4h3c", "KhKd8c4s2h"]
  assert max(float(row["percent_of_pot"]) for row in rows) == pytest.approx(
    facts["largest_exploitability_percent_of_pot"], rel=1e-5
  )
  code, out, _ = run(capsys, "solve", *words)  # taken up: what people read
  assert code == 0 and "situations.csv" in out and "2 from" in out


def test_data_are_read_without_this_package(tmp_path, capsys):
  words = [*RIVERS, *TRAIN, "--iterations=30", "--chunk=4", f"--output={tmp_path}", "--json"]
  code, out, _ = run(capsys, "learn", *words)
  assert code == 0 and json.loads(out)["learned_from"] == 3
  with safe_open(tmp_path / "examples-0" / "000000.safetensors", "np") as file:
    header = json.loads(file.metadata()["header"])
  data = load_file(tmp_path / "examples-0" / "000000.safetensors")
  drawn = RandomSituations(3, seed=1, pot=20, ratios=(1.0,), bets="a")
  assert header["situations"] == repr(drawn.options) and header["teacher"]["iterations"] == 30
  assert set(header["arrays"]) == set(data)
  for k, river in enumerate(drawn):
    assert tuple(data["board"][k].tolist()) == river.board and data["stack"][k] == 30
    np.testing.assert_allclose(data["ranges"][k], river.ranges, rtol=1e-6)
    q, v = data["ranges"][k].astype(float), data["values"][k].astype(float)
    np.testing.assert_allclose((q[0] * v[0]).sum(), -(q[1] * v[1]).sum(), rtol=1e-4, atol=1e-5)
  assert ((data["exploitability"] >= 0) & (data["exploitability"] < 2)).all()


def test_values_leave_the_cores_to_the_work(tmp_path):
  words = ["learn", "--street=turn", "--draws=2", "--iterations=1", "--ratios=0.5", "--cores=2", *TRAIN]
  words += ["--values=pretrained", f"--output={tmp_path}"]
  done = forked.run(forked.PROGRAM, *words)  # in a process in which nothing has started JAX
  assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
  ("words", "message"),
  [
    (["solve", "--situations=none.csv"], "none.csv: No such file"),
    (["solve", "--situations=x.txt"], "must end in .csv"),
    (["solve", "kuhn_poker", "--situations=x.csv"], "leave out 'kuhn_poker'"),
    (["solve", "--situations=x.csv", "--solver=vr-mccfr", "--board=x"], "leave out --solver, --board"),
    (["solve", "kuhn_poker", "--cores=2"], "--cores belongs to --situations"),
    (["learn", "--street=river", "--ratios=1,much"], "--ratios=1,much: expected numbers"),
    (["learn", "--street=river", "--ratios=4-1"], "or pairs that ascend"),
    (["learn", "--street=river", "--pot=21"], "positive even"),
    (["learn", "--street=river", "--join=localhost:1"], "expected auto, or K/N@HOST:PORT, such as 0/2@"),
    (["learn", "--street=river", "--bets=big"], "unknown bet size"),
    (
      ["learn", "--street=river", "--values=net.safetensors"],
      "--values belongs to --street=turn and --street=flop",
    ),
    (["learn", "--street=turn"], "--values belongs to --street=turn and --street=flop"),
    (["learn", "--street=turn", "--values=no-such.safetensors"], "no-such.safetensors"),
  ],
)
def test_mistakes(words, message, capsys, tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  code, _, error = run(capsys, *words)
  assert code == 2 and message in error and error.count("\n") == 1
