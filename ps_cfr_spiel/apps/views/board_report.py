"""A report over boards: the strategy at one line of hold'em and both players' EV and equity, a row a board.

A row is a dictionary by the names of a table's columns; a report's file is such a table, and the text and
the page show rows that were read from it. Averages weigh a row by its `deals`: the number of boards that it
stands for, times the pairs of hands that can be dealt on it, times the probability of the line. An action's
EV is that of the hands that play it, so that the mean over the actions is the player's EV.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from ps_cfr_spiel import TreePolicy
from ps_cfr_spiel.apps.views.charts import columns_text, percent_text, value_text
from ps_cfr_spiel.apps.views.pages import page_of
from ps_cfr_spiel.apps.views.public_state_view import spot, weighted_mean, worth_at
from ps_cfr_spiel.apps.views.units import SEATS
from ps_cfr_spiel.batches import Situation, Solution
from ps_cfr_spiel.cards.notation import grouped
from ps_cfr_spiel.cards.poker import compatible

EV = " EV"  # after an action, in the name of a column
MOST_ROWS = 50  # of the table as text
#: Columns of strategies that were solved with trembles: the losses at infostates, in percent of the pot.
LOCAL_REGRETS = ("mean_local_regret_percent_of_pot", "worst_local_regret_percent_of_pot")

Row = Mapping[str, float]


def board_row(policy: TreePolicy, line: str, deals: float) -> dict[str, float]:
  """The columns of one board that its solution fills; `deals` are those of the board, before its line.

  The `line`, the public moves to the spot, is written as for `views.spot`; ValueError if the game has no such
  line, or no player acts after it.
  """
  place = spot(policy, line)
  worth = worth_at(policy, place).since(place.spent[place.player])
  come, both = place.reach * place.others, worth.of_both(place)
  first, second = both[place.player], both[1 - place.player]  # player 0's, player 1's
  row = {"deals": deals * float(come.sum())}
  row |= {"ev_0": first[0], "ev_1": second[0], "equity_0": first[1], "equity_1": second[1]}
  for name, played, value in zip(place.actions, place.probability * come, worth.value, strict=True):
    row[name] = weighted_mean(played / np.where(come > 0, come, 1), come)
    row[name + EV] = weighted_mean(value, played)
  return row


def solution_row(
  solution: Solution, situation: Situation, actions: Sequence[str], deals: float
) -> dict[str, float]:
  """The columns of a turn or flop that `solve_batch` solves with values of the next street, at its start.

  `actions` are the names of the first decision's. Values of single actions are not kept: they are nan.
  ValueError without strategies.
  """
  if solution.strategies is None or solution.hands is None or solution.checked is None:
    raise ValueError("expected a solution with values of the next street, and with strategies.")
  first, second = situation.ranges / situation.ranges.sum(-1, keepdims=True)
  come = first * compatible(second)
  half, total = situation.pot / 2, come.sum()
  value = float(solution.value) + half
  equity = (float(first @ solution.checked[0]) / total + half) / situation.pot
  row = {"deals": deals, "ev_0": value, "ev_1": situation.pot - value}
  row |= {"equity_0": equity, "equity_1": 1 - equity}
  hands = solution.hands[0]
  (probability,) = solution.strategies[0][0].swapaxes(0, 1)  # player 0 begins
  for name, played in zip(actions, probability, strict=True):
    row |= {name: weighted_mean(played, come[hands]), name + EV: np.nan}
  return row


def actions_of(row: Row) -> list[str]:
  """The actions among the columns of a row."""
  return [name for name in row if name + EV in row]


def average_row(rows: Sequence[Row]) -> dict[str, float]:
  """The mean of each column but the board's, over all deals; of weights and deals the sum."""
  deals = np.array([row["deals"] for row in rows])
  means = {"weight": sum(row["weight"] for row in rows), "deals": float(deals.sum())}
  for name in rows[0]:
    if name.endswith(EV):
      often = deals * np.nan_to_num([row[name.removesuffix(EV)] for row in rows])
      means[name] = weighted_mean([row[name] for row in rows], often)
    elif name not in means:
      means[name] = weighted_mean([row[name] for row in rows], deals)
  return means


def boards_text(boards: Sequence[str], rows: Sequence[Row]) -> str:
  """A table of the first rows and of the averages over all."""
  actions = actions_of(rows[0])
  head = ["", *(text for name in actions for text in (grouped(name), "EV"))]
  head += [f"{what} {seat}" for what in ("EV", "equity") for seat in SEATS]
  lines = [head]
  shown = list(zip(boards, rows, strict=True))[:MOST_ROWS]
  for name, row in [*shown, ("average", average_row(rows))]:
    cells = [text for a in actions for text in (percent_text(row[a]), value_text(row[a + EV]))]
    cells += [value_text(row[f"ev_{i}"]) for i in (0, 1)] + [percent_text(row[f"equity_{i}"]) for i in (0, 1)]
    lines.append([name, *cells])
  if len(rows) > MOST_ROWS:
    lines.insert(-1, ["...", *[""] * (len(head) - 1)])
  return columns_text(lines)


def boards_page(boards: Sequence[str], rows: Sequence[Row], about: str) -> str:
  """A page for the browser, as text to write to a file: the table, sorted by a click on a column."""
  columns = [("weight", "boards", "count")]
  for name in actions_of(rows[0]):
    columns += [(name, grouped(name), "share"), (name + EV, "EV", "chips")]
  columns += [(f"ev_{i}", f"EV {SEATS[i]}", "chips") for i in (0, 1)]
  columns += [(f"equity_{i}", f"equity {SEATS[i]}", "share") for i in (0, 1)]
  columns += [("percent_of_pot", "exploitability, %", "value")]
  shown = zip(LOCAL_REGRETS, ("local regret, mean %", "worst %"), strict=True)
  columns += [(name, text, "value") for name, text in shown if name in rows[0]]

  def numbers(row: Row) -> list[float | None]:
    return [float(f"{row[name]:.6g}") if np.isfinite(row[name]) else None for name, _, _ in columns]

  data = {
    "about": about,
    "columns": [[shown, kind] for _, shown, kind in columns],
    "rows": [[name, *numbers(row)] for name, row in zip(boards, rows, strict=True)],
    "average": ["average", *numbers(average_row(rows))],
  }
  return page_of("boards.html", data)
