"""Situations to learn from: public states with ranges, solved by a teacher.

A draw gives ranges to all public states at once. In most draws they are *reaches*: how two strategies, taken
from early and late iterations of CFR and mixed with random ones, come to each public state; in the others
they are random, with zeros among them. The ranges that a search asks about are reaches too, and a network
that has only seen random ones serves it badly. Draws are numbered, and depend on the seed and their number.
"""

import dataclasses
import functools
import os
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel

from ps_cfr_spiel import cfr, storage
from ps_cfr_spiel.arguments import check_count, check_integer, check_number
from ps_cfr_spiel.cfr import NRMPlus
from ps_cfr_spiel.device import jit, precision, to_device
from ps_cfr_spiel.learning.places import Slots, frontier_states
from ps_cfr_spiel.reports import progress_bar
from ps_cfr_spiel.search import CFRValues
from ps_cfr_spiel.subgames import Subgames
from ps_cfr_spiel.tree import PublicTree, sequence_reach

ARRAYS = ("place", "range0", "range1", "value0", "value1")
ITERATIONS = (1, 2, 3, 5, 8, 13, 20, 40, 80, 160)  # of CFR, whose strategies reaches are made of
NOISE = (0.0, 0.02, 0.1, 0.3)  # shares of random strategies in them
CHUNK = 32  # draws that are solved in one call

Ranges = tuple[np.ndarray, np.ndarray]


@dataclasses.dataclass(frozen=True, eq=False)
class Situations:
  """Solved situations of a game, n of them in K public states.

  Attributes:
    card: game, teacher, seed and so on; shards of one data set have the same.
    public_states: int[K], ascending.
    possible: for each player bool[K, M], see `places.Slots`.
    place: int32[n], index of each situation's public state.
    ranges: for each player float32[n, M], of sum one.
    values: for each player float32[n, M], counterfactual, for ranges of sum one.
    draw: int32[n], the number of the draw; those of one draw are not independent.
  """

  card: dict[str, Any]
  public_states: np.ndarray
  possible: Ranges
  place: np.ndarray
  ranges: Ranges
  values: Ranges
  draw: np.ndarray

  def __len__(self) -> int:
    """How many situations there are."""
    return len(self.place)

  def save(self, path: str | os.PathLike) -> None:
    """Writes a shard; OSError if it cannot be written."""
    header = {**self.card, "count": len(self), "places": len(self.public_states), "slots": self._slots}
    storage.write(path, "examples", header, self._arrays())

  @property
  def _slots(self) -> list[int]:
    return [p.shape[1] for p in self.possible]

  def _arrays(self) -> dict[str, np.ndarray]:
    pairs = {"possible": self.possible, "range": self.ranges, "value": self.values}
    arrays = {f"{name}{i}": pair[i] for name, pair in pairs.items() for i in (0, 1)}
    return {"public_states": self.public_states, "place": self.place, "draw": self.draw, **arrays}

  @classmethod
  def load(cls, *paths: str | os.PathLike) -> "Situations":
    """Reads shards of one data set.

    Raises:
      OSError: a file cannot be read.
      ValueError: a file is damaged or of another kind, holds what is not finite, or is of another data set
        than the first.
    """
    return cls.join([cls._read(path) for path in paths])

  @classmethod
  def _read(cls, path: str | os.PathLike) -> "Situations":
    file = storage.read(path)
    header = dict(file.header)
    if header["kind"] != "examples":
      raise ValueError(f"{path} holds a {header['kind']}, not situations.")
    n, k, slots = header.pop("count"), header.pop("places"), header.pop("slots")
    single, whole, flag = (np.dtype(t) for t in (np.float32, np.int32, bool))
    expected: dict[str, Any] = {"public_states": ((k,), np.dtype(np.int64)), "place": ((n,), whole)}
    expected["draw"] = ((n,), whole)
    for i in (0, 1):
      expected[f"possible{i}"] = ((k, slots[i]), flag)
      expected |= {f"{name}{i}": ((n, slots[i]), single) for name in ("range", "value")}
    found = file.arrays(expected)
    possible, ranges, values = (
      (found[f"{name}0"], found[f"{name}1"]) for name in ("possible", "range", "value")
    )
    card = {key: x for key, x in header.items() if key not in ("format", "format_version", "kind", "version")}
    return cls(card, found["public_states"], possible, found["place"], ranges, values, found["draw"])

  @classmethod
  def join(cls, shards: Sequence["Situations"]) -> "Situations":
    """One data set of its shards; ValueError if there are none, or they are not of one."""
    if not shards:
      raise ValueError("There are no situations; name at least one file.")
    first = shards[0]
    for number, shard in enumerate(shards):
      if shard.card != first.card or not np.array_equal(shard.public_states, first.public_states):
        raise ValueError(f"Shard {number} is of another data set: {shard.card}, not {first.card}.")
    pair = lambda name: tuple(np.concatenate([getattr(s, name)[i] for s in shards]) for i in (0, 1))  # noqa: E731
    place, draw = (np.concatenate([getattr(s, name) for s in shards]) for name in ("place", "draw"))
    return dataclasses.replace(first, place=place, draw=draw, ranges=pair("ranges"), values=pair("values"))


