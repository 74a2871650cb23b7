"""The command judge: what it prints is what `matches.judge` says; mistakes are told in one line."""

import json

import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms.expected_game_score import policy_value

from ps_cfr_spiel import load_policy, matches
from ps_cfr_spiel.apps.commands import program

GAMES = '[0, 2, 1, 0]\n{"actions": [0, 1, 1, 1], "players": ["x", "y"]}\n'


def facts(capsys, *words):
  assert program.run(["judge", *map(str, words), "--json"]) == 0
  return json.loads(capsys.readouterr().out, parse_constant=pytest.fail)


def test_games_of_a_file(tmp_path, capsys):
  file = tmp_path / "games.jsonl"
  file.write_text(GAMES)
  shown = facts(capsys, "kuhn_poker", f"--games={file}", "--iterations=300")
  game = pyspiel.load_game("kuhn_poker")
  judged = matches.judge(game, matches.read_games(file, game), iterations=300)
  assert [agent["agent"] for agent in shown["agents"]] == ["player 0", "player 1", "x", "y"]
  for agent, expected in zip(shown["agents"], judged.agents, strict=True):
    assert agent["loss"] == {"mean": pytest.approx(expected.loss.mean), "standard_error": None}
    assert agent["chips"]["mean"] == expected.chips.mean
    assert agent["worst_decisions"][0]["infostate"] == expected.mistakes[0].infostate
  assert shown["exploitability"] == pytest.approx(judged.exploitability)
  assert "play the solution" in shown["assumes"]


def test_players_by_a_saved_solution(tmp_path, capsys):
  solve = ["solve", "kuhn_poker", "--iterations=300", "--noplot", "--quiet", f"--output={tmp_path}"]
  assert program.run(solve) == 0
  run = tmp_path / "run.safetensors"
  capsys.readouterr()
  words = ("kuhn_poker", run, "random", f"--solution={run}", "--hands=60", "--interval=0.01")
  solution, random = facts(capsys, *words)["agents"]
  assert (solution["agent"], solution["games"], random["agent"]) == (str(run), 60, "random")
  assert solution["exact"] and solution["loss"] == {"mean": 0, "standard_error": 0}
  game, policy = pyspiel.load_game("kuhn_poker"), load_policy(run)
  uniform, losses = openspiel_policy.UniformRandomPolicy(game), []
  for seat in (0, 1):
    players = [[uniform if i == seat else policy for i in (0, 1)], [policy, policy]]
    worse, value = (policy_value(game.new_initial_state(), pair)[seat] for pair in players)
    losses.append(value - worse)
  assert random["exact"] and random["loss"]["mean"] == pytest.approx(sum(losses) / 2, abs=1e-6)
  assert random["games_needed"] is None
  assert program.run(["judge", *map(str, words)]) == 0
  text = capsys.readouterr().out
  assert f"loses {random['loss']['mean']:.4g} a game by its own decisions (its prob" in text
  assert "for ±" not in text


def test_a_player_that_searches_is_judged_by_its_games(capsys):
  words = ("kuhn_poker", "search", "random", "--hands=20", "--interval=0.01", "--iterations=300")
  search, random = facts(capsys, *words)["agents"]
  error = search["loss"]["standard_error"]
  assert (search["exact"], random["exact"]) == (False, True) and error > 0
  assert search["games_needed"]["games"] == pytest.approx(20 * (1.96 * error / 0.01) ** 2, abs=1)
  assert program.run(["judge", *words]) == 0
  text = capsys.readouterr().out
  assert f"loses {search['loss']['mean']:.4g} ±" in text and "for ± 0.01:" in text


@pytest.mark.parametrize(
  ("words", "fault"),
  [
    ((), "judge needs a game"),
    (("kuhn_poker",), "judge needs --games=FILE or two players"),
    (("kuhn_poker", "random"), "judge needs --games=FILE or two players"),
    (("kuhn_poker", "random", "random", "--games={games}"), "judge needs --games=FILE or two players"),
    (("kuhn_poker", "--games={games}", "--hands=3"), "--hands is for games that are played"),
    (("kuhn_poker", "--games=x.phhs"), "holdem is too large for an exact solution"),
    (("kuhn_poker", "--games=missing.jsonl"), "missing.jsonl: No such file"),
    (("kuhn_poker", "--games={games}", "--interval=0"), "--interval=0.0: must be above 0"),
    (("leduc_poker", "--games={games}"), "line 1: 0 is not legal after [0, 2, 1]"),
    (("chess", "random", "random", "--hands=1", "--limit=1000"), "chess"),
    (("kuhn_poker", "random", "unknown"), "unknown"),
    (("kuhn_poker", "--games={empty}"), "There are no games to evaluate"),
  ],
)
def test_mistakes(tmp_path, capsys, words, fault):
  (tmp_path / "games.jsonl").write_text(GAMES)
  (tmp_path / "empty.jsonl").write_text("")
  files = {"games": tmp_path / "games.jsonl", "empty": tmp_path / "empty.jsonl"}
  assert program.run(["judge", *(word.format(**files) for word in words)]) == 2
  error = capsys.readouterr().err
  assert error.count("\n") == 1
  assert fault in error
