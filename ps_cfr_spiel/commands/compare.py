"""The command `ps-cfr-spiel compare`: solvers side by side, OpenSpiel's among them."""

from collections.abc import Sequence
from typing import Any

from absl import flags

from ps_cfr_spiel.arguments import check_number
from ps_cfr_spiel.cfr import RULES
from ps_cfr_spiel.commands.command import Command, Flag
from ps_cfr_spiel.commands.flags import JSON, SPOT, say
from ps_cfr_spiel.commands.user_input import UserError, drawing, load_game, user_errors
from ps_cfr_spiel.evaluation import comparison
from ps_cfr_spiel.reports import report
from ps_cfr_spiel.solvers import PSCFRSolver

SOLVERS = {**comparison.OURS, **comparison.THEIRS}
# fmt: off
FLAGS = (
  Flag("solvers", None,
    "Names with commas: regret rules such as rm+ and nrm+, or solvers such as 'OpenSpiel CFR+' and 'external "
    "sampling' (default: CFR, CFR+, NRM+ and external sampling, and OpenSpiel's own).", kind=list),
  Flag("seconds", 1.0, "Seconds of iterations of each solver, without compilation.", least=0.001),
  Flag("png", None, "Picture to draw: exploitability by iterations and by seconds.", value="FILE"),
  *SPOT,
  JSON,
)
# fmt: on


def compare(values: flags.FlagValues, words: Sequence[str]) -> int:
  """Runs the command from its parsed flags and the words besides them; returns the exit code."""
  with user_errors():
    check_number("--seconds", values.seconds, 0.001, 1e6)
  game = load_game(words, values)
  drawn = drawing(values.png)
  solvers = SOLVERS if values.solvers is None else {name: _maker(name) for name in values.solvers}
  if not solvers:
    raise UserError(f"--solvers names none; choose among {', '.join([*RULES, *SOLVERS])}.")
  with user_errors():
    runs = comparison.compare(game, values.seconds, solvers, progress=False if values.json else None)
  if drawn:
    pictures, file = drawn
    pictures.iterations_and_seconds(game, runs).savefig(file)
  if values.json:
    points = {name: [point._asdict() for point in run.points] for name, run in runs.items()}
    say(values, {"game": str(game), "seconds": values.seconds, "runs": points})
    return 0
  print(f"{game}\n\n{comparison.table(runs)}")
  if drawn:
    print(report({"saved": drawn[1]}))
  return 0


def _maker(name: str) -> Any:
  """From a game to the solver of a name."""
  found = {known.lower(): make for known, make in SOLVERS.items()}.get(name.strip().lower())
  if found is not None:
    return found
  rule = name.strip().lower()
  if rule not in RULES:
    known = ", ".join([*RULES, *SOLVERS])
    raise UserError(f"--solvers: unknown solver {name!r}; choose among {known}.")
  return lambda game: PSCFRSolver(game, rule)


COMMAND = Command(
  name="compare",
  arguments="[GAME]",
  summary="Run solvers side by side",
  text="Runs each solver for the same time and measures its average strategy alike, exactly and in float64; "
  "set-up and compilation are told apart. The game must be small enough for OpenSpiel's solvers to walk, "
  "unless --solvers leaves them out. GAME is written as for solve.",
  examples=(
    "compare leduc_poker --seconds=5 --png=leduc.png",
    "compare --solvers=nrm+,pcfr+,dcfr --board='Ks 7d 2c 5h 9s' --ranges='AA, KQs; TT+, AQ'",
  ),
  own=FLAGS,
  run=compare,
)
