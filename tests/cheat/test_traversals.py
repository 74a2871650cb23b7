"""Traversals in C++: what is written down over the Python game, and as good with pruning as without."""

import functools
import itertools
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest
from game_checks import all_histories
from open_spiel.python.algorithms import exploitability
from ps_cfr_spiel.games.cheat import keyed_cheat, native_traversals
from ps_cfr_spiel.games.cheat.keys import KEYS

import ps_cfr_spiel
from ps_cfr_spiel.backend.device import precision
from ps_cfr_spiel.backend.native import why_unavailable
from ps_cfr_spiel.cfr import RM, RMPlus, averages
from ps_cfr_spiel.cfr.averages import Sum
from ps_cfr_spiel.keyed_game import KeyedGame
from ps_cfr_spiel.memory import LimitReachedError
from ps_cfr_spiel.options import ESTIMATES, PRUNINGS
from ps_cfr_spiel.sampling import mccfr
from ps_cfr_spiel.sampling.keyed import KeyTables, Matchup, NativePlays, StatePlays, Tally, Traversals
from ps_cfr_spiel.sampling.keyed.plays import Learning
from ps_cfr_spiel.sampling.mccfr import Turn

TINY = "cheat(ranks=2,suits=2,hand_size=2,max_turns=3)"
GAMMA = 2.0
WEIGHT, DECAY, EXPLORATION, MOST_WEIGHT = 1.5**GAMMA, 0.25, 1e-9, 4.0  # of iteration 3
PLAYS = NativePlays("learned", EXPLORATION, DECAY, most_weight=MOST_WEIGHT)


class Tables(NamedTuple):
  """`KeyTables` without its record, and with the sum of policies itself."""

  regrets: Any
  average: Any
  values: Any
  visits: Any
  skipped: Any


pytestmark = pytest.mark.skipif(bool(why_unavailable()), reason="no native library")


@pytest.fixture(scope="module")
def game():
  return pyspiel.load_game(TINY)


@pytest.fixture(scope="module")
def played(game):
  return game.keyed_form()


@pytest.fixture(scope="module")
def deals(game):
  """The states after each deal, one for each pair of hands and first player."""
  found = {}
  for state, _ in all_histories(game):
    if state.current_player() >= 0 and state.turn == 0 and not state.discard:
      found[state.hands, state.first] = state
  assert len(found) == 2 * 3  # AA and 22, 22 and AA, A2 and A2
  return list(found.values())


@pytest.fixture(scope="module")
def firsts(game, played):
  """The first cells of all keys."""
  return sorted(
    {located(played, state)[0] for state, _ in all_histories(game) if state.current_player() >= 0}
  )


def located(played, state):
  """The first cell of a state, and the actions of the cells from there on."""
  cells, actions = played.locate(state)
  return cells.start, actions


def dealt(game, count, rng):
  """States after the deal."""
  states = []
  for _ in range(count):
    state = game.new_initial_state()
    while state.is_chance_node():
      actions, chances = zip(*state.chance_outcomes(), strict=True)
      state.apply_action(int(rng.choice(actions, p=chances)))
    states.append(state)
  return states


def some_tables(played, seed, pure=()):
  """Tables as a run might leave them; the first move is all that is played at the keys `pure`."""
  rng, size = np.random.default_rng(seed), played.cells
  regrets = rng.normal(size=size)
  if pure:
    regrets = -20 * np.abs(regrets)
    regrets[list(pure)] = 1.0
  skipped = np.where(rng.random(size) < 0.3, rng.integers(1, 5, size), 0.0) * (regrets < 0)
  return Tables(regrets, rng.random(size), rng.normal(size=size) / 3, rng.integers(0, 4, size) * 1.0, skipped)


class Dealt(KeyedGame):
  """The form of a game with a deal that is given, and a seed."""

  def __init__(self, played, hands, first, seed):
    self.played, self.hands, self.first, self.seed = played, hands, first, seed
    self.game = played.game
    self.cells = played.cells

  def locate(self, state):
    return self.played.locate(state)

  def traverse(self, tables, average, fixed, traverser, weight, decay, key, batch, options):
    rules, keys, deal = self.played.rules, self.played.keys, (self.hands, self.first)
    return native_traversals.traverse(
      rules, keys, tables, average, fixed, *deal, traverser, self.seed, weight, decay, options
    )


