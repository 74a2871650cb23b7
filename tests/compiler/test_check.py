"""`check_game`: passes what `build_tree` takes, and names what is wrong with the rest."""

import dataclasses
import sys
from pathlib import Path

import faulty_games
import forked
import numpy as np
import pyspiel
import pytest
from random_games import random_game

import ps_cfr_spiel
from ps_cfr_spiel import build_tree, check_game
from ps_cfr_spiel.apps.commands import program
from ps_cfr_spiel.cards.poker import Betting
from ps_cfr_spiel.compilation.compiler import game_check
from ps_cfr_spiel.compilation.histories.size_estimate import SizeEstimate

PROGRAM = str(Path(sys.executable).with_name("ps-cfr-spiel"))
RIVER = "river_subgame(ranges=AA KQs;TT 87s)"
GOOFSPIEL = "goofspiel(imp_info=True,num_cards=3)"


def load(name):
  """A game; what is no game of OpenSpiel is a fault of `faulty_games`."""
  known = pyspiel.registered_names()
  return pyspiel.load_game(name if name.partition("(")[0] in known else f"faulty_game(fault={name})")


def broken(report):
  return [finding.check for finding in report.findings if finding.verdict == "FAIL"]


def found(report, check):
  return next(finding.text for finding in report.findings if finding.check == check)


@pytest.mark.parametrize(
  "name",
  ["kuhn_poker", "leduc_poker", "liars_dice(dice_sides=3)", "glasses", RIVER, "none", "coordinated_mp"],
)
def test_solvable_games_pass_every_check(name):
  report = check_game(load(name))
  assert report.solvable
  assert broken(report) == []
  report.assert_solvable()
  assert report.summary == build_tree(load(name)).summary()
  unchecked = [finding for finding in report.findings if "not checked" in finding.text]
  assert not unchecked


@pytest.mark.parametrize("seed", range(10))
def test_random_games_are_solvable(seed, capfd):
  report = check_game(random_game(seed))
  assert capfd.readouterr().err == ""  # what C++ writes included
  assert report.solvable
  assert report.verdict("game string") == "NOTE"  # games from text cannot be loaded by their name


