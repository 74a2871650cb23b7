"""The contract of leaf evaluators: reach of the leaves in, their counterfactual values out."""

import abc
import dataclasses
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from ps_cfr_spiel.arguments import declared
from ps_cfr_spiel.backend.array_shapes import Float, Int, Integer
from ps_cfr_spiel.tree.arrays import Array, Parts


class Payoffs(NamedTuple):
  """The payoffs of the leaves to a player: one of K matrices each, times a factor."""

  matrix: Float[Array, "K _G _H"]  #: by the opponent's type and the own one, times the probability of chance
  number: Int[Array, " _"]  #: the matrix of each leaf; empty if leaf k has the k-th and the factor 1
  factor: Float[Array, " _"]  #: of each leaf, empty likewise

  @classmethod
  def of_each(cls, matrix: Float[Array, "L _G _H"]) -> "Payoffs":
    """A matrix for each leaf."""
    return cls(matrix, np.zeros(0, np.int32), np.zeros(0, matrix.dtype))


class Groups(NamedTuple):
  """A player's sequences above leaves in groups, each with the opponent's sequences that its leaves have.

  A player's actions in public show so much that in goofspiel with seven cards groups are 80 times smaller
  than the game: the opponent's reach is then read from the cache.
  """

  begin: Int[Array, "_ 2"]  #: where own sequences and the opponent's of each group begin, and the last ends
  members: Int[Array, " _"]  #: the own sequences
  opponents: Int[Array, " _"]  #: the opponent's sequences


class Order(NamedTuple):
  """The leaves of a player in the order of the player's sequences, so that threads can share them out.

  In a game without types, whose matrices are numbers, they come in *runs*, of one number each.
  """

  #: where the leaves, or runs, below each sequence begin, and the last end; with groups, below `members`
  start: Int[Array, " _"]
  other: Integer[Array, " L"]  #: the opponent's sequence above each leaf; with groups its place there, uint16
  number: Int[Array, " _"]  #: as of `Payoffs`; of runs where each begins, and the last ends
  factor: Float[Array, " _"]  #: as of `Payoffs`; of runs the number of each
  groups: Groups | None = None  #: of runs, unless a group has too many of the opponent's sequences


