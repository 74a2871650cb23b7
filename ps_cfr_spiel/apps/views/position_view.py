"""Positions on a game's map: where the pieces are, by strategies and all that is public; places of nodes.

For games with a `map()`, see `games.ForPeople`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyspiel
from open_spiel.python import observation
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel import TreePolicy
from ps_cfr_spiel.arguments import JSON
from ps_cfr_spiel.games import ForPeople, Map, Position
from ps_cfr_spiel.reports import waiting

if TYPE_CHECKING:
  from ps_cfr_spiel import ContinualResolving


class Belief(NamedTuple):
  """The belief of an observer who sees public information and knows the strategies of all players."""

  sought: np.ndarray  #: float64[n], probability of the sought piece on each node
  others: np.ndarray  #: float64[n], probability of at least one other piece


def map_of(game: pyspiel.Game) -> Map | None:
  """The map of a game, None in one without."""
  return game.map() if isinstance(game, ForPeople) else None


def mapped(game: pyspiel.Game) -> tuple[ForPeople, Map]:
  """A game with its map; ValueError in one without."""
  if isinstance(game, ForPeople) and (place := game.map()) is not None:
    return game, place
  raise ValueError(f"Expected a game with a map(), see games.ForPeople; {game} has none.")


def belief_at(state: pyspiel.State, policy: openspiel_policy.Policy | None = None) -> Belief:
  """The belief about the pieces at the public state of a history, by Bayes' rule.

  Without a policy every move is equally likely; so are those of a player who never comes there by theirs.
  ValueError in a game without a map.
  """
  line = _line(state.get_game(), state.history())
  return _beliefs(state.get_game(), policy, {*line})[line[-1]]


def beliefs(policy: TreePolicy, numbers: Iterable[int] | None = None) -> dict[int, Belief]:
  """The same by the number of a public state, for some or all; histories that lead there are enumerated."""
  shown = range(len(policy.labels.public_states)) if numbers is None else numbers
  lines = {number: _line(policy.game, policy.labels.source.history(number)) for number in shown}
  with waiting("Beliefs"):
    by_text = _beliefs(policy.game, policy, {text for line in lines.values() for text in line})
  return {number: by_text[line[-1]] for number, line in lines.items()}


def belief_text(state: pyspiel.State, policy: openspiel_policy.Policy) -> str:
  """The belief at the public state of a history, and the moves of its player by the policy, in lines."""
  game, place = mapped(state.get_game())
  belief = belief_at(state, policy)
  lines = [game.position(state).heading]
  for name, shares in ((place.sought, belief.sought), (place.others, belief.others)):
    lines += ["", f"Where the {name} may be, by the strategies and public information:"]
    lines += [f"  node {node:<3} {100 * share:6.2f}%" for node, share in enumerate(shares) if share]
  if not state.is_terminal():
    lines += ["", f"What player {state.current_player()} does:"]
    probabilities = sorted(policy.action_probabilities(state).items(), key=lambda item: -item[1])
    lines += [f"  {state.action_to_string(a):16} {100 * p:6.2f}%" for a, p in probabilities]
  return "\n".join(lines)


def _public_observer(game: pyspiel.Game) -> Callable[[pyspiel.State], str]:
  """A function from states to the public observations so far; ValueError if the game has none."""
  kind = pyspiel.IIGObservationType(
    perfect_recall=True, public_info=True, private_info=pyspiel.PrivateInfoType.NONE
  )
  observer = observation.make_observation(game, kind)
  if observer is None or observer.string_from(game.new_initial_state(), 0) is None:
    raise ValueError(f"{game} has no public observer, which beliefs need.")
  return lambda state: str(observer.string_from(state, 0))


def _line(game: pyspiel.Game, history: Sequence[int]) -> list[str]:
  """The public observations from the start on."""
  public, state = _public_observer(game), game.new_initial_state()
  line = [public(state)]
  for action in history:
    state.apply_action(action)
    line.append(public(state))
  return line


def _beliefs(
  game: pyspiel.Game, policy: openspiel_policy.Policy | None, wanted: Container[str]
) -> dict[str, Belief]:
  """Beliefs by public observation, of those that are `wanted`, which has all observations before them too."""
  mapped_game, place = mapped(game)
  players, public, nodes = game.num_players(), _public_observer(game), len(place.ways)
  # For each history in a public state: its position, and the probabilities of each player's moves on the way,
  # and of chance's last: by the policy, and uniformly.
  reached: dict[str, list[tuple[Position, np.ndarray]]] = defaultdict(list)

  def visit(state: pyspiel.State, reach: np.ndarray) -> None:
    text = public(state)
    if text not in wanted:
      return
    reached[text].append((mapped_game.position(state), reach))
    if state.is_terminal():
      return
    player = state.current_player()
    if player < 0:
      moves = dict(state.chance_outcomes())
    elif policy is None:
      moves = dict.fromkeys(state.legal_actions(), 1 / len(state.legal_actions()))
    else:
      moves = policy.action_probabilities(state, player)
    for action, probability in moves.items():
      after = reach.copy()
      after[:, player] *= probability if player < 0 else (probability, 1 / len(moves))
      visit(state.child(action), after)

  visit(game.new_initial_state(), np.ones((2, players + 1)))
  result = {}
  for text, histories in reached.items():
    reach = np.array([chances for _, chances in histories])  # [history, policy or uniform, player]
    by_policy = np.where(reach[:, 0].any(0), reach[:, 0], reach[:, 1]).prod(1)
    weights = by_policy if by_policy.any() else reach[:, 1].prod(1)
    sought, others = np.zeros(nodes), np.zeros(nodes)
    for (position, _), weight in zip(histories, weights / weights.sum(), strict=True):
      sought[position.sought] += weight
      others[list({*position.others})] += weight
    result[text] = Belief(sought, others)
  return result


class RecordedPlay(NamedTuple):
  """A play on a map of a search against a bot."""

  state: pyspiel.State  #: the end
  beliefs: list[Belief]  #: for every position from the start, the belief by the search's strategies
  seconds: list[float]  #: duration of every decision of the search, the first with compilation


def watch(resolving: ContinualResolving, opponent: pyspiel.Bot, seed: int = 0) -> RecordedPlay:
  """Let a search play as player 0 against a bot in a game of two without chance, and record its beliefs.

  The search's prediction of the opponent comes from the first search that looked that far ahead. An opponent
  that plays otherwise cannot make it lose more, but the pieces may be elsewhere. `seed` is for its choices.
  ValueError in a game without a map.
  """
  game = resolving.game
  mapped(game)
  searcher = resolving.bot(0, seed)
  places = {(d.player, name): d.public_state for d, _, name in resolving.labels.infostates()}
  state, expected = game.new_initial_state(), None
  recorded = [belief_at(state)]
  while not state.is_terminal():
    if state.current_player() == 0:
      action = searcher.step(state)
      public_state = places[0, state.information_state_string(0)]
      expected = TreePolicy(game, resolving.labels, resolving.search(public_state).tables)
    else:
      action = opponent.step(state)
    state.apply_action(action)
    recorded.append(belief_at(state, expected))
  return RecordedPlay(state, recorded, searcher.seconds)


# --- The map -------------------------------------------------------------------------------------

LEAST_APART = 1.0  # distance of two nodes, in the unit of an edge; circles around them do not touch


def map_data(place: Map) -> dict[str, JSON]:
  """A map for a page: places of the nodes, edges as of `edges`, and the goal if there is one."""
  placed = [[round(x, 3) if math.isfinite(x) else 0 for x in at] for at in layout(place.ways).tolist()]
  goal = {} if place.goal is None else {"goal": place.goal}
  return {"places": placed, "edges": edges(place.ways), **goal}


def edges(ways: tuple[tuple[int, ...], ...]) -> list[tuple[int, int, bool]]:
  """Each edge once: from, to, and whether it is one-way."""
  pairs = ((a, b, a not in ways[b]) for a, near in enumerate(ways) for b in near)
  return [(a, b, one_way) for a, b, one_way in pairs if a < b or one_way]


def layout(ways: tuple[tuple[int, ...], ...], iterations: int = 300) -> np.ndarray:
  """Place the nodes of a graph, float64[n, 2], with distances in the plane close to those along edges.

  Stress majorisation (Gansner, Koren and North 2005) from classical scaling, the longest side level; `ways`
  has for each node those that an edge leads to, and the nodes of a one-way edge are close as well. All is
  drawn larger where two nodes would be closer than `LEAST_APART`.
  """
  distance = _distances(ways)
  count = len(distance)
  weight = np.divide(1.0, distance**2, out=np.zeros_like(distance), where=distance > 0)
  laplacian = np.diag(weight.sum(1)) - weight
  inverse = np.linalg.pinv(laplacian)
  centre = np.eye(count) - 1 / count
  values, vectors = np.linalg.eigh(-centre @ distance**2 @ centre / 2)
  place = vectors[:, -1:-3:-1] * np.sqrt(np.maximum(values[-1:-3:-1], 0.01))
  for _ in range(iterations):
    apart = np.linalg.norm(place[:, None] - place[None], axis=-1)
    pull = np.divide(-weight * distance, apart, out=np.zeros_like(apart), where=apart > 1e-9)
    pull -= np.diag(pull.sum(1))
    place = inverse @ (pull @ place)
  _, axes = np.linalg.eigh(place.T @ place)
  place = place @ axes[:, ::-1]
  # Node 0 to the left; on top the node farthest aside, the first of several.
  aside = np.abs(place[:, 1])
  first = place[[0, np.flatnonzero(aside > aside.max() - 1e-6)[0]], [0, 1]]
  apart = np.linalg.norm(place[:, None] - place[None], axis=-1)
  closest = max(apart.min(initial=LEAST_APART, where=apart > 1e-9), LEAST_APART / 2)
  return place * np.where(first * (-1, 1) < -1e-9, -1.0, 1.0) * (LEAST_APART / closest)


def _distances(ways: tuple[tuple[int, ...], ...]) -> np.ndarray:
  """Number of edges between every two nodes, whichever way they lead, float64[n, n]."""
  from scipy.sparse import coo_array, csgraph  # imported here: large, and only for pictures

  rows = np.repeat(np.arange(len(ways)), [len(near) for near in ways])
  shape = (len(ways), len(ways))
  edges = coo_array((np.ones(len(rows)), (rows, np.concatenate(ways))), shape)
  return csgraph.shortest_path(edges.tocsr(), directed=False, unweighted=True)
