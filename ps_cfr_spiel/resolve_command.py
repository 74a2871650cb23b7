"""The command `ps-cfr-spiel resolve`: what continual re-solving plays everywhere, and how good that is."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from absl import flags

from ps_cfr_spiel import tree_flags
from ps_cfr_spiel.evaluate import evaluate_policy
from ps_cfr_spiel.gadgets import GADGETS
from ps_cfr_spiel.precision import DTYPES
from ps_cfr_spiel.resolve import ContinualResolving
from ps_cfr_spiel.rules import RULES
from ps_cfr_spiel.spots import unit_of, with_unit
from ps_cfr_spiel.user_input import UserError, load_game, make_folder, user_errors
from ps_cfr_spiel.value_functions import CFRValues


def define(values: flags.FlagValues) -> None:
  """Defines the command's flags, in the order in which `--help` lists them."""
  into: dict[str, Any] = {"flag_values": values}
  count: dict[str, Any] = {"lower_bound": 1, **into}
  flags.DEFINE_integer("iterations", 1000, "Iterations of CFR in each search.", **count)
  flags.DEFINE_enum("gadget", "cfr-d", list(GADGETS), _HELP["gadget"], **into)
  flags.DEFINE_integer("lookahead", None, _HELP["lookahead"], **count)
  flags.DEFINE_integer("value_iterations", None, _HELP["value_iterations"], **count)
  flags.DEFINE_list("actions", None, _HELP["actions"], **into)
  flags.DEFINE_enum("rule", "nrm+", list(RULES), "How regrets turn into the next strategy.", **into)
  flags.DEFINE_enum("dtype", "float32", list(DTYPES), "Precision of the arithmetic.", **into)
  flags.DEFINE_string("output", None, _HELP["output"], **into)
  flags.DEFINE_bool("quiet", False, "Print the result only.", **into)
  tree_flags.define_walk(values)


_HELP = {
  "gadget": "What binds a search to the one before: with cfr-d the opponent cannot gain by it, with "
  "max-margin they lose as much as can be; unsafe binds nothing, for comparison.",
  "lookahead": "How many own decisions a search looks ahead, 1 for the present one only; beyond it the value "
  "function takes over (default: to the end of the game).",
  "value_iterations": "With --lookahead: the value function solves what lies beyond by this many iterations "
  "(default: 20).",
  "actions": "OpenSpiel's numbers of the actions that searches consider, as 0,1,3 (default: all).",
  "output": "Folder for policy.npz, which show, evaluate and play take (default: runs/, the game's name and "
  "-resolving).",
}


def resolve(values: flags.FlagValues, words: Sequence[str]) -> int:
  """Runs the command; returns its exit code."""
  if values.value_iterations is not None and values.lookahead is None:
    raise UserError("--value_iterations is for --lookahead=1 or more; without it searches go to the end.")
  if values.public_states == "none":
    raise UserError("--public_states=none: re-solving needs public states; choose closure or observer.")
  game = load_game(words)
  name = game.get_type().short_name
  folder = make_folder(Path(values.output or f"runs/{name}-resolving"))
  started = time.perf_counter()
  with user_errors():
    resolving = ContinualResolving(
      game,
      values.iterations,
      values.rule,
      values.gadget,
      values.lookahead,
      None if values.lookahead is None else CFRValues(values.value_iterations or 20),
      _actions(values.actions),
      dtype=values.dtype,
      public_states=values.public_states,
      limit=values.limit,
    )
    if not values.quiet:
      print(resolving.tree.summary(), f"{'method:':21}{resolving.description}", "", sep="\n", flush=True)
    policy = resolving.tabularise(progress=not values.quiet)
    seconds = time.perf_counter() - started
    result = evaluate_policy(game, policy)
  file = folder / "policy.npz"
  policy.save(file)
  lines = {
    "value to player 0": f"{result.value:.4g} {unit_of(game)}",
    "exploitability": with_unit(result.exploitability, game),
    "time": f"{seconds:.1f} s for all public states, with compilation",
    "saved": str(file),
    "look at it": f"ps-cfr-spiel show {file}",
  }
  print("\n".join(f"{name + ':':21}{text}" for name, text in lines.items()))
  return 0


def _actions(words: Sequence[str] | None) -> list[int] | None:
  """The numbers of --actions."""
  if words is None:
    return None
  try:
    return [int(word) for word in words]
  except ValueError:
    wrong = ",".join(words)
    raise UserError(f"--actions must be OpenSpiel's numbers of actions, as 0,1,3; got {wrong}.") from None
