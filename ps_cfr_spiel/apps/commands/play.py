"""The command `ps-cfr-spiel play`: a person plays a game against bots or a saved policy."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import math
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyspiel
from absl import flags

import ps_cfr_spiel as ps
from ps_cfr_spiel import storage
from ps_cfr_spiel.apps.commands.framework.command import Command, Flag, flag_of
from ps_cfr_spiel.apps.commands.framework.flags import EXPANSIONS, MOST_HISTORIES, SPOT
from ps_cfr_spiel.apps.commands.framework.players import (
  HOLDEM,
  MOVE_SECONDS,
  PLAYERS,
  PRESET,
  check_preset,
  make_opponent,
  saved_player,
  searches,
)
from ps_cfr_spiel.apps.commands.framework.server import PORT, parsed, serve
from ps_cfr_spiel.apps.commands.framework.user_input import (
  AGENT,
  SEARCH,
  check_expansions,
  default_folders,
  in_words,
  load_game_or_opponents,
  names_agent,
  names_search,
  refuse,
)
from ps_cfr_spiel.arguments import JSON
from ps_cfr_spiel.cards.notation import legal_moves, read_move
from ps_cfr_spiel.loading import sequential
from ps_cfr_spiel.options import AGENTS, MatchOptions

if TYPE_CHECKING:
  pass

FAILED = 1  # exit code where a player fails
SOON = 20_000  # histories of a game that a search is ready to play within seconds
MOST_NUMBERS = 400_000  # of its strategies, likewise: a river has 60,000, a turn with all hands millions

# fmt: off
FLAGS = (
  Flag("opponent", None,
    "Player of the other seats: random, a bot of the game (in cheat naive or heuristic), in poker "
    "always_call, fold or all_in, search (continual re-solving; in a game too large or without public states "
    "a search by knowledge), search:FILE, which looks one decision ahead with values by learn, a file of "
    "solve, resolve or train, such as runs/glasses/run.safetensors, or agent, which in holdem searches from "
    "the flop on, with a blueprint and values of turns that come with the package, and in cheat searches "
    "with a trained policy of the package (pretrained: without searches); "
    "or agent:FILE, which in holdem searches from the turn on, with a blueprint from a file, or with "
    "agent:FILE,pretrained from the flop on, or with agent:FILE,FLOPS,pretrained, with values of flops by "
    "learn, from the first move on (default: search in a game that it is ready for within seconds, "
    "else the run that train has saved, else agent where there is one, else the game's last bot, else "
    "random).",
    value="NAME|FILE"),
  MOVE_SECONDS,
  EXPANSIONS,
  PRESET,
  Flag("seat", 0,
    "Your player; in the browser, without this flag, players change seats after each game.", least=0),
  Flag("browser", False, "Play in the browser, game after game, from this machine. Ctrl-C ends it."),
  PORT,
  dataclasses.replace(flag_of(MatchOptions, "seed"), default=None),
  MOST_HISTORIES,
  *SPOT,
)
# fmt: on


def _run(values: flags.FlagValues, words: Sequence[str]) -> int | None:
  game = sequential(load_game_or_opponents(words, values))
  kind = game.get_type()
  if not kind.provides_information_state_string:
    raise ValueError(f"{game} cannot be played here: it has no information state strings.")
  if values.seat >= game.num_players():
    raise ValueError(f"--seat={values.seat}: {game} has seats 0 to {game.num_players() - 1}.")
  if not values.browser:
    refuse(values, ("port",), "belongs to --browser")
  rng = np.random.RandomState(values.seed)
  if values.opponent == "":
    raise ValueError(f"--opponent is empty; name {PLAYERS}, or a file of solve, resolve or train.")
  name = values.opponent or default_opponent(game)
  check_preset(values, game, [name])
  # The searches of other presets end by their iterations, unless a time is given, which they refuse.
  timed = values.preset == AGENTS[0] or values["move_seconds"].present
  seconds = values.move_seconds if timed else 0
  check_expansions(values, [name])
  opponent = make_opponent(game, name, rng, values.limit, seconds, values.preset, values.expansions)
  poker = names_agent(name) and game.get_type().short_name == HOLDEM
  by_name = name in ps.matches.bots_for(game) or names_search(name) or poker
  policy = None if by_name else saved_player(name, values.limit, game)
  how = f", which searches for {seconds:g} s a decision" if searches(policy, name, seconds) else ""
  how = f", of a blueprint and searches{f' of at most {seconds:g} s' if seconds else ''}" if poker else how
  many = ps.matches.own_bots(game) and game.num_players() > 2
  few = "; agents of train are for two players" if many else ""
  print(f"Opponent: {name}{how}; --opponent= chooses another{few}.")
  worth = functools.partial(_without_luck, policy, values.limit)
  if values.browser:
    seats = [values.seat] if values["seat"].present else range(game.num_players())
    return serve(Table(game, seats, opponent, rng, name, worth).answer, values.port)
  try:
    state = ps.matches.play(game, opponent, seat=values.seat, seed=int(rng.randint(2**31)))
  except (ValueError, OSError):
    raise  # which the program prints in one line
  except Exception as error:  # of the opponent, which may raise anything
    print(f"\n{name} failed, so the game ends here: {in_words(error)}", file=sys.stderr)
    return FAILED
  if said := worth(state, values.seat):
    print(said)


def _without_luck(policy: object, limit: int, state: pyspiel.State, seat: int) -> str | None:
  """The worth of a person's play against a known policy, in words."""
  game, zero = state.get_game(), pyspiel.GameType.Utility.ZERO_SUM
  if not state.is_terminal() or not isinstance(policy, ps.TreePolicy) or game.get_type().utility != zero:
    return None
  if game.num_players() != 2 or str(policy.game) != str(game):  # it is for two, without translation
    return None
  record = ps.matches.Played(1 - seat, tuple(state.history()))
  theirs = ps.matches.evaluate_match(game, [record], policy, limit=limit).mean
  return f"Luck-adjusted (AIVAT): {ps.views.without_rounding(-theirs, game):.4g}"