def key_tables(tables, dtype="float64"):
  """The sampler's tables, on the device; half of the sum of policies is in its compensation."""
  regrets, average, values, visits, skipped = map(jnp.asarray, map(np.float64, tables))
  tally = Tally(*map(jnp.asarray, Tally.empty(dtype)))
  return KeyTables(regrets, Sum(2 * average, average), values, visits, skipped, tally)


@functools.partial(jax.jit, static_argnames="sampler")
def turn(played, tables, fixed, hands, first, traverser, seed, sampler):
  """A turn of the iteration in which weights are `WEIGHT`."""
  game = Matchup(Dealt(played, hands, first, seed), fixed)
  now = Turn(traverser, jnp.int32(3), None)
  return sampler.turn(game, tables, now, RMPlus(gamma=GAMMA), 1)


def traversed(played, tables, state, traverser, sampler, seed=0, fixed=None):
  """The tables, the value and the counts after the library's traversal."""
  hands = np.array([list(state.hand(player)) for player in range(played.players)], np.int32)[:, :, None]
  first, seed = np.array([state.current_player()], np.int32), np.array([seed, 7], np.uint32)
  counted = not isinstance(sampler, NativePlays)
  with precision("float64"):
    given = key_tables(tables if counted else tables._replace(visits=np.zeros(0), skipped=np.zeros(0)))
    found = jax.tree.map(
      np.asarray, turn(played, given, fixed, hands, first, np.int32(traverser), seed, sampler)
    )
    tally = found.tally
    counts = [*tally.nodes, *tally.skipped, int(tally.stopped)]
    new = Tables(found.regrets, found.average.total, found.learned, found.visits, found.skipped)
    # The mean of this turn and of those before, which were zero.
    sign = 1 if fixed is not None or traverser == 0 else -1
    turns = 2 * 3 - 1 + traverser if played.players == 2 else 3  # with more the record is of player 0's
    value = sign * float(tally.value) * turns
    return (new if counted else new._replace(visits=tables.visits, skipped=tables.skipped)), value, counts


class Written:
  """External sampling with pruning against an opponent with pure policies, recursively, cell by cell."""

  def __init__(self, played, tables, traverser, pruning, at_once=False):
    self.played, self.old, self.traverser, self.pruning = played, tables, traverser, pruning
    self.seen, self.nodes, self.skips, self.at_once = {}, 0, 0, at_once
    self.pure = True  # whether nothing was left to chance
    self.average = tables.average.copy()

  def shares(self, weights):
    positive = np.maximum(weights, 0)
    return positive / positive.sum() if positive.any() else np.full(len(weights), 1 / len(weights))

  def value(self, state, left, debt=0.0):
    if state.is_terminal():
      return state.returns()[self.traverser]
    self.nodes += 1
    first, actions = located(self.played, state)
    cells = range(first, first + len(actions))
    policy = self.shares(self.old.regrets[first : first + len(actions)])
    if left == 0:
      self.pure &= policy.max() == 1
      return self.value(state.child(actions[int(policy.argmax())]), 0)
    if state.current_player() != self.traverser:
      self.average[first : first + len(actions)] += (WEIGHT + debt) * policy
      if debt:
        policy = self.shares(self.average[first : first + len(actions)])
      self.pure &= policy.max() == 1
      return self.value(state.child(actions[int(policy.argmax())]), left, debt)
    values, left_out = np.zeros(len(actions)), [False] * len(actions)
    for number, (cell, action) in enumerate(zip(cells, actions, strict=True)):
      kept = self.old.regrets[cell] + WEIGHT * sum(regret for _, regret, _ in self.seen.get(cell, []))
      left_out[number] = self.pruning != "none" and policy[number] == 0 and kept + WEIGHT * 2 <= 0
      if not left_out[number]:
        skipped = self.old.skipped[cell] if self.pruning == "best_response" else 0
        values[number] = self.value(state.child(action), left - 1, max(debt, skipped))
    mean = policy @ values
    for cell, value, out in zip(cells, values, left_out, strict=True):
      self.seen.setdefault(cell, []).append((out, 1 - mean if out else value - mean, value))
      self.skips += out
    if self.at_once:
      self.old, self.seen = self.tables(), {}
    return mean

  def tables(self):
    regrets, values, visits, skipped = (
      table.copy() for table in (self.old.regrets, self.old.values, self.old.visits, self.old.skipped)
    )
    for cell, lessons in self.seen.items():
      regrets[cell] += WEIGHT * sum(regret for _, regret, _ in lessons)
      skipped[cell] += WEIGHT * sum(out for out, _, _ in lessons)
      brought = [value for out, _, value in lessons if not out]
      if brought:
        visits[cell] += len(brought)
        share = max(len(brought) / visits[cell], 1 - (1 - DECAY) ** len(brought))
        values[cell] += share * (np.mean(brought) - values[cell])
        if self.pruning == "best_response":
          regrets[cell] -= skipped[cell] * (1 - values[cell])
        skipped[cell] = 0
    return Tables(regrets, self.average, values, visits, skipped)


