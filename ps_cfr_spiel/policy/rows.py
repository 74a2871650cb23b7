"""A policy as a table: a row for every action of every infostate, for spreadsheets and data frames."""

import csv
import json
import math
import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyspiel

from ps_cfr_spiel.policy.naming import action_names, line
from ps_cfr_spiel.policy.reach import Strategies
from ps_cfr_spiel.policy.worth import Worths
from ps_cfr_spiel.tree import Decision, Labels

COLUMNS: tuple[str, ...] = (
  "player",
  "public_state",
  "line",
  "type",
  "infostate",
  "action",
  "action_name",
  "probability",
  "value",
  "best_response_value",
  "reach",
  "others_reach",
  "equity",
)
SEPARATOR = ", "  # between the moves of a line

Row = dict[str, Any]


def rows(
  game: pyspiel.Game,
  labels: Labels,
  strategies: Strategies,
  worths: Worths,
  public_states: Collection[int] | None = None,
) -> Iterator[Row]:
  """A dictionary with the keys `COLUMNS` for every action of every infostate; see `TreePolicy.to_rows`.

  Args:
    game: the game, to name actions.
    labels: of its tree.
    strategies: for each player [A, rows, H] for each block.
    worths: of the same profile.
    public_states: only these.
  """
  lines: dict[int, str] = {}
  for decision in labels.decisions:
    number = decision.public_state
    if public_states is not None and number not in public_states:
      continue
    if number >= 0 and number not in lines:
      lines[number] = SEPARATOR.join(line(game, labels, number))
    yield from _rows_of(decision, lines.get(number), game, labels, strategies, worths)


def _rows_of(
  decision: Decision,
  line_: str | None,
  game: pyspiel.Game,
  labels: Labels,
  strategies: Strategies,
  worths: Worths,
) -> Iterator[Row]:
  """The rows of one decision."""
  names, worth = action_names(game, labels, decision), worths.at(decision)
  table = strategies[decision.player][decision.block][:, decision.row]
  types = labels.types[decision.player]
  for h, infostate in enumerate(decision.infostates):
    if infostate is None:
      continue
    for a, (action, name) in enumerate(zip(decision.legal_actions, names, strict=True)):
      values = (
        decision.player,
        decision.public_state if decision.public_state >= 0 else None,
        line_,
        types[h] if len(types) > 1 or types[h] else None,
        infostate,
        action,
        name,
        float(table[a, h]),
        _number(worth.value[a, h]),
        _number(worth.best[a, h]),
        float(worth.reach.own[h]),
        float(worth.reach.others[h]),
        None if worth.reach.equity is None else _number(worth.reach.equity[h]),
      )
      yield dict(zip(COLUMNS, values, strict=True))


def _number(value: float) -> float | None:
  """A float; None, which is JSON's null and an empty cell, for nan."""
  return None if math.isnan(value) else float(value)


def write_rows(path: str | os.PathLike, table: Sequence[Row]) -> None:
  """Writes rows to a file: CSV with a header, or JSON lines if its name ends in .jsonl.

  Raises:
    OSError: the file cannot be written.
  """
  with open(path, "w", encoding="utf-8", newline="") as file:
    if Path(path).suffix == ".jsonl":
      file.writelines(f"{json.dumps(row)}\n" for row in table)
      return
    writer = csv.DictWriter(file, COLUMNS)
    writer.writeheader()
    writer.writerows(table)
