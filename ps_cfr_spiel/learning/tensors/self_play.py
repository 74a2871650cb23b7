"""Search that plays against itself and learns from itself, in games that are not enumerated.

A game is a chain of public states with both players' ranges (public belief states), from the start of the
game down (Brown et al. 2020, Algorithm 1; Schmid et al. 2023, Student of Games). In each a search looks one
decision of the player ahead, with the values learned so far beyond and the game's own payoffs at its
ends. Its values are an example to learn from. The ranges of the next public state are those that the search
itself asks about at a random iteration, with strategies perturbed; it is drawn by its probability, or in
proportion to the actions there: few mean that most of the game is over. Before any values are learned, only
the searches that reach the end of the game are made, at random ranges. Many pairs of ranges go down the same
public states together: a program for all takes hardly longer. The search from the start of the game, the
largest, is made once for all games: its values teach nothing.
"""

import collections
import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import jax
import numpy as np

from ps_cfr_spiel import cfr
from ps_cfr_spiel.arguments import JSON
from ps_cfr_spiel.backend.device import jit, precision, to_device
from ps_cfr_spiel.cfr import NRMPlus
from ps_cfr_spiel.learning.boards.places import even_if_zero
from ps_cfr_spiel.learning.boards.ranges import NOISE
from ps_cfr_spiel.learning.examples import Examples
from ps_cfr_spiel.learning.features import Pair
from ps_cfr_spiel.learning.network_values import NetworkValues
from ps_cfr_spiel.learning.tensors.tensor_features import Met, TensorFeatures
from ps_cfr_spiel.reports import progress_bar
from ps_cfr_spiel.resolving.search import BoundCFR, Levels, asked_ranges, stops_ahead
from ps_cfr_spiel.resolving.subgames import (
  Dealt,
  EchoedRanges,
  FrontierLeaves,
  Members,
  PaddedShapes,
  PublicStates,
  Ranges,
  Subgame,
  with_ranges,
)
from ps_cfr_spiel.tree import Array, PublicTree, tables_of

SURVEYED = 30  # ways down the game, of each player, before the first game
KEPT = 3_000  # public states whose trees are kept, at most
EVENLY = 0.5  # probability that the next public state is drawn by its number of actions
TOGETHER = 32  # pairs of ranges that go down the same public states side by side, in one program
MARKS = 8  # iterations of a search whose strategies lead further
FRONTIER = 4  # public states in the smallest frontier, with padding
REDRAWN = 0.3  # probability that a range is multiplied by random numbers


class Spot(NamedTuple):
  """The tree of a search from a public state, ready for any ranges."""

  subgame: Subgame
  root: Dealt
  met: Met | None  #: its tensors; None at the start of the game
  beyond: Subgame | None  #: a cut at the frontier; None if the search goes to the end of the game
  beyond_met: Met | None
  ends: list[Dealt]  #: the public states of the frontier


class Solved(NamedTuple):
  """The results of a search from B pairs of ranges."""

  ranges: Pair  #: [B, roots, H] of each player
  values: Pair  #: the same, at the roots
  #: for each player [B, MARKS + 1, A, rows, H] for each block, after each part; empty without a frontier.
  strategies: Sequence[cfr.Blocks]


class Drawn(NamedTuple):
  """The strategies by which B pairs of ranges go on from a search."""

  search: Array  #: int32[B], the pair of ranges of the search
  part: Array  #: int32[B], the part of that search at whose end they are taken
  share: Array  #: float32[B], of random strategies in them
  seed: Array  #: int32[B], of those


