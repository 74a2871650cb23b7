import re

import jax
import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import expected_game_score, exploitability
from random_games import random_game

import ps_cfr_spiel
from ps_cfr_spiel import cfr
from ps_cfr_spiel.abstraction import Abstraction, abstract_tree, as_sets, bind, unbind
from ps_cfr_spiel.abstractions import abstract, abstraction_loss
from ps_cfr_spiel.backend.device import precision, to_device

KUHN = pyspiel.load_game("kuhn_poker")
LEDUC = "leduc_poker(suit_isomorphism=True)"


def members(abstraction, game):
  """The sets of both players as sets of infostates."""
  tree = ps_cfr_spiel.build_tree(game)
  found = []
  for player in (0, 1):
    names = sorted(name for decision, _, name in tree.names.infostates() if decision.player == player)
    groups = {}
    for name, number in zip(names, abstraction.sets[player].tolist(), strict=True):
      groups.setdefault(number, set()).add(name)
    found.append(set(map(frozenset, groups.values())))
  return found


def test_a_key_joins_what_it_does_not_tell_apart():
  """Kuhn: player 0's card is the first letter, player 1's too; p and b are what was played."""
  found = members(abstract(KUHN, lambda name, player: (name[0] == "0", name[1:])), KUHN)
  assert found == [
    {frozenset({"0"}), frozenset({"1", "2"}), frozenset({"0pb"}), frozenset({"1pb", "2pb"})},
    {frozenset({"0p"}), frozenset({"1p", "2p"}), frozenset({"0b"}), frozenset({"1b", "2b"})},
  ]


def test_presets():
  initial = abstract(KUHN, "initial")
  assert members(initial, KUHN) == [
    {frozenset("012"), frozenset({"0pb", "1pb", "2pb"})},
    {frozenset({"0p", "1p", "2p", "0b", "1b", "2b"})},
  ]
  assert (initial.count, initial.infostates, initial.words) == (3, 12, 0)
  assert abstract(KUHN, "identity").counts == (6, 6)
  seen = abstract(pyspiel.load_game(LEDUC), "observation")
  assert initial.count < seen.count <= seen.infostates == 288
  assert "3 sets of 12 infostates (25.0%)" in initial.summary()
  for line in initial.summary().splitlines():  # a name does not run into its fact
    assert re.match(r"[^:]+: +\S", line), line


def test_own_decisions_keep_infostates_apart():
  """Whatever the key: otherwise a path could meet a set twice."""
  found = members(abstract(KUHN, lambda name, player: 0), KUHN)
  assert found[0] == {frozenset("012"), frozenset({"0pb", "1pb", "2pb"})}


def test_words_of_a_map():
  """Two first sets of 4 and 3 infostates; the first was split in 2, 1 and 1, the second in 2 and 1.

  The pairs are what is left of their first sets and need no entry, the others do. Of two pairs from one first
  set, one needs entries.
  """
  sets = np.array([0, 0, 1, 2, 3, 3, 4], np.int32)
  none = np.zeros(0, np.int32)
  split = Abstraction("game", "key", (sets, none), (np.array([0, 0, 0, 1, 1], np.int32), none))
  assert split.words == 3
  pairs = Abstraction("game", "key", (np.array([0, 0, 1, 1], np.int32), none), (np.zeros(2, np.int32), none))
  assert pairs.words == 2


@pytest.mark.parametrize("text", ["kuhn_poker", LEDUC, "glasses(turns=2)"])
def test_laid_out_and_read_back(text):
  """Also in another layout of the same game: one row for each infostate, without types."""
  game = pyspiel.load_game(text)
  found = abstract(game, "initial")
  for leaves in ("auto", "sparse"):
    tree = ps_cfr_spiel.build_tree(game, leaves)
    parts = bind(tree, found)
    again = unbind(tree, parts, found.key)
    for player in (0, 1):
      np.testing.assert_array_equal(again.sets[player], found.sets[player])
      assert parts[player].sizes.sum() == len(found.sets[player])
      assert parts[player].column.min() == 1


def test_idle_types_belong_to_no_set():
  """In Leduc's table of types a hand that is on the board cannot be: such cells are no infostates."""
  tree = ps_cfr_spiel.build_tree(pyspiel.load_game("leduc_poker"))
  parts = bind(tree, abstract_tree(tree, pyspiel.load_game("leduc_poker"), "identity"))
  cells = sum(len(p.sets) for p in parts)
  infostates = sum(1 for _ in tree.names.infostates())
  assert sum(int((p.sets >= 0).sum()) for p in parts) == infostates == sum(p.count for p in parts)
  assert infostates < cells


