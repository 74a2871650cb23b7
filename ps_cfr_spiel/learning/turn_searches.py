"""The rivers in the questions of searches of turns to a value function, overheard as in `listening`.

A network of rivers is good where it was trained, and the ranges in a search of a turn depend on its own
betting. So turns are drawn and searched with the values learned so far; some rivers beyond the lookahead,
with the ranges of the questions about them, are solved and learned from.
"""

import numpy as np

from ps_cfr_spiel import arguments
from ps_cfr_spiel.batches import RandomSituations
from ps_cfr_spiel.learning.board_features import lines_of
from ps_cfr_spiel.learning.listening import Listener, drawn_marks
from ps_cfr_spiel.poker import Situation, cards
from ps_cfr_spiel.reports import progress_bar
from ps_cfr_spiel.search import ValueFunction
from ps_cfr_spiel.subgames import Subgames

OVERHEARD = 4  # overheard iterations of a search


def rivers_met(
  values: ValueFunction,
  turns: RandomSituations,
  each: int = 20,
  most: int = 300,
  progress: bool | None = None,
) -> list[Situation]:
  """Collect rivers that searches of random turns of hold'em ask about, with all hands.

  Args:
    values: value function beyond the turn; `NetworkValues`, or any other of whole rivers.
    turns: the turns to search; draws on one depend on their seed and its number alone.
    each: number of rivers from a turn.
    most: maximum of a search's iterations; at least 10.
    progress: show a progress bar; None: on a terminal or in a notebook, after two seconds.

  Returns `each` rivers for each turn, turn by turn, for `solve_batch`; ValueError for a wrong argument.
  """
  arguments.check_count("each", each, 1)
  arguments.check_count("most", most, 10)
  arguments.check_binds("values", values, "NetworkValues")
  arguments.check_instance("turns", turns, RandomSituations)
  if turns.cards != cards.BOARD_SIZE - 1:
    raise ValueError(f"turns are {cards.STREETS[turns.cards]}s; give RandomSituations with cards=4.")
  rivers: list[Situation] = []
  for number in progress_bar(progress, iterable=range(len(turns)), unit="turn", desc="Searching"):
    random = np.random.default_rng([turns.seed, number, 1])  # a stream apart from that of the turn
    searcher = Listener(Subgames.of(turns[number].game()), values, "round")
    searcher.marks = drawn_marks(random, most, OVERHEARD)
    searcher.start(number % 2)
    rivers += _taken(searcher, random, turns.bets, each)
  return rivers


def _taken(searcher: Listener, random: np.random.Generator, bets: str, each: int) -> list[Situation]:
  """Some of the rivers in a search's questions, with the ranges of a random iteration."""
  lines = lines_of(searcher.subgames)
  form, ((states, ranges),) = lines.form, searcher.heard.items()
  held_by = [cards.hand_numbers(held) for held in form.cards]
  stack = form.game.get_parameters()["stack"]
  rivers: list[Situation] = []
  while len(rivers) < each:
    row, (line, runout) = (k := int(random.integers(len(states)))), lines.place(states[k])
    board = (*form.game.board, *lines.runouts[-1][runout].tolist())
    spent = max(form.game.public_states[line].spent)
    both = np.zeros((2, len(cards.ALL_HANDS)))
    heard = ranges[random.integers(OVERHEARD)]
    for weights, held, weight, asked in zip(both, held_by, form.weights, heard, strict=True):
      weights[held] = weight * asked[row][: len(held)]
    both[:, ~cards.unblocked(board)] = 0
    if both.any(1).all():  # questions include lines that a player never plays; these are worth nothing
      rivers.append(Situation(board, 2 * spent, stack, bets, both / both.sum(1, keepdims=True)))
  return rivers
