"""Dealt games against the walked ones: payoffs, expected increments, exact values."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest
from dealt_games import poker
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel import build_tree, evaluate_policy
from ps_cfr_spiel.backend.device import jit, to_device
from ps_cfr_spiel.backend.native import why_unavailable
from ps_cfr_spiel.cards.poker.dealt import read_card_game
from ps_cfr_spiel.cards.poker.suits import set_numbers
from ps_cfr_spiel.cfr import RM, averages
from ps_cfr_spiel.hierarchical import (
  ClusteredGame,
  DealtAbstraction,
  DealtTables,
  LineCells,
  Strategy,
  StrategyTables,
  card_game,
  clustering,
  dealt_tree,
  evaluate_strategies,
  evaluation,
  exact_values,
  make_abstraction,
  measure,
  shares_beaten,
  value_against,
)
from ps_cfr_spiel.hierarchical.card_draws import deal_hands
from ps_cfr_spiel.hierarchical.cluster_sampling import Numbers, PartTables, traverse
from ps_cfr_spiel.sampling.keyed import KeyedPolicy
from ps_cfr_spiel.sampling.mccfr import Turn

LEDUC = "leduc_poker"


SMALL = poker(3, 2, 1, "0 1")
THREE = poker(3, 2, 1, "0 1 1", raises=1)
TWO_CARDS = poker(4, 2, 2, "0 2", raises=1)
RANGES = "2c2d:0.5 3c3d 4c4d:0.25 3c4d 6c6d;2c3d 4c6d:0.75 4c4d 2d6c:0.1 6c6d"
TURN = f"holdem_subgame(deck=5x2,board=2c3d5c5d,pot=2,stack=4,bets=1 a,ranges={RANGES})"
PAIRS = "holdem_subgame(deck=5x2,board=2c2d5c5d,pot=2,stack=4,bets=1 a)"  # both suits are alike
FLOP = (
  "holdem_subgame(deck=5x2,board=2c3d5c,pot=2,stack=3,bets=a,ranges=2d4c:0.5 6c6d 3c5d;2d5d 4c4d:0.75 6c6d)"
)
NO_LIMIT = poker(3, 2, 1, "0 1", bets="nolimit").replace("stack=20 20", "stack=8 8,bettingAbstraction=fcpa")


@functools.cache
def compiled(name):
  game = pyspiel.load_game(name)
  return game, card_game(game)


def legal_actions(part):
  """int[cells]: how many actions each cell has; tables are zero beyond."""
  actions, acts = np.zeros(part.cells, int), part.betting.player >= 0
  for number in range(part.round.max() + 1):
    of_round = acts & (part.round == number)
    if of_round.any():
      first, stride = part.cell[of_round].min(), part.stride[of_round][0]
      stop = min([*part.cell[acts & (part.round > number)], part.cells])
      moves = part.moves[of_round][np.argsort(part.cell[of_round])]
      actions[first:stop] = np.tile(moves, (stop - first) // stride)
  return actions


def random_tables(dealt, abstraction, seed):
  """Strategies, some of them pure, some cells never visited."""
  parts, generator = dealt_tree(dealt, abstraction), np.random.default_rng(seed)

  def table(lines, *front):
    shape = (*front, lines.actions, lines.cells)
    legal = np.arange(lines.actions)[:, None] < legal_actions(lines)
    return generator.exponential(size=shape) * (generator.random(shape) < 0.6) * legal

  return StrategyTables(table(parts.trunk), table(parts.cluster_subtree, abstraction.count))


@pytest.mark.parametrize(
  "name",
  [
    LEDUC,
    THREE,
    TWO_CARDS,
    NO_LIMIT,
    TURN,
    FLOP,
    poker(13, 4, 2, "0 3", raises=3),
    poker(3, 2, 2, "0 1", raises=1),
  ],
)
def test_payoffs_are_openspiels_on_random_playouts(name):
  game, dealt = compiled(name)
  deal, generator = dealt.deal, np.random.default_rng(0)
  betting = dealt.betting
  moves = zip(betting.parent.tolist(), betting.action.tolist(), strict=True)
  after = {pair: k for k, pair in enumerate(moves)}
  for _ in range(60):
    state, line = game.new_initial_state(), 0
    while not state.is_terminal():
      if state.is_chance_node():
        state.apply_action(int(generator.choice([action for action, _ in state.chance_outcomes()])))
        continue
      action = int(generator.choice(state.legal_actions()))
      while (line, -1) in after:
        line = after[line, -1]
      assert betting.player[line] == state.current_player()
      line = after[line, action]
      state.apply_action(action)
    while (line, -1) in after:
      line = after[line, -1]
    cards = deal.dealt(state)
    pairs = [cards[: deal.hole], cards[deal.hole : 2 * deal.hole]]
    won = betting.fold_payoff[line, 0]
    if betting.showdown_payoff[line]:
      first, second = deal.strengths(np.array([[*deal.board, *cards[2 * deal.hole :]]]))[0][
        set_numbers(np.array(pairs))
      ]
      won += betting.showdown_payoff[line] * np.sign(int(first) - int(second))
    assert state.returns()[0] == pytest.approx(won)


# --- Expected increments ----------------------------------------------------------------------------


def cell_of(dealt, abstraction, state):
  """(cluster or -1, cell) of a state."""
  line, (cluster, bucket) = dealt.betting.line_of(state), ClusteredGame(dealt, abstraction).bucket(state)
  cells = LineCells.of(dealt.betting, abstraction.clustered_round, abstraction.sizes)
  return cluster, cells.cell[line] + cells.stride[line] * bucket


def exact_increments(game, policy, traverser, key_of=pyspiel.State.information_state_string):
  """The traverser's counterfactual regrets, the other's reach x policy: {key: (state, [A])}."""
  found = {}

  @functools.cache
  def play(key):
    return policy.action_probabilities(states[key])

  states = {}

  def value(state, reach, chance):
    """To the traverser; `reach` is the other player's."""
    if state.is_terminal():
      return state.returns()[traverser]
    if state.is_chance_node():
      return sum(p * value(state.child(a), reach, chance * p) for a, p in state.chance_outcomes())
    key = key_of(state)
    states.setdefault(key, state)
    shares = play(key)
    total = found.setdefault(key, (states[key], np.zeros(len(shares))))[1]
    if state.current_player() == traverser:
      values = np.array([value(state.child(a), reach, chance) for a in shares])
      mean = values @ list(shares.values())
      total += chance * reach * (values - mean)
      return mean
    total += chance * reach * np.array(list(shares.values()))
    return sum(p * value(state.child(a), reach * p, chance) for a, p in shares.items() if p > 0)

  value(game.new_initial_state(), 1.0, 1.0)
  return found


