"""Numbers of sequences and cells, by hand and by counting."""

import numpy as np
import pyspiel
import pytest

from ps_cfr_spiel import build_tree, tree

SHAPES = [(2, 3, 1), (3, 1, 1), (2, 2, 1)]  # 6, 3 and 4 sequences


def test_by_hand():
  assert tree.sequence_starts(SHAPES).tolist() == [1, 7, 10, 14]
  assert tree.sequence_starts(SHAPES, roots=4).tolist() == [4, 10, 13, 17]
  assert tree.sequence_numbers(SHAPES, 0, 2, 1) == 1 + 3 + 2
  assert tree.sequence_numbers(SHAPES, np.array([1, 2]), np.array([0, 1]), 1, roots=0).tolist() == [7, 12]
  assert tree.sequence_numbers([(2, 4)], 0, 3, 1, roots=0) == 7  # shapes may lack H


def test_all_numbers_are_used_once():
  numbers = [
    int(tree.sequence_numbers(SHAPES, block, row, action, roots=2))
    for block, (actions, rows, _) in enumerate(SHAPES)
    for row in range(rows)
    for action in range(actions)
  ]
  assert sorted(numbers) == list(range(2, tree.sequence_starts(SHAPES, roots=2)[-1]))


def test_split_rows_are_numbered_like_rows():
  """A row of H types that becomes H rows: the block of A, rows * H numbers its sequences itself."""
  types = 3
  split = [(actions, rows * types, 1) for actions, rows, _ in SHAPES]
  for block, row, action in ((0, 1, 1), (1, 0, 2), (2, 1, 0)):
    whole = tree.sequence_numbers(SHAPES, block, row, action, roots=2)
    expected = tree.sequence_numbers(split, block, row * types + np.arange(types), action, roots=2 * types)
    np.testing.assert_array_equal(tree.split_types(np.array([whole]), types), expected)


def test_cells_by_hand():
  first, second = tree.cell_starts([[(2, 3, 4), (3, 1, 4)], [(2, 2, 5)]])
  assert first.tolist() == [0, 12, 16]
  assert second.tolist() == [16, 26]


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "liars_dice(dice_sides=2)"])
def test_choices_are_the_inverse(name):
  made = build_tree(pyspiel.load_game(name))
  numbers = tree.decision_sequences(made)
  for player in (0, 1):
    choices = tree.sequence_choices(made, player)
    assert choices[0].tolist() == [-1, -1]
    found = {tuple(c) for c in choices[1:].tolist()}
    assert found == {
      (n, a)
      for n, d in enumerate(made.labels.decisions)
      if d.player == player
      for a in range(len(d.legal_actions))
    }
    for number, (n, a) in enumerate(choices[1:].tolist(), start=1):
      assert numbers[n, a] == number


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker"])
def test_cells_are_counted_through(name):
  made = build_tree(pyspiel.load_game(name))
  cells = [
    cell + h
    for d, cell in zip(made.labels.decisions, tree.first_cells(made), strict=True)
    for h in range(made.players[d.player].types)
  ]
  assert sorted(cells) == list(range(len(cells)))


def test_ranks_count_what_stands_before():
  groups = np.random.default_rng(0).integers(0, 4, 50)
  expected = [int((groups[:n] == group).sum()) for n, group in enumerate(groups)]
  assert tree.ranks(groups).tolist() == expected
  assert tree.ranks(np.zeros(0, int)).tolist() == []
