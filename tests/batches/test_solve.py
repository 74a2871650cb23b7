"""A batch finds what one solver after the other finds, whatever is in it and however it is cut up."""

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import exploitability
from safetensors.numpy import load_file

from ps_cfr_spiel import PSCFRSolver
from ps_cfr_spiel.batches import batch_run, solve_batch
from ps_cfr_spiel.batches.groups import groups
from ps_cfr_spiel.cards.poker import cards
from ps_cfr_spiel.cards.poker.ranking import strengths
from ps_cfr_spiel.cards.poker.situations import RandomSituations, situation
from ps_cfr_spiel.rules import RMPlus

# Everywhere both players have 17 to 24 hands, so that few programs are compiled.
BOARDS = ("9s7c5s4h3c", "KhKd8c4s2h", "2c2d2h7s8d", "Qd6d5c5h2h", "7s6s5s4s3s")
NARROW = "AA:0.3 KK QQ JJ;TT 99 88 AKs:0.7"
SHORT = {"pot": 20, "stack": 30, "bets": "a"}
EXACT = {"rule": RMPlus(), "iterations": 40, "dtype": "float64", "chunk": 4, "progress": False}
FAST = {"iterations": 60, "chunk": 4, "progress": False}  # in float32, with the default rule


def some(boards=BOARDS, **more):
  return [situation(board, **{**SHORT, "ranges": NARROW, **more}) for board in boards]


def expected_values(game, policy):
  """[H0], [H1]: each hand's counterfactual value by plain enumeration; the opponent's range sums to one."""
  ranges = [hands.weights / hands.weights.sum() for hands in game.ranges]
  found = [np.zeros(len(own)) for own in ranges]

  def value(state):
    if state.is_terminal():
      return state.returns()[0]
    chances = policy.action_probabilities(state).items()
    return sum(p * value(state.child(action)) for action, p in chances)

  for first, second in np.argwhere(game.disjoint).tolist():
    state = game.new_initial_state()
    state.apply_action(first)
    state.apply_action(second)
    won = value(state)
    found[0][first] += ranges[1][second] * won
    found[1][second] -= ranges[0][first] * won
  return found


def test_equals_the_solver_of_single_games():
  """In float64, over several chunks, the last of which is not full."""
  rivers = some()
  batch = solve_batch(rivers, **EXACT)
  assert len(batch) == 5
  for k, river in enumerate(rivers):
    solver = PSCFRSolver(river.game(), EXACT["rule"], dtype="float64")
    solver.run(40, progress=False)
    found, alone = batch[k], solver.evaluation()
    assert found.iterations == 40
    np.testing.assert_allclose(found.value, alone.value, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.best_response, alone.best_response, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.exploitability, alone.exploitability, rtol=1e-7, atol=1e-9)
    policy, other = batch.policy(k), solver.average_policy()
    for mine, blocks in zip(policy.strategies, other.strategies, strict=True):
      for x, y in zip(mine, blocks, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-8)


def test_equals_itself_one_by_one_in_float32():
  rivers = some()
  batch = solve_batch(rivers, **FAST)
  for k, river in enumerate(rivers):
    (alone,) = solve_batch([river], **FAST)
    for x, y in zip(batch[k][:5], alone[:5], strict=True):
      np.testing.assert_allclose(x, y, rtol=1e-5)


def test_values_by_enumeration_and_openspiel():
  rivers = some(BOARDS[:2])
  batch = solve_batch(rivers, **EXACT)
  for k, river in enumerate(rivers):
    policy, game = batch.policy(k), river.game()
    for mine, hands, expected in zip(
      batch[k].values, game.ranges, expected_values(game, policy), strict=True
    ):
      np.testing.assert_allclose(mine[hands.numbers], expected, atol=1e-9)
      assert np.count_nonzero(mine) <= len(expected)
    conv = exploitability.nash_conv(game, policy.to_tabular())
    np.testing.assert_allclose(batch[k].exploitability, conv / 2, rtol=1e-7)


