"""The program `ps-cfr-spiel`: solves a game, shows and evaluates what was saved.

Every command has its own absl flags and knows no others, so that a misspelt one is an error and
`--help` lists only what matters. A mistake of the user is answered in one line, with exit code 2.
"""

import gc
import io
import os
import sys
import textwrap
from collections.abc import Sequence

from absl import app, flags
from jax.errors import JaxRuntimeError

from ps_cfr_spiel.commands import (
  abstract,
  check,
  compare,
  evaluate,
  explore,
  generate,
  learn,
  play,
  resolve,
  show,
  solve,
  summary,
  train,
)
from ps_cfr_spiel.commands.command import INTERRUPTED, LOST, USER_ERROR, Command
from ps_cfr_spiel.commands.user_input import UserError, load_module, user_errors
from ps_cfr_spiel.device import keep_compiled_code, process_count
from ps_cfr_spiel.version import __version__

PROGRAM = "ps-cfr-spiel"


COMMANDS = tuple(
  module.COMMAND
  for module in (
    solve,
    train,
    show,
    explore,
    evaluate,
    compare,
    resolve,
    play,
    summary,
    check,
    generate,
    learn,
    abstract,
  )
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
  lines = [f"Usage: {PROGRAM} {command.name} {command.arguments} [flags]"]
  lines += ["", f"{command.summary}.", *textwrap.wrap(command.text, 90), "", "Flags:"]
  for flag in command.listed:
    inset = " " * 6
    lines += [f"  {flag.form}", *textwrap.wrap(flag.text, 90, initial_indent=inset, subsequent_indent=inset)]
  return "\n".join([*lines, "", "Examples:", *(f"  {PROGRAM} {example}" for example in command.examples)])


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
  except (UserError, FloatingPointError) as error:
    message = str(error)
  except JaxRuntimeError as error:
    if "RESOURCE_EXHAUSTED" in str(error):
      return _refused("There is not enough memory for this.")
    if "Disallowed" in str(error) and "transfer" in str(error):
      return _refused("JAX_TRANSFER_GUARD forbids copies between host and device; unset it.")
    if process_count() == 1:
      raise
    print(f"{PROGRAM}: another process was lost: {str(error).splitlines()[0]}", file=sys.stderr)
    return LOST
  except MemoryError:
    message = "There is not enough memory for this game."
  except OSError as error:
    message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
  return _refused(message)


def _refused(message: str) -> int:
  """Answers a mistake in one line."""
  print(f"{PROGRAM}: error: {' '.join(message.split())}", file=sys.stderr)
  return USER_ERROR


def _parse(argv: Sequence[str]) -> Sequence[str]:
  """Keeps absl's log to warnings, and leaves all words to `_dispatch`."""
  flags.FLAGS([PROGRAM, "--verbosity=-1"])
  return argv[1:]


def _run_and_leave(words: Sequence[str]) -> int:
  """Like `run`, but leaves at once after Ctrl-C: JAX may crash on the way out if it was compiling.

  Where processes share a run, each leaves at once after an error instead: JAX would wait for the others.
  """
  try:
    keep_compiled_code()
  except ValueError as error:
    return _refused(str(error))
  code = run(words)
  if code and (code == INTERRUPTED) == (process_count() == 1):
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
  gc.freeze()  # or Python would look through all of it once more before it ends
  return code


def _mend_streams() -> None:
  """Closed streams are as empty as /dev/null, and what a terminal cannot show does not end the program."""
  for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
    if getattr(sys, name) is None:
      setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  (as long as the process)
  for stream in (sys.stdout, sys.stderr):
    if isinstance(stream, io.TextIOWrapper):
      stream.reconfigure(errors="backslashreplace")


def main(argv: Sequence[str] | None = None) -> None:
  """The program: ends the process with its exit code.

  Args:
    argv: the program's name and the words after it; those of the process by default.
  """
  gc.freeze()  # what was imported stays: no collection need look at it
  _mend_streams()
  app.run(_run_and_leave, None if argv is None else list(argv), flags_parser=_parse)
