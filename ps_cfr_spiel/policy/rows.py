"""A policy as a table: a row for every action of every infostate, for spreadsheets and data frames."""

import csv
import json
import math
import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from ps_cfr_spiel.reports import progress_bar
from ps_cfr_spiel.storage import replacing

COLUMNS: tuple[str, ...] = (
  *("player", "public_state", "line", "type", "infostate", "action", "action_name", "probability"),
  *("value", "best_response_value", "ev", "reach", "others_reach", "equity", "locked"),
)
SEPARATOR = ", "  # between the moves of a line

Row = dict[str, Any]


def rows(policy: Any, public_states: Collection[int] | None = None) -> Iterator[Row]:
  """A dictionary with the keys `COLUMNS` for every action of every infostate; see `TreePolicy.to_rows`."""
  labels = policy.labels
  lines: dict[int, str] = {}
  decisions = enumerate(labels.decisions)
  for n, decision in progress_bar(
    None, iterable=decisions, total=len(labels.decisions), desc="Rows", unit=" decisions"
  ):
    number = decision.public_state
    if public_states is not None and number not in public_states:
      continue
    alive = [h for h, infostate in enumerate(decision.infostates) if infostate is not None]
    if not alive:  # the board holds a card of every hand
      continue
    if number >= 0 and number not in lines:
      lines[number] = SEPARATOR.join(labels.line_to(number))
    place = (decision.player, number, lines[number]) if number >= 0 else (decision.player, None, None)
    actions = list(zip(decision.legal_actions, labels.move_names(decision), strict=True))
    types = labels.types[decision.player]
    strategy, worth, often = policy.table(decision), policy.worths.at(decision), policy.reach(decision)
    spent, locks = labels.source.chips_in_pot(number, decision.player), policy.locked.get(n)
    for h in alive:
      infostate, type_ = decision.infostates[h], types[h] or None
      equity = None if often.equity is None else _number(often.equity[h])
      locked = locks is not None and bool(locks[:, h].any())
      for a, action in enumerate(actions):
        values = float(strategy[a, h]), _number(worth.value[a, h]), _number(worth.best[a, h])
        values += (_number(worth.value[a, h] + spent),)
        ends = float(often.acting[h]), float(often.others[h]), equity, locked
        yield dict(zip(COLUMNS, (*place, type_, infostate, *action, *values, *ends), strict=True))


def _number(value: float) -> float | None:
  """A float; None, which is JSON's null and an empty cell, for nan."""
  return None if math.isnan(value) else float(value)


def write_rows(path: str | os.PathLike, table: Iterable[Row]) -> int:
  """Write rows to a file: CSV with a header, or JSON lines if its name ends in .jsonl; returns their number.

  OSError if the file cannot be written.
  """
  count = 0
  with replacing(path, encoding="utf-8", newline="") as file:
    writer = csv.DictWriter(file, COLUMNS)
    as_json = Path(path).suffix == ".jsonl"
    if not as_json:
      writer.writeheader()
    for row in table:
      count += 1
      if as_json:
        file.write(f"{json.dumps(row)}\n")
      else:
        writer.writerow(row)
  return count
