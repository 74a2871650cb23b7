"""The public tree: one structure of arrays that every solver of this package runs on.

Glossary, used in every file:
  public state      a node of the public tree: common knowledge.
  type              a player's private information in a Bayesian game (a poker hand).
  infostate         the knowledge of one player: a public state and, in Bayesian games, the player's type.
  sequence          (infostate, action): the last choice a player made; the empty sequence is "no choice yet".
  reach             product of one player's own action probabilities along a sequence.
  range             reach times the weight of the type, normalised.
  chance            folded into the leaf utilities, so that reaches are the players' alone.
  values            counterfactual and unnormalised, in the game's own utility; player 0 maximises
                    `returns()[0]`, player 1 `returns()[1]`.
Shapes: H types of a player, A actions of a row, L leaves. Annotations such as `Float[Array, "L H"]` are
jaxtyping's, and tests check them (`tests/test_shapes_of_arrays.py`); "_" is any number.

**How it is laid out.** A player's decisions form a forest: from an infostate and an action to
the infostates where that player acts next. `PlayerTree` stores this forest in *levels* by the number
of the player's earlier decisions. A level is split into *blocks* of rows that have the same number of
actions; a row is a public state with all its types beside each other (the last axis, H). A game that
is not Bayesian has H = 1 and a row for each infostate. So one traversal (`traverse`) serves both: it is
dense arithmetic on arrays of shape [A, rows, H], joined by `Link`s. (Actions come first so that sums over
them are vectorised however small H is.)

The two players' forests meet only at the leaves (Kovařík et al. 2021, Proposition 3: given the
values at the leaves the rest is each player's own business), which is why nothing else of
the public tree is needed on the device; the rest is kept in `Labels`, on the host.
"""

import abc
import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, Shaped

from ps_cfr_spiel.arguments import declared
from ps_cfr_spiel.native import call, why_unavailable
from ps_cfr_spiel.poker import describe
from ps_cfr_spiel.reports import report
from ps_cfr_spiel.tree.labels import CHANCE, TERMINAL, Labels
from ps_cfr_spiel.tree.orbits import Orbit

Array: TypeAlias = Any  # a jax.Array on the device, a NumPy array on the host
Parts = Sequence[Shaped[Array, "_ _"]]  # arrays [n_k, H], one for each block; rows count through all of them


LONG = 64  # minimum types per row for which calling the native library pays


