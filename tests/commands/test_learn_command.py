"""The command learn: its files, what goes on where it was, mistakes; and resolve with what was learned."""

import json
import sys
from pathlib import Path

import forked
import pytest

from ps_cfr_spiel.apps.commands import program
from ps_cfr_spiel.learning import NetworkValues

QUICK = ["--draws=30", "--steps=200", "--width=16", "--iterations=10"]


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
  values = NetworkValues.load(folder / "values.safetensors")
  assert run(*call, "--json") == 0  # the same call has nothing left to do
  facts = json.loads(capsys.readouterr().out)
  assert facts["finished"] and facts["training"]["width"] == 16
  assert facts["loss"] == pytest.approx(values.card["loss"], rel=1e-5)
  search = ["resolve", "kuhn_poker", "--iterations=50", "--lookahead=1", f"--output={tmp_path}", "--json"]
  assert run(*search, f"--values={folder / 'values.safetensors'}") == 0
  assert json.loads(capsys.readouterr().out)["exploitability"] < 0.5


def test_values_of_self_play_are_played_with(tmp_path, capsys):
  """No list of the game is made: `--limit` is for histories of a search."""
  call = ["learn", "kuhn_poker", *QUICK, "--teacher=self-play", "--turns=1", "--chains=22"]
  assert run(*call, f"--output={tmp_path}") == 0
  file = tmp_path / "values.safetensors"
  assert f"--opponent=search:{file}" in capsys.readouterr().out
  assert run("match", f"search:{file}", "random", "--hands=4", "--json") == 0
  assert json.loads(capsys.readouterr().out)["game"] == "kuhn_poker()"
  judging = ("judge", "kuhn_poker", f"search:{file}", "random", "--hands=4", "--iterations=100", "--json")
  assert run(*judging) == 0
  searches, uniform = json.loads(capsys.readouterr().out)["agents"]
  assert searches["agent"] == f"search:{file}" and searches["loss"]["mean"] < uniform["loss"]["mean"]
  assert run("judge", "leduc_poker", f"search:{file}", "random") == 2
  assert "These values are for kuhn_poker(), not for leduc_poker()" in capsys.readouterr().err
  assert run("learn", "kuhn_poker", "--teacher=self-play") == 2
  assert "learns from its own values, turn by turn: give --turns=8" in capsys.readouterr().err
  assert run("match", "search:", "random") == 2
  assert "lacks the name of a file; write search:FILE" in capsys.readouterr().err


def test_features_of_ones_own_are_a_function_of_the_module(tmp_path, capsys, monkeypatch):
  """What the call learns from is given by Python; the file of values finds it again in test_self_play."""
  asked = []

  def learn(game, options, features, **more):
    asked.append((str(game), features.__name__, features(game.new_initial_state(), 0)))
    raise KeyboardInterrupt

  monkeypatch.setattr("ps_cfr_spiel.learning.learn", learn)
  example, played = "--module=examples/new_features.py", ("--teacher=self-play", "--turns=1")
  if not Path("examples").exists():
    pytest.skip("the examples are not part of the wheel")
  call = ("learn", "full_street", example, f"--output={tmp_path}")
  assert run(*call, *played, "--features=features") == 130
  assert asked == [("full_street()", "features", [0.0] * 6)]
  capsys.readouterr()
  for words, message in (
    (
      (*call, *played, "--features=moves"),
      "the functions of --module=examples/new_features.py are features;",
    ),
    ((*call, "--features=features"), "--features is for --teacher=self-play; leave it out"),
    (("learn", "kuhn_poker", *played, "--features=f"), "give --module=FILE with it"),
  ):
    assert run(*words) == 2
    assert message in capsys.readouterr().err
  assert len(asked) == 1


def test_features_are_found_again_by_later_commands(tmp_path, capsys):
  """A function without a def of its own in the module is not, so nothing is learned by it."""
  module = tmp_path / "made_features.py"
  module.write_text(
    "def make():\n  def inner(state, player):\n    return [0.0]\n  return inner\n\n"
    "closed, alone = make(), lambda state, player: [0.0]\n"
  )
  call = ("learn", "kuhn_poker", f"--module={module}", f"--output={tmp_path}", "--turns=1")
  for name in ("closed", "alone"):
    assert run(*call, "--teacher=self-play", f"--features={name}") == 2
    assert "are make; name one of them. It has no def of its own there" in capsys.readouterr().err


