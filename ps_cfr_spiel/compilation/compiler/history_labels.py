"""The labels of an enumerated game, from its histories: those of large games are made on request."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import pyspiel

from ps_cfr_spiel.compilation.histories import (
  NO_GUARANTEE,
  Histories,
  LazySequence,
  PublicPartition,
  past_remark,
)
from ps_cfr_spiel.tree import Decision, Labels, PublicState, zero_sum_way

FEW_LABELS = 200_000  # rows, or public states, that are held as objects
Label = TypeVar("Label")


def remarks(game: pyspiel.Game, histories: Histories) -> dict[str, str]:
  """A line for each way in which a game is solved otherwise than it is given; see `Labels`."""
  lines = {}
  if game.get_type().short_name == "turn_based_simultaneous_game":
    lines["moves"] = "players who move at the same time move in turn, and do not see each other's move"
  if histories.remembers:
    lines["infostates"] = past_remark(game)
  if len(histories.players) > 2:
    lines["players"] = f"{len(histories.players)}, {NO_GUARANTEE}"
  elif histories.others is not None:
    lines["utilities"] = f"general sum, {NO_GUARANTEE}; the other way is {zero_sum_way(str(game))}"
  return lines


@dataclasses.dataclass(frozen=True)
class PlayerRows:
  """The R rows of a player with H types."""

  legal: list[tuple[int, ...]]  #: the actions of each row
  place: np.ndarray  #: int[R, 2], block and row in the block
  #: infostate, example: int32[R, H], an infostate's number and its first history, -1 where the type cannot
  #: be.
  infostate: np.ndarray
  example: np.ndarray
  public: np.ndarray  #: int32[R], the public state, -1 without


@dataclasses.dataclass(frozen=True, eq=False)
class HistoriesLabels(Labels):
  """The labels of an enumerated game: those of large games are made on request."""

  acting: np.ndarray  #: int[P], the acting player of each public state
  infostate_counts: tuple[int, ...]  #: the number of each player's infostates

  @classmethod
  def create(
    cls, enumerated: Histories, partition: PublicPartition | None, of_player: list[PlayerRows], **labels
  ) -> "HistoriesLabels":
    """The labels with these rows of each player; `labels`: further fields of `Labels`."""
    starts = np.cumsum([0, *(len(rows.legal) for rows in of_player)])
    decision = functools.partial(_decision, enumerated.names, of_player, starts)
    states = () if partition is None else _public_states(enumerated, partition, of_player)
    return cls(
      public_states=states,
      decisions=_labels(int(starts[-1]), decision),
      acting=np.zeros(0, np.int8) if partition is None else partition.player,
      infostate_counts=tuple(int((rows.infostate >= 0).sum()) for rows in of_player),
      **labels,
    )

  def num_public_states(self, players: Sequence[int]) -> int:
    return int(np.isin(self.acting, np.array(players)).sum())

  def num_infostates(self, player: int) -> int:
    return self.infostate_counts[player]


def _decision(
  names: tuple[Sequence[str | None], ...], of_player: Sequence[PlayerRows], starts: np.ndarray, number: int
) -> Decision:
  player = int(np.searchsorted(starts, number, side="right")) - 1
  rows, k = of_player[player], number - int(starts[player])
  named = names[player]
  infostates = tuple(None if n < 0 else named[n] for n in rows.infostate[k].tolist())
  (block, row), examples = rows.place[k].tolist(), tuple(rows.example[k].tolist())
  return Decision(player, int(rows.public[k]), block, row, rows.legal[k], infostates, examples)


def _labels(count: int, make: Callable[[int], Label]) -> Sequence[Label]:
  return tuple(map(make, range(count))) if count <= FEW_LABELS else LazySequence(count, make)


def _public_states(
  histories: Histories, partition: PublicPartition, of_player: list[PlayerRows]
) -> Sequence[PublicState]:
  count = len(partition.parent)
  action = np.full(count, -1, np.int32)
  action[partition.of] = histories.action
  several = np.flatnonzero(action[partition.of] != histories.action)
  action[partition.of[several]] = -1
  of = np.concatenate([rows.public for rows in of_player])
  members = np.argsort(of, kind="stable")
  starts = np.searchsorted(of[members], np.arange(count + 1))
  return _labels(count, functools.partial(_public_state, partition, action, members, starts))


def _public_state(
  partition: PublicPartition, action: np.ndarray, members: np.ndarray, starts: np.ndarray, number: int
) -> PublicState:
  decisions = tuple(members[starts[number] : starts[number + 1]].tolist())
  parent, player = int(partition.parent[number]), int(partition.player[number])
  return PublicState(parent, int(action[number]), player, decisions)
