"""Boards in public clusters, private states in buckets, for any compiled game with public chance.

This is Algorithm 1 of Brown, Ganzfried and Sandholm (2015) on a public tree; `hierarchical` has it for games
of cards that are too large to enumerate. A *board* is the outcomes of public chance so far, a *round* what
lies between two of them, and a *line* the players' public moves, in which boards are left out. A private
state is described by the values of its actions, for each visit, if both players go on uniformly at random.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
import pyspiel

from ps_cfr_spiel.abstraction.buckets import bucketed
from ps_cfr_spiel.abstraction.maps import Abstraction, abstract_tree
from ps_cfr_spiel.abstraction.public_clusters import BASE, CLUSTERS, board_distances, public_clusters
from ps_cfr_spiel.arguments import check_count
from ps_cfr_spiel.compilation.compiler import build_tree
from ps_cfr_spiel.options import LOSSLESS, MakeAbstractionOptions
from ps_cfr_spiel.policy import reaches, worths_of
from ps_cfr_spiel.tree import CHANCE, Labels, PublicTree, check_zero_sum

DIGITS = 9  # of values, so that boards on which the same hands lie have the same

Board = tuple[Hashable, ...]


class PrivateState(NamedTuple):
  """A decision infostate."""

  player: int
  infostate: str
  board: Board  #: the outcomes of public chance before it, one a round
  line: Hashable  #: its public moves, and legal actions: infostates of one line may share a bucket
  #: float64[A], of its actions, for each visit, under uniform play; the largest of the game is 1.
  values: np.ndarray
  weight: float  #: the probability that chance alone leads to it


def abstract_by_clusters(
  game: pyspiel.Game, options: MakeAbstractionOptions | int | np.ndarray | None = None, **keywords: object
) -> Abstraction:
  """Clusters the boards of a round, and puts private states into buckets of their line in each cluster.

  No set has members in two clusters, so `ExternalSamplingSolver(every_cluster=True)` follows one board of
  each, or of each part of it that shares no bucket with the rest. The abstraction serves every solver on a
  tree.

  Args:
    game: a zero-sum game of two with public chance, such as public cards or dice.
    options: all options, or the clusters alone: their number, or the cluster of each board, in ascending
      order of the chance actions that make a board.
    **keywords: options by name; see `MakeAbstractionOptions`. `aware` is of dealt cards.

  Raises:
    ValueError: a wrong option, more than two players, or a game without public chance, or whose outcomes are
      public in part.
  """
  options = MakeAbstractionOptions.of(options, **keywords)
  if options.aware is not None:
    raise ValueError(f"aware={options.aware!r}: only for games of dealt cards; leave it out.")
  tree = build_tree(game)
  check_zero_sum(tree, "abstractions")
  states, number = _private_states(tree), options.clustered_round
  boards = sorted({state.board[:number] for state in states if len(state.board) >= number})
  if not boards:
    most = max((len(state.board) for state in states), default=0)
    rounds = (
      f"the last round with decisions is {most}" if most else "it has no public chance before a decision"
    )
    raise ValueError(f"clustered_round={number}: {game} has no boards in that round; {rounds}.")
  clusters = dict(zip(boards, _clusters(states, boards, options), strict=True))
  keys: dict[tuple[int, str], Hashable] = {}
  for (cluster, *_), members in _grouped(states, clusters, number).items():
    count = options.earlier_buckets if cluster < 0 else options.buckets
    for state, bucket in zip(members, _buckets(members, count, options), strict=True):
      keys[state.player, state.infostate] = cluster, state.line, bucket

  def clusters_and_buckets(infostate: str, player: int) -> Hashable:
    return keys[player, infostate]

  return abstract_tree(tree, game, clusters_and_buckets)


def _private_states(tree: PublicTree) -> list[PrivateState]:
  labels = tree.names
  uniform = [[np.full(shape, 1 / shape[0]) for shape in player.block_shapes] for player in tree.players]
  reach = dict(zip(map(id, labels.decisions), reaches(labels, uniform), strict=True))
  worths = worths_of(tree, uniform, lambda decision: reach[id(decision)])
  boards, lines, states = *_boards_and_lines(labels), []
  described = [np.nan_to_num(worths.at(decision).value) for decision in labels.decisions]
  most = max((float(np.abs(values).max()) for values in described), default=0.0) or 1.0
  for decision, values in zip(labels.decisions, described, strict=True):
    dealt, values = reach[id(decision)].dealt, np.round(values / most, DIGITS)
    place = decision.public_state
    for h, name in enumerate(decision.infostates):
      if name is not None:
        line = decision.player, lines[place], decision.legal_actions
        states.append(PrivateState(decision.player, name, boards[place], line, values[:, h], float(dealt[h])))
  return states


def _boards_and_lines(labels: Labels) -> tuple[list[Board], list[Board]]:
  """The board and the line of each public state; ValueError if outcomes of chance have no names."""
  boards: list[Board] = [() for _ in labels.public_states]
  lines: list[Board] = [() for _ in labels.public_states]
  for number, state in enumerate(labels.public_states):
    actions = [labels.public_states[child].action for child in labels.children[number]]
    for place, child in enumerate(labels.children[number]):
      move = actions[place], actions[:place].count(actions[place])  # equal moves are numbered
      if state.player != CHANCE:
        boards[child], lines[child] = boards[number], (*lines[number], move)
        continue
      lines[child] = (*lines[number], "chance")
      cards = labels.source.public_cards(child) if move[0] < 0 else ()
      if move[0] < 0 and not cards and len(actions) > 1:
        raise ValueError(
          f"{labels.game}: outcomes of chance are public in part, so boards have no names; each outcome must "
          "be seen by both players, or not be public."
        )
      seen = tuple(cards) if cards else move if move[0] >= 0 else None
      boards[child] = boards[number] if seen is None else (*boards[number], seen)
  return boards, lines


def _clusters(
  states: Sequence[PrivateState], boards: Sequence[Board], options: MakeAbstractionOptions
) -> Sequence[int]:
  """The cluster of each board of the clustered round."""
  given, count = options.clusters, len(boards)
  if given is not None and np.ndim(given):
    clusters = np.asarray(given)
    numbers = set(clusters.ravel().tolist())
    whole = np.issubdtype(clusters.dtype, np.integer)
    if not whole or clusters.shape != (count,) or numbers != set(range(len(numbers))):
      raise ValueError(
        f"clusters must be an integer for each of {count} boards, from 0 without gaps; got {clusters.dtype} "
        f"of shape {clusters.shape} with {sorted(numbers)[:10]}."
      )
    return clusters.tolist()
  wanted = min(CLUSTERS, count) if given is None else check_count("clusters", given, 1)
  if wanted > count:
    raise ValueError(f"clusters={wanted}: there are only {count} boards in round {options.clustered_round}.")
  row, columns = {board: k for k, board in enumerate(boards)}, []
  for (cluster, *_), members in _grouped(states, dict.fromkeys(boards, 0), options.clustered_round).items():
    if cluster < 0:
      continue
    buckets, weights = np.array(_buckets(members, BASE, options, restarts=1)), [s.weight for s in members]
    table = np.zeros((count, int(buckets.max()) + 1))
    boards_of = np.array([row[state.board[: options.clustered_round]] for state in members])
    np.add.at(table, (boards_of, buckets), weights)
    columns.append(table)
  distances = board_distances(np.concatenate(columns, 1))
  return public_clusters(distances, wanted, seed=options.seed, restarts=options.restarts).tolist()


def _grouped(
  states: Sequence[PrivateState], clusters: dict[Board, int], number: int
) -> dict[tuple[int, Hashable], list[PrivateState]]:
  """The private states that may share buckets, by cluster, -1 before the clustered round, and line."""
  groups: dict[tuple[int, Hashable], list[PrivateState]] = {}
  for state in states:
    cluster = clusters[state.board[:number]] if len(state.board) >= number else -1
    groups.setdefault((cluster, state.line), []).append(state)
  return groups


def _buckets(
  members: Sequence[PrivateState],
  count: int | str,
  options: MakeAbstractionOptions,
  restarts: int | None = None,
) -> Sequence[int]:
  """The bucket of each private state of a group."""
  if count == LOSSLESS:
    return range(len(members))
  rows, weights = np.stack([state.values for state in members]), np.array([s.weight for s in members])
  weights = weights if weights.any() else np.ones_like(weights)
  repeats = options.restarts if restarts is None else restarts
  return bucketed(rows, int(count), weights=weights, seed=options.seed, restarts=repeats).label.tolist()
