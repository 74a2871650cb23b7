"""Truth about sampled trajectories: every way through a game, and what full traversals say of it."""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel

from ps_cfr_spiel import build_tree
from ps_cfr_spiel.backend.device import jit, to_device
from ps_cfr_spiel.sampling.mccfr import build_public_sampling_tree, build_sampling_tree
from ps_cfr_spiel.sampling.mccfr.columns import regret_matching
from ps_cfr_spiel.sampling.mccfr.passes import sweep_down
from ps_cfr_spiel.sampling.mccfr.sampling_tree import TERMINAL_NODE
from ps_cfr_spiel.tree import action_values, sequence_reach, sum_actions

GOOFSPIEL = "turn_based_simultaneous_game(game=goofspiel(num_cards=3,imp_info=True,points_order=descending))"
# Two public cards are to come, and more hands than one hold each of them.
FLOP = "holdem_subgame(deck=5x2,board=2c3c4d,stack=200,ranges=6c6d 5c4c:0.5 5d6c;6c2d 5d3d:0.3 3d2d)"
RIVER = "river_subgame(board=KhKd8c4s2h,stack=500,ranges=AsAd QsQd:0.5 7c6c;JsJd Ah8h 5c4c:3 QsJs)"


class Game(NamedTuple):
  """A compiled game, its sampling tree and random cumulative regrets, some of them negative."""

  tree: object
  nodes: object
  regrets: jax.Array


@functools.cache
def compiled(name, moves="histories", leaves="auto"):
  game = pyspiel.load_game(name)
  tree = build_tree(game, leaves)
  nodes = build_sampling_tree(game, tree) if moves == "histories" else build_public_sampling_tree(tree)
  regrets = np.random.default_rng(5).normal(0.3, 1, (nodes.actions, nodes.cells))
  regrets *= np.arange(nodes.actions)[:, None] < nodes.legal
  return Game(*to_device((dataclasses.replace(tree, labels=None), nodes, regrets), "float64"))


def exact(game, player):
  """Counterfactual regrets, and the player's reach x policy, as tables [A, S]; other cells are 0."""
  return [as_table(game.nodes, player, blocks) for blocks in full_traversal(*game)[player]]


@jit()
def full_traversal(tree, nodes, regrets):
  """The same in blocks, for every player, by the public tree."""
  policies = [tuple(block) for block in nodes.blocks(regret_matching(regrets, nodes.legal))]
  reach = [sequence_reach(p, policy) for p, policy in zip(tree.players, policies, strict=True)]
  result = []
  for player in range(len(policies)):
    values, _, _ = action_values(tree, player, policies[player], reach)
    gains = [q - sum_actions(p * q) for p, q in zip(policies[player], values, strict=True)]
    own = [r.reshape(p.shape) for r, p in zip(reach[player][1:], policies[player], strict=True)]
    result.append((gains, own))
  return result


def as_table(nodes, player, blocks):
  """The inverse of `SamplingTree.blocks` for one player."""
  table = np.zeros((nodes.actions, nodes.cells))
  start = sum(rows * types for shapes in nodes.shapes[:player] for _, rows, types in shapes)
  for block in blocks:
    actions, rows, types = block.shape
    table[:actions, start : start + rows * types] = np.asarray(block).reshape(actions, -1)
    start += rows * types
  return table


def expected(nodes, updates, probability):
  """Expectations of the updates, tables [A, S]: trajectories (last axis, fastest) have probabilities [Z]."""
  weight = np.tile(np.asarray(probability), updates.cells.shape[0] // len(probability))
  tables = []
  for column in (updates.regrets, updates.averages):
    table = np.zeros((nodes.actions, nodes.cells))
    for a in range(nodes.actions):
      np.add.at(table[a], np.asarray(updates.cells), np.asarray(column[a]) * weight)
    tables.append(table)
  return tables


def ancestors(nodes):
  """int32[depth + 1, Z]: every way from the root to an end, which then stays where it is."""
  ends = np.flatnonzero(np.asarray(nodes.actor) == TERMINAL_NODE)
  depth = np.repeat(np.arange(len(nodes.depths)), [level.stop - level.start for level in nodes.depths])
  way = np.zeros((nodes.depth + 1, len(ends)), np.int32)
  node = ends
  for d in reversed(range(nodes.depth + 1)):
    node = np.where(depth[node] > d, np.asarray(nodes.parent)[node], node)
    way[d] = node
  return jnp.asarray(way)


@jax.jit
def chance_reach(nodes):
  """Product of the chance probabilities on the way to each node."""
  return sweep_down(nodes, nodes.chance)


def random_table(size):
  return jnp.asarray(np.random.default_rng(6).normal(0, 2, size))
