"""Games too large to walk, in OpenSpiel's shape, over `playing.solve`: policies, and two solvers.

`PlayedMCCFRSolver` learns from plays, `PlayedExternalSolver` from traversals.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel import playing, storage
from ps_cfr_spiel.arguments import (
  MOST,
  check_count,
  check_exploration,
  check_integer,
  check_number,
  check_option,
)
from ps_cfr_spiel.device import check_dtype, precision, to_device
from ps_cfr_spiel.playing import (
  CELLS,
  DIGEST,
  PRUNINGS,
  Corrected,
  HostGame,
  Learned,
  PlayedGame,
  Sampler,
  Trajectories,
  Traversals,
)
from ps_cfr_spiel.policy import probabilities_at
from ps_cfr_spiel.solvers.iterative import IterativeSolver
from ps_cfr_spiel.tree import Evaluation

ESTIMATES = ("learned", "corrected")
UPDATES = ("auto", "together", "at_once")
_KEYS = ("digests", "players", "counts")  # what files keep of the keys of a game on the host


class LimitReachedError(RuntimeError):
  """A run came to a limit that was set for it; it is as it was before."""


class PlayedPolicy(openspiel_policy.Policy):
  """A strategy over the keys of a played game as an OpenSpiel policy.

  Attributes:
    table: [S], weights of moves by cell; the moves of a key without any are equally likely.
    info: what is known of its making.
  """

  def __init__(self, game: pyspiel.Game, played: PlayedGame, table: np.ndarray, info: Mapping[str, Any]):
    """`played` is the form of `game` whose cells `table` has; negative weights count as 0."""
    super().__init__(game, [0, 1])
    self.table, self.info = np.maximum(table, 0), dict(info)
    self._played = played

  def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
    """Probability of every legal action at a state; see `policy.probabilities_at`."""
    return probabilities_at(state, player_id, self.game, lambda *_: self._at(state))

  def _at(self, state: Any) -> dict[int, float]:
    if str(state.get_game()) != str(self.game):
      raise ValueError(f"This policy is for {self.game}; the state is of another game, {state.get_game()}.")
    first, actions = self._played.locate(state)
    weights = self.table[first : first + len(actions)].astype(np.float64)
    total = weights.sum()
    shares = weights / total if total > 0 else np.full(len(actions), 1 / len(actions))
    return dict(sorted(zip(actions, shares.tolist(), strict=True)))

  def cells(self) -> int:
    """How many moves of keys have any weight."""
    return int(np.count_nonzero(self.table))


class PlayedSolver(IterativeSolver):
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

  def _begin(
    self, game: pyspiel.Game, host: PlayedGame, sampler: Sampler, batch: int, seed: int, dtype: str
  ) -> None:
    """Makes the tables."""
    self.game, self._host, self._sampler = game, host, sampler
    self.batch, self.seed = check_integer("batch", batch, 1), check_integer("seed", seed, 0)
    self.dtype = check_dtype(dtype)
    with precision(self.dtype):
      self._played = to_device(self._host, self.dtype)
      self._state = playing.init(self._host, sampler, self.seed, self.dtype)

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
    """The mean of all iterations of what plays brought to player 0."""
    return float(self._state.value)

  def compile(self, progress: bool | None = None) -> None:
    """Compiles what `run` needs; see `IterativeSolver`."""
    self._compile_run(progress)

  def evaluation(self, progress: bool | None = None) -> Evaluation:
    """Not to be had: the game is not walked.

    Raises:
      ValueError: always.
    """
    raise ValueError(f"{self.game} is played, not walked: there is no exact evaluation; play matches.")

  def average_policy(self) -> Any:
    """The average policy so far, a copy: a `PlayedPolicy`."""
    return self._policy(average=True)

  def _step(self, state, iterations):
    return playing.solve(self._played, state, iterations, sampler=self._sampler, batch=self.batch)

  def _advance(self, iterations):
    before = self._state
    super()._advance(iterations)
    if bool(self._state.stopped):
      self._state = before
      raise LimitReachedError(self._limit())

  def _arrays(self):
    if not isinstance(self._host, HostGame):
      return {}
    return dict(zip(_KEYS, self._host.table.arrays(), strict=True))

  def _limit(self) -> str:
    """Which limit a run came to, and what to do."""
    raise NotImplementedError

  def _strategies(self, average):
    raise ValueError(f"{self.game} is played, not walked: there are no rows of a public tree.")

  def _policy(self, average) -> Any:  # not one over rows of a public tree
    tables = self._state.tables
    info = {**self._header(), "policy": "average" if average else "current"}
    return PlayedPolicy(self.game, self._host, np.array(tables.average if average else tables.regrets), info)


class PlayedMCCFRSolver(PlayedSolver):
  """Monte Carlo CFR on plays of a game that cannot be walked.

  Attributes:
    estimate: "learned" or "corrected", see `__init__`.
    updates: "together" or "at_once", likewise.
    exploration: share of uniform play in the traverser's sampling policy.
    decay: weight of the newest value in a learned one.
    most_weight: where the weights of "learned" are cut.
    key, cells: of `playing.HostGame`; None for a game with a played form.
    game, batch, seed, dtype: see `PlayedSolver`.
  """

  _apart = ("keys",)

  def __init__(
    self,
    game: pyspiel.Game,
    estimate: str = "learned",
    exploration: float = 0.1,
    decay: float = 0.05,
    most_weight: float = 5.0,
    batch: int | None = None,
    seed: int = 0,
    dtype: str = "float32",
    updates: str = "auto",
    key: str | None = None,
    cells: int | None = None,
    keys: Sequence[np.ndarray] | None = None,
  ):
    """Makes the tables; nothing is compiled yet.

    Args:
      game: see the class.
      estimate: what values of moves are. "corrected": those of VR-MCCFR, unbiased, and with keys that forget
        nothing the average policy converges. "learned": the learned values alone, of little variance but
        biased, so that nothing is guaranteed.
      exploration: in (0, 1].
      decay: in (0, 1].
      most_weight: at least 1.
      batch: at least 1; None for 4096, or 256 for a game on the host.
      seed: see the class.
      dtype: see the class.
      updates: when the tables learn from the plays of a batch. "together": after all of them, on arrays.
        "at_once": after each, by the game's own native code, ten times faster; for "learned" only. "auto":
        at once where that can be had.
      key: what a choice depends on in a game without a played form: "infostate" (default), or "observation".
      cells: the moves of keys that there is room for in such a game, a million by default; reaching that is
        an error that leaves the run as it was before.
      keys: those of an earlier run of such a game, from its file.

    Raises:
      ValueError: an argument is not one of the allowed, or the game cannot be played so.
    """
    self.estimate = check_option("estimate", estimate, ESTIMATES)
    self.exploration = check_exploration(exploration)
    self.decay = check_number("decay", decay, 0, 1)
    self.most_weight = Learned(most_weight).most_weight
    self.updates = check_option("updates", updates, UPDATES)
    host = _host_game(game, key, cells, keys)
    self.key, self.cells = (host.key, host.cells) if isinstance(host, HostGame) else (None, None)
    batch = (256 if isinstance(host, HostGame) else 4096) if batch is None else batch
    if self.updates == "auto":
      self.updates = "at_once" if estimate == "learned" and not _obstacle(host) else "together"
    if self.updates == "together":
      values = Learned(most_weight) if estimate == "learned" else Corrected()
      sampler = Trajectories(values, self.exploration, self.decay)
    elif estimate != "learned":
      raise ValueError(f"updates='at_once' needs estimate='learned', got {estimate!r}.")
    else:
      sampler = Traversals("plays", "none", self.exploration, self.decay, self.most_weight, MOST)
      _check_traversed(game, host)
    self._begin(game, host, sampler, batch, seed, dtype)

  def _limit(self):
    host: Any = self._host
    return str(host.error)

  @classmethod
  def _arguments(cls, file):
    options = super()._arguments(file)
    return {**options, "keys": _saved_keys(file)} if options.get("key") is not None else options


class PlayedExternalSolver(PlayedSolver):
  """Monte Carlo CFR on traversals of a game that cannot be walked; see `playing.Traversals`.

  Attributes:
    pruning: "none", "regret" or "best_response".
    decay: least weight of the newest value of a move in its running mean.
    most_nodes: decisions after which a traversal is given up.
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
  ):
    """Makes the tables; nothing is compiled yet.

    Args:
      game: see the class.
      pruning: see the class.
      decay: in (0, 1].
      most_nodes: at least 1.
      batch: at least 1.
      seed: see the class.
      dtype: see the class.

    Raises:
      ValueError: an argument is not one of the allowed, or the game cannot be traversed here.
    """
    self.pruning = check_option("pruning", pruning, PRUNINGS)
    self.decay = check_number("decay", decay, 0, 1)
    self.most_nodes = check_count("most_nodes", most_nodes, 1)
    host = _played_form(game)
    _check_traversed(game, host)
    sampler = Traversals("external", self.pruning, 1, self.decay, 1, self.most_nodes)
    self._begin(game, host, sampler, batch, seed, dtype)

  def _limit(self):
    return (
      f"A traversal of {self.game} met {self.most_nodes:,} decisions and was given up at iteration "
      f"{self.iteration + 1:,}. A shorter game is traversed sooner (in cheat: fewer max_turns), "
      "PlayedMCCFRSolver plays games of any length, and most_nodes raises the limit."
    )