@pytest.mark.parametrize(("at_once", "depth"), [(False, 9), (True, 9), (False, 1), (True, 2)])
@pytest.mark.parametrize("traverser", [0, 1])
@pytest.mark.parametrize("pruning", PRUNINGS)
def test_external_sampling_is_what_is_written_down(played, deals, firsts, pruning, traverser, at_once, depth):
  """On deals where the opponent's policies are pure, and stay so: all tables, the value, and the counts."""
  checked = 0
  for seed, state in enumerate(deals):
    tables = some_tables(played, seed, firsts)
    if pruning == "best_response":  # the average is pure too, and stays so
      tables = tables._replace(average=np.maximum(tables.regrets, 0))
    written = Written(played, tables, traverser, pruning, at_once)
    value = written.value(state, depth)
    sampler = Traversals(pruning, DECAY, 10**6, depth, 1 if at_once else 10**6)
    if not written.pure:
      continue
    checked += 1
    found, got, counts = traversed(played, tables, state, traverser, sampler)
    assert got == pytest.approx(value)
    assert counts == [0, written.nodes, 0, written.skips, 0]
    for name, table in written.tables()._asdict().items():
      np.testing.assert_allclose(getattr(found, name), table, atol=1e-12, err_msg=name)
  assert checked >= 3


@pytest.mark.parametrize("traverser", [0, 1])
def test_plays_are_what_is_written_down(played, deals, firsts, traverser):
  """On every deal, where all policies are pure and the traverser does not explore."""
  for seed, state in enumerate(deals):
    tables = some_tables(played, seed, firsts)
    found, got, counts = traversed(played, tables, state, traverser, PLAYS)
    path, new = [], Tables(*(table.copy() for table in tables))
    while not state.is_terminal():
      first, actions = located(played, state)
      path.append((state.current_player(), first, len(actions)))
      state = state.child(actions[0])  # the pure policies' move
    assert (got, counts[1]) == (state.returns()[traverser], len(path))
    for player, first, count in reversed(path):
      own = slice(first, first + count)
      policy = (np.arange(count) == 0) * 1.0
      new.values[first] += DECAY * (state.returns()[player] - new.values[first])
      if player == traverser:
        new.regrets[own] = np.maximum(new.regrets[own] + new.values[own] - new.values[first], 0)
      else:
        new.average[own] += WEIGHT * policy
    for name, table in new._asdict().items():
      np.testing.assert_allclose(getattr(found, name), table, atol=1e-6, err_msg=name)


class Continued(KeyedGame):
  """A form whose plays begin at a state."""

  def __init__(self, form, state):
    self.form, self.game = form, SimpleNamespace(new_initial_state=state.clone)

  def locate(self, state):
    return self.form.locate(state)


