"""What a policy does at one public state, by name; hold'em hands as the 13 x 13 chart of poker players."""

import dataclasses
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyspiel

from ps_cfr_spiel import policy as policies
from ps_cfr_spiel.leaves import shares_card
from ps_cfr_spiel.policy import TreePolicy
from ps_cfr_spiel.tree import Labels

RANKS = "AKQJT98765432"
NEVER = 1e-3  # hands that come here this many times rarer than the most frequent ones are left out of a chart


@dataclasses.dataclass(frozen=True)
class Spot:
  """The acting player's strategy at one public state.

  Attributes:
    history: names of the actions that lead here.
    player: who acts, 0 or 1.
    actions: names of the legal actions, length A.
    ids: their OpenSpiel numbers.
    next_player: who acts after each action, `pyspiel.PlayerId.TERMINAL` if the game ends.
    types: names of the player's types, length H.
    probability: float64[A, H], the strategy.
    dealt: float64[H], probability that chance deals each type; sums to one.
    reach: float64[H], probability that the player's own choices lead here with each type.
  """

  history: tuple[str, ...]
  player: int
  actions: tuple[str, ...]
  ids: tuple[int, ...]
  next_player: tuple[int, ...]
  types: tuple[str, ...]
  probability: np.ndarray
  dealt: np.ndarray
  reach: np.ndarray

  @property
  def weight(self) -> np.ndarray:
    """float64[H]: probability that the player holds each type and plays to this state."""
    return self.dealt * self.reach

  def frequencies(self) -> np.ndarray:
    """float64[A]: how often each action is played, over all types by `weight`; nan if never here."""
    return _mean(self.probability, self.weight)

  def find_action(self, text: str) -> int:
    """Which of `actions` (0..A-1) a name, abbreviation or number means; ValueError if none does."""
    return _find_action(text.split(), self.actions, self.ids, self.history)[0]

  def find_types(self, text: str) -> list[int]:
    """Which types a name means: AhKd in either order, or all of a kind of hands such as AKs, AKo, AK or TT.

    Raises:
      ValueError: the player has no such type.
    """
    if text in self.types:
      return [self.types.index(text)]
    wanted = text.upper()
    found = []
    for h, name in enumerate(self.types):
      pair = {name.upper(), (name[2:] + name[:2]).upper()}
      kind = cell_name(*cell(name)).upper() if is_hand(name) else ""
      if is_hand(name) and wanted in pair | {kind, kind[:2], _swapped(kind)}:
        found.append(h)
    if not found:
      kinds = "a hand such as AhKd or a kind such as AKs" if is_hand(self.types[0]) else f"one of {self.types}"
      raise ValueError(f"Player {self.player} never holds {text!r} in this game; name {kinds}.")
    return found


def _swapped(kind: str) -> str:
  """KAs for AKs."""
  return kind[1::-1] + kind[2:]


def _mean(probability: np.ndarray, weight: np.ndarray) -> np.ndarray:
  """Mean of [A, H] over types by weight [H], as [A]; nan where all weights are zero."""
  total = weight.sum()
  return probability @ weight / total if total > 0 else np.full(len(probability), np.nan)


def spot(policy: TreePolicy, path: str = "") -> Spot:
  """The strategy at the public state to which a sequence of actions leads.

  Args:
    policy: from `PSCFRSolver.average_policy` or `load_policy`.
    path: actions from the root, separated by blanks or commas: names as the game writes them ("Bet 200"),
      abbreviations of names ("b200", "x" for check), or OpenSpiel's action numbers.

  Raises:
    ValueError: an action of the path is unknown or illegal, or nobody acts after the last one.
  """
  labels = policy.labels
  words = re.split(r"[\s,]+", path.strip(" ,"))
  words = [word for word in words if word]
  index, history = 0, ()
  while words:
    if labels.public_states[index].player < 0:
      raise ValueError(f"The game is over after {', '.join(history)}; {' '.join(words)!r} cannot follow.")
    names, ids = action_names(policy, index), labels.public_states[index].legal_actions
    choice, used = _find_action(words, names, ids, history)
    words = words[used:]
    history += (names[choice],)
    index = _child(labels, index, ids[choice])
  if labels.public_states[index].player < 0:
    raise ValueError(f"The game is over after {', '.join(history)}; nobody has a decision there.")
  return _spot(policy, index, history)


def _spot(policy: TreePolicy, index: int, history: tuple[str, ...]) -> Spot:
  labels = policy.labels
  state = labels.public_states[index]
  children = [_child(labels, index, action) for action in state.legal_actions]
  return Spot(
    history=history,
    player=state.player,
    actions=action_names(policy, index),
    ids=state.legal_actions,
    next_player=tuple(labels.public_states[child].player for child in children),
    types=labels.types[state.player],
    probability=policy.strategies[state.player][state.block][state.row],
    dealt=deal_probabilities(policy.game, state.player),
    reach=own_reach(policy, index),
  )


