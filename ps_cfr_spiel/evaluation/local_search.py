"""The searches of a local best response, all infostates of a level at once; see `local_best_response`.

A search of the infostates at one level of the searcher's decisions (`search.Levels`) looks at the decisions
before number `ahead`, which is that level plus the depth. In them the searcher maximises and the opponent
plays their policy; later decisions follow the rollout. The order of decisions is known from the public
states, so the opponent's strategy in such a search is a table: by their policy in rows with fewer
than `ahead` decisions of the searcher above, by the rollout in the others. One pass of reach and one of
values then give the worth of every action at that level.
"""

import dataclasses
import functools
import re
from collections.abc import Collection, Iterable, Sequence

import jax.numpy as jnp
import numpy as np
import pyspiel

from ps_cfr_spiel.arguments import JSON, check_count, check_list, check_option, is_integer
from ps_cfr_spiel.backend.device import jit, precision, to_device
from ps_cfr_spiel.policy import OpenSpielPolicy, strategies_of
from ps_cfr_spiel.resolving.search import Levels, by_row
from ps_cfr_spiel.resolving.subgames import Subgames
from ps_cfr_spiel.tree import (
  CHANCE,
  Array,
  Decision,
  Labels,
  PublicTree,
  evaluate,
  max_actions,
  sequence_reach,
  sequence_values,
  sum_actions,
)

CALL, FOLD = (re.compile(rf"\b({words})\b", re.IGNORECASE) for words in ("call|check", "fold"))
Actions = str | Collection[int] | Sequence[Collection[int] | None] | None
WORDS = {"c": (CALL,), "fc": (FOLD, CALL)}  # of the searcher's actions
Table = list[np.ndarray]  # of a player, an array for each block
Tables = tuple[Table, Table]


