"""One search, of a listed game, a tree made on demand, or a hand of hold'em alike.

A gadget is put on a subgame, CFR iterates on it under a limit of time, and averages inside the subgame are
the result. Callers differ in their subgames, their promises, and the strategies with which a search begins.
"""

from collections.abc import Callable, Sequence

import jax
import numpy as np
from jaxtyping import Float

from ps_cfr_spiel import cfr
from ps_cfr_spiel.arguments import check_count, check_derived
from ps_cfr_spiel.backend.device import Device, check_finite, precision, run_for, to_device
from ps_cfr_spiel.cfr import Blocks, SolverState, make_rule
from ps_cfr_spiel.options import ROUND, SearchOptions
from ps_cfr_spiel.resolving.search.promises import Table
from ps_cfr_spiel.resolving.search.value_functions import CFRValues, ValueFunction
from ps_cfr_spiel.resolving.subgames import BoundValues, Gadget, GadgetTree, Ranges, Subgame, gadget_of
from ps_cfr_spiel.tree import Array, PublicTree

FIRST = 16  # iterations of a search before the first look at the clock
#: Both players' average strategies in a tree with a gadget, and values [F, H] at its frontier, if it has one.
Result = tuple[Sequence[Blocks], Sequence[Float[Array, "F H"]]]


class SearchSettings(SearchOptions):
  """Options of a search, with the rule, the gadget and the value function that their names stand for.

  ValueError for a value that is not one of the allowed.
  """

  def __post_init__(self):
    super().__post_init__()
    ahead, values = self.lookahead, self.value_function
    if ahead is None and values is not None:
      raise ValueError("A value function is for limited lookahead; give lookahead=1 or more with it.")
    if ahead is not None and values is None:
      values = CFRValues()
    made = {
      "rule": make_rule(self.rule, alternating=self.alternating),
      "gadget": gadget_of(self.gadget),
      "lookahead": ahead if ahead in (None, ROUND) else check_count("lookahead", ahead, 1),
      "value_function": values and check_derived("value_function", values, ValueFunction, "CFRValues()"),
    }
    for name, value in made.items():
      object.__setattr__(self, name, value)

  @property
  def safe(self) -> bool:
    """True if searches keep promises to the opponent."""
    return self.gadget.keeps_promises

  def iterate(self, tree: PublicTree, state: SolverState, iterations: int, delay: int) -> SolverState:
    """A search after further iterations; its average leaves out all until iteration `delay`."""
    method = {"rule": self.rule, "alternating": self.alternating, "tremble": self.tremble}
    return cfr.run(tree, state, iterations, delay, **method)


def solve(
  subgame: Subgame,
  gadget: Gadget,
  player: int,
  ranges: Ranges,
  promises: Float[np.ndarray, "_roots _H"] | None,
  beyond: BoundValues | None,
  dtype: str,
  solver: Callable[[GadgetTree], Result],
  device: Device | None = None,
) -> tuple[list[Table], Sequence[Float[Array, "F H"]]]:
  """Both players' strategies in a subgame that one of them solves again, and the values at its frontier.

  Args:
    subgame, gadget, player, ranges, promises, beyond: see `Gadget`.
    dtype: the numbers of the search.
    solver: solves the tree of the gadget, by `by_cfr` for instance; called within `precision`.
    device: the place of the search; None for the CPU.

  ValueError for arguments that do not fit the subgame, or a gadget that returns something else than a tree;
  FloatingPointError for strategies that are not finite.
  """
  with precision(dtype, device):
    game = gadget(subgame, player, ranges, promises, beyond)
    if not isinstance(game, GadgetTree):
      raise ValueError(f"A gadget must return a GadgetTree; {gadget!r} returned {type(game).__name__}.")
    strategies, values = solver(game)
    average = [game.inside(subgame, i, blocks) for i, blocks in enumerate(strategies)]
  check_finite(f"The search from public states {list(subgame.public_states)}", average, dtype)
  return average, values


def by_cfr(
  subgame: Subgame, game: GadgetTree, dtype: str, run: Callable[[PublicTree], SolverState]
) -> Result:
  """The averages after a run of CFR on the tree of a gadget."""
  tree = to_device(game.tree.grouped(any_index=True), dtype)
  state = run(tree)
  values = [cfr.average_record(p)[0] for p in state.players] if subgame.limited else []
  return cfr.average_strategy(tree, state), values


def iterated(
  state: SolverState,
  step: Callable[[SolverState, int], SolverState],
  iterations: int,
  seconds: float | None,
  first: int = FIRST,
) -> SolverState:
  """A search after all iterations, or those that fit into `seconds`, at least the `first`.

  `step` gives the state after further iterations.
  """

  def take(count: int) -> None:
    nonlocal state
    state = jax.block_until_ready(step(state, count))

  run_for(take, iterations, seconds, first)
  return state
