"""Matches of bots and policies, their evaluation with less luck, local best response, play with people."""

from ps_cfr_spiel.evaluation import (
  LocalBestResponse,
  LocalBestResponseBot,
  MatchResult,
  Played,
  Score,
  evaluate_match,
  local_best_response,
)
from ps_cfr_spiel.evaluation.matches import BOTS, Habit, Player, PolicyBot, match, play, play_games, player

__all__ = [
  "BOTS",
  "Habit",
  "LocalBestResponse",
  "LocalBestResponseBot",
  "MatchResult",
  "Played",
  "Player",
  "PolicyBot",
  "Score",
  "evaluate_match",
  "local_best_response",
  "match",
  "play",
  "play_games",
  "player",
]