@pytest.mark.parametrize("name", [TWO_CARDS, TURN])
def test_hands_are_dealt_as_chance_deals_them(name):
  """Pairs without a card in common, as often as their weights say."""
  _, dealt = compiled(name)
  clusters = np.zeros(len(dealt.deal.tables[1].cards), int)
  parts = dealt_tree(dealt, make_abstraction(dealt, clusters=clusters, buckets="lossless"))
  draws, hands = 100_000, len(dealt.deal.hands)
  first, second = np.asarray(jax.jit(deal_hands, static_argnums=2)(parts.cards, jax.random.key(3), draws))
  apart = np.array(
    [[not set(x) & set(y) for y in dealt.deal.hands.tolist()] for x in dealt.deal.hands.tolist()]
  )
  count = np.bincount(first * hands + second, minlength=hands**2).reshape(hands, hands)
  likely = apart * np.multiply.outer(*dealt.deal.weights)
  assert not count[likely == 0].any()
  expected = (draws * likely / likely.sum())[likely > 0]
  assert (np.abs(count[likely > 0] - expected) < 5 * expected**0.5).all()


def halves(lines, shape, generator):
  """Regrets by which each cell plays one action, or two equally often: two numbers draw all there is."""
  table = np.zeros((*shape, lines.actions, lines.cells))
  legal = legal_actions(lines)
  for place in np.ndindex(*shape, lines.cells):
    some = generator.permutation(legal[place[-1]])[: generator.integers(1, 3)]
    table[(*place[:-1], some, place[-1])] = 2.0
    table[(*place[:-1], slice(legal[place[-1]]), place[-1])] -= 1
  return np.where(table > 0, 1.0, np.minimum(table, 0))


