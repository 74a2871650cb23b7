"""What dealt cards take is estimated before it is taken, and refused where it would not fit."""

import tracemalloc

import numpy as np
import pyspiel
import pytest
from dealt_games import poker

from ps_cfr_spiel import memory
from ps_cfr_spiel.abstraction import board_distances, public_clusters
from ps_cfr_spiel.abstractions import HierarchicalMCCFRSolver
from ps_cfr_spiel.hierarchical import DealtAbstraction, card_game, dealt_tree, make_abstraction
from ps_cfr_spiel.hierarchical.lines import mean_visits
from ps_cfr_spiel.memory import COMPILING, MORE_CODE, TooLarge, board_needs


def holdem(ranks, suits, public):
  """Limit hold'em with hands of two cards and one raise a round."""
  return pyspiel.load_game(poker(ranks, suits, 2, public, raises=1))


def peak(work):
  """Most bytes that NumPy and Python take at once while some work is done."""
  tracemalloc.start()
  try:
    work()
    return tracemalloc.get_traced_memory()[1]
  finally:
    tracemalloc.stop()


@pytest.fixture
def free(monkeypatch):
  """Sets how much memory is free, as far as refusals know."""
  return lambda count: monkeypatch.setattr(memory, "free_memory", lambda: float(count))


@pytest.mark.parametrize("size", [(13, 2, "0 3"), (6, 4, "0 3"), (4, 3, "0 3 1"), (8, 2, "0 2 1 1")])
def test_cards_are_refused_where_their_tables_would_not_fit(free, size):
  """The tables, and an abstraction of one bucket, take no more than was estimated, and not much less."""
  game = holdem(*size)

  def tables():
    dealt = card_game(game)
    classes = dealt.deal.hand_classes
    assert len(dealt.deal.strength_table) == len(classes[-1])
    alike = [np.where(after < 0, -1, 0) for after in classes[1:]]
    DealtAbstraction.of(dealt, np.zeros(len(classes[1]), int), [classes[0], *alike])

  taken = peak(tables)
  free(5 * taken)
  tables()
  free(taken)
  with pytest.raises(TooLarge, match=r"classes of boards, .* hands on them.*Fewer public cards"):
    card_game(game)


@pytest.mark.parametrize("aware", ["potential", "distribution"])
def test_buckets_are_refused_where_their_hands_would_not_fit(free, aware):
  dealt = card_game(holdem(4, 4, "0 3 1"))
  assert len(dealt.deal.strength_table) == len(dealt.deal.hand_classes[-1])
  clusters = np.arange(len(dealt.deal.hand_classes[1])) % 2

  def buckets():
    make_abstraction(dealt, clusters=clusters, buckets=10, restarts=1, progress=False, aware=aware)

  buckets()  # a first call has imports, and tables of cards that are kept
  taken = peak(buckets)
  free(8 * taken)
  buckets()
  free(taken)
  with pytest.raises(TooLarge, match="More clusters or fewer buckets take less"):
    buckets()


@pytest.mark.parametrize("traverser", [0, 1])
def test_visits_of_a_traversal_are_those_of_a_walk(traverser):
  """In OpenSpiel's own states, with uniform play of the other; increments of each are in the estimate."""
  game = pyspiel.load_game("leduc_poker")

  def visits(state):
    if state.is_terminal():
      return 0
    below = [visits(state.child(action)) for action in state.legal_actions()]
    return 1 + (sum(below) if state.current_player() == traverser else np.mean(below))

  def of_second_rounds(state):
    if state.is_chance_node():
      return visits(state.child(state.legal_actions()[0]))
    return sum(of_second_rounds(state.child(action)) for action in state.legal_actions())

  solver = HierarchicalMCCFRSolver(game, 2, buckets=1)
  tree = dealt_tree(solver._dealt, solver.abstraction)
  start = game.new_initial_state().child(0).child(3)
  assert mean_visits(tree.cluster_subtree, traverser) == pytest.approx(of_second_rounds(start))


