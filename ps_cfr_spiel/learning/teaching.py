"""The solution of situations at drawn ranges: examples for training."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel

from ps_cfr_spiel.arguments import JSON, check_count, check_derived, check_instance, check_integer
from ps_cfr_spiel.backend.device import jit, precision, to_device
from ps_cfr_spiel.learning.alpha_vectors import serve
from ps_cfr_spiel.learning.boards.places import Drawn, FrontierStates
from ps_cfr_spiel.learning.boards.ranges import RangeSampler, ReachSampler
from ps_cfr_spiel.learning.examples import Examples
from ps_cfr_spiel.learning.state_features import StateFeatures
from ps_cfr_spiel.reports import progress_bar
from ps_cfr_spiel.resolving.search import (
  BoundCFR,
  CFRValues,
  ValueFunction,
)
from ps_cfr_spiel.resolving.subgames import PadTo, Subgames
from ps_cfr_spiel.tree import Array

CHUNK = 32  # situations solved in one call


class Teacher(Protocol):
  """A `ValueFunction` that solves situations, as `CFRValues`; its `repr` is in the card of the examples."""

  def bind(self, subgames: Subgames, public_states: Sequence[int], pad_to: PadTo | None = None) -> BoundCFR:
    """See `ValueFunction`; the result has the strategies, too."""
    ...


def generate_examples(
  game: pyspiel.Game | Subgames,
  draws: int = 1200,
  seed: int = 0,
  first: int = 0,
  iterations: int = 100,
  ranges: RangeSampler | None = None,
  teacher: Teacher | None = None,
  progress: bool | None = None,
  **options: JSON,
) -> Examples:
  """Solve situations of all public states where a search's lookahead may end; ValueError if it never does.

  Args:
    game: any that `build_tree` takes, with public states; or the result of `Subgames.of`.
    draws: of ranges for all public states; each gives one or more examples of those that are not alike.
    seed: of the random numbers.
    first: number of the first draw; shards with larger numbers continue a data set.
    iterations: of NRM+ for each situation, without a teacher.
    ranges: source of ranges, `ReachSampler()` by default; `SearchSampler(values)` for the ranges in searches
      with these values.
    teacher: solver; `usual_teacher` by default.
    progress: show a progress bar; None: on a terminal or in a notebook, after two seconds.
    **options: of `build_tree`.
  """
  check_count("draws", draws, 1)
  seed, first = check_integer("seed", seed, 0), check_count("first", first, 0)
  sampler = (
    ReachSampler() if ranges is None else check_derived("ranges", ranges, RangeSampler, "ReachSampler()")
  )
  frontier = FrontierStates.of(game if isinstance(game, Subgames) else Subgames.of(game, **options))
  method = usual_teacher(frontier, iterations) if teacher is None else teacher
  check_derived("teacher", method, ValueFunction, "CFRValues()")
  return Examples.join(solve_draws(frontier, draws, seed, first, sampler, method, progress))


def solve_draws(
  frontier: FrontierStates,
  draws: int,
  seed: int,
  first: int,
  ranges: RangeSampler,
  teacher: Teacher,
  progress: bool | None,
) -> Iterator[Examples]:
  """The examples of `generate_examples`, in parts, once they are solved, draw after draw."""
  name = frontier.subgames.labels.game
  card = {"game": name, "teacher": repr(teacher), "seed": seed, "ranges": repr(ranges)}
  bound = [teacher.bind(frontier.subgames, taught.public_states) for taught in frontier.taught]
  bound = [check_instance(f"the bound values of {teacher}", one, BoundCFR) for one in bound]
  draw = ranges.bind(frontier, seed)
  waiting: list[tuple[int, Drawn]] = []
  with progress_bar(progress, total=draws, unit=" draws", desc="Solving situations") as bar:
    for number in range(first, first + draws):
      random = np.random.default_rng([seed, number, 1])  # a stream apart from the sampler's
      given = [drawn for drawn in draw(number) for _ in range(frontier.each)]
      waiting += [(number, frontier.one_of_each(drawn, random)) for drawn in given]
      while len(waiting) >= CHUNK or (waiting and number == first + draws - 1):
        yield _solved(frontier, bound, card, waiting[:CHUNK])
        waiting = waiting[CHUNK:]
      bar.update()


def usual_teacher(frontier: FrontierStates, iterations: int) -> CFRValues:
  """A solver to the end of the game; its values are those of best responses for `AlphaVectors`."""
  vectors = serve([possible.shape[1] for possible in frontier.possible])
  return CFRValues(iterations, values="best-response" if vectors else "average")


def _solved(
  frontier: FrontierStates,
  bound: Sequence[BoundCFR],
  card: dict[str, JSON],
  given: Sequence[tuple[int, Drawn]],
) -> Examples:
  """The examples of ranges with the numbers of their draws, at most `CHUNK`.

  The device always solves `CHUNK` of them, so it compiles once.
  """
  numbers, drawn = zip(*given, strict=True)
  shards, features = [], StateFeatures.of(frontier)
  for g, ((_, slots, place), one) in enumerate(zip(frontier.taught, bound, strict=True)):
    ranges = tuple(np.stack([d[g][i] for d in drawn]).astype(np.float32) for i in (0, 1))
    filled = tuple(np.concatenate([r, r[:1].repeat(CHUNK - len(numbers), 0)]) for r in ranges)
    with precision("float32"):
      taught = _taught(*to_device((one, filled, slots.index), "float32"))
    values = tuple(np.asarray(v)[: len(numbers)] for v in taught)
    flat = lambda pair: tuple(x.reshape(-1, x.shape[-1]) for x in pair)  # noqa: E731
    places, draws = np.tile(place, len(numbers)), np.repeat(np.array(numbers, np.int32), len(place))
    shards.append(Examples(card, features, {"place": places}, flat(ranges), flat(values), draws))
  return Examples.join(shards)


@jit()
def _taught(teacher: BoundCFR, ranges: Sequence[Array], index: Sequence[Array]) -> tuple[Array, Array]:
  """Values [B, places, M] of both players, for ranges of the same shape."""
  shapes = [(player.roots, player.types) for player in teacher.tree.players]

  def solve(pair):
    given = []
    for (rows, types), range_, at in zip(shapes, pair, index, strict=True):
      flat = jnp.zeros(rows * types + 1, range_.dtype).at[at].set(range_)
      given.append(flat[:-1].reshape(rows, types))
    values = teacher.both((given[0], given[1]))
    return tuple(jnp.append(v.ravel(), 0)[at] for v, at in zip(values, index, strict=True))

  return jax.lax.map(solve, ranges)
