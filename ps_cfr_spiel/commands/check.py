"""The command `ps-cfr-spiel check`: is a game fit for `build_tree`?"""

from collections.abc import Sequence

from absl import flags

from ps_cfr_spiel.commands.command import Command
from ps_cfr_spiel.commands.flags import JSON, SPOT, WALK, say
from ps_cfr_spiel.commands.user_input import SPOT_FLAGS, UserError, load_game, user_errors
from ps_cfr_spiel.compiler import check_game

FIT, UNFIT = 0, 1  # exit codes


FLAGS = (*WALK, *SPOT, JSON)


def check(values: flags.FlagValues, words: Sequence[str]) -> int:
  """Runs the command; returns its exit code."""
  if not words and not any(values[name].present for name in SPOT_FLAGS):
    raise UserError("check needs a game, such as kuhn_poker, or your own with --module.")
  game = load_game(words, values)
  with user_errors():
    report = check_game(game, values.public_states, values.limit, True, values.memory)
  if values.json:
    say(values, report.facts())
  else:
    print(report)
  return FIT if report.fit else UNFIT


COMMAND = Command(
  name="check",
  arguments="GAME",
  summary="Check whether a game can be solved",
  text="Walks the game and prints a line for every law that a game must keep to have a public tree: PASS, "
  "FAIL with the state or history that breaks it, or NOTE; then the tree's size. The exit code is 0 if no "
  "law is broken and 1 otherwise. GAME is written as for solve; a game of your own comes with --module.",
  examples=("check leduc_poker", "check my_game --module=my_game.py"),
  own=FLAGS,
  run=check,
)
