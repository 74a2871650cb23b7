"""An option, and the base class of a method's options: names, defaults, checks and help in one declaration.

A method's options are a frozen dataclass. The keywords of its constructor, the header of its files, its flags
on the command line and the list in its documentation all come from the fields of that class.
"""

import dataclasses
import functools
import inspect
import math
import operator
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, Self

from ps_cfr_spiel.arguments import (
  as_number,
  check_count,
  check_flag,
  check_integer,
  check_number,
  check_option,
  is_integer,
)

FLAGS = "Flags"  # the heading of flags without a heading


@dataclasses.dataclass(frozen=True)
class Option:
  """The meaning of an option and the values that it takes: the annotation of a field of `Options`."""

  help: str  #: its meaning, in one or two sentences
  more: str = ""  #: what only Python needs to know besides
  typed: str = ""  #: what only the program's help needs to say besides
  least: float | None = None  #: lower bound of a number
  most: float | None = (
    None  #: upper bound of a number; of an int by default the largest that a device can count to
  )
  above: float | None = None  #: the number that it must exceed, in place of `least`
  below: float | None = None  #: the number that it must not reach, in place of `most`
  choices: tuple[Any, ...] = ()  #: the allowed values of a str or int; of an object the names for it
  value: str = ""  #: the word for its value in the help of the program
  group: str = FLAGS  #: the heading under which the help of the program lists it
  flag: str | None = ""  #: the name of its flag; "": its own name; None: it has no flag
  several: bool = False  #: whether its flag may be given several times
  read: Callable[[str], Any] | None = None  #: the value of an object in the text of its flag, or ValueError
  saved: bool = True  #: whether the header of a file has it; arrays are kept beside the header
  result: bool = True  #: whether it may change the result

  def check(self, name: str, kind: type, value: Any) -> Any:
    """The value of the option called `name`, of a type `kind`, or ValueError; objects are not looked at."""
    if kind is str and self.choices:
      return check_option(name, value.__name__ if isinstance(value, type) else value, self.choices)
    if kind is int and self.choices:
      if not is_integer(value) or value not in self.choices:
        raise ValueError(f"{name} must be {' or '.join(map(str, self.choices))}, got {value!r}.")
      return int(value)
    if kind is str and not isinstance(value, str):
      raise ValueError(f"{name} must be a text, got {value!r}.")
    if kind is bool:
      return check_flag(name, value)
    if kind is int:
      least = int(self.least or 0)
      if self.most is None:
        return check_count(name, value, least)
      return check_integer(name, value, least, self.most)
    if kind is float:
      return self._check_number(name, value)
    return value

  def _check_number(self, name: str, value: Any) -> float:
    if self.least is not None and self.most is not None:
      return check_number(name, value, self.least, self.most)
    bounds = {
      "of at least": (self.least, operator.ge),
      "above": (self.above, operator.gt),
      "at most": (self.most, operator.le),
      "below": (self.below, operator.lt),
    }
    given = {words: (bound, holds) for words, (bound, holds) in bounds.items() if bound is not None}
    number = as_number(value)
    if math.isnan(number) or not all(holds(number, bound) for bound, holds in given.values()):
      allowed = " and ".join(f"{words} {bound:g}" for words, (bound, _) in given.items())
      raise ValueError(f"{name} must be a number {allowed}".rstrip() + f", got {value!r}.")
    return number


class Field(NamedTuple):
  """A field of `Options`."""

  name: str
  kind: type  #: str, int, float or bool; object for everything else
  optional: bool  #: whether it may be None
  default: Any
  option: Option
  annotation: object  #: its type, without the option

  @property
  def flag(self) -> str | None:
    """The name of its flag, None if it has none."""
    return self.option.flag if self.option.flag is None else self.option.flag or self.name

  @property
  def text(self) -> str:
    """Its meaning for documentation in Python, with its choices and its default."""
    words = [self.option.help, self.option.more]
    if self.option.choices and self.kind is not object:
      words.append(f"One of {', '.join(map(repr, self.option.choices))}.")
    if self.default is not dataclasses.MISSING and self.default is not None:
      words.append(f"By default {self.default!r}.")
    return " ".join(filter(None, words))


