"""The solution of many situations: chunk after chunk, on all devices, into files that a later call reuses.

The chunk is the unit of work: consecutive situations, one file in the folder, and the share of one process in
a run of several. Situations of a chunk with the same decisions go through one compiled program together.
"""

import functools
import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pyspiel
from jax.sharding import Mesh

from ps_cfr_spiel import cfr
from ps_cfr_spiel.arguments import JSON, check_count, check_list, check_target
from ps_cfr_spiel.backend.device import (
  Device,
  barrier,
  check_finite,
  device_named,
  in_dtype,
  on,
  precision,
  to_device,
)
from ps_cfr_spiel.batches.batch_program import Spots, local_mesh, order_here, solve_spots
from ps_cfr_spiel.batches.groups import LEAVES, Group, StreetValues, groups
from ps_cfr_spiel.batches.solutions import Given, Item, Solution, Solutions, write_chunk
from ps_cfr_spiel.cards.poker import (
  RandomSituations,
  Situation,
  cards,
  from_words,
  is_by_name,
  of_game,
  situation,
)
from ps_cfr_spiel.cfr import Rule, make_rule, rule_header
from ps_cfr_spiel.loading import load_game
from ps_cfr_spiel.options import AUTO, BatchOptions
from ps_cfr_spiel.reports import progress_bar, waiting
from ps_cfr_spiel.storage import has_same_options, read, shard
from ps_cfr_spiel.tree import Array, PublicTree

CHUNKS = {"map": 32, "vmap": 1024}  # situations in a chunk, by the order in which a device takes them
TABLES_CHUNK = {"map": 32, "vmap": 128}  # turns and flops, each of which has 10 to 20 MB of tables


def solve_batch(
  situations: Iterable[Given],
  options: BatchOptions | Rule | str | None = None,
  *,
  chunk: int | None = None,
  output: str | os.PathLike | None = None,
  progress: bool | None = None,
  **keywords: object,
) -> Solutions:
  """Solve many situations by public-state CFR; those with the same decisions share a compiled program.

  All local devices of a kind share the work (the cores of a CPU after `use_cores()`), and all processes
  share the chunks (after `join_processes`). Results do not depend on either.

  Args:
    situations: rivers, as `Situation`s, as mappings of the parameters of `river_subgame` with the stack
      behind (ranges may be weights [2, 1326]), or as `RandomSituations`; games, or their strings for
      `pyspiel.load_game`. Impossible hands are left out of ranges. With `values` they are turns, or flops.
    options: all options, or the rule alone.
    chunk: situations in a chunk, the unit in memory; 32 by default, on accelerators 1,024.
    output: folder of results, a file for each chunk. Existing chunks are not solved again.
    progress: show a progress bar; None: on a terminal or in a notebook, after two seconds.
    **keywords: options by name; see `BatchOptions`.

  Returns:
    A solution for each situation, in order.

  Raises:
    ValueError: an argument or a situation is invalid (the message has its number, from 0), or the folder
      holds other results.
    FloatingPointError: numbers leave the range of `dtype`.
    OSError: a file or the folder cannot be written.
  """
  options = BatchOptions.of(options, **keywords)
  known = _street_values(options.values)
  check_target("target", options.target, pot=1.0)
  with on(_device(options)):
    return _solve(situations, options, known, chunk, output, progress)


def _device(options: BatchOptions) -> Device | None:
  """The device of a batch; native leaves, which are for CPUs alone, keep what `auto` chooses there."""
  return None if options.device == AUTO and options.leaves == "native" else device_named(options.device)


def _solve(
  situations: Iterable[Given],
  options: BatchOptions,
  known: StreetValues | None,
  chunk: int | None,
  output: str | os.PathLike | None,
  progress: bool | None,
) -> Solutions:
  """The same as `solve_batch` on the device around it, whose values of the next street are `known`."""
  order = options.order or order_here()
  options = options.changed(
    rule=make_rule(options.rule, options.iterations, options.alternating),
    every=options.iterations if options.target is None else options.every,
    leaves=options.leaves if known is None else LEAVES[0],
    order=order,
  )
  sizes = (cards.BOARD_SIZE if known is None else known.cards - 1,)  # of boards
  situations = _in_order(situations, sizes)
  usual = CHUNKS[order] if known is None else TABLES_CHUNK[order]
  size = usual if chunk is None else check_count("chunk", chunk, 1)
  few = usual if known is None else 1  # one program for all small lists, unless their room is large
  size = min(size, max(few, 1 << (len(situations) - 1).bit_length()))  # no room beyond the situations
  if jax.process_count() > 1 and output is None:
    raise ValueError("Several processes share files: give a folder as output, the same for all.")
  folder = _make_folder(output)
  chunks: list[Path | list[Solution]] = []
  with progress_bar(progress, total=len(situations), unit="situation", desc="solving") as bar:
    for number, first in enumerate(range(0, len(situations), size)):
      part = range(first, min(first + size, len(situations)))
      path = None if folder is None else shard(folder, number)
      if path is None or number % jax.process_count() == jax.process_index():
        with waiting(f"Situations {part.start:,} to {part.stop - 1:,}", progress):
          chunks.append(_chunk(situations, part, path, options, sizes, size))
      else:
        chunks.append(path)
      bar.update(len(part))
  barrier("solve_batch")
  return Solutions(situations, functools.partial(read_situation, sizes=sizes), chunks, size)


