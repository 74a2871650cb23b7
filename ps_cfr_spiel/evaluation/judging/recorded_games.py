"""Games that others recorded, as JSON values: from a file, or one by one."""

import json
import os

import numpy as np
import pyspiel

from ps_cfr_spiel.arguments import JSON
from ps_cfr_spiel.cards.notation import play_moves
from ps_cfr_spiel.evaluation.match_results import Played, replay
from ps_cfr_spiel.loading import load_game, sequential


def read_games(path: str | os.PathLike, game: pyspiel.Game) -> list[Played]:
  """The games of a file of JSON values, one after the other, a line each or more, or in lists of games.

  Each is as for `read_game`, with its errors, which name the line; OSError if the file cannot be read.
  """
  game = sequential(game)
  with open(path, encoding="utf-8") as file:
    text = file.read()
  records, at, decoder = [], 0, json.JSONDecoder()
  while at < len(text):
    if text[at].isspace():
      at += 1
      continue
    place = line = f"{os.fspath(path)}, line {text.count(chr(10), 0, at) + 1}"
    try:
      value, at = decoder.raw_decode(text, at)
      several = isinstance(value, list) and any(isinstance(item, list | dict) for item in value)
      for number, item in enumerate(value if several else [value], 1):
        place = f"{line}, game {number}" if several else line
        records.append(read_game(game, item))
    except (ValueError, pyspiel.SpielError) as error:
      raise ValueError(f"{place}: {' '.join(str(error).split())}") from error
  return records


def read_game(game: pyspiel.Game, value: JSON) -> Played:
  """The recorded game that a JSON value describes.

  It is a list of OpenSpiel's actions from the start, chance's too, as of `State.history()`; a list or a text
  of all moves by name or number, such as "Deal:0, Deal:2, Bet, Pass"; an object with one of these as
  `actions`, and the names of the players by seat as `players`; or a trajectory of OpenSpiel
  (`Trajectory.to_string`), which may have `players` too. Without names the agents are called "player 0" and
  so on.

  ValueError for anything else, another game, an illegal move or a game that is not over.
  """
  players = tuple(f"player {seat}" for seat in range(game.num_players()))
  returns = None
  if isinstance(value, dict) and "transitions" in value:
    try:
      name, returns = (value.get("header", {}).get(key) for key in ("game_string", "returns"))
      actions = [step["action"] for step in value["transitions"]]
    except (AttributeError, KeyError, TypeError) as error:
      raise ValueError(f"its header or its transitions are not those of OpenSpiel: {error!r}.") from error
    if name is not None and str(sequential(load_game(name))) != str(game):
      raise ValueError(f"the trajectory is of {name}; games of {game} are judged.")
  else:
    actions = value.get("actions") if isinstance(value, dict) else value
  if isinstance(value, dict) and "players" in value:
    players = value["players"]
    if not isinstance(players, list) or len(players) != game.num_players():
      raise ValueError(f"players must be a list of {game.num_players()} names, got {players!r}.")
  if isinstance(actions, list) and actions and all(isinstance(action, str) for action in actions):
    actions = ", ".join(actions)
  if isinstance(actions, str):
    actions = play_moves(game, actions)[0].history()
  if not isinstance(actions, list):
    raise ValueError(
      "expected a list of OpenSpiel's actions, a text of moves, an object with actions, or a trajectory of "
      f"OpenSpiel; got {json.dumps(value)[:60]}."
    )
  try:
    end = replay(game, actions)
  except ValueError as error:
    raise ValueError(f"{error}; a game has all actions from the start to the end, chance's too.") from error
  if returns is not None and not np.allclose(returns, end.returns()):
    raise ValueError(f"the trajectory's returns are {returns}, those of its actions {end.returns()}.")
  return Played(0, tuple(actions), None, tuple(map(str, players)))