@pytest.mark.parametrize("against", ["itself", "fixed"])
@pytest.mark.parametrize("traverser", [0, 1])
@pytest.mark.parametrize("estimate", ESTIMATES)
def test_the_library_plays_as_the_reference(played, deals, firsts, estimate, traverser, against):
  """On every deal, where all policies are pure and the traverser does not explore."""
  options = estimate, EXPLORATION, DECAY, 0.0, MOST_WEIGHT
  for seed, state in enumerate(deals):
    tables, fixed = some_tables(played, seed, firsts), None
    if against == "fixed":
      fixed = np.zeros(played.cells)
      fixed[[last - 1 for last in (*firsts[1:], played.cells)]] = 2.0
    library, value, counts = traversed(played, tables, state, traverser, NativePlays(*options), fixed=fixed)
    regrets, minus_average, values = tables.regrets.copy(), -tables.average, tables.values.copy()
    views = [None if x is None else memoryview(x) for x in (regrets, minus_average, values, fixed)]
    result, nodes = StatePlays(*options).play(
      Continued(played, state),
      Learning(*views, WEIGHT, DECAY, 0.0),
      traverser,
      lambda shares: int(np.argmax(shares)),
    )
    assert (result, nodes) == (value, counts[1])
    for name, table in (("regrets", regrets), ("values", values), ("average", -minus_average)):
      np.testing.assert_allclose(getattr(library, name), table, atol=1e-6, err_msg=name)
    assert (values != tables.values).any() and (regrets != tables.regrets).any()


@pytest.mark.parametrize(
  ("game_string", "games", "key"),
  [
    *(("cheat(ranks=4,suits=3,hand_size=4,max_discard=2)", 12, key) for key in KEYS),
    ("cheat", 4, "observation"),
    (
      "cheat(ranks=5,suits=4,hand_size=7,max_discard=2)",
      4,
      "memory",
    ),  # 1 cell of 14
    ("cheat(players=3,ranks=4,suits=3,hand_size=3,max_discard=2)", 9, "observation"),
    ("cheat(players=4,ranks=3,suits=4,hand_size=2,max_discard=2)", 8, "observation"),
  ],
)
def test_plays_of_larger_decks_are_the_python_games(game_string, games, key):
  """Where policies are pure along a random line of the Python game, the play is that line."""
  game, rng, ends = pyspiel.load_game(game_string), np.random.default_rng(8), []
  played = game.keyed_form(key)
  for number, state in enumerate(dealt(game, games, rng)):
    start, chosen, line = state.clone(), {}, []
    regrets, average, skipped, visits = np.zeros((4, played.cells))
    values = np.zeros_like(regrets)
    while not state.is_terminal():
      first, actions = located(played, state)
      move = chosen.setdefault(first, int(rng.integers(len(actions))))
      regrets[first + move] = 1.0
      line.append((state.current_player(), first + move))
      state.apply_action(actions[move])
    tables, traverser = Tables(regrets, average, values, visits, skipped), number % played.players
    found, got, counts = traversed(played, tables, start, traverser, PLAYS)
    assert counts[1] == len(line)
    if played.players == 2 or traverser == 0:
      assert got == pytest.approx(state.returns()[traverser])
    for player, cell in reversed(line):
      values[cell] += DECAY * (state.returns()[player] - values[cell])
      average[cell] += WEIGHT * (player != traverser)
    np.testing.assert_allclose(found.values, values, atol=1e-6)
    np.testing.assert_allclose(found.average, average, atol=1e-6)
    ends.append(got)
  assert len(set(ends)) > 1


@pytest.mark.parametrize("traverser", [0, 1])
def test_plays_against_a_fixed_opponent_are_what_is_written_down(played, deals, firsts, traverser):
  """The opponent's move is the last one, and nothing is learned of it; the average is the traverser's."""
  for seed, state in enumerate(deals):
    tables, fixed = some_tables(played, seed, firsts), np.zeros(played.cells)
    for first, last in zip(firsts, [*firsts[1:], played.cells], strict=True):
      fixed[first : last - 1] = -1.0
      fixed[last - 1] = 2.0
    found, got, counts = traversed(played, tables, state, traverser, PLAYS, fixed=fixed)
    path, nodes, new = [], 0, Tables(*(table.copy() for table in tables))
    while not state.is_terminal():
      first, actions = located(played, state)
      own = state.current_player() == traverser
      nodes += 1
      if own:
        path.append((first, len(actions)))
      state = state.child(actions[0 if own else -1])
    assert (got, counts[1]) == (state.returns()[traverser], nodes)
    for first, count in reversed(path):
      own = slice(first, first + count)
      new.values[first] += DECAY * (got - new.values[first])
      new.regrets[own] = np.maximum(new.regrets[own] + new.values[own] - new.values[first], 0)
      new.average[first] += WEIGHT  # the traverser's reach is one over the sampling's, which is one too
    for name, table in new._asdict().items():
      np.testing.assert_allclose(getattr(found, name), table, atol=1e-6, err_msg=name)


