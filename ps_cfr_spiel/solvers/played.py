"""Monte Carlo CFR on games too large to walk, in OpenSpiel's shape, over `playing.solve`."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel import playing
from ps_cfr_spiel.arguments import check_exploration, check_integer, check_number, check_option
from ps_cfr_spiel.device import check_dtype, precision, to_device
from ps_cfr_spiel.playing import Corrected, Learned, PlayedGame, Trajectories
from ps_cfr_spiel.policy import probabilities_at
from ps_cfr_spiel.solvers.iterative import IterativeSolver
from ps_cfr_spiel.tree import Evaluation

ESTIMATES = ("learned", "corrected")


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


class PlayedMCCFRSolver(IterativeSolver):
  """Monte Carlo CFR on plays of a game that cannot be walked: `playing.solve`.

  Its policy cannot be evaluated exactly; matches say how good it is (`evaluation.matches`).

  Attributes:
    game: a game with a method `played_form`, which is that of `PlayedGame`.
    estimate: "learned" or "corrected", see `__init__`.
    exploration: share of uniform play in the traverser's sampling policy.
    decay: weight of the newest value in a learned one.
    most_weight: where the weights of "learned" are cut.
    batch: plays under one strategy for each player's turn; an iteration thus plays 2 x batch games.
    seed: of the random numbers.
    dtype: "float32" or "float64".
  """

  def __init__(
    self,
    game: pyspiel.Game,
    estimate: str = "learned",
    exploration: float = 0.1,
    decay: float = 0.05,
    most_weight: float = 5.0,
    batch: int = 4096,
    seed: int = 0,
    dtype: str = "float32",
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
      batch: at least 1.
      seed: see the class.
      dtype: see the class.

    Raises:
      ValueError: an argument is not one of the allowed, or the game cannot be played so.
    """
    check_option("estimate", estimate, ESTIMATES)
    if not hasattr(game, "played_form"):
      raise ValueError(
        f"{game} has no played_form(), the rules on arrays that this solver plays by; cheat for two has one."
      )
    self.game, self.estimate = game, estimate
    self.exploration = check_exploration(exploration)
    self.decay = check_number("decay", decay, 0, 1)
    self.most_weight = Learned(most_weight).most_weight
    self.batch, self.seed = check_integer("batch", batch, 1), check_integer("seed", seed, 0)
    self.dtype = check_dtype(dtype)
    self._sampler = Trajectories(
      Learned(most_weight) if estimate == "learned" else Corrected(), self.exploration
    )
    form: Any = game
    self._host: PlayedGame = form.played_form()
    with precision(self.dtype):
      self._played = to_device(self._host, self.dtype)
      self._state = playing.init(self._host, self.seed, self.dtype)

  @property
  def plays(self) -> int:
    """Games played so far."""
    return 2 * self.batch * self.iteration

  @property
  def nodes(self) -> int:
    """Decisions of players met so far."""
    millions, rest = np.asarray(self._state.nodes).tolist()
    return playing.MILLION * millions + rest

  def compile(self, progress: bool | None = None) -> None:
    """Compiles what `run` needs; see `IterativeSolver`."""
    self._compile_run(progress)

  def evaluation(self, progress: bool | None = None) -> Evaluation:
    """Not to be had: the game is not walked.

    Raises:
      ValueError: always.
    """
    raise ValueError(f"{self.game} is played, not walked: there is no exact evaluation; play matches.")

  def _step(self, state, iterations):
    return playing.solve(
      self._played, state, iterations, sampler=self._sampler, batch=self.batch, decay=self.decay
    )

  def _strategies(self, average):
    raise ValueError(f"{self.game} is played, not walked: there are no rows of a public tree.")

  def average_policy(self) -> Any:
    """The average policy so far, a copy: a `PlayedPolicy`."""
    return self._policy(average=True)

  def _policy(self, average) -> Any:  # not one over rows of a public tree
    table = np.array(self._state.average if average else self._state.regrets)
    info = {**self._header(), "policy": "average" if average else "current"}
    return PlayedPolicy(self.game, self._host, table, info)

  def _options(self):
    return {
      "estimate": self.estimate,
      "exploration": self.exploration,
      "decay": self.decay,
      "most_weight": self.most_weight,
      "batch": self.batch,
      "seed": self.seed,
      "dtype": self.dtype,
    }
