"""The cost of an abstraction: how exploitable a policy is in the whole game, and in which sets."""

import dataclasses

import jax
import numpy as np
import pyspiel

from ps_cfr_spiel.abstraction.maps import Abstraction, alphabetical, bind
from ps_cfr_spiel.arguments import check_count, check_player, is_integer
from ps_cfr_spiel.backend.device import check_dtype, jit, precision, to_device
from ps_cfr_spiel.policy import OpenSpielPolicy, strategies_of, tree_for
from ps_cfr_spiel.reports import report, waiting
from ps_cfr_spiel.tree import (
  PublicTree,
  action_values,
  best_response_values,
  gain_of,
  max_actions,
  sequence_reach,
  sum_actions,
)


@dataclasses.dataclass(frozen=True)
class Loss:
  """A policy's exploitability in the whole game, and where it comes from.

  Attributes:
    abstraction: the abstraction.
    infostates: each player's decision infostates, in the order of `Abstraction.sets`.
    gains: what each player would win by a best response.
    shares: for each player float64[sets], what of the player's gain is won by playing better in the
      infostates of each set; the shares of a player add up to the gain.
    regrets: for each player float64[sets], the sum of the positive immediate counterfactual regrets of its
      members: the gain of an optimal move in one infostate alone if the player came there for certain.
      Their sum bounds the gain (Zinkevich et al. 2007, Theorem 3; Čermák et al. 2020, Eq. 4).
  """

  abstraction: Abstraction
  infostates: tuple[tuple[str, ...], tuple[str, ...]]
  gains: tuple[float, float]
  shares: tuple[np.ndarray, np.ndarray]
  regrets: tuple[np.ndarray, np.ndarray]

  @property
  def nash_conv(self) -> float:
    """The sum of both players' gains."""
    return sum(self.gains)

  @property
  def exploitability(self) -> float:
    """NashConv / 2, as OpenSpiel reports it."""
    return self.nash_conv / 2

  def members(self, player: int, number: int) -> list[str]:
    """The infostates of a set, in alphabetical order; ValueError for an unknown player or set."""
    count = self.abstraction.counts[check_player(player)]
    if not is_integer(number) or not 0 <= number < count:
      raise ValueError(f"Player {player} has the sets 0 to {count - 1}, got {number!r}.")
    return [self.infostates[player][k] for k in np.flatnonzero(self.abstraction.sets[player] == number)]

  def worst(self, count: int = 10) -> list[tuple[int, int, int, float]]:
    """The sets that cost most: (player, set, members, share), the largest share first."""
    check_count("count", count, 1)
    sizes = [np.bincount(sets).tolist() for sets in self.abstraction.sets]
    entries = [(i, n, sizes[i][n], share) for i in (0, 1) for n, share in enumerate(self.shares[i].tolist())]
    return sorted(entries, key=lambda entry: -entry[3])[:count]

  def summary(self) -> str:
    """For people: the loss, and the sets that cost most."""
    lines = {
      "exploitability": f"{self.exploitability:.6g} in the whole game",
      "best responses win": f"{self.gains[0]:.6g} and {self.gains[1]:.6g}",
    }
    for player, number, size, share in self.worst(5):
      first = repr(self.members(player, number)[0])
      whose = f"by {first} alone" if size == 1 else f"by {first} and {size - 1:,} more"
      lines[f"player {player}, set {number}"] = f"{share:.6g}, {whose}"
    return report(lines)


def abstraction_loss(
  game: pyspiel.Game,
  policy: OpenSpielPolicy,
  abstraction: Abstraction,
  dtype: str = "float64",
  **options: object,
) -> Loss:
  """Exploitability of a policy in the whole game, set by set of an abstraction.

  A best response's gain is the sum, over the infostates that it visits, of its own reach times what its
  action is worth there more than the policy's, if the policy is followed afterwards (Kakade and Langford
  2002, Lemma 6.1). So the shares say where to refine.

  Args:
    game: any game that `build_tree` takes.
    policy: any OpenSpiel policy of both players.
    abstraction: of `abstract`, or a solver's `abstraction`.
    dtype: "float32" or "float64".
    **options: of `build_tree`; by default those with which a `TreePolicy` was made.

  Raises:
    ValueError: the policy or the abstraction is not one of this game, or the dtype is unknown.
    TypeError: `policy` is not a policy.
  """
  check_dtype(dtype)
  tree = tree_for(game, policy, None, None, **options)
  parts, strategies = bind(tree, abstraction), strategies_of(tree, policy)
  with precision(dtype), waiting("Evaluating"):
    tables = jax.tree.map(np.asarray, _by_infostate(*to_device((tree, strategies), dtype)))
  gains, shares, regrets = [], [], []
  for i in (0, 1):
    acting = parts[i].sets >= 0
    share, regret = (
      np.bincount(
        parts[i].sets[acting],
        np.concatenate([np.zeros(0), *(x.ravel() for x in table)])[acting],
        parts[i].count,
      )
      for table in tables[i][1:]
    )
    gains.append(float(tables[i][0]))
    shares.append(share)
    regrets.append(regret)
  first, second = (tuple(name for name, _, _ in alphabetical(tree, i)) for i in (0, 1))
  return Loss(
    abstraction, (first, second), (gains[0], gains[1]), (shares[0], shares[1]), (regrets[0], regrets[1])
  )


@jit()
def _by_infostate(tree: PublicTree, strategies):
  """For each player the gain, and for each bucket [1, rows, H] shares of it and positive regrets."""
  reach = [sequence_reach(player_tree, s) for player_tree, s in zip(tree.players, strategies, strict=True)]
  rows = []
  for i in (0, 1):
    player_tree = tree.players[i]
    best, root = best_response_values(tree, i, strategies[1 - i])
    choice = [(q >= max_actions(q)) & ((q >= max_actions(q)).cumsum(0) == 1) for q in best]
    played = [c.astype(q.dtype) for c, q in zip(choice, best, strict=True)]
    values, value, _ = action_values(tree, i, strategies[i], reach)
    visits = sequence_reach(player_tree, played)[1:]
    shares, regrets = [], []
    for q, p, c, r, shape in zip(
      values, strategies[i], played, visits, player_tree.block_shapes, strict=True
    ):
      mean = sum_actions(p * q)
      shares.append(sum_actions(r.reshape(shape)) * (sum_actions(c * q) - mean))
      regrets.append((max_actions(q) - mean).clip(0))
    rows.append((gain_of(root.sum() - value.sum()), player_tree.join(shares), player_tree.join(regrets)))
  return rows
