"""The host's part of a compiled game: names and acting players, for reports and policies."""

import dataclasses
import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
import pyspiel

from ps_cfr_spiel.backend.array_shapes import Float, Int
from ps_cfr_spiel.cards.notation import (
  Moves,
  fitting_moves,
  game_over,
  move_name,
  next_move,
  sizes_of,
  split_words,
)

TERMINAL = int(pyspiel.PlayerId.TERMINAL)
CHANCE = int(pyspiel.PlayerId.CHANCE)
HIDDEN = "..."  # the name of a hidden move
BELOW = "..."  # at the end of a line: include all states below it


@dataclasses.dataclass(frozen=True)
class PublicState:
  """A node of the public tree, on the host."""

  parent: int  #: index of the parent, -1 at the root
  action: int  #: OpenSpiel action that leads here from the parent; -1 at the root, or if hidden moves differ
  player: int  #: the acting player: 0, 1, `CHANCE` or `TERMINAL`
  decisions: tuple[int, ...]  #: indices of the acting player's rows here


@dataclasses.dataclass(frozen=True)
class Decision:
  """A row of a player's tables, on the host."""

  player: int  #: the acting player
  public_state: int  #: index of the public state; -1 in a tree without
  #: block, row: its place in the player's tables.
  block: int
  row: int
  legal_actions: tuple[int, ...]  #: OpenSpiel actions in the order of the A axis
  #: information state string for each type; None where the type cannot be here.
  infostates: Sequence[str | None]
  #: for each type the number of a history with this infostate, in trees of enumerated games.
  examples: tuple[int, ...] = ()


class StateTable(NamedTuple):
  """The fields of all P public states as arrays."""

  parent: Int[np.ndarray, " P"]  #: see `PublicState`
  action: Int[np.ndarray, " P"]
  player: Int[np.ndarray, " P"]
  decision: Int[np.ndarray, " P"]  #: the first of its decisions; -1 for none


class DecisionTable(NamedTuple):
  """The fields of all D decisions as arrays."""

  player: Int[np.ndarray, " D"]  #: see `Decision`
  public_state: Int[np.ndarray, " D"]
  block: Int[np.ndarray, " D"]
  row: Int[np.ndarray, " D"]
  actions: Int[np.ndarray, " D"]  #: the number of legal actions
  legal: Int[np.ndarray, "D A"]  #: the legal actions; -1 behind the last


@runtime_checkable
class Origin(Protocol):
  """The origin of a tree, which finds histories.

  Attributes:
    remark: text on the count of histories, for reports.
    deals_types: whether chance deals the types, which have names of their own, such as hands.
    pruned: whether chance has outcomes of probability zero, behind which the tree ends.
  """

  remark: ClassVar[str]
  deals_types: ClassVar[bool] = False

  @property
  def pruned(self) -> bool: ...

  @property
  def num_histories(self) -> int:
    """The number of histories; in a Bayesian form the deal counts as one event."""
    ...

  @property
  def type_names(self) -> tuple[tuple[str, ...], ...]:
    """Names of each player's types; in a Bayesian form an index here is the chance action that deals it."""
    ...

  def path(self, decision: Decision, type_index: int) -> list[int]:
    """Actions from the start of the game to a history in which the decision's player is of this type."""
    ...

  def history(self, public_state: int) -> list[int]:
    """Actions from the start of the game to some history of a public state."""
    ...

  def public_cards(self, public_state: int) -> list[int]:
    """The actions by which several public cards came since the parent; none in all other public states."""
    return []

  def count(self, public_state: int) -> int:
    """Number of histories in a public state."""
    ...

  def possible_infostates(self, public_state: int) -> tuple[list[str], ...]:
    """Each player's possible infostates at a public state, acting or not (augmented infostates)."""
    ...

  def payoffs(self, public_state: int) -> list[float]:
    """The possible utilities of player 0 at a terminal public state, ascending."""
    ...

  def utility_ranges(self, decisions: Sequence[Decision]) -> list[Float[np.ndarray, " _H"]]:
    """For each decision the largest less the smallest utility that may follow its infostates."""
    ...

  def range_weight(self, player: int, type_index: int) -> float:
    """The weight of a type in the player's range as it is written; 1 in games without ranges."""
    return 1.0

  def chips_in_pot(self, public_state: int, player: int) -> float:
    """The player's chips in a pot on the way, in the game's unit; 0 in games without a pot."""
    return 0.0


