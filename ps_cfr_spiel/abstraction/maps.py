"""Abstractions for users: which infostates of a game a player treats as one.

An abstraction is a partition of each player's decision infostates into sets (Čermák, Lisý and Bošanský 2020,
Section 4.1). The members of a set have the same number of actions, matched by their order, and of earlier
decisions of their player, so that no path meets a set twice. It belongs to a game, not to a tree: `bind` lays
it out for a tree, `unbind` reads it back.
"""

import dataclasses
from collections.abc import Callable, Hashable, Sequence

import numpy as np
import pyspiel

from ps_cfr_spiel.abstraction.partitions import Partition
from ps_cfr_spiel.arguments import check_flag
from ps_cfr_spiel.compilation.compiler import build_tree
from ps_cfr_spiel.loading import sequential
from ps_cfr_spiel.options import ABSTRACTIONS, TreeOptions
from ps_cfr_spiel.reports import report
from ps_cfr_spiel.storage import Stored
from ps_cfr_spiel.tree import Decision, PlayerTree, PublicTree, check_zero_sum, ranks, slot_starts

Key = Callable[[str, int], Hashable]  # of an information state string and the player; equal keys are one set


@dataclasses.dataclass(frozen=True)
class Abstraction:
  """Which infostates of a game are played alike.

  Attributes:
    game: `str(game)`.
    key: its origin, as text.
    sets: for each player int32[I], the number of each decision infostate's set, 0, 1, ...; infostates in the
      alphabetical order of their strings.
    origin: for each player int32[sets], the set of the first abstraction from which each set was split.
  """

  game: str
  key: str
  sets: tuple[np.ndarray, np.ndarray]
  origin: tuple[np.ndarray, np.ndarray]

  @property
  def counts(self) -> tuple[int, int]:
    """Number of sets of each player."""
    return len(self.origin[0]), len(self.origin[1])

  @property
  def count(self) -> int:
    """Number of sets of both players."""
    return sum(self.counts)

  @property
  def infostates(self) -> int:
    """Number of decision infostates of both players."""
    return sum(len(sets) for sets in self.sets)

  @property
  def words(self) -> int:
    """Entries that a map from infostates to sets needs (Čermák et al. 2020, Sections 4.2.4 and 4.3.4).

    Those of the largest set that each first set became need none. Infostates alone in their sets count, as
    they must in the paper's Fig. 8: its map of II-Goofspiel is larger than its number of sets.
    """
    total = 0
    for sets, origin in zip(self.sets, self.origin, strict=True):
      size = np.bincount(sets, minlength=len(origin))
      largest = np.zeros(origin.max(initial=-1) + 1, int)
      np.maximum.at(largest, origin, size)
      total += int(size.sum() - largest.sum())
    return total

  @property
  def size(self) -> str:
    """The number of sets beside that of infostates, as text."""
    share = self.count / max(self.infostates, 1)  # a game may have no decisions
    return f"{self.count:,} sets of {self.infostates:,} infostates ({share:.1%})"

  def summary(self) -> str:
    """All that is counted of it, for people."""
    shared = sum(int((np.bincount(sets)[sets] > 1).sum()) for sets in self.sets)
    return report(
      {
        "abstraction": self.key,
        "size": self.size,
        "of each player": " and ".join(f"{n:,}" for n in self.counts),
        "not alone in a set": f"{shared:,} infostates",
        "map": f"{self.words:,} entries",
      }
    )


def abstract(game: pyspiel.Game, key: Key | str, by_order: bool = False, **options: object) -> Abstraction:
  """Join infostates of a player that have equal keys.

  Args:
    game: any game that `build_tree` takes.
    key: a function of the information state string and the player, or one of "observation" (OpenSpiel's
      observation string and the legal actions: the present view of the player), "initial" (only the numbers
      of own earlier decisions and of actions: Čermák et al. 2020, Section 4.1.1) and "identity" (joins
      nothing).
    by_order: whether infostates with other actions, but the same number of them, may be joined, the first
      action of one with the first of the other and so on. "initial" always does.
    **options: of `build_tree`.

  Returns:
    The abstraction. Infostates with different numbers of own earlier decisions are in different sets,
    even with equal keys.

  Raises:
    ValueError: the key joins infostates with different actions, or is not one of the presets.
  """
  return abstract_tree(build_tree(game, TreeOptions.of(**options)), game, key, by_order)


def abstract_tree(
  tree: PublicTree, game: pyspiel.Game, key: Key | str | Abstraction, by_order: bool = False
) -> Abstraction:
  """`abstract` for a compiled game, or the given abstraction; ValueError for one of another game."""
  check_zero_sum(tree, "abstractions")
  game = sequential(game)
  if isinstance(key, Abstraction):
    if key.game != str(game):
      raise ValueError(f"The abstraction is one of {key.game}, not of {game}.")
    return key
  check_flag("by_order", by_order)
  name, function = _key_function(tree, game, key)
  by_order = by_order or name in ("initial", "identity")
  numbers, origins = [], []
  for player in (0, 1):
    depth = [d for d, level in enumerate(tree.players[player].levels) for _ in level.actions]
    # Of each set: its number, and its first member.
    first: dict[tuple[int, Hashable], tuple[int, tuple[str, Decision]]] = {}
    sets = []
    for infostate, decision, h in alphabetical(tree, player):
      value = function(decision, h, infostate)
      try:
        number, member = first.setdefault((depth[decision.block], value), (len(first), (infostate, decision)))
      except TypeError as error:
        raise ValueError(f"The key of {infostate!r} is {value!r}, which Python cannot hash.") from error
      _check_actions(name, by_order, member, (infostate, decision))
      sets.append(number)
    numbers.append(np.array(sets, np.int32))
    origins.append(np.arange(len(first), dtype=np.int32))
  return Abstraction(str(game), name, (numbers[0], numbers[1]), (origins[0], origins[1]))


