"""Best-response pruning in CFR on any game's tree (Brown and Sandholm 2017; in Yi and Kaneko eqs. 10 to 13).

  python -m benchmarks.papers.best_response_pruning [--games leduc_poker ...] [--iterations 1000] [--near 0]

Runs CFR with and without it, and prints for some iterations the exploitability, the utilities looked up so
far (to decide on pruning included) and the regrets that are kept. What the opponent does not play is skipped
in both (partial pruning).

An action a of an infostate I is pruned, D(I, a) being all that follows, once

  T psi(I, a) <= sum_t v_t(I)                                                                     (11)

where psi is the value of a near best response to the opponent's average, and T' >= 1 in

  T' = (sum_t v_t(I) - T psi(I, a)) / (U(I, a) - L(I))                                            (12)

It stays so for as long as T psi(I, a) + sum_t pi_t(I) U(I, a) <= sum_t v_t(I) (13): never for fewer than T'
iterations, and more where the opponent hardly comes. Regrets in D(I, a) are dropped. At the end a near best
response in D(I, a) sets them, as if it had been played in every iteration. Near means (10): squares of
positive regrets add up to at most x = `near` * Delta(I)^2 |A| T; 0 is a best response.

Games have two players, perfect recall and utilities that sum to zero; both players are updated at once.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyspiel
from scipy.sparse import csr_array

from benchmarks.machine import describe, flags
from ps_cfr_spiel import build_tree
from ps_cfr_spiel.tree import sequence_form

EVERY = 10  # iterations between two looks for actions to prune
LOOK = 8  # a look is taken where T grows by 1 / LOOK, at least


class Step(NamedTuple):
  """What stands after an iteration."""

  iteration: int
  exploitability: float
  visits: int  #: utilities looked up so far
  regrets: int  #: regrets that are kept, of both players
  plans: tuple[np.ndarray, np.ndarray]  #: each player's average plan, [S]


class Side:
  """One player of a game in sequence form: S sequences, I infostates, parents before what follows.

  Attributes:
    payoffs: [S, S'], to this player, with the probability of chance.
    reach: [I, S'], the probability of chance with each of the opponent's sequences, summed over histories.
    before: int[I], the sequence that leads to each infostate.
    actions: for each infostate the slice of its sequences.
    below: for each sequence the infostates that come next.
    most: [S], the largest utility that may follow each sequence; `least` and `spread` [I] of infostates.
  """

  def __init__(self, game: pyspiel.Game, player: int):
    form = sequence_form(build_tree(game, public_states="none"))
    names = [[name for name, _ in sequences] for sequences in form.sequences]
    numbers = [{name: n for n, name in reversed([*enumerate(of)])} for of in names]
    first = list(numbers[player].values())[::-1][1:]  # of each infostate; sequence 0 is the empty one
    ends = [*first[1:], len(names[player])]
    self.payoffs = (form.payoffs[0] if player == 0 else -form.payoffs[0].T).tocsr()
    self.actions = [slice(a, b) for a, b in zip(first, ends, strict=True)]
    place = {number: k for k, number in enumerate(first)}
    self.before = np.zeros(len(first), int)
    self.most = np.full(len(names[player]), -np.inf)
    self.least = np.full(len(first), np.inf)
    entries: dict[tuple[int, int], float] = {}

    def visit(state: pyspiel.State, chance: float, at: tuple[int, int]) -> tuple[float, float]:
      if state.is_terminal():
        utility = state.returns()[player]
        return utility, utility
      if state.is_chance_node():
        bounds = [visit(state.child(a), chance * p, at) for a, p in state.chance_outcomes()]
        return max(b for b, _ in bounds), min(b for _, b in bounds)
      mover = state.current_player()
      start, bounds = numbers[mover][state.information_state_string()], []
      for n, action in enumerate(state.legal_actions()):
        after = (start + n, at[1]) if mover == 0 else (at[0], start + n)
        bounds.append(visit(state.child(action), chance, after))
        if mover == player:
          self.most[start + n] = max(self.most[start + n], bounds[-1][0])
      if mover == player:
        k, other = place[start], at[1 - player]
        self.before[k] = at[player]
        self.least[k] = min(self.least[k], *(b for _, b in bounds))
        entries[k, other] = entries.get((k, other), 0.0) + chance
      return max(b for b, _ in bounds), min(b for _, b in bounds)

    visit(game.new_initial_state(), 1.0, (0, 0))
    rows, columns = np.array(list(entries)).T
    self.reach = csr_array((list(entries.values()), (rows, columns)), (len(first), len(names[1 - player])))
    self.spread = np.array([self.most[a].max() for a in self.actions]) - self.least
    self.below: list[list[int]] = [[] for _ in self.most]
    for k, sequence in enumerate(self.before.tolist()):
      self.below[sequence].append(k)

  def after(self, sequence: int) -> Iterator[int]:
    """The infostates of D(I, a), parents first."""
    for k in self.below[sequence]:
      yield k
      for n in range(self.actions[k].start, self.actions[k].stop):
        yield from self.after(n)

  def responses(self, utilities: np.ndarray, near: float, iterations: int) -> tuple[np.ndarray, np.ndarray]:
    """Values of a near best response, [S] and [I], where sequences end with these utilities to the player.

    These are sums over some iterations, and so is the slack of (10).
    """
    values, of_infostates = utilities.copy(), np.zeros(len(self.before))
    for k in reversed(range(len(self.before))):
      moves = values[self.actions[k]]
      slack = near * self.spread[k] ** 2 * len(moves) * iterations
      of_infostates[k] = least_value(moves, slack)
      values[self.before[k]] += of_infostates[k]
    return values, of_infostates


def least_value(moves: np.ndarray, slack: float) -> float:
  """The v at which the squares of max(moves - v, 0) add up to `slack`; at least the worst move's value."""
  best = -np.sort(-moves)
  if slack:
    for n in range(1, len(best) + 1):  # the n best are above v
      mean, spread = best[:n].mean(), ((best[:n] - best[:n].mean()) ** 2).sum()
      v = mean - np.sqrt(max(slack - spread, 0) / n)
      if n == len(best) or v >= best[n]:
        return float(max(v, best[-1]))
  return float(best[0])


class Learner:
  """A player's tables.

  Attributes:
    regrets: of the infostates that are kept.
    gained: the sum of v_t(I) of the same.
    pruned: for each pruned sequence the left side of (13).
    total: [S], the sum of the plans that were played.
  """

  def __init__(self, side: Side):
    self.side = side
    self.regrets = {k: np.zeros(a.stop - a.start) for k, a in enumerate(side.actions)}
    self.gained = dict.fromkeys(self.regrets, 0.0)
    self.pruned: dict[int, float] = {}
    self.total = np.zeros(len(side.most))

  @property
  def kept(self) -> int:
    """The number of regrets in memory."""
    return sum(map(len, self.regrets.values())) - len(self.pruned)

  def strategy(self, k: int) -> np.ndarray:
    """Regret matching, without the pruned actions."""
    start = self.side.actions[k].start
    gains = np.maximum(self.regrets[k], 0)
    live = np.array([start + n not in self.pruned for n in range(len(gains))], float)
    gains *= live
    return gains / gains.sum() if gains.any() else live / live.sum()

  def plan(self) -> np.ndarray:
    """[S], 0 where something is pruned before."""
    plan = np.zeros(len(self.total))
    plan[0] = 1
    for k in sorted(self.regrets):
      plan[self.side.actions[k]] = plan[self.side.before[k]] * self.strategy(k)
    return plan

  def rows(self) -> np.ndarray:
    """The sequences that are visited."""
    sequences = (range(a.start, a.stop) for a in (self.side.actions[k] for k in self.regrets))
    return np.array([0, *(n for of in sequences for n in of if n not in self.pruned)])

  def learn(
    self, plan: np.ndarray, other: np.ndarray, others_total: np.ndarray, now: int, near: float
  ) -> int:
    """One iteration against the opponent's plan, which `others_total` contains; the utilities looked up."""
    side, rows = self.side, self.rows()
    visits = looked_up(side, rows, other)
    values = np.zeros(len(self.total))
    values[rows] = side.payoffs[rows] @ other
    come, over = side.reach @ other, []
    for k in sorted(self.regrets, reverse=True):
      actions, strategy = side.actions[k], self.strategy(k)
      mean = float(strategy @ values[actions])
      values[side.before[k]] += mean
      self.regrets[k] += values[actions] - mean
      self.gained[k] += mean
      for n in range(actions.start, actions.stop):
        if n in self.pruned:
          self.pruned[n] += come[k] * side.most[n]
          if self.pruned[n] > self.gained[k]:
            over.append((k, n))
    self.total += plan
    if over:
      visits += self.make_again(over, others_total, now, near)
    return visits

  def make_again(self, over: list[tuple[int, int]], others_total: np.ndarray, now: int, near: float) -> int:
    """End the pruning of some (infostate, sequence): regrets as if a near best response had been played."""
    side = self.side
    values, of_infostates = side.responses(side.payoffs @ others_total, near, now)
    rows = [n for _, n in over]
    for k, n in over:
      del self.pruned[n]
      self.regrets[k][n - side.actions[k].start] = values[n] - self.gained[k]
      for later in side.after(n):
        self.regrets[later] = values[side.actions[later]] - of_infostates[later]
        self.gained[later] = float(of_infostates[later])
        rows += range(side.actions[later].start, side.actions[later].stop)
    return looked_up(side, np.array(rows), others_total)

  def prune(self, others_total: np.ndarray, now: int, near: float) -> int:
    """Prune what (11) and (12) allow; the utilities looked up."""
    side = self.side
    values, _ = side.responses(side.payoffs @ others_total, near, now)
    for k in sorted(self.regrets):
      if k not in self.regrets:  # it follows what was pruned just now
        continue
      for n in range(side.actions[k].start, side.actions[k].stop):
        left = len(self.regrets[k]) - sum(
          m in self.pruned for m in range(side.actions[k].start, side.actions[k].stop)
        )
        room = self.gained[k] - values[n]
        if n not in self.pruned and left > 1 and room >= max(side.most[n] - side.least[k], 1e-9):
          self.pruned[n] = float(values[n])
          for later in side.after(n):
            self.regrets.pop(later, None)
            self.gained.pop(later, None)
            for m in range(side.actions[later].start, side.actions[later].stop):
              self.pruned.pop(m, None)
    return looked_up(side, np.arange(len(self.total)), others_total)


def looked_up(side: Side, rows: np.ndarray, other: np.ndarray) -> int:
  """The utilities of some sequences with those of the opponent's that are played."""
  part = side.payoffs[rows]
  return int((other[part.indices] > 0).sum())


def run(
  game: pyspiel.Game, iterations: int, pruning: bool, near: float = 0.0, sides: list[Side] | None = None
) -> Iterator[tuple[Step, list[Learner]]]:
  """CFR with regret matching; what stands after each iteration."""
  sides = sides or [Side(game, player) for player in (0, 1)]
  learners, visits, looked = [Learner(side) for side in sides], 0, 0
  for now in range(1, iterations + 1):
    plans = [learner.plan() for learner in learners]
    totals = [learner.total + plan for learner, plan in zip(learners, plans, strict=True)]
    for i, learner in enumerate(learners):
      visits += learner.learn(plans[i], plans[1 - i], totals[1 - i], now, near)
    if pruning and now >= looked + max(EVERY, looked // LOOK):
      looked = now
      for i, learner in enumerate(learners):
        visits += learner.prune(totals[1 - i], now, near)
    best = sum(side.responses(side.payoffs @ totals[1 - i], 0, now)[0][0] for i, side in enumerate(sides))
    kept = sum(learner.kept for learner in learners)
    average = totals[0] / now, totals[1] / now
    yield Step(now, best / now / 2, visits, kept, average), learners


def main() -> None:
  games = ["kuhn_poker", "leduc_poker(suit_isomorphism=True)"]
  options = flags(__doc__ or "", games=games, iterations=1000, near=0.0)
  print(describe())
  for name in options.games:
    game = pyspiel.load_game(name)
    sides = [Side(game, player) for player in (0, 1)]
    print(f"\n{name}: {sum(len(side.most) - 1 for side in sides):,} regrets")
    print(f"{'iteration':>10}{'pruning':>9}{'exploitability':>16}{'utilities':>14}{'regrets':>9}")
    marks = {options.iterations >> k for k in range(4)}
    for pruning in (False, True):
      for step, _ in run(game, options.iterations, pruning, options.near, sides):
        if step.iteration in marks:
          row = f"{step.iteration:>10,}{'yes' if pruning else 'no':>9}{step.exploitability:>16.2e}"
          print(f"{row}{step.visits:>14,}{step.regrets:>9,}", flush=True)


if __name__ == "__main__":
  main()
