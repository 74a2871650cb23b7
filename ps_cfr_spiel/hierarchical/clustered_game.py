"""A game of dealt cards with an abstraction, as a keyed game; values and rounding of policies by its keys."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TypeGuard

import numpy as np
import pyspiel

from ps_cfr_spiel.arguments import JSON
from ps_cfr_spiel.cards.poker import CardDeal, CardGame, Place, cards, set_numbers
from ps_cfr_spiel.hierarchical.evaluation import Strategy, StrategyTables, evaluate_strategies
from ps_cfr_spiel.hierarchical.hierarchy import ByCluster, Hierarchy
from ps_cfr_spiel.hierarchical.lines import LineCells, trunk_and_subtree
from ps_cfr_spiel.keyed_game import KeyedGame, fitting
from ps_cfr_spiel.policy import PostProcessing, parse_post_processing
from ps_cfr_spiel.sampling.keyed import KeyedPolicy, normalised
from ps_cfr_spiel.tree import Evaluation

BOARDS = 64  # whose buckets are kept


class ClusteredGame(KeyedGame):
  """A key is a line of betting, a public cluster, and a bucket of the hand.

  Cells are numbered through the tables [A, S] of the trunk and then of each cluster, row by row; a
  `StrategyTables` is indexed by them.
  """

  key = "bucket"

  def __init__(self, dealt: CardGame[CardDeal], abstraction: Hierarchy):
    """The game `dealt` with an abstraction of it."""
    self.game = dealt.game
    #: dealt, abstraction: as given.
    self.dealt, self.abstraction = dealt, abstraction
    numbering = dealt.betting, abstraction.clustered_round, abstraction.sizes
    trunk, subtree = trunk_and_subtree(*numbering)
    self.line_cells = LineCells.of(*numbering)  #: the cells of its lines
    #: [A, S] of the tables of the trunk, and of each cluster.
    self.trunk, self.cluster = (trunk.actions, trunk.cells), (subtree.actions, subtree.cells)
    self.cells = trunk.actions * trunk.cells + abstraction.count * subtree.actions * subtree.cells

  def locate(self, state: pyspiel.State) -> tuple[np.ndarray, list[int]]:
    (line, seen), actions = self._place(state), state.legal_actions()
    cluster, bucket = self.abstraction.find(seen)
    return self._numbers(line, cluster, np.array(bucket), len(actions)), actions

  def bucket(self, state: pyspiel.State) -> tuple[int, int]:
    """The public cluster, -1 before the clustered round, and the bucket of a state's player to move."""
    return self.abstraction.find(self._place(state)[1])

  def locate_hands(self, line: int, board: Sequence[int]) -> np.ndarray:
    """int64[A, H]: the cells of all hands; undefined for those that hold a card of the board.

    `line` is one of `poker.Betting` at which a player acts; `board` has the public cards in the order of
    their rounds, numbered as there.
    """
    cluster, buckets = self._on_boards(tuple(board))
    return self._numbers(line, cluster, buckets, int(self.dealt.betting.moves[line]))

  @functools.cached_property
  def _on_boards(self) -> Callable[[tuple[int, ...]], tuple[int, np.ndarray]]:
    """The cluster of a board, and the buckets of all hands on it: searches ask at many lines."""

    def buckets_on(board: tuple[int, ...]) -> tuple[int, np.ndarray]:
      renamed = self.dealt.deal.renamed(board)
      cluster, bucket = self.abstraction.of_hands([place for place, _ in renamed])
      _, swap = renamed[-1]
      return cluster, np.maximum(bucket, 0).astype(int)[set_numbers(swap[self.dealt.deal.hands])]

    return functools.lru_cache(maxsize=BOARDS)(buckets_on)

  def hands_at(self, state: pyspiel.State) -> tuple[np.ndarray, np.ndarray] | None:
    deal = self.dealt.deal
    if deal.hole != cards.HAND_SIZE:
      return None
    return self.locate_hands(self.dealt.betting.line_of(state), self._board(state)), deal.whole

  def hands_on_boards(
    self, state: pyspiel.State, last: Sequence[int]
  ) -> tuple[np.ndarray, np.ndarray] | None:
    deal = self.dealt.deal
    if deal.hole != cards.HAND_SIZE:
      return None
    line, board = self.dealt.betting.line_of(state), self._board(state)[:-1]
    return np.stack([self.locate_hands(line, [*board, card]) for card in last], 1), deal.whole

  def _board(self, state: pyspiel.State) -> list[int]:
    deal = self.dealt.deal
    return deal.dealt(state)[2 * deal.hole :]

  def arrays(self) -> dict[str, np.ndarray]:
    return self.abstraction.to_arrays()

  def fields(self) -> dict[str, JSON]:
    return {**super().fields(), "clustered_round": self.abstraction.clustered_round}

  def relative(self, table: StrategyTables) -> dict[str, np.ndarray]:
    def of_largest(part: np.ndarray) -> np.ndarray:
      sums = np.maximum(part, 0)
      most = sums.max(0)
      return sums / np.where(most > 0, most, 1)

    parts = [of_largest(table.clusters[cluster]) for cluster in range(self.abstraction.count)]
    return {"trunk": of_largest(table.trunk), "parts": np.array(parts)}

  def table_of(self, arrays: Mapping[str, np.ndarray]) -> StrategyTables:
    parts = fitting(arrays["parts"], (self.abstraction.count, *self.cluster))
    return StrategyTables(fitting(arrays["trunk"], self.trunk), parts)

  def _place(self, state: pyspiel.State) -> tuple[int, list[tuple[Place, int]]]:
    """The line of a state's player to move, and the cards as in `CardDeal.seen`."""
    deal, player = self.dealt.deal, state.current_player()
    came = deal.dealt(state)
    hand = came[player * deal.hole : (player + 1) * deal.hole]
    return self.dealt.betting.line_of(state), deal.seen(hand, came[2 * deal.hole :])

  def _numbers(self, line: int, cluster: int, buckets: np.ndarray, count: int) -> np.ndarray:
    """int64[A, ...]: the cells of A = `count` actions in buckets int[...]."""
    first, stride = int(self.line_cells.cell[line]), int(self.line_cells.stride[line])
    (_, columns), begin = self.trunk, 0
    if cluster >= 0:
      begin, columns = (
        self.trunk[0] * self.trunk[1] + cluster * self.cluster[0] * self.cluster[1],
        self.cluster[1],
      )
    row = begin + columns * np.arange(count).reshape(-1, *(1,) * buckets.ndim)
    return row + first + stride * buckets


