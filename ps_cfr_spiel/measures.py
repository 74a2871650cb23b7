"""Measures of solvers and strategies: evaluations, curves of runs, solvers side by side with OpenSpiel's."""

from ps_cfr_spiel.evaluation import (
  RARE,
  LocalRegrets,
  Losses,
  Point,
  Runs,
  SolvedGame,
  is_round,
  local_regrets,
  next_measurement,
  sampling_runs,
  solved,
)
from ps_cfr_spiel.evaluation.comparison import (
  OURS,
  THEIRS,
  Run,
  compare,
  curve,
  resolving_curve,
  runs_rows,
  runs_table,
)
from ps_cfr_spiel.solvers import ExactSolver
from ps_cfr_spiel.tree import Evaluation

__all__ = [
  "OURS",
  "RARE",
  "THEIRS",
  "Evaluation",
  "ExactSolver",
  "LocalRegrets",
  "Losses",
  "Point",
  "Run",
  "Runs",
  "SolvedGame",
  "compare",
  "curve",
  "is_round",
  "local_regrets",
  "next_measurement",
  "resolving_curve",
  "runs_rows",
  "runs_table",
  "sampling_runs",
  "solved",
]
