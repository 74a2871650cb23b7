"""Values that read a game's tensors: laws of the network, exact values, self-play, files, errors."""

import functools
import re
import sys
import types

import equinox as eqx
import jax
import numpy as np
import pyspiel
import pytest
from edited_files import packed, unpacked

import ps_cfr_spiel
from ps_cfr_spiel import learning, matches, values
from ps_cfr_spiel.apps.commands.framework import user_input
from ps_cfr_spiel.learning.settings import check_memory
from ps_cfr_spiel.learning.tensors import self_play
from ps_cfr_spiel.learning.tensors.observations import Observations
from ps_cfr_spiel.learning.tensors.self_play import TOGETHER, SelfPlay
from ps_cfr_spiel.learning.tensors.tensor_features import TensorFeatures
from ps_cfr_spiel.learning.tensors.tensor_network import Observed, TensorNetwork
from ps_cfr_spiel.learning.training import train
from ps_cfr_spiel.matches import OnDemandResolving
from ps_cfr_spiel.memory import TooLarge
from ps_cfr_spiel.options import LearnOptions, TrainingOptions
from ps_cfr_spiel.resolving.search import stops_ahead
from ps_cfr_spiel.resolving.subgames import PublicLines, PublicStates, Subgames, public_states_of
from ps_cfr_spiel.solvers.agents import on_demand_resolving
from ps_cfr_spiel.values import CFRValues, NetworkValues

SMALL = LearnOptions(
  teacher="self-play", turns=1, draws=22, chains=12, iterations=100, steps=400, batch=128, width=32, layers=1
)
KUHN = "kuhn_poker"
LEDUC = "leduc_poker"


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
  """Values of Kuhn poker, and their folder."""
  folder = tmp_path_factory.mktemp("kuhn")
  return learn(KUHN, SMALL, folder=folder), folder


def pair(both):
  """Two values as a tuple."""
  first, second = both
  return first, second


def learn(game, options, **more) -> NetworkValues:
  """As `values.learn`, without a bar."""
  learned = values.learn(pyspiel.load_game(game), options, progress=False, **more)
  assert learned is not None
  return learned


def search_of(game, iterations, given):
  """A search by values."""
  return OnDemandResolving(pyspiel.load_game(game), iterations, lookahead=1, value_function=given)


@jax.jit
def both(bound, ranges):
  """Values of both players."""
  return bound.both(ranges)


def drawn(random, count, slots, sizes):
  """Random tensors and ranges."""
  public = random.normal(size=(count, sizes[0])).astype(np.float32)
  private = pair(
    random.normal(size=(count, m, d)).astype(np.float32) for m, d in zip(slots, sizes[1], strict=True)
  )
  ranges = pair(random.dirichlet(np.ones(m), count).astype(np.float32) for m in slots)
  return Observed(public, private), ranges


def test_order_and_padding_do_not_matter_and_values_sum_to_zero():
  random, sizes, slots = np.random.default_rng(0), (5, (4, 7)), (3, 6)
  network = eqx.filter_jit(TensorNetwork(*sizes, 16, 2, jax.random.key(1)))
  observed, ranges = drawn(random, 4, slots, sizes)
  expected = network(observed, ranges)
  total = sum((r * v).sum(1) for r, v in zip(ranges, expected, strict=True))
  np.testing.assert_allclose(total, 0, atol=1e-6)
  orders = [random.permutation(m) for m in slots]
  shuffled = Observed(observed.public, pair(x[:, o] for x, o in zip(observed.private, orders, strict=True)))
  given = network(shuffled, pair(r[:, o] for r, o in zip(ranges, orders, strict=True)))
  for value, other, order in zip(expected, given, orders, strict=True):
    np.testing.assert_allclose(other, value[:, order], atol=1e-5)
  pad = lambda x, by: np.pad(x, [(0, 0), (0, 2), *[(0, 0)] * (x.ndim - 2)], constant_values=by)  # noqa: E731
  padded = Observed(observed.public, pair(pad(x, 9.0) for x in observed.private))
  given = network(padded, pair(pad(r, 0.0) for r in ranges))
  for value, other in zip(expected, given, strict=True):
    np.testing.assert_allclose(other[:, : value.shape[1]], value, atol=1e-5)


