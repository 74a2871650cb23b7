"""The searches of a hand of hold'em: a subgame with the strategies found.

A search is asked where a line of betting leads, for the strategy there, and for the worth of the opponent's
hands, which the next search promises. A blueprint is a search, too, whose strategies are its answers. Bets
that a tree lacks are written into the text of its sizes.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Self

import jax
import numpy as np

from ps_cfr_spiel.backend.device import precision
from ps_cfr_spiel.batches import StreetValues
from ps_cfr_spiel.cards.poker import Betting, CardDeal, CardGame, Situation, betting, cards, read_card_game
from ps_cfr_spiel.compilation.compiler import (
  FormLabels,
  FormOrigin,
  PublicStateIndex,
  make_decisions,
  street_ends,
)
from ps_cfr_spiel.policy import WrappedPolicy, dealt_again, public_cards, translate
from ps_cfr_spiel.resolving.search import responses
from ps_cfr_spiel.resolving.subgames import Subgames
from ps_cfr_spiel.solvers.agents.public_hand import Game, State
from ps_cfr_spiel.tree import PublicTree

DTYPE = "float32"  # of searches
NUM_HANDS = len(cards.ALL_HANDS)
TREMBLE = 0.01  # share of uniform play in the strategies by which ranges that are believed are updated
NEVER = 1e-30  # weight that counts as none


class HandSearch:
  """A solved rest of a hand, from some line of its betting on, as a compiled game: strategies and ranges."""

  def __init__(self, game: Game, subgames: Subgames, moves: Sequence[int] = ()):
    """Uniform strategies at first; `subgames` is the compiled game, which counts chips.

    The search begins after `moves`, as in `line_of`.
    """
    self.game, self.subgames, self.tree = game, subgames, subgames.tree
    shapes = [player.block_shapes for player in self.tree.players]
    #: for each player [A, rows, H] for each block
    self.tables = [[np.full(shape, 1 / shape[0]) for shape in blocks] for blocks in shapes]
    self.betting, paid = self.lines.betting, self.lines.betting.paid
    if paid is None:  # a search from the first move on, of `holdem`
      paid = np.array([state.spent for state in game.rules.states(len(self.betting))])
    self._paid = paid  # [lines, 2], chips in the pot
    root = self.line_of(moves)
    assert root is not None
    self.root = root  #: the line where the search begins
    #: float64[2, 1326], both players' ranges there; of ones before they are known
    self.ranges = np.ones((2, NUM_HANDS))

  def spent(self, line: int, player: int) -> int:
    """The chips that a player has in the pot at a line."""
    return int(self._paid[line, player])

  def after(self, line: int, chips: int) -> int | None:
    """The line after a move that leaves its player with these chips in the pot; None without such a move."""
    player = int(self.betting.player[line])
    lines = (child for child in self.betting.children(line) if self.spent(child, player) == chips)
    return next(lines, None) if player >= 0 else None

  def line_of(self, chips: Sequence[int]) -> int | None:
    """The line of moves that leave their players with these chips in the pot; None without such moves."""
    line: int | None = 0
    for n in chips:
      line = None if line is None else self.after(line, n)
    return line

  def following(self, policy: WrappedPolicy, start: State, players: Sequence[int] = (0, 1)) -> Self:
    """The same with a policy's answers as the strategies of some players.

    `start` is a state of `holdem` at the subgame's root. Its bets nearest to those of the subgame are meant;
    after a bet where it has none, play stays uniform.
    """
    lines, rules, states = self.betting, start.get_game().rules, {0: start}
    for line in range(len(lines)):
      children, state = lines.children(line), states.pop(line, None)
      if state is None or not children:
        continue
      if state.current_player() != lines.player[line]:  # the nearest bet was all-in, and the hand is over
        continue
      if lines.player[line] == betting.CHANCE:
        while state.is_chance_node():  # any cards: answers are for all of them
          state = state.child(state.legal_actions()[0])
        states[children[0]] = state
        continue
      if (player := int(lines.player[line])) in players:
        came = self.lines.dealt.runouts[lines.street[line]]
        rows = np.zeros((len(children), len(came), NUM_HANDS))
        for at, action, chances in _answers(policy, state, came):
          rows[self._nearest(line, action, state), at] += chances
        total = rows.sum(0)
        rows = np.where(total > 0, rows / np.where(total > 0, total, 1), 1 / len(children))
        block, at = self._rows(line)
        block[:, at] = rows[:, :, self.hands(player)]
      for child in children:
        action = int(lines.action[child])
        if action > betting.CALL:
          action = rules.nearest_bet(state.public_state, self.spent(child, player))
          if action == betting.CALL:
            continue
        states[child] = state.child(action)
    return self

  def goes_to(self, board: cards.Board) -> bool:
    """True if it has strategies for a board; a `StreetSearch` has those of its street alone."""
    return len(board) >= len(self.game.board)

  def continuing(self, before: "HandSearch", start: int, came: cards.Board = ()) -> Self:
    """The same with the strategies of both players in a search before, from one of its lines on.

    `came` are the public cards that came at that line. A bet that it lacks is answered by a mixture of the
    answers to the two sizes around it (`policy.pseudo_harmonic`); one may be a check, without a fold. Later
    play is that after the nearest bet. After a bet where it has none, play stays uniform.
    """
    if before.subgames is self.subgames and not (came or start):
      self.tables = [[block.copy() for block in blocks] for blocks in before.tables]
      return self
    lines, theirs = self.betting, before.betting
    columns = [_columns(before.hands(player), self.hands(player)) for player in (0, 1)]
    pairs = {0: theirs.children(start)[0] if came else start}
    between = dict[int, tuple[int, int, float]]()  # lines after the sizes around, share of the smaller

    def continued(line: int, other: int) -> np.ndarray:
      """[A, n, H]: the strategy at another line, by the moves and runouts of a line."""
      children, player = lines.children(line), int(lines.player[line])
      nearest = [_nearest_line(before, child, self, children) for child in theirs.children(other)]
      given, after = before._rows(other)
      rows = given[:, after[self._runouts_in(before, line, other, came)]]
      if nearest != list(range(len(children))):
        rows = np.stack([rows[np.array(nearest) == k].sum(0) for k in range(len(children))])
      return rows if columns[player] is None else rows[:, :, columns[player]]

    for line in range(len(lines)):
      other, children = pairs.pop(line, None), lines.children(line)
      if other is None or not children or lines.player[line] != theirs.player[other]:
        continue
      below = theirs.children(other)
      if lines.player[line] >= 0:
        played, at = self._rows(line)
        if line in between:
          smaller, larger, share = between[line]
          rows = continued(line, larger)
          if theirs.action[smaller] > betting.CALL:
            answer = continued(line, smaller)
          else:
            answer, actions = rows.copy(), lines.action[list(children)].tolist()
            fold = actions.index(betting.FOLD)
            answer[actions.index(betting.CALL)] += answer[fold]
            answer[fold] = 0
          rows = share * answer + (1 - share) * rows
        else:
          rows = continued(line, other)
        answered = rows.sum(0) > 0
        played[:, at] = rows if answered.all() else np.where(answered, rows, played[:, at])
      bet_there = any(theirs.action[child] > betting.CALL for child in below)
      for child in children:
        if bet_there or lines.action[child] <= betting.CALL:
          pairs[child] = below[_nearest_line(self, child, before, below)]
        if bet_there and lines.action[child] > betting.CALL:
          moves = [move for move in below if theirs.action[move] != betting.FOLD]
          shares = translate(self._size(child), [before._size(move) for move in moves])
          if len(around := shares.nonzero()[0]) == 2:
            smaller, larger = sorted((moves[k] for k in around), key=before._size)
            between[child] = smaller, larger, float(shares[moves.index(smaller)])
    return self

  def _size(self, line: int) -> float:
    """The share of the pot that the move which leads to a line adds after calling; 0 for a check or call."""
    above = int(self.betting.parent[line])
    most = int(self._paid[above].max())
    return (self.spent(line, int(self.betting.player[above])) - most) / (2 * most)

  def _runouts_in(self, before: "HandSearch", line: int, other: int, came: cards.Board) -> np.ndarray:
    """int[n]: the number of each runout of a line, after the cards that `came`, at one of a search before."""
    runouts, longer = (
      search.lines.dealt.runouts[search.betting.street[at]] for search, at in ((self, line), (before, other))
    )
    number = {tuple(cards): k for k, cards in enumerate(longer.tolist())}
    first = tuple(map(self.game.deck.index, came))
    return np.array([number[*first, *cards] for cards in runouts.tolist()])

  def _nearest(self, line: int, action: int, state: State) -> int:
    """The number among the moves at a line of that nearest to an action at a state of `holdem`."""
    children, player = self.betting.children(line), int(self.betting.player[line])
    chips = state.get_game().rules.after(state.public_state, action).spent[player]
    bets = [k for k, child in enumerate(children) if self.betting.action[child] > betting.CALL]
    if action > betting.CALL and bets:
      return min(bets, key=lambda k: abs(self.spent(children[k], player) - chips))
    passive = min(action, betting.CALL)
    return next(k for k, child in enumerate(children) if self.betting.action[child] == passive)

  @property
  def size(self) -> int:
    """The number of actions of all infostates."""
    return sum(block.size for blocks in self.tables for block in blocks)

  def hands(self, player: int) -> np.ndarray:
    """int[H]: a player's hands, as numbers in `cards.ALL_HANDS`."""
    form = self.lines.form
    assert isinstance(form, CardGame) and isinstance(form.deal, CardDeal)
    return form.deal.whole[form.deal.held[player]]

  @property
  def lines(self) -> PublicStateIndex:
    """The public states of the game's form."""
    source = self.tree.names.source
    assert isinstance(source, FormOrigin)
    return source.lines

  def place(self, line: int, runout: cards.Board = ()) -> int:
    """The public state of a line after these cards."""
    lines = self.lines
    known, cards_by_place = (
      lines.dealt.runouts[lines.dealt.came.index(len(runout))],
      map(self.game.deck.index, runout),
    )
    return int(lines.starts[line]) + known.tolist().index(list(cards_by_place))

  def range_at(self, line: int, player: int, trembling: bool) -> np.ndarray:
    """float64[1326]: a player's range at a line of the first street, from that where the search begins."""
    way = [line]
    while way[-1] != self.root:
      way.append(int(self.betting.parent[way[-1]]))
    weights = self.ranges[player]
    for above, child in itertools.pairwise(way[::-1]):
      if self.betting.player[above] == player:
        odds = np.zeros((len(self.betting.children(above)), NUM_HANDS))
        odds[:, self.hands(player)] = self.row(above)
        weights = reweighted(weights, odds[self.betting.rank[child]], len(odds) if trembling else 0)
    return weights

  def row(self, line: int) -> np.ndarray:
    """float64[A, H]: the strategy of the player to act, on the first street of the search."""
    block, (at, *_) = self._rows(line)
    return block[:, at]

  def _rows(self, line: int) -> tuple[np.ndarray, np.ndarray]:
    """A block of the tables, and int[n]: the rows of a line in it, runout by runout."""
    labels, starts = self.tree.names, self.lines.starts
    table, numbers = labels.decision_table, labels.state_table.decision[starts[line] : starts[line + 1]]
    return self.tables[self.betting.player[line]][table.block[numbers[0]]], table.row[numbers]

  def promised(self, line: int, board: cards.Board, player: int, ranges: np.ndarray) -> np.ndarray:
    """float64[1326]: the worths of a player's hands after a line, and the board's cards that the game lacks.

    `ranges` are float64[2, 1326], of both players, before these cards.
    """
    came = board[len(self.game.board) :]
    return self.worths(self.place(self.betting.children(line)[0] if came else line, came), player, ranges)

  def worths(self, place: int, player: int, ranges: np.ndarray) -> np.ndarray:
    """float64[1326]: the mean win of a best response of a player's hands, from a public state on.

    It responds to the other player's strategy with the other's of the ranges there, float64[2, 1326].
    """
    subgame = self.subgames.subgame_at(place)
    first, second = (ranges[i][self.hands(i)][None] for i in (0, 1))
    values = responses(subgame, 1 - player, (first, second), (self.tables[0], self.tables[1]), DTYPE)[0]
    weight = subgame.prior.weight(player, (second, first)[player])[0]
    worths = np.zeros(NUM_HANDS)
    worths[self.hands(player)] = np.where(weight > 0, values / np.where(weight > 0, weight, 1), 0)
    return worths


