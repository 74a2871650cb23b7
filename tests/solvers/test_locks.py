"""Locks: the locked game's values are those of a linear program, whatever is locked."""

import dataclasses
import functools
from typing import Any

import jax
import numpy as np
import pyspiel
import pytest
from cuts import TURN
from random_policies import random_policy
from reference import sequence_form_value

import ps_cfr_spiel
from ps_cfr_spiel import PSCFRSolver, build_tree, load_policy, load_solver, river
from ps_cfr_spiel.apps.commands import program
from ps_cfr_spiel.apps.commands.framework.methods import _locks
from ps_cfr_spiel.apps.views import spot
from ps_cfr_spiel.backend.device import precision
from ps_cfr_spiel.policy import PartialStrategy
from ps_cfr_spiel.solvers import ps_cfr
from ps_cfr_spiel.tree import LeafEvaluator, evaluate
from ps_cfr_spiel.tree.locks import lock_rows

RIVER = "river_subgame(board=KhKd8c4s2h,stack=500,ranges=AsAd QsQd:0.5 7c6c;JsJd Ah8h 5c4c:3)"
ALIKE = "holdem_subgame(deck=5x2,board=2c2d3c3d,stack=300,ranges=5c4c 5d4d 6c5c 6d5d;6c4c 6d4d 5c4d 5d4c)"
LOCKS = {
  "kuhn_poker": ["", "pass", "pass, bet"],
  "leduc_poker": ["", "raise", "call, raise, call, 2"],
  "liars_dice(dice_sides=3)": ["1-2", ""],
  RIVER: ["check", "check, bet 200"],
  TURN: ["", "check, check, 6c", "check, check, 6d, check"],
}


@functools.cache
def load(name):
  return pyspiel.load_game(name)


def locked(name, lines, policy, **options):
  solver = PSCFRSolver(load(name), dtype="float64", locks=dict.fromkeys(lines, policy), **options)
  solver.run(1200, progress=False)
  return solver


def rows(solver):
  """{(player, infostate): probabilities} where something is locked."""
  states, names = solver.locks.public_states, solver.tree.names.infostates()
  return {(d.player, name): (d, h) for d, h, name in names if d.public_state in states}


def of_hands(name, lines, share):
  """Locks of a share of the hands by a random policy, and {(player, infostate): probabilities} of them."""
  tree, policy, rng = build_tree(load(name)), random_policy(name), np.random.default_rng(1)
  states = [tree.names.find_line(line) for line in lines]
  decisions = [tree.names.decisions[n] for s in states for n in tree.names.public_states[s].decisions]
  tables = [policy.table(d) * (rng.random(len(d.infostates)) < share) for d in decisions]
  forced = {
    (d.player, infostate): table[:, h]
    for d, table in zip(decisions, tables, strict=True)
    for h, infostate in enumerate(d.infostates)
    if infostate is not None and table[:, h].any()
  }
  return PartialStrategy(tuple(states), np.concatenate([table.ravel() for table in tables])), forced


@pytest.mark.parametrize("name", LOCKS)
def test_values_are_the_linear_programs(name):
  """One lock and several, by a random policy; the solver plays it there and converges around it."""
  policy = random_policy(name)
  for lines in ([LOCKS[name][0]], LOCKS[name]) if name in ("kuhn_poker", RIVER) else (LOCKS[name],):
    solver = locked(name, lines, policy)
    forced = {key: policy.table(d)[:, h] for key, (d, h) in rows(solver).items()}
    value = sequence_form_value(load(name), forced)
    scale = load(name).max_utility()
    assert -1e-12 * scale <= solver.exploitability() < 2e-3 * scale  # some are solved up to rounding
    assert solver.value() == pytest.approx(value, abs=4e-3 * scale)
    found = solver.average_policy()
    for (player, infostate), column in forced.items():
      np.testing.assert_allclose(list(found.at(player, infostate).values()), column, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in LOCKS if name != "leduc_poker"])
def test_a_lock_of_some_hands_leaves_the_others_free(name):
  """The value is the linear program's in which those hands alone are forced; they play the lock."""
  locks, forced = of_hands(name, LOCKS[name], 0.5)
  solver = PSCFRSolver(load(name), dtype="float64", locks=locks)
  solver.run(1200, progress=False)
  assert 0 < len(forced) < len(rows(solver))
  scale, found = load(name).max_utility(), solver.average_policy()
  assert -1e-12 * scale <= solver.exploitability() < 2e-3 * scale
  assert solver.value() == pytest.approx(sequence_form_value(load(name), forced), abs=4e-3 * scale)
  for (player, infostate), column in forced.items():
    np.testing.assert_allclose(list(found.at(player, infostate).values()), column, atol=1e-9)


