"""Games too large to walk, in OpenSpiel's shape, over `simulated.solve`.

What solvers of played games share, and `PlayedExternalSolver`, which learns from traversals.
"""

from typing import Any

import jax
import numpy as np
import pyspiel

from ps_cfr_spiel import simulated
from ps_cfr_spiel.arguments import (
  MOST,
  check_count,
  check_integer,
  check_number,
  check_option,
)
from ps_cfr_spiel.compiler import check_needs
from ps_cfr_spiel.device import check_dtype, precision, to_device
from ps_cfr_spiel.reports import report
from ps_cfr_spiel.simulated import (
  PRUNINGS,
  HostGame,
  PlayedGame,
  Sampler,
  Trajectories,
  Traversals,
  table_size,
)
from ps_cfr_spiel.solvers.played_policy import PlayedPolicy
from ps_cfr_spiel.solvers.solver import Solver

ADVICE = "Fewer cells (or smaller parameters of a game that has its own) and a smaller batch need less"
STATE, STEP = 2_000, 12  # bytes of a play's state, roughly; numbers kept of each of its moves
SAVED_KEYS = ("digests", "players", "counts")  # what files keep of the keys of a game on the host
UPDATES = ("auto", "together", "at_once")
FIXED = "against"  # likewise, the weights of a fixed opponent's moves


class LimitReachedError(RuntimeError):
  """A run came to a limit that was set for it; it is as it was before."""


class PlayedSolver(Solver[PlayedPolicy]):
  """What the solvers of played games share.

  Their policies cannot be evaluated exactly; matches say how good they are (`evaluation.matches`).

  Attributes:
    game: a game with a method `played_form`, which is that of `PlayedGame`; or, for plays, any other.
    batch: plays or traversals of each player's turn; an iteration has 2 x batch.
    seed: of the random numbers.
    dtype: "float32" or "float64".
  """

  batch: int
  seed: int
  _sampler: Sampler
  _host: PlayedGame
  _fixed: np.ndarray | None = None

  def _begin(
    self, game: pyspiel.Game, host: PlayedGame, sampler: Sampler, batch: int, seed: int, dtype: str
  ) -> None:
    """Makes the tables; `_fixed` is set, if the opponent is."""
    self.game, self._host, self._sampler = game, host, sampler
    self.batch, self.seed = check_count("batch", batch, 1), check_integer("seed", seed, 0)
    self.dtype = check_dtype(dtype)
    self._check_memory()
    with precision(self.dtype):
      self._played, self._opponent = to_device((self._host, self._fixed), self.dtype)
      self._state = simulated.init(self._host, sampler, self.seed, self.dtype)

  def _check_memory(self) -> None:
    """TooLarge, a ValueError, if the tables or the plays of a batch would not fit into what is free."""
    game, host = self.game, self._host
    number = np.dtype(self.dtype).itemsize
    tables = len(jax.tree.leaves(self._sampler.tables(np.zeros(1))))
    needs = {"for tables, before and after a part of a run": 2 * tables * number * table_size(host)}
    if isinstance(self._sampler, Trajectories):  # others play one after the other
      needs["for the plays of a batch"] = self.batch * (STATE + STEP * number * host.longest)
    what = f"{self.name} on {game} with {host.cells:,} cells and batch={self.batch:,}"
    check_needs(what, needs, None, ADVICE)

  @property
  def plays(self) -> int:
    """Games played or traversed so far."""
    return 2 * self.batch * self.iteration

  @property
  def nodes(self) -> int:
    """Decisions of players met so far."""
    return _counted(self._state.nodes)

  @property
  def skipped(self) -> int:
    """Moves that were pruned so far; what would have followed them is not counted."""
    return _counted(self._state.skipped)

  @property
  def game_value(self) -> float:
    """The mean of all iterations of what plays brought to player 0; against an agent, to the learner."""
    return float(self._state.value)

  @property
  def against(self) -> PlayedPolicy | None:
    """The agent that plays the other side, if that does not learn too."""
    return None if self._fixed is None else PlayedPolicy(self.game, self._host, self._fixed, {})

  def start_from(self, earlier: "PlayedSolver") -> None:
    """Takes over, before the first iteration, what a run of a smaller game has learned at keys of this one.

    Its average policy counts as one visit in the first iteration, the other tables are taken as they are. So
    the bounds that hold for a run begun with nothing do not hold for this one.

    Raises:
      ValueError: this run has begun, or the other is of a game without these keys, or learned in another way.
    """
    if self.iteration:
      raise ValueError(
        f"start_from: this run has done {self.iteration:,} iterations; only a new one can start."
      )
    if not isinstance(earlier, PlayedSolver):
      raise ValueError(f"start_from: expected a solver of a played game, got {type(earlier).__name__}.")
    mine, theirs = self._state.tables, earlier._state.tables
    host: Any = self._host
    if not (hasattr(host, "shared") and type(earlier._host) is type(host)):
      raise ValueError(
        f"start_from: {self.game} shares no keys with {earlier.game}; one game of cheat does with another."
      )
    if not (isinstance(earlier, type(self)) and type(theirs) is type(mine)):
      raise ValueError(f"start_from: {earlier.description} has not learned as {self.description} does.")
    tables = simulated.taken_over(theirs, table_size(host), *host.shared(earlier._host))
    with precision(self.dtype):
      self._state = self._state._replace(tables=to_device(tables, self.dtype))

  def summary(self):
    """The number of cells and the bytes of the tables, as lines of text."""
    tables = sum(x.nbytes for x in jax.tree.leaves(self._state.tables))
    cells = f"{self._host.cells:,} moves of keys"
    return report({"game": self.game, "cells": cells, "tables": f"{tables / 1e6:,.3g} MB"})

  def _step(self, state, iterations):
    options = {"sampler": self._sampler, "batch": self.batch}
    return simulated.solve(self._played, state, iterations, self._opponent, **options)

  def _advance(self, iterations):
    before = self._state
    super()._advance(iterations)
    if bool(self._state.stopped):
      self._state = before
      raise LimitReachedError(self._limit())

  def _arrays(self):
    fixed = {} if self._fixed is None else {FIXED: self._fixed}
    if not isinstance(self._host, HostGame):
      return fixed
    return {**fixed, **dict(zip(SAVED_KEYS, self._host.table.arrays(), strict=True))}

  def _obstacle(self):
    return "its run had stopped at a limit, where none is saved" if self._state.stopped else None

  def _limit(self) -> str:
    """Which limit a run came to, and what to do."""
    raise NotImplementedError

  def _policy(self, average):
    tables = self._state.tables
    own = np.array(tables.average if average else tables.regrets)
    return PlayedPolicy(self.game, self._host, own, self._policy_info(average))