def test_weights_are_cut_at_the_greatest(played, deals, firsts):
  """A key that a play passes once learns in proportion to its weight, up to the greatest."""
  size, values = played.cells, np.random.default_rng(0).normal(size=played.cells)
  alone = np.concatenate(
    [own - own.mean() for own in np.split(values, firsts[1:])]
  )  # all moves are as likely
  tables = Tables(np.full(size, 1000.0), *np.zeros((4, size)))
  tables.values[: played.cells] = values
  weights = []
  for seed, state in itertools.product(range(4), deals):
    plain, cut, whole = (
      (
        traversed(played, tables, state, 0, NativePlays("learned", 0.5, 0.0, most_weight=most), seed)[
          0
        ].regrets
        - 1000
      )
      for most in (1.0, 3.0, 1e30)
    )
    once = np.flatnonzero((alone != 0) & (np.abs(plain[: played.cells] - alone) < 1e-9))
    np.testing.assert_allclose(cut[once], np.minimum(whole[once] / alone[once], 3) * alone[once], atol=1e-9)
    weights.extend(whole[once] / alone[once])
  assert min(weights) == pytest.approx(1) and max(weights) > 3.5


def test_powers_of_the_iteration(played):
  """Iteration 6 with a squared weight and a decay over its root is iteration 1 with those numbers."""
  tables = some_tables(played, 1)._replace(visits=np.zeros(0), skipped=np.zeros(0))
  samplers = (
    (6, RMPlus(gamma=2.0), NativePlays("learned", 0.3, 0.5, 0.5, MOST_WEIGHT)),
    (1, RMPlus(gamma=2.0), NativePlays("learned", 0.3, 0.5 / 6**0.5, most_weight=MOST_WEIGHT)),
  )
  with precision("float64"):
    first, second = (
      sampler.turn(
        Matchup(played), key_tables(tables), Turn(jnp.int32(0), jnp.int32(t), jax.random.key(2)), rule, 8
      )
      for t, rule, sampler in samplers
    )
  for name in ("regrets", "learned"):
    np.testing.assert_allclose(getattr(first, name), getattr(second, name), rtol=1e-12, err_msg=name)
  gained = [np.asarray(found.average.total) - tables.average for found in (first, second)]
  np.testing.assert_allclose(gained[0], (6 / 4) ** 2 * gained[1], atol=1e-12)
  assert np.abs(gained[1]).max() > 0.01


def test_linear_weights_in_units_of_a_power_of_two(played, monkeypatch):
  """To the last bit what plain weights give, regrets and skipped visits included: halving is exact."""

  def tables():
    sampler, game = Traversals("best_response", DECAY, 10**6, decisions=1), Matchup(played)
    run = functools.partial(mccfr.iterate, sampler=sampler, rule=RM(gamma=1.0), batch=3)
    return jax.jit(run)(game, mccfr.init(game, sampler, 0, "float32"), 70).tables

  scaled = tables()
  monkeypatch.setattr(averages, "weight", lambda t, gamma, dtype: t.astype(dtype) ** gamma)
  monkeypatch.setattr(averages, "scale", lambda t, gamma: 1.0)
  plain = tables()
  assert scaled.tally.skipped[1] > 100
  for name in ("regrets", "skipped"):
    np.testing.assert_array_equal(64 * getattr(scaled, name), getattr(plain, name), name)
  np.testing.assert_array_equal(64 * scaled.average.total, plain.average.total)