def generate(
  game: pyspiel.Game,
  draws: int = 600,
  seed: int = 0,
  first: int = 0,
  iterations: int = 100,
  reaches: float = 0.7,
  progress: bool | None = None,
  **options: Any,
) -> Situations:
  """Solves situations of all public states where a search's lookahead may end.

  Args:
    game: any that `build_tree` takes, with public states.
    draws: of ranges; each gives a situation of every public state.
    seed: of the random numbers.
    first: number of the first draw; a data set is continued by shards with larger numbers.
    iterations: of NRM+ by which the teacher solves each situation.
    reaches: share of draws whose ranges are reaches of strategies.
    progress: show a progress bar; None shows it to people who wait for more than two seconds.
    **options: of `build_tree`.

  Raises:
    ValueError: an argument is not one of the allowed, or the game has nothing beyond a lookahead.
  """
  check_count("draws", draws, 1)
  seed, first = check_integer("seed", seed, 0), check_count("first", first, 0)
  teacher = CFRValues(iterations)
  maker = _Maker(Subgames.of(game, **options), teacher, seed, check_number("reaches", reaches, 0, 1))
  parts: list[Situations] = []
  with progress_bar(progress, total=draws, unit=" draws", desc="Solving situations") as bar:
    for begin in range(first, first + draws, CHUNK):
      numbers = range(begin, min(begin + CHUNK, first + draws))
      parts.append(maker.solve(numbers))
      bar.update(len(numbers))
  return Situations.join(parts)


