"""Public states on demand in card games without public cards: lines of betting, with all hands in a row.

Each is known by the players' actions since the deal. No history is visited: the tree of a search has the size
of its lines, and not of the deals on each (`compilation.compiler.lines_ahead`).
"""

import functools
import math
from collections.abc import Iterator, Sequence

import jax
import numpy as np
import pyspiel

from ps_cfr_spiel.compilation.compiler import (
  FormOrigin,
  LineGame,
  PartOfBetting,
  impossible,
  line_game,
  tree_of_lines,
)
from ps_cfr_spiel.compilation.histories import Horizon, Path
from ps_cfr_spiel.loading import sequential
from ps_cfr_spiel.memory import TooLarge
from ps_cfr_spiel.options import LIMIT
from ps_cfr_spiel.resolving.subgames.cut import Subgames
from ps_cfr_spiel.resolving.subgames.on_demand import Dealt, Members, PublicStates
from ps_cfr_spiel.resolving.subgames.subgame import Subgame
from ps_cfr_spiel.tree import Decision

LINE = 1_500  # bytes of a line of a tree, at most, beside its payoffs
# Bytes of a search that is kept: of any, of each line, and of each number of its strategies, whose tables are
# kept in float64, with promises and rows of the cut beside them.
SEARCH, KEPT_LINE, NUMBER = 16_000, 600, 13


class PublicLines(PublicStates):
  """The public states of a card game; `Members` are the way to a line alone, () until the deal is over."""

  chances = False

  def __init__(self, game: pyspiel.Game, lines: LineGame, limit: int, memory: float | None = None):
    """See `PublicStates`; `lines` are the game's, and `limit` counts them."""
    super().__init__(game, limit=limit, memory=memory)
    self.lines = lines  #: as given

  @property
  def kept_bytes(self) -> int:
    return 0

  def members(self, path: Sequence[int]) -> Members:
    state, way = self.game.new_initial_state(), []
    for number, action in enumerate(path, 1):
      chance = state.is_chance_node()
      if action not in (
        [a for a, p in state.chance_outcomes() if p > 0] if chance else state.legal_actions()
      ):
        raise impossible(self.game, path[:number])
      way += [] if chance else [action]
      state.apply_action(action)
    return (tuple(way),)

  def below(self, members: Members, horizon: Horizon) -> Subgames:
    (way,) = members
    limit, memory = self.limits.histories, self.limits.memory
    each = LINE + 8 * self.lines.pairs  # bytes: a line may end in a matrix of payoffs
    most = int(min(limit, max(memory / each, 1)))
    try:
      return Subgames(tree_of_lines(self.game, self.lines, way, horizon, most), self.game)
    except TooLarge as error:
      raise TooLarge(
        f"{error} With limit={limit:,} and memory={memory:,.0f} bytes, {each:,} a line, no more are made: "
        "look less far ahead (lookahead), or raise the limit that is too low."
      ) from error

  def place(self, subgames: Subgames, members: Members) -> int:
    (way,) = members
    return functools.reduce(_betting(subgames).child, way, 0)

  def decision(self, subgames: Subgames, path: Sequence[int]) -> tuple[Decision, int]:
    state = self.game.new_initial_state()
    for action in path:
      state.apply_action(action)
    player = state.current_player()
    return subgames.labels.find(player, subgames.labels.infostate(state, player))

  def dealt(self, subgames: Subgames, subgame: Subgame, public_states: Sequence[int]) -> list[Dealt]:
    labels, source = subgames.labels, subgames.labels.source
    assert isinstance(source, FormOrigin)
    types, made = np.nonzero(source.prior), []
    for s in public_states:
      rows = [int(np.flatnonzero(infostates.public == s)[0]) for infostates in subgame.roots]
      first, second = (row * n + held for row, n, held in zip(rows, source.prior.shape, types, strict=True))
      actions = len(labels.decisions[labels.public_states[s].decisions[0]].legal_actions)
      chance = source.prior[types]
      made.append(Dealt((self._way(subgames, s),), (first, second), chance, np.full(len(chance), s), actions))
    return made

  def _way(self, subgames: Subgames, line: int) -> Path:
    source = subgames.labels.source
    assert isinstance(source, FormOrigin)
    return tuple(source.moves(line, 0))

  def above(self, members: Members, length: int) -> Members:
    return (members[0][:length],)

  def members_in(self, subgames: Subgames, public_states: Sequence[int]) -> Iterator[Path]:
    return (self._way(subgames, line) for line in public_states)

  def after(self, subgames: Subgames, node: int, action: int) -> int:
    betting = _betting(subgames)
    return next((n for n in betting.children(node) if betting.action[n] == action), -1)

  def chance(self, subgames: Subgames) -> np.ndarray:
    return np.ones(len(subgames.nodes.parent))

  def nodes_in(self, after: Subgames, before: Subgames) -> np.ndarray:
    at, known = np.full(len(after.nodes.parent), -1), _betting(before).line_of_number
    numbers = _betting(after).numbers
    at[: len(numbers)] = [known.get(number, -1) for number in numbers]
    return at

  def tree_bytes(self, subgames: Subgames) -> int:
    leaves = sum(x.nbytes for x in jax.tree.leaves(subgames.tree.leaves))
    numbers = sum(math.prod(shape) for forest in subgames.tree.players for shape in forest.block_shapes)
    return leaves + SEARCH + KEPT_LINE * len(_betting(subgames)) + NUMBER * numbers


def public_states_of(
  game: pyspiel.Game, public_states: str = "closure", limit: int = LIMIT, memory: float | None = None
) -> PublicStates:
  """The public states of a game: by lines if it is a card game that has them; arguments of `PublicStates`."""
  lines = line_game(sequential(game)) if public_states == "closure" else None
  if lines is None:
    return PublicStates(game, public_states, limit, memory)
  return PublicLines(game, lines, limit, memory)


def _betting(subgames: Subgames) -> PartOfBetting:
  source = subgames.labels.source
  assert isinstance(source, FormOrigin) and isinstance(source.lines.betting, PartOfBetting)
  return source.lines.betting