def action_names(policy: TreePolicy, index: int) -> tuple[str, ...]:
  """The legal actions at a public state, as the game's `action_to_string` writes them."""
  public = policy.labels.public_states[index]
  state = policies._make_state(policy.labels, policy.game, public, 0)
  return tuple(state.action_to_string(public.player, action) for action in public.legal_actions)


def _child(labels: Labels, index: int, action: int) -> int:
  states = labels.public_states
  return next(k for k, s in enumerate(states) if s.parent == index and s.action == action)


def own_reach(policy: TreePolicy, index: int) -> np.ndarray:
  """float64[H]: product of the acting player's own probabilities on the way to a public state."""
  states = policy.labels.public_states
  player = states[index].player
  reach = np.ones(len(policy.labels.types[player]))
  while states[index].parent >= 0:
    action, index = states[index].action, states[index].parent
    above = states[index]
    if above.player == player:
      reach = reach * policy.strategies[player][above.block][above.row, above.legal_actions.index(action)]
  return reach


def deal_probabilities(game: pyspiel.Game, player: int) -> np.ndarray:
  """float64[H]: probability that chance deals each type to a player, whatever the opponent gets."""
  form = game.bayesian_form()  # pyright: ignore[reportAttributeAccessIssue]
  prior = form.weights[0][:, None] * form.weights[1][None, :] * ~shares_card(*form.cards)
  return prior.sum(1 - player) / prior.sum()


def pot(game: pyspiel.Game) -> float | None:
  """Chips in the pot at the start; None if the game is not about a pot."""
  return float(game.get_parameters()["pot"]) if game.get_type().short_name == "river_subgame" else None


def board(game: pyspiel.Game) -> str | None:
  """Cards on the board; None if the game has none."""
  return game.get_parameters()["board"] if game.get_type().short_name == "river_subgame" else None


# --- Names of actions ---------------------------------------------------------------------------


def _find_action(
  words: Sequence[str], names: Sequence[str], ids: Sequence[int], history: Sequence[str]
) -> tuple[int, int]:
  """Reads one action off the front of `words`: (which of `names`, words used)."""
  for used in range(min(len(words), max(len(name.split()) for name in names)), 0, -1):
    text = " ".join(words[:used])
    found = [k for k, name in enumerate(names) if name.lower() == text.lower()]
    if found:
      return found[0], used
  word = words[0].lower()
  if word.isdigit() and int(word) in ids:
    return ids.index(int(word)), 1
  for matches in (_is_abbreviation, _is_amount):
    found = [k for k, name in enumerate(names) if matches(word, name.lower())]
    if len(found) == 1:
      return found[0], 1
    if found:
      raise ValueError(f"{words[0]!r} may mean {' or '.join(names[k] for k in found)}.")
  known = ", ".join(f"{name} ({action})" for name, action in zip(names, ids, strict=True))
  where = f"after {', '.join(history)}" if history else "at the start"
  raise ValueError(f"Unknown action {words[0]!r} {where}; choose one of {known}.")


def _letters_and_numbers(text: str) -> tuple[str, list[str]]:
  return re.sub("[^a-z]", "", text), re.findall("[0-9]+", text)


def _is_abbreviation(word: str, name: str) -> bool:
  """B200 or bet for Bet 200; x for Check, as betting lines are written."""
  (letters, numbers), (full, amount) = _letters_and_numbers(word), _letters_and_numbers(name)
  if letters == "x":
    letters = "check"
  return bool(letters) and full.startswith(letters) and numbers in ([], amount)


def _is_amount(word: str, name: str) -> bool:
  """19900 or r19900 for All-in 19900."""
  (letters, numbers), (_, amount) = _letters_and_numbers(word), _letters_and_numbers(name)
  return len(letters) < 2 and bool(numbers) and numbers == amount


# --- Hand charts --------------------------------------------------------------------------------


class HandChart(NamedTuple):
  """Hold'em hands by kind: suited above the diagonal, pairs on it, offsuit below; ranks from A to 2.

  Attributes:
    frequency: float64[A, 13, 13], how often each action is played, over the cell's hands by their
      probability of being dealt and of being played to here; nan where the player never has such a hand.
    combos: int[13, 13], how many hands of each kind the player may be dealt.
    presence: float64[13, 13], how often a hand of the cell is here, per hand, relative to the cell
      where that is most often.
  """

  frequency: np.ndarray
  combos: np.ndarray
  presence: np.ndarray

  @property
  def shown(self) -> np.ndarray:
    """bool[13, 13]: the cells whose hands come here often enough for their strategy to mean something."""
    return self.presence > NEVER


