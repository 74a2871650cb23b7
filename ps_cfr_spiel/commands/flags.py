"""Flags that several commands share: how a game is compiled, and results as JSON."""

import json
from collections.abc import Mapping
from typing import Any

import pyspiel
from absl import flags

from ps_cfr_spiel.arguments import check_count
from ps_cfr_spiel.cfr import ALIASES, RULES
from ps_cfr_spiel.compiler import LEAVES
from ps_cfr_spiel.device import join_processes
from ps_cfr_spiel.hierarchical import LOSSLESS
from ps_cfr_spiel.histories import LIMIT, SOURCES
from ps_cfr_spiel.reports import report
from ps_cfr_spiel.views import pot_of, unit_of


def define_tree(values: flags.FlagValues) -> None:
  """Defines the flags that say how a game is compiled."""
  into: dict[str, Any] = {"flag_values": values}
  flags.DEFINE_enum("leaves", "auto", list(LEAVES), _HELP["leaves"], **into)
  define_walk(values)


def define_walk(values: flags.FlagValues) -> None:
  """Defines the flags that say how a game is walked and where its public states come from."""
  into: dict[str, Any] = {"flag_values": values}
  flags.DEFINE_enum("public_states", "closure", list(SOURCES), _HELP["public_states"], **into)
  define_limit(values)
  flags.DEFINE_float("memory", None, _HELP["memory"], lower_bound=1, **into)


def define_limit(values: flags.FlagValues) -> None:
  """Defines the flag that says how large a game may be; what a file says cannot raise it."""
  flags.DEFINE_integer("limit", LIMIT, _HELP["limit"], lower_bound=1, flag_values=values)


def define_rule(values: flags.FlagValues) -> None:
  """Defines the flag that names a regret rule."""
  names = [*RULES, *ALIASES]
  flags.DEFINE_enum("rule", "nrm+", names, _HELP["rule"], flag_values=values, case_sensitive=False)


def define_game(values: flags.FlagValues) -> None:
  """Defines the flags that describe a spot of hold'em as poker players do, instead of GAME."""
  into: dict[str, Any] = {"flag_values": values}
  for name in ("board", "ranges", "bets"):
    flags.DEFINE_string(name, None, _HELP[name], **into)
  flags.DEFINE_integer("pot", None, "Instead of GAME: chips in the pot.", 1, **into)
  flags.DEFINE_integer("stack", None, _HELP["stack"], 1, **into)


def define_clusters(values: flags.FlagValues) -> None:
  """Defines the flags that say how cards are abstracted."""
  flags.DEFINE_integer("clusters", None, _HELP["clusters"], 1, flag_values=values)
  flags.DEFINE_string("buckets", "50", _HELP["buckets"], flag_values=values)


def buckets_of(values: flags.FlagValues) -> int | str:
  """What --buckets says: a number, or "lossless"; ValueError for anything else."""
  text = values.buckets
  if text == LOSSLESS:
    return text
  if not text.isdecimal() or int(text) < 1:
    raise ValueError(f"--buckets={text}: expected a number of at least 1, or {LOSSLESS}.")
  return check_count("--buckets", int(text), 1)


def define_processes(values: flags.FlagValues, alone: str) -> None:
  """Defines the flags by which processes share work; `alone` says what --processes does by itself."""
  into: dict[str, Any] = {"flag_values": values}
  flags.DEFINE_string("coordinator", None, _HELP["coordinator"], **into)
  flags.DEFINE_integer("processes", None, f"With --coordinator: how many there are.{alone}", 1, **into)
  flags.DEFINE_integer("process", None, "With --coordinator: which this is, from 0.", 0, **into)


def join_others(values: flags.FlagValues) -> None:
  """Meets the other processes, if there are any; ValueError or TimeoutError if it cannot."""
  given = [values.coordinator, values.processes, values.process]
  if all(value is None for value in given):
    return
  if None in given:
    raise ValueError("--coordinator, --processes and --process belong together.")
  join_processes(values.coordinator, values.processes, values.process)


def define_json(values: flags.FlagValues) -> None:
  """Defines the flag by which programs read a command's result."""
  flags.DEFINE_bool("json", False, _HELP["json"], flag_values=values)


def say(
  values: flags.FlagValues, facts: Mapping[str, Any], lines: Mapping[str, object] | None = None
) -> None:
  """Prints a result.

  Args:
    values: of the command.
    facts: what --json prints, in one line.
    lines: what people read instead; the facts themselves by default.
  """
  print(json.dumps(facts) if values.json else report(facts if lines is None else lines))


def exploitability_facts(exploitability: float, game: pyspiel.Game) -> dict[str, Any]:
  """For --json: exploitability, its unit, and where there is a pot its share in percent."""
  pot = pot_of(game)
  share = {"exploitability_percent_of_pot": 100 * exploitability / pot} if pot else {}
  return {"exploitability": exploitability, "unit": unit_of(game), **share}


_HELP = {
  "clusters": "Public clusters of the boards of the first public cards (default: 60, or all if fewer).",
  "buckets": "Buckets for the hands of each cluster and round, or lossless: hands are told apart as far as "
  "suits allow.",
  "coordinator": "Share the work with other processes: address and port of process 0, such as "
  "localhost:4321. All are given the same flags, and reach the same folder.",
  "board": "Hold'em instead of GAME: a river's five cards, such as 'Ks 7d 2c 5h 9s', a turn's four or a "
  "flop's three.",
  "ranges": "Instead of GAME: both ranges, such as 'AA, KQs, A5s-A2s:0.5; TT+, AQ'.",
  "bets": "Instead of GAME: bet sizes of the pot, such as '50%, 100%, a'; ';' separates those of the first, "
  "second and later bets, '|' those of player 0 and player 1, '/' those of streets, a is all-in.",
  "stack": "Instead of GAME: chips that each player began the hand with, half of the pot included.",
  "json": "Print the result as JSON, in one line, and nothing else.",
  "rule": "How regrets turn into the next strategy. nrm+ is this project's own: it needs the fewest "
  "iterations in poker. The others are published; cfr is rm, and cfr+ is rm+. Sampling solvers take rm, "
  "their default, and rm+, that of hierarchical.",
  "leaves": "How the ends of the game are evaluated: dense (matrices over all pairs of hands), showdown "
  "(for poker with many hands), native (the same in C++), sparse (for any game), or auto, which chooses.",
  "public_states": "Where public states come from: closure (common knowledge), the game's observer, or "
  "none, for games that have none.",
  "limit": "Most histories to visit of a game that does not describe itself.",
  "memory": "Most bytes to take, such as 4e9; by default half of what is free, or all of it for a game that "
  "describes itself.",
}
