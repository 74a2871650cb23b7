"""The command `ps-cfr-spiel judge`: what players lose by their own decisions, by a solution of the game."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyspiel
from absl import flags

import ps_cfr_spiel as ps
from ps_cfr_spiel.apps.commands.framework.command import INTERRUPTED, INTERRUPTION, Command, Flag, flag_of
from ps_cfr_spiel.apps.commands.framework.flags import (
  JSON,
  MOST_HISTORIES,
  QUIET,
  exploitability_facts,
  local_regret_facts,
  progress_of,
  say,
)
from ps_cfr_spiel.apps.commands.framework.players import make_opponent
from ps_cfr_spiel.apps.commands.framework.user_input import load_game, load_opponent, refuse, with_tree
from ps_cfr_spiel.apps.commands.show import made_by
from ps_cfr_spiel.cards.poker import describe
from ps_cfr_spiel.loading import sequential
from ps_cfr_spiel.options import JUDGING, MatchOptions, RunOptions
from ps_cfr_spiel.reports import progress_bar, report

if TYPE_CHECKING:
  from open_spiel.python import policy as openspiel_policy

ASSUMED = "opponents that play the solution: losses are against their values, and luck is left out"
UNSEEN = "0 to {:.4g} of it, at infostates that these games never reached"
HANDS = (".phh", ".phhs")

# fmt: off
FLAGS = (
  Flag("games", None,
    "File of games instead of A and B: JSON values, a line each or in a list, such as [0, 2, 1, 0], all of "
    "OpenSpiel's actions, chance's too; or all moves by name, such as \"Deal:0, Deal:2, Bet, Pass\"; or an "
    "object with either as actions, and the names of the players by seat; or trajectories of OpenSpiel.",
    value="FILE"),
  Flag("solution", None,
    "Saved strategy to judge by (default: the game is solved first).", value="FILE"),
  dataclasses.replace(flag_of(RunOptions, "iterations"), default=JUDGING,
    help="Iterations of the solution, if the game is solved first.", least=1),
  flag_of(MatchOptions, "hands"),
  flag_of(MatchOptions, "seed"),
  Flag("interval", None,
    "Half width of an interval, in the game's utility, for which a number of games is printed (default: 1% "
    "of the stakes).", kind=float, value="X"),
  Flag("rows", 10, "Most decisions to name for each player.", least=0),
  MOST_HISTORIES,
  QUIET,
  JSON,
)
# fmt: on


def _run(values: flags.FlagValues, words: Sequence[str]) -> int | None:
  if not words:
    raise ValueError("judge needs a game, such as leduc_poker, and --games=FILE or two players.")
  if (values.games is None) == (len(words) != 3):
    raise ValueError("judge needs --games=FILE or two players after the game, such as always_call random.")
  if values.games is not None:
    refuse(values, ("hands", "seed"), "is for games that are played, not for those of a file")
    if values.games.endswith(HANDS):
      raise ValueError(
        f"--games={values.games}: holdem is too large for an exact solution; write games of one that "
        "summary calls solvable as JSON lines, or judge by match --method=mivat."
      )
  if values.solution is not None:
    refuse(values, ("iterations",), "is for games that are solved first")
  if values.interval is not None and not values.interval > 0:
    raise ValueError(f"--interval={values.interval}: must be above 0.")
  game = sequential(load_game(words[:1]))
  if values.games is None:
    records, known = _played(values, game, words[1:])
  else:
    records, known = ps.matches.read_games(values.games, game), {}
  interrupted = values.games is None and len(records) < values.hands
  solution = None
  if values.solution is not None:
    solution = with_tree(load_opponent(values.solution, values.limit), values.solution)
    if str(solution.game) != str(game):
      raise ValueError(f"--solution={values.solution} is of {solution.game}, not of {game}.")
  limit = {} if solution is not None else {"limit": values.limit}
  judged = ps.matches.judge(
    game, records, solution, values.iterations, progress=progress_of(values), policies=known, **limit
  )
  regrets = ps.measures.local_regrets(game, judged.solution, judged.solution.tree)
  half = values.interval or 0.01 * regrets.stakes
  facts = {
    "game": str(game),
    **made_by(judged.solution),
    **exploitability_facts(judged.exploitability, game),
    **local_regret_facts(regrets),
    "assumes": ASSUMED,
    "agents": [agent.facts(half, values.rows) for agent in judged.agents],
  }
  code = INTERRUPTED if interrupted else None
  if values.json:
    say(values, facts | ({"failed": INTERRUPTION} if interrupted else {}))
    return code
  head = {
    "game": describe(str(game)),
    **made_by(judged.solution),
    "exploitability": ps.views.with_unit(judged.exploitability, game),
    **ps.views.local_regret_lines(regrets, game),
    "assumes": ASSUMED,
  }
  print("\n\n".join([report(head), *(_text(agent, half, values.rows, game) for agent in judged.agents)]))
  return code


def _played(
  values: flags.FlagValues, game: pyspiel.Game, players: Sequence[str]
) -> tuple[list[ps.matches.Played], dict[str, openspiel_policy.Policy | pyspiel.Policy]]:
  """Games of two players by name, and the policies of those whose probabilities are known.

  Ctrl-C ends the games, and those before it are judged.
  """
  makers = [
    make_opponent(game, name, np.random.RandomState(values.seed + k), values.limit)
    for k, name in enumerate(players)
  ]
  options = MatchOptions(games=values.hands, seed=values.seed, mirrored=True)
  played = ps.matches.each_game(game, makers[0], makers[1], options)
  bar = progress_bar(progress_of(values), iterable=played, total=values.hands, desc="Playing", unit=" games")
  seats = range(game.num_players())
  records: list[ps.matches.Played] = []
  try:
    for record in bar:
      records.append(record._replace(players=tuple(players[seat != record.seat] for seat in seats)))
  except KeyboardInterrupt:
    if not records:
      raise
    print(f"\nInterrupted after {len(records):,} games, which are judged.", file=sys.stderr)
  policies = {name: ps.matches.policy_of(game, maker) for name, maker in zip(players, makers, strict=True)}
  return records, {name: policy for name, policy in policies.items() if policy is not None}


def _text(agent: ps.matches.Judgement, half: float, rows: int, game: pyspiel.Game) -> str:
  """The judgement of an agent for people."""
  needed, exact = agent.games_for(half), agent.exact
  loss = f"{agent.loss.mean:.4g} a game" if exact else agent.loss.interval("a game")
  unseen = ps.views.without_rounding(agent.unseen, game) > 0
  if unseen:
    known = not math.isnan(agent.loss.standard_error)
    low, high = agent.interval if known else (agent.loss.mean, agent.most.mean)
    loss = f"{ps.views.without_rounding(low, game):.4g} to {high:.4g} a game{' (95% interval)' * known}"
  lines = {
    agent.agent: f"loses {loss} by its own decisions{' (its probabilities are known)' * exact}",
    **({"unseen": UNSEEN.format(agent.unseen)} if unseen else {}),
    "chips": str(agent.chips),
    **({} if exact else {f"for ± {half:.4g}": "unknown" if needed is None else f"{needed:,} games"}),
  }
  mistakes = [m for m in agent.mistakes if ps.views.without_rounding(m.loss, game) > 0][:rows]
  table = [["decision", "played", "best", "loss", "times"]]
  table += [
    [f"player {m.player}: {' '.join(m.infostate.split())}", m.played, m.best, f"{m.loss:.4g}", f"{m.times:,}"]
    for m in mistakes
  ]
  return "\n".join([report(lines), *([ps.views.charts.columns_text(table)] if mistakes else [])])


COMMAND = Command(
  name="judge",
  arguments="GAME [A B]",
  summary="Judge players by their decisions",
  text="Prints what each player loses a game by its own decisions, without luck: the value of the solution's "
  "mixture less that of the action played, if all then follow the solution. The mean is how much less the "
  "player wins than the solution would, against opponents that play the solution. For players whose "
  "probabilities are known it is computed; for others it is estimated from the frequencies of their moves, "
  "with far fewer games than by chips, and its interval is wider if their games never reach infostates that "
  "count, unless the opponents' probabilities are known and come there. The games are those of a file, or of "
  "A and B, players as in match: "
  "bots by name, search, search:FILE, or files of policies.",
  examples=(
    "judge leduc_poker --games=games.jsonl",
    "judge leduc_poker always_call random --hands=500",
    "judge kuhn_poker random random --solution=runs/kuhn_poker/run.safetensors",
  ),
  options=FLAGS,
  run=_run,
)
