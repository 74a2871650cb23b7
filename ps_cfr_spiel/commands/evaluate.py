"""The command `ps-cfr-spiel evaluate`: how good saved strategies are."""

from collections.abc import Sequence

from absl import flags

from ps_cfr_spiel.commands.command import Command
from ps_cfr_spiel.commands.flags import define_json, define_limit, exploitability_facts, say
from ps_cfr_spiel.commands.show import origin
from ps_cfr_spiel.commands.user_input import UserError, load_saved_policy, user_errors
from ps_cfr_spiel.evaluation import evaluate_policy
from ps_cfr_spiel.policy import post_process
from ps_cfr_spiel.views import unit_of, with_unit


def define(values: flags.FlagValues) -> None:
  """Defines the command's flags."""
  define_json(values)
  define_limit(values)
  flags.DEFINE_string(
    "post_processing",
    "",
    "Round each strategy first: purify, threshold=0.15 (actions below it are not played) or, in poker, "
    "cautious=0.2 (fold above it, else purify the kind of move, then the bet).",
    flag_values=values,
  )


def evaluate(values: flags.FlagValues, words: Sequence[str]) -> int:
  """Runs the command from its parsed flags and the words besides them; returns the exit code."""
  if not words:
    raise UserError("evaluate needs a file, such as runs/river_subgame/run.npz.")
  for number, path in enumerate(words):
    policy = load_saved_policy(path, values.limit)
    with user_errors():
      if values.post_processing:
        policy = post_process(policy.game, policy, values.post_processing)
      value, best, exploitability = evaluate_policy(policy.game, policy)
    lines = {
      "file": path,
      "game": policy.labels.game,
      "strategy": origin(policy),
      "value to player 0": f"{value:.6g} {unit_of(policy.game)}",
      "best responses": f"{best[0]:.6g} for player 0, {best[1]:.6g} for player 1",
      "exploitability": f"{with_unit(float(exploitability), policy.game)} (the best responses' mean)",
    }
    facts = {
      "file": path,
      "game": policy.labels.game,
      "strategy": origin(policy),
      "value": float(value),
      "best_responses": [float(best[0]), float(best[1])],
      **exploitability_facts(float(exploitability), policy.game),
    }
    if number and not values.json:
      print()
    say(values, facts, lines)
  return 0


COMMAND = Command(
  name="evaluate",
  arguments="FILE...",
  summary="Measure how good saved strategies are",
  text="Prints the value of the game under each, what a best response of either player would win, and the "
  "exploitability, computed exactly, in float64. With --json, a line for each file.",
  examples=(
    "evaluate runs/river_subgame/run.npz",
    "evaluate runs/river_subgame/run.npz --post_processing=purify",
  ),
  define=define,
  run=evaluate,
)
