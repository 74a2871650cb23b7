"""A class of the user's own is the one that runs: none that it derives from, or is called like, replaces it.

Each test derives a class that behaves otherwise than its parent, where a shortcut (native code, tables of 16
bits, a form in place of a game) serves the parent. `arguments.declared` is the one mechanism.
"""

import dataclasses
from typing import Any

import jax
import numpy as np
import pyspiel
import pytest
from open_spiel.python.policy import UniformRandomPolicy

from ps_cfr_spiel import (
  ExternalSamplingSolver,
  PSCFRSolver,
  TreePolicy,
  build_tree,
  cfr,
  exploitability,
  load_solver,
  tree,
)
from ps_cfr_spiel.backend.device import precision, to_device
from ps_cfr_spiel.backend.native import why_unavailable
from ps_cfr_spiel.batches.batch_run import read_situation
from ps_cfr_spiel.cards.poker import Situation, cards_of
from ps_cfr_spiel.compilation.compiler import form_of
from ps_cfr_spiel.compilation.compiler.described import describe
from ps_cfr_spiel.evaluation.match_play import Habit
from ps_cfr_spiel.policy import for_hands, post_process
from ps_cfr_spiel.rules import LCFR, RM, RULES, NRMPlus, RMPlus
from ps_cfr_spiel.sampling import mccfr
from ps_cfr_spiel.sampling.keyed import OpenSpielKeys
from ps_cfr_spiel.solvers import HierarchicalMCCFRSolver, KeyedExternalSolver, KeyedMCCFRSolver

KUHN = pyspiel.load_game("kuhn_poker")
UNIFORM = 11 / 24  # the exploitability of uniform play in Kuhn poker
RIVER = "river_subgame(pot=10,stack=20,bets=1 a,ranges=AA KK;QQ AKs)"


def uniform(kind):
  """A rule derived from another that always plays uniformly."""
  return type("Uniform", (kind,), {"update": lambda self, state, strategy, regret, t: (state, strategy)})()


@pytest.mark.parametrize("entered", [False, True])
@pytest.mark.parametrize("name", ["rm", "rm+", "lcfr", "pcfr+", "sapcfr+", "nrm+"])
def test_update_of_a_derived_rule(name, entered, monkeypatch):
  rule = uniform(RULES[name])
  if entered:
    monkeypatch.setitem(RULES, "uniform", type(rule))
  solver = PSCFRSolver(KUHN, rule)
  solver.run(10)
  assert solver.exploitability() == pytest.approx(UNIFORM, abs=1e-6)


def test_uniform_play_in_leduc(monkeypatch):
  monkeypatch.setitem(RULES, "uniform", type(uniform(RMPlus)))
  solver = PSCFRSolver(pyspiel.load_game("leduc_poker"), "uniform")
  solver.run(3)
  assert solver.exploitability() == pytest.approx(2.3736, abs=1e-4)


@dataclasses.dataclass(frozen=True)
class Late(RMPlus):
  """Iterations up to 5 do not count."""

  def schedule(self, t, dtype):
    return (t > 5).astype(dtype)


@dataclasses.dataclass(frozen=True)
class Distrustful(RMPlus):
  """No iteration counts, so that the average is uniform."""

  def trust(self, regret, t):
    return 0 * regret[:1]


@dataclasses.dataclass(frozen=True)
class Unbounded(RMPlus):
  """Regrets may fall below 0, as those of RM."""

  def numbers(self, t, dtype):
    return RM.numbers(RM(), t, dtype)


@dataclasses.dataclass(frozen=True)
class First(RMPlus):
  """The first action had a large regret before the first iteration."""

  def init(self, shape, dtype):
    return np.broadcast_to(np.eye(shape[0], 1, dtype=dtype)[:, :, None] * 1e6, shape).copy()


def averages(rule, **options):
  solver = PSCFRSolver(KUHN, rule, dtype="float64", **options)
  solver.run(20)
  return np.concatenate([block.ravel() for own in solver.average_policy().strategies for block in own])