def _key_function(
  tree: PublicTree, game: pyspiel.Game, key: Key | str
) -> tuple[str, Callable[[Decision, int, str], Hashable]]:
  """The name of a key, and the key of (row, type, information state string)."""
  if callable(key):
    return getattr(key, "__name__", "a function"), lambda row, _, name: key(name, row.player)
  if key == "initial":
    return key, lambda row, *_: len(row.legal_actions)
  if key == "identity":
    return key, lambda *place: place[-1]
  if key == "observation":
    if not game.get_type().provides_observation_string:
      raise ValueError(f"{game} provides no observation strings; give a function as key.")

    def observation(row: Decision, h: int, _: str) -> tuple[str, tuple[int, ...]]:
      return tree.names.state(row, h).observation_string(row.player), row.legal_actions

    return key, observation
  raise ValueError(
    f"Unknown key {key!r}: expected a function of (infostate, player), an Abstraction, or one of "
    f"{', '.join(map(repr, ABSTRACTIONS))}."
  )


def _check_actions(name: str, by_order: bool, *members: tuple[str, Decision]) -> None:
  """ValueError if two members of a set, (string, row), have different actions."""
  (one, first), (two, second) = ((infostate, row.legal_actions) for infostate, row in members)
  if first == second or (by_order and len(first) == len(second)):
    return
  hint = " by_order=True matches them by their order." if len(first) == len(second) else ""
  raise ValueError(
    f"The key {name!r} joins {one!r}, with actions {list(first)}, and {two!r}, with actions {list(second)}."
    f"{hint}"
  )


def alphabetical(tree: PublicTree, player: int) -> list[tuple[str, Decision, int]]:
  """(string, row, type) of a player's decision infostates, in the order of `Abstraction.sets`."""
  rows = [(name, decision, h) for decision, h, name in tree.names.infostates() if decision.player == player]
  return sorted(rows, key=lambda entry: entry[0])


def _slots(tree: PublicTree, player: int) -> tuple[np.ndarray, np.ndarray]:
  """int[I] twice: slot (`tree.sequences`) and block of each decision infostate, in alphabetical order."""
  forest, infostates = tree.players[player], alphabetical(tree, player)
  block = np.array([row.block for _, row, _ in infostates], int)
  within = np.array([row.row * forest.types + h for _, row, h in infostates], int)
  return slot_starts(forest)[block] + within, block


def bind(tree: PublicTree, abstraction: Abstraction) -> tuple[Partition, Partition]:
  """An abstraction laid out for a tree of its game; ValueError for another game's, or invalid sets."""
  if not isinstance(abstraction, Abstraction):
    raise ValueError(f"Expected an Abstraction, such as abstract makes, got {abstraction!r}.")
  if abstraction.game != tree.names.game:
    raise ValueError(f"The abstraction is one of {abstraction.game}, not of {tree.names.game}.")
  first, second = (
    _bind(forest, *_slots(tree, i), abstraction.sets[i], abstraction.origin[i], i)
    for i, forest in enumerate(tree.players)
  )
  return first, second


def _bind(
  forest: PlayerTree, slots: np.ndarray, blocks: np.ndarray, sets: np.ndarray, origin: np.ndarray, player: int
) -> Partition:
  if len(sets) != len(slots):
    raise ValueError(
      f"Player {player} decides in {len(slots):,} infostates, the abstraction has {len(sets):,}."
    )
  number, first = np.unique(sets), np.unique(origin)
  integers = all(np.issubdtype(x.dtype, np.integer) for x in (number, first))
  if not (integers and _counts_up(number, len(origin)) and _counts_up(first, len(first))):
    raise ValueError(
      f"The abstraction of player {player} must number its {len(origin):,} sets, and those from which they "
      f"were split, 0, 1, ... without a gap."
    )
  block = np.zeros(len(origin), int)
  block[sets] = blocks
  if (block[sets] != blocks).any():
    raise ValueError(
      f"The abstraction of player {player} has sets whose members differ in their number of actions or of "
      f"earlier decisions."
    )
  table = np.full(slot_starts(forest)[-1], -1, np.int32)
  table[slots] = sets
  bucket = np.array([forest.places[k][0] for k in block.tolist()], np.int32)
  return Partition(table, bucket, (1 + ranks(bucket)).astype(np.int32), np.asarray(origin, np.int32))


def _counts_up(numbers: np.ndarray, count: int) -> bool:
  """Whether these are 0, 1, ..., `count` - 1."""
  return np.array_equal(numbers, np.arange(count))


def unbind(tree: PublicTree, parts: Sequence[Partition], key: str) -> Abstraction:
  """The abstraction that `bind` lays out as these partitions; `key` as in `Abstraction`."""
  first, second = (p.sets[_slots(tree, i)[0]] for i, p in enumerate(parts))
  return Abstraction(tree.names.game, key, (first, second), (parts[0].origin, parts[1].origin))


def to_arrays(abstraction: Abstraction) -> dict[str, np.ndarray]:
  """The fields of an abstraction in a file, beside its game and its key."""
  (sets0, sets1), (origin0, origin1) = abstraction.sets, abstraction.origin
  return {"sets0": sets0, "sets1": sets1, "origin0": origin0, "origin1": origin1}


def from_file(file: Stored) -> Abstraction:
  """The abstraction in a file, whose header has "game" and "abstraction": the inverse of `to_arrays`."""
  arrays = file.arrays(file.shapes)
  sets, origin = ((arrays[f"{name}0"], arrays[f"{name}1"]) for name in ("sets", "origin"))
  return Abstraction(file.header["game"], file.header["abstraction"], sets, origin)