def after_a_turn(parts, strategies, hands, trunk, clusters, traverser):
  """The increments of regrets and averages, [A, S] of the trunk and [C', A, S] of the clusters."""
  count = len(parts.boards)
  empty = np.pad(strategies.clusters, ((0, count - len(strategies.clusters)), (0, 0), (0, 0)))
  tables = strategies.trunk, np.concatenate(empty, 1)
  before = DealtTables(*(PartTables(x, averages.Sum(np.zeros_like(x), np.zeros_like(x))) for x in tables))
  draws = clusters.shape[1] // hands.shape[1]
  after = turn(*to_device((parts, before, hands, trunk, clusters), "float64"), jnp.int32(traverser), draws)
  found = [
    (np.asarray(new.regrets) - old.regrets, np.asarray(new.average.total))
    for new, old in zip(after, before, strict=True)
  ]
  return found[0], tuple(np.stack(np.split(x, count, 1)) for x in found[1])


@jit(static_argnums=6)
def turn(parts, tables, hands, trunk, clusters, traverser, draws):
  """A turn of the first iteration, jitted; all clusters are here."""
  own = jnp.broadcast_to(clusters[None], (len(parts.boards), *clusters.shape))
  now = Turn(traverser, jnp.int32(1), None)
  return traverse(parts, tables, now, Numbers(hands, trunk, own), RM(), lambda values: values, draws)


def enumerated(dealt, abstraction, tables, traverser, draws):
  """Every deal, board of each cluster, and move: what a turn adds on average, (regrets, averages) by part.

  With two draws the second has all boards and moves as well, in another order.
  """
  parts = dealt_tree(dealt, abstraction, 4)  # with empty clusters behind the others
  hands = np.array(list(itertools.permutations(range(6), 2))).T
  opponent = 1 - traverser  # who acts at every second depth
  grid = list(itertools.product(range(hands.shape[1]), (np.arange(12) + 0.5) / 12, *[(0.25, 0.75)] * 4))
  trunk = np.full((len(parts.trunk.depths), len(grid)), 0.1)
  clusters = np.full((1 + len(parts.cluster_subtree.depths), len(grid)), 0.1)
  deal, clusters[0], trunk[opponent], trunk[opponent + 2], clusters[opponent + 2], clusters[opponent + 4] = (
    np.array(grid).T
  )
  # Deals, boards, two moves in the trunk, two moves behind it.
  order = np.arange(len(grid)).reshape(-1, 12, 2, 2, 2, 2)
  other = np.roll(order, 5, 1)[..., ::-1, ::-1].ravel()
  clusters = np.concatenate([clusters, clusters[:, other]], 1)[:, : draws * len(grid)]
  hands = hands[:, deal.astype(int)].astype(np.int32)
  return after_a_turn(parts, tables, hands, trunk, clusters, traverser)


def expected_and_found(clusters, traverser, draws=1):
  """For each cell that is played: its cluster, what it should be given, what it was given."""
  game, dealt = compiled(LEDUC)
  abstraction = make_abstraction(dealt, clusters=np.array(clusters), buckets="lossless")
  parts, generator = dealt_tree(dealt, abstraction), np.random.default_rng(traverser)
  tables = StrategyTables(
    halves(parts.trunk, (), generator), halves(parts.cluster_subtree, (abstraction.count,), generator)
  )
  exact = exact_increments(game, KeyedPolicy(ClusteredGame(dealt, abstraction), tables, {}), traverser)
  results = enumerated(dealt, abstraction, tables, traverser, draws)
  sums = {}  # a cell has all infostates that differ in names of suits alone
  for state, increments in exact.values():
    place = (*cell_of(dealt, abstraction, state), 0 if state.current_player() == traverser else 1)
    sums[place] = sums.get(place, 0) + increments
  for (cluster, cell, kind), increments in sums.items():
    table = results[0][kind] if cluster < 0 else results[1][kind][cluster]
    yield cluster, kind, increments, table[: len(increments), cell]


@pytest.mark.parametrize(
  ("clusters", "draws", "traverser"), [((0, 0, 0), 1, 0), ((0, 1, 1), 2, 1), ((2, 0, 1), 1, 0)]
)
def test_expected_increments_are_the_counterfactual_regrets(clusters, draws, traverser):
  """With one cluster, some, and one for each board, empty ones beside them; with several boards at once."""
  cells = list(expected_and_found(clusters, traverser, draws=draws))
  assert len(cells) > 100  # where the other player never comes nothing is learned
  for _, _, increments, found in cells:
    np.testing.assert_allclose(found, increments, atol=1e-12)


