"""The strategies of a public tree as an OpenSpiel policy."""

from __future__ import annotations

import functools
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel import storage
from ps_cfr_spiel.cards.poker import CardDeal, CardGame, cards
from ps_cfr_spiel.compilation import compiler
from ps_cfr_spiel.compilation.compiler import EXACT, FormOrigin
from ps_cfr_spiel.loading import game_fields, game_in
from ps_cfr_spiel.options import TreeOptions
from ps_cfr_spiel.policy.partial_strategy import (
  PartialStrategy,
  left_out,
  locks_text,
  partial_strategy,
  types_in,
)
from ps_cfr_spiel.policy.reach import Reach, Worths, reach_of, reaches
from ps_cfr_spiel.policy.rows import COLUMNS, rows, write_rows
from ps_cfr_spiel.policy.saved_values import Saved, may_save_values, save, saved_beside
from ps_cfr_spiel.policy.state_answers import probabilities_at
from ps_cfr_spiel.tree import Decision, Labels

if TYPE_CHECKING:
  from ps_cfr_spiel.tree import PublicTree  # JAX

# OpenSpiel's tabular policies visit every history: 1e6 of them take about a minute.
TABULAR_LIMIT = 2_000_000
MOST_ROWS = 2_000_000  # of a kilobyte each
FEW = 64  # rows whose reach is computed one by one where all rows at once take little memory
MANY = 4096  # rows whose reach is remembered where they take more
TOGETHER = 2**26  # bytes of reach down the public tree


