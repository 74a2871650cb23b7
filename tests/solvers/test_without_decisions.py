"""Games in which a player never acts, or nobody does: every solver has the value that chance gives them."""

import pyspiel
import pytest

import ps_cfr_spiel
from ps_cfr_spiel.abstractions import abstract

HEAD = 'EFG 2 R "any" { "A" "B" } ""\n'
NOBODY = HEAD + 'c "" 1 "" { "x" 0.75 "y" 0.25 } 0\nt "" 1 "" { 4 -4 }\nt "" 2 "" { -8 8 }\n'
ONE = (
  HEAD + 'c "" 1 "" { "x" 0.75 "y" 0.25 } 0\np "" 1 1 "first" { "l" "r" } 0\nt "" 1 "" { 4 -4 }\n'
  't "" 2 "" { 0 0 }\np "" 1 1 "first" { "l" "r" } 0\nt "" 3 "" { -8 8 }\nt "" 4 "" { -4 4 }\n'
)  # left is worth 3 - 2, right 0 - 1
SOLVERS = (
  "PSCFRSolver",
  "VRMCCFRSolver",
  "OutcomeSamplingSolver",
  "ExternalSamplingSolver",
  "CFRPlusIRASolver",
  "FPIRASolver",
  "FictitiousPlaySolver",
)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("text", [NOBODY, ONE], ids=["nobody", "one"])
def test_solvers(name, text):
  solver = getattr(ps_cfr_spiel.solvers, name)(pyspiel.load_efg_game(text))
  solver.run(1000)
  result = solver.evaluation()
  assert result.exploitability == pytest.approx(0, abs=0.05)
  assert result.value == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("options", [{}, {"gadget": "max-margin"}, {"lookahead": 1}])
@pytest.mark.parametrize("text", [NOBODY, ONE], ids=["nobody", "one"])
def test_searches(options, text):
  game = pyspiel.load_efg_game(text)
  policy = ps_cfr_spiel.ContinualResolving(game, 100, **options).tabularise(progress=False)
  assert ps_cfr_spiel.exploitability(game, policy) == pytest.approx(0, abs=1e-3)


def test_there_is_nothing_to_show():
  solver = ps_cfr_spiel.PSCFRSolver(pyspiel.load_efg_game(NOBODY))
  shown = ps_cfr_spiel.views.charts.infostates_text(solver.average_policy(), None, "", 10)
  assert shown.startswith("No player has a decision in ")


def test_simulated():
  """Without a tree: that it runs, and plays what it is asked about."""
  for text in (NOBODY, ONE):
    game = pyspiel.load_efg_game(text)
    solver = ps_cfr_spiel.SimulatedMCCFRSolver(game)
    solver.run(20)
    state = game.new_initial_state().child(0)
    policy = solver.average_policy()
    assert state.is_terminal() or sum(policy.action_probabilities(state).values()) == pytest.approx(1)


def test_online_sampling_and_abstractions():
  for text, count in ((NOBODY, 0), (ONE, 1)):
    game = pyspiel.load_efg_game(text)
    online = ps_cfr_spiel.OnlineOutcomeSampling(game, 20, public_states="none")
    assert ps_cfr_spiel.exploitability(game, online.tabularise()) == pytest.approx(0, abs=0.05)
    assert f"{count} sets of {count} infostates" in abstract(game, "initial").summary()
