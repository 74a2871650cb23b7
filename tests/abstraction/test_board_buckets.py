"""Boards in clusters and private states in buckets, in compiled games with public chance."""

import collections
import itertools
import re

import numpy as np
import pyspiel
import pytest
from dealt_games import poker
from weather import weather

from ps_cfr_spiel import ExternalSamplingSolver, build_tree
from ps_cfr_spiel.abstraction import abstract_tree
from ps_cfr_spiel.abstraction.maps import alphabetical
from ps_cfr_spiel.abstractions import abstract_by_clusters

LEDUC = "leduc_poker"
CARDS = ("2c", "2d", "3c", "3d", "4c", "4d")


def by_infostate(game, made):
  """{(player, infostate): its set} of an abstraction."""
  tree = build_tree(game)
  return {
    (player, name): int(number)
    for player in (0, 1)
    for (name, _, _), number in zip(alphabetical(tree, player), made.sets[player], strict=True)
  }


def test_sets_lie_in_one_cluster_and_on_one_line():
  """Checked by Leduc's information state strings; each cluster has both boards of one rank."""
  game = pyspiel.load_game(LEDUC)
  made = abstract_by_clusters(game, np.array([0, 0, 2, 2, 1, 1]), buckets=3)
  places = {}
  for (player, name), number in by_infostate(game, made).items():
    public = int(name.partition("[Public: ")[2].partition("]")[0] or -2)
    line = name.partition("[Round1]:")[2]
    places.setdefault((player, number), set()).add((public // 2, line))
  assert all(len(of_set) == 1 for of_set in places.values())
  members = np.concatenate([np.bincount(sets) for sets in made.sets])
  assert members.max() > 2 and made.count < made.infostates / 2
  alone = abstract_by_clusters(game, 2, buckets="lossless")
  assert alone.count == alone.infostates
  earlier = abstract_by_clusters(game, np.zeros(6, int), buckets="lossless", earlier_buckets=1)
  assert earlier.count == alone.count - 5 * 6  # six hands on each of six lines before the public card
  with pytest.raises(ValueError, match="clusters=7: there are only 6 boards in round 1"):
    abstract_by_clusters(game, 7)
  with pytest.raises(ValueError, match="an integer for each of 6 boards, from 0 without gaps; got int64"):
    abstract_by_clusters(game, np.array([0, 2, 0, 2, 0, 2]))
  with pytest.raises(ValueError, match=r"clustered_round=2: .* the last round with decisions is 1"):
    abstract_by_clusters(game, 2, clustered_round=2)
  with pytest.raises(ValueError, match="aware='potential': only for games of dealt cards"):
    abstract_by_clusters(game, 2, aware="potential")


def test_boards_on_which_play_is_worth_the_same_are_in_one_cluster():
  game = pyspiel.load_efg_game(weather(kinds=(0, 1, 1, 0)))
  given = abstract_by_clusters(game, np.array([0, 1, 1, 0]), buckets=2)
  made = abstract_by_clusters(game, 2, buckets=2)
  for one, other in zip(given.sets, made.sets, strict=True):
    np.testing.assert_array_equal(one, other)


def test_two_rounds_of_public_cards():
  """A later clustered round: its sets lie in one of its two clusters, and on one line."""
  game = pyspiel.load_game(poker(3, 2, 1, "0 1 1", raises=1))
  boards = {pair: k for k, pair in enumerate(itertools.permutations(CARDS, 2))}
  given = np.arange(len(boards)) % 2

  def clusters_of_sets(clusters):
    made = abstract_by_clusters(game, clusters, buckets=2, clustered_round=2, earlier_buckets=2)
    assert abstract_tree(build_tree(game), game, made) is made
    met = collections.defaultdict(set)
    for (player, name), number in by_infostate(game, made).items():
      seen = list(dict.fromkeys(re.findall(r"\[Public: (\w+)\]", name)))
      if len(seen) == 2:  # the first card, then both in the order of the deck
        met[player, number].add(given[boards[seen[0], seen[1].replace(seen[0], "")]])
    return list(met.values())

  assert {len(met) for met in clusters_of_sets(given)} == {1}
  assert max(len(met) for met in clusters_of_sets(given * 0)) == 2


def test_a_game_that_is_not_poker_is_solved():
  """An outcome of each cluster is followed; without an abstraction, of all."""
  game = pyspiel.load_efg_game(weather())
  solver = ExternalSamplingSolver(
    game,
    abstraction=abstract_by_clusters(game, 4, buckets="lossless"),
    every_cluster=True,
    rule="rm+",
    batch=4,
  )
  plain = ExternalSamplingSolver(game, every_cluster=True, rule="rm+", batch=4)
  for run in (solver, plain):
    run.run(1000)
  assert (
    solver.exploitability() == pytest.approx(plain.exploitability(), abs=1e-6)
    and solver.exploitability() < 0.02
  )


@pytest.mark.parametrize(
  ("name", "message"),
  [
    ("kuhn_poker", "kuhn_poker.* has no boards in that round; it has no public chance"),
    ("kuhn_poker(players=3)", "3 players; abstractions are for two"),
  ],
)
def test_games_that_have_no_boards(name, message):
  with pytest.raises(ValueError, match=message):
    abstract_by_clusters(pyspiel.load_game(name), 2)


def test_clusters_of_a_game_without_public_chance():
  with pytest.raises(ValueError, match="every_cluster: this game has no public chance in different clusters"):
    ExternalSamplingSolver(pyspiel.load_game("kuhn_poker"), every_cluster=True)
