"""The public part of a hand of hold'em, and the searches of it: a subgame with the strategies found.

A search is asked where a line of betting leads, for the strategy there, and for the worth of the opponent's
hands, which the next search promises. A blueprint of a compiled game is a search of the whole. Bets that a
tree lacks are written into the text of its sizes.
"""

import functools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ps_cfr_spiel.batches import Solution, StreetValues
from ps_cfr_spiel.compiler import FormOrigin, PublicStateIndex
from ps_cfr_spiel.poker import Situation, betting, cards
from ps_cfr_spiel.policy import TreePolicy
from ps_cfr_spiel.search import best_responses
from ps_cfr_spiel.subgames import Subgames, unsafe
from ps_cfr_spiel.tree import PublicTree

DTYPE = "float32"  # of searches
NUM_HANDS = len(cards.ALL_HANDS)


class PublicHand(NamedTuple):
  """All that is public in a hand."""

  board: tuple[int, ...]  #: the public cards; those of a street ascending
  chips: tuple[int, ...]  #: see `BettingState.invested`
  street: int  #: 0 before the flop

  @classmethod
  def of(cls, state: Any) -> "PublicHand":
    """That of a state of `holdem`."""
    public = state.public_state
    board = [card for street in state.board_by_street() for card in street]
    return cls(tuple(board), public.invested, public.street)

  def moves(self, rules: betting.Betting, before: int) -> list[tuple[betting.BettingState, int]]:
    """The moves before some street: the state, and the mover's chips afterwards."""
    moves, state = [], rules.root
    for chips in self.chips:
      while state is not None and state.player == betting.CHANCE:
        state = rules.after(state, betting.ANY_CARD)
      assert state is not None
      if state.street >= before:
        break
      moves.append((state, chips))
      action = rules.action(state, chips)
      assert action is not None
      state = rules.after(state, action)
    return moves

  def on_street(self, rules: betting.Betting, street: int) -> tuple[int, tuple[int, ...]]:
    """The number of moves before a street, and the chips of the moves on it."""
    start, end = (len(self.moves(rules, s)) for s in (street, street + 1))
    return start, self.chips[start:end]

  def sizes(self, rules: betting.Betting, street: int) -> list[tuple[int, Fraction]]:
    """The bets made on a street: how many came before each on it, and its size in pots."""
    made = [(state, n) for state, n in self.moves(rules, street + 1) if state.street == street]
    return [
      (state.num_bets, Fraction(n - max(state.spent), 2 * max(state.spent)))
      for state, n in made
      if n > max(state.spent)
    ]

  def until(self, moves: int, street: int) -> "PublicHand":
    """The same when a street began."""
    return self._replace(
      chips=self.chips[:moves], board=self.board[: cards.BOARD_SIZES[street]], street=street
    )


