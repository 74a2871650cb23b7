"""Plays of states: unbiased, by all plays of small games; and the library's plays are the same."""

import jax
import numpy as np
import pyspiel
import pytest
from game_checks import all_histories
from trajectories import GOOFSPIEL

from ps_cfr_spiel import keyed
from ps_cfr_spiel.cfr import RM, RMPlus
from ps_cfr_spiel.sampling import mccfr
from ps_cfr_spiel.sampling.keyed import KeyTables, Matchup, OpenSpielKeys, StatePlays
from ps_cfr_spiel.sampling.keyed.key_tables import add_counts
from ps_cfr_spiel.sampling.keyed.plays import Learning, choices
from ps_cfr_spiel.sampling.mccfr import Turn

EXPLORATION, WEIGHT = 0.3, 1.5
GAMES = {"kuhn": "kuhn_poker", "leduc": "leduc_poker", "goofspiel": GOOFSPIEL}


def some_tables(cells, seed=1):
  """Regrets, an empty average, and learned values."""
  regrets, learned = np.random.default_rng(seed).normal(0.3, 1, (2, cells))
  return {"regrets": regrets, "compensation": np.zeros(cells), "learned": learned}


def learning(tables, fixed=None, decay=0.0, floor=-np.inf):
  views = {name: memoryview(table) for name, table in tables.items()}
  fixed = None if fixed is None else memoryview(fixed)
  return Learning(**views, fixed=fixed, weight=WEIGHT, decay=decay, floor=floor)


def all_plays(play):
  """(probability, result) of each way in which `play(choose)` may choose."""
  scripts = [()]
  while scripts:
    script, made, probability = scripts.pop(), [], 1.0

    def choose(shares, script=script, made=made):
      nonlocal probability
      possible = [move for move, share in enumerate(shares) if share > 0]
      if len(made) >= len(script):
        scripts.extend((*made, other) for other in possible[1:])
      move = script[len(made)] if len(made) < len(script) else possible[0]
      made.append(move)
      probability *= shares[move] / sum(shares)
      return move

    result = play(choose)
    yield probability, result


def policy_of(weights):
  positive = np.maximum(weights, 0)
  return positive / positive.sum() if positive.any() else np.full(len(weights), 1 / len(weights))


def truth(form, tables, traverser, fixed=None):
  """The traverser's regrets, the policies of the average times their reach, and the value, recursively."""
  regrets, average = np.zeros((2, form.cells))

  def value(state, mine, others):
    if state.is_terminal():
      return state.player_return(traverser)
    if state.is_chance_node():
      return sum(p * value(state.child(a), mine, others * p) for a, p in state.chance_outcomes())
    cells, actions = form.locate(state)
    own = state.current_player() == traverser
    shares = policy_of((tables["regrets"] if own or fixed is None else fixed)[cells])
    children = [
      value(state.child(a), mine * p if own else mine, others if own else others * p)
      for a, p in zip(actions, shares, strict=True)
    ]
    values = np.array(children)
    if own:
      regrets[cells] += others * (values - shares @ values)
    if own == (fixed is not None):
      average[cells] += WEIGHT * others * (mine if own else 1) * shares
    return shares @ values

  return regrets, average, value(form.game.new_initial_state(), 1.0, 1.0)


@pytest.mark.parametrize("against", ["itself", "fixed"])
@pytest.mark.parametrize("traverser", [0, 1])
@pytest.mark.parametrize("name", GAMES)
def test_corrected_plays_are_unbiased(name, traverser, against):
  """Whatever has been learned: means over all plays, by their probability, are exact regrets and averages."""
  game = pyspiel.load_game(GAMES[name])
  form = OpenSpielKeys(game, cells=5000)
  for state, _ in all_histories(game):
    if state.current_player() >= 0:
      form.visit(state)
  tables = some_tables(form.cells)
  fixed = None if against == "itself" else np.random.default_rng(2).normal(0.3, 1, form.cells)
  sampler, gained, mean = StatePlays("corrected", EXPLORATION, 0.0), dict.fromkeys(tables, 0.0), 0.0

  def play(choose):
    now = {name: table.copy() for name, table in tables.items()}
    result, nodes = sampler.play(form, learning(now, fixed), traverser, choose)
    assert nodes <= game.max_game_length()
    return result, {name: now[name] - tables[name] for name in tables}

  total = explored = 0.0
  for probability, (result, gains) in all_plays(play):
    total += probability
    explored += probability * result
    gained = {name: gained[name] + probability * gains[name] for name in tables}
  regrets, average, mean = truth(form, tables, traverser, fixed)
  assert total == pytest.approx(1)
  assert abs(regrets).max() > 0.01 and explored != pytest.approx(mean)
  np.testing.assert_allclose(gained["regrets"], regrets, atol=1e-9)
  np.testing.assert_allclose(-gained["compensation"], average, atol=1e-9)
  assert not gained["learned"].any()


