"""The loss of an agent whose probabilities are unknown, from its recorded games.

Losses are against opponents who play the solution; those of a record play otherwise, and come more often to
some infostates, and to others never. But an agent acts alike at an infostate after any play of others, so
frequencies of its actions are right. Two estimates follow.

By frequencies, for any opponents: the loss of a strategy that plays each action at the agent's frequencies.
Infostates that the record lacks are open: there the agent may lose nothing, as the solution does, or as much
as can be, and the loss lies between (bounds of partial identification: Manski 2003).

By known opponents, who come to all infostates that matter: other games make a model of the agent. To its loss
come the losses of a game's actions against the model's mixture, weighted by how much more often the solution
comes there than the opponents. The mean is right for every model, as in MIVAT and AIVAT.
"""

import collections
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ps_cfr_spiel.evaluation.judging.referee import Referee
from ps_cfr_spiel.evaluation.local_regrets import answered
from ps_cfr_spiel.policy import OpenSpielPolicy, TreePolicy, strategies_of
from ps_cfr_spiel.tree import Decision, PublicTree

PARTS = 10  # of an agent's games, each judged by a model of its play in the others
MOST_WEIGHT = 100.0  # of an infostate; where opponents come less often, they count as if they never came
NEGLIGIBLE = 1e-4  # probability with which the solution comes to infostates where opponents never do

Weights = Callable[[Decision], np.ndarray]  # float64[H], of a row's infostates


class Seat(NamedTuple):
  """One player's part of a recorded game."""

  player: int
  names: tuple[str, ...]  # of all agents of the game, by seat
  number: int  # of the game
  deal: Hashable
  utility: float
  taken: list[tuple[Decision, int, int]]  # the decisions: row, type, action


def by_frequencies(seats: Sequence[Seat], referee: Referee, worst: bool) -> np.ndarray:
  """float64[n]: for each part of a game the loss of the agent's frequencies of actions, and its deviation.

  Infostates that the record lacks are played as by the solution, or as badly as can be. A deviation is what
  the loss falls by without this part, times the number of parts (the jackknife, to first order). Its mean is
  taken out in each seat, and the standard error follows from it.
  """
  losses = np.empty(len(seats))
  for player in {seat.player for seat in seats}:
    places = [k for k, seat in enumerate(seats) if seat.player == player]
    taken = [choice for k in places for choice in seats[k].taken]
    visits = collections.Counter((d.block, d.row, h) for d, h, _ in taken)
    elsewhere = referee.worst(player) if worst else referee.of(player)
    model = referee.of(player, _frequencies(elsewhere.strategy, taken))
    deviations = np.zeros(len(places))
    for i, k in enumerate(places):
      choices = float(len(places))  # probability of the model's own choices so far, times the parts
      for decision, h, choice in seats[k].taken:
        others = visits[decision.block, decision.row, h] - 1
        loss = model.loss(decision, h, choice) / others if others else elsewhere.loss(decision, h, choice)
        deviations[i] += choices * referee.against(player).reach(decision).others[h] * loss
        choices *= model.chances(decision, h)[choice]
    losses[places] = referee.of(player).value - model.value + deviations - deviations.mean()
  return _finite(losses, seats)


def by_known_opponents(
  seats: Sequence[Seat], referee: Referee, opponents: "KnownOpponents"
) -> np.ndarray | None:
  """float64[n]: an unbiased loss for each part of a game, by models of the agent's play in other deals.

  None unless all opponents are known, and reach all that the solution does.
  """
  weights = dict[tuple[int, tuple[str, ...]], Weights]()
  for seat in seats:
    if (weight := opponents.weights(seat)) is None:
      return None
    weights[seat.player, seat.names] = weight
  parts = {deal: k % PARTS for k, deal in enumerate(dict.fromkeys(seat.deal for seat in seats))}
  losses = np.empty(len(seats))
  for part, player in {(parts[seat.deal], seat.player) for seat in seats}:
    others = [seat for seat in seats if seat.player == player and parts[seat.deal] != part]
    taken = [choice for seat in others for choice in seat.taken]
    play = referee.of(player)
    model = referee.of(player, _frequencies(play.strategy, taken)) if taken else play
    for k, seat in enumerate(seats):
      if (parts[seat.deal], seat.player) == (part, player):
        losses[k] = play.value - model.value
        weight = weights[player, seat.names]
        losses[k] += sum(weight(d)[h] * model.loss(d, h, choice) for d, h, choice in seat.taken)
  return _finite(losses, seats)


class KnownOpponents:
  """Agents whose probabilities are known, as opponents of others."""

  def __init__(self, referee: Referee, policies: Mapping[str, OpenSpielPolicy]):
    """`policies` has those of agents by name; nothing is computed yet."""
    self._plays, self._policies = referee, policies
    self._weights: dict[tuple[int, tuple[str, ...]], Weights | None] = {}

  def weights(self, seat: Seat) -> Weights | None:
    """The solution's reach of a player's infostates, divided by that of the opponents in a game.

    None if one of them is unknown, or they never come, or too seldom, where the solution does.
    """
    player, names = seat.player, seat.names
    key = player, names[:player] + names[player + 1 :]
    if key not in self._weights:
      known = all(name in self._policies for name in key[1])
      self._weights[key] = self._computed(player, names) if known else None
    return self._weights[key]

  def _computed(self, player: int, names: Sequence[str]) -> Weights | None:
    solution = self._plays.solution
    strategies = [
      strategy if i == player else strategy_of(solution.tree, self._policies[names[i]], i)
      for i, strategy in enumerate(solution.strategies)
    ]
    there = TreePolicy(solution.game, solution.labels, strategies)
    wanted, missed = self._plays.against(player), 0.0
    for decision in solution.labels.decisions:
      if decision.player == player:
        reach = wanted.reach(decision).others
        missed += reach[reach > MOST_WEIGHT * there.reach(decision).others].sum()

    def weights(decision: Decision) -> np.ndarray:
      reach, comes = wanted.reach(decision).others, there.reach(decision).others
      return np.divide(reach, comes, out=np.zeros_like(reach), where=comes > 0)

    return weights if missed < NEGLIGIBLE else None


def strategy_of(tree: PublicTree, policy: OpenSpielPolicy, player: int) -> list[np.ndarray]:
  """[A, rows, H] for each block of a player: a policy's answers, asked for this player alone."""
  rows = [decision for decision in tree.names.decisions if decision.player == player]
  return [answered(block) for block in strategies_of(tree, policy, rows)[player]]


def _frequencies(
  elsewhere: Sequence[np.ndarray], taken: Iterable[tuple[Decision, int, int]]
) -> list[np.ndarray]:
  """The frequencies of the actions taken, for each block; elsewhere another strategy."""
  counts = collections.Counter((d.block, d.row, h, choice) for d, h, choice in taken)
  strategy, changed = list(elsewhere), {block for block, *_ in counts}
  for block in changed:
    table = np.zeros_like(elsewhere[block])
    for (at, row, h, choice), times in counts.items():
      if at == block:
        table[choice, row, h] = times
    visits = table.sum(0)
    strategy[block] = np.where(visits > 0, table / np.maximum(visits, 1), elsewhere[block])
  return strategy


def _finite(losses: np.ndarray, seats: Sequence[Seat]) -> np.ndarray:
  """The same; ValueError if one is no number."""
  for loss, seat in zip(losses, seats, strict=True):
    if not math.isfinite(loss):
      raise ValueError(
        f"Game {seat.number}: the solution never plays most of its moves, so their values are not known."
      )
  return losses
