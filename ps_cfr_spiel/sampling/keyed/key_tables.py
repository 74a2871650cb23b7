"""The common part of samplers of keyed games: the game, the tables, and a record of the run."""

from typing import Any, NamedTuple

import numpy as np

from ps_cfr_spiel.cfr import averages
from ps_cfr_spiel.keyed_game import KeyedGame
from ps_cfr_spiel.sampling.mccfr import Turn
from ps_cfr_spiel.tree import Array

MILLION = 1_000_000


class Matchup(NamedTuple):
  """A keyed game, and the opponent if that one does not learn."""

  game: KeyedGame
  #: [S], weights of moves by which the opponent plays in every turn, or None. Samplers do not update it; the
  #: average then converges to a best response of the traverser. For two players.
  fixed: Any = None


class Tally(NamedTuple):
  """A record of all turns so far."""

  #: [], the mean result of plays or traversals for player 0, or for the traverser of a fixed opponent; with
  #: more than two players, of the turns of player 0.
  value: Array
  nodes: Array  #: int32[2], the number of decisions met: the millions, and the rest
  skipped: Array  #: int32[2], the number of pruned moves, likewise
  stopped: Array  #: bool[], whether a limit was reached, so that the tables are of no use

  @classmethod
  def empty(cls, dtype: str) -> "Tally":
    """The record before the first turn, on the host."""
    nothing: Any = np.zeros((), dtype), np.zeros(2, np.int32), np.zeros(2, np.int32), np.zeros((), bool)
    return cls(*nothing)

  def add(
    self,
    turn: Turn,
    matchup: Matchup,
    value: Array,
    nodes: Array,
    skipped: Array,
    stopped: Array,
  ) -> "Tally":
    """The record after a turn, whose mean result for the traverser is `value`; the rest as in the class."""
    dtype, told = self.value.dtype, 1
    to_learner = value if matchup.fixed is not None else (1 - 2 * turn.traverser) * value
    turns = 2 * turn.iteration.astype(dtype) - 1 + turn.traverser.astype(dtype)  # NumPy would promote
    if matchup.game.players > 2:
      told, to_learner = (turn.traverser == 0).astype(dtype), value
      turns = turn.iteration.astype(dtype)
    return Tally(
      self.value + told * (to_learner.astype(dtype) - self.value) / turns,
      add_counts(self.nodes, nodes),
      add_counts(self.skipped, skipped),
      self.stopped | stopped,
    )


class KeyTables(NamedTuple):
  """The tables of a run, [S] each."""

  regrets: Array  #: cumulative; with pruning at least the true ones
  average: averages.Sum  #: the sum of policies
  learned: Array  #: the learned values of moves, running means, to their players
  visits: Array  #: how often a move was valued; [0] where the sampler does not count
  #: how often a move was skipped since it was last valued, iteration t with the average's weight; [0]
  #: likewise.
  skipped: Array
  tally: Tally  #: the record of the run

  @classmethod
  def empty(cls, game: KeyedGame, dtype: str, counted: bool) -> "KeyTables":
    """The tables before the first turn, on the host; `counted` says whether visits are counted."""
    zeros: Any = np.zeros(game.cells, dtype)
    counts = zeros if counted else zeros[:0]
    return cls(zeros, averages.Sum(zeros, zeros), zeros, counts, counts, Tally.empty(dtype))


def add_counts(first: Array, second: Array) -> Array:
  """The sum of two numbers, int32[2] each: the millions, and the rest."""
  total = first + second
  return total + total[1] // MILLION * np.array([1, -MILLION], np.int32)
