"""The program `ps-cfr-spiel`: solves a game, shows and evaluates saved results.

Every command has its own absl flags and knows no others, so that a misspelt one is an error and
`--help` lists only what matters. A mistake of the user is answered in one line, with exit code 2.
"""

from __future__ import annotations

import contextlib
import difflib
import faulthandler
import gc
import importlib
import io
import itertools
import os
import signal
import sys
import textwrap
import warnings
from collections.abc import Callable, Sequence
from types import FrameType, ModuleType

from absl import flags

import ps_cfr_spiel as ps
from ps_cfr_spiel.apps.commands.framework.command import (
  INTERRUPTED,
  TERMINATED,
  USER_ERROR,
  Command,
  completion,
)
from ps_cfr_spiel.apps.commands.framework.user_input import PICTURES, answer_to, load_module
from ps_cfr_spiel.backend.uninterrupted import Uninterrupted
from ps_cfr_spiel.loading import PYTHON_GAMES
from ps_cfr_spiel.version import __version__

PROGRAM = "ps-cfr-spiel"
GROUPS = {
  "Solve and search": ("solve", "explore", "report", "resolve", "check", "summary"),
  "Look and play": ("show", "play"),
  "Measure": ("evaluate", "compare", "match", "judge"),
  "Learn": ("train", "learn"),
}
COMMANDS: dict[str, Command] = {
  name: importlib.import_module(f"ps_cfr_spiel.apps.commands.{name}").COMMAND
  for names in GROUPS.values()
  for name in names
}
HELP = ("-h", "-help", "--help", "--helpshort", "--helpfull")
# New objects between two collections of garbage, and collections between two of the next generation. A
# solve with pictures makes 125,000 after those of JAX, most of them of modules. With Python's usual 700,
# collections take a sixth of the time of imports. Little is garbage: of a match, 25 s of an agent's
# searches, 1,500 objects.
COLLECTIONS = 150_000, 3, 3


def _import_policies() -> None:
  """Import OpenSpiel's policies without its games in Python, whose packages take half a second.

  `loading.load_game` imports these games where one is named.
  """
  if PYTHON_GAMES not in sys.modules:
    sys.modules[PYTHON_GAMES] = ModuleType(PYTHON_GAMES)
    importlib.import_module("open_spiel.python.policy")
    del sys.modules[PYTHON_GAMES]


def _program_help() -> str:
  lines = [
    f"Usage: {PROGRAM} COMMAND ...",
    "",
    "Solves two-player games of OpenSpiel by public-state CFR, and shows the result.",
    "",
  ]
  for heading, names in GROUPS.items():
    commands = [COMMANDS[name] for name in names]
    lines += [f"{heading}:", *(f"  {f'{c.name} {c.arguments}':20}{c.summary}" for c in commands), ""]
  lines += [
    f"Try first:            {PROGRAM} solve",
    f"More about a command: {PROGRAM} help solve",
    f"Completion by Tab:    {PROGRAM} completion bash",
  ]
  return "\n".join(lines)


def _command_help(command: Command) -> str:
  usage = filter(None, (PROGRAM, command.name, command.arguments, "[flags]"))
  lines = [f"Usage: {' '.join(usage)}"]
  lines += ["", f"{command.summary}.", *textwrap.wrap(command.text, 90)]
  inset = " " * 6
  for heading, flags_of_group in itertools.groupby(command.listed, lambda flag: flag.group):
    lines += ["", f"{heading}:"]
    for flag in flags_of_group:
      lines += [
        f"  {flag.form}",
        *textwrap.wrap(flag.text, 90, initial_indent=inset, subsequent_indent=inset),
      ]
  return "\n".join([*lines, "", "Examples:", *(f"  {PROGRAM} {example}" for example in command.examples)])


def _dispatch(words: Sequence[str], begin: Callable[[], object]) -> int:
  """Run the command of the words after the program's name; return the exit code."""
  if words[:1] == ["help"]:
    words = [*words[1:2], "--help"]
  if not words or words[0] in HELP:
    print(_program_help())
    return 0 if words else USER_ERROR
  if words[0] == "--version":
    print(f"{PROGRAM} {__version__}")
    return 0
  if words[0] == "completion":
    print(completion(words[1] if len(words) > 1 else "", COMMANDS.values(), PROGRAM))
    return 0
  if words[0] not in COMMANDS:
    near = difflib.get_close_matches(words[0], COMMANDS, 1)
    meant = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(COMMANDS)}, or --help."
    raise ValueError(f"Unknown command {words[0]!r}; {meant}")
  command = COMMANDS[words[0]]
  if set(words) & set(HELP):
    print(_command_help(command))
    return 0
  values = command.flags()
  try:
    rest = values([PROGRAM, *words[1:]])[1:]
  except flags.UnrecognizedFlagError as error:
    raise ValueError(f"{error}{_hint(command, error)}") from error
  _import_policies()
  if command.computes:
    begin()
  if values.module is not None:
    load_module(values.module)
  return command.run(values, rest) or 0


