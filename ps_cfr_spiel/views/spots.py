"""A policy's strategy at one public state of any game, by the names that people use.

A spot is given by the public moves that lead there, by the number in `certificate`, or by a whole history.
The player's possible knowledge there gives the spot's types: hands where they are dealt once, elsewhere
infostates.
"""

import dataclasses
import itertools
import re
from collections.abc import Sequence

import numpy as np

from ps_cfr_spiel.histories import walked_source
from ps_cfr_spiel.policy import (
  TreePolicy,
  action_name,
  action_names,
  find_one_action,
  find_public_state,
  line_to,
  play_moves,
)
from ps_cfr_spiel.tree import CHANCE, TERMINAL, Decision, Labels


@dataclasses.dataclass(frozen=True)
class Spot:
  """The acting player's strategy at one public state.

  Attributes:
    public_state: its number.
    history: names of the public moves that lead here.
    player: the acting player, 0 or 1.
    actions: names of the actions that are legal for some type, length A.
    ids: their OpenSpiel numbers.
    next_player: the acting player after each action, `tree.TERMINAL` if the game surely ends.
    types: names of the player's types, length H.
    cells: the place of each type's strategy: (row, type).
    legal: bool[A, H], whether an action is legal for a type.
    probability: float64[A, H], the strategy.
    dealt: float64[H], probability that chance deals each type; in games that deal none, that chance and the
      opponent play to it.
    reach: float64[H], probability that the player's own choices lead here with each type.
  """

  public_state: int
  history: tuple[str, ...]
  player: int
  actions: tuple[str, ...]
  ids: tuple[int, ...]
  next_player: tuple[int, ...]
  types: tuple[str, ...]
  cells: tuple[tuple[Decision, int], ...]
  legal: np.ndarray
  probability: np.ndarray
  dealt: np.ndarray
  reach: np.ndarray

  @property
  def weight(self) -> np.ndarray:
    """float64[H]: probability that the player holds each type and plays to this state."""
    return self.dealt * self.reach

  def frequencies(self) -> np.ndarray:
    """float64[A]: the frequency of each action over all types by `weight`; nan if never here."""
    total = self.weight.sum()
    return self.probability @ self.weight / total if total > 0 else np.full(len(self.actions), np.nan)

  def find_action(self, text: str) -> int:
    """The index in `actions` of a name, abbreviation or number; ValueError if none fits."""
    return find_one_action(text, self.actions, self.ids, self.history)


@dataclasses.dataclass(frozen=True)
class SpotWorth:
  """The values of the actions at a spot, for each visit; nan where there are none.

  A part of a policy has no value for actions after which the policy is unknown.

  Attributes:
    value: float64[A, H], expected utility (EV) if both players continue by the policy.
    best: float64[A, H], the same if the player continues by a best response.
    equity: float64[H], see `policy.Reach`; None in games without showdowns.
  """

  value: np.ndarray
  best: np.ndarray
  equity: np.ndarray | None


def worth_at(policy: TreePolicy, here: Spot) -> SpotWorth:
  """The values of a spot's actions; the first call for a policy evaluates it everywhere."""
  value, best = np.full((2, len(here.ids), len(here.cells)), np.nan)
  shares = []
  for column, (decision, h) in enumerate(here.cells):
    worth, equity = policy.worths.at(decision), policy.reach(decision).equity
    rows = [here.ids.index(action) for action in decision.legal_actions]
    value[rows, column], best[rows, column] = worth.value[:, h], worth.best[:, h]
    shares.append(None if equity is None else equity[h])
  if here.public_state in policy.left_out:
    states = policy.labels.public_states
    below = [s for s in policy.labels.children[here.public_state] if s in policy.left_out]
    unknown = [k for k, a in enumerate(here.ids) if any(states[s].action in (a, -1) for s in below)]
    value[unknown] = best[unknown] = np.nan
  return SpotWorth(value, best, None if None in shares else np.array(shares, float))


def has_spots(policy: TreePolicy) -> bool:
  """True if the policy's tree has public states, as `spot` requires."""
  return bool(policy.labels.public_states)


def spot(policy: TreePolicy, path: str = "") -> Spot:
  """The strategy at the public state after some public moves.

  Args:
    policy: from `PSCFRSolver.average_policy` or `load_policy`.
    path: moves from the root, separated by blanks or commas: names as the game writes them ("Bet 200"),
      abbreviations of them ("b200", "x" for check, or their `letters`), or OpenSpiel's action numbers.
      Hidden moves, such as a deal, are left out; those of a player may be written, without effect.
      "#12" stands for the public state of that number.

  Raises:
    ValueError: a move of the path is unknown or illegal, no player acts after the last one, or the policy's
      tree has no public states.
  """
  if not has_spots(policy):
    raise ValueError(f"{policy.labels.game} was solved without public states; spots need them.")
  number = find_public_state(policy.game, policy.labels, path)
  return spot_of(policy, number)


