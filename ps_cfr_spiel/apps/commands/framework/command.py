"""A command of the program: its words, its flags, the function that runs it; how a shell completes them."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from absl import flags

from ps_cfr_spiel.options import FLAGS, Field, Options, fields_of

SHORT = {"iterations": "n", "output": "o", "quiet": "q", "target": "t"}  # letters, the same in every command
USER_ERROR, INTERRUPTED, TERMINATED = 2, 130, 143  # exit codes; the last two of SIGINT and SIGTERM
INTERRUPTION = "interrupted"  # in JSON, why a result is of fewer games than were asked for
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
  group: str = FLAGS  #: the heading under which the help lists it
  unlike: str = ""  #: defaults of some methods that are unlike `default`, in words
  result: bool = True  #: whether it may change a result

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
    plain = shown is None or (not shown and not self.unlike)
    said = "" if plain else f"default: {'on' if shown is True else shown}"
    defaults = "; ".join(filter(None, (said, self.unlike)))
    return f"{self.help} ({defaults})" if defaults else self.help

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


def option_flags(methods: Mapping[str, type[Options]]) -> tuple[Flag, ...]:
  """The flags of the options of some methods, which have names: one for each option, also if several have it.

  Its default is that of the first method that has it; the help has those of the others.
  """
  fields: dict[str, dict[str, Field]] = {}
  for method, kind in methods.items():
    for field in fields_of(kind).values():
      if field.flag is not None:
        fields.setdefault(field.flag, {})[method] = field
  return tuple(_option_flag(name, of_methods) for name, of_methods in fields.items())


def _option_flag(name: str, fields: Mapping[str, Field]) -> Flag:
  """The flag of an option that some methods have."""
  first, *_ = fields.values()
  option, default = first.option, first.default
  unlike: dict[str, list[str]] = {}
  for method, field in fields.items():
    if field.default != default:
      unlike.setdefault(str(field.default), []).append(method)
  kind = tuple if option.several else str if option.choices or first.kind is object else first.kind
  return Flag(
    name,
    default if default is None or kind is not str else str(default),
    " ".join(filter(None, (option.help, option.typed))),
    kind=kind,
    # Of a range with an open end absl would name one bound alone; the option's own check names both.
    least=option.least,
    most=None if option.most == math.inf or option.above is not None else option.most,
    choices=tuple(map(str, option.choices)),
    value=option.value,
    group=option.group,
    result=option.result,
    unlike="; ".join(f"{', '.join(names)}: {shown}" for shown, names in unlike.items()),
  )


def flag_of(kind: type[Options], name: str) -> Flag:
  """The flag of one option of a method."""
  return next(flag for flag in option_flags({"": kind}) if flag.name == name)


def given_options(values: flags.FlagValues, kind: type[Options]) -> dict[str, Any]:
  """Those options of a method whose flags a command line has, by their names; ValueError for a wrong value.

  A flag that was not given is left to the method: some defaults differ.
  """
  options = {}
  for name, field in fields_of(kind).items():
    if field.flag is None or field.flag not in values or not values[field.flag].present:
      continue
    value, option = values[field.flag].value, field.option
    try:
      options[name] = (
        option.read(str(value)) if option.read else int(str(value)) if field.kind is int else value
      )
    except ValueError as error:
      raise ValueError(f"--{field.flag}={value}: {error}") from error
  return options


def flags_of(kind: type[Options]) -> list[str]:
  """The names of the flags of a method's options."""
  return [field.flag for field in fields_of(kind).values() if field.flag is not None]


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
  options: tuple[Flag, ...]  #: its flags, in the order of the help, but for those of every command
  #: runs it with the parsed flags and the other words; its exit code, 0 if None.
  run: Callable[[flags.FlagValues, Sequence[str]], int | None]
  computes: bool = True  #: whether it always needs JAX

  @property
  def listed(self) -> tuple[Flag, ...]:
    """All its flags, groups together, in the order of their first flags."""
    every = (*self.options, MODULE)
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