def test_postflop_solvers_lock_of_one_hand(tmp_path, monkeypatch, capsys):
  """Its test `node_locking_partial`: jacks check 80%, so queens bluff less; see the figures there."""
  monkeypatch.chdir(tmp_path)
  spot_of = ["--board=2s3h4d6c7c", "--pot=10", "--stack=10", "--ranges=AsAh, QsQh, JsJh; KsKh", "--bets=a"]
  words = ["solve", *spot_of, "--lock==check:0.8,all-in:0.2@JJ", "--iterations=500", "--quiet", "--noplot"]
  assert program.run([*words, "--output=run"]) == 0
  policy = load_policy("run/run.safetensors")
  here = spot(policy, "")
  checks = dict(zip(here.types, here.probability[0], strict=True))
  assert [checks[hand] for hand in ("JsJh", "QsQh", "AsAh")] == pytest.approx([0.8, 0.7, 0], abs=1e-3)
  capsys.readouterr()
  assert program.run(["show", "run/run.safetensors", "--hand=AA"]) == 0
  shown = capsys.readouterr().out
  assert "player 1: equity 66.67%, EV 5;" in shown
  assert shown.splitlines()[-1].split()[:5] == ["AsAh", "0.00%", "10", "100.00%", "15"]


def test_best_responses_keep_to_the_locks():
  """Who must fold can be robbed: nobody can do better then, though in the free game one could."""
  solver = PSCFRSolver(load(RIVER), locks={"bet 200": {"fold": 1}, "all-in 400": {"fold": 1}})
  solver.run(500, progress=False)
  assert solver.value() == pytest.approx(100, abs=0.5)  # half of the pot, whatever is held
  assert solver.exploitability() < 0.5
  assert ps_cfr_spiel.exploitability(load(RIVER), solver.average_policy()) > 5


@dataclasses.dataclass(frozen=True)
class OwnReach(LeafEvaluator):
  """Leaves that are worth the reach of their own player, as a frontier may know it."""

  kind = "own reach"

  def __call__(self, player, opponent_reach, own_reach=None):
    return own_reach


@pytest.mark.parametrize("name", ["leduc_poker", TURN])
@pytest.mark.parametrize("player", [0, 1])
def test_leaves_behind_locks(player, name):
  """Locked choices count in both players' reach."""
  tree, rng = build_tree(load(name)), np.random.default_rng(player)
  decisions, policy = tree.names.decisions, random_policy(name)
  leaves: Any = lock_rows(
    tree, {n: policy.table(decisions[n]) for n in range(3, len(decisions), 7)}
  ).tree.leaves
  shapes = [[x.shape for x in leaves.through[i]] for i in (player, 1 - player)]
  own, reach = ([rng.random(shape) for shape in shapes_of] for shapes_of in shapes)
  with precision("float64"):
    seen = dataclasses.replace(leaves, inner=OwnReach())(player, reach, own)
  through = np.concatenate(leaves.through[player])
  assert 0 < through.min() < 0.5 < through.max() <= 1
  np.testing.assert_allclose(np.concatenate(seen), np.concatenate(own) * through**2)


@pytest.mark.parametrize("held", [1, 0.5])
@pytest.mark.parametrize("name", ["leduc_poker", TURN])
def test_a_profile_is_worth_the_same_in_the_locked_game(name, held):
  """Whatever rows are locked, and what types of them: one below the other, below a free one or above it."""
  tree, rng, policy = build_tree(load(name)), np.random.default_rng(2), random_policy(name)
  decisions = list(tree.names.decisions)
  with precision("float64"):
    whole = jax.tree.map(float, evaluate(tree, policy.strategies))
    for share in (0.3, 0.6):
      chosen = {n: d for n, d in enumerate(decisions) if rng.random() < share}
      dead = {n: np.array([name is None for name in d.infostates]) for n, d in chosen.items()}
      locked = {n: policy.table(d) * (dead[n] | (rng.random(len(dead[n])) < held)) for n, d in chosen.items()}
      variant = lock_rows(tree, locked)
      strategies = [variant.there(i, policy.strategies[i]) for i in (0, 1)]
      found = jax.tree.map(float, evaluate(variant.tree, strategies))
      assert found.value == pytest.approx(whole.value)
      assert found.value < found.best_response[0] < whole.best_response[0]
      for i in (0, 1):
        for one, other in zip(variant.back(i, strategies[i]), policy.strategies[i], strict=True):
          np.testing.assert_allclose(one, other, atol=1e-12)


