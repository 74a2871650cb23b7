"""Games and places that solvers cannot serve: one line says so, before anything is computed."""

import importlib.util
import subprocess
import sys

import jax
import pyspiel
import pytest

from ps_cfr_spiel import ExternalSamplingSolver, PSCFRSolver, build_tree, check_game
from ps_cfr_spiel.backend.device import dtype
from ps_cfr_spiel.loading import check_start
from ps_cfr_spiel.memory import LimitReachedError
from ps_cfr_spiel.solvers import KeyedMCCFRSolver

SIMULTANEOUS = pyspiel.GameType.Dynamics.SIMULTANEOUS
ILLEGAL = "start_at(game=kuhn_poker(),history=0;0)"
FORGETFUL = """EFG 2 R "Absent-minded driver" { "0" "1" } ""
p "" 1 1 "" { "exit" "go" } 0
t "" 1 "" { 0 0 }
p "" 1 1 "" { "exit" "go" } 0
t "" 2 "" { 4 -4 }
p "" 2 1 "" { "a" "b" } 0
t "" 3 "" { 1 -1 }
t "" 4 "" { 2 -2 }
"""


TAKERS = [build_tree, check_game, PSCFRSolver, ExternalSamplingSolver, KeyedMCCFRSolver]


@pytest.mark.parametrize("take", TAKERS)
def test_a_history_that_is_not_legal(take):
  with pytest.raises(ValueError, match="'0' of history=0;0 is not legal: after 0 the moves are 1, 2"):
    take(pyspiel.load_game(ILLEGAL))


def test_a_legal_history():
  game = pyspiel.load_game("start_at(game=kuhn_poker(),history=0;1)")
  assert PSCFRSolver(game).summary()


def test_imperfect_recall_is_warned_of():
  game = pyspiel.load_efg_game(FORGETFUL)
  with pytest.warns(UserWarning, match="imperfect recall.* solved with perfect recall"):
    PSCFRSolver(game)


def test_inside_a_trace_is_known_wherever_the_package_is_imported():
  spec = importlib.util.spec_from_file_location("imported", dtype.__file__)
  assert spec and spec.loader
  loader, imported = spec.loader, importlib.util.module_from_spec(spec)

  def refused(x):
    loader.exec_module(imported)
    with pytest.raises(RuntimeError, match="traces"):
      imported.check_untraced()
    return x

  jax.jit(refused)(1.0)
  imported.check_untraced()


@pytest.mark.parametrize("use", ["exploitability", "value", "average_policy", "evaluate_and_update_policy"])
def test_inside_a_jitted_function(use):
  solver = PSCFRSolver(pyspiel.load_game("kuhn_poker"))
  message = r"inside a function that JAX traces \(jit, vmap, grad\); call it outside"
  with pytest.raises(RuntimeError, match=message):
    jax.jit(lambda: getattr(solver, use)())()
  with pytest.raises(RuntimeError, match=message):
    jax.vmap(lambda x: x + getattr(solver, use)())(jax.numpy.zeros(2))
  assert solver.exploitability() > 0  # nothing of the trace stayed


MISSING = """
import warnings, pyspiel
from ps_cfr_spiel import PSCFRSolver
from ps_cfr_spiel.backend.native import library
library.LIBRARY = library.FOLDER / "none.so"
with warnings.catch_warnings(record=True) as told:
  warnings.simplefilter("always")
  for _ in range(2):
    PSCFRSolver(pyspiel.load_game("kuhn_poker"))
print(*(str(x.message) for x in told), sep="|")
"""


def test_a_missing_native_library_is_told_once():
  done = subprocess.run([sys.executable, "-c", MISSING], capture_output=True, text=True, check=True)
  (told,) = done.stdout.strip().split("|")
  for part in ("it was not built", "seven times longer", "several times the memory", "pip install -e ."):
    assert part in told


@pytest.mark.parametrize("move", ["²", "--1", "01"])
def test_a_start_that_is_no_number_of_a_move(move):
  game = {"name": "start_at", "game": {"name": "kuhn_poker"}, "history": f"0;{move}"}
  with pytest.raises(
    ValueError, match=f"'{move}' of history=0;{move} is not legal: after 0 the moves are 1, 2"
  ):
    check_start("start", game)


def test_a_simultaneous_game_in_python_without_an_observer():
  """OpenSpiel reads its strings by an observer alone, whatever the state says itself."""
  kind = pyspiel.GameType(
    "unobserved", "Unobserved", SIMULTANEOUS, pyspiel.GameType.ChanceMode.DETERMINISTIC,
    pyspiel.GameType.Information.ONE_SHOT, pyspiel.GameType.Utility.ZERO_SUM,
    pyspiel.GameType.RewardModel.TERMINAL, 2, 2, provides_information_state_string=True,
    provides_information_state_tensor=False, provides_observation_string=False,
    provides_observation_tensor=False)  # fmt: skip
  methods = {
    "current_player": lambda self: pyspiel.PlayerId.SIMULTANEOUS,
    "_legal_actions": lambda self, player: [0, 1],
    "is_terminal": lambda self: False,
    "information_state_string": lambda self, player=None: f"player {player}",
  }
  state = type("State", (pyspiel.State,), methods)
  info = pyspiel.GameInfo(2, 0, 2, -1.0, 1.0, 0.0, 1)
  make = {
    "__init__": lambda self, params=None: pyspiel.Game.__init__(self, kind, info, params or {}),
    "new_initial_state": lambda self: state(self),
  }
  pyspiel.register_game(kind, type("Unobserved", (pyspiel.Game,), make))
  missing = r"has no make_py_observer\(\), by which OpenSpiel reads"
  with pytest.raises(ValueError, match=missing):
    build_tree(pyspiel.load_game("unobserved"))
  sampled = KeyedMCCFRSolver(pyspiel.convert_to_turn_based(pyspiel.load_game("unobserved")))
  with pytest.raises(LimitReachedError, match=missing):
    sampled.run(1)
