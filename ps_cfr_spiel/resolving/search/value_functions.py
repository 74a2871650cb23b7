"""Value functions: values at the frontier of a limited lookahead, from the ranges of both players.

A value function is bound to the public states of a frontier on the host. The result is called inside the
solver's loop, for each player in each iteration, with all of these public states at once: a batch. (A learned
function would add features of the public states to the ranges.) Schmid 2021, Sections 15.4 and 20.6.
"""

import abc
import dataclasses
import itertools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
from numpy.typing import ArrayLike

from ps_cfr_spiel import cfr
from ps_cfr_spiel.arguments import check_count, check_derived, check_option
from ps_cfr_spiel.cfr import Rule, make_rule
from ps_cfr_spiel.compilation.histories import history_origin
from ps_cfr_spiel.options import ROUND
from ps_cfr_spiel.resolving.search.levels import Levels, Lookahead
from ps_cfr_spiel.resolving.subgames import (
  BoundValues,
  FrontierLeaves,
  HistoriesPrior,
  PadTo,
  Ranges,
  Subgames,
  with_ranges,
)
from ps_cfr_spiel.tree import Array, PlayerPasses, PublicTree, best_response_values

VALUES = ("average", "best-response")


class ValueFunction(abc.ABC):
  """The base class of value functions, those of your own too."""

  @property
  def solves(self) -> bool:
    """True if it needs the game below the frontier, and not only the public states there."""
    return True

  @property
  def reads_histories(self) -> bool:
    """True if it needs the histories of public states, which trees compiled from a form lack."""
    return False

  @property
  def game(self) -> str | None:
    """The only game that they serve, by its text as in `Labels.game`; None if they serve many."""
    return None

  def check_game(self, game: str) -> None:
    """ValueError if they are of another game."""
    if self.game not in (None, game):
      raise ValueError(f"These values are for {self.game}, not for {game}.")

  @abc.abstractmethod
  def bind(
    self, subgames: Subgames, public_states: Sequence[int], pad_to: PadTo | None = None
  ) -> BoundValues:
    """Prepare for the public states of a frontier, none if a padded search ends before it.

    `pad_to` is as for `Subgames.cut`, for a subgame cut there.
    """