class SelfPlay:
  """The games that searches play against themselves, as examples."""

  def __init__(self, states: PublicStates, features: TensorFeatures, iterations: int):
    """Has not played yet.

    Args:
      states: the public states of a game.
      features: of the network that learns.
      iterations: of NRM+ in each search.
    """
    self.states, self.features, self.iterations = states, features, iterations  #: as given
    self._shapes = PaddedShapes()
    self._most = (1, 1)  # infostates of each player in a public state
    self._spots: collections.OrderedDict[tuple[int, tuple[int, ...]], Spot] = collections.OrderedDict()

  @property
  def card(self) -> dict[str, JSON]:
    """The origin of the examples."""
    teacher = f"self-play of searches from {TOGETHER} pairs of ranges, by {self.iterations} iterations"
    return {"game": str(self.states.game), "teacher": teacher}

  def play(
    self, values: NetworkValues | None, seed: int, first: int, count: int, progress: bool | None
  ) -> Iterator[Examples]:
    """The examples of some games, by number; each depends on the seed, its number and the values alone.

    Without values only searches that go to the end of the game are made.
    """
    if not self._spots:
      self._survey(np.random.default_rng(seed))
    starts: dict[int, Solved] = {}
    bar = progress_bar(progress, iterable=range(first, first + count), unit=" games", desc="Playing")
    for number in bar:
      random = np.random.default_rng([seed, number])
      if values is not None and not starts:
        starts = {player: self._start(values, player, seed) for player in (0, 1)}
      ways = [self._chain(values, player, starts.get(player), number, seed, random) for player in (0, 1)]
      examples = [one for way in ways for one in way]
      if examples:
        yield Examples.join(examples)

  def _survey(self, random: np.random.Generator) -> None:
    """Go down the game at random, so that all searches get one shape, and are compiled once."""
    for player in [0, 1] * SURVEYED:
      self._end(player, random)
    if all(self.states.members(()) == spot.root.members for spot in self._spots.values()):
      raise ValueError(
        f"{self.states.game}: no player decides more than once; a lookahead never ends before the game, and "
        "OnDemandResolving needs no values."
      )
    self._spots.clear()  # made for smaller shapes

  def _end(self, player: int, random: np.random.Generator) -> Spot:
    """The last search on a random way down the game."""
    spot = self._spot(self.states.members(()), player)
    while spot.ends:
      spot = self._spot(spot.ends[int(random.integers(len(spot.ends)))].members, player)
    return spot

  def _start(self, values: NetworkValues, player: int, seed: int) -> Solved:
    """The search from the start of the game."""
    spot, random = self._spot(self.states.members(()), player), np.random.default_rng(seed)
    even = np.ones((1, len(spot.root.chance)))
    return self._search(spot, values, (even, even), random, 0.0)

  def _chain(
    self,
    values: NetworkValues | None,
    player: int,
    start: Solved | None,
    number: int,
    seed: int,
    random: np.random.Generator,
  ) -> Iterator[Examples]:
    """The examples of one player's searches in a game, `TOGETHER` of each public state.

    `start` is the search from the start of the game; without values, all examples are of the last search.
    """
    redrawn = 1.0 if values is None else REDRAWN
    spot = self._end(player, random) if start is None else self._spot(self.states.members(()), player)
    even = np.ones((TOGETHER, len(spot.root.chance)))
    reach: Pair = even, even
    while True:
      if spot.met is None and start is not None:
        solved = start
      else:
        solved = self._search(spot, values, reach, random, redrawn)
      if spot.met is not None:
        yield self._example(spot.met, solved, number, seed)
      if not spot.ends:
        return
      flat = [x.reshape(TOGETHER, -1) for x in self._onward(spot, solved, random)]
      reached: list[Pair] = [(flat[0][:, end.rows[0]], flat[1][:, end.rows[1]]) for end in spot.ends]
      chances = [float((end.chance * a * b).sum()) for end, (a, b) in zip(spot.ends, reached, strict=True)]
      evenly = random.random() < EVENLY or not sum(chances) > 0
      odds = np.array([end.actions for end in spot.ends] if evenly else chances, float)
      at = int(random.choice(len(spot.ends), p=odds / odds.sum()))
      spot, reach = self._spot(spot.ends[at].members, player), reached[at]

  def _range(
    self, spot: Spot, player: int, reach: np.ndarray, random: np.random.Generator, share: float
  ) -> np.ndarray:
    """[B, roots, H]: ranges of sum one with a reach [B, n] at each history of the root, a share redrawn."""
    shape = spot.subgame.shape.roots[player], spot.subgame.tree.players[player].types
    flat = np.zeros((len(reach), math.prod(shape) + 1))
    flat[:, spot.root.rows[player]] = reach
    if spot.met is not None:
      index, possible = spot.met.slots.index[player][0], spot.met.slots.possible[player]
      given = flat[:, index]
      redrawn = random.random((len(reach), 1)) < share
      power = random.choice([0.5, 1.0, 2.0, 4.0], (len(reach), 1))
      drawn = (given + given.mean(1, keepdims=True) + 1e-9) * random.random(given.shape) ** power
      flat[:, index] = even_if_zero(np.where(redrawn, drawn, given), possible)
    return flat[:, :-1].reshape(-1, *shape)

  def _example(self, met: Met, solved: Solved, number: int, seed: int) -> Examples:
    columns = tuple(index.shape[1] for index in met.slots.index)
    private = [x.shape[-1] for x in met.private]
    features = dataclasses.replace(
      self.features,
      sizes=(met.public.shape[1], (private[0], private[1])),
      columns=(columns[0], columns[1]),
    )
    inputs = {"public": met.public, "unit": met.unit}
    inputs |= {f"private{i}": met.private[i] for i in (0, 1)}
    inputs |= {f"possible{i}": met.slots.possible[i] for i in (0, 1)}
    count, given, worth = len(solved.ranges[0]), [], []
    results = zip(met.slots.index, met.slots.possible, solved.ranges, solved.values, strict=True)
    for at, may, range_, value in results:
      both = [np.pad(x.reshape(count, -1), [(0, 0), (0, 1)])[:, at[0]] for x in (range_, value)]
      given.append(both[0].astype(np.float32))
      worth.append(np.where(may, both[1], 0).astype(np.float32))
    inputs = {name: np.repeat(x, count, 0) for name, x in inputs.items()}
    card = {**self.card, "seed": seed}
    draw = np.full(count, number, np.int32)
    return Examples(card, features, inputs, (given[0], given[1]), (worth[0], worth[1]), draw)

  def _search(
    self, spot: Spot, values: NetworkValues | None, reach: Pair, random: np.random.Generator, redrawn: float
  ) -> Solved:
    """A search from a reach [B, n] of each player at the histories of its root, a share of them redrawn."""
    tree, subgame = spot.subgame.tree, spot.subgame
    first, second = (self._range(spot, i, reach[i], random, redrawn) for i in (0, 1))
    if spot.beyond is not None:
      assert values is not None and spot.beyond_met is not None
      one, other = zip(subgame.shape.frontier, [p.types for p in tree.players], strict=True)
      beyond = self.features.bound(values, spot.beyond, spot.beyond_met)
      tree = dataclasses.replace(tree, leaves=FrontierLeaves(tree.leaves, beyond, (one, other)))
    marks = np.sort(self.iterations ** random.random(MARKS)).astype(np.int32)
    parts = np.diff(marks, prepend=0, append=self.iterations).astype(np.int32)
    bound = BoundCFR(tree, subgame.leaf_roots, parts, NRMPlus(), "average")
    with precision("float32"):
      given = to_device((bound, (first, second)), "float32")
      values_at, strategies = _searched(*given)
    one, other = (np.asarray(x, float) for x in values_at)
    return Solved((first, second), (one, other), strategies)

  def _onward(self, spot: Spot, solved: Solved, random: np.random.Generator) -> Pair:
    """[TOGETHER, F, H]: the ranges in questions of a search about its frontier."""
    count, tree, subgame = TOGETHER, spot.subgame.tree, spot.subgame
    drawn = Drawn(
      np.arange(count, dtype=np.int32) % len(solved.ranges[0]),
      random.integers(MARKS, size=count).astype(np.int32),
      random.choice(NOISE, count).astype(np.float32),
      random.integers(2**31, size=count).astype(np.int32),
    )
    first, second = zip(subgame.shape.frontier, [p.types for p in tree.players], strict=True)
    leaves = FrontierLeaves(tree.leaves, EchoedRanges(), (first, second))
    ahead = dataclasses.replace(tree, leaves=leaves), subgame.leaf_roots
    with precision("float32"):
      one, other = _asked(*to_device((*ahead, solved.ranges, solved.strategies, drawn), "float32"))
    return np.asarray(one, float), np.asarray(other, float)

  def _spot(self, members: Members, player: int) -> Spot:
    key = player, members[0]
    if key not in self._spots:
      self._spots[key] = self._made(members, player)
      if len(self._spots) > KEPT:
        self._spots.popitem(last=False)
    self._spots.move_to_end(key)
    return self._spots[key]

  def _made(self, members: Members, player: int) -> Spot:
    subgames = self.states.below(members, stops_ahead(player, 1))
    place = self.states.place(subgames, members)
    levels = Levels.of(subgames.labels, 1)[player]
    frontier = levels.frontier(levels.horizon(place))
    # A few sizes, as frontiers differ much; none for a search to the end of the game, which needs no values.
    count = max(FRONTIER, 1 << (len(frontier) - 1).bit_length()) if frontier else 0
    subgame = subgames.cut([place], frontier, pad_to=self._shapes.largest(("search", count)))
    (root,) = self.states.dealt(subgames, subgame, [place])
    start = members == ((),)
    met = None if start else self.features.meet(subgames, subgame, [place], 1)
    if not frontier:
      return Spot(subgame, root, met, None, None, [])
    ends = subgame.frontier_states
    beyond = subgames.cut(ends, pad_to=self._shapes.fitting("beyond", subgame.shape.frontier))
    beyond_met = self.features.meet(subgames, beyond, ends, count, self._most)
    first, second = (x.shape[1] for x in beyond_met.private)
    self._most = first, second
    return Spot(subgame, root, met, beyond, beyond_met, self.states.dealt(subgames, beyond, ends))


