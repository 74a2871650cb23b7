"""The command `ps-cfr-spiel report`: many boards solved, a row each, as a CSV file, a table and a page."""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
from absl import flags

import ps_cfr_spiel as ps
from ps_cfr_spiel.apps.commands.framework.command import INTERRUPTED, Command, Flag, flag_of, flags_of
from ps_cfr_spiel.apps.commands.framework.flags import (
  BITS,
  DEVICE,
  JSON,
  QUIET,
  SPOT,
  local_regrets_of,
  progress_of,
  say,
)
from ps_cfr_spiel.apps.commands.framework.shared_table import SharedTable
from ps_cfr_spiel.apps.commands.framework.user_input import (
  keep_apart,
  load_values,
  make_folder,
  refuse,
  writable,
)
from ps_cfr_spiel.arguments import check_target
from ps_cfr_spiel.cards.poker import cards, deals_on, holdem, next_boards, plain, representatives
from ps_cfr_spiel.options import BatchOptions, SpotOptions
from ps_cfr_spiel.reports import Stopwatch, progress_bar
from ps_cfr_spiel.storage import replacing

STREETS = {"flops": (0, 3), "turns": (3, 1), "rivers": (4, 1)}  # cards of --board, and those that come
SPOT_NAMES = [name for name in flags_of(SpotOptions) if name != "board"]
LAYOUT = "{remaining} to go: {l_bar}{bar}{r_bar}"  # of the progress bar
ACCURATE = "0.5%"  # target with values, whose own errors more iterations do not reduce
SITUATION = ("pot", "stack", "bets", "ranges", "rake", "cap")
# How a board of some weight is solved: the columns of its row, and the names of the line's moves.
Solve = Callable[[cards.Board, float], tuple[dict[str, float], str]]
# Columns with the same text in all rows; the line also in full.
GIVEN = (*SPOT_NAMES, "line", "moves", "method")

# fmt: off
FLAGS = (
  Flag("at", "", "Line whose strategy and EVs are reported, as in show --at (default: the start).",
    value="MOVES"),
  flag_of(BatchOptions, "iterations"),
  flag_of(BatchOptions, "target"),
  flag_of(BatchOptions, "tremble"),
  Flag("values", None,
    "Solve turns and flops quickly: to the end of their betting, with a network's values of the next street, "
    "a file of learn or pretrained. Later streets have the bets of the network. Without --iterations and "
    f"--target, until {ACCURATE} of the pot, the error of the packaged values.", value="FILE"),
  BITS,
  DEVICE,
  Flag("csv", None,
    "File of the report, which gets each row once it is solved (default: runs/report.csv). The same "
    "command again continues it, and in several processes shares its boards.", value="FILE"),
  Flag("html", None, "File for a page with the table, to be sorted by any column.", value="FILE"),
  QUIET,
  *SPOT,
  JSON,
)
# fmt: on


def _run(values: flags.FlagValues, words: Sequence[str]) -> int | None:
  given: dict[str, Any] = plain({name: values[name].value for name in SPOT_NAMES})
  boards = _boards(values, words, given["ranges"])
  file = Path(values.csv) if values.csv else make_folder("runs") / "report.csv"
  for name, path in (("csv", file), ("html", values.html)):
    if path:
      keep_apart(name, writable(name, path, f"report.{name}"), words[0])
  target = values.target
  if values["values"].present and not target and not values["iterations"].present:
    target = ACCURATE
  method = f"iterations={values.iterations}, target={target or 'none'}, bits={values.bits}"
  method += f", tremble={values.tremble:g}" if values.tremble else ""
  solve: Solve = functools.partial(_to_the_end, values, given)
  if values["values"].present:
    method += f", values={values['values'].value}"
    solve = _with_values(values, given, boards[0][0], target)
  same = {**given, "line": values.at.strip(), "method": method}
  with SharedTable(file) as table:
    with Stopwatch() as stopwatch, contextlib.suppress(KeyboardInterrupt):
      _fill(values, table, boards, same, solve)
    rows = _rows(table, boards, same, bool(values.tremble))
  if len(rows) < len(boards):
    print(f"Interrupted. {file} has {len(rows):,} of {len(boards):,} boards; the same command continues it.")
    return INTERRUPTED
  _tell(values, file, rows, stopwatch.seconds)