# On a fixed abstraction


@pytest.mark.parametrize("rule", ["rm+", "nrm+"])
def test_identity_is_the_ordinary_solve(rule):
  """Bit by bit: where nobody has company there is nothing to expand or to add up."""
  plain, joined = (ps_cfr_spiel.PSCFRSolver(KUHN, rule, abstraction=key) for key in (None, "identity"))
  for solver in (plain, joined):
    solver.run(60)
  for one, other in zip(jax.tree.leaves(plain._state), jax.tree.leaves(joined._state), strict=True):
    np.testing.assert_array_equal(one, other)
  assert joined.abstraction.counts == (6, 6)


@pytest.mark.parametrize("rule", [cfr.RMPlus(), cfr.NRMPlus()])
def test_sets_of_one_play_as_infostates_do(rule):
  """To rounding: the operations are the same, but the compiler fuses them otherwise."""
  tree, strategies = ps_cfr_spiel.build_tree(KUHN), []
  alone = bind(tree, abstract_tree(tree, KUHN, "identity"))
  sets = [as_sets(own, p) for own, p in zip(tree.players, alone, strict=True)]
  with precision("float64"):
    device = to_device(tree, "float64")
    for joined in (cfr.WHOLE, to_device(tuple(sets), "float64")):
      state = cfr.init(device, rule, "float64", joined)
      state = cfr.run(device, state, 60, 0, joined, rule=rule, alternating=True)
      strategies.append(cfr.average_strategy(device, state, joined))
  for one, other in zip(*map(jax.tree.leaves, strategies), strict=True):
    np.testing.assert_allclose(one, other, atol=1e-12)


def reference_cfr_plus(game, set_of, iterations):
  """Average and current strategy of each set by plain Python CFR+ on the merged game.

  Alternating; the strategies of a turn are those at its start (trap: regrets that change while walking);
  members count with their reaches, iteration t with weight t.
  """
  regrets, sums = {}, {}

  def strategy(key, n):
    positive = regrets.setdefault(key, np.zeros(n))
    return positive / positive.sum() if positive.sum() > 0 else np.full(n, 1 / n)

  def walk(state, mover, frozen, reach, change, plays):
    if state.is_terminal():
      return state.returns()[mover]
    if state.is_chance_node():
      total = 0.0
      for a, p in state.chance_outcomes():
        after = reach.copy()
        after[1 - mover] *= p  # chance counts as the opponent's
        total += p * walk(state.child(a), mover, frozen, after, change, plays)
      return total
    player, actions = state.current_player(), state.legal_actions()
    name = state.information_state_string()
    key = (player, set_of(name, player))
    play = frozen.setdefault(key, strategy(key, len(actions)))
    values = []
    for a, p in zip(actions, play, strict=True):
      after = reach.copy()
      after[player] *= p
      values.append(walk(state.child(a), mover, frozen, after, change, plays))
    mean = float(play @ values)
    if player == mover:
      change[key] = change.get(key, 0) + reach[1 - mover] * (np.array(values) - mean)
      plays[name] = (key, reach[mover] * play)
    return mean

  current = {}
  for t in range(1, iterations + 1):
    for mover in (0, 1):
      frozen, change, plays = {}, {}, {}
      walk(game.new_initial_state(), mover, frozen, np.ones(2), change, plays)
      for key, x in change.items():
        regrets[key] = np.maximum(regrets[key] + x, 0)
      for key, x in plays.values():
        sums[key] = sums.get(key, 0) + t * x
  for key, x in regrets.items():
    current[key] = strategy(key, len(x))
  return {key: x / x.sum() for key, x in sums.items()}, current


@pytest.mark.parametrize("seed", [None, 3])
def test_tables_of_sets_are_those_of_plain_cfr_on_the_merged_game(seed):
  game = KUHN if seed is None else random_game(seed)
  key = (lambda name, player: name[1:]) if seed is None else "initial"
  abstraction = abstract(game, key)
  solver = ps_cfr_spiel.PSCFRSolver(game, "rm+", dtype="float64", abstraction=abstraction)
  solver.run(15)
  labels = solver.tree.names
  numbers = {}
  for player in (0, 1):
    names = sorted(name for decision, _, name in labels.infostates() if decision.player == player)
    numbers |= {(player, n): k for n, k in zip(names, abstraction.sets[player].tolist(), strict=True)}
  average, current = reference_cfr_plus(game, lambda name, player: numbers[player, name], 15)
  for table, policy in ((average, solver.average_policy()), (current, solver.current_policy())):
    for decision, _, name in labels.infostates():
      found = list(policy.at(decision.player, name).values())
      expected = table[decision.player, numbers[decision.player, name]]
      np.testing.assert_allclose(found, expected, atol=1e-9)


