"""The room of learned values, on games whose situations are solved in no time."""

import dataclasses
import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest
from edited_files import rewrite

import ps_cfr_spiel
from ps_cfr_spiel import ContinualResolving, storage
from ps_cfr_spiel.backend.device import precision, to_device
from ps_cfr_spiel.evaluation import evaluate_policy
from ps_cfr_spiel.learning import (
  AlphaVectors,
  Examples,
  NetworkValues,
  StateFeatures,
  generate_examples,
  pretrained,
  resume,
  train,
)
from ps_cfr_spiel.learning.boards.places import FrontierStates, Slots, frontier_groups
from ps_cfr_spiel.learning.boards.ranges import perturbed
from ps_cfr_spiel.learning.network import ValueNetwork, normalised, zero_sum
from ps_cfr_spiel.resolving.subgames import Subgames
from ps_cfr_spiel.values import CFRValues, SolvedValues, ValueFunction

CHASE = "glasses(edges=0-1 1-2 2-3 3-4 4-5 5-0 0-3,start=4:1,turns=4)"


@functools.cache
def solved(name, draws=40):
  return generate_examples(pyspiel.load_game(name), draws, iterations=50, progress=False)


@functools.cache
def learned(name):
  return train(solved(name), steps=400, batch=64, width=32, layers=1, progress=False)


@functools.cache
def untrained():
  """Values of Kuhn poker with the card of trained ones."""
  situations = solved("kuhn_poker")
  card = {**pretrained("leduc_poker").card, **situations.card, "learned_from": len(situations)}
  return dataclasses.replace(NetworkValues.untrained(situations, 0, 8, 1), card=card)


def test_values_sum_to_zero_whatever_the_weights():
  key = jax.random.key(1)
  network = ValueNetwork(5, (3, 4), 16, 2, key)
  noisy = jax.tree.map(lambda x: x + 1, network)
  random = np.random.default_rng(2)
  ranges = tuple(jnp.asarray(random.dirichlet(np.ones(m), 50)) for m in (3, 4))
  values = noisy(jnp.asarray(random.integers(5, size=50)), ranges)
  total = sum((r * v).sum(1) for r, v in zip(ranges, values, strict=True))
  assert float(jnp.abs(values[0]).max()) > 1
  assert float(jnp.abs(total).max()) < 1e-9


def test_the_last_layer_leaves_solutions_alone():
  situations = solved("kuhn_poker")
  with precision("float32"):
    values = zero_sum(situations.values, situations.ranges)
  for before, after in zip(situations.values, values, strict=True):
    np.testing.assert_allclose(before, after, atol=1e-6)


def test_ranges_are_normalised_and_zeros_are_not_divided_by():
  possible = jnp.array([[True, True, False], [True, True, False], [False, False, False]])
  range_, total = normalised(jnp.array([[1.0, 3.0, 8.0], [0.0, 0.0, 5.0], [1.0, 1.0, 1.0]]), possible)
  assert range_.tolist() == [[0.25, 0.75, 0], [0.5, 0.5, 0], [0, 0, 0]]
  assert total.tolist() == [[4], [0], [0]]


@pytest.mark.parametrize("name", ["kuhn_poker", CHASE.replace("turns=4", "turns=3")])
def test_situations_are_what_the_teacher_says(name):
  """A situation, put back where it came from, has the values that `CFRValues` gives."""
  game, iterations = pyspiel.load_game(name), 5  # few: float32's last bits, which differ, grow with each
  teacher, subgames = CFRValues(iterations), Subgames.of(game)
  situations = generate_examples(game, 10, teacher=teacher, progress=False)
  most = tuple(r.shape[1] for r in situations.ranges)
  for group in frontier_groups(subgames):
    cut = subgames.cut(group)
    slots = Slots.of(cut, group, len(group), most)
    rows = [
      np.flatnonzero(
        (situations.inputs["place"] == np.searchsorted(situations.features.public_states, s))
        & (situations.draw == 7)
      )
      for s in group
    ]
    assert {len(r) for r in rows} == {1}
    rows = np.concatenate(rows)
    ranges = []
    for i, player in enumerate(cut.tree.players):
      flat = np.zeros(player.roots * player.types + 1, np.float32)
      flat[slots.index[i]] = situations.ranges[i][rows]
      ranges.append(flat[:-1].reshape(player.roots, player.types))
    with precision("float32"):
      bound = to_device(teacher.bind(subgames, group), "float32")
      for i in (0, 1):
        values = np.append(np.asarray(jax.jit(bound.__call__, static_argnums=0)(i, tuple(ranges))), 0)
        np.testing.assert_allclose(values[slots.index[i]], situations.values[i][rows], atol=2e-5)


