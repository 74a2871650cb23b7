"""A policy's strategy at one public state of any game, by the names that people use.

A spot is given by the public moves that lead there, by the number in `certificate`, or by a whole history.
The player's possible knowledge there gives the spot's types: hands where they are dealt once, elsewhere
infostates.
"""

import dataclasses
import functools
import itertools
import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyspiel

from ps_cfr_spiel import TreePolicy
from ps_cfr_spiel.cards.notation import Moves, play_moves, read_move
from ps_cfr_spiel.cards.poker import board_of, cards, made_hands
from ps_cfr_spiel.options import RARE

CHANCE = pyspiel.PlayerId.CHANCE


@dataclasses.dataclass(frozen=True)
class Spot:
  """The acting player's strategy at one public state."""

  public_state: int  #: its number
  history: tuple[str, ...]  #: names of the public moves that lead here
  player: int  #: the acting player
  actions: tuple[str, ...]  #: names of the actions that are legal for some type, length A
  ids: tuple[int, ...]  #: their OpenSpiel numbers
  #: what each adds after calling, over the pot after the call, where that is known; else ().
  sizes: tuple[float | None, ...]
  #: the acting player after each action, `pyspiel.PlayerId.TERMINAL` if the game surely ends.
  next_player: tuple[int, ...]
  types: tuple[str, ...]  #: names of the player's types, length H
  #: the place of each type's strategy: (its row in `labels.decisions`, type).
  cells: tuple[tuple[int, int], ...]
  legal: np.ndarray  #: bool[A, H], whether an action is legal for a type
  probability: np.ndarray  #: float64[A, H], the strategy
  #: float64[H], probability that chance deals each type; in games that deal none, that chance and the
  #: opponent play to it.
  dealt: np.ndarray
  reach: np.ndarray  #: float64[H], probability that the player's own choices lead here with each type
  others: np.ndarray  #: float64[H], probability that chance and the opponent play to each type
  held: np.ndarray  #: float64[H], weight of each type in the range as it is written, in hold'em; else 1
  #: what each player has put into the pot on the way, in the game's unit; 0 without a pot.
  spent: tuple[float, ...]
  board: str  #: the cards on it, "Ks7d2c"; "" in games other than hold'em

  @property
  def combos(self) -> np.ndarray:
    """float64[H]: weight of each type in the player's range here."""
    return self.held * self.reach

  @property
  def played(self) -> np.ndarray:
    """float64[H]: probability that the player holds each type and plays to this state, if the others do."""
    return self.dealt * self.reach

  @property
  def weight(self) -> np.ndarray:
    """float64[H]: probability that play comes here with each type; `played` where the others never come."""
    visits = self.reach * self.others
    return visits if visits.any() else self.played

  def frequencies(self) -> np.ndarray:
    """float64[A]: the frequency of each action over all types by `weight`; nan if never here."""
    total = self.weight.sum()
    return self.probability @ self.weight / total if total > 0 else np.full(len(self.actions), np.nan)

  @functools.cached_property
  def classes(self) -> tuple[tuple[str, ...], ...]:
    """For each type the names in `poker.CLASSES` that fit; () in games other than hold'em."""
    return _classes(self.board, self.types) if self.board else ((),) * len(self.types)

  @property
  def rare(self) -> str:
    """The one who hardly ever plays to this state, chance left out: "the player", "the others", or ""."""
    dealt = self.dealt.sum()
    bounds = zip(
      ("the player", "the others"), (self.played.sum(), self.others.sum()), RARE.values(), strict=True
    )
    return next((who for who, reach, bound in bounds if reach < bound * dealt), "")

  def find_action(self, text: str) -> int:
    """The index in `actions` of the one that a text means; ValueError if it means none, or several."""
    return read_move(text, Moves(self.actions, self.ids, self.sizes, self.history))