def test_hands_of_weight_zero_have_values():
  """Those that they would have with hardly any weight."""
  (river,) = some(BOARDS[:1])
  zero = river.ranges.copy()
  number = cards.set_numbers(np.array(cards.parse_cards("AdAc")))
  zero[0, number] = 0
  tiny = zero.copy()
  tiny[0, number] = 1e-9
  without, with_it = solve_batch(
    [river._replace(ranges=zero), river._replace(ranges=tiny)], hands="all", **EXACT
  )
  assert without.values[0][number] != 0
  np.testing.assert_allclose(without.values, with_it.values, atol=1e-5)
  live = ~np.isin(cards.ALL_HANDS, river.board).any(1)
  assert not without.values[0][~live].any() and np.count_nonzero(without.values[0]) > 1000
  (kept,) = solve_batch([river._replace(ranges=zero)], **EXACT)
  assert kept.values[0][number] == 0
  np.testing.assert_allclose(kept.value, without.value, rtol=1e-9)


def test_known_values():
  """Ties everywhere, a hand each, nothing left to bet: no NaN, and what is known without solving."""
  (royal,) = some(["AsKsQsJsTs"], ranges="22 33 44 55;66 77 88 99")
  single = situation("9s7c5s4h3c", **SHORT, ranges="AhAd;KhKd")  # kings fold, or lose as much by calling
  # All-in, so that both check: of 3 AA, 3 KK and QJ ace-king beats the last, 10 x (1 - 6) / 7.
  allin = situation("9s7c5s4h3c", pot=20, stack=10, ranges="AsKs;AA KK QsJs")
  ties, alone = solve_batch([royal, allin], **FAST)
  assert abs(ties.value) < 1e-5 and abs(ties.values[0]).max() < 1e-5
  np.testing.assert_allclose(alone.best_response, (-50 / 7, 50 / 7), rtol=1e-6)
  wide = solve_batch([royal, single, allin], hands="all", **{**EXACT, "iterations": 400})
  for solution in (ties, alone, *wide):
    assert np.isfinite(np.concatenate([np.ravel(x) for x in solution[:5]])).all()
  np.testing.assert_allclose([s.value for s in wide], (0, 10, -50 / 7), atol=0.02)
  assert wide[1].exploitability < 0.05 and abs(wide[2].exploitability) < 1e-12
  # Against kings a hand that beats them wins half of the pot or more, one that does not loses.
  beats = strengths(np.array(single.board), cards.ALL_HANDS)
  kings = int(single.ranges[1].argmax())
  free = ~np.isin(cards.ALL_HANDS, [*single.board, *cards.ALL_HANDS[kings]]).any(1)
  assert (wide[1].values[0][free & (beats > beats[kings])] > 9.9).all()
  assert not wide[1].values[0][~free].any()


def test_games_and_rivers_in_one_list():
  """Each with those that have the same decisions, and results in the order that was given."""
  river = {"board": BOARDS[0], **SHORT, "ranges": NARROW}
  given = ["kuhn_poker", river, pyspiel.load_game("kuhn_poker"), {**river, "stack": 0, "board": BOARDS[1]}]
  batch = solve_batch(given, **{**FAST, "iterations": 300})
  for k in (0, 2):
    np.testing.assert_allclose(batch[k].value, -1 / 18, atol=2e-3)
    policy = batch.policy(k)
    conv = exploitability.nash_conv(policy.game, policy)
    np.testing.assert_allclose(batch[k].exploitability, conv / 2, atol=1e-6)
  assert batch[0].hands is None and batch[1].hands is not None
  text = (
    f"river_subgame(board={BOARDS[0]},pot=20,stack=40,bets=a,ranges={NARROW})"  # half of the pot included
  )
  (same,) = solve_batch([text], **{**FAST, "iterations": 300})
  np.testing.assert_allclose(same.value, batch[1].value, rtol=1e-5)


PENNIES = """EFG 2 R "pennies" {{ "one" "two" }} ""
c "" 1 "" {{ "l" {chance} "r" {rest} }} 0
{left}{right}"""
HALF = """p "" 1 {0} "" {{ "H" "T" }} 0
p "" 2 {0} "" {{ "h" "t" }} 0
t "" {1} "" {{ {2} -{2} }}
t "" {3} "" {{ -1 1 }}
p "" 2 {0} "" {{ "h" "t" }} 0
t "" {4} "" {{ -1 1 }}
t "" {5} "" {{ {2} -{2} }}
"""


