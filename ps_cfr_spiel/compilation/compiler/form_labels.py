"""Names and histories of a game compiled from its form, made on request."""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import pyspiel

from ps_cfr_spiel.cards.poker import BayesianForm
from ps_cfr_spiel.compilation.compiler.forms import PublicStateIndex
from ps_cfr_spiel.compilation.histories import NO_GUARANTEE, LazySequence
from ps_cfr_spiel.tree import (
  CHANCE,
  Decision,
  DecisionTable,
  Labels,
  Origin,
  PublicState,
  StateTable,
  information_state_string,
)


@dataclasses.dataclass(frozen=True, eq=False)
class FormOrigin(Origin):
  """Histories of a form: both types are dealt, then all actions and cards are public."""

  remark: ClassVar[str] = " (the deal counted as one event)"
  deals_types: ClassVar[bool] = True
  lines: PublicStateIndex  #: the form and its public states

  @property
  def largest_utility(self) -> float:
    """The largest utility of the game, in absolute terms."""
    return self.lines.betting.largest_payoff

  @property
  def num_histories(self) -> int:
    return self.lines.histories

  @property
  def type_names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return self.lines.form.types

  @property
  def foretells(self) -> bool:
    """Whether all lines await the same showdown, as `ahead` demands."""
    return self.lines.betting.showdowns == 1

  @property
  def pruned(self) -> bool:
    """False: only hands that can be dealt are types."""
    return False

  def weight(self, player: int, range_: np.ndarray, at: Sequence[int] = ()) -> np.ndarray:
    """Probability that chance deals each type and the cards, and that the opponent's range plays to it.

    `range_` is [n, H of the opponent], `at` the public state of each of the n; by default all are before any
    public card. Returns float64[n, H of the player].
    """
    return self._by_board(player, range_, at, lambda street, _: 1 / self.lines.dealt.orders(street))

  def ahead(self, player: int, range_: np.ndarray, at: Sequence[int] = ()) -> np.ndarray:
    """The probability of winning a showdown less that of losing it, between minus and plus `weight`.

    Each card to come counts by its probability. Arguments and shapes are those of `weight`.
    """
    ways, sign = self.lines.dealt.orders(len(self.lines.boards) - 1), 1 - 2 * player
    return self._by_board(
      player, range_, at, lambda street, runout: sign * self.lines.dealt.net_wins(street, runout) / ways
    )

  @property
  def prior(self) -> np.ndarray:
    """float64[H0, H1]: probabilities of the deals."""
    return self.lines.dealt.prior

  def _by_board(
    self, player: int, range_: np.ndarray, at: Sequence[int], factor: Callable[[int, int], Any]
  ) -> np.ndarray:
    """Ranges times the prior, times a factor [H0, H1] (or []) for the board of each row."""
    lines = self.lines
    places = [lines.place(state) for state in at] or [(0, 0)] * len(range_)
    boards: dict[tuple[int, int], list[int]] = {}
    for row, (line, runout) in enumerate(places):
      boards.setdefault((int(lines.betting.street[line]), runout), []).append(row)
    weights = np.zeros((len(range_), self.prior.shape[player]))
    for (street, runout), rows in boards.items():
      alive, other = (~lines.dealt.dead[i][street][runout] for i in (player, 1 - player))
      of_board = factor(street, runout)
      matrix, share = (self.prior, of_board) if np.ndim(of_board) == 0 else (self.prior * of_board, 1.0)
      reach = range_[rows] * other * share  # a number for all deals needs no matrix of its own
      weights[rows] = alive * (reach @ (matrix.T if player == 0 else matrix))
    return weights

  def path(self, decision: Decision, type_index: int) -> list[int]:
    return self.path_of(decision.player, decision.public_state, type_index)

  def path_of(self, player: int, public_state: int, type_index: int, last: bool = False) -> list[int]:
    """Actions to a history of a public state in which a player, acting or not, is of a type.

    The opponent is of the first type that is possible, or the `last`.
    """
    line, runout = self.lines.place(public_state)
    return self._types(player, type_index, line, runout, last) + self.moves(line, runout)

  def history(self, public_state: int) -> list[int]:
    """Actions to some history of a public state; ValueError if no deal leads there."""
    line, runout = self.lines.place(public_state)
    alive = np.flatnonzero(self.lines.dealt.alive[0][self.lines.betting.street[line]][runout])
    if not len(alive):
      raise ValueError(f"No two hands of the ranges leave the cards of public state {public_state} to come.")
    return self._types(0, int(alive[0]), line, runout) + self.moves(line, runout)

  def _types(self, player: int, type_index: int, line: int, runout: int, last: bool = False) -> list[int]:
    """The type of each player, with `type_index` for this player."""
    disjoint = self.lines.dealt.disjoint if player == 0 else self.lines.dealt.disjoint.T
    dead = self.lines.dealt.dead[1 - player][self.lines.betting.street[line]][runout]
    possible = disjoint[type_index] & ~dead
    other = len(possible) - 1 - possible[::-1].argmax() if last else possible.argmax()
    types = [type_index, int(other)]
    types = types if player == 0 else types[::-1]
    deals = self.lines.form.deals
    return types if deals is None else [*deals[0][types[0]], *deals[1][types[1]]]

  def public_cards(self, public_state: int) -> list[int]:
    line, runout = self.lines.place(public_state)
    street, above = self.lines.betting.street[line], self.lines.betting.parent[line]
    before = self.lines.dealt.came[self.lines.betting.street[above]] if above >= 0 else 0
    cards = self.lines.dealt.runouts[street][runout, before:].tolist()
    return cards if len(cards) > 1 else []

  def moves(self, line: int, runout: int) -> list[int]:
    """Actions and cards after the deal, in order."""
    betting, moves = self.lines.betting, []
    cards = self.lines.dealt.runouts[self.lines.betting.street[line]][runout].tolist()
    while betting.parent[line] >= 0:
      above = betting.parent[line]
      left = self.lines.dealt.came[betting.street[above]] if betting.player[above] == CHANCE else len(cards)
      moves += cards[left:][::-1] if betting.player[above] == CHANCE else [int(betting.action[line])]
      line, cards = above, cards[:left]
    return moves[::-1]

  def count(self, public_state: int) -> int:
    line, runout = self.lines.place(public_state)
    first, second = (~self.lines.dealt.dead[i][self.lines.betting.street[line]][runout] for i in (0, 1))
    return int(self.lines.dealt.disjoint[np.ix_(first, second)].sum())

  def possible_infostates(self, public_state: int) -> tuple[list[str], list[str]]:
    """The types: everything but the deal is public, so a type is all private knowledge."""
    line, runout = self.lines.place(public_state)
    street, types = self.lines.betting.street[line], self.lines.form.types
    alive = [np.flatnonzero(self.lines.dealt.alive[i][street][runout]) for i in (0, 1)]
    return [types[0][h] for h in alive[0]], [types[1][h] for h in alive[1]]

  def payoffs(self, public_state: int) -> list[float]:
    line, runout = self.lines.place(public_state)
    betting = self.lines.betting
    fold_payoff, showdown_payoff = float(betting.fold_payoff[line, 0]), float(betting.showdown_payoff[line])
    if not showdown_payoff:
      return [fold_payoff]  # to player 0, as what follows
    street = int(self.lines.betting.street[line])
    first, second = (~self.lines.dealt.dead[i][street][runout] for i in (0, 1))
    net_wins = self.lines.dealt.net_wins(street, runout, int(betting.showdown_index[line]))
    signs = net_wins[self.lines.dealt.disjoint & np.logical_and.outer(first, second)]
    return np.unique(fold_payoff + showdown_payoff * np.sign(signs)).tolist()

  def range_weight(self, player: int, type_index: int) -> float:
    return float(self.lines.form.weights[player][type_index])

  def chips_in_pot(self, public_state: int, player: int) -> float:
    paid = self.lines.betting.paid
    return 0.0 if paid is None else float(paid[self.lines.place(public_state)[0], player])

  def utility_ranges(self, decisions: Sequence[Decision]) -> list[np.ndarray]:
    """One bound for all types, weighted by the chance of type and board."""
    chance: list[Iterator[np.ndarray]] = []
    for player in (0, 1):
      at = [d.public_state for d in decisions if d.player == player]
      chance.append(iter(self.weight(player, np.ones((len(at), len(self.lines.form.types[1 - player]))), at)))
    return [2 * self.largest_utility * next(chance[d.player]) for d in decisions]


