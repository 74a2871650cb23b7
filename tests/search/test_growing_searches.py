"""Searches whose trees grow: those of whole subgames in the end, tables of the same infostates, refusals."""

import gc
import re
import sys
import types

import jax
import numpy as np
import pyspiel
import pytest

from ps_cfr_spiel import exploitability, matches
from ps_cfr_spiel.backend.device import compilation
from ps_cfr_spiel.compilation.histories import history_origin
from ps_cfr_spiel.matches import CFRD, OnDemandResolving
from ps_cfr_spiel.resolving.search import carried_state, growing_searcher, stops_ahead
from ps_cfr_spiel.resolving.search.growing_searcher import GrowingProblems
from ps_cfr_spiel.resolving.search.value_functions import BoundStateValues, ValueFunction
from ps_cfr_spiel.resolving.subgames import PublicLines, PublicStates, public_states_of
from ps_cfr_spiel.solvers.agents import on_demand_resolving
from ps_cfr_spiel.values import CFRValues, StateValues

NOTHING = StateValues(lambda states: np.zeros(len(states)))
KUHN, LEDUC = "kuhn_poker", "leduc_poker"
SOLVING = {"rule": "rm+", "dtype": "float64"}
GROWING = {"value_function": NOTHING, **SOLVING}


def resolving(name, iterations, expansions, **options):
  return OnDemandResolving(pyspiel.load_game(name), iterations, expansions=expansions, **GROWING | options)


def first_steps(policy, player=0):
  """The search from the start and one after it, of player 0, in Leduc."""
  policy.search([0, 1], player)
  policy.search([0, 1, 1, 2], player)
  return list(policy._steps.values())


@pytest.mark.parametrize("gadget", ["cfr-d", "max-margin"])
def test_with_nothing_left_to_open_kuhn_is_solved(gadget):
  policy = resolving(KUHN, 400, 100, gadget=gadget)
  assert exploitability(policy.game, policy) < 1.5e-3
  for step in policy._steps.values():
    assert isinstance(problems := step.searcher.problems, GrowingProblems) and problems.ends == ()
  assert re.match(r"5 searches in .* of at most 58 histories, with up to 3 public states opened", policy.kept)


def histories_of(searcher):
  origin = history_origin(searcher.subgames.labels)
  assert origin is not None
  return origin.histories


def paths(step):
  histories = histories_of(step.searcher)
  return [tuple(histories.path(h)) for h in range(len(histories.parent))]


def size_of(roots):
  """The bytes of all objects that these hold, but those of the interpreter and of the game."""
  met, total, waiting = set(), 0, [*roots]
  while waiting:
    x = waiting.pop()
    code = type | types.ModuleType | types.FunctionType | types.BuiltinFunctionType | pyspiel.Game
    if id(x) in met or isinstance(x, code):
      continue
    met.add(id(x))
    if isinstance(x, np.ndarray) and x.base is not None:  # a view
      waiting.append(x.base)
    elif isinstance(x, np.ndarray | jax.Array):
      total += x.nbytes
    else:
      total += sys.getsizeof(x, 64)
      waiting += gc.get_referents(x)
  return total


def test_trees_are_then_those_of_searches_of_whole_subgames():
  whole = OnDemandResolving(pyspiel.load_game(LEDUC), 2, **SOLVING)
  grown = resolving(LEDUC, 8, 10_000)
  for history in ([0, 1], [0, 1, 1, 2]):
    steps = [policy.search(history, 0) for policy in (whole, grown)]
    assert paths(steps[0]) == paths(steps[1])
  assert steps[1].opened > 0
  for policy in (whole, grown):
    kept = size_of([*policy._steps.values(), policy.searches.states._members])
    assert 0.7 * kept < policy.kept_bytes < 1.3 * kept


class Zeros(ValueFunction):
  """Values of zero that read nothing."""

  solves = False

  def bind(self, subgames, public_states, pad_to=None):
    subgame = subgames.cut(public_states, pad_to=pad_to)
    shapes = [(subgame.shape.roots[i], p.types) for i, p in enumerate(subgame.tree.players)]
    return jax.tree_util.Partial(lambda zeros, player, ranges: zeros[player], [*map(np.zeros, shapes)])