# The check that each faulty game breaks, and what the report must name.
FAULTS = {
  "catch": ("players", "1 player(s)"),
  "sampled": ("chance mode", "SAMPLED_STOCHASTIC"),
  "raises": ("histories", "at history [1, 0]: RuntimeError: out of order"),
  "mover": ("movers", "at history [1, 0], current_player() is -2"),
  "third player": ("movers", "at history [1, 0], current_player() is 2"),
  "no actions": ("legal actions", "at history [0, 1], the player to move has no legal actions"),
  "unsorted": (
    "legal actions",
    "at history [0, 1], legal_actions() must ascend without repetition, got [1, 0]",
  ),
  "chance sum": ("chance", "at history [], the probabilities of the 2 chance outcomes sum to 0.9"),
  "negative chance": ("chance", "at history [], a chance outcome has a negative probability"),
  "chance twice": ("chance", "at history [], a chance outcome is listed twice"),
  "returns": ("returns", "at history [1, 0, 1], the returns are [-1.0, -1.0], which sum to -2"),
  "unequal actions": (
    "same actions",
    "'second [0] 0' offers different actions in histories [0, 0] and [1, 0]",
  ),
  "timing": ("timing", "'second [0] 0' holds histories of 2 and of 3 moves, [0, 0] and [1, 0, 0]"),
  "who moves": ("timing", "holds histories of 2 and of 3 moves"),
  "dark_hex(num_rows=2,num_cols=2)": ("public states", "the acting player is not common knowledge"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_faulty_game_fails_its_check_and_no_other(name):
  check, text = FAULTS[name]
  report = check_game(load(name))
  assert not report.solvable
  assert text in found(report, check)
  assert broken(report) == [check]
  assert report.summary == ""
  with pytest.raises(AssertionError, match=check):
    report.assert_solvable()


@pytest.mark.parametrize("name", [name for name in FAULTS if name != "raises"])
def test_build_tree_refuses_what_fails(name):
  with pytest.raises(ValueError, match=r"."):
    build_tree(load(name))


def test_an_error_in_the_game_itself_says_where():
  with pytest.raises(RuntimeError, match="out of order") as error:
    build_tree(load("raises"))
  assert error.value.__notes__ == ["while enumerating faulty_game(fault=raises), at history [1, 0]"]


def test_every_check_of_the_kind_is_told_at_once():
  report = check_game(pyspiel.load_game("mfg_crowd_modelling"))
  assert {"players", "dynamics"} <= set(broken(report))
  assert "MEAN_FIELD" in found(report, "dynamics")


def test_the_limit_is_a_check():
  report = check_game(pyspiel.load_game("leduc_poker"), limit=100)
  assert broken(report) == ["histories"]
  assert "more than 100" in found(report, "histories")


def test_notes_do_not_make_a_game_unfit():
  names = check_game(load("names"))
  assert names.solvable and names.verdict("infostate names") == "NOTE"
  assert "'[0][][]'" in found(names, "infostate names")
  bounds = check_game(load("bounds"))
  assert bounds.solvable and bounds.verdict("declared bounds") == "NOTE"
  assert "utilities reach 1, the game declares -0.5 to 0.5" in found(bounds, "declared bounds")


def test_public_states_are_demanded_only_where_they_are_asked_for():
  hex_game = pyspiel.load_game("dark_hex(num_rows=2,num_cols=2)")
  report = check_game(hex_game, public_states="none")
  assert report.solvable and report.verdict("public states") == "NOTE"
  assert "public states:       none" in report.summary
  timing = check_game(load("timing"), public_states="none")
  assert timing.solvable and timing.verdict("timing") == "NOTE"
  build_tree(load("timing"), public_states="none")


@pytest.mark.parametrize(
  ("name", "text"),
  [
    ("observer", "its public observer shows more than player 1 knows"),
    ("observer raises", "at history [0, 0], it raises KeyError: 'said'"),
    ("liars_dice(dice_sides=2)", "has no public observer"),
  ],
)
def test_a_faulty_observer_matters_only_where_it_is_used(name, text):
  report = check_game(load(name))
  assert report.solvable and report.verdict("public observer") == "NOTE"
  assert text in found(report, "public observer")
  report = check_game(load(name), public_states="observer")
  assert broken(report) == ["public observer"]


def test_the_public_observer_passes():
  for name in ("kuhn_poker", "none"):
    report = check_game(load(name), public_states="observer")
    assert report.solvable and report.verdict("public observer") == "PASS"


@pytest.mark.parametrize("field", ["showdown_payoff", "fold_payoff", "action", "names", "deal", "parent"])
def test_a_form_that_is_not_the_game_fails(field):
  game = pyspiel.load_game(RIVER)
  form = game.bayesian_form()
  betting = form.betting
  changed = {
    "showdown_payoff": lambda _: dataclasses.replace(betting, showdown_payoff=1.01 * betting.showdown_payoff),
    "fold_payoff": lambda _: dataclasses.replace(betting, fold_payoff=-betting.fold_payoff),
    "action": lambda _: dataclasses.replace(betting, action=betting.action + 1),
    "names": lambda _: pyspiel.load_game(f"{RIVER[:-1]},pot=100)").bayesian_form().names,
    "deal": lambda f: dataclasses.replace(f.deal, weights=f.deal.weights * np.arange(1, 1327)),
    "parent": lambda _: dataclasses.replace(betting, parent=betting.parent[:-1]),
  }[field]

  def changed_form():
    new = changed(form)
    return dataclasses.replace(form, **{"betting" if isinstance(new, Betting) else field: new})

  game.bayesian_form = changed_form
  report = check_game(game)
  assert broken(report) == ["bayesian_form()"]


def test_checks_after_a_broken_one_share_a_line():
  report = check_game(load("catch"))
  unchecked = [finding.check for finding in report.findings if "not checked" in finding.text]
  (line,) = [line for line in str(report).splitlines() if "not checked" in line]
  assert len(unchecked) > 1 and line.endswith(f"{', '.join(unchecked)}: it cannot be enumerated")


def test_a_form_too_large_to_walk_is_compiled_unchecked():
  report = check_game(pyspiel.load_game("river_subgame"))
  assert report.solvable
  assert "61,000,831" in found(report, "bayesian_form()") and "61,000,831" in report.summary
  assert found(report, "returns") == "not checked: it is compiled from its form, not enumerated"


@pytest.mark.parametrize(
  ("histories", "seconds", "walks"), [(1.9e6, 100, True), (2.1e6, 100, False), (1e4, 130, False)]
)
def test_a_long_walk_is_told_and_not_made(histories, seconds, walks, monkeypatch):
  """Also where the estimate does not refute that the game is small enough."""
  size = SizeEstimate(histories, 256, cut=False, exceeds=False)
  monkeypatch.setattr(game_check, "foretell", lambda *_: (size, seconds))
  report = check_game(pyspiel.load_game("kuhn_poker"))
  assert report.solvable
  assert ("58" in found(report, "histories")) is walks
  assert ("--limit" in found(report, "perfect recall")) is not walks


def test_the_command_in_a_fresh_process(tmp_path, monkeypatch, capsys):
  def check(*words):
    result = forked.run(forked.PROGRAM, "check", *words, folder=tmp_path)
    assert "Traceback" not in result.stderr
    return result.returncode, result.stdout, result.stderr

  (tmp_path / "my_game.py").write_text(Path(faulty_games.__file__).read_text())
  assert check("faulty_game", "--module=my_game.py")[0] == 0
  code, out, _ = check("faulty_game(fault=returns)", "--module=my_game")
  assert code == 1
  assert "FAIL  returns:                at history [1, 0, 1], the returns are [-1.0, -1.0]" in out
  assert out.endswith("\ncannot be solved: returns\n")
  (tmp_path / "my_game.py").write_text("import nothing_of_this_name")
  monkeypatch.chdir(tmp_path)
  assert program.run(["check", "kuhn_poker", "--module=my_game.py"]) == 2
  out, err = capsys.readouterr()
  assert out == ""
  assert "--module=my_game.py: ModuleNotFoundError: No module named 'nothing_of_this_name'" in err
  assert program.run(["check", "kuhn_poker"]) == 0
  out = capsys.readouterr().out
  assert "FAIL" not in out and out.endswith("\nOK: can be solved\n")


def test_other_commands_take_games_of_the_users_too(tmp_path, capsys):
  words = ["solve", "faulty_game", f"--module={faulty_games.__file__}", "--iterations=200", "--noplot"]
  assert program.run([*words, f"--output={tmp_path}"]) == 0
  assert "value to player 0" in capsys.readouterr().out


@pytest.mark.parametrize(
  ("words", "message"),
  [
    (["check"], "check needs a game"),
    (["check", "kuhn_poker", "--limit=0"], "--limit=0"),
    (["check", "kuhn_poker", "--module=none.py"], "--module=none.py: no such file"),
    (["check", "kuhn_poker", "--public_states=all"], "<closure|observer|none>"),
  ],
)
def test_mistakes_of_the_command(words, message, capsys):
  assert program.run(words) == 2
  assert message in capsys.readouterr().err


@pytest.mark.parametrize(
  ("name", "check", "text"),
  [
    (GOOFSPIEL, "moves", "players who move at the same time move in turn"),
    ("tiny_hanabi", "utilities", "general sum, where averages tend to coarse correlated equilibria"),
    ("oware(num_houses_per_player=2,num_seeds_per_house=1)", "infostates", "observation strings in order"),
    ("recall", "infostates", "own actions and information state strings in order"),
    ("recall", "perfect recall", "'second [0] 1' forgets the player's own past in histories [0, 0, 0]"),
  ],
)
def test_another_reading_of_a_game_is_a_note(name, check, text):
  report = check_game(load(name))
  report.assert_solvable()
  assert report.verdict(check) == "NOTE" and text in found(report, check)
  assert check == "perfect recall" or text in report.summary


@pytest.mark.parametrize(
  "use",
  [
    build_tree,
    check_game,
    ps_cfr_spiel.PSCFRSolver,
    ps_cfr_spiel.VRMCCFRSolver,
    ps_cfr_spiel.OutcomeSamplingSolver,
    ps_cfr_spiel.ExternalSamplingSolver,
  ],
)
@pytest.mark.parametrize("limit", ["many", 0, True, 2.5, None])
def test_wrong_types_are_named(use, limit):
  with pytest.raises(TypeError, match=r"got str 'kuhn_poker'; load it first, with pyspiel.load_game\('kuhn"):
    use("kuhn_poker")
  with pytest.raises(TypeError, match=r"got \w+type"):
    use(pyspiel.Game)
  with pytest.raises(ValueError, match=r"limit must be an integer of at least 1"):
    use(pyspiel.load_game("kuhn_poker"), limit=limit)
