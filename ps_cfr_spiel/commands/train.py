"""The command `ps-cfr-spiel train`: trains an agent by play, in a game too large to enumerate."""

import csv
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from absl import flags
from tqdm.auto import tqdm

from ps_cfr_spiel.arguments import check_count, check_seconds
from ps_cfr_spiel.cfr import RMPlus
from ps_cfr_spiel.commands.command import INTERRUPTED, Command, Flag
from ps_cfr_spiel.commands.flags import JSON, QUIET, say
from ps_cfr_spiel.commands.play import ONLY_IN_CHEAT
from ps_cfr_spiel.commands.user_input import UserError, load_game, make_folder, user_errors
from ps_cfr_spiel.evaluation import Score, matches
from ps_cfr_spiel.reports import Stopwatch, report
from ps_cfr_spiel.simulated import KEYS, PRUNINGS
from ps_cfr_spiel.solvers import (
  ESTIMATES,
  UPDATES,
  LimitReachedError,
  PlayedExternalSolver,
  PlayedMCCFRSolver,
  PlayedPolicy,
  PlayedSolver,
  load_solver,
)
from ps_cfr_spiel.storage import replacing

RUN, MARKS = "run.npz", "training.csv"
_METHODS = {"plays": PlayedMCCFRSolver, "external": PlayedExternalSolver}
_OWN = {  # flags that are arguments of the solver, by method
  "plays": (
    *("estimate", "updates", "exploration", "decay", "decay_power", "most_weight", "gamma", "batch"),
    *("seed", "key", "cells", "against"),
  ),
  "external": ("pruning", "updates", "depth", "decay", "most_nodes", "batch", "seed"),
}
_FIXED = ("method", *dict.fromkeys(name for names in _OWN.values() for name in names), "start")  # on resuming


# fmt: off
FLAGS = (
  Flag("iterations", 1000, "Iterations to run; with --resume, further iterations.", least=1),
  Flag("every", None,
    "Iterations between two rows of the table (default: a tenth of the run).", kind=int, least=1),
  Flag("games", 200, "Games in a match against each opponent, for a row of the table.", least=1),
  Flag("output", None,
    "Folder for the results, made if needed (default: runs/ and the game's name, or the folder of the "
    "resumed run).", value="FOLDER"),
  Flag("resume", None, "Run to continue, a run.npz, with its settings.", value="FILE"),
  Flag("checkpoint_seconds", 60.0, "Seconds between two saves of the run.", least=0),
  QUIET,
  Flag("method", "plays",
    "plays learns from plays in which both sides follow their policies; external, the paper's method, "
    "traverses all moves of one side, down to a --depth or in short games.", choices=tuple(_METHODS)),
  Flag("estimate", "learned",
    "Estimate of the worth of a move: learned is a running mean of the plays after it, corrected makes that "
    "unbiased, with more noise.", choices=tuple(ESTIMATES)),
  Flag("updates", "auto",
    "Time of learning: from the plays of a batch together, or natively at_once after each play; auto is "
    "at_once where the game has native code. With external: after a traversal (together), or after every "
    "decision (at_once, auto).", choices=tuple(UPDATES)),
  Flag("pruning", "best_response", "Moves that external skips while they are bad.", choices=tuple(PRUNINGS)),
  Flag("depth", None,
    "Decisions of a side, one below the other, that external traverses before it plays (default: all).",
    kind=int, least=1),
  Flag("exploration", 0.1, "Share of uniform play in the sampled plays."),
  Flag("decay", None,
    "Weight of the newest value in a learned one, in the first iteration (default: 1; for external in all "
    "iterations, and 0.05); 0 with corrected is outcome sampling.", kind=float),
  Flag("decay_power", 0.4, "Power of the decay of plays: in iteration t it is decay * t**-decay_power."),
  Flag("most_weight", 5.0, "Bound of the weights of plays, for learned."),
  Flag("gamma", 4.0, "Power of the average: iteration t of plays counts t**gamma."),
  Flag("most_nodes", 2_000_000_000, "Decisions after which external gives up a traversal.", least=1),
  Flag("batch", None,
    "Games under one strategy for a side; an iteration has twice that number (default: 4096, 256 for games "
    "that are played through OpenSpiel's states, 1 for external).", kind=int, least=1),
  Flag("key", None,
    "Information of a choice in games other than cheat (default: infostate).", choices=tuple(KEYS)),
  Flag("cells", None,
    "Most moves of keys, in games other than cheat (default: a million); a run with full tables ends.",
    kind=int, least=1),
  Flag("against", None,
    "Run of an agent that plays the other side and does not learn: the run learns a best response to it, and "
    "its matches show how far the agent is from unbeatable.", value="FILE"),
  Flag("start", None,
    "Run of a smaller cheat (fewer cards, a shorter horizon), or of the same, to begin with; its values last "
    "with --decay=0.01 --decay_power=0.", value="FILE"),
  Flag("seed", 0, "Seed of the random numbers.", least=0),
  JSON,
)
# fmt: on


