"""PS-CFR on OpenSpiel's own games: iterates, values and exploitability against OpenSpiel and LPs."""

import dataclasses

import numpy as np
import pyspiel
import pytest
from open_spiel.python import games  # noqa: F401  (registers those in Python)
from random_games import random_game
from reference import common_knowledge, sequence_form_value

import ps_cfr_spiel
from ps_cfr_spiel import PSCFRSolver, build_tree
from ps_cfr_spiel.compilation.compiler.from_histories import own_choices
from ps_cfr_spiel.compilation.histories import last_choices
from ps_cfr_spiel.compilation.histories.enumeration import enumerate_histories
from ps_cfr_spiel.compilation.histories.public_states import public_partition
from ps_cfr_spiel.rules import RM, RMPlus

BATTLESHIP = (
  "battleship(board_width=2,board_height=2,ship_sizes=[1],ship_values=[1],num_shots=2,"
  "allow_repeated_shots=False)"
)
UNIVERSAL_LEDUC = (
  "universal_poker(betting=limit,numPlayers=2,numRounds=2,blind=1 1,raiseSize=2 4,firstPlayer=1 1,"
  "maxRaises=2 2,numSuits=2,numRanks=3,numHoleCards=1,numBoardCards=0 1)"
)


def goofspiel(cards):
  return (
    f"turn_based_simultaneous_game(game=goofspiel(num_cards={cards},imp_info=True,points_order=descending))"
  )


GAMES = {
  "kuhn": "kuhn_poker",
  "leduc": "leduc_poker",
  "universal_leduc": UNIVERSAL_LEDUC,
  "liars_dice_3": "liars_dice(dice_sides=3)",
  "liars_dice_6": "liars_dice",
  "goofspiel_3": goofspiel(3),
  "goofspiel_4": goofspiel(4),
  "battleship": BATTLESHIP,
  "python_liars_poker": "python_liars_poker(players=2,hand_length=1,num_digits=2)",
  "tiny_hidden_moves": "coordinated_mp",
}

# In these games some regrets are exactly zero, and come out as 1e-17 or 0 by the order of summation; regret
# matching then plays a pure strategy or a uniform one. OpenSpiel's wrapper breaks such ties.
WITHOUT_TIES = {
  name: f"add_noise(epsilon=0.1,seed=3,game={game})" if name in ("liars_dice_3", "battleship") else game
  for name, game in GAMES.items()
}


@pytest.mark.parametrize(
  "name, rule, reference",
  [(name, RM(), pyspiel.CFRSolver) for name in WITHOUT_TIES]
  + [(name, RMPlus(), pyspiel.CFRPlusSolver) for name in ("kuhn", "leduc", "goofspiel_4", "battleship")],
)
def test_iterates_equal_openspiels(name, rule, reference):
  game = pyspiel.load_game(WITHOUT_TIES[name])
  ours, theirs = PSCFRSolver(game, rule, dtype="float64"), reference(game)
  for _ in range(2 if name == "liars_dice_6" else 5):
    ours.evaluate_and_update_policy()
    theirs.evaluate_and_update_policy()
  mine = ours.average_policy().to_pyspiel().policy_table()  # of all iterates
  other = theirs.tabular_average_policy().policy_table()
  assert mine.keys() == other.keys()
  worst = max(abs(p - dict(other[s])[a]) for s, row in mine.items() for a, p in row)
  assert worst < 1e-9


@pytest.mark.parametrize("name", sorted(GAMES.keys() - {"liars_dice_6", "python_liars_poker"}))
def test_exploitability_and_value_equal_openspiels(name):
  game = pyspiel.load_game(GAMES[name])
  solver = PSCFRSolver(game, dtype="float64")
  for iterations in (0, 3):
    solver.run(iterations)
    policy = solver.average_policy().to_pyspiel()
    expected = pyspiel.exploitability(game, policy)
    assert solver.exploitability() == pytest.approx(expected, abs=1e-9)
    value = pyspiel.expected_returns(game.new_initial_state(), policy, -1, False)[0]
    assert solver.value() == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(
  "name, value",
  [("kuhn", -1 / 18), ("leduc", None), ("liars_dice_3", None), ("goofspiel_3", 0), ("battleship", None)],
)
def test_converges_to_the_lps_value(name, value):
  game = pyspiel.load_game(GAMES[name])
  value = sequence_form_value(game) if value is None else value
  solver = PSCFRSolver(game, dtype="float64")
  solver.run(2000)
  evaluation = solver.evaluation()
  assert evaluation.exploitability < 2e-3
  assert -evaluation.best_response[1] - 1e-9 <= value <= evaluation.best_response[0] + 1e-9


