"""The command `ps-cfr-spiel evaluate`: the exploitability of saved strategies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from absl import flags

import ps_cfr_spiel as ps
from ps_cfr_spiel.apps.commands.framework.command import Command, Flag, flag_of
from ps_cfr_spiel.apps.commands.framework.flags import (
  JSON,
  LOCAL_REGRETS,
  MOST_HISTORIES,
  action_numbers,
  exploitability_facts,
  general_sum_facts,
  general_sum_lines,
  local_regret_facts,
  local_regrets_of,
  say,
)
from ps_cfr_spiel.apps.commands.framework.user_input import load_opponent, with_tree
from ps_cfr_spiel.apps.commands.show import made_by
from ps_cfr_spiel.cards.poker import describe
from ps_cfr_spiel.options import LocalResponseOptions

# fmt: off
FLAGS = (
  Flag("lbr", False,
    "Measure a local best response too: the gain of a search of one decision that values all later ones by "
    "checking and calling in poker, and by random play in other games."),
  flag_of(LocalResponseOptions, "lbr_actions"),
  LOCAL_REGRETS,
  JSON,
  MOST_HISTORIES,
  Flag("post_processing", "",
    "Rounding of each strategy before: purify, threshold=0.15 (drops actions below it) or, in poker, "
    "cautious=0.2 (folds above it, else purifies the kind of move, then the bet).", value="NAME"),
)
# fmt: on


def _run(values: flags.FlagValues, words: Sequence[str]) -> int | None:
  if not words:
    raise ValueError("evaluate needs a file, such as runs/river_subgame/run.safetensors.")
  if values.lbr_actions is not None and not values.lbr:
    raise ValueError("--lbr_actions is for --lbr.")
  actions = values.lbr_actions
  if actions is not None and not set(actions) <= {*"fc/ "}:
    actions = [
      action_numbers("--lbr_actions", r.split(","), "'0,1;0,1,2', or 'c/fc'") for r in actions.split(";")
    ]
  for number, path in enumerate(words):
    policy = load_opponent(path, values.limit)
    policy, evaluation, within, local, regrets = _measured(policy, path, values, actions)
    value, best, exploitability, other = evaluation
    mean = "the best responses" if other is None else "all players' gains by best responses"
    game, made = policy.game, {"file": path, "game": str(policy.game), **made_by(policy)}
    worths = [ps.views.without_rounding(float(worth), game) for worth in best]
    lines = {
      **made,
      "game": describe(str(game)),
      **ps.views.value_lines(evaluation.values, game),
      "best responses": ", ".join(f"{worth:.6g} for player {i}" for i, worth in enumerate(worths)),
      "exploitability": f"{ps.views.with_unit(float(exploitability), game)} ({mean}' mean)",
      **general_sum_lines(evaluation),
    }
    facts = {
      **made,
      "value": float(value),
      "best_responses": [float(worth) for worth in best],
      **exploitability_facts(float(exploitability), game),
      **general_sum_facts(evaluation),
    }
    if within is not None:
      lines["exploitability"] += ", in the whole game"
      lines["within the locks"] = f"{ps.views.with_unit(within, game)}, with best responses that keep to them"
      facts["exploitability_within_locks"] = within
    if regrets is not None:
      lines |= ps.views.local_regret_lines(regrets, game)
      facts |= local_regret_facts(regrets)
    if local is not None:
      lines["local responses"] = f"{local.values[0]:.6g} for player 0, {local.values[1]:.6g} for player 1"
      facts["local_best_responses"] = list(local.values)
    if number and not values.json:
      print()
    say(values, facts, lines)


def _measured(policy: Any, path: str, values: flags.FlagValues, actions: str | list[list[int]] | None) -> Any:
  """The policy, rounded if asked for; its evaluation; its exploitability within the locks with which it was
  solved, the local best response to it, and its local regrets, or None.
  """
  if ps.abstractions.has_clusters(policy) and not values.lbr:
    how = values.post_processing
    policy = ps.abstractions.rounded(policy, how) if how else policy
    return policy, ps.abstractions.exact_values(policy), None, None, None
  policy = with_tree(policy, path)
  if values.post_processing:
    policy = ps.abstractions.post_process(policy.game, policy, values.post_processing)
  local = None
  if values.lbr:
    local = ps.matches.local_best_response(policy.game, policy, actions, **policy.tree_options)
  within = None
  if policy.locked and not values.post_processing:
    within = ps.evaluate_policy(policy.game, policy, tree=policy.tree, locked=True).exploitability
  regrets = local_regrets_of(policy, values.local_regrets)
  return policy, ps.evaluate_policy(policy.game, policy, tree=policy.tree), within, local, regrets


COMMAND = Command(
  name="evaluate",
  arguments="FILE...",
  summary="Measure saved strategies",
  text="Prints the value of the game under each, the gains of both players' best responses, the "
  "exploitability, exact and in float64, and the losses at single infostates. --lbr adds a "
  "local best response. With --json, a line for each file.",
  examples=(
    "evaluate runs/river_subgame/run.safetensors",
    "evaluate runs/river_subgame/run.safetensors --post_processing=purify",
    "evaluate runs/leduc_poker/run.safetensors --lbr --lbr_actions='0,1'",
  ),
  options=FLAGS,
  run=_run,
)
