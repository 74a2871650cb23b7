"""A strategy in some public states alone, for files of a part of a policy, and for locks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ps_cfr_spiel.cards.notation import grouped, is_hand, kinds_text
from ps_cfr_spiel.tree import Decision, Labels

if TYPE_CHECKING:
  from ps_cfr_spiel.tree import PublicTree  # JAX

MOST_LOCKS, MOST_MIXTURES = 5, 3  # that are listed one by one: public states, and mixtures of each
LONGEST = 60  # characters of a lock's hands


class PartialStrategy(NamedTuple):
  """The strategies of the players who act in some public states, as files and locks have them.

  It is no policy, which has an answer for every state of its game: this one knows no game until a tree is
  given, and where a lock leaves types free there is no answer. `tables` makes a policy's tables of it.
  """

  public_states: tuple[int, ...]  #: their numbers
  #: float64[n], the strategies [A, H] of their rows, one after the other; of a lock zeros for free types.
  probabilities: np.ndarray

  def rows(self, tree: PublicTree) -> dict[int, np.ndarray]:
    """The strategies [A, H] by the rows' numbers in `Labels.decisions`; ValueError if they do not fit."""
    labels, count = tree.names, len(tree.names.public_states)
    known = [s for s in self.public_states if 0 <= s < count]
    numbers = [n for s in known for n in labels.public_states[s].decisions]
    decisions = [labels.decisions[n] for n in numbers]
    shapes = [(len(d.legal_actions), tree.players[d.player].types) for d in decisions]
    ends = np.cumsum([0, *(actions * types for actions, types in shapes)])
    if len(known) < len(self.public_states) or self.probabilities.shape != (ends[-1],):
      raise ValueError(f"The strategies of public states do not fit {labels.game}; use its own tree.")
    parts = np.split(self.probabilities, ends[1:-1])
    return {n: part.reshape(shape) for n, part, shape in zip(numbers, parts, shapes, strict=False)}

  def tables(self, tree: PublicTree) -> list[list[np.ndarray]]:
    """A strategy for each player, [A, rows, H] for each block; uniform in all other rows."""
    tables = [[np.full(shape, 1 / shape[0]) for shape in player.block_shapes] for player in tree.players]
    for n, strategy in self.rows(tree).items():
      decision = tree.names.decisions[n]
      tables[decision.player][decision.block][:, decision.row] = strategy
    return tables


def partial_strategy(
  labels: Labels, lines: Sequence[str], table: Callable[[Decision], np.ndarray]
) -> PartialStrategy:
  """The strategy on the way to some lines and at them, from that of each row, [A, H]."""
  states = labels.public_states
  numbers = [s for s in labels.states_on(lines) if states[s].decisions]
  flat = [table(labels.decisions[n]).ravel() for s in numbers for n in states[s].decisions]
  return PartialStrategy(tuple(numbers), np.concatenate([np.zeros(0), *flat]))


def left_out(labels: Labels, public_states: Collection[int]) -> frozenset[int]:
  """The public states with a decision at or below them that these public states do not include."""
  kept, numbers = set(public_states), set[int]()
  for decision in labels.decisions:
    number = decision.public_state
    if number in kept:
      continue
    while number >= 0 and number not in numbers:
      numbers.add(number)
      number = labels.public_states[number].parent
  return frozenset(numbers)


def types_header(rows: Mapping[int, np.ndarray]) -> list[str]:
  """The types that locks hold, for the header of a file: bits in hexadecimal, "" for all."""
  held = [strategy.any(0) for strategy in rows.values()]
  return ["" if types.all() else np.packbits(types).tobytes().hex() for types in held]


def types_in(header: str, types: int) -> np.ndarray:
  """bool[types]: those in an entry of `types_header`; ValueError if it is of another number of types."""
  if not header:
    return np.ones(types, bool)
  packed = np.frombuffer(bytes.fromhex(header), np.uint8)
  if len(packed) != -(-types // 8):
    raise ValueError(f"a lock of {8 * len(packed)} types at most does not fit {types} types")
  return np.unpackbits(packed, count=types).astype(bool)


def locks_text(labels: Labels, rows: Mapping[int, np.ndarray]) -> str:
  """Locks in words, "after Check, Bet 15: Call with AA; others free", or "" without any.

  `rows` as for `tree.lock_rows`; it lists the locks of some public states, and counts the others.
  """
  places: dict[int, list[int]] = {}
  for n in rows:
    places.setdefault(labels.decisions[n].public_state, []).append(n)
  listed = []
  for state, numbers in itertools.islice(places.items(), MOST_LOCKS):
    line = ", ".join(map(grouped, labels.line_to(state)))
    words = (_lock_text(labels, labels.decisions[n], rows[n]) for n in numbers)
    listed.append(f"{f'after {line}' if line else 'at the start'}: {'; '.join(filter(None, words))}")
  more = len(places) - len(listed)
  return " | ".join(listed + ([f"and after {more:,} other lines"] if more else []))


def _lock_text(labels: Labels, decision: Decision, strategy: np.ndarray) -> str:
  """A row's lock in words: each mixture with its hands, the one of most hands last; "" where it has none."""
  possible = [h for h, name in enumerate(decision.infostates) if name is not None]
  together: dict[tuple[float, ...], list[int]] = {}
  for h in possible:
    together.setdefault(tuple(strategy[:, h].round(4).tolist()), []).append(h)
  free = together.pop((0.0,) * len(strategy), [])
  if not together:
    return ""
  others = ["others free"] if free else []
  if len(together) > MOST_MIXTURES:
    return "; ".join([f"{len(possible) - len(free)} hands with a mixture of their own", *others])
  names, types = list(map(grouped, labels.move_names(decision))), labels.types[decision.player]
  words = []
  for shares, held in sorted(together.items(), key=lambda pair: len(pair[1])):
    played = [(name, share) for name, share in zip(names, shares, strict=True) if share]
    mixture = ", ".join(f"{name} {100 * share:.4g}%" for name, share in played)
    hands = _hands_text([types[h] for h in held], [types[h] for h in possible])
    words.append(f"{played[0][0] if len(played) == 1 else mixture} with {hands}")
  if not free:
    words[-1] = words[-1].rpartition(" with ")[0] + (" with all others" if words[1:] else "")
  return "; ".join(words + others)


def _hands_text(held: Sequence[str], possible: Sequence[str]) -> str:
  """Types by their names, or by their number where these take too long."""
  text = kinds_text(held, possible) if all(map(is_hand, possible)) else ", ".join(held)
  return text if len(text) <= LONGEST else f"{len(held)} hands"
