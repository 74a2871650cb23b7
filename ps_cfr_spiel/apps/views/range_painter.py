"""A range as the 169 cells of a painter, and as text again; both by the grammar of `cards.notation`."""

import functools
from collections.abc import Mapping

import numpy as np

from ps_cfr_spiel.arguments import JSON
from ps_cfr_spiel.cards.notation import parse_cards, parse_hands, range_words
from ps_cfr_spiel.cards.poker import cards

NOTHING = "random:0"  # the text of a range from which all hands are taken out


@functools.cache
def cells() -> dict[str, tuple[tuple[int, int], ...]]:
  """The hands of each kind, such as AKs: row by row from the aces, suited kinds above the diagonal."""
  ranks, hands = cards.RANKS[::-1], {}
  for row, first in enumerate(ranks):
    for column, second in enumerate(ranks):
      high, low = (first, second) if row < column else (second, first)
      kind = f"{high}{low}{'' if row == column else 's' if row < column else 'o'}"
      hands[kind] = tuple(parse_hands(kind))
  return hands


def painted(text: str, board: str = "", paint: Mapping[str, object] | None = None) -> dict[str, JSON]:
  """A range for the painter, after kinds of hands got new weights.

  Args:
    text: the range, as `cards.notation.parse_hands` reads it.
    board: cards whose hands are left out of the count of combos.
    paint: weights from 0 to 1 by kind, such as {"AKs": 0.5}.

  Returns:
    `text`, as given or, if some kinds are painted, written anew; `cells`, the mean weight of each kind;
    `combos`, the weight of all hands that the board leaves.

  Raises:
    ValueError: the text, the board, a kind or a weight is not understood.
  """
  weights = parse_hands(text, "range", shares=True)
  for kind, weight in (paint or {}).items():
    if kind not in cells():
      raise ValueError(f"{kind!r} is not a kind of hands; give one such as AA, AKs or AKo.")
    if not isinstance(weight, int | float) or not 0 <= weight <= 1:
      raise ValueError(f"{kind}: a weight is a number from 0 to 1, got {weight!r}.")
    weights.update(dict.fromkeys(cells()[kind], float(weight)))
  weights = {hand: weight for hand, weight in weights.items() if weight}
  dead = {*parse_cards(board, "board")}
  live = [weight for hand, weight in weights.items() if not dead & {*hand}]
  means = [float(np.mean([weights.get(hand, 0) for hand in hands])) for hands in cells().values()]
  return {
    "text": text if not paint else range_words(weights) if weights else NOTHING,
    "cells": [float(f"{mean:.4g}") for mean in means],
    "combos": float(sum(live)),
  }
