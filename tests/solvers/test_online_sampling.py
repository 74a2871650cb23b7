"""Online outcome sampling: aimed estimates are unbiased, single runs converge, what is played need not."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest
from benchmark_scripts import script
from open_spiel.python.algorithms import exploitability as openspiel_exploitability
from trajectories import GOOFSPIEL, ancestors, chance_reach, compiled, exact, expected, random_table

from ps_cfr_spiel import OnlineOutcomeSampling, exploitability, load_policy
from ps_cfr_spiel.backend.device import jit
from ps_cfr_spiel.cfr import RM
from ps_cfr_spiel.sampling import mccfr
from ps_cfr_spiel.sampling.mccfr import LearnedBaseline, OracleBaseline, ZeroBaseline
from ps_cfr_spiel.sampling.mccfr import aimed as aimed_runs
from ps_cfr_spiel.sampling.mccfr import outcome as paths
from ps_cfr_spiel.sampling.mccfr.columns import regret_matching, uniform
from ps_cfr_spiel.sampling.mccfr.sampling_tree import CHANCE_NODE, TERMINAL_NODE
from ps_cfr_spiel.sampling.mccfr.targeting import aim

online_runs = script("benchmarks.papers.online_sampling").online_runs
DELTA, EXPLORATION = 0.9, 0.4
PENNIES = "coordinated_mp"  # Schmid 2021, Fig. 19.1, but that player 1 wins by a mismatch on either side


@functools.cache
def kuhn():
  return pyspiel.load_game("kuhn_poker")


@functools.cache
def pennies():
  return pyspiel.load_game(PENNIES)


def targets(game, kind):
  """Sets of histories, bool[N], aimed at in one game: all infostates, or a player's pairs of them."""
  cell, acts = np.asarray(game.nodes.cell), np.asarray(game.nodes.actor) < CHANCE_NODE
  size = 1 if kind == "infostate" else 3
  step = max(size, game.nodes.cells // 8)
  for first in range(0, game.nodes.cells - size + 1, step):
    yield jnp.asarray(acts & (cell >= first) & (cell < first + size))


@jit(static_argnums=7)
def follow(nodes, regrets, learned, way, traverser, target, delta, baseline):
  """Updates and probabilities of all trajectories, given as ways from the root to an end."""
  zeros = jnp.zeros(way.shape[1], jnp.int32)
  steps, end = paths.descend(
    nodes,
    regrets,
    (zeros, zeros),
    traverser,
    EXPLORATION,
    lambda depth, node, xi: way[depth + 1],
    aim(nodes, target, delta),
  )
  probability = jnp.ones(way.shape[1])
  for step in steps:
    probability = jnp.where(probability > 0, probability * step.chosen, 0)
  known = paths.oracle_values(nodes, regrets, (zeros, zeros)) if baseline.oracle else learned
  updates = paths.ascend(nodes, steps, end, (zeros, zeros), traverser, baseline, known)
  keep = jnp.tile(probability > 0, len(updates.cells) // len(probability))
  clean = [jnp.where(keep[None], x, 0) for x in (updates.regrets, updates.averages)]
  return updates._replace(regrets=clean[0], averages=clean[1]), probability


@pytest.mark.parametrize(
  "name, kind, baseline",
  [
    ("kuhn_poker", "infostate", ZeroBaseline()),
    ("kuhn_poker", "several", ZeroBaseline()),
    ("kuhn_poker", "infostate", LearnedBaseline()),
    ("kuhn_poker", "infostate", OracleBaseline()),
    ("leduc_poker", "infostate", LearnedBaseline()),
    (GOOFSPIEL, "several", ZeroBaseline()),
  ],
)
def test_aimed_estimates_are_unbiased(name, kind, baseline):
  """Summed over all trajectories by their probability, some of which are 0, wherever they are aimed at."""
  game = compiled(name)
  way, learned = ancestors(game.nodes), random_table(paths.OutcomeSampling(baseline).entries(game.nodes))
  reached = np.asarray(chance_reach(game.nodes))
  for target in targets(game, kind):
    for player in (0, 1):
      updates, probability = follow(
        game.nodes, game.regrets, learned, way, jnp.int32(player), target, jnp.float64(DELTA), baseline
      )
      assert abs(probability.sum() - 1) < 1e-12
      regrets, averages = expected(game.nodes, updates, probability)
      exact_regrets, _ = exact(game, player)
      np.testing.assert_allclose(regrets, exact_regrets, atol=1e-10)
      # The opponent's strategy, times the probability that chance deals the infostate.
      acts = np.asarray(game.nodes.actor) == 1 - player
      dealt = np.bincount(np.asarray(game.nodes.cell), reached * acts, game.nodes.cells)
      np.testing.assert_allclose(averages, exact(game, 1 - player)[1] * dealt, atol=1e-12)


def sampled_by_hand(nodes, regrets, target, player):
  """Probabilities [Z] of trajectories without and with a target, each by its own walk through the tree."""
  policy = np.asarray(regret_matching(regrets, nodes.legal))
  even = np.asarray(uniform(nodes.legal, regrets))
  kind, first, count, cell = (np.asarray(x) for x in (nodes.actor, nodes.first, nodes.count, nodes.cell))
  target, found = np.asarray(target), {}

  def through(node):
    return target[node] or any(through(c) for c in range(first[node], first[node] + count[node]))

  def walk(node, plain, aimed, passed):
    passed = passed or target[node]
    if kind[node] == TERMINAL_NODE:
      found[node] = plain, aimed
      return
    children = np.arange(first[node], first[node] + count[node])
    if kind[node] == CHANCE_NODE:
      moves = np.asarray(nodes.chance)[children]
    else:
      moves = policy[: count[node], cell[node]]
      if kind[node] == player:
        moves = EXPLORATION * even[: count[node], cell[node]] + (1 - EXPLORATION) * moves
    leading = np.zeros(len(children)) if passed else moves * [through(c) for c in children]
    towards = leading / leading.sum() if leading.sum() else moves
    for child, p, q in zip(children, moves, towards, strict=True):
      walk(child, plain * p, aimed * q, passed)

  walk(0, 1.0, 1.0, False)
  return np.array([found[end] for end in sorted(found)]).T


@pytest.mark.parametrize("name, positive", [("kuhn_poker", False), ("kuhn_poker", True), (GOOFSPIEL, True)])
def test_trajectories_are_a_mixture(name, positive):
  """With probability delta they pass through the target, if no move on the way there has probability 0."""
  game = compiled(name)
  regrets = jnp.abs(game.regrets) if positive else game.regrets
  way = ancestors(game.nodes)
  for target in targets(game, "infostate"):
    passes = np.asarray(target)[np.asarray(way)].any(0)
    for player in (0, 1):
      _, probability = follow(
        game.nodes,
        regrets,
        jnp.zeros(0),
        way,
        jnp.int32(player),
        target,
        jnp.float64(DELTA),
        ZeroBaseline(),
      )
      plain, aimed = sampled_by_hand(game.nodes, regrets, target, player)
      np.testing.assert_allclose(probability, DELTA * aimed + (1 - DELTA) * plain, atol=1e-14)
      if positive:
        assert abs(aimed[passes].sum() - 1) < 1e-12


def test_nothing_behind_a_target_leads_there():
  """Kuhn poker: of a decision and one below it, the way to the first leads there."""
  nodes = compiled("kuhn_poker").nodes
  parent, acts = np.asarray(nodes.parent), np.asarray(nodes.actor) < 2
  low = next(h for h in np.flatnonzero(acts) if acts[parent[h]] and acts[parent[parent[h]]])
  top = parent[parent[low]]
  target = np.isin(np.arange(len(parent)), [top, low])
  way = [top, parent[top], parent[parent[top]]]
  assert parent[way[-1]] < 0
  found = jit()(aim)(nodes, jnp.asarray(target), jnp.asarray(0.5)).leads
  assert sorted(np.flatnonzero(found).tolist()) == sorted(int(h) for h in way)


def test_without_a_target_it_is_outcome_sampling():
  """The same random numbers, delta 0: the same run, though chance is sampled by other code."""
  game = compiled("leduc_poker")
  plain = paths.OutcomeSampling(ZeroBaseline(), EXPLORATION)
  runs = aimed_runs.AimedRuns(
    game.nodes,
    jnp.arange(game.nodes.cells),
    jnp.float64(0),
    jnp.zeros((1, 1, 1)),
    jnp.zeros(game.nodes.cells, jnp.int32),
    plain,
  )
  state = mccfr.init(game.nodes, plain, 7, "float64")
  aimed = jax.jit(aimed_runs.AimedRuns.advance)(runs, state, 500, 300)
  expected = mccfr.run(game.nodes, state, 300, sampler=plain, rule=RM())
  assert (expected.tables.regrets != 0).sum() > 100
  np.testing.assert_allclose(aimed.tables.regrets, expected.tables.regrets, rtol=1e-9, atol=1e-9)
  found, wanted = aimed.tables.average.total, expected.tables.average.total
  np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.usefixtures("optimized")
@pytest.mark.parametrize("target", ["infostate", "public"])
def test_single_runs_converge(target):
  """All twelve, wherever they are aimed at; with less noise at a public state."""
  most = {"infostate": 100_000, "public": 50_000}[target]
  runs = online_runs(OnlineOutcomeSampling(kuhn(), target=target), (1,), (100, most))
  assert runs.single.shape == (1, 12, 2)
  assert (runs.single[0, :, 1] < 0.05).all() and (runs.single[0, :, 1] > 0).all()
  assert np.median(runs.single[0, :, 0]) > 0.15
  cells = runs.strategies[0, :, -1]
  assert np.abs(cells - cells[0]).max() > 0.01  # every run has its own random numbers and target


@pytest.mark.usefixtures("optimized")
def test_what_is_played_stays_exploitable():
  """Coordinated matching pennies: each run finds an equilibrium, each its own (Schmid 2021, Fig. 19.2)."""
  runs = online_runs(OnlineOutcomeSampling(pennies()), range(8), (50_000,))
  assert np.median(runs.single) < 0.02
  assert np.median(runs.tabularised) > 0.05
  heads = runs.strategies[:, :, 0, 0]  # [R, S, S]; cells 1 and 2 are player 1's
  np.testing.assert_allclose(heads[:, :, 1] + heads[:, :, 2], 1, atol=0.1)  # the equilibria
  assert heads[:, 1, 1].std() > 0.05
  # Player 1 loses what the two sides lack in coordination; player 0 has nothing to coordinate.
  lack = np.abs(heads[:, 1, 1] + heads[:, 2, 2] - 1) / 2
  np.testing.assert_allclose(runs.tabularised[:, 0], lack, atol=0.03)


def pure(action):
  """Player 1's optimal policy that plays `action` on the top side and the other on the bottom side."""
  tables = {"0": [0.5, 0.5], "2T": [1 - action, action], "2B": [action, 1 - action]}
  return pyspiel.TabularPolicy({name: list(enumerate(p)) for name, p in tables.items()})


def test_favoured_equilibria_are_found():
  favoured = {(1, "2T"): pure(0), (1, "2B"): pure(1)}
  method = OnlineOutcomeSampling(pennies(), favoured=favoured, favour=1000.0)
  runs = online_runs(method, range(4), (20, 15_000))
  assert (runs.strategies[:, (1, 2), 0, 0, (1, 2)] > 0.9).all()  # heads at first, by either run
  assert np.median(runs.single[:, :, 1]) < 0.03
  assert np.median(runs.tabularised[:, 1]) > 0.15


@pytest.mark.parametrize("target", ["infostate", "public"])
def test_tabularised_policy_is_what_is_played(target):
  method = OnlineOutcomeSampling(kuhn(), 300, target=target, seed=5, dtype="float64")
  policy = method.tabularise()
  assert policy.labels.histories == 58
  for (player, infostate), cell in list(method.cells.items())[::3]:
    single = method.single_run_policy(player, infostate)
    assert policy.at(player, infostate) == pytest.approx(single.at(player, infostate), abs=1e-9)
    state = kuhn().new_initial_state()
    for action in method.tree.labels.source.path(method.decisions[cell], 0):
      state.apply_action(action)
    assert method.action_probabilities(state) == pytest.approx(policy.at(player, infostate), abs=1e-9)
  exact_value = openspiel_exploitability.exploitability(kuhn(), policy.to_tabular())
  assert exploitability(kuhn(), policy) == pytest.approx(exact_value, abs=1e-12)
  assert exploitability(kuhn(), method) == pytest.approx(exact_value, abs=1e-9)


def test_tabularised_policy_survives_a_file(tmp_path):
  policy = OnlineOutcomeSampling(kuhn(), 20).tabularise()
  policy.save(tmp_path / "policy.safetensors")
  loaded = load_policy(tmp_path / "policy.safetensors")
  assert loaded.info["solver"] == "OnlineOutcomeSampling"
  assert exploitability(kuhn(), loaded) == exploitability(kuhn(), policy)


def test_seeds_make_the_difference():
  first, same, other = (OnlineOutcomeSampling(kuhn(), 50, seed=seed).tabularise() for seed in (1, 1, 2))
  assert all((a == b).all() for a, b in zip(first.strategies[0], same.strategies[0], strict=True))
  assert any((a != b).any() for a, b in zip(first.strategies[0], other.strategies[0], strict=True))


def play(game, bots, rng):
  """Actions of a match; every move must be legal."""
  state = game.new_initial_state()
  for bot in bots:
    bot.restart_at(state)
  while not state.is_terminal():
    if state.is_chance_node():
      actions, chances = zip(*state.chance_outcomes(), strict=True)
      state.apply_action(int(rng.choice(actions, p=chances)))
      continue
    mover = state.current_player()
    action = bots[mover].step(state)
    assert action in state.legal_actions()
    bots[1 - mover].inform_action(state, mover, action)
    state.apply_action(action)
  return state.history()


@pytest.mark.parametrize(("name", "keep"), [("leduc_poker", True), (GOOFSPIEL, False)])
def test_bots_play_matches(name, keep):
  game = pyspiel.load_game(name)
  method = OnlineOutcomeSampling(game, 30, target="public")
  matches = []
  for _ in range(2):
    bots = [method.bot(player, seed=4, keep_tables=keep) for player in (0, 1)]
    rng = np.random.default_rng(8)
    matches.append([play(game, bots, rng) for _ in range(2)])
  assert matches[0] == matches[1]
  assert name == GOOFSPIEL or len({tuple(match) for match in matches[0]}) > 1


def test_bots_keep_tables_or_not():
  state = kuhn().new_initial_state()
  state.apply_action(0)
  state.apply_action(1)
  method = OnlineOutcomeSampling(kuhn(), 200)
  keeps, forgets = method.bot(0), method.bot(0, keep_tables=False)
  assert keeps.provides_policy()
  first, again = keeps.step_with_policy(state)[0], keeps.step_with_policy(state)[0]
  assert first == forgets.step_with_policy(state)[0] == forgets.get_policy(state) != again
  assert int(keeps.policy._tables.iteration) == 400 and int(forgets.policy._tables.iteration) == 200
  forgets.restart()
  assert forgets.step_with_policy(state)[0] != first  # another match, other random numbers


def test_targets_are_arguments(monkeypatch):
  """Nothing is traced again for another infostate."""
  traced = []
  monkeypatch.setattr(aimed_runs, "aim", lambda *args: traced.append(1) or aim(*args))
  method = OnlineOutcomeSampling(kuhn(), 7, exploration=0.123)
  method.single_run_policy(0, "0")
  before = len(traced)
  method.single_run_policy(1, "2b")
  OnlineOutcomeSampling(kuhn(), 9, target="public", delta=0.5, exploration=0.123, seed=2).single_run_policy(
    1, "1p"
  )
  assert before == len(traced) > 0


@pytest.mark.parametrize(
  "options, message",
  [
    ({"iterations": 0}, "iterations must be an integer of at least 1, got 0"),
    ({"iterations": 3_000_000_000}, "iterations must be at most 2147483647, got 3000000000"),
    ({"favoured": [1]}, r"favoured must be a mapping of infostates to policies, got \[1\]"),
    ({"iterations": 1.5}, "iterations must be an integer"),
    ({"target": "history"}, "Unknown target 'history'; choose one of 'infostate', 'public'"),
    ({"target": "public", "public_states": "none"}, "must be 'closure' or 'observer'"),
    ({"delta": 1}, "delta must be a number of at least 0 and below 1, got 1"),
    ({"delta": -0.1}, "delta must be a number"),
    ({"delta": float("nan")}, "delta must be a number"),
    ({"exploration": 0}, "exploration must be a number above 0 and at most 1, got 0"),
    ({"favour": -1}, "favour must be a number from 0 to 1e.30, got -1"),
    ({"favour": float("inf")}, "favour must be a number from 0"),
    ({"favoured": {"0": None}}, "favoured must have keys .player, information state string., got '0'"),
    ({"favoured": {(0, "9"): None}}, "Player 0 has no information state '9' in kuhn_poker"),
    ({"seed": -1}, "seed must be an integer from 0 to .* got -1"),
    ({"dtype": "float16"}, "Unknown dtype 'float16'"),
    ({"public_states": "some"}, "Unknown public_states 'some'"),
    ({"limit": 10}, "more than 10 histories"),
  ],
)
def test_bad_options(options, message):
  with pytest.raises(ValueError, match=message):
    OnlineOutcomeSampling(kuhn(), **options)


def test_an_answer_is_a_copy():
  method = OnlineOutcomeSampling(kuhn(), 5)
  answer = method.at(0, "0")
  before = dict(answer)
  answer[0] = 99
  assert method.at(0, "0") == before


def test_bad_questions():
  method = OnlineOutcomeSampling(kuhn(), 5)
  state = kuhn().new_initial_state()
  with pytest.raises(ValueError, match="It is not the turn of player 0, but of -1"):
    method.bot(0).step(state)
  with pytest.raises(TypeError, match=r"Expected a pyspiel.State, got NoneType"):
    method.bot(0).step(None)
  with pytest.raises(ValueError, match="player must be 0 or 1, got 2"):
    method.bot(2)
  with pytest.raises(ValueError, match="keep_tables must be True or False, got 'yes'"):
    method.bot(0, keep_tables="yes")
  with pytest.raises(ValueError, match="No player acts at this state"):
    method.action_probabilities(kuhn().new_initial_state())
  with pytest.raises(ValueError, match="Player 1 has no information state '0' in kuhn_poker"):
    method.single_run_policy(1, "0")
