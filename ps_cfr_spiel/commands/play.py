"""The command `ps-cfr-spiel play`: a person plays a game in the terminal against bots or a saved policy."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
from absl import flags

import ps_cfr_spiel as ps
from ps_cfr_spiel import storage
from ps_cfr_spiel.commands.command import Command, Flag
from ps_cfr_spiel.commands.flags import MOST_HISTORIES, SPOT
from ps_cfr_spiel.commands.user_input import SPOT_FLAGS, default_folders, load_game, load_opponent

SEARCH = "search"
TRANSLATED = {("holdem", "holdem"), ("universal_poker", "holdem")}  # games of a policy and of its play
ONLY_IN_CHEAT = ("naive", "heuristic")
TEMPERATURE = 0.03  # of the search of an agent of train
AGENT = "agent:"  # in front of the file of a blueprint
SOON = 20_000  # histories of a game that a search is ready to play within seconds
MOST_NUMBERS = 400_000  # of its strategies, likewise: a river has 60,000, a turn with all hands millions


# fmt: off
FLAGS = (
  Flag("opponent", None,
    "Player of the other seats: random, in cheat also naive or heuristic, in poker also always_call, fold or "
    "all_in, search (continual re-solving; in a game too large or without public states a search by "
    "knowledge), a file of solve, resolve or train, such as runs/glasses/run.npz, or agent:FILE, which in "
    "holdem searches from the turn on, with a blueprint from a file (default: search in a game that it is "
    "ready for within seconds, else the run that train has saved, else heuristic in cheat, else random).",
    value="NAME|FILE"),
  Flag("move_seconds", 1.0,
    "Time of a decision in which an agent of train searches on top of its strategy, whose probabilities it "
    "changes by the values that it finds; 0: no search.", least=0),
  Flag("seat", 0, "Your player.", least=0),
  Flag("seed", None,
    "Seed of chance and of the bots; the same seed repeats a game.", kind=int, least=0, most=2**32 - 1),
  MOST_HISTORIES,
  *SPOT,
)
# fmt: on


def _run(values: flags.FlagValues, words: Sequence[str]) -> int | None:
  if not words and not any(values[name].present for name in SPOT_FLAGS):
    raise ValueError("play needs a game, such as river_subgame or kuhn_poker.")
  game = ps.histories.sequential(load_game(words, values))
  kind = game.get_type()
  if not kind.provides_information_state_string:
    raise ValueError(f"{game} cannot be played here: it has no information state strings.")
  if values.seat >= game.num_players():
    raise ValueError(f"--seat={values.seat}: {game} has seats 0 to {game.num_players() - 1}.")
  rng = np.random.RandomState(values.seed)
  if values.opponent == "":
    raise ValueError(
      f"--opponent is empty; name one of {', '.join([*ps.evaluation.BOTS, SEARCH])}, or a file."
    )
  name = values.opponent or default_opponent(game)
  opponent = make_opponent(game, name, rng, values.limit, values.move_seconds)
  by_name = name in (*ps.evaluation.BOTS, SEARCH) or name.startswith(AGENT)
  policy = None if by_name else load_opponent(name, values.limit)
  searches = isinstance(policy, ps.solvers.SimulatedPolicy) and values.move_seconds > 0
  how = f", which searches for {values.move_seconds:g} s a decision" if searches else ""
  many = game.get_type().short_name == "cheat" and game.num_players() > 2
  few = "; agents of train play cheat for two alone" if many else ""
  print(f"Opponent: {name}{how}; --opponent= chooses another{few}.")
  state = ps.evaluation.table.play(game, values.seat, opponent, sys.stdin.readline, sys.stdout, rng)
  if state.is_terminal() and isinstance(policy, ps.TreePolicy) and kind.utility == kind.utility.ZERO_SUM:
    record = ps.evaluation.Played(1 - values.seat, tuple(state.history()))
    theirs = ps.evaluation.evaluate_match(game, [record], policy, limit=values.limit).mean
    print(f"Without the luck in it (AIVAT) your play won {-theirs:.4g}.")


def default_opponent(game: pyspiel.Game) -> str:
  """The strongest opponent that is ready within seconds."""
  if game.get_type().short_name == "cheat":
    return _trained(game) or "heuristic"
  try:
    tree = ps.build_tree(game, limit=SOON)
    ps.tree.check_zero_sum(tree, "searches")
  except ValueError:
    return _trained(game) or "random"
  numbers = sum(math.prod(shape) for player in tree.players for shape in player.block_shapes)
  return SEARCH if numbers <= MOST_NUMBERS else "random"


def _trained(game: pyspiel.Game) -> str | None:
  """The run of the game that the command train has saved in the first of its folders."""
  path = next(default_folders(game)) / "run.npz"
  try:
    header = storage.read(path).header
  except (OSError, ValueError):
    return None
  ours = header["game"] == str(game) and str(header.get("solver", "")).startswith("Simulated")
  return str(path) if ours else None


def make_opponent(
  game: pyspiel.Game,
  name: str,
  rng: np.random.RandomState,
  limit: int = MOST_HISTORIES.default,
  seconds: float = 0,
) -> Callable[[int], pyspiel.Bot]:
  """A function that makes a bot for a seat, by its name in `BOTS`, `SEARCH`, or the file of its policy.

  A search or a file may walk at most `limit` histories; an agent of train searches for `seconds` a decision.
  ValueError for a bot or policy of another game.
  """
  if name in ps.evaluation.BOTS:
    games = ps.evaluation.GAMES_OF_BOTS.get(name)
    if games and game.get_type().short_name not in games:
      raise ValueError(
        f"The {name} bot plays {', '.join(games)} only, not {game}; choose random or a saved policy."
      )
    return lambda seat: ps.evaluation.BOTS[name](seat, rng)
  if name == SEARCH:
    try:
      resolving = ps.ContinualResolving(game, limit=limit)
    except (ps.histories.TooLarge, ps.histories.NoPublicStatesError):
      return lambda seat: ps.solvers.KnowledgeBot(game, seat, seed=int(rng.randint(2**31)))
    return lambda seat: resolving.bot(seat, int(rng.randint(2**31)))
  if name.startswith(AGENT):
    return agent_on(game, name.removeprefix(AGENT), int(rng.randint(2**31)), limit)
  policy = policy_for(game, name, limit)
  if seconds > 0 and isinstance(policy, ps.solvers.SimulatedPolicy):
    options: dict[str, Any] = {"seconds": seconds, "temperature": TEMPERATURE}
    return lambda seat: ps.solvers.RolloutBot(game, policy, seat, seed=int(rng.randint(2**31)), **options)
  return lambda seat: ps.evaluation.matches.PolicyBot(seat, rng, policy)


def saved_player(word: str, limit: int) -> Any:
  """The policy in a file; ValueError with the names of players for a word that is no path."""
  if Path(word).name == word and not Path(word).suffix and not Path(word).exists():
    raise ValueError(
      f"{word} is no file and no player; players are {', '.join([*ps.evaluation.BOTS, SEARCH])}."
    )
  return load_opponent(word, limit)


def agent_on(game: pyspiel.Game, path: str, seed: int, limit: int) -> Callable[[int], pyspiel.Bot]:
  """A maker of agents that play hold'em from the blueprint in a file."""
  blueprint = saved_player(path, limit)
  return lambda seat: ps.HoldemAgent(game, blueprint, seat, seed=seed)


def policy_for(game: pyspiel.Game, path: str, limit: int) -> Any:
  """The policy in a file, by translation if for other bets of hold'em; ValueError if of another game."""
  policy = saved_player(path, limit)
  if str(policy.game) == str(game):
    return policy
  if (policy.game.get_type().short_name, game.get_type().short_name) not in TRANSLATED:
    raise ValueError(f"{path} holds a policy for {policy.game}, not for {game}.")
  return ps.policy.TranslatedPolicy(game, policy)


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
  run=_run,
)
