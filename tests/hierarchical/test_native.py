"""Clusters in C++ (`clusters.cc`): the traversals of the reference in JAX, and hands as NumPy ranks them."""

import jax
import numpy as np
import pyspiel
import pytest
from dealt_games import poker
from test_dealing import legal_actions

from ps_cfr_spiel import hierarchical, mccfr
from ps_cfr_spiel.cfr import RM, RMPlus
from ps_cfr_spiel.device import precision
from ps_cfr_spiel.hierarchical import ClusterSampling, DealtGame, make_abstraction
from ps_cfr_spiel.hierarchical.native import why_unavailable

pytestmark = pytest.mark.skipif(bool(why_unavailable()), reason="no native library")
NO_LIMIT = poker(3, 2, 1, "0 1 1", bets="nolimit").replace("stack=20 20", "stack=8 8,bettingAbstraction=fcpa")


class ByJax(ClusterSampling):
  """The sampler without the library."""

  natively = False


@pytest.mark.parametrize(
  ("name", "rule", "boards", "dtype"),
  [
    ("leduc_poker", RMPlus(), 2, "float64"),
    (NO_LIMIT, RM(), 1, "float64"),
    (poker(4, 2, 2, "0 2", raises=1), RMPlus(gamma=1.5), 1, "float32"),
  ],
)
def test_the_library_samples_as_the_reference(name, rule, boards, dtype):
  """Across the fold before iteration 8, from any tables, empty clusters beside the others."""
  dealt = DealtGame.of(pyspiel.load_game(name))
  abstraction = make_abstraction(dealt, 2, 4, restarts=1)
  mesh, generator, found = hierarchical.all_devices(), np.random.default_rng(1), []
  with precision(dtype):
    tree = hierarchical.dealt_tree(dealt, abstraction, 3)
    game = hierarchical.device_game(tree, dtype, mesh)
    sampler = ClusterSampling(2, boards)
    start = mccfr.start(tree, sampler, 3, dtype)._replace(iteration=np.int32(5))
    legal = np.arange(tree.child.actions)[:, None] < np.tile(legal_actions(tree.child), len(tree.boards))
    regrets = (np.maximum(generator.normal(0, 5, legal.shape), rule.floor) * legal).astype(dtype)
    clusters = start.tables.clusters._replace(regrets=regrets)
    start = start._replace(tables=start.tables._replace(clusters=clusters))
    for each in (sampler, ByJax(2, boards)):
      state = jax.tree.map(jax.numpy.array, start)
      found.append(hierarchical.run(game, state, 6, sampler=each, rule=rule, batch=5, mesh=mesh).tables)
  ours, theirs = map(jax.tree.leaves, found)
  assert float(np.abs(np.asarray(found[1].clusters.regrets) - regrets).max()) > 0.1
  for x, y in zip(ours, theirs, strict=True):
    np.testing.assert_allclose(x, y, rtol=1e-9, atol={"float64": 1e-11, "float32": 1e-4}[dtype])