def has_clusters(policy: object) -> TypeGuard[KeyedPolicy]:
  """Whether a policy is one of a `ClusteredGame`, which the functions below take."""
  return isinstance(policy, KeyedPolicy) and isinstance(policy.form, ClusteredGame)


def by_lines(policy: KeyedPolicy) -> Callable[[int, Sequence[int]], np.ndarray]:
  """The policy of all hands, float64[A, H], as a function of a line and a board; see `locate_hands`.

  ValueError for a policy without clusters.
  """
  form, _ = _of_clusters(policy)
  return lambda line, board: policy.shares(form.locate_hands(line, board))


def exact_values(policy: KeyedPolicy, progress: bool | None = None) -> Evaluation:
  """The exact evaluation of a policy in the whole game; see `evaluate_strategies`.

  ValueError for a policy without clusters.
  """
  return _evaluated((policy, policy), progress)


def value_against(policy: KeyedPolicy, other: KeyedPolicy, progress: bool | None = None) -> float:
  """The exact mean win against another policy, in both seats; ValueError for a policy of another game."""
  if str(other.game) != str(policy.game):
    raise ValueError(f"This policy is for {policy.game}; the other one is for {other.game}.")
  first, second = (_evaluated(seats, progress) for seats in ((policy, other), (other, policy)))
  (won,) = second.others or (-second.value,)
  return float(first.value + won) / 2


def rounded(policy: KeyedPolicy, how: PostProcessing | str) -> KeyedPolicy:
  """The same policy, rounded before it is played; see `policy.post_process`."""
  how = parse_post_processing(how) if isinstance(how, str) else how
  form, tables = _of_clusters(policy)
  dealt, states, clusters = form.dealt, _states(form), tables.clusters

  def of(trunk: bool, table: np.ndarray) -> np.ndarray:
    """The tables of one part, rounded."""
    betting, sizes, table = dealt.betting, form.abstraction.sizes, np.array(table)
    for line, state in enumerate(states):
      player, number = int(betting.player[line]), int(betting.street[line])
      first, stride = int(form.line_cells.cell[line]), int(form.line_cells.stride[line])
      if player < 0 or (number < form.abstraction.clustered_round) != trunk:
        continue
      place = slice(len(state.legal_actions())), slice(first, first + stride * sizes[number], stride)
      table[place] = how.at(state, player, normalised(table[place]))
    return table

  @functools.lru_cache(maxsize=1)
  def read(cluster: int) -> np.ndarray:
    return of(False, clusters[cluster])

  info = {**policy.info, "policy": f"rounded {policy.info.get('policy', 'average')}"}
  return KeyedPolicy(form, StrategyTables(of(True, tables.trunk), ByCluster(clusters.shape, read)), info)


def _evaluated(seats: tuple[KeyedPolicy, KeyedPolicy], progress: bool | None) -> Evaluation:
  parts = [_of_clusters(policy) for policy in seats]
  first, second = (Strategy(form.abstraction, tables) for form, tables in parts)
  second = first if seats[0] is seats[1] else second
  (form, tables), _ = parts
  return evaluate_strategies(form.dealt, (first, second), str(tables.trunk.dtype), progress)


def _of_clusters(policy: KeyedPolicy) -> tuple[ClusteredGame, StrategyTables]:
  """The game and the tables of a policy; ValueError if it has no clusters."""
  form, tables = policy.form, policy.table
  if not isinstance(form, ClusteredGame) or not isinstance(tables, StrategyTables):
    raise ValueError(
      f"Expected a policy of HierarchicalMCCFRSolver, got one of {policy.game} by {form.key}s."
    )
  return form, tables


def _states(form: ClusteredGame) -> list[pyspiel.State]:
  """A state at each line, with the first cards that can be dealt."""
  betting, states = form.dealt.betting, []
  for parent, action in zip(betting.parent.tolist(), betting.action.tolist(), strict=True):
    state = form.game.new_initial_state() if parent < 0 else states[parent].clone()
    if action >= 0:
      state.apply_action(action)
    while state.is_chance_node():
      state.apply_action(state.legal_actions()[0])
    states.append(state)
  return states