def test_values_of_own_features_are_played_with_in_another_process(tmp_path):
  """One process learns from a function in a file, another plays; without the file it asks for `--module`."""
  module, values = tmp_path / "card_and_moves.py", tmp_path / "values.safetensors"
  module.write_text(
    "def card_and_moves(state, player):\n"
    "  cards, moves = state.history()[:2], state.history()[2:4]\n"
    "  held = [float(cards[player : player + 1] == [card]) for card in range(3)]\n"
    "  return held + [2.0 * move - 1 for move in moves] + [0.0] * (2 - len(moves))\n"
  )
  own = f"--module={module}"
  learning = ("--teacher=self-play", "--turns=1", "--draws=12", "--chains=4", "--steps=20", "--width=8")
  asked = ("learn", "kuhn_poker", own, "--features=card_and_moves", f"--output={tmp_path}", "--noplot")
  ended = forked.run(forked.PROGRAM, *asked, *learning)
  assert ended.returncode == 0, ended.stderr
  match = ("match", f"search:{values}", "random", "--hands=2", "--json")
  ended = forked.run(forked.PROGRAM, *match, own)
  assert (ended.returncode, ended.stderr) == (0, "")
  assert json.loads(ended.stdout)["game"] == "kuhn_poker()"
  ended = forked.run(forked.PROGRAM, *match)
  assert ended.returncode == 2 and "--module" in ended.stderr


def test_a_chase_is_learned_without_training(tmp_path, capsys):
  chase, folder = "glasses(edges=0-1 1-2 2-0,start=2:0,turns=2)", tmp_path / "learned"
  assert run("learn", chase, *QUICK, f"--output={folder}") == 0
  printed = capsys.readouterr().out
  assert "alpha vectors" in printed and "losses.png" not in printed
  assert not (folder / "losses.png").exists() and not len(
    NetworkValues.load(folder / "values.safetensors").losses
  )


def test_rivers_are_solved_and_learned_from(tmp_path, capsys):
  folder, small = tmp_path / "learned", ["--steps=60", "--width=8", "--noplot"]
  call = ["learn", "--street=river", "--draws=8", "--ratios=0.5", "--bets=a", "--iterations=10", *small]
  assert run(*call, f"--output={folder}") == 0
  printed = capsys.readouterr().out
  assert "8 rivers" in printed and "--lookahead=round --values=" in printed
  values = NetworkValues.load(folder / "values.safetensors")
  assert values.card["learned_from"] == 8
  assert run(*call, f"--output={folder}", "--json") == 0  # the same call has nothing left to do
  assert json.loads(capsys.readouterr().out)["finished"]
  again = ["learn", f"--examples={folder / 'examples-0'}", f"--output={tmp_path / 'again'}", *small]
  assert run(*again, "--json") == 0
  assert json.loads(capsys.readouterr().out)["loss"] == values.card["loss"]
  assert run(*again, "--steps=90") == 2
  assert "is of another call: its steps: 60, not 90" in capsys.readouterr().err


def test_examples_of_a_game_are_learned_from_again(tmp_path, capsys):
  folder, small = tmp_path / "learned", ["--steps=200", "--noplot", "--json"]
  made = ["learn", "kuhn_poker", "--draws=30", "--iterations=10", f"--output={folder}", *small]
  assert run(*made, "--width=16") == 0
  capsys.readouterr()
  again = [
    "learn",
    f"--examples={folder / 'examples-0.safetensors'}",
    f"--output={tmp_path / 'again'}",
    *small,
  ]
  assert run(*again, "--width=8") == 0
  facts = json.loads(capsys.readouterr().out)
  assert facts["game"] == "kuhn_poker()" and facts["training"]["width"] == 8
  assert facts["learned_from"] == NetworkValues.load(folder / "values.safetensors").card["learned_from"]


@pytest.mark.parametrize(
  ("words", "message"),
  [
    (["learn", "kuhn_poker", "--teacher=search"], "--teacher=search learns from its own values"),
    (["learn", "matching_pennies_3p"], "has 3 players"),
    (
      ["learn", "kuhn_poker", "--examples=data", "--turns=1"],
      "--examples have their own game and draws; leave out kuhn_poker --turns",
    ),
    (["learn", "--examples=no-such-file"], "no-such-file: No such file"),
    (["learn", "kuhn_poker", "--ratios=1"], "--ratios is for --street; leave it out"),
    (["learn", "kuhn_poker", "--street=river"], "in place of a GAME; leave out kuhn_poker"),
    (["learn", "--street=river", "--ranges=AA;KK"], "in place of a GAME; leave out --ranges"),
    (["learn", "--street=river", "--pot=5.5"], "--pot=5.5: with --street a pot is a whole number of chips"),
    (["learn", "--street=turn", "--turns=1", "--values=pretrained"], "searches of turns ask about rivers"),
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

  monkeypatch.setattr(learning, "learn", stop)
  assert run("learn", "kuhn_poker", f"--output={tmp_path}") == 130
  assert "the same call continues" in capsys.readouterr().err
