"""Reports for people: a line for each fact, its name and then, in a column of its own, the fact."""

from collections.abc import Mapping

COLUMN = 21  # where facts begin


def report(facts: Mapping[str, object]) -> str:
  """Lines such as "game:                kuhn_poker()", one for each fact."""
  return "\n".join(f"{name + ':':{COLUMN}}{fact}" for name, fact in facts.items())