class Table:
  """Games of one person, one after the other, as a server answers a browser about them.

  A request names the game and the number of its moves that it knows, so that of two windows neither moves in
  a game that the other has changed.
  """

  def __init__(
    self,
    game: pyspiel.Game,
    seats: Sequence[int],
    opponent: Callable[[int], pyspiel.Bot],
    rng: np.random.RandomState,
    name: str,
    worth: Callable[[pyspiel.State, int], str | None],
  ):
    """A table before its first game; `seats` are the person's in turn, `worth` has words on a game's end."""
    self._game, self._seats, self._rng, self._worth = game, seats, rng, worth
    self._opponent = functools.cache(opponent)
    self._sitting: ps.matches.Sitting | None = None
    self._number, self._won, self._counted = 0, 0.0, True
    about = {"game": game.get_type().long_name, "rules": ps.matches.rules_of(game)}
    self._shown: dict[str, JSON] = about | {"opponent": name, "moves": 0, "over": True}

  def answer(self, path: str, sent: bytes | None) -> tuple[int, str, str] | None:
    """See `commands.server.serve`."""
    if path not in ("/", "/deal", "/move") or (sent is None) != (path == "/"):
      return None
    status, error = 200, None
    try:
      if sent is not None:
        self._do(path, parsed(sent))
      self._go_on()
    except (ValueError, TypeError) as mistake:
      status, error = 400, str(mistake)
    except Exception as failure:  # of a bot: the person reads it in the page
      traceback.print_exc()
      status, error = 500, f"{type(failure).__name__}: {failure}"
    data = self._shown | {"number": self._number, "won": self._won, "error": error}
    if sent is None:
      return status, "text/html", ps.views.table_page(data)
    return status, "application/json", json.dumps(data)

  def _do(self, path: str, asked: dict[str, JSON]) -> None:
    current = {"number": self._number, "moves": self._shown["moves"]}
    if asked | current != asked:
      raise ValueError("The game has continued in another window; this is its present state.")
    if path == "/move":
      self._move(asked)
    elif not self._counted:
      raise ValueError("The game is not over; play it to its end first.")
    else:
      seat = self._seats[self._number % len(self._seats)]
      self._sitting = ps.matches.Sitting(self._game, seat, self._opponent, self._rng)
      self._number, self._counted = self._number + 1, False

  def _move(self, asked: dict[str, JSON]) -> None:
    """Make the person's move, an action or a text as in the terminal."""
    if self._sitting is None or self._counted:
      raise ValueError("No game is running; deal one.")
    state, action = self._sitting.state, asked.get("action")
    if state.current_player() != self._sitting.human:
      raise ValueError("It is the opponent's turn; reload the page to ask it again.")
    legal = state.legal_actions()
    if action is None:
      moves = legal_moves(state)
      action = moves.ids[read_move(str(asked.get("text", "")), moves)]
    if action not in legal:
      raise ValueError(f"{action} is not a legal action; these are from {legal[0]} to {legal[-1]}.")
    self._sitting.move(int(action))

  def _go_on(self) -> None:
    """Play on to the person's turn, or to the end, which counts."""
    if self._sitting is None or self._counted:
      return
    state, seat = self._sitting.state, self._sitting.human
    try:
      turn = self._sitting.advance()
    finally:  # also where a bot fails, so that no window plays on from before
      self._shown |= ps.views.table_data(self._sitting)
    if not turn:
      self._counted, self._won = True, self._won + state.returns()[seat]
      self._shown["result"] = " ".join(filter(None, [self._shown["result"], self._worth(state, seat)]))


