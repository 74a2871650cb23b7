"""Flags that say how a game is compiled, the same for all commands."""

from typing import Any

from absl import flags

from ps_cfr_spiel.compiler import LEAVES, LIMIT, SOURCES


def define_tree(values: flags.FlagValues) -> None:
  """Defines the flags that say how a game is compiled."""
  into: dict[str, Any] = {"flag_values": values}
  flags.DEFINE_enum("leaves", "auto", list(LEAVES), _HELP["leaves"], **into)
  define_walk(values)


def define_walk(values: flags.FlagValues) -> None:
  """Defines the flags that say how a game is walked and where its public states come from."""
  into: dict[str, Any] = {"flag_values": values}
  flags.DEFINE_enum("public_states", "closure", list(SOURCES), _HELP["public_states"], **into)
  define_limit(values)


def define_limit(values: flags.FlagValues) -> None:
  """Defines the flag that says how large a game may be; what a file says cannot raise it."""
  flags.DEFINE_integer("limit", LIMIT, _HELP["limit"], lower_bound=1, flag_values=values)


_HELP = {
  "leaves": "How the ends of the game are evaluated: dense (matrices over all pairs of hands), showdown "
  "(for poker with many hands), native (the same in C++), sparse (for any game), or auto, which chooses.",
  "public_states": "Where public states come from: closure (common knowledge), the game's observer, or "
  "none, for games that have none.",
  "limit": "Most histories to visit of a game that does not describe itself.",
}
