"""From the histories of any game to a `PublicTree`.

Structure is found, not declared: if the types that the players have at the first decision last through the
game, and what a player may do never depends on them, the game is Bayesian (Kovařík et al. 2021, Definition 2)
and a row is a public state with all its types. Otherwise a row is a single infostate. Either way the rows go
through `make_forest`, and the same solver runs on them.
"""

import dataclasses

import numpy as np
import pyspiel

from ps_cfr_spiel.compiler.game_laws import scale_fault
from ps_cfr_spiel.compiler.history_laws import actions_fault, recall_fault
from ps_cfr_spiel.compiler.public_states import Partition, augmented_infostates
from ps_cfr_spiel.compiler.walk import Histories, Walked, choice_rows, last_choices, walked
from ps_cfr_spiel.tree import (
  TERMINAL,
  BlockLeaves,
  Decision,
  Labels,
  PublicState,
  PublicTree,
  SparseLeaves,
  make_forest,
)

LEAST_FILL = 1 / 3  # dense leaf blocks and rows must be at least this full, else infostates stand alone


@dataclasses.dataclass(frozen=True)
class Layout:
  """Where each infostate's strategy is stored, for both players.

  Attributes:
    row: for each player int[infostates], the row of each infostate; -1 where the player never acts.
    type: for each player int[N], the player's type at each history.
    types: H of each player.
  """

  row: tuple[np.ndarray, np.ndarray]
  type: tuple[np.ndarray, np.ndarray]
  types: tuple[int, int]


Choices = list[np.ndarray]  # for each player `last_choices`, int32[N, 2]


def own_choices(game: str, histories: Histories) -> Choices:
  """Each player's last choice before each history.

  Raises:
    ValueError: a player of `game` has imperfect recall.
  """
  choices = [last_choices(histories, player) for player in (0, 1)]
  fault = actions_fault(histories) or recall_fault(histories, choices)
  if fault:
    raise ValueError(f"{game}: {fault}")
  return choices


def build_general(
  game: pyspiel.Game,
  histories: Histories,
  choices: Choices,
  partition: Partition | None,
  leaves: str = "auto",
) -> PublicTree:
  """Compiles the histories of a game.

  Args:
    game: the game.
    histories: of `walk`.
    choices: of `own_choices`.
    partition: its public states, or None to do without.
    leaves: "auto", "dense" (types share a row) or "sparse" (each infostate has its own).

  Raises:
    ValueError: `leaves` does not fit the game, or its utilities are too large or too small.
  """
  fault = scale_fault(histories.largest_value)
  if fault:
    raise ValueError(f"{game}: {fault}")
  layout = None
  if leaves in ("auto", "dense") and partition is not None:
    layout = _typed_layout(histories, partition, choices, 0.0 if leaves == "dense" else LEAST_FILL)
  if leaves not in ("auto", "sparse") and layout is None:
    needs = "a Bayesian game with public states" if leaves == "dense" else "a game with a bayesian_form()"
    raise ValueError(f"leaves={leaves!r} needs {needs}, which {game} is not; use 'auto' or 'sparse'.")
  layout = layout or _sparse_layout(histories)
  return _assemble(game, histories, partition, choices, layout)


def one_row_per_infostate(game: pyspiel.Game, tree: PublicTree) -> PublicTree:
  """The tree that `build_tree(game, leaves="sparse")` gives, made from the histories of another tree."""
  labels = tree.names
  source = walked(labels)
  if source is None or source.public is None:
    raise ValueError(f"{game}: this tree was not made by walking histories with their public states.")
  states = labels.public_states
  partition = Partition(
    source.public,
    np.array([state.parent for state in states], np.int32),
    np.array([state.player for state in states], np.int32),
  )
  return build_general(game, source.histories, own_choices(str(game), source.histories), partition, "sparse")


def _sparse_layout(histories: Histories) -> Layout:
  """A row for each infostate in which its player acts, in the order of the first history."""
  rows = []
  for player in (0, 1):
    acting = np.unique(histories.infostate[player][histories.player == player])
    row = np.full(len(histories.names[player]), -1)
    row[acting] = np.arange(len(acting))
    rows.append(row)
  zeros = np.zeros(len(histories.parent), int)
  return Layout((rows[0], rows[1]), (zeros, zeros), (1, 1))


