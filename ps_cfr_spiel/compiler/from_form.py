"""From a game's own Bayesian form to a `PublicTree`, without visiting a history.

A game of this kind (Kovařík et al. 2021, Definition 2) has a method `bayesian_form()` that returns plain
data.
"""

import dataclasses
from typing import ClassVar, Protocol, TypeAlias

import jax
import numpy as np

from ps_cfr_spiel.compiler.game_laws import scale_fault
from ps_cfr_spiel.device import precision
from ps_cfr_spiel.tree import (
  TERMINAL,
  Decision,
  DenseLeaves,
  Labels,
  NativeLeaves,
  PublicState,
  PublicTree,
  ShowdownLeaves,
  children,
  make_forest,
  obstacle,
  shares_card,
)


@dataclasses.dataclass(frozen=True)
class Deals:
  """Histories of a Bayesian form: both types are dealt, then all actions are public.

  Attributes:
    public_states, types: as in `Labels`.
    compatible: for each player int[H], a type of the opponent that can be dealt with each type.
    pairs: number of deals.
    leaves: the game's leaves, which know the prior over the types.
  """

  remark: ClassVar[str] = " (the deal counted as one event)"
  public_states: tuple[PublicState, ...]
  types: tuple[tuple[str, ...], tuple[str, ...]]
  compatible: tuple[np.ndarray, np.ndarray]
  pairs: int
  leaves: "FormLeaves"

  @property
  def pruned(self) -> bool:
    """See `tree.Source`: only hands that can be dealt are types."""
    return False

  @property
  def largest_utility(self) -> float:
    """Of all ends of the game, in absolute terms."""
    largest = max(np.abs(self.leaves.stake).max(initial=0), np.abs(self.leaves.constant).max(initial=0))
    return float(largest)

  def weight(self, player: int, range_: np.ndarray) -> np.ndarray:
    """Probability that chance deals each type, and the opponent plays to it by their range.

    Args:
      player: 0 or 1.
      range_: [n, H of the opponent].

    Returns:
      [n, H of the player], float64.
    """
    # Leaves worth 1 to player 0 whatever the types: their values are what is asked for, but for the sign.
    ones = dataclasses.replace(self.leaves, stake=np.zeros(0), constant=np.ones(len(range_)))
    with precision("float64"):
      return np.abs(np.asarray(ones(player, [range_[:0], range_])[1]))

  def ahead(self, player: int, range_: np.ndarray) -> np.ndarray:
    """How much likelier each type is to win a showdown than to lose it, weighed as by `weight`.

    Args:
      player: 0 or 1.
      range_: [n, H of the opponent].

    Returns:
      [n, H of the player], float64, between minus and plus `weight`.
    """
    ones = dataclasses.replace(self.leaves, stake=np.ones(len(range_)), constant=np.zeros(0))
    with precision("float64"):
      return np.asarray(ones(player, [range_, range_[:0]])[0])

  def path(self, decision: Decision, type_index: int) -> list[int]:
    """See `Labels`."""
    types = [type_index, int(self.compatible[decision.player][type_index])]
    return (types if decision.player == 0 else types[::-1]) + self._moves(decision.public_state)

  def _moves(self, public_state: int) -> list[int]:
    moves, state = [], self.public_states[public_state]
    while state.parent >= 0:
      moves.append(state.action)
      state = self.public_states[state.parent]
    return moves[::-1]

  def history(self, public_state: int) -> list[int]:
    """See `Labels`."""
    return [0, int(self.compatible[0][0]), *self._moves(public_state)]

  def count(self, public_state: int) -> int:
    """See `Labels`."""
    return self.pairs

  def known(self, public_state: int) -> tuple[list[str], list[str]]:
    """See `Labels`; everything else being public, a type says what its player knows."""
    return list(self.types[0]), list(self.types[1])


FormLeaves: TypeAlias = DenseLeaves | ShowdownLeaves | NativeLeaves
LEAVES: dict[str, type[FormLeaves]] = {
  "dense": DenseLeaves,
  "showdown": ShowdownLeaves,
  "native": NativeLeaves,
}


