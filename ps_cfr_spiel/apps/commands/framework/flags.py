"""Flags that several commands share, and results as text or JSON."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import pyspiel
from absl import flags

import ps_cfr_spiel as ps
from ps_cfr_spiel.apps.commands.framework.command import Flag, flag_of, group, option_flags
from ps_cfr_spiel.memory import RUNTIME, readable_bytes
from ps_cfr_spiel.options import (
  AUTO,
  FLAGS,
  EnumerationOptions,
  OnDemandResolvingOptions,
  PSCFROptions,
  SpotOptions,
  TreeOptions,
)
from ps_cfr_spiel.reports import report

MOST_CELLS = 500_000  # actions of infostates whose local regrets are measured unasked

EXPANSIONS = flag_of(OnDemandResolvingOptions, "expansions")
MOST_HISTORIES = dataclasses.replace(flag_of(EnumerationOptions, "limit"), group=FLAGS)
ENUMERATION, TREE, SPOT = (
  option_flags({"": kind}) for kind in (EnumerationOptions, TreeOptions, SpotOptions)
)
RULE, BITS, DTYPE, DEVICE = (
  dataclasses.replace(flag_of(PSCFROptions, name), group=FLAGS)
  for name in ("rule", "bits", "dtype", "device")
)
# fmt: off
SHARING = group("Many situations",
  Flag("cores", None, "Cores of a CPU to use (default: all).", kind=int, least=1),
  Flag("chunk", None,
    "Number that is held in memory and written at once (default: 32, on accelerators "
    "1,024).",
    kind=int, least=1),
)
RESUME = Flag("resume", None, "Run to continue, a run.safetensors, with its game and its settings.",
  value="FILE")
QUIET = Flag("quiet", False, "Print the result only.")
LOCAL_REGRETS = Flag("local_regrets", None,
  "Measure the strategy's losses at each infostate, also where its own play never comes, against the best "
  "action, if all then follow the strategy, and onward, against a best response.", kind=bool,
  unlike=f"default: with up to {MOST_CELLS:,} actions of infostates")
JSON = Flag("json", False, "Print the result as JSON, in one line, and nothing else.")
JOIN = Flag("join", None,
  "Share the work with other processes, given the same flags and a folder that all can reach: this is "
  "process K of N, from 0, and process 0 listens at HOST:PORT. With auto JAX finds the others: in srun of "
  "Slurm, mpirun of Open MPI, a job of Kubernetes, a TPU pod.", value="K/N@HOST:PORT|auto",
  group="Several processes")
# fmt: on


def join_others(place: str | None) -> None:
  """Join the other processes, if there are any; ValueError if there are no such ones.

  Args:
    place: the value of --join.
  """
  if place is None:
    return
  if place == AUTO:
    ps.runtime.join_processes()
  elif match := re.fullmatch(r"(\d+)/(\d+)@(.*)", place):
    ps.runtime.join_processes(match[3], int(match[2]), int(match[1]))
  else:
    raise ValueError(f"--join={place}: expected auto, or K/N@HOST:PORT, such as 0/2@localhost:4321.")


def say(
  values: flags.FlagValues, facts: Mapping[str, Any], lines: Mapping[str, object] | None = None
) -> None:
  """Print a result: `lines` for people, by default the same `facts` that --json prints in one line."""
  print(json.dumps(facts) if values.json else report(facts if lines is None else lines))


def next_command(values: flags.FlagValues, *words: object) -> str:
  """A command to type after this one, with the module that its game needs."""
  module = [] if values.module is None else [f"--module={values.module}"]
  return f"ps-cfr-spiel {shlex.join([*map(str, words), *module])}"


def memory_lines(game: pyspiel.Game, leaves: str = "auto") -> dict[str, str]:
  """A line on the estimated memory to solve a game, with --bits=16 too; {} for one that is enumerated."""
  whole, half = (ps.PSCFRSolver.memory_needs(game, bits, leaves) for bits in (32, 16))
  if whole is None or half is None:
    return {}
  return {"memory to solve": memory_text(game, whole.run, half.run)}


def memory_text(
  game: pyspiel.Game, run: int, less: int | None = None, without: str = " (--novalues leaves them out)"
) -> str:
  """The estimated bytes of a run, and `less` of one with --bits=16, and of what comes with it.

  `without` says how to do without the values of actions.
  """
  about, compressed = readable_bytes(run), readable_bytes(run if less is None else less)
  text = f"about {about}" + (f", or {compressed} with --bits=16" if compressed != about else "")
  needs = ps.PSCFRSolver.memory_needs(game)
  if needs is not None and (values := readable_bytes(needs.values)) != about:
    text += f", and {values} for the values of all actions afterwards{without}"
  return f"{text}; Python and JAX take some {readable_bytes(RUNTIME)} more"


def progress_of(values: flags.FlagValues) -> bool | None:
  """The argument `progress` of a call: none with --quiet or --json."""
  return False if values.quiet or values.json else None


def action_numbers(flag: str, words: Sequence[str], example: str) -> list[int]:
  """OpenSpiel's numbers of actions in the value of a flag, or ValueError."""
  try:
    return [int(word) for word in words]
  except ValueError:
    wrong = ",".join(words)
    raise ValueError(
      f"{flag} must be OpenSpiel's numbers of actions, such as {example}; got {wrong}."
    ) from None


def exploitability_facts(exploitability: float, game: pyspiel.Game) -> dict[str, Any]:
  """For --json: exploitability, its unit, and where there is a pot its share in percent."""
  pot = ps.views.pot_of(game)
  share = {"exploitability_percent_of_pot": 100 * exploitability / pot} if pot else {}
  return {"exploitability": exploitability, "unit": ps.views.unit_of(game), **share}


def local_regrets_of(policy: ps.TreePolicy, wanted: bool | None = None) -> ps.measures.LocalRegrets | None:
  """The local regrets of a policy; where they are `None` wanted, those of up to `MOST_CELLS` actions."""
  cells = sum(block.size for blocks in policy.strategies for block in blocks)
  if not (cells <= MOST_CELLS if wanted is None else wanted):
    return None
  return ps.measures.local_regrets(policy.game, policy, tree=policy.tree)


def local_regret_facts(regrets: ps.measures.LocalRegrets) -> dict[str, object]:
  """For --json: local regrets of each group of infostates, with the largest ones by name."""
  named = ("infostates", "mean", "percentile_99", "worst")
  groups = {
    name: {
      way: dict(zip(named, regrets.losses(name, onward), strict=True))
      for way, onward in (("following", False), ("onward", True))
    }
    for name, members in regrets.groups.items()
    if members.any()
  }
  worst = [dict(zip(("player", "infostate", "loss"), place, strict=True)) for place in regrets.worst()]
  return {"stakes": regrets.stakes, "local_regrets": groups, "worst_infostates": worst}


def general_sum_facts(evaluation: ps.measures.Evaluation) -> dict[str, Any]:
  """For --json in a general-sum game: values to the other players, gains by best responses, and their sum."""
  if evaluation.others is None:
    return {}
  gains = [float(gain) for gain in evaluation.gains]
  return {"others": [float(value) for value in evaluation.others], "gains": gains, "nash_conv": sum(gains)}


def general_sum_lines(evaluation: ps.measures.Evaluation) -> dict[str, str]:
  """NashConv and its parts for people, where the exploitability alone does not show them."""
  facts = general_sum_facts(evaluation)
  if not facts:
    return {}
  gains = ", ".join(f"player {i} {gain:.4g}" for i, gain in enumerate(facts["gains"]))
  return {"NashConv": f"{facts['nash_conv']:.4g}; gains by best responses: {gains}"}