@dataclasses.dataclass(frozen=True)
class FormLabels(Labels):
  """Labels of a form, computed from lines and runouts: nothing is stored for a single public state.

  Decisions are numbered like public states: line by line, player 0's first, runout by runout.
  """

  places: Sequence[np.ndarray]  #: for each player int[rows, 2], the (block, row) of each row

  @classmethod
  def create(cls, game: pyspiel.Game, lines: PublicStateIndex, places: Sequence[np.ndarray]) -> "FormLabels":
    """The labels of a form."""
    form, sizes = lines.form, lines.sizes
    remarks = {} if lines.betting.zero_sum else {"utilities": f"general sum, {NO_GUARANTEE}"}
    acting = np.concatenate([np.flatnonzero(lines.betting.player == i) for i in (0, 1)])
    rows = np.append(0, np.cumsum(sizes[acting]))  # the first decision of each line in which a player acts
    first = np.zeros(len(sizes), int)
    first[acting] = rows[:-1]
    public_state = functools.partial(_public_state, lines, first)
    of_both = np.concatenate(places, dtype=np.int32, casting="same_kind")
    decision = functools.partial(_decision, lines, acting, rows, of_both)
    return cls(
      game=str(game),
      start=game.new_initial_state,
      public_states=LazySequence(int(lines.starts[-1]), public_state),
      decisions=LazySequence(int(rows[-1]), decision),
      source=FormOrigin(lines),
      places=tuple(np.split(of_both, [len(places[0])])),
      infostate=form.named or information_state_string,
      remarks={**remarks, **(form.remarks or {})},
    )

  @property
  def _lines(self) -> PublicStateIndex:
    assert isinstance(self.source, FormOrigin)
    return self.source.lines

  @functools.cached_property
  def state_table(self) -> StateTable:
    lines, betting = self._lines, self._lines.betting
    line, runout = lines.places(np.arange(len(betting)))
    above, action, decision = betting.parent[line], betting.action[line], np.full(len(line), -1)
    for street in range(1, len(lines.boards)):
      came = (betting.street[line] == street) & (betting.street[above] < street) & (above >= 0)
      single = (
        lines.dealt.came[street] - lines.dealt.came[street - 1] == 1
      )  # several cards are no single action
      action[came] = lines.dealt.runouts[street][runout[came], -1] if single else -1
    decision[self.decision_table.public_state] = np.arange(len(self.decisions))
    return StateTable(lines.parents, action, betting.player[line], decision)

  @functools.cached_property
  def decision_table(self) -> DecisionTable:
    lines, betting = self._lines, self._lines.betting
    acting = np.concatenate([np.flatnonzero(betting.player == i) for i in (0, 1)])
    line, runout = lines.places(acting)
    legal = np.full((len(betting), betting.num_actions[acting].max(initial=1)), -1)
    for k in acting.tolist():
      legal[k, : betting.num_actions[k]] = betting.legal_actions(k)
    block, row = np.concatenate(self.places).reshape(-1, 2).T
    states = lines.starts[line] + runout
    return DecisionTable(betting.player[line], states, block, row, betting.num_actions[line], legal[line])

  @functools.cached_property
  def children(self) -> Sequence[list[int]]:
    return LazySequence(len(self.public_states), functools.partial(_below, self._lines))

  def num_public_states(self, players: Sequence[int]) -> int:
    return int(self._lines.sizes[np.isin(self._lines.betting.player, players)].sum())

  def num_infostates(self, player: int) -> int:
    lines = self._lines
    counts = np.bincount(lines.betting.street[lines.betting.player == player]).tolist()
    return sum(n * int(lines.dealt.alive[player][street].sum()) for street, n in enumerate(counts))

  def find(self, player: int, infostate: str) -> tuple[Decision, int]:
    lines = self._lines
    try:
      if (place := lines.form.find(player, infostate)) is None:
        return super().find(player, infostate)
      line, runout, h = place
      street = int(lines.betting.street[line])
      number = self._numbers[street][runout]
      if not lines.dealt.alive[player][street][number, h]:
        raise ValueError("a hand with a card of the board")
    except (KeyError, ValueError):
      raise ValueError(f"Player {player} has no information state {infostate!r} in {self.game}.") from None
    return self.decisions[self.public_states[int(lines.starts[line]) + number].decisions[0]], h

  @functools.cached_property
  def _numbers(self) -> list[dict[tuple[int, ...], int]]:
    """The number of each runout, for each street."""
    return [{tuple(r): n for n, r in enumerate(runouts.tolist())} for runouts in self._lines.dealt.runouts]


