"""The estimate of memory against what a solver takes, each in a process of its own."""

import os
from pathlib import Path

import forked
import pytest

# The largest resident set is read from /proc: what getrusage says of a new process counts its parent's.
SOLVE = """
import sys
from pathlib import Path
import jax.numpy as jnp
import pyspiel
from ps_cfr_spiel import PSCFRSolver
from ps_cfr_spiel.compilation.compiler import policy_needs

def peak():
  lines = Path("/proc/self/status").read_text().splitlines()
  return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

game, rule, *options = sys.argv[1:]
game, locks = pyspiel.load_game(game), {"check": {"check": 1}} if "locked" in options else None
jnp.ones((2, 2)) @ jnp.ones((2, 2))
bare = peak()
solver = PSCFRSolver(game, rule, locks=locks, bits=16 if "16" in options else 32)
solver.run(10, progress=False)
solver.exploitability()
run = solver.estimated_bytes, peak() - bare
policy = solver.average_policy()
cells = sum(block.size for blocks in policy.strategies for block in blocks)
estimate = run[0] + sum(policy_needs(cells).values())
print(*run, estimate, peak() - bare)
"""
# What a look at the strategies takes, and the values of actions, for which the solver is given up.
READ = """
from ps_cfr_spiel.compilation.compiler import PublicStateIndex, values_needs
tree = solver.tree
del solver
policy.worths
print(max(estimate, sum(values_needs(PublicStateIndex.of(game.bayesian_form())).values())), peak() - bare)
"""
# And which share of the estimate is surely taken. Of few hands compiling takes most, and not always as much
# (38 MB of the first were seen, and with other versions of JAX 52 to 120 MB); of more hands the tables. Of
# larger flops it is nearly all (docs/measurements.md).
WIDE = "ranges=22+ A2s+;22+ A2s+"
FLOP = "ranges=22+ A2s+ K8s+ Q9s+;22+ A2s+ K8s+ Q9s+"
GAMES = {
  "few hands, folded suits": (["holdem_subgame(board=9s7s5s4s,stack=1000,ranges=AA;KK)", "nrm+"], 1 / 5),
  "a lock, folded": ([f"holdem_subgame(board=9s7s5s4s,stack=1000,{WIDE})", "nrm+", "locked"], 1 / 4),
  "a flop, 16 bits": ([f"holdem_subgame(board=9s7c5s,stack=500,{FLOP})", "nrm+", "16"], 2 / 3),
  "all hands, tables not compressed": (["holdem_subgame(stack=1000)", "dcfr"], 0.47),
}
pytestmark = pytest.mark.skipif(
  not Path("/proc/self/status").exists(), reason="peaks of memory are read from /proc"
)


@pytest.mark.parametrize(("words", "share"), GAMES.values(), ids=GAMES)
def test_a_solver_takes_at_most_what_was_estimated_and_not_much_less(words, share):
  check_run(share, *measured(SOLVE, words))


def check_run(share, run, taken, both, at_all):
  """The run, which may be looked at, and a policy of it beside it."""
  assert share * run <= taken <= run
  assert share * both <= at_all <= both


@pytest.mark.parametrize(("board", "share"), [("9s7c5s4h", 2 / 5), ("9s7s5s4s", 1 / 5)])
def test_the_values_of_actions_take_at_most_what_was_estimated(board, share):
  """After a run with all hands; also where suits are folded, which the values of all hands are not."""
  words = [f"holdem_subgame(board={board},stack=1000)", "nrm+"]
  *run, estimate, taken = measured(SOLVE + READ, words)
  check_run(share, *run)
  assert estimate / 2 <= taken <= estimate


def measured(program, words):
  """The bytes that a program estimates, and those that it takes, pair by pair."""
  settings = {"JAX_ENABLE_COMPILATION_CACHE": "false", "JAX_PLATFORMS": "cpu", "XLA_FLAGS": ""}
  done = forked.run(program, *words, environment={**os.environ, **settings})
  assert done.returncode == 0, done.stderr
  return map(int, done.stdout.split())
