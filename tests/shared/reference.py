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


def nash_conv_with_recall(game, policy):
  """NashConv of a policy where players remember all that they saw and did, by plain recursion.

  A player's infostate is the sequence of own actions and of strings seen; strings that do not change count
  once. The policy must have one strategy in each.
  """
  root = game.new_initial_state()
  best = sum(_best_value(player, [(root, 1.0, (_seen(root, player),))], policy) for player in (0, 1))
  return best - sum(_values(root, policy))


def _seen(state, player):
  kind = state.get_game().get_type()
  strings = "information_state" if kind.provides_information_state_string else "observation"
  return getattr(state, f"{strings}_string")(player)


def _best_value(player, waiting, policy):
  """The player's best value from histories: (state, probability of chance and opponent, own past)."""
  value, choices = 0.0, {}
  while waiting:
    state, weight, past = waiting.pop()
    if state.is_terminal():
      value += weight * state.returns()[player]
    elif state.current_player() == player:
      choices.setdefault(past, []).append((state, weight))
    else:
      for action, p in _odds(state, policy):
        child = state.child(action)
        seen = _seen(child, player)
        waiting.append((child, weight * p, past if past[-1] == seen else (*past, seen)))
  for past, states in choices.items():
    answers = [_odds(state, policy) for state, _ in states]
    assert all(answer == answers[0] for answer in answers)
    options = []
    for action in states[0][0].legal_actions():
      after = [(state.child(action), weight) for state, weight in states]
      options.append([(child, weight, (*past, action, _seen(child, player))) for child, weight in after])
    value += max(_best_value(player, option, policy) for option in options)
  return value


def _odds(state, policy):
  """The moves of a state and their probabilities, where these are positive."""
  chance = state.is_chance_node()
  odds = dict(state.chance_outcomes()) if chance else policy.action_probabilities(state)
  return [(action, p) for action, p in odds.items() if p > 0]


def _values(state, policy):
  """Both players' expected returns."""
  if state.is_terminal():
    return np.array(state.returns())
  return sum(p * _values(state.child(action), policy) for action, p in _odds(state, policy))