def test_everything_of_a_player_locked():
  """Then the other's best response is all there is to find, OpenSpiel's too."""
  policy = random_policy("kuhn_poker")
  solver = locked("kuhn_poker", ["pass", "bet"], policy)
  table = policy.to_pyspiel()  # which TabularBestResponse does not keep alive
  best = pyspiel.TabularBestResponse(load("kuhn_poker"), 0, table)
  value = best.value_from_state(load("kuhn_poker").new_initial_state())
  assert solver.value() == pytest.approx(value, abs=1e-3)


def test_a_lock_that_keeps_suits_alike_is_solved_with_one_row_for_them(monkeypatch):
  """The value is the linear program's, as without isomorphism; a lock on one suit alone takes more rows."""
  game = load(ALIKE)
  short = PSCFRSolver(game)
  short.run(5)
  policy, lines = short.average_policy(), ["check", "check, check, 6c, check", "check, check, 6d, check"]
  solver, one = locked(ALIKE, lines, policy), PSCFRSolver(game, locks={lines[1]: policy})
  monkeypatch.setattr(ps_cfr, "fold_suits", lambda tree, variant: variant)
  whole = locked(ALIKE, lines, policy)
  rows_of = [
    sum(rows for p in s._tree.players for _, rows, _ in p.block_shapes) for s in (solver, whole, one)
  ]
  assert rows_of[0] < rows_of[1] < rows_of[2]
  forced = {key: policy.table(d)[:, h] for key, (d, h) in rows(solver).items()}
  value = sequence_form_value(game, forced)
  for found in (solver, whole):
    assert found.value() == pytest.approx(value, abs=4e-3 * game.max_utility())
    assert 0 <= found.exploitability() < 2e-3 * game.max_utility()


@pytest.mark.parametrize(
  ("name", "key", "share"),
  [
    ("kuhn_poker", "initial", 1),
    ("kuhn_poker", "initial", 0.5),
    ("leduc_poker", "observation", 0.5),
    (RIVER, lambda name, player: name.split("|", 1)[1], 1),  # all hands are one
  ],
  ids=["kuhn, all", "kuhn, some", "leduc", "river"],
)
def test_a_lock_under_an_abstraction(name, key, share):
  """The lock is played to the letter, other members of its sets still play alike, and best responses keep to
  it.

  These are found by linear programs: the value where all of the opponent is forced, and the player's locks.
  """
  game, (locks, forced) = load(name), of_hands(name, LOCKS[name], share)
  solver = PSCFRSolver(game, "rm+", dtype="float64", abstraction=key, locks=locks)
  solver.run(100)
  found = solver.average_policy()
  for (player, infostate), column in forced.items():
    np.testing.assert_allclose(list(found.at(player, infostate).values()), column, atol=1e-12)
  played = {(d.player, n): list(found.at(d.player, n).values()) for d, _, n in solver.tree.names.infostates()}
  alike = {}
  for player in (0, 1):
    names = sorted(n for i, n in played if i == player)
    for infostate, number in zip(names, solver.abstraction.sets[player].tolist(), strict=True):
      if (player, infostate) not in forced:
        alike.setdefault((player, number), []).append(played[player, infostate])
  assert max(map(len, alike.values())) > 1
  for members in alike.values():
    np.testing.assert_allclose(members, [members[0]] * len(members), atol=1e-12)
  best = []
  for player in (0, 1):
    others = {place: column for place, column in played.items() if place[0] != player}
    best.append((1 - 2 * player) * sequence_form_value(game, {**others, **forced}))
  np.testing.assert_allclose(solver.evaluation().best_response, best, atol=1e-7 * game.max_utility())


def test_an_abstraction_that_joins_nothing_changes_nothing_under_a_lock():
  policy = random_policy("leduc_poker")
  plain, same = (
    PSCFRSolver(load("leduc_poker"), locks={"raise": policy}, abstraction=key) for key in (None, "identity")
  )
  for solver in (plain, same):
    solver.run(20)
  assert plain.exploitability() == same.exploitability()