def spot_after(policy: TreePolicy, history: str) -> Spot:
  """The strategy at the public state of one history, every move of chance and of the players written.

  Args:
    policy: as for `spot`.
    history: moves from the start of the game, written as for `spot`.

  Raises:
    ValueError: a move is unknown or illegal, or no player acts after the last one.
  """
  state, names = play_moves(policy.game, history)
  player = state.current_player()
  if player == CHANCE:
    raise ValueError(f"Chance moves {_after(names)}; write its move too.")
  if player < 0:
    raise ValueError(f"The game is over {_after(names)}; give an earlier decision.")
  decision, _ = policy.labels.find(player, state.information_state_string(player))
  return spot_of(policy, decision.public_state)


def spot_of(policy: TreePolicy, number: int) -> Spot:
  """The spot of a public state in which a player acts."""
  labels = policy.labels
  state = labels.public_states[number]
  history = line_to(policy.game, labels, number)
  if state.player == CHANCE and not _acting_below(labels, number):
    raise ValueError(f"Only chance acts {_after(history)}, to the end; give an earlier decision.")
  if state.player == CHANCE:
    moves = ", ".join(action_name(policy.game, labels, child) for child in labels.children[number])
    raise ValueError(f"Chance moves {_after(history)}; choose one of {moves}.")
  if state.player < 0:
    raise ValueError(f"The game is over {_after(history)}; give an earlier decision.")
  decisions = [labels.decisions[n] for n in state.decisions]
  cells = [(d, h) for d in decisions for h, name in enumerate(d.infostates) if name is not None]
  names = {a: name for d in decisions for a, name in _actions(policy, d)}
  ids = sorted(names)
  legal, probability = np.zeros((len(ids), len(cells)), bool), np.zeros((len(ids), len(cells)))
  for column, (decision, h) in enumerate(cells):
    rows = [ids.index(action) for action in decision.legal_actions]
    legal[rows, column], probability[rows, column] = True, policy.table(decision)[:, h]
  reach = {d: policy.reach(d) for d in decisions}
  return Spot(
    public_state=number,
    history=history,
    player=state.player,
    actions=tuple(names[a] for a in ids),
    ids=tuple(ids),
    next_player=tuple(_next_player(labels, number, action) for action in ids),
    types=_type_names(labels, cells),
    cells=tuple(cells),
    legal=legal,
    probability=probability,
    dealt=np.array([reach[d].dealt[h] for d, h in cells]),
    reach=np.array([reach[d].own[h] for d, h in cells]),
  )


def chance_moves(policy: TreePolicy, path: str = "") -> dict[str, Spot]:
  """The strategies after each public move of chance, such as a card, by the move's name; {} without moves.

  Args:
    policy: as for `spot`.
    path: see `spot`.
  """
  labels, number = policy.labels, find_public_state(policy.game, policy.labels, path)
  if labels.public_states[number].player != CHANCE:
    return {}
  below = [c for c in labels.children[number] if labels.public_states[c].player >= 0 and labels.count(c)]
  return {action_name(policy.game, labels, child): spot_of(policy, child) for child in below}


def _acting_below(labels: Labels, number: int) -> bool:
  """True if a player acts after the next moves of chance; False after a called all-in."""
  below = labels.children[number]
  players = [labels.public_states[child].player for child in below]
  return any(
    player >= 0 or (player == CHANCE and _acting_below(labels, child))
    for child, player in zip(below, players, strict=True)
  )


def _after(history: tuple[str, ...]) -> str:
  return f"after {', '.join(history)}" if history else "at the start"


def _actions(policy: TreePolicy, decision: Decision) -> list[tuple[int, str]]:
  """The legal actions of a row with their names."""
  names = action_names(policy.game, policy.labels, decision)
  return list(zip(decision.legal_actions, names, strict=True))


def _next_player(labels: Labels, number: int, action: int) -> int:
  """The next player after an action; if that depends on hidden moves, the one if the game continues."""
  states = [labels.public_states[child] for child in labels.children[number]]
  return max((state.player for state in states if state.action in (action, -1)), key=_goes_on)


def _goes_on(player: int) -> int:
  return {TERMINAL: 0, CHANCE: 1}.get(player, 2 + player)


def _type_names(labels: Labels, cells: Sequence[tuple[Decision, int]]) -> tuple[str, ...]:
  """Short names of the player's types: hands, or the differences of the infostates' strings."""
  if walked_source(labels) is None:
    return tuple(labels.types[decision.player][h] for decision, h in cells)
  return distinct([" ".join(str(decision.infostates[h]).split()) for decision, h in cells])


def distinct(names: Sequence[str]) -> tuple[str, ...]:
  """Names without the common words at their beginning and end; whole if there is only one."""
  if len(set(names)) < 2:
    return tuple(names)
  words = [re.findall(r"[A-Za-z]+|[0-9]+|[^A-Za-z0-9]", name) for name in names]
  start = _shared(words)
  ends = _shared([row[start:][::-1] for row in words])
  return tuple("".join(row[start : len(row) - ends]).strip() or "-" for row in words)


def _shared(rows: Sequence[Sequence[str]]) -> int:
  """The number of first words that all rows share."""
  columns = zip(*rows, strict=False)
  return sum(1 for _ in itertools.takewhile(lambda column: len(set(column)) == 1, columns))
