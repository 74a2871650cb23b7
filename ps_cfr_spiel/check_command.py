"""The command `ps-cfr-spiel check`: is a game fit for `build_tree`?"""

from collections.abc import Sequence

from absl import flags

from ps_cfr_spiel import tree_flags
from ps_cfr_spiel.check import check_game
from ps_cfr_spiel.user_input import UserError, load_game

FIT, UNFIT = 0, 1  # exit codes


def define(values: flags.FlagValues) -> None:
  """Defines the command's flags."""
  tree_flags.define_walk(values)


def check(values: flags.FlagValues, words: Sequence[str]) -> int:
  """Runs the command; returns its exit code."""
  if not words:
    raise UserError("check needs a game, such as kuhn_poker, or your own with --module.")
  report = check_game(load_game(words), values.public_states, values.limit, progress=True)
  print(report)
  return FIT if report.fit else UNFIT