@pytest.mark.parametrize(
  ("clustered_round", "clusters", "traverser"), [(1, (1, 0), 0), (2, (1, 0, 0, 2, 1, 2), 1)]
)
def test_expected_increments_over_three_rounds(clustered_round, clusters, traverser):
  """No card comes twice: every deal and all public cards, against an opponent with pure policies."""
  game, dealt = compiled(poker(2, 2, 1, "0 1 1", raises=1))
  earlier = 2 if clustered_round == 2 else "lossless"
  given = {"buckets": "lossless", "earlier_buckets": earlier, "clustered_round": clustered_round}
  abstraction = make_abstraction(dealt, clusters=np.array(clusters), **given)
  parts = dealt_tree(dealt, abstraction)
  hands = np.array(list(itertools.permutations(range(4), 2)))
  grid = np.array(list(itertools.product(range(len(hands)), (0.25, 0.75), (0.25, 0.75))))
  trunk = np.full((len(parts.trunk.depths), len(grid)), 0.5)
  clusters = np.full((2 + len(parts.cluster_subtree.depths), len(grid)), 0.5)
  clusters[:2] = grid.T[1:]
  if clustered_round == 2:  # the first cards come in the trunk
    trunk, clusters = np.concatenate([clusters[:1], trunk]), clusters[1:]
  dealt_hands = hands[grid[:, 0].astype(int)].T.astype(np.int32)
  last = 0
  for seed in range(2):
    generator = np.random.default_rng(seed)
    choices = (
      generator.integers(0, legal_actions(parts.trunk)),
      generator.integers(
        0, legal_actions(parts.cluster_subtree), (abstraction.count, parts.cluster_subtree.cells)
      ),
    )
    head_table, child_table = (
      np.eye(lines.actions)[chosen].swapaxes(-1, -2)
      for chosen, lines in zip(choices, (parts.trunk, parts.cluster_subtree), strict=True)
    )
    tables = StrategyTables(head_table, child_table)
    found = after_a_turn(parts, tables, dealt_hands, trunk, clusters, traverser)
    policy = KeyedPolicy(ClusteredGame(dealt, abstraction), tables, {})
    exact = exact_increments(game, policy, traverser, functools.partial(cell_of, dealt, abstraction))
    for (cluster, cell), (state, increments) in exact.items():
      table = found[min(cluster, 0) + 1][0 if state.current_player() == traverser else 1]
      column = (table if cluster < 0 else table[cluster])[: len(increments), cell]
      np.testing.assert_allclose(column, increments, atol=1e-12)
      cards = sum(move.player < 0 for move in state.full_history())
      last += cards == 4 and state.current_player() == traverser and np.abs(increments).max() > 0
  assert last > 10  # of the last round


# --- Exact values -----------------------------------------------------------------------------------


class Seats(openspiel_policy.Policy):
  """Each player follows a policy of its own."""

  def __init__(self, game, policies):
    super().__init__(game, [0, 1])
    self.policies = policies

  def action_probabilities(self, state, player_id=None):
    return self.policies[state.current_player()].action_probabilities(state)


SEATS = (0, 1), (1, 0)


@pytest.mark.parametrize(
  ("name", "clustered_round", "makings", "seatings"),
  [
    (TWO_CARDS, 1, [(3, 4), (2, 3)], SEATS),
    (NO_LIMIT, 1, [(3, "lossless"), (2, 2)], SEATS[:1]),
    (TURN, 1, [(3, 3), (2, "lossless")], SEATS[1:]),
    (PAIRS, 1, [(2, 3), (3, "lossless")], SEATS[:1]),
    (FLOP, 2, [(3, 3), (2, "lossless")], SEATS),
  ],
)
def test_board_by_board_values_are_the_walked_trees(name, clustered_round, makings, seatings):
  """Also where the players have different abstractions, one of few buckets in earlier rounds."""
  game, dealt = compiled(name)
  policies, strategies = [], []
  for seed, (clusters, buckets) in enumerate(makings):
    given = {"clusters": clusters, "buckets": buckets, "clustered_round": clustered_round}
    abstraction = make_abstraction(dealt, **given, earlier_buckets=(2, "lossless")[seed], restarts=2)
    assert seed or abstraction.sizes[:clustered_round] == (2,) * clustered_round
    strategies.append(Strategy(abstraction, random_tables(dealt, abstraction, seed)))
    policies.append(KeyedPolicy(ClusteredGame(dealt, strategies[-1].abstraction), strategies[-1].tables, {}))
  values, whole = [], build_tree(game)
  for seats in seatings:
    found = evaluate_strategies(dealt, tuple(strategies[seat] for seat in seats), "float64")
    walked = evaluate_policy(game, Seats(game, [policies[seat] for seat in seats]), tree=whole)
    np.testing.assert_allclose(jax.tree.leaves(found), jax.tree.leaves(walked), atol=1e-9)
    values.append(walked.value)
  if seatings == SEATS:
    assert value_against(*policies) == pytest.approx((values[0] - values[1]) / 2)