def information_state_string(state: pyspiel.State, player: int) -> str:
  """The game's own name of an infostate."""
  return state.information_state_string(player)


@dataclasses.dataclass(frozen=True)
class Labels:
  """Names of a compiled game's parts, for reports and policies: infostates, moves, and lines of moves.

  A *line* is the public moves to a public state. It is typed as moves from the root, separated by blanks or
  commas, in the grammar of docs/reading.md: names as the game writes them ("Bet 200"), short forms ("x",
  "b200", "b 75%"), or OpenSpiel's action numbers. Hidden moves, such as a deal, are left out; those of a
  player may be written, without effect. "#12" stands for the public state of that number.
  """

  game: str  #: `str(game)`, which `pyspiel.load_game` reads back
  public_states: Sequence[PublicState]  #: parents before children; empty in a tree without
  decisions: Sequence[Decision]  #: all rows, player 0's first
  source: Origin  #: the origin of the tree
  #: a new state at the start of the game.
  start: Callable[[], pyspiel.State] = dataclasses.field(kw_only=True, compare=False, repr=False)
  #: (state, player) -> the name of the player's infostate there.
  infostate: Callable[[pyspiel.State, int], str] = dataclasses.field(
    default=information_state_string, kw_only=True
  )
  #: lines of the summary on a game that is solved otherwise than it is given, by their names.
  remarks: Mapping[str, str] = dataclasses.field(default_factory=dict, kw_only=True)

  @functools.cached_property
  def state_table(self) -> StateTable:
    """All public states at once: far quicker than one by one where they are made on access."""
    states = [(s.parent, s.action, s.player, *(s.decisions[:1] or (-1,))) for s in self.public_states]
    return StateTable(*np.array(states, int).reshape(-1, 4).T)

  @functools.cached_property
  def decision_table(self) -> DecisionTable:
    """All decisions at once; see `state_table`."""
    rows = [(d.player, d.public_state, d.block, d.row, len(d.legal_actions)) for d in self.decisions]
    columns = np.array(rows, int).reshape(-1, 5).T
    legal = np.full((len(rows), columns[4].max(initial=1)), -1)
    legal[np.arange(legal.shape[1]) < columns[4][:, None]] = [
      a for d in self.decisions for a in d.legal_actions
    ]
    player, public_state, block, row, actions = columns
    return DecisionTable(player, public_state, block, row, actions, legal)

  @property
  def types(self) -> tuple[tuple[str, ...], ...]:
    """See `Origin.type_names`."""
    return self.source.type_names

  @property
  def histories(self) -> int:
    """See `Origin.num_histories`."""
    return self.source.num_histories

  def infostates(self, decisions: Iterable[Decision] | None = None) -> Iterator[tuple[Decision, int, str]]:
    """All decision infostates, or those of some rows: (row, type, information state string)."""
    for decision in self.decisions if decisions is None else decisions:
      for h, name in enumerate(decision.infostates):
        if name is not None:
          yield decision, h, name

  def num_public_states(self, players: Sequence[int]) -> int:
    """The number of public states with one of these to act: 0, 1, `CHANCE`, `TERMINAL`."""
    return sum(state.player in players for state in self.public_states)

  def num_infostates(self, player: int) -> int:
    """The number of infostates in which the player decides."""
    return sum(decision.player == player for decision, _, _ in self.infostates())

  @functools.cached_property
  def _places(self) -> dict[tuple[int, str], tuple[Decision, int]]:
    return {(decision.player, name): (decision, h) for decision, h, name in self.infostates()}

  def find(self, player: int, infostate: str) -> tuple[Decision, int]:
    """The row and type of an information state string; ValueError if the player never decides with it."""
    try:
      return self._places[player, infostate]
    except KeyError:
      raise ValueError(f"Player {player} has no information state {infostate!r} in {self.game}.") from None

  def decision_at(self, state: pyspiel.State, player: int) -> tuple[Decision, int]:
    """The row and type of a player's infostate at a state; errors as of `find`."""
    return self.find(player, self.infostate(state, player))

  @functools.cached_property
  def children(self) -> Sequence[list[int]]:
    """The children of each public state, by ascending action; of equal actions, by number."""
    states = self.public_states
    return children([state.parent for state in states], [state.action for state in states])

  # --- Moves by name ------------------------------------------------------------------------------

  def state(self, decision: Decision, type_index: int) -> pyspiel.State:
    """A state where the player of a row has the given type."""
    return self._after(self.source.path(decision, type_index))

  def _after(self, history: Iterable[int]) -> pyspiel.State:
    state = self.start()
    for action in history:
      state.apply_action(action)
    return state

  def _example(self, decision: Decision) -> pyspiel.State:
    """A state of a row; ValueError if every type is impossible there."""
    first = next((h for h, name in enumerate(decision.infostates) if name is not None), None)
    if first is None:
      place = ", ".join(self.line_to(decision.public_state))
      raise ValueError(
        f"After {place} player {decision.player} has no hand left: the cards block all of them."
      )
    return self.state(decision, first)

  def move_names(self, decision: Decision) -> tuple[str, ...]:
    """The names of the legal actions of a row; ValueError if every type is impossible there."""
    state = self._example(decision)
    return tuple(move_name(state, action) for action in decision.legal_actions)

  def moves(self, decision: Decision, history: Sequence[str] = ()) -> Moves:
    """The legal moves of a row, to read one of them; `history` has names of moves before, for errors.

    ValueError if every type is impossible there.
    """
    sizes = sizes_of(self._example(decision), decision.legal_actions)
    return Moves(self.move_names(decision), decision.legal_actions, sizes, history)

  def move_to(self, number: int) -> str:
    """The name of the move from the parent to a public state; `HIDDEN` for hidden moves.

    Cards that come at once are one move, such as "Deal 2c2d3c".
    """
    state = self.public_states[number]
    if state.parent < 0:
      return "root"
    moves = self.source.public_cards(number) if state.action < 0 else [state.action]
    if not moves:
      return HIDDEN
    before = self._after(self.source.history(state.parent))
    first, *others = (move_name(before, action) for action in moves)
    return first + "".join(name.removeprefix("Deal ") for name in others)

  def line_to(self, number: int) -> tuple[str, ...]:
    """The names of the public moves that lead to a public state, in order; hidden ones are left out."""
    names = []
    while number > 0:
      if (name := self.move_to(number)) != HIDDEN:
        names.append(name)
      number = self.public_states[number].parent
    return tuple(names[::-1])

  def find_line(self, line: str) -> int:
    """The public state after a line.

    ValueError if a move is unknown or illegal, or the tree has no public states.
    """
    if not self.public_states:
      raise ValueError(f"{self.game} was compiled without public states; lines need them.")
    words, start, number, history = split_words(line), 0, 0, ()
    while True:
      below = self.children[number]
      hidden = len(below) == 1 and self.public_states[below[0]].action < 0
      if start < len(words) and words[start].startswith("#"):
        number, start = self._numbered(words[start]), start + 1
        history = self.line_to(number)
      elif hidden and (start < len(words) or self.public_states[number].player == CHANCE):
        start, number = self._after_hidden(number, words, start), below[0]
      elif start == len(words):
        return number
      elif not below:
        raise ValueError(game_over(history, words[start:]))
      else:
        name, number, start = self._next(number, words, start, history)
        history = (*history, name)

  def find_turn(self, line: str) -> int:
    """The public state after a line, where a player acts; ValueError if none does, or as of `find_line`."""
    number = self.find_line(line)
    player, names = self.public_states[number].player, self.line_to(number)
    after = f"after {', '.join(names)}" if names else "at the start"
    if player == CHANCE and not self._acting_below(number):
      raise ValueError(f"Only chance acts {after}, to the end; give an earlier decision.")
    if player == CHANCE:
      moves = ", ".join(map(self.move_to, self.children[number]))
      raise ValueError(f"Chance moves {after}; choose one of {moves}.")
    if player < 0:
      raise ValueError(f"The game is over {after}; give an earlier decision.")
    return number

  def _acting_below(self, number: int) -> bool:
    """True if a player acts after the next moves of chance; False after a called all-in."""
    below = [(child, self.public_states[child].player) for child in self.children[number]]
    return any(player >= 0 or (player == CHANCE and self._acting_below(child)) for child, player in below)

  def _numbered(self, word: str) -> int:
    """The public state of the word "#12"."""
    count = len(self.public_states)
    if not re.fullmatch("[0-9]{1,12}", word[1:]) or int(word[1:]) >= count:
      raise ValueError(f"Unknown public state {word[:20]!r}; they are numbered from #0 to #{count - 1}.")
    return int(word[1:])

  def _after_hidden(self, number: int, words: Sequence[str], start: int) -> int:
    """The place in the words after a player's hidden move, if it is written there."""
    for row in self.public_states[number].decisions:
      fits, end = fitting_moves(words, start, self.moves(self.decisions[row]))
      if fits:
        return end
    return start

  def _next(
    self, number: int, words: Sequence[str], start: int, history: tuple[str, ...]
  ) -> tuple[str, int, int]:
    """The public move in the words from a place on, the public state after it, and the place after it."""
    below: dict[tuple[int, ...], list[int]] = {}
    for child in self.children[number]:
      action = self.public_states[child].action
      cards = self.source.public_cards(child) if action < 0 else ()
      below.setdefault((action, *cards), []).append(child)
    alike, ids = list(below.values()), [action for action, *_ in below]
    names = [self.move_to(group[0]) for group in alike]
    sizes = sizes_of(self._after(self.source.history(number)), ids)
    choice, end = next_move(words, start, Moves(names, ids, sizes, history))
    # The result of an action may depend on hidden moves: the end of the game, or a public observation.
    goes_on = [child for child in alike[choice] if self.public_states[child].player != TERMINAL]
    goes_on = goes_on or alike[choice][:1]
    if len(goes_on) > 1:
      several = " or ".join(f"#{child}" for child in goes_on)
      raise ValueError(f"{names[choice]!r} leads to several public states; write {several} instead.")
    return names[choice], goes_on[0], end

  def states_on(self, lines: Sequence[str]) -> list[int]:
    """The public states on the way to some lines and at them, ascending; below those that end with "..." too.

    ValueError if there is no line, or one does not exist.
    """
    texts = [] if isinstance(lines, str) or not isinstance(lines, Iterable) else [*lines]
    if not texts or not all(isinstance(line, str) for line in texts):
      raise ValueError(f"lines must be a list of at least one line, each a text, got {lines!r}.")
    numbers = set()
    for line in texts:
      number = self.find_line(line.removesuffix(BELOW))
      below = [number]
      while line.endswith(BELOW) and below:
        numbers.update(below)
        below = [child for state in below for child in self.children[state]]
      while number >= 0:
        numbers.add(number)
        number = self.public_states[number].parent
    return sorted(numbers)


def children(parents: Sequence[int], actions: Sequence[int]) -> list[list[int]]:
  """The children of each public state, by ascending action; of equal actions, by number.

  Given are parents, -1 at the root, and the OpenSpiel actions that lead there, -1 where hidden moves differ.
  """
  below: list[list[int]] = [[] for _ in parents]
  for number, parent in enumerate(parents):
    if parent >= 0:
      below[parent].append(number)
  return [sorted(numbers, key=lambda n: actions[n]) for numbers in below]