def is_hand(name: str) -> bool:
  """Whether a type's name is a hold'em hand such as AhKd."""
  return re.fullmatch(f"(?:[{RANKS}][cdhs]){{2}}", name) is not None


def cell(hand: str) -> tuple[int, int]:
  """Row and column of a hand such as AhKd."""
  first, second = sorted((RANKS.index(hand[0]), RANKS.index(hand[2])))
  return (first, second) if hand[1] == hand[3] else (second, first)


def cell_name(row: int, column: int) -> str:
  """What poker players call a cell: AKs, AKo, AA."""
  high, low = RANKS[min(row, column)], RANKS[max(row, column)]
  return high + low + ("" if row == column else "s" if row < column else "o")


def hand_chart(spot: Spot) -> HandChart:
  """The strategy at a spot as a chart; ValueError if the player's types are not hold'em hands."""
  wrong = [name for name in spot.types if not is_hand(name)]
  if wrong:
    raise ValueError(f"A hand chart needs hold'em hands such as AhKd, this game's types are like {wrong[0]!r}.")
  cells = tuple(np.array([cell(name) for name in spot.types]).T)
  combos, weight = np.zeros((13, 13), int), np.zeros((13, 13))
  played = np.zeros((len(spot.actions), 13, 13))
  np.add.at(combos, cells, 1)
  np.add.at(weight, cells, spot.weight)
  np.add.at(played, (slice(None), *cells), spot.probability * spot.weight)
  frequency = np.divide(played, weight, out=np.full_like(played, np.nan), where=weight > 0)
  mean = weight / np.maximum(combos, 1)
  return HandChart(frequency, combos, mean / (mean.max() or 1.0))


# --- Text ---------------------------------------------------------------------------------------


def letters(actions: Sequence[str]) -> tuple[str, ...]:
  """A letter for each action: its first; of several that begin alike, the later ones take free letters after it."""
  taken, found = {name[0].lower() for name in actions}, {}
  for name in actions:
    letter = name[0].lower()
    if letter in found.values():
      after = [chr(c) for c in [*range(ord(letter), ord("z") + 1), *range(ord("a"), ord(letter))]]
      letter = next((c for c in after if c not in taken), "?")
    taken.add(letter)
    found[name] = letter
  return tuple(found[name] for name in actions)


def chart_text(spot: Spot, action: int | None = None) -> str:
  """A hand chart in letters, 13 lines of ranks.

  Args:
    spot: where.
    action: one of the actions, to show how often it is played, in percent; by default each cell
      names the action played most, and how often.
  """
  chart = hand_chart(spot)
  codes = letters(spot.actions)
  lines = ["    " + "".join(f"{rank:>3}  " for rank in RANKS).rstrip()]
  for row in range(13):
    texts = [_cell_text(chart, codes, action, row, column) for column in range(13)]
    lines.append(f"{RANKS[row]:>2}  " + " ".join(texts).rstrip())
  return "\n".join(lines)


def _cell_text(chart: HandChart, codes: Sequence[str], action: int | None, row: int, column: int) -> str:
  """Four characters: blank for hands that cannot be dealt, a dot for those that do not come here."""
  if not chart.combos[row, column]:
    return "    "
  if not chart.shown[row, column]:
    return "  . "
  frequency = chart.frequency[:, row, column]
  best = int(frequency.argmax()) if action is None else action
  return f"{codes[best] if action is None else ' '}{100 * frequency[best]:3.0f}"


def actions_text(spot: Spot) -> str:
  """How often each action is played over all types, a line each, with its letter in the chart."""
  ends = {0: "player 0 acts", 1: "player 1 acts"}
  rows = [
    f"  {code}  {name:16}{_percent(frequency)}   then {ends.get(following, 'the game ends')}"
    for code, name, frequency, following in zip(
      letters(spot.actions), spot.actions, spot.frequencies(), spot.next_player, strict=True
    )
  ]
  return "\n".join(rows)


def types_text(spot: Spot, types: Sequence[int]) -> str:
  """A table of types: probability of every action in percent, and how often the type comes here."""
  width = max(len(spot.types[h]) for h in types)
  head = f"{'':{width}}  " + "".join(f"{name:>16}" for name in spot.actions) + f"{'comes here':>16}"
  rows = [
    f"{spot.types[h]:{width}}  "
    + "".join(f"{_percent(p):>16}" for p in spot.probability[:, h])
    + f"{_percent(spot.reach[h]):>16}"
    for h in types
  ]
  return "\n".join([head.rstrip(), *rows])


def _percent(share: float) -> str:
  return f"{100 * share:7.2f}%" if np.isfinite(share) else "  never"
