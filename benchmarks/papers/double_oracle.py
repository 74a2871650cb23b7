"""Double oracle on the sequence form: a small game of some sequences, grown by best responses.

Source: Bošanský, Kiekintveld, Lisý and Pěchouček (2014), which Čermák, Lisý and Bošanský (2020) compare their
algorithms with. This is a reduced form of it: a player may play the sequences that were added so far, and
the first action where none was; a linear program (HiGHS) solves that game, and best responses in the whole
game add what they play. Temporary leaves and the pruning of best responses are left out, so its memory and
time are not those of the original. It is here to be compared with.

Trees are of one type, as in `cfr.fictitious_play`.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ps_cfr_spiel.backend.device import jit, precision, to_device
from ps_cfr_spiel.cfr import Blocks, Response, respond
from ps_cfr_spiel.tree import PlayerTree, PublicTree, evaluate, sequence_numbers, sequence_starts


class Step(NamedTuple):
  """What one round found.

  Attributes:
    nash_conv: what both players would win together by best responses in the whole game.
    value: of the small game, to player 0.
    infostates: number of both players' infostates in which something was added.
    sequences: number of both players' sequences in the small game, the empty ones counted.
    entries: pairs of these sequences at which the game may end.
    strategies: of both players, in the whole game.
  """

  nash_conv: float
  value: float
  infostates: int
  sequences: int
  entries: int
  strategies: tuple[Blocks, Blocks]


class _Side:
  """One player's sequences: S of them, and I infostates in the order of the blocks.

  Attributes:
    parent: int[I], the sequence that leads to each infostate.
    infostate, action: int[S], with what each sequence ends; -1 for the empty one.
    played: bool[S], those of the small game; every prefix of one is one.
  """

  def __init__(self, forest: PlayerTree):
    self.forest = forest
    shapes = forest.block_shapes
    starts = sequence_starts(shapes)
    self.parent = np.zeros(sum(rows for _, rows, _ in shapes), int)
    self.infostate, self.action = np.full(starts[-1], -1), np.full(starts[-1], -1)
    self.played = np.arange(starts[-1]) == 0
    row, block, above = 0, 0, 0  # `above`: the first sequence of the level above
    for level in forest.levels:
      count = sum(level.link.children)
      self.parent[row : row + count] = np.asarray(level.link.index) + above
      for actions, rows in level.shapes:
        numbers = sequence_numbers(shapes, block, np.arange(rows), np.arange(actions)[:, None])
        self.infostate[numbers], self.action[numbers] = (
          np.arange(row, row + rows),
          np.arange(actions)[:, None],
        )
        row, block = row + rows, block + 1
      above = starts[block - len(level.actions)]

  @property
  def open(self) -> np.ndarray:
    """bool[I]: infostates in which the small game has an action."""
    found = np.zeros(len(self.parent), bool)
    found[self.infostate[self.played][1:]] = True
    return found

  def anchors(self) -> np.ndarray:
    """int[S]: the sequence of the small game that leads to each, by first actions from there; -1 for none."""
    found, is_open = np.where(self.played, np.arange(len(self.played)), -1), self.open
    for s in range(1, len(found)):  # prefixes come first
      if not self.played[s] and self.action[s] == 0 and not is_open[self.infostate[s]]:
        found[s] = found[self.parent[self.infostate[s]]]
    return found

  def constraints(self, columns: np.ndarray) -> Any:
    """What makes numbers for the sequences played a plan, sparse [1 + open infostates, sequences played].

    The empty sequence gets 1, and the actions of an infostate together what leads to it; `columns` numbers
    the sequences played.
    """
    from scipy import sparse  # as in `_solve`

    rows = np.cumsum(self.open)  # 0 is the empty sequence's
    own = np.flatnonzero(self.played)[1:]
    open_rows = np.flatnonzero(self.open)
    row = np.concatenate([[0], rows[self.infostate[own]], rows[open_rows]])
    column = np.concatenate([[0], columns[own], columns[self.parent[open_rows]]])
    data = np.concatenate([np.ones(1 + len(own)), -np.ones(len(open_rows))])
    return sparse.csr_matrix((data, (row, column)), (1 + len(open_rows), int(self.played.sum())))

  def strategy(self, plan: np.ndarray) -> list[np.ndarray]:
    """A realisation plan, one number for each sequence played, as [A, rows, 1] for each block."""
    weights = np.zeros(len(self.played))
    weights[self.played] = np.maximum(plan, 0)
    total = np.bincount(self.infostate[1:], weights[1:], len(self.parent))[self.infostate[1:]]
    # Where the plan never comes: the first action that was added, or the first.
    first = self.played | ~np.append(self.open, False)[self.infostate]
    order = np.lexsort((self.action, ~first, self.infostate))[1:]
    lead = np.zeros(len(self.played))
    lead[order[np.diff(self.infostate[order], prepend=-1) > 0]] = 1
    weights[1:] = np.where(total > 1e-12, weights[1:] / np.where(total > 1e-12, total, 1), lead[1:])
    starts = sequence_starts(self.forest.block_shapes)
    return [
      weights[a:b].reshape(shape)
      for a, b, shape in zip(starts[:-1], starts[1:], self.forest.block_shapes, strict=True)
    ]


def double_oracle(tree: PublicTree, target: float = 0.0) -> Iterator[Step]:
  """Rounds until NashConv is at most the target, or best responses add nothing.

  Args:
    tree: of `build_tree(game, leaves="sparse")`, on the host.
    target: NashConv at which to stop.

  Raises:
    RuntimeError: the linear program was not solved.
  """
  sides = _Side(tree.players[0]), _Side(tree.players[1])
  pairs = np.stack([np.asarray(side.forest.leaf.index) for side in sides])
  utility = np.asarray(tree.leaves.utility)[:, 0]  # pyright: ignore[reportAttributeAccessIssue]
  with precision("float64"):
    device = to_device(tree, "float64")
  tolerance = 1e-9 * np.abs(utility).max(initial=0)
  while True:
    value, plans, entries = _solve(sides, pairs, utility)
    strategies = [side.strategy(plan) for side, plan in zip(sides, plans, strict=True)]
    with precision("float64"):
      nash_conv = 2 * float(evaluate(device, to_device(strategies, "float64")).exploitability)
      best = [_respond(device, to_device(strategies[1 - i], "float64"), tolerance, player=i) for i in (0, 1)]
    infostates, sequences = (
      sum(n) for n in zip(*((s.open.sum(), s.played.sum()) for s in sides), strict=True)
    )
    first, second = (tuple(s) for s in strategies)
    yield Step(nash_conv, value, int(infostates), int(sequences), entries, (first, second))
    if nash_conv <= target or not sum(_add(side, found) for side, found in zip(sides, best, strict=True)):
      return


@jit(static_argnames=("player",))
def _respond(tree, opponent, tolerance, *, player) -> Response:
  return respond(tree, player, opponent, tolerance)


def _add(side: _Side, best: Response) -> int:
  """Adds what a best response plays; returns how many sequences are new."""
  flat = [np.asarray(c * a).reshape(-1) for c, a in zip(best.choice, best.acts, strict=True)]
  new = np.concatenate([[False], *(x > 0 for x in flat)]) & ~side.played
  side.played |= new
  return int(new.sum())


def _solve(sides, pairs: np.ndarray, utility: np.ndarray):
  """Value, both realisation plans and number of entries of the small game (Koller et al. 1996).

  max v_root over player 0's plan x and values v of player 1's infostates, where for every sequence of player
  1 what x pays there is worth at least what v says.
  """
  from scipy import optimize, sparse  # a third of a second, which only those pay who ask

  anchor = np.stack([side.anchors()[pair] for side, pair in zip(sides, pairs, strict=True)])
  here = (anchor >= 0).all(0)
  columns = [np.cumsum(side.played) - 1 for side in sides]
  n0, n1 = (int(side.played.sum()) for side in sides)
  rows = columns[0][anchor[0, here]], columns[1][anchor[1, here]]
  payoff = sparse.csr_matrix((utility[here], rows), (n0, n1))
  plan, value = (side.constraints(c) for side, c in zip(sides, columns, strict=True))
  first = np.zeros(plan.shape[0])
  first[0] = 1
  result = optimize.linprog(
    np.concatenate([np.zeros(n0), [-1.0], np.zeros(value.shape[0] - 1)]),
    A_ub=sparse.hstack([-payoff.T, value.T], format="csr"),
    b_ub=np.zeros(n1),
    A_eq=sparse.hstack([plan, sparse.csr_matrix((plan.shape[0], value.shape[0]))], format="csr"),
    b_eq=first,
    bounds=[(0, None)] * n0 + [(None, None)] * value.shape[0],
    method="highs",
  )
  if not result.success:
    raise RuntimeError(f"The linear program of {n0} and {n1} sequences was not solved: {result.message}")
  return -result.fun, (result.x[:n0], -result.ineqlin.marginals), payoff.nnz