@pytest.mark.usefixtures("optimized")  # else a run in other parts differs by rounding, with sets
def test_files_keep_locks_and_sets(tmp_path):
  solver = PSCFRSolver(load("leduc_poker"), abstraction="observation", locks={"raise": {"raise": 1}})
  solver.run(10)
  solver.save(tmp_path / "run.safetensors")
  again = load_solver(tmp_path / "run.safetensors")
  for one in (solver, again):
    one.run(10)
  assert again.exploitability() == solver.exploitability()


@pytest.mark.parametrize("share", [1, 0.5])
def test_files_keep_locks(tmp_path, share):
  locks, _ = of_hands("leduc_poker", LOCKS["leduc_poker"], share)
  solver = PSCFRSolver(load("leduc_poker"), dtype="float64", locks=locks)
  solver.run(20, progress=False)
  solver.save(tmp_path / "run.safetensors")
  again = load_solver(tmp_path / "run.safetensors")
  assert again.exploitability() == solver.exploitability()
  assert "locked" in again.description
  again.run(5, progress=False)
  found, expected = load_policy(tmp_path / "run.safetensors"), solver.average_policy()
  for d in solver.tree.names.decisions:
    np.testing.assert_allclose(found.table(d), expected.table(d), atol=1e-12)


@pytest.mark.parametrize(
  "locks, message",
  [
    ({"pass, pass, bet": {"bet": 1}}, "The game is over after Pass, Pass"),
    ({"raise": {"bet": 1}}, "'raise' is not legal here. Legal: Pass, Bet"),
    ({"bet, pass": {"bet": 1}}, "locks: 'bet, pass': no player acts after it"),
    ({("pass",): {"bet": 1}}, r"locks: \('pass',\): moves must be a text, such as .*, got \('pass',\)"),
    ({"pass": {"bet": 1}, "0": {"bet": 1}}, "'0' is locked twice: 'pass' is the same line"),
    ({"pass": {"bet": 0.5, "b": 0.5}}, "'b' and 'bet' are the same action"),
    ({"pass": {"call": 1}}, "'call' is not legal after Pass. Legal: Pass, Bet"),
    ({"pass": {"bet": 0.5}}, "must be at least 0, with the sum one"),
    ({"pass": {"bet": 2, "pass": -1}}, "must be at least 0, with the sum one"),
    ({"pass": "bet"}, r"locks: 'pass': got 'bet'; .* actions \(Pass, Bet\) to .*such as \{'bet': 1\}"),
    ({"pass": "fold"}, r"locks: 'pass': got 'fold'; .* actions \(Pass, Bet\) to .*such as \{'Pass': 1\}"),
    ({"pass": 3}, "locks: 'pass': got 3; a strategy is a policy, or a mapping"),
    ({"pass": {"0": "bet"}}, r"locks: 'pass': got 'bet'; .*such as \{'bet': 1\}, or of hands"),
    ({"pass": {"bet": "1"}}, r"locks: 'pass': got '1'; .* actions \(Pass, Bet\) to probabilities"),
    ({"pass": {"*": 1}}, "locks: 'pass': got 1; a strategy is a policy, or a mapping"),
    ({"pass": None}, "locks: 'pass': got None; a strategy is a policy, or a mapping"),
  ],
)
def test_wrong_locks(locks, message):
  with pytest.raises(ValueError, match=message):
    PSCFRSolver(load("kuhn_poker"), locks=locks)


def test_locks_of_a_wrong_kind():
  with pytest.raises(TypeError, match="locks must be a mapping of lines to policies"):
    PSCFRSolver(load("kuhn_poker"), locks="pass")
  with pytest.raises(ValueError, match="compiled without public states"):
    PSCFRSolver(load("kuhn_poker"), public_states="none", locks={"pass": {"bet": 1}})


def test_single_hands_and_mixtures(tmp_path):
  """Hands of a lock play their own mixture, all others the first one, in Python and in the shell."""
  words = ["--board=9s7c5s4h3c", "--pot=100", "--stack=100", "--bets=a", "--ranges=88, JJ; AA, KK, T9s"]
  lock = "all-in=fold:0.7,call:0.3; call@AA,Tc9c"
  out = tmp_path / "run"
  assert (
    program.run(
      ["solve", *words, f"--lock={lock}", "--iterations=20", "--quiet", "--noplot", f"--output={out}"]
    )
    == 0
  )
  shell = load_policy(out / "run.safetensors")
  locks = {"all-in": {"*": {"fold": 0.7, "call": 0.3}, "AA, Tc9c": {"call": 1}}}
  solver = PSCFRSolver(shell.game, locks=locks)
  solver.run(20)
  for policy in (shell, solver.average_policy()):
    here = spot(policy, "all-in")
    for name, played in zip(here.types, here.probability.T, strict=True):
      special = name[0] == name[2] == "A" or name == "Tc9c"
      np.testing.assert_allclose(played, [0, 1] if special else [0.7, 0.3], atol=1e-12)


