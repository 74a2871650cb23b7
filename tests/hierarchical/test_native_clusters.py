"""Clusters in C++ (`clusters.cc`): the reference's traversals, exact on average; and NumPy's strengths."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest
from dealt_games import poker
from test_dealing import FLOP, legal_actions

from ps_cfr_spiel import hierarchical, load_policy, load_solver
from ps_cfr_spiel.abstraction import cluster_equities
from ps_cfr_spiel.abstractions import HierarchicalMCCFRSolver
from ps_cfr_spiel.backend.device import jit, precision
from ps_cfr_spiel.backend.native import why_unavailable
from ps_cfr_spiel.cards.poker import betting, card_sets, deals, renamings, set_numbers, strengths
from ps_cfr_spiel.cards.poker.suits import Deck
from ps_cfr_spiel.cfr import LCFR, RM, RMPlus
from ps_cfr_spiel.hierarchical import (
  ClusterSampling,
  NearestAbstraction,
  StrategyTables,
  card_game,
  dealt_hands,
  make_abstraction,
  native_clusters,
)
from ps_cfr_spiel.hierarchical.card_draws import deal_hands
from ps_cfr_spiel.hierarchical.cluster_sampling import Numbers, traverse
from ps_cfr_spiel.sampling import mccfr
from ps_cfr_spiel.sampling.keyed import KeyedPolicy

pytestmark = pytest.mark.skipif(bool(why_unavailable()), reason="no native library")
NO_LIMIT = poker(3, 2, 1, "0 1 1", bets="nolimit").replace("stack=20 20", "stack=8 8,bettingAbstraction=fcpa")
MANY = poker(5, 4, 1, "0 3", raises=1)  # 1,140 boards, which the library keeps as columns of bits
FOUND = poker(3, 2, 1, "0 1 1 1", raises=1)  # with one card between the clustered round and the last


class ByJax(ClusterSampling):
  """The sampler without the library."""

  @property
  def natively(self):
    return False


@pytest.fixture
def untabulated(monkeypatch):
  """A game whose boards are in no table, for all that it is small."""
  monkeypatch.setattr(deals, "MOST_CLASSES", 0)
  return lambda name: card_game(pyspiel.load_game(name))


def begun(tree, sampler, regrets, dtype, iteration=0):
  """A state with these regrets of the clusters."""
  start = mccfr.start(tree, sampler, 3, dtype)._replace(iteration=np.int32(iteration))
  clusters = start.tables.clusters._replace(regrets=regrets.astype(dtype))
  state = start._replace(tables=start.tables._replace(clusters=clusters))
  return jax.tree.map(jnp.array, state)  # copies: a run changes its tables in place


def random_regrets(tree, generator, floor=-np.inf):
  """[A, C' S], 0 where there is no action."""
  legal = np.arange(tree.cluster_subtree.actions)[:, None] < np.tile(
    legal_actions(tree.cluster_subtree), len(tree.boards)
  )
  return np.maximum(generator.normal(0, 5, legal.shape), floor) * legal


@pytest.mark.parametrize(
  ("name", "clusters", "clustered_round", "rule", "boards", "batch", "dtype"),
  [
    (NO_LIMIT, 2, 1, LCFR(), 2, 35, "float64"),  # more than a part of 64
    (FLOP, 2, 2, RMPlus(gamma=1.5), 1, 5, "float32"),
    (MANY, 1, 1, RM(), 30, 5, "float64"),
  ],
  ids=["no limit", "round 2", "many boards"],
)
def test_the_library_samples_as_the_reference(name, clusters, clustered_round, rule, boards, batch, dtype):
  """Across the fold before iteration 8, from any tables, empty clusters beside the others."""
  dealt = card_game(pyspiel.load_game(name))
  abstraction = make_abstraction(
    dealt, clusters=clusters, buckets=4, restarts=1, clustered_round=clustered_round
  )
  mesh, found = hierarchical.all_devices(), []
  with precision(dtype):
    tree = hierarchical.dealt_tree(dealt, abstraction, 3)
    game = hierarchical.device_game(tree, dtype, mesh)
    regrets = random_regrets(tree, np.random.default_rng(1), rule.floor)
    for each in (ClusterSampling(clusters, boards), ByJax(clusters, boards)):
      state = begun(tree, each, regrets, dtype, iteration=5)
      found.append(hierarchical.run(game, state, 6, sampler=each, rule=rule, batch=batch, mesh=mesh).tables)
  ours, theirs = map(jax.tree.leaves, found)
  assert float(np.abs(np.asarray(found[1].clusters.regrets) - regrets).max()) > 0.1
  for x, y in zip(ours, theirs, strict=True):
    np.testing.assert_allclose(x, y, rtol=1e-9, atol={"float64": 1e-11, "float32": 1e-4}[dtype])


class OnCores(ClusterSampling):
  """The sampler, compiled again: the number of threads is part of a program."""


def test_threads_share_a_single_cluster(monkeypatch):
  """Three parts of at most 64 deals: the bits of one thread are those of three."""
  dealt = card_game(pyspiel.load_game(FLOP))
  abstraction = make_abstraction(dealt, clusters=1, buckets=4, restarts=1)
  mesh, tables = hierarchical.all_devices(), []
  monkeypatch.setattr(native_clusters, "EACH", 1)
  tree = hierarchical.dealt_tree(dealt, abstraction)
  game = hierarchical.device_game(tree, "float32", mesh)
  regrets = random_regrets(tree, np.random.default_rng(1))
  for sampler, threads in ((ClusterSampling(1, 3), 1), (OnCores(1, 3), 3)):
    monkeypatch.setattr(native_clusters, "cores", lambda threads=threads: threads)
    state = begun(tree, sampler, regrets, "float32")
    after = hierarchical.run(game, state, 3, sampler=sampler, rule=LCFR(), batch=50, mesh=mesh).tables
    tables.append(jax.tree.leaves(after))
  for one, three in zip(*tables, strict=True):
    np.testing.assert_array_equal(one, three)


# --- Cards that are found when they are dealt --------------------------------------------------------


@pytest.mark.parametrize(
  ("ranks", "suits", "hole", "size"), [(13, 4, 2, 5), (6, 2, 2, 5), (13, 4, 1, 4), (5, 3, 1, 2)]
)
def test_hands_are_as_strong_as_by_numpy(ranks, suits, hole, size):
  deck, generator = Deck(ranks, suits), np.random.default_rng(0)
  boards = np.array([generator.permutation(deck.size)[:size] for _ in range(200)])
  hands, groups = card_sets(deck.size, hole), generator.integers(0, 3, len(card_sets(deck.size, hole)))
  found = dealt_hands.hand_strengths(deck, hole, boards)
  truth = strengths(deck.whole(boards), deck.whole(hands))
  alive = ~(hands[None, :, :, None] == boards[:, None, None]).any((2, 3))
  assert (found[~alive] == dealt_hands.DEAD).all()
  np.testing.assert_array_equal(found[alive], truth[alive])
  equities = dealt_hands.equities(deck, hole, boards[:20], groups)
  for k in range(20):
    own = np.flatnonzero(alive[k])
    exact = cluster_equities(own, truth[k], hands, alive[k], groups)
    np.testing.assert_allclose(equities[k][own], exact, atol=1e-6)


@pytest.mark.parametrize(("hole", "left"), [(2, 2), (2, 1), (1, 2)])
def test_histograms_are_those_of_all_cards_to_come(hole, left):
  """Every last board of a small deck, its hands by NumPy; equities that bins divide are exact fractions."""
  deck, board = Deck(4, 3), [0, 4, 11]
  hands, one = card_sets(deck.size, hole), np.zeros(len(card_sets(deck.size, hole)), int)
  bins = np.zeros((1 + deck.size, len(hands), dealt_hands.BINS))
  for more in itertools.combinations(sorted({*range(deck.size)} - {*board}), left):
    whole = np.array([*board, *more])
    alive = ~np.isin(hands, whole).any(1)
    strength, own = strengths(deck.whole(whole), deck.whole(hands)), np.flatnonzero(alive)
    equity = cluster_equities(own, strength, hands, alive, one)[:, 0]
    place = np.minimum(np.floor(dealt_hands.BINS * equity + 1e-9).astype(int), dealt_hands.BINS - 1)
    for row in (0, *(1 + card for card in more)):
      bins[row, own, place] += 1
  found = dealt_hands.histograms(deck, hole, board, left)
  assert len(found) == (1 + deck.size if left == 2 else 1)
  total = bins.sum(2)[: len(found)]
  shares = bins.cumsum(2)[: len(found), :, :-1] / np.maximum(total, 1)[..., None]
  np.testing.assert_allclose(found, np.where(total[..., None] > 0, shares, np.nan), atol=1e-6)


def test_nearest_centres():
  points, centres = (
    np.random.default_rng(k).random((n, 5)).astype(np.float32) for k, n in enumerate((400, 37))
  )
  gaps = points[:, None] - centres
  np.testing.assert_array_equal(dealt_hands.nearest(points, centres.T, True), (gaps**2).sum(2).argmin(1))
  np.testing.assert_array_equal(dealt_hands.nearest(points, centres.T, False), np.abs(gaps).sum(2).argmin(1))
  points[3, 0] = np.nan
  assert dealt_hands.nearest(points, np.concatenate([centres, centres]).T, True)[3] == -1


def exact_increments(dealt, abstraction, tables, traverser):
  """[A, C S] regrets, and strategies of the other player, in clusters: all deals, in plain Python."""
  deal, betting = dealt.deal, dealt.betting
  cells = hierarchical.LineCells.of(betting, abstraction.clustered_round, abstraction.sizes)
  below = [np.flatnonzero(betting.parent == line).tolist() for line in range(len(betting))]
  shape, size = (
    (tables.clusters.shape[1], tables.clusters.shape[0] * tables.clusters.shape[2]),
    tables.clusters.shape[2],
  )
  regrets, shares = np.zeros(shape), np.zeros(shape)
  deals = list(itertools.permutations(range(deal.deck.size), 2 * deal.hole + sum(deal.public)))
  for cards in deals:
    held, board = (cards[:1], cards[1:2]), cards[2:]
    places = [
      [abstraction.find(dealt.deal.seen(hand, board[:n])) for n in range(len(deal.public))] for hand in held
    ]
    first, second = strengths(
      deal.deck.whole(np.array(board)), deal.deck.whole(np.array([[held[0][0]], [held[1][0]]]))
    )

    def value(line, reach, places=places, first=first, second=second):
      player, number = betting.player[line], betting.street[line]
      if not below[line]:
        sign = np.sign(int(first) - int(second))
        won = betting.fold_payoff[line, 0] + betting.showdown_payoff[line] * sign
        return won if traverser == 0 else -won
      if player < 0:
        return value(below[line][0], reach)
      cluster, bucket = places[player][number]
      cell = cells.cell[line] + cells.stride[line] * bucket
      table = tables.trunk if cluster < 0 else tables.clusters[cluster]
      policy = np.maximum(table[: len(below[line]), cell], 0)
      policy = policy / policy.sum() if policy.sum() else np.full(len(policy), 1 / len(policy))
      here = slice(0, len(policy)), cluster * size + cell
      if player == traverser:
        values = np.array([value(child, reach) for child in below[line]])
        if cluster >= 0:
          regrets[here] += reach * (values - policy @ values)
        return policy @ values
      if cluster >= 0:
        shares[here] += reach * policy
      return sum(p * value(child, reach * p) for child, p in zip(below[line], policy, strict=True) if p > 0)

    value(0, 1 / len(deals))
  return regrets, shares


@pytest.mark.parametrize("traverser", [0, 1])
def test_increments_are_exact_on_average(untabulated, traverser):
  """The mean of many traversals under one profile, within 6 standard errors."""
  dealt = untabulated(FOUND)
  abstraction = make_abstraction(dealt, clusters=np.array([0, 1, 0]), buckets=2)
  assert isinstance(abstraction, NearestAbstraction) and abstraction.sizes[1:] == (2, 2, 2)
  batch, means = 10_000, []
  with precision("float64"):
    tree = hierarchical.dealt_tree(dealt, abstraction)
    regrets = random_regrets(tree, np.random.default_rng(1))
    game, sampler = hierarchical.device_game(tree, "float64", hierarchical.all_devices()), ClusterSampling(2)
    trunk = np.zeros((tree.trunk.actions, tree.trunk.cells))
    truth = exact_increments(
      dealt, abstraction, StrategyTables(trunk, np.stack(np.split(regrets, 2, 1))), traverser
    )

    @jit()
    def turn(game, tables, key):
      keys = jax.vmap(lambda n: jax.random.key_data(jax.random.fold_in(key, n)))(jnp.arange(2))
      trunk = jax.random.uniform(jax.random.fold_in(key, 2), (len(tree.trunk.depths), batch))
      numbers = Numbers(deal_hands(game.cards, jax.random.fold_in(key, 3), batch), trunk, keys)
      now = mccfr.Turn(jnp.int32(traverser), jnp.int32(1), None)
      return traverse(game, tables, now, numbers, RM(), lambda values: values)

    state = begun(tree, sampler, regrets, "float64")
    for seed in range(24):
      after = turn(game, state.tables, jax.random.key(seed)).clusters
      means.append((np.asarray(after.regrets) - regrets, -np.asarray(after.average.compensation)))
  for sampled, exact in zip(zip(*means, strict=True), truth, strict=True):
    error = np.std(sampled, 0, ddof=1) / np.sqrt(len(sampled))
    assert np.abs(exact).max() > 0.01 and error.max() < 0.02
    assert (np.abs(np.mean(sampled, 0) - exact) <= 6 * error + 1e-12).all()


def test_no_action_is_left_out_where_all_have_very_negative_regret(untabulated):
  """They are all played then, uniformly: with pruning and without it everything is the same."""
  dealt = untabulated(FOUND)
  abstraction, mesh = (
    make_abstraction(dealt, clusters=np.array([0, 0, 0]), buckets=2),
    hierarchical.all_devices(),
  )
  with precision("float64"):
    tree = hierarchical.dealt_tree(dealt, abstraction)
    game, found = hierarchical.device_game(tree, "float64", mesh), []
    regrets = np.full((tree.cluster_subtree.actions, tree.cluster_subtree.cells), -50.0)
    for pruning in (-40.0, -np.inf):
      sampler = ClusterSampling(1, 1, pruning)
      state = begun(tree, sampler, regrets, "float64")
      after = hierarchical.run(game, state, 1, sampler=sampler, rule=RM(), batch=8, mesh=mesh).tables
      found.append(np.asarray(after.clusters.regrets))
  pruned, whole = found
  changed = whole != -50
  assert changed.mean() > 0.05
  np.testing.assert_array_equal(pruned[changed], np.maximum(whole[changed], -40 * 31 / 30))


def test_actions_that_end_the_game_are_never_left_out(untabulated):
  """A fold that looks very bad costs nothing, so it learns the same with pruning and without it."""
  dealt = untabulated(FOUND)
  abstraction, mesh = (
    make_abstraction(dealt, clusters=np.array([0, 0, 0]), buckets=2),
    hierarchical.all_devices(),
  )
  with precision("float64"):
    tree = hierarchical.dealt_tree(dealt, abstraction)
    game, subtree = hierarchical.device_game(tree, "float64", mesh), tree.cluster_subtree
    player = subtree.betting.player
    facing = np.flatnonzero((player == 0) & (subtree.round == 1))
    folds = facing[player[subtree.first[facing]] == betting.TERMINAL]
    cells = (subtree.cell[folds][:, None] + subtree.stride[folds][:, None] * np.arange(2)).ravel()
    regrets, found = np.zeros((subtree.actions, subtree.cells)), []
    regrets[0, cells], regrets[1, cells] = -101, 10
    for pruning in (-100.0, -np.inf):
      state = begun(tree, sampler := ClusterSampling(1, 1, pruning), regrets, "float64")
      after = hierarchical.run(game, state, 1, sampler=sampler, rule=RM(), batch=64, mesh=mesh).tables
      found.append(np.asarray(after.clusters.regrets)[0, cells])
  assert (found[1] != -101).any()
  np.testing.assert_array_equal(found[0], np.maximum(found[1], -100 * 31 / 30))


def test_actions_of_very_negative_regret_are_left_out(untabulated):
  """In some 95% of the turns; other actions there learn the same as without pruning."""
  dealt = untabulated(FOUND)
  abstraction, mesh = (
    make_abstraction(dealt, clusters=np.array([0, 0, 0]), buckets=2),
    hierarchical.all_devices(),
  )
  with precision("float64"):
    tree = hierarchical.dealt_tree(dealt, abstraction)
    game, subtree = hierarchical.device_game(tree, "float64", mesh), tree.cluster_subtree
    player = subtree.betting.player
    opening = np.flatnonzero(
      (player == 0) & (subtree.round == 1) & (player[subtree.betting.parent] == betting.CHANCE)
    )
    cells = (subtree.cell[opening][:, None] + subtree.stride[opening][:, None] * np.arange(2)).ravel()
    regrets = np.zeros((subtree.actions, subtree.cells))
    regrets[0, cells], regrets[1, cells] = 10, -101
    looked = []
    for seed in range(200):
      found = []
      for pruning in (-100.0, -np.inf):
        sampler = ClusterSampling(1, 1, pruning)
        state = begun(tree, sampler, regrets, "float64")._replace(key=jnp.array([0, seed], jnp.uint32))
        after = hierarchical.run(game, state, 1, sampler=sampler, rule=RM(), batch=1, mesh=mesh).tables
        found.append(np.asarray(after.clusters.regrets))
      pruned, whole = found[0], np.maximum(found[1], -100 * 31 / 30)
      np.testing.assert_array_equal(pruned[0, cells], whole[0, cells])
      changed = whole[1, cells] != -101
      assert (pruned[1, cells][~changed] == -101).all()
      looked += (pruned[1, cells][changed] == whole[1, cells][changed]).tolist()
  assert len(looked) > 100 and 0 < np.mean(looked) < 0.15


@pytest.mark.parametrize("size", [(6, 2, 2, "0 3 1 1"), (3, 2, 1, "0 1 1")])
def test_a_policy_plays_what_the_sampler_learns(untabulated, size):
  """Buckets in the sampler's tables are those that are found for a state, suits renamed or not."""
  dealt, generator = untabulated(poker(*size, raises=1)), np.random.default_rng(0)
  abstraction = make_abstraction(dealt, clusters=3, buckets=5, restarts=1)
  untabulated_buckets = hierarchical.dealt_tree(dealt, abstraction).untabulated
  table, runouts, deck = untabulated_buckets.buckets[0:3], dealt.deal.tables[1], dealt.deal.deck
  assert abstraction.on(dealt).find([(0, 1)]) == (-1, int(dealt.deal.hand_classes[0][0][1]))
  for _ in range(200):
    cards = generator.permutation(deck.size)
    hand, board = (
      cards[: dealt.deal.hole].tolist(),
      cards[dealt.deal.hole :][: sum(dealt.deal.public) - 1].tolist(),
    )
    swaps = renamings(deck)
    seen = dealt.deal.seen(hand, board)
    board_class, number = seen[1][0], seen[-1][1]
    row = 0 if len(seen) == 2 else 1 + seen[-1][0][-1]
    place = abstraction.clusters[board_class], untabulated_buckets.slot[board_class], row, number
    assert abstraction.find(seen) == (place[0], table[place])
    renamed = swaps[generator.integers(len(swaps))]
    alike = dealt.deal.seen(renamed[hand].tolist(), renamed[board].tolist())
    assert abstraction.find(alike) == abstraction.find(seen)
    assert set(runouts.cards[board_class].tolist()) <= set(range(deck.size))


def test_hold_em_to_the_river_is_answered():
  """All four rounds of no-limit hold'em, from centres drawn at random."""
  name = (
    "universal_poker(betting=nolimit,bettingAbstraction=fcpa,numPlayers=2,numRounds=4,blind=100 50,"
    "firstPlayer=2 1 1 1,numSuits=4,numRanks=13,numHoleCards=2,numBoardCards=0 3 1 1,stack=20000 20000)"
  )
  game, generator = pyspiel.load_game(name), np.random.default_rng(0)
  dealt = card_game(game)
  clusters = np.arange(len(dealt.deal.tables[1].cards)) % 60
  centres = [generator.random((60, size, 500)) for size in (19, 19, 8)]
  abstraction = NearestAbstraction.of(dealt, clusters, np.arange(len(dealt.deal.hands)) % 8, centres)
  trunk, subtree = hierarchical.trunk_and_subtree(dealt.betting, 1, abstraction.sizes)
  assert 60 * subtree.cells + trunk.cells == 40_203_380
  tables = StrategyTables(
    np.zeros((trunk.actions, trunk.cells)), generator.random((60, subtree.actions, subtree.cells))
  )
  policy = KeyedPolicy(hierarchical.ClusteredGame(dealt, abstraction), tables, {})
  state, rounds = game.new_initial_state(), set()
  while not state.is_terminal():
    if state.is_chance_node():
      state.apply_action(int(generator.choice([action for action, _ in state.chance_outcomes()])))
      continue
    shares = policy.action_probabilities(state)
    assert sum(shares.values()) == pytest.approx(1) and set(shares) == set(state.legal_actions())
    rounds.add(policy.form.bucket(state)[0])
    state.apply_action(1)
  assert len(rounds) == 2  # none, and the cluster of the board
  with pytest.raises(ValueError, match="too many boards to evaluate a strategy exactly"):
    hierarchical.exact_values(policy)


def test_a_run_without_tables_of_boards(untabulated, tmp_path):
  """It is saved, resumed and loaded as any other, and tables of cards are read, not made again."""
  game = pyspiel.load_game(poker(6, 2, 2, "0 3 1", raises=1))
  untabulated(str(game))
  solver = HierarchicalMCCFRSolver(game, clusters=2, buckets=3, rule="lcfr", pruning=-50.0)
  solver.run(3)
  solver.save(tmp_path / "run.safetensors")
  tables = sorted(file for file in (tmp_path / "run.clusters").iterdir() if file.name.startswith("cards."))
  assert len(tables) == 2
  resumed = load_solver(tmp_path / "run.safetensors")
  for run in (solver, resumed):
    run.run(3)
  for one, other in zip(*(jax.tree.leaves(run._here()) for run in (solver, resumed)), strict=True):
    np.testing.assert_array_equal(one, other)
  resumed.save(tmp_path / "run.safetensors")
  policy, average = load_policy(tmp_path / "run.safetensors"), resumed.average_policy()
  state = game.new_initial_state()
  for action in (0, 3, 5, 7, 1, 1, 8, 9, 10, 1):
    state.apply_action(action)
  shares = policy.action_probabilities(state)
  assert shares == average.action_probabilities(state)
  line = resumed._dealt.betting.line_of(state)
  number = int(set_numbers(np.array([5, 7])))
  np.testing.assert_allclose(
    hierarchical.by_lines(policy)(line, (8, 9, 10))[:, number], list(shares.values())
  )
  with pytest.raises(ValueError, match="give a number of buckets"):
    HierarchicalMCCFRSolver(game, clusters=2, buckets="lossless")
  with pytest.raises(ValueError, match="too many boards to evaluate a strategy exactly"):
    resumed.exploitability()
  tables[0].write_bytes(b"x")
  with pytest.raises(ValueError, match=r"cards\..* is truncated or not a file"):
    load_solver(tmp_path / "run.safetensors")
