"""What searches ask about, against the strategies that they leave."""

import dataclasses
import functools

import numpy as np
import pyspiel
import pytest

from ps_cfr_spiel.learning import SearchSampler, generate_examples
from ps_cfr_spiel.learning.boards.places import FrontierStates, even_if_zero
from ps_cfr_spiel.learning.listening import Listener
from ps_cfr_spiel.resolving.search import Searcher
from ps_cfr_spiel.resolving.subgames import Subgames
from ps_cfr_spiel.values import CFRValues

DICE = "liars_dice(dice_sides=2)"
MARKS = [1, 4]


@functools.cache
def subgames_of(name):
  return Subgames.of(pyspiel.load_game(name))


def normalised(ranges, public):
  """Each public state's part of ranges [R, H] by itself, of sum one."""
  parts = [ranges[public == s].ravel() for s in np.unique(public)]
  return [part / part.sum() if part.max() > 1e-20 else None for part in parts]


@pytest.mark.parametrize(("name", "player"), [("kuhn_poker", 0), (DICE, 1)])
def test_it_hears_the_current_ranges(name, player):
  """An average over one iteration alone is that iteration's strategy; its reach is what was asked about."""
  subgames = subgames_of(name)
  ears = Listener(subgames, CFRValues(5))
  ears.marks, compared = MARKS, 0
  begun = ears.start(player)
  first = dict(ears.heard)
  ears.heard.clear()
  again = ears.problems.passes(player)[0]
  ears.resolve(begun, again)
  for k, mark in enumerate(MARKS):
    settings = dataclasses.replace(ears.settings, iterations=mark + 1, averaging_delay=mark)
    plain = Searcher(subgames, settings)
    for heard, search, players in (
      (first, plain.start(player), (0, 1)),
      (ears.heard, plain.resolve(begun, again), (player,)),  # the opponent's tables are not of a gadget
    ):
      for states, ranges in heard.items():
        cut = subgames.cut(states)
        expected = plain.problems.promises.ranges(search, cut)
        for i in players:
          public = cut.roots[i].public
          pairs = [normalised(r, public) for r in (ranges[k][i], expected[i])]
          for found, wanted in zip(*pairs, strict=True):
            if found is not None:
              np.testing.assert_allclose(found, wanted, atol=1e-5)
              compared += 1
  assert compared >= 3


def test_a_draw_has_ranges_for_every_public_state():
  frontier = FrontierStates.of(subgames_of(DICE))
  draw = SearchSampler(CFRValues(5), most=20, overheard=3).bind(frontier, 7)
  drawn = draw(2)
  assert len(drawn) == 3 and {len(d) for d in drawn} == {len(frontier.groups)}
  varied = 0
  for ranges in drawn:
    for pair, slots in zip(ranges, frontier.slots, strict=True):
      for i in (0, 1):
        np.testing.assert_allclose(pair[i].sum(1), 1, atol=1e-9)
        assert not pair[i][~slots.possible[i]].any()
        even = even_if_zero(np.zeros(pair[i].shape), slots.possible[i])
        varied += np.abs(pair[i] - even).max(1).sum() > 0.05
  assert varied > len(frontier.groups)
  for one, other in zip(drawn[1], draw(2)[1], strict=True):  # by its number alone
    np.testing.assert_array_equal(one[0], other[0])


def test_situations_of_searches():
  situations = generate_examples(
    pyspiel.load_game("kuhn_poker"),
    3,
    ranges=SearchSampler(CFRValues(5), 20, 4),
    iterations=10,
    progress=False,
  )
  assert len(situations) == 3 * 4 * len(situations.features.public_states)
  assert "SearchSampler(values=CFRValues" in situations.card["ranges"]
  assert sorted(set(situations.draw.tolist())) == [0, 1, 2]


@pytest.mark.parametrize("values", [None, "x", CFRValues])
def test_what_is_no_value_function(values):
  with pytest.raises(ValueError, match=r"values must derive from \w+, like CFRValues\(\); got"):
    SearchSampler(values)
  with pytest.raises(ValueError, match=r"value_function must derive from \w+, like CFRValues\(\); got"):
    Listener(subgames_of("kuhn_poker"), values).start(0)


@pytest.mark.parametrize("options", [{"most": 9}, {"overheard": 0}])
def test_bad_input(options):
  with pytest.raises(ValueError, match="must be an integer of at least"):
    SearchSampler(CFRValues(), **options)