def test_learned_values_are_those_of_a_written_play():
  """Kuhn poker: player 0 has the king, checks, and calls a bet; what each decision learns, by hand."""
  form = OpenSpielKeys(pyspiel.load_game("kuhn_poker"), cells=24)
  tables = {"regrets": np.full(24, 1.0), "compensation": np.zeros(24), "learned": np.full(24, 0.5)}
  sampler = StatePlays("learned", 0.5, most_weight=1.5)
  moves = iter((2, 0, 0, 1, 1))  # in Kuhn poker the king and the jack; check, bet, call
  result, nodes = sampler.play(form, learning(tables, decay=0.2), 0, lambda shares: next(moves))
  assert (result, nodes) == (2.0, 3)
  check, bet, call = slice(0, 2), slice(2, 4), slice(4, 6)  # cells in the order of the play
  moved = 0.5 + 0.2 * (2 - 0.5)
  np.testing.assert_allclose(tables["learned"][call], [0.5, moved])
  np.testing.assert_allclose(tables["learned"][bet], [0.5, 0.5 + 0.2 * (-2 - 0.5)])
  np.testing.assert_allclose(tables["learned"][check], [moved, 0.5])
  mean = (0.5 + moved) / 2
  # Two moves of 1/2 each come before the call: its weight of 2 is cut.
  np.testing.assert_allclose(tables["regrets"][call], [1 + 1.5 * (0.5 - mean), 1 + 1.5 * (moved - mean)])
  np.testing.assert_allclose(tables["regrets"][check], [1 + moved - mean, 1 + 0.5 - mean])
  np.testing.assert_allclose(tables["regrets"][bet], 1.0)
  np.testing.assert_allclose(-tables["compensation"][bet], WEIGHT * 1.5 * 0.5)
  assert not tables["compensation"][check].any() and not tables["compensation"][call].any()


def test_regrets_are_cut_at_the_floor():
  """Regret matching plus keeps regrets at 0 or above; plain regret matching lets them become negative."""
  form = OpenSpielKeys(pyspiel.load_game("kuhn_poker"), cells=24)
  least = []
  for rule in (RM(), RMPlus()):
    sampler = StatePlays("corrected", 0.5)
    tables = jax.tree.map(np.array, KeyTables.empty(form, "float64", counted=False))
    turn = Turn(np.int32(0), np.int32(1), np.zeros(4, np.uint32))
    least.append(sampler.turn(Matchup(form), tables, turn, rule, 50).regrets.min())
  assert least[0] < 0 == least[1]


def test_weights_of_the_iteration():
  """A turn of iteration 6 counts (6/4) ** gamma, and its decay is that of the first over the root of 6."""
  form, found = OpenSpielKeys(pyspiel.load_game("kuhn_poker"), cells=24), []
  for t, sampler, rule in (
    (6, StatePlays("learned", 0.5, 0.4, decay_power=0.5), RM(gamma=2.0)),
    (1, StatePlays("learned", 0.5, 0.4 / 6**0.5), RM(gamma=2.0)),
  ):
    tables = jax.tree.map(np.array, KeyTables.empty(form, "float64", counted=False))
    turn = Turn(np.int32(1), np.int32(t), np.arange(4, dtype=np.uint32))
    found.append(sampler.turn(Matchup(form), tables, turn, rule, 30))
  late, first = found
  for name in ("regrets", "learned"):
    np.testing.assert_allclose(getattr(late, name), getattr(first, name), rtol=1e-6)
  np.testing.assert_allclose(late.average.total, (6 / 4) ** 2 * first.average.total, rtol=1e-6)
  assert np.abs(first.average.total).max() > 1
  assert int(first.tally.nodes[1]) == int(late.tally.nodes[1]) > 60


def test_choices_come_as_often_as_they_should():
  draws = 20_000
  choose = choices(np.arange(4))
  for shares in ([0.2, 0.0, 0.5, 0.3, 0.0], [1.0], [3.0, 1.0], [0.0, 1e-30]):
    often = np.bincount([choose(shares) for _ in range(draws)], minlength=len(shares))
    expected = np.array(shares) / sum(shares)
    assert (often[expected == 0] == 0).all()
    assert (np.abs(often - draws * expected) <= 5 * np.sqrt(draws * expected * (1 - expected)) + 1e-9).all()


def test_a_run_is_its_turns():
  """The loop of all samplers, over NumPy's tables: every turn has its traverser, iteration and numbers."""
  form, seen = OpenSpielKeys(pyspiel.load_game("kuhn_poker"), cells=24), []

  class Watched(StatePlays):
    def turn(self, game, tables, turn, rule, batch):
      seen.append((int(turn.traverser), int(turn.iteration), tuple(turn.random.tolist())))
      return super().turn(game, tables, turn, rule, batch)

  method = {"sampler": Watched("learned", 0.5, 0.5), "rule": RM(gamma=1.0), "batch": 2}
  state = mccfr.init(Matchup(form), method["sampler"], 3, "float64")
  whole = keyed.run(Matchup(form), state, 40, **method)
  assert [numbers[:2] for numbers in seen] == [(i, t) for t in range(1, 41) for i in (0, 1)]
  assert len({numbers[2] for numbers in seen}) == 80
  parts = state
  for iterations in (7, 20, 13):
    parts = keyed.run(Matchup(form), parts, iterations, **method)
  for one, other in zip(jax.tree.leaves(whole), jax.tree.leaves(parts), strict=True):
    np.testing.assert_array_equal(one, other)
  assert not np.asarray(state.tables.regrets).any()  # it is unchanged


def test_counts_beyond_a_million():
  total = add_counts(np.array([3, 999_999], np.int32), np.array([2_000, 2], np.int32))
  assert total.tolist() == [2_004, 1]
