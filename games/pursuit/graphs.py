"""The board of a graph chase: graphs, starting nodes and rules, checked and parsed.

Edges are written "0-1 0-2 1-3", starting nodes "5:0 10" (evader, then stones), because OpenSpiel's
parameters may not hold commas and turn a lone number into an integer.
"""

import functools
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .. import base

FROM_PRESET = ("preset", -1)  # texts, and numbers
MAX_NODES = 1000
MAX_ACTIONS = 1_000_000  # positions of all stones, one action each

PRESETS: dict[str, base.Parameters] = {
  # two hexagons that share a node, the nose
  "glasses": {
    "edges": "0-1 0-2 1-3 2-4 3-5 4-5 5-6 5-7 6-8 7-9 8-10 9-10",
    "start": "5:0 10",
    "turns": 3,
    "moving": "all",
    "stay": "yes",
    "first": "chaser",
  },
  # two hexagons, each with a chord, that share a node
  "lens": {
    "edges": "0-1 1-2 0-3 3-4 1-4 2-5 4-5 10-9 9-8 10-7 7-6 9-6 8-5 6-5",
    "start": "5:1 9",
    "turns": 4,
    "moving": "all",
    "stay": "no",
    "first": "evader",
  },
}


def board_of(nodes: int, place: base.Map, sought: int | None, others: Sequence[int]) -> base.Board:
  """The pieces in sight on a map, by their initials."""
  first, second = place.sought[0].upper(), place.others[0].upper()
  return base.Board(tuple(first * (k == sought) + second * others.count(k) for k in range(nodes)))


def legend(place: base.Map) -> str:
  """The initials of `board_of` in words."""
  return f"{place.sought[0].upper()}: {place.sought}, {place.others[0].upper()}: {place.others}"


_CHOICES = {"moving": ("all", "one"), "stay": ("yes", "no"), "first": ("chaser", "evader")}


class Chase(NamedTuple):
  """A graph chase."""

  neighbours: tuple[tuple[int, ...], ...]  #: for each node, the nodes next to it, ascending
  evader: int  #: the evader's first node
  stones: tuple[int, ...]  #: the first node of each of the chaser's stones
  turns: int  #: number of the chaser's moves
  all_move: bool  #: true if a chaser's turn moves all stones, False if it moves one
  stay: bool  #: true if a stone may stay; with one stone a turn, True if the chaser may pass
  evader_first: bool  #: true if the evader moves first


def parse_chase(params: base.Parameters) -> Chase:
  """Read "preset" and values that override it; ValueError names a value that is not allowed, and the rule."""
  chosen = with_preset(params, PRESETS)
  for name, allowed in _CHOICES.items():
    if chosen[name] not in allowed:
      raise ValueError(f"{name}={chosen[name]!r}: must be one of {', '.join(map(repr, allowed))}")
  if chosen["turns"] < 1:
    raise ValueError(f"turns={chosen['turns']}: must be at least 1, or -1 for those of the preset")
  neighbours = parse_edges(chosen["edges"])
  evader, stones = parse_start(chosen["start"], len(neighbours), "evader", "stone")
  evader_first = chosen["first"] == "evader"
  if evader_first and set(neighbours[evader]) <= set(stones):
    raise ValueError(f"start={chosen['start']!r}: the evader moves first and stones are on every way out")
  return Chase(
    neighbours=neighbours,
    evader=evader,
    stones=stones,
    turns=chosen["turns"],
    all_move=chosen["moving"] == "all",
    stay=chosen["stay"] == "yes",
    evader_first=evader_first,
  )


def with_preset(params: base.Parameters, presets: Mapping[str, base.Parameters]) -> base.Parameters:
  """The values of the preset, with those that override it; ValueError for an unknown preset."""
  preset = params["preset"]
  if preset not in presets:
    raise ValueError(f"preset={preset!r}: must be one of {', '.join(map(repr, presets))}")
  return {
    name: value if params[name] in FROM_PRESET else params[name] for name, value in presets[preset].items()
  }


