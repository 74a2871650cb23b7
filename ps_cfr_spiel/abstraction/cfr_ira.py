"""CFR+IRA: CFR+ on an abstraction that it splits where members disagree, until the whole game is solved.

Source: Čermák, Lisý and Bošanský (2020), Algorithms 6 to 10. Every turn visits the whole game; regrets and
averages are kept for each set (Eqs. 8 to 11, summed over members). After a turn, two tests split sets:
  heuristic  some infostates, sampled anew each turn, part from the rest of their set if the actions that were
             best in this turn, within a tolerance that falls as 1 / sqrt(t), are not the same (Algorithm 10);
  bound      some infostates are tracked from turn T = 1, 2, 4, ... to the next; one leaves its set as soon as
             max_a of its regrets since T, divided by t - T, is above
             spread(I) sqrt(A) / (100 sqrt(t)), which promises convergence (Algorithm 9).
The text leaves five things open, or its figures need another reading: random sets are sampled with all their
members while these fit (Algorithm 8), only the tables of new sets begin anew, the heuristic looks at positive
regrets alone, its t counts rounds of both players, and sets without regrets play uniformly.

With `samples` a turn estimates its regrets by external sampling (the paper's Section 6.1 asks for it), in
`PARTS` independent parts. The heuristic then leaves out infostates whose best actions may be an accident of
the samples (`refine.certain`), so that more samples come to the same splits; the bound takes sums of all
samples. Averages are of the exact own reach.
"""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel import cfr
from ps_cfr_spiel.abstraction.partitions import Partition, entries, room, split
from ps_cfr_spiel.abstraction.refine import (
  certain,
  disagreement,
  largest,
  sample,
  without_largest,
)
from ps_cfr_spiel.backend.array_shapes import Float, Int, Key, UInt32
from ps_cfr_spiel.backend.device import jit, to_device
from ps_cfr_spiel.cfr import PlayerState, RMPlus, SolverState, averages
from ps_cfr_spiel.options import PARTS, Refinement
from ps_cfr_spiel.sampling import mccfr
from ps_cfr_spiel.tree import Array, PublicTree, Sets, column_of, tables_of

RULE = RMPlus()
SAMPLER = mccfr.ExternalSampling()


class IRAState(NamedTuple):
  """The state of a run."""

  iteration: Int[Array, ""]  #: rounds of both players done
  players: tuple[PlayerState, PlayerState]  #: tables of sets
  parts: tuple[Partition, Partition]  #: each player's sets
  tracked: Int[Array, "bound 2"]  #: (player, slot) of the infostates that the bound watches; -1 for none
  #: their regrets since they were sampled; A is the most actions of any infostate.
  summed: Float[Array, "bound A"]

  @property
  def tables(self) -> SolverState:
    """The part of the state that CFR knows."""
    return SolverState(self.iteration, self.players)


@dataclasses.dataclass(frozen=True)
class Setting:
  """The constants of a run; see `CFRPlusIRASolver`."""

  tree: PublicTree  #: the game, on the host
  device: PublicTree  #: the same on the device
  nodes: mccfr.SamplingTree | None  #: the tree to sample from, on the device; None traverses the whole game
  samples: int  #: traversals of external sampling in each turn, if any
  refinement: Refinement
  dtype: str
  averaging_delay: int
  tremble: float
  seed: int
  #: for each player float64[slots], the range of utilities below each infostate.
  spread: tuple[np.ndarray, np.ndarray]

  @functools.cached_property
  def actions(self) -> tuple[np.ndarray, np.ndarray]:
    """For each player int[slots]: number of actions."""
    first, second = (
      np.repeat(*np.array([(a, rows * types) for a, rows, types in shapes], int).reshape(-1, 2).T)
      for shapes in (player.bucket_shapes for player in self.tree.players)
    )
    return first, second


def utility_ranges(tree: PublicTree) -> tuple[np.ndarray, np.ndarray]:
  """For each player float64[slots]: the range of utilities that may follow each infostate."""
  tables = [[np.zeros(shape[1:]) for shape in player.block_shapes] for player in tree.players]
  for decision, spread in zip(
    tree.names.decisions, tree.names.source.utility_ranges(tree.names.decisions), strict=True
  ):
    tables[decision.player][decision.block][decision.row] = spread
  first, second = (
    np.concatenate([np.zeros(0), *(x.ravel() for x in player.join([block[None] for block in blocks]))])
    for player, blocks in zip(tree.players, tables, strict=True)
  )
  return first, second


def init(setting: Setting, parts: tuple[Partition, Partition]) -> IRAState:
  """The state before the first iteration, on the device; call it within `precision`."""
  first, second = (_blank(setting, i, p) for i, p in enumerate(parts))
  most, width = setting.refinement.bound, max(a.max(initial=0) for a in setting.actions)
  state = IRAState(
    np.zeros((), np.int32), (first, second), parts, np.full((most, 2), -1, np.int32), np.zeros((most, width))
  )
  return to_device(state, setting.dtype)


def _blank(setting: Setting, player: int, parts: Partition) -> PlayerState:
  """A player's tables before the first iteration, on the host."""
  actions = [a for a, _, _ in setting.tree.players[player].bucket_shapes]
  sizes = room(setting.tree.players[player], parts)
  tables = [np.zeros((a, k, 1), setting.dtype) for a, k in zip(actions, sizes, strict=True)]
  strategy, regrets = [x + np.asarray(1 / len(x), setting.dtype) for x in tables], [x.copy() for x in tables]
  average, compensation = (column_of(tables, setting.tree.players[player].types) for _ in range(2))
  return PlayerState(tuple(strategy), averages.Sum(average, compensation), tuple(regrets))


_turn = jit(static_argnames=("player", "rule", "tremble"))(cfr.take_turn)


