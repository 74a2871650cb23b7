"""The memory that work takes, estimated before it is taken; work that would not fit is refused.

Packages count the things to make (infostates, boards, tables), and these functions turn counts into bytes
by purpose, for `check_needs`. Arrays are counted exactly. The share of compiling and temporaries is measured;
each constant stands before the function that uses it. Boards multiply with each round: whole hold'em has 2.6
million classes of runouts to the river, and a number for each hand on each of them fills half of a common
machine.
"""

import contextlib
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ps_cfr_spiel.arguments import as_number
from ps_cfr_spiel.cards.poker import CHUNK, RANKED, CardDeal

RUNTIME = 300e6  # bytes of Python, NumPy and JAX before any game
HOST = 8  # bytes of a number on the host
HISTORY = 100  # bytes of a history at the peak of enumeration and compiling, without its strings
COMPILING = 150 * 2**20  # of the compilation of any solver with native passes
MORE_CODE = 90 * 2**20  # in addition for passes by XLA, or with code for sets or gadgets


class TooLarge(ValueError):  # noqa: N818
  """A game or a method exceeds a limit on histories or memory."""


class LimitReachedError(RuntimeError):
  """A run reached a limit, as of cells or of decisions; its state is unchanged."""


def readable_count(number: float) -> str:
  """Two digits of a large number, such as 17,000 or 2.4e+10."""
  return f"{float(f'{number:.2g}'):,.0f}" if number < 1e9 else f"{number:.1e}"


def readable_bytes(number: float) -> str:
  """Two digits of a number of bytes, in MB or GB."""
  return f"{readable_count(number / 1e6)} MB" if number < 1e9 else f"{readable_count(number / 1e9)} GB"


def free_memory() -> float:
  """Bytes that this process can still take: of the machine, its container, and the process's own limit."""
  free = [_machine_memory()]
  with contextlib.suppress(OSError, ValueError):  # Linux, in a control group that has a limit
    group = Path("/sys/fs/cgroup")
    free.append(int((group / "memory.max").read_text()) - int((group / "memory.current").read_text()))
  with contextlib.suppress(ImportError, OSError, ValueError):  # under `ulimit -v`
    import resource

    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most != resource.RLIM_INFINITY:
      pages = int(Path("/proc/self/statm").read_text().split()[0])
      free.append(most - pages * os.sysconf("SC_PAGE_SIZE"))
  return max(min(free), 0)


def peak_memory() -> int | None:
  """The most bytes that this process has held so far; None where the system does not report them."""
  with contextlib.suppress(OSError, StopIteration), open("/proc/self/status") as file:
    return next(1024 * int(line.split()[1]) for line in file if line.startswith("VmHWM"))
  with contextlib.suppress(ImportError):  # macOS; in Linux it counts a parent's too
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
  return None


def _machine_memory() -> float:
  """Free bytes of the machine; half of all bytes where the system does not report it."""
  with contextlib.suppress(OSError, StopIteration), open("/proc/meminfo") as file:
    return next(1024 * int(line.split()[1]) for line in file if line.startswith("MemAvailable"))
  with contextlib.suppress(AttributeError, OSError, ValueError):
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2
  return 4e9


def allowed_memory(memory: object = None, share: float = 1) -> float:
  """The maximum bytes that a user gives; None: a share of all free memory. ValueError for anything else."""
  most = share * free_memory() if memory is None else as_number(memory)
  if memory is not None and not most >= 1:
    raise ValueError(f"memory must be a number of at least 1 (bytes); got {memory!r}.")
  return most


def check_needs(what: str, needs: Mapping[str, float], memory: float | None, advice: str) -> int:
  """Refuse work that needs more memory than it may have; returns the estimated bytes of all.

  `needs` are estimated bytes by their purpose, `memory` the maximum; None: all free memory. TooLarge, with
  `advice` on using less; ValueError if `memory` is not a number or too small.
  """
  total, most = sum(needs.values()), allowed_memory(memory)
  if total > most:
    shares = ", ".join(f"{readable_bytes(need)} {purpose}" for purpose, need in needs.items() if need)
    has = "are free" if memory is None else "are allowed"
    raise TooLarge(
      f"{what} needs about {readable_bytes(total)} of memory ({shares}), and {readable_bytes(most)} {has}. "
      f"{advice}."
    )
  return int(total)


