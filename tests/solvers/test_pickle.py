"""Solvers and policies go through pickle and deepcopy, as multiprocessing needs, and go on alike."""

import copy
import pickle
from typing import Any

import jax
import numpy as np
import pyspiel
import pytest

from ps_cfr_spiel import ContinualResolving, ExternalSamplingSolver, PSCFRSolver, VRMCCFRSolver
from ps_cfr_spiel.solvers import (
  CFRPlusIRASolver,
  FictitiousPlaySolver,
  FPIRASolver,
  HierarchicalMCCFRSolver,
  OnlineOutcomeSampling,
  OutcomeSamplingSolver,
  SimulatedExternalSolver,
  SimulatedMCCFRSolver,
  Solver,
)

KUHN, LEDUC = "kuhn_poker", "leduc_poker"
RIVER = "river_subgame(pot=10,stack=20,bets=a,ranges=AA KK;QQ AKs)"
TURN = "holdem_subgame(board=9s7c5s4h,pot=10,stack=20,bets=a,ranges=AA;QQ)"
CHEAT = "cheat(ranks=2,suits=2,hand_size=2,max_turns=4)"
CASES: list[tuple[type[Any], str, dict[str, Any]]] = [
  (PSCFRSolver, KUHN, {}),
  (PSCFRSolver, LEDUC, {"abstraction": "identity", "rule": "rm"}),
  (PSCFRSolver, RIVER, {}),
  (PSCFRSolver, RIVER, {"locks": {"check": {"check": 1}}}),
  (PSCFRSolver, TURN, {"bits": 16}),
  (PSCFRSolver, "liars_dice(dice_sides=2)", {"public_states": "none"}),
  (PSCFRSolver, "battleship(board_height=1,board_width=2,num_shots=1,ship_sizes=[1],ship_values=[1])", {}),
  (FictitiousPlaySolver, KUHN, {}),
  (FPIRASolver, KUHN, {}),
  (CFRPlusIRASolver, RIVER, {}),
  (ExternalSamplingSolver, RIVER, {}),
  (OutcomeSamplingSolver, KUHN, {}),
  (VRMCCFRSolver, LEDUC, {}),
  (SimulatedMCCFRSolver, KUHN, {"batch": 4}),
  (SimulatedExternalSolver, CHEAT, {}),
  (HierarchicalMCCFRSolver, LEDUC, {}),
]
WAYS = {"pickle": lambda x: pickle.loads(pickle.dumps(x)), "deepcopy": copy.deepcopy}


def leaves(solver):
  return [np.asarray(x) for x in jax.tree.leaves(solver._state)]


def test_every_class_of_solvers_has_a_case():
  kinds, every = {kind for kind, _, _ in CASES}, [Solver]
  for kind in every:
    every += [below for below in kind.__subclasses__() if below.__module__.startswith("ps_cfr_spiel")]
  assert {kind for kind in every if not kind.__subclasses__() and not kind.__abstractmethods__} <= kinds


@pytest.mark.parametrize("kind, name, options", CASES, ids=lambda x: getattr(x, "__name__", str(x)[:12]))
def test_a_copy_goes_on_to_the_same_bits(kind, name, options):
  if name == CHEAT and pyspiel.load_game(CHEAT).simulated_form().why_unavailable():
    pytest.skip("no native library")
  solver = kind(pyspiel.load_game(name), **options)
  solver.run(3)
  copies = [way(solver) for way in WAYS.values()]
  solver.run(3)
  for other in copies:
    assert str(other.game) == str(solver.game) and other.summary() == solver.summary()
    other.run(3)
    for one, two in zip(leaves(solver), leaves(other), strict=True):
      np.testing.assert_array_equal(one, two)


def asked(policy, game):
  """The policy's probabilities at the first decision after the first outcomes of chance."""
  state = game.new_initial_state()
  while state.is_chance_node():
    state.apply_action(state.legal_actions()[0])
  return policy.action_probabilities(state)


@pytest.mark.parametrize("kind, name, options", CASES, ids=lambda x: getattr(x, "__name__", str(x)[:12]))
def test_policies(kind, name, options):
  game = pyspiel.load_game(name)
  policy = kind(game, **options).average_policy()
  for way in WAYS.values():
    assert asked(way(policy), game) == asked(policy, game)


@pytest.mark.parametrize("kind", [ContinualResolving, OnlineOutcomeSampling])
def test_policies_that_search(kind):
  game = pyspiel.load_game(KUHN)
  policy = kind(game, iterations=3)
  for way in WAYS.values():
    assert asked(way(policy), game).keys() == asked(policy, game).keys()