@jit(static_argnames=("player", "samples"))
def _estimated(
  tree: PublicTree,
  nodes: mccfr.SamplingTree,
  state: SolverState,
  sets: tuple[Sets, Sets],
  key: UInt32[Array, "2"],
  *,
  player: int,
  samples: int,
) -> list[Float[Array, "parts _A _rows H"]]:
  """Estimates of a player's regrets in a turn, for each bucket, each from a part of the traversals."""
  strategies = cfr.current_strategy(tree, state, sets, RULE)
  keys = jax.random.split(jax.random.wrap_key_data(jnp.asarray(key), impl="threefry2x32"), PARTS)

  def part(key: Key[jax.Array, ""]) -> list[Float[Array, "_A _rows H"]]:
    return tree.players[player].join(SAMPLER.regrets(nodes, strategies, player, key, samples // PARTS))

  return jax.lax.map(part, keys)


def take_turn(setting: Setting, state: IRAState, sets: tuple[Sets, Sets], player: int) -> IRAState:
  """One player's turn and the splits that follow it (Algorithm 6, one pass of the loop).

  `parts` stays the same object without splits; call it within `precision`.
  """
  how, turn = setting.refinement, 2 * int(state.iteration) + player + 1
  since = 1 << (turn.bit_length() - 1)  # the turn of the last sample of tracked infostates
  rng = np.random.default_rng((setting.seed, turn))
  tracked, summed = np.array(state.tracked), np.array(state.summed)
  (hot,) = sample(rng, state.parts[player : player + 1], how.heuristic)
  if how.bound and turn == since:
    chosen = sample(rng, state.parts, how.bound)
    pairs = np.concatenate([np.stack([np.full(len(slots), i), slots], 1) for i, slots in enumerate(chosen)])
    tracked[:], summed[:] = -1, 0
    tracked[: len(pairs)] = pairs
  estimates = None
  if setting.nodes is not None:
    key, method = rng.integers(2**32, size=2, dtype=np.uint32), {"player": player, "samples": setting.samples}
    estimates = _estimated(setting.device, setting.nodes, state.tables, sets, key, **method)
  players, regrets = _turn(
    setting.device,
    state.tables,
    setting.averaging_delay,
    sets,
    None if estimates is None else [x.mean(0) for x in estimates],
    player=player,
    rule=RULE,
    tremble=setting.tremble,
  )
  regrets = [np.asarray(x) for x in regrets]
  mine = tracked[:, 0] == player
  watched = entries(regrets, tracked[mine, 1], 0.0)
  summed[mine, : watched.shape[1]] += watched

  parts, players = list(state.parts), list(players)
  if len(hot):
    sampled, time = entries(regrets, hot, -np.inf), (turn + 1) // 2
    scale = largest(sampled.max(1), parts[player].sets[hot]) if how.relative else np.ones(len(hot))
    tolerance = how.tolerance * scale / np.sqrt(time)
    if estimates is not None:
      each = [np.asarray(x) for x in estimates]
      apart = np.array([entries([x[k] for x in each], hot, -np.inf) for k in range(PARTS)])
      sure = certain(apart, tolerance)
      hot, sampled, tolerance = hot[sure], sampled[sure], tolerance[sure]
  if len(hot):
    groups = disagreement(sampled, tolerance)
    leave = without_largest(parts[player], hot, groups)
    _part(setting, parts, players, player, hot[leave], groups[leave])
  if turn != since:
    for i in np.unique(tracked[tracked[:, 0] >= 0, 0]).tolist():
      bad = np.flatnonzero((tracked[:, 0] == i) & _too_slow(setting, i, tracked[:, 1], summed, turn, since))
      slots = tracked[bad, 1]
      _part(setting, parts, players, i, slots, np.arange(len(slots)))
      tracked[bad] = -1
  same = all(new is old for new, old in zip(parts, state.parts, strict=True))
  refined = state.parts if same else (parts[0], parts[1])
  return IRAState(state.iteration, (players[0], players[1]), refined, tracked, summed)


def _too_slow(setting: Setting, player: int, slots: np.ndarray, summed: np.ndarray, turn: int, since: int):
  """bool[bound]: whether the mean regret since sampling is above the bound, for slots of this player."""
  slots = np.clip(slots, 0, len(setting.spread[player]) - 1)
  low = setting.spread[player][slots] * np.sqrt(setting.actions[player][slots]) / (100 * np.sqrt(turn))
  return summed.max(1, initial=0) / (turn - since) > low


def _part(setting: Setting, parts: list, players: list, player: int, slots: np.ndarray, groups: np.ndarray):
  """Split a player's sets, and settle their tables, in the two lists."""
  if not len(slots):
    return
  parts[player], moves = split(parts[player], slots, groups)
  if len(moves):
    players[player] = _settled(setting, player, players[player], parts[player])


def _settled(setting: Setting, player: int, state: PlayerState, parts: Partition):
  """A player's tables after splits: new sets are blank, as all columns without a set are; others stay."""
  blank, types = _blank(setting, player, parts), setting.tree.players[player].types

  def settled(tables, blanks):
    new_tables = []
    for table, empty in zip(tables, blanks, strict=True):
      whole = np.array(empty)
      whole[:, : table.shape[1]] = table
      new_tables.append(whole)
    return tuple(new_tables)

  def column(sums, blanks):
    before, after = (
      tables_of(np.asarray(x), [table.shape for table in player_state.strategy])
      for x, player_state in ((sums, state), (blanks, blank))
    )
    return column_of(settled(before, after), types)

  return PlayerState(
    settled(state.strategy, blank.strategy),
    averages.Sum(*map(column, state.average, blank.average)),
    settled(state.rule, blank.rule),
  )