@jit()
def _searched(bound: BoundCFR, ranges: Ranges) -> tuple[tuple[Array, Array], Sequence[cfr.Blocks]]:
  """The values of searches from ranges [B, roots, H], and the strategies after each part: see `Solved`.

  `bound.iterations` are the parts of a search.
  """

  def search(ranges: Ranges):
    tree = dataclasses.replace(bound.tree, leaves=with_ranges(bound.tree.leaves, ranges, bound.leaf_roots))
    state = cfr.init(tree, bound.rule, str(ranges[0].dtype))

    def part(state, iterations):
      state = cfr.iterate(tree, state, iterations, rule=bound.rule)
      return state, tuple(map(tuple, cfr.current_strategy(tree, state)))

    state, strategies = jax.lax.scan(part, state, bound.iterations)
    values = bound.of_strategies(tree, cfr.average_strategy(tree, state))
    return values, strategies if isinstance(bound.tree.leaves, FrontierLeaves) else ()

  return jax.vmap(search)(ranges)


@jit()
def _asked(
  tree: PublicTree,
  leaf_roots: tuple[Sequence[Array], Sequence[Array]],
  ranges: Ranges,
  strategies: Sequence[cfr.Blocks],
  drawn: Drawn,
) -> tuple[Array, ...]:
  """The ranges [B, F, H] at the frontier of searches from ranges, by strategies of theirs: see `Solved`."""

  def onward(drawn: Drawn):
    begun = ranges[0][drawn.search], ranges[1][drawn.search]
    asked = dataclasses.replace(tree, leaves=with_ranges(tree.leaves, begun, leaf_roots))
    keys, played = jax.random.split(jax.random.key(drawn.seed)), []
    for key, forest, blocks in zip(keys, tree.players, strategies, strict=True):
      shape = sum(actions * rows for actions, rows, _ in forest.block_shapes), forest.types
      # One draw for all blocks: the code of each would take seconds to compile.
      noise = tables_of(jax.random.uniform(key, shape, ranges[0].dtype, 1e-6) ** 2, forest.block_shapes)
      mixed, share = zip(blocks, noise, strict=True), drawn.share
      played.append(
        tuple(
          (1 - share) * x[drawn.search, drawn.part] + share * n / n.sum(0, keepdims=True) for x, n in mixed
        )
      )
    return asked_ranges(asked, played)

  return jax.vmap(onward)(drawn)
