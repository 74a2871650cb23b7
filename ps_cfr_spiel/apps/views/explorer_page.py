"""A solved game as one HTML page: click through its public tree, with strategies, values and ranges.

The page is `explore.html` with the game's data put in; it needs no network and no server. Numbers are float32
in base64: for each public state in which a player acts, one array whose rows are the probabilities of its A
actions, their values, and the player's own reach, the probability of each type's deal, its value, the gain of
a best response, its equity, the probability that chance and the opponent come here, and its weight in the
range. Hands of hold'em have the numbers of their classes. A page may show some lines of a game, or a part of
a policy; further public states have their moves alone. Of a game too large for a page it shows the first
street; a server of `explore_script` gives it the others when they are clicked.
"""

import base64
import math
from collections.abc import Sequence

import numpy as np
import pyspiel

from ps_cfr_spiel import TreePolicy
from ps_cfr_spiel.apps.views.game_tables import public_table
from ps_cfr_spiel.apps.views.pages import as_json, page_of
from ps_cfr_spiel.apps.views.position_view import beliefs, map_data, map_of
from ps_cfr_spiel.apps.views.public_state_view import has_spots, is_trembled, spot_of, worth_at
from ps_cfr_spiel.apps.views.units import decimals_of, pot_of, seat_of, unit_of
from ps_cfr_spiel.arguments import JSON
from ps_cfr_spiel.cards.notation import is_hand
from ps_cfr_spiel.cards.poker import CLASSES, board_of, describe
from ps_cfr_spiel.options import RARE
from ps_cfr_spiel.reports import progress_bar
from ps_cfr_spiel.version import __version__

MOST_NUMBERS = 6_000_000  # of float32: a page of some 32 MB, more than most browsers open with ease
MOST_STATES = 50_000
STREET_STATES = 2_000  # that a click loads at most
APART = 75  # pixels between neighbours on a map


def explore_page(
  policy: TreePolicy,
  origin: str = "",
  lines: Sequence[str] | None = None,
  served: bool = False,
  lockable: bool = False,
) -> str:
  """The page, as text to write to a file.

  Its head has the `origin`, the method of the solution. It shows some `lines`, as for `TreePolicy.save`, and
  the states on the way to them; by default all public states, or the part of a partial policy; if they are
  too many, or a click can load them, the first street. A `served` page loads others from `explore_script`,
  under the address streets/NUMBER.js; a `lockable` one sends locks to lock. ValueError if the policy has no
  public states, or the lines too many for a page; or a line does not exist.
  """
  served = served and "part" not in policy.info
  many = served and lines is None and len(policy.labels.public_states) > STREET_STATES
  data = page_data(policy, origin, lines, street(policy, 0) if many else None)
  data |= {"served": served, "lockable": lockable}
  return page_of("explore.html", data)


def explore_script(policy: TreePolicy, number: int) -> str:
  """The script that adds the street from a public state on to a served page, and the states on the way."""
  shown, states = {*street(policy, number)}, policy.labels.public_states
  while (number := states[number].parent) >= 0:
    shown.add(number)
  return f"add({as_json(_part(policy, sorted(shown)))});"


def street(policy: TreePolicy, number: int) -> list[int]:
  """Public states from one on to the next public chance, ascending, as far as a click loads them.

  From a public chance on these are the public states after each of its cards.
  """
  states, children, numbers, last = policy.labels.public_states, policy.labels.children, [number], 0
  if states[number].player == pyspiel.PlayerId.CHANCE and len(children[number]) > 1:
    return sorted([number, *children[number]])
  while last < len(numbers) < STREET_STATES:
    current = numbers[last]
    if states[current].player != pyspiel.PlayerId.CHANCE or len(children[current]) == 1:
      numbers += children[current]
    last += 1
  return sorted(numbers)


def _part(policy: TreePolicy, shown: Sequence[int]) -> dict[str, JSON]:
  """Some public states, and without their numbers those just below them; their types; the map."""
  beside = {child for n in shown for child in policy.labels.children[n]}.difference(shown)
  shared: dict[tuple[str, ...], int] = {}
  made: dict[tuple[tuple[str, ...], ...], int] = {}
  states = progress_bar(None, iterable=shown, desc="Page", unit=" public states")
  nodes = [_node(policy, number) | _spot(policy, number, shared, made) for number in states]
  below = (_node(policy, number) for number in sorted(beside))
  nodes += (
    node | ({} if node["player"] == pyspiel.PlayerId.TERMINAL else {"missing": True}) for node in below
  )
  classes = [[[CLASSES.index(name) for name in names] for names in hands] for hands in made]
  return {"types": list(shared), "made": classes, "nodes": nodes, "map": _map(policy, nodes)}


