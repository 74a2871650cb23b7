"""Solvers of games too large to enumerate: their base class, and external sampling."""

from typing import Any

import jax
import numpy as np
import pyspiel

from ps_cfr_spiel import mccfr, simulated
from ps_cfr_spiel.arguments import MOST, declared
from ps_cfr_spiel.cfr import RM, Rule
from ps_cfr_spiel.device import bytes_of, precision, to_device
from ps_cfr_spiel.histories import check_is_game
from ps_cfr_spiel.mccfr import Sampler
from ps_cfr_spiel.memory import check_needs, sampling_needs
from ps_cfr_spiel.options import SimulatedExternalOptions, SimulatedMCCFROptions
from ps_cfr_spiel.reports import report
from ps_cfr_spiel.simulated import HostGame, KeyTables, SimulatedGame, Simulation, Trajectories
from ps_cfr_spiel.solvers.keyed_policy import SimulatedPolicy
from ps_cfr_spiel.solvers.solver import Solver

ADVICE = "Fewer cells (or smaller parameters of a game that has its own) and a smaller batch need less"
STATE, STEP = 2_000, 12  # bytes of a play's state, roughly; numbers kept of each of its moves
SAVED_KEYS = ("digests", "players", "counts")  # arrays in files: the keys of a game on the host
FIXED = "against"  # likewise, the weights of a fixed opponent's moves


class LimitReachedError(RuntimeError):
  """The run reached a limit; its state is unchanged."""


class SimulatedSolver(Solver[SimulatedPolicy]):
  """A solver of a simulated game.

  Exact evaluation is not available; matches measure the strength of the policies (`evaluation.match_play`).
  """

  rule: Rule
  _sampler: Sampler
  _host: SimulatedGame
  _fixed: np.ndarray | None = None

  def _begin(
    self,
    game: pyspiel.Game,
    host: SimulatedGame,
    sampler: Sampler,
    options: SimulatedMCCFROptions | SimulatedExternalOptions,
  ) -> None:
    """Make the tables; set every attribute but `rule` and, if the opponent is fixed, `_fixed`.

    `options` must have a batch.
    """
    self.game, self._host, self._sampler = game, host, sampler
    self.options, self.dtype = options, options.dtype
    self._check_memory()
    with precision(self.dtype):
      self._simulation = to_device(Simulation(host, self._fixed), self.dtype)
      self._state = mccfr.init(Simulation(host), sampler, options.seed, self.dtype)

  def _check_memory(self) -> None:
    """TooLarge, a ValueError, if the tables or the plays of a batch need more memory than is free."""
    game, host = self.game, self._host
    tables = bytes_of(self._sampler.init(Simulation(host), self.dtype))
    moves = host.longest if type(self._sampler) is Trajectories else 0  # others only deal a batch at once
    plays = self.options.batch * (STATE + STEP * np.dtype(self.dtype).itemsize * moves)
    needs = sampling_needs(tables, plays)
    what = f"{self.name} on {game} with {host.cells:,} cells and batch={self.options.batch:,}"
    check_needs(what, needs, None, ADVICE)

  @property
  def plays(self) -> int:
    """Games played or traversed so far."""
    return 2 * self.options.batch * self.iteration

  @property
  def nodes(self) -> int:
    """Decisions of players met so far."""
    return _counted(self._tally.nodes)

  @property
  def skipped(self) -> int:
    """Pruned moves so far, without the moves that would have followed."""
    return _counted(self._tally.skipped)

  @property
  def game_value(self) -> float:
    """The mean result of all plays for player 0; against an agent, for the learner."""
    return float(self._tally.value)

  @property
  def _tally(self) -> simulated.Tally:
    return self._state.tables.tally

  @property
  def against(self) -> SimulatedPolicy | None:
    """The agent that plays the other side, or None if that side learns too."""
    return None if self._fixed is None else SimulatedPolicy(self.game, self._host, self._fixed, {})

  def start_from(self, earlier: "SimulatedSolver") -> None:
    """Take over, before the first iteration, the tables of a smaller game's run at the keys of this game.

    The average policy counts as one visit in the first iteration, the other tables as they are. So the bounds
    of a run that begins with empty tables do not hold for this one.
    ValueError if this run has begun, the games share no keys, or the other solver learns in another way.
    """
    if self.iteration:
      raise ValueError(
        f"start_from: this run has done {self.iteration:,} iterations; only a new one can start."
      )
    if not isinstance(earlier, SimulatedSolver):
      raise ValueError(f"start_from: expected a solver of a simulated game, got {type(earlier).__name__}.")
    host: Any = self._host
    if not (hasattr(host, "shared") and type(earlier._host) is type(host)):
      raise ValueError(
        f"start_from: {self.game} shares no keys with {earlier.game}; one game of cheat does with another."
      )
    if not isinstance(earlier, type(self)):
      raise ValueError(f"start_from: {earlier.description} has not learned as {self.description} does.")
    theirs: KeyTables = earlier._sampler.scaled(earlier._state.tables, earlier._unit)
    tables = simulated.warm_started(theirs, self._state.tables, *host.shared(earlier._host))
    with precision(self.dtype):
      self._state = self._state._replace(tables=to_device(tables, self.dtype))

  @property
  def _unit(self) -> float:
    """The factor by which sums with weights t ** gamma are larger than the tables hold them (`averages`)."""
    return float(2 ** (max(self.iteration, 1).bit_length() - 1)) ** self.rule.gamma

  def summary(self):
    tables = sum(x.nbytes for x in jax.tree.leaves(self._state.tables))
    cells = f"{self._host.cells:,} moves of keys"
    return report({"game": self.game, "cells": cells, "tables": f"{tables / 1e6:,.3g} MB"})

  def _step(self, state, iterations):
    options = {"sampler": self._sampler, "rule": self.rule, "batch": self.options.batch}
    later = mccfr.run(self._simulation, state, iterations, **options)
    if bool(later.tables.tally.stopped):
      raise LimitReachedError(self._limit())
    return later

  def _arrays(self):
    fixed = {} if self._fixed is None else {FIXED: self._fixed}
    if not isinstance(self._host, HostGame):
      return fixed
    return {**fixed, **dict(zip(SAVED_KEYS, self._host.table.arrays(), strict=True))}

  def _obstacle(self):
    return "its run had stopped at a limit; no run is saved there" if self._tally.stopped else None

  def _limit(self) -> str:
    """The message of a limit that was reached: the limit, and how to go on."""
    raise NotImplementedError

  def _policy(self, average):
    tables = self._state.tables
    own = np.array(tables.average.total if average else tables.regrets)
    return SimulatedPolicy(self.game, self._host, own, self._policy_info(average))


