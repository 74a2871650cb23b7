"""Monte Carlo CFR on plays of a game too large to enumerate: of both sides, or against a fixed agent."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel

from ps_cfr_spiel import mccfr, simulated, storage
from ps_cfr_spiel.arguments import check_exploration, check_number, check_option, declared
from ps_cfr_spiel.cfr import RM, RMPlus
from ps_cfr_spiel.device import check_dtype, check_finite
from ps_cfr_spiel.histories import sequential
from ps_cfr_spiel.simulated import HostGame, SimulatedGame
from ps_cfr_spiel.solvers.simulated import (
  FIXED,
  SAVED_KEYS,
  UPDATES,
  SimulatedSolver,
  check_traversed,
  obstacle_of,
  simulated_form,
)
from ps_cfr_spiel.solvers.simulated_policy import SimulatedPolicy

ESTIMATES = ("learned", "corrected")
DEFAULT_RULE = RMPlus(gamma=4.0)


class SimulatedMCCFRSolver(SimulatedSolver):
  """Monte Carlo CFR on plays of a game that is not enumerated."""

  _apart = ("keys", FIXED)

  def __init__(
    self,
    game: pyspiel.Game,
    estimate: str = "learned",
    exploration: float = 0.1,
    decay: float = 1.0,
    most_weight: float = 5.0,
    batch: int | None = None,
    seed: int = 0,
    dtype: str = "float32",
    updates: str = "auto",
    key: str | None = None,
    cells: int | None = None,
    keys: Sequence[np.ndarray] | None = None,
    against: SimulatedPolicy | np.ndarray | None = None,
    rule: str | RM = DEFAULT_RULE,
    decay_power: float = 0.4,
  ):
    """Make the tables; nothing is compiled yet.

    ValueError for a wrong argument or game, or if its tables do not fit into the memory that is free;
    TypeError if `game` is not a game.

    Args:
      game: one with a method `simulated_form`, or any other.
      estimate: the values of moves. "corrected": those of VR-MCCFR, unbiased, and with keys that forget
        nothing the average policy converges. "learned": the learned values alone, of little variance but
        biased, without a guarantee.
      exploration: share of uniform play in the traverser's sampling policy, in (0, 1].
      decay: weight of the newest value in a learned one in iteration 1, in [0, 1]. At 0 learned values stay
        0, which makes "corrected" outcome sampling; "learned" needs more.
      decay_power: from 0 to 1; in iteration t the weight is decay * t ** -decay_power. At first values follow
        the strategies, which change fast, later they are means of more plays. (A run that starts from
        another's values keeps them with a small decay and power 0.)
      most_weight: where the weights of "learned" are cut, at least 1.
      batch: plays of each player's turn, at least 1; None for 4096, or 256 for a game on the host.
      seed: of the random numbers.
      dtype: "float32" or "float64".
      updates: when the tables learn from the plays of a batch. "together": after all of them, on arrays.
        "at_once": after each, by the game's own native code, seven times faster. "auto": at once where that
        is available.
      key: the key of a choice: "infostate" (default), or "observation". In cheat: "observation" (default,
        Yi and Kaneko's), or "memory", which adds the cards whose place is certain, in native code alone.
      cells: the most moves of keys in such a game, a million by default; one more is an error that leaves the
        run unchanged.
      keys: those of an earlier run of such a game, from its file.
      against: an agent for this game that plays the other side, in both seats, and does not learn: the run
        learns a best response to it. Or an agent's table of this game, from a file.
      rule: "rm", "rm+", `RM` or `RMPlus` with any gamma. At gamma 1 the average is linear; the larger, the
        sooner the strategies of a run's beginning are forgotten.
    """
    game = sequential(game)
    self.estimate = check_option("estimate", estimate, ESTIMATES)
    self.exploration = check_exploration(exploration)
    self.decay = check_number("decay", decay, 0, 1)
    if estimate == "learned" and decay == 0:
      raise ValueError("decay=0 learns no values; estimate='learned' needs a decay above 0.")
    self.most_weight = simulated.Learned(most_weight).most_weight
    self.rule = mccfr.check_rule(rule)
    self.decay_power = check_number("decay_power", decay_power, 0, 1)
    self.updates = check_option("updates", updates, UPDATES)
    if isinstance(against, SimulatedPolicy):
      key, keys = _agent_keys(game, against, key)
    host = _host_game(game, key, cells, keys)
    self._fixed = None if against is None else _agent_table(host, against, dtype)
    self.key, self.cells = getattr(host, "key", None), host.cells if isinstance(host, HostGame) else None
    batch = (256 if isinstance(host, HostGame) else 4096) if batch is None else batch
    if self.updates == "auto":
      self.updates = "together" if obstacle_of(host) else "at_once"
    if self.updates == "at_once" or getattr(host, "native_only", False):
      check_traversed(game, host)
    if self.updates == "together" and getattr(host, "native_only", False):
      raise ValueError(f"updates='together': {game} has the key {key!r} in native code alone; use 'at_once'.")
    kind = simulated.Trajectories if self.updates == "together" else simulated.NativePlays
    values = simulated.Corrected() if estimate == "corrected" else simulated.Learned(most_weight)
    sampler = kind(values, self.exploration, self.decay, self.decay_power)
    self._begin(game, host, sampler, batch, seed, dtype)

  def _limit(self):
    host: Any = self._host
    error, host.error = host.error, None  # the state is that of before: the next run may begin
    return str(error)

  @classmethod
  def _arguments(cls, file):
    options = super()._arguments(file)
    if "players" in file.shapes:
      options["keys"] = _saved_keys(file)
    if FIXED in file.shapes:
      options["against"] = file.arrays(file.shapes)[FIXED]
    return options


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
  table = np.zeros(simulated.table_size(host), check_dtype(dtype))
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
