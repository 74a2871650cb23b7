"""Local best response in games of dealt cards that are too large for tables of answers: hands are sampled.

Lisý and Bowling 2017; `local_best_response` is the exact form. At each decision the searcher knows the range
of the opponent, by the policy and Bayes' rule. The worth of a call is the mean win if both check and call
from then on. A bet wins the pot if the opponent folds; else both check and call after it. The best action is
played. At the end of a hand the searcher is credited with its mean win over the opponent's range and the
cards to come, which has the same expectation as the win itself and a smaller variance.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyspiel

from ps_cfr_spiel.arguments import check_count, check_integer
from ps_cfr_spiel.hierarchical import DealtGame
from ps_cfr_spiel.poker import betting, card_sets, set_numbers
from ps_cfr_spiel.reports import progress_bar
from ps_cfr_spiel.tree import CHANCE

# Ways in which cards may come, all of which are looked at; of more than these some are drawn.
MOST_BOARDS, SOME_BOARDS = 1_500, 300

# From a line and a board to [A, H], as `HierarchicalPolicy.for_hands`.
Answers = Callable[[int, tuple[int, ...]], np.ndarray]


class SampledResponse(NamedTuple):
  """The gain of a local best response, in the game's utility a hand."""

  mean: float  #: over both seats: a lower bound on the exploitability, up to its error
  error: float  #: the standard error of the mean
  wins: np.ndarray  #: float64[hands], of each hand


def sampled_response(
  game: pyspiel.Game,
  answers: Answers,
  hands: int,
  seed: int = 0,
  progress: bool | None = None,
) -> SampledResponse:
  """Plays hands of a local best response against a policy, seat after seat.

  The game is `universal_poker` for two with public cards, or `leduc_poker`; `answers` is the policy, such as
  `HierarchicalPolicy.for_hands`; there are at least 2 `hands`. ValueError for a wrong argument or game.
  """
  table, generator = _Table(DealtGame.of(game)), np.random.default_rng(check_integer("seed", seed, 0))
  bar = progress_bar(progress, iterable=range(check_count("hands", hands, 2)), unit="hand", desc="Responding")
  wins = np.array([table.play(number % 2, answers, generator) for number in bar])
  return SampledResponse(float(wins.mean()), float(wins.std(ddof=1) / len(wins) ** 0.5), wins)


class _Table:
  """The game as a searcher needs it."""

  def __init__(self, game: DealtGame):
    self.game, form = game, game.form
    self.children: list[list[int]] = [[] for _ in form.parent]
    for line, parent in enumerate(form.parent.tolist()):
      if parent >= 0:
        self.children[parent].append(line)
    self.down = form.stake.copy()  # what the winner gains if both check and call from a line on
    self.closed = form.player < 0  # no player acts any more
    for line in reversed(range(len(form.parent))):
      if self.children[line]:
        after = self._by(line, betting.CALL) if form.player[line] >= 0 else self.children[line][0]
        self.down[line] = self.down[after]
        self.closed[line] &= self.closed[after]

  def _by(self, line: int, action: int) -> int:
    """The line after an action, -1 if it is illegal."""
    return next((child for child in self.children[line] if self.game.form.action[child] == action), -1)

  def play(self, seat: int, answers: Answers, generator: np.random.Generator) -> float:
    """The mean win of the searcher in one hand."""
    game, form = self.game, self.game.form
    cards = generator.permutation(form.deck.size)[: 2 * form.hole + sum(form.public)].astype(int)
    own, theirs = (int(set_numbers(cards[k * form.hole : (k + 1) * form.hole])) for k in (0, 1))
    whole, shown, line = cards[2 * form.hole :], 0, 0
    reach = self._apart(game.hands[own])
    chances: Chances | None = None
    while True:
      board = tuple(whole[:shown].tolist())
      if not self.children[line] and form.stake[line] == 0:  # a fold
        return float(form.constant[line]) * (1 - 2 * seat)
      if self.closed[line] or form.player[line] == seat:
        chances = chances or _chances(self.game, own, board, generator)
      if self.closed[line]:
        assert chances is not None
        return float(self.down[line]) * chances.lead(reach)
      if form.player[line] == CHANCE:
        line, shown, chances = self.children[line][0], shown + form.public[form.round[line] + 1], None
        reach = reach * self._apart(whole[:shown])
      elif form.player[line] == seat:
        assert chances is not None
        line = self._best(line, seat, board, reach, chances, answers)
      else:
        policy = answers(line, board)
        move = int(generator.choice(len(policy), p=policy[:, theirs] / policy[:, theirs].sum()))
        reach, line = reach * policy[move], self.children[line][move]

  def _apart(self, cards: np.ndarray) -> np.ndarray:
    """float64[H]: 1 for hands without these cards."""
    return (~np.isin(self.game.hands, cards).any(1)).astype(float)

  def _best(
    self,
    line: int,
    seat: int,
    board: tuple[int, ...],
    reach: np.ndarray,
    chances: "Chances",
    answers: Answers,
  ) -> int:
    form, found = self.game.form, {}
    for after in self.children[line]:
      if form.action[after] == betting.FOLD and not self.children[after]:
        found[after] = form.constant[after] * (1 - 2 * seat)
      elif form.action[after] == betting.CALL or form.player[after] != 1 - seat:
        found[after] = self.down[after] * chances.lead(reach)
      else:
        fold = self._by(after, betting.FOLD)
        left, won = reach, 0.0
        if fold >= 0:
          left = reach * (1 - answers(after, board)[self.children[after].index(fold)])
          won = form.constant[fold] * (1 - 2 * seat)
        share = left.sum() / reach.sum()
        called = share * self.down[after] * chances.lead(left) if share > 0 else 0.0
        found[after] = (1 - share) * won + called
    return max(found, key=lambda after: found[after])


class Chances(NamedTuple):
  """The outcome of the searcher's hand over the cards that may come."""

  ahead: np.ndarray  #: [H], how often it wins against each hand, less how often it loses
  times: np.ndarray  #: [H], how often the other hand can be there

  def lead(self, reach: np.ndarray) -> float:
    """The probability to win, less that to lose, against a range."""
    return float(self.ahead @ reach / (self.times @ reach))


def _chances(game: DealtGame, own: int, board: tuple[int, ...], generator: np.random.Generator) -> Chances:
  """Those of a hand over all cards that may come, or over some that are drawn."""
  form = game.form
  rest = np.setdiff1d(np.arange(form.deck.size), [*board, *game.hands[own]])
  left = sum(form.public) - len(board)
  if math.comb(len(rest), left) <= MOST_BOARDS:
    more = rest[card_sets(len(rest), left)] if left else rest[:0][None]
  else:
    more = np.array([generator.permutation(rest)[:left] for _ in range(SOME_BOARDS)])
  whole = np.concatenate([np.broadcast_to(np.array(board, int), (len(more), len(board))), more], 1)
  strength, alive = game.strengths(whole)
  mine = strength[:, own, None]
  return Chances((np.sign(mine - strength) * alive).sum(0), alive.sum(0).astype(float))
