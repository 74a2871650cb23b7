"""The solution of situations at drawn ranges: examples for training.

Turns and flops of hold'em are solved one by one, each by a search to the next card with all hands.
"""

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel

from ps_cfr_spiel import storage
from ps_cfr_spiel.arguments import check_binds, check_count, check_instance, check_integer
from ps_cfr_spiel.cfr import NRMPlus
from ps_cfr_spiel.device import jit, precision, to_device
from ps_cfr_spiel.learning.board_values import lines_of
from ps_cfr_spiel.learning.examples import Examples
from ps_cfr_spiel.learning.places import FrontierStates
from ps_cfr_spiel.learning.ranges import Drawn, RangeSampler, ReachSampler
from ps_cfr_spiel.poker import RandomSituations, Situation, cards
from ps_cfr_spiel.reports import progress_bar
from ps_cfr_spiel.search import (
  ROUND,
  BoundCFR,
  CFRValues,
  FrozenValues,
  Levels,
  Lookahead,
  ValueFunction,
)
from ps_cfr_spiel.subgames import FrontierLeaves, PadTo, Subgames

CHUNK = 32  # situations solved in one call
STORED = 8  # turns or flops in a file


class Teacher(ValueFunction, Protocol):
  """The solver of situations: `CFRValues`, or `OneAhead`; its `repr` goes into the card of the examples."""

  def bind(
    self, subgames: Subgames, public_states: Sequence[int], pad_to: PadTo | None = None
  ) -> BoundCFR: ...


@dataclasses.dataclass(frozen=True)
class OneAhead:
  """A teacher that solves until the acting player's next decision, with a value function beyond.

  With `lookahead` "round" it solves until the next card.
  """

  iterations: int = 100  #: of CFR with the default rule
  beyond: ValueFunction | None = None  #: values of the next decisions; zeros, if None
  lookahead: Lookahead = dataclasses.field(default=1, repr=False)

  def __post_init__(self):
    check_count("iterations", self.iterations, 1)
    if self.beyond is not None:
      check_binds("beyond", self.beyond, "CFRValues()")

  def bind(self, subgames: Subgames, public_states: Sequence[int], pad_to: PadTo | None = None) -> BoundCFR:
    """See `search.ValueFunction`; the public states are of one level (`Levels`)."""
    state = public_states[0]
    levels = Levels.of(subgames.labels, self.lookahead)[subgames.labels.public_states[state].player]
    subgame = subgames.cut(public_states, levels.frontier(levels.horizon(state)), pad_to=pad_to)
    tree = subgame.tree
    if subgame.limited:
      types = [p.types for p in tree.players]
      first, second = zip(subgame.shape.frontier, types, strict=True)
      nothing = FrozenValues((np.zeros(first), np.zeros(second)))
      beyond = nothing if self.beyond is None else self.beyond.bind(subgames, subgame.frontier_states)
      tree = dataclasses.replace(tree, leaves=FrontierLeaves(tree.leaves, beyond, (first, second)))
    return BoundCFR(tree, subgame.leaf_roots, np.int32(self.iterations), NRMPlus(), "average")


def generate_examples(
  game: pyspiel.Game | Subgames,
  draws: int = 1200,
  seed: int = 0,
  first: int = 0,
  iterations: int = 100,
  ranges: RangeSampler | None = None,
  teacher: Teacher | None = None,
  progress: bool | None = None,
  **options: Any,
) -> Examples:
  """Solve situations of all public states where a search's lookahead may end; ValueError if it never does.

  Args:
    game: any that `build_tree` takes, with public states; or the result of `Subgames.of`.
    draws: of ranges; each gives one or more examples of every public state.
    seed: of the random numbers.
    first: number of the first draw; shards with larger numbers continue a data set.
    iterations: of NRM+ for each situation, without a teacher.
    ranges: source of ranges, `ReachSampler()` by default; `SearchSampler(values)` for the ranges in searches
      with these values.
    teacher: solver; `CFRValues(iterations)` by default, to the end of the game.
    progress: show a progress bar; None: on a terminal or in a notebook, after two seconds.
    **options: of `build_tree`.
  """
  check_count("draws", draws, 1)
  seed, first = check_integer("seed", seed, 0), check_count("first", first, 0)
  sampler = ReachSampler() if ranges is None else check_binds("ranges", ranges, "ReachSampler()")
  method = CFRValues(iterations) if teacher is None else check_binds("teacher", teacher, "CFRValues()")
  frontier = FrontierStates.of(game if isinstance(game, Subgames) else Subgames.of(game, **options))
  name = frontier.subgames.labels.game
  card = {"game": name, "teacher": repr(method), "seed": seed, "ranges": repr(sampler)}
  bound = [method.bind(frontier.subgames, group) for group in frontier.groups]
  bound = [check_instance(f"the bound values of {method}", one, BoundCFR) for one in bound]
  draw = sampler.bind(frontier, seed)
  parts: list[Examples] = []
  waiting: list[tuple[int, Drawn]] = []
  with progress_bar(progress, total=draws, unit=" draws", desc="Solving situations") as bar:
    for number in range(first, first + draws):
      waiting += [(number, drawn) for drawn in draw(number)]
      while len(waiting) >= CHUNK or (waiting and number == first + draws - 1):
        parts.append(_solved(frontier, bound, card, waiting[:CHUNK]))
        waiting = waiting[CHUNK:]
      bar.update()
  return Examples.join(parts)