@pytest.mark.parametrize("traverser", [0, 1])
def test_corrected_plays_are_unbiased(played, deals, traverser):
  """Whatever has been learned, the means over many plays are the exact regrets and averages, cell by cell."""
  draws, zeros = 4000, np.zeros(played.cells)
  sampler = NativePlays("corrected", 0.3, 0.0)
  seeds = np.stack([np.arange(draws), np.full(draws, 7)], 1).astype(np.uint32)

  @jax.jit
  def plays(tables, hands, first):
    def play(seed):
      found = turn(played, tables, None, hands, first, np.int32(traverser), seed, sampler)
      return found.regrets, found.average.total

    return jax.lax.map(play, seeds)

  for number, state in enumerate(deals[::2]):
    tables = some_tables(played, number)
    tables = tables._replace(regrets=1000 * (1 + np.random.default_rng(number).random(len(zeros))))
    truth = {"regrets": zeros.copy(), "average": zeros.copy()}

    def value(state, reach, regrets=tables.regrets, truth=truth):
      if state.is_terminal():
        return state.returns()[traverser]
      first, actions = located(played, state)
      cells, own = slice(first, first + len(actions)), state.current_player() == traverser
      policy = regrets[cells] / regrets[cells].sum()
      reaches = np.full(len(actions), reach) if own else reach * policy
      values = np.array([value(state.child(a), r) for a, r in zip(actions, reaches, strict=True)])
      if own:
        truth["regrets"][cells] += reach * (values - policy @ values)
      else:
        truth["average"][cells] += WEIGHT * reach * policy
      return policy @ values

    value(state, 1.0)
    hands = np.array([list(state.hand(player)) for player in (0, 1)], np.int32)[:, :, None]
    with precision("float64"):
      given = key_tables(tables._replace(visits=np.zeros(0), skipped=np.zeros(0)))
      found = plays(given, hands, np.array([state.current_player()], np.int32))
    for name, many in zip(truth, map(np.asarray, found), strict=True):
      gained = many - getattr(tables, name)
      allowed = 5 * gained.std(0) / draws**0.5 + 1e-9
      assert (np.abs(gained.mean(0) - truth[name]) <= allowed).all()
      assert (truth[name] != 0).sum() >= 4


def test_the_opponents_moves_come_as_often_as_they_should(played, deals):
  """The mean value of many traversals is the value that all of the opponent's moves give."""
  tables, draws = some_tables(played, 5), 400
  written = Written(played, tables, 0, "none")

  def value(state):
    if state.is_terminal():
      return state.returns()[0]
    first, actions = located(played, state)
    policy = written.shares(tables.regrets[first : first + len(actions)])
    return policy @ [value(state.child(action)) for action in actions]

  for state in deals[::2]:
    sampler = Traversals("none", DECAY, 10**6)
    got = [traversed(played, tables, state, 0, sampler, k)[1] for k in range(draws)]
    assert np.mean(got) == pytest.approx(value(state), abs=5 * np.std(got) / draws**0.5 + 1e-9)
    assert np.std(got) > 0.01


def test_pruning_loses_nothing():
  """Exploitability is as low after the same iterations (see also test_mission), by fewer decisions."""
  game = pyspiel.load_game("cheat(ranks=2,suits=2,hand_size=2,max_turns=4)")
  nodes = {}
  for pruning in PRUNINGS:
    solver = ps_cfr_spiel.KeyedExternalSolver(game, pruning, batch=20, seed=1)
    solver.run(300)
    nodes[pruning] = solver.nodes
    measure = exploitability.exploitability if pruning == "regret" else ps_cfr_spiel.exploitability
    assert measure(game, solver.average_policy()) < 0.001  # uniform play: 0.65
    assert (solver.skipped > 0) == (pruning != "none")
  assert max(nodes[pruning] for pruning in PRUNINGS[1:]) < 0.95 * nodes["none"]


def test_a_traversal_that_is_too_long_is_given_up(game, tmp_path):
  """With a clear end; the run is as it was before, on file too."""
  solver = ps_cfr_spiel.KeyedExternalSolver(game, most_nodes=20)
  with pytest.raises(LimitReachedError, match="met 20 decisions and was given up at iteration"):
    solver.run(50, checkpoint=tmp_path / "run.safetensors")
  again = ps_cfr_spiel.load_solver(tmp_path / "run.safetensors")
  np.testing.assert_array_equal(again.average_policy().table, solver.average_policy().table)


def test_without_the_library(game, monkeypatch):
  """Plays go through the states, over the same keys; external sampling is refused."""
  monkeypatch.setattr(keyed_cheat, "why_unavailable", lambda: "it was not built")
  with pytest.raises(ValueError, match="cannot be traversed here: it was not built"):
    ps_cfr_spiel.KeyedExternalSolver(game)
  solver = ps_cfr_spiel.KeyedMCCFRSolver(game, key="memory", batch=20)
  solver.run(5)
  assert isinstance(solver._sampler, StatePlays) and solver.cells > 20
