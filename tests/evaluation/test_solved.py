"""The table of solved games against a linear program, and against OpenSpiel's own tools."""

import pyspiel
import pytest
from reference import sequence_form_value

from ps_cfr_spiel import PSCFRSolver, measures

TABLE = {line.game: line for line in measures.solved()}
SMALL = ("kuhn_poker()", "liars_dice(dice_sides=3)", "nim(pile_sizes=1;2)", "misere(game=kuhn_poker())")


def test_it_has_forty_names():
  assert len(measures.solved()) == 40
  for line in TABLE.values():
    assert 0 <= line.exploitability < 1e-5 and line.trembled_exploitability >= 0, line
    game = pyspiel.load_game(line.game)
    stakes = (game.max_utility() - game.min_utility()) / 2
    assert line.mean_local_regret <= 2e-3 * stakes, line
    assert line.mean_local_regret <= line.worst_local_regret, line


@pytest.mark.parametrize("name", SMALL)
def test_values_are_those_of_a_linear_program(name):
  assert TABLE[name].value == pytest.approx(sequence_form_value(pyspiel.load_game(name)), abs=1e-7)


@pytest.mark.parametrize("name", TABLE)
def test_openspiel_confirms_every_value(name):
  """The game's value is within NashConv of a strategy's own, both by OpenSpiel in float64."""
  solver = PSCFRSolver(pyspiel.load_game(name), dtype="float64")
  solver.run(3000)
  table = solver.average_policy().to_pyspiel()
  value = pyspiel.expected_returns(solver.game.new_initial_state(), [table, table], -1, True)[0]
  within = pyspiel.nash_conv(solver.game, table)
  assert within < 1e-4 * max(1, solver.game.max_utility() - solver.game.min_utility())
  rounding = 1e-9 * max(1, abs(value))  # ten digits are kept
  assert abs(value - TABLE[name].value) <= within + 2 * TABLE[name].exploitability + rounding
