"""What a policy does at one public state, by the names that people use.

For games with a Bayesian form: types are dealt once, then all actions and cards are public, so that a
sequence of them names a public state.
"""

import dataclasses
import re
from collections.abc import Sequence

import numpy as np

from ps_cfr_spiel.compiler import Deals, walked
from ps_cfr_spiel.policy import TreePolicy, make_state
from ps_cfr_spiel.tree import CHANCE, TERMINAL, Decision, Labels


@dataclasses.dataclass(frozen=True)
class Spot:
  """The acting player's strategy at one public state.

  Attributes:
    history: names of the actions and cards that lead here.
    player: who acts, 0 or 1.
    actions: names of the legal actions, length A.
    ids: their OpenSpiel numbers.
    next_player: who acts after each action, `tree.CHANCE` if a card comes, `tree.TERMINAL` if the game ends.
    types: names of the player's types that can be here, length H.
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
    total = self.weight.sum()
    return self.probability @ self.weight / total if total > 0 else np.full(len(self.actions), np.nan)

  def find_action(self, text: str) -> int:
    """Which of `actions` a name, abbreviation or number means; ValueError if none does."""
    words = text.split()
    choice, used = _find_action(words, self.actions, self.ids, self.history)
    if used < len(words):
      raise ValueError(f"{text!r} is more than one action.")
    return choice


def has_spots(policy: TreePolicy) -> bool:
  """Whether the policy's tree was made from a Bayesian form."""
  return walked(policy.labels) is None


def spot(policy: TreePolicy, path: str = "") -> Spot:
  """The strategy at the public state to which a sequence of actions leads.

  Args:
    policy: from `PSCFRSolver.average_policy` or `load_policy`.
    path: actions and public cards from the root, separated by blanks or commas: names as the game writes them
      ("Bet 200"), abbreviations of them ("b200", "x" for check, or their `letters`), OpenSpiel's action
      numbers, or cards ("2c").

  Raises:
    ValueError: an action of the path is unknown or illegal, or nobody acts after the last one; or the
      game has no Bayesian form.
  """
  index, history = _follow(policy, path)
  if policy.labels.public_states[index].player == CHANCE:
    raise ValueError(
      f"A card comes after {', '.join(history)}; name it, such as {_cards(policy, index)[0][0]}."
    )
  return _spot(policy, index, history)


def card_comes(policy: TreePolicy, path: str) -> bool:
  """Whether a public card comes after a path; raises as `spot` does."""
  index, _ = _follow(policy, path)
  return policy.labels.public_states[index].player == CHANCE


def spots_by_card(policy: TreePolicy, path: str) -> dict[str, Spot]:
  """The strategy after each public card that may come after a path, by the card's name.

  Raises:
    ValueError: as `spot` does; or no card comes there, or nobody acts after it.
  """
  index, history = _follow(policy, path)
  if policy.labels.public_states[index].player != CHANCE:
    raise ValueError(f"No public card comes {_after(history)}.")
  return {name: _spot(policy, child, (*history, name)) for name, child in _cards(policy, index)}


def _after(history: Sequence[str]) -> str:
  return f"after {', '.join(history)}" if history else "at the start"


def _follow(policy: TreePolicy, path: str) -> tuple[int, tuple[str, ...]]:
  """The public state to which a path leads, and the names of its actions; where it ends, more may follow."""
  if not has_spots(policy):
    raise ValueError(f"{policy.labels.game}: only games with a Bayesian form are walked by actions.")
  labels, words = policy.labels, path.replace(",", " ").split()
  index, history = 0, ()
  while words and labels.public_states[index].player != TERMINAL:
    if labels.public_states[index].player == CHANCE:
      card, index = _find_card(words[0], _cards(policy, index), history)
      words, history = words[1:], (*history, card)
      continue
    decision = _decision(labels, index)
    names = action_names(policy, decision)
    choice, used = _find_action(words, names, decision.legal_actions, history)
    words, history = words[used:], (*history, names[choice])
    index = _child(labels, index, decision.legal_actions[choice])
  if labels.public_states[index].player == TERMINAL:
    what = f"{' '.join(words)!r} cannot follow" if words else "nobody has a decision there"
    raise ValueError(f"The game is over after {', '.join(history)}; {what}.")
  return index, history


def _spot(policy: TreePolicy, index: int, history: tuple[str, ...]) -> Spot:
  """The strategy at a public state."""
  labels, state = policy.labels, policy.labels.public_states[index]
  if state.player < 0:
    raise ValueError(f"Nobody acts {_after(history)}: all chips are in the pot, and only cards come.")
  decision = _decision(labels, index)
  children = [_child(labels, index, action) for action in decision.legal_actions]
  # Types that cannot be here, holding a card of the board, are left out.
  here = [h for h, name in enumerate(decision.infostates) if name is not None]
  return Spot(
    history=history,
    player=decision.player,
    actions=action_names(policy, decision),
    ids=decision.legal_actions,
    next_player=tuple(labels.public_states[child].player for child in children),
    types=tuple(labels.types[decision.player][h] for h in here),
    probability=policy.table(decision)[:, here],
    dealt=deal_probabilities(labels, index, decision.player)[here],
    reach=own_reach(policy, index)[here],
  )


