"""Patches for OpenSpiel: they apply to the installed sources, pass their own tests, and agree with ours."""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import open_spiel
import pyspiel
import pytest
from game_checks import check_playthrough

import ps_cfr_spiel
from ps_cfr_spiel import histories

ROOT = pathlib.Path(__file__).parents[1]
PATCHES = sorted((ROOT / "contributions" / "open_spiel").glob("*.patch"))
SOURCES = pathlib.Path(open_spiel.__file__).parent
CHANGED = (
  "python/CMakeLists.txt",
  "python/games/__init__.py",
)  # files that the patches change; all else is new
OWN_TESTS = ("algorithms/predictive_cfr_test.py", "games/glasses_test.py")
RUN = """
import runpy, sys
import open_spiel.python.algorithms, open_spiel.python.games
for room in ("algorithms", "games"):
  getattr(open_spiel.python, room).__path__.append(f"{sys.argv[1]}/{room}")
path = f"{sys.argv[1]}/{sys.argv[2]}"
sys.argv = [path]
runpy.run_path(path, run_name="__main__")
"""


@pytest.fixture(scope="module")
def patched(tmp_path_factory):
  """OpenSpiel's Python folder as the patches leave it, without the files that they do not touch."""
  folder = tmp_path_factory.mktemp("patched")
  for name in CHANGED:
    (folder / "open_spiel" / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(SOURCES / name, folder / "open_spiel" / name)
  environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
  for patch in PATCHES:
    subprocess.run(["git", "apply", "--exclude=docs/*", str(patch)], cwd=folder, check=True, env=environment)
  return folder / "open_spiel" / "python"


def module(path):
  spec = importlib.util.spec_from_file_location(path.stem, path)
  assert spec is not None and spec.loader is not None
  found = importlib.util.module_from_spec(spec)
  spec.loader.exec_module(found)
  return found


@pytest.fixture(scope="module")
def solvers(patched):
  return module(patched / "algorithms" / "predictive_cfr.py")


@pytest.fixture(scope="module")
def glasses(patched):
  module(patched / "games" / "glasses.py")  # which registers the game
  return pyspiel.load_game("python_glasses")


@pytest.mark.parametrize("name", OWN_TESTS)
def test_their_tests_pass_and_are_listed(patched, name):
  done = subprocess.run(
    [sys.executable, "-c", RUN, str(patched), name], capture_output=True, text=True, timeout=1800
  )
  assert done.returncode == 0 and "OK" in done.stderr, done.stderr[-3000:]
  assert name in (patched / "CMakeLists.txt").read_text()


def test_no_dependency_on_this_package(patched):
  for path in patched.parent.rglob("*.py"):
    assert "ps_cfr_spiel" not in path.read_text()


RULES = {
  "PCFRPlusSolver": "pcfr+",
  "PDCFRPlusSolver": "pdcfr+",
  "DCFRPlusSolver": ps_cfr_spiel.rules.PDCFRPlus(alpha=1.5, phi=0.0, gamma=4.0),  # no prediction: plain DCFR+
}


@pytest.mark.parametrize(
  ("name", "game", "iterations"),
  [
    ("PCFRPlusSolver", "kuhn_poker", 30),  # not PDCFR+: half of a regret and the next cancel, up to rounding
    ("DCFRPlusSolver", "kuhn_poker", 30),
    *((name, "leduc_poker", 4) for name in RULES),
  ],
)
def test_iterates_are_those_of_our_rules(solvers, name, game, iterations):
  game = pyspiel.load_game(game)
  theirs = getattr(solvers, name)(game)
  ours = ps_cfr_spiel.PSCFRSolver(game, RULES[name], dtype="float64")
  for _ in range(iterations):
    theirs.evaluate_and_update_policy()
    ours.evaluate_and_update_policy()
  for mine, other in (
    (ours.current_policy(), theirs.current_policy()),
    (ours.average_policy(), theirs.average_policy()),  # of all iterates
  ):
    table = mine.to_tabular()
    for key, row in table.state_lookup.items():
      np.testing.assert_allclose(
        table.action_probability_array[row], other.policy_for_key(key), atol=1e-9, err_msg=key
      )


def test_glasses_is_the_same_game(glasses):
  theirs, ours = (histories.enumerate_histories(game) for game in (glasses, pyspiel.load_game("glasses")))
  for name in ("parent", "action", "player", "chance", "utility", "legal"):
    np.testing.assert_array_equal(getattr(theirs, name), getattr(ours, name), name)
  assert theirs.legal_sets == ours.legal_sets
  for theirs_of, ours_of in zip(theirs.infostate, ours.infostate, strict=True):
    np.testing.assert_array_equal(theirs_of, ours_of)  # numbered as they first occur
  names = [ps_cfr_spiel.build_tree(game).sizes() for game in (glasses, pyspiel.load_game("glasses"))]
  assert names[0] | {"game": ""} == names[1] | {"game": ""}
  assert ps_cfr_spiel.check_game(glasses).solvable


def test_the_playthrough_replays(patched, glasses):
  check_playthrough(patched.parent / "integration_tests" / "playthroughs" / "python_glasses.txt")