class SimulatedExternalSolver(SimulatedSolver):
  """External sampling, with linear weights, of a game that is not enumerated; see `simulated.Traversals`."""

  options_type = SimulatedExternalOptions
  options: SimulatedExternalOptions

  def __init__(
    self, game: pyspiel.Game, options: SimulatedExternalOptions | str | None = None, **keywords: Any
  ):
    """Make the tables; nothing is compiled yet. ValueError for a wrong option or game.

    Args:
      game: one with a method `simulated_form`.
      options: all options, or the pruning alone.
      **keywords: options by name; see `SimulatedExternalOptions`.
    """
    options = SimulatedExternalOptions.of(options, **keywords)
    host = simulated_form(game)
    check_traversed(game, host)
    options = options.changed(updates="together" if options.updates == "together" else "at_once")
    self.rule = RM(gamma=1.0)
    limits = options.most_nodes, options.depth or MOST, 1 if options.updates == "at_once" else MOST
    self._begin(game, host, simulated.Traversals(options.pruning, options.decay, *limits), options)

  def _limit(self):
    return (
      f"A traversal of {self.game} met {self.options.most_nodes:,} decisions and was given up at iteration "
      f"{self.iteration + 1:,}. A depth, or a shorter game (in cheat: fewer max_turns), is traversed sooner; "
      "SimulatedMCCFRSolver plays games of any length, and most_nodes raises the limit."
    )


def simulated_form(game: pyspiel.Game, key: str | None = None) -> SimulatedGame:
  """The game on arrays, with a key of its own or its default; ValueError for a game without that form."""
  check_is_game(game)
  form = declared(game, "simulated_form")
  if form is None:
    raise ValueError(
      f"{game} has no simulated_form() in its own class, rules that can be traversed; cheat for two has one."
    )
  return form() if key is None else form(key)


def obstacle_of(host: Any) -> str:
  """Why a simulated form cannot traverse itself, "" if it can."""
  native = declared(host, "traverse") is not None
  return host.why_unavailable() if native else "its simulated form has no native code for that"


def check_traversed(game: pyspiel.Game, host: SimulatedGame) -> None:
  """ValueError if a game cannot traverse itself."""
  if reason := obstacle_of(host):
    raise ValueError(f"{game} cannot be traversed here: {reason}.")


def _counted(number: Any) -> int:
  """A number from its millions and its rest."""
  millions, rest = np.asarray(number).tolist()
  return simulated.MILLION * millions + rest
