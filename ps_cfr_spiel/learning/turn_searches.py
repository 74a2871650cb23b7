"""The rivers in the questions of searches of turns to a value function, overheard as in `listening`.

A network of rivers is good where it was trained, and the ranges in a search of a turn depend on its own
betting. So turns are drawn and searched with the values learned so far; some rivers beyond the lookahead,
with the ranges of the questions about them, are solved and learned from.
"""

from typing import Any

import numpy as np
import pyspiel

from ps_cfr_spiel import arguments
from ps_cfr_spiel.learning.board_values import lines_of
from ps_cfr_spiel.learning.listening import Listener, drawn_marks
from ps_cfr_spiel.poker import Situation, betting, cards, left_by_betting, range_text
from ps_cfr_spiel.reports import progress_bar
from ps_cfr_spiel.search import ValueFunction
from ps_cfr_spiel.subgames import Subgames

OVERHEARD = 4  # overheard iterations of a search
RATIOS = (0.5, 1.0, 2.0, 4.0)  # stacks behind on the turn, in pots


def rivers_met(
  values: ValueFunction,
  turns: int,
  seed: int = 0,
  pot: int = 1000,
  ratios: tuple[float, ...] = RATIOS,
  bets: str = "fcpa",
  each: int = 20,
  most: int = 300,
  progress: bool | None = None,
) -> list[Situation]:
  """Collect rivers that searches of random turns of hold'em ask about, with all hands.

  Args:
    values: value function beyond the turn; `BoardValues`, or any other of whole rivers.
    turns: number of turns to draw and search; boards are uniform, ranges those that betting leaves.
    seed: of the random numbers; a turn depends on it and its number alone.
    pot: chips in the pot on the turn.
    ratios: stacks behind in pots; one is drawn.
    bets: bet sizes, on the turn and on the river.
    each: number of rivers from a turn.
    most: maximum of a search's iterations; at least 10.
    progress: show a progress bar; None: on a terminal or in a notebook, after two seconds.

  Returns `turns` times `each` rivers, turn by turn, for `solve_batch`; ValueError for a wrong argument.
  """
  for name, value, least in (("turns", turns, 1), ("each", each, 1), ("most", most, 10)):
    arguments.check_count(name, value, least)
  arguments.check_integer("seed", seed, 0)
  arguments.check_binds("values", values, "BoardValues")
  stacks, found = _stacks(pot, ratios, bets), []
  for number in progress_bar(progress, iterable=range(turns), unit="turn", desc="Searching"):
    random = np.random.default_rng([seed, number])
    game = _drawn(random, pot, int(random.choice(stacks)), bets)
    searcher = Listener(Subgames.of(game), values, "round")
    searcher.marks = drawn_marks(random, most, OVERHEARD)
    searcher.start(number % 2)
    found += _taken(searcher, random, bets, each)
  return found


def _stacks(pot: Any, ratios: Any, bets: Any) -> list[int]:
  """Chips of each player at the start, by ratio; ValueError where `holdem_subgame` does not allow them."""
  arguments.check_count("pot", pot, 2)
  if not (ratios := arguments.check_list("ratios", ratios)):
    raise ValueError("ratios is empty; it must have at least one number.")
  sizes = betting.parse_bets(arguments.check_instance("bets", bets, str), 2)
  checked = (arguments.check_number("ratios", ratio, 0, arguments.MOST) for ratio in ratios)
  stacks = [pot // 2 + round(ratio * pot) for ratio in checked]
  for stack in stacks:
    arguments.check_count("pot x (1 + 2 x ratio)", 2 * stack, pot)
    betting.betting_states(pot, stack, sizes)
  return stacks


def _drawn(random: np.random.Generator, pot: int, stack: int, bets: str) -> pyspiel.Game:
  """A turn with a random board, and ranges that earlier betting leaves."""
  board = tuple(random.choice(len(cards.WHOLE_DECK), cards.BOARD_SIZE - 1, replace=False).tolist())
  live = np.flatnonzero(cards.unblocked(board))
  ranges = np.zeros((2, len(cards.ALL_HANDS)))
  for weights in ranges:
    weights[live] = left_by_betting(random, live, board)
  given = {"board": cards.card_names(board), "pot": pot, "stack": stack, "bets": bets}
  return pyspiel.load_game("holdem_subgame", {**given, "ranges": ";".join(map(range_text, ranges))})


def _taken(searcher: Listener, random: np.random.Generator, bets: str, each: int) -> list[Situation]:
  """Some of the rivers in a search's questions, with the ranges of a random iteration."""
  lines = lines_of(searcher.subgames)
  form, ((states, ranges),) = lines.form, searcher.heard.items()
  own, stack = [cards.hand_numbers(held) for held in form.cards], form.game.get_parameters()["stack"]
  found: list[Situation] = []
  while len(found) < each:
    row, (line, runout) = (k := int(random.integers(len(states)))), lines.place(states[k])
    board = (*form.game.board, *lines.runouts[-1][runout].tolist())
    spent = max(form.game.public_states[line].spent)
    both = np.zeros((2, len(cards.ALL_HANDS)))
    heard = ranges[random.integers(OVERHEARD)]
    for weights, held, weight, asked in zip(both, own, form.weights, heard, strict=True):
      weights[held] = weight * asked[row][: len(held)]
    both[:, ~cards.unblocked(board)] = 0
    if both.any(1).all():  # questions include lines that a player never plays; these are worth nothing
      found.append(Situation(board, 2 * spent, stack, bets, both / both.sum(1, keepdims=True)))
  return found