def _fill(
  values: flags.FlagValues,
  table: SharedTable,
  boards: Sequence[tuple[cards.Board, float]],
  same: dict[str, str],
  solve: Solve,
) -> None:
  """Solve the boards without a row, each unless another process does; those of the others at last.

  A board that another process has is waited for, and solved if that process ends without its row.
  """

  def missing() -> dict[str, int]:
    done = {row["board"] for row in _rows(table, boards, same, bool(values.tremble))}
    return {name: number for name, number in numbers.items() if name not in done}

  numbers = {cards.card_names(board): number for number, (board, _) in enumerate(boards)}
  counted = {"total": len(boards), "initial": len(boards) - len(missing()), "desc": "Report", "unit": "board"}
  first = not (values.quiet or values.json)
  with progress_bar(progress_of(values), **counted, bar_format=LAYOUT) as bar:
    for wait in (False, True):
      for name, number in missing().items():
        with table.claim(number, wait=wait) as mine, Stopwatch() as stopwatch:
          if not mine or name not in missing():
            continue
          columns, moves = solve(*boards[number])
          row = {"board": name, "weight": boards[number][1], **columns}
          row |= {key: (same | {"moves": moves})[key] for key in GIVEN}
          if name in missing():  # or refused, if another report began in this file meanwhile
            table.append(list(row), list(map(_text, row.values())))
        rest = len(missing())
        bar.update(len(boards) - rest - bar.n)
        if rest and first:
          most = _duration(rest * stopwatch.last)
          bar.write(f"Boards to go: {rest:,}, at most {most}, as {name} took {_duration(stopwatch.last)}.")
        first = False


def _duration(seconds: float) -> str:
  """A time in the unit that suits it, such as "25 min"."""
  units = ((86400, "days"), (3600, "h"), (60, "min"), (1, "s"))
  size, unit = next((pair for pair in units if seconds >= 2 * pair[0]), units[-1])
  return f"{seconds / size:.0f} {unit}"


def _boards(values: flags.FlagValues, words: Sequence[str], ranges: str) -> list[tuple[cards.Board, float]]:
  if len(words) != 1:
    raise ValueError(f"report needs {', '.join(STREETS)} or one file with boards; got {len(words)} words.")
  street, colon, count = words[0].partition(":")
  if street not in STREETS:
    refuse(values, ("board",), f"is not for the boards of {words[0]}")
    if not Path(words[0]).exists():
      raise ValueError(f"no such file: {words[0]}; report takes {', '.join(STREETS)} or a file with boards.")
    boards = ps.batches.read_boards(Path(words[0]))
    if bad := next((board for board, _ in boards if not deals_on(board, ranges)), None):
      raise ValueError(
        f"{words[0]}: no hands of these ranges can be dealt on {cards.card_names(bad)}; remove it."
      )
    return boards
  if colon and not count.isdecimal():
    raise ValueError(
      f"report {words[0]}: expected a number of {street} after the colon, such as {street}:49."
    )
  size, more = STREETS[street]
  board: cards.Board = ()
  if not size:
    refuse(values, ("board",), f"is not for a report on {street}")
  elif values.board is None:
    raise ValueError(f"report {street} needs --board with {size} cards, after which the next one comes.")
  else:
    board = cards.parse_board(values.board, (size,))
  boards = [(one, float(weight)) for one, weight in next_boards(board, more, ranges)]
  return representatives(boards, int(count)) if colon else boards


