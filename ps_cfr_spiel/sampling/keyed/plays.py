"""Sampled plays of a keyed game, one after the other: a play learns on its way back, before the next begins.

As `mccfr.outcome`, without its tree: only the traverser explores, all others and chance play as they do, so
a node's weight is 1 / probability of the traverser's sampled moves before it (Schmid 2021, eq. 17.18).

Beside every cell the run keeps the *learned value* of its move: a running mean of the results of plays after
it, which is the learned baseline of VR-MCCFR (Schmid et al. 2019), by key. There are two estimates:

- "corrected": that of VR-MCCFR, unbiased for all baselines (eqs. 8 and 9 there) if a play meets no key twice.
  The sampled move is corrected by (value - learned) / probability. In long games with many moves these
  corrections are large and rare.
- "learned": the learned values alone, which follow the plays' ends: biased, of little variance. No bound
  holds: learned values lag behind the strategies and contain the traverser's exploration, and weights are
  cut.

With more than two players each learns by the own result, and "learned" is the only estimate; in the average
a strategy's weight has the reach of the others who played before as a factor. Nothing is known of its
convergence, as of that of CFR with more than two players.

The play is written twice: here over OpenSpiel's states, and in the native code of a game that has one.
"""

from __future__ import annotations

import bisect
import dataclasses
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.arguments import MOST
from ps_cfr_spiel.cfr import Rule, averages
from ps_cfr_spiel.keyed_game import KeyedGame
from ps_cfr_spiel.options import ESTIMATES
from ps_cfr_spiel.sampling import mccfr
from ps_cfr_spiel.sampling.keyed.key_tables import MILLION, KeyTables, Matchup
from ps_cfr_spiel.sampling.keyed.traversals import traverse
from ps_cfr_spiel.sampling.mccfr import Sampler, SamplingState, Turn, Turns

# Options of native code that plays do not have.
NO_TRAVERSAL = {"sampling": 1, "pruning": 0, "decisions": MOST, "depth": MOST, "most_nodes": MOST}
Choose = Callable[[Sequence[float]], int]  # a number at random, with these probabilities up to a factor
# A decision of a play: its cells; its player; whether that is the traverser; its policy; the move, and the
# probability with which it was sampled; 1 / probability of the traverser's moves before, cut; and the
# probability of these moves by the policy over that by which they were sampled.
Step = tuple[slice, int, bool, list[float], int, float, float, float]


class Learning(NamedTuple):
  """The tables that plays of states change, [S] each, and how."""

  regrets: memoryview[float]
  compensation: memoryview[float]
  learned: memoryview[float]
  fixed: memoryview[float] | None  #: the weights of a fixed opponent's moves
  weight: float  #: of this iteration in sums
  decay: float  #: the weight of the newest value in a learned one
  floor: float  #: the least regret


@dataclasses.dataclass(frozen=True)
class Plays(Sampler[Matchup, KeyTables]):
  """Sampled plays in which the tables learn after each one."""

  estimate: str  #: of the worth of moves, one of `options.ESTIMATES`
  exploration: float  #: share of uniform play in the traverser's sampling policy, in (0, 1]
  #: weight of the newest value in a learned one in iteration 1, in [0, 1]; at 0 nothing is learned.
  decay: float = 0.05
  decay_power: float = 0.0  #: in iteration t the decay is `decay` * t ** -decay_power
  most_weight: float = float("inf")  #: where weights of plays are cut, at least 1

  def init(self, game: Matchup, dtype: str) -> KeyTables:
    return KeyTables.empty(game.game, dtype, counted=False)

  def players(self, game: Matchup) -> int:
    return game.game.players

  def decay_at(self, t: jax.Array, dtype: jnp.dtype) -> jax.Array:
    """The decay in iteration t, int32[]."""
    return self.decay * t.astype(dtype) ** -self.decay_power


@dataclasses.dataclass(frozen=True)
class NativePlays(Plays):
  """Sampled plays in a game's native code.

  A key that comes twice in a play learns from its second visit before its first is valued.
  """

  def turn(self, game: Matchup, tables: KeyTables, turn: Turn, rule: Rule, batch: int) -> KeyTables:
    options = {
      "estimate": ESTIMATES.index(self.estimate),
      "exploration": float(self.exploration),
      "most_weight": float(self.most_weight),
      "floor": float(rule.floor),
    }
    decay = self.decay_at(turn.iteration, tables.regrets.dtype)
    return traverse(game, tables, turn, rule, decay, batch, {**NO_TRAVERSAL, **options})