class StreetSearch(HandSearch):
  """A search of one street, whose values when the next card has come are those of a value function."""

  def __init__(self, game: Game, subgames: Subgames, values: StreetValues, moves: Sequence[int] = ()):
    """The arguments of `HandSearch`, of `street_of`, and the value function."""
    super().__init__(game, subgames, moves)
    self._values = values

  def promised(self, line: int, board: cards.Board, player: int, ranges: np.ndarray) -> np.ndarray:
    if len(board) == len(self.game.board):
      return super().promised(line, board, player, ranges)
    pot, stack = 2 * self.spent(line, player), self.game.get_parameters()["stack"]
    return self._values.worths(Situation(board, pot, stack, "", ranges))[player]

  def goes_to(self, board: cards.Board) -> bool:
    return len(board) == len(self.game.board)


def reweighted(weights: np.ndarray, played: np.ndarray, actions: int = 0) -> np.ndarray:
  """float64[1326]: a range after a move, by Bayes' rule; unchanged if no hand makes it.

  `played` is the probability of the move by hand. With a number of `actions` a share of uniform play is
  added, for ranges that are believed.
  """
  odds = (1 - TREMBLE) * played + TREMBLE / actions if actions else played
  after = weights * odds
  return after if after.max() > NEVER else weights


def _columns(hands: np.ndarray, kept: np.ndarray) -> np.ndarray | None:
  """int[K]: the columns of the hands that are kept, numbers in `cards.ALL_HANDS`; None if all are."""
  if np.array_equal(hands, kept):
    return None
  column = np.full(NUM_HANDS, -1)
  column[hands] = np.arange(len(hands))
  assert (column[kept] >= 0).all()  # fewer cards are known in the search before
  return column[kept]


