"""Flags that several commands share, and results as text or JSON."""

import json
from collections.abc import Mapping
from typing import Any

import pyspiel
from absl import flags

from ps_cfr_spiel.arguments import check_count
from ps_cfr_spiel.cfr import ALIASES, RULES
from ps_cfr_spiel.commands.command import Flag
from ps_cfr_spiel.compiler import LEAVES
from ps_cfr_spiel.device import DTYPES, join_processes
from ps_cfr_spiel.hierarchical import LOSSLESS
from ps_cfr_spiel.histories import LIMIT, SOURCES
from ps_cfr_spiel.reports import report
from ps_cfr_spiel.views import pot_of, unit_of

# fmt: off
MOST_HISTORIES = Flag("limit", LIMIT,
  "Most histories to visit of a game that does not describe itself.", least=1)
WALK = (
  Flag("public_states", "closure",
    "Source of public states: closure (common knowledge), the game's observer, or none, for games without "
    "public states.", choices=tuple(SOURCES)),
  MOST_HISTORIES,
  Flag("memory", None,
    "Most bytes to take, such as 4e9; by default half of the free memory, or all of it for a game that "
    "describes itself.", kind=float, least=1),
)
TREE = (
  Flag("leaves", "auto",
    "Evaluator of the game's ends: dense (matrices over all pairs of hands), showdown (for poker with many "
    "hands), native (the same in C++), sparse (for any game), or auto, which chooses.",
    choices=tuple(LEAVES)),
  *WALK,
)
RULE = Flag("rule", "nrm+",
  "Regret rule. nrm+ is this project's own and needs the fewest iterations in poker; the others are "
  "published. cfr is rm, cfr+ is rm+. Sampling solvers take rm, their default, and rm+, that of "
  "hierarchical.",

  choices=(*RULES, *ALIASES))
DTYPE = Flag("dtype", "float32", "Precision of the arithmetic.", choices=tuple(DTYPES))
SPOT = (
  Flag("board", None,
    "Hold'em instead of GAME: a river's five cards, such as 'Ks 7d 2c 5h 9s', a turn's four or a flop's "
    "three."),
  Flag("ranges", None, "Instead of GAME: both ranges, such as 'AA, KQs, A5s-A2s:0.5; TT+, AQ'."),
  Flag("bets", None,
    "Instead of GAME: bet sizes of the pot, such as '50%, 100%, a'; ';' separates those of the first, second "
    "and later bets, '|' those of player 0 and player 1, '/' those of streets, a is all-in."),
  Flag("pot", None, "Instead of GAME: chips in the pot.", kind=int, least=1),
  Flag("stack", None,
    "Instead of GAME: chips of each player at the hand's beginning, half of the pot included.",
    kind=int, least=1),
)
CLUSTERS_AND_BUCKETS = (
  Flag("clusters", None,
    "Public clusters of the boards of the first public cards (default: 60, or all if fewer).",
    kind=int, least=1),
  Flag("buckets", "50",
    "Buckets for the hands of each cluster and round, or lossless, which tells hands apart as far as suits "
    "allow."),
)
QUIET = Flag("quiet", False, "Print the result only.")
JSON = Flag("json", False, "Print the result as JSON, in one line, and nothing else.")


def shared(alone: str = "") -> tuple[Flag, ...]:
  """The flags by which processes share work; `alone` adds the meaning of --processes by itself."""
  return (
    Flag("coordinator", None,
      "Share the work with other processes: address and port of process 0, such as localhost:4321. Give all "
      "of them the same flags and a folder that all can reach."),
    Flag("processes", None, f"With --coordinator: number of processes.{alone}", kind=int, least=1),
    Flag("process", None, "With --coordinator: number of this process, from 0.", kind=int, least=0),
  )
# fmt: on


def buckets_of(values: flags.FlagValues) -> int | str:
  """The value of --buckets: a number, or "lossless"; ValueError for anything else."""
  text = values.buckets
  if text == LOSSLESS:
    return text
  if not text.isdecimal() or int(text) < 1:
    raise ValueError(f"--buckets={text}: expected a number of at least 1, or {LOSSLESS}.")
  return check_count("--buckets", int(text), 1)


def join_others(values: flags.FlagValues) -> None:
  """Meets the other processes, if there are any; ValueError or TimeoutError if it cannot."""
  given = [values.coordinator, values.processes, values.process]
  if all(value is None for value in given):
    return
  if None in given:
    raise ValueError("--coordinator, --processes and --process belong together.")
  join_processes(values.coordinator, values.processes, values.process)


def say(
  values: flags.FlagValues, facts: Mapping[str, Any], lines: Mapping[str, object] | None = None
) -> None:
  """Prints a result.

  Args:
    values: of the command.
    facts: the result as --json prints it, in one line.
    lines: the result for people; the facts by default.
  """
  print(json.dumps(facts) if values.json else report(facts if lines is None else lines))


def exploitability_facts(exploitability: float, game: pyspiel.Game) -> dict[str, Any]:
  """For --json: exploitability, its unit, and where there is a pot its share in percent."""
  pot = pot_of(game)
  share = {"exploitability_percent_of_pot": 100 * exploitability / pot} if pot else {}
  return {"exploitability": exploitability, "unit": unit_of(game), **share}
