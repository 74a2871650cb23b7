"""A strategy in an abstraction of a game of dealt cards, as an OpenSpiel policy of the whole game."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyspiel

from ps_cfr_spiel import hierarchical
from ps_cfr_spiel.poker import cards, set_numbers
from ps_cfr_spiel.policy import PostProcessing, parse_post_processing
from ps_cfr_spiel.solvers.keyed_policy import KeyedPolicy, normalised
from ps_cfr_spiel.tree import Evaluation


class HierarchicalPolicy(KeyedPolicy):
  """A strategy over the cells of an abstraction as an OpenSpiel policy of the whole game."""

  def __init__(
    self,
    game: pyspiel.Game,
    dealt: hierarchical.DealtGame,
    abstraction: hierarchical.Hierarchy,
    tables: hierarchical.StrategyTables,
    info: Mapping[str, Any],
  ):
    """`dealt` is the form of `game`; negative weights count as 0."""
    super().__init__(game, info)
    self.abstraction = abstraction  #: of the tables' cells
    self.tables = tables  #: the strategies as sums; actions of a cell without weights are equally likely
    self._dealt = dealt
    self._cells = hierarchical.line_cells(dealt, abstraction.sizes)

  def sums_at(self, state: pyspiel.State) -> tuple[Sequence[int], np.ndarray]:
    (line, seen), actions = self._dealt.place(state), state.legal_actions()
    cluster, bucket = self.abstraction.find(seen)
    table = self.tables.trunk if cluster < 0 else self.tables.clusters[cluster]
    first, stride = self._cells[line]
    return actions, table[: len(actions), first + stride * bucket]

  def bucket(self, state: pyspiel.State) -> tuple[int, int]:
    """The public cluster, -1 before the special round, and the bucket of a state's player to move."""
    return self.abstraction.find(self._dealt.place(state)[1])

  def for_hands(self, line: int, board: Sequence[int]) -> np.ndarray:
    """float64[A, H]: the policy of all hands at once; of those that hold a card of the board anything.

    `line` is one of `poker.Betting` at which a player acts; `board` has the public cards in the order of
    their rounds, numbered as there.
    """
    dealt, abstraction = self._dealt, self.abstraction
    ways, (first, stride) = dealt.renamed(board), self._cells[line].tolist()
    place, swap = ways[-1]
    hands = set_numbers(swap[dealt.deal.hands])
    special = ways[dealt.special][0] if len(ways) > dealt.special else None
    cluster, bucket = abstraction.of_hands(special, place, len(ways) - 1)
    table = self.tables.trunk if cluster < 0 else self.tables.clusters[cluster]
    count = int(dealt.betting.moves[line])
    return normalised(table[:count, first + stride * np.maximum(bucket, 0).astype(int)[hands]])

  def for_hands_at(self, state: pyspiel.State) -> dict[int, np.ndarray]:
    """See `policy.for_hands`."""
    line, board = self._dealt.public_place(state)
    held = cards.hand_numbers(self._dealt.deal.deck.whole(self._dealt.deal.hands)[:, ::-1])
    chances = np.zeros((len(state.legal_actions()), len(cards.ALL_HANDS)))
    chances[:, held] = self.for_hands(line, board)
    return dict(zip(state.legal_actions(), chances, strict=True))

  def evaluation(self, progress: bool | None = None) -> Evaluation:
    """The exact evaluation of the policy in the whole game; see `hierarchical.evaluate_strategies`."""
    return self._evaluated((self, self), progress)

  def value_against(self, other: "HierarchicalPolicy", progress: bool | None = None) -> float:
    """The exact mean win against another policy, in both seats; ValueError for a policy of another game."""
    if str(other.game) != str(self.game):
      raise ValueError(f"This policy is for {self.game}; the other one is for {other.game}.")
    first, second = (self._evaluated(seats, progress).value for seats in ((self, other), (other, self)))
    return (first - second) / 2

  def rounded(self, how: PostProcessing | str) -> "HierarchicalPolicy":
    """The same policy, rounded before it is played; see `policy.post_process`."""
    how = parse_post_processing(how) if isinstance(how, str) else how
    states, clusters = self._states(), self.tables.clusters

    def of(trunk: bool, table: np.ndarray) -> np.ndarray:
      """The tables of one part, rounded."""
      betting, sizes, table = self._dealt.betting, self.abstraction.sizes, np.array(table)
      for line, state in enumerate(states):
        player, number = int(betting.player[line]), int(betting.street[line])
        first, stride = self._cells[line].tolist()
        if player < 0 or (number < self._dealt.special) != trunk:
          continue
        place = slice(len(state.legal_actions())), slice(first, first + stride * sizes[number], stride)
        table[place] = how.at(state, player, normalised(table[place]))
      return table

    @functools.lru_cache(maxsize=1)
    def read(cluster: int) -> np.ndarray:
      return of(False, clusters[cluster])

    info = {**self.info, "policy": f"rounded {self.info.get('policy', 'average')}"}
    tables = hierarchical.StrategyTables(
      of(True, self.tables.trunk), hierarchical.ByCluster(clusters.shape, read)
    )  # pyright: ignore
    return HierarchicalPolicy(self.game, self._dealt, self.abstraction, tables, info)

  def _evaluated(
    self, seats: "tuple[HierarchicalPolicy, HierarchicalPolicy]", progress: bool | None
  ) -> Evaluation:
    first, second = (hierarchical.Strategy(own.abstraction, own.tables) for own in seats)
    second = first if seats[0] is seats[1] else second
    return hierarchical.evaluate_strategies(
      self._dealt, (first, second), str(self.tables.trunk.dtype), progress
    )

  def _states(self) -> list[pyspiel.State]:
    """A state at each line, with the first cards that can be dealt."""
    betting, states = self._dealt.betting, []
    for parent, action in zip(betting.parent.tolist(), betting.action.tolist(), strict=True):
      state = self.game.new_initial_state() if parent < 0 else states[parent].clone()
      if action >= 0:
        state.apply_action(action)
      while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
      states.append(state)
    return states