def test_exact_values_of_a_policy_are_the_walked_trees():
  game, dealt = compiled(LEDUC)
  abstraction = make_abstraction(dealt, clusters=2, buckets="lossless")
  policy = KeyedPolicy(ClusteredGame(dealt, abstraction), random_tables(dealt, abstraction, 1), {})
  assert exact_values(policy).value == pytest.approx(evaluate_policy(game, policy).value)


@pytest.mark.skipif(bool(why_unavailable()), reason="no native library")
def test_values_do_not_depend_on_the_native_library(monkeypatch):
  _, dealt = compiled(TWO_CARDS)
  abstraction = make_abstraction(dealt, clusters=2, buckets=3, restarts=2)
  own = Strategy(abstraction, random_tables(dealt, abstraction, 1))
  found = []
  for reason in ("", "it was not built"):
    monkeypatch.setattr(evaluation, "why_unavailable", lambda reason=reason: reason)
    found.append(evaluate_strategies(dealt, (own, own), "float64"))
  np.testing.assert_allclose(*map(jax.tree.leaves, found), rtol=0, atol=1e-12)


def worth(game, policy, player, hole, best):
  """By plain recursion over sets of histories that a player cannot tell apart: its value or best response."""

  def value(some):
    state = some[0][0]
    if state.is_terminal():
      return sum(weight * state.returns()[player] for state, weight in some)
    if state.current_player() == player and best:
      return max(value([(state.child(a), weight) for state, weight in some]) for a in state.legal_actions())
    parts = {}
    for state, weight in some:
      moves = (
        state.chance_outcomes() if state.is_chance_node() else policy.action_probabilities(state).items()
      )
      for action, probability in moves:
        if probability > 0:
          parts.setdefault(action, []).append((state.child(action), weight * probability))
    return sum(map(value, parts.values()))

  deals = [(game.new_initial_state(), 1.0)]
  for _ in range(2 * hole):
    deals = [(state.child(a), weight * p) for state, weight in deals for a, p in state.chance_outcomes()]
  hands = {}
  for state, weight in deals:
    hands.setdefault(tuple(state.history()[player * hole : (player + 1) * hole]), []).append((state, weight))
  return sum(map(value, hands.values()))


@pytest.mark.parametrize("clustered_round", [1, 2])
def test_board_by_board_values_over_three_rounds(clustered_round):
  """The strings of `universal_poker` forget in which order public cards came, so this one is not compiled.

  A best response of one seat each: all histories are walked.
  """
  game, dealt = compiled(THREE)
  abstraction = make_abstraction(dealt, clusters=2, buckets=2, restarts=2, clustered_round=clustered_round)
  tables = random_tables(dealt, abstraction, 3)
  own = Strategy(abstraction, tables)
  found = evaluate_strategies(dealt, (own, own), "float64")
  policy = KeyedPolicy(ClusteredGame(dealt, abstraction), tables, {})
  assert found.value == pytest.approx(worth(game, policy, 0, 1, best=False))
  player = clustered_round - 1
  assert found.best_response[player] == pytest.approx(worth(game, policy, player, 1, best=True))


def test_strategies_of_different_clustered_rounds_are_not_compared():
  _, dealt = compiled(THREE)
  strategies = []
  for clustered_round in (1, 2):
    abstraction = make_abstraction(dealt, clusters=2, buckets="lossless", clustered_round=clustered_round)
    strategies.append(Strategy(abstraction, random_tables(dealt, abstraction, 0)))
  with pytest.raises(ValueError, match="cluster the boards of rounds 1 and 2; expected abstractions of one"):
    evaluate_strategies(dealt, tuple(strategies))