class PlayedExternalSolver(PlayedSolver):
  """Monte Carlo CFR on traversals of a game that cannot be walked; see `simulated.Traversals`.

  Attributes:
    pruning: "none", "regret" or "best_response".
    decay: least weight of the newest value of a move in its running mean.
    most_nodes: decisions after which a traversal is given up.
    updates: "at_once" or "together", see `__init__`.
    depth: how many decisions of the traverser are traversed before the rest is played; None: all.
    game, batch, seed, dtype: see `PlayedSolver`.
  """

  def __init__(
    self,
    game: pyspiel.Game,
    pruning: str = "best_response",
    decay: float = 0.05,
    most_nodes: int = 2_000_000_000,
    batch: int = 1,
    seed: int = 0,
    dtype: str = "float32",
    updates: str = "auto",
    depth: int | None = None,
  ):
    """Makes the tables; nothing is compiled yet.

    Args:
      game: see the class.
      pruning: see the class.
      decay: in [0, 1]; at 0 it is the mean of all values.
      most_nodes: at least 1.
      batch: at least 1.
      seed: see the class.
      dtype: see the class.
      updates: when the tables learn. "at_once" ("auto"): after every decision, so that moves may be skipped
        where a traversal comes to a key again, as it does if keys forget the past. "together": after every
        traversal.
      depth: at least 1. Beyond it a traversal goes on as one play by the current policies, so that long games
        can be traversed; keys that occur only there are not learned.

    Raises:
      ValueError: an argument is not one of the allowed, or the game cannot be traversed here.
    """
    self.pruning = check_option("pruning", pruning, PRUNINGS)
    self.decay = check_number("decay", decay, 0, 1)
    self.most_nodes = check_count("most_nodes", most_nodes, 1)
    host = played_form(game)
    check_traversed(game, host)
    self.updates = "together" if check_option("updates", updates, UPDATES) == "together" else "at_once"
    at_once = self.updates == "at_once"
    self.depth = None if depth is None else check_count("depth", depth, 1)
    limits = self.most_nodes, self.depth or MOST
    sampler = Traversals("external", self.pruning, 1, self.decay, 1, *limits, at_once)
    self._begin(game, host, sampler, batch, seed, dtype)

  def _limit(self):
    return (
      f"A traversal of {self.game} met {self.most_nodes:,} decisions and was given up at iteration "
      f"{self.iteration + 1:,}. A depth, or a shorter game (in cheat: fewer max_turns), is traversed sooner; "
      "PlayedMCCFRSolver plays games of any length, and most_nodes raises the limit."
    )


def played_form(game: pyspiel.Game) -> PlayedGame:
  """The game on arrays; ValueError if it has no such form."""
  if not hasattr(game, "played_form"):
    raise ValueError(f"{game} has no played_form(), rules that can be traversed; cheat for two has one.")
  form: Any = game
  return form.played_form()


def obstacle_of(host: Any) -> str:
  """Why a played form cannot traverse itself, "" if it can."""
  return (
    host.why_unavailable() if hasattr(host, "traverse") else "its played form has no native code for that"
  )


def check_traversed(game: pyspiel.Game, host: PlayedGame) -> None:
  """ValueError if a game cannot traverse itself."""
  if reason := obstacle_of(host):
    raise ValueError(f"{game} cannot be traversed here: {reason}.")


def _counted(number: Any) -> int:
  """A number from its millions and its rest."""
  millions, rest = np.asarray(number).tolist()
  return simulated.MILLION * millions + rest
