"""The device of computations, tried without an accelerator: the last CPU device stands for one."""

import functools

import forked
import jax
import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel import HoldemPolicy, PSCFRSolver, batches, build_tree, cfr, load_solver
from ps_cfr_spiel.apps.commands.program import run as run_program
from ps_cfr_spiel.backend.device import accelerator, device_named, on, platform, precision, rehearsal
from ps_cfr_spiel.cfr.placement import EACH, LEAST
from ps_cfr_spiel.solvers import ContinualResolving
from ps_cfr_spiel.tree.arrays import segment_sums

RIVER = "river_subgame(stack=300,ranges=AA KQs;QQ AKs)"
TURN = "holdem_subgame(board=9s7c5s4h,stack=300,ranges=AA KQs;QQ AKs)"
JUST = LEAST // EACH  # actions from which on an accelerator is taken


def gpu_solver(game, *options, **keywords):
  with rehearsal("gpu"):
    return PSCFRSolver(pyspiel.load_game(game), *options, **{"device": "gpu", **keywords}, progress=False)


def test_computations_are_on_the_cpu_unless_a_run_takes_an_accelerator():
  assert (accelerator(), platform(), device_named()) == (None, "cpu", None)
  with rehearsal("gpu"):
    device = device_named("gpu")
    assert device is not None and device == accelerator() == device_named()
    assert device_named("cpu") is None
    with precision("float32"):
      assert platform() == "cpu"
    with on(device), precision("float32"):
      assert platform() == "gpu"
  assert platform() == "cpu"


def test_a_device_that_is_not_there_is_refused_with_what_there_is():
  with pytest.raises(
    ValueError,
    match=r"device='gpu': JAX has cpu alone by JAX_PLATFORMS=cpu; .*pip install -U 'jax\[cuda12\]'",
  ):
    PSCFRSolver(pyspiel.load_game("kuhn_poker"), device="gpu")
  with (
    rehearsal("gpu"),
    pytest.raises(ValueError, match=r"device='tpu': JAX has gpu and cpu alone by .*; .*tpu"),
  ):
    batches.solve_batch([RIVER], device="tpu")
  with pytest.raises(ValueError, match=r"device 'vulkan'; choose one of 'auto', 'cpu', 'gpu'"):
    PSCFRSolver(pyspiel.load_game("kuhn_poker"), device="vulkan")


def test_the_program_refuses_it_in_one_line(capsys):
  assert run_program(["solve", "kuhn_poker", "--device=gpu"]) == 2
  error = capsys.readouterr().err
  assert error.startswith("ps-cfr-spiel: error: device='gpu': JAX has cpu alone") and error.count("\n") == 1


def test_auto_takes_an_accelerator_where_a_core_takes_longer_than_its_start():
  assert str(cfr.place("auto", lambda: 10**9)) == "cpu"  # nothing else is there
  with rehearsal("gpu"):
    few, many = (cfr.place("auto", lambda n=n: n) for n in (JUST, JUST + 1))
    assert few.device is None and many.device == accelerator()
    assert str(few).startswith("cpu: some 26 ms an iteration on a core for 5,200,000 actions")
    assert str(many).startswith("gpu: some 26 ms an iteration on a core for 5,200,001 actions")
    assert str(cfr.place("auto", lambda: JUST + 1, "it is for CPUs")) == "cpu: it is for CPUs"
    assert str(cfr.place("gpu", lambda: 1)) == "gpu"
    with pytest.raises(ValueError, match="device='gpu': it is for CPUs; choose auto or cpu"):
      cfr.place("gpu", lambda: 1, "it is for CPUs")


@pytest.mark.parametrize("game", ["kuhn_poker", TURN])
def test_small_games_stay_on_the_cpu(game):
  """One is enumerated, so that its size is known late. A summary has a device if there is a choice."""
  solver = gpu_solver(game, device="auto")
  assert solver.device is None and "native" in solver.engine.engine.name
  assert "device:              cpu: some" in solver.summary()
  assert "device" not in PSCFRSolver(pyspiel.load_game(game)).summary()