class Rooted(NamedTuple):
  """Leaves below a root to which players come with ranges, some of whose values are known."""

  leaves: "LeafEvaluator"  #: all but the last parts, without ranges
  #: of each player [1, H], by which the reach of all leaves counts for the other player; None: ones.
  ranges: tuple[Float[Array, "1 _H0"] | None, Float[Array, "1 _H1"] | None] = (None, None)
  #: of each player [m, H], the values of the last m leaves, which no reach changes; None without such leaves.
  known: tuple[Float[Array, "_m _H0"], Float[Array, "_m _H1"]] | None = None

  @classmethod
  def of(cls, leaves: "LeafEvaluator") -> "Rooted":
    """An evaluator's `rooted`, if its own class declares it (`arguments.declared`); else nothing is apart."""
    apart = declared(leaves, "rooted")
    return apart() if apart else cls(leaves)


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
    `rooted`                ranges and known values apart from the rest, for traversals of boards
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

  __dataclass_fields__: ClassVar[dict[str, dataclasses.Field]]  # of every evaluator, a dataclass

  kind: ClassVar[str]  #: its name in reports; `build_tree` knows its own evaluators by this name
  #: whether the native library may iterate board by board in place of calls (`streaming`); it counts for the
  #: class alone whose own body declares it, as `payoffs` does (`arguments.declared`).
  native: ClassVar[bool] = False
  takes_orders: ClassVar[bool] = False  #: whether `orders` is a field, for `player_passes.ordered` to set
  #: for each player the order in which `payoffs` come; None: that of the tree.
  orders: tuple[Order | None, Order | None] = (None, None)

  @abc.abstractmethod
  def __call__(self, player: int, opponent_reach: Parts, own_reach: Parts | None = None) -> Parts:
    """The values of all leaves for one player, for CFR and best responses, in jitted code.

    Args:
      player: 0 or 1, known at trace time.
      opponent_reach: of the L leaves of each part, and the opponent's types.
      own_reach: the same of the player, which only the frontier of a limited lookahead uses (a value
        function wants both ranges); None in a best response, which has none.

    Returns:
      Of each part [L, H]: sum over opponent types of chance probability x reach x utility
      (Kovařík et al. 2021, Algorithm 3, line 4).
    """

  def sampled(self, player: int, leaf: Int[Array, " B"], reach: Float[Array, "B G"]) -> Float[Array, "B H"]:
    """Values of single leaves for one player, as `__call__` would value each of them.

    `leaf` has numbers of leaves, counted through all parts, where one may occur several times; `reach` is the
    opponent's there. The player is known at trace time. TypeError by default.
    """
    raise TypeError(f"The leaf evaluator {self.kind!r} does not value single leaves (`sampled`).")

  def take(self, leaves: Sequence[Int[np.ndarray, "_boards _L"]]) -> "LeafEvaluator":
    """The same for some of the leaves, on the host. TypeError by default.

    `leaves` has for each part numbers counted within the part; -1 is a leaf of value 0. `boards` is 1, or
    with public cards to come the boards that are kept: a row's leaves are on one.
    """
    raise TypeError(f"The leaf evaluator {self.kind!r} cannot be cut for a subgame (`take`).")

  def pad_types(self, types: Sequence[int]) -> "LeafEvaluator | None":
    """The evaluator of a tree with these numbers of types, the added ones dead: see `tree.pad_types`.

    It must ignore the reach of dead types and give them the value 0. None, the default, leaves the tree as it
    is, so that every number of types is compiled separately.
    """
    return None

  def payoffs(self) -> tuple[Payoffs, Payoffs] | None:
    """The payoffs of the leaves to each player, of all parts, in the order of `orders`.

    The library iterates on these in place of calls. None, the default, stands for an evaluator without them.
    """
    return None

  def rooted(self) -> Rooted:
    """The same with ranges at one root, and leaves of known values, apart; by default nothing is.

    It counts for the class alone whose own body declares it; `Rooted.of` reads it.
    """
    return Rooted(self)

  def recorded(self, player: int, values: Parts) -> tuple[Array, ...]:
    """The values that a solver averages, in the same way as strategies; none by default.

    `values` are the parts that a call has returned for this player; the result is chosen among them.
    """
    return ()

  @property
  def zero_sum(self) -> bool:
    """True if one player is paid the other's loss, the default."""
    return True

  def on_boards(self, boards: Sequence[Int[np.ndarray, " _boards"]]) -> "LeafEvaluator | None":
    """The leaves of some boards, by their numbers on each street; None, as here: no suits are folded."""
    return None

  def settle(self, reach: Sequence[Parts]) -> "LeafEvaluator":
    """The same with values beyond the tree fixed at those for the players' reach; by default no values.

    A best response cannot change values beyond, which are not linear in its own reach.
    """
    return self

  def checked(self) -> tuple[Float[Array, " _H"], Float[Array, " _H"]] | None:
    """For each player the values of a street's types without bets, for batches; None by default."""
    return None

  @property
  def has_record(self) -> bool:
    """True if the evaluator's class has a `recorded` that is not the default's."""
    return type(self).recorded is not LeafEvaluator.recorded

  @property
  def has_values_beyond(self) -> bool:
    """True if the evaluator's class has a `settle` that is not the default's."""
    return type(self).settle is not LeafEvaluator.settle

  @property
  def has_payoffs(self) -> bool:
    """True if the evaluator's own class declares `payoffs`; one that has them at times says so here."""
    return declared(self, "payoffs") is not None

  @property
  def is_native(self) -> bool:
    """True if the evaluator's own class declares `native`."""
    return bool(declared(self, "native"))
