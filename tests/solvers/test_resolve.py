"""Continual re-solving: exact exploitability, one policy whichever way it is asked, play, fewer actions."""

import functools
import logging

import jax
import numpy as np
import pyspiel
import pytest
from cuts import at_roots, decisions, levels
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import evaluate_bots
from reference_subgames import Game, profile_of, tables_of

import ps_cfr_spiel
from ps_cfr_spiel import ContinualResolving, PSCFRSolver
from ps_cfr_spiel.resolving.search import Search
from ps_cfr_spiel.values import CFRValues, SolvedValues

RIVER = "river_subgame(board=KhKd8c4s2h,stack=500,ranges=AsAd QsQd:0.5 7c6c;JsJd Ah8h 5c4c:3)"
RICHER = RIVER.replace("stack", "bets=0.5 1 2 a,stack")
CHASE = "glasses(edges=0-1 1-2 2-3 3-4 4-5 5-0 0-3,start=4:1,turns=4)"
DICE = "liars_dice(dice_sides=3)"
SKEWED = "turn_based_simultaneous_game(game=matrix_brps())"  # biased rock, paper, scissors
PENNIES = "add_noise(epsilon=0.1,seed=4,game=coordinated_mp())"  # without ties


def load(name):
  return pyspiel.load_game(name)


@functools.cache
def resolving(name, iterations=1000, **options):
  return ContinualResolving(load(name), iterations, **options)


@functools.cache
def exploitability(name, iterations=1000, **options):
  """The package's own, of the tabularised policy; OpenSpiel confirms it in `test_fewer_actions`."""
  return ps_cfr_spiel.exploitability(load(name), resolving(name, iterations, **options).tabularise())


@pytest.mark.parametrize(
  "name, bound",
  [("kuhn_poker", 1e-4), (DICE, 1e-5), (RIVER, 1e-2), (PENNIES, 1e-3)],
)
def test_exploitability_falls(name, bound):
  """Tabularised, with float32 and the defaults. Leduc and a chase: test_mission."""
  few, many = exploitability(name, 20), exploitability(name, 1000)
  assert -1e-6 <= many < bound
  assert many < 0.2 * few + 1e-6


@pytest.mark.parametrize("name", [SKEWED, PENNIES])
def test_unsafe_resolving_is_exploitable_and_gadgets_are_not(name):
  """Schmid 2021, Sections 19.4 and 20.1: ranges near an equilibrium's, and answers to them that are not."""
  worst = load(name).max_utility()
  assert exploitability(name, 1000, gadget="unsafe") > 0.01 * worst
  for gadget in ("cfr-d", "max-margin"):
    assert exploitability(name, 1000, gadget=gadget) < 1e-3 * worst


@pytest.mark.parametrize("alternating", [True, False])
def test_float64_and_rules(alternating):
  options = {"rule": "rm+", "dtype": "float64", "alternating": alternating}
  assert exploitability("kuhn_poker", 1000, **options) < (2e-3 if alternating else 2e-2)
  assert resolving("kuhn_poker", 1000, **options).tabularise().info["options"]["rule"]


@pytest.mark.parametrize(
  "name, options",
  [
    ("kuhn_poker", {"gadget": "max-margin", "dtype": "float64"}),
    ("kuhn_poker", {"lookahead": 1, "dtype": "float64"}),
    (RIVER, {"lookahead": 2}),
    (CHASE, {}),
  ],
)
def test_asked_out_of_the_blue(name, options):
  """The policy, stateless, is the tabularised one: one search after the other, or all of a level at once."""
  made = resolving(name, 12, **options)
  table, policy = made.tabularise(), made
  rng = np.random.default_rng(0)
  asked = list(made.labels.infostates())
  game = load(name)
  for k in rng.permutation(len(asked))[:8]:
    d, h, infostate = asked[k]
    state = game.new_initial_state()
    for action in made.labels.source.path(d, h):
      state.apply_action(action)
    found, expected = policy.action_probabilities(state), table.at(d.player, infostate)
    assert found == policy.action_probabilities(state, d.player) == made.at(d.player, infostate)
    assert list(found) == list(d.legal_actions) == state.legal_actions()
    assert found == pytest.approx(expected, abs=1e-6 if options.get("dtype") else 1e-3), infostate


