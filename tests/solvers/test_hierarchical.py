import contextlib
import socket

import jax
import numpy as np
import pyspiel
import pytest
from dealt_games import poker
from edited_files import DELETED, rewrite
from forked import Copy
from xla_settings import users_environment

from ps_cfr_spiel import evaluate_policy, load_policy, load_solver
from ps_cfr_spiel.abstractions import (
  HierarchicalMCCFRSolver,
  exact_values,
  post_process,
  rounded,
  value_against,
)
from ps_cfr_spiel.cards.poker import deals
from ps_cfr_spiel.hierarchical import card_game, make_abstraction
from ps_cfr_spiel.hierarchical.clustered_game import ClusteredGame
from ps_cfr_spiel.sampling.keyed import KeyedPolicy

GAME = "leduc_poker"
PROGRAM = """
import sys
import ps_cfr_spiel

processes, process, port, path, devices, output = sys.argv[1:]
ps_cfr_spiel.runtime.use_cores(int(devices))
ps_cfr_spiel.runtime.join_processes(f"localhost:{port}", int(processes), int(process))
solver = ps_cfr_spiel.abstractions.HierarchicalMCCFRSolver.load(path)
solver.run(5, checkpoint=output)
"""


BUILDS = """
import sys
import numpy as np
import pyspiel
import ps_cfr_spiel
from ps_cfr_spiel.cards.poker import deals
from ps_cfr_spiel.hierarchical import card_game, clustering, make_abstraction

fill, filled = clustering._fill_buckets, []
clustering._fill_buckets = lambda *given, **options: filled.append(1) or fill(*given, **options)
process, port, folder, *games = sys.argv[1:]
ps_cfr_spiel.runtime.join_processes(f"localhost:{port}", 2, int(process))
for number, name in enumerate(games):
  deals.MOST_CLASSES = 200_000 if number == 0 else 0
  made = make_abstraction(card_game(pyspiel.load_game(name)), clusters=3, buckets=4, restarts=1)
  np.savez(f"{folder}/{process}.{number}.npz", **made.to_arrays())
assert len(filled) == 2 - int(process)
"""


def make(**options):
  given = {"clusters": np.array([2, 0, 1]), "buckets": "lossless", "batch": 8} | options
  return HierarchicalMCCFRSolver(pyspiel.load_game(GAME), **given)


def cluster(policy, state):
  """The cluster of a state's board in the game of a policy that was read from a file."""
  assert isinstance(policy, KeyedPolicy) and isinstance(policy.form, ClusteredGame)
  return policy.form.bucket(state)[0]


def same(one, other):
  for x, y in zip(*(jax.tree.leaves((run._kept(), run._here())) for run in (one, other)), strict=True):
    np.testing.assert_array_equal(x, y)


@pytest.fixture(scope="module")
def ten():
  solver = make()
  solver.run(10)
  return solver


