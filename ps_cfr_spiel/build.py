"""From a pyspiel game to a `PublicTree`: the one place where games are looked at.

A game that knows its Bayesian form (Kovařík et al. 2021, Definition 2) says so with a method
`bayesian_form()` returning plain data, and is compiled from it without visiting a history.
"""

from collections.abc import Sequence
from typing import Protocol

import jax
import numpy as np
import pyspiel

from ps_cfr_spiel.leaves import DenseLeaves, ShowdownLeaves, shares_card
from ps_cfr_spiel.tree import (
  Labels,
  LeafEvaluator,
  Level,
  Link,
  PlayerTree,
  PublicState,
  PublicTree,
)

TERMINAL = int(pyspiel.PlayerId.TERMINAL)

LEAVES = {"dense": DenseLeaves, "showdown": ShowdownLeaves}


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


def build_tree(game: pyspiel.Game, leaves: str = "auto") -> PublicTree:
  """Compiles a two-player zero-sum game into a public tree.

  Args:
    game: from `pyspiel.load_game`.
    leaves: how leaves are evaluated: "dense" (chance-weighted utility matrices), "showdown" (by card
      removal), or "auto", the faster of the two on this machine's default device.

  Returns:
    The tree, its arrays still NumPy's, in float64.

  Raises:
    ValueError: the game is not two-player zero-sum, has no Bayesian form, or `leaves` is unknown.
  """
  if game.num_players() != 2 or game.get_type().utility != pyspiel.GameType.Utility.ZERO_SUM:
    raise ValueError(
      f"{game}: public trees are for two-player zero-sum games, this one has {game.num_players()} "
      f"player(s) and utility {game.get_type().utility.name}."
    )
  if not hasattr(game, "bayesian_form"):
    raise ValueError(f"{game}: only games with a method bayesian_form() can be compiled.")
  return build_bayesian(str(game), game.bayesian_form(), leaves)


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
  """The leaf evaluator called `kind`; "auto" chooses (measured: benchmarks/leaves.py)."""
  if kind == "auto":
    small = len(form.types[0]) * len(form.types[1]) <= 150_000
    kind = "dense" if small or jax.default_backend() != "cpu" else "showdown"
  if kind not in LEAVES:
    raise ValueError(
      f"Unknown leaf evaluator {kind!r}; choose one of 'auto', {', '.join(map(repr, LEAVES))}."
    )
  return LEAVES[kind].create(form, stake, constant)


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
  states = []
  for s, parent in enumerate(form.parent):
    block, row = places[s].tolist()
    legal = tuple(int(form.action[child]) for child in children[s])
    states.append(
      PublicState(
        int(parent), int(form.action[s]), int(form.player[s]), block, row, legal, form.infostates[s]
      )
    )
  disjoint = ~shares_card(*form.cards)
  return Labels(
    game=name,
    public_states=tuple(states),
    types=form.types,
    compatible=(tuple(disjoint.argmax(1).tolist()), tuple(disjoint.argmax(0).tolist())),
    histories=1 + len(states) * int(disjoint.sum()),
  )


def make_forest(
  parents: np.ndarray, actions: np.ndarray, leaves: Sequence[np.ndarray], types: int
) -> tuple[PlayerTree, np.ndarray]:
  """Sorts one player's decision rows into levels and blocks.

  Args:
    parents: int[R, 2], for each row the player's last choice before it as (row, action number), or
      (-1, -1) for none; parents before children.
    actions: int[R], number of actions.
    leaves: for each part of the leaves int[L_k, 2], the player's last choice, as in `parents`.
    types: H.

  Returns:
    The forest, and int[R, 2]: (block, row in block) of each row.
  """
  rows = len(actions)
  depth = np.zeros(rows, int)
  for r in range(rows):
    if parents[r, 0] >= 0:
      depth[r] = depth[parents[r, 0]] + 1
  keys, block = np.unique(np.stack([depth, actions]), axis=1, return_inverse=True)
  block = block.reshape(-1)
  sizes = np.bincount(block, minlength=keys.shape[1])
  order = np.argsort(block, kind="stable")
  place = np.empty(rows, int)
  place[order] = np.arange(rows) - np.repeat(np.cumsum(sizes) - sizes, sizes)
  lengths = sizes * keys[1]  # sequences of each block
  first = 1 + np.cumsum(lengths) - lengths  # number of each block's first sequence; the empty one is 0

  def sequences(choice):
    row, action = choice.T
    number = first[block[row]] + action * sizes[block[row]] + place[row] if rows else 0
    return np.where(row < 0, 0, number)

  levels, above, start = [], [1], 0
  for d in range(depth.max(initial=-1) + 1):
    blocks = np.flatnonzero(keys[0] == d)
    members = order[np.isin(block[order], blocks)]
    link = Link.create(sequences(parents[members]) - start, above, sizes[blocks].tolist())
    levels.append(Level(link, tuple(keys[1, blocks].tolist())))
    above, start = lengths[blocks].tolist(), int(first[blocks[0]])
  leaf = Link.create(
    np.concatenate([sequences(part) for part in leaves]),
    [1, *lengths.tolist()],
    [len(part) for part in leaves],
  )
  return PlayerTree(tuple(levels), leaf, types), np.stack([block, place], 1)
