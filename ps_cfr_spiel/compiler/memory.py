"""Estimates of the memory of a form's tree before it is built, and the refusal of trees that do not fit.

With public cards the tables grow with the boards, and a flop with deep stacks fits into no machine; without
them, many bet sizes and all hands can be too much as well.
"""

from collections.abc import Mapping

import numpy as np
import pyspiel

from ps_cfr_spiel.compiler.described import form_of
from ps_cfr_spiel.compiler.forms import EXACT, Form, Lines
from ps_cfr_spiel.compiler.from_form import leaves_of
from ps_cfr_spiel.compiler.suit_isomorphism import orbit_maps
from ps_cfr_spiel.histories import Limits, TooLarge, free_memory, readable_bytes
from ps_cfr_spiel.native import why_unavailable
from ps_cfr_spiel.tree import TERMINAL

HOST = 8  # bytes of a number on the host
# Fitted to measured peaks (docs/measurements.md, "Memory of turns and flops").
COMPILING = 150 * 2**20  # of the compilation of any tree with the native walk
VALUING = 230 * 2**20  # of the compilation that finds the values of a policy
STREAMING = 90 * 2**20  # the same board by board, which is one call
PAIRS = 1.14  # tables of rows with two actions, which have most numbers for each, over `cfr.num_tables`
WHOLE = 64 * 2**20  # of tables that are kept narrow; smaller ones are not
ROW = 150  # bytes of a row or a leaf while the walk over all boards is made
MORE_CODE = 90 * 2**20  # in addition where XLA walks, or with code for sets or gadgets
FREED = 110 * 2**20  # most that the C library keeps of freed arrays, up to 1.5 times the tables
COMPILED = 1.3  # in addition, as a multiple of a solver's tables
PASSES = 3.5  # tables of one iteration: values, regrets, reaches, the rule's steps
UNFOLDED = 4  # the same for the values of leaves, with folded suits
LINE = 300  # bytes of a public state on the way to a tree
LOCKED = 3  # tables on the host, with locked rows
READING = 2.2  # tables of the game on the way to a policy, beside the solver's
VALUES = 4.3  # of a policy and the values of its actions, which are computed without the solver's
LEAD = 6  # bytes of a number of `tree.AllInLeaves`, whose matrices exist up to three times
ADVICE = (
  "To use less memory: bits=16, narrower ranges, fewer bet sizes (above all on later streets and for raises; "
  "streets follow '/', raises ';'), a smaller stack or, before the river, one more board card"
)


def check_memory(
  game: pyspiel.Game,
  memory: float | None = None,
  tables: float = 0,
  itemsize: int = 4,
  folded: bool = True,
  locked: bool = False,
  leaves: str = "auto",
  streamed: bool = False,
) -> int | None:
  """Refuse a game whose tree and solver tables would not fit into memory; games without a form pass.

  `memory` is the maximum bytes; None: all free memory. (JAX knows how much a GPU has.) The others are
  arguments of `memory_needs`. Returns the estimated bytes, None without a form. ValueError if more is needed,
  or `memory` is not a number or too small.
  """
  form = form_of(game)
  if form is None:
    Limits.create(memory=memory)
    return None
  _check_size(game, form, memory)
  needs = memory_needs(form, tables, itemsize, folded, locked, leaves, streamed)
  check_needs(str(game), needs, memory, getattr(form, "advice", ADVICE))
  return sum(needs.values())


def _check_size(game: pyspiel.Game, form: Form, memory: float | None) -> None:
  """Refuse a form whose arrays, which a described one makes when they are asked for, would not fit."""
  Limits.create(memory=memory)
  needs = {"for the public tree": LINE * getattr(form, "size", 0)}
  check_needs(str(game), needs, memory, getattr(form, "advice", ADVICE))


def is_streamed(game: pyspiel.Game, leaves: str = "auto", memory: float | None = None) -> bool:
  """Whether a game has public cards to come that the native library can go through board by board.

  ValueError as of `check_memory`.
  """
  form = form_of(game)
  if form is None:
    return False
  _check_size(game, form, memory)
  lines = Lines.of(form)
  return len(lines.boards) > 1 and leaves_of(lines, leaves) == "native"


def check_needs(name: str, needs: Mapping[str, float], memory: float | None, advice: str) -> None:
  """TooLarge, with `advice` on using less, if a program needs more memory than it may have.

  `needs` are estimated bytes by their purpose, `memory` the maximum; None: all free memory.
  """
  total, most = sum(needs.values()), free_memory() if memory is None else memory
  if total > most:
    shares = ", ".join(f"{readable_bytes(need)} {what}" for what, need in needs.items() if need)
    has = "are free" if memory is None else "are allowed"
    raise TooLarge(
      f"{name} needs about {readable_bytes(total)} of memory ({shares}), and {readable_bytes(most)} {has}. "
      f"{advice}."
    )


