"""The command `ps-cfr-spiel resolve`: the strategy of continual re-solving, and its exploitability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyspiel
from absl import flags

import ps_cfr_spiel as ps
from ps_cfr_spiel.commands.command import Command, Flag
from ps_cfr_spiel.commands.flags import (
  DTYPE,
  JSON,
  QUIET,
  RULE,
  SPOT,
  WALK,
  action_numbers,
  exploitability_facts,
  next_command,
  progress_of,
  say,
  values_of,
)
from ps_cfr_spiel.commands.user_input import load_game, load_values, make_folder, refuse
from ps_cfr_spiel.reports import Stopwatch, report

# fmt: off
FLAGS = (
  Flag("iterations", 1000, "Iterations of CFR in each search.", least=1),
  Flag("preset", None,
    "Published settings of searches, such as DeepStack's; other flags change them.",
    choices=("deepstack-flop", "deepstack-turn", "deepstack-river")),
  Flag("gadget", "cfr-d",
    "Constraint from one search to the next: with cfr-d the new search cannot help the opponent, with "
    "max-margin it hurts the opponent as much as possible, and refined ones answer well also where promises "
    "are slack; unsafe has none, for comparison.",
    choices=("unsafe", "cfr-d", "max-margin", "refined-cfr-d", "refined-max-margin")),
  Flag("knowledge", None,
    "Search by the player's knowledge of this order, 1 or more, in place of public states, which it does "
    "not need.", kind=int, least=1),
  Flag("lookahead", None,
    "Own decisions that a search looks ahead, 1 for the present one only, or round, for those until the next "
    "public card; a value function evaluates the rest (default: to the end of the game).", value="N|round"),
  Flag("value_iterations", None,
    "With --lookahead: iterations of the value function beyond it (default: 20).", kind=int, least=1),
  Flag("actions", None,
    "OpenSpiel's numbers of the actions that searches consider, such as 0,1,3 (default: all).", kind=list,
    value="N,..."),
  Flag("values", None,
    "With --lookahead: a file of learn, whose network evaluates the states beyond; or pretrained, for "
    "leduc_poker and turns of hold'em.", value="FILE"),
  RULE,
  DTYPE,
  Flag("output", None,
    "Folder for policy.safetensors, for show, evaluate and play (default: runs/, the game's name and "
    "-resolving).",
    value="FOLDER"),
  QUIET,
  *WALK,
  *SPOT,
  JSON,
)
# fmt: on


def _run(values: flags.FlagValues, words: Sequence[str]) -> int | None:
  ahead = _settings(values).get("lookahead") is not None
  if values.value_iterations is not None and not ahead:
    raise ValueError("--value_iterations is for --lookahead; without it searches go to the end.")
  if values["values"].present and (not ahead or values.value_iterations is not None):
    raise ValueError("--values is for --lookahead, and not beside --value_iterations.")
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
    print(resolving.tree.summary(), method, "", sep="\n", flush=True)
  with stopwatch:
    policy = resolving.tabularise(progress)
  result = ps.evaluate_policy(game, policy)
  file = folder / "policy.safetensors"
  policy.save(file)
  lines = {
    **ps.views.value_lines(values_of(result), game),
    "exploitability": ps.views.with_unit(result.exploitability, game),
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
  walk: dict[str, Any] = {name: values[name].value for name in ("dtype", "public_states", "limit", "memory")}
  actions = None if values.actions is None else action_numbers("--actions", values.actions, "0,1,3")
  beyond = _value_function(values, game)
  return ps.ContinualResolving(game, **_settings(values), value_function=beyond, actions=actions, **walk)


def _settings(values: flags.FlagValues) -> dict[str, Any]:
  """The settings of --preset, and the flags of the same meaning."""
  named = {name: values[name].value for name in ("iterations", "rule", "gadget", "knowledge")}
  named["lookahead"] = _lookahead(values.lookahead)
  if values.preset is None:
    return named
  return ps.solvers.preset(values.preset, **{name: x for name, x in named.items() if values[name].present})


def _lookahead(word: str | None) -> int | str | None:
  if word is None or word == ps.search.ROUND:
    return word
  if not word.isdecimal() or not int(word):
    raise ValueError(f"--lookahead={word}: expected a number of decisions, 1 or more, or {ps.search.ROUND}.")
  return int(word)


def _value_function(values: flags.FlagValues, game: pyspiel.Game) -> ps.search.ValueFunction | None:
  if values["values"].present:
    return load_values(str(values["values"].value), game)
  ahead = _settings(values).get("lookahead")
  return None if ahead is None else ps.search.CFRValues(values.value_iterations or 20)


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
  own=FLAGS,
  run=_run,
)
