"""The compilation of the histories of any game into a `PublicTree`.

The structure is found, not declared: if the types that the players have at the first decision last through
the game and the legal actions never depend on them, the game is Bayesian (Kovařík et al. 2021, Definition 2)
and a row is a public state with all its types. Otherwise a row is a single infostate. In both cases the rows
go through `make_forest`, and the same solver runs on them.
"""

import dataclasses
import math

import numpy as np
import pyspiel

from ps_cfr_spiel.compilation.compiler.history_labels import HistoriesLabels, PlayerRows, remarks
from ps_cfr_spiel.compilation.histories import (
  Histories,
  HistoryOrigin,
  PublicPartition,
  acting,
  actions_fault,
  choice_rows,
  first_decisions,
  first_members,
  history_origin,
  is_constant,
  last_choices,
  number_rows,
  one_to_one,
  recall_fault,
  remember,
  remembered,
  scale_fault,
)
from ps_cfr_spiel.loading import sequential
from ps_cfr_spiel.memory import check_needs
from ps_cfr_spiel.tree import (
  TERMINAL,
  BlockLeaves,
  GeneralSumLeaves,
  LeafEvaluator,
  PublicTree,
  SparseLeaves,
  information_state_string,
  make_forest,
)

OF_HISTORIES = ("blocks", "sparse")  # kinds of leaves for which games with a form are enumerated too
LEAST_FILL = 1 / 3  # dense leaf blocks and rows must be at least this full, else infostates stand alone


Choices = list[np.ndarray]  # for each player `last_choices`, int32[N, 2]


@dataclasses.dataclass(frozen=True)
class Layout:
  """The place of each infostate's strategy, for all players, and of each end of the game."""

  #: for each player int[infostates], the row of each infostate; -1 where the player never acts.
  row: tuple[np.ndarray, ...]
  type: tuple[np.ndarray, ...]  #: for each player int32[N], the player's type at each history
  types: tuple[int, ...]  #: H of each player
  ends: np.ndarray  #: int[Z], the histories at the end of the game
  leaf: np.ndarray  #: int32[Z], their leaves; ends with the same last choices, as row and action, share one
  last: tuple[np.ndarray, ...]  #: for each player int[L, 2], the last choice before each leaf

  @classmethod
  def create(cls, histories: Histories, choices: Choices, row, type_, types) -> "Layout":
    """The layout with these rows and types of each player, and its leaves."""
    ends = np.flatnonzero(histories.player == TERMINAL).astype(np.int32)
    width = int(histories.rank.max(initial=0)) + 1
    keys = []
    for player in histories.players:
      after, action = choice_rows(choices[player][ends], row[player]).T
      keys.append(after * width + action)
    leaf = number_rows(*keys)
    first = first_members(leaf)
    last = [choice_rows(choices[player][ends[first]], row[player]) for player in histories.players]
    return cls(tuple(row), tuple(type_), tuple(types), ends, leaf, tuple(last))


def own_choices(histories: Histories) -> tuple[Choices, str | None]:
  """Each player's last choice before each history, and the fault if a player has imperfect recall."""
  choices = [last_choices(histories, player) for player in histories.players]
  return choices, actions_fault(histories) or recall_fault(histories, choices)


def with_recall(
  game: pyspiel.Game, histories: Histories, memory: float
) -> tuple[Histories, Choices, str | None]:
  """The histories with infostates of perfect recall, and `own_choices`.

  The game's own infostates stay unless they forget, and also where pasts do not help: a faulty game.
  TooLarge if the players' pasts take more than `memory` bytes.
  """
  choices, fault = own_choices(histories)
  if not fault and game.get_type().provides_information_state_string:
    return histories, choices, None
  longer = remember(str(game), histories, memory)
  past, still = own_choices(longer)
  return (histories, choices, fault or still) if still else (longer, past, None)