class TreeCounts(NamedTuple):
  """The tree of a card game, counted before it is built."""

  actions: int  #: actions of all infostates
  solved: int  #: of these, those with tables in a solver: one board of each orbit where it folds suits
  lines: int  #: public states with their boards, solved
  values: int  #: hands at leaves, solved
  members: int  #: of each player at all leaves, where suits are folded, else 0
  pairs: int  #: of hands, on each board where all-ins come before the last card
  leaves: int  #: bytes of the leaf evaluator's own tables
  number: int  #: bytes of a number of a policy


# Peaks of turns and flops (tests/compiler/test_memory.py).
STREAMING = 60 * 2**20  # of compiling board by board, which is one call, and of its stacks
FOLDING = 90 * 2**20  # in addition with folded suits, whose old tables the C library keeps in part
CALLING = 12 * 2**20  # of the same where tables change in place, by direct calls, and nothing is compiled
PAIRS = 1.02  # tables of rows with two actions, which have most numbers for each, over `cfr.num_tables`
LARGE = 64 * 2**20  # bytes of tables in full precision, from which on a run changes them in place
STATES = 3.05  # of a run with smaller tables: before and after a part, and the last one seen or a part of it
LEFT = 0.3  # of the leaves' tables beside large tables, which come when those of the host are gone
ROW = 150  # bytes of a row or a leaf while the pass over all boards is made
FREED = 110 * 2**20  # most that the C library keeps of freed arrays, up to 1.5 times the tables
COMPILED = 1.3  # in addition to compiling, as a multiple of a solver's tables
PASSES = 3.5  # tables of one iteration: values, regrets, reaches, the rule's steps
UNFOLDED = 4  # the same for the values of leaves, with folded suits
LINE = 300  # bytes of a public state on the way to a tree
LOCKED = 3  # tables on the host, with locked rows
READING = 2.4  # tables of the game on the way to a policy
LEAD = 6  # bytes of a number of `tree.AllInLeaves`, whose matrices exist up to three times


def tree_needs(
  counts: TreeCounts,
  tables: float = 0,
  itemsize: int = 4,
  locked: bool = False,
  streamed: bool = False,
  native: bool = True,
  uncompressed: float = 0,
) -> dict[str, int]:
  """Estimated bytes of a tree and a solver's run on it, by their purpose.

  Args:
    counts: of the tree.
    tables: numbers that a solver keeps for each infostate and action; 0 for the tree alone.
    itemsize: bytes of a number on the device.
    locked: whether rows have fixed strategies.
    streamed: whether the solver goes board by board.
    native: whether the native library makes the passes, with no code for sets or gadgets.
    uncompressed: as `tables`, in full precision and with one array of averages; for evaluators that stream.
  """
  kept = counts.solved * itemsize * tables
  if streamed:  # reach and values are those of one board, and all-ins need no matrices
    in_place = counts.solved * itemsize * uncompressed > LARGE
    # Tables that change in place are there once; others are in full precision, the averages two arrays.
    states = PAIRS * kept if in_place else STATES * counts.solved * itemsize * (uncompressed + 1)
    return {
      "for strategies, averages and regrets": int(states),
      "for compiling and iterating": (CALLING if in_place else STREAMING + FOLDING * (counts.members > 0))
      + ROW * counts.lines,
      "for the leaves": int((LEFT if in_place else 1) * counts.leaves),
    }
  # An iteration has tables that go in and others that come out; the values of all leaves are added by orbit.
  running = kept + (PASSES * counts.solved + UNFOLDED * counts.members) * itemsize
  compiling = COMPILING + MORE_CODE * (not native) + COMPILED * kept + min(1.5 * kept, FREED)
  return {
    "for strategies, averages and regrets": int(kept),
    "for compiling and iterating": int(max(compiling, running)) * bool(tables),
    "for locks": (LOCKED * counts.actions * HOST + counts.values * itemsize) * locked,
    "for the leaves": counts.values * 2 * itemsize + counts.leaves,
    "for all-ins before the last card": counts.pairs * (itemsize + LEAD),
  }


def policy_needs(actions: int, number: int) -> dict[str, int]:
  """Estimated bytes, by their purpose, of making a policy beside the run that it is of.

  `actions` are those of all infostates, `number` the bytes of a probability.
  """
  return {"for the strategies": int(READING * actions * number)}


