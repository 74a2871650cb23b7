"""Best-response pruning of `benchmarks/papers`: OpenSpiel's CFR without it, and its conditions with it."""

import numpy as np
import pyspiel
import pytest
from benchmark_scripts import script
from open_spiel.python.algorithms import cfr, exploitability

KUHN = pyspiel.load_game("kuhn_poker")
SMALL = pyspiel.load_game("liars_dice(dice_sides=2,numdice=1)")
pruning = script("benchmarks.papers.best_response_pruning")


def test_without_pruning_it_is_openspiels_cfr():
  solver = cfr._CFRSolver(KUHN, alternating_updates=False, linear_averaging=False, regret_matching_plus=False)
  for step, _ in pruning.run(KUHN, 30, pruning=False):
    solver.evaluate_and_update_policy()
    if step.iteration in (1, 7, 30):
      expected = exploitability.exploitability(KUHN, solver.average_policy())
      assert step.exploitability == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("near", [0.0, 0.02])
def test_pruned_actions_stay_worse_than_what_was_gained(near):
  """(13) in every iteration, by the near best response itself, and regrets as CFR bounds them."""
  seen = set()
  for step, learners in pruning.run(SMALL, 250, pruning=True, near=near):
    for i, learner in enumerate(learners):
      side, now = learner.side, step.iteration
      values, _ = side.responses(side.payoffs @ learners[1 - i].total, near, now)
      for k, regret in learner.regrets.items():
        actions = side.actions[k]
        live = [n for n in range(actions.start, actions.stop) if n not in learner.pruned]
        for n in range(actions.start, actions.stop):
          assert n in live or values[n] <= learner.gained[k] + 1e-9
        bound = side.spread[k] ** 2 * len(regret) * now  # Zinkevich et al. 2007, Theorem 4
        assert (np.maximum(regret, 0) ** 2)[[n - actions.start for n in live]].sum() <= bound + 1e-9
      seen |= {(i, n) for n in learner.pruned}
  whole = sum(len(learner.side.most) - 1 for learner in learners)
  assert seen and step.regrets < 0.8 * whole
  assert step.exploitability < 0.02


def test_regrets_made_again_are_those_of_a_best_response():
  """Computed by hand: a player may stop for 1, or go on to a choice between 0 and 2; ten iterations."""
  game = pyspiel.load_efg_game(
    'EFG 2 R "choice" { "A" "B" } ""\n'
    'p "" 1 1 "" { "stop" "on" } 0\nt "" 1 "" { 1 -1 }\n'
    'p "" 2 1 "" { "x" "y" } 0\n'
    'p "" 1 2 "" { "l" "r" } 0\nt "" 2 "" { 0 0 }\nt "" 3 "" { 2 -2 }\n'
    'p "" 1 2 "" { "l" "r" } 0\nt "" 4 "" { 0 0 }\nt "" 5 "" { 0.5 -0.5 }\n'
  )
  side = pruning.Side(game, 0)
  learner = pruning.Learner(side)
  first, later = 0, 1
  on = side.actions[first].start + 1
  learner.gained[first], learner.pruned[on] = 8.0, 0.0
  del learner.regrets[later], learner.gained[later]
  others = np.zeros(side.payoffs.shape[1])
  others[:] = (10, 4, 6)  # of ten iterations four with x, six with y
  learner.make_again([(first, on)], others, 10, 0.0)
  assert learner.regrets[later].tolist() == [-11.0, 0.0]  # r gives 4 * 2 + 6 / 2
  assert learner.gained[later] == 11.0
  assert learner.regrets[first][1] == 11.0 - 8.0
  assert not learner.pruned


@pytest.mark.parametrize("slack", [0.0, 0.5, 4.0, 1e4])
def test_least_values(slack):
  moves = np.array([3.0, 1.0, 0.5])
  value = pruning.least_value(moves, slack)
  squares = (np.maximum(moves - value, 0) ** 2).sum()
  assert squares <= slack + 1e-12
  assert squares == pytest.approx(slack) or value == moves.min()
