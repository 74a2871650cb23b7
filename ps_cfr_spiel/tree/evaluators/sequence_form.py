"""The sequence form of a game of two, in SciPy's sparse matrices (Koller, Megiddo and von Stengel 1996)."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from scipy.sparse import csr_array

from ps_cfr_spiel.backend.array_shapes import Int
from ps_cfr_spiel.backend.device import precision, to_device
from ps_cfr_spiel.memory import TooLarge
from ps_cfr_spiel.tree.evaluators.leaves import check_two_players
from ps_cfr_spiel.tree.public_tree import PublicTree
from ps_cfr_spiel.tree.sequences import decision_sequences, sequence_starts

MOST_PAIRS = 10**8  # of types at leaves, whose utilities are looked through


class SequenceForm(NamedTuple):
  """A game as matrices: plans x and y of the players are worth x @ payoffs[0] @ y to player 0.

  A *plan* of a player has for each of S sequences the product of the player's own probabilities up to it. It
  is one if it is not negative and constraints[player] @ plan is (1, 0, 0, ...).
  """

  #: [S0, S1], to player 0, with the probability of chance; in a general-sum game those to player 1 as well.
  payoffs: tuple[csr_array, ...]
  #: of each player [1 + infostates, S]: row 0 has the empty sequence, and each infostate its actions less the
  #: sequence before it.
  constraints: tuple[csr_array, ...]
  #: for each player and sequence the infostate and the move that it ends with; blank for the empty one, 0.
  sequences: tuple[list[tuple[str, str]], ...]


def sequence_form(tree: PublicTree) -> SequenceForm:
  """The game of a tree as SciPy's sparse matrices, for linear programs.

  ValueError for more than two players, and for a game that is too large.
  """
  check_two_players(tree, "matrices of the sequence form")
  first, second = tree.players
  pairs = sum(first.leaf.children) * first.types * second.types
  if (first.roots, second.roots) != (1, 1):
    raise ValueError("This tree is a subgame; the sequence form is for whole games.")
  if pairs > MOST_PAIRS:
    raise TooLarge(
      f"{tree.names.game} has {pairs:,} pairs of hands at its ends; the sequence form is for whole games of "
      f"up to {MOST_PAIRS:,}. Take smaller ranges or fewer bets, or solve it by PSCFRSolver."
    )
  numbers = decision_sequences(tree)
  columns, constraints, sequences = zip(*(_player(tree, i, numbers) for i in (0, 1)), strict=True)
  payoffs = tuple(_payoff(tree, i, columns) for i in range(1 if tree.leaves.zero_sum else 2))
  return SequenceForm(payoffs, constraints, sequences)


def _player(
  tree: PublicTree, player: int, numbers: Int[np.ndarray, "D A"]
) -> tuple[Int[np.ndarray, "S H"], csr_array, list[tuple[str, str]]]:
  """The number of each sequence of each type, -1 where the type cannot be; the constraints; the names."""
  forest = tree.players[player]
  column = np.full((sequence_starts(forest.block_shapes)[-1], forest.types), -1)
  column[0] = 0  # all types begin with the empty sequence
  sequences, above = [("", "")], np.concatenate([np.zeros(0, int), *forest.above()])
  rows_before = np.cumsum([0, *(rows for _, rows, _ in forest.block_shapes)])
  entries = [(0, 0, 1.0)]  # row, column, number
  rows = 1
  # A decision comes after the earlier ones on its way.
  for decision, its_numbers in zip(tree.names.decisions, numbers, strict=True):
    if decision.player != player:
      continue
    moves, before = tree.names.move_names(decision), above[rows_before[decision.block] + decision.row]
    for h, infostate in enumerate(decision.infostates):
      if infostate is not None:
        after = np.arange(len(moves)) + len(sequences)
        column[its_numbers[: len(moves)], h] = after
        entries += [(rows, column[before, h], -1.0), *((rows, sequence, 1.0) for sequence in after)]
        sequences += [(infostate, move) for move in moves]
        rows += 1
  row, place, number = zip(*entries, strict=True)
  return column, csr_array((number, (row, place)), (rows, len(sequences))), sequences


def _payoff(tree: PublicTree, player: int, columns: tuple[Int[np.ndarray, "_S _H"], ...]) -> csr_array:
  """The utility to a player for each pair of sequences: the evaluator's values against each type alone."""
  # The sequence of each player that leads to each leaf, for each type.
  its, others = (columns[i][tree.players[i].leaf.index] for i in (player, 1 - player))
  cuts = np.cumsum(tree.players[player].leaf.children)[:-1].tolist()
  shape, entries = [int(column.max()) + 1 for column in columns], []
  with precision("float64"):
    leaves = to_device(tree.leaves, "float64")
    for g in range(others.shape[1]):
      reach = jnp.zeros(others.shape).at[:, g].set(1.0)
      values = np.concatenate([np.asarray(x) for x in leaves(player, jnp.split(reach, cuts))])
      leaf, h = np.nonzero(values)
      entries.append((values[leaf, h], its[leaf, h], others[leaf, g]))
  value, *places = map(np.concatenate, zip(*entries, strict=True))
  # Pairs of sequences with several ends after them have their sum.
  return csr_array((value, tuple(places if player == 0 else reversed(places))), shape)
