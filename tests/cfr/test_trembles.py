"""Trembles (`tremble=c`): a least probability of every action, which the rule does not know of."""

import jax
import numpy as np
import pyspiel
import pytest
from cuts import levels
from random_games import random_game
from scipy.optimize import linprog

from ps_cfr_spiel import ContinualResolving, PSCFRSolver, batches, cfr, exploitability, load_solver, measures
from ps_cfr_spiel.backend.device import precision, to_device
from ps_cfr_spiel.compilation.compiler import build_tree
from ps_cfr_spiel.resolving.subgames import Subgames, gadget_of
from ps_cfr_spiel.rules import RULES

RIVER = "river_subgame(pot=10,stack=20,bets=1 a,ranges=AA KK QJs;QQ AKs T9s)"
KUHN = "add_noise(epsilon=0.1,seed=3,game=kuhn_poker())"  # without exact ties, which rounding decides
FLOP = "holdem_subgame(deck=4x4,board=2c3c4c,stack=300,bets=1 a)"


def load(name):
  return random_game(int(name)) if name.isdecimal() else pyspiel.load_game(name)


def tree_of(state, movers):
  """The histories below a state: a payoff, or (infostate or None, [(probability, history)])."""
  if state.is_terminal():
    return state.returns()[0]
  if state.is_chance_node():
    return None, [(p, tree_of(state.child(a), movers)) for a, p in state.chance_outcomes()]
  player, actions = state.current_player(), state.legal_actions()
  key = player, state.information_state_string(player)
  movers[key] = len(actions)
  return key, [(1, tree_of(state.child(a), movers)) for a in actions]


def by_hand(game, iterations, c):
  """CFR+ with trembles on the histories of a game, by recursion: {(player, infostate): average strategy}.

  The regrets of the rule, max(R + x, 0), are against its own strategy; values and averages are of play.
  """
  counts = {}
  root = tree_of(game.new_initial_state(), counts)
  regrets = {key: np.zeros(n) for key, n in counts.items()}
  sums = {key: np.zeros(n) for key, n in counts.items()}

  def own(key):
    return regrets[key] / regrets[key].sum() if regrets[key].any() else np.full(counts[key], 1 / counts[key])

  def played(key, t):
    e = min(c / t, 0.5 / counts[key])
    return (1 - counts[key] * e) * own(key) + e

  def value(node, mine, others):
    """The value to `player`; adds up the values of its actions, and notes its reach."""
    if not isinstance(node, tuple):
      return -node if player else node
    key, below = node
    if key is None or key[0] != player:
      chances = [p for p, _ in below] if key is None else strategies[key]
      return sum(p * value(x, mine, others * p) for p, (_, x) in zip(chances, below, strict=True))
    p = strategies[key]
    after = np.array([value(x, mine * q, others) for q, (_, x) in zip(p, below, strict=True)])
    gains[key], shares[key] = gains.get(key, 0) + others * after, mine * p
    return p @ after

  for t in range(1, iterations + 1):
    for player in (0, 1):
      # Player 0 has moved on when it is player 1's turn.
      strategies = {key: played(key, t + (player > key[0])) for key in counts}
      gains, shares = {}, {}
      value(root, 1.0, 1.0)
      for key, q in gains.items():
        sums[key] += t * shares[key]
        regrets[key] = np.maximum(regrets[key] + q - own(key) @ q, 0)
  return {key: x / x.sum() for key, x in sums.items()}


def table(policy):
  """{(player, infostate): strategy} of a tabular policy."""
  return {
    (decision.player, key): policy.table(decision)[:, h] for decision, h, key in policy.labels.infostates()
  }


