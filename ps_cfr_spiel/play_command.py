"""The command `ps-cfr-spiel play`: a person plays a game in the terminal against bots or a saved policy."""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TextIO

import numpy as np
import pyspiel
from absl import flags
from open_spiel.python.bots.policy import PolicyBot
from open_spiel.python.bots.uniform_random import UniformRandomBot

from ps_cfr_spiel.games.cheat_bots import HeuristicBot, NaiveBot  # pyright: ignore  (games/ is mapped)
from ps_cfr_spiel.resolve import ContinualResolving
from ps_cfr_spiel.user_input import UserError, load_game, load_saved_policy, user_errors

BOTS: Mapping[str, Callable[[int, np.random.RandomState], pyspiel.Bot]] = {
  "random": UniformRandomBot,
  "naive": NaiveBot,
  "heuristic": lambda player, _: HeuristicBot(player),
}
SEARCH = "search"
ONLY_IN_CHEAT = ("naive", "heuristic")
MAX_LISTED = 30  # actions shown unasked
HELP_WORDS, QUIT_WORDS = ("?", "help"), ("quit", "exit", "q")


class Lines(Protocol):
  """What a person types; a text file that is open for reading is one."""

  def readline(self) -> str:
    """Returns the next line, empty at the end."""
    ...


class QuitError(Exception):
  """The person wants no more."""


def define(values: flags.FlagValues) -> None:
  """Defines the command's flags, in the order in which `--help` lists them."""
  into: dict[str, Any] = {"flag_values": values}
  flags.DEFINE_string("opponent", None, _HELP["opponent"], **into)
  flags.DEFINE_integer("seat", 0, "Which player you are.", 0, **into)
  flags.DEFINE_integer("seed", None, "Seed of chance and of the bots, to play the same again.", **into)


_HELP = {
  "opponent": "Who plays the other seats: random, in cheat also naive or heuristic, search (continual "
  "re-solving), or a file that solve or resolve saved, such as runs/glasses/run.npz (default: heuristic in "
  "cheat, else random).",
}


def play_game(values: flags.FlagValues, words: Sequence[str]) -> int:
  """Runs the command from its parsed flags and the words besides them; returns the exit code."""
  game = load_game(words)
  kind = game.get_type()
  if kind.dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL or not kind.provides_information_state_string:
    raise UserError(
      f"{game} cannot be played here: it is not sequential, or has no information state strings."
    )
  if values.seat >= game.num_players():
    raise UserError(f"--seat={values.seat}: {game} has seats 0 to {game.num_players() - 1}.")
  rng = np.random.RandomState(values.seed)
  opponent = make_opponent(game, values.opponent, rng)
  play(game, values.seat, opponent, sys.stdin, sys.stdout, rng)
  return 0


def make_opponent(
  game: pyspiel.Game, name: str | None, rng: np.random.RandomState
) -> Callable[[int], pyspiel.Bot]:
  """Returns what makes a bot for a seat.

  Args:
    game: the game.
    name: of a bot in `BOTS`, `SEARCH`, or a file with a policy; by default a bot that fits the game.
    rng: for the bots' choices.

  Raises:
    UserError: the bot does not play this game, or the file is damaged or of another game.
    OSError: there is no such file.
  """
  is_cheat = game.get_type().short_name == "cheat"
  name = name or ("heuristic" if is_cheat else "random")
  if name in BOTS:
    if name in ONLY_IN_CHEAT and not is_cheat:
      raise UserError(f"The {name} bot plays cheat only, not {game}; choose random or a saved policy.")
    return lambda seat: BOTS[name](seat, rng)
  if name == SEARCH:
    with user_errors():
      resolving = ContinualResolving(game)
    return lambda seat: resolving.bot(seat, int(rng.randint(2**31)))
  policy = load_saved_policy(name)
  if str(policy.game) != str(game):
    raise UserError(f"{name} holds a policy for {policy.game}, not for {game}.")
  return lambda seat: PolicyBot(seat, rng, policy)


