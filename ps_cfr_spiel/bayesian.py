"""From a game's own Bayesian form to a `PublicTree`, without visiting a history.

A game of this kind (Kovařík et al. 2021, Definition 2) has a method `bayesian_form()` that returns plain
data.
"""

from typing import Protocol

import jax
import numpy as np
import pyspiel

from ps_cfr_spiel.forest import make_forest
from ps_cfr_spiel.leaves import DenseLeaves, ShowdownLeaves, shares_card
from ps_cfr_spiel.native import NativeLeaves, obstacle
from ps_cfr_spiel.tree import Deals, Decision, Labels, LeafEvaluator, PublicState, PublicTree

TERMINAL = int(pyspiel.PlayerId.TERMINAL)

LEAVES = {"dense": DenseLeaves, "showdown": ShowdownLeaves, "native": NativeLeaves}


class BayesianForm(Protocol):
  """A game of poker's kind: types are dealt once, then all moves are public.

  Attributes:
    parent: int32[N] parent of each public state, -1 at the root; parents before children.
    action: int32[N] OpenSpiel action that leads here from the parent.
    player: int32[N] who acts, 0 or 1, or `pyspiel.PlayerId.TERMINAL`.
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
  children = _children(form)
  places = np.full((len(form.parent), 2), -1)
  forests = []
  for player in (0, 1):
    states = np.flatnonzero(form.player == player)
    last = _last_sequences(form, player, children)
    forest, places[states] = make_forest(
      last[states],
      np.array([len(children[s]) for s in states], int),
      [last[showdowns], last[folds]],
      len(form.types[player]),
    )
    forests.append(forest)
  evaluator = make_leaves(form, leaves, form.stake[showdowns], form.constant[folds])
  return PublicTree((forests[0], forests[1]), evaluator, _labels(name, form, children, places))


def make_leaves(form: BayesianForm, kind: str, stake: np.ndarray, constant: np.ndarray) -> LeafEvaluator:
  """The leaf evaluator called `kind`; "auto" chooses."""
  if kind == "auto":
    kind = _fastest(form)
  if kind not in LEAVES:
    raise ValueError(
      f"Unknown leaf evaluator {kind!r}; choose one of 'auto', {', '.join(map(repr, LEAVES))}."
    )
  return LEAVES[kind].create(form, stake, constant)


def _fastest(form: BayesianForm) -> str:
  """What "auto" chooses: matrices for few hands, and on anything but a CPU (`benchmarks/leaves.py`)."""
  pairs = len(form.types[0]) * len(form.types[1])
  if jax.default_backend() != "cpu" or pairs <= 400:
    return "dense"
  if not obstacle():
    return "native"
  return "dense" if pairs <= 150_000 else "showdown"


def _children(form: BayesianForm) -> list[list[int]]:
  """The children of each public state, by ascending action."""
  children: list[list[int]] = [[] for _ in form.parent]
  for state, parent in enumerate(form.parent):
    if parent >= 0:
      children[parent].append(state)
  return [sorted(states, key=lambda s: form.action[s]) for states in children]


def _last_sequences(form: BayesianForm, player: int, children: list[list[int]]) -> np.ndarray:
  """int[N, 2]: the player's last choice before each public state, as `make_forest` wants it."""
  number = np.cumsum(form.player == player) - 1
  last = np.full((len(form.parent), 2), -1)
  for state, parent in enumerate(form.parent):
    if parent >= 0:
      own = form.player[parent] == player
      last[state] = (number[parent], children[parent].index(state)) if own else last[parent]
  return last


def _labels(name: str, form: BayesianForm, children: list[list[int]], places: np.ndarray) -> Labels:
  """Names for the host; `places` gives each public state's (block, row)."""
  states, decisions = [], []
  for s, (parent, action, player) in enumerate(zip(form.parent, form.action, form.player, strict=True)):
    own = (len(decisions),) if player >= 0 else ()
    states.append(PublicState(int(parent), int(action), int(player), own))
    if player >= 0:
      legal = tuple(int(form.action[child]) for child in children[s])
      block, row = places[s].tolist()
      decisions.append(Decision(int(player), s, block, row, legal, form.infostates[s]))
  disjoint = ~shares_card(*form.cards)
  return Labels(
    game=name,
    public_states=tuple(states),
    decisions=tuple(decisions),
    types=form.types,
    histories=1 + len(states) * int(disjoint.sum()),
    source=Deals((disjoint.argmax(1), disjoint.argmax(0)), int(disjoint.sum())),
  )
