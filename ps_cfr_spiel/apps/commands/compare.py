"""The command `ps-cfr-spiel compare`: solvers side by side, OpenSpiel's among them."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from typing import Any

import pyspiel
from absl import flags

import ps_cfr_spiel as ps
from ps_cfr_spiel.apps.commands.framework.command import INTERRUPTED, Command, Flag, flag_of
from ps_cfr_spiel.apps.commands.framework.flags import JSON, SPOT, say
from ps_cfr_spiel.apps.commands.framework.run_tables import write_table
from ps_cfr_spiel.apps.commands.framework.user_input import drawing, load_game, writable
from ps_cfr_spiel.options import ComparisonOptions
from ps_cfr_spiel.reports import report

# fmt: off
FLAGS = (
  dataclasses.replace(flag_of(ComparisonOptions, "solvers"), kind=list),
  Flag("rules", None, "Regret rules to compare, with commas, or all.", kind=list, value="NAME,...|all"),
  flag_of(ComparisonOptions, "seconds"),
  flag_of(ComparisonOptions, "seeds"),
  Flag("csv", None, "Table to write: a row for each measurement.", value="FILE"),
  Flag("picture", None, "Picture to draw, such as curves.pdf: exploitability by iterations and by seconds.",
    value="FILE"),
  *SPOT,
  JSON,
)
# fmt: on


def _run(values: flags.FlagValues, words: Sequence[str]) -> int | None:
  options = ComparisonOptions(seconds=values.seconds, seeds=values.seeds)
  game = load_game(words, values)
  drawn = drawing(values.picture)
  table = writable("csv", values.csv, "runs.csv") if values.csv else None
  names = None if values.solvers is None else list(values.solvers)
  if values.rules is not None:
    names = [*(names or ()), *(ps.rules.RULES if values.rules == ["all"] else map(_rule, values.rules))]
  solvers = None if names is None else {name: _maker(name) for name in names}
  if solvers == {}:
    raise ValueError(f"--solvers names no solver; choose among {', '.join([*ps.rules.RULES, *_solvers()])}.")
  runs, interrupted = _measured(game, options, solvers, False if values.json else None)
  failed = {name: run.failed for name, run in runs.items() if run.failed}
  if len(failed) == len(runs):
    reasons = "; ".join(f"{name}: {reason}" for name, reason in failed.items())
    raise ValueError(f"All solvers failed on {game}. {reasons}")
  rows = ps.measures.runs_rows(game, runs)
  saved = [file for file in (table, drawn and drawn[1]) if file]
  if table:
    write_table(table, rows[0], (row.values() for row in rows))
  if drawn:
    pictures, file = drawn
    pictures.iterations_and_seconds(game, runs).savefig(file)
  if values.json:
    kept = ("seed", *ps.measures.Point._fields)
    points = {
      name: [{key: row[key] for key in kept} for row in rows if row["solver"] == name]
      for name in runs
      if name not in failed
    }
    facts = {"game": str(game), "seconds": values.seconds, "runs": points, "failed": failed}
    say(values, facts | ({"interrupted": True} if interrupted else {}))
  else:
    print(f"{game}\n\n{ps.measures.runs_table(runs)}")
    if saved:
      print(report({"saved": ", ".join(map(str, saved))}))
  return INTERRUPTED if interrupted else None


def _measured(
  game: pyspiel.Game,
  options: ComparisonOptions,
  solvers: dict[str, Callable[..., Any]] | None,
  progress: bool | None,
) -> tuple[dict[str, ps.measures.Run], bool]:
  """The runs by solver, and whether Ctrl-C ended them early; without a run that did not fail it is raised."""
  done: list[tuple[str, ps.measures.Run]] = []
  try:
    for run in ps.measures.each_run(game, options, solvers=solvers, progress=progress):
      done.append(run)
  except KeyboardInterrupt:
    if all(run.failed for _, run in done):
      raise
    print(f"\nInterrupted after {len(done):,} runs.", file=sys.stderr)
    return ps.measures.by_solver(done), True
  return ps.measures.by_solver(done), False


def _solvers() -> dict[str, Callable[..., Any]]:
  return {**ps.measures.OURS, **ps.measures.THEIRS}


def _rule(name: str) -> str:
  """The name of a rule, checked."""
  if name.strip().lower() not in ps.rules.RULES:
    raise ValueError(f"--rules: unknown rule {name!r}; choose among {', '.join(ps.rules.RULES)}, or all.")
  return name.strip().lower()


def _maker(name: str) -> Callable[..., Any]:
  """A function from a game to the solver of a name."""
  maker = {known.lower(): make for known, make in _solvers().items()}.get(name.strip().lower())
  if maker is not None:
    return maker
  rule = name.strip().lower()
  if rule not in ps.rules.RULES:
    known = ", ".join([*ps.rules.RULES, *_solvers()])
    raise ValueError(f"--solvers: unknown solver {name!r}; choose among {known}.")
  return lambda game: ps.PSCFRSolver(game, rule)


COMMAND = Command(
  name="compare",
  arguments="[GAME]",
  summary="Run solvers side by side",
  text="Runs each solver for the same time and measures its average strategy alike, exactly and in float64; "
  "set-up and compilation are reported separately, and the time of each iteration is that of the fastest. A "
  "solver that fails has a line with its error. Ctrl-C ends it early, and the runs so far are printed. The "
  "game must be small enough for OpenSpiel's solvers, unless --solvers leaves them out. GAME is written as "
  "for solve.",
  examples=(
    "compare leduc_poker --seconds=5 --picture=leduc.png",
    "compare leduc_poker --rules=all --seconds=1",
    "compare leduc_poker --seeds=3 --csv=leduc.csv",
    "compare --solvers=nrm+,pcfr+,dcfr --board='Ks 7d 2c 5h 9s' --ranges='AA, KQs; TT+, AQ'",
  ),
  options=FLAGS,
  run=_run,
)