def _answers(
  policy: WrappedPolicy, state: State, came: np.ndarray
) -> Iterator[tuple[Sequence[int], int, np.ndarray]]:
  """A policy at a state, after each of the runouts, int[n, k]: its last k public cards are in their place.

  Yields the numbers of some runouts, an action, and its probability for all hands, float64[m, 1326].
  """
  count, cards_came = came.shape
  if not cards_came:
    for action, chances in policy.for_hands_at(state).items():
      yield range(count), action, chances[None]
    return
  board = public_cards(state)[:-cards_came]
  together = dict[tuple[int, ...], list[int]]()  # runouts that differ in the last card
  for k, runout in enumerate(came.tolist()):
    together.setdefault(tuple(runout[:-1]), []).append(k)
  for first, numbers in together.items():
    places = came[numbers, -1].tolist()
    answer = policy.for_boards_at(dealt_again(state, [*board, *first, places[0]]), places)
    for action, chances in answer.items():
      yield numbers, action, chances


def _nearest_line(search: HandSearch, line: int, other: HandSearch, lines: Sequence[int]) -> int:
  """The number among some lines of another search of the move nearest to that which leads to a line."""
  bets = [k for k, there in enumerate(lines) if other.betting.action[there] > betting.CALL]
  action = int(search.betting.action[line])
  if action > betting.CALL and bets:
    player = int(search.betting.player[search.betting.parent[line]])
    return min(bets, key=lambda k: abs(other.spent(lines[k], player) - search.spent(line, player)))
  passive = min(action, betting.CALL)
  return min(range(len(lines)), key=lambda k: abs(int(other.betting.action[lines[k]]) - passive))