def _with_values(
  values: flags.FlagValues, given: Mapping[str, object], board: cards.Board, target: str | None
) -> Solve:
  """A way to solve boards like this one to the end of their street, by a network's values of the next one."""
  if len(board) == cards.BOARD_SIZE:
    raise ValueError("--values is for turns and flops; rivers are solved to the end.")
  refuse(values, ("at", "tremble", "bits"), "is not for --values, which is for the start alone")
  if "/" in str(given["bets"]):
    raise ValueError(f"--bets={given['bets']}: with --values, give the bets of one street.")
  known = load_values(str(values["values"].value), holdem(cards.card_names(board), **given))

  def solve(board: cards.Board, weight: float) -> tuple[dict[str, float], str]:
    game = holdem(cards.card_names(board), **given)
    state = game.new_initial_state()
    while state.is_chance_node():
      state.apply_action(state.legal_actions()[0])
    actions = [state.action_to_string(action) for action in state.legal_actions()]
    options = {"iterations": values.iterations, "target": target, "device": values.device}
    fields = {name: x for name, x in game.get_parameters().items() if name in SITUATION}
    spot = ps.batches.situation(board, **fields, sizes=(len(board),))
    (solution,) = ps.batches.solve_batch([spot], values=known, progress=progress_of(values), **options)
    row = ps.views.solution_row(solution, spot, actions, weight * deals_on(board, str(given["ranges"])))
    reached = {"percent_of_pot": 100 * solution.exploitability / spot.pot, "iterations": solution.iterations}
    return row | reached, ""

  return solve


def _to_the_end(
  values: flags.FlagValues, given: Mapping[str, object], board: cards.Board, weight: float
) -> tuple[dict[str, float], str]:
  """The columns that the solution of a board fills, and the names of the line's moves."""
  game = holdem(cards.card_names(board), **given)
  pot = ps.views.pot_of(game)
  assert pot is not None
  target = check_target("--target", values.target, pot)
  solver, moves = _solution(values, game, target)
  deals = weight * deals_on(board, str(given["ranges"]))
  reached = {"percent_of_pot": 100 * solver.exploitability() / pot, "iterations": solver.iteration}
  policy = solver.average_policy()
  del solver  # its tables and the values need not fit together
  row = ps.views.board_row(policy, values.at, deals) | reached
  if values.tremble:
    regrets = local_regrets_of(policy)
    _, mean, _, worst = regrets.losses() if regrets else ps.measures.Losses.of(np.zeros(0))
    row |= zip(ps.views.LOCAL_REGRETS, (100 * mean / pot, 100 * worst / pot), strict=True)
  return row, moves


def _solution(values: flags.FlagValues, game: pyspiel.Game, target: float) -> tuple[ps.PSCFRSolver, str]:
  """The solver of a board, after as many iterations as `solve` runs; and the names of the line's moves."""
  solver = ps.PSCFRSolver(game, bits=int(values.bits), device=values.device, tremble=values.tremble)
  solver.values_fit()  # or it is refused now
  number = solver.tree.names.find_turn(values.at)  # now rather than after the work
  moves = ", ".join(solver.tree.names.line_to(number))
  progress = progress_of(values)
  solver.compile(progress)
  if solver.exploitability() > target:
    solver.run(
      values.iterations,
      progress=progress,
      every=ps.measures.next_measurement,
      callback=lambda _: solver.exploitability() <= target,
    )
  return solver, moves


def _text(value: object) -> str:
  return f"{value:.6g}" * math.isfinite(value) if isinstance(value, float) else str(value)


