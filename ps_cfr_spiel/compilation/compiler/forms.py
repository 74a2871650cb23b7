"""The numbering of the public states of a game that describes itself."""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np

from ps_cfr_spiel.cards.poker import BayesianForm, Betting
from ps_cfr_spiel.compilation.compiler.dealt_boards import DealtBoards

EXACT = 12_000_000  # actions of infostates with strategies and values in float64; those of more in float32


@dataclasses.dataclass(frozen=True, eq=False)
class LineIndex:
  """The numbering of public states: line by line, and for each line board by board.

  A board is a runout of public cards; without public cards there is one street with one, empty, runout, and
  lines are public states. Lines come after their parents, and therefore so do public states.
  """

  betting: Betting
  boards: tuple[int, ...]  #: runouts of each street
  sizes: np.ndarray = dataclasses.field(init=False, repr=False)  #: int[N]: public states of each line
  #: int[N + 1]: the first public state of each line, and the number of public states.
  starts: np.ndarray = dataclasses.field(init=False, repr=False)

  def __post_init__(self):
    sizes = np.array(self.boards)[self.betting.street]
    vars(self).update(sizes=sizes, starts=np.append(0, np.cumsum(sizes)))

  def place(self, public_state: int) -> tuple[int, int]:
    """The line of a public state, and the number of its runout."""
    line = int(np.searchsorted(self.starts, public_state, side="right")) - 1
    return line, public_state - int(self.starts[line])

  def places(self, lines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lines, int[n], each repeated for each of its runouts, and the numbers of these runouts."""
    sizes = self.sizes[lines]
    first = np.cumsum(sizes) - sizes
    return np.repeat(lines, sizes), np.arange(sizes.sum()) - np.repeat(first, sizes)

  def board_by_board(self, lines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same for lines of one street, first all of them with the first runout, then with the next."""
    boards = int(self.sizes[lines[:1]].sum())
    return np.tile(lines, boards), np.repeat(np.arange(boards), len(lines))

  def above(self, runout: np.ndarray, street: np.ndarray, above: np.ndarray) -> np.ndarray:
    """The runouts that these continue on the streets `above`; all int[n]."""
    boards = np.array(self.boards)
    return runout // np.maximum(boards[street] // boards[above], 1)

  def last_choices(self, player: int) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """The player's last choice before lines with some runouts, both int[n]: int[n, 2] for `make_forest`.

    Rows are numbered like public states, by the lines in which the player acts.
    """
    last, street = self.betting.last_choices(player), self.betting.street
    acting = np.flatnonzero(self.betting.player == player)
    start = np.append(0, np.cumsum(self.sizes[acting]))

    def choices(line: np.ndarray, runout: np.ndarray) -> np.ndarray:
      k, action = last[line].T
      before = np.append(acting, 0)[k]  # any line for those without a choice
      row = start[k] + self.above(runout, street[line], street[before])
      return np.where(k[:, None] < 0, -1, np.stack([row, action], 1))

    return choices

  @functools.cached_property
  def parents(self) -> np.ndarray:
    """int[P]: the parent of each public state; -1 for the root."""
    line, runout = self.places(np.arange(len(self.betting)))
    up, street = self.betting.parent[line], self.betting.street
    return np.where(up >= 0, self.starts[up] + self.above(runout, street[line], street[up]), -1)


@dataclasses.dataclass(frozen=True, eq=False)
class PublicStateIndex(LineIndex):
  """The public states of a form, and the types that are possible there."""

  form: BayesianForm
  dealt: DealtBoards  #: the form's types on its boards

  @classmethod
  def of(cls, form: BayesianForm) -> "PublicStateIndex":
    """The public states of a form."""
    return cls(form.betting, tuple(map(len, form.runouts)), form, DealtBoards.of(form))

  @property
  def histories(self) -> int:
    """The number of histories of the game, the deal counted as one event."""
    of_street = np.bincount(self.betting.street, minlength=len(self.boards)).tolist()
    after_deal = sum(n * self.dealt.orders(street) for street, n in enumerate(of_street))
    return 1 + int(self.dealt.disjoint.sum()) * after_deal