def street_of(game: Game, values: StreetValues) -> Subgames:
  """The first street of a `holdem_subgame`, or of `holdem`, as a compiled game; values count from its end."""
  whole, parameters = read_card_game(game), game.get_parameters()
  deal = dataclasses.replace(whole.deal, public=whole.deal.public[:1])
  pot = parameters.get("pot", 0)  # 0 before the flop, where blinds are bets
  states = game.rules._replace(bets=game.rules.bets[:1]).states(betting.MAX_PUBLIC_STATES)
  lines = PublicStateIndex.of(dataclasses.replace(whole, betting=Betting.of_states(states), deal=deal))
  given = Situation(tuple(game.board), pot, parameters["stack"], "", np.ones((2, NUM_HANDS)))
  ends = street_ends(lines.betting)
  hands = deal.whole[deal.held[0]]
  forests, places = make_decisions(lines, ends, (len(hands), len(hands)))
  ((showdowns, folds),) = ends
  # The weights of deals are in the values: each hand's are 1, over the sum of those of all deals.
  even = np.full((1, len(hands)), 1 / lines.dealt.total)
  with precision(DTYPE):
    stacked = values.street_leaves(
      [given], hands[None], (even, even), (showdowns.utility[None], folds.utility[None])
    )
    leaves = dataclasses.replace(
      jax.tree.map(lambda table: np.asarray(table)[0], stacked), beyond=values.beyond
    )
  labels = FormLabels.create(game, lines, places)
  return Subgames(PublicTree(forests, leaves, labels), game)
