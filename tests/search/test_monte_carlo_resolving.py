"""Searches by samples: the sampled game is the gadget's, and play comes near equilibrium."""

import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy
from open_spiel.python.algorithms import exploitability

from ps_cfr_spiel import ContinualResolving
from ps_cfr_spiel.backend.device import jit, to_device
from ps_cfr_spiel.matches import MonteCarloResolving
from ps_cfr_spiel.resolving.search import sampled_searcher
from ps_cfr_spiel.sampling.mccfr.sampling_tree import CHANCE_NODE
from ps_cfr_spiel.tree import sequence_reach

LIARS_DICE = "liars_dice(numdice=1,dice_sides=3)"


@pytest.fixture
def trees(monkeypatch):
  """Every (opponent, gadget's tree, tree to sample from) of a search; nothing is sampled."""
  met, make = [], sampled_searcher.sampled_problem

  def listening(*arguments):
    met.append((1 - arguments[2].last.player, arguments[-1].tree, make(*arguments)))
    return met[-1][-1]

  monkeypatch.setattr(sampled_searcher, "sampled_problem", listening)
  monkeypatch.setattr(
    sampled_searcher.mccfr, "run", lambda tree, state, *_, **__: state
  )  # strategies stay uniform
  return met


@jit(static_argnums=1)
def expected_utility(tree, player, strategies):
  """A player's expected utility in a public tree, by its leaf evaluator."""
  reach = [sequence_reach(f, blocks) for f, blocks in zip(tree.players, strategies, strict=True)]
  flat = [jnp.concatenate(parts) for parts in reach]
  parts = []
  for forest, rows in zip(tree.players, flat, strict=True):
    cuts = np.cumsum(forest.leaf.children)[:-1]
    parts.append(jnp.split(rows[forest.leaf.index], cuts))
  values = tree.leaves(player, parts[1 - player], parts[player])
  return sum((v * r).sum() for v, r in zip(values, parts[player], strict=True))


@pytest.mark.parametrize(
  ("name", "gadget"),
  [
    ("kuhn_poker", "unsafe"),
    ("kuhn_poker", "cfr-d"),
    ("kuhn_poker", "max-margin"),
    (LIARS_DICE, "max-margin"),
  ],
)
def test_sampled_game_is_the_gadgets(name, gadget, trees):
  search = MonteCarloResolving(pyspiel.load_game(name), 20, gadget=gadget, dtype="float64")
  for place in sorted({d.public_state for d in search.labels.decisions})[:5]:
    search.search(place)
  rng = np.random.default_rng(0)
  assert len(trees) > 2
  for opponent, tree, sampled in trees:
    values = []
    for _ in range(3):
      weights = rng.random((sampled.actions, sampled.cells))
      weights *= np.arange(sampled.actions)[:, None] < sampled.legal
      table = weights / weights.sum(0)
      sign = 1 - 2 * opponent  # to whom alone a gadget's own ends are worth something
      worth = float(expected_utility(*to_device((tree,), "float64"), opponent, sampled.blocks(table)))
      values.append((sign * by_histories(sampled, table), worth))
    ours, theirs = np.array(values).T
    # Chance's probabilities sum to one in the one, to the weight of the public state in the other.
    weight = theirs @ ours / (ours @ ours) if np.abs(ours).max() > 1e-9 else 1
    np.testing.assert_allclose(theirs, weight * ours, rtol=1e-9, atol=1e-12)
    assert 0 < weight < 1 + 1e-9


def by_histories(tree, table):
  """Player 0's expected utility in a tree to sample from, by its histories one by one."""
  values = np.zeros(len(tree.actor))
  for node in reversed(range(len(values))):
    children = range(tree.first[node], tree.first[node] + tree.count[node])
    if not children:
      values[node] = tree.utility[node]
    elif tree.actor[node] < CHANCE_NODE:
      values[node] = sum(table[a, tree.cell[node]] * values[c] for a, c in enumerate(children))
    else:
      values[node] = sum(tree.chance[c] * values[c] for c in children)
  return values[0]


@pytest.mark.parametrize("gadget", ["cfr-d", "max-margin"])
@pytest.mark.parametrize("sampler", ["external", "outcome"])
def test_play_comes_near_equilibrium(gadget, sampler):
  game = pyspiel.load_game("kuhn_poker")
  search = MonteCarloResolving(game, 200_000, gadget=gadget, sampler=sampler)
  assert (
    exploitability.exploitability(game, search.tabularise()) < 0.03
  )  # 0.05 to 0.1 if promises are ignored


def test_bots_play_as_the_table_says():
  game = pyspiel.load_game("kuhn_poker")
  first, other = (MonteCarloResolving(game, 500, seed=seed) for seed in (3, 4))
  table, state = first.tabularise(), game.new_initial_state()
  for action in (2, 1, 0):
    state.apply_action(action)
  asked = MonteCarloResolving(game, 500, seed=3).action_probabilities(state)
  assert asked == table.action_probabilities(state) != other.action_probabilities(state)
  assert "Monte Carlo" in first.description


@pytest.mark.parametrize(
  "options, message",
  [
    ({"lookahead": 1}, "lookahead: samples go to the end"),
    ({"rule": "nrm+"}, "Sampling takes the rules"),
    ({"gadget": "refined-cfr-d"}, "gadget"),
    ({"sampler": "public"}, "sampler must be 'external', 'outcome' or"),
    ({"exploration": 0.3}, "exploration=0.3 is for sampler='outcome'"),
  ],
)
def test_what_cannot_be_sampled_is_refused(options, message):
  with pytest.raises(ValueError, match=message):
    MonteCarloResolving(pyspiel.load_game("kuhn_poker"), 5, **options)


def test_games_with_a_form_are_refused():
  with pytest.raises(ValueError, match="has a Bayesian form"):
    MonteCarloResolving(pyspiel.load_game("river_subgame"), 5)


def test_ranges_that_exclude_each_other_leave_those_of_chance():
  """By the blueprint both players hold the king, which is impossible, when the first answers a bet."""
  game = pyspiel.load_game("kuhn_poker")
  names = ("0", "1", "2", "0p", "1p", "2p")
  blueprint = policy.TabularPolicy(game)
  for name in names:
    plays = 0 if name == "2" else int(name[0] == "2" or len(name) == 1)
    blueprint.policy_for_key(name)[:] = np.arange(2) == plays
  search = MonteCarloResolving(game, 200, gadget="unsafe", blueprint=blueprint)
  for card, call in ((0, 0.0), (2, 1.0)):
    state = game.new_initial_state()
    for action in (card, (card + 1) % 3, 0, 1):
      state.apply_action(action)
    assert search.action_probabilities(state)[1] == pytest.approx(call, abs=0.02)


def test_blueprints_are_resolved_by_samples():
  game = pyspiel.load_game("kuhn_poker")
  blueprint = ContinualResolving(game, 300).tabularise()
  search = MonteCarloResolving(game, 100_000, blueprint=blueprint)
  assert exploitability.exploitability(game, search.tabularise()) < 0.012