def test_draws_depend_on_the_seed_and_their_number():
  game, whole = pyspiel.load_game("kuhn_poker"), solved("kuhn_poker")
  again = Examples.join(
    [
      generate_examples(game, n, first=first, iterations=50, progress=False)
      for first, n in ((0, 10), (10, 30))
    ]
  )
  order, other = (np.lexsort((s.inputs["place"], s.draw)) for s in (whole, again))
  for i in (0, 1):
    np.testing.assert_array_equal(whole.ranges[i][order], again.ranges[i][other])
    np.testing.assert_allclose(whole.values[i][order], again.values[i][other], atol=1e-6)


def test_it_learns_and_searches_use_it():
  values, game = learned("kuhn_poker"), pyspiel.load_game("kuhn_poker")
  assert values.losses[-1, 2] < values.losses[0, 2] and values.card["error"] < 0.5
  search = ContinualResolving(game, 300, lookahead=1, value_function=values)
  assert ps_cfr_spiel.exploitability(game, search.tabularise()) < 0.15


def test_what_was_rounding_can_become_a_value():
  """As where searches teach upwards: at first nothing reaches the upper public states but rounding."""
  situations = solved("liars_dice(dice_sides=2)")
  last = situations.inputs["place"] == situations.inputs["place"].max()
  values = tuple(np.where(last[:, None], 1e-12 * v, v) for v in situations.values)
  settings = {"steps": 200, "batch": 64, "width": 16, "layers": 1, "progress": False}
  before = train(dataclasses.replace(situations, values=values), **settings)
  # The mean of the two in the middle, which float32 rounds once here and twice there.
  np.testing.assert_array_max_ulp(before.scale[-1], np.median(before.scale[:-1]), 1)
  assert train(situations, start=before, **settings).card["loss"] < 1
  nothing = dataclasses.replace(situations, values=tuple(0 * v for v in values))
  assert (NetworkValues.untrained(nothing, 0, 8, 1).scale == 1).all()


@pytest.mark.parametrize("informed", [0, 1])
def test_alpha_vectors_by_hand(informed):
  """The vector that is worth least at a range is the informed player's; the other gets what it takes."""
  network = AlphaVectors(1, (1, 2) if informed else (2, 1), 2)
  network = eqx.tree_at(lambda n: n.vectors, network, jnp.array([[[4.0, 0.0], [1.0, 2.0]]]))
  own, one = jnp.array([[0.25, 0.75], [0.5, 0.5]]), jnp.ones((2, 1))
  found = network(jnp.zeros(2, int), (one, own) if informed else (own, one))
  np.testing.assert_allclose(found[informed], [[4, 0], [1, 2]])
  np.testing.assert_allclose(found[1 - informed], [[-1], [-1.5]])


def test_alpha_vectors(tmp_path):
  """Of a chase: right at their own ranges, elsewhere not below what a long solution says, and exact at last.

  Searches by them are less exploitable than by 50 iterations of CFR, which leave 0.044, and than by a
  perceptron, which rounds the kinks.
  """
  game, situations = pyspiel.load_game(CHASE), solved(CHASE)
  values = train(situations, progress=False)
  assert isinstance(values.network, AlphaVectors) and values.card["finished"]
  values.save(tmp_path / "values.safetensors")
  values = NetworkValues.load(tmp_path / "values.safetensors")
  found = jax.jit(lambda network, *given: network(*given))(
    values.network, situations.inputs["place"], situations.ranges
  )
  unit, own = values.scale[situations.inputs["place"]], situations.ranges[1]
  worth, taught = ((own * v).sum(1) for v in (found[1] * unit[:, None], situations.values[1]))
  np.testing.assert_allclose(found[0][:, 0] * unit, -worth, atol=1e-5)
  kept = situations.draw % 20 != 0
  assert (worth[kept] <= taught[kept] + 1e-5).all()
  exact = generate_examples(game, 40, iterations=500, progress=False)
  true = (exact.ranges[1] * exact.values[1]).sum(1)
  np.testing.assert_array_equal(exact.ranges[1], own)
  error = worth - true
  assert error.min() > -1e-4 and 0 < np.abs(error[~kept]).mean() < 1e-3
  network = ValueNetwork(*situations.features.extent, 32, 1, jax.random.key(0))
  smooth = train(situations, steps=400, batch=64, network=network, progress=False)
  exploitable = []
  for function in (values, smooth):
    policy = ContinualResolving(game, 100, lookahead=1, value_function=function).tabularise(progress=False)
    exploitable.append(float(evaluate_policy(game, policy).exploitability))
  assert exploitable[0] < 0.044 < exploitable[1]


