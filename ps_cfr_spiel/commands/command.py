"""A command of the program: its words, its flags, and what it runs."""

import dataclasses
from collections.abc import Callable, Sequence

from absl import flags

USER_ERROR, INTERRUPTED = 2, 130  # exit codes
LOST = 3  # another process of a shared run has gone


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
    run: runs it with the parsed flags and the other words; its exit code.
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
    flags.DEFINE_string("module", None, MODULE_HELP, flag_values=values)
    return values


MODULE_HELP = (
  "Import this Python module first, which registers a game of your own: a file such as my_game.py, or a "
  "module's name, which is looked for in the current folder too."
)