def _cards(policy: TreePolicy, index: int) -> list[tuple[str, int]]:
  """The public cards that may come at a public state, by name, and the public states that they lead to."""
  labels = policy.labels
  state = policy.game.new_initial_state()
  for action in labels.history(index):
    state.apply_action(action)
  return [
    (state.action_to_string(CHANCE, labels.public_states[child].action).removeprefix("Deal "), child)
    for child in labels.children[index]
    if labels.count(child)
  ]


def action_names(policy: TreePolicy, decision: Decision) -> tuple[str, ...]:
  """The legal actions of a row, as the game's `action_to_string` writes them."""
  first = next(h for h, name in enumerate(decision.infostates) if name is not None)
  state = make_state(policy.labels, policy.game, decision, first)
  return tuple(state.action_to_string(decision.player, action) for action in decision.legal_actions)


def _decision(labels: Labels, index: int) -> Decision:
  """The row of a public state, which holds all types."""
  return labels.decisions[labels.public_states[index].decisions[0]]


def _child(labels: Labels, index: int, action: int) -> int:
  """The public state after an action."""
  return next(child for child in labels.children[index] if labels.public_states[child].action == action)


def own_reach(policy: TreePolicy, index: int) -> np.ndarray:
  """float64[H]: product of the acting player's own probabilities on the way to a public state."""
  labels = policy.labels
  player = labels.public_states[index].player
  reach = np.ones(len(labels.types[player]))
  while index > 0:
    state = labels.public_states[index]
    if labels.public_states[state.parent].player == player:
      above = _decision(labels, state.parent)
      reach = reach * policy.table(above)[above.legal_actions.index(state.action)]
    index = state.parent
  return reach


def deal_probabilities(labels: Labels, index: int, player: int) -> np.ndarray:
  """float64[H]: probability that chance deals each type to a player, given a public state's cards."""
  assert isinstance(labels.source, Deals)
  return labels.source.prior(index).sum(1 - player)


def _find_card(word: str, cards: Sequence[tuple[str, int]], history: Sequence[str]) -> tuple[str, int]:
  """The card that a word names, whatever its case, and where it leads."""
  for card, child in cards:
    if card.lower() == word.lower():
      return card, child
  known = " ".join(card for card, _ in cards)
  raise ValueError(f"{word!r} is no card that can come {_after(history)}; choose one of {known}.")


def letters(actions: Sequence[str]) -> tuple[str, ...]:
  """A letter for each action: its first one; where several begin alike, the next free ones."""
  reserved = {name[0].lower() for name in actions}
  found: list[str] = []
  for name in actions:
    letter = name[0].lower()
    if letter in found:
      after = "abcdefghijklmnopqrstuvwxyz".partition(letter)
      letter = next((other for other in after[2] + after[0] if other not in reserved | set(found)), "?")
    found.append(letter)
  return tuple(found)


def _find_action(
  words: Sequence[str], names: Sequence[str], ids: Sequence[int], history: Sequence[str]
) -> tuple[int, int]:
  """Reads one action off the front of `words`: (which of `names`, words used)."""
  for used in range(min(len(words), max(len(name.split()) for name in names)), 0, -1):
    text = " ".join(words[:used]).lower()
    found = [k for k, name in enumerate(names) if name.lower() == text]
    if found:
      return found[0], used
  word = words[0].lower() if words else ""
  if word.isdecimal() and int(word) in ids:
    return ids.index(int(word)), 1
  if word in letters(names):
    return letters(names).index(word), 1
  for matches in (_is_abbreviation, _is_amount):
    found = [k for k, name in enumerate(names) if matches(word, name.lower())]
    if len(found) == 1:
      return found[0], 1
    if found:
      raise ValueError(f"{words[0]!r} may mean {' or '.join(names[k] for k in found)}.")
  known = ", ".join(f"{name} ({action})" for name, action in zip(names, ids, strict=True))
  raise ValueError(f"Unknown action {' '.join(words[:1])!r} {_after(history)}; choose one of {known}.")


def _letters_and_numbers(text: str) -> tuple[str, list[str]]:
  return re.sub("[^a-z]", "", text), re.findall("[0-9]+", text)


def _is_abbreviation(word: str, name: str) -> bool:
  """B200 or bet for Bet 200; x for Check, as betting lines are written."""
  (letters, numbers), (full, amount) = _letters_and_numbers(word), _letters_and_numbers(name)
  letters = "check" if letters == "x" else letters
  return bool(letters) and full.startswith(letters) and numbers in ([], amount)


def _is_amount(word: str, name: str) -> bool:
  """19900 or r19900 for All-in 19900."""
  (letters, numbers), (_, amount) = _letters_and_numbers(word), _letters_and_numbers(name)
  return len(letters) < 2 and bool(numbers) and numbers == amount
