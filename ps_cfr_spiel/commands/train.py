"""The command `ps-cfr-spiel train`: trains an agent by play, in a game too large to enumerate."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from absl import flags

import ps_cfr_spiel as ps
from ps_cfr_spiel.arguments import check_count, check_seconds
from ps_cfr_spiel.commands.command import INTERRUPTED, Command, Flag
from ps_cfr_spiel.commands.flags import JSON, QUIET, next_command, say
from ps_cfr_spiel.commands.play import ONLY_IN_CHEAT
from ps_cfr_spiel.commands.user_input import given, load_game, refuse_fixed, results_folder
from ps_cfr_spiel.reports import Stopwatch, progress_bar, report

RUN, MARKS = "run.safetensors", "training.csv"
SEARCH = "search"
_METHODS = {"plays": "SimulatedMCCFRSolver", "external": "SimulatedExternalSolver"}
_OWN = {  # flags that are arguments of the solver, by method
  "plays": (
    *("estimate", "updates", "exploration", "decay", "decay_power", "most_weight", "gamma", "batch"),
    *("seed", "key", "cells", "against"),
  ),
  "external": ("pruning", "updates", "depth", "decay", "most_nodes", "batch", "seed"),
  SEARCH: ("against", "rollouts", "move_seconds", "particles", "seed"),
}
_FIXED = ("method", *dict.fromkeys(name for names in _OWN.values() for name in names), "start")  # on resuming


_WRITTEN = {  # columns of the printed table: width and format
  "iteration": (10, ","), "games": (14, ","), "nodes": (17, ","), "cells": (12, ","), "value": (8, ".3f"),
  "seconds": (10, ".1f"),
}  # fmt: skip


# fmt: off
FLAGS = (
  Flag("iterations", 1000, "Iterations to run; with --resume, further iterations.", least=1),
  Flag("every", None,
    "Iterations between two rows of the table (default: a tenth of the run).", kind=int, least=1),
  Flag("games", 200, "Games in a match against each opponent, for a row of the table.", least=1),
  Flag("output", None,
    "Folder for the results, made if needed; as for solve.", value="FOLDER"),
  Flag("resume", None, "Run to continue, a run.safetensors, with its settings.", value="FILE"),
  Flag("checkpoint_seconds", 60.0, "Seconds between two saves of the run.", least=0),
  QUIET,
  Flag("method", "plays",
    "plays learns from plays in which both sides follow their policies; external, the paper's method, "
    "traverses all moves of one side, down to a --depth or in short games. search learns nothing: it plays "
    "--games against the agent of --against, with its strategy, a memory and rollouts.", choices=tuple(_OWN)),
  Flag("estimate", "learned",
    "Estimate of the worth of a move: learned is a running mean of the plays after it, corrected makes that "
    "unbiased, with more noise.", choices=("learned", "corrected")),
  Flag("updates", "auto",
    "Time of learning: from the plays of a batch together, or natively at_once after each play; auto is "
    "at_once where the game has native code. With external: after a traversal (together), or after every "
    "decision (at_once, auto).", choices=("auto", "together", "at_once")),
  Flag("pruning", "best_response", "Moves that external sampling prunes.",
    choices=("none", "regret", "best_response")),
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
    "Information of a choice: infostate or observation, which forgets where observations do; in cheat "
    "observation or memory, which adds cards whose place is certain, takes six times the memory and needs "
    "longer runs (default: infostate; in cheat observation).",
    choices=("infostate", "observation", "memory")),
  Flag("cells", None,
    "Most moves of keys, in games other than cheat (default: a million); a run with full tables ends.",
    kind=int, least=1),
  Flag("against", None,
    "Run of an agent that plays the other side and does not learn: the run learns a best response to it, and "
    "its matches show how far the agent is from unbeatable.", value="FILE"),
  Flag("rollouts", None, "Plays of a decision of search (default: 4000, or by --move_seconds alone).",
    kind=int, least=1),
  Flag("move_seconds", None, "Time of a decision of search.", kind=float),
  Flag("particles", 2000, "Most hidden states that search holds possible.", least=1),
  Flag("start", None,
    "Run of a smaller cheat (fewer cards, a shorter horizon), or of the same, perhaps with a key that "
    "forgets more, to begin with; its values last with --decay=0.01 --decay_power=0.", value="FILE"),
  Flag("seed", 0, "Seed of the random numbers.", least=0),
  JSON,
)
# fmt: on


def _run(values: flags.FlagValues, words: Sequence[str]) -> int | None:
  if values.method == SEARCH and values.resume is None:
    return _search(values, words)
  if values.resume is not None:
    refuse_fixed(values, words, _FIXED)
    solver, rows = _load(values.resume), None
  else:
    solver, rows = _new(values, words), []
  folder = results_folder(values, solver, RUN)
  end = solver.end_of(values.iterations)
  check_seconds("--checkpoint_seconds", values.checkpoint_seconds)
  check_count("--games", values.games, 1)
  opponents = _opponents(solver)
  quiet = values.quiet or values.json
  if not quiet:
    print(report({"game": solver.game, "method": solver.description}) + "\n")
    head = "".join(f"{name:>{width}}" for name, (width, _) in _WRITTEN.items())
    print(head + "".join(f"{f'won: {name}':>20}" for name in opponents), flush=True)
  rows = ps.evaluation.read_table(folder / MARKS, solver.iteration, _parsed) if rows is None else rows
  try:
    scores = _learn(solver, values, end, folder, rows, opponents)
  except ps.solvers.LimitReachedError as error:
    raise ValueError(f"{error} Iteration {solver.iteration:,} is saved in {folder / RUN}.") from error
  except KeyboardInterrupt:
    with ps.device.Uninterrupted():  # by an impatient second Ctrl-C
      solver.save(folder / RUN)
    print(f"\nInterrupted; iteration {solver.iteration:,} is saved in {folder / RUN}.", file=sys.stderr)
    return INTERRUPTED
  lines = {
    **{f"against {name}": score for name, score in scores.items()},
    "saved": f"{RUN}, {MARKS} in {folder}",
    "play it": next_command(values, "play", solver.game, f"--opponent={folder / RUN}"),
  }
  say(values, {"game": str(solver.game), **rows[-1], "saved": str(folder / RUN)}, lines)


def _new(values: flags.FlagValues, words: Sequence[str]) -> ps.solvers.SimulatedSolver:
  if not words:
    raise ValueError("train needs a game, such as cheat or 'liars_dice(numdice=2)'.")
  game, method = load_game(words), values.method
  if foreign := given(values, (name for name in _FIXED[1:-1] if name not in _OWN[method])):
    raise ValueError(f"--method={method} has no {', '.join(foreign)}.")
  options: dict[str, Any] = {name: values[name].value for name in _OWN[method]}
  if options.get("against") is not None:
    options["against"] = _load(options["against"]).average_policy()
  if "gamma" in options:
    options["rule"] = ps.cfr.RMPlus(gamma=options.pop("gamma"))
  solver = getattr(ps.solvers, _METHODS[method])(
    game, **{name: value for name, value in options.items() if value is not None}
  )
  if values.start is not None:
    solver.start_from(_load(values.start))
  return solver


def _search(values: flags.FlagValues, words: Sequence[str]) -> None:
  """Print the result of a searching opponent against an agent."""
  others = (*_FIXED[1:], "iterations", "every", "output", "checkpoint_seconds")
  if foreign := given(values, (name for name in others if name not in _OWN[SEARCH])):
    raise ValueError(f"--method=search has no {', '.join(foreign)}; it plays --games and saves nothing.")
  if values.against is None:
    raise ValueError(
      "--method=search needs an opponent; name the run.safetensors of an agent with --against."
    )
  policy = ps.load_policy(values.against)
  game = load_game(words) if words else policy.game
  limits = {"rollouts": values.rollouts, "seconds": values.move_seconds, "particles": values.particles}
  result = ps.search_response(game, policy, values.games, seed=values.seed, **limits)
  won, games = result.score.wins / result.score.games, result.score.games
  found = {"game": str(game), "agent": values.against, "games": games, "won": won, "value": result.mean}
  say(values, {**found, "standard_error": result.standard_error}, {"the search": result})


def _load(path: str) -> ps.solvers.SimulatedSolver:
  solver = ps.load_solver(path)
  if not isinstance(solver, ps.solvers.SimulatedSolver):
    raise ValueError(f"{path} is not a run of the command train.")
  return solver


def _opponents(solver: ps.solvers.SimulatedSolver) -> dict[str, str | ps.solvers.SimulatedPolicy]:
  if (agent := solver.against) is not None:
    return {"agent": agent}
  names = ONLY_IN_CHEAT if solver.game.get_type().short_name == "cheat" else ("random",)
  return {name: name for name in names}


def _learn(
  solver: ps.solvers.SimulatedSolver,
  values: flags.FlagValues,
  end: int,
  folder: Path,
  rows: list[dict[str, Any]],
  opponents: Mapping[str, str | ps.solvers.SimulatedPolicy],
) -> dict[str, ps.evaluation.Score]:
  """Run to the end and add rows to the table, after matches on the way; the last matches."""
  quiet, every = values.quiet or values.json, values.every or max(values.iterations // 10, 1)
  before, stopwatch, scores = float(rows[-1]["seconds"]) if rows else 0.0, Stopwatch(), {}
  with progress_bar(False if quiet else None, total=end, initial=solver.iteration, unit="it") as bar:

    def tick(_) -> None:
      bar.update(solver.iteration - bar.n)

    while solver.iteration < end:
      steps = min((solver.iteration // every + 1) * every, end) - solver.iteration
      saving: dict[str, Any] = {"checkpoint": folder / RUN, "checkpoint_seconds": values.checkpoint_seconds}
      with stopwatch:
        solver.run(steps, every=1, callback=tick, **saving)
      scores = _scores(solver, opponents, values.games)
      rows.append(_row(solver, before + stopwatch.seconds, scores))
      ps.evaluation.write_table(folder / MARKS, rows[-1], (row.values() for row in rows))
      bar.clear()
      if not quiet:
        print(_line(rows[-1], scores.values()), flush=True)
      bar.refresh()
  return scores


def _scores(
  solver: ps.solvers.SimulatedSolver, opponents: Mapping[str, str | ps.solvers.SimulatedPolicy], games: int
) -> dict[str, ps.evaluation.Score]:
  """Matches of the average policy, seats alternating, by opponent."""
  policy = solver.average_policy()
  return {
    name: ps.evaluation.match_play.match(
      solver.game, ps.evaluation.match_play.player(policy), ps.evaluation.match_play.player(who, 1), games
    ).score
    for name, who in opponents.items()
  }


def _row(
  solver: ps.solvers.SimulatedSolver, seconds: float, scores: dict[str, ps.evaluation.Score]
) -> dict[str, Any]:
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


def _line(row: dict[str, Any], scores: Iterable[ps.evaluation.Score]) -> str:
  """A row as a line; shares of games won have their 95% interval."""
  shares = ((100 * score.wins / score.games, *score.interval) for score in scores)
  won = "".join(f"{f'{share:.1f}% ({100 * low:.0f}-{100 * high:.0f}%)':>20}" for share, low, high in shares)
  return "".join(f"{format(row[name], how):>{width}}" for name, (width, how) in _WRITTEN.items()) + won


def _parsed(row: dict[str, str]) -> dict[str, Any]:
  """A row of an earlier run; ValueError if its time is wrong."""
  if not 0 <= float(row["seconds"]) < math.inf:
    raise ValueError("a time is negative or not finite")
  return row


COMMAND = Command(
  name="train",
  arguments="[GAME]",
  summary="Train an agent by play, in a game too large to enumerate",
  text="GAME is any game for two, in quotes if it has parameters. In cheat the agent sees what Yi and "
  "Kaneko's does: its hand, the numbers of cards, the rank, and the claim; elsewhere its infostate. On the "
  "way it plays matches against a random player, in cheat against the naive and the heuristic one. Saves "
  "run.safetensors, which play takes as an opponent, and training.csv. Ctrl-C ends the run early and keeps "
  "what it reached. For a network of values see learn.",
  examples=(
    "train cheat",
    "train cheat --iterations=20 --every=10 --output=agent",
    "train 'liars_dice(numdice=2)' --iterations=50 --cells=500000",
    "train cheat --against=agent/run.safetensors --output=best_response",
    "train --method=search --against=agent/run.safetensors --games=100",
    "train cheat --method=external --depth=4 --iterations=20",
    "train --resume=agent/run.safetensors --iterations=5000",
    "play cheat --opponent=agent/run.safetensors",
  ),
  own=FLAGS,
  run=_run,
)