class _Maker:
  """Draws ranges and solves them, group of public states by group."""

  def __init__(self, subgames: Subgames, teacher: CFRValues, seed: int, reaches: float):
    self.seed, self.reaches, self.subgames = seed, reaches, subgames
    groups = frontier_states(subgames)
    if not groups:
      raise ValueError(f"{subgames.labels.game}: nobody decides twice, so there is nothing to look up.")
    self.public_states = np.array(sorted(s for group in groups for s in group))
    self.card = {"game": subgames.labels.game, "teacher": repr(teacher), "seed": seed, "reaches": reaches}
    self.cuts = [subgames.cut(group) for group in groups]
    found = [Slots.of(cut, group, len(group)) for cut, group in zip(self.cuts, groups, strict=True)]
    most = tuple(max(slots.index[i].shape[1] for slots in found) for i in (0, 1))
    self.slots = [
      Slots.of(cut, group, len(group), (most[0], most[1]))
      for cut, group in zip(self.cuts, groups, strict=True)
    ]
    self.places = [np.searchsorted(self.public_states, group).astype(np.int32) for group in groups]
    possible = [np.zeros((len(self.public_states), m), bool) for m in most]
    for place, slots in zip(self.places, self.slots, strict=True):
      for i in (0, 1):
        possible[i][place] = slots.possible[i]
    self.possible = (possible[0], possible[1])
    self.teachers = [teacher.bind(subgames, group) for group in groups]

  @functools.cached_property
  def profiles(self) -> list[list[list[np.ndarray]]]:
    """For each player strategies of the whole game, from early and late iterations of CFR."""
    rule, found = NRMPlus(), [[], []]
    with precision("float32"):
      tree = to_device(self.subgames.tree, "float32")
      state, done = cfr.init(tree, rule, "float32"), 0
      for mark in ITERATIONS:
        state = cfr.solve(tree, state, mark - done, rule=rule)
        done = mark
        for i, player in enumerate(state.players):
          found[i].append([np.asarray(block) for block in player.strategy])
          found[i].append([np.asarray(block) for block in cfr.average_strategy(player)])
    return found

  def solve(self, numbers: Sequence[int]) -> Situations:
    """The situations of some draws; the device always solves `CHUNK` of them, so that it compiles once."""
    drawn = [self._ranges(n) for n in numbers]
    shards = []
    for g, (slots, teacher, place) in enumerate(zip(self.slots, self.teachers, self.places, strict=True)):
      ranges = tuple(np.stack([d[g][i] for d in drawn]).astype(np.float32) for i in (0, 1))
      filled = tuple(np.concatenate([r, r[:1].repeat(CHUNK - len(numbers), 0)]) for r in ranges)
      with precision("float32"):
        found = _taught(*to_device((teacher, filled, slots.index), "float32"))
      values = tuple(np.asarray(v)[: len(numbers)] for v in found)
      flat = lambda pair: tuple(x.reshape(-1, x.shape[-1]) for x in pair)  # noqa: E731
      shards.append(
        Situations(
          self.card, self.public_states, self.possible, np.tile(place, len(numbers)), flat(ranges),
          flat(values), np.repeat(np.array(numbers, np.int32), len(place)),
        )
      )  # fmt: skip
    return Situations.join(shards)

  def _ranges(self, number: int) -> list[Ranges]:
    """For each group the ranges [places, M] of both players in a draw, of sum one."""
    random = np.random.default_rng([self.seed, number])
    reached = random.random() < self.reaches
    reach = [self._reach(i, random) if reached else None for i in (0, 1)]
    ranges = []
    for cut, slots in zip(self.cuts, self.slots, strict=True):
      pair = []
      for i in (0, 1):
        possible, own = slots.possible[i], reach[i]
        if own is not None:
          there = np.append(own[cut.roots[i].sequence].ravel(), 0.0)[slots.index[i]]
        else:
          power = random.choice([0.5, 1.0, 2.0, 4.0], (len(possible), 1))
          there = random.random(possible.shape) ** power * (random.random(possible.shape) > 0.15)
        there = np.where(possible, there, 0.0)
        total = there.sum(1, keepdims=True)
        there = np.where(total > 1e-12, there, possible)
        pair.append(there / np.maximum(there.sum(1, keepdims=True), 1e-30))
      ranges.append((pair[0], pair[1]))
    return ranges

  def _reach(self, player: int, random: np.random.Generator) -> np.ndarray:
    """[sequences, H]: reach of a strategy of CFR's, mixed with a random one."""
    profiles = self.profiles[player]
    strategy, share = profiles[random.integers(len(profiles))], random.choice(NOISE)
    mixed = []
    for block in strategy:
      noise = random.random(block.shape) ** random.choice([1.0, 3.0]) + 1e-9
      mixed.append((1 - share) * block + share * noise / noise.sum(0))
    with precision("float32"):
      return np.asarray(_reach(*to_device((self.subgames.tree, mixed), "float32"), player=player), float)


@jit(static_argnames="player")
def _reach(tree: PublicTree, strategy: Any, player: int) -> Any:
  return jnp.concatenate(sequence_reach(tree.players[player], strategy))


@jit()
def _taught(teacher: Any, ranges: Any, index: Any) -> Any:
  """Values [B, places, M] of both players, for ranges of the same shape."""
  shapes = [(player.roots, player.types) for player in teacher.tree.players]

  def solve(pair: Any) -> Any:
    given = []
    for (rows, types), range_, at in zip(shapes, pair, index, strict=True):
      flat = jnp.zeros(rows * types + 1, range_.dtype).at[at].set(range_)
      given.append(flat[:-1].reshape(rows, types))
    values = teacher.both((given[0], given[1]))
    return tuple(jnp.append(v.ravel(), 0)[at] for v, at in zip(values, index, strict=True))

  return jax.lax.map(solve, ranges)
