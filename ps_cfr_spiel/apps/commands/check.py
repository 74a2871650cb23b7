"""The command `ps-cfr-spiel check`: can a game be solved?"""

from __future__ import annotations

from collections.abc import Sequence

from absl import flags

import ps_cfr_spiel as ps
from ps_cfr_spiel.apps.commands.framework.command import Command, given_options
from ps_cfr_spiel.apps.commands.framework.flags import ENUMERATION, JSON, SPOT, memory_lines, say
from ps_cfr_spiel.apps.commands.framework.user_input import SPOT_FLAGS, load_game
from ps_cfr_spiel.options import EnumerationOptions
from ps_cfr_spiel.reports import report as lines

SOLVABLE, NOT_SOLVABLE = 0, 1  # exit codes


FLAGS = (*ENUMERATION, *SPOT, JSON)


def _run(values: flags.FlagValues, words: Sequence[str]) -> int | None:
  if not words and not any(values[name].present for name in SPOT_FLAGS):
    raise ValueError("check needs a game, such as kuhn_poker, or your own with --module.")
  game = load_game(words, values)
  report = ps.check_game(game, **given_options(values, EnumerationOptions))
  if values.json:
    say(values, report.facts())
  else:
    print(report)
    if report.solvable and (memory := memory_lines(game)):
      print(lines(memory))
  return SOLVABLE if report.solvable or report.trainable else NOT_SOLVABLE


COMMAND = Command(
  name="check",
  arguments="GAME",
  summary="Check whether a game can be solved",
  text="Enumerates the game and prints a line for every check: PASS, FAIL with the state or history where it "
  "fails, or NOTE; then the size of the public tree. The exit code is 0 if the game can be solved, or "
  "trained by keys of its own, else 1. GAME is written as for solve; a game of your own comes with --module.",
  examples=("check leduc_poker", "check my_game --module=my_game.py"),
  options=FLAGS,
  run=_run,
)