@pytest.mark.parametrize("name", ["kuhn", "leduc", "liars_dice_3", "python_liars_poker"])
def test_all_forms_give_the_same_iterates(name):
  """Bayesian structure is found and used; without it, and without public states, nothing changes."""
  game = pyspiel.load_game(WITHOUT_TIES[name])
  found = PSCFRSolver(game, dtype="float64")
  assert found.tree.leaves.kind == "blocks"
  others = [
    PSCFRSolver(game, dtype="float64", leaves="sparse"),
    PSCFRSolver(game, dtype="float64", public_states="none"),
  ]
  assert all(other.tree.leaves.kind == "sparse" for other in others)
  for solver in (found, *others):
    solver.run(4)
  table = found.average_policy().to_pyspiel().policy_table()
  for other in others:
    same = other.average_policy().to_pyspiel().policy_table()
    assert table.keys() == same.keys()
    assert max(abs(p - dict(same[s])[a]) for s, row in table.items() for a, p in row) < 1e-9


def test_the_river_by_walking_equals_its_bayesian_form():
  game = pyspiel.load_game("river_subgame(stack=700,ranges=QQ:0.5 87s A9s:0.25 2d2h;TT:0.7 66 87s:2 AhKd)")
  solvers = [PSCFRSolver(game, dtype="float64", leaves=leaves) for leaves in ("showdown", "sparse")]
  for solver in solvers:
    solver.run(5)
  a, b = (solver.average_policy().to_pyspiel().policy_table() for solver in solvers)
  assert a.keys() == b.keys()
  assert max(abs(p - dict(b[s])[action]) for s, row in a.items() for action, p in row) < 1e-9


def test_observer_and_closure_agree_on_decisions():
  for name in ("kuhn", "leduc", "python_liars_poker"):
    game = pyspiel.load_game(GAMES[name])
    trees = [build_tree(game, public_states=source) for source in ("closure", "observer")]
    groups = [
      {
        frozenset(name for d in state.decisions for name in tree.labels.decisions[d].infostates if name)
        for state in tree.labels.public_states
        if state.player >= 0
      }
      for tree in trees
    ]
    assert groups[0] == groups[1]


def test_sizes_of_the_thesis():
  """Kuhn and Leduc in Schmid 2021, Table 13.3, by its own way of counting."""
  # A history for each node and one more for each private deal; a public state more than the public tree has;
  # all hands where a player acts, one where nobody does.
  for name, deals, expected in (("kuhn", 6, (64, 20, 12)), ("universal_leduc", 30, (9_487, 1_398, 468))):
    labels = build_tree(pyspiel.load_game(GAMES[name])).labels
    acting = [state for state in labels.public_states if state.player >= 0]
    hands = sum(len(labels.decisions[state.decisions[0]].infostates) for state in acting)
    others = len(labels.public_states) + 1 - len(acting)
    assert (labels.histories + deals, hands + others, len(labels.public_states) + 1) == expected


def test_known_sizes():
  """Decision infostates, public decision states: found by experiment in plain Python before this package."""
  for name, infostates, decisions in (
    ("kuhn", 12, 4),
    ("leduc", 936, 186),
    ("liars_dice_3", 192, 64),
    ("goofspiel_3", 16, 12),
    ("goofspiel_4", 162, 78),
    ("battleship", 162, 71),
  ):
    labels = build_tree(pyspiel.load_game(GAMES[name])).labels
    assert len(list(labels.infostates())) == infostates
    assert sum(state.player >= 0 for state in labels.public_states) == decisions