def pennies(chance, prize):
  """Matching pennies twice, side by side, where a match on the left pays a prize."""
  left, right = HALF.format(1, 1, prize, 2, 3, 4), HALF.format(2, 5, 1, 6, 7, 8)
  text = PENNIES.format(chance=chance, rest=1 - chance, left=left, right=right)
  return pyspiel.load_efg_game(text)


def test_other_chances_and_payoffs_share_a_program():
  """On the left a match pays the prize and a mismatch costs 1, worth (prize - 1) / 2; on the right 0."""
  cases = [(0.5, 1), (0.25, 3), (0.75, 2), (0.1, 5)]
  games = [pennies(*case) for case in cases]
  assert [len(group.members) for group in groups(games, "auto", "all", "float64", 4)] == [4]
  batch = solve_batch(games, iterations=2000, dtype="float64", chunk=4, progress=False)
  for (chance, prize), found in zip(cases, batch, strict=True):
    np.testing.assert_allclose(found.value, chance * (prize - 1) / 2, atol=1e-3)
    assert found.exploitability < 2e-3


def test_random_rivers_are_solved_alone_by_seed_and_number():
  drawn = RandomSituations(3, seed=4, ratios=(1.0,), pot=20, bets="a")
  batch = solve_batch(drawn, hands="all", strategies=False, **EXACT)
  alone = RandomSituations(1, seed=4, ratios=(1.0,), pot=20, bets="a").draw(2)
  (found,) = solve_batch([alone], hands="all", strategies=False, **EXACT)
  np.testing.assert_allclose(found.values, batch[2].values, rtol=1e-9)
  q = [row / row.sum() for row in alone.ranges]
  np.testing.assert_allclose(q[0] @ found.values[0], -q[1] @ found.values[1], rtol=1e-9)
  with pytest.raises(ValueError, match="were not saved"):
    batch.policy(0)


def test_target():
  rivers = some()
  exact = solve_batch(rivers, target="0.5%", every=3, **{**FAST, "iterations": 400})
  assert all(s.exploitability <= 0.1 for s in exact)
  assert {s.iterations % 3 for s in exact} == {0} and max(s.iterations for s in exact) < 400
  assert len({s.iterations for s in exact}) > 1
  chips = solve_batch(rivers, target=0.1, every=3, **{**FAST, "iterations": 400})
  assert [s.iterations for s in chips] == [s.iterations for s in exact]


def test_a_target_out_of_reach_changes_nothing():
  """Neither the last part, which is shorter, nor the result."""
  (found,), (plain,) = (solve_batch(["kuhn_poker"], **{**EXACT, "iterations": 10}, **more)
                        for more in ({"target": 0, "every": 4}, {}))  # fmt: skip
  assert found.iterations == plain.iterations == 10
  np.testing.assert_allclose(found.value, plain.value, rtol=1e-12)


def test_each_river_has_its_own_target():
  """A share of its own pot, in whatever group and place it is."""
  rivers = [*some(BOARDS[:1]), *some(BOARDS[1:3], pot=200, stack=300, bets="0.5 a")]
  options = {**FAST, "iterations": 400, "target": "0.5%", "every": 20}
  batch = solve_batch(rivers, **options)
  assert [s.iterations for s in batch] == [solve_batch([r], **options)[0].iterations for r in rivers]
  assert all(s.exploitability <= 0.005 * r.pot for s, r in zip(batch, rivers, strict=True))


