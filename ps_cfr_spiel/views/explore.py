"""A solved game as one HTML page: click through its public tree, with strategies, values and ranges.

The page is `explore.html` with the game's data put in; it needs no network and no server. Numbers travel as
float32 in base64: for each public state in which a player acts, one array whose rows are the
probabilities of its A actions, their values, and the player's own reach, how likely the type is dealt, its
value, what a best response would add to it, and its equity.
"""

import base64
import json
import math
from importlib import resources
from typing import Any

import numpy as np

from ps_cfr_spiel.policy import TreePolicy, action_name
from ps_cfr_spiel.reports import progress_bar
from ps_cfr_spiel.version import __version__
from ps_cfr_spiel.views import charts, glasses
from ps_cfr_spiel.views.spots import has_spots, spot_of, worth_at
from ps_cfr_spiel.views.units import board_of, pot_of, seat_of, unit_of

MOST_NUMBERS = 6_000_000  # of float32: a page of some 32 MB, more than most browsers open with ease
MOST_STATES = 50_000
TEMPLATE, PLACE = "explore.html", "/*DATA*/"


def explore_page(policy: TreePolicy, origin: str = "") -> str:
  """The page, as text to write to a file.

  Args:
    policy: of a game with public states.
    origin: how the policy was made, for the page's head.

  Raises:
    ValueError: the policy has no public states, or too many for a page.
  """
  text = json.dumps(page_data(policy, origin), ensure_ascii=False, separators=(",", ":"))
  template = resources.files("ps_cfr_spiel.views").joinpath(TEMPLATE).read_text(encoding="utf-8")
  return template.replace(PLACE, text.replace("</", "<\\/"))


def page_data(policy: TreePolicy, origin: str = "") -> dict[str, Any]:
  """What the page shows, as JSON values; see `explore_page`."""
  game, labels = policy.game, policy.labels
  if not has_spots(policy):
    raise ValueError(f"{labels.game} was solved without public states, so there is no tree to explore.")
  numbers = sum(2 * block.size for blocks in policy.strategies for block in blocks)
  if numbers > MOST_NUMBERS or len(labels.public_states) > MOST_STATES:
    raise ValueError(
      f"{labels.game} has {len(labels.public_states):,} public states and {numbers:,} numbers to show, more "
      f"than a page can hold ({MOST_STATES:,} and {MOST_NUMBERS:,}); write rows instead: show --csv."
    )
  shared: dict[tuple[str, ...], int] = {}
  states = progress_bar(None, iterable=range(len(labels.public_states)), desc="Page", unit=" public states")
  nodes = [_node(policy, number, shared) for number in states]
  is_chase = game.get_type().short_name == "glasses"
  return {
    "version": __version__,
    "game": labels.game,
    "name": game.get_type().long_name,
    "origin": origin,
    "unit": unit_of(game),
    "seats": [seat_of(game, player) for player in (0, 1)],
    "pot": pot_of(game),
    "board": board_of(game),
    "hands": any(charts.is_hand(name) for names in shared for name in names[:1]),
    "map": _map(policy, nodes) if is_chase else None,
    "types": list(shared),
    "nodes": nodes,
  }


def _node(policy: TreePolicy, number: int, shared: dict[tuple[str, ...], int]) -> dict[str, Any]:
  """A public state: its parent, the move that leads to it, who acts; and if a player does, its spot."""
  labels = policy.labels
  state = labels.public_states[number]
  node: dict[str, Any] = {
    "up": state.parent,
    "move": action_name(policy.game, labels, number),
    "action": state.action,
    "player": state.player,
  }
  if state.player < 0:
    return node
  here = spot_of(policy, number)
  worth = worth_at(policy, here)
  probability = np.where(here.legal, here.probability, np.nan)
  mean = np.nansum(np.where(here.legal & (here.probability > 0), here.probability * worth.value, 0), 0)
  mean[np.isnan(worth.value).all(0)] = np.nan
  best = np.full(len(here.types), np.nan)
  known = ~np.isnan(worth.best).all(0)
  best[known] = np.nanmax(worth.best[:, known], 0)
  equity = np.full(len(here.types), np.nan) if worth.equity is None else worth.equity
  columns = [*probability, *worth.value, here.reach, here.dealt, mean, best - mean, equity]
  return node | {
    "actions": list(here.actions),
    "ids": list(here.ids),
    "types": shared.setdefault(here.types, len(shared)),
    "data": base64.b64encode(np.asarray(columns, "<f4").tobytes()).decode(),
  }


def _map(policy: TreePolicy, nodes: list[dict[str, Any]]) -> dict[str, Any]:
  """The graph of Glasses with places for its nodes; adds stones and beliefs to the public states."""
  chase = policy.game.chase  # pyright: ignore[reportAttributeAccessIssue]
  for number, node in enumerate(nodes):
    state: Any = policy.game.new_initial_state()
    for action in policy.labels.history(number):
      state.apply_action(action)
    node["stones"] = list(state.stones)
    if node["player"] >= 0:
      belief = glasses.evader_belief(state, policy)
      node["belief"] = [round(belief.get(place, 0.0), 6) for place in range(len(chase.neighbours))]
  places = glasses.layout(chase.neighbours)
  return {
    "places": [[round(x, 3) if math.isfinite(x) else 0 for x in place] for place in places.tolist()],
    "edges": [[a, b] for a, near in enumerate(chase.neighbours) for b in near if a < b],
  }
