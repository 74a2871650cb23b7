"""Clusters on devices: the Monte Carlo loop on a mesh, with the same bits on any number of devices.

Clusters lie along the axis of a mesh of devices, of one process or of several.
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ps_cfr_spiel.backend.device import cores, jit, to_device
from ps_cfr_spiel.backend.native import why_unavailable
from ps_cfr_spiel.cfr import Rule
from ps_cfr_spiel.hierarchical.cluster_sampling import (
  AXIS,
  ClusterSampling,
  DealtTables,
  DealtTree,
  PartTables,
)
from ps_cfr_spiel.hierarchical.lines import mean_visits
from ps_cfr_spiel.memory import COMPILING, CUT, IN_PLACE, MORE_CODE, sampling_needs
from ps_cfr_spiel.sampling import mccfr
from ps_cfr_spiel.sampling.mccfr import SamplingState

# These are fitted to measured peaks (docs/measurements.md, "Memory of dealt cards").
TABLES = 3  # regrets, and a sum of strategies in two parts
LINE = 8  # numbers of each line in a traversal, beside two for each of its actions
PLACE = 8  # bytes of each hand or board from which one is drawn
NOTE, GROWN = 16, 2  # bytes of a visit that the library notes down beside its numbers; lists that double
# How a game and a state lie on the mesh: whole on each device, or cut.
WHOLE, BOARDS, CELLS = PartitionSpec(), PartitionSpec(AXIS), PartitionSpec(None, AXIS)
STATE: Any = SamplingState(WHOLE, WHOLE, DealtTables(trunk=WHOLE, clusters=CELLS))  # pyright: ignore


def run_needs(game: DealtTree, mesh: Mesh, deals: int, dtype: str) -> dict[str, int]:
  """Estimated bytes of this process's part of a run, by purpose.

  `deals` are the pairs of hands and boards that a cluster plays at once, n B.
  """
  number, trunk, subtree = np.dtype(dtype).itemsize, game.trunk, game.cluster_subtree
  clusters = len(game.boards) * len(mesh.local_devices) // mesh.size
  cells = trunk.actions * trunk.cells + clusters * subtree.actions * subtree.cells
  # Of the subtree the library keeps the lines that it visits alone.
  passed = (trunk, subtree) if why_unavailable() else (trunk,)
  lines = sum(len(part.source) * (LINE + 2 * part.actions) for part in passed)
  sets = list(game.cards.set_masks)
  sets[trunk.rounds - 1] = game.boards.T
  drawn = (game.cards.hand_masks, *sets)  # one of the first, and so on
  bucket_numbers = (
    0 if game.untabulated is None else 2 * clusters * math.prod(game.untabulated.buckets.shape[1:])
  )
  each = number * (lines + clusters * len(subtree.depths)) + PLACE * max(map(len, drawn))
  if not why_unavailable():  # each thread has a cluster's increments
    visits = max(mean_visits(subtree, traverser) for traverser in (0, 1))
    each += int(GROWN * min(cores(), clusters) * visits * (NOTE + number * subtree.actions))
  copies = CUT if why_unavailable() else IN_PLACE
  return {
    "for compiling": COMPILING + MORE_CODE,
    **sampling_needs(TABLES * number * cells, deals * each, copies),
    "for the buckets of hands": 2 * bucket_numbers,
  }


def all_devices() -> Mesh:
  """All devices of all processes, in one row."""
  return Mesh(np.array(jax.devices()), (AXIS,))


def device_game(game: DealtTree, dtype: str, mesh: Mesh) -> DealtTree:
  """The game on the devices."""

  def place(spec: PartitionSpec, part: Any) -> Any:
    return jax.tree.map(lambda x: _placed(mesh, spec, np.asarray(x)), part)

  placed = game._replace(untabulated=None)
  placed = jax.tree.map(place, _specs(placed), to_device(placed, dtype))
  if game.untabulated is None:
    return placed
  cards = jax.tree.map(functools.partial(_placed, mesh), _specs(game).untabulated, game.untabulated)
  return placed._replace(untabulated=cards)


def _specs(game: DealtTree) -> Any:
  untabulated: Any = game.untabulated
  if untabulated is not None:
    untabulated = dataclasses.replace(untabulated, buckets=BOARDS, slot=WHOLE, groups=WHOLE, centres=BOARDS)
  every: Any = (WHOLE,) * 5
  return DealtTree(*every, boards=BOARDS, untabulated=untabulated)  # pyright: ignore[reportArgumentType]


def _placed(mesh: Mesh, spec: PartitionSpec, host: Any) -> jax.Array:
  return jax.make_array_from_callback(host.shape, NamedSharding(mesh, spec), lambda part: host[part])


def on_mesh(
  game: DealtTree,
  state: SamplingState,
  mesh: Mesh,
  part: Callable[[int], PartTables] | None = None,
  count: int = 0,
) -> SamplingState:
  """A state on the devices; each process fills in the clusters that it holds, one after the other.

  `part` gives the tables [A, S] of each of the first `count` clusters; those of others are zeros. Of the
  clusters' tables in `state`, on the host, only the shapes are read.
  """
  trunk = state._replace(tables=state.tables._replace(clusters=None))
  trunk = jax.tree.map(lambda x: _placed(mesh, WHOLE, np.asarray(x)), trunk)
  whole, structure = jax.tree.flatten(state.tables.clusters)
  cells, cut, shards = game.cluster_subtree.cells, NamedSharding(mesh, CELLS), [[] for _ in whole]
  places: Any = cut.addressable_devices_indices_map(whole[0].shape)
  for device, (_, slices) in places.items():
    first, last, _ = slices.indices(whole[0].shape[1])
    tables = [jnp.zeros((len(x), last - first), x.dtype, device=device) for x in whole]
    for start in range(first, min(last, count * cells), cells):
      if part is None:
        break
      leaves = jax.tree.leaves(part(start // cells))
      tables = [_filled(x, y, start - first) for x, y in zip(tables, leaves, strict=True)]
    for row, table in zip(shards, tables, strict=True):
      row.append(table)
  clusters = [
    jax.make_array_from_single_device_arrays(x.shape, cut, row) for x, row in zip(whole, shards, strict=True)
  ]
  return trunk._replace(tables=trunk.tables._replace(clusters=jax.tree.unflatten(structure, clusters)))


@functools.partial(jax.jit, donate_argnums=0)
def _filled(table: jax.Array, part: jax.Array, start: int) -> jax.Array:
  return jax.lax.dynamic_update_slice(table, part, (0, start))


def init(game: DealtTree, sampler: ClusterSampling, seed: int, dtype: str, mesh: Mesh) -> SamplingState:
  """The state before the first iteration; `game` is on the host."""
  return on_mesh(game, mccfr.start(game, sampler, seed, dtype), mesh)


def clusters_here(game: DealtTree, state: SamplingState, count: int) -> dict[int, PartTables]:
  """The tables [A, S] of the clusters that this process holds, of `count` in all: views, not copies."""
  leaves, structure = jax.tree.flatten(state.tables.clusters)
  cells, parts = game.cluster_subtree.cells, {}
  for shards in zip(*(x.addressable_shards for x in leaves), strict=True):
    first, last, _ = shards[0].index[1].indices(leaves[0].shape[1])
    tables = [np.asarray(shard.data) for shard in shards]
    for start in range(first, min(last, count * cells), cells):
      views = [table[:, start - first : start - first + cells] for table in tables]
      parts[start // cells] = jax.tree.unflatten(structure, views)
  return parts


def tables_here(game: DealtTree, count: int) -> dict[int, np.ndarray]:
  """The tables of cards of the clusters, of `count` in all, that this process holds, by cluster: views."""
  assert game.untabulated is not None
  tables = {}
  buckets = game.untabulated.buckets
  assert isinstance(buckets, jax.Array)
  for shard in buckets.addressable_shards:
    first, last, _ = shard.index[0].indices(len(game.boards))
    rows = np.asarray(shard.data)
    tables |= {k: rows[k - first] for k in range(first, min(last, count))}
  return tables


@jit(static_argnames=("sampler", "rule", "batch", "mesh"), donate_argnames="state")
def run(
  game: DealtTree,
  state: SamplingState,
  iterations: jax.Array | int,
  *,
  sampler: ClusterSampling,
  rule: Rule,
  batch: int,
  mesh: Mesh,
) -> SamplingState:
  """`mccfr.run` on the devices of a mesh; arguments as there. The tables of `state` change in place."""

  def share(game: DealtTree, state: SamplingState, iterations: jax.Array | int) -> SamplingState:
    return mccfr.iterate(game, state, iterations, sampler=sampler, rule=rule, batch=batch)

  specs = (_specs(game), STATE, WHOLE)
  return jax.shard_map(share, mesh=mesh, in_specs=specs, out_specs=STATE, check_vma=False)(
    game, state, iterations
  )