@pytest.mark.parametrize("seed", range(0, 25, 2))
def test_random_games(seed):
  """Laws over random games: a valid public tree, exploitability as OpenSpiel's, convergence to the LP."""
  game = random_game(seed)
  tree = build_tree(game)
  assert all(state.parent < number for number, state in enumerate(tree.labels.public_states))
  solver = PSCFRSolver(game, dtype="float64")
  policy = solver.average_policy().to_pyspiel()
  assert solver.exploitability() == pytest.approx(pyspiel.exploitability(game, policy), abs=1e-9)
  solver.run(3000)
  evaluation = solver.evaluation()
  assert -1e-12 <= evaluation.exploitability < 0.02
  value = sequence_form_value(game)
  assert -evaluation.best_response[1] - 1e-9 <= value <= evaluation.best_response[0] + 1e-9


@pytest.mark.parametrize("name", ["kuhn", "leduc", "liars_dice_3", "goofspiel_3", "battleship"])
def test_closure_is_common_knowledge(name):
  """The decision infostates of a public state, against chains of infostates followed one by one."""
  game = pyspiel.load_game(GAMES[name])
  labels = build_tree(game).labels
  groups = {
    frozenset(name for d in state.decisions for name in labels.decisions[d].infostates if name)
    for state in labels.public_states
    if state.player >= 0
  }
  assert groups == common_knowledge(game)


def test_walk_through_of_the_thesis():
  """Schmid 2021, 15.1.6: of the deals AA, KA, KK and QQ common knowledge tells the queens from the rest."""
  lines = ['EFG 2 R "cards" { "A" "B" } ""', 'c "" 1 "" { "AA" 0.25 "KA" 0.25 "KK" 0.25 "QQ" 0.25 } 0']
  for first, second in ("AA", "KA", "KK", "QQ"):
    mover, other = ("AKQ".index(card) + 1 for card in (first, second))
    lines += [f'p "" 1 {mover} "{first}" {{ "check" "bet" }} 0', f't "" {len(lines)} "" {{ 0 0 }}']
    lines += [f'p "" 2 {other} "{second}" {{ "fold" "call" }} 0']
    lines += [f't "" {len(lines) + n} "" {{ {n} {-n} }}' for n in (1, 2)]
  labels = build_tree(pyspiel.load_efg_game("\n".join(lines) + "\n")).labels
  beginnings = [state for state in labels.public_states if state.player == 0]
  names = [[name for d in state.decisions for name in labels.decisions[d].infostates] for state in beginnings]
  assert sorted([*map(len, names)]) == [1, 2]
  assert [name[-1] for held in sorted(names, key=len) for name in held] == ["Q", "A", "K"]


def test_invalid_public_states_are_named():
  kuhn = enumerate_histories(pyspiel.load_game("kuhn_poker"))
  leaky = dataclasses.replace(kuhn, public=kuhn.infostate[0])  # an observer that shows player 0's card
  with pytest.raises(ValueError, match="kuhn: its public observer shows more than player 1 knows"):
    public_partition("kuhn", leaky, own_choices(leaky)[0], "observer")
  forgetful = enumerate_histories(pyspiel.load_game("liars_dice_ir(dice_sides=3)"))
  choices = [last_choices(forgetful, player) for player in (0, 1)]
  with pytest.raises(ValueError, match="time is not common knowledge"):
    public_partition("liars_dice_ir", forgetful, choices, "closure")


def test_random_games_are_not_all_alike():
  trees = [build_tree(random_game(seed)) for seed in range(25)]
  assert len({tree.labels.histories for tree in trees}) > 10
  hidden = [any(len(state.decisions) > 1 for state in tree.labels.public_states) for tree in trees]
  assert any(hidden) and not all(hidden)


