"""The command `ps-cfr-spiel summary`: the size of a game or run, seconds and memory, and the public tree."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pyspiel
from absl import flags

import ps_cfr_spiel as ps
from ps_cfr_spiel.apps.commands.framework.command import Command, Flag, given_options
from ps_cfr_spiel.apps.commands.framework.flags import JSON, SPOT, TREE, memory_lines, say
from ps_cfr_spiel.apps.commands.framework.user_input import drawing, load_game, refuse
from ps_cfr_spiel.memory import peak_memory, readable_bytes
from ps_cfr_spiel.options import RunOptions, TreeOptions
from ps_cfr_spiel.reports import Stopwatch, quiet_stderr, report

MEASURED = 3  # iterations

# fmt: off
FLAGS = (
  Flag("tree", False, "Print the public tree, too."),
  Flag("infostates", False, "With --tree: list the possible knowledge of each player."),
  Flag("depth", None, "Depth below which the tree is left out.", kind=int, least=0),
  Flag("picture", None, "Picture of the public tree, such as tree.pdf.", value="FILE"),
  Flag("measure", False,
    f"Build the solver and take {MEASURED} iterations: the seconds of one, and the peak of memory."),
  *TREE,
  *SPOT,
  JSON,
)
# fmt: on


def _run(values: flags.FlagValues, words: Sequence[str]) -> int | None:
  if not values.tree:
    refuse(values, ("infostates", *([] if values.picture else ["depth"])), "is for --tree")
  if len(words) == 1 and words[0].endswith(".safetensors"):
    return _of_run(words[0], values)
  game = load_game(words, values)
  drawn = drawing(values.picture)
  with Stopwatch() as building:
    tree = ps.build_tree(game, **given_options(values, TreeOptions))
  lines = ps.views.certificate(tree, values.depth, infostates=values.infostates) if values.tree else ""
  if drawn:
    pictures, file = drawn
    pictures.public_tree(tree, values.depth).savefig(file)
  solved = next((known for known in ps.measures.solved() if known.game == tree.names.game), None)
  measured = None
  if values.measure:
    with building:
      solver = ps.PSCFRSolver(game, tree=tree)
    measured = _measured(solver, building)
  if values.json:
    needs = ps.PSCFRSolver.memory_needs(game, leaves=values.leaves)
    facts = {} if needs is None else {"bytes_to_solve": needs.run}
    facts |= {} if solved is None else {"solved": solved._asdict()}
    facts |= measured or {}
    say(values, tree.sizes() | facts | ({"tree": lines.split("\n")} if lines else {}))
    return None
  print(tree.summary())
  print(report({"unit": _unit(game)}))
  if memory := memory_lines(game, values.leaves):
    print(report(memory))
  if measured:
    print(report(_in_words(measured)))
  if solved is not None:
    print(report(_solved(solved, game)))
  if lines:
    print("\n" + lines)
  if drawn:
    print(report({"saved": drawn[1]}))


def _of_run(path: str, values: flags.FlagValues) -> None:
  """Print the game of a run, its method with its locks, its iterations, and with --measure their time."""
  refuse(values, tuple(flag.name for flag in (*FLAGS[:4], *TREE, *SPOT)), "is for games, not for a run")
  with quiet_stderr(), Stopwatch() as building:
    solver = ps.load_solver(path)
  done = solver.iteration
  measured = _measured(solver, building) if values.measure else {}
  locked = solver.locked if isinstance(solver, ps.PSCFRSolver) else ""
  facts = {"game": str(solver.game), "method": solver.description, "iterations": done}
  if values.json:
    say(values, {**facts, **({"locked": locked} if locked else {}), **measured})
    return
  print(solver.summary())
  lines = {"unit": _unit(solver.game), "method": solver.description, "iterations": f"{done:,}"}
  print(report({**lines, **(_in_words(measured) if measured else {})}))


def _unit(game: pyspiel.Game) -> str:
  """The unit of all values, and the pot that percentages are of."""
  pot, unit = ps.views.pot_of(game), ps.views.unit_of(game)
  return unit if pot is None else f"{unit}; shares are of the pot of {ps.views.number_text(pot)}"


def _measured(solver: ps.Solver, building: Stopwatch) -> dict[str, float | int | None]:
  """Seconds to build and compile, those of the fastest of some iterations, and the peak of memory."""
  with building:
    ps.Solver.compile(solver)  # without the evaluation
  fastest = math.inf
  for _ in range(MEASURED):
    with Stopwatch() as iterating:
      solver.evaluate_and_update_policy()
    fastest = min(fastest, iterating.seconds)
  return {"setup_seconds": building.seconds, "iteration_seconds": fastest, "peak_bytes": peak_memory()}


def _in_words(measured: dict[str, float | int | None]) -> dict[str, str]:
  iterations = RunOptions().iterations
  each, all_of_them = (
    ps.views.number_text((measured["iteration_seconds"] or 0) * n) for n in (1, iterations)
  )
  lines = {
    "time to solve": f"{each} s an iteration, {all_of_them} s for {iterations}, after "
    f"{measured['setup_seconds']:.1f} s to build and compile"
  }
  peak = measured["peak_bytes"]
  return lines | ({"peak memory": readable_bytes(peak)} if peak else {})


def _solved(known: ps.measures.SolvedGame, game: pyspiel.Game) -> dict[str, str]:
  """Lines of the table of solved games."""
  losses = (known.trembled_exploitability, known.mean_local_regret, known.worst_local_regret)
  exploitability, mean, worst = (ps.views.with_unit(loss, game) for loss in losses)
  return {
    **ps.views.value_lines([known.value], game),
    "with trembles": f"exploitability {exploitability}; local regret: mean {mean}, worst {worst} "
    f"(table of solved games, {known.iterations:,} iterations)",
  }


COMMAND = Command(
  name="summary",
  arguments="[GAME|RUN]",
  summary="Print how large a game or a run is",
  text="GAME is written as for solve, RUN is a run.safetensors. Prints how many histories, public "
  "states and infostates it has, how much memory a poker game takes to solve, and, for a game in the table "
  "of solved games, its results; with --tree also the public tree itself, a line for each public "
  "state; of a run also its method, its locks and its iterations.",
  examples=(
    "summary 'river_subgame(bets=0.5 1 2 a)'",
    "summary kuhn_poker --tree --infostates",
    "summary leduc_poker --tree --depth=5 --picture=tree.png",
    "summary --board='Kh Kd 8c 4s' --ranges='AA, KQs; TT+, AQ' --measure",
    "summary runs/river_subgame/run.safetensors",
  ),
  options=FLAGS,
  run=_run,
)
