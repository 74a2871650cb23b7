"""The rules of a game for a person at the table, and its map if it has one."""

import inspect
import sys
import textwrap

import pyspiel

from ps_cfr_spiel.games import ForPeople

WIDTH = 100
RULES = {  # of OpenSpiel's games, which carry no text
  "kuhn_poker": "Three cards, jack to king (0 to 2 in texts). Both players put one chip in and get a card. "
  "Pass or Bet one chip; a Bet may be called by Bet or given up by Pass. At the end the higher card wins "
  "the pot. You see your card, then p and b for every Pass and Bet.",
  "leduc_poker": "Six cards: jack to king, two of each; card numbers 2k and 2k+1 have the same rank. Both "
  "players put one chip in and get a card; raises are 2 chips in the first round and 4 in the second, at "
  "most two in a round. Between the rounds a public card is dealt. A pair with it wins, else the higher "
  "rank. Round1 and Round2 list the moves: 1 for Call, 2 for Raise.",
  "phantom_ttt": "Tic-tac-toe without sight of the other's marks. A player who chooses a taken square sees "
  "the mark there and chooses again. Three in a row, a column or a diagonal win; x(1,2) is row 1, "
  "column 2, both counted from 0.",
  "liars_dice": "Both players roll in secret and in turns make rising bids: 2-3 says that all dice together "
  "show at least two threes; the highest face is wild. Liar ends the game, and the wrong player loses.",
  "goofspiel": "Prize cards come up one by one. Each player bids a card of their own hand for it; the higher "
  "bid wins the prize, equal bids win nothing. The higher sum of prizes wins.",
}


def rules_of(game: pyspiel.Game) -> str:
  """The rules of a game; a Python game has them in its module's docstring."""
  name = game.get_type().short_name
  inner = str(game).partition("game=")[2].partition("(")[0]  # within turn_based_simultaneous_game
  if name in RULES or inner in RULES:
    return textwrap.fill(RULES.get(name) or RULES[inner], WIDTH)
  text = inspect.getdoc(sys.modules.get(type(game).__module__)) if is_observed(game) else None
  if text:
    return text.partition("\nParameters")[0].rstrip() + map_of(game)
  return (
    f"{game.get_type().long_name}: OpenSpiel has no text of its rules. {game.num_players()} players, "
    f"between {game.min_utility():g} and {game.max_utility():g} to win, "
    f"at most {game.max_game_length()} moves."
  )


def is_observed(game: pyspiel.Game) -> bool:
  """Whether a game is written in Python and has observers, which OpenSpiel looks up by this name."""
  return hasattr(game, "make_py_observer")


def map_of(game: pyspiel.Game) -> str:
  """For a game with a map, a line for each node with its neighbours, the goal and the start; else ""."""
  state = game.new_initial_state()
  if not isinstance(game, ForPeople) or (place := game.map()) is None:
    return ""
  start = game.position(state)
  others = "/".join(map(str, start.others))
  goal = "" if place.goal is None else f"the goal is {place.goal}, "
  heading = (
    f"The map, each node with its neighbours; {goal}the {place.sought} starts on {start.sought}, the "
    f"{place.others} on {others}:"
  )
  lines = [f"  {node}: {' '.join(map(str, near))}" for node, near in enumerate(place.ways)]
  return "\n" + "\n".join([heading, *lines])
