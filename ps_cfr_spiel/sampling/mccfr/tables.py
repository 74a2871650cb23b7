"""Tables by infostate: the increments of samplers on a sampling tree, and the strategies in the tables."""

import abc
import math
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
from jax.typing import DTypeLike

from ps_cfr_spiel.arguments import declared
from ps_cfr_spiel.backend.array_shapes import Float, Int, Key
from ps_cfr_spiel.backend.native import why_unavailable
from ps_cfr_spiel.cfr import RM, Blocks, Rule, averages, normalise
from ps_cfr_spiel.sampling.mccfr.baselines import Baseline, ZeroBaseline
from ps_cfr_spiel.sampling.mccfr.native_turns import sample_turns
from ps_cfr_spiel.sampling.mccfr.sampling_loop import Sampler, Turn, Turns, regret_weight
from ps_cfr_spiel.sampling.mccfr.sampling_tree import SamplingTree
from ps_cfr_spiel.sampling.mccfr.sampling_trees import build_sampling_tree
from ps_cfr_spiel.tree import Array, PublicTree

UNIFORMS = 65_536  # random numbers drawn at once
KEPT_SMALL = 2**20  # by which strategies are divided to which regrets are added, so that these lose few bits
STEP = 8  # numbers that a trajectory keeps of a step, beside those of the actions


class Tables(NamedTuple):
  """The tables of a run."""

  regrets: Float[Array, "A S"]  #: cumulative
  average: averages.Sum  #: [A, S], the sum of strategies
  learned: Float[Array, " entries"]  #: the learned baseline; empty for others


class Updates(NamedTuple):
  """The increments of a batch of trajectories."""

  cells: Int[Array, " n"]  #: of the tables; a cell may come several times, and padding entries are zero
  #: sampled counterfactual values of the traverser's actions, less their mean under the current policy; added
  #: to the cell's regrets.
  regrets: Float[Array, "A n"]
  averages: Float[Array, "A n"]  #: added to the cell's sum of strategies
  entries: Int[Array, " m"]  #: entries of the learned baseline
  targets: Float[Array, " m"]  #: the value that was sampled there
  visits: Float[Array, " m"]  #: 1 if the entry was visited, 0 if not


def nothing(actions: int, dtype: DTypeLike) -> Updates:
  """Updates of n = 0 and m = 0."""
  no_entry, no_number = jnp.zeros(0, jnp.int32), jnp.zeros(0, dtype)
  no_row = jnp.zeros((actions, 0), dtype)
  return Updates(no_entry, no_row, no_row, no_entry, no_number, no_number)


def join(parts: Sequence[Updates], actions: int, dtype: DTypeLike) -> Updates:
  """Several updates as one; `nothing` for an empty sequence."""
  every = [nothing(actions, dtype), *parts]
  return Updates(*(jnp.concatenate(columns, -1) for columns in zip(*every, strict=True)))


def add(
  regrets: Float[Array, "A S"],
  average: averages.Sum,
  updates: Updates,
  t: Int[Array, ""],
  rule: Rule,
  batch: int,
) -> tuple[Float[jax.Array, "A S"], averages.Sum]:
  """Regrets and the sum of strategies, [A, S] each, with the increments of `batch` samples in iteration t."""
  weight = averages.weight(t, rule.gamma, regrets.dtype)
  gains = updates.regrets * (regret_weight(rule, t, regrets.dtype) / batch)
  sums = jnp.asarray(regrets).at[:, updates.cells].add(gains)
  if rule.floor > -math.inf:
    sums = sums.at[:, updates.cells].max(rule.floor)
  compensation = (
    jnp.asarray(average.compensation).at[:, updates.cells].add(updates.averages * (-weight / batch))
  )
  return sums, average._replace(compensation=compensation)


