"""Rake: three spots by hand, OpenSpiel's tools on raked rivers and turns, laws, and what refuses it."""

import re

import numpy as np
import pyspiel
import pytest
import safetensors.numpy
from game_checks import all_histories
from open_spiel.python.algorithms import expected_game_score, exploitability

from ps_cfr_spiel import (
  ContinualResolving,
  ExternalSamplingSolver,
  HoldemPolicy,
  PSCFRSolver,
  TreePolicy,
  VRMCCFRSolver,
  build_tree,
  evaluate_policy,
  holdem,
  river,
)
from ps_cfr_spiel.abstractions import HierarchicalMCCFRSolver, value_against
from ps_cfr_spiel.apps import views
from ps_cfr_spiel.apps.protocols import hand_records
from ps_cfr_spiel.backend.device import precision, to_device
from ps_cfr_spiel.batches import solve_batch
from ps_cfr_spiel.cards.poker import describe, from_words, parse_rake, read_card_game
from ps_cfr_spiel.hierarchical import cluster_sampling
from ps_cfr_spiel.hierarchical import evaluation as exact_evaluation
from ps_cfr_spiel.loading import load_game
from ps_cfr_spiel.matches import local_best_response
from ps_cfr_spiel.tree import evaluate

SPOT = "river_subgame(board=9s7c5s4h3c,pot=10,stack=25,bets=1 a,ranges={},rake=5%,cap=1)"
RIVER = SPOT.format("AA QQ KJs;TT AsKs 62s")
TURN = (
  "holdem_subgame(deck=5x2,board=2c3c4d5d,pot=10,stack=25,bets=1 a,ranges=6c6d 5c4c 6d2d:0.5;6c2d 3d2d,"
  "rake=5%,cap=1)"
)
FLOP = "holdem_subgame(deck=5x2,board=2c3c4d,pot=10,stack=12,bets=a,ranges=6c6d 5c4c;6c2d 5d3d,rake=10%)"
CHECK, BET = 1, 2


def dealt(game, hands, actions):
  """The state after two hands, given by their places in the ranges, and actions."""
  state = pyspiel.load_game(game).new_initial_state()
  for action in (*hands, *actions):
    state.apply_action(action)
  return state


# By hand, with 10 chips in the pot, of which 5% are raked, at most 1. By postflop-solver's conventions the
# winner gets half of the pot less the rake, the loser pays half of the pot, and a tie costs both half of it.


@pytest.mark.parametrize(
  ("ranges", "actions", "returns"),
  [
    ("AsAc;KsKc", (BET, 0), [4.5, -5]),  # the bet of 10 goes back before a pot of 10 is raked
    ("AsAc;KsKc", (CHECK, BET, 0), [-5, 4.5]),
    ("AsAc;KsKc", (CHECK, CHECK), [4.5, -5]),
    ("KsKc;AsAc", (CHECK, CHECK), [-5, 4.5]),
    ("AsAc;KsKc", (BET, CHECK), [14, -15]),  # 5% of 30 are above the cap
    ("AsAc;AhAd", (CHECK, CHECK), [-0.25, -0.25]),
    ("AsAc;AhAd", (BET, CHECK), [-0.5, -0.5]),
  ],
)
def test_spots_by_hand(ranges, actions, returns):
  game = SPOT.format(ranges)
  assert dealt(game, (0, 0), actions).returns() == pytest.approx(returns, abs=1e-12)
  by_unit = dealt(f"{game[:-1]},unit=5)", (0, 0), actions).returns()
  assert by_unit == pytest.approx(np.array(returns) / 5, abs=1e-12)


@pytest.mark.parametrize(
  ("actions", "returns"),
  [
    ([0], [50, -50]),  # before the flop
    ([1, 1], [90, -100]),  # of a pot of 200
    ([1, 1, 1, 1, 1, 1, 1, 1], [90, -100]),
    ([3, 1], [1950, -2000]),  # all-in before the flop; the flop came, and 5% of 4,000 are above the cap
  ],
)
def test_no_flop_no_drop(actions, returns):
  state = pyspiel.load_game("holdem(stack=2000,rake=5%,cap=50)").new_initial_state()
  board = ["2c", "7d", "9h", "Js", "3d"]
  cards = iter(["As", "Ah", "Ks", "Kh", *board])
  actions = iter(actions)
  while not state.is_terminal():
    if state.is_chance_node():
      name = f"Deal {next(cards)}"
      move = next(a for a, _ in state.chance_outcomes() if state.action_to_string(a) == name)
    elif (move := next(actions, None)) is None:  # after two checks on the flop player 0 bets, player 1 folds
      move = 0 if 0 in state.legal_actions() else BET
    state.apply_action(move)
  assert state.returns() == pytest.approx(returns)


