"""The two parts of a dealt game: the head, before the special round, and what each cluster plays after it."""

import numpy as np

from ps_cfr_spiel.hierarchical.dealt_game import SPECIAL, DealtGame
from ps_cfr_spiel.hierarchical.lines import Lines, leaving, make_lines


def head_and_child(game: DealtGame, sizes: tuple[int, ...]) -> tuple[Lines, Lines]:
  """Their lines; the roots of the child are the lines that leave the head.

  Args:
    game: the game.
    sizes: for each round how many buckets there are, in a cluster.
  """
  head = make_lines(game.form, [0], range(SPECIAL), sizes)
  return head, make_lines(game.form, head.source[leaving(head)], range(SPECIAL, game.rounds), sizes)


def first_cells(game: DealtGame, sizes: tuple[int, ...]) -> np.ndarray:
  """int32[N]: for each line of the form the cell of bucket 0 in its part; anything where nobody acts."""
  cell = np.zeros(len(game.form.parent), np.int32)
  for lines in reversed(head_and_child(game, sizes)):  # lines that leave the head are of both parts
    cell[lines.source] = lines.cell
  return cell