@dataclasses.dataclass(frozen=True, eq=False)
class LocalSearch:
  """The part of all searches of a game that does not depend on the opponent."""

  tree: PublicTree  #: the compiled game
  levels: tuple[Levels, Levels]  #: for each player its public states, by own decisions above
  depth: int  #: own decisions that a search looks at; more than all of them if there is no limit
  allowed: Tables  #: for each player bool[A, rows, 1] for each block, the searcher's allowed actions
  rollout: Tables  #: for each player [A, rows, H] for each block
  #: for each player bool[A, rows, 1] for each block: actions that count as such in the opponent's last answer
  #: that a search looks at; the others count as the rollout.
  kept: Tables
  options: dict[str, JSON]  #: of `build_tree`

  @classmethod
  def of(
    cls,
    game: pyspiel.Game,
    actions: Actions,
    depth: int | None,
    rollout: OpenSpielPolicy | str | None,
    **options: JSON,
  ) -> "LocalSearch":
    """See `local_best_response`."""
    subgames = Subgames.of(game, **options)
    tree, levels = subgames.tree, Levels.of(subgames.labels, None)
    depth = len(subgames.labels.public_states) if depth is None else check_count("depth", depth, 1)
    tables, kept = _rollout(game, tree, rollout)
    return cls(tree, levels, depth, _allowed(game, tree, actions), tables, kept, dict(subgames.options))

  @functools.cached_property
  def _device(self) -> tuple[PublicTree, Tables, Tables]:
    """Tree, allowed actions and rollout on the device."""
    with precision("float64"):
      return to_device((self.tree, self.allowed, self.rollout), "float64")

  @functools.cached_property
  def _above(self) -> list[Tables]:
    """[player][other]: int[rows] for each block, how many decisions of `other` are above a player's row."""
    return [_pair(by_row(self.tree, i, self.levels[j].level) for j in (0, 1)) for i in (0, 1)]

  def response(self, player: int, opponent: Sequence[np.ndarray]) -> Table:
    """The whole strategy of a searcher against a strategy of the opponent, [A, rows, H] for each block."""
    table = [np.zeros(shape) for shape in self.tree.players[player].block_shapes]
    for level in range(self.levels[player].count()):
      choices = self.choices(player, opponent, level)
      for k, above in enumerate(self._above[player][player]):
        table[k][:, above == level] = choices[k][:, above == level]
    return table

  def value(self, player: int, table: Table, strategies: Sequence[Sequence[np.ndarray]]) -> float:
    """The gain of a player's table against the other's strategy."""
    profile = [table if i == player else list(strategies[i]) for i in (0, 1)]
    with precision("float64"):
      value = evaluate(self._device[0], to_device(profile, "float64")).value
    return float(value) * (1 - 2 * player)

  def choices(self, player: int, opponent: Sequence[np.ndarray], level: int) -> Table:
    """The choices of the searches from one level: 1 for the action, 0 for others; arbitrary in other rows."""
    ahead = level + self.depth
    searched = [above < ahead for above in self._above[player][player]]
    tree, allowed, rollout = self._device
    with precision("float64"):
      mixed = to_device(self._opponent(1 - player, opponent, ahead), "float64")
      values = _action_values(tree, mixed, searched, allowed[player], rollout[player], player=player)
    table = []
    for value, may in zip(values, self.allowed[player], strict=True):
      best = np.where(may, np.asarray(value), -np.inf).argmax(0)
      table.append((np.arange(len(value))[:, None, None] == best).astype(float))
    return table

  def _opponent(self, opponent: int, strategy: Sequence[np.ndarray], ahead: int) -> Table:
    """The opponent's strategy in searches that look at the searcher's decisions before number `ahead`."""
    mixed, aboves = [], self._above[opponent][1 - opponent]
    blocks = zip(strategy, self.rollout[opponent], self.kept[opponent], aboves, strict=True)
    for played, after, keep, above in blocks:
      answer = played * keep
      answer = answer + (1 - answer.sum(0)) * after
      row = above[:, None]  # for all types
      mixed.append(np.where(row < ahead, played, np.where(row == ahead, answer, after)))
    return mixed

  def asked(self, decision: Decision) -> list[Decision]:
    """The opponent's rows that a search from one of the searcher's needs: on the way to it, and answers."""
    labels, above = self.tree.names, self.levels[decision.player].level
    states, state = labels.public_states, decision.public_state
    last = above[state] + self.depth
    below, wanted = [state], []
    while below:
      near = [child for child in labels.children[below.pop()] if above[child] <= last]
      below += near
      wanted += near
    while state >= 0:
      wanted.append(state)
      state = states[state].parent
    opponent = 1 - decision.player
    return [labels.decisions[n] for s in wanted if states[s].player == opponent for n in states[s].decisions]


@jit(static_argnames="player")
def _action_values(
  tree: PublicTree,
  opponent: Sequence[Array],
  searched: Sequence[Array],
  allowed: Sequence[Array],
  rollout: Sequence[Array],
  player: int,
) -> Sequence[Array]:
  """Counterfactual action values [A, rows, H]: in rows of `searched` the best is played, else the rollout."""
  other = tree.players[1 - player]
  leaf_values = tree.leaves(player, other.leaf.pull(sequence_reach(other, opponent)))

  def backup(k: int, values: Array) -> Array:
    best = max_actions(jnp.where(allowed[k], values, -jnp.inf))
    return jnp.where(searched[k][:, None], best, sum_actions(rollout[k] * values))

  return sequence_values(tree.players[player], leaf_values, backup)[0]


