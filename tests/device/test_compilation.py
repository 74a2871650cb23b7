"""Compiled code computes what the same code does step by step, with our compiler options and without.

Users wrap our functions in `jax.jit` of their own, which has XLA's defaults.
"""

import functools
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest
from cuts import levels
from game_shapes import Shape, game_of

from ps_cfr_spiel import build_tree, cfr
from ps_cfr_spiel.backend.device import compilation, to_device
from ps_cfr_spiel.backend.native import why_unavailable
from ps_cfr_spiel.resolving.subgames import GADGETS, Subgames
from ps_cfr_spiel.sampling.mccfr import (
  ExternalSampling,
  LearnedBaseline,
  OutcomeSampling,
  PublicSampling,
)

pytestmark = pytest.mark.usefixtures("optimized")

RIVER = "river_subgame(board=KhKd8c4s2h,stack=500,ranges=AsAd QsQd:0.5 7c6c;JsJd Ah8h 5c4c:3)"
FEW_BETS = RIVER.replace("stack=500,", "stack=500,bets=a,")
LATE = Shape(3, 0.0, 0.3, False, False, False, 0.5, True, 1, seed=7)  # a game whose chance moves come late
SHALLOW = Shape(2, 0.0, 0.3, False, False, False, 0.5, True, 1, seed=58)  # chance or a player moves second


def test_options_that_this_jax_does_not_know(monkeypatch):
  """The first call compiles without them, and so do later ones; an error of the function itself is raised."""
  monkeypatch.setattr(compilation, "OPTIONS", {"xla_no_such_option": True})
  monkeypatch.setattr(compilation, "_refused", False)
  double = compilation.jit(donate_argnums=0)(lambda x: 2 * x)
  assert double(jnp.ones(2)).tolist() == [2, 2]
  assert compilation.compiler_options() is None
  assert compilation.jit()(lambda x: x + 1)(1) == 2


def test_errors_of_a_function_say_nothing_of_options():
  def fails(x):
    raise FloatingPointError("its own")

  with pytest.raises(FloatingPointError, match="its own"):
    compilation.jit()(fails)(1)
  assert compilation.compiler_options() == compilation.OPTIONS


def load(game):
  return pyspiel.load_game(game) if isinstance(game, str) else game_of(game)


def solve(tree, state, rule):
  return cfr.iterate(tree, state, 2, rule=rule)


@pytest.fixture
def check(optimized):
  """A function gives the same by steps, compiled by XLA's defaults, and compiled by our options.

  With constants, the function that XLA's defaults compile closes over all arguments but the last.
  """

  def compare(function, *arguments, constants=False):
    with optimized(), jax.disable_jit():  # each operation is a program by itself here, which others have
      expected = jax.tree.leaves(function(*arguments))
    assert any(np.abs(np.asarray(x, float)).max(initial=0) > 0 for x in expected)
    closure = (functools.partial(function, *arguments[:-1]), arguments[-1:])
    users = closure if constants else (function, arguments)
    for options, (form, given) in ((None, users), (compilation.compiler_options(), (function, arguments))):
      found = jax.tree.leaves(jax.jit(form, compiler_options=options)(*given))
      for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9, err_msg=f"{options} {len(given)}")

  return compare


@pytest.mark.parametrize(
  "sampler, game",
  [
    (OutcomeSampling(LearnedBaseline()), SHALLOW),
    (ExternalSampling(), SHALLOW),  # a traversal is a program for each operation of each move
    (PublicSampling(LearnedBaseline()), FEW_BETS),
  ],
  ids=["learned", "external", "public"],
)
def test_samplers(sampler, game, check):
  """Also where tables are constants of a user's function and the root decides: its column is one, too."""
  loaded, source = load(game), "closure" if game == FEW_BETS else "none"
  host = sampler.sampling_tree(loaded, build_tree(loaded, public_states=source))
  assert any(depth.outcomes for depth in host.depths[1:]) or game == FEW_BETS
  player = int(host.actor[0])
  assert player in (0, 1)
  tree, rng = to_device(host, "float64"), np.random.default_rng(0)
  regrets = rng.normal(0.3, 1, (tree.actions, tree.cells))
  regrets *= np.arange(tree.actions)[:, None] < np.asarray(tree.legal)
  tables = [jnp.asarray(x) for x in (regrets, rng.normal(size=sampler.entries(tree)))]
  plays = 2 if sampler == ExternalSampling() else 37  # it samples one traversal after the other
  uniforms = jnp.asarray(rng.random((sampler.draws(tree), plays)))
  check(sampler, tree, *tables, jnp.int32(player), uniforms, constants=True)


