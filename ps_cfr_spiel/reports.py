"""Reports for people: lines of facts, and bars for those who wait."""

import sys
from collections.abc import Mapping
from typing import Any

from tqdm.auto import tqdm

COLUMN = 21  # where facts begin
PATIENCE = 2  # seconds before a bar appears that nobody asked for


def report(facts: Mapping[str, object]) -> str:
  """Lines such as "game:                kuhn_poker()", one for each fact."""
  return "\n".join(f"{name + ':':{COLUMN}}{fact}" for name, fact in facts.items())


def progress_bar(progress: bool | None, **options: Any) -> tqdm:
  """A progress bar.

  Args:
    progress: show it, or not. None shows it where somebody looks, on a terminal or in a notebook, once two
      seconds have passed, and clears it away in the end.
    options: tqdm's.
  """
  if progress is None:
    progress = sys.stderr.isatty() or "ipykernel" in sys.modules
    options |= {"delay": PATIENCE, "leave": False}
  return tqdm(disable=not progress, **options)
