"""Measures of strength: exploitability, matches, runs side by side, comparison with OpenSpiel.

May import: solvers and lower layers. `exploitability` takes any policy; `match_play` is for bots and
policies, `table_play` seats a person; `sampling_runs` measures many runs at once, `points` has the schedule;
`comparison` sets this package's solvers beside OpenSpiel's.
"""

from ps_cfr_spiel.evaluation import comparison, match_play, table_play
from ps_cfr_spiel.evaluation.exploitability import SolvedGame, evaluate_policy, exploitability, solved
from ps_cfr_spiel.evaluation.judgement import (
  ITERATIONS,
  Judged,
  Judgement,
  Mistake,
  MoveValue,
  Referee,
  judge,
  read_game,
  read_games,
)
from ps_cfr_spiel.evaluation.local_best_response import (
  LocalBestResponse,
  LocalBestResponsePolicy,
  local_best_response,
)
from ps_cfr_spiel.evaluation.local_regrets import RARE, LocalRegrets, Losses, local_regrets
from ps_cfr_spiel.evaluation.match_play import (
  BOTS,
  HABITS,
  POKER,
  Habit,
  Player,
  bots_for,
  each_game,
  own_bots,
  search_response,
)
from ps_cfr_spiel.evaluation.match_results import MatchEstimate, MatchResult, Played, Score, evaluate_match
from ps_cfr_spiel.evaluation.points import (
  Point,
  is_round,
  next_measurement,
)
from ps_cfr_spiel.evaluation.sampling_runs import Runs, sampling_runs