def train(values: flags.FlagValues, words: Sequence[str]) -> int:
  """Runs the command; returns its exit code."""
  solver = _resumed(values, words) if values.resume is not None else _new(values, words)
  folder = make_folder(_folder(values, solver))
  with user_errors():
    end = solver.end_of(values.iterations)
    check_seconds("--checkpoint_seconds", values.checkpoint_seconds)
    check_count("--games", values.games, 1)
  opponents = _opponents(solver)
  quiet = values.quiet or values.json
  if not quiet:
    print(report({"game": solver.game, "method": solver.description}) + "\n")
    print(_head(opponents), flush=True)
  rows = _read(folder / MARKS, solver.iteration) if values.resume is not None else []
  try:
    scores = _learn(solver, values, end, folder, rows, opponents)
  except LimitReachedError as error:
    raise UserError(f"{error} Iteration {solver.iteration:,} is saved in {folder / RUN}.") from error
  except KeyboardInterrupt:
    print(f"\nInterrupted; iteration {solver.iteration:,} is saved in {folder / RUN}.", file=sys.stderr)
    return INTERRUPTED
  lines = {
    **{f"against {name}": score for name, score in scores.items()},
    "saved": f"{RUN}, {MARKS} in {folder}",
    "play it": f"ps-cfr-spiel play '{solver.game}' --opponent={folder / RUN}",
  }
  say(values, {"game": str(solver.game), **rows[-1], "saved": str(folder / RUN)}, lines)
  return 0


def _new(values: flags.FlagValues, words: Sequence[str]) -> PlayedSolver:
  if not words:
    raise UserError("train needs a game, such as cheat or 'liars_dice(numdice=2)'.")
  game, method = load_game(words), values.method
  if foreign := [f"--{name}" for name in _FIXED[1:-1] if values[name].present and name not in _OWN[method]]:
    raise UserError(f"--method={method} has no {', '.join(foreign)}.")
  with user_errors():
    options: dict[str, Any] = {name: values[name].value for name in _OWN[method]}
    if options.get("against") is not None:
      options["against"] = _run(options["against"]).average_policy()
    if "gamma" in options:
      options["rule"] = RMPlus(gamma=options.pop("gamma"))
    solver = _METHODS[method](game, **{name: value for name, value in options.items() if value is not None})
    if values.start is not None:
      solver.start_from(_run(values.start))
  return solver


def _resumed(values: flags.FlagValues, words: Sequence[str]) -> PlayedSolver:
  fixed = [f"--{name}" for name in _FIXED if values[name].present]
  if words or fixed:
    what = ", ".join([*map(repr, words), *fixed])
    raise UserError(f"--resume continues with the game and settings of the saved run; leave out {what}.")
  return _run(values.resume)


def _run(path: str) -> PlayedSolver:
  """The run in a file of this command."""
  with user_errors():
    solver = load_solver(path)
  if not isinstance(solver, PlayedSolver):
    raise UserError(f"{path} is not a run of the command train.")
  return solver


def _opponents(solver: PlayedSolver) -> dict[str, str | PlayedPolicy]:
  """The opponents of the matches, by name."""
  if (agent := solver.against) is not None:
    return {"agent": agent}
  names = ONLY_IN_CHEAT if solver.game.get_type().short_name == "cheat" else ("random",)
  return {name: name for name in names}


def _folder(values: flags.FlagValues, solver: PlayedSolver) -> Path:
  if values.output is not None:
    return Path(values.output)
  if values.resume is not None:
    return Path(values.resume).parent
  return Path("runs") / solver.game.get_type().short_name