def test_policies_are_of_the_whole_game(tmp_path):
  solver = ps_cfr_spiel.PSCFRSolver(KUHN, "rm+", abstraction="initial", dtype="float64")
  solver.run(200)
  policy = solver.average_policy()
  assert solver.exploitability() == pytest.approx(exploitability.exploitability(KUHN, policy.to_tabular()))
  assert solver.exploitability() > 0.1  # players who do not look at their cards
  assert len({tuple(policy.at(1, name).items()) for name in ("0p", "1b", "2p")}) == 1
  solver.save(tmp_path / "run.safetensors")
  again = ps_cfr_spiel.load_solver(tmp_path / "run.safetensors")
  assert again.abstraction.key == "initial"
  for one in (solver, again):
    one.run(30)
  assert again.exploitability() == solver.exploitability()
  policy.save(tmp_path / "policy.safetensors")
  assert ps_cfr_spiel.load_policy(tmp_path / "policy.safetensors").at(0, "0") == policy.at(0, "0")


# Where the loss comes from


@pytest.mark.parametrize("seed", [None, 2, 6])
def test_loss_by_sets(seed):
  """Shares add up to what OpenSpiel says each best response wins; positive regrets bound them."""
  game = KUHN if seed is None else random_game(seed)
  abstraction = abstract(game, "initial")
  solver = ps_cfr_spiel.PSCFRSolver(game, "rm+", abstraction=abstraction, dtype="float64")
  solver.run(20)
  policy = solver.average_policy()
  loss = abstraction_loss(game, policy, abstraction)
  table = policy.to_tabular()
  values = expected_game_score.policy_value(game.new_initial_state(), [table, table])
  assert loss.nash_conv == pytest.approx(exploitability.nash_conv(game, table), abs=1e-12)
  for i, (gain, share, regret) in enumerate(zip(loss.gains, loss.shares, loss.regrets, strict=True)):
    best = exploitability.best_response(game, table, i)["best_response_value"]
    assert gain == pytest.approx(best - values[i], abs=1e-12)
    assert share.sum() == pytest.approx(gain, abs=1e-12)
    assert regret.sum() >= gain - 1e-12
    assert (regret >= 0).all()
  player, number, count, share = loss.worst(1)[0]
  assert share == max(*loss.shares[0], *loss.shares[1]) == loss.shares[player][number]
  assert count == (abstraction.sets[player] == number).sum() == len(loss.members(player, number))
  assert f"player {player}, set {number}" in loss.summary()


@pytest.mark.parametrize(("key", "cards"), [("identity", 1), (lambda name, player: name[1:], 3)])
def test_loss_by_hand(key, cards):
  """Kuhn, all pass: a bet wins 2 more with the lowest card, 1 more with the middle one, 0 with the best.

  Nobody meets a bet, so nothing can be won there.
  """
  tree = ps_cfr_spiel.build_tree(KUHN)
  strategies = [
    [np.stack([np.ones(shape[1:]), np.zeros(shape[1:])]) for shape in own.block_shapes]
    for own in tree.players
  ]
  passing = ps_cfr_spiel.TreePolicy(KUHN, tree.names, strategies)
  loss = abstraction_loss(KUHN, passing, abstract(KUHN, key))
  assert loss.gains == pytest.approx((1, 1))
  found = {}
  for i in (0, 1):
    for n, share in enumerate(loss.shares[i]):
      members = loss.members(i, n)
      assert len(members) == cards
      found[" ".join(members)] = share
  if key == "identity":
    expected = {"0": 2 / 3, "1": 1 / 3, "0p": 2 / 3, "1p": 1 / 3}
    assert {name: share for name, share in found.items() if share > 1e-12} == pytest.approx(expected)
    assert "0.666667, by '0p' alone" in loss.summary()
  else:
    assert found == pytest.approx({"0 1 2": 1, "0p 1p 2p": 1, "0pb 1pb 2pb": 0, "0b 1b 2b": 0})
    assert "1, by '0' and 2 more" in loss.summary()
  with pytest.raises(ValueError, match="Player 1 has the sets 0 to"):
    loss.members(1, 99)
  with pytest.raises(ValueError, match="player must be 0 or 1, got 2"):
    loss.members(2, 0)


