"""Traversals of a keyed game by its own native code, one after the other.

External sampling (Lanctot et al. 2009, Section 3.2) with the pruning of Brown and Sandholm (2015, 2017; Yi
and Kaneko, Section 2.4), in sampled form: billions of decisions one after the other do not suit arrays, so
the game traverses itself (`KeyedGame.traverse`).

The opponent's moves are sampled, so moves that the opponent never plays are not visited: partial pruning is
part of the method. A move that is not played and has a negative regret may be skipped. Each skipped visit
adds the most that the move could have brought, U - v, so that the regret that is kept is never below the true
one, and when it rises above 0 the move is traversed again; regret matching's bound holds for the kept
regrets, whose increments are as bounded as others'. That is `regret`, for at most T' visits (equation 12, in
sampled values). With `best_response` this loan is then called in: the skipped visits are entered with
the value that the move has against the opponent's average strategy, by which the opponent plays in the
subtree that is opened again (11, with the widest x of 10, for which the current strategy below is a T-near
counterfactual best response). The reach in condition 13 is that of the sampling itself: only visits count.
"""

import dataclasses
import math

import jax
import jax.numpy as jnp

from ps_cfr_spiel.arguments import MOST
from ps_cfr_spiel.cfr import Rule, averages
from ps_cfr_spiel.options import PRUNINGS
from ps_cfr_spiel.sampling.keyed.key_tables import KeyTables, Matchup
from ps_cfr_spiel.sampling.mccfr import Sampler, Turn

# Options of native code that external sampling does not have.
NO_PLAYS = {"sampling": 0, "estimate": 0, "exploration": 1.0, "most_weight": 1.0, "floor": -math.inf}


@dataclasses.dataclass(frozen=True)
class Traversals(Sampler[Matchup, KeyTables]):
  """External sampling: all moves of the traverser, one of each other player's.

  Regrets, and skipped visits, are weighted as the average is (linear CFR, if the rule's gamma is 1).
  """

  pruning: str  #: one of `options.PRUNINGS`
  decay: float  #: least weight of the newest value in a running mean
  most_nodes: int  #: decisions after which a traversal is given up
  #: most decisions of the traverser, one below the other, that are traversed; one play by the current
  #: policies follows, from which nothing is learned.
  depth: int = MOST
  #: decisions of the traverser after which the tables learn; they do so after every traversal at the latest.
  #: With 1, a key to which a traversal comes again has another policy, and moves to skip. (A key that forgets
  #: nothing comes only once.)
  decisions: int = MOST

  def init(self, game: Matchup, dtype: str) -> KeyTables:
    return KeyTables.empty(game.game, dtype, counted=True)

  def players(self, game: Matchup) -> int:
    return game.game.players

  def scaled(self, tables: KeyTables, scale: jax.Array | float) -> KeyTables:
    return tables._replace(regrets=tables.regrets * scale, skipped=tables.skipped * scale)

  def turn(self, game: Matchup, tables: KeyTables, turn: Turn, rule: Rule, batch: int) -> KeyTables:
    """Policies change from one traversal to the next, also within a turn."""
    options = {
      "most_nodes": self.most_nodes,
      "depth": self.depth,
      "decisions": self.decisions,
      "pruning": PRUNINGS.index(self.pruning),
    }
    decay = jnp.asarray(self.decay, tables.regrets.dtype)
    return traverse(game, tables, turn, rule, decay, batch, {**NO_PLAYS, **options})


def traverse(
  game: Matchup,
  tables: KeyTables,
  turn: Turn,
  rule: Rule,
  decay: jax.Array,
  batch: int,
  options: dict[str, float],
) -> KeyTables:
  """The tables after a turn of native code."""
  weight, sums = averages.weight(turn.iteration, rule.gamma, tables.regrets.dtype), tables.average.average
  assert sums is not None
  learning = tables.regrets, tables.average.compensation, tables.learned, tables.visits, tables.skipped
  (regrets, compensation, learned, visits, skipped), values, counts = game.game.traverse(
    learning, sums, game.fixed, turn.traverser, weight, decay, turn.random, batch, options
  )
  average = tables.average._replace(compensation=compensation)
  tally = tables.tally.add(turn, game, values.mean(), counts[:2], counts[2:4], counts[4] > 0)
  return KeyTables(regrets, average, learned, visits, skipped, tally)