def memory_needs(
  form: Form,
  tables: float = 0,
  itemsize: int = 4,
  folded: bool = True,
  locked: bool = False,
  leaves: str = "auto",
  streamed: bool = False,
) -> dict[str, int]:
  """Estimated bytes, by their purpose.

  Args:
    tables: numbers that a solver keeps for each infostate and action; 0 for the tree alone.
    itemsize: bytes of a number on the device.
    folded: whether a solver folds suits where it may; with an abstraction, with locks that distinguish suits,
      and in searches it does not.
    streamed: whether a solver goes board by board (`is_streamed`).
  """
  lines = Lines.of(form)
  # A solver has rows and leaves for one board of each orbit (`suit_isomorphism`).
  orbits = orbit_maps(lines) if tables and folded else None
  rows = [int(stand.kept.sum()) for stand in orbits] if orbits else lines.boards
  sizes = np.array(rows)[lines.street]
  numbers, whole = _numbers(lines, sizes), _numbers(lines, lines.sizes)
  ends = np.flatnonzero(form.player == TERMINAL)
  acting = lines.last_acting(ends)
  types = len(form.types[0]) + len(form.types[1])
  values = int(sizes[acting].sum()) * types
  # All-ins before the last card have a matrix for each board.
  streets = set(lines.street[acting[acting != ends]].tolist())
  matrices = sum(lines.boards[street] for street in streets) * len(form.types[0]) * len(form.types[1])
  kept = numbers * itemsize * tables
  evaluators = _leaf_tables(lines, leaves_of(lines, leaves), itemsize)
  if streamed:  # tables change in place, and reach and values are those of one board
    reading = READING * whole * (HOST if whole <= EXACT else HOST // 2)
    return {
      "for strategies, averages and regrets": int(PAIRS * max(kept, min(2 * kept, WHOLE))),
      "for compiling and iterating": int(max(STREAMING + ROW * int(sizes.sum()), reading)),
      "for the leaves": evaluators,
      "for all-ins before the last card": matrices * LEAD,
    }
  # An iteration has tables that go in and others that come out; the values of all leaves are added by orbit.
  members = int(lines.sizes[acting].sum()) * types // 2 if orbits else 0
  running = kept + (PASSES * numbers + UNFOLDED * members) * itemsize
  plain = (folded or locked) and not why_unavailable()
  compiling = COMPILING + MORE_CODE * (not plain) + COMPILED * kept + min(1.5 * kept, FREED)
  return {
    "for strategies, averages and regrets": int(kept),
    "for compiling and iterating": int(max(compiling, running)) * bool(tables),
    "for locks": (LOCKED * whole * HOST + values * itemsize) * locked,
    "for the leaves": values * 2 * itemsize + evaluators,
    "for all-ins before the last card": matrices * (itemsize + LEAD),
  }


def values_needs(form: Form, leaves: str = "auto") -> dict[str, int]:
  """Estimated bytes, by their purpose, of a policy of a game and of the values of its actions."""
  lines = Lines.of(form)
  numbers = _numbers(lines, lines.sizes)
  return {
    "for strategies and values": int(VALUES * numbers * (HOST if numbers <= EXACT else HOST // 2)),
    "for computing them": VALUING + ROW * int(lines.sizes.sum()),
    "for the leaves": _leaf_tables(lines, leaves_of(lines, leaves), HOST),
  }


def _numbers(lines: Lines, sizes: np.ndarray) -> int:
  """The number of actions of all infostates; `sizes` counts the boards of each line."""
  form = lines.form
  each = [np.flatnonzero(form.player == i) for i in (0, 1)]
  return sum(int(sizes[acting] @ lines.moves[acting]) * len(form.types[i]) for i, acting in enumerate(each))


def _leaf_tables(lines: Lines, kind: str, itemsize: int) -> int:
  """Bytes of an evaluator of this kind for all boards, on the host and on the device."""
  boards, (first, second) = sum(lines.boards), map(len, lines.form.types)
  if kind not in ("dense", "showdown"):
    # Of each hand, `tree.NativeLeaves`: nine numbers in 16 bits, a scale and a weight; twice
    # while boards are stacked.
    return boards * (first + second) * 2 * (9 * 2 + 2 * HOST)
  if kind == "dense":
    numbers = boards * 2 * first * second
  else:  # see `tree.ShowdownLeaves`: N x W x V signs, G x K comparisons, and the owners of each card
    cards = [cards.ravel() for cards in lines.form.cards]
    distinct = len(np.unique(np.concatenate(cards)))
    widths = [int(np.bincount(one).max()) for one in cards]
    levels = [max(len(np.unique(board)) for board in strength) for strength in lines.strength]
    of_each = 2 * distinct * (widths[0] * widths[1] + first + second)
    numbers = boards * of_each + lines.boards[-1] * (second * levels[0] + first * levels[1])
  return numbers * (2 * HOST + itemsize)  # the host holds them twice while boards are stacked