def test_self_play_solves_the_last_decisions_exactly(monkeypatch):
  """In Kuhn poker no player decides a third time: examples go to the end, and no other search is made."""
  game, features = pyspiel.load_game(KUHN), TensorFeatures.of()
  played, frontiers, search = SelfPlay(PublicStates(game), features, 1000), [], SelfPlay._search
  monkeypatch.setattr(
    SelfPlay, "_search", lambda self, spot, *x: (frontiers.append(spot.ends), search(self, spot, *x))[1]
  )
  examples = learning.Examples.join(played.play(None, 3, 0, 6, False))
  assert len(frontiers) == 12 and not any(frontiers)
  assert examples.fault() is None and set(examples.draw.tolist()) == set(range(6))
  assert len(examples) % TOGETHER == 0
  examples = examples.rows(np.arange(0, len(examples), TOGETHER + 1))  # another pair of ranges each time
  subgames = Subgames.of(game, leaves="sparse")
  names = subgames.labels
  asked = 0
  for k in range(len(examples)):
    for state in range(len(names.public_states)):
      if names.public_states[state].player != 0 or names.public_states[state].parent < 0:
        continue
      cut = subgames.cut([state])
      met = features.meet(subgames, cut, [state])
      if not np.array_equal(met.public[0], examples.inputs["public"][k]):
        continue
      ranges, orders = [], []
      for i in (0, 1):  # rows are found by their tensors
        rows = [
          int(np.flatnonzero((met.private[i][0] == x).all(1))[0])
          for x in examples.inputs[f"private{i}"][k][:3]
        ]
        at = met.slots.index[i][0][rows]
        range_ = np.zeros((cut.shape.roots[i], 1))
        range_[at, 0] = examples.ranges[i][k][:3]
        ranges.append(range_)
        orders.append(at)
      exact = both(CFRValues(1000).bind(subgames, [state]), tuple(ranges))
      for value, at, given in zip(exact, orders, examples.values, strict=True):
        np.testing.assert_allclose(given[k][:3], np.asarray(value)[at, 0], atol=2e-3)
      asked += 1
  assert asked == len(examples) >= 6


def test_ranges_ahead_are_those_of_one_iteration(learned, monkeypatch):
  """Player 0 of Kuhn poker comes back after a check and a bet, by ranges times their probabilities."""
  monkeypatch.setattr(self_play, "NOISE", (0.0,))
  played = SelfPlay(PublicStates(pyspiel.load_game(KUHN)), TensorFeatures.of(), 100)
  spot, random = played._spot(played.states.members(()), 0), np.random.default_rng(0)
  begun = pair(np.array([[1.0], [0.5]]) for _ in (0, 1))  # the start of the game is one history
  solved = played._search(spot, learned[0], begun, random, 0.0)
  (end,) = spot.ends
  ahead = [
    x.reshape(TOGETHER, -1)[:, at]
    for x, at in zip(played._onward(spot, solved, random), end.rows, strict=True)
  ]
  parts = set()
  for k in range(TOGETHER):
    reach, search = begun[0][k % 2, 0], k % 2
    checks, *_ = (np.asarray(x[search, :, 0, :, 0]) for x in solved.strategies[0])  # [parts, rows]
    bets = np.concatenate([x[search, :, 1, :, 0] for x in solved.strategies[1]], 1)
    same = [
      part
      for part in range(len(checks))
      if all(
        np.isclose(given[k, n] / reach, table[part], atol=1e-6).any()
        for given, table in zip(ahead, (checks, bets), strict=True)
        for n in range(len(end.members))
      )
    ]
    assert same, k
    parts |= set(same)
  assert len(parts) > 2


def test_the_search_from_the_start_is_made_once_and_examples_depend_on_their_number_alone(
  learned, monkeypatch
):
  played = SelfPlay(PublicStates(pyspiel.load_game(KUHN)), TensorFeatures.of(), 20)
  sizes, search = [], SelfPlay._search
  monkeypatch.setattr(
    SelfPlay,
    "_search",
    lambda self, spot, values, reach, *x: (
      sizes.append(len(reach[0])),
      search(self, spot, values, reach, *x),
    )[1],
  )
  three, last = (list(played.play(learned[0], 7, *numbers, False)) for numbers in ((0, 3), (2, 1)))
  assert sizes == [1, 1, *[TOGETHER] * 3, 1, 1, TOGETHER]
  for one, other in zip(three[2].values, last[0].values, strict=True):
    np.testing.assert_array_equal(one, other)


