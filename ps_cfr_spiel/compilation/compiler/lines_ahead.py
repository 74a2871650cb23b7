"""Trees of some lines of a card game: the way to one line, and those below it as far as a horizon.

The lines are made by the game's own moves after any one deal, for they do not depend on it; their payoffs
come from the form. So neither the game nor all of its lines are listed.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence

import numpy as np
import pyspiel

from ps_cfr_spiel.cards.poker import Betting, CardGame, Names
from ps_cfr_spiel.compilation.compiler.form_labels import FormLabels
from ps_cfr_spiel.compilation.compiler.forms import PublicStateIndex
from ps_cfr_spiel.compilation.compiler.from_form import StreetEnds, make_decisions, make_leaves, street_ends
from ps_cfr_spiel.compilation.compiler.line_games import End, LineGame
from ps_cfr_spiel.compilation.histories import Horizon
from ps_cfr_spiel.memory import TooLarge
from ps_cfr_spiel.tree import TERMINAL, BlockLeaves, PublicTree

Way = tuple[int, ...]  # the players' actions since the deal


@dataclasses.dataclass(frozen=True, eq=False)
class PartOfBetting(Betting):
  """Some lines of a betting, with the way to each; lines may follow that are left out."""

  legal: Sequence[tuple[int, ...]] = ()  #: the actions at each line, those that lead out of the part too
  numbers: Sequence[int] = ()  #: the numbers of the lines in the whole betting
  largest: float = 0.0  #: the largest payoff of the whole, in absolute terms

  def __post_init__(self):
    super().__post_init__()
    vars(self).update(largest_payoff=self.largest)

  @functools.cached_property
  def num_actions(self) -> np.ndarray:
    return np.array([len(actions) for actions in self.legal], int)

  @functools.cached_property
  def rank(self) -> np.ndarray:
    ways = zip(self.parent.tolist(), self.action.tolist(), strict=True)
    return np.array([self.legal[above].index(action) if above >= 0 else 0 for above, action in ways], int)

  def legal_actions(self, line: int) -> list[int]:
    return list(self.legal[line])

  def child(self, line: int, action: int) -> int:
    for after in self.children(line):
      if self.action[after] == action:
        return after
    raise ValueError(f"The part has no line after action {action} at line {line}.")

  @functools.cached_property
  def line_of_number(self) -> Mapping[int, int]:
    """The lines of the part, by their numbers in the whole betting."""
    return {number: line for line, number in enumerate(self.numbers)}


class PartNames(Names):
  """The names of a game by the lines of a part."""

  def __init__(self, whole: Names, part: PartOfBetting):
    """Take the names by the lines of the whole betting."""
    self._whole, self._part = whole, part
    self.named, self.remarks, self.advice = whole.named, whole.remarks, whole.advice

  def hand(self, hand: int) -> str:
    return self._whole.hand(hand)

  def infostate(self, player: int, line: int, runout: Sequence[int], hand: int) -> str:
    return self._whole.infostate(player, self._part.numbers[line], runout, hand)

  def find(self, player: int, infostate: str) -> tuple[int, tuple[int, ...], int] | None:
    known = self._whole.find(player, infostate)
    return None if known is None else (self._part.line_of_number[known[0]], *known[1:])


def tree_of_lines(game: pyspiel.Game, whole: LineGame, way: Way, horizon: Horizon, most: int) -> PublicTree:
  """The tree around a line: the way there, and the lines below it as far as a horizon.

  Args:
    game: sequential.
    whole: the same game by its lines.
    way: to the line.
    horizon: where lines end before the game does, as of `histories.grow`.
    most: lines.

  TooLarge for more; ValueError for an impossible way.
  """
  betting = _part(game, whole, way, horizon, most)
  lines = PublicStateIndex.of(CardGame(betting, whole.deal, PartNames(whole.names, betting)))
  types = len(lines.form.weights[0]), len(lines.form.weights[1])
  chance, wins = whole.worth
  if len(wins) == 1:
    streets = street_ends(betting)
    forests, places = make_decisions(lines, streets, types)
    leaves = make_leaves(lines, "auto", streets)
  else:  # one small matrix for each end, in place of leaves of their own for each kind of showdown
    ends = betting.ends
    forests, places = make_decisions(lines, [(StreetEnds(ends, betting.showdown_payoff[ends]),)], types)
    folds, showdowns = betting.fold_payoff[ends, :1, None], betting.showdown_payoff[ends, None, None]
    leaves = BlockLeaves(folds * chance + showdowns * wins[betting.showdown_index[ends]])
  return PublicTree(forests, leaves, FormLabels.create(game, lines, places))


def _part(game: pyspiel.Game, whole: LineGame, way: Way, horizon: Horizon, most: int) -> PartOfBetting:
  rules = whole.rules
  state, mark = game.new_initial_state(), horizon.start
  while state.is_chance_node():
    outcomes = [action for action, chance in state.chance_outcomes() if chance > 0]
    mark = horizon.step(state, outcomes, mark, not way)[1][0]
    state.apply_action(outcomes[0])
  parent, actions, players, legal, numbers, ends = [], [], [], [], [], []
  waiting = [(state, -1, -1, 0, 0, mark)]
  while waiting:
    state, above, action, number, depth, mark = waiting.pop()
    line, player = len(parent), state.current_player()
    if line >= most:
      raise TooLarge(f"A search of {game} has more than {most:,} lines of moves.")
    moves = () if player == TERMINAL else tuple(state.legal_actions())
    for column, entry in (
      (parent, above), (actions, action), (players, player), (legal, moves), (numbers, number),
      (ends, rules.end(number) if player == TERMINAL else End(0.0, 0.0, 0)),
    ):  # fmt: skip
      column.append(entry)
    over, marks = horizon.step(state, moves, mark, depth >= len(way))
    if depth < len(way):
      if way[depth] not in moves:
        raise impossible(game, way[: depth + 1])
      onward = [moves.index(way[depth])]
    else:
      onward = [] if over else reversed(range(len(moves)))
    for k in onward:
      after = rules.after(number, moves[k])
      waiting.append((state.child(moves[k]), line, moves[k], after, depth + 1, marks[k]))
  folds, showdowns, kinds = zip(*ends, strict=True)
  return PartOfBetting(
    parent=np.array(parent, np.int32),
    action=np.array(actions, np.int32),
    player=np.array(players, np.int32),
    street=np.zeros(len(parent), np.int32),
    fold_payoff=np.stack([folds, np.negative(folds)], 1),
    showdown_payoff=np.array(showdowns, float),
    showdown_index=np.array(kinds, np.int32),
    legal=legal,
    numbers=numbers,
    largest=rules.largest,
  )


def impossible(game: pyspiel.Game, path: Sequence[int]) -> ValueError:
  """The error of a history that the game does not have."""
  return ValueError(
    f"{game}: the history {list(path)} is impossible; give legal moves, and outcomes of chance with a "
    "positive probability."
  )
