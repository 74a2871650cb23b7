"""The command `ps-cfr-spiel generate`: random rivers with their values, as data to learn from."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from absl import flags

from ps_cfr_spiel.cfr import RULES
from ps_cfr_spiel.commands.command import Command
from ps_cfr_spiel.commands.flags import define_json, define_processes, join_others, say
from ps_cfr_spiel.commands.learn import load_learning
from ps_cfr_spiel.commands.situations import define_sharing, solve
from ps_cfr_spiel.commands.user_input import UserError, make_folder, user_errors
from ps_cfr_spiel.device import DTYPES, is_first_process
from ps_cfr_spiel.poker import KINDS, RandomRivers, Situation

SEARCHES = "searches"
EACH = 20  # rivers of a turn that is searched
METHOD = ("iterations", "target", "rule", "dtype")  # flags of `solve_batch`


def define(values: flags.FlagValues) -> None:
  """Defines the command's flags."""
  into: dict[str, Any] = {"flag_values": values}
  flags.DEFINE_integer("count", 1000, "Rivers to draw and solve.", lower_bound=1, **into)
  flags.DEFINE_integer("seed", 0, "Seed of the random numbers.", lower_bound=0, **into)
  flags.DEFINE_integer("pot", 1000, "Chips in the pot.", lower_bound=2, **into)
  flags.DEFINE_list("ratios", ["1", "3", "10"], _HELP["ratios"], **into)
  flags.DEFINE_string("bets", "fcpa", "Bet sizes, as in river_subgame.", **into)
  flags.DEFINE_enum("ranges", "halves", [*KINDS, SEARCHES], _HELP["ranges"], **into)
  flags.DEFINE_string("values", None, _HELP["values"], **into)
  flags.DEFINE_integer("iterations", 500, "Iterations of each river, at most.", lower_bound=1, **into)
  flags.DEFINE_string("target", None, _HELP["target"], **into)
  flags.DEFINE_enum("rule", "nrm+", list(RULES), "How regrets turn into the next strategy.", **into)
  flags.DEFINE_enum("dtype", "float32", list(DTYPES), "Precision of the arithmetic.", **into)
  flags.DEFINE_string("output", None, _HELP["output"], **into)
  flags.DEFINE_bool("quiet", False, "Print the result only.", **into)
  define_sharing(values)
  define_processes(values, "")
  define_json(values)


_HELP = {
  "ratios": "Stacks behind, in pots, of which one is drawn; each is compiled once.",
  "ranges": "How ranges are drawn: halves, as DeepStack's, even, every hand by itself, betting, as bets "
  "before the river leave them, or searches, those that searches of turns ask about, which end when the "
  "last card comes; --pot and --ratios are then the turn's.",
  "values": "With --ranges=searches: what those searches know of rivers, a file of learn --rivers.",
  "target": "A river is done when exploitability is this low: in percent of the pot (0.1%) or in chips.",
  "output": "Folder for the data (default: runs/rivers). What is there of the same call is not done again.",
}


def generate(values: flags.FlagValues, words: Sequence[str]) -> int:
  """Runs the command; returns its exit code."""
  if words:
    raise UserError(f"generate takes flags only, got {' '.join(map(repr, words))}.")
  try:
    ratios = tuple(map(float, values.ratios))
  except ValueError:
    raise UserError(f"--ratios={','.join(values.ratios)}: expected numbers with commas between.") from None
  if (values.ranges == SEARCHES) != (values["values"].value is not None):
    raise UserError("--ranges=searches and --values belong together.")
  if values.ranges == SEARCHES and values.processes is not None:
    raise UserError("--ranges=searches searches in one process; leave out --processes.")
  with user_errors():
    if values.ranges == SEARCHES:
      rivers = _met(values, ratios)
    else:
      rivers = RandomRivers(values.count, values.seed, values.pot, ratios, values.bets, values.ranges)
  folder = make_folder(Path(values.output or Path("runs") / "rivers"))
  with user_errors():
    join_others(values)
  options = {name: values[name].value for name in METHOD} | {"hands": "all", "strategies": False}
  solutions, seconds = solve(values, rivers, folder, options)
  if not is_first_process():
    return 0
  pots = [values.pot] * len(rivers) if isinstance(rivers, RandomRivers) else [river.pot for river in rivers]
  with user_errors():  # of files that were there and are damaged
    shares = [100 * s.exploitability / pot for s, pot in zip(solutions, pots, strict=True)]
  facts = {
    "rivers": len(rivers),
    "folder": str(folder),
    "mean_exploitability_percent_of_pot": float(np.mean(shares)),
    "largest_exploitability_percent_of_pot": max(shares),
    "seconds": seconds,
  }
  lines = {
    "rivers": f"{len(rivers):,}, seed {values.seed}",
    "exploitability": f"{np.mean(shares):.3g}% of the pot on average, at most {max(shares):.3g}%",
    "time": f"{seconds:.1f} s, compilation included",
    "data": f"{folder}, files that NumPy reads",
  }
  say(values, facts, lines)
  return 0


def _met(values: flags.FlagValues, ratios: tuple[float, ...]) -> list[Situation]:
  """The rivers that searches of turns ask about."""
  learning, file = load_learning(), values["values"].value
  known = learning.load_values(file)
  if not isinstance(known, learning.RiverValues):
    raise UserError(f"--values={file}: expected values of rivers, as learn --rivers makes them.")
  turns, silent = -(-values.count // EACH), False if values.quiet or values.json else None
  found = learning.rivers_met(
    known, turns, values.seed, values.pot, ratios, values.bets, EACH, progress=silent
  )
  return found[: values.count]


COMMAND = Command(
  name="generate",
  arguments="",
  summary="Solve random rivers, as data to learn from",
  text="Draws boards, stacks and ranges, solves each river, and writes features, ranges and counterfactual "
  "values to files that NumPy alone reads (docs/batches.md says what is in them). An interrupted call "
  "goes on where it was when it is given again, on any number of cores and processes.",
  examples=(
    "generate --count=10000 --output=data",
    "generate --count=10000 --output=data --coordinator=localhost:4321 --processes=2 --process=0",
  ),
  define=define,
  run=generate,
)
