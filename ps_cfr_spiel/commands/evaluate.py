"""The command `ps-cfr-spiel evaluate`: how good saved strategies are."""

from collections.abc import Sequence

from absl import flags

from ps_cfr_spiel.commands.command import Command
from ps_cfr_spiel.commands.flags import define_json, define_limit, exploitability_facts, say
from ps_cfr_spiel.commands.show import origin
from ps_cfr_spiel.commands.user_input import UserError, load_opponent, user_errors, walked
from ps_cfr_spiel.evaluation import evaluate_policy, local_best_response
from ps_cfr_spiel.policy import TreePolicy, post_process
from ps_cfr_spiel.solvers import HierarchicalPolicy
from ps_cfr_spiel.views import in_unit, with_unit


def define(values: flags.FlagValues) -> None:
  """Defines the command's flags."""
  flags.DEFINE_bool("lbr", False, _HELP["lbr"], flag_values=values)
  flags.DEFINE_string("lbr_actions", None, _HELP["lbr_actions"], flag_values=values)
  define_json(values)
  define_limit(values)
  flags.DEFINE_string(
    "post_processing",
    "",
    "Round each strategy first: purify, threshold=0.15 (actions below it are not played) or, in poker, "
    "cautious=0.2 (fold above it, else purify the kind of move, then the bet).",
    flag_values=values,
  )


_HELP = {
  "lbr": "Measure a local best response too: what a search of one decision wins, whose value beyond is that "
  "of checking and calling in poker, and of random play in other games.",
  "lbr_actions": "With --lbr: OpenSpiel's numbers of the actions that it may take, such as 0,1; ';' "
  "separates rounds, of which the last counts for all later ones (default: all).",
}


def evaluate(values: flags.FlagValues, words: Sequence[str]) -> int:
  """Runs the command from its parsed flags and the words besides them; returns the exit code."""
  if not words:
    raise UserError("evaluate needs a file, such as runs/river_subgame/run.npz.")
  if values.lbr_actions is not None and not values.lbr:
    raise UserError("--lbr_actions is for --lbr.")
  actions = _actions_by_round(values.lbr_actions)
  for number, path in enumerate(words):
    policy = load_opponent(path, values.limit)
    local = None
    with user_errors():
      if isinstance(policy, HierarchicalPolicy) and not values.lbr:
        policy = policy.rounded(values.post_processing) if values.post_processing else policy
        value, best, exploitability = policy.evaluation()
      else:
        policy = walked(policy, path)
        if values.post_processing:
          policy = post_process(policy.game, policy, values.post_processing)
        value, best, exploitability = evaluate_policy(policy.game, policy)
      if values.lbr and isinstance(policy, TreePolicy):
        local = local_best_response(policy.game, policy, actions, **policy.tree_options)
    lines = {
      "file": path,
      "game": str(policy.game),
      "strategy": origin(policy),
      "value to player 0": in_unit(f"{value:.6g}", policy.game),
      "best responses": f"{best[0]:.6g} for player 0, {best[1]:.6g} for player 1",
      "exploitability": f"{with_unit(float(exploitability), policy.game)} (the best responses' mean)",
    }
    facts = {
      "file": path,
      "game": str(policy.game),
      "strategy": origin(policy),
      "value": float(value),
      "best_responses": [float(best[0]), float(best[1])],
      **exploitability_facts(float(exploitability), policy.game),
    }
    if local is not None:
      lines["local responses"] = f"{local.values[0]:.6g} for player 0, {local.values[1]:.6g} for player 1"
      facts["local_best_responses"] = list(local.values)
    if number and not values.json:
      print()
    say(values, facts, lines)
  return 0


def _actions_by_round(text: str | None) -> list[list[int]] | None:
  """The actions of --lbr_actions for each round."""
  if text is None:
    return None
  try:
    return [[int(word) for word in words.split(",")] for words in text.split(";")]
  except ValueError:
    raise UserError(f"--lbr_actions must be numbers of actions, such as '0,1;0,1,2'; got {text}.") from None


COMMAND = Command(
  name="evaluate",
  arguments="FILE...",
  summary="Measure how good saved strategies are",
  text="Prints the value of the game under each, what a best response of either player would win, and the "
  "exploitability, computed exactly, in float64. --lbr adds what a local best response wins. With --json, a "
  "line for each file.",
  examples=(
    "evaluate runs/river_subgame/run.npz",
    "evaluate runs/river_subgame/run.npz --post_processing=purify",
    "evaluate runs/leduc_poker/run.npz --lbr --lbr_actions='0,1'",
  ),
  define=define,
  run=evaluate,
)