def _played_form(game: pyspiel.Game) -> PlayedGame:
  """The game on arrays; ValueError if it has no such form."""
  if not hasattr(game, "played_form"):
    raise ValueError(f"{game} has no played_form(), rules that can be traversed; cheat for two has one.")
  form: Any = game
  return form.played_form()


def _host_game(game: pyspiel.Game, key: Any, cells: Any, keys: Any) -> PlayedGame:
  """The game's own played form, or its states on the host; ValueError if neither can be had."""
  if not hasattr(game, "played_form"):
    return HostGame(game, "infostate" if key is None else key, CELLS if cells is None else cells, keys)
  if key is not None or cells is not None:
    raise ValueError(f"{game} has its own keys and cells; leave out key={key!r} and cells={cells!r}.")
  return _played_form(game)


def _saved_keys(file: storage.Stored) -> list[np.ndarray]:
  """The keys in the file of a game on the host; ValueError if they cannot be keys."""
  arrays = file.arrays(file.shapes)
  digests, players, counts = keys = [arrays.get(name, np.zeros(0)) for name in _KEYS]
  whole = len(digests) == len(players) == len(counts) and digests.shape[1:] == (DIGEST,)
  if not (whole and np.isin(players, (0, 1)).all() and (counts >= 1).all()):
    raise ValueError(f"{file.path} is damaged: it holds no keys of a game.")
  return keys


def _obstacle(host: Any) -> str:
  """Why a played form cannot traverse itself, "" if it can."""
  return host.obstacle() if hasattr(host, "traverse") else "its played form has no native code for that"


def _check_traversed(game: pyspiel.Game, host: PlayedGame) -> None:
  """ValueError if a game cannot traverse itself."""
  if reason := _obstacle(host):
    raise ValueError(f"{game} cannot be traversed here: {reason}.")


def _counted(number: Any) -> int:
  """A number from its millions and its rest."""
  millions, rest = np.asarray(number).tolist()
  return playing.MILLION * millions + rest