def play(
  game: pyspiel.Game,
  human: int,
  opponent: Callable[[int], pyspiel.Bot],
  input: Lines,
  output: TextIO,
  rng: np.random.RandomState | None = None,
) -> pyspiel.State:
  """Lets a person play a game once; they see what their seat sees and nothing else.

  Args:
    game: any sequential game with observation and information state strings.
    human: the person's seat.
    opponent: makes the bot for each of the other seats.
    input: the person's lines; its end means that they quit.
    output: where to write.
    rng: for chance.

  Returns:
    The last state, terminal unless the person quit.
  """
  rng = np.random.RandomState() if rng is None else rng
  bots = {seat: opponent(seat) for seat in range(game.num_players()) if seat != human}
  state = game.new_initial_state()
  print(f"{game.get_type().long_name}: you are player {human}.", file=output)
  shown = ""
  try:
    while not state.is_terminal():
      player = state.current_player()
      if state.is_chance_node():
        actions, chances = zip(*state.chance_outcomes(), strict=True)
        action = int(rng.choice(actions, p=np.asarray(chances) / sum(chances)))
      elif player == human:
        shown = _show(state, human, shown, output)
        action = ask(state, input, output)
      else:
        action = bots[player].step(state)
      for seat, bot in bots.items():
        if seat != player:
          bot.inform_action(state, player, action)
      state.apply_action(action)
  except (QuitError, KeyboardInterrupt):
    print("You quit.", file=output)
    return state
  _show(state, human, shown, output)
  print(_result_text(state.returns()[human]), file=output)
  return state


def _show(state: pyspiel.State, player: int, shown: str, output: TextIO) -> str:
  """Prints what the player sees, and what they have seen since `shown`; returns all they have seen."""
  seen = state.information_state_string(player)
  if shown and seen.startswith(shown):
    news = seen[len(shown) :].lstrip(" ;|")
    print(f"\nSince then: {news}" if news else "", file=output)
  else:
    print(f"\nSo far: {seen}", file=output)
  print(f"Now:    {state.observation_string(player)}", file=output)
  return seen


def _result_text(won: float) -> str:
  return "A draw." if won == 0 else f"You {'win' if won > 0 else 'lose'} {abs(won):g}."


# --- The person's move ---------------------------------------------------------------------------


def ask(state: pyspiel.State, input: Lines, output: TextIO) -> int:
  """Asks for one of the legal actions until it gets one; raises `QuitError` if the person quits."""
  names = {action: state.action_to_string(action) for action in state.legal_actions()}
  _list(names, output, MAX_LISTED)
  while True:
    print("Your move (name or number, ? for all, quit): ", end="", file=output, flush=True)
    line = input.readline()
    text = " ".join(line.split()).lower()
    if not line or text in QUIT_WORDS:
      if not line:
        print(file=output)
      raise QuitError
    if text in HELP_WORDS:
      _list(names, output, len(names))
      continue
    found = find_actions(names, text)
    if len(found) == 1:
      return found[0]
    if found:
      print(f"{text!r} may mean {_some(names[action] for action in found)}.", file=output)
    else:
      print(f"{text!r} is not a legal move; {_some(names.values())} are.", file=output)


def find_actions(names: Mapping[int, str], text: str) -> list[int]:
  """Returns the actions that a text may mean: by name, else by number, else by the name's beginning."""
  if not text:
    return []
  exact = [action for action, name in names.items() if name.lower() == text]
  if exact:
    return exact
  if text.isdecimal():
    return [action for action in names if action == int(text)]
  return [action for action, name in names.items() if name.lower().startswith(text)]


def _list(names: Mapping[int, str], output: TextIO, limit: int) -> None:
  """Prints actions with their numbers in columns."""
  cells = [f"{action:>5} {name}" for action, name in list(names.items())[:limit]]
  width = max(map(len, cells)) + 2
  columns = max(100 // width, 1)
  for start in range(0, len(cells), columns):
    row = "".join(f"{cell:{width}}" for cell in cells[start : start + columns])
    print(row.rstrip(), file=output)
  if len(names) > limit:
    print(f"      ... and {len(names) - limit} more", file=output)


def _some(names, limit: int = 4) -> str:
  """Returns some names for a message."""
  names = list(names)
  return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")
