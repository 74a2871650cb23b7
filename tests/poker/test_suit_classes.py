import itertools

import numpy as np
import pytest

from ps_cfr_spiel.cards.poker.suits import (
  Deck,
  card_sets,
  count_classes,
  hand_classes,
  renamings,
  runouts,
  set_numbers,
)

WHOLE = Deck(13, 4)


@pytest.mark.parametrize(("cards", "size"), [(6, 1), (20, 3), (7, 4)])
def test_sets_are_numbered(cards, size):
  sets = card_sets(cards, size)
  assert {frozenset(s) for s in sets.tolist()} == set(
    map(frozenset, itertools.combinations(range(cards), size))
  )
  np.testing.assert_array_equal(set_numbers(sets[:, ::-1]), np.arange(len(sets)))


@pytest.mark.parametrize(
  ("deck", "groups", "classes"),
  [
    (WHOLE, (2,), 169),
    (WHOLE, (3,), 1_755),
    (WHOLE, (3, 1), 63_193),
    (WHOLE, (2, 3), 1_286_792),  # of Waugh 2013, Table 1, as the next
    (WHOLE, (2, 3, 1), 55_190_538),
    (Deck(5, 4), (3,), 95),
    (Deck(5, 4), (3, 1), 1_145),
    (Deck(13, 2), (1,), 13),
  ],
)
def test_burnside_counts(deck, groups, classes):
  assert count_classes(deck, groups) == classes


@pytest.mark.parametrize(
  ("deck", "dealt", "hand"), [(WHOLE, (3, 1), 2), (Deck(5, 4), (3, 1), 2), (Deck(6, 2), (1, 1), 1)]
)
def test_classes_are_as_many_as_burnside_counts(deck, dealt, hand):
  """And the boards of all classes are all boards, the hands on each class all hands that can be there."""
  for k, after in enumerate(runouts(deck, dealt)):
    assert len(after.cards) == count_classes(deck, dealt[:k])
    sizes = np.cumsum([0, *dealt[:k]])
    left = deck.size - sizes[:-1]
    assert after.count.sum() == np.prod(
      [len(card_sets(n, size)) for n, size in zip(left, dealt[:k], strict=True)]
    )
    if k < 2:
      hands = hand_classes(deck, hand, after)
      assert (hands >= 0).sum(1).tolist() == [len(card_sets(deck.size - sum(dealt[:k]), hand))] * len(hands)
      assert hands.max(1).sum() + len(hands) == count_classes(deck, (hand, *dealt[:k]))


def orbit(deck, *groups):
  """All that renaming the suits makes of groups of cards."""
  return {tuple(frozenset(swap[list(group)].tolist()) for group in groups) for swap in renamings(deck)}


def test_runouts_are_led_to_representatives_of_their_orbits():
  deck = Deck(4, 3)
  first, flop, turn = runouts(deck, (2, 1))
  swaps, generator = renamings(deck), np.random.default_rng(0)
  seen = {}
  for _ in range(300):
    cards = generator.permutation(deck.size)[:3]
    hand = generator.permutation(np.setdiff1d(np.arange(deck.size), cards))[:1]
    number = set_numbers(cards[:2])
    board, swap = flop.index[0, number], flop.swap[0, number]
    card, moved = swaps[swap][cards[2:]], swaps[swap][hand]
    last, again = turn.index[board, card[0]], turn.swap[board, card[0]]
    there = turn.cards[last]
    assert (
      frozenset(there[:2].tolist()),
      frozenset(there[2:].tolist()),
      frozenset(swaps[again][moved].tolist()),
    ) in orbit(deck, cards[:2], cards[2:], hand)
    assert set(there[:2]) == set(flop.cards[board])
    key = frozenset(orbit(deck, cards[:2], cards[2:]))
    assert seen.setdefault(key, last) == last  # one orbit, one class
  assert len(set(seen.values())) == len(seen)
  assert first.count.tolist() == [1]


def test_cards_have_names():
  deck = Deck(5, 4)
  assert deck.names([0, 1, 19]) == "2c2d6s"
  assert deck.find("2c2d6s") == (0, 1, 19)
  assert deck.find("2♣, 2D 6s") == (0, 1, 19)
  for wrong in ("2c7s", "2c2c"):
    with pytest.raises(ValueError, match="expected different cards of the 20 of 23456 and cdhs"):
      deck.find(wrong)
