"""Writes the files that tests/test_saved_files.py reads: `python tests/saved/make.py`.

The test loads files of an earlier commit, so it does not run this script. A change of what files hold needs
new ones, and a new `storage.FORMAT_VERSION` where older files would be misread.
"""

import json
from pathlib import Path

import pyspiel

import ps_cfr_spiel as ps

FOLDER = Path(__file__).parent


def solvers(game):
  """One run of each kind, by the name of its file."""
  sampling = {"seed": 3, "batch": 1}
  return {
    "ps_cfr": ps.PSCFRSolver(game),
    "ps_cfr_dcfr": ps.PSCFRSolver(game, "dcfr", alternating=False, dtype="float64", averaging_delay=2),
    "vr_mccfr": ps.VRMCCFRSolver(game, **sampling),
    "outcome": ps.OutcomeSamplingSolver(game, **sampling),
    "external": ps.ExternalSamplingSolver(game, **sampling),
  }


def main():
  game, facts, policies = pyspiel.load_game("kuhn_poker"), {}, {}
  for name, solver in solvers(game).items():
    solver.run(20)
    solver.save(FOLDER / f"{name}.safetensors")
    facts[name] = {
      "solver": type(solver).__name__,
      "iterations": solver.iteration,
      "exploitability": solver.exploitability(),
    }
    if name == "ps_cfr":
      policies["policy"] = solver.average_policy()
    solver.run(20)
    facts[name]["later"] = solver.exploitability()
  policies["resolved"] = ps.ContinualResolving(game, iterations=20).tabularise()
  for name, policy in policies.items():
    policy.save(FOLDER / f"{name}.safetensors")
    facts[name] = {"exploitability": ps.exploitability(game, policy)}
  (FOLDER / "facts.json").write_text(json.dumps(facts, indent=2) + "\n")


if __name__ == "__main__":
  main()