@dataclasses.dataclass(frozen=True)
class CFRValues(ValueFunction):
  """Values of a few iterations of CFR below the frontier, solved anew each time.

  The thesis uses 10, 20 and 40 (Schmid 2021, Figure 20.12). Values are by default those of the average
  strategies against each other, of a policy that is nearly optimal but may have regrets, as in the thesis's
  experiment. Those of a best response to the opponent's average strategy have none, as Section 20.6.1
  requires, but both players' are too high until CFR has converged: searches by them play worse on Leduc; on
  Glasses there is no clear order (benchmarks/papers/resolving_exploitability.py).

  With a lookahead CFR ends there, with another value function `beyond`: the public states of a call are then
  of one level (`Levels`).
  """

  iterations: int = 20  #: of CFR, from uniform strategies each time
  rule: Rule | str = "nrm+"  #: a regret rule or its name
  #: "average", of the average strategies, or "best-response", of best responses to them.
  values: str = "average"
  beyond: ValueFunction | None = None  #: values where the lookahead ends; zeros, if None
  #: decisions of the acting player, or "round" for those until the next card; None for all.
  lookahead: Lookahead = None

  def __post_init__(self):
    check_count("iterations", self.iterations, 1)
    if self.lookahead not in (None, ROUND):
      check_count("lookahead", self.lookahead, 1)
    if self.beyond is not None:
      check_derived("beyond", self.beyond, ValueFunction, "CFRValues()")
      if self.lookahead is None:
        raise ValueError("beyond is for limited lookahead; give lookahead=1 or more with it.")
    check_option("values", self.values, VALUES)
    object.__setattr__(self, "rule", make_rule(self.rule))

  @property
  def game(self) -> str | None:
    return None if self.beyond is None else self.beyond.game

  def bind(self, subgames: Subgames, public_states: Sequence[int], pad_to: PadTo | None = None) -> "BoundCFR":
    frontier: Sequence[int] = ()
    if self.lookahead is not None and public_states:
      state = public_states[0]
      levels = Levels.of(subgames.labels, self.lookahead)[subgames.labels.public_states[state].player]
      frontier = levels.frontier(levels.horizon(state))
    subgame = subgames.cut(public_states, frontier, pad_to=pad_to)
    tree, rule = subgame.tree.grouped(any_index=True), make_rule(self.rule)
    iterations = np.asarray(self.iterations, np.int32)
    if subgame.limited:
      types = [p.types for p in tree.players]
      first, second = zip(subgame.shape.frontier, types, strict=True)
      nothing = FrozenValues((np.zeros(first), np.zeros(second)))
      beyond = nothing if self.beyond is None else self.beyond.bind(subgames, subgame.frontier_states)
      tree = dataclasses.replace(tree, leaves=FrontierLeaves(tree.leaves, beyond, (first, second)))
    return BoundCFR(tree, subgame.leaf_roots, iterations, rule, self.values)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class BoundCFR(BoundValues):
  """`CFRValues` at certain public states."""

  tree: PublicTree  #: the tree below them
  #: for each player int parts [L_k], the root of each leaf.
  leaf_roots: tuple[Sequence[Array], Sequence[Array]]
  iterations: Array  #: int32[]
  rule: Rule = dataclasses.field(metadata={"static": True})  #: regret rule
  values: str = dataclasses.field(metadata={"static": True})  #: see `CFRValues`

  def __call__(self, player: int, ranges: Ranges) -> Array:
    return self._of((player,), *self._solve(ranges))[0]

  def both(self, ranges: Ranges) -> tuple[Array, Array]:
    """The values of both players, from one solve."""
    return self.of_strategies(*self._solve(ranges))

  def of_strategies(self, tree: PublicTree, average: Sequence[Sequence[Array]]) -> tuple[Array, Array]:
    """The values of both players at the roots under some strategies, in the tree with ranges."""
    first, second = self._of((0, 1), tree, average)
    return first, second

  def _solve(self, ranges: Ranges) -> tuple[PublicTree, list[cfr.Blocks]]:
    """The tree with the ranges at its roots, and both players' average strategies."""
    leaves = with_ranges(self.tree.leaves, ranges, self.leaf_roots)
    tree = dataclasses.replace(self.tree, leaves=leaves)
    state = cfr.init(tree, self.rule, str(ranges[0].dtype))
    state = cfr.iterate(tree, state, self.iterations, rule=self.rule)
    return tree, cfr.average_strategy(tree, state)

  def _of(self, players: Sequence[int], tree: PublicTree, average: Sequence[Sequence[Array]]) -> list[Array]:
    """The values of some players at the roots under the averages; see `CFRValues.values`."""
    passes = [PlayerPasses.of(forest) for forest in tree.players]
    tables = [forest.join(blocks) for forest, blocks in zip(tree.players, average, strict=True)]
    reach = [each.leaves(each.down(of_player)) for each, of_player in zip(passes, tables, strict=True)]

    def at_roots(i: int) -> Array:
      if self.values == "best-response":
        return passes[i].up(None, tree.leaves(i, reach[1 - i]))[1]
      return passes[i].up(tables[i], tree.leaves(i, reach[1 - i], reach[i]))[1]

    return [*map(at_roots, players)]


@dataclasses.dataclass(frozen=True)
class SolvedValues(ValueFunction):
  """Values looked up in a strategy of the whole game: best responses to it below the frontier.

  At the ranges of a Nash equilibrium these values are perfect. At other ranges the equilibrium would go on
  differently, and they are only a lower bound of the opponent's.
  """

  #: for each player [A, rows, H] for each block of the game's tree, as in `TreePolicy`.
  strategies: Sequence[Sequence[np.ndarray]]

  def __post_init__(self):
    try:
      blocks = [
        np.asarray(block, float) for blocks_of_player in self.strategies for block in blocks_of_player
      ]
    except (TypeError, ValueError) as error:
      raise ValueError(
        "strategies must be arrays [A, rows, H] for each player and block, like TreePolicy.strategies, got "
        f"{type(self.strategies).__name__}."
      ) from error
    for block in blocks:
      if not ((block >= 0).all() and np.allclose(block.sum(0), 1, atol=1e-5)):  # NaN fails too
        raise ValueError("strategies must be probabilities that sum to one over the actions of a block.")

  def __repr__(self) -> str:
    return f"{type(self).__name__}(...)"

  def bind(
    self, subgames: Subgames, public_states: Sequence[int], pad_to: PadTo | None = None
  ) -> "BoundStrategies":
    shapes = [player.block_shapes for player in subgames.tree.players]
    given = [[np.shape(block) for block in blocks] for blocks in self.strategies]
    if given != shapes:
      raise ValueError(f"strategies must have the blocks {shapes} of {subgames.labels.game}, got {given}.")
    subgame = subgames.cut(public_states, pad_to=pad_to)
    first, second = (subgame.there(i, self.strategies[i]) for i in (0, 1))
    return BoundStrategies(subgame.tree, subgame.leaf_roots, (first, second))


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class BoundStrategies(BoundValues):
  """`SolvedValues` at certain public states."""

  #: tree, leaf_roots: as in `BoundCFR`.
  tree: PublicTree
  leaf_roots: tuple[Sequence[Array], Sequence[Array]]
  #: for each player [A, rows, H] for each block of `tree`.
  strategies: tuple[Sequence[Array], Sequence[Array]]

  def __call__(self, player: int, ranges: Ranges) -> Array:
    leaves = with_ranges(self.tree.leaves, ranges, self.leaf_roots)
    tree = dataclasses.replace(self.tree, leaves=leaves)
    return best_response_values(tree, player, self.strategies[1 - player])[1]


