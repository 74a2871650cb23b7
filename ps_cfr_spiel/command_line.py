"""The program `ps-cfr-spiel`: solves a game, shows and evaluates what was saved.

Every command has its own absl flags and knows no others, so that a misspelt one is an error and
`--help` lists only what matters. A mistake of the user is answered in one line, with exit code 2.
"""

import dataclasses
import os
import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from absl import app, flags

from ps_cfr_spiel import check_command, play_command, resolve_command, show_command, solve_command, tree_flags
from ps_cfr_spiel.build import build_tree
from ps_cfr_spiel.certificate import certificate
from ps_cfr_spiel.evaluate import evaluate_policy
from ps_cfr_spiel.spots import unit_of, with_unit
from ps_cfr_spiel.user_input import (
  UserError,
  load_game,
  load_module,
  load_pictures,
  load_saved_policy,
  user_errors,
)
from ps_cfr_spiel.version import __version__

PROGRAM = "ps-cfr-spiel"
USER_ERROR, INTERRUPTED = 2, 130  # exit codes


@dataclasses.dataclass(frozen=True)
class Command:
  """What may follow the program's name.

  Attributes:
    name: the word to type.
    arguments: what it takes besides flags.
    summary: what it does, in a few words.
    text: what else to know.
    examples: what to type after the program's name.
    define: defines its flags.
    run: from the parsed flags and the other words to an exit code.
  """

  name: str
  arguments: str
  summary: str
  text: str
  examples: tuple[str, ...]
  define: Callable[[flags.FlagValues], None]
  run: Callable[[flags.FlagValues, Sequence[str]], int]

  def flags(self) -> flags.FlagValues:
    """A fresh set of its flags, at their defaults; every command can import the user's games."""
    values = flags.FlagValues()
    self.define(values)
    flags.DEFINE_string("module", None, _MODULE_HELP, flag_values=values)
    return values


_MODULE_HELP = (
  "Import this Python module first, which registers a game of your own: a file such as my_game.py, or a "
  "module's name, which is looked for in the current folder too."
)


# --- evaluate, summary --------------------------------------------------------------------------


def _evaluate(_: flags.FlagValues, words: Sequence[str]) -> int:
  if not words:
    raise UserError("evaluate needs a file, such as runs/river_subgame/run.npz.")
  for number, path in enumerate(words):
    policy = load_saved_policy(path)
    with user_errors():
      value, best, exploitability = evaluate_policy(policy.game, policy)
    lines = {
      "file": path,
      "game": policy.labels.game,
      "strategy": show_command.origin(policy),
      "value to player 0": f"{value:.6g} {unit_of(policy.game)}",
      "best responses": f"{best[0]:.6g} for player 0, {best[1]:.6g} for player 1",
      "exploitability": f"{with_unit(float(exploitability), policy.game)} (the best responses' mean)",
    }
    print("\n" * bool(number) + "\n".join(f"{name + ':':21}{text}" for name, text in lines.items()))
  return 0


def _define_summary(values: flags.FlagValues) -> None:
  into: dict[str, Any] = {"flag_values": values}
  flags.DEFINE_bool("tree", False, "Print the public tree, too.", **into)
  flags.DEFINE_bool("infostates", False, "In the tree, list what each player may know.", **into)
  flags.DEFINE_integer("depth", None, "Leave out what lies deeper in the tree.", lower_bound=0, **into)
  flags.DEFINE_string("png", None, "Draw the public tree to this file.", **into)
  tree_flags.define_tree(values)


def _summary(values: flags.FlagValues, words: Sequence[str]) -> int:
  game = load_game(words)
  with user_errors():
    pictures = load_pictures() if values.png else None
    tree = build_tree(game, values.leaves, values.public_states, values.limit, progress=True)
    print(tree.summary())
    if values.tree:
      print("\n" + certificate(game, tree, values.depth, infostates=values.infostates))
    if pictures:
      pictures.public_tree(game, tree, values.depth).savefig(values.png)
      print(f"{'saved:':21}{values.png}")
  return 0


# --- The program --------------------------------------------------------------------------------