def _rows(
  table: SharedTable, boards: Sequence[tuple[cards.Board, float]], same: Mapping[str, str], trembles: bool
) -> list[dict[str, str]]:
  """The rows of the file so far, in the order of the boards; ValueError if it is another report.

  It has columns for local regrets exactly if the solver trembles.
  """
  text, file = table.text(), table.path
  if not text:
    return []
  head, line, _ = text.partition("\n")
  names = next(csv.reader([head]), [])
  other = f"{file} is not a report of this command; name another file with --csv."
  if not line or names[:2] != ["board", "weight"] or tuple(names[-len(GIVEN) :]) != GIVEN:
    raise ValueError(other)
  rows = list(csv.DictReader(io.StringIO(text)))
  for row in rows:
    for name, value in same.items():
      if row[name] != value:
        raise ValueError(
          f"{file} is a report with {name} {row[name]!r}, not {value!r}; name another file with --csv, or "
          "delete it."
        )
  if any((name in names) != trembles for name in ps.views.LOCAL_REGRETS):
    raise ValueError(other)
  order = {(cards.card_names(board), _text(weight)): number for number, (board, weight) in enumerate(boards)}
  by_number = {order.get((row["board"], row["weight"]), -1): row for row in rows}
  if -1 in by_number:
    raise ValueError(f"{file} is a report on other boards; name another file with --csv, or delete it.")
  return [by_number[number] for number in sorted(by_number)]


def _tell(values: flags.FlagValues, file: Path, rows: Sequence[Mapping[str, str]], seconds: float) -> None:
  boards = [row["board"] for row in rows]
  numbers = [
    {name: float(text or "nan") for name, text in row.items() if name not in ("board", *GIVEN)}
    for row in rows
  ]
  about = ", ".join(f"{name} {rows[0][name]}" for name in GIVEN if rows[0][name])
  if values.html:
    with replacing(values.html, encoding="utf-8") as page:
      page.write(ps.views.boards_page(boards, numbers, about))
  beyond = values["values"].value
  worst = max(row["percent_of_pot"] for row in numbers)
  facts = {
    "boards": len(rows),
    "table": str(file),
    **({"page": values.html} if values.html else {}),
    "values": beyond,
    "average": ps.views.average_row(numbers),
    "largest_exploitability_percent_of_pot": worst,
    "seconds": seconds,
  }
  if not values.json:
    print(f"{ps.views.boards_text(boards, numbers)}\n")
  lines = {
    "boards": f"{len(rows):,}",
    "line": rows[0]["moves"] or "the start",
    "solved": f"to the end of the street, then values: {beyond}" if beyond else "to the end",
    "exploitability": f"at most {worst:.3g}% of the pot{', if the values are right' if beyond else ''}",
    **({"local regret": _local_regret(numbers)} if values.tremble else {}),
    "time": f"{seconds:.1f} s",
    "saved": f"{file} and {values.html}" if values.html else file,
  }
  say(values, facts, lines)


def _local_regret(rows: Sequence[Mapping[str, float]]) -> str:
  mean, worst = (np.array([row[name] for row in rows]) for name in ps.views.LOCAL_REGRETS)
  if not np.isfinite(mean).any():
    return "not measured, the boards have too many infostates"
  return f"mean {np.nanmean(mean):.3g}%, worst {np.nanmax(worst):.3g}% of the pot"


COMMAND = Command(
  name="report",
  arguments="BOARDS",
  summary="Solve many boards of a spot, a row each",
  text="BOARDS are flops (all of them, up to the names of suits), turns or rivers (all next cards of "
  "--board), such as flops:49 of them that stand for all, with weights, or a file: a CSV file with the "
  "columns board and, if wanted, weight, or lines such as Ks7d2c or Ks7d2c:4. A row has the frequency and EV "
  "of every action at a line, EV and equity of both players, and the exploitability, with --tremble also the "
  "mean and the worst local regret; averages weigh boards by their weights and the hands possible on them.",
  examples=(
    "report turns --board='Ks 7d 2c' --ranges='AA, KQs; TT+, AQ' --bets='50%, a' --target=0.5%",
    "report rivers --board='Ks 7d 2c 5h' --at=check --html=rivers.html",
    "report flops --ranges='77+, AT+; 22+, A2s+' --bets='33%; a' --pot=6 --stack=20 --target=1%",
    "report flops:49 --ranges='77+; 22+, A2s+' --bets=33%,a --pot=6 --stack=20 --values=pretrained",
    "report boards.csv --csv=report.csv",
  ),
  options=FLAGS,
  run=_run,
)
