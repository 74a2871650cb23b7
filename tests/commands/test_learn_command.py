"""The command learn: its files, what goes on where it was, mistakes; and resolve with what was learned."""

import json
import sys

import pytest

from ps_cfr_spiel.commands import program
from ps_cfr_spiel.learning import BoardValues, LearnedValues

QUICK = ["--draws=30", "--steps=200", "--width=16", "--teacher_iterations=10"]


def run(*words):
  return program.run(list(words))


def test_learn_and_search_with_it(tmp_path, capsys):
  folder = tmp_path / "learned"
  call = ["learn", "kuhn_poker", *QUICK, "--turns=1", "--chains=2", f"--output={folder}"]
  assert run(*call) == 0
  printed = capsys.readouterr()
  assert "values.safetensors, losses.png in" in printed.out
  assert printed.err == ""  # bars are for terminals
  assert (folder / "losses.png").stat().st_size > 10_000
  values = LearnedValues.load(folder / "values.safetensors")
  assert run(*call, "--json") == 0  # the same call has nothing left to do
  facts = json.loads(capsys.readouterr().out)
  assert facts["finished"] and facts["training"]["width"] == 16
  assert facts["loss"] == pytest.approx(values.card["loss"], rel=1e-5)
  search = ["resolve", "kuhn_poker", "--iterations=50", "--lookahead=1", f"--output={tmp_path}", "--json"]
  assert run(*search, f"--values={folder / 'values.safetensors'}") == 0
  assert json.loads(capsys.readouterr().out)["exploitability"] < 0.5


def test_a_chase_is_learned_without_training(tmp_path, capsys):
  chase, folder = "glasses(edges=0-1 1-2 2-0,start=2:0,turns=2)", tmp_path / "learned"
  assert run("learn", chase, *QUICK, f"--output={folder}") == 0
  printed = capsys.readouterr().out
  assert "alpha vectors" in printed and "losses.png" not in printed
  assert not (folder / "losses.png").exists() and not len(
    LearnedValues.load(folder / "values.safetensors").losses
  )


def test_rivers_are_learned_from_what_generate_solved(tmp_path, capsys):
  data, folder = f"--output={tmp_path / 'data'}", tmp_path / "learned"
  assert run("generate", "--count=24", "--ratios=0.5", "--bets=a", "--iterations=10", data, "--quiet") == 0
  call = ["learn", f"--data={tmp_path / 'data'}", "--steps=200", "--width=16", f"--output={folder}"]
  assert run(*call, "--noplot") == 0
  printed = capsys.readouterr().out
  assert "24 rivers" in printed and "--lookahead=round --values=" in printed
  assert BoardValues.load(folder / "values.safetensors").card["learned_from"] == 24
  assert run(*call, "--noplot", "--json") == 0  # the same call has nothing left to do
  assert json.loads(capsys.readouterr().out)["finished"]
  assert run(*call[:2], "--steps=300", "--width=16", call[-1]) == 2
  assert "is of another call: {'steps': 200" in capsys.readouterr().err


@pytest.mark.parametrize(
  ("words", "message"),
  [
    (["learn", "kuhn_poker", "--teacher=search"], "--teacher=search learns from its own values"),
    (["learn", "matching_pennies_3p"], "has 3 players"),
    (
      ["learn", "kuhn_poker", "--data=data", "--turns=1"],
      "of any game; leave out kuhn_poker --turns",
    ),
    (["learn", "--data=no-such-folder"], "no-such-folder: there are no situations in it"),
    (["resolve", "kuhn_poker", "--lookahead=1", "--values=pretrained"], "No values for kuhn_poker"),
    (["resolve", "kuhn_poker", "--values=pretrained"], "--values is for --lookahead"),
  ],
)
def test_bad_input(words, message, tmp_path, capsys):
  assert run(*words, f"--output={tmp_path}") == 2
  assert message in capsys.readouterr().err


def test_the_extra_is_not_installed(monkeypatch, tmp_path, capsys):
  for name in [name for name in sys.modules if name.startswith("ps_cfr_spiel.learning")]:
    monkeypatch.delitem(sys.modules, name)
  monkeypatch.delattr("ps_cfr_spiel.learning", raising=False)
  monkeypatch.setitem(sys.modules, "equinox", None)
  assert run("learn", "kuhn_poker", f"--output={tmp_path}") == 2
  assert "pip install 'ps_cfr_spiel[learn]'" in capsys.readouterr().err
  with pytest.raises(ModuleNotFoundError, match="Learned values need equinox and optax"):
    import ps_cfr_spiel.learning  # noqa: F401


def test_interrupted_while_solving(monkeypatch, tmp_path, capsys):
  from ps_cfr_spiel import learning

  def stop(*args, **options):
    raise KeyboardInterrupt

  monkeypatch.setattr(learning, "self_play", stop)
  assert run("learn", "kuhn_poker", f"--output={tmp_path}") == 130
  assert "the same call continues" in capsys.readouterr().err