def sum_rows(rows: Shaped[Array, "m H"], index: Int[Array, " m"], count: int) -> Shaped[Array, "{count} H"]:
  """Rows [m, H] added up in [count, H]; int32[m] `index` is the row of the sum.

  XLA's CPU backend turns the scatter into a loop of tiny kernels, one for each row, unless rows are short.
  """
  if rows.shape[1] < LONG or why_unavailable():
    return jax.ops.segment_sum(rows, index, count)
  total = jax.ShapeDtypeStruct((count, rows.shape[1]), rows.dtype)
  return call("Rows", rows.dtype, (rows, index), [total], "expand_dims")[0]


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Link:
  """Many-to-one pointers from child rows to parent rows, both cut in parts."""

  index: Array  #: int32[m], for each child row the number of its parent row, counted through all parts
  #: rows in each part of the parent side.
  parents: tuple[int, ...] = dataclasses.field(metadata={"static": True})
  #: rows in each part of the child side; they sum to m.
  children: tuple[int, ...] = dataclasses.field(metadata={"static": True})
  #: the rows that these stand for, whose values count too; None if each stands for itself.
  orbit: Orbit | None = None

  @classmethod
  def create(cls, index: np.ndarray, parents: Sequence[int], children: Sequence[int]) -> "Link":
    """A link over host arrays, checked; see the class for the arguments."""
    if len(index) != sum(children):
      raise ValueError(f"A link needs {sum(children)} indices, one for each child row, got {len(index)}.")
    if len(index) and not 0 <= index.min() <= index.max() < sum(parents):
      raise ValueError(f"Link indices must be 0..{sum(parents) - 1}, got {index.min()}..{index.max()}.")
    return cls(np.asarray(index, np.int32), tuple(parents), tuple(children))

  def pull(self, parents: Sequence[Shaped[Array, "_ H"]]) -> list[Shaped[Array, "_ H"]]:
    """Copy parent rows to their children: parts [n_k, H] to parts [m_k, H]."""
    rows = jnp.concatenate(list(parents))[self.index]
    return jnp.split(rows, np.cumsum(self.children)[:-1])

  def push(self, children: Sequence[Shaped[Array, "_ H"]]) -> list[Shaped[Array, "_ H"]]:
    """Add child rows up in their parents: parts [m_k, H] to parts [n_k, H]; the transpose of `pull`."""
    rows, index = jnp.concatenate(list(children)), self.index
    if self.orbit is not None:
      rows, index = self.orbit.members(rows), self.orbit.parent
    rows = sum_rows(rows, index, sum(self.parents))
    return jnp.split(rows, np.cumsum(self.parents)[:-1])


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Level:
  """The rows in which a player makes the decision number d (d = 0, 1, ...)."""

  #: from the rows to the sequences of the level above (of level 0: to the roots). Sequences of a block are
  #: numbered action by action: action * rows + row.
  link: Link
  actions: tuple[int, ...] = dataclasses.field(metadata={"static": True})  #: A of each block

  @property
  def shapes(self) -> list[tuple[int, int]]:
    """(A, rows) of each block."""
    return list(zip(self.actions, self.link.children, strict=True))


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class PlayerTree:
  """One player's decisions and how the leaves hang on them."""

  levels: tuple[Level, ...]  #: from the player's first decision to the last
  #: link from the leaves to the sequences; part 0 of the sequences is the empty one, then come the blocks of
  #: all levels in order. The parts of the leaves are the leaf evaluator's. A subgame begins in several
  #: infostates, each with an empty sequence: its roots.
  leaf: Link
  types: int = dataclasses.field(metadata={"static": True})  #: H

  @property
  def roots(self) -> int:
    """Number of empty sequences: 1 in a whole game, the rows that a subgame begins in otherwise."""
    return self.leaf.parents[0]

  @property
  def block_shapes(self) -> list[tuple[int, int, int]]:
    """(A, rows, H) of every block, in the order that all per-block tuples of this package follow."""
    return [(a, n, self.types) for level in self.levels for a, n in level.shapes]

  @property
  def buckets(self) -> list[list[int]]:
    """The blocks of each number of actions, over all levels: a *bucket*, by ascending A."""
    actions = [a for a, _, _ in self.block_shapes]
    return [[k for k, a in enumerate(actions) if a == bucket] for bucket in sorted(set(actions))]

  @property
  def link_starts(self) -> list[int]:
    """For each level the number of the sequence from which its link counts, as in `sequences`."""
    sizes = [sum(a * n for a, n in level.shapes) for level in self.levels]
    return np.cumsum([0, self.roots, *sizes]).tolist()[: len(self.levels)]

  def above(self) -> list[Array]:
    """For each level int[rows]: the number of the sequence above each row, counted as in `sequences`."""
    return [level.link.index + start for level, start in zip(self.levels, self.link_starts, strict=True)]

  @property
  def bucket_shapes(self) -> list[tuple[int, int, int]]:
    """(A, rows, H) of each bucket's table; see `join`."""
    blocks = self.block_shapes
    return [(blocks[b[0]][0], sum(blocks[k][1] for k in b), self.types) for b in self.buckets]

  @property
  def places(self) -> list[tuple[int, int]]:
    """For each block its bucket, and its first row in the bucket's table."""
    places, filled = [], [0] * len(self.buckets)
    bucket_of = {k: n for n, blocks in enumerate(self.buckets) for k in blocks}
    for k, (_, rows, _) in enumerate(self.block_shapes):
      places.append((bucket_of[k], filled[bucket_of[k]]))
      filled[bucket_of[k]] += rows
    return places

  def join(self, blocks: Sequence[Shaped[Array, "_ _ H"]]) -> list[Shaped[Array, "_ _ H"]]:
    """The tables of all blocks, [n, rows, H], as one for each bucket: its blocks' rows in order.

    On the host NumPy's stay NumPy's.
    """
    concatenate = np.concatenate if isinstance(next(iter(blocks), None), np.ndarray) else jnp.concatenate
    return [
      concatenate([blocks[k] for k in bucket], 1) if len(bucket) > 1 else blocks[bucket[0]]
      for bucket in self.buckets
    ]

  def split(self, tables: Sequence[Shaped[Array, "_ _ H"]]) -> list[Shaped[Array, "_ _ H"]]:
    """The tables of all buckets as one for each block; the inverse of `join`."""
    block_places = zip(self.places, self.block_shapes, strict=True)
    return [tables[bucket][:, row : row + rows] for (bucket, row), (_, rows, _) in block_places]


