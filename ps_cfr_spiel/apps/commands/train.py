"""The command `ps-cfr-spiel train`: trains an agent by play, in a game too large to enumerate."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from absl import flags

import ps_cfr_spiel as ps
from ps_cfr_spiel.apps.commands.framework.command import (
  INTERRUPTED,
  Command,
  Flag,
  flag_of,
  flags_of,
  given_options,
  option_flags,
)
from ps_cfr_spiel.apps.commands.framework.flags import JSON, QUIET, RESUME, next_command, say
from ps_cfr_spiel.apps.commands.framework.run_tables import read_table, write_table
from ps_cfr_spiel.apps.commands.framework.user_input import given, load_game, refuse_fixed, results_folder
from ps_cfr_spiel.arguments import check_count, check_seconds
from ps_cfr_spiel.memory import LimitReachedError
from ps_cfr_spiel.options import (
  KeyedExternalOptions,
  KeyedMCCFROptions,
  Options,
  RunOptions,
  SearchResponseOptions,
)
from ps_cfr_spiel.reports import report

if TYPE_CHECKING:  # JAX
  Trained: TypeAlias = ps.KeyedMCCFRSolver | ps.KeyedExternalSolver

RUN, MARKS = "run.safetensors", "training.csv"
SEARCH = "search"
METHODS: dict[str, type[Options]] = {
  "plays": KeyedMCCFROptions,
  "external": KeyedExternalOptions,
  SEARCH: SearchResponseOptions,
}
_OWN = {"plays": ("start",), "external": ("start",), SEARCH: ("against",)}  # their flags besides

_WRITTEN = {  # columns of the printed table: width and format
  "iteration": (10, ","), "games": (14, ","), "nodes": (17, ","), "cells": (12, ","), "value": (8, ".3f"),
  "seconds": (10, ".1f"),
}  # fmt: skip


# fmt: off
FLAGS = (
  dataclasses.replace(flag_of(RunOptions, "iterations"), default=1000, least=1),
  Flag("every", None,
    "Iterations between two rows of the table (default: a tenth of the run).", kind=int, least=1),
  Flag("games", 200, "Games in a match against each opponent, for a row of the table.", least=1),
  Flag("output", None,
    "Folder for the results, made if needed; as for solve.", value="FOLDER"),
  RESUME,
  flag_of(RunOptions, "checkpoint_seconds"),
  QUIET,
  Flag("method", "plays",
    "plays learns from plays in which both sides follow their policies; external, the paper's method, "
    "traverses all moves of one side, down to a --depth or in short games. search learns nothing: it plays "
    "--games against the agent of --against, with its strategy, a memory and rollouts.",
    choices=tuple(METHODS)),
  *option_flags(METHODS),
  Flag("start", None,
    "Run of a smaller cheat (fewer cards, a shorter horizon), or of the same, perhaps with a key that "
    "forgets more, to begin with; its values last with --decay=0.01 --decay_power=0.", value="FILE"),
  JSON,
)
# fmt: on
_FIXED = ("method", "start", *(flag.name for flag in option_flags(METHODS)))  # on resuming


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
  rows = read_table(folder / MARKS, solver.iteration, _parsed) if rows is None else rows
  try:
    scores = _learn(solver, values, end, folder, rows, opponents)
  except LimitReachedError as error:
    raise ValueError(f"{error} Iteration {solver.iteration:,} is saved in {folder / RUN}.") from error
  except KeyboardInterrupt:
    print(f"\nInterrupted; iteration {solver.iteration:,} is saved in {folder / RUN}.", file=sys.stderr)
    return INTERRUPTED
  lines = {
    **{f"against {name}": score for name, score in scores.items()},
    "saved": f"{RUN}, {MARKS} in {folder}",
    "play it": next_command(values, "play", solver.game, f"--opponent={folder / RUN}"),
  }
  say(values, {"game": str(solver.game), **rows[-1], "saved": str(folder / RUN)}, lines)


def _new(values: flags.FlagValues, words: Sequence[str]) -> Trained:
  if not words:
    raise ValueError("train needs a game, such as cheat or 'liars_dice(numdice=2)'.")
  game, kind = load_game(words), METHODS[values.method]
  _refuse_foreign(values)
  options = given_options(values, kind)
  if "against" in options:
    options["against"] = _load(options["against"]).average_policy()
  solver = ps.Solver.kind_for(kind)(game, kind.of(**options))
  assert isinstance(solver, ps.KeyedMCCFRSolver | ps.KeyedExternalSolver)
  if values.start is not None:
    solver.start_from(_load(values.start))
  return solver


def _refuse_foreign(values: flags.FlagValues, *others: str, why: str = "") -> None:
  """ValueError if a flag is given that the method does not have."""
  names = {*flags_of(METHODS[values.method]), *_OWN[values.method]}
  if foreign := given(values, (name for name in (*_FIXED[1:], *others) if name not in names)):
    raise ValueError(f"--method={values.method} has no {', '.join(foreign)}{why}.")


def _search(values: flags.FlagValues, words: Sequence[str]) -> None:
  """Print the result of a searching opponent against an agent."""
  others = ("iterations", "every", "output", "checkpoint_seconds")
  _refuse_foreign(values, *others, why="; it plays --games and saves nothing")
  if values.against is None:
    raise ValueError(
      "--method=search needs an opponent; name the run.safetensors of an agent with --against."
    )
  policy = ps.load_policy(values.against)
  game = load_game(words) if words else policy.game
  result = ps.matches.search_response(
    game, policy, games=values.games, **given_options(values, SearchResponseOptions)
  )
  won, games = result.score.wins / result.score.games, result.score.games
  facts = {"game": str(game), "agent": values.against, "games": games, "won": won, "value": result.mean}
  say(values, {**facts, "standard_error": result.standard_error}, {"the search": result})


def _load(path: str) -> Trained:
  solver = ps.load_solver(path)
  if not isinstance(solver, ps.KeyedMCCFRSolver | ps.KeyedExternalSolver):
    raise ValueError(f"{path} is not a run of the command train.")
  return solver


def _opponents(solver: Trained) -> dict[str, str | ps.KeyedPolicy]:
  if (agent := solver.against) is not None:
    return {"agent": agent}
  names = ps.matches.own_bots(solver.game) or ("random",)
  return {name: name for name in names}


def _learn(
  solver: Trained,
  values: flags.FlagValues,
  end: int,
  folder: Path,
  rows: list[dict[str, Any]],
  opponents: Mapping[str, str | ps.KeyedPolicy],
) -> dict[str, ps.matches.Score]:
  """Run to the end and add rows to the table, after matches on the way; the last matches."""
  quiet, every = values.quiet or values.json, values.every or max(values.iterations // 10, 1)
  before, scores = float(rows[-1]["seconds"]) if rows else 0.0, {}

  def look(_) -> None:
    scores.update(_scores(solver, opponents, values.games))
    rows.append(_row(solver, before + solver.pace.seconds, scores))
    write_table(folder / MARKS, rows[-1], (row.values() for row in rows))
    if not quiet:
      print(_line(rows[-1], scores.values()), flush=True)

  solver.run(
    end - solver.iteration,
    progress=False if quiet else None,
    every=lambda done: (done // every + 1) * every,
    callback=look,
    checkpoint=folder / RUN,
    checkpoint_seconds=values.checkpoint_seconds,
  )
  return scores


def _scores(
  solver: Trained, opponents: Mapping[str, str | ps.KeyedPolicy], games: int
) -> dict[str, ps.matches.Score]:
  """Matches of the average policy, seats alternating, by opponent."""
  policy = solver.average_policy()
  return {
    name: ps.matches.match(
      solver.game,
      ps.matches.player(policy),
      ps.matches.player(who, 1, solver.game),
      games,
    ).score
    for name, who in opponents.items()
  }


def _row(solver: Trained, seconds: float, scores: dict[str, ps.matches.Score]) -> dict[str, Any]:
  """A row of the table; the last columns are shares of games won."""
  return {
    "iteration": solver.iteration,
    "games": solver.plays,
    "nodes": solver.nodes,
    "skipped": solver.skipped,
    "cells": solver.cells,
    "value": round(solver.game_value, 6),
    "seconds": round(seconds, 3),
    **{f"won_{name}": score.wins / score.games for name, score in scores.items()},
  }


def _line(row: dict[str, Any], scores: Iterable[ps.matches.Score]) -> str:
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
  text="GAME is any zero-sum game, in quotes if it has parameters. In cheat the agent sees what Yi and "
  "Kaneko's does: its hand, one other player's number of cards, the rank, and the claim; elsewhere its "
  "infostate. On the way it plays matches against a random player, in cheat against the naive and the "
  "heuristic one. Saves run.safetensors, which play takes as an opponent, and training.csv. Ctrl-C ends "
  "the run early and saves it. For a network of values see learn.",
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
  options=FLAGS,
  run=_run,
)
