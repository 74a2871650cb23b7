"""Deals of Cheat for native code: as chance deals."""

import collections
import math

import jax
import numpy as np
import pyspiel
import pytest
from ps_cfr_spiel.games.cheat import native_traversals

import ps_cfr_spiel  # noqa: F401  (registers the games)


def test_the_deal_is_hypergeometric():
  """Three ranks of two cards, two to each player: every pair of hands as often as its ways of being dealt."""
  game = pyspiel.load_game("cheat(ranks=3,suits=2,hand_size=2)")
  batch = 40_000
  dealt, first = map(np.asarray, native_traversals.deal(game.rules, jax.random.key(3), batch))
  hands = collections.Counter(map(bytes, np.moveaxis(dealt, 2, 0).astype(np.uint8).reshape(batch, -1)))
  total = math.comb(6, 2) * math.comb(4, 2)
  for pair, count in hands.items():
    mine, other = np.frombuffer(pair, np.uint8).reshape(2, 3)
    ways = math.prod(math.comb(2, f) * math.comb(2 - f, s) for f, s in zip(mine, other, strict=True))
    assert count / batch == pytest.approx(ways / total, abs=5 * math.sqrt(ways / total / batch))
  assert len(hands) == 3 * 3 + 3 * 4  # the hands that a hand leaves: 3 beside a pair, 4 beside two ranks
  assert first.mean() == pytest.approx(0.5, abs=0.02)


def test_who_is_first_may_be_fixed():
  game = pyspiel.load_game("cheat(first_player=1)")
  assert set(native_traversals.deal(game.rules, jax.random.key(0), 10)[1].tolist()) == {1}
