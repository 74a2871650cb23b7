"""Every command on every kind of game: it works, by a property of its output, or is refused in one line.

`REFUSED` has all that is refused, and why: what is in it is meant to be so.
"""

import io
import json
import re
from pathlib import Path

import forked
import numpy as np
import pyspiel
import pytest
from dealt_games import poker
from open_spiel.python.algorithms import expected_game_score, exploitability

from ps_cfr_spiel import load_policy
from ps_cfr_spiel.apps.commands import program

SHARED, EXAMPLES = (Path(__file__).parents[1] / "shared", Path(__file__).parents[2] / "examples")
pytestmark = pytest.mark.skipif(not EXAMPLES.exists(), reason="the examples are not part of the wheel")
RIVER = ("--board=Ks7d2c5h9s", "--pot=20", "--stack=20", "--ranges=AA,KQs;KK,QJs", "--bets=a")
KINDS = {  # the words that name a game
  "zero-sum": ("kuhn_poker",),
  "general sum": ("first_sealed_auction(max_value=2)",),
  "raked": ("river_subgame(board=Ks7d2c5h9s,pot=20,stack=30,ranges=AA KQs;KK QJs,bets=a,rake=5%,cap=1)",),
  "three players": ("kuhn_poker(players=3)",),
  "simultaneous": ("goofspiel(num_cards=3)",),
  "dealt": (poker(2, 2, 1, "0 1", raises=0),),
  "hold'em": ("holdem(stack=1000)",),
  "cheat": ("cheat(ranks=4,suits=2,hand_size=2)",),
  "own, observed": ("faulty_game", f"--module={SHARED / 'faulty_games.py'}"),
  "own": ("half_street", f"--module={EXAMPLES / 'new_game.py'}"),
  "own of three": ("py_heist", f"--module={SHARED / 'heist.py'}"),
  "own keys": ("von_neumann_poker", f"--module={EXAMPLES / 'new_keyed_game.py'}"),
  "own form": ("half_street_by_form", f"--module={EXAMPLES / 'new_form.py'}"),
  "river": RIVER,
}
BY_PLAY = ("hold'em", "cheat", "own keys")  # too large to walk, and learned by playing them
DEALT = ("--solver=hierarchical", "--clusters=2", "--buckets=2", "--batch=4")
LARGE = (
  r"needs more than .*, the limit: .* Choose smaller parameters of the game, or a solver that needs none"
)
NO_TREE = r"strategies for .* have no public tree; use them in play, and those of dealt cards in evaluate"
TWO, SUM = "has 3 players; .* are for two. The command solve", "is of general sum; .* The command solve"
PLAYED = r"cannot be played here: it has no .*\. PSCFRSolver \(solve\) takes any"
ONCE = "no player decides more than once; .* the command resolve .* needs no values"
BOARDS = "no such file: .*; report takes flops, turns, rivers or a file with boards"
NEW_SPOT = "explore makes a new spot and takes no '.*'; look at a saved run by show .* --serve"
NO_SPOT = r"Unknown command line flag '(board|pot)'; .* help \w+ lists those that it has"
REFUSED = {  # (command, kind): why, and what is allowed instead
  **{
    (command, kind): LARGE
    for command in ("solve", "summary", "resolve", "learn", "compare", "judge")
    for kind in BY_PLAY
  },
  **{(command, kind): NO_TREE for command in ("show",) for kind in ("dealt", *BY_PLAY)},
  **{("evaluate", kind): NO_TREE for kind in BY_PLAY},
  **{(command, kind): TWO for command in ("resolve", "learn") for kind in ("three players", "own of three")},
  **{(command, kind): SUM for command in ("resolve", "learn") for kind in ("general sum", "raked")},
  **{("learn", kind): ONCE for kind in ("own, observed", "own", "own form")},
  **{("train", kind): PLAYED for kind in ("general sum", "raked", "own of three")},
  ("train", "river"): NO_SPOT,
  **{("report", kind): BOARDS for kind in KINDS if kind != "river"},
  **{("explore", kind): NEW_SPOT for kind in KINDS if kind != "river"},
}
SERVES = ("explore", "river")  # until Ctrl-C; tests/views/test_spot_page.py
CELLS = [cell for kind in KINDS for command in program.COMMANDS if (cell := (command, kind)) != SERVES]