RIGHT = (0, 9)  # the first JAX whose XLA compiles what follows as it should


@pytest.mark.xfail(jax.__version_info__[:2] < RIGHT, strict=True, reason="why `mccfr.roots` has a barrier")
def test_columns_of_a_constant_table_by_constant_numbers():
  """In plain JAX: an elementwise operation on a gather, both of whose operands are constants of the trace."""
  table = np.random.default_rng(0).standard_normal((4, 20)).astype(np.float32)
  numbers = np.random.default_rng(1).integers(0, 20, 64)
  a, b = jnp.asarray(table), jnp.asarray(numbers)
  compiled = jax.jit(lambda: jnp.maximum(a[:, b], 0))
  np.testing.assert_array_equal(compiled(), np.maximum(table[:, numbers], 0))


def test_the_barrier_is_still_needed():
  text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
  oldest = tuple(int(x) for x in re.findall(r'"jax>=(\d+)\.(\d+)', text)[0])
  assert oldest < RIGHT, "no supported JAX needs the barriers of `mccfr.roots`: remove them"


@pytest.mark.parametrize(
  "game, leaves", [(RIVER, "dense"), (RIVER, "showdown"), (RIVER, "native"), (LATE, "sparse")], ids=str
)
def test_loop_and_leaves(game, leaves, check):
  if leaves == "native" and why_unavailable():
    pytest.skip(why_unavailable())
  source = "none" if leaves == "sparse" else "closure"
  tree = to_device(build_tree(load(game), leaves=leaves, public_states=source), "float64")
  if leaves == "sparse":  # the loop is the same for all
    check(functools.partial(solve, rule=cfr.NRMPlus()), tree, cfr.init(tree, cfr.NRMPlus(), "float64"))
  rng = np.random.default_rng(0)
  parts = tree.players[1].leaf.children
  reach = [jnp.asarray(rng.random((n, tree.players[1].types))) for n in parts]
  check(lambda leaves, reach: leaves(0, reach), tree.leaves, reach)
  chosen = jnp.asarray(rng.integers(0, sum(parts), 7), jnp.int32)
  weights = jnp.asarray(rng.random((7, tree.players[1].types)))
  check(lambda leaves, *x: leaves.sampled(0, *x), tree.leaves, chosen, weights)


@pytest.mark.parametrize("gadget", ["cfr-d", "max-margin"])
def test_gadgets(gadget, check):
  subgames = Subgames.of(pyspiel.load_game("kuhn_poker"))
  subgame = subgames.cut(levels(subgames, 0)[-1])
  sizes = [(roots, p.types) for roots, p in zip(subgame.shape.roots, subgames.tree.players, strict=True)]
  rng = np.random.default_rng(0)
  ranges = rng.random(sizes[0]), rng.random(sizes[1])
  tree = to_device(GADGETS[gadget](subgame, 0, ranges, rng.normal(size=sizes[1])).tree, "float64")
  check(
    functools.partial(solve, rule=cfr.make_rule("pcfr+")),
    tree,
    cfr.init(tree, cfr.make_rule("pcfr+"), "float64"),
  )


def test_a_jitted_function_inside_any_trace():
  """Compiler options are for outermost functions only; inside a trace ours do without, in every JAX."""
  double = compilation.jit(static_argnames="times")(lambda x, times=2: times * x)
  x = jnp.arange(3.0)
  np.testing.assert_array_equal(double(x), [0, 2, 4])
  np.testing.assert_array_equal(jax.vmap(lambda x: double(x, times=3))(x), [0, 3, 6])
  np.testing.assert_array_equal(jax.jit(jax.vmap(double))(x), [0, 2, 4])
  assert jax.grad(double)(1.0) == 2


def test_a_program_is_not_shared_across_settings(optimized):
  """Else tests of optimized programs would get those of other tests."""
  traces = []

  @jax.jit
  def double(x):
    traces.append(jax.config.values["jax_disable_most_optimizations"])
    return 2 * x

  double(1.0)
  with optimized():
    double(1.0)
  double(1.0)
  assert traces[:2] == [False, True]