@functools.lru_cache(maxsize=128)  # a turn has 49 boards, each met at many spots
def _classes(board: str, hands: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
  held = np.array([sorted(cards.parse_cards(hand), reverse=True) for hand in hands]).reshape(-1, 2)
  return tuple(made_hands(cards.parse_cards(board), held))


@dataclasses.dataclass(frozen=True)
class SpotWorth:
  """The values of the actions at a spot, for each visit; nan where there are none.

  A part of a policy has no value for actions after which the policy is unknown.
  """

  value: np.ndarray  #: float64[A, H], expected utility (EV) if both players continue by the policy
  best: np.ndarray  #: float64[A, H], the same if the player continues by a best response
  equity: np.ndarray | None  #: float64[H], see `policy.Reach`; None in games without showdowns
  others: float  #: mean expected utility of the other player, of two, where play comes here; nan if unknown

  def since(self, chips: float) -> "SpotWorth":
    """The same without chips that the player had put in before: with `Spot.spent` a fold is worth 0."""
    return dataclasses.replace(self, value=self.value + chips, best=self.best + chips)

  def mean(self, place: Spot, types: Sequence[int] | None = None) -> tuple[float, float]:
    """EV and equity of some of the player's types together, weighted by the probability of coming here."""
    chosen = slice(None) if types is None else list(types)
    weight = (place.reach * place.others)[chosen]
    played = np.where(place.legal & (place.probability > 0), place.probability * self.value, 0).sum(0)
    equity = np.full(len(place.types), np.nan) if self.equity is None else self.equity
    return weighted_mean(played[chosen], weight), weighted_mean(equity[chosen], weight)

  def of_both(self, place: Spot) -> tuple[tuple[float, float], tuple[float, float]]:
    """EV and equity of the acting player's range, and of the other's.

    EVs count from now, so these must be the values `since` all that the player has put in.
    """
    ev, equity = self.mean(place)
    return (ev, equity), (self.others + place.spent[1 - place.player], 1 - equity)


def weighted_mean(values: npt.ArrayLike, weights: npt.ArrayLike) -> float:
  """The weighted mean of the values that exist; nan without weight."""
  values, weights = np.asarray(values, float), np.asarray(weights, float)
  there = (weights > 0) & np.isfinite(values)
  return float(np.average(values[there], weights=weights[there])) if there.any() else np.nan


def worth_at(policy: TreePolicy, view: Spot) -> SpotWorth:
  """The values of a spot's actions; the first call for a policy evaluates it everywhere."""
  worth, kind = _own_worth(policy, view), policy.game.get_type()
  if len(view.spent) != 2:
    return worth
  if kind.utility == kind.utility.ZERO_SUM:
    return dataclasses.replace(worth, others=-worth.mean(view)[0])
  return dataclasses.replace(worth, others=_to_other(policy, view))


def _to_other(policy: TreePolicy, view: Spot) -> float:
  """The mean utility of the other player where play comes to a spot of a general-sum game of two.

  It is known of their move that leads here, if it is public, or of the decisions of theirs that all moves
  here lead to: in hold'em of every spot but one whose move may end the game. Elsewhere nan.
  """
  states, number, other = policy.labels.public_states, view.public_state, 1 - view.player

  def after(place: int, action: int) -> list[int]:
    return [child for child in policy.labels.children[place] if states[child].action in (action, -1)]

  above, action = states[number].parent, states[number].action
  if above >= 0 and action >= 0 and states[above].player == other and after(above, action) == [number]:
    before = spot_of(policy, above)
    weight = before.reach * before.others * before.probability[before.ids.index(action)]
    return weighted_mean(_own_worth(policy, before).value[before.ids.index(action)], weight)
  means, weights = [], []
  for action, often in zip(view.ids, view.probability @ (view.reach * view.others), strict=True):
    if often > 0:
      below = after(number, action)
      if len(below) != 1 or states[below[0]].player != other:
        return np.nan
      place = spot_of(policy, below[0])
      means.append(_own_worth(policy, place).mean(place)[0])
      weights.append(often)
  return float(np.average(means, weights=weights)) if means else np.nan


def _own_worth(policy: TreePolicy, view: Spot) -> SpotWorth:
  """`worth_at`, without the value to the other player."""
  value, best = np.full((2, len(view.ids), len(view.cells)), np.nan)
  equity, showdowns = np.full(len(view.cells), np.nan), True
  for number, (columns, types) in _by_decision(view.cells).items():
    decision = policy.labels.decisions[number]
    worth, share = policy.worths.at(decision), policy.reach(decision).equity
    place = np.ix_([view.ids.index(action) for action in decision.legal_actions], columns)
    value[place], best[place] = worth.value[:, types], worth.best[:, types]
    showdowns = showdowns and share is not None
    equity[columns] = np.nan if share is None else share[types]
  if view.public_state in policy.left_out:
    states = policy.labels.public_states
    below = [s for s in policy.labels.children[view.public_state] if s in policy.left_out]
    unknown = [k for k, a in enumerate(view.ids) if any(states[s].action in (a, -1) for s in below)]
    value[unknown] = best[unknown] = np.nan
  return SpotWorth(value, best, equity if showdowns else None, np.nan)


def _by_decision(cells: Sequence[tuple[int, int]]) -> dict[int, tuple[list[int], list[int]]]:
  """For each decision of a spot's `cells` their columns there, and their types."""
  places: dict[int, tuple[list[int], list[int]]] = {}
  for column, (number, h) in enumerate(cells):
    columns, types = places.setdefault(number, ([], []))
    columns.append(column)
    types.append(h)
  return places


def is_trembled(policy: TreePolicy) -> bool:
  """True if a policy was solved with trembles, and so is good where play hardly ever comes, too."""
  return bool(policy.info.get("options", {}).get("tremble"))


def has_spots(policy: TreePolicy) -> bool:
  """True if the policy's tree has public states, as `spot` requires."""
  return bool(policy.labels.public_states)


def spot(policy: TreePolicy, path: str = "") -> Spot:
  """The strategy at the public state after some public moves, a line as `tree.Labels` reads it.

  ValueError if a move of the path is unknown or illegal, no player acts after the last one, or the policy's
  tree has no public states.
  """
  return spot_of(policy, policy.labels.find_turn(path))


def spot_after(policy: TreePolicy, history: str) -> Spot:
  """The strategy at the public state of one history, with all moves of chance and players; as for `spot`."""
  state, names = play_moves(policy.game, history)
  player, after = state.current_player(), f"after {', '.join(names)}" if names else "at the start"
  if player == CHANCE:
    raise ValueError(f"Chance moves {after}; write its move too.")
  if player < 0:
    raise ValueError(f"The game is over {after}; give an earlier decision.")
  decision, _ = policy.labels.decision_at(state, player)
  return spot_of(policy, decision.public_state)


def spot_of(policy: TreePolicy, number: int) -> Spot:
  """The spot of a public state in which a player acts."""
  labels = policy.labels
  state, history = labels.public_states[number], labels.line_to(number)
  decisions = {n: labels.decisions[n] for n in state.decisions}
  cells = [(n, h) for n, d in decisions.items() for h, name in enumerate(d.infostates) if name is not None]
  moves = [labels.moves(d) for d in decisions.values()]
  names = {a: name for some in moves for a, name in zip(some.ids, some.names, strict=True)}
  sizes = {a: size for some in moves for a, size in zip(some.ids, some.sizes, strict=False)}
  ids = sorted(names)
  legal, probability = np.zeros((len(ids), len(cells)), bool), np.zeros((len(ids), len(cells)))
  tables = {n: policy.table(d) for n, d in decisions.items()}
  for n, (columns, at) in _by_decision(cells).items():
    place = np.ix_([ids.index(action) for action in decisions[n].legal_actions], columns)
    legal[place], probability[place] = True, tables[n][:, at]
  reach = {n: policy.reach(d) for n, d in decisions.items()}
  source, player = labels.source, state.player
  if source.deals_types:
    types = tuple(labels.types[player][h] for _, h in cells)
  else:
    types = distinct([" ".join(str(decisions[n].infostates[h]).split()) for n, h in cells])
  return Spot(
    public_state=number,
    history=history,
    player=player,
    actions=tuple(names[a] for a in ids),
    ids=tuple(ids),
    sizes=tuple(sizes[a] for a in ids) if sizes else (),
    next_player=tuple(_next_player(policy, number, action) for action in ids),
    types=types,
    cells=tuple(cells),
    legal=legal,
    probability=probability,
    dealt=np.array([reach[n].dealt[h] for n, h in cells]),
    reach=np.array([reach[n].acting[h] for n, h in cells]),
    others=np.array([reach[n].others[h] for n, h in cells]),
    held=np.array([source.range_weight(player, h) for _, h in cells]),
    spent=tuple(source.chips_in_pot(number, i) for i in range(policy.game.num_players())),
    board=board_of(policy.game, history) or "",
  )


def chance_moves(policy: TreePolicy, path: str = "") -> dict[str, Spot]:
  """The strategies after each public move of chance, such as a card, by the move's name; {} without moves."""
  labels, number = policy.labels, policy.labels.find_line(path)
  if labels.public_states[number].player != CHANCE:
    return {}
  below = (c for c in labels.children[number] if labels.public_states[c].player >= 0)
  return {labels.move_to(c): spot_of(policy, c) for c in below if labels.source.count(c)}


def _next_player(policy: TreePolicy, number: int, action: int) -> int:
  """The next player after an action; if that depends on hidden moves, the one if the game continues."""
  states = [policy.labels.public_states[child] for child in policy.labels.children[number]]
  players = {state.player for state in states if state.action in (action, -1)}
  acting = [player for player in players if player >= 0]
  return max(acting, default=int(CHANCE if CHANCE in players else pyspiel.PlayerId.TERMINAL))


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
