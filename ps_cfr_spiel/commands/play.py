"""The command `ps-cfr-spiel play`: a person plays a game in the terminal against bots or a saved policy."""

import math
import sys
from collections.abc import Callable, Sequence

import numpy as np
import pyspiel
from absl import flags

from ps_cfr_spiel.commands.command import Command, Flag
from ps_cfr_spiel.commands.flags import MOST_HISTORIES, SPOT
from ps_cfr_spiel.commands.user_input import (
  SPOT_FLAGS,
  UserError,
  load_game,
  load_opponent,
  user_errors,
)
from ps_cfr_spiel.compiler import build_tree
from ps_cfr_spiel.evaluation import BOTS, Played, evaluate_match, matches, table
from ps_cfr_spiel.histories import LIMIT
from ps_cfr_spiel.policy import TreePolicy
from ps_cfr_spiel.solvers import ContinualResolving

SEARCH = "search"
ONLY_IN_CHEAT = ("naive", "heuristic")
SOON = 20_000  # histories of a game that a search is ready to play within seconds
MOST_NUMBERS = 400_000  # of its strategies, likewise: a river has 60,000, a turn with all hands millions


# fmt: off
FLAGS = (
  Flag("opponent", None,
    "Player of the other seats: random, in cheat also naive or heuristic, search (continual re-solving), or "
    "a file of solve, resolve or train, such as runs/glasses/run.npz (default: heuristic in cheat, search in "
    "a game that it is ready for within seconds, else random)."),
  Flag("seat", 0, "Your player.", least=0),
  Flag("seed", None,
    "Seed of chance and of the bots; the same seed repeats a game.", kind=int, least=0, most=2**32 - 1),
  MOST_HISTORIES,
  *SPOT,
)
# fmt: on


def play_game(values: flags.FlagValues, words: Sequence[str]) -> int:
  """Runs the command from its parsed flags and the words besides them; returns the exit code."""
  if not words and not any(values[name].present for name in SPOT_FLAGS):
    raise UserError("play needs a game, such as river_subgame or kuhn_poker.")
  game = load_game(words, values)
  kind = game.get_type()
  if kind.dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
    raise UserError(
      f"{game} cannot be played here: its players move at the same time. Play turn_based_simultaneous_game"
      f"(game={game}) instead."
    )
  if not kind.provides_information_state_string:
    raise UserError(f"{game} cannot be played here: it has no strings for what players know.")
  if values.seat >= game.num_players():
    raise UserError(f"--seat={values.seat}: {game} has seats 0 to {game.num_players() - 1}.")
  rng = np.random.RandomState(values.seed)
  if values.opponent == "":
    raise UserError(f"--opponent is empty; name one of {', '.join([*BOTS, SEARCH])}, or a file.")
  name = values.opponent or default_opponent(game)
  opponent = make_opponent(game, name, rng, values.limit)
  policy = None if name in (*BOTS, SEARCH) else load_opponent(name, values.limit)
  print(f"Opponent: {name}; --opponent= chooses another.")
  state = table.play(game, values.seat, opponent, sys.stdin, sys.stdout, rng)
  if state.is_terminal() and isinstance(policy, TreePolicy):
    with user_errors():
      record = Played(1 - values.seat, tuple(state.history()))
      theirs = evaluate_match(game, [record], policy, limit=values.limit).mean
    print(f"Without the luck in it (AIVAT) your play won {-theirs:.4g}.")
  return 0


def default_opponent(game: pyspiel.Game) -> str:
  """The strongest opponent that is ready within seconds."""
  if game.get_type().short_name == "cheat":
    return "heuristic"
  try:
    tree = build_tree(game, limit=SOON)
  except ValueError:
    return "random"
  numbers = sum(math.prod(shape) for player in tree.players for shape in player.block_shapes)
  return SEARCH if numbers <= MOST_NUMBERS else "random"


def make_opponent(
  game: pyspiel.Game, name: str, rng: np.random.RandomState, limit: int = LIMIT
) -> Callable[[int], pyspiel.Bot]:
  """A function that makes a bot for a seat.

  Args:
    game: the game.
    name: of a bot in `BOTS`, `SEARCH`, or a file with a policy.
    rng: for the bots' choices.
    limit: most histories to walk, for a search or a file.

  Raises:
    UserError: the bot does not play this game, or the file is damaged or of another game.
    OSError: there is no such file.
  """
  if name in BOTS:
    if name in ONLY_IN_CHEAT and game.get_type().short_name != "cheat":
      raise UserError(f"The {name} bot plays cheat only, not {game}; choose random or a saved policy.")
    return lambda seat: BOTS[name](seat, rng)
  if name == SEARCH:
    with user_errors():
      resolving = ContinualResolving(game, limit=limit)
    return lambda seat: resolving.bot(seat, int(rng.randint(2**31)))
  policy = load_opponent(name, limit)
  if str(policy.game) != str(game):
    raise UserError(f"{name} holds a policy for {policy.game}, not for {game}.")
  return lambda seat: matches.PolicyBot(seat, rng, policy)


COMMAND = Command(
  name="play",
  arguments="GAME",
  summary="Play a game in the terminal",
  text="You play one seat, a bot, a search or a saved policy the other. You see what your player knows, "
  "and type an action's name or number, or its short form in what you see; '?' prints the rules, 'quit' ends "
  "the game.",
  examples=(
    "play glasses --seat=1",
    "play cheat --opponent=naive",
    "play leduc_poker --opponent=search",
    "play river_subgame --opponent=runs/river_subgame/run.npz",
  ),
  own=FLAGS,
  run=play_game,
)
