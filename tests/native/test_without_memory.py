"""Kernels whose memory runs out, at each of their requests for it: an error of the call, in words."""

import json

import failing
import forked
import pytest

from ps_cfr_spiel.backend.native import why_unavailable

pytestmark = pytest.mark.skipif(why_unavailable() != "", reason=why_unavailable() or "it is there")
# Each call of the library is made until it has memory enough. Python makes those in a trace in place of XLA.
PROGRAM = (
  failing.PROGRAM
  + """
import collections, json

import jax, numpy as np, pyspiel
from ps_cfr_spiel import PSCFRSolver, cfr, hierarchical
from ps_cfr_spiel.backend.native import library, table_calls
from ps_cfr_spiel.compilation.compiler import build_tree
from ps_cfr_spiel.hierarchical import native_clusters
from ps_cfr_spiel.hierarchical.card_draws import deal_hands
from ps_cfr_spiel.resolving.search.promises import best_responses
from ps_cfr_spiel.tree import PlayerPasses, arrays, player_passes
from ps_cfr_spiel.tree.evaluators import showdown_sweep

said, names = collections.defaultdict(set), {}
plain_function, handler = library.plain_function, library.handler

def repeated(name):
  function = plain_function(name)
  def called(*given):
    kernel = names.get(getattr(given[0], "value", None), name)
    print(kernel, file=sys.stderr, flush=True)  # the last one ended the process, if it ends
    said[kernel].update(without_memory(lambda: function(*given), RuntimeError))
  return called

def named(name, dtype):
  function = handler(name, dtype)
  names[ctypes.cast(function, ctypes.c_void_p).value] = name
  return function

def call(name, dtype, given, results, vmap_method=None, numbers=None, changed=None):
  made = [np.empty(x.shape, x.dtype) for x in results]
  table_calls.call_directly(name, dtype, [np.asarray(jax.numpy.asarray(x)) for x in given], made, numbers)
  return made

table_calls.plain_function, table_calls.handler = repeated, named
for module in (native_clusters, arrays, player_passes, showdown_sweep):
  module.call = call

PSCFRSolver(pyspiel.load_game("kuhn_poker")).run(1)
turn = pyspiel.load_game("holdem_subgame(deck=4x3,board=2c3c4c5d,stack=300,bets=1 a)")
small = PSCFRSolver(turn)
small.run(1)
small.exploitability()
small.average_policy().worths
tree = build_tree(turn, leaves="native")
uniform = [np.full(shape, 1 / shape[0]) for shape in tree.players[0].block_shapes]
best_responses(tree, uniform, 1, "float64")

tree = build_tree(pyspiel.load_game("river_subgame(stack=300,bets=a,ranges=AA KK;QQ JJ)"), leaves="native")
state, rule = cfr.init(tree, cfr.RMPlus(), "float32"), cfr.RMPlus()
passes = [PlayerPasses.of(forest) for forest in tree.players]
reach = [own.down(player.strategy) for own, player in zip(passes, state.players, strict=True)]
paid = tree.leaves(0, passes[1].leaves(reach[1]))
own = state.players[0]
passes[0].up(own.strategy, paid)
tables = [array for pair in zip(own.strategy, own.rule) for array in jax.tree.leaves(pair)]
numbers = np.array([1, 0, 0, 1, 1, 0, 1, 0], np.float32)
passes[0].learn([*tables, own.average.compensation], reach[0][0], paid, 0, numbers)

card_game = hierarchical.card_game(pyspiel.load_game(sys.argv[2]))
abstraction = hierarchical.make_abstraction(card_game, clusters=1, buckets=2, restarts=1)
clusters = hierarchical.dealt_tree(card_game, abstraction)
game = hierarchical.device_game(clusters, "float32", hierarchical.all_devices())
subtree = clusters.cluster_subtree
regrets = np.zeros((subtree.actions, subtree.cells), np.float32)
visited = np.ones((subtree.depths[0][1], 20), bool)
hands = deal_hands(game.cards, jax.random.key(0), visited.shape[1])
dealt = np.concatenate([hands, np.zeros_like(hands[:1])])
key = np.zeros((1, 2), np.uint32)
native_clusters.sample_clusters(
  game, regrets, regrets, key, dealt, visited, np.int32(0), (1.0, 1.0, 1.0, -np.inf, -np.inf)
)
print(json.dumps({kernel: sorted(words) for kernel, words in said.items()}))
"""
)
FLOP = "holdem_subgame(deck=5x2,board=2c3d5c,pot=2,stack=3,bets=a,ranges=2d4c 6c6d 3c5d;2d5d 4c4d 6c6d)"
BOARDS = {"BoardsLearn", "BoardsWorth", "BoardsValues", "BoardsResponse"}
TREES = {"Iterations", "Showdowns", "WalkDown", "WalkUp", "WalkLearn"}


def test_calls_without_memory_are_errors_and_not_the_end_of_the_process(tmp_path):
  """Also in functions that are compiled for several processors, where GCC catches nothing."""
  ended = forked.run(PROGRAM, failing.library(tmp_path), FLOP)
  assert ended.returncode == 0, ended.stderr
  said = json.loads(ended.stdout)
  assert set(said) >= {*BOARDS, *TREES, "Clusters"}
  assert set(map(tuple, said.values())) == {("the system has too little memory left for this call",)}
