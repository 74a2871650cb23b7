"""Ground truth for subgames and re-solving: plain Python over OpenSpiel's own states, and linear programs.

A strategy profile is a dict {(player, infostate): {action: probability}} here. What a player knows at a
history, acting or not, is the time, the own choices so far and the information state string.
"""

import collections
import itertools

import numpy as np
import pyspiel
import scipy.optimize


class Game:
  """All histories of a game, parents before children, as lists; and what they are worth.

  Attributes:
    path, parent, acting, chance, utility: of each history; chance is the product on the way.
    children: {action: history}.
    known: for each history what each player knows.
    info: the acting player's information state string.
  """

  def __init__(self, game):
    self.path, self.parent, self.acting, self.chance, self.utility = [], [], [], [], []
    self.children, self.known, self.info = [], [], []

    def walk(state, path, parent, chance, pasts):
      here = len(self.path)
      acting = state.current_player()
      strings = [state.information_state_string(i) for i in (0, 1)]
      self.path.append(tuple(path))
      self.parent.append(parent)
      self.acting.append(acting)
      self.chance.append(chance)
      self.utility.append(state.returns()[0] if state.is_terminal() else 0.0)
      self.known.append(tuple((len(path), pasts[i], strings[i]) for i in (0, 1)))
      self.info.append(strings[acting] if acting >= 0 else None)
      self.children.append({})
      outcomes = dict(state.chance_outcomes()) if acting == pyspiel.PlayerId.CHANCE else {}
      for action in state.legal_actions():
        after = list(pasts)
        if acting >= 0:
          after[acting] += ((strings[acting], action),)
        q = outcomes.get(action, 1.0)
        self.children[here][action] = walk(state.child(action), [*path, action], here, chance * q, after)
      return here

    walk(game.new_initial_state(), [], -1, 1.0, [(), ()])
    for i in (0, 1):
      self._join(i)
    self.index = {path: h for h, path in enumerate(self.path)}
    self.size = len(self.path)

  def _join(self, player):
    """Makes infostates a tree: an idle player's strings may tell apart what later ones do not."""
    leader = {}

    def find(known):
      while known in leader:
        known = leader[known]
      return known

    for h in sorted(range(1, len(self.path)), key=lambda h: -len(self.path[h])):
      if self.children[h]:
        known, above = find(self.known[h][player]), find(self.known[self.parent[h]][player])
        first = find(leader.setdefault(("above", known), above))
        if first != above:
          leader[above] = first
    for h in range(len(self.path)):
      pair = list(self.known[h])
      pair[player] = find(pair[player])
      self.known[h] = tuple(pair)

  def random(self, seed, kept=None):
    """Random profile; with `kept`, other actions have no probability."""
    rng, profile = np.random.default_rng(seed), {}
    for h in range(self.size):
      if self.acting[h] >= 0 and (key := (self.acting[h], self.info[h])) not in profile:
        actions = [a for a in self.children[h] if kept is None or a in kept]
        drawn = dict(zip(actions, rng.dirichlet(np.ones(len(actions))), strict=True))
        profile[key] = {a: drawn.get(a, 0.0) for a in self.children[h]}
    return profile

  def reach(self, profile):
    """For each history both players' own reach."""
    reach = [(1.0, 1.0)] * self.size
    for h in range(self.size):
      for action, child in self.children[h].items():
        own = list(reach[h])
        if self.acting[h] >= 0:
          own[self.acting[h]] *= profile[self.acting[h], self.info[h]][action]
        reach[child] = tuple(own)
    return reach

  def worth(self, profile):
    """What each history is worth to player 0."""
    value = list(self.utility)
    for h in reversed(range(self.size)):
      value[h] += sum(self._weights(h, profile)[a] * value[child] for a, child in self.children[h].items())
    return value

  def _weights(self, h, profile):
    if self.acting[h] >= 0:
      return profile[self.acting[h], self.info[h]]
    return {a: self.chance[c] / self.chance[h] for a, c in self.children[h].items()}

  def values(self, profile, above=None):
    """{what is known: counterfactual value} of each player; reaches are those of `above`, if given."""
    reach, worth = self.reach(profile if above is None else above), self.worth(profile)
    values = (collections.defaultdict(float), collections.defaultdict(float))
    for h in range(self.size):
      for i in (0, 1):
        sign = 1 - 2 * i
        values[i][self.known[h][i]] += self.chance[h] * reach[h][1 - i] * sign * worth[h]
    return values

  def responses(self, profile, player, kept=None):
    """{what the player knows: counterfactual best response value}, by actions in `kept` (all by default)."""
    sign, reach, value = 1 - 2 * player, self.reach(profile), [0.0] * self.size
    weight = [self.chance[h] * reach[h][1 - player] for h in range(self.size)]
    by_time = collections.defaultdict(list)
    for h in range(self.size):
      by_time[len(self.path[h])].append(h)
    found = collections.defaultdict(float)
    for time in sorted(by_time, reverse=True):
      sets = collections.defaultdict(list)
      for h in by_time[time]:
        if self.acting[h] == player:
          sets[self.info[h]].append(h)
        elif self.children[h]:
          value[h] = sum(self._weights(h, profile)[a] * value[c] for a, c in self.children[h].items())
        else:
          value[h] = sign * self.utility[h]
      for members in sets.values():
        actions = [a for a in self.children[members[0]] if kept is None or a in kept]
        best = max(actions, key=lambda a: sum(weight[h] * value[self.children[h][a]] for h in members))
        for h in members:
          value[h] = value[self.children[h][best]]
      for h in by_time[time]:
        found[self.known[h][player]] += weight[h] * value[h]
    return found

  def exploitability(self, profile):
    """NashConv / 2."""
    return sum(self.responses(profile, i)[self.known[0][i]] for i in (0, 1)) / 2


