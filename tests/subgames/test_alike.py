"""Public states that are alike, by OpenSpiel's strings and by solutions of their subgames."""

import functools

import numpy as np
import pyspiel
import pytest

from ps_cfr_spiel.resolving.subgames import Subgames
from ps_cfr_spiel.values import CFRValues

TWO_DICE = "liars_dice(numdice=2,dice_sides=2)"


@functools.cache
def compiled(name):
  return Subgames.of(pyspiel.load_game(name))


def decisions(subgames):
  """The public states in which a player acts, by kind."""
  found: dict[int, list[int]] = {}
  for s, state in enumerate(subgames.labels.public_states):
    if state.decisions:
      found.setdefault(int(subgames.alike[s]), []).append(s)
  return found


@pytest.mark.parametrize("name", ["liars_dice(dice_sides=3)", TWO_DICE])
def test_the_last_bid_and_the_player_make_the_kind_in_liars_dice(name):
  subgames = compiled(name)
  kinds: dict[tuple, set[int]] = {}
  for kind, states in decisions(subgames).items():
    for state in (subgames.labels.public_states[s] for s in states):
      infostate = next(filter(None, subgames.labels.decisions[state.decisions[0]].infostates))
      kinds.setdefault((state.player, *infostate.split()[1:][-1:]), set()).add(kind)
  assert all(len(own) == 1 for own in kinds.values())
  assert len(decisions(subgames)) == len(kinds) < len(subgames.alike) / 4


def values_at(subgames, state, ranges):
  """Both players' values by a few iterations from these ranges."""
  cut = subgames.cut([state])
  given = [r[: p.types][None] / r[: p.types].sum() for r, p in zip(ranges, cut.tree.players, strict=True)]
  found = CFRValues(5).bind(subgames, [state]).both((given[0], given[1]))
  return np.concatenate([np.asarray(x).ravel() for x in found])


@pytest.mark.parametrize("name", ["leduc_poker", TWO_DICE])
def test_values_are_the_same_where_kinds_are(name):
  subgames, random = compiled(name), np.random.default_rng(0)
  kinds = [states for states in decisions(subgames).values() if len(states) > 1]
  for states in (kinds[k] for k in random.permutation(len(kinds))[:3]):
    ranges = random.random((2, 6))
    first, last = (values_at(subgames, s, ranges) for s in (states[0], states[-1]))
    np.testing.assert_allclose(first, last, atol=1e-5)
    assert np.abs(first).max() > 1e-3
