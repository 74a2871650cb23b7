"""Each way in which the package solves a game, in a small one: the rows of `test_every_solver`.

A new solver needs a row; a new option of an old one needs a row where it changes the state of a run.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyspiel
import pytest
from cuts import TURN
from trajectories import RIVER

from ps_cfr_spiel import solvers
from ps_cfr_spiel.backend.native import why_unavailable
from ps_cfr_spiel.sampling.mccfr import OutcomeSampling, ZeroBaseline
from ps_cfr_spiel.solvers import Solver

KUHN, LEDUC = "kuhn_poker", "leduc_poker"
CHEAT = "cheat(ranks=2,suits=2,hand_size=2,max_turns=2)"
SHIPS = "battleship(board_height=1,board_width=2,num_shots=1,ship_sizes=[1],ship_values=[1])"
DICE = "liars_dice(dice_sides=2)"

HEAD = 'EFG 2 R "any" { "A" "B" } ""\n'
NOBODY = HEAD + 'c "" 1 "" { "x" 0.75 "y" 0.25 } 0\nt "" 1 "" { 4 -4 }\nt "" 2 "" { -8 8 }\n'
ONE = (
  HEAD + 'c "" 1 "" { "x" 0.75 "y" 0.25 } 0\np "" 1 1 "first" { "l" "r" } 0\nt "" 1 "" { 4 -4 }\n'
  't "" 2 "" { 0 0 }\np "" 1 1 "first" { "l" "r" } 0\nt "" 3 "" { -8 8 }\nt "" 4 "" { -4 4 }\n'
)  # left is worth 3 - 2, right 0 - 1


class Row(NamedTuple):
  """A solver of a game.

  Attributes:
    kind: its class.
    game: as OpenSpiel loads it.
    options: those of the solver that are not the default.
    iterations: after which at most `share` of the exploitability of uniform play is left; None where another
      test shows that this converges.
    share: see `iterations`.
    given: options that a file does not hold and `load` needs again.
  """

  kind: type[Solver]
  game: str
  options: dict[str, Any]
  iterations: int | None = None
  share: float = 0.05
  given: tuple[str, ...] = ()

  def solver(self) -> Any:
    """A new solver, of an own copy of the game."""
    return self.kind(pyspiel.load_game(self.game), **self.options)


BATCH = {"batch": 16, "seed": 3}
LOCKED = "river_subgame(pot=10,stack=20,bets=a,ranges=AA;QQ)"
DCFR = {"rule": "dcfr", "alternating": False, "averaging_delay": 2, "dtype": "float64"}
PUBLIC = {"trajectories": "public", **BATCH}
HALF = {"sampler": OutcomeSampling(ZeroBaseline(), 0.5), "rule": "rm+"}
CORRECTED = {"estimate": "corrected", "exploration": 0.4, "cells": 24}
CLUSTERS = {"clusters": np.array([2, 0, 1]), "buckets": "lossless", "batch": 8, "seed": 3}
ROWS = {
  "PS-CFR": Row(solvers.PSCFRSolver, KUHN, {}, 1000, 1e-3),
  "PS-CFR, other options": Row(solvers.PSCFRSolver, KUHN, DCFR, 1000, 0.02),
  "PS-CFR, better of two": Row(
    solvers.PSCFRSolver, KUHN, {"rule": "hs-pcfr+", "strategy": "best"}, 200, 0.01
  ),
  "PS-CFR in sets": Row(solvers.PSCFRSolver, KUHN, {"abstraction": "identity", "rule": "rm"}),
  "PS-CFR on a river": Row(solvers.PSCFRSolver, RIVER, {"averaging_delay": 7}, 1000, 0.01),
  "PS-CFR with locks": Row(solvers.PSCFRSolver, LOCKED, {"locks": {"check": {"check": 1}}}),
  "PS-CFR in 16 bits": Row(solvers.PSCFRSolver, TURN, {"bits": 16}),
  "PS-CFR without public states": Row(solvers.PSCFRSolver, DICE, {"public_states": "none"}, 300, 0.01),
  "PS-CFR in general sum": Row(solvers.PSCFRSolver, SHIPS, {}),
  "fictitious play": Row(solvers.FictitiousPlaySolver, KUHN, {}, 1000, 0.05),
  "FPIRA": Row(solvers.FPIRASolver, KUHN, {}, 200, 0.1),
  "CFR+IRA": Row(solvers.CFRPlusIRASolver, KUHN, {"seed": 3}, 400, 0.01),
  "CFR+IRA on a river": Row(solvers.CFRPlusIRASolver, RIVER, {"averaging_delay": 0, "dtype": "float64"}),
  "CFR+IRA by samples": Row(solvers.CFRPlusIRASolver, KUHN, {"seed": 3, "samples": 24}, 1000, 0.05),
  "external sampling": Row(solvers.ExternalSamplingSolver, KUHN, BATCH, 3000, 0.065),
  "external sampling on a river": Row(solvers.ExternalSamplingSolver, RIVER, {}),
  "outcome sampling": Row(solvers.OutcomeSamplingSolver, KUHN, BATCH, 3000, 0.065),
  "VR-MCCFR": Row(solvers.VRMCCFRSolver, KUHN, BATCH, 3000, 0.065),
  "VR-MCCFR+": Row(solvers.VRMCCFRSolver, KUHN, {"rule": "rm+", **BATCH}, 3000, 0.065),
  "VR-MCCFR on public moves": Row(solvers.VRMCCFRSolver, KUHN, PUBLIC, 3000, 0.065),
  "VR-MCCFR in sets": Row(solvers.VRMCCFRSolver, LEDUC, {"abstraction": "observation", "seed": 5}),
  "a sampler of one's own": Row(solvers.SamplingSolver, KUHN, HALF, given=("sampler",)),
  "played": Row(solvers.KeyedMCCFRSolver, KUHN, CORRECTED),
  "played in C++": Row(solvers.KeyedMCCFRSolver, CHEAT, {"batch": 64}, 400, 0.25),
  "traversed in C++": Row(solvers.KeyedExternalSolver, CHEAT, {"batch": 20}, 300, 0.002),
  "hierarchical": Row(solvers.HierarchicalMCCFRSolver, LEDUC, CLUSTERS),
}
NEEDS_THE_LIBRARY = ("played in C++", "traversed in C++")


def each_row(chosen: Callable[[Row], object] = lambda row: True):
  """Parametrises a test over the rows that are chosen; those of native code alone are skipped without it."""
  missing = pytest.mark.skipif(bool(why_unavailable()), reason="no native library")
  return pytest.mark.parametrize(
    "name",
    [
      pytest.param(name, marks=[missing] if name in NEEDS_THE_LIBRARY else [])
      for name, row in ROWS.items()
      if chosen(row)
    ],
  )


def every_class() -> set[type[Solver]]:
  """The package's classes of solvers: those with options of their own."""
  found: list[type[Solver]] = [Solver]
  for kind in found:
    found += [below for below in kind.__subclasses__() if below.__module__.startswith("ps_cfr_spiel")]
  return {kind for kind in found if "options_type" in vars(kind)}