@pytest.mark.parametrize("name", ["kuhn_poker", RIVER])
def test_lookahead(name):
  """The better the values at the frontier, the less exploitable; two decisions ahead works too.

  By CFR+: the default rule solves this river with any values, so that rounding would decide.
  """
  found = [exploitability(name, 300, rule="rm+", lookahead=1, value_function=CFRValues(k)) for k in (2, 100)]
  start = ps_cfr_spiel.exploitability(load(name), PSCFRSolver(load(name)).average_policy())
  assert -1e-6 <= found[1] < 0.05 * start
  assert found[1] < found[0]
  if name == "kuhn_poker":
    assert -1e-6 <= exploitability(name, 300, lookahead=2, value_function=CFRValues(100)) < 0.05 * start


def test_lookahead_beyond_the_end():
  """Nothing is beyond: the search to the end of the game, with any value function."""
  plain, far = (resolving("kuhn_poker", 50, lookahead=n).tabularise() for n in (None, 7))
  for a, b in zip(
    plain.strategies[0] + plain.strategies[1], far.strategies[0] + far.strategies[1], strict=True
  ):
    np.testing.assert_allclose(a, b, atol=1e-6)


def test_lookahead_with_the_solution_beyond():
  """Looked-up values are perfect at an equilibrium's ranges alone, so little more can be asked for."""
  solver = PSCFRSolver(load(RIVER))
  start = solver.exploitability()
  solver.run(2000)
  values = SolvedValues(solver.average_policy().strategies)
  made = ContinualResolving(load(RIVER), 500, lookahead=1, value_function=values)
  found = ps_cfr_spiel.exploitability(load(RIVER), made.tabularise())
  assert -1e-6 <= found < 0.5 * start


def resolved_levels(made, player):
  """The public states that are searched, by the number of own decisions before."""
  return levels(made.searcher.subgames, player)[1 - player :]  # player 0 begins in all of these games


@pytest.mark.parametrize(
  "name, gadget, quality",
  [(name, "cfr-d", "random") for name in ("kuhn_poker", RIVER, CHASE, "leduc_poker")]
  + [(name, "max-margin", "random") for name in ("kuhn_poker", RIVER)]
  + [(RIVER, "cfr-d", "uniform"), (RIVER, "max-margin", "uniform")],
)
def test_weak_strategies_are_only_improved(name, gadget, quality):
  """Re-solved from its own promises, level by level, a weak strategy of either player gets no worse.

  Best responses to it are worth no more from the start of the game; most often much less.
  """
  made, game = resolving(name, 300, gadget=gadget), whole(name)
  profile = game.random(9)
  if quality == "uniform":
    profile = {key: dict.fromkeys(row, 1 / len(row)) for key, row in profile.items()}
  better = []
  for player in (0, 1):
    tables = tables_of(made.tree, profile)
    search = Search(player, np.inf, (tables[0], tables[1]), (), {}, 0.0)
    start = game.known[0][1 - player]
    before = value = game.responses(profile, 1 - player)[start]
    for states in resolved_levels(made, player):
      search = made.searcher.resolve(search, states)
      after = game.responses(profile_of(made.tree, search.tables), 1 - player)[start]
      assert after <= value + 5e-3 * max(game.utility)
      value = after
    better.append(before - value)
  assert max(better) > 0.01 * max(game.utility)


@functools.cache
def whole(name):
  return Game(load(name))


def compilations(caplog):
  return [r.getMessage() for r in caplog.records if "Finished XLA compilation" in r.getMessage()]


@pytest.mark.parametrize(
  "name, options",
  [(CHASE, {}), (RIVER, {"lookahead": 1, "value_function": CFRValues(3)})],
)
def test_play_does_not_compile_again(name, options, caplog):
  """One search for each player and number of own decisions, and code is there for all others."""
  made = ContinualResolving(load(name), 12, **options)
  for player in (0, 1):
    for states in resolved_levels(made, player):
      made.search(states[0])
  with jax.log_compiles(), caplog.at_level(logging.DEBUG, logger="jax"):
    jax.jit(lambda x: x * 2 + 1.0)(np.ones(3))
    assert len(compilations(caplog)) == 1  # the log works
    searched = len(made.seconds)
    for player in (0, 1):
      for states in resolved_levels(made, player):
        for s in states:
          made.search(s)
    assert len(made.seconds) > searched + 3
    assert len(compilations(caplog)) == 1, compilations(caplog)


