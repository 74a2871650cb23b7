"""Files that an earlier commit saved (tests/saved/make.py) load and go on as they did then."""

import json
from pathlib import Path

import pytest

import ps_cfr_spiel

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
