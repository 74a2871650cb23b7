"""A command of the program: its words, its flags, the function that runs it; how a shell completes them."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from absl import flags

SHORT = {"iterations": "n", "output": "o", "quiet": "q", "target": "t"}  # letters, the same in every command
USER_ERROR, INTERRUPTED, TERMINATED = 2, 130, 143  # exit codes; the last two of SIGINT and SIGTERM
DEFINERS: dict[type, Callable[..., Any]] = {
  bool: flags.DEFINE_bool,
  int: flags.DEFINE_integer,
  float: flags.DEFINE_float,
  str: flags.DEFINE_string,
  list: flags.DEFINE_list,
  tuple: flags.DEFINE_multi_string,
}


@dataclasses.dataclass(frozen=True)
class Flag:
  """A flag of a command."""

  name: str  #: without dashes
  default: Any  #: the value of a flag that is not given
  help: str  #: its meaning
  #: type of its values, that of `default` or str by default; a list is written with commas, a tuple by
  #: several flags.
  kind: type | None = None
  least: float | None = None  #: lower bound of a number
  most: float | None = None  #: upper bound of a number
  choices: Sequence[str] = ()  #: the allowed words, in any case
  value: str = ""  #: the word for its value in the help
  group: str = "Flags"  #: the heading under which the help lists it

  @property
  def type(self) -> type:
    """Type of its values."""
    return self.kind or (str if self.default is None else type(self.default))

  @property
  def form(self) -> str:
    """The flag as typed, such as --rows=N, after its letter if it has one."""
    letter = f"-{SHORT[self.name]}, " if self.name in SHORT else ""
    if self.type is bool:
      return f"{letter}--[no]{self.name}"
    number = self.type in (int, float)
    return f"{letter}--{self.name}={'|'.join(self.choices) or self.value or ('N' if number else 'TEXT')}"

  @property
  def typed(self) -> tuple[str, ...]:
    """The words that a shell completes, such as --rows= or --quiet and --noquiet."""
    return (f"--{self.name}", f"--no{self.name}") if self.type is bool else (f"--{self.name}=",)

  @property
  def text(self) -> str:
    """Its meaning, and its default where that says something."""
    shown = ",".join(self.default) if isinstance(self.default, list) else self.default
    said = "" if shown in (None, False, "") else f" (default: {'on' if shown is True else shown})"
    return self.help + said

  def define(self, values: flags.FlagValues) -> None:
    """Defines the flag."""
    into: dict[str, Any] = {"flag_values": values, "short_name": SHORT.get(self.name)}
    if self.choices:
      flags.DEFINE_enum(self.name, self.default, list(self.choices), self.help, case_sensitive=False, **into)
      return
    if self.type in (int, float):
      into |= {"lower_bound": self.least, "upper_bound": self.most}
    DEFINERS[self.type](self.name, self.default, self.help, **into)
    if self.type is float:  # absl's bounds let NaN through
      bound = "" if self.least is None else f" of at least {self.least:g}"
      flags.register_validator(
        self.name, lambda n: n is None or not math.isnan(n), f"must be a number{bound}", flag_values=values
      )


def group(heading: str, *flags: Flag) -> tuple[Flag, ...]:
  """Flags that the help lists under a heading of their own."""
  return tuple(dataclasses.replace(flag, group=heading) for flag in flags)


MODULE = Flag(
  "module",
  None,
  "Python module to import first, which registers a game of your own: a file such as my_game.py, or a "
  "module's name, also of the current folder.",
  value="MODULE",
)


@dataclasses.dataclass(frozen=True)
class Command:
  """The words that may follow the program's name."""

  name: str  #: the word to type
  arguments: str  #: its words besides flags
  summary: str  #: its purpose, in a few words
  text: str  #: all else to know
  examples: tuple[str, ...]  #: words to type after the program's name
  own: tuple[Flag, ...]  #: its flags, in the order of the help, but for those of every command
  #: runs it with the parsed flags and the other words; its exit code, 0 if None.
  run: Callable[[flags.FlagValues, Sequence[str]], int | None]
  computes: bool = True  #: whether it always needs JAX

  @property
  def listed(self) -> tuple[Flag, ...]:
    """All its flags, groups together, in the order of their first flags."""
    every = (*self.own, MODULE)
    headings = list(dict.fromkeys(flag.group for flag in every))
    return tuple(sorted(every, key=lambda flag: headings.index(flag.group)))

  def flags(self) -> flags.FlagValues:
    """A fresh set of its flags, at their defaults."""
    values = flags.FlagValues()
    for flag in self.listed:
      flag.define(values)
    return values


# --- Completion by Tab ----------------------------------------------------------------------------

BASH = """_{function}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} words
  if [ "$COMP_CWORD" = 1 ]; then
    words="{names}"
  else
    case ${{COMP_WORDS[1]}} in
{cases}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  if [[ ${{COMPREPLY[0]}} == *= ]]; then compopt -o nospace 2> /dev/null; fi
}}
complete -o default -F _{function} {program}"""
SETUP = {"bash": "", "zsh": "autoload -U +X bashcompinit && bashcompinit\n"}


def completion(shell: str, commands: Iterable[Command], program: str) -> str:
  """The script, which a shell's start file evaluates: `eval "$(ps-cfr-spiel completion bash)"`.

  ValueError for another shell than bash, zsh and fish.
  """
  words = {c.name: [*(form for flag in c.listed for form in flag.typed), "--help"] for c in commands}
  if shell == "fish":
    first = f"complete -c {program} -n __fish_use_subcommand -f -a '{' '.join(words)}'"
    lines = [
      f"complete -c {program} -n '__fish_seen_subcommand_from {name}' -l {flag.strip('-=')}"
      for name, flags in words.items()
      for flag in flags
    ]
    return "\n".join([first, *lines])
  if shell not in SETUP:
    raise ValueError(f"completion {shell}: choose one of {', '.join((*SETUP, 'fish'))}.")
  words["help"] = list(words)
  cases = "\n".join(f'      {name}) words="{" ".join(flags)}" ;;' for name, flags in words.items())
  function = program.replace("-", "_")
  names = " ".join((*words, "completion"))
  return SETUP[shell] + BASH.format(function=function, names=names, cases=cases, program=program)
