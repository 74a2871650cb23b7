"""The command `ps-cfr-spiel solve`: runs a solver, shows its progress, and saves the result."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from absl import flags

import ps_cfr_spiel as ps
from ps_cfr_spiel import storage
from ps_cfr_spiel.apps.commands.framework import user_input
from ps_cfr_spiel.apps.commands.framework.command import (
  INTERRUPTED,
  Command,
  Flag,
  flag_of,
  given_options,
  option_flags,
)
from ps_cfr_spiel.apps.commands.framework.flags import (
  JOIN,
  JSON,
  QUIET,
  RESUME,
  SHARING,
  SPOT,
  join_others,
  memory_text,
  next_command,
  say,
)
from ps_cfr_spiel.apps.commands.framework.many_rivers import solve_list
from ps_cfr_spiel.apps.commands.framework.methods import METHOD_FLAGS, new_solver
from ps_cfr_spiel.apps.commands.framework.run import POINTS, RUN, Run
from ps_cfr_spiel.apps.commands.framework.run_tables import read_points
from ps_cfr_spiel.arguments import check_seconds, check_target
from ps_cfr_spiel.options import BatchOptions, RunOptions
from ps_cfr_spiel.reports import Stopwatch, quiet_stderr, report

# fmt: off
FLAGS = (
  flag_of(RunOptions, "iterations"),
  flag_of(BatchOptions, "target"),
  Flag("output", None,
    "Folder for the results, made if needed; an earlier run there must be of the same game and options, and "
    "is replaced (default: runs/ and the game's name, with a number where another or a longer run is; with "
    "--resume the folder of that run).", value="FOLDER"),
  Flag("values", True,
    "Save the values of all actions too, from which show reads (values.safetensors); left out where they "
    "need more memory than is allowed."),
  Flag("plot", None, "Draw the pictures (default: if matplotlib is installed).", kind=bool),
  QUIET,
  RESUME,
  flag_of(RunOptions, "checkpoint_seconds"),
  *METHOD_FLAGS,
  *SPOT,
  Flag("situations", None,
    "Many rivers instead of GAME: a CSV file with columns board, pot, stack, bets, ranges, or JSON lines "
    "with these fields, of which only board is needed. The result is one table.", value="FILE"),
  *SHARING,
  JSON,
)
# fmt: on


def _run(values: flags.FlagValues, words: Sequence[str]) -> int | None:
  if values.situations is not None:
    return solve_list(values, words)
  user_input.refuse(values, ("cores", "chunk"), "belongs to --situations")
  pictures = user_input.pictures_if(values.plot)
  join_others(values.join)
  run = _set_up(values, words)
  run.say(run.solver.summary(), report({"method": run.solver.description, **_memory(run.solver)}), "")
  interrupted = _iterate(run, values.iterations)
  if interrupted:
    if not run.further:
      print("\nInterrupted.\nNo iteration was finished, nothing is saved.", file=sys.stderr)
      return INTERRUPTED
    print("\nInterrupted; the run is saved.", file=sys.stderr)
    run.measure()
    run.checkpoint()
  if not ps.runtime.is_first_process():
    return INTERRUPTED if interrupted else 0
  keeps = values["values"].value and not interrupted and run.values_fit(values.memory)
  policy = run.policy() if keeps or pictures is not None else None  # once: of a flop it takes seconds
  files = [RUN, POINTS, *([] if pictures is None else run.draw(pictures, policy))]
  run.say("")
  lines = run.result(files)
  if run.solver.evaluable:
    command = "show" if run.solver.tree is not None else "evaluate"
    lines["look at it"] = next_command(values, command, run.file)
  say(values, run.facts(files), lines)
  if values.target and not (run.reached or values.json):
    again = next_command(values, "solve", f"--resume={run.file}")
    print(f"The target of {values.target} was not reached. To continue: {again}")
  if pictures is None and values.plot is None and not values.json:
    print("No pictures were drawn; for them: pip install 'ps_cfr_spiel[plot]'")
  if interrupted:
    return INTERRUPTED
  sys.stdout.flush()
  file = run.file
  del run  # its tables and the values need not fit together
  if keeps and policy is not None:
    try:
      policy.save_values(file, values.memory)
    except OSError as error:  # looks at the run compute them
      print(f"The values of actions were not saved: {error.strerror}.", file=sys.stderr)
  return 0


def _memory(solver: ps.measures.ExactSolver) -> dict[str, str]:
  needs = solver.estimated_bytes if isinstance(solver, ps.PSCFRSolver) else None
  return {} if needs is None else {"memory": memory_text(solver.game, needs)}


def _set_up(values: flags.FlagValues, words: Sequence[str]) -> Run:
  """The run that the command line describes, whose mistakes are all refused here."""
  with Stopwatch() as building:
    solver = _resumed(values, words) if values.resume is not None else new_solver(values, words)
  if ps.runtime.process_count() > 1 and not solver.shared:
    raise ValueError(f"{values.resume} is a run of {solver.name}, which processes cannot share.")
  solver.end_of(values.iterations)
  check_seconds("--checkpoint_seconds", values.checkpoint_seconds)
  target = check_target("--target", values.target, ps.views.pot_of(solver.game))
  if values["target"].present and not solver.evaluable:
    raise ValueError(f"--target={values.target}: {solver.game} is too large for exact values.")
  points = []
  if values.resume is not None:
    points = read_points(Path(values.resume).with_name(POINTS), solver.iteration)
  quiet = values.quiet or values.json or not ps.runtime.is_first_process()
  folder = user_input.results_folder(values, solver, RUN)
  return Run(solver, points, folder, target, values.checkpoint_seconds, quiet, building)


def _resumed(values: flags.FlagValues, words: Sequence[str]) -> ps.measures.ExactSolver:
  solver = ps.Solver.kind_in(storage.read(values.resume))
  if not issubclass(solver, ps.measures.ExactSolver):
    raise ValueError(f"{values.resume} is a run of the command train; resume it there.")
  free = {flag.name for flag in option_flags({"": solver.options_type}) if not flag.result}
  fixed = [flag.name for flag in METHOD_FLAGS if flag.name not in free and flag is not JOIN]
  user_input.refuse_fixed(values, words, (*fixed, *user_input.SPOT_FLAGS))
  with quiet_stderr():
    return solver.load(values.resume, **given_options(values, solver.options_type))


def _iterate(run: Run, iterations: int) -> bool:
  """Compiles, iterates and saves the run, also where an error ends it; whether it was interrupted."""
  try:
    with ps.runtime.lost_processes(lambda: run.saved_state):
      with run.building:  # so that later times are those of the work alone
        run.solver.compile(False if run.quiet else None)
      run.say(f"Built and compiled in {run.building.seconds:.1f} s.", "", run.table_head())
      run.iterate(iterations)
      return False
  except KeyboardInterrupt:
    return True
  except (FloatingPointError, MemoryError, OSError, ps.runtime.JaxRuntimeError) as error:
    error.add_note(run.saved_state)
    raise


COMMAND = Command(
  name="solve",
  arguments="[GAME]",
  summary="Solve a game and save the result",
  text="GAME is written as for OpenSpiel's load_game, in quotes if it has parameters. Without it: "
  "river_subgame, the last betting round of a hand of no-limit Texas hold'em. Shows how exploitability "
  "falls, and saves the run (run.safetensors), exploitability.csv, exploitability.png and, in poker, "
  "strategy.png. Ctrl-C and SIGTERM end the run early and save it.",
  examples=(
    "solve",
    "solve 'river_subgame(board=KhKd8c4s2h,pot=100,stack=500,bets=0.5 1 a,ranges=AA KQs 76s;TT+ AQ)'",
    "solve --board='Kh Kd 8c 4s 2h' --stack=500 --bets='50%, a' --ranges='AA, KQs; TT+, AQ'",
    "solve --target=0.01% --output=exact",
    "solve --resume=exact/run.safetensors --iterations=1000",
  ),
  options=FLAGS,
  run=_run,
)