def call(*words):
  return program.run(list(map(str, words)))


def module_of(kind):
  return [word for word in KINDS[kind] if word.startswith("--module")]


def game_of(kind, run):
  """The game of a kind in one word: of a river, as the run has it."""
  return KINDS[kind][0] if kind != "river" else str(load_policy(run).game)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
  """A function from a kind of game to its run, which is made once."""
  made = {}

  def run(kind):
    if kind not in made:
      folder = tmp_path_factory.mktemp("run")
      how = ("train", "--iterations=1", "--games=2", "--batch=2") if kind in BY_PLAY else SOLVE
      more = DEALT if kind == "dealt" else ()
      assert call(how[0], *KINDS[kind], *how[1:], *more, f"--output={folder}", "--quiet") == 0
      made[kind] = folder / "run.safetensors"
    return made[kind]

  return run


SOLVE = ("solve", "--iterations=5", "--noplot")


def words_of(command, kind, run, folder):
  """The cheapest words of a command on a game, or on its run."""
  game, module, output = KINDS[kind], module_of(kind), f"--output={folder / 'output'}"
  of_file = {"evaluate": ["--json"], "show": ["--json"]}
  if command in of_file:
    return [run(kind), *of_file[command], *module]
  return {
    "check": [*game, "--json"],
    "explore": list(game),
    "summary": [*game, "--json"],
    "solve": [*game, *SOLVE[1:], *(DEALT if kind == "dealt" else []), output, "--json"],
    "resolve": [*game, "--iterations=5", output, "--json"],
    "compare": [*game, "--solvers=rm+,OpenSpiel CFR", "--seconds=0.001", "--json"],
    "train": [*game, "--iterations=2", "--games=2", "--batch=3", output, "--json"],
    "learn": [
      *game,
      "--draws=2",
      "--steps=1",
      "--width=2",
      "--iterations=1",
      "--noplot",
      output,
      "--json",
    ],
    "judge": [
      game_of(kind, run(kind)),
      run(kind),
      "random",
      "--hands=4",
      "--iterations=5",
      "--json",
      *module,
    ],
    "match": [run(kind), "random", "--hands=6", "--json", *module],
    "play": [game_of(kind, run(kind)), f"--opponent={run(kind)}", "--move_seconds=0", "--seed=1", *module],
    "report": [
      folder / "boards.csv",
      *RIVER[1:],
      "--iterations=5",
      f"--csv={folder / 'report.csv'}",
      "--json",
    ]
    if kind == "river"
    else list(game),
  }[command]


def decisions(state, seen):
  """The histories below a state, which are counted, and decisions: {(player, infostate)}."""
  if state.is_terminal():
    return 1
  if state.is_chance_node():
    actions = [action for action, chance in state.chance_outcomes() if chance]
  else:
    actions = state.legal_actions()
    seen.add((state.current_player(), state.information_state_string()))
  return 1 + sum(decisions(state.child(action), seen) for action in actions)


def openspiels(policy):
  """The values to all players, and NashConv, by OpenSpiel."""
  game = policy.game
  values = expected_game_score.policy_value(game.new_initial_state(), [policy] * game.num_players())
  return list(values), exploitability.nash_conv(game, policy, use_cpp_br=False)


def check_values(facts, policy):
  """What `solve`, `resolve` and `evaluate` print of a strategy is what OpenSpiel says of it."""
  values, nash_conv = openspiels(policy)
  zero_sum_of_two = "others" not in facts
  shown = [facts["value"], -facts["value"]] if zero_sum_of_two else [facts["value"], *facts["others"]]
  assert shown == pytest.approx(values, abs=1e-5)
  assert facts["exploitability"] == pytest.approx(nash_conv / len(values), abs=1e-5)
  assert zero_sum_of_two or facts["nash_conv"] == pytest.approx(nash_conv, abs=1e-5)


