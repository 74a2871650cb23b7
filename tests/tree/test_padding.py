"""Dead types: evaluators and solvers find with them what they find without, and nothing compiles twice."""

import jax
import numpy as np
import pyspiel
import pytest
from cuts import values_of
from jax import monitoring
from test_native_leaves import close, needs_library, some_leaves

from ps_cfr_spiel import PSCFRSolver, build_tree, cfr, load_solver
from ps_cfr_spiel.backend.device import precision, to_device
from ps_cfr_spiel.tree import DenseLeaves, NativeLeaves, ShowdownLeaves, pad_types
from ps_cfr_spiel.tree.padding import SIZES, padded_size

KINDS = {"native": NativeLeaves, "dense": DenseLeaves, "showdown": ShowdownLeaves}
EVERY_KIND = [pytest.param(kind, marks=needs_library if kind == "native" else ()) for kind in KINDS]
BETS = "pot={},stack={},bets=1 a,board={},ranges={}"
FIRST = BETS.format(20, 40, "9s7c5s4h3c", "22+ A9s+;TT+ ATs+ AQo")
# Another board, other ranges, another pot, all at once; of 65 to 96 and 49 to 64 hands each.
OTHERS = [
  BETS.format(20, 40, "KhKd8c4s2h", "22+ A9s+;TT+ ATs+ AQo"),
  BETS.format(20, 40, "9s7c5s4h3c", "33+ AJs+;99+ AJs+ AQo:0.7"),
  BETS.format(300, 600, "9s7c5s4h3c", "22+ A9s+;TT+ ATs+ AQo"),
  BETS.format(60, 120, "QsJs6d5d2c", "44+ A9s+;77+ A8s+"),
]
compilations: list[str] = []  # by XLA or from the cache on disk, in this process
monitoring.register_event_duration_secs_listener(
  lambda name, _, **__: compilations.append(name) if name.endswith("backend_compile_duration") else None
)


def river(parameters):
  return pyspiel.load_game(f"river_subgame({parameters})")


@pytest.mark.parametrize("types", [1, 8, 9, 20, 100, 450, 1081, 1128, 1326, 1400, 5000])
def test_few_sizes(types):
  size = padded_size(types)
  assert types <= size <= 1.5 * types + 7
  assert padded_size(size) == size
  assert size in SIZES or size % 512 == 0


def test_all_hands_on_a_river_take_few_more():
  assert padded_size(1081) == 1088


@pytest.mark.parametrize("kind", EVERY_KIND)
@pytest.mark.parametrize(
  "name", ["one hand against many", "three cards block all but nothing", "unequal", "no fold"]
)
def test_values_are_those_of_the_living(kind, name):
  """Whatever reach dead types are given; they are worth nothing themselves."""
  form, showdown_payoff, fold_payoff, reach = some_leaves(name)
  hands = [len(types) for types in form.types]
  rng = np.random.default_rng(3)
  with precision("float64"):
    leaves = KINDS[kind].create(form, showdown_payoff, fold_payoff)
    wide = to_device(leaves.pad_types([n + 5 + i for i, n in enumerate(hands)]), "float64")
    for player in (0, 1):
      given = reach[1 - player]
      more = [np.concatenate([r, rng.random((len(r), 6 - player))], 1) for r in given]
      found = [np.asarray(v) for v in values_of(wide, player, to_device(more, "float64"))]
      expected = values_of(leaves, player, to_device(given, "float64"))
      close([v[:, : hands[player]] for v in found], expected, 1e-13)
      assert not any(v[:, hands[player] :].any() for v in found)


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_solver_finds_what_it_finds_without(kind):
  game, rule = river(FIRST), cfr.RMPlus()
  tree = build_tree(game, kind)
  padded = pad_types(tree).tree
  assert [player.types for player in padded.players] != [player.types for player in tree.players]
  solver = PSCFRSolver(game, rule, dtype="float64", leaves=kind)
  solver.run(40)
  with precision("float64"):
    bare = to_device(tree, "float64")
    state = cfr.run(bare, cfr.init(bare, rule, "float64"), 40, rule=rule)
    expected = cfr.average_strategy(bare, state)
  policy = solver.average_policy()
  for blocks, others, player in zip(policy.strategies, expected, tree.players, strict=True):
    assert [block.shape for block in blocks] == player.block_shapes
    for block, other in zip(blocks, others, strict=True):
      np.testing.assert_allclose(block, other, rtol=0, atol=1e-10)


@pytest.mark.parametrize("rule", ["nrm+", "dcfr"])
def test_files_go_on(tmp_path, rule):
  solver = PSCFRSolver(river(FIRST), rule)
  solver.run(30)
  solver.save(tmp_path / "run.safetensors")
  loaded = load_solver(tmp_path / "run.safetensors")
  for _ in range(2):
    for a, b in zip(jax.tree.leaves(solver._state), jax.tree.leaves(loaded._state), strict=True):
      np.testing.assert_array_equal(a, b)
    solver.run(10)
    loaded.run(10)


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_another_river_compiles_nothing(kind, tmp_path):
  """All that is done with a spot: solve, evaluate, policy, file."""

  def work(parameters):
    before = len(compilations)
    solver = PSCFRSolver(river(parameters), leaves=kind)
    solver.run(3)
    solver.evaluation()
    solver.average_policy()
    solver.current_policy()
    solver.save(tmp_path / "run.safetensors")
    load_solver(tmp_path / "run.safetensors").run(1)
    return len(compilations) - before

  jax.clear_caches()
  assert (work(FIRST) > 0) == (kind != "native")  # compilations are counted; direct calls need none
  assert [work(parameters) for parameters in OTHERS] == [0] * len(OTHERS)


def test_walked_games_stay_as_they_are():
  tree = build_tree(pyspiel.load_game("kuhn_poker"))
  assert pad_types(tree).tree is tree