# Peaks of `summary` of a policy after a run (tests/compiler/test_memory.py).
VALUING = 200 * 2**20  # of finding the values of a policy; peaks of one game vary by 100 MB, why is not known
VALUES = 3.9  # tables of a policy and the values of its actions, which are computed without the solver's


def values_needs(counts: TreeCounts) -> dict[str, int]:
  """Estimated bytes, by their purpose, of a policy and of the values of its actions, nothing folded."""
  return {
    "for strategies and values": int(VALUES * counts.actions * counts.number),
    "for computing them": VALUING + ROW * counts.lines,
    "for the leaves": counts.leaves,
  }


# Peaks of dealt cards (docs/measurements.md, "Memory of dealt cards").
TABLES = 10  # numbers of 4 bytes for each hand on each class of runouts, here and on the device
SCORE = 150  # bytes of each hand while its strength is computed
SET = 200  # bytes of a set of cards while all of them are listed
INDEX = 30  # bytes of where a set leads from a class
PAIR = 13  # bytes of each pair of boards while they are compared and clustered
ROWS = 5  # copies of the numbers that describe hands while they are put into buckets


def card_needs(deal: CardDeal) -> dict[str, int]:
  """Estimated bytes of a deal's classes of boards and hands, and of an abstraction of them, by purpose."""
  deck, hands, classes = deal.deck, math.comb(deal.deck.size, deal.hole), deal.most_classes()
  renamed = math.factorial(deck.suits)

  def naming(below: int, size: int) -> int:
    """Bytes of the sets of `size` cards under all renamings, and of the least of them on `below` boards."""
    return math.comb(deck.size, size) * (SET + renamed * (8 * size + 24 + 4 * min(below, CHUNK)))

  boards = [
    naming(below, size) + INDEX * below * math.comb(deck.size, size)
    for below, size in zip(classes, deal.public[1:], strict=False)
  ]
  ranked = max(naming(max(classes), deal.hole), SCORE * hands * min(classes[-1], RANKED))
  return {
    f"for {classes[-1]:,} classes of boards": max(boards),
    f"for {hands:,} hands on them": ranked + 4 * TABLES * hands * sum(classes),
  }


def board_needs(boards: int) -> dict[str, int]:
  """Estimated bytes of clustering boards, by purpose."""
  return {f"for the distances of {boards:,} boards": PAIR * boards**2}


def bucket_needs(
  rows: Sequence[float], columns: Sequence[int], sums: Sequence[int], histograms: float
) -> dict[str, int]:
  """Estimated bytes that making the buckets of one cluster takes, by purpose.

  For each round `rows` has the number of hands of the cluster, up to suits, `columns` the numbers that
  describe one, and `sums` the hands whose numbers are added up at once; `histograms` are numbers that
  describe the future of hands of a later round.
  """
  of_each = [8 * n * (ROWS * m + k) for m, n, k in zip(rows, columns, sums, strict=True)]
  return {
    "for the hands of one cluster": int(max(of_each) + 16 * histograms),
    "for distances": 24 * max(columns) ** 2,
  }


# Peaks of runs of sampling methods (docs/measurements.md, "Memory of dealt cards").
COPIES = 2  # of the tables: before and after a part of a run
CUT = 5  # the same on a mesh of devices, and in between
IN_PLACE = 1.5  # the same where the native library changes them in their places


def sampling_needs(tables: int, batch: int, copies: float = COPIES) -> dict[str, int]:
  """Estimated bytes of a run that samples, by purpose.

  `tables` and `batch` are bytes of its tables and of all that is sampled at once, `copies` those of the
  tables at the peak.
  """
  return {"for regrets and averages": int(copies * tables), "for the samples of a batch": batch}


# Peaks of training networks, roughly.
WEIGHTS = 9  # copies of the parameters: weights, both moments, gradients, the best so far


def training_needs(parameters: int, outputs: int, numbers: int) -> dict[str, int]:
  """Estimated bytes of training a network, by purpose.

  Args:
    parameters: of the network, in float32.
    outputs: of all its layers for a batch, in float32.
    numbers: of examples that are drawn at once.
  """
  return {
    "for weights, gradients and the optimiser": WEIGHTS * 4 * parameters,
    "for batches": 4 * outputs + HOST * numbers,
  }