@pytest.mark.parametrize("dice", ["numdice=1,dice_sides=6", "numdice=2,dice_sides=4"])
def test_memory_of_trees_of_lines_is_told(dice):
  game = pyspiel.load_game(f"liars_dice({dice})")
  policy = OnDemandResolving(game, 2, lookahead=1, value_function=Zeros(), **SOLVING)
  policy.search([1] * 2 * game.get_parameters().get("numdice", 1) + [3], 1)
  kept = size_of(policy._steps.values())
  assert 0.8 * kept < policy.kept_bytes < 1.2 * kept


def test_trees_of_lines_grow_as_those_of_histories(monkeypatch):
  """Where one growth opens all that is left."""
  answers = []
  for kind in (PublicLines, PublicStates):
    policy = resolving(KUHN, 40, 100, value_function=Zeros())
    assert type(policy.searches.states) is kind
    plays = [state_after(policy.game, history) for history in ([0, 1], [2, 1, 0, 1], [2, 0, 1])]
    answers.append([policy.action_probabilities(state)[1] for state in plays])
    monkeypatch.setattr(on_demand_resolving, "public_states_of", PublicStates)
  np.testing.assert_allclose(*answers, atol=1e-9)


@pytest.mark.parametrize("kind", [PublicLines, PublicStates])
def test_a_history_is_in_the_public_state_of_its_members(kind):
  """Cards 0 and 1 of a deal are not taken for bets."""
  game = pyspiel.load_game(KUHN)
  states = public_states_of(game) if kind is PublicLines else PublicStates(game)
  assert type(states) is kind
  subgames = states.below(states.members(()), stops_ahead(0, None))
  for history in ((0, 1), (1, 0, 0), (2, 1, 1), (0, 2, 0, 1)):
    decision, _ = states.decision(subgames, history)
    assert states.place(subgames, states.members(history)) == decision.public_state
  with pytest.raises(ValueError, match="impossible"):
    states.members((0, 1, 5))


def test_bids_are_opened_until_the_game_is_solved():
  policy = resolving("liars_dice(dice_sides=2)", 200, 100, value_function=Zeros())
  assert exploitability(policy.game, policy) < 0.01


@pytest.mark.parametrize("seed", range(3))
def test_exploitability_falls_as_trees_grow(seed):
  gains = []
  for expansions in (0, 2, 100):
    policy = resolving(KUHN, 100, expansions, seed=seed)
    gains.append(exploitability(policy.game, policy))
  assert gains[0] > 2 * gains[1] > 10 * gains[2]


def rows_by_path(searcher, player, tables):
  """A table's column at each infostate, by the least history of it."""
  subgame, forest = searcher.problem.subgame, searcher.tree.players[player]
  blocks, histories = forest.split(tables), histories_of(searcher)
  known = {(d.block, d.row): d for d in searcher.subgames.labels.decisions if d.player == player}
  columns = {}
  for block, (sources, _) in enumerate(subgame.rows[player]):
    for row, source in enumerate(sources.tolist()):
      path = tuple(histories.path(known[tuple(source)].examples[0]))
      columns[path] = np.asarray(blocks[block + forest.added])[:, row]
  return columns, [np.asarray(block) for block in blocks[: forest.added]]


@pytest.mark.parametrize("gadget", ["refined-max-margin"])  # whose gadget has choices of its own
def test_tables_are_carried_over_to_the_same_infostates(monkeypatch, gadget):
  checked = []

  def spied(before, after):
    state, fresh = carried_state(before, after), after.state
    for player in (0, 1):
      old, gadget_before = rows_by_path(before, player, before.state.players[player].rule)
      new, gadget_after = rows_by_path(after, player, state.players[player].rule)
      begins, _ = rows_by_path(after, player, fresh.players[player].rule)
      for path, column in new.items():
        assert np.array_equal(column, old.get(path, begins[path]))
      assert all(np.array_equal(a, b) for a, b in zip(gadget_before, gadget_after, strict=True))
      assert old.keys() <= new.keys()
      checked.append(len(new) - len(old))
    assert state.iteration == before.state.iteration
    return state

  monkeypatch.setattr(growing_searcher, "carried_state", spied)
  policy = resolving(LEDUC, 5, 30, gadget=gadget)
  policy.search([0, 1, 1, 2], 0)
  assert max(checked) > 0