def _public_state(lines: PublicStateIndex, first: np.ndarray, number: int) -> PublicState:
  """A public state; `first` is the number of the first decision of each line in which a player acts."""
  betting, (line, runout) = lines.betting, lines.place(number)
  above, player = int(betting.parent[line]), int(betting.player[line])
  decisions = (int(first[line]) + runout,) if player >= 0 else ()
  if above < 0:
    return PublicState(-1, -1, player, decisions)
  street, before = int(betting.street[line]), int(betting.street[above])
  action = int(betting.action[line])
  if street > before:  # several cards are no single action
    single = lines.dealt.came[street] - lines.dealt.came[before] == 1
    action = int(lines.dealt.runouts[street][runout, -1]) if single else -1
  parent = int(lines.starts[above]) + runout // (lines.boards[street] // lines.boards[before])
  return PublicState(parent, action, player, decisions)


def _decision(
  lines: PublicStateIndex, acting: np.ndarray, rows: np.ndarray, place: np.ndarray, number: int
) -> Decision:
  """A decision; `acting` are the lines in which a player acts, `rows` where the decisions of each begin."""
  k = int(np.searchsorted(rows, number, side="right")) - 1
  line, runout = int(acting[k]), number - int(rows[k])
  legal = tuple(lines.betting.legal_actions(line))
  block, row = place[number].tolist()
  state = int(lines.starts[line]) + runout
  return Decision(int(lines.betting.player[line]), state, block, row, legal, _infostates(lines, line, runout))


def _below(lines: PublicStateIndex, number: int) -> list[int]:
  """The public states that follow one."""
  line, runout = lines.place(number)
  states = []
  for child in lines.betting.children(line):
    each = lines.sizes[child] // lines.sizes[line]  # cards that may come, or 1
    start = int(lines.starts[child]) + runout * each
    states += range(start, start + each)
  return states


def _infostates(lines: PublicStateIndex, line: int, runout: int) -> Sequence[str | None]:
  """The acting player's information state strings by type, None for impossible types."""
  form = lines.form
  street, player = int(lines.betting.street[line]), int(lines.betting.player[line])
  alive, cards = (
    lines.dealt.alive[player][street][runout],
    tuple(lines.dealt.runouts[street][runout].tolist()),
  )
  return LazySequence(len(form.types[player]), functools.partial(_infostate, form, line, cards, alive))


def _infostate(
  form: BayesianForm, line: int, cards: tuple[int, ...], alive: np.ndarray, h: int
) -> str | None:
  return form.infostate(line, cards, h) if alive[h] else None
