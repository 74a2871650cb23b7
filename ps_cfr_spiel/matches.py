"""Matches of bots and policies, bots that search, evaluation with less luck, local best response, people."""

from ps_cfr_spiel.evaluation import (
  LocalBestResponse,
  LocalBestResponsePolicy,
  MatchResult,
  Played,
  Score,
  evaluate_match,
  local_best_response,
)
from ps_cfr_spiel.evaluation.match_play import (
  BOTS,
  HABITS,
  POKER,
  Habit,
  Player,
  bots_for,
  each_game,
  match,
  own_bots,
  play,
  play_games,
  player,
  search_player,
  search_response,
)
from ps_cfr_spiel.evaluation.table_play import Sitting, Thought, rules_of
from ps_cfr_spiel.solvers import ParticleBot, PolicyBot

__all__ = [
  "BOTS",
  "HABITS",
  "POKER",
  "Habit",
  "LocalBestResponse",
  "LocalBestResponsePolicy",
  "MatchResult",
  "ParticleBot",
  "Played",
  "Player",
  "PolicyBot",
  "Score",
  "Sitting",
  "Thought",
  "bots_for",
  "each_game",
  "evaluate_match",
  "local_best_response",
  "match",
  "own_bots",
  "play",
  "play_games",
  "player",
  "rules_of",
  "search_player",
  "search_response",
]