class Search:
  """A solved rest of a hand, from some line of its subgame on: the strategies."""

  believes = False  #: whether both players' ranges count in `promised`, or the other player's alone

  def __init__(
    self,
    game: Any,
    tree: PublicTree,
    moves: Sequence[int] = (),
    tables: Sequence[Sequence[Any]] | None = None,
    held: Sequence[np.ndarray] | None = None,
  ):
    """Uniform strategies by default.

    The search begins after `moves`, as in `line_of`; `held` are each player's hands, if not those of the
    game's ranges.
    """
    self._held = held
    self.game, self.tree = game, tree  #: the subgame
    root = self.line_of(moves)
    assert root is not None
    self.root = root  #: its line where the search begins
    #: for each player [A, rows, H] for each block, of the whole subgame.
    self.tables = [
      [np.full(shape, 1 / shape[0]) for shape in player_tree.block_shapes]
      if tables is None
      else list(tables[i])
      for i, player_tree in enumerate(tree.players)
    ]

  @functools.cached_property
  def subgames(self) -> Subgames:
    """The tree, for cutting."""
    return Subgames(self.tree, self.game)

  def hands(self, player: int) -> np.ndarray:
    """int[H]: a player's hands, as numbers in `cards.ALL_HANDS`."""
    return cards.hand_numbers(self.game.ranges[player].cards) if self._held is None else self._held[player]

  def after(self, line: int, chips: int) -> int | None:
    """The line after a move that leaves its player with these chips in the pot; None without such a move."""
    states = self.game.public_states
    node = states[line]
    children = (child for child in node.children.values() if states[child].spent[node.player] == chips)
    return next(children, None) if node.player >= 0 else None

  def line_of(self, chips: Sequence[int]) -> int | None:
    """The line of moves that leave their players with these chips in the pot; None without such moves."""
    line: int | None = 0
    for n in chips:
      line = None if line is None else self.after(line, n)
    return line

  @property
  def lines(self) -> PublicStateIndex:
    """The lines of the game's form."""
    source = self.tree.names.source
    assert isinstance(source, FormOrigin)
    return source.lines

  def place(self, line: int, runout: cards.Board = ()) -> int:
    """The public state of a line after these cards, numbered as in the form."""
    lines = self.lines
    known = lines.runouts[lines.came.index(len(runout))]
    return int(lines.starts[line]) + known.tolist().index(list(runout))

  def row(self, line: int) -> np.ndarray:
    """float64[A, H]: the strategy of the player to act, on the first street of the subgame."""
    labels = self.tree.names
    decision = labels.decisions[labels.public_states[self.place(line)].decisions[0]]
    return self.tables[decision.player][decision.block][:, decision.row]

  def promised(self, line: int, board: cards.Board, player: int, ranges: np.ndarray) -> np.ndarray:
    """float64[1326]: the worths of a player's hands after a line, and the board's cards that the game lacks.

    They are of a best response, see `worths`; `ranges` are float64[2, 1326], see `believes`.
    """
    came = board[len(getattr(self.game, "board", ())) :]
    place = self.place(self.lines.below[line][0] if came else line, came)
    return self.worths(place, player, ranges[1 - player])

  def worths(self, place: int, player: int, others: np.ndarray) -> np.ndarray:
    """float64[1326]: the mean win of a best response of a player's hands, from a public state on.

    It responds to the other player's strategy with the range `others` there, float64[1326].
    """
    subgame, other = self.subgames.cut([place]), 1 - player
    whole = np.ones((1, len(self.hands(player))))
    range_ = (others[self.hands(other)] / self.lines.form.weights[other])[None]
    tree = unsafe(subgame, other, (range_, whole) if player else (whole, range_)).tree
    values = best_responses(tree, subgame.there(other, self.tables[other]), player, DTYPE)[0]
    weight = subgame.prior.weight(player, range_)[0]
    worths = np.zeros(NUM_HANDS)
    worths[self.hands(player)] = np.where(weight > 0, values / np.where(weight > 0, weight, 1), 0)
    return worths


class StreetSearch(Search):
  """A search of a street by a value function, which has the worths when the next card has come."""

  believes = True

  def __init__(
    self,
    game: Any,
    tree: PublicTree,
    moves: Sequence[int],
    solution: Solution,
    given: Situation,
    values: StreetValues,
  ):
    """The solution of a situation by `batches.solve_batch`; `game`, a river, has its betting."""
    assert solution.strategies is not None
    super().__init__(game, tree, moves, solution.strategies, solution.hands)
    self._given, self._values = given, values

  def promised(self, line: int, board: cards.Board, player: int, ranges: np.ndarray) -> np.ndarray:
    spent = self.game.public_states[line].spent[player]
    return self._values.worths(self._given._replace(board=board, pot=2 * spent, ranges=ranges))[player]


class BlueprintSearch(Search):
  """A blueprint of a small deck, as a search of the whole game."""

  def __init__(self, blueprint: TreePolicy):
    """Compile its game, unless the policy's solver has."""
    super().__init__(blueprint.game, blueprint.tree, (), blueprint.strategies)
    hands = np.array(self.game.deck)[self.lines.form.cards[0]]
    self._held = [cards.hand_numbers(np.sort(hands, 1)[:, ::-1])] * 2

  def place(self, line: int, runout: cards.Board = ()) -> int:
    return super().place(line, tuple(map(self.game.deck.index, runout)))

  def line_of(self, chips: Sequence[int]) -> int | None:
    rules: betting.Betting = self.game.betting
    state, line, form = rules.root, 0, self.lines.form
    for n in chips:
      while state is not None and state.player == betting.CHANCE:
        state, (line,) = rules.after(state, betting.ANY_CARD), self.lines.below[line]
      action = None if state is None or state.player < 0 else rules.action(state, n)
      after = [child for child in self.lines.below[line] if form.action[child] == action]
      if state is None or action is None or not after:
        return None
      state, (line,) = rules.after(state, action), after
    return line