def test_shares_beaten_before_the_last_cards():
  """The mean over the cards that may come of the share of all hands that are there, itself for a half."""
  _, dealt = compiled(THREE)
  for board, hand in itertools.permutations(range(6), 2):
    shares = []
    for card in set(range(6)) - {board, hand}:
      (runout, own), others = dealt.deal.seen([hand], [board, card])[-1], set(range(6)) - {board, card}
      strength = dealt.deal.strength_table[runout]
      lead = [strength[own] - strength[dealt.deal.seen([o], [board, card])[-1][1]] for o in others]
      shares.append(np.mean([(x > 0) + (x == 0) / 2 for x in lead]))
    runout, own = dealt.deal.seen([hand], [board])[-1]
    assert shares_beaten(dealt.deal, 1, runout)[own] == pytest.approx(np.mean(shares))


# --- Abstractions -----------------------------------------------------------------------------------


def test_opponents_hands_are_described_by_all_boards(monkeypatch):
  """A board that suits make of several counts as several: by enumeration of real cards."""
  _, dealt = compiled(TWO_CARDS)
  found, bucketed = [], clustering.bucketed
  monkeypatch.setattr(
    clustering, "bucketed", lambda rows, *rest, **k: found.append(rows) or bucketed(rows, *rest, **k)
  )
  clustering.Equities.of(dealt.deal, 0)
  deck, expected = range(dealt.deal.deck.size), {}
  for hand in itertools.combinations(deck, 2):
    shares = []
    for board in itertools.combinations(set(deck) - {*hand}, 2):
      here = np.array([(a, b) for a, b in itertools.combinations(deck, 2) if not {a, b} & {*board}])
      strength = dealt.deal.strengths(np.array([board]))[0]
      lead = strength[set_numbers(np.array([hand]))] - strength[set_numbers(here)]
      shares.append(np.mean(np.sign(lead) + 1) / 2)
    number = set_numbers(np.array([hand]))[0]
    expected.setdefault(dealt.deal.hand_classes[0][0][number], []).append(np.sum(shares))
  means = np.array([np.mean(expected[k]) for k in range(len(expected))])
  np.testing.assert_allclose(found[0][:, 0] / found[0][0, 0], means / means[0])


@pytest.mark.parametrize(("name", "clustered_round"), [(LEDUC, 1), (THREE, 1), (THREE, 2), (TWO_CARDS, 1)])
def test_lossless_buckets_are_the_classes_and_clusters_share_none(name, clustered_round):
  _, dealt = compiled(name)
  abstraction = make_abstraction(dealt, clusters=2, buckets="lossless", clustered_round=clustered_round)
  for number in range(1, dealt.deal.streets):
    table, classes = abstraction.buckets[number], dealt.deal.hand_classes[number]
    own = np.arange(len(table)) if number == clustered_round else dealt.deal.tables[number].parent
    own = np.zeros(len(table), int) if number < clustered_round else abstraction.clusters[own]
    alive = classes >= 0
    board = np.broadcast_to(np.arange(len(table))[:, None], table.shape)
    cells = set(zip(own[board[alive]].tolist(), table[alive].tolist(), strict=True))
    assert len(cells) == (classes.max(1) + 1).sum()
    assert (table[~alive] == -1).all()


def test_buckets_are_as_many_as_asked_for_and_repeat():
  _, dealt = compiled(TWO_CARDS)
  found = [make_abstraction(dealt, clusters=3, buckets=4, seed=5, restarts=2) for _ in range(2)]
  assert found[0].count == 3 and found[0].sizes[1] == 4
  for one, two in zip(found[0].buckets, found[1].buckets, strict=True):
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("aware", ["potential", "distribution"])
def test_hands_share_a_bucket_before_the_last_round_if_they_are_alike(aware):
  """With as many buckets as there are kinds of hands: by card after card, and hand against hand."""
  _, dealt = compiled(THREE)
  made, deck, alike = make_abstraction(dealt, clusters=1, buckets=60, aware=aware), range(6), {}
  for board, hand in itertools.permutations(deck, 2):
    after = []
    for card in set(deck) - {board, hand}:
      place = dealt.deal.seen([hand], [board, card])
      (runout, own), others = place[-1], set(deck) - {board, hand, card}
      strength = dealt.deal.strength_table[runout]
      lead = [strength[own] - strength[dealt.deal.seen([o], [board, card])[-1][1]] for o in others]
      beaten = np.mean([(x > 0) + (x == 0) / 2 for x in lead])
      after.append(made.find(place)[1] if aware == "potential" else min(int(20 * beaten), 19))
    alike.setdefault(tuple(sorted(after)), set()).add(made.find(dealt.deal.seen([hand], [board]))[1])
  assert all(len(buckets) == 1 for buckets in alike.values())
  assert len(set.union(*alike.values())) == len(alike) > 5