def test_a_class_of_hands_is_locked():
  """On 9s7c5s4h3c nines pair the top card, 65 has the straight, and 85 the third pair."""
  game = river(pot=100, stack=100, bets="a", ranges=("88, JJ", "AA, A9s, 65s, 85s"))
  solver = PSCFRSolver(game, locks={"all-in": {"top pair": {"fold": 1}, "straight": {"call": 1}}})
  solver.run(20)
  here = spot(solver.average_policy(), "all-in")
  for name, played in zip(here.types, here.probability.T, strict=True):
    if name[2] == "9":
      np.testing.assert_allclose(played, [1, 0], atol=1e-12)
    if name[0] == "6":
      np.testing.assert_allclose(played, [0, 1], atol=1e-12)
    assert name[0] != "8" or played[1] < 1  # free, and worse than eights
  with pytest.raises(ValueError, match="never holds 'flush'"):
    PSCFRSolver(game, locks={"all-in": {"flush": {"fold": 1}}})


@pytest.mark.parametrize(
  ("how", "message"),
  [
    ({"*": {"fold": 1}, "QQ": {"call": 1}}, "never holds 'QQ'"),
    ({"*": {"fold": 1}, "big": {"call": 1}}, "'big', character 1: not understood"),
    ({"*": {"fold": 0.5}}, "with the sum one"),
    ({"AA": {"fold": 0.5}}, "with the sum one"),
    ({"QQ": {"call": 1}}, "never holds 'QQ'"),
    ({"AA:0.5": {"call": 1}}, "'AA:0.5' has weights"),
    ({"AA": {"fold": 1}, "call": 1}, "'call', character 1: not understood"),
    ({"*": "fold"}, r"locks: 'all-in': got 'fold'; .*such as \{'fold': 1\}, or of hands"),
  ],
)
def test_wrong_locks_of_single_hands(how, message):
  game = river(pot=100, stack=100, bets="a", ranges=("88, JJ", "AA, KK"))
  with pytest.raises(ValueError, match=message):
    PSCFRSolver(game, locks={"all-in": how})


@pytest.mark.parametrize(
  ("text", "mixture"),
  [
    ("bet 1,200:0.7,check:0.3", {"bet 1,200": 0.7, "check": 0.3}),
    ("fold:70%, bet 12,000:30%", {"fold": 0.7, "bet 12,000": 0.3}),
    ("x:0,200:1", {"x": 0, "200": 1}),
    ("bid 1: 2:1", {"bid 1: 2": 1}),
    ("bet 1,200", {"bet 1,200": 1}),
  ],
)
def test_mixtures_in_the_shell(text, mixture):
  (read,) = _locks([f"x={text}"], 1)["x"].values()
  assert read == mixture


@pytest.mark.parametrize(
  "how", ["fold:0.7,call", "fold,call:0.3", "fold:0.7,,call:0.3", "fold; call", "fold; call@", "call@"]
)
def test_wrong_locks_in_the_shell(how, capfd):
  words = ["--pot=100", "--stack=100", "--bets=a", "--ranges=88, JJ; AA, KK", "--iterations=1"]
  assert program.run(["solve", *words, f"--lock=all-in={how}", "--noplot"]) == 2
  assert "--lock" in capfd.readouterr().err


def test_the_estimate_counts_the_copies_behind_locks_of_some_hands():
  """A lock of one hand at the root copies nearly all rows: the tables take twice the memory."""
  game = pyspiel.load_game("holdem_subgame(board=9s7c5s4h,stack=2000,bets=1 a,ranges=22+ A2s+;22+ A2s+)")

  def tables(locks):
    solver = PSCFRSolver(game, locks=locks)
    numbers = sum(np.size(x) for own in solver._state.players for x in own.strategy)
    return numbers, solver.estimated_bytes

  (all_hands, estimated), (some, more) = tables({"": {"Check": 1.0}}), tables({"": {"AsAd": {"Check": 1.0}}})
  assert some > 1.3 * all_hands
  assert more > estimated
