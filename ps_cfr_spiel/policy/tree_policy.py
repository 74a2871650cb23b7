"""Strategies of a public tree as an OpenSpiel policy."""

import functools
import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel import storage
from ps_cfr_spiel.compiler import build_tree
from ps_cfr_spiel.policy.reach import Reach, reaches
from ps_cfr_spiel.policy.rows import rows, write_rows
from ps_cfr_spiel.policy.worth import Worths
from ps_cfr_spiel.tree import Decision, Labels, PublicTree

# OpenSpiel's tabular policies visit every history: 1e6 of them take a minute or so.
TABULAR_LIMIT = 2_000_000


class TreePolicy(openspiel_policy.Policy):
  """A strategy profile as a lazy OpenSpiel policy: probabilities are looked up when asked for.

  Attributes:
    labels: names of the public tree's infostates.
    strategies: for each player [A, rows, H] for each block, float64, summing to one over A.
    info: what is known of its making (rule, iterations, ...); saved with it.
  """

  def __init__(
    self,
    game: pyspiel.Game,
    labels: Labels,
    strategies: Sequence[Sequence[Any]],
    info: Mapping[str, Any] | None = None,
  ):
    """`strategies` may be of any float type; they are brought to float64 and made to sum to one."""
    super().__init__(game, [0, 1])
    self.labels = labels
    self.strategies = tuple(tuple(_normalised(block) for block in blocks) for blocks in strategies)
    self.info = dict(info or {})

  def _probabilities(self, decision: Decision, type_index: int) -> dict[int, float]:
    return dict(zip(decision.legal_actions, self.table(decision)[:, type_index].tolist(), strict=True))

  def table(self, decision: Decision) -> np.ndarray:
    """The acting player's strategy in a row, float64 [A, H]; actions as in `legal_actions`."""
    return self.strategies[decision.player][decision.block][:, decision.row]

  @property
  def tree_options(self) -> dict[str, Any]:
    """The options of `build_tree` with which the policy's tree was made."""
    return {key: self.info[key] for key in ("leaves", "public_states", "limit") if key in self.info}

  def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
    """Probability of every legal action at a state, as OpenSpiel's policies give it.

    Raises:
      ValueError: the state is of another game, or nobody acts there.
    """
    player = acting_player(state, player_id)
    return self._probabilities(*self.labels.find(player, state.information_state_string(player)))

  def at(self, player: int, infostate: str) -> dict[int, float]:
    """Probability of every legal action at an information state string; ValueError if there is none."""
    return self._probabilities(*self.labels.find(player, infostate))

  def to_tabular(self, states=None) -> openspiel_policy.TabularPolicy:
    """OpenSpiel's Python table, for games small enough to be walked history by history.

    Raises:
      ValueError: the game has more than `TABULAR_LIMIT` histories; use `to_pyspiel`.
    """
    if states is None and self.labels.histories > TABULAR_LIMIT:
      raise ValueError(
        f"{self.labels.game} has {self.labels.histories:,} histories; OpenSpiel's Python TabularPolicy "
        f"visits each of them, and at most {TABULAR_LIMIT:,} are allowed. to_pyspiel() needs no walk."
      )
    self._check_names()
    return super().to_tabular(states)

  def to_pyspiel(self) -> pyspiel.TabularPolicy:
    """OpenSpiel's C++ table, made from the infostates alone.

    Raises:
      ValueError: two infostates have one string (phantom_ttt's players share theirs), and the table has no
        other key.
    """
    self._check_names()
    return pyspiel.TabularPolicy(
      {name: list(self._probabilities(row, h).items()) for row, h, name in self.labels.infostates()}
    )

  def _check_names(self) -> None:
    """ValueError if a name stands for two infostates."""
    seen: set[str] = set()
    for _, _, name in self.labels.infostates():
      if name in seen:
        raise ValueError(
          f"{self.labels.game}: two players' infostates are called {name!r}, and a table has no other key; "
          f"use the lazy policy."
        )
      seen.add(name)

  @functools.cached_property
  def tree(self) -> PublicTree:
    """The compiled game, built anew with the options of the policy's own tree, once."""
    return build_tree(self.game, **self.tree_options)

  @functools.cached_property
  def _reaches(self) -> dict[tuple[int, int, int], Reach]:
    found = reaches(self.labels, self.strategies)
    rows = [(d.player, d.block, d.row) for d in self.labels.decisions]
    return dict(zip(rows, found, strict=True))

  def reach(self, decision: Decision) -> Reach:
    """How often play comes to a row; computed for all at once when first asked for."""
    return self._reaches[decision.player, decision.block, decision.row]

  @functools.cached_property
  def worths(self) -> Worths:
    """What every action is worth at every infostate, computed once, in float64."""
    if [[b.shape for b in bs] for bs in self.strategies] != [p.block_shapes for p in self.tree.players]:
      raise ValueError(f"{self.labels.game}: this policy's tables do not fit the tree that build_tree makes.")
    return Worths(self.tree, self.strategies, self.reach)

  def to_rows(self, public_states: Collection[int] | None = None) -> list[dict[str, Any]]:
    """The policy as a table: a dictionary for every action of every infostate.

    `pandas.DataFrame(policy.to_rows())` is a data frame. The columns:
      player: who acts.
      public_state, line: the public state's number and the public moves that lead there; None without any.
      type: the hand, or what else is dealt; None in games that deal no types.
      infostate: OpenSpiel's information state string.
      action, action_name: OpenSpiel's number of the action, and its name in the game.
      probability: how often it is played.
      value: expected utility to the player (poker's EV) if it is played here and both players then follow
        the policy, given that chance and the opponent come here; None if they never do.
      best_response_value: the same if the player goes on by a best response.
      reach: product of the player's own probabilities on the way.
      others_reach: probability that chance and the opponent come here, so that `reach * others_reach` is how
        often the infostate occurs.
      equity: in poker, the share of the pot that the hand would win if hands were shown here; else None.

    Args:
      public_states: only these, by number; all by default.
    """
    return list(rows(self.game, self.labels, self.table, self.reach, self.worths, public_states))

  def to_csv(self, path: str | os.PathLike) -> None:
    """Writes `to_rows` to a CSV file, or as JSON lines if its name ends in .jsonl; OSError if it cannot."""
    write_rows(path, self.to_rows())

  def save(self, path: str | os.PathLike) -> None:
    """Saves the policy with its game string and `info`; `ps_cfr_spiel.load_policy` reads it.

    Raises:
      OSError: the file cannot be written; an earlier one is left as it was.
    """
    blocks = {f"player{i}_block{k}": b for i, bs in enumerate(self.strategies) for k, b in enumerate(bs)}
    storage.write(path, "policy", {**self.info, "game": self.labels.game}, blocks)

  @classmethod
  def from_file(cls, header: dict[str, Any], arrays: dict[str, np.ndarray], path: Any) -> "TreePolicy":
    """What `storage.read` found, as a policy; ValueError if it does not fit its own game."""
    try:
      game = pyspiel.load_game(header["game"])
      options = {key: header[key] for key in ("leaves", "public_states", "limit") if key in header}
      tree = build_tree(game, **options)
      names = [
        [f"player{i}_block{k}" for k in range(len(p.block_shapes))] for i, p in enumerate(tree.players)
      ]
      strategies = [[arrays[name] for name in blocks] for blocks in names]
    except (KeyError, RuntimeError) as error:
      raise ValueError(f"{path} is damaged: {error}") from error
    for player, blocks in zip(tree.players, strategies, strict=True):
      if [block.shape for block in blocks] != player.block_shapes:
        raise ValueError(f"{path} is damaged: its arrays do not fit {header['game']}.")
    info = {key: value for key, value in header.items() if key not in ("format", "format_version", "kind")}
    return cls(game, tree.names, strategies, info)


def acting_player(state: pyspiel.State, player_id: int | None) -> int:
  """Whose probabilities an OpenSpiel policy is asked for; ValueError if nobody acts at the state."""
  player = state.current_player() if player_id is None else player_id
  if player not in (0, 1):
    raise ValueError(f"No player acts at this state (current player {player}); expected 0 or 1.")
  return player


def check_turn(state: pyspiel.State, player: int) -> None:
  """ValueError if it is not the player's turn: for bots, which are asked for moves of their own."""
  if state.current_player() != player:
    raise ValueError(f"It is not the turn of player {player}, but of {state.current_player()}.")


def _normalised(block: Any) -> np.ndarray:
  block = np.asarray(block, np.float64)
  return block / block.sum(0, keepdims=True)