def build_general(
  game: pyspiel.Game,
  histories: Histories,
  choices: Choices,
  partition: PublicPartition | None,
  leaves: str = "auto",
  memory: float = math.inf,
) -> PublicTree:
  """Compile the histories of a game.

  `leaves` is "auto", "blocks" (types share a row) or "sparse" (each infostate has its own). TooLarge if
  utilities of the leaves take more than `memory` bytes; ValueError if `leaves` does not fit the game, or its
  utilities are too large or too small.
  """
  fault = scale_fault(histories.largest_value)
  if fault:
    raise ValueError(f"{game}: {fault}")
  layout = None
  if leaves in ("auto", "blocks") and partition is not None and len(histories.players) == 2:
    layout = _typed_layout(histories, partition, choices, 0.0 if leaves == "blocks" else LEAST_FILL)
  if leaves not in ("auto", "sparse") and layout is None:
    two = "a Bayesian game of two players with public states"
    needs = two if leaves == "blocks" else "a game with a bayesian_form()"
    alike = ", 'blocks'" if leaves == "dense" else ""
    raise ValueError(f"leaves={leaves!r} needs {needs}, which {game} is not; use 'auto'{alike} or 'sparse'.")
  layout = layout or _sparse_layout(histories, choices)
  size = 8 * len(layout.last[0]) * math.prod(layout.types)
  types = " x ".join(f"{n:,}" for n in layout.types)
  purpose = f"for the utilities of {len(layout.last[0]):,} leaves with {types} types each"
  more = "raise the limit: memory=... or --memory"
  advice = more.capitalize() if leaves == "auto" else f"Use leaves='auto', or {more}"
  check_needs(f"{game} with {leaves=}", {purpose: size}, memory, advice)
  return _assemble(game, histories, partition, choices, layout)


def one_row_per_infostate(game: pyspiel.Game, tree: PublicTree) -> PublicTree:
  """The tree of `build_tree(game, leaves="sparse")`, made from the histories of another tree."""
  labels = tree.names
  source = history_origin(labels)
  if source is None or source.public is None:
    raise ValueError(
      f"{game}: this tree was not built by enumerating histories; build it with public states."
    )
  states = labels.public_states
  partition = PublicPartition(
    source.public,
    np.array([state.parent for state in states], np.int32),
    np.array([state.player for state in states], np.int32),
  )
  choices, _ = own_choices(source.histories)
  return build_general(sequential(game), source.histories, choices, partition, "sparse")


def _sparse_layout(histories: Histories, choices: Choices) -> Layout:
  """A row for each infostate of an acting player, in the order of the first history, parents first."""
  rows = []
  for player in histories.players:
    _, first = acting(histories, player)
    order = np.flatnonzero(first >= 0)
    if (choices[player][first[order], 0] > order).any():  # at the game's end strings may occur out of order
      order = order[np.argsort(first[order])]
    row = np.full(len(first), -1, np.int32)
    row[order] = np.arange(len(order))
    rows.append(row)
  zeros = np.zeros(len(histories.parent), np.int32)
  return Layout.create(histories, choices, rows, [zeros] * len(rows), [1] * len(rows))


def _typed_layout(
  histories: Histories, partition: PublicPartition, choices: Choices, least_fill: float
) -> Layout | None:
  """A row for each public state of an acting player, or None if the game is not Bayesian."""
  start = first_decisions(histories)
  starts = np.unique(start[start >= 0])  # the first decisions, numbered
  begin = np.full(len(start), -1, np.int32)
  begin[starts] = np.arange(len(starts))
  begin = np.where(start >= 0, begin[start], -1)
  rows, types, sizes = [], [], []
  for player in histories.players:
    # A type is the player's knowledge when the first player acts: `origin`, at the public state `root`. It
    # must last: within a public state, the knowledge now and at the start are one to one. An infostate in
    # which the player acts has one public state, legal actions and past, so one history stands for all of it.
    acts, first = acting(histories, player)
    number = histories.infostate[player]
    origins = number_rows(number[starts], histories.depth[starts])
    if not is_constant(number[acts], origins[begin[acts]]):
      return None
    infostates = np.flatnonzero(first >= 0)
    examples = first[infostates]
    public = partition.of[examples]
    if not one_to_one(public, np.arange(len(examples)), origins[begin[examples]]):
      return None
    # The player's rows are the public states in which the player acts; all histories of one must have the
    # same legal actions and the same last choice of the player before them.
    row_of_public = np.full(len(partition.parent), -1, np.int32)
    public_states = np.flatnonzero(partition.player == player)
    row_of_public[public_states] = np.arange(len(public_states))
    row = np.full(len(first), -1, np.int32)
    row[infostates] = row_of_public[public]
    past = choice_rows(choices[player][examples], row)
    if not is_constant(public, histories.legal[examples], *past.T):
      return None
    # Number the types within each public state of first decisions; rows must be well filled.
    of_start, size = _ranks(partition.of[starts], origins)
    if len(examples) < least_fill * len(public_states) * size:
      return None
    rows.append(row)
    types.append(np.where(begin >= 0, np.append(of_start, 0)[begin], 0).astype(np.int32))
    sizes.append(size)
  # Leaves hold a matrix over pairs of types each; these must be well filled, too.
  layout = Layout.create(histories, choices, rows, types, sizes)
  cells = number_rows(layout.leaf, *(type_[layout.ends] for type_ in types)).max() + 1
  return layout if cells >= least_fill * len(layout.last[0]) * sizes[0] * sizes[1] else None