def _learn(
  solver: PlayedSolver,
  values: flags.FlagValues,
  end: int,
  folder: Path,
  rows: list[dict[str, Any]],
  opponents: Mapping[str, str | PlayedPolicy],
) -> dict[str, Score]:
  """Runs to the end and adds rows to the table, after matches on the way; the last matches."""
  quiet, every = values.quiet or values.json, values.every or max(values.iterations // 10, 1)
  before, stopwatch, scores = float(rows[-1]["seconds"]) if rows else 0.0, Stopwatch(), {}
  with tqdm(total=end, initial=solver.iteration, unit="it", disable=True if quiet else None) as bar:

    def tick(_) -> None:
      bar.update(solver.iteration - bar.n)

    while solver.iteration < end:
      steps = min((solver.iteration // every + 1) * every, end) - solver.iteration
      saving: dict[str, Any] = {"checkpoint": folder / RUN, "checkpoint_seconds": values.checkpoint_seconds}
      with stopwatch:
        solver.run(steps, every=1, callback=tick, **saving)
      scores = _scores(solver, opponents, values.games)
      rows.append(_row(solver, before + stopwatch.seconds, scores))
      _write(folder / MARKS, rows)
      bar.clear()
      if not quiet:
        print(_line(rows[-1]), flush=True)
      bar.refresh()
  return scores


def _scores(
  solver: PlayedSolver, opponents: Mapping[str, str | PlayedPolicy], games: int
) -> dict[str, Score]:
  """Matches of the average policy, seats alternating, by opponent."""
  policy = solver.average_policy()
  return {
    name: matches.match(solver.game, matches.player(policy), matches.player(who, 1), games).score
    for name, who in opponents.items()
  }


def _row(solver: PlayedSolver, seconds: float, scores: dict[str, Score]) -> dict[str, Any]:
  """A row of the table; the last columns are shares of games won."""
  return {
    "iteration": solver.iteration,
    "games": solver.plays,
    "nodes": solver.nodes,
    "skipped": solver.skipped,
    "cells": solver.average_policy().cells(),
    "value": round(solver.game_value, 6),
    "seconds": round(seconds, 3),
    **{f"won_{name}": score.wins / score.games for name, score in scores.items()},
  }


def _head(opponents: Iterable[str]) -> str:
  names = "".join(f"{f'won: {name}':>17}" for name in opponents)
  return f"{'iteration':>10}{'games':>14}{'nodes':>17}{'cells':>12}{'value':>8}{'seconds':>10}{names}"


def _line(row: dict[str, Any]) -> str:
  won = "".join(f"{100 * share:>16.1f}%" for name, share in row.items() if name.startswith("won_"))
  return (
    f"{row['iteration']:>10,}{row['games']:>14,}{row['nodes']:>17,}{row['cells']:>12,}"
    f"{row['value']:>8.3f}{row['seconds']:>10.1f}{won}"
  )


def _read(path: Path, iteration: int) -> list[dict[str, Any]]:
  """The rows that an earlier run left, up to an iteration; none if there is no file."""
  if not path.exists():
    return []
  try:
    with open(path, newline="") as file:
      rows = list(csv.DictReader(file))
    if not all(0 <= float(row["seconds"]) < math.inf for row in rows):
      raise ValueError("a time is negative or not finite")
    return [row for row in rows if int(row["iteration"]) <= iteration]
  except (KeyError, TypeError, ValueError, csv.Error) as error:
    raise UserError(f"{path} is not a table of this program; move it away to resume.") from error


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
  """Writes the table; an earlier one is replaced only by a complete one."""
  with replacing(path, newline="") as file:
    writer = csv.DictWriter(file, list(rows[-1]))
    writer.writeheader()
    writer.writerows(rows)


COMMAND = Command(
  name="train",
  arguments="[GAME]",
  summary="Train an agent by play, in a game too large to enumerate",
  text="GAME is any game for two, in quotes if it has parameters. In cheat the agent sees what Yi and "
  "Kaneko's does: its hand, the numbers of cards, the rank, and the claim; elsewhere its infostate. On the "
  "way it plays matches against a random player, in cheat against the naive and the heuristic one. Saves "
  "run.npz, which play takes as an opponent, and training.csv. Ctrl-C ends the run early and keeps what it "
  "reached. For a network of values see learn.",
  examples=(
    "train cheat",
    "train cheat --iterations=20 --every=10 --output=agent",
    "train 'liars_dice(numdice=2)' --iterations=50 --cells=500000",
    "train cheat --against=agent/run.npz --output=best_response",
    "train cheat --method=external --depth=4 --iterations=20",
    "train --resume=agent/run.npz --iterations=5000",
    "play cheat --opponent=agent/run.npz",
  ),
  own=FLAGS,
  run=train,
)