@functools.cache
def fields_of(kind: "type[Options]") -> dict[str, Field]:
  """The fields of a class of options, by name."""
  hints, fields = {}, {}
  for base in reversed(kind.__mro__):
    hints |= inspect.get_annotations(base, eval_str=True)
  for field in dataclasses.fields(kind):
    annotation, option = typing.get_args(hints[field.name])
    parts = typing.get_args(annotation) if isinstance(annotation, types.UnionType) else (annotation,)
    plain = [part for part in parts if part is not types.NoneType]
    known = plain[0] if len(plain) == 1 and plain[0] in (str, int, float, bool) else object
    optional = types.NoneType in parts
    fields[field.name] = Field(field.name, known, optional, field.default, option, annotation)
  return fields


@typing.dataclass_transform(frozen_default=True, kw_only_default=True)
@dataclasses.dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Options:
  """The options of a method: a subclass is a frozen dataclass with keywords alone, checked when it is made.

  Each field is written `name: Annotated[type, Option("what it means")] = default`. A value of type str, int,
  float or bool is checked as its `Option` says, ValueError otherwise; an object is checked by the method. The
  docstring of a subclass lists the fields.
  """

  #: the option that may be given alone, in the place of all options; "" if none may
  main: ClassVar[str] = ""

  def __init_subclass__(cls):
    # The base's methods do for all: to compile them anew for each class took as long as all the rest here.
    dataclasses.dataclass(frozen=True, kw_only=True, repr=False, eq=False)(cls)
    fields = fields_of(cls).values()
    lines = [f"  {field.name}: {field.text}" for field in fields]
    cls.__doc__ = "\n".join([cls.__doc__ or "", "", "Attributes:", *lines])
    cls.__init__.__annotations__.update({field.name: field.annotation for field in fields})

  def __repr__(self) -> str:
    values = ", ".join(f"{name}={vars(self)[name]!r}" for name in fields_of(type(self)))
    return f"{type(self).__qualname__}({values})"

  def _key(self) -> tuple[object, ...]:
    return type(self), *(vars(self)[name] for name in fields_of(type(self)))

  def __eq__(self, other: object) -> bool:
    return self._key() == other._key() if isinstance(other, Options) else NotImplemented

  def __hash__(self) -> int:
    return hash(self._key())

  def __post_init__(self):
    for field in fields_of(type(self)).values():
      value = vars(self)[field.name]
      if value is not field.default and (value is not None or not field.optional):
        object.__setattr__(self, field.name, field.option.check(field.name, field.kind, value))

  @classmethod
  def of(cls, given: Any = None, /, **keywords: Any) -> Self:
    """The options that a constructor was called with: `given` has all of them, or is `main` alone, or None.

    Keywords change them. ValueError for a wrong value; TypeError for an unknown name.
    """
    if isinstance(given, cls):
      return given.changed(**keywords)
    if isinstance(given, Options):
      raise ValueError(f"Expected {cls.__name__}, got {type(given).__name__}.")
    if given is not None and not cls.main:
      raise TypeError(f"Expected {cls.__name__} or options by their names, got {given!r}.")
    if unknown := keywords.keys() - fields_of(cls):
      raise TypeError(f"{cls.__name__} has no option {min(unknown)!r}; it has {', '.join(fields_of(cls))}.")
    return cls(**({} if given is None else {cls.main: given}), **keywords)

  def changed(self, **changes: Any) -> Self:
    """These options with changes."""
    return type(self)(**{**vars(self), **changes})

  def values(self, kind: "type[Options]") -> dict[str, Any]:
    """The values of those that another class has too, such as `TreeOptions`, by name."""
    return {name: vars(self)[name] for name in fields_of(kind) if name in vars(self)}

  def header(self) -> dict[str, Any]:
    """The values for files, by name, without missing ones (None)."""
    return {
      field.name: vars(self)[field.name]
      for field in fields_of(type(self)).values()
      if field.option.saved and vars(self)[field.name] is not None
    }

  @classmethod
  def picked(cls, header: Mapping[str, Any]) -> dict[str, Any]:
    """Those values of a header, unchecked, that are of options of this class, by name."""
    return {name: header[name] for name in fields_of(cls) if name in header}

  @classmethod
  def from_header(cls, header: Mapping[str, Any], **others: Any) -> Self:
    """The inverse of `header`; `others` are those that it lacks. ValueError for an unknown name."""
    known = [field.name for field in fields_of(cls).values() if field.option.saved]
    if unknown := header.keys() - known:
      raise ValueError(
        f"{cls.__name__} has the options {', '.join(known)}, got {', '.join(sorted(unknown))}."
      )
    return cls(**{**header, **others})
