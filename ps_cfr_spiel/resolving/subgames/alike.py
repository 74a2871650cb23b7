"""Public states that are alike: the game below them is the same, so their values are one function.

In liar's dice, for example, only the last bid and the acting player matter, not the bids before.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.backend.array_shapes import Bool, Float, Int
from ps_cfr_spiel.backend.device import precision, to_device
from ps_cfr_spiel.compilation.compiler import FormOrigin
from ps_cfr_spiel.compilation.histories import history_origin
from ps_cfr_spiel.resolving.subgames.nodes import SubgameNodes
from ps_cfr_spiel.tree import PublicTree

MOST_PAYOFFS = 10**7  # numbers in the payoffs of all leaves


def find_alike(tree: PublicTree, nodes: SubgameNodes) -> Int[np.ndarray, " P"]:
  """For each public state the first that is alike, or itself.

  Alike are public states with the same acting players, moves in the same order, types that chance allows, and
  chance-weighted payoffs in all of their subgame. They are found in Bayesian games with few types; elsewhere
  each public state stands for itself.
  """
  count, types = len(tree.names.public_states), [player.types for player in tree.players]
  if nodes.histories or len(nodes.ends) * math.prod(types) > MOST_PAYOFFS:
    return np.arange(count)
  allowed, payoffs = _allowed(tree, count), _payoffs(tree)
  # A move is the number of the action; the moves of chance are in the order of the nodes.
  parent, mover = nodes.parent, nodes.player[nodes.parent]
  move = np.select([mover == 0, mover == 1], [last[:, 1] for last in nodes.last], 0)
  below: list[list[int]] = [[] for _ in parent]
  for node in np.argsort(move, kind="stable").tolist():
    if parent[node] >= 0:
      below[parent[node]].append(node)
  kinds: dict[tuple, int] = {}  # of subgames, numbered
  kind = np.zeros(len(parent), int)
  for node in reversed(range(len(parent))):  # children before parents
    if node >= count:
      key = (payoffs[node - count].tobytes(),)
    else:
      after = ((int(move[child]), int(kind[child])) for child in below[node])
      key = (int(nodes.player[node]), *(types_allowed[node].tobytes() for types_allowed in allowed), *after)
    kind[node] = kinds.setdefault(key, len(kinds))
  _, first, number = np.unique(kind[:count], return_index=True, return_inverse=True)
  return first[number]


def _allowed(tree: PublicTree, count: int) -> list[Bool[np.ndarray, "{count} _H"]]:
  """For each player the types that chance allows."""
  source = tree.names.source
  if isinstance(source, FormOrigin):
    first, second = (np.ones((count, player.types)) for player in tree.players)
    every = range(count)
    return [source.weight(0, second, every) > 0, source.weight(1, first, every) > 0]
  source, tables = history_origin(tree.names), []
  assert source is not None and source.public is not None
  for player, types in zip(tree.players, source.types, strict=True):
    table = np.zeros((count, player.types), bool)
    table[source.public, types] = True
    tables.append(table)
  return tables


def _payoffs(tree: PublicTree) -> Float[np.ndarray, "L H0 H1"]:
  """Chance-weighted payoffs to player 0."""
  parts, types = tree.players[0].leaf.children, tree.players[1].types
  with precision("float64"):
    leaves = to_device(tree.leaves, "float64")

    @jax.jit
    def against(reach):
      return jnp.concatenate(leaves(0, [jnp.broadcast_to(reach, (n, types)) for n in parts]))

    payoffs = np.stack([np.asarray(against(reach)) for reach in jnp.eye(types)], 2)
  return payoffs + 0.0  # there is one zero