def _solved(
  frontier: FrontierStates,
  bound: Sequence[BoundCFR],
  card: dict[str, Any],
  given: Sequence[tuple[int, Drawn]],
) -> Examples:
  """The examples of ranges with the numbers of their draws, at most `CHUNK`.

  The device always solves `CHUNK` of them, so it compiles once.
  """
  numbers, drawn = zip(*given, strict=True)
  shards = []
  for g, (slots, one, place) in enumerate(zip(frontier.slots, bound, frontier.places, strict=True)):
    ranges = tuple(np.stack([d[g][i] for d in drawn]).astype(np.float32) for i in (0, 1))
    filled = tuple(np.concatenate([r, r[:1].repeat(CHUNK - len(numbers), 0)]) for r in ranges)
    with precision("float32"):
      found = _taught(*to_device((one, filled, slots.index), "float32"))
    values = tuple(np.asarray(v)[: len(numbers)] for v in found)
    flat = lambda pair: tuple(x.reshape(-1, x.shape[-1]) for x in pair)  # noqa: E731
    places, draws = np.tile(place, len(numbers)), np.repeat(np.array(numbers, np.int32), len(place))
    states = frontier.public_states, frontier.possible
    shards.append(Examples(card, *states, places, flat(ranges), flat(values), draws))
  return Examples.join(shards)


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


def teach_streets(
  situations: RandomSituations,
  values: ValueFunction,
  iterations: int,
  output: str | os.PathLike,
  progress: bool | None = None,
) -> None:
  """Solve turns or flops, with all hands, into files of a folder as those of `solve_batch`; done ones stay.

  Args:
    situations: with three or four cards on the board.
    values: value function beyond the next card, such as `BoardValues` of the next street.
    iterations: of NRM+ in each search.
    output: the folder, created if needed; `BoardExamples.load` reads it.
    progress: show a progress bar; None: on a terminal or in a notebook, after two seconds.

  OSError if a file cannot be written; ValueError for a wrong argument, or a folder with other results.
  """
  teacher = OneAhead(iterations, check_binds("values", values, "BoardValues"), ROUND)
  folder, count = storage.make_folder(Path(output)), len(situations)
  with progress_bar(progress, total=count, unit="situation", desc="Solving") as bar:
    for first in range(0, count, STORED):
      numbers = range(first, min(first + STORED, count))
      header = {
        "work": f"situations {numbers.start} to {numbers.stop - 1}",
        "situations": repr(situations),
        "method": {"hands": "all", "teacher": repr(teacher)},
      }
      path = folder / f"{first // STORED:06}.npz"
      if not storage.made_alike(path, header):
        drawn = [situations.draw(number) for number in numbers]
        found = [_searched(one, teacher) for one in drawn]
        arrays = {
          "number": np.array(numbers),
          "board": np.array([one.board for one in drawn], np.int8),
          "pot": np.array([one.pot for one in drawn]),
          "stack": np.array([one.stack for one in drawn]),
          "ranges": np.array([one.ranges for one in drawn], np.float32),
          "values": np.array([one for one, _ in found], np.float32),
          "checked": np.array([one for _, one in found], np.float32),
        }
        storage.write(path, "batch", header, arrays)
      bar.update(len(numbers))


def _searched(given: Situation, teacher: OneAhead) -> tuple[np.ndarray, np.ndarray]:
  """Values [2, 1326] of a turn or flop in chips, as searched and as checked down, by any hand."""
  # No bets after the next card: those are in the value function, and this tree is small.
  parameters = {"pot": given.pot, "stack": given.stack, "bets": f"{given.bets}/x"}
  game: Any = pyspiel.load_game("holdem_subgame", {"board": cards.card_names(given.board), **parameters})
  subgames = Subgames.of(game)
  lines = lines_of(subgames, len(given.board))
  hands = [cards.hand_numbers(own.cards) for own in game.ranges]
  ranges = [r[own] for r, own in zip(given.ranges, hands, strict=True)]
  begin = next(s for s, public in enumerate(subgames.labels.public_states) if public.player >= 0)
  with precision("float32"):
    one, index = teacher.bind(subgames, [begin]), [np.arange(len(own))[None] for own in hands]
    found = _taught(*to_device((one, tuple(r[None, None] for r in ranges), tuple(index)), "float32"))
  lead = lines.lead(0, 0) * lines.disjoint / lines.orders(len(lines.boards) - 1)
  down = (lead @ ranges[1], -(ranges[0] @ lead))
  both = np.zeros((2, 2, len(cards.ALL_HANDS)))
  for i, own in enumerate(hands):
    both[0, i, own] = np.asarray(found[i])[0, 0] * lines.disjoint.sum()  # unnormalised by the deal
    both[1, i, own] = down[i] * given.pot / 2
  return both[0], both[1]