class TreeSampler(Sampler[SamplingTree, Tables]):
  """A way to sample trajectories from a sampling tree: a frozen dataclass that returns estimates.

  It must be unbiased. Given the strategies, the expected sum of its `regrets` in a cell of
  the traverser is the instantaneous counterfactual regret there, and that of its `averages` in a cell of the
  opponent is proportional to the opponent's strategy times the opponent's reach. Trajectories of a batch
  may depend on each other.

  With more than two players the averages of each turn are those of the player after the traverser, as in
  OpenSpiel's external sampling; the reach of the players in between is a factor of their weights.

  Attributes:
    baseline: of the moves not taken.
    general_sum: whether it samples general-sum games and those of more than two players.
  """

  baseline: Baseline = ZeroBaseline()
  general_sum: bool = False

  def sampling_tree(self, game: pyspiel.Game, tree: PublicTree) -> SamplingTree:
    """The tree that is sampled, of NumPy arrays: the histories; ValueError for a game that does not fit."""
    return build_sampling_tree(game, tree)

  def finished(self, tree: SamplingTree) -> SamplingTree:
    """The tree with all that the sampler needs of it, of NumPy arrays, once its tables are those of sets.

    By default it is as given; ValueError for a tree that does not fit.
    """
    return tree

  def draws(self, tree: SamplingTree) -> int:
    """The number of uniform numbers that a trajectory takes: by default one a depth, and two for the deal."""
    return tree.depth + (2 if tree.deal is not None else 0)

  @abc.abstractmethod
  def __call__(
    self,
    tree: SamplingTree,
    regrets: Float[Array, "A S"],
    learned: Float[Array, " entries"],
    traverser: Int[Array, ""],
    uniforms: Float[Array, "draws B"],
  ) -> Updates:
    """Sample B trajectories under one strategy profile; pure JAX.

    Args:
      regrets: cumulative; the current strategies follow from them by `columns.regret_matching`.
      learned: the table of a learned baseline.
      traverser: whose regrets are estimated.
      uniforms: independent and uniform in [0, 1).

    Returns:
      The increments, summed over the batch.
    """

  def entries(self, tree: SamplingTree) -> int:
    """The size of the table of a learned baseline; 0 without one."""
    return 0

  def native(self) -> dict[str, float] | None:
    """The sampler's numbers by their names in `sampled_turns.cc`, if the library samples as it does.

    The library goes by the answer of the sampler's own class alone; see `numbers_of`.
    """
    return None

  def players(self, game: SamplingTree) -> int:
    return game.players

  def init(self, game: SamplingTree, dtype: str) -> Tables:
    zeros = np.zeros((game.actions, game.cells), dtype)
    return Tables(zeros, averages.Sum(zeros, zeros), np.zeros(self.entries(game), dtype))

  def block(self, game: SamplingTree, batch: int) -> int:
    return max(averages.LENGTH, UNIFORMS // (game.players * batch * max(self.draws(game), 1)))

  def draw(
    self, game: SamplingTree, key: Key[jax.Array, ""], turns: int, batch: int
  ) -> Float[jax.Array, "{turns} draws {batch}"]:
    """Uniform numbers for `__call__`."""
    return jax.random.uniform(key, (turns, self.draws(game), batch), game.utility.dtype)

  def turns(self, game: SamplingTree, tables: Tables, turns: Turns, rule: Rule, batch: int) -> Tables:
    options = numbers_of(self)
    if options is None or why_unavailable():
      return super().turns(game, tables, turns, rule, batch)
    kind = self.baseline
    options |= {"decisions": kind.decisions, "outcomes": kind.outcomes, "decay": float(kind.decay)}
    before = tables.regrets, tables.average.compensation, tables.learned
    regrets, compensation, learned = sample_turns(game, before, turns, rule, batch, options)
    return Tables(regrets, tables.average._replace(compensation=compensation), learned)

  def regrets(
    self,
    game: SamplingTree,
    strategies: Sequence[Blocks],
    player: int,
    key: Key[jax.Array, ""],
    batch: int,
  ) -> Blocks:
    """A player's regrets in one turn of `batch` samples under given strategies, for each block.

    Strategies are [A, rows, H] for each player and block, and so are the estimates; pure JAX.
    """
    blocks = [block for of_player in strategies for block in of_player]
    padded = [jnp.pad(x.reshape(len(x), -1), ((0, game.actions - len(x)), (0, 0))) for x in blocks]
    policy = jnp.concatenate(padded, 1) / KEPT_SMALL
    nothing_yet = averages.Sum(jnp.zeros_like(policy), jnp.zeros_like(policy))
    before = Tables(policy, nothing_yet, jnp.zeros(self.entries(game), policy.dtype))
    turns = Turns(key, jnp.int32(0), jnp.int32(player), jnp.int32(player + 1))
    after = self.turns(game, before, turns, RM(), batch)
    return tuple(game.blocks(after.regrets - policy)[player])

  def turn(self, game: SamplingTree, tables: Tables, turn: Turn, rule: Rule, batch: int) -> Tables:
    updates = self(game, tables.regrets, tables.learned, turn.traverser, turn.random)
    regrets, average = add(tables.regrets, tables.average, updates, turn.iteration, rule, batch)
    return Tables(regrets, average, _learn(tables.learned, updates, self.baseline.decay, batch))


def numbers_of(sampler: TreeSampler) -> dict[str, float] | None:
  """The answer of `native` in a sampler's own class; None without, as a derived one may differ."""
  native = declared(sampler, "native")
  return None if native is None else native()


def _learn(
  learned: Float[Array, " entries"], updates: Updates, decay: float, batch: int
) -> Float[Array, " entries"]:
  if not len(learned):
    return learned
  entries = updates.entries
  step = decay * updates.visits * (updates.targets - learned[entries])
  if batch > 1:  # a trajectory alone meets no entry twice
    visits = jnp.zeros_like(learned).at[entries].add(updates.visits)
    step /= jnp.maximum(visits[entries], 1)
  return jnp.asarray(learned).at[entries].add(step)


def strategies(tree: SamplingTree, weights: Float[Array, "A S"]) -> list[Blocks]:
  """Strategies, [A, rows, H] for each player and block, from regrets or a sum of strategies.

  They are in proportion to the positive weights; uniform where no weight is positive. NumPy's arrays stay
  NumPy's: JAX would compile a slice for each block, seconds for deep games.
  """
  return [tuple(normalise(x.clip(0)) for x in blocks) for blocks in tree.blocks(weights)]


def batch_bytes(tree: SamplingTree, sampler: TreeSampler, batch: int, dtype: str) -> int:
  """Estimated bytes of all that a batch of trajectories keeps at once."""
  size = np.dtype(dtype).itemsize
  if numbers_of(sampler) is not None and not why_unavailable():
    return (tree.actions * tree.cells + 2 * sampler.entries(tree)) * size  # their sums
  types = 1 if tree.ends is None else max(player.types for player in tree.ends.public.players)
  steps = len(tree.depths) * types * (tree.actions + STEP)
  return batch * (steps + tree.players * sampler.block(tree, batch) * sampler.draws(tree)) * size