def check_output(command, kind, out, run, folder):
  """A property of the output of a command."""
  facts = json.loads(out) if out.startswith("{") else None
  walked = kind not in ("dealt", "river", *BY_PLAY)
  policy = load_policy(run)
  game = policy.game
  if command == "check":
    assert facts["solvable"] == (kind not in BY_PLAY)
    assert facts["trainable"] == (kind in BY_PLAY and kind != "hold'em")  # has keys of its own
  elif command == "summary" and walked:
    seen = set()
    count = decisions(game.new_initial_state(), seen)
    assert facts["infostates"] == [sum(p == i for p, _ in seen) for i in range(game.num_players())]
    # By forms a deal is one event.
    assert facts["histories"] == count or kind == "raked" or "by_form" in str(game)
  elif command in ("solve", "resolve", "evaluate"):
    file = {"solve": "run.safetensors", "resolve": "policy.safetensors"}.get(command)
    made = load_policy(folder / "output" / file) if file else policy
    if walked or kind == "river":
      check_values(facts, made)
    elif kind == "dealt":
      assert 0 < facts["exploitability"] < 20
  elif command == "show":
    totals = {}
    for row in facts["rows"]:
      totals[row["player"], row["infostate"]] = (
        totals.get((row["player"], row["infostate"]), 0) + row["probability"]
      )
    assert len(totals) == sum(1 for _ in policy.labels.infostates())
    np.testing.assert_allclose(list(totals.values()), 1)
    assert call("show", run, f"--html={folder / 'page.html'}", *module_of(kind)) == 0
    page = (folder / "page.html").read_text()
    assert page.count('"number":') == len(policy.labels.public_states) and '"seats":["player 0' in page
  elif command == "match":
    assert facts["hands"] == 6
    assert game.min_utility() <= facts["chips"]["mean"] <= game.max_utility()
  elif command == "judge":
    assert facts["exploitability"] > -1e-9
    assert sum(agent["games"] for agent in facts["agents"]) == 4 * game.num_players()  # each in its seats
  elif command == "play":
    assert re.search(r"^(You (win|lose|get) -?[\d.]+|A draw)", out, re.M)
  elif command == "compare":
    rule = facts["runs"]["rm+"]
    assert rule[0]["iteration"] == 1 and rule[-1]["exploitability"] >= -1e-9
    if game.num_players() == 2:  # others have no guarantee
      assert rule[-1]["exploitability"] <= rule[0]["exploitability"] + 1e-9
    lacks = f"AttributeError: '{type(game).__name__}' object has no attribute 'make_py_observer'"
    unseen = kind.startswith("own") and kind != "own, observed"
    assert facts["failed"] == ({"OpenSpiel CFR": lacks} if unseen else {})
  elif command == "train":
    trained = load_policy(folder / "output" / "run.safetensors")
    assert facts["iteration"] == 2 and facts["games"] == 2 * 3 * trained.game.num_players()
    state = trained.game.new_initial_state()
    while state.is_chance_node():
      state.apply_action(state.chance_outcomes()[0][0])
    assert sum(trained.action_probabilities(state).values()) == pytest.approx(1)
  elif command == "learn":
    assert facts["finished"] and (folder / "output" / "values.safetensors").exists()
  elif command == "report":
    assert facts["boards"] == 1
    assert facts["average"]["ev_0"] + facts["average"]["ev_1"] == pytest.approx(20, abs=1e-3)


@pytest.mark.parametrize(("command", "kind"), CELLS, ids=lambda word: word.replace(" ", "-"))
def test_every_command_on_every_kind_of_game(command, kind, runs, tmp_path, capsys, monkeypatch):
  monkeypatch.chdir(tmp_path)
  (tmp_path / "boards.csv").write_text("board\nKs7d2c5h9s\n")
  words = words_of(command, kind, runs, tmp_path)
  monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{action}\n" for action in range(300)) * 20))
  capsys.readouterr()
  code = call(command, *words)
  out, error = capsys.readouterr()
  if (command, kind) in REFUSED:
    assert code == 2
    assert error.startswith("ps-cfr-spiel: error: ") and error.count("\n") == 1
    assert re.search(REFUSED[command, kind], error)
  else:
    assert (code, error) == (int((command, kind) == ("check", "hold'em")), "")
    check_output(command, kind, out, runs(kind), tmp_path)


def test_nothing_is_refused_that_is_no_cell():
  assert {*REFUSED} <= {*CELLS}


