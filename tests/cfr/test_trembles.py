"""Trembles (`tremble=c`): strategies with a floor under each probability, outside the rule."""

import dataclasses
import functools

import jax
import numpy as np
import pyspiel
import pytest
from random_games import random_game
from scipy.optimize import linprog

from ps_cfr_spiel import PSCFRSolver, batches, cfr, load_solver
from ps_cfr_spiel.backend.device import precision, to_device
from ps_cfr_spiel.backend.native import why_unavailable
from ps_cfr_spiel.resolving.subgames import Subgames, gadget_of
from ps_cfr_spiel.rules import RULES

KUHN, LEDUC = "kuhn_poker", "leduc_poker"
RIVER = "river_subgame(pot=10,stack=20,bets=1 a,ranges=AA KK QJs;QQ AKs T9s)"


def load(name):
  return random_game(int(name)) if name.isdecimal() else pyspiel.load_game(name)


def by_hand(game, iterations, c):
  """CFR+ with floors of c / t on the histories of a game, by recursion: {infostate: average strategy}.

  The regrets of the rule, max(R + x, 0), are against its own strategy, values and the average those of play.
  """
  regrets, sums, counts = {}, {}, {}

  @functools.cache
  def nodes(state):
    return state

  def built(state):
    if state.is_terminal():
      return state.returns()[0]
    if state.is_chance_node():
      return None, [(p, built(state.child(a))) for a, p in state.chance_outcomes()]
    player, actions = state.current_player(), state.legal_actions()
    key = state.information_state_string(player)
    counts[key] = len(actions)
    return (player, key), [built(state.child(a)) for a in actions]

  def own(key):
    total = regrets.get(key, np.zeros(counts[key]))
    return total / total.sum() if total.sum() > 0 else np.full(counts[key], 1 / counts[key])

  def played(key, t):
    e = min(c / t, 0.5 / counts[key])
    return (1 - counts[key] * e) * own(key) + e

  def values(node, mine, others, player, strategies, gains, seen, t):
    """The value to a player; adds up reach-weighted action values and the average's share."""
    if not isinstance(node, tuple):
      return node if player == 0 else -node
    who, below = node
    if who is None:
      return sum(p * values(x, mine, others * p, player, strategies, gains, seen, t) for p, x in below)
    mover, key = who
    p = strategies[key]
    if mover != player:
      return sum(q * values(x, mine, others * q, player, strategies, gains, seen, t) for q, x in zip(p, below))
    after = [values(x, mine * q, others, player, strategies, gains, seen, t) for q, x in zip(p, below)]
    gains[key] = gains.get(key, 0) + others * np.array(after)
    seen[key] = mine * p
    return p @ after

  root = built(game.new_initial_state())
  for t in range(1, iterations + 1):
    for player in (0, 1):
      # Whoever moved in this iteration already plays the strategy of the next one.
      moved = {key: player == 1 and who == 0 for key, who in mover_of(root).items()}
      strategies = {key: played(key, t + moved[key]) for key in counts}
      gains, seen = {}, {}
      values(root, 1.0, 1.0, player, strategies, gains, seen, t)
      for key, share in seen.items():
        sums[key] = sums.get(key, 0) + t * share
      for key, q in gains.items():
        regrets[key] = np.maximum(regrets.get(key, 0) + q - own(key) @ q, 0)
  return {key: x / x.sum() for key, x in sums.items()}


def mover_of(node):
  """{infostate: player} below a node of `by_hand`."""
  if not isinstance(node, tuple):
    return {}
  who, below = node
  found = {} if who is None else {who[1]: who[0]}
  for x in below:
    found |= mover_of(x[1] if who is None else x)
  return found
