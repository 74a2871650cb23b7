"""Public states that are alike, by OpenSpiel's strings and by solutions of their subgames."""

import functools

import numpy as np
import pyspiel
import pytest
from cuts import common_shape

from ps_cfr_spiel.backend.device import jit, precision, to_device
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


@jit()
def both(bound, ranges):
  return bound.both(ranges)


def values_at(subgames, state, ranges, pad_to):
  """Both players' values by a few iterations from these ranges."""
  types = [player.types for player in subgames.tree.players]
  given = tuple(r[None, :n] / r[:n].sum() for r, n in zip(ranges, types, strict=True))
  with precision("float32"):
    found = both(*to_device((CFRValues(5).bind(subgames, [state], pad_to), given), "float32"))
  return np.concatenate([np.asarray(x).ravel() for x in found])


@pytest.mark.parametrize("name", ["leduc_poker", TWO_DICE])
def test_values_are_the_same_where_kinds_are(name):
  subgames, random = compiled(name), np.random.default_rng(0)
  kinds = [states for states in decisions(subgames).values() if len(states) > 1]
  pairs = [(kinds[k][0], kinds[k][-1]) for k in random.permutation(len(kinds))[:3]]
  pad_to = common_shape(subgames, [[s] for pair in pairs for s in pair])  # for one program
  for pair in pairs:
    ranges = random.random((2, 6))
    first, last = (values_at(subgames, s, ranges, pad_to) for s in pair)
    np.testing.assert_allclose(first, last, atol=1e-5)
    assert np.abs(first).max() > 1e-3
