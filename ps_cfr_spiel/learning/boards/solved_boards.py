"""Solved rivers, turns or flops as examples, in place of public states by number.

The network learns the value of betting over that of checking down, which is known exactly.
"""

import itertools
import os
from pathlib import Path

import numpy as np

from ps_cfr_spiel import storage
from ps_cfr_spiel.arguments import JSON
from ps_cfr_spiel.batches import solve_batch
from ps_cfr_spiel.cards.poker import Situation, cards
from ps_cfr_spiel.learning.boards.board_features import CHECKED, BoardFeatures
from ps_cfr_spiel.learning.examples import Examples
from ps_cfr_spiel.options import AUTO


def load_boards(*folders: str | os.PathLike, progress: bool | None = None, device: str = AUTO) -> Examples:
  """Read the examples of `ps-cfr-spiel learn --street`, or of `solve_batch` with all hands of one street.

  `progress` is as in `reports.progress_bar`; `device` values rivers without betting. OSError if a file
  cannot be read; ValueError if it is damaged or holds something else, hands were left out, folders were
  solved with different settings or have boards of different sizes, or there are no files.
  """
  parts, works = [], []
  for folder in folders:
    paths = storage.shards(Path(folder))
    if not paths:
      raise ValueError(
        f"{folder}: there are no situations in it; make some with ps-cfr-spiel learn --street."
      )
    for path in paths:
      method, work, arrays = _read(path)
      parts.append((path, method, arrays))
      works.append(work)
  if not parts:
    raise ValueError("There are no situations; name at least one folder.")
  (_, teacher, _), *others = parts
  for path, method, _ in others:
    if {**method, "order": None} != {**teacher, "order": None}:  # which is that of the device
      raise ValueError(f"{path} was solved with other settings than the first: {method}, not {teacher}.")
  if len(sizes := {part["board"].shape[1] for _, _, part in parts}) > 1:
    raise ValueError(f"There are boards of {sizes} cards; learn from one street at a time.")
  arrays = {name: np.concatenate([part[name] for _, _, part in parts]) for name in parts[0][2]}
  card = {"game": "river_subgame", "teacher": repr(teacher), "rivers": sorted(set(works))}
  if (size := sizes.pop()) < cards.BOARD_SIZE:
    card |= {"game": "holdem_subgame", "cards": size}
  return boards_as_examples(card, *arrays.values(), progress=progress, device=device)


def boards_as_examples(
  card: dict[str, JSON],
  board: np.ndarray,
  pot: np.ndarray,
  stack: np.ndarray,
  ranges: np.ndarray,
  values: np.ndarray,
  checked: np.ndarray | None = None,
  progress: bool | None = False,
  device: str = AUTO,
) -> Examples:
  """The situations in arrays like those of the files (docs/batches.md); on rivers `checked` is found."""
  unit, halves = pot[:, None], (0, 1)
  if checked is None:
    given = zip(board.tolist(), pot.tolist(), ranges.astype(float), strict=True)
    down = [Situation(tuple(b), p, p // 2, "fcpa", r) for b, p, r in given]
    options = {"iterations": 1, "hands": "all", "strategies": False, "device": device}
    solutions = solve_batch(down, progress=progress, **options)
    checked = np.stack([s.values for s in solutions])
  pair = lambda x: (x[0].astype(np.float32), x[1].astype(np.float32))  # noqa: E731
  inputs = {"board": board, "ratio": (stack - pot / 2) / pot}
  inputs |= dict(zip(CHECKED, pair([checked[:, i] / unit for i in halves]), strict=True))
  shown = pair(ranges.swapaxes(0, 1)), pair([values[:, i] / unit for i in halves])
  return Examples(card, BoardFeatures(board.shape[1]), inputs, *shown, up_to_suits(board))


def _read(path: Path) -> tuple[dict[str, JSON], str, dict[str, np.ndarray]]:
  """The settings and the situations of a file's rivers, and their arrays."""
  file = storage.read(path)
  if file.header["kind"] != "examples" or "board" not in file.shapes:
    raise ValueError(f"{path} holds no solved situations of hold'em.")
  method = file.header["teacher"]
  if not isinstance(method, dict) or method.get("hands") != "all":
    raise ValueError(f"{path}: values of all hands are needed; solve with hands='all'.")
  n = file.shapes["number"][0][0] if file.shapes.get("number", ((),))[0] else 0
  hands, single, whole = len(cards.ALL_HANDS), np.dtype(np.float32), np.dtype(np.int64)
  size = next((c for c in cards.STREETS if file.shapes["board"][0] == (n, c)), cards.BOARD_SIZE)
  expected = {
    "board": ((n, size), np.dtype(np.int8)), "pot": ((n,), whole), "stack": ((n,), whole),
    "ranges": ((n, 2, hands), single), "values": ((n, 2, hands), single),
  }  # fmt: skip
  if size < cards.BOARD_SIZE:
    expected["checked"] = expected["values"]
  arrays = file.arrays({**file.shapes, **expected})
  return method, file.header["situations"], {name: arrays[name] for name in expected}


def up_to_suits(boards: np.ndarray) -> np.ndarray:
  """int[n]: a number for each board [n, C], the same for boards that differ in suits only."""
  rank, suit = np.divmod(boards.astype(int), len(cards.SUITS))
  digits = len(cards.WHOLE_DECK) ** np.arange(boards.shape[1])
  codes = [
    np.sort(rank * len(cards.SUITS) + np.array(names)[suit], 1) @ digits
    for names in itertools.permutations(range(len(cards.SUITS)))
  ]
  return np.unique(np.min(codes, 0), return_inverse=True)[1]
