"""Clusters on devices: the Monte Carlo loop on a mesh, with the same bits on any number of devices.

Clusters lie along the axis of a mesh of devices, of one process or of several.
"""

from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ps_cfr_spiel import mccfr
from ps_cfr_spiel.cfr import RM
from ps_cfr_spiel.compiler import COMPILING, MORE_CODE
from ps_cfr_spiel.device import jit, to_device
from ps_cfr_spiel.hierarchical.cluster_sampling import AXIS, ClusterSampling, DealtTables, DealtTree
from ps_cfr_spiel.mccfr import SamplingState

# These are fitted to measured peaks (docs/measurements.md, "Memory of dealt cards").
RUN = 5  # copies of the tables: before and after a part of a run, and in between
TABLES = 3  # regrets, and a sum of strategies in two parts
LINE = 8  # numbers of each line in a traversal, beside two for each of its actions
PLACE = 8  # bytes of each hand or board from which one is drawn
# How a state and a game lie on the mesh: whole on each device, or cut along the first axis.
WHOLE, CUT = PartitionSpec(), PartitionSpec(AXIS)
STATE: Any = SamplingState(WHOLE, WHOLE, DealtTables(head=WHOLE, clusters=CUT))  # pyright: ignore
GAME: Any = DealtTree(*(WHOLE,) * 5, boards=CUT)  # pyright: ignore


def run_needs(game: DealtTree, mesh: Mesh, deals: int, dtype: str) -> dict[str, int]:
  """Estimated bytes of this process's part of a run, by purpose.

  Args:
    game: on the host.
    mesh: the devices.
    deals: pairs of hands and boards that a cluster plays at once, n B.
    dtype: of the tables.
  """
  number, head, child = np.dtype(dtype).itemsize, game.head, game.child
  clusters = len(game.boards) * len(mesh.local_devices) // mesh.size
  cells = head.actions * head.cells + clusters * child.actions * child.cells
  lines = sum(len(part.actor) * (LINE + 2 * part.actions) for part in (head, child))
  drawn = (game.cards.hand_masks, game.boards.T, *game.cards.set_masks[1:])  # one of the first, and so on
  each = number * (lines + clusters * len(child.depths)) + PLACE * max(map(len, drawn))
  return {
    "for compiling": COMPILING + MORE_CODE,
    "for regrets and averages": RUN * TABLES * number * cells,
    "for the deals of a batch": deals * each,
  }


def all_devices() -> Mesh:
  """All devices of all processes, in one row."""
  return Mesh(np.array(jax.devices()), (AXIS,))


def on_mesh(mesh: Mesh, layout: Any, tree: Any) -> Any:
  """A pytree of host arrays on the devices; `layout` is `STATE` or `GAME`."""

  def place(spec: PartitionSpec, part: Any) -> Any:
    return jax.tree.map(lambda x: _placed(mesh, spec, np.asarray(x)), part)

  return jax.tree.map(place, layout, tree)


def _placed(mesh: Mesh, spec: PartitionSpec, host: np.ndarray) -> jax.Array:
  return jax.make_array_from_callback(host.shape, NamedSharding(mesh, spec), lambda part: host[part])


def device_game(game: DealtTree, dtype: str, mesh: Mesh) -> DealtTree:
  """The game on the devices."""
  return on_mesh(mesh, GAME, to_device(game, dtype))


def init(game: DealtTree, sampler: ClusterSampling, seed: int, dtype: str, mesh: Mesh) -> SamplingState:
  """The state before the first iteration; `game` is on the host."""
  return on_mesh(mesh, STATE, mccfr.start(game, sampler, seed, dtype))


def gathered(state: SamplingState) -> SamplingState:
  """The whole state on the host, in every process."""
  if jax.process_count() == 1:
    return jax.tree.map(np.asarray, state)
  from jax.experimental import multihost_utils

  return jax.tree.map(lambda x: np.asarray(multihost_utils.process_allgather(x, tiled=True)), state)


@jit(static_argnames=("sampler", "rule", "batch", "mesh"))
def run(
  game: DealtTree,
  state: SamplingState,
  iterations: jax.Array | int,
  *,
  sampler: ClusterSampling,
  rule: RM,
  batch: int,
  mesh: Mesh,
) -> SamplingState:
  """`mccfr.run` on the devices of a mesh; arguments as there."""

  def share(game: DealtTree, state: SamplingState, iterations: jax.Array | int) -> SamplingState:
    return mccfr.iterate(game, state, iterations, sampler=sampler, rule=rule, batch=batch)

  specs = (GAME, STATE, WHOLE)
  return jax.shard_map(share, mesh=mesh, in_specs=specs, out_specs=STATE, check_vma=False)(
    game, state, iterations
  )
