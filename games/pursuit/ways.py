"""The board of a graph pursuit: directed graphs, starting nodes and rules, checked and parsed.

Edges are written "0-1" for both directions and "0>1" for one; the rest as in `graphs`.
"""

import re
from typing import NamedTuple

from .. import base
from . import graphs

FAR = 10**6  # the distance between nodes that no way joins

PRESETS: dict[str, base.Parameters] = {
  "grid": {  # 0 1 2 3 / 4 5 6 7 / 8 9 10 11
    "edges": "0-1 1-2 2-3 4-5 5-6 6-7 8-9 9-10 10-11 0-4 4-8 1-5 5-9 2-6 6-10 3-7 7-11",
    "start": "0:3 11",
    "goal": 6,
  },
  "alleys": {
    "edges": "0>1 0>2 1-2 1>3 2>4 3-4 3>5 4>5 5>6 6>3 6-7 7>4 7-8 8>3",
    "start": "0:6 8",
    "goal": 5,
  },
}


class Pursuit(NamedTuple):
  """A graph pursuit."""

  #: for each node, the nodes that a unit can go to, ascending; the node itself without another.
  ways: tuple[tuple[int, ...], ...]
  #: edges on the shortest way between every two nodes; `FAR` without a way.
  distance: tuple[tuple[int, ...], ...]
  attacker: int  #: the attacker's first node
  units: tuple[int, ...]  #: the first nodes of the defender's units
  goal: int  #: the node that the attacker wants to reach
  turns: int  #: number of moves of all units
  sight: int  #: the distance up to which units are seen
  timeout: float  #: the attacker's utility if time runs out
  goal_ends: bool  #: true if the game ends on the goal at once


def parse_pursuit(params: base.Parameters) -> Pursuit:
  """Read a game's parameters; ValueError names a value that is not allowed, and the rule."""
  chosen = graphs.with_preset(params, PRESETS)
  for name, least in (("turns", 1), ("sight", 0)):
    if params[name] < least:
      raise ValueError(f"{name}={params[name]}: must be at least {least}")
  if not -1 <= params["timeout"] <= 2:
    raise ValueError(f"timeout={params['timeout']}: must be from -1 to 2")
  if params["goal_ends"] not in ("yes", "no"):
    raise ValueError(f"goal_ends={params['goal_ends']!r}: must be 'yes' or 'no'")
  ways = parse_ways(chosen["edges"])
  attacker, units = graphs.parse_start(chosen["start"], len(ways), "attacker", "unit")
  if not 0 <= chosen["goal"] < len(ways):
    raise ValueError(f"goal={chosen['goal']}: must be a node, 0 to {len(ways) - 1}, or -1 for the preset's")
  distance = tuple(_distances(ways, node) for node in range(len(ways)))
  rules = params["turns"], params["sight"], float(params["timeout"]), params["goal_ends"] == "yes"
  return Pursuit(ways, distance, attacker, units, chosen["goal"], *rules)


def parse_ways(text: str) -> tuple[tuple[int, ...], ...]:
  """The same as `graphs.neighbours` for edges "0-1 1>2"; a node without a way out leads to itself."""
  ways = graphs.neighbours(text, re.compile("-|>"), "leads where another edge does")
  return tuple(nodes or (node,) for node, nodes in enumerate(ways))


def _distances(ways: tuple[tuple[int, ...], ...], start: int) -> tuple[int, ...]:
  """Edges on the shortest ways from a node to all."""
  distances, frontier = {start: 0}, [start]
  for node in frontier:
    new = [after for after in ways[node] if after not in distances]
    distances.update(dict.fromkeys(new, distances[node] + 1))
    frontier += new
  return tuple(distances.get(node, FAR) for node in range(len(ways)))
