"""Games of OpenSpiel with a form of ours: node for node and number for number the walked games."""

import collections
import itertools

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import exploitability as openspiel_exploitability

from ps_cfr_spiel import (
  PSCFRSolver,
  build_tree,
  check_game,
  load_solver,
)
from ps_cfr_spiel.backend.device import precision, to_device
from ps_cfr_spiel.cards.poker import BayesianForm, read_card_game
from ps_cfr_spiel.compilation.compiler import described, line_game, tree_of_lines
from ps_cfr_spiel.compilation.compiler.form_check import form_fault
from ps_cfr_spiel.compilation.compiler.forms import PublicStateIndex
from ps_cfr_spiel.compilation.compiler.from_form import build_bayesian
from ps_cfr_spiel.memory import TooLarge
from ps_cfr_spiel.resolving.search import stops_ahead
from ps_cfr_spiel.sampling.mccfr.sampling_trees import build_sampling_tree
from ps_cfr_spiel.tree import TERMINAL, evaluate

DICE = [(1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (2, 1), (2, 2), (3, 1), (4, 1)]  # dice, faces
LIARS_DICE = [
  f"liars_dice(numdice={dice},dice_sides={sides}{rule})"
  for dice, sides in DICE
  for rule in ("", ",bidding_rule=reset-quantity")
  # Without the largest and one more of a single side; the other rule with one die, two, and three.
  if (dice, sides) not in [(1, 5), (4, 1)] and (not rule or (dice, sides) in [(1, 3), (2, 2), (3, 1)])
]
POKER = {
  "kuhn": "kuhn_poker",
  "leduc": "leduc_poker",
  "Leduc of universal poker": "betting=limit,numRounds=2,blind=5 5,firstPlayer=1 1,numSuits=2,numRanks=3,"
  "numHoleCards=1,numBoardCards=0 1,raiseSize=10 20,maxRaises=1 1",
  "hands of two cards": "betting=limit,numRounds=2,blind=5 5,firstPlayer=2 1,numSuits=2,numRanks=3,"
  "numHoleCards=2,numBoardCards=0 1,raiseSize=10 20,maxRaises=1 1",
  "Rhode Island": "betting=limit,numRounds=3,blind=5 5,firstPlayer=1 1 1,numSuits=2,numRanks=3,"
  "numHoleCards=1,numBoardCards=0 1 1,raiseSize=10 20 20,maxRaises=1 0 1",
  "all-ins": "betting=nolimit,numRounds=2,blind=5 10,firstPlayer=2 1,numSuits=2,numRanks=3,numHoleCards=1,"
  "numBoardCards=0 1,stack=40 60,bettingAbstraction=fcpa",
}
POKER = {k: f"universal_poker(numPlayers=2,{v})" if "=" in v else v for k, v in POKER.items()}
SMALL = "liars_dice(numdice=1,dice_sides=3)"
BY_DEFAULT = "liars_dice(numdice=3,dice_sides=2)"  # more histories than `WALKED`


def by_form(game):
  return build_bayesian(game, PublicStateIndex.of(described.describe(game)))


def values(tree, seed):
  """float64[3]: value and best responses of a random profile, which depends on names alone."""
  strategies = [[np.zeros(shape) for shape in player.block_shapes] for player in tree.players]
  rng, profile = np.random.default_rng(seed), {}
  for d, h, name in sorted(tree.names.infostates(), key=lambda found: (found[0].player, found[2])):
    profile[d.player, name] = rng.dirichlet(np.ones(len(d.legal_actions)))
    strategies[d.player][d.block][:, d.row, h] = profile[d.player, name]
  with precision("float64"):
    found = evaluate(*to_device((tree, strategies), "float64"))
    return np.array([found.value, *found.best_response], float)


@pytest.mark.parametrize(
  "name", ["liars_dice(numdice=2,dice_sides=2,bidding_rule=reset-quantity)", "kuhn_poker"]
)
def test_lines_made_ahead_are_the_walked_game(name):
  """All of them below the start; and the way to a line with those below it, to the end of a lookahead."""
  game, no_limit = pyspiel.load_game(name), 10**6
  whole, walked = line_game(game), build_tree(game, leaves="sparse")
  made = tree_of_lines(game, whole, (), stops_ahead(0, None), no_limit)
  assert form_fault(made, walked) is None
  np.testing.assert_allclose(values(made, 0), values(walked, 0), rtol=0, atol=1e-12)
  legal = {name: d.legal_actions for d in walked.names.decisions for name in d.infostates}
  part = tree_of_lines(game, whole, (0,), stops_ahead(1, 1), no_limit).names
  some = {name: d.legal_actions for d in part.decisions for name in d.infostates}
  assert some.items() < legal.items() and {d.player for d in part.decisions} == {0, 1}
  with pytest.raises(ValueError, match=r"the history \[9\] is impossible"):
    tree_of_lines(game, whole, (9,), stops_ahead(0, 1), no_limit)


@pytest.mark.parametrize("name", LIARS_DICE)
def test_a_form_is_the_walked_game(name):
  """Infostates, actions, counts of public states and histories; values and best responses to 1e-12."""
  game = pyspiel.load_game(name)
  form, walked = by_form(game), build_tree(game, leaves="sparse")
  assert form_fault(form, walked) is None
  for players in ((0,), (1,), (TERMINAL,)):
    assert form.names.num_public_states(players) == walked.names.num_public_states(players)
  assert [form.names.num_infostates(i) for i in (0, 1)] == [walked.names.num_infostates(i) for i in (0, 1)]
  assert described.describe(game).histories == walked.names.histories
  for seed in range(3):
    np.testing.assert_allclose(values(form, seed), values(walked, seed), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", POKER.values(), ids=POKER)
def test_poker_by_its_form_is_the_walked_game(name):
  """The same, and a path, its infostate and its place belong together."""
  game = pyspiel.load_game(name)
  form, walked = by_form(game), build_tree(game, leaves="sparse")
  assert form_fault(form, walked) is None
  for player in (0, 1):
    assert form.names.num_public_states((player,)) == walked.names.num_public_states((player,))
    assert form.names.num_infostates(player) == walked.names.num_infostates(player)
  assert len(form.names.public_states) == described.describe(game).size
  np.testing.assert_allclose(values(form, 1), values(walked, 1), rtol=0, atol=1e-12 * game.max_utility())
  infostates = list(form.names.infostates())
  for decision, h, infostate in infostates[:: max(1, len(infostates) // 40)]:
    state = game.new_initial_state()
    for action in form.names.source.path(decision, h):
      state.apply_action(action)
    assert form.names.infostate(state, decision.player) == infostate
    again, column = form.names.decision_at(state, decision.player)
    assert (again.public_state, column) == (decision.public_state, h)
  with pytest.raises(ValueError, match="has no information state"):
    form.names.find(1, infostates[0][2])


def test_cards_that_come_together():
  """A flop of two cards: the same values, and each pair of cards is one public state."""
  given = POKER["all-ins"].replace("numBoardCards=0 1", "numBoardCards=0 2")
  game = pyspiel.load_game(given)
  form, walked = read_card_game(game), build_tree(game, leaves="sparse")
  tree = build_bayesian(game, PublicStateIndex.of(form))
  assert form_fault(tree, walked) is None
  np.testing.assert_allclose(values(tree, 1), values(walked, 1), rtol=0, atol=1e-12 * game.max_utility())
  assert len(tree.names.public_states) == form.size
  decision = next(d for d in tree.names.decisions if len(tree.names.source.path(d, 0)) > 5)
  (h, name), *_ = ((h, name) for h, name in enumerate(decision.infostates) if name is not None)
  state = game.new_initial_state()
  for action in tree.names.source.path(decision, h):
    state.apply_action(action)
  assert state.information_state_string(decision.player) == name
  with pytest.raises(ValueError, match="several public cards at once"):
    build_sampling_tree(game, tree)


@pytest.mark.parametrize(("dice", "sides"), DICE)
def test_the_sizes_are_those_of_the_formulas(dice, sides):
  """2^K sets of K bids; a call ends all but the empty one; hands are multisets of dice."""
  tree = by_form(pyspiel.load_game(f"liars_dice(numdice={dice},dice_sides={sides})"))
  bids = 2 * dice * sides
  hands = len({tuple(sorted(roll)) for roll in itertools.product(range(sides), repeat=dice)})
  assert tree.names.num_public_states((0, 1)) == 2**bids
  assert tree.names.num_public_states((TERMINAL,)) == 2**bids - 1
  assert [tree.names.num_infostates(player) for player in (0, 1)] == [2 ** (bids - 1) * hands] * 2


@pytest.mark.parametrize("name", ["liars_dice(numdice=1,dice_sides=3)", "liars_dice(numdice=2,dice_sides=2)"])
def test_labels_are_the_games(name):
  """Paths and histories lead to their states, names find their places, and ends pay what the game pays."""
  game = pyspiel.load_game(name)
  labels, paid = by_form(game).names, collections.defaultdict(set)
  for decision, h, infostate in labels.infostates():
    state = game.new_initial_state()
    for action in labels.source.path(decision, h):
      state.apply_action(action)
    assert state.current_player() == decision.player
    assert state.information_state_string(decision.player) == infostate
    assert tuple(state.legal_actions()) == decision.legal_actions
    again, column = labels.find(decision.player, infostate)
    assert (again.public_state, again.block, again.row, column) == (
      decision.public_state, decision.block, decision.row, h,
    )  # fmt: skip
  walked = build_tree(game).names.source.histories
  for end in np.flatnonzero(walked.player == TERMINAL).tolist():
    moves, node = [], end
    while walked.player[walked.parent[node]] >= 0:
      moves.append(int(walked.action[node]))
      node = int(walked.parent[node])
    paid[tuple(moves[::-1])].add(float(walked.utility[end]))
  for number, public in enumerate(labels.public_states):
    state = game.new_initial_state()
    for action in labels.source.history(number):
      state.apply_action(action)
    assert state.current_player() == public.player
    if public.player == TERMINAL:
      moves = tuple(labels.source.history(number)[2 * game.get_parameters()["numdice"] :])
      assert labels.source.payoffs(number) == sorted(paid[moves])


@pytest.mark.parametrize("infostate", ["1 9-9", "1 1-2 1-1", "1 1-1 1-1", "1 2-3 2-3", "7", "", "1 1-1"])
def test_a_string_of_no_decision_is_refused(infostate):
  with pytest.raises(ValueError, match="Player 0 has no information state"):
    by_form(pyspiel.load_game(SMALL)).names.find(0, infostate)


@pytest.fixture
def forms_first(monkeypatch):
  monkeypatch.setattr(described, "WALKED", 0)
  monkeypatch.setattr(described, "SMALL", ())


def test_solvers_on_the_form_do_what_they_do_on_the_walk(monkeypatch):
  """In Leduc: in liar's dice rounding errors decide between actions that are worth exactly the same."""
  game, found = pyspiel.load_game(POKER["leduc"]), []
  monkeypatch.setattr(described, "SMALL", ())
  for most in (0, 10_000):
    monkeypatch.setattr(described, "WALKED", most)
    solver = PSCFRSolver(game, "rm+", dtype="float64")
    solver.run(100)
    found.append((solver, solver.average_policy().to_tabular()))
  (by_form, first), (by_enumeration, second) = found
  assert by_form.tree.leaves.kind == "boards" != by_enumeration.tree.leaves.kind
  assert by_form.exploitability() == pytest.approx(by_enumeration.exploitability(), abs=1e-9)
  for name, place in first.state_lookup.items():
    row = second.action_probability_array[second.state_lookup[name]]
    np.testing.assert_allclose(first.action_probability_array[place], row, atol=1e-6)
  expected = openspiel_exploitability.exploitability(game, first)
  assert by_form.exploitability() == pytest.approx(expected, abs=1e-9)


def test_a_solver_solves_the_form_and_the_walk(monkeypatch):
  game, kinds = pyspiel.load_game(SMALL), set()
  for most in (0, described.WALKED):
    monkeypatch.setattr(described, "WALKED", most)
    solver = PSCFRSolver(game, dtype="float64")
    solver.run(100)
    kinds.add(solver.tree.leaves.kind == "boards")
    expected = openspiel_exploitability.exploitability(game, solver.average_policy().to_tabular())
    assert solver.exploitability() == pytest.approx(expected, abs=1e-9)
    assert abs(solver.exploitability()) < 1e-9
  assert kinds == {True, False}


def test_openspiel_evaluates_a_policy_of_a_form(forms_first):
  solver = PSCFRSolver(pyspiel.load_game(POKER["Leduc of universal poker"]), dtype="float64")
  solver.run(20)
  assert solver.tree.leaves.kind == "boards"
  expected = openspiel_exploitability.exploitability(solver.game, solver.average_policy().to_tabular())
  assert solver.exploitability() == pytest.approx(expected, abs=1e-9)


def test_a_large_game_goes_in_by_its_form_and_comes_out_of_a_file(tmp_path):
  solver = PSCFRSolver(pyspiel.load_game(BY_DEFAULT))
  assert "the deal counted as one event" in solver.summary()
  solver.run(50)
  solver.save(tmp_path / "solver")
  again = load_solver(tmp_path / "solver")
  assert again.exploitability() == solver.exploitability() < 0.05
  state = solver.game.new_initial_state()
  for action in (0, 1, 1, 0, 0, 0, 3, 5):
    state.apply_action(action)
  legal = again.average_policy().action_probabilities(state)
  assert list(legal) == state.legal_actions() and sum(legal.values()) == pytest.approx(1)


def test_options_that_need_histories_walk():
  tree = build_tree(pyspiel.load_game(BY_DEFAULT), leaves="sparse")
  assert tree.leaves.kind == "sparse" and tree.names.histories == 524_287
  with pytest.raises(TooLarge, match=r"471,858,976|\d+ histories, .*leaves='sparse' needs all"):
    build_tree(pyspiel.load_game("liars_dice(numdice=2,dice_sides=5)"), leaves="sparse")


@pytest.mark.parametrize(
  ("game", "found"),
  [
    ("liars_dice(numdice=2,dice_sides=5)", f"1.3e+09 histories and {2**21 - 1:,} public states"),
    ("leduc_poker(players=2)", ""),
  ],
)
def test_check_builds_no_large_game(game, found, monkeypatch):
  monkeypatch.setattr("ps_cfr_spiel.compilation.compiler.game_check.build_bayesian", None)
  report = check_game(pyspiel.load_game(game), memory=8e9)
  assert report.solvable and found in str(report)


def test_a_game_too_large_for_the_machine_is_refused_before_it_is_built():
  huge = pyspiel.load_game("liars_dice(numdice=3)")
  for use in (build_tree, PSCFRSolver):
    with pytest.raises(TooLarge, match=r"about 41,000 GB of memory .*Use fewer dice or fewer faces\."):
      use(huge)
  report = check_game(huge)
  assert not report.solvable and "41,000 GB of memory" in str(report)
  with pytest.raises(TooLarge, match="1 MB are allowed"):
    build_tree(pyspiel.load_game(BY_DEFAULT), memory=1e6)


@pytest.mark.parametrize(
  "name",
  [
    "liars_dice_ir", "kuhn_poker(players=3)", "parametric_poker",
    "goofspiel(num_cards=3)", "leduc_poker(players=3)",
    "leduc_poker(suit_isomorphism=True)",
    POKER["Rhode Island"].replace("0 1 1", "0 3 1").replace("numRanks=3", "numRanks=6"),
    POKER["Rhode Island"].replace("0 1 1", "0 1 0"),
  ],
)  # fmt: skip
def test_other_games_are_walked(name):
  """Without a form, or with other public cards, hands that depend on each other or more players."""
  assert described.describe(pyspiel.load_game(name)) is None


def test_weights_of_hands_are_not_left_out():
  """OpenSpiel's parameter `handReaches` deals whole hands by their weights: no form has these."""
  rounds = "numRounds=2,firstPlayer=2 1,numBoardCards=0 1,numSuits=4,numRanks=13,numHoleCards=2"
  given = f"numPlayers=2,betting=nolimit,bettingAbstraction=fcpa,blind=100 50,stack=400 400,{rounds}"
  assert described.describe(pyspiel.load_game(f"universal_poker({given})")) is not None
  weighted = pyspiel.load_game(f"universal_poker({given},handReaches={'1 0.5 ' * 1326})")
  assert described.describe(weighted) is None
  with pytest.raises(ValueError, match="expected universal_poker for two without boardCards or handReaches"):
    read_card_game(weighted)


def test_a_small_deck_of_holdem():
  """Uniform play against uniform play as by dealing hands; a name finds its place, and its path the name."""
  game = pyspiel.load_game("holdem(deck=3x3,stack=4,blinds=2/1,bets=x)")
  tree = build_tree(game)
  assert sum(map(len, tree.names.source.lines.dealt.runouts)) == 1 + 84 + 84 * 6 + 84 * 6 * 5
  for decision in list(tree.names.decisions)[::997]:
    for h, name in enumerate(decision.infostates):
      if name is not None and h % 9 == 0:
        again, column = tree.names.find(decision.player, name)
        assert (again.public_state, column) == (decision.public_state, h)
        state = game.new_initial_state()
        for action in tree.names.source.path(decision, h):
          state.apply_action(action)
        assert state.information_state_string(decision.player) == name
  flop = tree.names.find_line("call, check, 2c2d4c")
  assert tree.names.line_to(flop) == ("Call", "Check", "Deal 2c2d4c")
  assert tree.names.source.history(flop)[-3:] == [0, 1, 6]
  # Player 1 folds the small blind with one half; a showdown of even hands is worth nothing.
  strategies = [[np.full(shape, 1 / shape[0]) for shape in player.block_shapes] for player in tree.players]
  with precision("float64"):
    assert float(evaluate(*to_device((tree, strategies), "float64")).value) == pytest.approx(0.5)
  assert described.describe(pyspiel.load_game("holdem")) is None


def test_a_form_that_derives_from_no_form_is_refused():
  game = pyspiel.load_game("river_subgame(pot=10,stack=20,bets=1 a,ranges=AA;KK)")
  kind = type("Own", (type(game),), {"bayesian_form": lambda self: object()})
  with pytest.raises(
    TypeError, match=r"Own\.bayesian_form\(\) must return .*poker\.BayesianForm, got <object"
  ):
    build_tree(kind(game.get_parameters()))


def test_a_form_without_a_field_is_refused():
  """Not by the AttributeError of whatever reads the field first, and no field is computed for it."""

  class Form(BayesianForm):
    types = strength = ()

    def infostate(self, line, runout, type_index):
      return ""

    @property
    def cards(self):
      raise AssertionError("read")

  class Game:
    def bayesian_form(self):
      return Form()

  with pytest.raises(TypeError, match=r"Game\.bayesian_form\(\) lacks betting, weights; .*types"):
    described.form_of(Game())