def test_the_rake_of_a_pot_is_the_least_of_share_and_cap():
  rake = parse_rake("5%", 3, street=1)
  assert [rake.of(1, called) for called in (10, 30, 31, 1000)] == pytest.approx([1, 3, 3, 3])
  assert rake.of(0, 1000) == 0
  assert parse_rake("0.05", 0).of(0, 1000) == pytest.approx(100)


# The form against histories, by OpenSpiel's tools.


@pytest.mark.parametrize("name", [RIVER, TURN, FLOP], ids=["river", "turn", "flop"])
def test_values_of_random_strategies_are_those_of_all_histories(name):
  game, rng = pyspiel.load_game(name), np.random.default_rng(0)
  trees = [build_tree(game, leaves=leaves) for leaves in ("dense", "showdown", "native", "sparse")]
  profile, results = {}, []
  for tree in trees:
    assert not tree.leaves.zero_sum
    strategies = [[np.full(shape, 1 / shape[0]) for shape in player.block_shapes] for player in tree.players]
    for decision, h, text in tree.names.infostates():
      shares = profile.setdefault(text, rng.dirichlet(np.ones(len(decision.legal_actions))))
      strategies[decision.player][decision.block][:, decision.row, h] = shares
    with precision("float64"):
      results.append(evaluate(*to_device((tree, strategies), "float64")))
  *forms, histories = (np.concatenate([x.best_response, [x.value], x.others or ()]) for x in results)
  assert len(histories) == 4
  np.testing.assert_allclose(forms, [histories] * 3, rtol=0, atol=1e-9)


def test_a_solved_river_is_worth_what_openspiel_says():
  game = pyspiel.load_game(RIVER)
  solver = PSCFRSolver(game, dtype="float64")
  solver.run(300)
  evaluation, policy = solver.evaluation(), solver.average_policy()
  values = expected_game_score.policy_value(game.new_initial_state(), [policy] * 2)
  assert [evaluation.value, *evaluation.others] == pytest.approx(values, abs=1e-9)
  nash_conv = exploitability.nash_conv(game, policy, use_cpp_br=False)
  assert sum(evaluation.gains) == pytest.approx(nash_conv, abs=1e-9)
  assert nash_conv < 0.05


def test_locks_are_a_part_of_the_game():
  """Values of both players are those of the profile with locks, and gains those of free hands alone."""
  game = pyspiel.load_game(RIVER)
  solver = PSCFRSolver(game, dtype="float64", locks={"": {"Check": 1}, "Check, Bet 10": {"QQ": {"Fold": 1}}})
  solver.run(300)
  evaluation, policy = solver.evaluation(), solver.average_policy()
  values = expected_game_score.policy_value(game.new_initial_state(), [policy] * 2)
  assert [evaluation.value, *evaluation.others] == pytest.approx(values, abs=1e-9)
  assert all(row["probability"] == (row["action_name"] == "Check") for row in policy.to_rows([0]))
  assert max(evaluation.gains) < 0.05
  assert exploitability.nash_conv(game, policy, use_cpp_br=False) > 0.2  # of all hands


# Laws.


def test_what_both_players_win_is_less_by_the_expected_rake():
  """The rake of each end by its formula, over all histories of uniformly random play."""
  game, taken = pyspiel.load_game(RIVER), 0.0
  for state, _ in all_histories(game):
    if state.is_terminal():
      pot = 2 * min(state.public_state.spent)
      assert sum(state.returns()) == pytest.approx(-min(0.05 * pot, 1), abs=1e-12)
      replayed, chance = game.new_initial_state(), 1.0
      for action in state.history():
        uniform = replayed.is_chance_node() or 1 / len(replayed.legal_actions())
        chance *= dict(replayed.chance_outcomes())[action] if uniform is True else uniform
        replayed.apply_action(action)
      taken += chance * min(0.05 * pot, 1)
  tree = build_tree(game)
  uniform = [[np.full(shape, 1 / shape[0]) for shape in player.block_shapes] for player in tree.players]
  with precision("float64"):
    value, others = (evaluate(*to_device((tree, uniform), "float64"))[k] for k in (0, 3))
  assert float(value + others[0]) == pytest.approx(-taken, abs=1e-9)
  assert taken > 0.5