def test_what_to_expect_of_the_opponent():
  """What the first search that looked so far ahead says of each of their infostates; uniform beyond."""
  ahead = 2
  made = resolving("leduc_poker", 50, lookahead=ahead, value_function=CFRValues(10))
  first = made.start(0)
  (state, *_) = made.searcher.problems.levels[0].states(1)
  second = made.search(state)
  new = 0
  for before, after, level in zip(
    first.tables[1], second.tables[1], made.searcher.problems.stops[1], strict=True
  ):
    uniform = 1 / len(before)
    np.testing.assert_array_equal(after[:, level <= ahead], before[:, level <= ahead])
    assert (before[:, level > ahead] == uniform).all() and (after[:, level > ahead + 1] == uniform).all()
    new += (after[:, level == ahead + 1] != uniform).sum()
  assert new > 0
  assert any((block != 1 / len(block)).any() for block in first.tables[1])


@pytest.mark.parametrize("name", ["leduc_poker", CHASE, RIVER])
def test_bots_play_whole_games(name):
  made, game = resolving(name, 20), load(name)
  rng = np.random.RandomState(0)
  for _ in range(2):
    bots = [made.bot(i, seed=1) for i in (0, 1)]
    returns = evaluate_bots.evaluate_bots(game.new_initial_state(), bots, rng)
    assert sum(returns) == 0
  bots = [made.bot(0, seed=2), pyspiel.make_uniform_random_bot(1, 3)]
  assert sum(pyspiel.evaluate_bots(game.new_initial_state(), bots, 7)) == 0
  bots = [pyspiel.make_uniform_random_bot(0, 3), made.bot(1, seed=2)]
  assert sum(pyspiel.evaluate_bots(game.new_initial_state(), bots, 7)) == 0


def test_bot_tells_its_policy():
  made = resolving("kuhn_poker", 20)
  state = load("kuhn_poker").new_initial_state()
  for action in (0, 1):
    state.apply_action(action)
  bot, twin = made.bot(0, seed=5), made.bot(0, seed=5)
  assert bot.provides_policy()
  policy = bot.get_policy(state)
  assert dict(policy) == made.action_probabilities(state)
  drawn = [bot.step_with_policy(state) for _ in range(20)]
  assert all(told == policy for told, _ in drawn)
  assert [action for _, action in drawn] == [twin.step(state) for _ in range(20)]
  assert len(bot.seconds) == len(drawn) and min(bot.seconds) > 0
  bot.restart_at(state)
  with pytest.raises(ValueError, match="No player acts at this state"):
    made.action_probabilities(load("kuhn_poker").new_initial_state())


KEPT = (0, 1, 3, 5)  # fold, call, bet the pot, all-in; without 2, half the pot, and 4, all-in first of all


def test_fewer_actions():
  """Searches consider some actions; answers to the others are legal; what it all is worth is exact."""
  made, game = resolving(RICHER, 200, actions=KEPT), load(RICHER)
  table = made.tabularise()
  for k, (d, _, infostate) in enumerate(made.labels.infostates()):
    found = table.at(d.player, infostate)
    assert list(found) == list(d.legal_actions)
    assert sum(found.values()) == pytest.approx(1)
    assert all(p >= 0 and (p == 0 or a in KEPT) for a, p in found.items())
    assert k % 5 or made.at(d.player, infostate) == pytest.approx(found, abs=2e-3)
  found = ps_cfr_spiel.exploitability(game, table)
  assert found == pytest.approx(pyspiel.exploitability(game, table.to_pyspiel()), abs=1e-9)
  start = ps_cfr_spiel.exploitability(game, PSCFRSolver(game).average_policy())
  assert 0 < found < 0.3 * start


def test_actions_left_out_are_promised_what_was_there_before():
  """Schmid 2021, Section 21.2: no action is worth more to the opponent than the public state before it.

  For each root of the first re-solving, of player 1 whom player 0 has checked or bet to.
  """
  made, game = resolving(RICHER, 200, actions=KEPT), whole(RICHER)
  search, subgames = made.start(1), made.searcher.subgames
  truth = game.responses(profile_of(made.tree, search.tables), 0, KEPT)
  (states,) = levels(subgames, 1)[:1]
  whole_game = subgames.cut([0])
  before = at_roots(game, subgames, 0, whole_game.roots[0], truth)
  off_tree = 0
  for s in states:
    subgame = subgames.cut([s], actions=KEPT)
    promises = made.searcher.problems.promises.values(search, subgame, lambda own: own)
    action = made.labels.public_states[s].action
    if action in KEPT:
      expected = at_roots(game, subgames, 0, subgame.roots[0], truth)
      assert (expected <= before + 1e-9).all()
    else:
      expected, off_tree = before, off_tree + 1
    np.testing.assert_allclose(promises, expected, rtol=0, atol=1e-4)
  assert 0 < off_tree < len(states)