def test_wrong_abstractions_are_refused():
  _, dealt = compiled(SMALL)
  good = make_abstraction(dealt, clusters=2, buckets="lossless")
  with pytest.raises(ValueError, match="a number for each of 3 boards"):
    DealtAbstraction.of(dealt, np.array([0, 2, 0]), good.buckets)
  with pytest.raises(ValueError, match="expected a table for each of 2 rounds, got 1"):
    DealtAbstraction.of(dealt, good.clusters, good.buckets[:1])
  with pytest.raises(ValueError, match="buckets of round 1: expected a table"):
    DealtAbstraction.of(dealt, good.clusters, [good.buckets[0], good.buckets[1] * 0])
  apart = good.buckets[0].copy()
  apart[0, 1] = 5
  with pytest.raises(ValueError, match="hands that differ in names of suits are in two buckets"):
    DealtAbstraction.of(dealt, good.clusters, [apart, good.buckets[1]])
  large = good.buckets[1].copy()
  large[large >= 0] += 2**30
  with pytest.raises(
    ValueError, match=r"buckets of round 1: a table \(3, 6\) has 18 buckets at most, from 0; got number 1,073"
  ):
    DealtAbstraction.of(dealt, good.clusters, [good.buckets[0], large])
  with pytest.raises(ValueError, match="buckets of round 0: expected integers, got float64"):
    DealtAbstraction.of(dealt, good.clusters, [good.buckets[0] + 0.5, good.buckets[1]])
  for clusters in ("x", 2.5, float("nan"), [1], [[0, 0, 1]], [0, 0, 10**9], [0.0, 1.0, 1.0], True):
    with pytest.raises(ValueError, match=r"^clusters"):
      make_abstraction(dealt, clusters=clusters, buckets="lossless")
  for seed in (None, -1, 2.5, "x"):
    with pytest.raises(ValueError, match="seed must be an integer from 0"):
      make_abstraction(dealt, clusters=2, buckets="lossless", seed=seed)
  with pytest.raises(ValueError, match="clusters=4: there are only 3 boards"):
    make_abstraction(dealt, 4)
  with pytest.raises(ValueError, match="buckets must be an integer of at least 1"):
    make_abstraction(dealt, clusters=2, buckets="all")
  with pytest.raises(ValueError, match="Unknown aware 'of all'; choose one of 'potential', 'distribution'"):
    make_abstraction(dealt, clusters=2, buckets=3, aware="of all")


@pytest.mark.parametrize(
  ("name", "words"),
  [
    ("kuhn_poker", "no public cards come"),
    ("kuhn_poker(players=3)", "expected universal_poker for two"),
    ("leduc_poker(suit_isomorphism=True)", "leduc_poker without suit_isomorphism"),
    (poker(3, 2, 1, "0 0"), "expected none before the first and some before each other"),
    (poker(4, 2, 3, "0 1"), "deals hands of 3 cards"),
  ],
)
def test_other_games_are_refused(name, words):
  with pytest.raises(ValueError, match=words):
    card_game(pyspiel.load_game(name))


def test_sizes_are_counted_without_making_anything():
  """Leduc's are those of its walk, flop hold'em's were counted independently when it was planned."""
  game, dealt = compiled(LEDUC)
  sizes = measure(dealt.betting, dealt.deal)
  assert sizes.infostates == 936 and sizes.boards.tolist() == [1, 6] and sizes.classes.tolist() == [1, 3]
  assert len(list(build_tree(game).names.infostates())) == 936
  assert sizes.bytes == 8 * openspiel_policy.TabularPolicy(game).legal_actions_mask.sum()
  abstraction = make_abstraction(dealt, clusters=2, buckets=3)
  cells = dealt_tree(dealt, abstraction)
  assert sizes.abstract_infostates(2, 3) == cells.trunk.cells + 2 * cells.cluster_subtree.cells
  game = read_card_game(pyspiel.load_game(poker(13, 4, 2, "0 3", raises=3).replace("20 20", "100 100")))
  large = measure(game.betting, game.deal)
  assert (large.infostates, large.abstract_infostates(60, 50)) == (1_455_428_208, 169_352)
  assert large.lines.tolist() == [8, 56] and large.classes.tolist() == [1, 1_755]
