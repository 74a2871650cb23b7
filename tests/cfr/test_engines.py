"""The choice of the engine that computes a run (`cfr.engines`), and the reasons that it gives."""

import dataclasses
from pathlib import Path

import jax
import numpy as np
import pyspiel
import pytest

import ps_cfr_spiel
from ps_cfr_spiel import PSCFRSolver, build_tree, cfr, rules, tree
from ps_cfr_spiel.backend import native
from ps_cfr_spiel.backend.device import precision, to_device

needs_library = pytest.mark.skipif(bool(native.why_unavailable()), reason="no native library")
RIVER = "river_subgame(pot=10,stack=20,bets=1 a,ranges=AA KK QJs;QQ AKs T9s)"
WIDE = "river_subgame(pot=10,stack=20,bets=1 a,ranges=22+ AK;22+ AK)"  # 90 hands


class Derived(rules.RMPlus):
  """CFR+ under another name, whose class declares nothing itself."""


@dataclasses.dataclass(frozen=True)
class Mine(rules.Rule):
  """Uniform play."""

  gamma: float = 0.0

  def init(self, shape, dtype):
    return ()

  def update(self, state, strategy, regret, t):
    return state, strategy


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Recording(tree.LeafEvaluator):
  """Leaves whose values are averaged."""

  kind = "recording"
  inner: tree.LeafEvaluator

  def __call__(self, player, opponent_reach, own_reach=None):
    return self.inner(player, opponent_reach, own_reach)

  def recorded(self, player, values):
    return (values[0],)


def name(engine):
  """The engine's name, without the reason."""
  return str(engine).partition(":")[0]


@needs_library
@pytest.mark.parametrize(
  ("game", "options", "engine"),
  [
    ("kuhn_poker", {}, "native iterations"),
    ("leduc_poker", {"leaves": "sparse", "rule": "dcfr"}, "native iterations"),
    ("kuhn_poker", {"bits": 16}, "native turns: the tables are compressed"),
    ("kuhn_poker", {"abstraction": "initial"}, "xla: an abstraction joins infostates in sets"),
    ("kuhn_poker", {"rule": "vad-cfr"}, "xla: the rule VADCFR has no native form"),
    ("kuhn_poker", {"rule": Mine()}, "xla: the rule Mine has no native form"),
    ("kuhn_poker", {"rule": Derived()}, "xla: the rule Derived has no native form, which is not inherited"),
    (RIVER, {"leaves": "native"}, "boards, 32 bits"),
    (RIVER, {"leaves": "native", "bits": 16}, "boards, 16 bits"),
    (RIVER, {"leaves": "dense"}, "native iterations"),
    (WIDE, {"leaves": "dense"}, "native turns: the leaves ('dense') have no small matrices of payoffs"),
    (RIVER, {"leaves": "native", "rule": "apcfr+"}, "xla: the rule APCFRPlus has no native form"),
  ],
)
def test_the_engine_of_a_run_and_why_none_is_faster(game, options, engine):
  solver = PSCFRSolver(pyspiel.load_game(game), **options)
  assert str(solver.engine) == engine
  solver.run(2)
  assert str(solver.engine) == engine  # the state of a run changes nothing
  assert f"engine: {engine}" in " ".join(solver.summary().split())


def test_without_the_library_xla_says_so(monkeypatch):
  monkeypatch.setattr("ps_cfr_spiel.cfr.engines.why_unavailable", lambda: "no file")
  engine = PSCFRSolver(pyspiel.load_game("kuhn_poker")).engine
  assert str(engine) == "xla: the native library is missing: no file"


@needs_library
def test_the_choice_in_a_trace_is_that_outside():
  """Searches and batches call `iterate` within functions of their own."""
  rule, chosen = cfr.make_rule("rm+"), []
  with precision("float32"):
    made = to_device(build_tree(pyspiel.load_game("kuhn_poker")), "float32")
    state = cfr.init(made, rule, "float32")

    def traced(made, state):
      chosen.append(cfr.choose(made, rule, state.players))
      return state.iteration

    jax.jit(traced)(made, state)
    jax.eval_shape(jax.vmap(traced, in_axes=(None, 0)), made, jax.tree.map(lambda x: x[None], state))
  assert [name(engine) for engine in chosen] == ["native iterations"] * 2


@needs_library
def test_native_turns_average_the_values_at_a_frontier_as_xla_does(monkeypatch):
  """A search averages the values where its lookahead ends."""
  made, rule = build_tree(pyspiel.load_game("kuhn_poker"), "sparse"), rules.DCFR()
  made = dataclasses.replace(made, leaves=Recording(made.leaves))

  def run():
    state = cfr.init(made, rule, "float64")
    engine = cfr.choose(made, rule, state.players)
    return engine, cfr.run(made, state, 50, 3, rule=rule).players

  with precision("float64"):
    chosen, players = run()
    monkeypatch.setattr("ps_cfr_spiel.cfr.engines.why_unavailable", lambda: "no file")
    jax.clear_caches()
    reference, others = run()
  assert str(chosen) == "native turns: values of leaves are recorded"
  assert name(reference) == "xla"
  for one, other in zip(*map(jax.tree.leaves, (players, others)), strict=True):
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
  assert all(np.ptp(cfr.average_record(player)[0]) > 0.1 for player in players)


def test_every_engine_names_its_test():
  root = Path(ps_cfr_spiel.__file__).parents[1]
  for engine in cfr.ENGINES:
    assert (root / engine.tested.partition(",")[0]).is_file(), engine.name
  assert len({engine.name for engine in cfr.ENGINES}) == len(cfr.ENGINES)
  assert not cfr.ENGINES[-1].needs  # so that every case has one


def test_a_rule_that_does_not_derive_from_rule_is_refused():
  class Duck:
    gamma, init, update = 0.0, Mine.init, Mine.update

  with pytest.raises(ValueError, match=r"A rule of your own derives from ps_cfr_spiel\.rules\.Rule"):
    PSCFRSolver(pyspiel.load_game("kuhn_poker"), Duck())  # pyright: ignore[reportArgumentType]