def page_data(
  policy: TreePolicy,
  origin: str = "",
  lines: Sequence[str] | None = None,
  shown: Sequence[int] | None = None,
) -> dict[str, JSON]:
  """The data of the page, as JSON values; see `explore_page`.

  `shown` are its public states; by default those of the lines.
  """
  game, labels = policy.game, policy.labels
  if not has_spots(policy):
    raise ValueError(f"{labels.game} was solved without public states; a page needs them.")
  part = _part(policy, _shown(policy, lines) if shown is None else shown)
  return part | {
    "version": __version__,
    "game": describe(labels.game),
    "name": game.get_type().long_name,
    "origin": origin,
    "unit": unit_of(game),
    "seats": [seat_of(game, player) for player in range(game.num_players())],
    "pot": pot_of(game),
    "decimals": decimals_of(game),
    "board": board_of(game),
    "trembled": is_trembled(policy),
    "rare": list(RARE.values()),
    "classes": CLASSES,
    "hands": any(is_hand(name) for names in part["types"] for name in names[:1]),
  }


def _shown(policy: TreePolicy, lines: Sequence[str] | None) -> Sequence[int]:
  """The public states of the page, ascending; ValueError if they are too many."""
  labels, part = policy.labels, policy.info.get("part")
  if lines is None and part is None:
    shown: Sequence[int] = range(len(labels.public_states))
    numbers = 2 * sum(block.size for blocks in policy.strategies for block in blocks)
  else:
    wanted = [f"#{number}" for number in part or ()] if lines is None else lines
    shown = labels.states_on(wanted)
    few = shown[: MOST_STATES + 1]
    decisions = [labels.decisions[n] for number in few for n in labels.public_states[number].decisions]
    numbers = sum(2 * policy.table(decision).size for decision in decisions)
  if numbers > MOST_NUMBERS or len(shown) > MOST_STATES:
    if lines is None and part is None:
      return street(policy, 0)
    raise ValueError(
      f"{len(shown):,} public states of {labels.game} with {numbers:,} numbers are too many for a page "
      f"({MOST_STATES:,} and {MOST_NUMBERS:,}); choose lines, as in --part='check, check ...', or "
      "write rows instead: show --csv."
    )
  return shown


def _node(policy: TreePolicy, number: int) -> dict[str, JSON]:
  """A public state: its number, its parent, the move that leads to it, and the acting player."""
  state = policy.labels.public_states[number]
  return {
    "number": number,
    "up": state.parent,
    "move": policy.labels.move_to(number),
    "action": state.action,
    "player": state.player,
  }


def _spot(
  policy: TreePolicy,
  number: int,
  shared: dict[tuple[str, ...], int],
  made: dict[tuple[tuple[str, ...], ...], int],
) -> dict[str, JSON]:
  """The acting player's strategy at a public state, and its table; no strategy if no player acts."""
  player = policy.labels.public_states[number].player
  if player < 0:
    return {} if player == pyspiel.PlayerId.CHANCE else public_table(policy, number, None)
  view = spot_of(policy, number)
  worth = worth_at(policy, view)
  probability = np.where(view.legal, view.probability, np.nan)
  mean = np.where(view.legal & (view.probability > 0), view.probability * worth.value, 0).sum(0)
  best = np.where(view.legal, worth.best, -np.inf).max(0)
  equity = np.full(len(view.types), np.nan) if worth.equity is None else worth.equity
  rest = worth.others + view.spent[1 - view.player]
  more = view.reach, view.dealt, mean, best - mean, equity, view.others, view.held
  return public_table(policy, number, view) | {
    "actions": list(view.actions),
    "ids": list(view.ids),
    "types": shared.setdefault(view.types, len(shared)),
    "made": made.setdefault(view.classes, len(made)) if view.board else None,
    "spent": view.spent[view.player],
    "pot": sum(view.spent),
    "rest": float(np.float32(rest)) if math.isfinite(rest) else None,
    "data": base64.b64encode(np.asarray([*probability, *worth.value, *more], "<f4").tobytes()).decode(),
  }


# --- The map ------------------------------------------------------------------------------------


def _map(policy: TreePolicy, nodes: list[dict[str, JSON]]) -> dict[str, JSON] | None:
  """The map of a game that has one; adds `belief` and `pieces` to the public states.

  `belief` has the probability of the sought piece on each node, `pieces` that of the others: [[node,
  probability], ...].
  """
  place = map_of(policy.game)
  if place is None:
    return None
  believed = beliefs(policy, [node["number"] for node in nodes])
  for node in nodes:
    belief = believed[node["number"]]
    node["belief"] = belief.sought.round(6).tolist()
    node["pieces"] = [[k, round(p, 6)] for k, p in enumerate(belief.others.tolist()) if p]
  said = f"Orange: the {place.sought}; blue: {place.others}; by all strategies and public information."
  said = said if place.goal is None else f"{said} Green: the goal."
  return {**map_data(place), "apart": APART, "said": said}