COMMANDS = (
  Command(
    name="solve",
    arguments="[GAME]",
    summary="Solve a game and save the result",
    text="GAME is written as for OpenSpiel's load_game, in quotes if it has parameters. Without it: "
    "river_subgame, the last betting round of a hand of no-limit Texas hold'em. Shows how exploitability "
    "falls, and saves the run (run.npz), exploitability.csv, exploitability.png and, in poker, strategy.png. "
    "Ctrl-C ends the run early and keeps what it reached.",
    examples=(
      "solve",
      "solve 'river_subgame(board=KhKd8c4s2h,pot=100,stack=500,bets=0.5 1 a,ranges=AA KQs 76s;TT+ AQ)'",
      "solve --target=0.01% --output=exact",
      "solve --resume=exact/run.npz --iterations=1000",
    ),
    define=solve_command.define,
    run=solve_command.solve,
  ),
  Command(
    name="show",
    arguments="FILE",
    summary="Look at a saved strategy",
    text="FILE is the run.npz of a solved game, or a policy saved from Python. Of a poker game, shows the "
    "hands of the player who acts as a chart, and --at walks down the betting; of glasses, where the chaser "
    "thinks the evader is after the moves of --at; of other games, a table.",
    examples=(
      "show runs/river_subgame/run.npz",
      "show runs/river_subgame/run.npz --at='check, bet 200'",
      "show runs/river_subgame/run.npz --at='x b200' --action=fold --png=folds.png",
      "show runs/river_subgame/run.npz --hand=AKs",
      "show runs/glasses/run.npz --at='1/9, 4, 1/7' --png=beliefs.png",
    ),
    define=show_command.define,
    run=show_command.show,
  ),
  Command(
    name="evaluate",
    arguments="FILE...",
    summary="Measure how good saved strategies are",
    text="Prints the value of the game under each, what a best response of either player would win, and the "
    "exploitability, computed exactly, in float64.",
    examples=("evaluate runs/river_subgame/run.npz",),
    define=lambda _: None,
    run=_evaluate,
  ),
  Command(
    name="resolve",
    arguments="[GAME]",
    summary="Search by continual re-solving",
    text="Solves every subgame anew as play comes to it, for all public states at once, and prints how "
    "exploitable this search is. GAME is written as for solve.",
    examples=(
      "resolve leduc_poker",
      "resolve leduc_poker --lookahead=1 --value_iterations=40",
      "resolve 'river_subgame(bets=0.5 1 2 a)' --actions=0,1,3,5",
    ),
    define=resolve_command.define,
    run=resolve_command.resolve,
  ),
  Command(
    name="play",
    arguments="GAME",
    summary="Play a game in the terminal",
    text="You play one seat, a bot, a search or a saved policy the other. You see what your player knows, "
    "and type an action's name or number; 'quit' ends the game.",
    examples=(
      "play glasses --seat=1",
      "play cheat --opponent=naive",
      "play leduc_poker --opponent=search",
      "play river_subgame --opponent=runs/river_subgame/run.npz",
    ),
    define=play_command.define,
    run=play_command.play_game,
  ),
  Command(
    name="summary",
    arguments="[GAME]",
    summary="Print how large a game is",
    text="GAME is written as for solve. Prints how many histories, public states and infostates it has; with "
    "--tree also the public tree itself, a line for each public state.",
    examples=(
      "summary 'river_subgame(bets=0.5 1 2 a)'",
      "summary kuhn_poker --tree --infostates",
      "summary leduc_poker --depth=5 --png=tree.png",
    ),
    define=_define_summary,
    run=_summary,
  ),
  Command(
    name="check",
    arguments="GAME",
    summary="Check whether a game can be solved",
    text="Walks the game and prints a line for every law that a game must keep to have a public tree: PASS, "
    "FAIL with the state or history that breaks it, or NOTE; then the tree's size. The exit code is 0 if no "
    "law is broken and 1 otherwise. GAME is written as for solve; a game of your own comes with --module.",
    examples=("check leduc_poker", "check my_game --module=my_game.py"),
    define=check_command.define,
    run=check_command.check,
  ),
)

HELP = ("-h", "-help", "--help", "--helpshort", "--helpfull")