def test_everything_that_solves_and_shows_three_players(runs, tmp_path, capsys, monkeypatch):
  """Or says what does: solvers one by one, locks, lines, trees, pictures, searches and estimates for two."""
  monkeypatch.chdir(tmp_path)
  game, run, module = KINDS["own of three"][0], runs("own of three"), module_of("own of three")[0]
  few = (game, module, *SOLVE[1:], "--output=made")
  for solver in ("outcome-sampling", "external-sampling"):
    assert call("solve", *few, f"--solver={solver}", f"--output={solver}") == 0
  out = capsys.readouterr().out
  lines = [line.split(":")[0] for line in out.split("exploitability (utility)")[-1].splitlines()]
  shown = [line for line in lines if line.startswith(("value", "exploitability"))]
  assert shown == ["value to player 0", "value to player 1", "value to player 2", "exploitability"]
  refused = [
    *(("solve", *few, f"--solver={name}") for name in ("cfr+ira", "fpira", "fictitious-play", "vr-mccfr")),
    ("solve", *few, "--lock=say left=break left"),
    ("resolve", game, module, "--knowledge=1", "--public_states=none"),
    ("evaluate", run, module, "--lbr"),
    ("match", run, "search", module),
    ("match", run, "random", module, "--method=aivat"),
    ("play", game, module, "--opponent=search"),
  ]
  for words in refused:
    assert call(*words) == 2
    assert re.search(
      r"has 3 players; .* are for two\. (The command solve|method='chips')", capsys.readouterr().err
    )
  assert call("show", run, module, "--player=3") == 2
  assert "player must be from 0 to 2, got 3" in capsys.readouterr().err
  assert call("show", run, module, "--player=2") == 0
  assert call("show", run, module, "--at=say left") == 0
  assert call("play", game, module, f"--opponent={run}", "--seat=3") == 2
  assert call("summary", game, module, "--tree", "--picture=tree.png") == 0
  out = capsys.readouterr().out
  assert "player 2  player 2, tip (1,)" in out and "say left: player 1, 2 x 1 x 1" in out
  assert re.search(r"#3 \.\.\.: player 2, 2 x 2 x 1, 4 histories", out)


GONE = """
import os
from ps_cfr_spiel.apps.commands.program import run

first = run(["show", "runs/py_heist/run.safetensors"])
os.remove("heist.py")
print(first, run(["solve", "--resume=runs/py_heist/run.safetensors"]))
"""


def test_the_command_that_solve_prints_works_as_printed(tmp_path):
  """A run of an own game opens with its module; else an error names the module, and nothing is imported."""
  (tmp_path / "heist.py").write_text((SHARED / "heist.py").read_text())

  def typed(*words):
    made = forked.run(forked.PROGRAM, *words, folder=tmp_path)
    return made.returncode, made.stdout, made.stderr

  code, out, _ = typed("solve", "py_heist", "--module=heist.py", *SOLVE[1:])
  assert code == 0
  printed = re.search(r"^look at it: +ps-cfr-spiel (.*)$", out, re.M)[1]
  assert printed == "show runs/py_heist/run.safetensors --module=heist.py"
  code, out, _ = typed(*printed.split())
  assert code == 0 and "break left" in out
  ended = forked.run(GONE, folder=tmp_path)
  assert ended.stdout == "2 2\n"
  first, second = ended.stderr.splitlines()
  assert f"its game py_heist is not registered; add --module={tmp_path / 'heist.py'}" in first
  assert "py_heist is not registered" in second and "is gone" in second and "damaged" not in second


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_every_example_is_a_module_for_commands(example, capsys):
  """It is imported without running; what it registers is fit for all that is tested above."""
  before = {*pyspiel.registered_names()}
  assert call("check", "kuhn_poker", f"--module={example}") == 0
  for name in {*pyspiel.registered_names()} - before:
    assert call("check", name, f"--module={example}") == 0
  registering = {Path(word.removeprefix("--module=")) for kind in KINDS for word in module_of(kind)}
  registering.add(EXAMPLES / "new_features.py")  # its game is new_game's with two more moves
  assert ("register_game" in example.read_text()) == (example in registering)
  assert "exploitability" not in capsys.readouterr().out  # of its own run, below __main__