class LeafEvaluator(abc.ABC):
  """Counterfactual values of the leaves, the only game-specific step of PS-CFR.

  A frozen dataclass that is a pytree (`jax.tree_util.register_dataclass`). Its fields are NumPy arrays on the
  host; `device.to_device` brings floating-point ones to the solver's dtype. It has a `kind` and a `__call__`;
  the other members have defaults:

    `sampled`               single leaves, for sampling along public lines
    `take`                  some of the leaves, for subgames
    `pad_types`             the same with more types, so that games of many shapes share compiled code
    `payoffs`, `orders`     matrices on which the native library iterates (`cfr.engines`)
    `native`                the native library knows the class
    `recorded`              values that a solver averages
    `zero_sum`              whether the players' utilities are each other's loss
    `on_boards`             the leaves of some boards, for folded suits
    `settle`, `checked`     values beyond a street, in batches

  The leaves come in *parts*, of the number and sizes in `PlayerTree.leaf.children` (the same for both
  players). An evaluator that replaces another keeps its parts: one for enumerated games; showdowns and folds
  for games with a Bayesian form, on each street of those with public cards.

  The solver guarantees: a reach is a product of one player's own probabilities, in [0, 1] and without chance;
  it is not normalised and may be zero everywhere. (In a subgame it is multiplied by a range, which may have
  any scale.)

  The evaluator must guarantee: values are linear in the opponent's reach, include chance and the prior over
  types, and come from one utility function for both players: a leaf's values, each times the reach of its
  player and summed over types, add up to zero for the two. The proof of convergence needs it.
  """

  kind: ClassVar[str]  #: its name in reports; `build_tree` knows its own evaluators by this name
  #: whether the native library may iterate board by board in place of calls (`streaming`); it counts for the
  #: class alone whose own body declares it, as `payoffs` does (`arguments.declared`).
  native: ClassVar[bool] = False
  #: for each player the order in which `payoffs` come; None: that of the tree.
  orders: tuple[Any, Any] = (None, None)

  @abc.abstractmethod
  def __call__(self, player: int, opponent_reach: Parts, own_reach: Parts | None = None) -> list[Array]:
    """The values of all leaves for one player, for CFR and best responses, in jitted code.

    Args:
      player: 0 or 1, known at trace time.
      opponent_reach: parts [L_k, H of the opponent].
      own_reach: parts [L_k, H of the player], which only the frontier of a limited lookahead uses (a value
        function wants both ranges); None in a best response, which has none.

    Returns:
      Parts [L_k, H of the player]: sum over opponent types of chance probability x reach x utility
      (Kovařík et al. 2021, Algorithm 3, line 4).
    """

  def sampled(self, player: int, leaf: Int[Array, " B"], reach: Float[Array, "B G"]) -> Float[Array, "B H"]:
    """[B, H of the player]: values of single leaves for one player, as `__call__` would value each of them.

    `leaf`, int32[B], are numbers of leaves, counted through all parts, where one may occur several times;
    `reach` is [B, H of the opponent] there. The player is known at trace time. TypeError by default.
    """
    raise TypeError(f"The leaf evaluator {self.kind!r} does not value single leaves (`sampled`).")

  def take(self, leaves: Sequence[np.ndarray]) -> "LeafEvaluator":
    """The same for some of the leaves, on the host. TypeError by default.

    `leaves` has for each part int[B, n], numbers counted within the part; -1 is a leaf of value 0. B is 1, or
    with public cards to come the boards that are kept: a row's leaves are on one.
    """
    raise TypeError(f"The leaf evaluator {self.kind!r} cannot be cut for a subgame (`take`).")

  def pad_types(self, types: Sequence[int]) -> "LeafEvaluator | None":
    """The evaluator of a tree with these numbers of types, the added ones dead: see `tree.pad_types`.

    It must ignore the reach of dead types and give them the value 0. None, the default, leaves the tree as it
    is, so that every number of types is compiled separately.
    """
    return None

  def payoffs(self) -> tuple[Array, Array] | None:
    """For each player [L, G, H]: the utility by the opponent's type and its own, times chance's probability.

    The library iterates on these in place of calls. None, the default, says that there are none.
    """
    return None

  def recorded(self, player: int, values: Parts) -> tuple[Array, ...]:
    """The values that a solver averages, in the same way as strategies; none by default.

    `values` are the parts that a call has returned for this player; the result is chosen among them.
    """
    return ()

  @property
  def zero_sum(self) -> bool:
    """True if one player is paid the other's loss, the default."""
    return True

  def on_boards(self, boards: Sequence[np.ndarray]) -> "LeafEvaluator | None":
    """The leaves of some boards, by their numbers on each street; None, as here: no suits are folded."""
    return None

  def settle(self, reach: Sequence[Parts]) -> "LeafEvaluator":
    """The same with values beyond the tree fixed at those for the players' reach; by default no values.

    A best response cannot change values beyond, which are not linear in its own reach.
    """
    return self

  def checked(self) -> tuple[Array, Array] | None:
    """For each player [H]: the values of a street's types without bets, for batches; None by default."""
    return None

  @property
  def has_payoffs(self) -> bool:
    """True if the evaluator's own class declares `payoffs`."""
    return declared(self, "payoffs") is not None

  @property
  def is_native(self) -> bool:
    """True if the evaluator's own class declares `native`."""
    return bool(declared(self, "native"))