@pytest.mark.parametrize("kind", [Late, Distrustful, Unbounded, First])
def test_one_method_of_a_derived_rule(kind, monkeypatch):
  monkeypatch.setitem(RULES, "own", kind)
  same = {
    Late: lambda: averages(RMPlus(), averaging_delay=5),
    Distrustful: lambda: 0.5,
    Unbounded: lambda: averages(RM(gamma=1.0)),
    First: lambda: averages("own") > 0.5,
  }[kind]()
  atol = 0.1 if kind is First else 1e-9
  np.testing.assert_allclose(averages("own"), same, atol=atol)


def test_sixteen_bits_are_declared():
  """A derived rule's strategy need not be what `NRMPlus.decompress` makes of its tables."""
  derived = uniform(NRMPlus)
  assert NRMPlus().has_compressed_tables and not derived.has_compressed_tables
  with pytest.raises(ValueError, match="give your rule's own class the methods compress and decompress"):
    PSCFRSolver(KUHN, derived, bits=16)
  said = type("Said", (NRMPlus,), {"compress": NRMPlus.compress, "decompress": NRMPlus.decompress})()
  assert PSCFRSolver(KUHN, said, bits=16).exploitability() > 0
  weighing = type("Weighing", (type(said),), {**vars(type(said)), "schedule": Late.schedule})()
  with pytest.raises(ValueError, match="Weighing has a schedule or a trust of its own"):
    PSCFRSolver(KUHN, weighing, bits=16)


@pytest.mark.parametrize("kind", [RM, RMPlus, LCFR])
@pytest.mark.parametrize("solver", [ExternalSamplingSolver, KeyedMCCFRSolver, HierarchicalMCCFRSolver])
def test_samplers_refuse_derived_rules(solver, kind):
  """They add regrets up themselves, and never call `update`."""
  game = pyspiel.load_game("leduc_poker") if solver is HierarchicalMCCFRSolver else KUHN
  with pytest.raises(ValueError, match="Sampling takes the rules"):
    solver(game, rule=uniform(kind))


def test_a_rule_called_like_another_is_not_read_as_it(tmp_path):
  rule = type("DCFR", (RMPlus,), {})()
  solver = PSCFRSolver(KUHN, rule)
  solver.save(tmp_path / "run.safetensors")
  with pytest.raises(ValueError, match=r"\.DCFR"):
    load_solver(tmp_path / "run.safetensors")


class _Nothing:
  """An evaluator's call, by which all utilities are 0."""

  def __call__(self, player, opponent_reach, own_reach=None):
    return [0 * x for x in super().__call__(player, opponent_reach, own_reach)]  # pyright: ignore


def with_leaves(made, **methods):
  """The tree with an evaluator derived from its own."""
  leaves = jax.tree.map(lambda table: table, made.leaves)  # those of a form are read, and not lazy any more
  kind = type(leaves)
  derived = dataclasses.dataclass(frozen=True)(type("Derived", (*methods.values(), kind), {}))
  jax.tree_util.register_dataclass(derived)
  fields = {field.name: getattr(leaves, field.name) for field in dataclasses.fields(kind)}
  return dataclasses.replace(made, leaves=derived(**fields))


@pytest.mark.parametrize(
  "name, leaves", [("kuhn_poker", "sparse"), ("kuhn_poker", "blocks"), (RIVER, "native")]
)
def test_a_derived_evaluator(name, leaves):
  """Where nothing is worth anything, play stays uniform."""
  if leaves == "native" and why_unavailable():
    pytest.skip("no native library")
  made = tree.streamed(with_leaves(build_tree(pyspiel.load_game(name), leaves), call=_Nothing))
  rule = RM()
  with precision("float32"):
    made = to_device(made, "float32")
    state = cfr.run(made, cfr.init(made, rule, "float32"), 5, rule=rule)
    for own in cfr.current_strategy(made, state, rule=rule):
      assert all(np.allclose(block, 1 / block.shape[0]) for block in own)


@pytest.mark.parametrize(
  "name", ["matrix_bos", "holdem_subgame(board=9s7c5s4h,stack=200,bets=a;x,ranges=AsAd KsKd;QsQd JsJd)"]
)
def test_a_derived_evaluator_is_kept_in_subgames(name):
  made = with_leaves(build_tree(pyspiel.load_game(name)))
  parts = [np.zeros((1, 1), int) for _ in made.players[0].leaf.children]
  assert type(made.leaves.take(parts)) is type(made.leaves)