def _typed_layout(
  histories: Histories, partition: Partition, choices: Choices, least_fill: float
) -> Layout | None:
  """A row for each public state in which a player acts, or None if the game is not Bayesian."""
  start = _first_decisions(histories)
  rows, types, sizes = [], [], []
  for player in (0, 1):
    # A type is what the player knew when somebody first acted: `origin`, at the public state `root`. It must
    # last: within a public state, what the player knows now and what the player knew then are one to one.
    acts = histories.player == player
    knowledge = augmented_infostates(histories, player)
    origin = np.where(start >= 0, knowledge[start], 0)
    root = np.where(start >= 0, partition.of[start], -1)
    public = partition.of[acts]
    if not _one_to_one(public, knowledge[acts], origin[acts]):
      return None
    # The player's rows are the public states in which the player acts; all histories of one must allow the
    # same actions and have the same last choice of the player before them.
    row_of_public = np.full(len(partition.parent), -1)
    own = np.flatnonzero(partition.player == player)
    row_of_public[own] = np.arange(len(own))
    row = np.full(len(histories.names[player]), -1)
    row[histories.infostate[player][acts]] = row_of_public[public]
    past = choice_rows(choices[player][acts], row)
    if not all(_constant(public, column) for column in (histories.legal[acts], *past.T)):
      return None
    # Number the types within each public state of first decisions; rows must be filled well enough.
    type_, size = _ranks(root, origin)
    if len(np.unique(knowledge[acts])) < least_fill * len(own) * size:
      return None
    rows.append(row)
    types.append(type_)
    sizes.append(size)
  # Leaves hold a matrix over pairs of types each; these must be filled well enough, too.
  layout = Layout((rows[0], rows[1]), (types[0], types[1]), (sizes[0], sizes[1]))
  leaf, _, ends = _leaf_numbers(histories, choices, layout)
  cells = np.unique(np.stack([leaf, types[0][ends], types[1][ends]]), axis=1).shape[1]
  full = (leaf.max(initial=-1) + 1) * sizes[0] * sizes[1]
  return layout if cells >= least_fill * full else None


def _first_decisions(histories: Histories) -> np.ndarray:
  """int[N]: the first history on the way in which a player acts, -1 before it."""
  start = np.full(len(histories.parent), -1)
  for d in range(int(histories.depth.max()) + 1):
    here = np.flatnonzero(histories.depth == d)
    above = histories.parent[here]
    inherited = np.where(above >= 0, start[above], -1)
    start[here] = np.where((inherited < 0) & (histories.player[here] >= 0), here, inherited)
  return start


def _one_to_one(group: np.ndarray, a: np.ndarray, b: np.ndarray) -> bool:
  """Within each group, does each a go with one b and each b with one a?"""
  pairs = [
    np.unique(np.stack(columns), axis=1).shape[1] for columns in ((group, a, b), (group, a), (group, b))
  ]
  return pairs[0] == pairs[1] == pairs[2]


def _constant(group: np.ndarray, values: np.ndarray) -> bool:
  """Is there one value in each group?"""
  first = np.zeros(group.max(initial=-1) + 1, values.dtype)
  first[group] = values
  return bool((first[group] == values).all())


def _ranks(group: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, int]:
  """Rank of each value among the distinct values of its group, and the most that a group has."""
  pairs, inverse = np.unique(np.stack([group, values]), axis=1, return_inverse=True)
  begin = np.searchsorted(pairs[0], pairs[0])  # sorted by group
  rank = np.arange(pairs.shape[1]) - begin
  return rank[inverse.reshape(-1)], int(rank.max(initial=0)) + 1


def _leaf_numbers(histories: Histories, choices: Choices, layout: Layout):
  """Terminals with the same last choices of both players (as row and action) are one leaf.

  Returns:
    int[Z] the leaf of each terminal; for each player int[L, 2] the last choice; int[Z] the terminals.
  """
  ends = np.flatnonzero(histories.player == TERMINAL)
  keys = [choice_rows(choices[player][ends], layout.row[player]) for player in (0, 1)]
  leaves, leaf = np.unique(np.concatenate(keys, 1), axis=0, return_inverse=True)
  return leaf.reshape(-1), (leaves[:, :2], leaves[:, 2:]), ends


