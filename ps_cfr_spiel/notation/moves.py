"""The notation of actions: names, abbreviations, amounts, letters and numbers."""

import re
from collections.abc import Sequence


def split_words(text: str) -> list[str]:
  """The words of a typed text; commas separate too, except in the digits of 19,900."""
  return re.sub(r"(?<=\d),(?=\d{3}\b)", "", text).replace(",", " ").split()


def grouped(name: str) -> str:
  """An action's name with thousands separators in its amount: All-in 19,900, but Discard 3456."""
  return re.sub(r"\b(Bet|Raise to|All-in) (\d+)", lambda found: f"{found[1]} {int(found[2]):,}", name)


def find_one_action(text: str, names: Sequence[str], ids: Sequence[int], history: Sequence[str] = ()) -> int:
  """The index of the action meant by a text, which must be one action; as `find_action`."""
  words = split_words(text)
  choice, used = find_action(words, names, ids, history)
  if used < len(words):
    raise ValueError(f"{text!r} is more than one action; give one.")
  return choice


def letters(actions: Sequence[str]) -> tuple[str, ...]:
  """A letter for each action: its first one, or the next free one if an earlier action begins alike."""
  reserved = {name[0].lower() for name in actions}
  found: list[str] = []
  for name in actions:
    letter = name[0].lower()
    if letter in found:
      after = "abcdefghijklmnopqrstuvwxyz".partition(letter)
      letter = next((other for other in after[2] + after[0] if other not in reserved | set(found)), "?")
    found.append(letter)
  return tuple(found)


def find_action(
  words: Sequence[str], names: Sequence[str], ids: Sequence[int], history: Sequence[str]
) -> tuple[int, int]:
  """Read one action, by its name, an abbreviation or its number in `ids`, off the front of some words.

  Returns its index in `names` and the number of its words; ValueError if no action fits, or several do.
  """

  def unknown(text: str) -> ValueError:
    known = ", ".join(
      f"{name} ({action})" if action >= 0 else name for name, action in zip(names, ids, strict=True)
    )
    where = f"after {', '.join(history)}" if history else "at the start"
    return ValueError(f"Unknown action {text!r} {where}; choose one of {known}.")

  for used in range(min(len(words), max(len(split_words(name)) for name in names)), 0, -1):
    text = [word.lower() for word in words[:used]]
    found = [k for k, name in enumerate(names) if split_words(name.lower()) == text]
    if found:
      return found[0], used
  amounts = [re.fullmatch(r"(?:bet|raise to|all-in) ([\d.]+)", name.lower()) for name in names]
  said = re.match(r"(?:bet|raise(?: to)?) ([\d.]+)(?!\S)", " ".join(words).lower())
  if said and any(amounts):  # "raise 800" for Raise to 800; but "bet 1" is not "bet" (200) and "1" (call)
    found = [k for k, amount in enumerate(amounts) if amount and amount[1] == said[1]]
    if not found:
      raise unknown(said[0])
    return found[0], len(said[0].split())
  word = words[0].lower() if words else ""
  if word.isdecimal() and int(word) in ids:
    return ids.index(int(word)), 1
  # Cards have no letters: "x" after a street is not one of 48 cards.
  if word in letters(names) and not all(name.startswith("Deal ") for name in names):
    return letters(names).index(word), 1
  found = [k for k, name in enumerate(names) if name.lower().endswith(f" {word}")]  # "2c" for "Deal 2c"
  if len(found) == 1:
    return found[0], 1
  for matches in (_is_abbreviation, _is_amount):
    found = [k for k, name in enumerate(names) if matches(word, name.lower())]
    if len(found) == 1:
      return found[0], 1
    if found:
      raise ValueError(f"{words[0]!r} may mean {' or '.join(names[k] for k in found)}; write more of it.")
  raise unknown(" ".join(words[:1]))


def _letters_and_numbers(text: str) -> tuple[str, list[str]]:
  return re.sub("[^a-z]", "", text), re.findall("[0-9]+", text)


def _is_abbreviation(word: str, name: str) -> bool:
  """B200 or bet for Bet 200; x for Check, as in the notation of betting lines."""
  (letters, numbers), (full, amount) = _letters_and_numbers(word), _letters_and_numbers(name)
  letters = "check" if letters == "x" else letters
  return bool(letters) and full.startswith(letters) and numbers in ([], amount)


def _is_amount(word: str, name: str) -> bool:
  """19900 or r19900 for All-in 19900; but 2c is a card, so not Deal 2d."""
  numbers, amount = (_letters_and_numbers(text)[1] for text in (word, name))
  in_front = re.fullmatch("[a-z]?[^a-z]*", word) is not None
  return in_front and bool(numbers) and numbers == amount
