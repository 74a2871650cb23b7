"""Strategies in tables by key, as OpenSpiel policies: a key is the part of an infostate that it knows."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel import storage
from ps_cfr_spiel.arguments import JSON
from ps_cfr_spiel.cards.poker import cards
from ps_cfr_spiel.keyed_game import Cells, KeyedGame
from ps_cfr_spiel.loading import game_fields, is_same_game
from ps_cfr_spiel.policy import probabilities_at

CODES = 255  # the largest of a byte
ORIGIN = ("solver", "options", "iteration", "policy")  # fields of a policy's `info` that a file keeps


class Sums(Protocol):
  """A table of numbers by cell: an array [S], or a larger one that is read in parts."""

  def __getitem__(self, cells: Any, /) -> np.ndarray:
    """The numbers of some cells, of the shape of the index."""
    ...


class KeyedPolicy(openspiel_policy.Policy):
  """A strategy of all players as sums over the cells of a keyed game."""

  def __init__(self, form: KeyedGame, table: Sums, info: Mapping[str, Any]):
    """Negative sums of `table` count as 0; `info` describes the origin."""
    super().__init__(form.game, list(range(form.players)))
    self.form = form  #: the game with its keys
    self.table = table  #: [S], sums of moves by cell; the moves of a key without sums are equally likely
    self.info = dict(info)  #: its origin

  def shares(self, cells: Cells) -> np.ndarray:
    """float64[A, ...]: the probabilities of the A moves of keys, from their cells [A, ...]."""
    return normalised(self.table[cells])

  def save(self, path: str | os.PathLike, card: Mapping[str, JSON] | None = None) -> None:
    """Save the policy alone, a byte for each move of a key, for `ps_cfr_spiel.load_policy`.

    A probability is rounded to 1/255 of the likeliest move's; a run in a file has them whole. `card` says
    more of its origin in the policy's `info`: how it was made, and how well it plays.

    OSError if the file cannot be written, and an earlier one stays; ValueError for a game that cannot list
    its keys.
    """
    card = {**self.info.get("card", {}), **(card or {})}
    origin = {name: self.info[name] for name in ORIGIN if name in self.info}
    header = {**origin, **game_fields(self.game), **self.form.fields(), "card": card}
    codes = {name: np.rint(CODES * x).astype(np.uint8) for name, x in self.form.relative(self.table).items()}
    storage.write(path, "policy", header, {**self.form.arrays(), **codes})

  def for_hands_at(self, state: pyspiel.State) -> dict[int, np.ndarray] | None:
    """See `policy.for_hands`; None where the keys do not say which cards they hold."""
    return self._of_cells(state, self.form.hands_at(state))

  def for_boards_at(self, state: pyspiel.State, places: Sequence[int]) -> dict[int, np.ndarray] | None:
    """See `policy.for_boards`; None as of `for_hands_at`."""
    return self._of_cells(state, self.form.hands_on_boards(state, places))

  def _of_cells(
    self, state: pyspiel.State, hands: tuple[np.ndarray, np.ndarray] | None
  ) -> dict[int, np.ndarray] | None:
    """For each action the chances of all hands, from the cells of some, [A, ..., H]."""
    if hands is None:
      return None
    cells, held = hands
    chances = np.full((*cells.shape[:-1], len(cards.ALL_HANDS)), 1 / len(cells))
    chances[..., held] = self.shares(cells)
    return dict(zip(state.legal_actions(), chances, strict=True))

  def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
    """Probability of every legal action at a state: its share, uniform where all sums are 0 or less."""
    return probabilities_at(state, player_id, self.game, lambda state, _: self._at(state))

  def _at(self, state: pyspiel.State) -> dict[int, float]:
    if not is_same_game(state.get_game(), self.game):
      raise ValueError(f"This policy is for {self.game}; the state is of another game, {state.get_game()}.")
    cells, actions = self.form.locate(state)
    shares = self.shares(cells)
    shares = shares if len(shares) else np.full(len(actions), 1 / len(actions))
    return dict(sorted(zip(actions, shares.tolist(), strict=True)))


def normalised(sums: np.ndarray) -> np.ndarray:
  """float64[A, ...]: probabilities, from sums that need not be normalised."""
  if not np.isfinite(sums).all():
    raise ValueError("The strategy holds numbers that are not finite: its file is damaged.")
  sums = np.maximum(sums, 0)
  total = sums.sum(0, dtype=np.float64, keepdims=True)
  return np.where(total > 0, sums / np.where(total > 0, total, 1), 1 / max(len(sums), 1))