def _hint(command: Command, error: flags.UnrecognizedFlagError) -> str:
  """The rest of absl's message on a flag that a command does not have."""
  if f".{error.flagname}" in PICTURES and any(flag.name == "picture" for flag in command.options):
    return f"; for a picture write --picture=FILE.{error.flagname}."
  if "Did you mean" in str(error):
    return ""
  near = difflib.get_close_matches(str(error.flagname), [flag.name for flag in command.options], 1, 0.75)
  meant = f"did you mean --{near[0]}? " if near else ""
  return f"; {meant}{PROGRAM} help {command.name} lists those that it has."


def run(words: Sequence[str], begin: Callable[[], object] = lambda: None) -> int:
  """Run the command of the words after the program's name, and return the exit code.

  Mistakes of the user are answered in one line. `begin` is called before a command that computes: help and
  mistakes in flags come sooner, and need no JAX.
  """
  try:
    code = _dispatch(words, begin)
    sys.stdout.flush()
    return code
  except BrokenPipeError:  # our reader has gone, as `head` does when it has seen enough
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1
  except KeyboardInterrupt as interrupt:
    print(f"{PROGRAM}: {str(interrupt) or 'interrupted'}", file=sys.stderr)
    return INTERRUPTED
  except Exception as error:
    message = answer_to(error)
    if message is None:
      raise
    print(f"{PROGRAM}: error: {message}", file=sys.stderr)
    return USER_ERROR


def _run_and_leave(words: Sequence[str]) -> int:
  """Like `run`, but SIGTERM ends a command as Ctrl-C does, with an exit code of its own.

  Leaves at once after either: JAX may crash on the way out if it was compiling. Where processes share a run,
  each leaves at once after an error instead: JAX would wait for the others.
  """
  arrived: list[int] = []
  runtimes: list[ModuleType] = []  # none before JAX is imported, nor if it cannot be

  def begin() -> None:
    with Uninterrupted():
      _import_jax()
    runtimes.append(ps.runtime)

  def interrupt(number: int, _: FrameType | None) -> None:
    arrived.append(number)
    if not any(runtime.ask_to_stop() for runtime in runtimes):
      raise KeyboardInterrupt

  for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
    if signal.getsignal(number) is usual:  # else a parent has the signal ignored
      signal.signal(number, interrupt)
  code = run(words, begin)
  alone = all(runtime.process_count() == 1 for runtime in runtimes)
  interrupted = code == INTERRUPTED
  if interrupted and arrived:
    code = TERMINATED if arrived[0] == signal.SIGTERM else INTERRUPTED
  if code and interrupted == alone:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
  gc.freeze()  # or Python would look through all of it once more before it ends
  return code


def _import_jax() -> None:
  """Import JAX and keep what it compiles. Its 125,000 objects stay, so no collection looks at them."""
  ps.runtime.keep_compiled_code()
  gc.freeze()


def _mend_streams() -> None:
  """Make closed streams as empty as /dev/null, and no character that a terminal lacks an error."""
  for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
    if getattr(sys, name) is None:
      setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  (as long as the process)
  for stream in (sys.stdout, sys.stderr):
    if isinstance(stream, io.TextIOWrapper):
      stream.reconfigure(errors="backslashreplace")


def main(argv: Sequence[str] | None = None) -> None:
  """The program: ends the process with its exit code; `argv` is that of the process by default.

  The thresholds of collections of garbage are those of before, for callers that catch the SystemExit.
  """
  thresholds = gc.get_threshold()
  gc.freeze()  # imports stay: no collection need look at them
  gc.set_threshold(*COLLECTIONS)
  _mend_streams()
  warnings.formatwarning = lambda message, *_: f"{PROGRAM}: {message}\n"  # no place in the source
  with contextlib.suppress(OSError, RuntimeError):  # of a stream without a descriptor
    faulthandler.enable()  # a crash says where it was
  try:
    sys.exit(_run_and_leave((sys.argv if argv is None else argv)[1:]))
  finally:
    gc.set_threshold(*thresholds)