@pytest.mark.parametrize("name", ["river_subgame", "holdem_subgame", "holdem"])
def test_no_rake_is_the_game_as_it_was(name):
  plain, none = (pyspiel.load_game(f"{name}(stack=300{more})") for more in ("", ",rake=0%"))
  assert str(plain) == str(none) and "rake" not in str(plain)
  assert none.get_type().utility == pyspiel.GameType.Utility.ZERO_SUM and none.utility_sum() == 0


def test_a_tiny_rake_is_close_to_none():
  """Every showdown is paid in two parts, whose sum is nearly that of the game without rake."""
  evaluations = []
  for share in ("0%", "0.0000001%"):
    solver = PSCFRSolver(pyspiel.load_game(RIVER.replace("rake=5%,cap=1", f"rake={share}")), dtype="float64")
    solver.run(1)
    evaluations.append(solver.evaluation())
  plain, raked = evaluations
  assert plain.others is None and raked.others is not None
  assert raked.value == pytest.approx(plain.value, abs=1e-6)
  assert raked.best_response == pytest.approx(plain.best_response, abs=1e-6)


@pytest.mark.parametrize("name", [RIVER, TURN], ids=["river", "turn"])
def test_engines_and_samplers_agree(name):
  """Boards in C++, XLA on matrices, and external sampling come to values of nearly the same profile."""
  game = pyspiel.load_game(name)
  native, dense = (PSCFRSolver(game, leaves=leaves, dtype="float64") for leaves in ("native", "dense"))
  for solver in (native, dense):
    solver.run(200)
  assert native.evaluation().value == pytest.approx(dense.evaluation().value, abs=1e-2)
  assert max(*native.evaluation().gains, *dense.evaluation().gains) < 0.05
  sampler = ExternalSamplingSolver(game, seed=0)
  sampler.run(20_000)
  assert max(sampler.evaluation().gains) < 0.3


def test_whole_holdem_in_a_small_deck_is_compiled_with_rake():
  game = pyspiel.load_game("holdem(stack=8,blinds=2/1,bets=a,deck=5x2,rake=10%,cap=1)")
  lines = read_card_game(game).betting
  ends = lines.player < -1
  taken = np.where(lines.street[ends] > 0, np.minimum(0.1 * 2 * np.abs(lines.fold_payoff[ends]).max(1), 1), 0)
  assert not lines.zero_sum
  assert (lines.fold_payoff[ends].sum(1) <= 0).all() and (lines.fold_payoff[ends].sum(1) < 0).any()
  folds = lines.showdown_payoff[ends] == 0
  np.testing.assert_allclose(lines.fold_payoff[ends].sum(1)[folds], -taken[folds], atol=1e-12)


# What is shown, and what is refused.


def test_spots_show_their_rake():
  spot = river("Ks7d2c5h9s", pot=5.5, stack=20, ranges="AA;KK", rake="0.05", cap=2.5)
  assert spot.get_parameters()["rake"] == "5%" and spot.get_parameters()["cap"] == 250
  assert "behind 20, rake 5% up to 2.5, bets" in describe(str(spot))
  assert "rake 5.5%, bets" in describe(str(holdem("Ks7d2c5h", ranges="AA;KK", rake="5.5%")))
  assert "rake" not in describe(str(river(ranges="AA;KK")))
  summary = str(build_tree(spot).summary())
  assert "general sum" in summary and "nothing is guaranteed" in summary


@pytest.mark.parametrize(
  ("rake", "cap", "message"),
  [
    ("x", 0, "rake='x': must be a share of the pot"),
    ("-5%", 0, "rake='-5%': must be a share"),
    ("100%", 0, "from 0% to below 100%"),
    ("5", 0, "rake='5': must be a share"),
    ("5%", -1, "cap=-1: must be the most chips"),
    ("5%", 2.5, "cap=2.5: must be the most chips"),
    ("0%", 3, "cap=3 without rake: give the share"),
  ],
)
def test_rake_that_is_not_understood_is_refused(rake, cap, message):
  with pytest.raises(ValueError, match=message):
    parse_rake(rake, cap)