def test_learned_values_are_near_exact_ones_and_so_are_searches(learned):
  network, _ = learned
  assert network.card["error"] < 0.1 and not network.solves
  game = pyspiel.load_game(KUHN)
  searched = search_of(KUHN, 100, network)
  assert ps_cfr_spiel.exploitability(game, searched) < 0.02  # 0.46 of a uniform player
  listed = ps_cfr_spiel.ContinualResolving(game, 100, lookahead=1, value_function=network)
  assert ps_cfr_spiel.exploitability(game, listed.tabularise()) < 0.02


def test_values_are_saved_and_the_same_call_does_nothing_anew(learned, tmp_path, monkeypatch):
  network, folder = learned
  network.save(tmp_path / "values.safetensors")
  read = NetworkValues.load(tmp_path / "values.safetensors")
  state = pyspiel.load_game(KUHN).new_initial_state()
  for action in (0, 1, 0, 1):
    state.apply_action(action)
  asked = [search_of(KUHN, 20, v).action_probabilities(state) for v in (network, read)]
  assert asked[0] == asked[1]
  header, arrays = unpacked((tmp_path / "values.safetensors").read_bytes())
  count = len([name for name in arrays if name.startswith("parameter")])
  del arrays[f"parameter{count - 1}"]  # as a network of other layers has fewer
  (tmp_path / "old.safetensors").write_bytes(packed(header, arrays))
  message = (
    f"earlier version of this package, of {count - 1} arrays in place of {count}; learn the values again"
  )
  with pytest.raises(ValueError, match=message):
    NetworkValues.load(tmp_path / "old.safetensors")
  examples = values.load_examples(folder / "examples-1.safetensors")
  further = train(examples, start=network, steps=1)
  assert further.card["training"]["width"] == 32
  count = sum(x.size for x in jax.tree.leaves(network.network))
  assert examples.features.parameters(32, 1) == count
  monkeypatch.setattr("ps_cfr_spiel.memory.free_memory", lambda: 15e6)
  # Infostates' vectors would take 20 MB if they were not read once for eight examples.
  check_memory(TrainingOptions(width=32, layers=1, batch=4000), examples.features)
  with pytest.raises(TooLarge, match="for batches"):
    train(examples, width=32, layers=1, batch=12_000)
  monkeypatch.undo()
  monkeypatch.setattr(SelfPlay, "play", None)
  again = learn(KUHN, SMALL, folder=folder)
  for one, other in zip(jax.tree.leaves(again.network), jax.tree.leaves(network.network), strict=True):
    np.testing.assert_array_equal(one, other)
  with pytest.raises(ValueError, match="is of another call: its seed"):
    learn(KUHN, SMALL.changed(seed=5), folder=folder)


