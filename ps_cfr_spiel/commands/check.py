"""The command `ps-cfr-spiel check`: is a game fit for `build_tree`?"""

from __future__ import annotations

from collections.abc import Sequence

from absl import flags

import ps_cfr_spiel as ps
from ps_cfr_spiel.commands.command import Command
from ps_cfr_spiel.commands.flags import JSON, SPOT, WALK, memory_text, say
from ps_cfr_spiel.commands.user_input import SPOT_FLAGS, load_game
from ps_cfr_spiel.reports import report as lines

FIT, UNFIT = 0, 1  # exit codes


FLAGS = (*WALK, *SPOT, JSON)


def _run(values: flags.FlagValues, words: Sequence[str]) -> int | None:
  if not words and not any(values[name].present for name in SPOT_FLAGS):
    raise ValueError("check needs a game, such as kuhn_poker, or your own with --module.")
  game = load_game(words, values)
  report = ps.check_game(game, values.public_states, values.limit, memory=values.memory)
  if values.json:
    say(values, report.facts())
  else:
    print(report)
    if report.fit and (needs := ps.solvers.memory_to_solve(game)) is not None:
      print(lines({"memory to solve": memory_text(game, needs, ps.solvers.memory_to_solve(game, 16))}))
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
  run=_run,
)