def _ranks(group: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, int]:
  """The rank of each value among the distinct values of its group, and the largest count of a group."""
  pair = number_rows(group, values)
  group_of_pair = group[first_members(pair)]  # ascending, as pairs are numbered
  rank = np.arange(len(group_of_pair), dtype=np.int32) - np.searchsorted(group_of_pair, group_of_pair)
  return rank[pair].astype(np.int32), int(rank.max(initial=0)) + 1


def _assemble(
  game, histories: Histories, partition: PublicPartition | None, choices, layout: Layout
) -> PublicTree:
  forests, rows = [], []
  for player in histories.players:
    # `first`: the first history of each row; its last choice and actions are the row's.
    acts = np.flatnonzero(histories.player == player)
    row = layout.row[player][histories.infostate[player][acts]]
    first = acts[first_members(row)]
    parents = choice_rows(choices[player][first], layout.row[player])
    legal = [histories.legal_sets[n] for n in histories.legal[first]]
    sizes = np.array([len(actions) for actions in legal], int)
    forest, places = make_forest(parents, sizes, [layout.last[player]], layout.types[player])
    forests.append(forest)
    rows.append(_rows(histories, partition, player, layout, legal, places))
  # Utilities of histories that end in one leaf with the same types add up, weighted by chance.
  shape, cell = (len(layout.last[0]), *layout.types), layout.leaf
  if set(layout.types) != {1}:
    cell = np.ravel_multi_index((cell, *(type_[layout.ends] for type_ in layout.type)), shape)

  def evaluator(utility: np.ndarray) -> LeafEvaluator:
    weight = histories.chance[layout.ends] * utility[layout.ends]
    summed = np.bincount(cell, weight, math.prod(shape)).reshape(shape)
    return SparseLeaves(summed.reshape(-1, 1)) if set(layout.types) == {1} else BlockLeaves(summed)

  leaves = evaluator(histories.utility)
  if histories.others is not None:
    leaves = GeneralSumLeaves((leaves, *(evaluator(-utility) for utility in histories.others)))
  labels = HistoriesLabels.create(
    histories,
    partition,
    rows,
    game=str(game),
    start=game.new_initial_state,
    source=HistoryOrigin(histories, None if partition is None else partition.of, layout.type),
    infostate=remembered if histories.remembers else information_state_string,
    remarks=remarks(game, histories),
  )
  return PublicTree(tuple(forests), leaves, labels)


def _rows(histories: Histories, partition, player: int, layout: Layout, legal, places) -> PlayerRows:
  _, first = acting(histories, player)
  infostates = np.flatnonzero(first >= 0)
  shape = len(legal), layout.types[player]
  cells = layout.row[player][infostates], layout.type[player][first[infostates]]
  numbers, examples = np.full(shape, -1, np.int32), np.full(shape, -1, np.int32)
  numbers[cells], examples[cells] = infostates, first[infostates]
  public = np.full(len(legal), -1, np.int32)
  if partition is not None:
    public = partition.of[examples.max(1)]
  return PlayerRows(legal, places, numbers, examples, public)