class BayesianForm(Protocol):
  """A game of poker's kind: types are dealt once, then all moves are public.

  Attributes:
    parent: int32[N] parent of each public state, -1 at the root; parents before children.
    action: int32[N] OpenSpiel action that leads here from the parent.
    player: int32[N] who acts, 0, 1 or `tree.TERMINAL`.
    constant, stake: float64[N] at terminals; the utility to player 0 is
      constant + stake * sign(strength 0 - strength 1).
    types: names of each player's types, lengths H0 and H1. Player 0's is dealt first; a type's index is the
      chance action that deals it.
    weights: float64[H0], float64[H1]; prior(h, g) is proportional to w0[h] w1[g] if h and g share no card.
    cards: int32[H0, 2], int32[H1, 2].
    strength: int32[H0], int32[H1]; larger wins.
    infostates: for each public state the acting player's information state strings by type; () at terminals.
  """

  parent: np.ndarray
  action: np.ndarray
  player: np.ndarray
  constant: np.ndarray
  stake: np.ndarray
  types: tuple[tuple[str, ...], tuple[str, ...]]
  weights: tuple[np.ndarray, np.ndarray]
  cards: tuple[np.ndarray, np.ndarray]
  strength: tuple[np.ndarray, np.ndarray]
  infostates: tuple[tuple[str, ...], ...]


def build_bayesian(name: str, form: BayesianForm, leaves: str = "auto") -> PublicTree:
  """Compiles a Bayesian form; see `build_tree`."""
  terminals = np.flatnonzero(form.player == TERMINAL)
  showdowns = terminals[form.stake[terminals] != 0]
  folds = terminals[form.stake[terminals] == 0]
  if (form.constant[showdowns] != 0).any():
    raise ValueError(f"{name}: a terminal's utility must be a constant or a stake, not both.")
  pairs = len(form.types[0]) * len(form.types[1])  # of which each is dealt about as often
  fault = scale_fault(float(np.abs([form.constant, form.stake]).max(initial=0)) / pairs)
  if fault:
    raise ValueError(f"{name}: {fault}")
  below = children(form.parent.tolist(), form.action.tolist())
  places = np.full((len(form.parent), 2), -1)
  forests = []
  for player in (0, 1):
    states = np.flatnonzero(form.player == player)
    last = _last_sequences(form, player, below)
    forest, places[states] = make_forest(
      last[states],
      np.array([len(below[s]) for s in states], int),
      [last[showdowns], last[folds]],
      len(form.types[player]),
    )
    forests.append(forest)
  evaluator = make_leaves(form, leaves, form.stake[showdowns], form.constant[folds])
  return PublicTree((forests[0], forests[1]), evaluator, _labels(name, form, below, places, evaluator))


def count_histories(form: BayesianForm) -> int:
  """Number of histories of the game, the deal counted as one event."""
  return 1 + len(form.parent) * int((~shares_card(*form.cards)).sum())


def make_leaves(form: BayesianForm, kind: str, stake: np.ndarray, constant: np.ndarray) -> FormLeaves:
  """The leaf evaluator called `kind`; "auto" chooses."""
  if kind == "auto":
    kind = _fastest(form)
  return LEAVES[kind].create(form, stake, constant)


def _fastest(form: BayesianForm) -> str:
  """What "auto" chooses: matrices for few hands, and on anything but a CPU (`benchmarks/leaves.py`)."""
  pairs = len(form.types[0]) * len(form.types[1])
  if jax.default_backend() != "cpu" or pairs <= 400:
    return "dense"
  if not obstacle():
    return "native"
  return "dense" if pairs <= 150_000 else "showdown"


def _last_sequences(form: BayesianForm, player: int, below: list[list[int]]) -> np.ndarray:
  """int[N, 2]: the player's last choice before each public state, as `make_forest` wants it."""
  number = np.cumsum(form.player == player) - 1
  last = np.full((len(form.parent), 2), -1)
  for state, parent in enumerate(form.parent):
    if parent >= 0:
      own = form.player[parent] == player
      last[state] = (number[parent], below[parent].index(state)) if own else last[parent]
  return last


def _labels(
  name: str, form: BayesianForm, below: list[list[int]], places: np.ndarray, leaves: FormLeaves
) -> Labels:
  """Names for the host; `places` gives each public state's (block, row)."""
  states, decisions = [], []
  for s, (parent, action, player) in enumerate(zip(form.parent, form.action, form.player, strict=True)):
    own = (len(decisions),) if player >= 0 else ()
    states.append(PublicState(int(parent), int(action), int(player), own))
    if player >= 0:
      legal = tuple(int(form.action[child]) for child in below[s])
      block, row = places[s].tolist()
      decisions.append(Decision(int(player), s, block, row, legal, form.infostates[s]))
  disjoint = ~shares_card(*form.cards)
  return Labels(
    game=name,
    public_states=tuple(states),
    decisions=tuple(decisions),
    types=form.types,
    histories=count_histories(form),
    source=Deals(
      tuple(states), form.types, (disjoint.argmax(1), disjoint.argmax(0)), int(disjoint.sum()), leaves
    ),
  )
