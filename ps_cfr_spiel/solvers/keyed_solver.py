"""Solvers of games too large to enumerate: their base class, and external sampling."""

import jax
import numpy as np
import pyspiel
from jax.typing import ArrayLike

from ps_cfr_spiel.arguments import MOST, declared
from ps_cfr_spiel.backend.device import bytes_of, precision, to_device
from ps_cfr_spiel.cfr import RM, Rule
from ps_cfr_spiel.keyed_game import KeyedGame
from ps_cfr_spiel.loading import check_is_game
from ps_cfr_spiel.memory import LimitReachedError, check_needs, sampling_needs
from ps_cfr_spiel.options import KeyedExternalOptions, KeyedMCCFROptions
from ps_cfr_spiel.reports import report
from ps_cfr_spiel.sampling import keyed, mccfr
from ps_cfr_spiel.sampling.keyed import KeyedPolicy, KeyTables, Matchup
from ps_cfr_spiel.sampling.mccfr import Sampler
from ps_cfr_spiel.solvers.solver import Solver

ADVICE = "Fewer cells (or smaller parameters of a game that has its own) and a smaller batch need less"
DEAL = 2_000  # bytes of a game that is dealt, roughly
FIXED = "against"  # an array in files: the weights of a fixed opponent's moves


class KeyedSolver(Solver[KeyedPolicy]):
  """A solver of a keyed game.

  Exact evaluation is not available; matches measure the strength of the policies (`evaluation.match_play`).
  """

  rule: Rule
  _sampler: Sampler
  _form: KeyedGame
  _fixed: np.ndarray | None = None

  def _begin(
    self,
    game: pyspiel.Game,
    form: KeyedGame,
    sampler: Sampler,
    options: KeyedMCCFROptions | KeyedExternalOptions,
  ) -> None:
    """Make the tables; set every attribute but `rule` and, if the opponent is fixed, `_fixed`.

    `options` must have a batch.
    """
    self.game, self._form, self._sampler = game, form, sampler
    self.options, self.dtype = options, options.dtype
    self._check_memory()
    with precision(self.dtype):
      self._matchup = to_device(Matchup(form, self._fixed), self.dtype)
      self._state = mccfr.init(Matchup(form), sampler, options.seed, self.dtype)

  def _check_memory(self) -> None:
    """TooLarge, a ValueError, if the tables or the deals of a batch need more memory than is free."""
    game, form, batch = self.game, self._form, self.options.batch
    tables = bytes_of(self._sampler.init(Matchup(form), self.dtype))
    at_once = 0 if isinstance(self._sampler, keyed.StatePlays) else batch  # native code deals a batch at once
    needs = sampling_needs(tables, DEAL * at_once)
    what = f"{self.name} on {game} with {form.cells:,} cells and batch={batch:,}"
    check_needs(what, needs, None, ADVICE)

  @property
  def plays(self) -> int:
    """Games played or traversed so far."""
    return self._form.players * self.options.batch * self.iteration

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
  def cells(self) -> int:
    """The number of moves that the average policy has a weight of."""
    return int(np.count_nonzero(np.asarray(self._state.tables.average.total) > 0))

  @property
  def _tally(self) -> keyed.Tally:
    return self._state.tables.tally

  @property
  def against(self) -> KeyedPolicy | None:
    """The agent that plays the other side, or None if that side learns too."""
    return None if self._fixed is None else KeyedPolicy(self._form, self._fixed, {})

  def start_from(self, earlier: "KeyedSolver") -> None:
    """Take over, before the first iteration, the tables of a smaller game's run at the keys of this game.

    The average policy counts as one visit in the first iteration, the other tables unchanged. So the bounds
    of a run that begins with empty tables do not hold for this one.
    ValueError if this run has begun, the games share no keys, or the other solver learns in another way.
    """
    if self.iteration:
      raise ValueError(
        f"start_from: this run has done {self.iteration:,} iterations; only a new one can start."
      )
    if not isinstance(earlier, KeyedSolver):
      raise ValueError(f"start_from: expected a solver of a keyed game, got {type(earlier).__name__}.")
    if (shared := self._form.shared(earlier._form)) is None:
      raise ValueError(
        f"start_from: {self.game} shares no keys with {earlier.game}; one game of cheat does with another."
      )
    if not isinstance(earlier, type(self)):
      raise ValueError(f"start_from: {earlier.description} has not learned as {self.description} does.")
    theirs: KeyTables = earlier._sampler.scaled(earlier._state.tables, earlier._unit)
    tables = keyed.warm_started(theirs, self._state.tables, *shared)
    with precision(self.dtype):
      self._state = self._state._replace(tables=to_device(tables, self.dtype))

  @property
  def _unit(self) -> float:
    """The factor by which sums with weights t ** gamma are larger than the tables hold them (`averages`)."""
    return float(2 ** (max(self.iteration, 1).bit_length() - 1)) ** self.rule.gamma

  def summary(self):
    tables = sum(x.nbytes for x in jax.tree.leaves(self._state.tables))
    cells = f"{self._form.cells:,} moves of keys"
    return report({"game": self.game, "cells": cells, "tables": f"{tables / 1e6:,.3g} MB"})

  def _step(self, state, iterations):
    method = {"sampler": self._sampler, "rule": self.rule, "batch": self.options.batch}
    try:
      later = keyed.run(self._matchup, state, iterations, **method)
    except (OverflowError, ValueError) as error:  # of a key that was met
      raise LimitReachedError(str(error)) from error
    if bool(later.tables.tally.stopped):
      raise LimitReachedError(self._limit())
    return later

  def _arrays(self):
    fixed = {} if self._fixed is None else {FIXED: self._fixed}
    return {**fixed, **self._form.arrays()}

  def _obstacle(self):
    return "its run had stopped at a limit; no run is saved there" if self._tally.stopped else None

  def _limit(self) -> str:
    """The message of a traversal that was given up, and how to go on."""
    return f"A traversal of {self.game} was given up at iteration {self.iteration + 1:,}."

  def _policy(self, average):
    tables = self._state.tables
    sums = np.maximum(tables.average.total if average else tables.regrets, 0)
    return KeyedPolicy(self._form, sums, self._policy_info(average))