def _assemble(game, histories: Histories, partition: Partition | None, choices, layout: Layout) -> PublicTree:
  """Forests, leaves and labels of a layout."""
  leaf, last, ends = _leaf_numbers(histories, choices, layout)
  forests, decisions = [], []
  for player in (0, 1):
    # `first`: the first history of each row, from which its last choice and actions are read.
    acts = np.flatnonzero(histories.player == player)
    row = layout.row[player][histories.infostate[player][acts]]
    count = int(row.max(initial=-1)) + 1
    first = np.zeros(count, int)
    first[row[::-1]] = acts[::-1]  # written backwards, so that the first one stays
    parents = choice_rows(choices[player][first], layout.row[player])
    legal = [histories.legal_sets[n] for n in histories.legal[first]]
    sizes = np.array([len(actions) for actions in legal], int)
    forest, places = make_forest(parents, sizes, [last[player]], layout.types[player])
    forests.append(forest)
    decisions += _decisions(histories, partition, player, layout, legal, places)
  # Utilities of histories that end in one leaf with the same types add up, weighed by chance.
  utility = np.zeros((len(last[0]), *layout.types))
  weight = histories.chance[ends] * histories.utility[ends]
  np.add.at(utility, (leaf, layout.type[0][ends], layout.type[1][ends]), weight)
  evaluator = SparseLeaves(utility[:, :, 0]) if layout.types == (1, 1) else BlockLeaves(utility)
  labels = Labels(
    game=str(game),
    public_states=_public_states(histories, partition, decisions),
    decisions=tuple(decisions),
    types=(_type_names(histories, layout, 0), _type_names(histories, layout, 1)),
    histories=len(histories.parent),
    source=Walked(histories, None if partition is None else partition.of, layout.type),
  )
  return PublicTree((forests[0], forests[1]), evaluator, labels)


def _type_names(histories: Histories, layout: Layout, player: int) -> tuple[str, ...]:
  """What each type knows when somebody first acts: its name for people."""
  names = [""] * layout.types[player]
  start = _first_decisions(histories)
  types, first = np.unique(np.where(start >= 0, layout.type[player], -1), return_index=True)
  for type_, h in zip(types.tolist(), first.tolist(), strict=True):
    if type_ >= 0 and len(names) > 1:
      names[type_] = histories.names[player][histories.infostate[player][start[h]]]
  return tuple(names)


def _decisions(histories: Histories, partition, player: int, layout: Layout, legal, places) -> list[Decision]:
  """The player's rows with the names of their infostates."""
  names: list[list[str | None]] = [[None] * layout.types[player] for _ in legal]
  examples = [[-1] * layout.types[player] for _ in legal]
  infostates, first = np.unique(
    np.where(histories.player == player, histories.infostate[player], -1), return_index=True
  )
  for infostate, h in zip(infostates.tolist(), first.tolist(), strict=True):
    if infostate >= 0:
      row, type_ = layout.row[player][infostate], layout.type[player][h]
      names[row][type_], examples[row][type_] = histories.names[player][infostate], h
  public = [max(e) for e in examples]
  return [
    Decision(
      player=player,
      public_state=-1 if partition is None else int(partition.of[public[row]]),
      block=int(places[row, 0]),
      row=int(places[row, 1]),
      legal_actions=legal[row],
      infostates=tuple(names[row]),
      examples=tuple(examples[row]),
    )
    for row in range(len(legal))
  ]


def _public_states(histories: Histories, partition: Partition | None, decisions) -> tuple[PublicState, ...]:
  """The public tree; empty without a partition."""
  if partition is None:
    return ()
  count = len(partition.parent)
  action = np.full(count, -1)
  action[partition.of] = histories.action
  several = np.flatnonzero(action[partition.of] != histories.action)
  action[partition.of[several]] = -1
  members: list[list[int]] = [[] for _ in range(count)]
  for number, decision in enumerate(decisions):
    members[decision.public_state].append(number)
  return tuple(
    PublicState(int(partition.parent[s]), int(action[s]), int(partition.player[s]), tuple(members[s]))
    for s in range(count)
  )