def _street_values(values: StreetValues | None) -> StreetValues | None:
  """The argument `values`, or ValueError."""
  sizes = min(cards.STREETS) + 1, cards.BOARD_SIZE
  if values is not None and not (isinstance(values, StreetValues) and values.cards in sizes):
    raise ValueError(f"values must be of rivers or turns, like NetworkValues of these; got {values!r}.")
  return values


def _in_order(situations: Iterable[Given], sizes: tuple[int, ...]) -> Sequence[Given]:
  """Situations as a sequence, which may draw or read them on demand; ValueError for other types."""
  if isinstance(situations, Mapping | Situation):  # a single one, though it has items too
    raise ValueError(f"situations must be a sequence; put a single {type(situations).__name__} into a list.")
  if isinstance(situations, RandomSituations) and situations.options.cards not in sizes:
    street, wanted = (cards.STREETS[size] for size in (situations.options.cards, *sizes))
    raise ValueError(
      f"situations are {street}s, expected {wanted}s; turns need values of rivers, flops those of turns, and "
      "rivers none."
    )
  if isinstance(situations, Sequence) and not isinstance(situations, str):
    return situations
  return check_list("situations", situations)


def _make_folder(output: str | os.PathLike | None) -> Path | None:
  """The folder of results, created; ValueError if a file is in its place."""
  if output is None:
    return None
  try:
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
  except TypeError:
    raise ValueError(f"output must be the path of a folder, got {output!r}.") from None
  except (FileExistsError, NotADirectoryError) as error:
    raise ValueError(f"output must be a folder, and a file is in the place of {str(output)!r}.") from error
  return folder


def read_situation(given: Given, sizes: tuple[int, ...] = (cards.BOARD_SIZE,)) -> Item:
  """A board, as a user gives it, as a `Situation`, another game as itself; ValueError for anything else.

  `sizes` are the numbers of cards that a board may have.
  """
  if isinstance(given, Situation):
    return situation(*given, sizes=sizes)
  if isinstance(given, Mapping):
    return from_words(given, sizes)
  if sizes != (cards.BOARD_SIZE,):
    raise ValueError(f"with values, expected a Situation or a mapping, got {type(given).__name__}")
  game = load_game(given) if isinstance(given, str) else given
  if not isinstance(game, pyspiel.Game):
    raise ValueError(f"expected a Situation, a mapping or a game, got {type(given).__name__}")
  return of_game(game) if game.get_type().short_name == "river_subgame" and is_by_name(game) else game


def _read_all(situations: Sequence[Given], part: range, sizes: tuple[int, ...]) -> list[Item]:
  if isinstance(situations, RandomSituations):
    return situations[part.start : part.stop]  # drawn sound
  items = []
  for number in part:
    try:
      items.append(read_situation(situations[number], sizes))
    except (ValueError, pyspiel.SpielError) as error:
      raise ValueError(f"Situation {number}: {error}") from error
  return items


def _chunk(
  situations: Sequence[Given],
  part: range,
  path: Path | None,
  options: BatchOptions,
  sizes: tuple[int, ...],
  size: int,
) -> Path | list[Solution]:
  """Solve a chunk, unless it is done, and return its solutions or their file."""
  if path is None:
    return _solved(_read_all(situations, part, sizes), part, options, size)
  drawn = isinstance(situations, RandomSituations)  # the seed and the number identify each
  items = [] if drawn else _read_all(situations, part, sizes)
  method: dict[str, JSON] = {**options.header(), "rule": rule_header(options.rule)}
  if (values := options.values) is not None:
    method["values"] = f"{values!r}, {_digest(jax.tree.leaves(values.beyond))}"
  header = {
    "work": f"situations {part.start} to {part.stop - 1}",
    "situations": repr(situations.options) if isinstance(situations, RandomSituations) else _digest(items),
    "teacher": method,
  }
  if drawn and _has_fewer(path, part):  # the last of a call for fewer
    has_same_options(path, {name: header[name] for name in ("situations", "teacher")})
  elif has_same_options(path, header):
    return path
  items = items or _read_all(situations, part, sizes)
  solutions = _solved(items, part, options, size)
  write_chunk(path, {**header, "jax": jax.__version__}, part.start, items, solutions)
  return path


