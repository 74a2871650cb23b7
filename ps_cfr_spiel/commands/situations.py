"""Many rivers in one call: `solve --situations`, and its parts that `generate` shares."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from absl import flags

from ps_cfr_spiel.batches import Solutions, read_list, solve_batch, write_list
from ps_cfr_spiel.commands.command import Flag
from ps_cfr_spiel.commands.flags import say
from ps_cfr_spiel.commands.user_input import UserError, make_folder, user_errors
from ps_cfr_spiel.device import use_cores
from ps_cfr_spiel.reports import Stopwatch

TABLE = "situations.csv"
METHOD = ("iterations", "target", "rule", "alternating", "skip", "dtype", "leaves")  # flags of `solve_batch`
OTHERS = ("situations", "output", "quiet", "json", "cores", "chunk", "plot", "module")


# fmt: off
SHARING = (
  Flag("cores", None, "Many situations: cores of a CPU to use (default: all).", kind=int, least=1),
  Flag("chunk", None,
    "Many situations: number that is held in memory and written at once (default: 32, on accelerators "
    "1,024).",
    kind=int, least=1),
)
# fmt: on


def solve_list(values: flags.FlagValues, words: Sequence[str]) -> int:
  """Runs `solve --situations`; returns the exit code."""
  known = (*METHOD, *OTHERS)
  foreign = [f"--{name}" for name in values if values[name].present and name not in known]
  if words or foreign:
    what = ", ".join([*map(repr, words), *foreign])
    raise UserError(f"--situations: the file names the rivers, which ps-cfr solves; leave out {what}.")
  path = Path(values.situations)
  with user_errors():
    situations, ranges = read_list(path)
  folder = make_folder(Path(values.output) if values.output is not None else Path("runs") / path.stem)
  solutions, seconds = solve(values, situations, folder, {name: values[name].value for name in METHOD})
  with user_errors():  # of files that were there and are damaged
    write_list(folder / TABLE, situations, ranges, solutions)
    shares = [100 * s.exploitability / river.pot for s, river in zip(solutions, situations, strict=True)]
  facts = {
    "situations": len(situations),
    "table": str(folder / TABLE),
    "largest_exploitability_percent_of_pot": max(shares),
    "seconds": seconds,
  }
  lines = {
    "situations": f"{len(situations):,} from {path}",
    "exploitability": f"at most {max(shares):.3g}% of the pot, half of them at most {np.median(shares):.3g}%",
    "time": f"{seconds:.1f} s, compilation included",
    "table": folder / TABLE,
  }
  say(values, facts, lines)
  return 0


def refuse_sharing(values: flags.FlagValues) -> None:
  """`UserError` for the flags of `SHARING` where a single game is solved."""
  for name in ("cores", "chunk"):
    if values[name].present:
      raise UserError(f"--{name} belongs to --situations; a single game is solved as it is.")


def solve(
  values: flags.FlagValues, situations: Sequence[Any], folder: Path, options: dict[str, Any]
) -> tuple[Solutions, float]:
  """The solutions, in files of a folder, and the seconds of the call."""
  progress = False if values.quiet or values.json else None
  with user_errors():
    use_cores(values.cores)
    options = {**options, "chunk": values.chunk, "output": folder, "progress": progress}
    with Stopwatch() as stopwatch:
      solutions = solve_batch(situations, **options)
    return solutions, stopwatch.seconds
