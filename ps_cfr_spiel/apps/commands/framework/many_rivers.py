"""Many rivers in one call: `solve --situations`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from absl import flags

import ps_cfr_spiel as ps
from ps_cfr_spiel.apps.commands.framework.command import flags_of, given_options
from ps_cfr_spiel.apps.commands.framework.flags import progress_of, say
from ps_cfr_spiel.apps.commands.framework.user_input import given, make_folder
from ps_cfr_spiel.options import BatchOptions
from ps_cfr_spiel.reports import Stopwatch

TABLE = "situations.csv"
OTHERS = ("situations", "output", "quiet", "json", "cores", "chunk", "plot", "module")


def solve_list(values: flags.FlagValues, words: Sequence[str]) -> None:
  """Run `solve --situations`."""
  foreign = given(values, (name for name in values if name not in (*flags_of(BatchOptions), *OTHERS)))
  if what := ", ".join([*map(repr, words), *foreign]):
    raise ValueError(f"--situations: the file names the rivers, which ps-cfr solves; leave out {what}.")
  ps.runtime.use_cores(values.cores)
  path = Path(values.situations)
  situations, ranges = ps.batches.read_list(path)
  folder = make_folder(values.output or f"runs/{path.stem}")
  options = BatchOptions.of(**given_options(values, BatchOptions))
  try:
    with Stopwatch() as stopwatch:
      solutions = ps.batches.solve_batch(
        situations, options, chunk=values.chunk, output=folder, progress=progress_of(values)
      )
  except KeyboardInterrupt:
    raise KeyboardInterrupt(f"interrupted; the same call continues with the files in {folder}") from None
  ps.batches.write_list(folder / TABLE, situations, ranges, solutions)
  shares = [100 * s.exploitability / river.pot for s, river in zip(solutions, situations, strict=True)]
  facts = {
    "situations": len(situations),
    "table": str(folder / TABLE),
    "largest_exploitability_percent_of_pot": max(shares),
    "seconds": stopwatch.seconds,
  }
  lines = {
    "situations": f"{len(situations):,} from {path}",
    "exploitability": f"at most {max(shares):.3g}% of the pot, half of them at most {np.median(shares):.3g}%",
    "time": f"{stopwatch.seconds:.1f} s, compilation included",
    "table": folder / TABLE,
  }
  say(values, facts, lines)