def parse_edges(text: str) -> tuple[tuple[int, ...], ...]:
  """Each node's neighbours in the graph with edges "0-1 1-2"; nodes are 0 to the largest named.

  ValueError if an edge is not two different nodes or stands twice, or the graph is not connected.
  """
  near = neighbours(text, re.compile("-"), "stands twice")
  reached, frontier = {0}, [0]
  while frontier:
    new = set(near[frontier.pop()]) - reached
    reached |= new
    frontier += new
  if cut_off := sorted(set(range(len(near))) - reached):
    raise ValueError(f"edges={text!r}: not connected, there is no way from node 0 to node {cut_off[0]}")
  return near


def neighbours(text: str, signs: re.Pattern, twice: str) -> tuple[tuple[int, ...], ...]:
  """The nodes that edges "0-1 1>2" lead to from each node, ascending; nodes are 0 to the largest named.

  `signs` stand between the nodes of an edge; one other than "-" makes it lead one way only. ValueError if
  there is no edge, or one is not two different nodes or leads where another does (`twice` is the message).
  """
  edges: list[tuple[int, int]] = []
  for token in text.split():
    if not re.fullmatch(rf"\d{{1,6}}({signs.pattern})\d{{1,6}}", token):
      ways = " or ".join(repr(f"0{sign}1") for sign in signs.pattern.split("|"))
      raise ValueError(f"edges={text!r}: {token!r} is not an edge; write two nodes as {ways}")
    first, second = map(int, signs.split(token))
    if first == second:
      raise ValueError(f"edges={text!r}: {token!r} joins a node to itself")
    new = [(first, second), (second, first)] if "-" in token else [(first, second)]
    if set(new) & set(edges):
      raise ValueError(f"edges={text!r}: {token!r} {twice}")
    if max(first, second) >= MAX_NODES:
      raise ValueError(f"edges={text!r}: {token!r} has a node above {MAX_NODES - 1}, the largest allowed")
    edges += new
  if not edges:
    raise ValueError(f"edges={text!r}: at least one edge is needed, such as '0-1'")
  return tuple(
    tuple(sorted(b for a, b in edges if a == node)) for node in range(1 + max(max(edge) for edge in edges))
  )


def parse_start(text: str, nodes: int, runner: str, piece: str) -> tuple[int, tuple[int, ...]]:
  """The nodes in "5:0 10": the runner's, then those of the pieces that hunt it; both are named in errors.

  ValueError if they are not written so, not of the graph, or the runner's is also a piece's.
  """
  if not re.fullmatch(r"\s*\d{1,6}\s*:(\s*\d{1,6}\s*)(\s\d{1,6}\s*)*", text):
    raise ValueError(f"start={text!r}: must be the {runner}'s node, ':', the {piece}s' nodes, as '5:0 10'")
  first, *pieces = map(int, text.replace(":", " ").split())
  for node in (first, *pieces):
    if node >= nodes:
      raise ValueError(f"start={text!r}: node {node} is not in the graph, which has nodes 0 to {nodes - 1}")
  if first in pieces:
    raise ValueError(f"start={text!r}: the {runner} may not start on a {piece}")
  if nodes ** len(pieces) > MAX_ACTIONS:
    raise ValueError(
      f"start={text!r}: {len(pieces)} {piece}s on {nodes} nodes have {nodes ** len(pieces):,} positions; at "
      f"most {MAX_ACTIONS:,} are allowed"
    )
  return first, tuple(pieces)


def digits(number: int, nodes: int, pieces: int) -> tuple[int, ...]:
  """The nodes of all pieces from the number of their position: its digits in base `nodes`."""
  places = []
  for _ in range(pieces):
    number, node = divmod(number, nodes)
    places.append(node)
  return tuple(reversed(places))


def text_of(position: tuple[int, ...]) -> str:
  """The nodes of a position, "1/9"."""
  return "/".join(map(str, position))


def number_of(position: tuple[int, ...], nodes: int) -> int:
  """The number of a position, whose digits in base `nodes` are the nodes; the inverse of `digits`."""
  return functools.reduce(lambda a, node: a * nodes + node, position, 0)