def default_opponent(game: pyspiel.Game) -> str:
  """The strongest opponent that is ready within seconds."""
  if bots := ps.matches.own_bots(game):
    return _trained(game) or _packaged(game) or [*bots][-1]
  try:
    tree = ps.build_tree(game, limit=SOON)
  except ValueError:
    return _trained(game) or _packaged(game) or "random"
  if len(tree.players) > 2 or not tree.leaves.zero_sum:  # searches are for others
    return _trained(game) or "random"
  numbers = sum(math.prod(shape) for player in tree.players for shape in player.block_shapes)
  return SEARCH if numbers <= MOST_NUMBERS else "random"


def _trained(game: pyspiel.Game) -> str | None:
  """The run of the game that the command train has saved in the first of its folders."""
  path = next(default_folders(game)) / "run.safetensors"
  try:
    header = storage.read(path).header
  except (OSError, ValueError):
    return None
  ours = header["game"] == str(game) and str(header.get("solver", "")).startswith("Keyed")
  return str(path) if ours else None


def _packaged(game: pyspiel.Game) -> str | None:
  """The agent that comes with the package; None if it does not play the game, whose reason is printed."""
  try:
    make_opponent(game, AGENT, np.random.RandomState(0))
  except ValueError as error:
    with contextlib.suppress(ValueError):  # of a game that has none with any parameters
      ps.matches.pretrained_policy(game.get_type().short_name)
      print(f"No agent: {error}")
    return None
  return AGENT


COMMAND = Command(
  name="play",
  arguments="[GAME]",
  summary="Play a game in the terminal or in the browser",
  text="You play one seat, a bot, a search or a saved policy the other, or all others; without GAME, that of "
  "the saved policy. You see what your player knows, and type a move: its name, its number, or a short form "
  "such as x, b 75% or pot; '?' prints the rules, 'quit' ends the game. With --browser you click on a page, "
  "which in hold'em shows cards and chips.",
  examples=(
    "play glasses --seat=1",
    "play cheat --opponent=naive",
    "play leduc_poker --opponent=search",
    "play --opponent=runs/river_subgame/run.safetensors",
    "play kuhn_poker --browser",
  ),
  options=FLAGS,
  run=_run,
)