class KeyedExternalSolver(KeyedSolver):
  """External sampling, with linear weights, of a game that is not enumerated; see `keyed.Traversals`."""

  options_type = KeyedExternalOptions
  options: KeyedExternalOptions

  def __init__(
    self, game: pyspiel.Game, options: KeyedExternalOptions | str | None = None, **keywords: object
  ):
    """Make the tables; nothing is compiled yet. ValueError for a wrong option or game.

    Args:
      game: one with a method `keyed_form`, and native code.
      options: all options, or the pruning alone.
      **keywords: options by name; see `KeyedExternalOptions`.
    """
    options = KeyedExternalOptions.of(options, **keywords)
    form = keyed_form(game)
    if reason := form.why_not_native():
      raise ValueError(f"{game} cannot be traversed here: {reason}.")
    self.rule = RM(gamma=1.0)
    limits = options.most_nodes, options.depth or MOST, 1 if options.updates == "at_once" else MOST
    self._begin(game, form, keyed.Traversals(options.pruning, options.decay, *limits), options)

  def _limit(self):
    return (
      f"A traversal of {self.game} met {self.options.most_nodes:,} decisions and was given up at iteration "
      f"{self.iteration + 1:,}. A depth, or a shorter game (in cheat: fewer max_turns), is traversed sooner; "
      "KeyedMCCFRSolver plays games of any length, and most_nodes raises the limit."
    )


def keyed_form(game: pyspiel.Game, key: str | None = None) -> KeyedGame:
  """The game with its keys, of a kind of its own or the default; ValueError for a game without that form."""
  check_is_game(game)
  make = declared(game, "keyed_form")
  if make is None:
    raise ValueError(
      f"{game} has no keyed_form() in its own class, rules that can be traversed; cheat has one."
    )
  form = make()
  if key is not None and isinstance(form, KeyedGame) and key != form.key:
    form = make(key)  # a game with keys of one kind needs no argument
  if not isinstance(form, KeyedGame):
    raise TypeError(
      f"{type(game).__name__}.keyed_form() must return a ps_cfr_spiel.keyed_game.KeyedGame, got {form!r}."
    )
  return form


def _counted(number: ArrayLike) -> int:
  """A number from its millions and its rest."""
  millions, rest = np.asarray(number).tolist()
  return keyed.MILLION * millions + rest