class TreePolicy(openspiel_policy.Policy):
  """A strategy profile as a lazy OpenSpiel policy: probabilities are looked up on demand.

  Attributes:
    labels: names of the public tree's infostates.
    strategies: for each player [A, rows, H] for each block, summing to one over A; float64, in large games
      float32.
    info: facts about its origin (rule, iterations, ...); saved with it.
    tabulated: it plays `strategies`, which tools may read in place of asking it. A class that derives from
      this one is asked at each infostate, unless its own body says so too (`arguments.declared`).
  """

  tabulated: ClassVar[bool] = True

  def __init__(
    self,
    game: pyspiel.Game,
    labels: Labels,
    strategies: Sequence[Sequence[Any]],
    info: Mapping[str, Any] | None = None,
  ):
    """`strategies` may have any float type; they are converted and normalised.

    ValueError if a probability is negative or not finite, or all probabilities of an infostate are zero.
    """
    super().__init__(game, list(range(game.num_players())))
    self.labels = labels
    self.strategies = normalised([list(blocks) for blocks in strategies])
    self.info = dict(info or {})
    self._reached: dict[tuple[int, int, int], Reach] = {}

  def _probabilities(self, decision: Decision, type_index: int) -> dict[int, float]:
    return dict(zip(decision.legal_actions, self.table(decision)[:, type_index].tolist(), strict=True))

  def table(self, decision: Decision) -> np.ndarray:
    """The acting player's strategy in a row, [A, H]; actions as in `legal_actions`."""
    return self.strategies[decision.player][decision.block][:, decision.row]

  @property
  def tree_options(self) -> dict[str, Any]:
    """The options of `build_tree` that built the policy's tree."""
    return TreeOptions.picked(self.info.get("options", {}))

  def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
    """Probability of every legal action at a state."""
    name = self.labels.infostate
    return probabilities_at(state, player_id, self.game, lambda at, i: self.at(i, name(at, i)))

  def for_hands_at(self, state: pyspiel.State) -> dict[int, np.ndarray] | None:
    """See `policy.for_hands`; None where types are not hands of two cards."""
    player, source = state.current_player(), self.labels.source
    form = source.lines.form if isinstance(source, FormOrigin) else None
    deal = form.deal if isinstance(form, CardGame) else None
    if form is None or not isinstance(deal, CardDeal) or deal.hole != cards.HAND_SIZE:
      return None
    decision, _ = self.labels.decision_at(state, player)
    chances = np.zeros((len(decision.legal_actions), len(cards.ALL_HANDS)))
    chances[:, deal.whole[deal.held[player]]] = self.table(decision)
    return dict(zip(decision.legal_actions, chances, strict=True))

  def at(self, player: int, infostate: str) -> dict[int, float]:
    """Probability of every legal action at an information state string; ValueError for an unknown string."""
    return self._probabilities(*self.labels.find(player, infostate))

  def to_tabular(self, states=None) -> openspiel_policy.TabularPolicy:
    """OpenSpiel's Python table, of a game with at most `TABULAR_LIMIT` histories; ValueError for others."""
    if states is None and self.labels.histories > TABULAR_LIMIT:
      raise ValueError(
        f"{self.labels.game} has {self.labels.histories:,} histories, and OpenSpiel's Python TabularPolicy "
        f"visits each of them; at most {TABULAR_LIMIT:,} are allowed. "
        "Use to_pyspiel(), which visits none."
      )
    self._check_names()
    return super().to_tabular(states)

  @functools.cached_property
  def _table(self) -> openspiel_policy.TabularPolicy:
    table = self.to_tabular()
    table.action_probability_array.setflags(write=False)  # this policy would not follow
    return table

  @property
  def state_lookup(self) -> dict[str, int]:
    """The rows of `action_probability_array` by information state string, as OpenSpiel's table has them.

    This and the next two are those of `to_tabular`, made once, to read; ValueError where that raises it.
    """
    return self._table.state_lookup

  @property
  def action_probability_array(self) -> np.ndarray:
    """float64[rows, actions], read-only; to change probabilities, change those of `to_tabular()`."""
    return self._table.action_probability_array

  @property
  def legal_actions_mask(self) -> np.ndarray:
    """[rows, actions], 1 for legal actions."""
    return self._table.legal_actions_mask

  def to_pyspiel(self) -> pyspiel.TabularPolicy:
    """OpenSpiel's C++ table, made from the infostates alone.

    Where chance has outcomes of probability zero, OpenSpiel's tools continue behind them, and this tree has
    no infostates there; the table then plays uniformly at unknown infostates.

    ValueError if two infostates have one string (phantom_ttt's players share theirs, other games' strings
    forget), because the table has no other key.
    """
    self._check_names()
    kind = pyspiel.PartialTabularPolicy if self.labels.source.pruned else pyspiel.TabularPolicy
    return kind(
      {name: list(self._probabilities(row, h).items()) for row, h, name in self.labels.infostates()}
    )

  def _check_names(self) -> None:
    """ValueError if a name belongs to two infostates, or is not one of the game's strings."""
    if "infostates" in self.labels.remarks:
      raise ValueError(
        f"{self.labels.game}: its strings, a table's only keys, forget the past; use the lazy policy."
      )
    seen: set[str] = set()
    for _, _, name in self.labels.infostates():
      if name in seen:
        raise ValueError(
          f"{self.labels.game}: several players have infostates called {name!r}, and a table has no other "
          f"key; use the lazy policy."
        )
      seen.add(name)

  @functools.cached_property
  def tree(self) -> PublicTree:
    """The compiled game: that of the policy's solver, or built with the options of the policy's own tree."""
    return compiler.build_tree(self.game, **self.tree_options)

  def reach(self, decision: Decision) -> Reach:
    """The reach of a row: of the first rows, and in a large Bayesian form of all, computed one by one."""
    row, source = (decision.player, decision.block, decision.row), self.labels.source
    if row not in self._reached:
      together = 8 * len(self.labels.public_states) * sum(map(len, self.labels.types)) <= TOGETHER
      if isinstance(source, FormOrigin) and (len(self._reached) < FEW or not together):
        if len(self._reached) >= MANY:
          self._reached.clear()
        self._reached[row] = reach_of(self.labels, source, self.strategies, decision)
      else:
        all_reaches = reaches(self.labels, self.strategies)
        rows = [(d.player, d.block, d.row) for d in self.labels.decisions]
        self._reached.update(zip(rows, all_reaches, strict=True))
    return self._reached[row]

  @functools.cached_property
  def locked(self) -> dict[int, np.ndarray]:
    """The locks of the policy's run: for their rows, by the numbers in `labels.decisions`, float64[A, H].

    These are the strategies of locked types, and zeros for free ones; {} without locks. ValueError if `info`
    does not fit the game.
    """
    states, part = self.info.get("locks", ()), self.info.get("part")
    known = [s for s in states if s < len(self.labels.public_states)]
    numbers = [n for s in known for n in self.labels.public_states[s].decisions]
    headers = self.info.get("locked_types", [""] * len(numbers))
    if len(known) < len(states) or len(headers) != len(numbers):
      raise ValueError(f"The locks that a policy names do not fit {self.labels.game}; its file is damaged.")
    tables = {}
    for n, header in zip(numbers, headers, strict=True):
      decision = self.labels.decisions[n]
      if part is None or decision.public_state in part:
        table = self.table(decision)
        tables[n] = table * types_in(header, table.shape[1])
    return tables

  @property
  def locks_text(self) -> str:
    """The locks of the policy's run in words; "" without any."""
    return locks_text(self.labels, self.locked)

  @functools.cached_property
  def left_out(self) -> frozenset[int]:
    """The public states at or below which a part of a policy plays uniformly, because it lacks a decision."""
    return left_out(self.labels, self.info["part"]) if "part" in self.info else frozenset()

  @functools.cached_property
  def worths(self) -> Worths:
    """The values of every action at every infostate, computed once, in float64; in large games in float32."""
    from ps_cfr_spiel.policy.worth import worths_of  # JAX, which a kept policy does without

    if [[b.shape for b in bs] for bs in self.strategies] != [p.block_shapes for p in self.tree.players]:
      raise ValueError(
        f"{self.labels.game}: this policy's tables do not fit the tree of build_tree; solve anew."
      )
    cells = sum(block.size for blocks in self.strategies for block in blocks)
    return worths_of(self.tree, self.strategies, self.reach, "float64" if cells <= EXACT else "float32")

  def to_rows(self, public_states: Collection[int] | None = None) -> list[dict[str, Any]]:
    """The policy as a table: a dictionary for every action of every infostate.

    The columns:
        player: the acting player.
        public_state, line: the public state's number and the public moves that lead there; None without any.
        type: the hand, or another dealt type; None in games that deal no types.
        infostate: OpenSpiel's information state string.
        action, action_name: OpenSpiel's number of the action, and its name in the game.
        probability: of the action.
        value: expected utility to the player (poker's EV) if it is played here and both players then follow
          the policy, given that chance and the opponent come here; None if they never do.
        best_response_value: the same if the player continues by a best response.
        ev: in hold'em `value` counted from now, without the chips put in before: folding is worth 0; in other
          games `value`.
        reach: product of the player's own probabilities on the way.
        others_reach: probability that chance and the opponent come here; `reach * others_reach` is the
          probability of the infostate.
        equity: in hold'em, the share of the pot that the hand would win in a showdown here; else None.

    It includes only these `public_states`, by number; ValueError for all of them if they are too many.
    """
    cells = sum(block.size for blocks in self.strategies for block in blocks)
    if public_states is None and cells > MOST_ROWS:
      raise ValueError(
        f"{self.labels.game} has {cells:,} actions of infostates, more than the {MOST_ROWS:,} that fit "
        f"into a list; name public states, or write a file with to_csv (show --csv)."
      )
    return list(rows(self, public_states))

  def to_frame(self, public_states: Collection[int] | None = None):
    """`to_rows` as a `pandas.DataFrame`, without the column `equity` where there are rows and none has one.

    pandas is an extra, and without it this is a ModuleNotFoundError.
    """
    try:
      import pandas
    except ModuleNotFoundError as error:
      raise ModuleNotFoundError("Data frames need pandas: run pip install 'ps_cfr_spiel[pandas]'") from error
    table = self.to_rows(public_states)
    known = not table or any(row["equity"] is not None for row in table)
    return pandas.DataFrame(table, columns=[name for name in COLUMNS if known or name != "equity"])

  def to_csv(self, path: str | os.PathLike, public_states: Collection[int] | None = None) -> int:
    """Write `to_rows` to a CSV file, or as JSON lines if its name ends in .jsonl; OSError if it cannot.

    Rows are written one by one, in little memory; returns their number.
    """
    return write_rows(path, rows(self, public_states))

  def save(self, path: str | os.PathLike, lines: Sequence[str] | None = None) -> None:
    """Save the policy with its game string and `info`; `ps_cfr_spiel.load_policy` reads it.

    With `lines` a part is saved: only the decisions on the way to these public states and at them, and below
    those lines that end with "...", written as for `tree.Labels`, such as ["check, check, 2c ..."]. The
    loaded policy plays uniformly elsewhere, and its `info` has their public states.

    OSError if the file cannot be written, and an earlier one stays; ValueError if a line does not exist.
    """
    if lines is not None:
      part = partial_strategy(self.labels, lines, self.table)
      header = {**self.info, **game_fields(self.game), "part": list(part.public_states)}
      storage.write(path, "policy", header, {"part": part.probabilities})
      return
    blocks = {_block_name(i, k): b for i, bs in enumerate(self.strategies) for k, b in enumerate(bs)}
    storage.write(path, "policy", {**self.info, **game_fields(self.game)}, blocks)

  def save_values(self, run: str | os.PathLike, memory: float | None = None) -> Path | None:
    """Save the policy with the values of its actions beside the run that it is of, for `with_values`.

    Returns the file, values.safetensors; None in a game that does not describe itself. TooLarge if the values
    need more memory than `memory` bytes (None: than is free); OSError if the file cannot be written.
    """
    if not may_save_values(self.game, self.labels, memory):
      return None
    worths = self.worths
    return save(Saved(self.game, self.labels, self.strategies, worths.values, worths.best, self.info), run)

  @classmethod
  def with_values(cls, run: str | os.PathLike) -> TreePolicy | None:
    """The average policy of a run with its values, from the file of `save_values` beside it.

    Neither JAX nor the tree is needed to look at it. None without a file of the very same run.
    """
    if (saved := saved_beside(run)) is None:
      return None
    policy = cls(saved.game, saved.labels, (), saved.info)
    policy.strategies = saved.strategies
    policy.worths = Worths(saved.values, saved.best, policy.reach)
    return policy

  @classmethod
  def from_file(cls, file: storage.Stored, limit: int) -> TreePolicy:
    """The policy in a file opened by `storage.read`, whose game may have at most `limit` histories.

    ValueError if the file holds something else, or does not fit its own game.
    """
    header = file.header
    if header["kind"] != "policy":
      raise ValueError(f"{file.path} holds {file.content}, not a policy or a run.")
    if "run" in header:
      raise ValueError(f"{file.path} holds the values of a run's policy; name the run beside it.")
    try:
      options = TreeOptions(**TreeOptions.picked(header.get("options", {})))
    except ValueError as error:
      raise ValueError(f"{file.path} is damaged: {error}") from error
    game = game_in(file.header, file.path)
    tree = compiler.build_tree(game, **{**options.values(TreeOptions), "limit": min(options.limit, limit)})
    info = {key: value for key, value in header.items() if key not in storage.STAMP}
    if "part" in header:
      strategies = PartialStrategy(tuple(header["part"]), file.arrays(file.shapes)["part"]).tables(tree)
      return cls(game, tree.names, strategies, info)
    shapes = {
      _block_name(i, k): (shape, np.dtype(np.float64))
      for i, player in enumerate(tree.players)
      for k, shape in enumerate(player.block_shapes)
    }
    arrays = file.arrays(shapes)
    blocks = [range(len(player.block_shapes)) for player in tree.players]
    strategies = [[arrays[_block_name(i, k)] for k in numbers] for i, numbers in enumerate(blocks)]
    try:
      return cls(game, tree.names, strategies, info)
    except ValueError as error:
      raise ValueError(f"{file.path} is damaged: {error}") from error


