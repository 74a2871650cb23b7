"""The command `ps-cfr-spiel resolve`: the strategy of continual re-solving, and its exploitability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyspiel
from absl import flags

import ps_cfr_spiel as ps
from ps_cfr_spiel.apps.commands.framework.command import Command, Flag, given_options, option_flags
from ps_cfr_spiel.apps.commands.framework.flags import (
  JSON,
  QUIET,
  SPOT,
  exploitability_facts,
  next_command,
  progress_of,
  say,
)
from ps_cfr_spiel.apps.commands.framework.user_input import load_game, load_values, make_folder, refuse
from ps_cfr_spiel.options import PRESETS, ContinualResolvingOptions, preset
from ps_cfr_spiel.reports import Stopwatch, report

# fmt: off
FLAGS = (
  Flag("preset", None,
    "Published settings of searches, such as DeepStack's; other flags change them.",
    choices=tuple(PRESETS)),
  *option_flags({"": ContinualResolvingOptions}),
  Flag("value_iterations", None,
    "With --lookahead: iterations of the value function beyond it (default: 20).", kind=int, least=1),
  Flag("values", None,
    "With --lookahead: a file of learn, whose network evaluates the states beyond; or pretrained, for "
    "leduc_poker and turns of hold'em.", value="FILE"),
  Flag("output", None,
    "Folder for policy.safetensors, for show, evaluate and play (default: runs/, the game's name and "
    "-resolving).",
    value="FOLDER"),
  QUIET,
  *SPOT,
  JSON,
)
# fmt: on


def _run(values: flags.FlagValues, words: Sequence[str]) -> int | None:
  ahead = _settings(values).get("lookahead") is not None
  if values.value_iterations is not None and not ahead:
    raise ValueError("--value_iterations is for --lookahead; without it searches go to the end.")
  if values["values"].present and (not ahead or values.value_iterations is not None):
    raise ValueError("--values is for --lookahead, without --value_iterations.")
  if values.public_states == "none" and values.knowledge is None:
    raise ValueError("--public_states=none: re-solving needs public states; choose --knowledge=1.")
  if values.knowledge is not None and values.public_states != "none":
    refuse(values, ("public_states",), "is not for --knowledge, which needs no public states")
  game = load_game(words, values)
  name = game.get_type().short_name
  folder = make_folder(values.output or f"runs/{name}-resolving")
  stopwatch, progress = Stopwatch(), progress_of(values)
  with stopwatch:
    resolving = _searches(values, game)
  if progress is None:
    method = report({"method": resolving.description})
    print(resolving.tree.summary(arrays=False), method, "", sep="\n", flush=True)
  with stopwatch:
    policy = resolving.tabularise(progress)
  result = ps.evaluate_policy(game, policy)
  file = folder / "policy.safetensors"
  policy.save(file)
  lines = {
    **ps.views.value_lines(result.values, game),
    "exploitability": ps.views.with_unit(float(result.exploitability), game),
    "time": f"{stopwatch.seconds:.1f} s for all searches, with compilation",
    "saved": str(file),
    "look at it": next_command(values, "show", file),
  }
  facts = {
    "game": str(game),
    "method": resolving.description,
    "value": float(result.value),
    **exploitability_facts(float(result.exploitability), game),
    "seconds": stopwatch.seconds,
    "saved": str(file),
  }
  say(values, facts, lines)


def _searches(values: flags.FlagValues, game: pyspiel.Game) -> ps.ContinualResolving:
  """Continual re-solving as the flags describe it."""
  beyond = _value_function(values, game)
  return ps.ContinualResolving(game, ContinualResolvingOptions.of(**_settings(values), value_function=beyond))


def _settings(values: flags.FlagValues) -> dict[str, Any]:
  """The options of --preset, and those that flags change."""
  named = given_options(values, ContinualResolvingOptions)
  return named if values.preset is None else preset(values.preset, **named)


def _value_function(values: flags.FlagValues, game: pyspiel.Game) -> ps.values.ValueFunction | None:
  if values["values"].present:
    return load_values(str(values["values"].value), game)
  ahead = _settings(values).get("lookahead")
  return None if ahead is None else ps.values.CFRValues(values.value_iterations or 20)


COMMAND = Command(
  name="resolve",
  arguments="[GAME]",
  summary="Search by continual re-solving",
  text="Solves every subgame again when play reaches it, here at all public states, and prints how "
  "exploitable this search is. GAME is written as for solve.",
  examples=(
    "resolve leduc_poker",
    "resolve leduc_poker --lookahead=1 --value_iterations=40",
    "resolve 'dark_hex(board_size=2)' --knowledge=1 --iterations=100",
    "resolve 'holdem_subgame(stack=300,ranges=AA KQs 76s;TT+ AQ)' --iterations=200",
    "resolve 'river_subgame(bets=0.5 1 2 a)' --actions=0,1,3,5",
  ),
  options=FLAGS,
  run=_run,
)
