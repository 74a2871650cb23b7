"""The memory that dealt cards take, estimated before they are dealt (`mesh.run_needs` is that of a run).

Boards multiply with each round: whole hold'em has 2.6 million classes of runouts to the river, and a number
for each hand on each of them fills half of a common machine.
"""

import math
from collections.abc import Sequence

from ps_cfr_spiel.poker import CHUNK, DealtForm

# These are fitted to measured peaks (docs/measurements.md, "Memory of dealt cards").
TABLES = 10  # numbers of 4 bytes for each hand on each class of runouts, here and on the device
SCORE, SCORED = 150, 512  # bytes of each hand while its strength is computed; boards at once
SET = 200  # bytes of a set of cards while all of them are listed
INDEX = 30  # bytes of where a set leads from a class
PAIR = 13  # bytes of each pair of boards while they are compared and clustered
ROWS = 5  # copies of the numbers that describe hands while they are put into buckets


def card_needs(form: DealtForm) -> dict[str, int]:
  """Estimated bytes of a form's classes of boards and hands, and of an abstraction of them, by purpose."""
  deck, hands = form.deck, math.comb(form.deck.size, form.hole)
  classes = form.most_classes()
  renamed = math.factorial(deck.suits)

  def naming(below: int, size: int) -> int:
    """Bytes of the sets of `size` cards under all renamings, and of the least of them on `below` boards."""
    sets = math.comb(deck.size, size)
    return sets * (SET + renamed * (8 * size + 24 + 4 * min(below, CHUNK)))

  boards = [
    naming(below, size) + INDEX * below * math.comb(deck.size, size)
    for below, size in zip(classes, form.public[1:], strict=False)
  ]
  found = max(naming(max(classes), form.hole), SCORE * hands * min(classes[-1], SCORED))
  return {
    f"for {classes[-1]:,} classes of boards": max(boards),
    f"for {hands:,} hands on them": found + 4 * TABLES * hands * sum(classes),
  }


def board_needs(boards: int) -> dict[str, int]:
  """Estimated bytes of clustering boards, by purpose."""
  return {f"for the distances of {boards:,} boards": PAIR * boards**2}


def bucket_needs(
  rows: Sequence[float], columns: Sequence[int], sums: Sequence[int], histograms: float
) -> dict[str, int]:
  """Estimated bytes that making the buckets of one cluster takes, by purpose.

  For each round `rows` has the number of hands of the cluster, up to suits, `columns` the numbers that
  describe one, and `sums` the hands whose numbers are added up at once; `histograms` are numbers that
  describe the future of hands of a later round.
  """
  of_each = [8 * n * (ROWS * m + k) for m, n, k in zip(rows, columns, sums, strict=True)]
  return {
    "for the hands of one cluster": int(max(of_each) + 16 * histograms),
    "for distances": 24 * max(columns) ** 2,
  }