def _block_name(player: int, block: int) -> str:
  return f"player{player}_block{block}"


def normalised(strategies: Sequence[list[Any]]) -> tuple[tuple[np.ndarray, ...], ...]:
  """Strategies as a policy holds them; the given lists are emptied, so that large tables exist but once.

  ValueError if a probability is negative or not finite, or all probabilities of an infostate are zero.
  """
  cells = sum(np.size(block) for blocks in strategies for block in blocks)
  dtype = np.float64 if cells <= EXACT else np.float32
  return tuple(
    tuple(_normalised(blocks.pop(0), _block_name(i, k), dtype) for k in range(len(blocks)))
    for i, blocks in enumerate(strategies)
  )


def _normalised(block: Any, name: str, dtype: Any) -> np.ndarray:
  """The block as `dtype`, summing to one over A; ValueError if it has invalid probabilities."""
  block = np.asarray(block)
  if block.dtype.kind not in "biuf":
    raise ValueError(f"The probabilities in {name} must be real numbers, got {block.dtype}.")
  block = block.astype(dtype, copy=False)
  total = block.sum(0, keepdims=True)
  if not ((block >= 0).all() and (total > 0).all() and (total < np.inf).all()):  # NaN fails too
    raise ValueError(
      f"The probabilities in {name} must be finite, not negative, and not all zero at an infostate."
    )
  return block / total