@dataclasses.dataclass(frozen=True)
class Boards:
  """The boards of a game with public cards to come, on the host; they are numbered street by street."""

  #: for each street int[B], the number on the street before of the board that each continues; the first
  #: street has one board, and nothing above it.
  above: tuple[np.ndarray, ...]
  rows: tuple[tuple[np.ndarray, ...], ...]  #: for each player and block int[rows], the board of each row
  #: start, swap: int[boards + 1], int[M]: the boards that each stands for below the board above it, itself
  #: included, as renamings (`Orbit.swap`).
  start: np.ndarray
  swap: np.ndarray

  @property
  def starts(self) -> np.ndarray:
    """int[streets + 1]: the first board of each street, and the number of boards."""
    return np.cumsum([0, *map(len, self.above)])


@runtime_checkable
class Traversal(Protocol):
  """The part of `streaming.BoardTraversal` for solvers, documented there; `leaves` are the tree's."""

  def iterate(
    self,
    leaves: Any,
    tables: Sequence[Sequence[Array]],
    pair: bool,
    each: int,
    count: Array,
    rule: int,
    numbers: Array,
    alternating: bool,
  ) -> tuple[list[Array], list[Array]]:
    """Iterations of both players."""
    ...

  def worth(self, leaves: Any, averages: Sequence[Any]) -> Array:
    """[3]: the worth of best responses, and the value."""
    ...

  def values(self, leaves: Any, columns: Sequence[Array]) -> list[Array]:
    """Counterfactual values of all actions."""
    ...


@dataclasses.dataclass(frozen=True)
class PublicTree:
  """A compiled game: arrays for the device, labels for reports.

  Attributes:
    players: each player's forest of decisions.
    leaves: the leaf evaluator that joins them.
    labels: host-side names; dropped, as `boards` is, when the tree enters a jitted function.
    boards: with public cards to come, the boards.
    stream: the native library's traversal of all boards (`streaming`), in trees that a solver runs on.
  """

  players: tuple[PlayerTree, ...]
  leaves: LeafEvaluator
  labels: Labels | None = None
  boards: Boards | None = None
  stream: Traversal | None = None

  @property
  def names(self) -> Labels:
    """The labels, for code that needs them; ValueError for a tree without."""
    if self.labels is None:
      raise ValueError("This tree has no labels: they were dropped when it entered a jitted function.")
    return self.labels

  def sizes(self) -> dict[str, Any]:
    """The tree's size, as numbers; those of the players in lists."""
    labels = self.names
    groups = {"decisions": range(len(self.players)), "chance": (CHANCE,), "terminal": (TERMINAL,)}
    return {
      "game": labels.game,
      "histories": labels.histories,
      "public_states": {name: labels.num_public_states(group) for name, group in groups.items()},
      "infostates": [labels.num_infostates(i) for i in range(len(self.players))],
      "rows": [sum(rows for _, rows, _ in player.block_shapes) for player in self.players],
      "types": [player.types for player in self.players],
      "leaves": sum(self.players[0].leaf.children),
      "evaluator": self.leaves.kind,
    }

  def summary(self, arrays: bool = True) -> str:
    """The tree's size: histories, public states, infostates; with `arrays` also rows, types and leaves."""
    sizes, labels = self.sizes(), self.names
    kinds = [f"{count:,} {name}" for name, count in sizes["public_states"].items() if count]
    infostates = sizes["infostates"]
    rows = [f"{r:,} x {t:,}" for r, t in zip(sizes["rows"], sizes["types"], strict=True)]
    layout = {
      "rows x types": " and ".join(rows),
      "leaves": f"{sizes['leaves']:,}, evaluator '{self.leaves.kind}'",
    }
    lines = {
      "game": describe(labels.game),
      "histories": f"{labels.histories:,}{labels.source.remark}",
      "public states": f"{len(labels.public_states):,}: {', '.join(kinds)}" if kinds else "none",
      "decision infostates": f"{sum(infostates):,} ({' and '.join(f'{n:,}' for n in infostates)})",
      **(layout if arrays else {}),
      **labels.remarks,
    }
    return report(lines)


jax.tree_util.register_pytree_node(
  PublicTree,
  lambda tree: ((tree.players, tree.leaves, tree.stream), None),
  lambda _, children: PublicTree(*children[:2], stream=children[2]),
)
