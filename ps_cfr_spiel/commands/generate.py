"""The command `ps-cfr-spiel generate`: random rivers, turns or flops with their values, to learn from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel
from absl import flags

import ps_cfr_spiel as ps
from ps_cfr_spiel.commands.command import Command, Flag
from ps_cfr_spiel.commands.flags import DTYPE, JOIN, JSON, QUIET, RULE, join_others, progress_of, say
from ps_cfr_spiel.commands.many_rivers import SHARING, solve
from ps_cfr_spiel.commands.user_input import load_values, make_folder
from ps_cfr_spiel.poker import KINDS, RandomSituations, Situation, cards

SEARCHES = "searches"
PAIR = re.compile(r"(?<=[0-9.])-(?=[0-9.])")  # no exponent is split
EACH = 20  # rivers of a turn that is searched
METHOD = ("iterations", "target", "rule", "dtype")  # flags of `solve_batch`
STREETS = {name: count for count, name in cards.STREETS.items()}


# fmt: off
FLAGS = (
  Flag("count", 1000, "Situations to draw and solve.", least=1),
  Flag("street", "river",
    "Situations are rivers, solved to the end; or turns or flops, searched as far as the next card, with "
    "--values beyond.", choices=tuple(STREETS)),
  Flag("seed", 0, "Seed of the random numbers.", least=0),
  Flag("pot", 1000, "Chips in the pot.", least=2, value="CHIPS"),
  Flag("ratios", ["1", "3", "10"],
    "Stacks behind, in pots, of which each situation draws one; each is compiled once. 1-4 is any between.",
    value="X,..."),
  Flag("bets", "fcpa", "Bet sizes, as in river_subgame.", value="SIZES"),
  Flag("ranges", "halves",
    "Distribution of ranges: halves, as DeepStack's; even, every hand by itself; betting, as bets before the "
    "river leave them; or searches, those at which searches of turns end, before the last card; --pot and "
    "--ratios are then the turn's.", choices=(*KINDS, SEARCHES)),
  Flag("values", None,
    "With --ranges=searches or turns and flops: the value function of those searches, a file of learn "
    "--data, of the next street.", value="FILE"),
  Flag("iterations", 500, "Iterations of each situation, at most.", least=1),
  Flag("target", None,
    "Exploitability at which a situation is done: in percent of the pot (0.1%) or in chips.", value="AMOUNT"),
  Flag("rule", "nrm+", "Regret rule; cfr is rm, cfr+ is rm+.", choices=RULE.choices),
  DTYPE,
  Flag("output", None,
    "Folder for the data (default: runs/rivers, turns or flops). The same call skips the work that is there.",
    value="FOLDER"),
  QUIET,
  *SHARING,
  JOIN,
  JSON,
)
# fmt: on


def _run(values: flags.FlagValues, words: Sequence[str]) -> int | None:
  if words:
    raise ValueError(
      f"generate takes flags only, got {' '.join(map(repr, words))}. It draws spots of hold'em, those of "
      f"--street, --pot, --ratios and --bets."
    )
  try:
    pairs = [tuple(map(float, PAIR.split(word))) for word in values.ratios]
  except ValueError:
    raise ValueError(
      f"--ratios={','.join(values.ratios)}: expected numbers, or pairs such as 1-4, with commas between."
    ) from None
  ratios: Any = tuple(pair[0] if len(pair) == 1 else pair for pair in pairs)
  size, street, searches = STREETS[values.street], f"{values.street}s", values.ranges == SEARCHES
  early = size < cards.BOARD_SIZE
  if early and searches:
    raise ValueError("--ranges=searches is for rivers; leave out --street.")
  if (early or searches) != (values["values"].value is not None):
    raise ValueError(
      "--ranges=searches and --values belong together; so do --street=turn or flop and --values."
    )
  if searches and values.join is not None:
    raise ValueError("--ranges=searches searches in one process; leave out --join.")
  ps.device.use_cores(values.cores)  # values start JAX
  join_others(values.join)
  known = _values_of(values, size + early) if early or searches else None
  if searches:
    drawn = _met(values, ratios, known)
  else:
    given = (values.count, values.seed, values.pot, ratios, values.bets, values.ranges, size)
    drawn = RandomSituations(*given)
  folder = make_folder(values.output or f"runs/{street}")
  options = {name: values[name].value for name in METHOD} | {"hands": "all", "strategies": False}
  solutions, seconds = solve(values, drawn, folder, options | {"values": known if early else None})
  if not ps.device.is_first_process():
    return None
  pots = [values.pot] * len(drawn) if isinstance(drawn, RandomSituations) else [one.pot for one in drawn]
  shares = [100 * s.exploitability / pot for s, pot in zip(solutions, pots, strict=True)]
  facts = {
    street: len(drawn),
    "folder": str(folder),
    "mean_exploitability_percent_of_pot": float(np.mean(shares)),
    "largest_exploitability_percent_of_pot": max(shares),
    "seconds": seconds,
  }
  where = " within the street" if early else ""
  lines = {
    street: f"{len(drawn):,}, seed {values.seed}",
    "exploitability": f"{np.mean(shares):.3g}% of the pot on average, at most {max(shares):.3g}%{where}",
    "time": f"{seconds:.1f} s, compilation included",
    "data": f"{folder}, files that NumPy reads",
  }
  say(values, facts, lines)


def _values_of(values: flags.FlagValues, size: int) -> Any:
  """The values of --values; ValueError unless they are of boards of this size."""
  from ps_cfr_spiel import learning  # needs the extra

  file = str(values["values"].value)
  street = "holdem" if size < cards.BOARD_SIZE else "holdem_subgame(board=2c3c4c5c)"  # any turn
  known = load_values(file, pyspiel.load_game(street))
  if not isinstance(known, learning.BoardValues) or known.cards != size:
    raise ValueError(
      f"--values={file}: expected values of {cards.STREETS[size]}s, as learn --data makes them."
    )
  return known


def _met(values: flags.FlagValues, ratios: tuple[float, ...], known: Any) -> list[Situation]:
  """The rivers that searches of turns ask about."""
  from ps_cfr_spiel import learning  # needs the extra

  turns, drawn = -(-values.count // EACH), (values.seed, values.pot, ratios, values.bets)
  found = learning.rivers_met(known, turns, *drawn, EACH, progress=progress_of(values))
  return found[: values.count]


COMMAND = Command(
  name="generate",
  arguments="",
  summary="Solve random rivers, turns or flops, as data to learn from",
  text="Draws boards, stacks and ranges, solves each situation, and writes features, ranges and "
  "counterfactual values to files that NumPy alone reads (docs/batches.md describes them). An interrupted "
  "call goes on where it was when it is given again, on any number of cores and processes.",
  examples=(
    "generate --count=10000 --output=data",
    "generate --street=turn --iterations=60 --values=runs/rivers-values/values.safetensors --output=turns",
    "generate --count=10000 --output=data --join=0/2@localhost:4321",
  ),
  own=FLAGS,
  run=_run,
)