def test_bad_input(tmp_path):
  values, situations = learned("kuhn_poker"), solved("kuhn_poker")
  with pytest.raises(ValueError, match=r"These values are for kuhn_poker.*, not for"):
    ContinualResolving(pyspiel.load_game(CHASE), 1, lookahead=1, value_function=values).start(0)
  path = tmp_path / "situations.safetensors"
  situations.save(path)
  other = generate_examples(pyspiel.load_game("kuhn_poker"), 2, seed=1, iterations=50, progress=False)
  other.save(tmp_path / "other.safetensors")
  with pytest.raises(ValueError, match="Shard 1 is of another data set"):
    Examples.load(path, tmp_path / "other.safetensors")
  with pytest.raises(ValueError, match="too few draws"):
    train(dataclasses.replace(situations, draw=np.zeros_like(situations.draw)))


def with_row(x, row):
  """A copy with another row number 3."""
  return np.concatenate([x[:3], np.full_like(x[3:4], row), x[4:]])


@pytest.mark.parametrize(
  ("name", "change", "message"),
  [
    ("values", lambda x: with_row(x, np.nan), "in example 3 player 1's values are not all within 1e"),
    ("values", lambda x: with_row(x, -1e30), "in example 3 player 1's values are not all within 1e"),
    ("values", lambda x: x[1:], r"value1 is float32\[\d+, 3\], expected float32"),
    ("ranges", np.negative, "in example 0 player 1's range is not a distribution"),
    ("ranges", lambda x: 2 * x, "in example 0 player 1's range is not a distribution"),
    ("ranges", lambda x: with_row(x, np.nan), "in example 3 player 1's range is not a distribution"),
    ("ranges", lambda x: x[:, :1], r"range1 is float32\[\d+, 1\], expected float32"),
    ("ranges", lambda x: x > 0, r"range1 is bool\[\d+, 3\], expected float32"),
    ("possible", np.logical_not, "ranges of player 1 include infostates that chance"),
    ("place", lambda x: with_row(x, 99), "place has indices beyond its public states"),
    ("place", lambda x: with_row(x, -1), "place has indices beyond its public states"),
    ("draw", lambda x: x[:3], r"draw is int32\[3\], expected int32"),
    ("public_states", np.negative, "its public states do not ascend"),
  ],
)
def test_situations_nobody_can_learn_from(name, change, message):
  """The fault is in a player's part, or in what both share."""
  situations = solved("kuhn_poker")
  holder = situations.features if name in ("possible", "public_states") else situations
  given = situations.inputs[name] if name == "place" else getattr(holder, name)
  wrong = (given[0], change(given[1])) if isinstance(given, tuple) else change(given)
  if holder is situations:
    changed = {"inputs": {name: wrong}} if name == "place" else {name: wrong}
  else:
    changed = {"features": dataclasses.replace(holder, **{name: wrong})}
  with pytest.raises(ValueError, match=f"examples must be sound: .*{message}"):
    train(dataclasses.replace(situations, **changed), steps=1, progress=False)


@pytest.mark.parametrize(
  ("call", "message"),
  [
    (lambda: Examples.join("x"), "shards must be a sequence, got 'x'"),
    (lambda: Examples.join(["x"]), "Each of shards must be Examples, got str"),
    (lambda: Examples.mixed(True), "sets must be a sequence, got True"),
    (lambda: Examples.mixed([solved("kuhn_poker"), None]), "sets must be Examples, got None"),
    (lambda: CFRValues(beyond="x", lookahead=1), r"beyond must derive from \w+, like CFRVal.*'x'"),
    (lambda: CFRValues(beyond=CFRValues()), "beyond is for limited lookahead; give lookahead=1 or more"),
    (lambda: CFRValues(lookahead=0), "lookahead must be an integer of at least 1, got 0"),
    (lambda: taught(ranges="x"), r"ranges must derive from \w+, like ReachSampler\(\); got 'x'"),
    (lambda: taught(teacher=5), r"teacher must derive from \w+, like CFRValues\(\); got 5"),
    (lambda: taught(teacher=CFRValues), "teacher must derive from.*got <class"),
    (
      lambda: taught(teacher=untrained()),
      "the bound values of .* must be BoundCFR, got BoundNetwork",
    ),
  ],
)
def test_wrong_kinds(call, message):
  with pytest.raises(ValueError, match=message):
    call()


def taught(**options):
  return generate_examples(pyspiel.load_game("kuhn_poker"), 1, iterations=2, progress=False, **options)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Oracle:
  """In a network's place: what solved values say of the slots of some public states."""

  bound: Any
  index: Any
  ranges: Any  # of the lengths M

  @property
  def slots(self):
    return tuple(map(len, self.ranges))

  def __call__(self, place, ranges):
    given = []
    for r, at, player in zip(ranges, self.index, self.bound.tree.players, strict=True):
      flat = jnp.zeros(player.roots * player.types + 1, r.dtype).at[at].set(r)
      given.append(flat[:-1].reshape(player.roots, player.types))
    values = [self.bound(i, tuple(given)) for i in (0, 1)]
    return tuple(jnp.append(v.ravel(), 0)[at] for v, at in zip(values, self.index, strict=True))