@dataclasses.dataclass(frozen=True)
class StatePlays(Plays):
  """Sampled plays of OpenSpiel's states, in Python: for any game, and the reference of native plays."""

  def draw(self, game: Matchup, key: jax.Array, turns: int, batch: int) -> np.ndarray:
    """uint32[turns, 4]: a seed for each turn."""
    return np.asarray(jax.random.bits(key, (turns, 4), jnp.uint32))

  def turns(self, game: Matchup, tables: KeyTables, turns: Turns, rule: Rule, batch: int) -> KeyTables:
    """Not in a trace: the tables are copied once, and then change in their places."""
    game, tables, turns = (
      jax.tree.map(np.asarray, game),
      jax.tree.map(np.array, tables),
      jax.device_get(turns),
    )
    players = self.players(game)
    draws = self.draw(game, turns.key, players * self.block(game, batch), batch)
    for n in range(int(turns.first), int(turns.last)):
      now = Turn._make((np.int32(n % players), np.int32(turns.before + n // players + 1), draws[n]))
      tables = self.turn(game, tables, now, rule, batch)
    return tables

  def turn(self, game: Matchup, tables: KeyTables, turn: Turn, rule: Rule, batch: int) -> KeyTables:
    """The same tables, changed."""
    dtype, traverser = tables.regrets.dtype, int(turn.traverser)
    learning = Learning(
      *(view(np.asarray(x)) for x in (tables.regrets, tables.average.compensation, tables.learned)),
      fixed=None if game.fixed is None else view(game.fixed),
      weight=float(averages.weight(turn.iteration, rule.gamma, dtype)),
      decay=float(self.decay_at(turn.iteration, dtype)),
      floor=float(rule.floor),
    )
    choose, value, nodes = choices(np.asarray(turn.random)), 0.0, 0
    for _ in range(batch):
      result, met = self.play(game.game, learning, traverser, choose)
      value, nodes = value + result / batch, nodes + met
    counts, none = np.array(divmod(nodes, MILLION), np.int32), np.zeros(2, np.int32)
    return tables._replace(
      tally=tables.tally.add(turn, game, np.asarray(value), counts, none, np.asarray(False))
    )

  def play(self, game: KeyedGame, learning: Learning, traverser: int, choose: Choose) -> tuple[float, int]:
    """Play once and learn; the result to the traverser, and the number of decisions.

    The average is of the policies of all others; of the traverser's, if the opponent is fixed.
    """
    state, fixed, explored = game.game.new_initial_state(), learning.fixed, self.exploration
    path, nodes, weight, reach = list[Step](), 0, 1.0, 1.0
    while not state.is_terminal():
      if state.is_chance_node():
        actions, odds = zip(*state.chance_outcomes(), strict=True)
        state.apply_action(actions[choose(odds)])
        continue
      cells, actions = game.visit(state)
      player, nodes = state.current_player(), nodes + 1
      acts = player == traverser
      shares = drawn = matched((learning.regrets if acts or fixed is None else fixed)[cells].tolist())
      if acts:
        even = explored / len(shares)
        drawn = [even + (1 - explored) * share for share in shares]
      move = choose(drawn)
      if acts or fixed is None:
        path.append((cells, player, acts, shares, move, drawn[move], min(weight, self.most_weight), reach))
      if acts:
        weight /= drawn[move]
        reach *= shares[move] / drawn[move]
      state.apply_action(actions[move])
    values = state.returns()
    result = values[traverser]
    for step in reversed(path):
      values = self.learn(learning, step, values)
    return result, nodes

  def learn(self, learning: Learning, step: Step, after: list[float]) -> list[float]:
    """Bring the cells of a decision up to date; each player's value before it, from those after it."""
    regrets, compensation, learned, fixed, weight, decay, floor = learning
    cells, player, acts, shares, move, chosen, counts, reach = step
    corrected, known = self.estimate == "corrected", learned[cells.start + move]
    surprise = after[player] - known
    if acts or corrected:
      values = learned[cells].tolist()
      values[move] = known + (surprise / chosen if corrected else decay * surprise)
      mean = sum(map(operator.mul, shares, values))
      if corrected:  # of two players
        after = [mean, -mean] if player == 0 else [-mean, mean]
      if acts:
        for cell, worth in enumerate(values, cells.start):
          regrets[cell] = max(regrets[cell] + counts * (worth - mean), floor)
    averaged = weight * (counts if not acts else 0.0 if fixed is None else reach)
    if averaged:
      for cell, share in enumerate(shares, cells.start):
        compensation[cell] -= averaged * share
    learned[cells.start + move] = known + decay * surprise
    return after


def view(table: np.ndarray) -> memoryview[float]:
  """A table [S] whose elements are read and written faster than those of an array."""
  return memoryview(table.data)


def matched(weights: Sequence[float]) -> list[float]:
  """The policy of regret matching; shares in a sum."""
  positive = [weight if weight > 0 else 0.0 for weight in weights]
  if total := sum(positive):
    return [weight / total for weight in positive]
  return [1 / len(weights)] * len(weights)


def choices(seed: np.ndarray) -> Choose:
  """Choices with random numbers from a seed, never of a move without a share."""
  random, points = np.random.default_rng(seed), list[float]()

  def choose(shares: Sequence[float]) -> int:
    if not points:
      points.extend(random.random(1024).tolist())  # one at a time they would take as long as the game
    sums = [*itertools.accumulate(shares)]
    return bisect.bisect_right(sums, points.pop() * sums[-1])  # a number below 1 times x is below x

  return choose


def run(
  game: Matchup,
  state: SamplingState[KeyTables],
  iterations: int,
  *,
  sampler: Sampler[Matchup, KeyTables],
  rule: Rule,
  batch: int,
) -> SamplingState[KeyTables]:
  """See `mccfr.run`; plays of states are not traced."""
  method = {"sampler": sampler, "rule": rule, "batch": batch}
  if not isinstance(sampler, StatePlays):
    return mccfr.run(game, state, iterations, **method)
  with jax.disable_jit():
    return mccfr.iterate(game, state, iterations, **method)