def test_a_decision_beyond_the_tree_is_searched_from_the_last_public_state_in_it(monkeypatch):
  policy, roots, search = resolving(LEDUC, 2, 0), [], growing_searcher.GrowingSearcher.search

  def noting(self, last, root, *more):
    roots.append(root)
    return search(self, last, root, *more)

  monkeypatch.setattr(growing_searcher.GrowingSearcher, "search", noting)
  history = [0, 1, 1, 1, 2, 1]  # both call, a card comes, a call: player 1 decides
  step = policy.search(history, 1)
  at = int(np.argmax(step.searcher.subgames.nodes.public == roots[-1]))
  length = int(histories_of(step.searcher).depth[at])
  assert 3 < length <= len(history)
  assert sum(policy.action_probabilities(state_after(policy.game, history)).values()) == pytest.approx(1)


def state_after(game, history):
  state = game.new_initial_state()
  for action in history:
    state.apply_action(action)
  return state


def test_a_game_with_wide_levels_is_played_in_time():
  """Thirty bids, 256 deals: a billion iterations would take days, a level all 30 answers to each bid."""
  game = pyspiel.load_game("liars_dice(numdice=2,dice_sides=4)")
  policy = OnDemandResolving(game, 10**9, expansions=1, seconds=0.01, value_function=NOTHING)
  state = state_after(game, [1, 2, 2, 3, 0])
  assert policy.bot(1, seed=0).step(state) in state.legal_actions()


def test_the_last_tree_has_half_of_the_time(monkeypatch):
  given, search = [], growing_searcher.GrowingSearcher.search

  def noting(self, *arguments):
    given.append(self.seconds)
    return search(self, *arguments)

  monkeypatch.setattr(growing_searcher.GrowingSearcher, "search", noting)
  policy = OnDemandResolving(pyspiel.load_game(KUHN), 20, expansions=6, seconds=1e4, value_function=NOTHING)
  policy.action_probabilities(state_after(policy.game, [0, 1]))
  *earlier, last = given
  assert len(earlier) == 2 and last > 5e3
  assert all(seconds <= 1e4 / 2 / (2 - k) for k, seconds in enumerate(earlier))


def test_compilation_takes_no_time_of_a_search(monkeypatch):
  """The clock goes on an hour whenever values are traced, and stands still else: a second is no limit."""
  now, traced = [0.0], BoundStateValues.__call__

  def hour(self, *arguments):
    now[0] += 3600
    return traced(self, *arguments)

  monkeypatch.setattr(BoundStateValues, "__call__", hour)
  monkeypatch.setattr(compilation, "time", types.SimpleNamespace(monotonic=lambda: now[0]))
  options = {"tremble": 0.25}  # as no other search here has, which would have compiled the program
  limited = resolving(KUHN, 40, 3, seconds=1, **options).search([0, 1], 0)
  assert now[0] >= 3600
  free = resolving(KUHN, 40, 3, **options).search([0, 1], 0)
  assert limited.opened == free.opened > 0
  for one, other in zip(limited.search.tables[0], free.search.tables[0], strict=True):
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
  ("options", "message"),
  [
    ({"expansions": -1}, "expansions must be"),
    ({"expansions": 2}, r"expansions=2 stands in place of a lookahead, .* give value_function="),
    ({"expansions": 2, "value_function": NOTHING, "lookahead": 1}, "leave lookahead out"),
    ({"expansions": 2, "value_function": CFRValues(3)}, "need nothing below; CFRValues.* rest of the game"),
    (
      {"expansions": 2, "value_function": NOTHING, "averaging_delay": 1},
      "begin anew in each tree; leave it out",
    ),
    ({"expansions": 99, "value_function": NOTHING}, "makes 5 trees, and each needs an iteration; got iter"),
    ({"seed": 3}, "seed=3 is for the simulations of expansions="),
  ],
)
def test_what_is_not_understood_is_refused(options, message):
  game = pyspiel.load_game(KUHN)
  with pytest.raises(ValueError, match=message):
    OnDemandResolving(game, 4, **options)


def test_only_searches_that_end_at_values_grow():
  game = pyspiel.load_game(KUHN)
  with pytest.raises(ValueError, match="the trunk of CFR-D does not grow"):
    CFRD(game, 5, expansions=2)
  with pytest.raises(ValueError, match="end at values; give search:FILE"):
    matches.search_player(game, expansions=2)
  policy = resolving(KUHN, 5, 3)
  assert "3 expansions, then StateValues" in policy.description