@dataclasses.dataclass(frozen=True)
class ThroughNetwork(ValueFunction):
  """Solved values by way of the slots, normalised ranges and sizes of a network."""

  solved: Any
  frontier: FrontierStates

  def bind(self, subgames, public_states, pad_to=None):
    most = [p.shape[1] for p in self.frontier.possible]
    subgame = subgames.cut(public_states, pad_to=pad_to)
    slots = Slots.of(subgame, public_states, subgame.shape.roots[0], (most[0], most[1]))
    oracle = Oracle(
      self.solved.bind(subgames, public_states, pad_to), slots.index, tuple(map(np.zeros, most))
    )
    scale = np.ones(len(self.frontier.public_states), np.float32)
    card = {"game": subgames.labels.game}
    return NetworkValues(StateFeatures.of(self.frontier), oracle, scale, card, None).bind(
      subgames, public_states, pad_to
    )


def test_a_network_of_solved_values_searches_as_they_do():
  """Strategies and promises of all searches; regret matching's ties aside, to rounding."""
  game = pyspiel.load_game("liars_dice(dice_sides=2)")
  solver = ps_cfr_spiel.PSCFRSolver(game, dtype="float64")
  solver.run(30)
  solved = SolvedValues(solver.average_policy().strategies)
  found = []
  for values in (solved, ThroughNetwork(solved, FrontierStates.of(Subgames.of(game)))):
    search = ContinualResolving(game, 20, rule="rm", lookahead=1, value_function=values, dtype="float64")
    found.append(search.tabularise(progress=False).strategies)
  for one, other in zip(*found, strict=True):
    for a, b in zip(one, other, strict=True):
      np.testing.assert_allclose(a, b, atol=1e-7)


def test_the_pretrained_values_of_leduc():
  game = pyspiel.load_game("leduc_poker")
  values = pretrained(game)
  assert {"game", "training", "error", "learned_from"} <= set(values.card)
  search = ContinualResolving(game, 150, lookahead=1, value_function=values)
  assert ps_cfr_spiel.exploitability(game, search.tabularise(progress=False)) < 0.07
  with pytest.raises(
    ValueError, match=r"No values for kuhn_poker\(\) come with ps_cfr_spiel, only for leduc_poker, holdem"
  ):
    pretrained("kuhn_poker")


def test_another_feature_set(tmp_path):
  path = tmp_path / "values.safetensors"
  pretrained("leduc_poker").save(path)
  file = storage.read(path)
  arrays = file.arrays(file.shapes)
  storage.write(path, "values", {**file.header, "features": "buckets"}, arrays)
  with pytest.raises(
    ValueError,
    match="the network has the features 'buckets'; known are public states, places and stacks of boards",
  ):
    NetworkValues.load(path)
  arrays["scale"][0] = np.nan
  storage.write(path, "values", file.header, arrays)
  with pytest.raises(ValueError, match="scale holds numbers that are not finite"):
    NetworkValues.load(path)


@pytest.mark.parametrize(
  ("name", "value", "message"),
  [
    ("training", None, "The card of the values is damaged"),
    ("training", {"steps": 3, "depth": 1}, "card of the values is damaged: .*depth"),
    ("training", {"steps": -3}, "card of the values is damaged: .*steps must be"),
    ("training_seed", "x", "card of the values is damaged: .*seed must be"),
    ("learned_from", None, "were trained on other examples"),
  ],
)
def test_a_damaged_card_is_not_resumed(name, value, message):
  values, situations = untrained(), solved("kuhn_poker")
  with pytest.raises(ValueError, match=message):
    resume(situations, dataclasses.replace(values, card={**values.card, name: value}), progress=False)


def test_files_that_no_training_can_have_written(tmp_path):
  path, values = tmp_path / "values.safetensors", pretrained("leduc_poker")
  for change, message in (
    ({"scale": -values.scale}, "its scale is not positive"),
    ({"losses": values.losses * 1e30}, "the steps of its losses do not ascend"),
    ({"losses": values.losses[::-1]}, "the steps of its losses do not ascend"),
  ):
    dataclasses.replace(values, **change).save(path)
    with pytest.raises(ValueError, match=message):
      NetworkValues.load(path)
  values.save(path)
  rewrite(path, {"layers": 2**31 - 1})
  with pytest.raises(ValueError, match=r"is damaged: 2147483647 layers, but \d+ arrays"):
    NetworkValues.load(path)


def test_noise_leaves_strategies_distributions():
  mixed = perturbed([np.full((3, 4, 5), 1 / 3), np.ones((1, 2, 5))], 0.3, np.random.default_rng(0))
  for block in mixed:
    np.testing.assert_allclose(block.sum(0), 1)
  assert np.abs(mixed[0] - 1 / 3).min() > 0
