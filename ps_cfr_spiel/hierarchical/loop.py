"""Clusters on devices: the loop over turns, and the same bits on any number of devices.

Clusters lie along the axis of a mesh of devices, of one process or of many. All of them play the same head
with the same random numbers, and only the values that clusters hand back are gathered, in one order; local
clusters come one after the other. So the bits are those of a single device.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ps_cfr_spiel.compiler import COMPILING, MORE_CODE
from ps_cfr_spiel.device import jit, to_device
from ps_cfr_spiel.hierarchical.dealt_game import SPECIAL, DealtGame
from ps_cfr_spiel.hierarchical.hierarchy import DealtAbstraction
from ps_cfr_spiel.hierarchical.lines import Lines
from ps_cfr_spiel.hierarchical.turns import Cards, HierarchicalState, Sampled, deal, traverse

AXIS = "clusters"
# These are fitted to measured peaks (docs/measurements.md, "Memory of dealt cards").
RUN = 5  # copies of regrets and averages: before and after a part of a run, and in between
LINE = 8  # numbers of each line in a traversal, beside two for each of its actions
PLACE = 8  # bytes of each hand or board from which one is drawn
WHOLE, CUT = PartitionSpec(), PartitionSpec(AXIS)


def boards_of(game: DealtGame, abstraction: DealtAbstraction, devices: int) -> np.ndarray:
  """int32[C', most]: the boards of each cluster, as sets of cards, -1 behind them; C' is divisible."""
  cluster = abstraction.clusters[game.runouts[SPECIAL].index[0]]
  count = abstraction.count + -abstraction.count % devices
  sizes = np.bincount(cluster, minlength=count)
  found = np.full((count, sizes.max()), -1, np.int32)
  for number in range(abstraction.count):
    found[number, : sizes[number]] = np.flatnonzero(cluster == number)
  return found


def run_needs(game: Sampled, boards: np.ndarray, mesh: Mesh, deals: int, dtype: str) -> dict[str, int]:
  """Estimated bytes of this process's part of a run, by purpose.

  Args:
    game: of `sampled`.
    boards: of `boards_of`.
    mesh: the devices.
    deals: pairs of hands and boards that a cluster plays at once, n B.
    dtype: of the tables.
  """
  number, head, child = np.dtype(dtype).itemsize, game.head, game.child
  clusters = len(boards) * len(mesh.local_devices) // mesh.size
  cells = head.actions * head.cells + clusters * child.actions * child.cells
  lines = sum(len(part.actor) * (LINE + 2 * part.actions) for part in (head, child))
  drawn = (game.cards.hand_masks, boards.T, *game.cards.set_masks[1:])  # one of the first, and so on
  each = number * (lines + clusters * len(child.depths)) + PLACE * max(map(len, drawn))
  return {
    "for compiling": COMPILING + MORE_CODE,
    "for regrets and averages": RUN * 2 * number * cells,
    "for the deals of a batch": deals * each,
  }


def all_devices() -> Mesh:
  """All devices of all processes, in one row."""
  return Mesh(np.array(jax.devices()), (AXIS,))


def placed(mesh: Mesh, array: Any, cut: bool) -> jax.Array:
  """A host's array on the mesh, cut along its first axis or whole on each device."""
  host = np.asarray(array)
  sharding = NamedSharding(mesh, CUT if cut else WHOLE)
  return jax.make_array_from_callback(host.shape, sharding, lambda part: host[part])


def init(game: Sampled, clusters: int, seed: int, dtype: str, mesh: Mesh) -> HierarchicalState:
  """The state before the first iteration; `clusters` is C'."""
  head = np.zeros((game.head.actions, game.head.cells), dtype)
  child = np.zeros((clusters, game.child.actions, game.child.cells), dtype)
  key = np.asarray(jax.random.key_data(jax.random.key(seed, impl="threefry2x32")))
  state = HierarchicalState(np.zeros((), np.int32), key, head, head, child, child)
  return on_mesh(state, mesh)


def on_mesh(state: HierarchicalState, mesh: Mesh) -> HierarchicalState:
  """A state of host arrays on the devices."""
  cuts = HierarchicalState(False, False, False, False, True, True)
  return HierarchicalState(*(placed(mesh, x, cut) for x, cut in zip(state, cuts, strict=True)))


def gathered(state: HierarchicalState) -> HierarchicalState:
  """The whole state on the host, in every process."""
  if jax.process_count() == 1:
    return HierarchicalState(*map(np.asarray, state))
  from jax.experimental import multihost_utils

  return HierarchicalState(*(np.asarray(multihost_utils.process_allgather(x, tiled=True)) for x in state))


@jit(static_argnames=("batch", "draws", "plus", "printed", "mesh", "clusters"))
def solve(
  game: Sampled,
  boards: jax.Array,
  state: HierarchicalState,
  iterations: jax.Array | int,
  *,
  batch: int,
  draws: int,
  plus: bool,
  printed: bool,
  mesh: Mesh,
  clusters: int,
) -> HierarchicalState:
  """Runs some iterations, each of which lets both players traverse; in parts or at once, it is the same.

  Args:
    game: of `sampled`, on the device.
    boards: of `boards_of`, cut along the mesh.
    state: from `init` or an earlier call.
    iterations: how many more.
    batch: B.
    draws: n, boards that each cluster draws for a pair of hands.
    plus: regret matching plus and linear averaging; else regret matching and uniform averaging.
    printed: whether clusters are weighed as the paper prints it, which is wrong.
    mesh: the devices.
    clusters: C, without those that fill up the devices.
  """

  def share(game: Sampled, boards: jax.Array, state: HierarchicalState, iterations) -> HierarchicalState:
    local = len(boards)
    ids = jax.lax.axis_index(AXIS) * local + jnp.arange(local)
    key = jax.random.wrap_key_data(state.key, impl="threefry2x32")

    def gather(values: jax.Array) -> jax.Array:
      return jax.lax.all_gather(values, AXIS, tiled=True)[:clusters]

    def turn(number: jax.Array, state: HierarchicalState) -> HierarchicalState:
      own = jax.random.fold_in(key, number)
      first = _numbers(game.head, jax.random.fold_in(own, 0), batch, state.regrets.dtype)
      hands = deal(game.cards, jax.random.fold_in(own, 1), batch)
      later = jax.vmap(
        lambda k: _numbers(game.child, jax.random.fold_in(own, 2 + k), draws * batch, first.dtype, game.cards)
      )
      weight = (number // 2 + 1).astype(first.dtype) if plus else jnp.ones((), first.dtype)
      found = traverse(
        game,
        boards,
        state,
        hands,
        first,
        later(ids),
        number % 2,
        weight,
        gather=gather,
        plus=plus,
        printed=printed,
      )
      return found

    end = state.iteration + iterations
    state = jax.lax.fori_loop(2 * state.iteration, 2 * end, turn, state)
    return state._replace(iteration=end)

  specs = HierarchicalState(WHOLE, WHOLE, WHOLE, WHOLE, CUT, CUT)
  run = jax.shard_map(share, mesh=mesh, in_specs=(WHOLE, CUT, specs, WHOLE), out_specs=specs, check_vma=False)
  return run(game, boards, state, iterations)


def _numbers(lines: Lines, key: jax.Array, batch: int, dtype, cards: Cards | None = None) -> jax.Array:
  """Uniform numbers for lines, [depths, B], and before them for the public cards of each round."""
  rounds = 0 if cards is None else len(cards.set_masks)
  return jax.random.uniform(key, (rounds + len(lines.depths), batch), dtype)


def device_game(game: Sampled, dtype: str, mesh: Mesh) -> Sampled:
  """The game's tables on every device."""
  host = jax.tree.map(np.asarray, to_device(game, dtype))
  return jax.tree.map(lambda x: placed(mesh, x, False), host)