def test_whole_holdem_is_dealt_without_tables(free):
  """Tables of its 2.6 million classes of runouts would take 140 GB; other numbers of cards need them."""
  free(2e9)
  game = holdem(13, 4, "0 3 1 1")
  assert peak(lambda: card_game(game)) < 1e8
  assert not card_game(game).deal.in_tables
  with pytest.raises(
    ValueError, match=r"clustered_round=2: .* has too many boards for tables; cluster those of round 1"
  ):
    make_abstraction(card_game(game), clusters=2, buckets=2, clustered_round=2)
  with pytest.raises(ValueError, match=r"leave those of earlier rounds lossless; got .*earlier_buckets=5"):
    make_abstraction(card_game(game), clusters=2, buckets=2, earlier_buckets=5)
  free(32e9)
  with pytest.raises(TooLarge, match="for 1,326 hands"):
    card_game(holdem(13, 4, "0 3 2"))


@pytest.mark.parametrize("clustered_round", [0, 3])
def test_only_rounds_with_public_cards_are_clustered(clustered_round):
  dealt = card_game(holdem(4, 2, "0 1 1"))
  with pytest.raises(ValueError, match=f"clustered_round.*{clustered_round}"):
    make_abstraction(dealt, clusters=2, clustered_round=clustered_round)


def test_boards_are_refused_where_their_distances_would_not_fit(free):
  """The number of classes of boards of five cards out of 32 is Burnside's, over all names of suits."""
  shares = np.random.default_rng(0).random((600, 20))
  public_clusters(board_distances(shares[:9]), 5, restarts=1)  # so that SciPy is there
  taken = peak(lambda: public_clusters(board_distances(shares), 5, restarts=1))
  [estimate] = board_needs(600).values()
  assert estimate / 2 < taken < estimate
  ranks, fixed = 8, 0
  for renamings, cycles in ((1, (1, 1, 1, 1)), (6, (1, 1, 2)), (3, (2, 2)), (8, (1, 3)), (6, (4,))):
    boards = np.poly1d([1])  # its coefficient of x ** 5: boards that so many renamings of suits leave alone
    for cycle in cycles:
      boards *= np.poly1d([1] + [0] * (cycle - 1) + [1]) ** ranks
    fixed += renamings * round(boards[5])
  free(1e9)
  dealt = card_game(holdem(ranks, 4, "0 5"))
  for buckets in (50, "lossless"):
    with pytest.raises(TooLarge, match=rf"for the distances of {fixed // 24:,} boards"):
      make_abstraction(dealt, clusters=60, buckets=buckets)
  assert "hand_classes" not in vars(dealt.deal)  # hands are not enumerated


def test_buckets_of_all_boards_are_refused_before_boards_are_compared(free):
  dealt = card_game(holdem(13, 4, "0 3"))
  free(1e8)
  with pytest.raises(TooLarge, match="for the hands of one cluster"):
    make_abstraction(dealt, clusters=1, buckets=50)
  assert "hand_classes" not in vars(dealt.deal)  # hands are not enumerated


@pytest.mark.parametrize(
  ("arguments", "words"),
  [
    ({"batch": 10**9}, "batch=1,000,000,000 and boards=1 needs about .* for the samples of a batch"),
    ({"boards": 10**9}, "batch=16 and boards=1,000,000,000 needs about"),
  ],
)
def test_deals_that_would_not_fit_are_refused(arguments, words):
  with pytest.raises(TooLarge, match=words):
    HierarchicalMCCFRSolver(pyspiel.load_game("leduc_poker"), clusters=2, buckets="lossless", **arguments)


def test_tables_that_would_not_fit_are_refused(free):
  game = pyspiel.load_game("leduc_poker")
  free(1e9)
  HierarchicalMCCFRSolver(game, clusters=2, buckets="lossless")
  free(COMPILING + MORE_CODE)  # as much as compiling takes
  with pytest.raises(TooLarge, match=r"for regrets and averages.*Fewer clusters or buckets"):
    HierarchicalMCCFRSolver(game, clusters=2, buckets="lossless")