def test_rounding_makes_no_regret_negative():
  """Three actions of equal worth, by policies whose sum is one only up to rounding: nothing is regretted."""
  deal = " ".join(f'"{n}" 1/64' for n in range(64))
  lines = ['EFG 2 R "equal" { "1" "2" } ""', f'c "" 1 "" {{ {deal} }} 0']
  for n in range(64):
    ends = [f't "" {3 * n + k + 1} "" {{ {n + 0.1} {-n - 0.1} }}' for k in range(3)]
    lines += [f'p "" 1 {n + 1} "" {{ "a" "b" "c" }} 0', *ends]
  game = pyspiel.load_efg_game("\n".join(lines) + "\n")
  tree = ps_cfr_spiel.build_tree(game)
  rows = [np.random.default_rng(0).random(shape) for shape in tree.players[0].block_shapes]
  policy = ps_cfr_spiel.TreePolicy(game, tree.names, [[x / x.sum(0) for x in rows], []])
  regrets = abstraction_loss(game, policy, abstract(game, "identity"), "float32").regrets[0]
  assert len(regrets) == 64 and 0 <= regrets.min() <= regrets.max() < 1e-6


def test_a_solution_loses_nothing():
  solver = ps_cfr_spiel.PSCFRSolver(KUHN, dtype="float64")
  solver.run(2000)
  loss = abstraction_loss(KUHN, solver.average_policy(), abstract(KUHN, "identity"))
  assert max(*loss.shares[0], *loss.shares[1]) < 1e-5


# Wrong input


def test_a_key_that_joins_other_actions():
  game = pyspiel.load_game("liars_dice(numdice=1,dice_sides=2)")
  with pytest.raises(ValueError) as error:
    abstract(game, lambda name, player: 0)
  assert "joins '" in str(error.value) and "with actions [" in str(error.value)
  assert str(error.value).count("with actions") == 2


def test_other_actions_may_be_matched_by_order():
  game = pyspiel.load_game("glasses(edges=0-1 1-2 2-3 3-0,start=3:1,turns=2,stay=no)")
  key = lambda name, player: player  # noqa: E731
  with pytest.raises(ValueError, match="by_order=True matches them by their order"):
    abstract(game, key)
  joined = abstract(game, key, by_order=True)
  assert joined.count < joined.infostates


def test_wrong_input():
  leduc = pyspiel.load_game(LEDUC)
  other = abstract(KUHN, "initial")
  with pytest.raises(ValueError, match=r"The abstraction is one of kuhn_poker\(\), not of leduc_poker"):
    ps_cfr_spiel.PSCFRSolver(leduc, abstraction=other)
  with pytest.raises(ValueError, match="The abstraction is one of kuhn_poker"):
    bind(ps_cfr_spiel.build_tree(leduc), other)
  with pytest.raises(ValueError, match=r"Unknown key 'suits'.*'observation', 'initial', 'identity'"):
    abstract(KUHN, "suits")
  with pytest.raises(ValueError, match=r"The key of '0' is \[\], which Python cannot hash"):
    abstract(KUHN, lambda name, player: [])
  with pytest.raises(ValueError, match="Expected an Abstraction, such as abstract makes, got None"):
    bind(ps_cfr_spiel.build_tree(KUHN), None)
  for dtype in ("int32", "float16", "bfloat16", None, "x"):
    with pytest.raises(ValueError, match="Unknown dtype"):
      abstraction_loss(KUHN, None, other, dtype)
  with pytest.raises(ValueError, match="by_order must be True or False, got 1"):
    abstract(KUHN, "initial", by_order=1)
  tree = ps_cfr_spiel.build_tree(KUHN)
  all_in_one = (np.zeros(6, int), other.sets[1]), (np.zeros(1, int), other.origin[1])
  one_set = Abstraction(other.game, "all", *all_in_one)
  with pytest.raises(ValueError, match="player 0 has sets whose members differ"):
    bind(tree, one_set)
  for number in (-1, 7):
    sets = np.append(other.sets[0][:-1], number), other.sets[1]
    with pytest.raises(ValueError, match="player 0 must number its 2 sets"):
      bind(tree, Abstraction(other.game, "wrong", sets, other.origin))
  short = Abstraction(other.game, "short", (other.sets[0][:5], other.sets[1]), other.origin)
  with pytest.raises(ValueError, match="Player 0 decides in 6 infostates, the abstraction has 5"):
    bind(tree, short)