def _program_help() -> str:
  lines = [
    f"Usage: {PROGRAM} COMMAND ...",
    "",
    "Solves two-player zero-sum games of OpenSpiel by public-state CFR, and shows the result.",
    "",
    "Commands:",
    *(f"  {f'{command.name} {command.arguments}':20}{command.summary}" for command in COMMANDS),
    "",
    f"Try first:            {PROGRAM} solve",
    f"More about a command: {PROGRAM} solve --help",
  ]
  return "\n".join(lines)


def _command_help(command: Command) -> str:
  listed = [flag for group in command.flags().flags_by_module_dict().values() for flag in group]
  usage = f"Usage: {PROGRAM} {command.name} {command.arguments}{' [flags]' if listed else ''}"
  lines = [usage, "", f"{command.summary}.", *textwrap.wrap(command.text, 90)]
  if listed:
    lines += ["", "Flags:", *(line for flag in listed for line in _flag_help(flag))]
  return "\n".join([*lines, "", "Examples:", *(f"  {PROGRAM} {example}" for example in command.examples)])


VALUES = {
  "output": "FOLDER",
  "resume": "FILE",
  "png": "FILE",
  "at": "ACTIONS",
  "action": "ACTION",
  "module": "MODULE",
}


def _flag_help(flag: flags.Flag) -> list[str]:
  choices = getattr(flag.parser, "enum_values", None)
  kind = "TEXT" if flag.flag_type() == "string" else "N"
  value = "|".join(choices) if choices else VALUES.get(flag.name, kind)
  name = f"--[no]{flag.name}" if flag.boolean else f"--{flag.name}={value}"
  text = (flag.help or "").removeprefix(f"<{value}>: ")  # absl puts the choices there
  if flag.default not in (None, False, ""):
    text += f" (default: {'on' if flag.default is True else flag.default})"
  return [f"  {name}", *textwrap.wrap(text, 90, initial_indent=" " * 6, subsequent_indent=" " * 6)]


def _dispatch(words: Sequence[str]) -> int:
  """Runs what the words after the program's name ask for; returns the exit code."""
  if not words or words[0] in HELP:
    print(_program_help())
    return 0 if words else USER_ERROR
  if words[0] == "--version":
    print(f"{PROGRAM} {__version__}")
    return 0
  command = next((command for command in COMMANDS if command.name == words[0]), None)
  if command is None:
    known = ", ".join(command.name for command in COMMANDS)
    raise UserError(f"Unknown command {words[0]!r}; choose one of {known}, or --help.")
  if set(words) & set(HELP):
    print(_command_help(command))
    return 0
  values = command.flags()
  with user_errors():
    rest = values([PROGRAM, *words[1:]])[1:]
  if values.module is not None:
    load_module(values.module)
  return command.run(values, rest)


def run(words: Sequence[str]) -> int:
  """Like `_dispatch`, but answers mistakes of the user in one line."""
  try:
    code = _dispatch(words)
    sys.stdout.flush()
    return code
  except BrokenPipeError:  # our reader has gone, as `head` does when it has seen enough
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1
  except KeyboardInterrupt:
    print(f"{PROGRAM}: interrupted", file=sys.stderr)
    return INTERRUPTED
  except UserError as error:
    message = str(error)
  except MemoryError:
    message = "There is not enough memory for this game."
  except OSError as error:
    message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
  print(f"{PROGRAM}: error: {' '.join(message.split())}", file=sys.stderr)
  return USER_ERROR


def _parse(argv: Sequence[str]) -> Sequence[str]:
  """Keeps absl's log to warnings, and leaves all words to `_dispatch`."""
  flags.FLAGS([PROGRAM, "--verbosity=-1"])
  return argv[1:]


def _run_and_leave(words: Sequence[str]) -> int:
  """Like `run`, but leaves at once after Ctrl-C: JAX may crash on the way out if it was compiling."""
  code = run(words)
  if code == INTERRUPTED:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
  return code


def main(argv: Sequence[str] | None = None) -> None:
  """The program: ends the process with its exit code.

  Args:
    argv: the program's name and the words after it; those of the process by default.
  """
  app.run(_run_and_leave, None if argv is None else list(argv), flags_parser=_parse)