def test_a_large_game_goes_to_the_accelerator_if_its_memory_suffices(monkeypatch):
  monkeypatch.setattr("ps_cfr_spiel.cfr.placement.EACH", 5e4)
  solver = gpu_solver(TURN, device="auto")
  with rehearsal("gpu"):
    assert solver.device == accelerator() and str(solver.engine) == "xla on an axis of boards"
    assert "gpu: some 2e+02 ms an iteration on a core for 3,920 actions, by est" in solver.summary()
  memory = "ps_cfr_spiel.compilation.compiler.form_sizes.accelerator_memory"
  monkeypatch.setattr(memory, lambda: None if platform() == "cpu" else 2**20)
  tight = gpu_solver(TURN, device="auto")
  assert str(tight.placement) == "cpu: the gpu has too little memory for this game"
  with pytest.raises(ValueError, match=r"1 MB are allowed. The gpu has no more: .*--device=cpu"):
    gpu_solver(TURN)


def test_native_leaves_keep_a_run_on_the_cpu():
  game = pyspiel.load_game(TURN)
  tree = build_tree(game, "native")
  assert str(gpu_solver(TURN, tree=tree, device="auto").placement) == "cpu: native leaves are for CPUs"
  with pytest.raises(ValueError, match="device='gpu': native leaves are for CPUs"):
    gpu_solver(TURN, tree=tree)
  with pytest.raises(ValueError, match="device='gpu': native leaves are for CPUs"):
    gpu_solver(TURN, leaves="native")


@pytest.mark.parametrize("game", ["kuhn_poker", RIVER, TURN])
def test_values_are_those_of_the_cpu_up_to_rounding(game):
  """Later iterations amplify rounding, so that exploitability alone is compared there."""
  one, other = PSCFRSolver(pyspiel.load_game(game), "rm+"), gpu_solver(game, "rm+")
  with rehearsal("gpu"):
    for iterations in (2, 60):
      for solver in (one, other):
        solver.run(iterations)
      found = [np.array([s.value(), *map(float, s.evaluation().best_response)]) for s in (one, other)]
      np.testing.assert_allclose(found[0], found[1], atol=(2e-5 if iterations == 2 else 0.3) * 100)
  assert one.exploitability() == pytest.approx(other.exploitability(), rel=0.2)


def test_files_go_on_on_any_device(tmp_path):
  """A header has no device; the game of histories has other passes on an accelerator than a card game."""
  for game, engine in (("kuhn_poker", "xla"), (TURN, "xla on an axis of boards")):
    solver, path = gpu_solver(game, "rm+", dtype="float64"), tmp_path / "run.safetensors"
    with rehearsal("gpu"):
      solver.run(9, checkpoint=path)
    on_cpu = load_solver(path)
    assert isinstance(on_cpu, PSCFRSolver)
    on_cpu.run(9, checkpoint=path)
    assert "native" in on_cpu.engine.engine.name
    with rehearsal("gpu"):
      last = load_solver(path, device="gpu")
      assert isinstance(last, PSCFRSolver)
      assert last.engine.engine.name == engine
      last.run(9)
      whole = gpu_solver(game, "rm+", dtype="float64")
      whole.run(27)
      assert last.exploitability() == pytest.approx(whole.exploitability(), rel=1e-9)


def test_sums_for_an_accelerator_take_numbers_of_the_host_in_a_trace():
  rows, index = np.arange(10.0, dtype="float32").reshape(5, 2), np.array([2, 0, 2, 3, 0])
  with rehearsal("gpu"), precision("float32", accelerator()):
    sums = jax.jit(lambda rows: segment_sums(rows, index, 4))(rows)
  np.testing.assert_array_equal(sums, [rows[[1, 4]].sum(0), [0, 0], rows[[0, 2]].sum(0), rows[3]])