@pytest.mark.parametrize("text", ["river_subgame(rake=5)", "leduc_poker(rake=5%)"])
def test_rake_that_openspiel_refuses_is_explained(text):
  with pytest.raises(ValueError, match="a share in percent, such as rake=5%, of river_subgame"):
    load_game(text)


def test_shares_of_the_pot_add_up_to_the_pot_less_rake():
  """A pot of 20 with a cap of 1 chip leaves 19."""
  game = river("Ks7d2c5h9s", pot=20, stack=20, ranges="AA, KQs; KK, QJs", rake="5%", cap=1, bets="a")
  solver = PSCFRSolver(game)
  solver.run(10)
  evaluation, policy = solver.evaluation(), solver.average_policy()
  now = views.value_lines([evaluation.value, *evaluation.others], game)["EV from now"]
  assert sum(map(float, re.findall(r"([0-9.]+) for player", now))) == pytest.approx(19, abs=0.02)
  place = views.spot(policy)
  worth = views.worth_at(policy, place).since(place.spent[place.player])
  evs = np.array(worth.of_both(place))[:, 0]
  assert evs == pytest.approx(np.array([evaluation.value, *evaluation.others]) + 10, abs=1e-4)


@pytest.mark.parametrize(
  ("name", "lines"),
  [
    (RIVER, ["", "Check", "Check, Bet 10", "Bet 10", "Bet 10, All-in 20"]),
    (TURN, ["", "Check", "Check, Check, Deal 6c", "Check, Check, Deal 6d, Bet 10", "Bet 10, Call, Deal 5c"]),
  ],
  ids=["river", "turn"],
)
def test_both_players_values_at_spots_are_those_of_all_histories(name, lines):
  """A random profile: OpenSpiel's states below the spot, weighted by all choices on the way."""
  game, rng = pyspiel.load_game(name), np.random.default_rng(1)
  tree = build_tree(game)
  strategies = [
    [rng.dirichlet(np.ones(a), (n, h)).transpose(2, 0, 1) for a, n, h in p.block_shapes] for p in tree.players
  ]
  policy = TreePolicy(game, tree.names, strategies)
  for line in lines:
    place = views.spot(policy, line)
    totals, wanted = np.zeros(3), list(place.history)

    def add(state, chance, left, totals=totals):
      if state.is_terminal():
        totals += chance * np.array([*state.returns(), 1.0]) * (not left)
        return
      player = state.current_player()
      moves = state.chance_outcomes() if player < 0 else policy.action_probabilities(state).items()
      dealing = player < 0 and len(state.history()) < 2
      for action, probability in moves:
        if dealing or not left:
          add(state.child(action), chance * probability, left)
        elif state.action_to_string(player, action) == left[0]:
          add(state.child(action), chance * probability, left[1:])

    add(game.new_initial_state(), 1.0, wanted)
    evs = np.array(views.worth_at(policy, place).since(place.spent[place.player]).of_both(place))[:, 0]
    expected = totals[:2] / totals[2] + np.array(place.spent)
    assert evs == pytest.approx(expected[[place.player, 1 - place.player]], abs=1e-9), line


def hierarchical(name, iterations):
  """A solver with an abstraction that is none but for names of suits."""
  solver = HierarchicalMCCFRSolver(
    pyspiel.load_game(name), clusters=2, buckets="lossless", batch=32, dtype="float64", seed=1
  )
  solver.run(iterations, progress=False)
  return solver


@pytest.mark.parametrize(
  ("name", "natively"), [(TURN, True), (TURN, False), (FLOP, True)], ids=["turn", "products", "flop"]
)
def test_hierarchical_values_are_those_of_the_compiled_tree(name, natively, monkeypatch):
  if not natively:
    for module in (cluster_sampling, exact_evaluation):
      monkeypatch.setattr(module, "why_unavailable", lambda: "as if")
  solver = hierarchical(name, 10)
  assert "nothing is guaranteed" in solver.summary()
  policy, exact = solver.average_policy(), solver.evaluation()
  compiled = evaluate_policy(policy.game, policy)
  assert [exact.value, *exact.others] == pytest.approx([compiled.value, *compiled.others], abs=1e-9)
  assert exact.best_response == pytest.approx(compiled.best_response, abs=1e-9)
  assert exact.exploitability == pytest.approx(compiled.exploitability, abs=1e-9)
  mean = (exact.value + exact.others[0]) / 2
  assert value_against(policy, policy, progress=False) == pytest.approx(mean, abs=1e-9)