def test_no_public_states_but_a_solution():
  game = pyspiel.load_game("dark_hex(num_rows=2,num_cols=2)")
  with pytest.raises(ValueError, match=r"dark_hex.*has no public states.*'none'"):
    build_tree(game)
  solver = PSCFRSolver(game, public_states="none")
  solver.run(200)
  assert solver.exploitability() < 1e-3
  assert solver.value() == pytest.approx(sequence_form_value(game), abs=1e-3)


@pytest.mark.parametrize(
  "game, options, message",
  [
    ("catch", {}, "this one has 1 player"),
    ("einstein_wurfelt_nicht", {"limit": 1000}, "has more than 1,000 histories"),
    ("leduc_poker", {"limit": 1000}, r"leduc_poker\(\) has more than 1,000 histories, the limit"),
    ("leduc_poker", {"leaves": "showdown"}, r"'showdown' needs a game with a bayesian_form\(\)"),
    (goofspiel(3), {"leaves": "blocks"}, "'blocks' needs a Bayesian game"),
    ("kuhn_poker", {"public_states": "guess"}, "Unknown public_states 'guess'; choose one of 'closure'"),
    ("liars_dice(dice_sides=2)", {"public_states": "observer"}, "has no public observer; use"),
  ],
)
def test_what_cannot_be_compiled_is_named(game, options, message):
  with pytest.raises(ValueError, match=message):
    build_tree(pyspiel.load_game(game), **options)


@pytest.mark.parametrize("options", [{"public_states": "observer"}, {"leaves": "sparse"}])
def test_a_river_is_refused_before_it_is_walked(options, monkeypatch):
  def enumerate_histories(*_):
    raise AssertionError("walked")

  monkeypatch.setattr("ps_cfr_spiel.compilation.compiler.build.enumerate_histories", enumerate_histories)
  river = pyspiel.load_game("river_subgame")
  (option, value), *_ = options.items()
  with pytest.raises(
    ValueError, match=rf"61,000,831 histories, more than the limit of 5,000,000, and {option}='{value}'"
  ):
    build_tree(river, **options, limit=5_000_000)
  small = pyspiel.load_game("river_subgame(ranges=AsAd;QsQd)")
  with pytest.raises(AssertionError, match="walked"):
    build_tree(small, **options)


def test_summary_names_the_sizes():
  summary = build_tree(pyspiel.load_game("leduc_poker")).summary()
  for part in ("9,457", "186 decisions", "936 (468 and 468)", "93 x 6", "'blocks'"):
    assert part in summary


def test_policies_of_general_games(tmp_path):
  for name in ("leduc", "goofspiel_3"):
    game = pyspiel.load_game(GAMES[name])
    solver = PSCFRSolver(game)
    solver.run(20)
    policy = solver.average_policy()
    policy.save(tmp_path / "policy.safetensors")
    loaded = ps_cfr_spiel.load_policy(tmp_path / "policy.safetensors")
    for block, same in zip(sum(policy.strategies, ()), sum(loaded.strategies, ()), strict=True):
      np.testing.assert_allclose(block, same, rtol=1e-14)
    python = policy.to_tabular()
    assert ps_cfr_spiel.exploitability(game, python) == pytest.approx(solver.exploitability(), abs=1e-5)


def test_policies_of_other_layouts_are_evaluated():
  dark_hex = pyspiel.load_game("dark_hex(num_rows=2,num_cols=2)")
  leduc = pyspiel.load_game(GAMES["leduc"])
  for game, options in ((dark_hex, {"public_states": "none"}), (leduc, {"leaves": "sparse"})):
    solver = PSCFRSolver(game, dtype="float64", **options)
    solver.run(3)
    policy = solver.average_policy()
    assert ps_cfr_spiel.exploitability(game, policy) == pytest.approx(solver.exploitability(), abs=1e-9)
    cpp = policy.to_pyspiel()
    assert ps_cfr_spiel.exploitability(game, cpp, **options) == pytest.approx(
      solver.exploitability(), abs=1e-9
    )
  blocks = ps_cfr_spiel.exploitability(leduc, policy, leaves="blocks")  # through infostate names
  assert blocks == pytest.approx(solver.exploitability(), abs=1e-9)
