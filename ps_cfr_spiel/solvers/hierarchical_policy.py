"""A strategy in an abstraction of a game of dealt cards, as an OpenSpiel policy of the whole game."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel.hierarchical import (
  SPECIAL,
  DealtAbstraction,
  DealtGame,
  Strategy,
  StrategyTables,
  evaluate_strategies,
  line_cells,
)
from ps_cfr_spiel.policy import PostProcessing, parse_post_processing, probabilities_at
from ps_cfr_spiel.tree import Evaluation


class HierarchicalPolicy(openspiel_policy.Policy):
  """A strategy over the cells of an abstraction as an OpenSpiel policy of the whole game.

  Attributes:
    tables: the strategies, [A, cells], as sums; the actions of a cell without any are equally likely.
    abstraction: by whose cells they are.
    info: what is known of its making.
  """

  def __init__(
    self,
    game: pyspiel.Game,
    dealt: DealtGame,
    abstraction: DealtAbstraction,
    tables: StrategyTables,
    info: Mapping[str, Any],
  ):
    """`dealt` is the form of `game`; negative weights count as 0."""
    super().__init__(game, [0, 1])
    self.abstraction, self.info = abstraction, dict(info)
    self.tables = StrategyTables(*(np.maximum(table, 0) for table in tables))
    self._dealt = dealt
    self._cells = line_cells(dealt, abstraction.sizes)

  def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
    """Probability of every legal action at a state; see `policy.probabilities_at`."""
    return probabilities_at(state, player_id, self.game, lambda *_: self._at(state))

  def bucket(self, state: pyspiel.State) -> tuple[int, int]:
    """The public cluster, -1 before the special round, and the bucket of a state's player to move."""
    return self.abstraction.find(self._dealt.place(state)[1])

  def evaluation(self, progress: bool | None = None) -> Evaluation:
    """What the policy is worth in the whole game, exactly; see `hierarchical.evaluate_strategies`."""
    return self._evaluated((self, self), progress)

  def value_against(self, other: "HierarchicalPolicy", progress: bool | None = None) -> float:
    """What the policy wins against another on average, in both seats, exactly and in the whole game.

    Raises:
      ValueError: the other one is a policy for another game.
    """
    if str(other.game) != str(self.game):
      raise ValueError(f"This policy is for {self.game}; the other one is for {other.game}.")
    first, second = (self._evaluated(seats, progress).value for seats in ((self, other), (other, self)))
    return (first - second) / 2

  def rounded(self, how: PostProcessing | str) -> "HierarchicalPolicy":
    """The same policy, rounded before it is played; see `policy.post_process`."""
    how = parse_post_processing(how) if isinstance(how, str) else how
    tables = StrategyTables(*(np.array(table) for table in self.tables))
    form, sizes = self._dealt.form, self.abstraction.sizes
    for line, state in enumerate(self._states()):
      if (player := int(form.player[line])) < 0:
        continue
      number, first, count = form.round[line], self._cells[line], len(state.legal_actions())
      table = tables.head if number < SPECIAL else tables.child
      cells = slice(first, first + sizes[number])
      probabilities = np.moveaxis(_normalised(table[..., :count, cells]), -2, 0)  # [A, ..., buckets]
      table[..., :count, cells] = np.moveaxis(how.at(state, player, probabilities), 0, -2)
    info = {**self.info, "policy": f"rounded {self.info.get('policy', 'average')}"}
    return HierarchicalPolicy(self.game, self._dealt, self.abstraction, tables, info)

  def _evaluated(
    self, seats: "tuple[HierarchicalPolicy, HierarchicalPolicy]", progress: bool | None
  ) -> Evaluation:
    first, second = (Strategy(own.abstraction, own.tables) for own in seats)
    return evaluate_strategies(self._dealt, (first, second), str(self.tables.head.dtype), progress)

  def _states(self) -> list[pyspiel.State]:
    """A state at each line, with the first cards that can be dealt."""
    form, states = self._dealt.form, []
    for parent, action in zip(form.parent.tolist(), form.action.tolist(), strict=True):
      state = self.game.new_initial_state() if parent < 0 else states[parent].clone()
      if action >= 0:
        state.apply_action(action)
      while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
      states.append(state)
    return states

  def _at(self, state: Any) -> dict[int, float]:
    if str(state.get_game()) != str(self.game):
      raise ValueError(f"This policy is for {self.game}; the state is of another game, {state.get_game()}.")
    (line, seen), actions = self._dealt.place(state), state.legal_actions()
    cluster, bucket = self.abstraction.find(seen)
    table = self.tables.head if cluster < 0 else self.tables.child[cluster]
    shares = _normalised(table[: len(actions), self._cells[line] + bucket, None])[:, 0]
    return dict(zip(actions, shares.tolist(), strict=True))


def _normalised(sums: np.ndarray) -> np.ndarray:
  """float64[..., A, n]: probabilities, from sums that need not be normalised."""
  total = sums.sum(-2, dtype=np.float64, keepdims=True)
  return np.where(total > 0, sums / np.where(total > 0, total, 1), 1 / sums.shape[-2])
