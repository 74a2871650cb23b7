"""Games in which a player never acts, or nobody does: what searches and reports make of them.

`test_every_solver` solves them.
"""

import pyspiel
import pytest
from every_solver import NOBODY, ONE

import ps_cfr_spiel
from ps_cfr_spiel.abstractions import abstract


@pytest.mark.parametrize("options", [{}, {"gadget": "max-margin"}, {"lookahead": 1}])
@pytest.mark.parametrize("text", [NOBODY, ONE], ids=["nobody", "one"])
def test_searches(options, text):
  game = pyspiel.load_efg_game(text)
  policy = ps_cfr_spiel.ContinualResolving(game, 100, **options).tabularise(progress=False)
  assert ps_cfr_spiel.exploitability(game, policy) == pytest.approx(0, abs=1e-3)


def test_there_is_nothing_to_show():
  solver = ps_cfr_spiel.PSCFRSolver(pyspiel.load_efg_game(NOBODY))
  shown = ps_cfr_spiel.apps.views.charts.infostates_text(solver.average_policy(), None, "", 10)
  assert shown.startswith("No player has a decision in ")


def test_online_sampling_and_abstractions():
  for text, count in ((NOBODY, 0), (ONE, 1)):
    game = pyspiel.load_efg_game(text)
    online = ps_cfr_spiel.OnlineOutcomeSampling(game, 20, public_states="none")
    assert ps_cfr_spiel.exploitability(game, online.tabularise()) == pytest.approx(0, abs=0.05)
    assert f"{count} sets of {count} infostates" in abstract(game, "initial").summary()