def test_blocks_of_one_public_state_change_no_error(learned):
  network, folder = learned
  examples = values.load_examples(folder / "examples-0.safetensors")
  measured = eqx.filter_jit(lambda network, data: data.errors(network))
  asked = eqx.filter_jit(network.network)
  for rows, size in ((np.arange(TOGETHER), 8), (np.arange(31), 1)):
    data = network.tensors(examples, rows)
    assert data.ranges[0].shape[:2] == (len(rows) // size, size)
    part = examples.rows(rows)
    place = Observed(part.inputs["public"], pair(part.inputs[f"private{i}"] for i in (0, 1)))
    errors = measured(network.network, data)
    for i, given in enumerate(asked(place, part.ranges)):
      expected = given - part.values[i] / part.inputs["unit"][:, None] / network.scale
      possible = part.inputs[f"possible{i}"]
      np.testing.assert_allclose(errors.differences[i], np.where(possible, expected, 0), atol=1e-5)
    assert data.rows(np.arange(16)[::-1] % len(rows)).ranges[0].shape[:2] == (16 // size, size)


def test_games_go_on_where_they_were_interrupted(tmp_path, monkeypatch):
  whole = SelfPlay.play
  options = SMALL.changed(turns=0, draws=22, steps=1, iterations=20)
  expected = learn(KUHN, options, folder=tmp_path / "whole")

  def interrupted(self, *given):
    for number, part in enumerate(whole(self, *given)):
      yield part
      if number == 4:
        raise KeyboardInterrupt

  monkeypatch.setattr(SelfPlay, "play", interrupted)
  with pytest.raises(KeyboardInterrupt):
    learn(KUHN, options, folder=tmp_path / "parts")
  kept = values.load_examples(tmp_path / "parts" / "examples-0.safetensors")
  assert 0 < kept.draw.max() < 5
  monkeypatch.setattr(SelfPlay, "play", whole)
  learn(KUHN, options, folder=tmp_path / "parts")
  both = [values.load_examples(tmp_path / name / "examples-0.safetensors") for name in ("whole", "parts")]
  np.testing.assert_allclose(both[0].values[0], both[1].values[0], atol=1e-5)
  assert expected.card["learned_from"] == len(both[1])


def card_and_moves(state, player):
  """Features of one's own of Kuhn poker: the own card, and all bets."""
  history, card = state.history(), np.zeros(3)
  if len(history) > player:
    card[history[player]] = 1
  bets = [2.0 * a - 1 for a in history[2:]]
  return [*card, *bets, *[0.0] * (3 - len(bets))]


def test_features_of_ones_own(tmp_path, monkeypatch):
  options = SMALL.changed(turns=0, draws=22, steps=200, iterations=30)
  learned = learn(KUHN, options, features=card_and_moves, folder=tmp_path / "run")
  assert learned.features.extent == (12, (6, 6)) and learned.network.slots == (6, 6)
  learned.save(tmp_path / "own.safetensors")
  read = NetworkValues.load(tmp_path / "own.safetensors")
  state = pyspiel.load_game(KUHN).new_initial_state().child(0).child(1)
  with pytest.raises(ValueError, match=r"read features of your own, .*card_and_moves: give that function"):
    search_of(KUHN, 10, read).action_probabilities(state)
  expected = search_of(KUHN, 10, learned).action_probabilities(state)
  again = learn(KUHN, options, features=card_and_moves, folder=tmp_path / "run")  # read back
  by_command = user_input.load_values(str(tmp_path / "own.safetensors"), pyspiel.load_game(KUHN))
  for known in (read.with_features(card_and_moves), again, by_command):
    assert search_of(KUHN, 10, known).action_probabilities(state) == expected

  def script(state, player):
    return card_and_moves(state, player)

  script.__module__, script.__qualname__ = "__main__", card_and_moves.__qualname__
  with pytest.raises(ValueError, match=r"read .*card_and_moves, not .*card_and_moves"):  # of another script
    read.with_features(script)
  main = sys.modules["__main__"]
  named = types.SimpleNamespace(name=card_and_moves.__module__)
  for spec, file in ((named, "other.py"), (None, f"folder/{card_and_moves.__module__}.py")):  # with python -m
    monkeypatch.setattr(main, "__spec__", spec)
    monkeypatch.setattr(main, "__file__", file, raising=False)
    assert search_of(KUHN, 10, read.with_features(script)).action_probabilities(state) == expected

  def broken(state, player):
    return [np.nan]

  broken.__module__, broken.__qualname__ = card_and_moves.__module__, card_and_moves.__qualname__
  with pytest.raises(ValueError, match="is not finite"):  # written anew, under the same name
    search_of(KUHN, 10, read.with_features(card_and_moves).with_features(broken)).action_probabilities(state)
  with pytest.raises(ValueError, match=r"not .*<lambda>"):
    read.with_features(lambda state, player: [])


@pytest.mark.parametrize("game", [KUHN, "python_kuhn_poker"])  # by lines, and by histories
def test_features_are_what_the_player_knows(game):
  options = SMALL.changed(turns=0, draws=2, steps=1, iterations=2)

  def secret(state, player):
    return [*card_and_moves(state, player), float(sum(state.history()[:2]))]

  with pytest.raises(
    ValueError, match=r"secret features .* must be what player \d knows: they differ between"
  ):
    learn(game, options, features=secret)
  with pytest.raises(ValueError, match=r"<lambda> must give numbers, for player \d .*: ZeroDivisionError:"):
    learn(game, options, features=lambda state, player: [1 / 0])
  with pytest.raises(ValueError, match=r"<lambda> must give numbers, for player .*: TypeError: .*argument"):
    learn(game, options, features=lambda state: [])


def test_features_may_be_any_callable():
  assert TensorFeatures.of(functools.partial(card_and_moves)).source == "functools.partial"


@pytest.mark.parametrize("player", [0, 1])
def test_public_tensors_are_public(player, monkeypatch):
  """One that shows whether a player's die is the middle face of three is refused, whoever's it is."""

  def at(self, path, who):
    state = self.game.new_initial_state()
    for action in path:
      state.apply_action(action)
    return np.array([path[player] % 2] if who == 2 else state.information_state_tensor(who), np.float32)

  monkeypatch.setattr(Observations, "at", at)
  monkeypatch.setattr(Observations, "public", True)
  game = pyspiel.load_game("liars_dice(dice_sides=3)")
  for states in (PublicStates(game), public_states_of(game)):
    members = states.members((0, 0, 0))
    subgames = states.below(members, stops_ahead(1, 1))
    place = states.place(subgames, members)
    with pytest.raises(ValueError, match="public observer is not public: it differs between the histories"):
      TensorFeatures.of().meet(subgames, subgames.cut([place], []), [place])


@pytest.mark.parametrize(
  ("name", "tensors"),
  [("liars_dice(dice_sides=3)", False), (LEDUC, True), ("goofspiel(num_cards=3,imp_info=True)", None)],
)
def test_games_have_tensors_of_public_states(name, tensors):
  observations = Observations(pyspiel.load_game(name))
  assert tensors is None or observations.public is tensors
  played = SelfPlay(PublicStates(observations.game), TensorFeatures.of(), 2)
  spot = played._spot(played.states.members(()), 0)
  met = spot.beyond_met
  assert met is not None and met.states == len(spot.ends) > 0 and np.isfinite(met.public).all()
  assert (met.unit > 0).all()


def test_tensors_are_kept_up_to_a_number_of_bytes(monkeypatch):
  observations = Observations(pyspiel.load_game("liars_dice(dice_sides=3)"))
  tensor = observations.at((0, 2), 0)
  monkeypatch.setattr("ps_cfr_spiel.learning.tensors.observations.KEPT_BYTES", 2 * tensor.nbytes)
  assert observations.at((0, 2), 0) is tensor
  for bid in range(2):
    observations.at((0, 2, bid), 0)
  assert observations.at((0, 2), 0) is not tensor


def test_tensors_end_with_the_legal_actions_of_the_player_to_act():
  """Bids 0 to 5, then the call: after bid 3 the waiting player has no action, whatever came before it."""
  observations = Observations(pyspiel.load_game("liars_dice(dice_sides=3)"))
  for bids in ((3,), (0, 3), (1, 2, 3)):
    acting = len(bids) % 2
    both = [observations.at((0, 2, *bids), who)[-7:].tolist() for who in (acting, 1 - acting)]
    assert both == [[0, 0, 0, 0, 1, 1, 1], [0] * 7]


def test_values_that_read_histories_serve_games_that_would_be_compiled_from_a_form(monkeypatch):
  game = pyspiel.load_game("liars_dice(dice_sides=2)")
  state = game.new_initial_state().child(0).child(1)

  def answer(**limits):
    ends = values.StateValues(lambda states: [0.25] * len(states))
    search = ps_cfr_spiel.ContinualResolving(game, 5, lookahead=1, value_function=ends, **limits)
    return search.action_probabilities(state)

  expected = answer()
  monkeypatch.setattr("ps_cfr_spiel.compilation.compiler.described.WALKED", 0)
  assert answer() == expected
  with pytest.raises(ValueError, match=r"its values read all of them\. Give more, or .* OnDemandResolving"):
    answer(limit=10)


def test_searches_of_lines_and_of_histories_are_one_search(learned, monkeypatch):
  """Kuhn poker's lines, with all hands in a row, and its histories, with an infostate in each row."""
  asked, game = [], pyspiel.load_game(KUHN)
  for kind in (PublicLines, PublicStates):
    policy = OnDemandResolving(game, 20, lookahead=1, value_function=learned[0], rule="rm+", dtype="float64")
    assert type(policy.searches.states) is kind
    deals = [game.new_initial_state().child(a).child(b) for a, b in ((0, 1), (2, 1), (2, 0))]
    states = [state for deal in deals for state in (deal, deal.child(0), deal.child(0).child(1))]
    asked.append([policy.action_probabilities(state)[1] for state in states])
    monkeypatch.setattr(on_demand_resolving, "public_states_of", PublicStates)
  np.testing.assert_allclose(*asked, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
  ("given", "message"),
  [
    (lambda state, player: [0.0], "infostates of player 0 have equal tensors"),
    (lambda state, player: [np.nan], "is not finite"),
    (lambda state, player: [state.history()[player]] * (1 + state.history()[player]), "differ in length"),
    (3, "must be a function"),
  ],
)
def test_wrong_features_are_refused(given, message):
  with pytest.raises(ValueError, match=message):
    learn(KUHN, SMALL, features=given)


def test_wrong_input_is_refused(learned, tmp_path):
  network, folder = learned
  leduc = pyspiel.load_game(LEDUC)
  for make in (OnDemandResolving, ps_cfr_spiel.ContinualResolving):
    with pytest.raises(ValueError, match=r"These values are for kuhn_poker\(\), not for leduc_poker"):
      make(leduc, 5, lookahead=1, value_function=network)
  with pytest.raises(ValueError, match=r"These values are for kuhn_poker\(\), not for leduc_poker"):
    network.bind(Subgames.of(leduc), [5])
  with pytest.raises(ValueError, match="has no tensors of information states or observations"):
    learn("coordinated_mp", SMALL)
  with pytest.raises(ValueError, match="no player decides more than once"):
    values.learn(pyspiel.load_efg_game(EFG), SMALL, progress=False)
  with pytest.raises(TooLarge, match=r"[\d,]+ histories.* Or learn with teacher='self-play', which lists no"):
    learn(LEDUC, None, limit=10)
  with pytest.raises(TooLarge, match=r"for strategies.*\. Or learn with teacher='self-play', which lists no"):
    learn("liars_dice(numdice=2,dice_sides=4)", None, memory=10**8)
  with pytest.raises(ValueError, match="features are for teacher='self-play'"):
    learn(KUHN, None, features=card_and_moves)
  with pytest.raises(TypeError, match="has no option 'gadget'; it has public_states, limit, memory"):
    learn(KUHN, SMALL, gadget="max-margin")
  with pytest.raises(ValueError, match="holds examples, not learned values"):
    NetworkValues.load(folder / "examples-0.safetensors")


def test_searches_of_games_too_large_to_list_are_self_play():
  """Kuhn poker has 58 histories; a search of it makes nine lines at most."""
  options = SMALL.changed(turns=0, draws=22, steps=1, iterations=20)
  with pytest.warns(UserWarning, match="to list, so its searches play against themselves, .* histories"):
    searched = learn(KUHN, options.changed(teacher="search"), limit=20)
  played = learn(KUHN, options)
  assert searched.card == played.card
  for one, other in zip(jax.tree.leaves(searched.network), jax.tree.leaves(played.network), strict=True):
    np.testing.assert_array_equal(one, other)


EFG = """EFG 2 R "one" { "0" "1" }
p "" 1 1 "" { "x" "y" } 0
t "" 1 "" { 1 -1 }
t "" 2 "" { -1 1 }
"""


def test_matches_by_values(learned):
  network, _ = learned
  game = pyspiel.load_game(KUHN)
  searcher = matches.search_player(game, 0, values=network, seconds=0.2)
  played = matches.play_games(game, searcher, searcher, 4)
  with pytest.raises(TooLarge, match="3"):
    matches.play_games(game, searcher, matches.search_player(game, 0, 3, network), 1)
  assert len(played) == 4 and re.match("re-solving on demand", searcher(0).policy.description)
