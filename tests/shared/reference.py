"""Ground truth for the tests: slow, plain Python over OpenSpiel's own states."""

import numpy as np
import pyspiel
import scipy.optimize
import scipy.sparse


def sequence_form_value(game, forced=()):
  """Value of a two-player zero-sum game to player 0, by linear programming (Koller et al. 1996).

  max over x, v of v_root subject to E x = e, x >= 0, F^T v <= A^T x, with x player 0's realisation plan and v
  a value for each infostate of player 1. Where `forced`, {(player, infostate): probabilities of the legal
  actions}, has an infostate, its player is as good as chance.
  """
  sequences = ({(): 0}, {(): 0})
  parents = ({}, {})  # infostate -> (parent sequence, own sequences)
  payoffs = {}

  def walk(state, chance, last):
    if state.is_terminal():
      key = tuple(last)
      payoffs[key] = payoffs.get(key, 0.0) + chance * state.returns()[0]
    elif state.is_chance_node():
      for action, probability in state.chance_outcomes():
        walk(state.child(action), chance * probability, last)
    else:
      player = state.current_player()
      infostate = state.information_state_string(player)
      if (player, infostate) in forced:
        for action, probability in zip(state.legal_actions(), forced[player, infostate], strict=True):
          walk(state.child(action), chance * probability, last)
        return
      table = sequences[player]
      own = [table.setdefault((infostate, a), len(table)) for a in state.legal_actions()]
      assert parents[player].setdefault(infostate, (last[player], own)) == (last[player], own)
      for action, sequence in zip(state.legal_actions(), own, strict=True):
        walk(state.child(action), chance, [sequence if i == player else last[i] for i in (0, 1)])

  walk(game.new_initial_state(), 1.0, [0, 0])
  n0, n1 = len(sequences[0]), len(sequences[1])
  utility = np.zeros((n0, n1))
  for (s, t), value in payoffs.items():
    utility[s, t] += value
  constraints = []
  for player in (0, 1):
    matrix = np.zeros((1 + len(parents[player]), len(sequences[player])))
    matrix[0, 0] = 1
    for row, (parent, own) in enumerate(parents[player].values(), start=1):
      matrix[row, parent] = -1
      matrix[row, own] = 1
    constraints.append(matrix)
  plan, value = constraints
  objective = np.concatenate([np.zeros(n0), [-1.0], np.zeros(len(value) - 1)])
  result = scipy.optimize.linprog(
    objective,
    A_ub=scipy.sparse.csr_matrix(np.hstack([-utility.T, value.T])),
    b_ub=np.zeros(n1),
    A_eq=scipy.sparse.csr_matrix(np.hstack([plan, np.zeros((len(plan), len(value)))])),
    b_eq=np.eye(len(plan))[0],
    bounds=[(0, None)] * n0 + [(None, None)] * len(value),
    method="highs",
  )
  assert result.success, result.message
  return -result.fun


def policy_table(game, policy):
  """{infostate: {action: probability}} of a Python policy over all decision states."""
  table = {}

  def walk(state):
    if not state.is_terminal():
      if not state.is_chance_node():
        table[state.information_state_string()] = policy.action_probabilities(state)
      for action in state.legal_actions():
        walk(state.child(action))

  walk(game.new_initial_state())
  return table


def random_policy(game, seed):
  """A full-support random `pyspiel.TabularPolicy`."""
  rng = np.random.default_rng(seed)
  table = {}

  def walk(state):
    if not state.is_terminal():
      if not state.is_chance_node():
        actions = state.legal_actions()
        weights = rng.dirichlet(np.ones(len(actions)))
        table.setdefault(state.information_state_string(), list(zip(actions, weights, strict=True)))
      for action in state.legal_actions():
        walk(state.child(action))

  walk(game.new_initial_state())
  return pyspiel.TabularPolicy(table)


def common_knowledge(game):
  """Groups of decision infostates that common knowledge cannot tell apart, by following chains one by one.

  For games whose information state strings have perfect recall for the idle player too.
  """
  histories = []

  def walk(state, depth):
    if not state.is_terminal():
      known = [(depth, i, state.information_state_string(i)) for i in (0, 1)]
      histories.append((known, state.current_player()))
      for action in state.legal_actions():
        walk(state.child(action), depth + 1)

  walk(game.new_initial_state(), 0)
  holders = {}
  for h, (known, _) in enumerate(histories):
    for infostate in known:
      holders.setdefault(infostate, []).append(h)
  groups, seen = set(), set()
  for start in range(len(histories)):
    chain, members = [start], []
    while chain:
      h = chain.pop()
      if h not in seen:
        seen.add(h)
        members.append(h)
        chain += [other for infostate in histories[h][0] for other in holders[infostate]]
    acting = {histories[h][0][p][2] for h in members if (p := histories[h][1]) >= 0}
    if acting:
      groups.add(frozenset(acting))
  return groups
