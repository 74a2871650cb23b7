"""Vanilla CFR on histories with the tree kept in memory: the baseline of Kovařík et al. 2021, Table 1.

Every history is an entry of NumPy arrays; an iteration sweeps all of them down (reaches) and up (values), a
depth at a time (their Algorithm 2). Alternating updates, regret matching, uniform averaging: CFR.
"""

import numpy as np

from ps_cfr_spiel.histories import Histories


class VanillaCFR:
  """CFR over the histories of a game.

  Attributes:
    average: for each player [infostates, A], reach-weighted sums of strategies.
  """

  def __init__(self, histories: Histories):
    """Sorts the histories by depth and numbers each player's infostates and actions."""
    self.histories = h = histories
    order = np.argsort(h.depth, kind="stable")
    self.layers = [order[h.depth[order] == d] for d in range(1, int(h.depth.max()) + 1)]
    self.actions = max(len(legal) for legal, n in zip(h.legal_sets, range(len(h.legal_sets)), strict=True))
    self.mask, self.regret, self.average = [], [], []
    for player in (0, 1):
      acts = np.flatnonzero(h.player == player)
      mask = np.zeros((len(h.names[player]), self.actions), bool)
      for n, legal in enumerate(h.legal_sets):
        mask[h.infostate[player][acts[h.legal[acts] == n]], : len(legal)] = True
      self.mask.append(mask)
      self.regret.append(np.zeros(mask.shape))
      self.average.append(np.zeros(mask.shape))

  def strategy(self, player: int) -> np.ndarray:
    """Regret matching, [infostates, A]."""
    weights = np.where(self.mask[player], np.maximum(self.regret[player], 0), 0)
    total = weights.sum(1, keepdims=True)
    uniform = self.mask[player] / np.maximum(self.mask[player].sum(1, keepdims=True), 1)
    return np.where(total > 0, weights / np.where(total > 0, total, 1), uniform)

  def iterate(self) -> None:
    """One iteration for both players."""
    for player in (0, 1):
      self._update(player)

  def _update(self, player: int) -> None:
    h = self.histories
    strategies = [self.strategy(0), self.strategy(1)]
    reach = np.ones((2, len(h.parent)))
    chosen = np.ones(len(h.parent))  # probability of the last action, where a player chose it
    for here in self.layers:
      above = h.parent[here]
      reach[:, here] = reach[:, above]
      for i in (0, 1):
        own = h.player[above] == i
        chosen[here[own]] = strategies[i][h.infostate[i][above[own]], h.rank[here[own]]]
        reach[i, here[own]] *= chosen[here[own]]
    value = h.chance * h.utility * (1 if player == 0 else -1)  # chance-weighted: chance nodes add up
    for here in reversed(self.layers):
      above = h.parent[here]
      value += np.bincount(above, value[here] * chosen[here], len(value))
    moves = np.flatnonzero((h.parent >= 0) & (h.player[h.parent] == player))
    above = h.parent[moves]
    place = h.infostate[player][above] * self.actions + h.rank[moves]
    size = self.regret[player].size
    regret = reach[1 - player, above] * (value[moves] - value[above])
    self.regret[player] += np.bincount(place, regret, size).reshape(self.regret[player].shape)
    # All histories of an infostate have the player's own reach in common (perfect recall).
    own = np.zeros(len(h.names[player]))
    own[h.infostate[player][above]] = reach[player, above]
    self.average[player] += own[:, None] * strategies[player]
