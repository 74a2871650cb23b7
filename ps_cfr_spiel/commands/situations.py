"""What `solve --situations` and `generate` share, and the first of them: many rivers in one call."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from absl import flags

from ps_cfr_spiel.batches import Solutions, read_list, solve_batch, write_list
from ps_cfr_spiel.commands.flags import say
from ps_cfr_spiel.commands.user_input import UserError, make_folder, user_errors
from ps_cfr_spiel.device import use_cores

TABLE = "situations.csv"
METHOD = ("iterations", "target", "rule", "alternating", "skip", "dtype", "leaves")  # flags of `solve_batch`
OTHERS = ("situations", "output", "quiet", "json", "cores", "chunk", "plot", "module")


def define_sharing(values: flags.FlagValues) -> None:
  """Defines the flags that say how much is done at once, and where."""
  into: dict[str, Any] = {"flag_values": values, "lower_bound": 1}
  flags.DEFINE_integer("cores", None, _HELP["cores"], **into)
  flags.DEFINE_integer("chunk", None, _HELP["chunk"], **into)


_HELP = {
  "cores": "Many situations: cores of a CPU to use; all by default.",
  "chunk": "Many situations: how many are held in memory and written at once (32 by default, on accelerators "
  "1,024).",
}


def solve_list(values: flags.FlagValues, words: Sequence[str]) -> int:
  """Runs `solve --situations`; returns the exit code."""
  known = (*METHOD, *OTHERS)
  foreign = [f"--{name}" for name in values if values[name].present and name not in known]
  if words or foreign:
    what = ", ".join([*map(repr, words), *foreign])
    raise UserError(f"--situations: the file says which rivers to solve, by ps-cfr; leave out {what}.")
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
  """`UserError` for the flags of `define_sharing` where a single game is solved."""
  for name in ("cores", "chunk"):
    if values[name].present:
      raise UserError(f"--{name} belongs to --situations; a single game is solved as it is.")


def solve(
  values: flags.FlagValues, situations: Sequence[Any], folder: Path, options: dict[str, Any]
) -> tuple[Solutions, float]:
  """The solutions, in files of a folder, and how many seconds they took."""
  started = time.perf_counter()
  progress = False if values.quiet or values.json else None
  with user_errors():
    use_cores(values.cores)
    options = {**options, "chunk": values.chunk, "output": folder, "progress": progress}
    return solve_batch(situations, **options), time.perf_counter() - started
