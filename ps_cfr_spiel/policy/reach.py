"""The reach of each infostate: by its player's own choices, and by chance and the opponent's; its values."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ps_cfr_spiel.compilation.compiler import FormOrigin
from ps_cfr_spiel.compilation.histories import Histories, HistoryOrigin, layers
from ps_cfr_spiel.tree import CHANCE, Decision, Labels

Strategies = Sequence[Sequence[np.ndarray]]  # for each player [A, rows, H] for each block


@dataclasses.dataclass(frozen=True, eq=False)
class Reach:
  """The reach of a row; H types, 0 for impossible ones."""

  acting: np.ndarray  #: float64[H], product of the acting player's own probabilities
  #: float64[H], probability that chance and the opponents play to it; `own * others` is the probability of
  #: the infostate.
  others: np.ndarray
  dealt: np.ndarray  #: float64[H], probability that chance alone leads to it, if the players do
  showdown: Callable[[], np.ndarray] | None = None  #: computes `equity`; None without showdowns

  @property
  def equity(self) -> np.ndarray | None:
    """float64[H], the share of the pot that a hand would win in a showdown here, None without showdowns.

    It is against the opponent's range here, ties counted half; nan for an empty range.
    """
    return None if self.showdown is None else self.showdown()


class Worth(NamedTuple):
  """The values of a row's actions to its player; A actions, H types.

  All values are for each visit: given that chance and the opponents have played to the infostate; nan where
  they never do.
  """

  value: np.ndarray  #: float64[A, H], expected utility of an action if all players continue by the policy
  best: np.ndarray  #: float64[A, H], the same if the player continues by a best response


class Worths(NamedTuple):
  """The values of every row of a profile."""

  #: values, best: for each player [A, rows, H] for each block: those of `Worth`, times `Reach.others`.
  values: Strategies
  best: Strategies
  reach: Callable[[Decision], Reach]  #: the reach of a row

  def at(self, decision: Decision) -> Worth:
    """The values of one row."""
    weight = self.reach(decision).others
    tables = [both[decision.player][decision.block][:, decision.row] for both in (self.values, self.best)]
    return Worth(*(np.divide(x, weight, out=np.full(x.shape, np.nan), where=weight > 0) for x in tables))


def reaches(labels: Labels, strategies: Strategies) -> list[Reach]:
  """The reach of each of `labels.decisions`, in their order."""
  source = labels.source
  if isinstance(source, FormOrigin):
    return _by_deals(labels, source, strategies)
  assert isinstance(source, HistoryOrigin)
  return _by_histories(labels, source, strategies)


def _table(strategies: Strategies, decision: Decision) -> np.ndarray:
  return np.asarray(strategies[decision.player][decision.block])[:, decision.row]


def _by_deals(labels: Labels, source: FormOrigin, strategies: Strategies) -> list[Reach]:
  """The reach in a Bayesian form: down the public tree, all types side by side."""
  states = labels.public_states
  choices = tuple(np.ones((len(states), len(types))) for types in labels.types)
  for s, state in enumerate(states):
    if state.parent >= 0:
      above = states[state.parent]
      for player in (0, 1):
        choices[player][s] = choices[player][state.parent]
      if above.decisions:
        decision = labels.decisions[above.decisions[0]]
        action = decision.legal_actions.index(state.action)
        choices[above.player][s] *= _table(strategies, decision)[action]
  by_decision: dict[int, Reach] = {}
  for player in (0, 1):
    rows = [(n, d.public_state) for n, d in enumerate(labels.decisions) if d.player == player]
    at = [s for _, s in rows]
    reach = _on_boards(source, player, choices[player][at], choices[1 - player][at], at)
    by_decision.update(zip((n for n, _ in rows), reach, strict=True))
  return [by_decision[n] for n in range(len(labels.decisions))]


def reach_of(labels: Labels, source: FormOrigin, strategies: Strategies, decision: Decision) -> Reach:
  """The reach of one row in a Bayesian form, from the decisions on the way there."""
  choices, player = _choices_to(labels, strategies, decision.public_state), decision.player
  return _on_boards(source, player, choices[player], choices[1 - player], [decision.public_state])[0]


def _choices_to(labels: Labels, strategies: Strategies, number: int) -> list[np.ndarray]:
  """For each player float64[1, H]: the product of its choices on the way to a public state of a form."""
  states = labels.public_states
  choices = [np.ones((1, len(types))) for types in labels.types]
  while (parent := states[number].parent) >= 0:
    for before in (labels.decisions[n] for n in states[parent].decisions):
      choices[before.player] *= _table(strategies, before)[before.legal_actions.index(states[number].action)]
    number = parent
  return choices


def _on_boards(
  source: FormOrigin, player: int, choices: np.ndarray, range_: np.ndarray, at: Sequence[int]
) -> list[Reach]:
  """The reach of a player's rows at some public states, from both players' own reach [n, H] there."""
  if not at:
    return []
  others = source.weight(player, range_, at)
  dealt = source.weight(player, np.ones_like(range_), at)

  showdowns = _Showdowns(source, player, range_, at, others)
  equities = [
    functools.partial(showdowns.of_row, row) if source.foretells else None for row in range(len(at))
  ]
  return [Reach(*row) for row in zip(choices, others, dealt, equities, strict=True)]


@dataclasses.dataclass(frozen=True, eq=False)
class _Showdowns:
  """The equity of a player's rows: of all at once, when the first is asked for."""

  source: FormOrigin
  player: int
  range_: np.ndarray  # [n, H], the opponent's reach
  at: Sequence[int]  # public states
  others: np.ndarray  # [n, H], as in `Reach`

  @functools.cached_property
  def equity(self) -> np.ndarray:
    ahead = self.source.ahead(self.player, self.range_, self.at)
    never = np.full_like(ahead, np.nan)
    return (1 + np.divide(ahead, self.others, out=never, where=self.others > 0)) / 2

  def of_row(self, row: int) -> np.ndarray:
    return self.equity[row]