def test_batches_are_the_same_on_an_accelerator():
  options = {"iterations": 30, "dtype": "float64", "rule": "dcfr", "progress": False}
  (one,) = batches.solve_batch([RIVER], **options)
  with rehearsal("gpu"):
    (other,) = batches.solve_batch([RIVER], **options)
    (kept,) = batches.solve_batch([RIVER], **options, device="cpu")
    (native,) = batches.solve_batch([RIVER], **options, leaves="native")
  assert native.exploitability == pytest.approx(one.exploitability, rel=1e-9)
  assert other.exploitability == pytest.approx(one.exploitability, rel=1e-9)
  assert kept.exploitability == one.exploitability


def test_the_agent_searches_on_an_accelerator(monkeypatch):
  """An agent's search goes to the device of its option; by auto one as small as this stays on the CPU."""
  searched, run = [], cfr.run
  monkeypatch.setattr(
    cfr, "run", lambda *given, **options: searched.append(platform()) or run(*given, **options)
  )
  game = pyspiel.load_game("holdem(deck=3x3,stack=600)")
  state = game.new_initial_state()
  while state.is_chance_node() or len(state.history()) < 14:
    state.apply_action(state.legal_actions()[0] if state.is_chance_node() else 1)
  answers = []
  with rehearsal("gpu"):
    for device in ("gpu", "cpu", "auto"):
      blueprint = openspiel_policy.UniformRandomPolicy(game)
      agent = HoldemPolicy(game, blueprint, "1 a / a", iterations=5, device=device)
      answers.append(agent.action_probabilities(state))
  assert answers[0] == pytest.approx(answers[1], abs=1e-5) and answers[2] == answers[1]
  assert searched == [*["gpu"] * (len(searched) // 3), *["cpu"] * (2 * len(searched) // 3)]


def test_searches_of_enumerated_games_add_up_by_tables(monkeypatch):
  """With values by CFR inside: no sort and no scatter, one program for both, and the CPU's strategies."""
  texts, run = [], cfr.run

  def lowered(tree, state, iterations, averaging_delay, **method):
    if platform() == "gpu":
      loop = jax.jit(functools.partial(cfr.iterate, **method))
      texts.append(loop.lower(tree, state, iterations, averaging_delay).as_text())
    return run(tree, state, iterations, averaging_delay, **method)

  monkeypatch.setattr(cfr, "run", lowered)
  game, answers = pyspiel.load_game("kuhn_poker"), []
  settings = {"iterations": 10, "rule": "rm+", "lookahead": 1, "dtype": "float64"}
  answers.append(ContinualResolving(game, **settings).tabularise().action_probability_array)
  with rehearsal("gpu"), jax.default_device(jax.local_devices()[-1]):
    answers.append(ContinualResolving(game, **settings).tabularise().action_probability_array)
  np.testing.assert_allclose(*answers, rtol=0, atol=1e-9)
  assert texts and not any(word in text for text in texts for word in ("stablehlo.sort", "stablehlo.scatter"))


TWO = f"""
import jax
jax.config.update("jax_num_cpu_devices", 2)
import numpy as np, pyspiel, ps_cfr_spiel
from ps_cfr_spiel.evaluation.exploitability import evaluate_policy
from ps_cfr_spiel.backend.device import rehearsal
def places(solver):
  arrays = jax.tree.leaves((solver._tree, solver._state))  # those of a small run on a CPU are NumPy's
  return sorted({{0 if isinstance(x, np.ndarray) else x.device.id for x in arrays}})
with rehearsal("gpu"):
  game = pyspiel.load_game({RIVER!r})
  solvers = [ps_cfr_spiel.PSCFRSolver(game, "rm+", device=name, progress=False) for name in ("gpu", "cpu")]
  for _ in range(2):
    for solver in solvers:
      solver.run(5)
  print(*map(places, solvers))
  found = [evaluate_policy(game, solver.average_policy()) for solver in solvers]
  print(abs(found[0].exploitability - found[1].exploitability) < 1e-3)
"""


def test_two_runs_are_each_on_their_own_device():
  """Side by side in one process; all arrays of a run are on its device, also after it has run."""
  done = forked.run(TWO)
  assert done.stdout == "[1] [0]\nTrue\n", done.stderr
