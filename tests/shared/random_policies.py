import numpy as np
import pyspiel

import ps_cfr_spiel


def random_policy(name):
  """A policy of the game with all probabilities drawn at random."""
  game = pyspiel.load_game(name)
  tree = ps_cfr_spiel.build_tree(game)
  rng = np.random.default_rng(1)
  strategies = [[rng.random(shape) for shape in player.block_shapes] for player in tree.players]
  return ps_cfr_spiel.TreePolicy(game, tree.labels, strategies)
