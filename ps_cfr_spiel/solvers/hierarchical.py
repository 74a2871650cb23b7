"""Monte Carlo CFR on games of dealt cards, in public clusters on all devices, in OpenSpiel's shape."""

import numpy as np
import pyspiel

from ps_cfr_spiel import hierarchical
from ps_cfr_spiel.arguments import check_count, check_flag, check_integer
from ps_cfr_spiel.compiler import check_needs
from ps_cfr_spiel.device import (
  broadcast,
  check_dtype,
  check_finite,
  is_first_process,
  precision,
  process_count,
  sum_over_processes,
)
from ps_cfr_spiel.hierarchical import (
  DealtAbstraction,
  DealtGame,
  HierarchicalState,
  Strategy,
  Tables,
  evaluate_strategies,
  make_abstraction,
)
from ps_cfr_spiel.histories import check_is_game
from ps_cfr_spiel.reports import report
from ps_cfr_spiel.solvers.exact import ExactSolver
from ps_cfr_spiel.solvers.hierarchical_policy import HierarchicalPolicy

ADVICE = "Fewer clusters or buckets, fewer bets, a smaller batch or fewer boards at a time take less"


class HierarchicalMCCFRSolver(ExactSolver[HierarchicalPolicy]):
  """Modified external sampling in public clusters (Brown, Ganzfried and Sandholm 2015): `hierarchical.solve`.

  Clusters are shared by all of JAX's devices, of all joined processes (`join_processes`) that run the
  same solver; their number changes nothing. The game is not walked. Where hands share buckets nothing is
  promised, and how good the result is, is measured in the whole game.

  Attributes:
    game: `universal_poker` for two with public cards, or `leduc_poker`.
    abstraction: of the game.
    plus: regret matching plus with linear averaging; else regret matching with uniform averaging.
    batch: pairs of hands dealt for one update.
    boards: boards that each cluster draws for a pair of hands, and averages.
    seed: of the random numbers.
    dtype: "float32" or "float64".
    printed: clusters are weighed as in the paper's listing, which is biased.
  """

  _apart = ("clusters", "buckets", "abstraction")
  slowly_evaluated = True
  shared = True

  def __init__(
    self,
    game: pyspiel.Game,
    clusters: int | np.ndarray | None = None,
    buckets: int | str = 50,
    plus: bool = True,
    batch: int = 16,
    boards: int = 1,
    seed: int = 0,
    dtype: str = "float32",
    printed: bool = False,
    abstraction: DealtAbstraction | None = None,
  ):
    """Makes the abstraction and the tables; nothing is compiled yet.

    Args:
      game: see the class.
      clusters: see `hierarchical.make_abstraction`.
      buckets: see `hierarchical.make_abstraction`.
      plus: see the class.
      batch: at least 1.
      boards: at least 1.
      seed: also of the abstraction's.
      dtype: see the class.
      printed: see the class.
      abstraction: one that there is already, instead of `clusters` and `buckets`.

    Raises:
      ValueError: an argument is not one of the allowed, the game is not one of dealt cards, or its cards,
        the tables or the deals of a batch need more memory than is free.
      TypeError: `game` is not a game.
    """
    self.game, self.dtype = game, check_dtype(dtype)
    self.plus, self.printed = check_flag("plus", plus), check_flag("printed", printed)
    self.batch, self.boards = check_count("batch", batch, 1), check_count("boards", boards, 1)
    self.seed = check_integer("seed", seed, 0)
    check_is_game(game)
    if not isinstance(abstraction, DealtAbstraction | None):
      raise ValueError(
        f"abstraction must be one of make_abstraction or load_abstraction, got {abstraction!r}."
      )
    self._dealt = DealtGame.of(game)
    if abstraction is None:
      self.abstraction = make_abstraction(self._dealt, clusters, buckets, seed)
    elif abstraction.game != str(game):
      raise ValueError(f"The abstraction is one of {abstraction.game}, not of {game}.")
    else:
      self.abstraction = DealtAbstraction.of(self._dealt, abstraction.clusters, abstraction.buckets)
    self._mesh = hierarchical.all_devices()
    with precision(self.dtype):
      own = hierarchical.boards_of(self._dealt, self.abstraction, self._mesh.size)
      sampled = hierarchical.sampled(self._dealt, self.abstraction)
      needs = hierarchical.run_needs(sampled, own, self._mesh, self.batch * self.boards, self.dtype)
      what = f"{self.name} on {game} with batch={self.batch:,} and boards={self.boards:,}"
      check_needs(what, needs, None, ADVICE)
      self._boards = hierarchical.placed(self._mesh, own, cut=True)
      self._sampled = hierarchical.device_game(sampled, self.dtype, self._mesh)
      self._state = hierarchical.init(sampled, len(own), self.seed, self.dtype, self._mesh)

  def summary(self) -> str:
    """The size of the game, its abstraction and the tables, as lines of text."""
    sizes, state = hierarchical.measure(self._dealt.form), self._state
    whole = sum(x.nbytes for x in (state.head_regrets, state.head_average, state.regrets, state.average))
    lines = {
      "game": self.game,
      "infostates": f"{sizes.infostates:,}, {sizes.infostate_classes:,} up to names of suits",
      **self.abstraction.facts(),
      "tables": f"{whole / 1e6:,.3g} MB, on {self._mesh.size} device(s)",
    }
    return report(lines)

  def _evaluate(self, progress):
    own = Strategy(self.abstraction, self._tables(average=True))
    return evaluate_strategies(self._dealt, (own, own), self.dtype, progress)

  def _tables(self, average: bool) -> Tables:
    """The strategies on the host, as sums."""
    kept = self._kept()
    return Tables(kept.head_average, kept.average) if average else Tables(kept.head_regrets, kept.regrets)

  def _step(self, state, iterations):
    return hierarchical.solve(
      self._sampled,
      self._boards,
      state,
      iterations,
      batch=self.batch,
      draws=self.boards,
      plus=self.plus,
      printed=self.printed,
      mesh=self._mesh,
      clusters=self.abstraction.count,
    )

  def _policy(self, average):
    info = self._policy_info(average)
    return HierarchicalPolicy(self.game, self._dealt, self.abstraction, self._tables(average), info)

  def _kept(self) -> HierarchicalState:
    """The state on the host, without the clusters that only fill up devices."""
    state, count = hierarchical.gathered(self._state), self.abstraction.count
    return state._replace(regrets=state.regrets[:count], average=state.average[:count])

  def _here(self):
    own = [shard.data for array in self._state for shard in array.addressable_shards]
    if process_count() == 1:
      return own
    try:
      check_finite("", own, self.dtype)
      lost = 0.0
    except FloatingPointError:
      lost = np.nan
    return sum_over_processes(np.array([lost], np.float32))  # so that all processes raise, or none

  def clock(self):
    """See `Solver`: that of the first process."""
    return broadcast(super().clock())

  def save(self, path):
    """See `Solver`; all processes must call it, and the first writes the file."""
    if is_first_process():
      super().save(path)
    else:
      self._kept()  # what others hold is gathered from all

  def _taken_up(self, kept: HierarchicalState) -> HierarchicalState:
    empty = ((0, len(self._boards) - self.abstraction.count), (0, 0), (0, 0))
    return kept._replace(regrets=np.pad(kept.regrets, empty), average=np.pad(kept.average, empty))

  def _restore(self, file):
    super()._restore(file)
    with precision(self.dtype):
      self._state = hierarchical.on_mesh(self._state, self._mesh)

  def _arrays(self):
    return hierarchical.to_arrays(self.abstraction)

  @classmethod
  def _arguments(cls, file):
    return {**super()._arguments(file), "abstraction": hierarchical.from_file(file)}
