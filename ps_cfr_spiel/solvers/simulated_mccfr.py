"""Monte Carlo CFR on plays of a game too large to enumerate: of both sides, or against a fixed agent."""

from typing import Any

import numpy as np
import pyspiel

from ps_cfr_spiel import mccfr, simulated, storage
from ps_cfr_spiel.arguments import declared
from ps_cfr_spiel.cfr import RMPlus
from ps_cfr_spiel.device import check_finite
from ps_cfr_spiel.histories import sequential
from ps_cfr_spiel.options import SimulatedMCCFROptions
from ps_cfr_spiel.simulated import HostGame, SimulatedGame
from ps_cfr_spiel.solvers.keyed_policy import SimulatedPolicy
from ps_cfr_spiel.solvers.simulated import (
  FIXED,
  SAVED_KEYS,
  SimulatedSolver,
  check_traversed,
  obstacle_of,
  simulated_form,
)

DEFAULT_RULE = RMPlus(gamma=4.0)


class SimulatedMCCFRSolver(SimulatedSolver):
  """Monte Carlo CFR on plays of a game that is not enumerated."""

  options_type = SimulatedMCCFROptions
  options: SimulatedMCCFROptions

  def __init__(self, game: pyspiel.Game, options: SimulatedMCCFROptions | str | None = None, **keywords: Any):
    """Make the tables; nothing is compiled yet.

    ValueError for a wrong option or game, or if its tables do not fit into the memory that is free; TypeError
    if `game` is not a game.

    Args:
      game: one with a method `simulated_form`, or any other.
      options: all options, or the estimate alone.
      **keywords: options by name; see `SimulatedMCCFROptions`.
    """
    options = SimulatedMCCFROptions.of(options, **keywords)
    game = sequential(game)
    self.rule = mccfr.check_rule(DEFAULT_RULE if options.rule is None else options.rule)
    against, key, keys = options.against, options.key, options.keys
    if isinstance(against, SimulatedPolicy):
      key, keys = _agent_keys(game, against, key)
    host = _host_game(game, key, options.cells, keys)
    self._fixed = None if against is None else _agent_table(host, against, options.dtype)
    updates = options.updates
    if updates == "auto":
      updates = "together" if obstacle_of(host) else "at_once"
    native_only = getattr(host, "native_only", False)
    if updates == "at_once" or native_only:
      check_traversed(game, host)
    if updates == "together" and native_only:
      raise ValueError(f"updates='together': {game} has the key {key!r} in native code alone; use 'at_once'.")
    on_host = isinstance(host, HostGame)
    options = options.changed(
      rule=self.rule,
      key=getattr(host, "key", None),
      cells=host.cells if on_host else None,
      batch=options.batch or (256 if on_host else 4096),
      updates=updates,
    )
    kind = simulated.Trajectories if updates == "together" else simulated.NativePlays
    learned = options.estimate == "learned"
    values = simulated.Learned(options.most_weight) if learned else simulated.Corrected()
    sampler = kind(values, options.exploration, options.decay, options.decay_power)
    self._begin(game, host, sampler, options)

  def _limit(self):
    host: Any = self._host
    error, host.error = host.error, None  # the state is that of before: the next run may begin
    return str(error)

  @classmethod
  def _from_arrays(cls, file):
    keys = {"keys": _saved_keys(file)} if "players" in file.shapes else {}
    against = {"against": file.arrays(file.shapes)[FIXED]} if FIXED in file.shapes else {}
    return {**keys, **against}


def _host_game(game: pyspiel.Game, key: Any, cells: Any, keys: Any) -> SimulatedGame:
  """The game's own simulated form, or its states on the host; ValueError if neither is available."""
  if declared(game, "simulated_form") is None:
    return HostGame(
      game, "infostate" if key is None else key, simulated.CELLS if cells is None else cells, keys
    )
  if cells is not None:
    raise ValueError(f"{game} counts its own cells; leave out cells={cells!r}.")
  if keys is not None:
    raise ValueError(f"{game} has its own keys; leave out those of another game.")
  return simulated_form(game, key)


def _agent_keys(game: pyspiel.Game, agent: SimulatedPolicy, key: Any) -> tuple[Any, Any]:
  """The key and keys that a run against an agent begins with; ValueError if it does not play this game."""
  if str(agent.game) != str(game):
    raise ValueError(f"against: the agent plays {agent.game}, not {game}.")
  own = getattr(agent.form, "key", None)
  if key not in (None, own):
    raise ValueError(f"key={key!r}: the agent that this run is against has the key {own!r}.")
  return own, agent.form.table.arrays() if isinstance(agent.form, HostGame) else None


def _agent_table(host: SimulatedGame, agent: SimulatedPolicy | np.ndarray, dtype: str) -> np.ndarray:
  """An agent's weights of moves [S], 0 where it has not been; ValueError if they do not fit."""
  table = np.zeros(simulated.table_size(host), dtype)
  if isinstance(agent, SimulatedPolicy):
    used = min(len(agent.table), len(table))  # the keys of a game on the host are the same, room may differ
    table[:used] = agent.table[:used]
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
  """The keys in the file of a game on the host; ValueError if they cannot be keys."""
  count, whole = file.shapes.get("players", ((0,), None))[0][0:1], np.dtype(np.int32)
  wanted = zip(
    SAVED_KEYS,
    (((*count, simulated.DIGEST), np.dtype(np.uint8)), (count, whole), (count, whole)),
    strict=True,
  )
  arrays = file.arrays({**file.shapes, **dict(wanted)})
  keys = [arrays[name] for name in SAVED_KEYS]
  try:
    simulated.check_keys(keys)
  except ValueError as error:
    raise ValueError(f"{file.path} is damaged: {error}") from error
  return keys
