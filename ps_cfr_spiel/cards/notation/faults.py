"""Errors that name the place of a fault in a typed text."""

MOST_SHOWN = 60  # characters of a text in an error


def fault(name: str, text: str, at: int, word: str, why: str) -> ValueError:
  """The error that a word of a text, from the place `at` on, is wrong; long texts are shown around it."""
  start = 0 if len(text) <= MOST_SHOWN else max(0, at - MOST_SHOWN // 2)
  shown = text[start : start + MOST_SHOWN]
  before, after = "..." * (start > 0), "..." * (start + MOST_SHOWN < len(text))
  return ValueError(f"{name}={before + shown + after!r}: {word!r}, character {at + 1}: {why}")
