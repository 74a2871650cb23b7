"""Lists of situations in files, CSV or JSON lines, and the table of their solutions."""

import csv
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from ps_cfr_spiel.arguments import JSON
from ps_cfr_spiel.batches.solutions import Solution
from ps_cfr_spiel.cards.poker import FIELDS, Situation, cards, from_words
from ps_cfr_spiel.storage import replacing

CSV, JSON_LINES = ".csv", (".jsonl", ".ndjson", ".json")
FOUND = (
  *("value_0", "value_1", "best_response_0", "best_response_1"),
  *("exploitability", "percent_of_pot", "iterations"),
)


def read_list(path: Path) -> tuple[list[Situation], list[str]]:
  """Read the situations in a file, and each player's ranges as written.

  CSV has a first line with the fields board, pot, stack (behind), bets, ranges, rake and cap; only board is
  required. JSON lines have an object with these fields in each line. Empty lines are skipped. Texts may have
  commas and percents, as poker players write them. ValueError for a file of neither kind, or one with a line
  that is not a river or has a field twice, which the message names.
  """
  reader = {CSV: _csv, **dict.fromkeys(JSON_LINES, _json)}.get(path.suffix.lower())
  if reader is None:
    raise ValueError(f"{path}: must end in {', '.join((CSV, *JSON_LINES))}, the known formats; rename it.")
  try:
    rows = list(reader(path))
  except (csv.Error, UnicodeDecodeError) as error:
    raise ValueError(f"{path}: {error}") from error
  situations, ranges = [], []
  for line, given in rows:
    try:
      situations.append(from_words(given))
    except ValueError as error:
      raise ValueError(f"{path}, line {line}: {error}") from error
    ranges.append(str(given.get("ranges") or "uniform"))
  if not situations:
    raise ValueError(f"{path}: the file has no situations; add at least one.")
  return situations, ranges


def read_boards(path: Path) -> list[tuple[cards.Board, float]]:
  """Read a list of boards of one street, and their weights, 1 by default.

  CSV has a first line with the fields board and, if wanted, weight. Any other file has a board in each line,
  such as Ks7d2c or "Ks 7d 2c:4", with the weight after the colon. ValueError if a line is not a board with a
  positive weight, or the boards are not alike.
  """
  try:
    if path.suffix.lower() == CSV:
      table = list(_csv(path))
      if table and "board" not in table[0][1]:
        raise ValueError(
          f"{path}, line 1: got {','.join(table[0][1])}; must name the fields, such as board,weight"
        )
      rows = [(line, row.pop("board"), row.pop("weight", "1"), row) for line, row in table]
    else:
      lines = enumerate(path.read_text(encoding="utf-8-sig").splitlines(), start=1)
      split = ((line, *text.partition(":")) for line, text in lines if text.strip())
      rows = [(line, board, weight if colon else "1", {}) for line, board, colon, weight in split]
  except (csv.Error, UnicodeDecodeError) as error:
    raise ValueError(f"{path}: {error}") from error
  boards, seen = [], set()
  sizes: tuple[int, ...] = (3, 4, 5)
  for line, text, given, unknown in rows:
    try:
      if unknown:
        raise ValueError(f"unknown field {next(iter(unknown))!r}; the fields are board and weight")
      board = cards.parse_board(text, sizes)
      if frozenset(board) in seen:
        raise ValueError(f"board={text!r}: listed twice; remove one")
      seen.add(frozenset(board))
      boards.append((board, _weight(given)))
    except ValueError as error:
      raise ValueError(f"{path}, line {line}: {error}") from error
    sizes = (len(board),)
  if not boards:
    raise ValueError(f"{path}: the file has no boards; add at least one.")
  return boards


def _weight(text: str) -> float:
  try:
    weight = float(text)
  except ValueError:
    weight = math.nan
  if not 0 < weight < math.inf:
    raise ValueError(f"weight={text!r}: must be a number above 0")
  return weight


def _csv(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
  with open(path, newline="", encoding="utf-8-sig") as file:
    rows = csv.DictReader(file, skipinitialspace=True)
    names = [name.strip() for name in rows.fieldnames or ()]
    for name in names:
      if names.count(name) > 1:
        raise ValueError(f"{path}, line 1: {name!r} is the name of two columns; leave out one of them.")
    for row in rows:
      if None in row or None in row.values():
        raise ValueError(f"{path}, line {rows.line_num}: must have the fields of the first line.")
      yield rows.line_num, {name.strip(): text.strip() for name, text in row.items()}


def _json(path: Path) -> Iterator[tuple[int, dict[str, JSON]]]:
  with open(path, encoding="utf-8-sig") as file:
    for line, text in enumerate(file, start=1):
      if not text.strip():
        continue
      try:
        given = json.loads(text, object_pairs_hook=_once)
      except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{path}, line {line}: not JSON: {error}") from error
      except ValueError as error:
        raise ValueError(f"{path}, line {line}: {error}") from error
      if not isinstance(given, dict):
        raise ValueError(f"{path}, line {line}: must be an object with fields {', '.join(FIELDS)}.")
      yield line, given


def _once(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
  """An object of JSON; ValueError for a field that it has twice."""
  fields = dict[str, JSON]()
  for name, value in pairs:
    if name in fields:
      raise ValueError(f"{name!r} is given twice, {fields[name]!r} and {value!r}; leave out one of them.")
    fields[name] = value
  return fields


def write_list(
  path: Path, situations: Sequence[Situation], ranges: Sequence[str], solutions: Sequence[Solution]
) -> None:
  """Write a row for each situation: its given fields and its solution, in chips.

  Args:
    path: CSV; an earlier file is replaced by a complete one, else OSError.
    situations, ranges: as from `read_list`.
    solutions: the solution of each.
  """
  with replacing(path, newline="", encoding="utf-8") as file:
    table = csv.writer(file)
    table.writerow([*FIELDS, *FOUND])
    for river, text, solution in zip(situations, ranges, solutions, strict=True):
      behind = river.stack - river.pot // 2
      given = (cards.card_names(river.board), river.pot, behind, river.bets, text, river.rake, river.cap)
      values = solution.value, *(solution.others or (-solution.value,))
      numbers = (*values, *solution.best_response, solution.exploitability)
      share = 100 * solution.exploitability / river.pot
      table.writerow([*given, *(f"{x:.6g}" for x in (*numbers, share)), solution.iterations])
