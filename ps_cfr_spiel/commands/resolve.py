"""The command `ps-cfr-spiel resolve`: what continual re-solving plays everywhere, and how good that is."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyspiel
from absl import flags

from ps_cfr_spiel.commands.command import Command
from ps_cfr_spiel.commands.flags import (
  define_game,
  define_json,
  define_rule,
  define_walk,
  exploitability_facts,
  say,
)
from ps_cfr_spiel.commands.learn import load_learning
from ps_cfr_spiel.commands.user_input import UserError, load_game, make_folder, user_errors
from ps_cfr_spiel.device import DTYPES
from ps_cfr_spiel.evaluation import evaluate_policy
from ps_cfr_spiel.reports import report
from ps_cfr_spiel.search import ROUND, CFRValues, ValueFunction
from ps_cfr_spiel.solvers import PRESETS, ContinualResolving, preset
from ps_cfr_spiel.subgames import GADGETS
from ps_cfr_spiel.views import in_unit, with_unit

PRETRAINED = "pretrained"  # as --values: what comes with the package


def define(values: flags.FlagValues) -> None:
  """Defines the command's flags, in the order in which `--help` lists them."""
  into: dict[str, Any] = {"flag_values": values}
  count: dict[str, Any] = {"lower_bound": 1, **into}
  flags.DEFINE_integer("iterations", 1000, "Iterations of CFR in each search.", **count)
  flags.DEFINE_enum("preset", None, list(PRESETS), _HELP["preset"], **into)
  flags.DEFINE_enum("gadget", "cfr-d", list(GADGETS), _HELP["gadget"], **into)
  flags.DEFINE_string("lookahead", None, _HELP["lookahead"], **into)
  flags.DEFINE_integer("value_iterations", None, _HELP["value_iterations"], **count)
  flags.DEFINE_list("actions", None, _HELP["actions"], **into)
  flags.DEFINE_string("values", None, _HELP["values"], **into)
  define_rule(values)
  flags.DEFINE_enum("dtype", "float32", list(DTYPES), "Precision of the arithmetic.", **into)
  flags.DEFINE_string("output", None, _HELP["output"], **into)
  flags.DEFINE_bool("quiet", False, "Print the result only.", **into)
  define_walk(values)
  define_game(values)
  define_json(values)


_HELP = {
  "preset": "Published settings of searches, such as DeepStack's; flags that are given too change them.",
  "gadget": "What binds a search to the one before it: with cfr-d the opponent cannot gain by the new "
  "search, with max-margin they lose by it as much as possible; unsafe binds nothing, for comparison.",
  "lookahead": "How many decisions of its own a search looks ahead, 1 for the present one only, or 'round' "
  "for those until the next public card; beyond that the value function takes over (default: to the end of "
  "the game).",
  "value_iterations": "With --lookahead: the value function solves what lies beyond in this many iterations "
  "(default: 20).",
  "values": "With --lookahead: a file of learn, whose network says what lies beyond; or 'pretrained', which "
  "there is for leduc_poker.",
  "actions": "OpenSpiel's numbers of the actions that searches consider, such as 0,1,3 (default: all).",
  "output": "Folder for policy.npz, which show, evaluate and play take (default: runs/, the game's name and "
  "-resolving).",
}


def resolve(values: flags.FlagValues, words: Sequence[str]) -> int:
  """Runs the command; returns its exit code."""
  ahead = _settings(values).get("lookahead") is not None
  if values.value_iterations is not None and not ahead:
    raise UserError("--value_iterations is for --lookahead; without it searches go to the end.")
  if values["values"].present and (not ahead or values.value_iterations is not None):
    raise UserError("--values is for --lookahead, and not beside --value_iterations.")
  if values.public_states == "none":
    raise UserError("--public_states=none: re-solving needs public states; choose closure or observer.")
  game = load_game(words, values)
  name = game.get_type().short_name
  folder = make_folder(Path(values.output or f"runs/{name}-resolving"))
  started = time.perf_counter()
  with user_errors():
    resolving = ContinualResolving(
      game,
      **_settings(values),
      value_function=_value_function(values, game),
      actions=_actions(values.actions),
      dtype=values.dtype,
      public_states=values.public_states,
      limit=values.limit,
      memory=values.memory,
    )
    quiet = values.quiet or values.json
    if not quiet:
      method = report({"method": resolving.description})
      print(resolving.tree.summary(), method, "", sep="\n", flush=True)
    policy = resolving.tabularise(progress=False if quiet else None)
    seconds = time.perf_counter() - started
    result = evaluate_policy(game, policy)
  file = folder / "policy.npz"
  policy.save(file)
  lines = {
    "value to player 0": in_unit(f"{result.value:.4g}", game),
    "exploitability": with_unit(result.exploitability, game),
    "time": f"{seconds:.1f} s for all public states, with compilation",
    "saved": str(file),
    "look at it": f"ps-cfr-spiel show {file}",
  }
  facts = {
    "game": str(game),
    "method": resolving.description,
    "value": float(result.value),
    **exploitability_facts(float(result.exploitability), game),
    "seconds": seconds,
    "saved": str(file),
  }
  say(values, facts, lines)
  return 0


def _settings(values: flags.FlagValues) -> dict[str, Any]:
  """What --preset sets, and the flags of the same meaning."""
  named = {name: values[name].value for name in ("iterations", "rule", "gadget")}
  named["lookahead"] = _lookahead(values.lookahead)
  if values.preset is None:
    return named
  return preset(values.preset, **{name: x for name, x in named.items() if values[name].present})


def _lookahead(word: str | None) -> int | str | None:
  """What --lookahead means."""
  if word is None or word == ROUND:
    return word
  if not word.isdecimal() or not int(word):
    raise UserError(f"--lookahead={word}: expected a number of decisions, 1 or more, or {ROUND}.")
  return int(word)


def _value_function(values: flags.FlagValues, game: pyspiel.Game) -> ValueFunction | None:
  """What lies beyond the lookahead."""
  if values["values"].present:
    learning, file = load_learning(), values["values"].value
    return learning.LearnedValues.pretrained(game) if file == PRETRAINED else learning.load_values(file)
  ahead = _settings(values).get("lookahead")
  return None if ahead is None else CFRValues(values.value_iterations or 20)


def _actions(words: Sequence[str] | None) -> list[int] | None:
  """The numbers of --actions."""
  if words is None:
    return None
  try:
    return [int(word) for word in words]
  except ValueError:
    wrong = ",".join(words)
    raise UserError(
      f"--actions must be OpenSpiel's numbers of actions, such as 0,1,3; got {wrong}."
    ) from None


COMMAND = Command(
  name="resolve",
  arguments="[GAME]",
  summary="Search by continual re-solving",
  text="Solves every subgame again when play reaches it, here at all public states, and prints how "
  "exploitable this search is. GAME is written as for solve.",
  examples=(
    "resolve leduc_poker",
    "resolve leduc_poker --lookahead=1 --value_iterations=40",
    "resolve 'holdem_subgame(stack=300,ranges=AA KQs 76s;TT+ AQ)' --iterations=200",
    "resolve 'river_subgame(bets=0.5 1 2 a)' --actions=0,1,3,5",
  ),
  define=define,
  run=resolve,
)
