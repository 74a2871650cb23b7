"""Monte Carlo CFR on plays of a game too large to enumerate: of both sides, or against a fixed agent."""

import math
from collections.abc import Sequence

import numpy as np
import pyspiel

from ps_cfr_spiel import storage
from ps_cfr_spiel.arguments import declared
from ps_cfr_spiel.backend.device import check_finite
from ps_cfr_spiel.cfr import RMPlus
from ps_cfr_spiel.keyed_game import KeyedGame
from ps_cfr_spiel.loading import game_in, sequential
from ps_cfr_spiel.options import KeyedMCCFROptions
from ps_cfr_spiel.sampling import keyed, mccfr
from ps_cfr_spiel.sampling.keyed import SAVED_KEYS, KeyedPolicy, OpenSpielKeys
from ps_cfr_spiel.solvers.keyed_solver import FIXED, KeyedSolver, keyed_form

DEFAULT_RULE = RMPlus(gamma=4.0)
MOST_PLAYS = 2**20  # of states under one strategy: about a minute, in which nothing is shown or interrupted


class KeyedMCCFRSolver(KeyedSolver):
  """Monte Carlo CFR on plays of a game that is not enumerated."""

  options_type = KeyedMCCFROptions
  options: KeyedMCCFROptions

  def __init__(self, game: pyspiel.Game, options: KeyedMCCFROptions | str | None = None, **keywords: object):
    """Make the tables; nothing is compiled yet.

    ValueError for a wrong option or game, or if its tables do not fit into the memory that is free; TypeError
    if `game` is not a game.

    Args:
      game: one with a method `keyed_form`, or any other.
      options: all options, or the estimate alone.
      **keywords: options by name; see `KeyedMCCFROptions`.
    """
    options = KeyedMCCFROptions.of(options, **keywords)
    game = sequential(game)
    self.rule = mccfr.check_rule(DEFAULT_RULE if options.rule is None else options.rule)
    against, key, keys = options.against, options.key, options.keys
    if isinstance(against, KeyedPolicy):
      key, keys = _agent_keys(game, against, key)
    form = _form_of(game, key, options.cells, keys)
    self._fixed = None if against is None else _agent_table(form, against, options.dtype)
    if form.players > 2:
      _check_for_several(form, options)
    native = not form.why_not_native()
    batch = options.batch or (4096 if native else 256)
    options = options.changed(
      rule=self.rule,
      key=form.key,
      cells=form.cells if isinstance(form, OpenSpielKeys) else None,
      batch=batch,
    )
    if not native and batch > MOST_PLAYS:
      raise ValueError(
        f"batch={batch:,}: of plays of OpenSpiel's states, which nothing interrupts within an "
        f"iteration, at most {MOST_PLAYS:,} are allowed; choose a smaller batch and more iterations."
      )
    sampler = (keyed.NativePlays if native else keyed.StatePlays)(
      options.estimate,
      options.exploration,
      options.decay,
      options.decay_power,
      options.most_weight if options.estimate == "learned" else math.inf,
    )
    self._begin(game, form, sampler, options)

  @classmethod
  def _from_arrays(cls, file):
    keys = {"keys": _saved_keys(file)} if "players" in file.shapes else {}
    against = {"against": file.arrays(file.shapes)[FIXED]} if FIXED in file.shapes else {}
    return {**keys, **against}


def _form_of(
  game: pyspiel.Game, key: str | None, cells: int | None, keys: Sequence[np.ndarray] | None
) -> KeyedGame:
  """The game with keys of its own, or of OpenSpiel's strings; ValueError if neither is available.

  A number of cells asks for strings in any game.
  """
  counted = declared(game, "keyed_form") is not None
  if cells is not None or not counted:
    usual = "observation" if counted else "infostate"
    return OpenSpielKeys(game, usual if key is None else key, keyed.CELLS if cells is None else cells, keys)
  if keys is not None:
    raise ValueError(f"{game} has its own keys; leave out those of another game.")
  return keyed_form(game, key)


def _check_for_several(form: KeyedGame, options: KeyedMCCFROptions) -> None:
  """ValueError for options that are for two players alone."""
  if options.estimate != "learned":
    raise ValueError(
      f"estimate={options.estimate!r} is for two players, and {form.game} has {form.players}; leave it out, "
      f"and plays learn by estimate='learned'."
    )
  if options.against is not None:
    raise ValueError(
      f"against: a best response is learned in games for two, and {form.game} has {form.players} players; "
      f"matches.match and matches.search_response put an agent against them."
    )


def _agent_keys(
  game: pyspiel.Game, agent: KeyedPolicy, key: str | None
) -> tuple[str, Sequence[np.ndarray] | None]:
  """The key and keys that a run against an agent begins with; ValueError if it does not play this game."""
  if str(agent.game) != str(game):
    raise ValueError(f"against: the agent plays {agent.game}, not {game}.")
  form = agent.form
  if key not in (None, form.key):
    raise ValueError(f"key={key!r}: the agent that this run is against has the key {form.key!r}.")
  return form.key, form.table.arrays() if isinstance(form, OpenSpielKeys) else None


def _agent_table(form: KeyedGame, agent: KeyedPolicy | np.ndarray, dtype: str) -> np.ndarray:
  """An agent's weights of moves [S], 0 where it has not been; ValueError if they do not fit."""
  table = np.zeros(form.cells, dtype)
  if isinstance(agent, KeyedPolicy):
    weights = agent.table[: form.cells]  # the keys are the same, the number of cells may differ
    table[: len(weights)] = weights
  else:
    given = np.asarray(agent)
    if given.shape != table.shape or given.dtype.kind not in "iuf" or not (given >= 0).all():
      raise ValueError(
        f"against: expected an agent, or {len(table):,} weights of moves, at least 0; got "
        f"{given.dtype}{list(given.shape)}."
      )
    with np.errstate(over="ignore"):
      table[:] = given
  check_finite("against", table, dtype)
  return table


def _saved_keys(file: storage.Stored) -> list[np.ndarray]:
  """The keys in the file of a game of OpenSpiel's; ValueError if they cannot be keys."""
  count, whole = file.shapes.get("players", ((0,), None))[0][0:1], np.dtype(np.int32)
  wanted = zip(
    SAVED_KEYS,
    (((*count, keyed.DIGEST), np.dtype(np.uint8)), (count, whole), (count, whole)),
    strict=True,
  )
  arrays = file.arrays({**file.shapes, **dict(wanted)})
  keys = [arrays[name] for name in SAVED_KEYS]
  try:
    keyed.check_keys(keys, game_in(file.header, file.path).num_players())
  except ValueError as error:
    raise ValueError(f"{file.path} is damaged: {error}") from error
  return keys