def test_nothing_bounds_what_comes_later():
  """In Leduc a call that was left out ends the round: the next card is not known where it was made."""
  with pytest.raises(ValueError, match=r"actions: 1 cannot be left out: in leduc_poker\(\) the opponent"):
    ContinualResolving(load("leduc_poker"), 5, actions=[0, 2])


def test_actions_left_out_one_after_the_other():
  """In Leduc without raises the opponent may raise before and after the card: bounds below bounds."""
  game = load("leduc_poker")
  made = ContinualResolving(game, 50, actions=[0, 1])
  assert (
    len(made.searcher.problems.promises.asked(decisions(made.searcher.subgames))) > 2
  )  # anchors of two depths
  policy = made.tabularise()
  strategies = [block for blocks in policy.strategies for block in blocks]
  assert all(np.isfinite(block).all() for block in strategies)
  uniform = ps_cfr_spiel.exploitability(game, openspiel_policy.UniformRandomPolicy(game))
  assert ps_cfr_spiel.exploitability(game, policy) < uniform / 4


def test_hidden_moves_cannot_be_left_out():
  goofspiel = (
    "turn_based_simultaneous_game(game=goofspiel(num_cards=3,imp_info=True,points_order=descending))"
  )
  with pytest.raises(ValueError, match="hidden moves; search it with all actions"):
    ContinualResolving(load(goofspiel), 5, actions=[0, 1, 2])


@pytest.mark.parametrize("gadget", ["cfr-d", "max-margin"])
@pytest.mark.parametrize("probability", [0.0, 1e-36])
def test_where_the_player_never_comes(probability, gadget):
  """Own range zero or next to it, opponent's too: still a legal strategy, of finite numbers."""
  made, game = resolving("leduc_poker", 12, gadget=gadget), whole("leduc_poker")
  first = {
    key: {a: 1.0 if a == min(row) else probability for a in row} for key, row in game.random(0).items()
  }
  for player in (0, 1):
    tables = tables_of(made.tree, first)
    search = Search(player, np.inf, (tables[0], tables[1]), (), {}, 0.0)
    for states in resolved_levels(made, player):
      search = made.searcher.resolve(search, states)
    for block in search.tables[player]:
      assert np.isfinite(block).all() and (block >= 0).all()
      np.testing.assert_allclose(block.sum(0), 1, atol=1e-6)


def either_begins():
  """Public chance decides whose turn is first; all moves are unseen, and random amounts are paid."""
  rng, lines, ends = np.random.default_rng(0), ['EFG 2 R "either begins" { "0" "1" } ""'], []
  infostates: dict[str, dict] = {"0": {}, "1": {}}

  def write(turns, moves):
    if len(moves) == len(turns):
      ends.append(moves)
      u = float(rng.integers(-9, 10))
      lines.append(f't "" {len(ends)} "" {{ {u} {-u} }}')
      return
    player = turns[len(moves)]
    own = "".join(move for turn, move in zip(turns, moves, strict=False) if turn == player)
    number = infostates[player].setdefault((turns, len(moves), own), len(infostates[player]) + 1)
    name = f"{player}.{number}"
    lines.append(f'p "" {int(player) + 1} {number} "{name}" {{ "a{name}" "b{name}" }} 0')
    for move in "ab":
      write(turns, moves + move)

  lines.append('c "" 1 "" { "first 0" 0.5 "first 1" 0.5 } 0')
  write("010", "")
  write("100", "")
  return pyspiel.load_efg_game("\n".join(lines) + "\n")


def test_some_act_before_anybody_has_decided():
  """Where nothing was decided before the first search is the last, and its promises count like all others."""
  game = either_begins()
  solver = PSCFRSolver(game)
  solver.run(300)
  values = SolvedValues(solver.average_policy().strategies)
  made = ContinualResolving(game, 300, lookahead=1, value_function=values)
  policy = made.tabularise()
  for decision, h, name in made.labels.infostates():
    asked = list(made.at(decision.player, name).values())
    np.testing.assert_allclose(asked, policy.table(decision)[:, h], rtol=0, atol=2e-3)