def five_more(start, output, devices=2, processes=2):
  """Runs further iterations in new processes, with XLA's own settings: the bits depend on them."""
  with socket.socket() as free:
    free.bind(("localhost", 0))
    port = free.getsockname()[1]
  environment = users_environment() | {"JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "1"}
  with contextlib.ExitStack() as stack:
    started = [
      stack.enter_context(
        Copy(PROGRAM, processes, process, port, start, devices, output, environment=environment)
      )
      for process in range(processes)
    ]
    assert [process.wait() for process in started] == [0] * processes
  return load_solver(output)


@pytest.mark.usefixtures("optimized")
def test_any_number_of_devices_finds_the_same_bits(tmp_path):
  """Three clusters on the device of this process, and on two devices of each of two others."""
  start = tmp_path / "start.safetensors"
  one = make()
  one.run(5)
  one.save(start)
  two = five_more(start, tmp_path / "two.safetensors")
  one.run(5)
  assert len(jax.devices()) == 1 and one.iteration == 10
  same(two, one)


def test_two_processes_build_an_abstraction_together(tmp_path, monkeypatch):
  """With tables of boards and without: each makes its boards and clusters, and both have the bits of one."""
  games = poker(6, 2, 2, "0 3 1", raises=1), poker(3, 2, 1, "0 1 1 1", raises=1)
  with socket.socket() as free:
    free.bind(("localhost", 0))
    port = str(free.getsockname()[1])
  words = [port, str(tmp_path), *games]
  with Copy(BUILDS, 0, *words) as first, Copy(BUILDS, 1, *words) as second:
    assert (first.wait(), second.wait()) == (0, 0)
  for number, name in enumerate(games):
    monkeypatch.setattr(deals, "MOST_CLASSES", 200_000 if number == 0 else 0)
    alone = make_abstraction(
      card_game(pyspiel.load_game(name)), clusters=3, buckets=4, restarts=1
    ).to_arrays()
    assert ("groups" in alone) == (number == 1)
    for process in "01":
      with np.load(tmp_path / f"{process}.{number}.npz") as found:
        for key, array in alone.items():
          np.testing.assert_array_equal(found[key], array)
          assert found[key].dtype == array.dtype


def test_hands_of_one_card_have_no_numbers_of_pairs():
  state = pyspiel.load_game("leduc_poker").new_initial_state()
  for card in (0, 3):
    state.apply_action(card)
  policy = HierarchicalMCCFRSolver(state.get_game(), 2, buckets="lossless", batch=4).average_policy()
  assert policy.for_hands_at(state) is None
  assert sum(policy.action_probabilities(state).values()) == pytest.approx(1)


def test_policies_are_of_the_whole_game(ten, tmp_path):
  walked = evaluate_policy(ten.game, ten.average_policy())
  assert ten.exploitability() == pytest.approx(walked.exploitability, abs=1e-5)
  assert ten.value() == pytest.approx(walked.value, abs=1e-5)
  ten.save(tmp_path / "run.safetensors")
  policy = load_policy(tmp_path / "run.safetensors")
  state = pyspiel.load_game(GAME).new_initial_state()
  for action in (0, 3, 1, 1, 4):
    state.apply_action(action)
  assert policy.action_probabilities(state) == ten.average_policy().action_probabilities(state)
  assert cluster(policy, state) == 1  # the board is a king
  with pytest.raises(ValueError, match="the state is of another game"):
    policy.action_probabilities(pyspiel.load_game("kuhn_poker").new_initial_state().child(0).child(1))


def test_a_policy_in_bytes_plays_as_the_run(ten, tmp_path):
  """Each probability is within a byte's rounding of that of the run, at every decision of the game."""
  whole, path = ten.average_policy(), tmp_path / "policy.safetensors"
  whole.save(path, {"made_by": "a test"})
  packed = load_policy(path)
  assert packed.info["card"] == {"made_by": "a test"} and packed.info["iteration"] == 10

  def compare(state):
    if state.is_terminal():
      return 0
    if not state.is_chance_node():
      exact, rounded = (policy.action_probabilities(state) for policy in (whole, packed))
      assert rounded == pytest.approx(exact, abs=len(exact) / 510)
    return state.is_player_node() + sum(compare(state.child(a)) for a in state.legal_actions())

  assert compare(ten.game.new_initial_state()) > 3000
  assert path.stat().st_size < 4000 + sum(x.nbytes for x in jax.tree.leaves(ten._state.tables)) / 4


@pytest.mark.parametrize("how", ["purify", "threshold=0.3", "cautious=0.3"])
def test_rounded_tables_are_rounded_play(ten, how):
  """A table at once, or the rows of the whole game one by one."""
  policy = ten.average_policy()
  tables, rows = rounded(policy, how), post_process(ten.game, policy, how)
  of_tables, of_rows = (jax.tree.leaves(evaluate_policy(ten.game, x)) for x in (tables, rows))
  np.testing.assert_allclose(of_tables, of_rows, atol=1e-6)
  assert exact_values(tables).exploitability != pytest.approx(ten.exploitability())
  assert tables.info["policy"] == "rounded average"


def test_policies_of_different_games_are_not_compared():
  """What one wins from another, `hierarchical/test_dealing.py` has by the walked tree."""
  game = pyspiel.load_game("leduc_poker(suit_isomorphism=False)")
  other = HierarchicalMCCFRSolver(game, clusters=1, buckets="lossless")
  with pytest.raises(ValueError, match="the other one is for"):
    value_against(make().average_policy(), other.average_policy())


def test_boards_of_a_later_round_are_clustered(tmp_path):
  """A run that is read from a file goes on to the same bits, and a policy knows where they are."""
  game = pyspiel.load_game(poker(3, 2, 1, "0 1 1", raises=1))
  solver = HierarchicalMCCFRSolver(game, clusters=3, buckets="lossless", batch=4, clustered_round=2)
  before = solver.exploitability()
  solver.run(300)
  assert solver.exploitability() < before / 2
  solver.save(tmp_path / "run.safetensors")
  again = HierarchicalMCCFRSolver.load(tmp_path / "run.safetensors")
  assert again.abstraction.clustered_round == 2
  for run in (solver, again):
    run.run(20)
  same(solver, again)
  policy = load_policy(tmp_path / "run.safetensors")
  state, clusters = game.new_initial_state(), []
  for action in (0, 3, 1, 1, 4, 1, 1, 2):
    state.apply_action(action)
    if not state.is_chance_node():
      clusters.append(cluster(policy, state))
  assert clusters == [-1] * 4 + [int(solver.abstraction.clusters[solver._dealt.deal.seen([0], [4, 2])[2][0]])]
  with pytest.raises(ValueError, match="clustered_round=3: public cards come before rounds 1 to 2; give one"):
    HierarchicalMCCFRSolver(game, 3, clustered_round=3)


def test_a_flop_with_ranges_is_solved():
  ranges = "2d4c:0.5 6c6d 3c5d;2d5d 4c4d:0.75 6c6d 3c4d"
  game = pyspiel.load_game(f"holdem_subgame(deck=5x2,board=2c3d5c,pot=2,stack=3,bets=a,ranges={ranges})")
  solver = HierarchicalMCCFRSolver(game, clusters=3, buckets="lossless", batch=4, clustered_round=2)
  solver.run(600)
  assert solver.exploitability() < 0.05


def test_wrong_input(tmp_path):
  with pytest.raises(ValueError, match="expected universal_poker for two"):
    HierarchicalMCCFRSolver(pyspiel.load_game("liars_dice"))
  with pytest.raises(TypeError, match=r"game must be a pyspiel.Game, got NoneType"):
    HierarchicalMCCFRSolver(None)
  solver = make()
  assert solver.tree is None and not hasattr(solver, "_strategies")
  solver.save(tmp_path / "run.safetensors")
  with pytest.raises(ValueError, match="damaged, of another game or of an earlier version"):
    HierarchicalMCCFRSolver.load(tmp_path / "run.safetensors", abstraction=make(clusters=1).abstraction)
  rewrite(tmp_path / "run.safetensors", {"shards": DELETED})
  for load in (HierarchicalMCCFRSolver.load, load_policy):
    with pytest.raises(ValueError, match="damaged: its header has no shards"):
      load(tmp_path / "run.safetensors")