def _rollout(
  game: pyspiel.Game, tree: PublicTree, rollout: OpenSpielPolicy | str | None
) -> tuple[Tables, Tables]:
  """`LocalSearch.rollout` and `kept`."""
  shapes = [player.block_shapes for player in tree.players]
  everything = _pair([np.ones((a, rows, 1), bool) for a, rows, _ in blocks] for blocks in shapes)
  if rollout is not None and not isinstance(rollout, str):
    return _pair(list(blocks) for blocks in strategies_of(tree, rollout)), everything
  if rollout is not None:
    check_option("rollout", rollout, ("call", "uniform"))
  uniform = _pair([np.full(shape, 1 / shape[0]) for shape in blocks] for blocks in shapes)
  if rollout == "uniform":
    return uniform, everything
  calls = _pair([np.zeros(shape) for shape in blocks] for blocks in shapes)
  folds = _pair([np.zeros((a, rows, 1), bool) for a, rows, _ in blocks] for blocks in shapes)
  for d in tree.names.decisions:
    if all(infostate is None for infostate in d.infostates):  # the board holds a card of every hand
      calls[d.player][d.block][:, d.row] = 1 / len(d.legal_actions)
      continue
    names = tree.names.move_names(d)
    calling = [a for a, name in enumerate(names) if CALL.search(name)]
    if len(calling) != 1:
      if rollout is None:
        return uniform, everything
      raise ValueError(
        f"rollout='call': {len(calling)} of the moves {names} in {tree.names.game} check or call."
      )
    calls[d.player][d.block][calling, d.row] = 1
    folds[d.player][d.block][:, d.row, 0] = [bool(FOLD.search(name)) for name in names]
  return calls, folds


def _allowed(game: pyspiel.Game, tree: PublicTree, actions: Actions) -> Tables:
  """`LocalSearch.allowed`; ValueError if these are not actions or words, or an infostate has none."""
  rounds = _rounds(actions)
  numbers = _round_numbers(tree.names)
  allowed = _pair([np.ones((a, n, 1), bool) for a, n, _ in player.block_shapes] for player in tree.players)
  for d in tree.names.decisions:
    may = rounds[min(numbers[d.public_state], len(rounds) - 1)]
    known = next(filter(None, d.infostates), None)
    if may is None or (isinstance(may, str) and known is None):  # the board holds a card of every hand
      continue
    if isinstance(may, str):
      names = tree.names.move_names(d)
      chosen = [any(word.search(name) for word in WORDS[may]) for name in names]
      legal = f"one of {names}"
    else:
      chosen, may = [action in may for action in d.legal_actions], sorted(may)
      legal = f"one of {d.legal_actions}"
    if not any(chosen):
      raise ValueError(f"actions: {may} has no legal action at {known!r}; include {legal}.")
    allowed[d.player][d.block][:, d.row, 0] = chosen
  return allowed


def _rounds(actions: Actions) -> Sequence[str | Collection[int] | None]:
  """The actions of each round: None for all, a word of `WORDS`, or OpenSpiel's numbers."""
  if isinstance(actions, str):
    words = [word.strip() for word in actions.split("/")]
    if any(word not in WORDS for word in words):
      raise ValueError(
        f"actions={actions!r}: in a compiled game write 'c' for calls or 'fc' for folds and calls, with '/' "
        "between rounds, or OpenSpiel's numbers, such as (0, 1)."
      )
    return words
  given = [None] if actions is None else check_list("actions", actions)
  rounds: list = [given] if given and all(map(is_integer, given)) else given
  if not rounds or not all(r is None or _are_actions(r) for r in rounds):
    raise ValueError(f"actions must be OpenSpiel actions, or a list of them for each round, got {actions!r}.")
  return rounds


def _are_actions(value: object) -> bool:
  return isinstance(value, Collection) and len(value) > 0 and all(map(is_integer, value))


def _round_numbers(labels: Labels) -> list[int]:
  """For each public state the number of chance moves since a player first acted; a flop counts once."""
  states, numbers, begun = labels.public_states, [], []
  for state in states:
    above = state.parent
    follows = above >= 0 and begun[above]
    deals = follows and states[above].player == CHANCE and state.player != CHANCE
    numbers.append((numbers[above] if above >= 0 else 0) + deals)
    begun.append(follows or state.player in (0, 1))
  return numbers


def _pair(tables: Iterable[Table]) -> Tables:
  first, second = tables
  return first, second
