"""The size of the tree of a form, counted before it is built, and the refusal of trees that do not fit.

With public cards the tables grow with the boards, and a flop with deep stacks fits into no machine; without
them, many bet sizes and all hands can be too much as well.
"""

import dataclasses
import math

import numpy as np
import pyspiel

from ps_cfr_spiel import memory as estimates
from ps_cfr_spiel.backend.device import accelerator_memory, platform
from ps_cfr_spiel.backend.native import why_unavailable
from ps_cfr_spiel.cards.poker import BayesianForm
from ps_cfr_spiel.compilation.compiler.forms import EXACT, PublicStateIndex
from ps_cfr_spiel.compilation.compiler.from_form import LEAVES, leaves_of
from ps_cfr_spiel.compilation.histories import scale_fault
from ps_cfr_spiel.memory import HOST, TreeCounts, check_needs


@dataclasses.dataclass(frozen=True)
class TreeUse:
  """The use of a form's tree, as far as its memory depends on that."""

  tables: float = 0  #: numbers that a solver keeps for each infostate and action; 0 for the tree alone
  itemsize: int = 4  #: bytes of a number on the device
  #: whether a solver folds suits where it may; with an abstraction, with locks that distinguish suits, and in
  #: searches it does not.
  folded: bool = True
  locked: bool = False  #: whether some infostates are locked
  leaves: str = "auto"  #: the leaf evaluator, as of `build_tree`
  streamed: bool = False  #: whether a solver goes board by board (`is_streamed`)
  uncompressed: float = 0  #: as `tables`, in full precision and with one array of averages


ALONE = TreeUse()  # the tree without a solver


def index_of(game: pyspiel.Game, form: BayesianForm, memory: float | None = None) -> PublicStateIndex:
  """The public states of a form; all that follows is of them.

  TooLarge if their arrays, which a described form makes when they are asked for, would not fit into `memory`
  bytes; None: into all free memory. ValueError if that is not a number or too small, or payoffs are too large
  or too small (`scale_fault`).
  """
  # Each pair of types has a probability of about 1 / pairs.
  fault = scale_fault(form.betting.largest_payoff / math.prod(map(len, form.weights)))
  if fault:
    raise ValueError(f"{game}: {fault}")
  check_needs(str(game), {"for the public tree": estimates.LINE * form.size}, memory, form.advice)
  return PublicStateIndex.of(form)


def check_memory(
  game: pyspiel.Game, lines: PublicStateIndex, memory: float | None = None, use: TreeUse = ALONE
) -> int:
  """Refuse a form whose tree and solver tables would not fit into memory; returns the estimated bytes.

  `memory` is as of `index_of`, None: of an accelerator too.
  """
  needs, advice = memory_needs(lines, use), lines.form.advice
  if memory is None and (room := accelerator_memory()) is not None:
    other = f"The {platform()} has no more: solve it by --device=cpu (device='cpu'), or give --memory to try"
    check_needs(str(game), needs, room, other)
  return check_needs(str(game), needs, memory, advice)


def solved_actions(lines: PublicStateIndex, folded: bool) -> int:
  """The number of actions of all infostates with tables in a solver, counted."""
  return _counts(lines, folded, "auto", HOST).solved


def is_streamed(lines: PublicStateIndex, leaves: str = "auto") -> bool:
  """True if public cards are to come that the native library can go through board by board."""
  return len(lines.boards) > 1 and leaves_of(lines, leaves) == "native"


def memory_needs(lines: PublicStateIndex, use: TreeUse = ALONE) -> dict[str, int]:
  """Estimated bytes, by their purpose."""
  native = (use.folded or use.locked) and not why_unavailable()
  counts = _counts(lines, bool(use.tables) and use.folded, use.leaves, use.itemsize)
  return estimates.tree_needs(
    counts, use.tables, use.itemsize, use.locked, use.streamed, native, use.uncompressed
  )


def values_needs(lines: PublicStateIndex, leaves: str = "auto") -> dict[str, int]:
  """Estimated bytes, by their purpose, of a policy of a game and of the values of its actions."""
  return estimates.values_needs(_counts(lines, False, leaves, HOST))


def policy_needs(actions: int) -> dict[str, int]:
  """Estimated bytes, by their purpose, of making a policy, by its number of actions of infostates."""
  return estimates.policy_needs(actions, _number(actions))


def _number(actions: int) -> int:
  """Bytes of a number of a policy."""
  return HOST if actions <= EXACT else HOST // 2


def _counts(lines: PublicStateIndex, folded: bool, leaves: str, itemsize: int) -> TreeCounts:
  """The sizes of a form's tree; `folded`: with suits folded where they may be."""
  form = lines.form
  # A solver has rows and leaves for one board of each orbit (`suit_isomorphism`).
  orbits = lines.dealt.orbits if folded else None
  rows = [int(stand.kept.sum()) for stand in orbits] if orbits else lines.boards
  sizes, actions = np.array(rows)[lines.betting.street], _numbers(lines, lines.sizes)
  ends = lines.betting.ends
  acting = lines.betting.last_acting
  types = len(form.weights[0]) + len(form.weights[1])  # not by their names, which take longer to make
  # All-ins before the last card have a matrix for each board.
  streets = set(lines.betting.street[acting[acting != ends]].tolist())
  return TreeCounts(
    actions=actions,
    solved=_numbers(lines, sizes),
    lines=int(sizes.sum()),
    values=int(sizes[acting].sum()) * types,
    members=int(lines.sizes[acting].sum()) * types // 2 if orbits else 0,
    pairs=sum(lines.boards[street] for street in streets) * len(form.weights[0]) * len(form.weights[1]),
    leaves=_leaf_tables(lines, sum(rows), leaves_of(lines, leaves), itemsize),
    number=_number(actions),
  )


def _numbers(lines: PublicStateIndex, sizes: np.ndarray) -> int:
  """The number of actions of all infostates; `sizes` counts the boards of each line."""
  each, moves = [np.flatnonzero(lines.betting.player == i) for i in (0, 1)], lines.betting.moves
  return sum(int(sizes[acting] @ moves[acting]) * len(lines.form.weights[i]) for i, acting in enumerate(each))


def _leaf_tables(lines: PublicStateIndex, boards: int, kind: str, itemsize: int) -> int:
  """Bytes of the leaves of some boards, on the host and on the device."""
  if (evaluator := LEAVES.get(kind)) is not None:
    return evaluator.table_bytes(boards, lines.form.cards, itemsize)
  # Of histories: a number for each deal at each end.
  deals, ends = math.prod(map(len, lines.form.weights)), int(lines.sizes[lines.betting.ends].sum())
  return deals * ends * (2 * HOST + itemsize)