@pytest.mark.parametrize(("name", "iterations", "c"), [(KUHN, 9, 0.7), ("leduc_poker", 3, 1), ("5", 9, 1)])
def test_formulas_on_histories(name, iterations, c):
  game = load(name)
  solver = PSCFRSolver(game, "rm+", dtype="float64", tremble=c)
  solver.run(iterations)
  expected, ours = by_hand(game, iterations, c), table(solver.average_policy())
  assert expected.keys() == ours.keys()
  for key, strategy in expected.items():
    np.testing.assert_allclose(ours[key], strategy, atol=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_plays_every_action(rule):
  """In iteration t with at least c / t, and on average with no less than in the last one."""
  solver = PSCFRSolver(pyspiel.load_game("kuhn_poker"), rule, dtype="float64", tremble=0.5)
  solver.run(20)
  for policy, least in ((solver.average_policy(), 0.5 / 20), (solver.current_policy(), 0.5 / 21)):
    assert min(x.min() for x in table(policy).values()) >= least * (1 - 1e-12)


def perturbed(game, e):
  """Both players' optimal strategies if every action has at least the probability e, by linear programs.

  A program has a plan over sequences with r(sequence of an action) >= e r(sequence before it), and a value
  for each infostate of the opponent: v = the mean of e times each action's plus (1 - A e) times the best.
  """
  counts = {}
  root = tree_of(game.new_initial_state(), counts)
  sequences, parent, rows = ([()], [()]), {}, []

  def visit(node, last, chance):
    if not isinstance(node, tuple):
      rows.append((last[0], last[1], chance * node))
      return
    key, below = node
    if key is not None and key not in parent:
      parent[key] = last[key[0]]
      sequences[key[0]].extend((key, a) for a in range(counts[key]))
    for a, (p, x) in enumerate(below):
      after = list(last)
      if key is not None:
        after[key[0]] = (key, a)
      visit(x, after, chance * (p if key is None else 1))

  visit(root, [(), ()], 1.0)
  number = [{s: k for k, s in enumerate(of)} for of in sequences]

  def solve(i):
    """The plan of player i, who maximises the least that the opponent leaves."""
    mine, theirs, sign = number[i], number[1 - i], 1 if i == 0 else -1
    own = [key for key in counts if key[0] == i]
    other = [key for key in counts if key[0] != i]
    # Variables: the plan, of each infostate of the opponent the value, and its least over actions.
    value = {key: len(mine) + k for k, key in enumerate(other)}
    lowest = {key: len(mine) + len(other) + k for k, key in enumerate(other)}
    size = len(mine) + 2 * len(other)

    def worth(sequence):
      """The value of an opponent's sequence as a row: its payoffs, and the infostates after it."""
      row = np.zeros(size)
      for first, second, payoff in rows:
        if (second, first)[i] == sequence:
          row[mine[(first, second)[i]]] += sign * payoff
      for key in other:
        if parent[key] == sequence:
          row[value[key]] += 1
      return row

    upper, equal, right = [], [], []
    for key in other:
      n, total = counts[key], np.zeros(size)
      for a in range(n):
        row = worth((key, a))
        total += e * row
        upper.append(np.eye(size)[lowest[key]] - row)
      equal.append(total + (1 - n * e) * np.eye(size)[lowest[key]] - np.eye(size)[value[key]])
      right.append(0)
    for key in own:
      before = np.eye(size)[mine[parent[key]]]
      after = [np.eye(size)[mine[key, a]] for a in range(counts[key])]
      equal.append(sum(after) - before)
      right.append(0)
      upper += [e * before - x for x in after]
    equal.append(np.eye(size)[mine[()]])
    right.append(1)
    assert len(theirs) == 1 + sum(counts[key] for key in other)
    found = linprog(
      -worth(()), np.array(upper), np.zeros(len(upper)), np.array(equal), right,
      [(0, None)] * len(mine) + [(None, None)] * (2 * len(other)),
    )  # fmt: skip
    assert found.status == 0
    plan = found.x
    strategy = {
      key: np.array([plan[mine[key, a]] for a in range(counts[key])]) / plan[mine[parent[key]]] for key in own
    }
    return -found.fun, strategy

  (first, strategy), (second, others) = solve(0), solve(1)
  assert first == pytest.approx(-second, abs=1e-7)
  return first, strategy | others


@pytest.mark.parametrize("name", ["kuhn_poker", "2", "3", "5", "8", "11", "13"])
def test_average_strategies_are_the_equilibrium_of_trembling_players(name):
  """At every infostate: weights t^7 leave floors of 8/7 / t, with which each game has one equilibrium."""
  game = load(name)
  solver = PSCFRSolver(game, dtype="float64", tremble=1)
  solver.run(2000)
  ours, (value, exact) = table(solver.average_policy()), perturbed(game, 8 / 7 / 2000)
  assert solver.evaluation().value == pytest.approx(value, abs=5e-6)
  assert ours.keys() == exact.keys()
  for key, strategy in exact.items():
    np.testing.assert_allclose(ours[key], strategy, atol=2e-3)
  if name == "kuhn_poker":  # OpenSpiel's linear program of trembling players goes there too
    assert [ours[0, key][1] for key in ("0", "2", "1pb")] == pytest.approx([1 / 3, 1, 2 / 3], abs=2e-3)


@pytest.mark.parametrize("name", ["kuhn_poker", RIVER, FLOP])
def test_a_run_in_parts_is_a_run_at_once(name, tmp_path):
  path, game = tmp_path / "run.safetensors", load(name)
  whole = PSCFRSolver(game, tremble=1)
  whole.run(30)
  part = PSCFRSolver(game, tremble=1)
  part.run(7)
  part.save(path)
  later = load_solver(path)
  later.run(23)
  assert later.options.tremble == 1
  for ours, theirs in zip(*map(jax.tree.leaves, (later._state, whole._state)), strict=True):
    np.testing.assert_array_equal(ours, theirs)


def test_a_locked_infostate_does_not_tremble():
  game = pyspiel.load_game("kuhn_poker")
  locks = {"bet": {"bet": 0.25, "pass": 0.75}}
  solver = PSCFRSolver(game, dtype="float64", tremble=1, locks=locks)
  solver.run(50)
  for (_, key), strategy in table(solver.average_policy()).items():
    if key[1:] == "b":
      assert strategy.tolist() == [0.75, 0.25]
    else:
      assert strategy.min() >= 1 / 50


@pytest.mark.parametrize(
  ("gadget", "rule"), [("cfr-d", "nrm+"), ("max-margin", "apcfr+"), ("refined-max-margin", "nrm+")]
)
def test_the_decisions_of_a_gadget_do_not_tremble(gadget, rule):
  """There the opponent takes promises too large to refuse; the decisions of the game below do tremble."""
  rule, subgames = cfr.make_rule(rule), Subgames(build_tree(pyspiel.load_game("kuhn_poker")))
  subgame = subgames.cut(levels(subgames, 1)[0])
  shapes = [(subgame.shape.roots[i], subgame.tree.players[i].types) for i in (0, 1)]
  made = gadget_of(gadget)(subgame, 1, tuple(map(np.ones, shapes)), 5 + np.zeros(shapes[0]))
  with precision("float64"):
    tree = to_device(made.tree, "float64")
    state = cfr.run(tree, cfr.init(tree, rule, "float64"), 20, rule=rule, tremble=1)
    own, played = (cfr.current_strategy(tree, state, tremble=c)[0] for c in (0, 1))
    averages = cfr.average_strategy(tree, state)[0]
  added = tree.players[0].added
  assert added
  for block, (before, after) in enumerate(zip(own, played, strict=True)):
    assert np.array_equal(before, after) == (block < added)
  assert min(x.min() for x in averages[:added]) < 1e-3 < 0.049 < min(x.min() for x in averages[added:])


def test_a_batch_trembles_as_a_run_of_its_own():
  solver = PSCFRSolver(pyspiel.load_game(RIVER), tremble=1, dtype="float64")
  solver.run(40)
  solved = batches.solve_batch([RIVER], iterations=40, tremble=1, dtype="float64")
  solution, game = solved[0], pyspiel.load_game(RIVER)
  losses = [measures.local_regrets(game, p).losses() for p in (solved.policy(0), solver.average_policy())]
  assert losses[0] == pytest.approx(losses[1], abs=1e-6)
  assert solution.exploitability == pytest.approx(solver.exploitability(), rel=1e-9)
  assert min(x.min() for player in solution.strategies for x in player) >= 0.99 / 40


def test_searches_keep_answers_everywhere_if_they_expect_the_opponents_range():
  """What infostates lose on average, of a whole solution and of continual re-solving; Leduc poker."""
  game = pyspiel.load_game("leduc_poker")
  solver = PSCFRSolver(game, dtype="float64", tremble=1)
  solver.run(100)

  def loss(policy):
    return measures.local_regrets(game, policy, solver.tree).losses().mean

  alone = loss(solver.average_policy())
  policies = [
    ContinualResolving(game, 100, gadget=gadget, tremble=1, dtype="float64").tabularise()
    for gadget in ("expected-cfr-d", "cfr-d")
  ]
  assert loss(policies[0]) < 1.5 * alone < loss(policies[1]) / 1.5
  assert exploitability(game, policies[0]) < 1.5 * solver.exploitability()


@pytest.mark.parametrize("abstraction", ["observation", "identity"])
def test_sets_tremble_as_one(abstraction):
  solver = PSCFRSolver(pyspiel.load_game("leduc_poker"), tremble=1, dtype="float64", abstraction=abstraction)
  solver.run(10)
  strategies = table(solver.average_policy())
  assert min(x.min() for x in strategies.values()) >= 0.1 * (1 - 1e-12)
  if abstraction == "identity":
    alone = PSCFRSolver(pyspiel.load_game("leduc_poker"), tremble=1, dtype="float64")
    alone.run(10)
    for key, strategy in table(alone.average_policy()).items():
      np.testing.assert_allclose(strategies[key], strategy, atol=1e-9)


@pytest.mark.parametrize("given", [-1, np.inf, "1"])
def test_what_is_no_number_of_trembles_is_refused(given):
  with pytest.raises(ValueError, match="tremble must be"):
    PSCFRSolver(pyspiel.load_game("kuhn_poker"), tremble=given)