def _has_fewer(path: Path, part: range) -> bool:
  """True if a file has the first of these situations and not all of them."""
  fewer = [f"situations {part.start} to {last}" for last in part[:-1]]
  return path.exists() and read(path).header.get("work") in fewer


def _digest(items: Sequence[Item | Array]) -> str:
  """The digest of situations, or of arrays."""
  total = hashlib.sha256()
  for item in items:
    if isinstance(item, Situation):
      total.update(repr(item._replace(ranges=None)).encode() + item.ranges.tobytes())
    else:
      total.update(
        np.asarray(item).tobytes() if isinstance(item, np.ndarray | jax.Array) else str(item).encode()
      )
  return f"sha256 {total.hexdigest()}"


def _solved(items: Sequence[Item], part: range, options: BatchOptions, size: int) -> list[Solution]:
  targets = []
  for number, item in zip(part, items, strict=True):
    try:
      pot = item.pot if isinstance(item, Situation) else None
      targets.append(check_target("target", options.target, pot))
    except ValueError as error:
      raise ValueError(f"Situation {number}: {error}") from error
  solutions: dict[int, Solution] = {}
  mesh = local_mesh(_device(options))
  # One program serves all chunks, for any number of situations with the same decisions in each.
  room = -(-size // mesh.size) * mesh.size
  for group in groups(items, options.leaves, options.hands, options.dtype, room, options.values):
    for place, solution in zip(group.members, _solve_group(group, targets, options, mesh), strict=True):
      check_finite(f"Situation {part[place]}", solution[:5], options.dtype)
      solutions[place] = solution
  return [solutions[place] for place in range(len(items))]


def _solve_group(group: Group, targets: Sequence[float], options: BatchOptions, mesh: Mesh) -> list[Solution]:
  room, count = len(group.weights[0]), len(group.members)
  wanted = np.full(room, np.inf)
  wanted[:count] = [targets[k] for k in group.members]
  with precision(options.dtype):
    spots = Spots(
      group.leaves,
      in_dtype(group.weights, options.dtype),
      np.where(np.arange(room) < count, options.iterations, 0).astype(np.int32),
      in_dtype(wanted, options.dtype),
    )
    players = in_dtype(group.players, options.dtype)
    stream = in_dtype(group.stream if options.rule.has_native_form else None, options.dtype)
    result, done, strategies = solve_spots(
      players,
      cfr.init(PublicTree(players, group.leaves), options.rule, options.dtype),
      stream,
      spots,
      None if options.values is None else to_device(options.values.beyond, options.dtype),
      options.averaging_delay,
      options.every,
      rule=options.rule,
      alternating=options.alternating,
      tremble=options.tremble,
      order=options.order or order_here(),
      mesh=mesh,
    )
    result, done = jax.tree.map(np.asarray, (result, done))
    kept = jax.tree.map(np.asarray, strategies) if options.strategies else None
  return [_solution(group, k, result, done, kept) for k in range(count)]


def _solution(group: Group, k: int, result: Any, done: Any, strategies: Any) -> Solution:
  """Solution `k` of a group: of a `BatchResult` and strategies of NumPy's arrays, a stack each."""
  types = group.types[k]
  values = [x[k, :n] for x, n in zip(result.values, types, strict=True)]
  hands = checked = None
  if group.hands is not None:
    hands = group.hands[0][k, : types[0]], group.hands[1][k, : types[1]]
    values = _wide(hands, values)
    checked = None if result.checked is None else tuple(_wide(hands, [x[k] for x in result.checked]))
  kept = None
  if strategies is not None:
    kept = [[x[k, :, :, :n] for x in strategy] for strategy, n in zip(strategies, types, strict=True)]
  value, best, mean, others = jax.tree.map(lambda x: x[k].item(), result.evaluation)
  return Solution(value, best, mean, done[k].item(), tuple(values), kept, hands, checked, others)


def _wide(hands: Sequence[np.ndarray], values: Sequence[np.ndarray]) -> np.ndarray:
  """[2, 1326]: the values of each player's hands, 0 of others."""
  wide = np.zeros((2, len(cards.ALL_HANDS)), values[0].dtype)
  for row, at, of_hands in zip(wide, hands, values, strict=True):
    row[at] = of_hands
  return wide