def test_a_derived_sampler():
  """The library samples for the package's own classes alone."""
  from ps_cfr_spiel.sampling.mccfr.tables import numbers_of

  @dataclasses.dataclass(frozen=True)
  class Derived(mccfr.ExternalSampling):
    pass

  assert numbers_of(mccfr.ExternalSampling()) is not None and numbers_of(Derived()) is None
  with pytest.raises(ValueError, match="variance of Derived is not computed"):
    mccfr.check_variance(type("Derived", (mccfr.OutcomeSampling,), {})(mccfr.ZeroBaseline()))


def test_a_derived_baseline_says_itself_what_it_guesses():
  kind = type("Guessing", (mccfr.ZeroBaseline,), {"decisions": True})
  assert mccfr.OutcomeSampling(mccfr.ZeroBaseline()).general_sum
  assert not mccfr.OutcomeSampling(kind()).general_sum


def doubled(game):
  """A game of a class derived from the game's, in which all payoffs are doubled."""
  kind: Any = type(game)
  state_kind: Any = type(game.new_initial_state())
  state = type("State", (state_kind,), {"returns": lambda self: [2 * x for x in state_kind.returns(self)]})
  derived = type("Doubled", (kind,), {"new_initial_state": lambda self: state(self)})
  return derived(game.get_parameters())


def test_a_derived_game_with_a_form():
  """The form that it inherits is that of another game."""
  game = pyspiel.load_game(RIVER)
  own = doubled(game)
  assert form_of(game) is not None and form_of(own) is None
  first, second = (PSCFRSolver(x, dtype="float64") for x in (game, own))
  first.run(200)
  second.run(200)
  assert first.value() != pytest.approx(0, abs=0.1)
  assert second.value() == pytest.approx(2 * first.value(), rel=1e-2)
  assert isinstance(read_situation(game), Situation) and read_situation(own) is own


def test_a_derived_game_that_is_described_by_name():
  game = pyspiel.load_game("holdem(deck=5x2,stack=200,bets=1 a)")
  assert describe(game) is not None and describe(doubled(game)) is None
  with pytest.raises(ValueError, match="Doubled, not the game that"):
    cards_of(doubled(game))


def test_a_derived_game_with_a_keyed_form():
  own = doubled(pyspiel.load_game("cheat(ranks=2,suits=2,hand_size=2,max_turns=4)"))
  with pytest.raises(ValueError, match="no keyed_form"):
    KeyedExternalSolver(own)
  assert isinstance(KeyedMCCFRSolver(own)._form, OpenSpielKeys)


class Passive(TreePolicy):
  """The first action always, whatever the tables say."""

  def action_probabilities(self, state, player_id=None):
    legal = state.legal_actions()
    return dict(zip(legal, [1.0, *(0.0 for _ in legal[1:])], strict=True))


def test_a_derived_policy():
  solver = PSCFRSolver(KUHN)
  solver.run(100)
  solved = solver.average_policy()
  own = Passive(KUHN, solved.labels, solved.strategies)
  # Who always passes and folds loses 1 to a bet: a best response wins 1 in either seat.
  assert exploitability(KUHN, own) == pytest.approx(1.0)
  assert exploitability(KUHN, post_process(KUHN, own, "purify")) == pytest.approx(1.0)


@pytest.mark.parametrize("kind", [Habit, UniformRandomPolicy])
def test_a_derived_policy_of_hands(kind):
  """The hands of a derived policy are asked one by one."""
  game = pyspiel.load_game("holdem(deck=5x2,stack=200,bets=1 a)")
  state = game.new_initial_state()
  for card in range(4):
    state.apply_action(card)
  last = max(state.legal_actions())
  derived: Any = type("Last", (kind,), {"action_probabilities": lambda self, state, player=None: {last: 1.0}})
  assert [*for_hands(derived("fold" if kind is Habit else game), state)] == [last]