@pytest.mark.parametrize("leaves", ["showdown", "dense"])
def test_all_at_once_as_on_accelerators(leaves):
  """`vmap` in place of `map`, and array code for many hands, matrices for few, which is what they use."""
  turns = solve_batch(some(), **EXACT)
  for x, y in zip(turns, solve_batch(some(), order="vmap", leaves=leaves, **EXACT), strict=True):
    np.testing.assert_allclose(x.value, y.value, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(x.values, y.values, atol=1e-8)


def test_files_are_taken_up(tmp_path, monkeypatch):
  rivers = some()
  rivers, options = (rivers * 2)[:9], FAST
  inside = solve_batch(rivers, **options)
  solved = []
  work = batch_run._solved

  def watched(items, part, *more):
    solved.append(part.start)
    if len(solved) == 2:
      raise KeyboardInterrupt
    return work(items, part, *more)

  monkeypatch.setattr(batch_run, "_solved", watched)
  with pytest.raises(KeyboardInterrupt):
    solve_batch(rivers, **options, output=tmp_path)
  assert [path.name for path in tmp_path.iterdir()] == ["000000.safetensors"]
  filed = solve_batch(rivers, **options, output=tmp_path)
  assert solved == [0, 4, 4, 8]
  for x, y in zip(inside, filed, strict=True):
    np.testing.assert_allclose(x.values, y.values, rtol=1e-6)
    assert x.iterations == y.iterations
  for mine, other in zip(inside.policy(4).strategies, filed.policy(4).strategies, strict=True):
    assert all(np.allclose(a, b) for a, b in zip(mine, other, strict=True))
  arrays = load_file(tmp_path / "000001.safetensors")
  assert arrays["number"].tolist() == [4, 5, 6, 7] and arrays["values"].shape == (4, 2, 1326)
  np.testing.assert_allclose(arrays["ranges"].sum(-1), 1, rtol=1e-6)
  assert np.allclose([s.value for s in filed[:2]], [s.value for s in inside[:2]])
  with pytest.raises(ValueError, match=r"other results: teacher"):
    solve_batch(rivers, **{**options, "iterations": 61}, output=tmp_path)
  with pytest.raises(ValueError, match=r"other results: situations"):
    solve_batch(rivers[::-1], **options, output=tmp_path)


@pytest.mark.parametrize(
  ("given", "message"),
  [
    ([*some()[:1], {"board": "9s"}], "Situation 1: board='9s'"),
    (["kuhn_poker", "no_such_game"], "Situation 1: Unknown game"),
    ([5], "Situation 0: expected a Situation"),
    (["kuhn_poker(players=3)"], "player"),
    ([{"board": None}], "Situation 0: no board"),
    ([{"board": BOARDS[0], "bets": 5}], "Situation 0: bets=5: must be a text"),
    ([{"board": BOARDS[0], "ranges": "QQ:50 A5s 22;random"}], "Situation 0: .*write 50% or 0.5, at most 1"),
    ([{"board": BOARDS[0], "bets": ["a"]}], r"Situation 0: bets=\['a'\]: must be a text"),
  ],
)
def test_mistakes_are_named_by_number(given, message):
  with pytest.raises(ValueError, match=message):
    solve_batch(given, iterations=1, progress=False)


@pytest.mark.parametrize(
  ("option", "message"),
  [
    ({"iterations": 0}, "iterations must be an integer of at least 1"),
    ({"target": "low"}, "target must be a number"),
    ({"target": -1}, "target must be a number"),
    ({"target": "1%"}, "this game has no pot"),
    *[({"target": target}, "target must be a number") for target in ([1], 1j, True, "nan%", 10**400)],
    ({"output": True}, "output must be the path of a folder, got True"),
    ({"output": __file__}, "output must be a folder, and a file is in the place of"),
    ({"output": f"{__file__}/found"}, "output must be a folder, and a file is in the place of"),
    ({"hands": "some"}, "Unknown hands 'some'"),
    ({"order": "zip"}, "Unknown order 'zip'"),
    ({"chunk": 0}, "chunk must be an integer of at least 1"),
    ({"rule": "no rule"}, "Unknown rule"),
  ],
)
def test_wrong_options(option, message):
  with pytest.raises(ValueError, match=message):
    solve_batch(["kuhn_poker"], **{"iterations": 1, "progress": False, **option})


@pytest.mark.parametrize(
  ("given", "message"),
  [
    ({"board": BOARDS[0]}, "put a single dict into a list"),
    (some()[0], "put a single Situation into a list"),
    (None, "situations must be a sequence, got None"),
    ("kuhn_poker", "situations must be a sequence, got 'kuhn_poker'"),
    (pyspiel.load_game("kuhn_poker"), "situations must be a sequence, got kuhn_poker"),
  ],
)
def test_no_sequences(given, message):
  with pytest.raises(ValueError, match=message):
    solve_batch(given, progress=False)


def test_ranges_of_arrays_and_of_game_strings_are_ratios():
  """Only the words of a mapping are shares; the same ratios are the same river."""
  game = pyspiel.load_game(f"river_subgame(board={BOARDS[0]},ranges=QQ:50 A5s:100;KK)")
  ratios = batch_run.read_situation(game).ranges
  (first, second) = solve_batch([game, {"board": BOARDS[0], "ranges": ratios}], iterations=5, progress=False)
  assert first.value == second.value


def test_a_generator_is_listed():
  batch = solve_batch((river for river in some()[:2]), **FAST)
  assert [found.iterations for found in batch] == [60, 60]


def altered(rows, value):
  """Ranges of the first of `some`, with a value in some places."""
  ranges = some()[0].ranges.copy()
  ranges[rows] = value
  return ranges


ON_BOARD = np.isin(cards.ALL_HANDS, some()[0].board).any(1)


@pytest.mark.parametrize(
  ("change", "message"),
  [
    ({"board": (1, 2, 3, 4)}, "4 cards, 4 of them different"),
    ({"board": (1, 2, 3, 4, 4)}, "5 cards, 4 of them different"),
    ({"board": (1, 2, 3, 4, 99)}, "must be 5 cards, as text or as numbers from 0 to 51"),
    ({"board": None}, "must be 5 cards, as text or as numbers from 0 to 51"),
    ({"pot": 21}, "positive even"),
    ({"stack": None}, "stack=None: must be a whole number"),
    ({"bets": None}, "bets=None: must be a text"),
    ({"ranges": None}, r"ranges: must be a text or numbers \[2, 1326\]"),
    ({"ranges": np.ones((2, 1325))}, r"ranges: must be a text or numbers \[2, 1326\]"),
    *[({"ranges": altered((0, 7), x)}, "weights must be finite, not negative") for x in (-1, np.nan, np.inf)],
    ({"ranges": np.full((2, 1326), 1e306)}, r"at most 1e\+300"),
    ({"ranges": np.zeros((2, 1326))}, "no two hands of theirs can be dealt"),
    ({"ranges": np.stack([ON_BOARD, ~ON_BOARD]) * 1.0}, "no two hands of theirs can be dealt"),
  ],
)
def test_situations_made_by_hand_are_checked(change, message):
  river, sound = some()[:2]
  with pytest.raises(ValueError, match=rf"^Situation 1: .*{message}"):
    solve_batch([sound, river._replace(**change)], iterations=1, progress=False)


def test_hands_that_cannot_be_dealt_are_left_out():
  """However a river was made: those of the board, as in words; and the board may be words, too."""
  river = some()[0]
  loose = river._replace(board=BOARDS[0], ranges=altered((slice(None), ON_BOARD), 0.5))
  sound, found = solve_batch([river, loose], **FAST)
  for mine, other in zip(sound[:5], found[:5], strict=True):
    np.testing.assert_array_equal(mine, other)


def test_no_situations():
  assert list(solve_batch([], progress=False)) == []


@pytest.mark.parametrize("changed", [0, 1])
def test_a_folder_refuses_a_batch_of_which_one_situation_is_another(tmp_path, changed):
  """Another range alone is enough, at any place of a chunk."""
  rivers = [situation(board, **SHORT, ranges="AhAd;JhJd") for board in BOARDS[:2]]
  options = {"iterations": 2, "chunk": 2, "progress": False, "output": tmp_path}
  solve_batch(rivers, **options)
  solve_batch(list(rivers), **options)
  rivers[changed] = rivers[changed]._replace(ranges=rivers[changed].ranges / 2)
  with pytest.raises(ValueError, match=r"000000\.safetensors"):
    solve_batch(rivers, **options)


def test_another_batch_in_the_same_folder_is_read_anew(tmp_path):
  """Also within a process, which keeps what it has read last."""
  options = {"iterations": 20, "chunk": 2, "progress": False}
  for seed in (0, 1):
    drawn = RandomSituations(2, seed=seed, bets="a", ratios=(1.0,))
    expected, found = solve_batch(drawn, **options), solve_batch(drawn, output=tmp_path / "it", **options)
    assert [s.value for s in found] == [s.value for s in expected]
    (tmp_path / "it" / "000000.safetensors").unlink()
    with pytest.raises(FileNotFoundError):
      found[0]
