"""Files that an earlier commit saved (tests/saved/make.py) load and go on as they did then."""

import json
from pathlib import Path

import pytest

import ps_cfr_spiel
from ps_cfr_spiel.solvers import saved_policies

SAVED = Path(__file__).parent / "saved"
FACTS = json.loads((SAVED / "facts.json").read_text())
NOISE = 2e-7  # of an exploitability in float32


@pytest.mark.parametrize("name", [name for name, fact in FACTS.items() if "solver" in fact])
def test_runs_load_and_go_on(name):
  fact = FACTS[name]
  solver = ps_cfr_spiel.load_solver(SAVED / f"{name}.safetensors")
  assert type(solver).__name__ == fact["solver"]
  assert solver.iteration == fact["iterations"]
  assert solver.exploitability() == pytest.approx(fact["exploitability"], rel=1e-5, abs=NOISE)
  solver.run(20)
  assert solver.exploitability() == pytest.approx(fact["later"], rel=1e-3, abs=NOISE)


@pytest.mark.parametrize("name", FACTS)
def test_policies_load(name):
  policy = ps_cfr_spiel.load_policy(SAVED / f"{name}.safetensors")
  found = ps_cfr_spiel.exploitability(policy.game, policy)
  assert found == pytest.approx(FACTS[name]["exploitability"], rel=1e-5, abs=NOISE)


def test_a_file_is_not_to_blame_for_a_missing_library(monkeypatch):
  """The packaged blueprint has boards that only the native library can deal."""
  monkeypatch.setattr("ps_cfr_spiel.hierarchical.dealt_game.why_unavailable", lambda: "undefined symbol: x")
  with pytest.raises(ValueError, match="native library is missing: undefined symbol: x") as error:
    ps_cfr_spiel.load_policy(saved_policies.PACKAGED / "holdem_policy.safetensors")
  assert "damaged" not in str(error.value)
