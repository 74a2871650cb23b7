"""The command `ps-cfr-spiel train`: trains an agent by play, in a game too large to walk, and saves it."""

import csv
import math
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from absl import flags
from tqdm.auto import tqdm

from ps_cfr_spiel.arguments import check_count, check_seconds
from ps_cfr_spiel.cfr import RMPlus
from ps_cfr_spiel.commands.command import Command
from ps_cfr_spiel.commands.flags import define_json, say
from ps_cfr_spiel.commands.play import ONLY_IN_CHEAT
from ps_cfr_spiel.commands.user_input import UserError, load_game, make_folder, user_errors
from ps_cfr_spiel.evaluation import Score, matches
from ps_cfr_spiel.reports import report
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
INTERRUPTED = 130  # exit code
_METHODS = {"plays": PlayedMCCFRSolver, "external": PlayedExternalSolver}
_OWN = {  # flags that are arguments of the solver, by method
  "plays": (
    *("estimate", "updates", "exploration", "decay", "decay_power", "most_weight", "gamma", "batch"),
    *("seed", "key", "cells", "against"),
  ),
  "external": ("pruning", "updates", "depth", "decay", "most_nodes", "batch", "seed"),
}
_FIXED = ("method", *dict.fromkeys(name for names in _OWN.values() for name in names), "start")  # on resuming


def define(values: flags.FlagValues) -> None:
  """Defines the command's flags, in the order in which `--help` lists them."""
  into: dict[str, Any] = {"flag_values": values}
  flags.DEFINE_integer("iterations", 1000, "Iterations; with --resume, how many more.", 1, **into)
  flags.DEFINE_integer("every", None, _HELP["every"], 1, **into)
  flags.DEFINE_integer("games", 200, _HELP["games"], 1, **into)
  flags.DEFINE_string("output", None, _HELP["output"], **into)
  flags.DEFINE_string("resume", None, "Continue this run.npz, with the settings that it began with.", **into)
  flags.DEFINE_float("checkpoint_seconds", 60.0, "Save about this often while running.", 0, **into)
  flags.DEFINE_bool("quiet", False, "Print the result only.", **into)
  flags.DEFINE_enum("method", "plays", list(_METHODS), _HELP["method"], **into)
  flags.DEFINE_enum("estimate", "learned", list(ESTIMATES), _HELP["estimate"], **into)
  flags.DEFINE_enum("updates", "auto", list(UPDATES), _HELP["updates"], **into)
  flags.DEFINE_enum("pruning", "best_response", list(PRUNINGS), _HELP["pruning"], **into)
  flags.DEFINE_integer("depth", None, _HELP["depth"], 1, **into)
  flags.DEFINE_float("exploration", 0.1, "Share of uniform play in what is sampled.", **into)
  flags.DEFINE_float("decay", None, _HELP["decay"], **into)
  flags.DEFINE_float("decay_power", 0.4, _HELP["decay_power"], **into)
  flags.DEFINE_float("most_weight", 5.0, "Where the weights of plays are cut (for 'learned').", **into)
  flags.DEFINE_float("gamma", 4.0, "Iteration t of plays counts t**gamma in the average.", **into)
  flags.DEFINE_integer("most_nodes", 2_000_000_000, _HELP["most_nodes"], 1, **into)
  flags.DEFINE_integer("batch", None, _HELP["batch"], 1, **into)
  flags.DEFINE_enum("key", None, list(KEYS), _HELP["key"], **into)
  flags.DEFINE_integer("cells", None, _HELP["cells"], 1, **into)
  flags.DEFINE_string("against", None, _HELP["against"], **into)
  flags.DEFINE_string("start", None, _HELP["start"], **into)
  flags.DEFINE_integer("seed", 0, "Seed of the random numbers.", 0, **into)
  define_json(values)


_HELP = {
  "every": "Iterations between two rows of the table (default: a tenth of the run).",
  "games": "Games in a match against each opponent, for a row of the table.",
  "output": "Folder for the results; made if needed (default: runs/ and the game's name, or that of the "
  "resumed run).",
  "method": "plays learns from plays in which both sides move by their policies; external, the paper's, "
  "traverses all moves of one side, down to a --depth or in short games.",
  "updates": "Learn from the plays of a batch together, or natively at_once after each; auto: at once where "
  "that can be had. In 'external': after a traversal, or after every decision (auto).",
  "pruning": "Which moves 'external' skips while they are bad.",
  "depth": "Decisions of a side, one below the other, that 'external' traverses before it plays (all).",
  "most_nodes": "Decisions after which 'external' gives a traversal up.",
  "batch": "Games under one strategy for a side; an iteration has twice as many (default: 4096, or 256 where "
  "OpenSpiel's states are played; for 'external' 1).",
  "key": "What a choice depends on in games other than cheat (default: infostate).",
  "against": "The run.npz of an agent that plays the other side and does not learn: a best response to it is "
  "learned, and how often that wins says how far the agent is from unbeatable.",
  "decay": "Weight of the newest value in a learned one, in the first iteration (default: 1; for 'external' "
  "always, and 0.05); 0 with 'corrected' is outcome sampling.",
  "decay_power": "In iteration t of plays the decay is decay * t**-decay_power.",
  "start": "The run.npz of a smaller cheat (fewer cards, a shorter horizon), or of the same, with which "
  "learning begins; its values last with --decay=0.01 --decay_power=0.",
  "cells": "Most moves of keys, in games other than cheat (default: a million); the run ends there.",
  "estimate": "What moves are worth: learned is a running mean of what followed them, corrected makes that "
  "unbiased, with more noise.",
}


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
    if "gamma" in options:
      options["rule"] = RMPlus(gamma=options.pop("gamma"))
    if options.get("against") is not None:
      options["against"] = _run(options["against"]).average_policy()
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
    raise UserError(f"{path} is no run of the command train.")
  return solver


def _opponents(solver: PlayedSolver) -> dict[str, str | PlayedPolicy]:
  """Who matches are played against, by what to call them."""
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
  seconds, scores = float(rows[-1]["seconds"]) if rows else 0.0, {}
  with tqdm(total=end, initial=solver.iteration, unit="it", disable=True if quiet else None) as bar:

    def tick(_) -> None:
      bar.update(solver.iteration - bar.n)

    while solver.iteration < end:
      started, mark = time.perf_counter(), min((solver.iteration // every + 1) * every, end)
      solver.run(
        mark - solver.iteration,
        every=1,
        callback=tick,
        checkpoint=folder / RUN,
        checkpoint_seconds=values.checkpoint_seconds,
      )
      seconds += time.perf_counter() - started
      scores = _scores(solver, opponents, values.games)
      rows.append(_row(solver, seconds, scores))
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
  summary="Train an agent by play, in a game too large to walk",
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
  define=define,
  run=train,
)