@dataclasses.dataclass(frozen=True)
class StateValues(ValueFunction):
  """A value of each history at the frontier, by a function of its state: nothing below is looked at.

  Such values are right where both players go on by strategies that do not depend on the search, such as those
  of a blueprint whose plays give the values. Those of an equilibrium depend on the ranges: a search by values
  of histories is exploitable, however exact they are.
  """

  function: Callable[[list[pyspiel.State]], ArrayLike]  #: the value to player 0 of each of some states

  @property
  def solves(self) -> bool:
    return False

  @property
  def reads_histories(self) -> bool:
    return True

  def __post_init__(self):
    if not callable(self.function):
      raise ValueError(f"StateValues need a function of a list of states, got {self.function!r}.")

  def bind(
    self, subgames: Subgames, public_states: Sequence[int], pad_to: PadTo | None = None
  ) -> "BoundStateValues":
    prior = subgames.cut(public_states, pad_to=pad_to).prior
    source = history_origin(subgames.labels)
    if source is None or source.public is None or not isinstance(prior, HistoriesPrior):
      raise ValueError(
        f"{subgames.labels.game} was compiled without its histories; StateValues are for OnDemandResolving."
      )
    members = np.flatnonzero(np.isin(source.public, np.asarray(public_states, int)))
    made = {0: subgames.labels.start()}  # the ways to many histories have much in common
    for history in members.tolist():
      way = [history]
      while way[-1] not in made:
        way.append(int(source.histories.parent[way[-1]]))
      for above, below in itertools.pairwise(way[::-1]):
        made[below] = made[above].child(int(source.histories.action[below]))
    states = [made[history] for history in members.tolist()]
    values = np.asarray(self.function(states) if states else [], float)
    if values.shape != members.shape or not np.isfinite(values).all():
      raise ValueError(
        f"The function of StateValues must give {len(members)} finite numbers, one for each state; got "
        f"{np.isfinite(values).sum()} in the shape {values.shape}."
      )
    more = (1 << len(members).bit_length()) - len(members)  # of weight 0: searches share code
    pad = lambda column: np.pad(column, (0, more))  # noqa: E731
    root, type_ = ((pad(first), pad(second)) for first, second in (prior.root, prior.type))
    return BoundStateValues(root, type_, pad(prior.chance * values), prior.shapes)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class BoundStateValues(BoundValues):
  """`StateValues` of some histories."""

  #: root, type: for each player int[n], the row and the type of each history.
  root: tuple[Array, Array]
  type: tuple[Array, Array]
  value: Array  #: [n], to player 0, times the probability of chance
  shapes: tuple[tuple[int, int], tuple[int, int]] = dataclasses.field(metadata={"static": True})

  def __call__(self, player: int, ranges: Ranges) -> Array:
    other = 1 - player
    worth = self.value * ranges[other][self.root[other], self.type[other]]
    values = jnp.zeros(self.shapes[player], worth.dtype)
    return values.at[self.root[player], self.type[player]].add(worth if player == 0 else -worth)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class FrozenValues(BoundValues):
  """The same values for all ranges: the results of a search at its frontier."""

  values: tuple[Array, Array]  #: for each player [F, H]

  def __call__(self, player: int, ranges: Ranges) -> Array:
    return self.values[player]