def resolving_programs(game, roots, player, profile, promises, trembles=({}, {}), free=None, known=None):
  """The linear programs of safe re-solving (Schmid 2021, 20.1 and 20.2), in sequence form.

  Args:
    game: a `Game`.
    roots: the histories of a public state.
    player: who solves again, coming there by `profile`.
    profile: strategies.
    promises: {what the opponent knows at the roots: promised counterfactual value}.
    trembles: for each of the two programs {what the opponent knows at the roots: e}, for refined gadgets,
      which add the sum of e v to -m and to the sum.
    free: the infostates that the player solves again, going on as before in others; all by default.
    known: {history: what the opponent knows there}; by default of `roots` what the game says.

  Returns:
    The largest m such that some strategy of the subgame has v_s + m w_s <= promise_s for the opponent's best
    response values v and the weights w of the infostates s by chance and the player's range; and the least
    sum of max(v_s, promise_s), which is the promises' own sum if and only if they can be kept.
  """
  opponent, reach = 1 - player, game.reach(profile)
  plan, plan_rows = {(): 0}, {}  # the player's sequences, and (parent, own sequences) of each infostate
  owner = {}  # the opponent's (infostate, action) -> number of that infostate's value
  numbers = {}  # of the values: what is known at the roots, then infostates
  weights = collections.defaultdict(float)
  terms = collections.defaultdict(lambda: collections.defaultdict(float))  # by the opponent's sequence
  below = {}  # the opponent's infostate -> sequence before it

  def walk(h, weight, mine, theirs):
    children = game.children[h]
    if not children:
      terms[theirs][mine] += weight * game.utility[h] * (1 - 2 * opponent)
    elif game.acting[h] == player and free is not None and game.info[h] not in free:
      assert not mine  # below a free infostate all are free
      for a, child in children.items():
        walk(child, weight * profile[player, game.info[h]][a], mine, theirs)
    elif game.acting[h] == player:
      own = [plan.setdefault((game.info[h], a), len(plan)) for a in children]
      assert plan_rows.setdefault(game.info[h], (mine, own)) == (mine, own)
      for sequence, child in zip(own, children.values(), strict=True):
        walk(child, weight, sequence, theirs)
    elif game.acting[h] == opponent:
      number = numbers.setdefault(game.info[h], len(numbers))
      assert below.setdefault(number, theirs) == theirs
      for a, child in children.items():
        owner[game.info[h], a] = number
        walk(child, weight, mine, (game.info[h], a))
    else:
      for child in children.values():
        walk(child, weight * game.chance[child] / game.chance[h], mine, theirs)

  known = known or {h: game.known[h][opponent] for h in roots}
  for s in sorted(set(known.values())):
    owner[s] = numbers.setdefault(("root", s), len(numbers))
  for h in roots:
    weight = game.chance[h] * reach[h][player]
    weights[known[h]] += weight
    walk(h, weight, 0, known[h])
  states = sorted(set(known.values()))
  x, v = len(plan), len(numbers)
  size = x + v + 1 + len(states)  # plan, values, margin, max(value, promise)
  less, rhs = [], []

  def constrain(pairs, bound):
    row = np.zeros(size)
    for column, coefficient in pairs:
      row[column] += coefficient
    less.append(row)
    rhs.append(bound)

  for sequence, number in owner.items():
    pairs = [(mine, amount) for mine, amount in terms[sequence].items()]
    pairs += [(x + child, 1.0) for child, before in below.items() if before == sequence]
    constrain([*pairs, (x + number, -1.0)], 0.0)
  structure = len(less)
  for s in states:
    if weights[s] > 0:
      constrain([(x + owner[s], 1.0), (x + v, weights[s])], promises[s])
  margins = len(less)
  for k, s in enumerate(states):
    constrain([(x + owner[s], 1.0), (x + v + 1 + k, -1.0)], 0.0)
    constrain([(x + v + 1 + k, -1.0)], -promises[s])
  equal = np.zeros((1 + len(plan_rows), size))
  equal[0, 0] = 1.0
  for row, (before, own) in enumerate(plan_rows.values(), start=1):
    equal[row, before] = -1.0
    equal[row, own] = 1.0
  bounds = [(0, None)] * x + [(None, None)] * (size - x)
  results = []
  for rows, columns, sign, tremble in (
    (range(margins), [x + v], -1.0, trembles[0]),
    (itertools.chain(range(structure), range(margins, len(less))), range(x + v + 1, size), 1.0, trembles[1]),
  ):
    rows, objective = list(rows), np.zeros(size)
    objective[list(columns)] = sign
    for s, e in tremble.items():
      objective[x + owner[s]] = e
    result = scipy.optimize.linprog(
      objective,
      A_ub=np.array(less)[rows],
      b_ub=np.array(rhs)[rows],
      A_eq=equal,
      b_eq=np.eye(len(equal))[0],
      bounds=bounds,
      method="highs",
    )
    assert result.success, result.message
    results.append(sign * result.fun)
  return tuple(results)


def tables_of(tree, profile):
  """A profile as strategies of a tree; uniform where nobody can be."""
  tables = [[np.full(shape, 1 / shape[0]) for shape in player.block_shapes] for player in tree.players]
  for decision, h, name in tree.labels.infostates():
    row = profile[decision.player, name]
    tables[decision.player][decision.block][:, decision.row, h] = [row[a] for a in decision.legal_actions]
  return tables


def profile_of(tree, tables):
  """The inverse of `tables_of`."""
  profile = {}
  for d, h, name in tree.labels.infostates():
    column = tables[d.player][d.block][:, d.row, h]
    profile[d.player, name] = dict(zip(d.legal_actions, (column / column.sum()).tolist(), strict=True))
  return profile
