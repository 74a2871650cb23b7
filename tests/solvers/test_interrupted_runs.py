"""Runs that a signal interrupts at any moment: the state stays whole, and goes on to the same numbers.

`test_every_solver` interrupts every solver at the moment that matters most.
"""

import signal
import sys
import time

import jax
import numpy as np
import pyspiel
import pytest
from interrupts import assert_same, leaves

from ps_cfr_spiel.backend.device import driver, interrupts
from ps_cfr_spiel.solvers import PSCFRSolver
from ps_cfr_spiel.solvers import solver as base

PATIENCE = 120  # seconds
FILES = {module.__file__ for module in (base, driver, interrupts)}
pytestmark = pytest.mark.usefixtures("ctrl_c")


@pytest.fixture(autouse=True)
def tables_in_place(monkeypatch):
  monkeypatch.setattr("ps_cfr_spiel.solvers.ps_cfr.LARGE", 0)


def kuhn():
  return PSCFRSolver(pyspiel.load_game("kuhn_poker"))


def interrupted_at(moment, run):
  """Run with Ctrl-C before an opcode of `FILES`, counted from 0; whether there is such a moment."""
  left = moment

  def trace(frame, event, _):
    nonlocal left
    if frame.f_code.co_filename not in FILES:
      return None
    frame.f_trace_lines, frame.f_trace_opcodes = False, True
    if event == "opcode":
      left -= 1
      if left < 0:
        sys.settrace(None)
        signal.raise_signal(signal.SIGINT)
        return None
    return trace

  before = sys.gettrace()
  sys.settrace(trace)
  try:
    run()
  except KeyboardInterrupt:
    assert left < 0
  finally:
    sys.settrace(before)
  return left < 0


def test_ctrl_c_at_every_opcode_of_the_run():
  """In one whole part or a shorter one: the bits are those of a run without interrupts, and go on to its end.

  From each number of iterations, and each tenth moment, the rest is run; every moment begins another run.
  """
  whole, solver, bits = kuhn(), kuhn(), {}
  for iterations in (2, 1, 2):
    bits[whole.iteration] = [x.copy() for x in leaves(whole)]  # the tables change in place
    whole.run(iterations)
  first, moment, gone_on = jax.tree.map(np.array, solver._state), 0, set()
  handler = signal.getsignal(signal.SIGINT)
  while True:
    solver._state = jax.tree.map(jax.numpy.asarray, first)
    solver.pace.chunk, solver._compiled = 2, True
    if not interrupted_at(moment, lambda: solver.run(3, progress=False)):
      break
    assert signal.getsignal(signal.SIGINT) is handler
    for mine, other in zip(leaves(solver), bits[solver.iteration], strict=True):
      np.testing.assert_array_equal(mine, other)
    if solver.iteration not in gone_on or moment % 10 == 0:
      gone_on.add(solver.iteration)
      solver.run(5 - solver.iteration, progress=False)
      assert_same(solver, whole)
    moment += 1
  assert moment > 500 and gone_on == {0, 2, 3}


def test_a_notebook_that_interrupts_its_kernel():
  """As its stop button does: the next cell has the whole state."""
  jupyter = pytest.importorskip("jupyter_client")
  pytest.importorskip("ipykernel")
  manager, client = jupyter.manager.start_new_kernel(kernel_name="python3", extra_arguments=["--quiet"])
  begin = """
import pyspiel, time
from ps_cfr_spiel.solvers import PSCFRSolver, ps_cfr
ps_cfr.LARGE = 0
solver = PSCFRSolver(pyspiel.load_game("kuhn_poker"))
solver.compile()
"""
  after = "assert solver._in_place and solver.iteration > 0; solver.exploitability(); solver.run(10)"

  def reply_to(request):
    # Not the next message: one that waits for a slow kernel asks several times whether it is there.
    while (message := client.get_shell_msg(timeout=PATIENCE))["parent_header"].get("msg_id") != request:
      pass
    return message["content"]

  try:
    assert reply_to(client.execute(begin))["status"] == "ok"
    for _ in range(3):
      # Without `stop_on_error` the kernel takes the next cell at once after an interrupt.
      cell = client.execute("print('begun', flush=True); solver.run(10**9)", stop_on_error=False)
      while "begun" not in str(client.get_iopub_msg(timeout=PATIENCE)["content"].get("text")):
        pass
      time.sleep(0.5)
      manager.interrupt_kernel()
      assert reply_to(cell)["ename"] == "KeyboardInterrupt"
      assert reply_to(client.execute(after))["status"] == "ok"
  finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