def test_hierarchical_runs_come_to_small_gains():
  assert max(hierarchical(TURN, 2000).evaluation().gains) < 0.1


class RiverValues:
  """Values of rivers, which are never asked."""

  cards, deck, beyond = 5, (), None

  def worths(self, given):
    raise AssertionError

  def street_leaves(self, situations, hands, ranges, ends):
    raise AssertionError


@pytest.mark.parametrize("leaves", ["native", "dense"])
def test_a_batch_of_raked_rivers_is_worth_what_openspiel_says(tmp_path, leaves):
  """Among rivers of the same bets without rake, and with another; in memory and in files."""
  plain = {
    "board": "9s7c5s4h3c",
    "pot": 10,
    "stack": 20,
    "bets": "a",
    "ranges": "AsAh 8s8d;TsTh 6h2h",
  }
  rivers = [
    plain | more for more in ({"rake": "5%", "cap": 1}, {}, {"rake": "10%"}, {"rake": 0.05, "cap": 1})
  ]
  options = {"rule": "rm+", "iterations": 20, "dtype": "float64", "leaves": leaves, "progress": False}
  batch, files = solve_batch(rivers, **options), solve_batch(rivers, **options, output=tmp_path)
  for number, (solution, filed, given) in enumerate(zip(batch, files, rivers, strict=True)):
    game, policy = from_words(given).game(), batch.policy(number)
    values = expected_game_score.policy_value(game.new_initial_state(), [policy] * 2)
    assert solution.value == pytest.approx(values[0], abs=1e-9)
    assert solution.others == (pytest.approx(values[1:], abs=1e-9) if "rake" in given else None)
    assert filed.others == (pytest.approx(values[1:], abs=1e-5) if "rake" in given else None)
    nash_conv = exploitability.nash_conv(game, policy, use_cpp_br=False)
    assert 2 * solution.exploitability == pytest.approx(nash_conv, abs=1e-9)
    best = np.array(solution.best_response) - values
    assert best.min() >= 0 and best.sum() == pytest.approx(nash_conv, abs=1e-9)
  assert batch[0][:4] == batch[3][:4]
  table = safetensors.numpy.load_file(tmp_path / "000000.safetensors")
  assert table["rake"].tolist() == pytest.approx([0.05, 0, 0.1, 0.05])
  assert table["cap"].tolist() == [1, 0, 0, 1]


def test_a_batch_solves_other_games_of_general_sum():
  """The battle of the sexes by OpenSpiel's tools."""
  game = pyspiel.convert_to_turn_based(pyspiel.load_game("matrix_bos"))
  (solution,) = batch = solve_batch([game], iterations=50, progress=False)
  policy = batch.policy(0).to_tabular()
  values = expected_game_score.policy_value(game.new_initial_state(), [policy] * 2)
  assert [solution.value, *solution.others] == pytest.approx(values, abs=1e-5)
  nash_conv = exploitability.nash_conv(game, policy, use_cpp_br=False)
  assert 2 * solution.exploitability == pytest.approx(nash_conv, abs=1e-5)


@pytest.mark.parametrize(
  "use",
  [
    lambda: ContinualResolving(pyspiel.load_game(RIVER), 5),
    lambda: VRMCCFRSolver(pyspiel.load_game(RIVER)),
    lambda: solve_batch([{"board": "Ks7d2c5h", "rake": "5%"}], values=RiverValues()),
    lambda: local_best_response(
      pyspiel.load_game(TURN), hierarchical(TURN, 1).average_policy(), hands=2, progress=False
    ),
    lambda: hand_records.rules_of(pyspiel.load_game("holdem(rake=5%)")),
    lambda: HoldemPolicy(
      pyspiel.load_game("holdem(rake=5%)"), PSCFRSolver(pyspiel.load_game("kuhn_poker")).average_policy()
    ),
  ],
  ids=["search", "baselines", "street", "sampled hands", "records", "agent"],
)
def test_uses_of_zero_sums_refuse_rake(use):
  with pytest.raises(ValueError, match="zero-sum") as error:
    use()
  assert "rake" in str(error.value)