def choice_probabilities(labels: Labels, histories: Histories, strategies: Strategies) -> np.ndarray:
  """float64[N]: the player's probability of the action that leads to each history; 1 after chance's."""
  probability = np.ones(len(histories.parent))
  for player in histories.players:
    tables = np.zeros((len(histories.names[player]), max(map(len, histories.legal_sets))))
    for decision in labels.decisions:
      if decision.player == player:
        table = _table(strategies, decision)
        for h, example in enumerate(decision.examples):
          if example >= 0:
            tables[histories.infostate[player][example], : len(table)] = table[:, h]
    chosen = np.flatnonzero((histories.parent >= 0) & (histories.player[histories.parent] == player))
    above = histories.parent[chosen]
    probability[chosen] = tables[histories.infostate[player][above], histories.rank[chosen]]
  return probability


def _by_histories(labels: Labels, source: HistoryOrigin, strategies: Strategies) -> list[Reach]:
  """The reach in an enumerated game: down its histories, then summed over those of each infostate."""
  histories, probability = source.histories, choice_probabilities(labels, source.histories, strategies)
  choices = np.ones((len(histories.players), len(histories.parent)))
  for layer in layers(histories.depth)[1:]:
    above = histories.parent[layer]
    for player in histories.players:
      mine = histories.player[above] == player
      choices[player][layer] = choices[player][above] * np.where(mine, probability[layer], 1.0)
  luck = _moves_of_chance(histories)
  totals = []
  for player in histories.players:
    acts = np.flatnonzero(histories.player == player)
    number, size = histories.infostate[player][acts].astype(np.int64), len(histories.names[player])
    others = np.bincount(number, (histories.chance * np.delete(choices, player, 0).prod(0))[acts], size)
    outcomes, where = np.unique(number * len(luck) + luck[acts], return_inverse=True)
    chance = np.zeros(len(outcomes))
    np.maximum.at(chance, where, histories.chance[acts])
    dealt = np.bincount(outcomes // len(luck), chance, size)
    totals.append((others, dealt))
  reaches_of = []
  for decision in labels.decisions:
    examples = np.array(decision.examples)
    number = histories.infostate[decision.player][examples]
    columns = (choices[decision.player][examples], *(total[number] for total in totals[decision.player]))
    acting, others, dealt = (np.where(examples >= 0, column, 0.0) for column in columns)
    reaches_of.append(Reach(acting, others, dealt))
  return reaches_of


def _moves_of_chance(histories: Histories) -> np.ndarray:
  """int64[N]: equal numbers for histories with the same moves of chance."""
  numbers, span = np.zeros(len(histories.parent), np.int64), int(histories.action.max(initial=0)) + 1
  new = 1
  for layer in histories.layers[1:]:
    above = histories.parent[layer]
    numbers[layer], chosen = numbers[above], histories.player[above] == CHANCE
    moves = numbers[above[chosen]] * span + histories.action[layer[chosen]]
    distinct, which = np.unique(moves, return_inverse=True)
    numbers[layer[chosen]], new = new + which, new + len(distinct)
  return numbers
