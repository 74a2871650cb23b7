"""Continual re-solving, asked wrongly: every mistake is answered by what was given and what is allowed."""

import functools

import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest

from ps_cfr_spiel import ContinualResolving
from ps_cfr_spiel.resolving.search.value_functions import FrozenValues
from ps_cfr_spiel.resolving.subgames import GADGETS, Gadget, cfr_d, unsafe
from ps_cfr_spiel.values import CFRValues, ValueFunction


def load(name):
  return pyspiel.load_game(name)


@functools.cache
def kuhn():
  return ContinualResolving(load("kuhn_poker"), 12, dtype="float64")


def dealt(name):
  state = load(name).new_initial_state()
  while state.is_chance_node():
    state.apply_action(state.legal_actions()[0])
  return state


@pytest.mark.parametrize(
  "options, message",
  [
    ({"iterations": 0}, "iterations must be an integer of at least 1, got 0"),
    ({"iterations": True}, "iterations must be an integer of at least 1, got True"),
    ({"iterations": 2.5}, "iterations must be an integer of at least 1, got 2.5"),
    ({"lookahead": 0}, "lookahead must be an integer of at least 1, got 0"),
    ({"lookahead": "1"}, "lookahead must be an integer of at least 1, got '1'"),
    ({"iterations": 2**31}, "iterations must be at most 2147483647, got 2147483648"),
    ({"gadget": ["cfr-d"]}, "Unknown gadget .'cfr-d'.; choose one of 'unsafe', 'cfr-d', 'max-margin', "),
    ({"lookahead": 1, "value_function": CFRValues}, r"value_function must derive from ValueFunction"),
    ({"gadget": "safe"}, "Unknown gadget 'safe'; choose one of 'unsafe', 'cfr-d', 'max-margin', "),
    ({"value_function": CFRValues()}, "A value function is for limited lookahead; give lookahead=1 or more"),
    ({"actions": [0, 2]}, r"actions must be among 0..1 of kuhn_poker\(\), got \[0, 2\]"),
    ({"actions": []}, r"actions must be among 0..1 of kuhn_poker\(\), got \[\]"),
    ({"actions": [0, "1"]}, r"actions must be among 0..1 of kuhn_poker\(\), got \[0, '1'\]"),
    ({"actions": np.array([0, 2])}, r"actions must be among 0..1 of kuhn_poker\(\), got array"),
    ({"actions": [True]}, r"actions must be among 0..1 of kuhn_poker\(\), got \[True\]"),
    ({"rule": "nrn"}, "Unknown rule 'nrn'"),
    ({"dtype": "float16"}, "Unknown dtype 'float16'"),
    ({"public_states": "none"}, "Subgames need public states"),
    ({"public_states": "mine"}, "Unknown public_states 'mine'"),
    ({"limit": 5}, "more than 5 histories"),
  ],
)
def test_bad_options(options, message):
  with pytest.raises(ValueError, match=message):
    ContinualResolving(load("kuhn_poker"), **options)


@pytest.mark.parametrize(
  "ask, message",
  [
    (lambda made: made.search(-1), r"kuhn_poker\(\) has the public states 0..10, got -1"),
    (lambda made: made.search(11), "0..10, got 11"),
    (lambda made: made.search(True), "0..10, got True"),
    (lambda made: made.search("2"), "0..10, got '2'"),
    (lambda made: made.search(2.0), "0..10, got 2.0"),
    (lambda made: made.search(0), r"No player acts in public state 0 of kuhn_poker\(\)"),
    (lambda made: made.bot(2), "player must be 0 or 1, got 2"),
    (lambda made: made.bot(1.0), "player must be 0 or 1, got 1.0"),
    (lambda made: made.start(2), "player must be 0 or 1, got 2"),
    (lambda made: made.bot(0, seed="a"), "seed must be an integer from 0 to 4294967295, got 'a'"),
    (lambda made: made.bot(0, seed=1.5), "seed must be an integer from 0 to 4294967295, got 1.5"),
    (lambda made: made.bot(1).step(dealt("kuhn_poker")), "not the turn of player 1, but of 0"),
    (lambda made: made.bot(1).get_policy(dealt("kuhn_poker")), "not the turn of player 1, but of 0"),
    (
      lambda made: made.action_probabilities(dealt("kuhn_poker"), 5),
      r"No player acts at this state \(current player 5\); expected 0 or 1",
    ),
    (lambda made: made.at(0, "nonsense"), r"Player 0 has no information state 'nonsense' in kuhn_poker\(\)"),
    (
      lambda made: made.action_probabilities(dealt("leduc_poker")),
      r"for kuhn_poker\(\); the state is of another game, leduc_poker\(\)",
    ),
  ],
)
def test_bad_questions(ask, message):
  with pytest.raises(ValueError, match=message):
    ask(kuhn())


class Given(ValueFunction):
  """A value function that gives what `make` makes of each player's [F, H]."""

  def __init__(self, make):
    self.make = make

  def bind(self, subgames, public_states, pad_to=None):
    subgame = subgames.cut(public_states, pad_to=pad_to)
    first, second = (
      self.make(i, (n, p.types))
      for i, (n, p) in enumerate(zip(subgame.shape.roots, subgame.tree.players, strict=True))
    )
    return FrozenValues((first, second))


def ones(player, shape):
  return np.ones(shape)


@pytest.mark.parametrize("gadget", GADGETS)
@pytest.mark.parametrize(
  "make, message",
  [
    (lambda i, shape: np.ones((shape[0] + 1, shape[1])), "must give player . values of the shape"),
    (lambda i, shape: np.ones((shape[0], shape[1] + 1)), "must give player . values of the shape"),
    (lambda i, shape: np.ones(shape[0] * shape[1]), "must give player . values of the shape"),
    (lambda i, shape: None, r"must give player . values of the shape \(\d+, \d+\) .*; got None"),
    (lambda i, shape: np.full(shape, np.nan if i == 0 else 1.0), "must be finite, got inf or nan"),
    (lambda i, shape: np.full(shape, np.nan if i == 1 else 1.0), "must be finite, got inf or nan"),
    (lambda i, shape: np.full(shape, np.inf), "must be finite, got inf or nan"),
  ],
)
def test_bad_values(gadget, make, message):
  """Wrong in number or not numbers, whoever's they are and however they are used."""
  with pytest.raises(ValueError, match=message):
    resolve_with(Given(make), gadget)


@pytest.mark.parametrize("gadget", GADGETS)
def test_good_values(gadget):
  assert resolve_with(Given(ones), gadget)


def resolve_with(values, gadget):
  made = ContinualResolving(load("kuhn_poker"), 3, gadget=gadget, lookahead=1, value_function=values)
  return made.tabularise()


def test_values_must_be_a_pytree():
  class Bound:
    def __call__(self, player, ranges):
      return jnp.zeros_like(ranges[player])

  class Function(ValueFunction):
    def bind(self, subgames, public_states, pad_to=None):
      return Bound()

  with pytest.raises(ValueError, match=r"Function object .* must bind a JAX pytree, got .*Bound object"):
    ContinualResolving(load("kuhn_poker"), 3, lookahead=1, value_function=Function()).tabularise()


def test_a_gadget_returns_a_gadget_tree():
  """Others, such as a bare tree, are refused at the first search that uses it."""
  made = ContinualResolving(load("kuhn_poker"), 3, gadget=lambda *given: cfr_d(*given).tree)
  with pytest.raises(ValueError, match=r"A gadget must return a GadgetTree; .* returned PublicTree"):
    made.tabularise()


def test_numpy_integers(tmp_path):
  """They are as good as Python's, also when the policy is saved."""
  made = ContinualResolving(
    load("kuhn_poker"), np.int64(5), lookahead=np.int32(1), averaging_delay=np.int8(1)
  )
  made.tabularise().save(tmp_path / "policy.safetensors")
  assert made.description.startswith("re-solving, 5 iterations")


def test_a_gadget_says_whether_it_keeps_promises():
  """One that does not is given none, as `unsafe`, and searches go by the opponent's range."""
  promised = []

  def mine(subgame, player, ranges, promises, frontier=None):
    promised.append(promises is not None)
    return unsafe(subgame, player, ranges, promises, frontier)

  made = [
    ContinualResolving(load("kuhn_poker"), 50, gadget=gadget).tabularise().strategies
    for gadget in (Gadget(mine, keeps_promises=False), unsafe)
  ]
  assert promised and not any(promised)
  for blocks, expected in zip(*made, strict=True):
    assert all(map(np.array_equal, blocks, expected))
  promised.clear()
  ContinualResolving(load("kuhn_poker"), 50, gadget=mine).tabularise()
  assert promised and all(promised)


def test_a_gadget_of_ones_own(tmp_path):
  """Any function that makes such a tree; its name is saved."""

  def mine(subgame, player, ranges, promises, frontier=None):
    return cfr_d(subgame, player, ranges, promises, frontier)

  made, usual = (ContinualResolving(load("kuhn_poker"), 50, gadget=gadget) for gadget in (mine, "cfr-d"))
  policy = made.tabularise()
  assert policy.info["options"]["gadget"] == "mine"
  policy.save(tmp_path / "policy.safetensors")
  for blocks, expected in zip(policy.strategies, usual.tabularise().strategies, strict=True):
    for a, b in zip(blocks, expected, strict=True):
      np.testing.assert_array_equal(a, b)
  assert (
    ContinualResolving(load("kuhn_poker"), 5, gadget=unsafe).tabularise().info["options"]["gadget"]
    == "unsafe"
  )


def test_actions_may_be_an_array():
  game = pyspiel.load_game("kuhn_poker")
  made = [ContinualResolving(game, actions=actions) for actions in (np.array([0, 1]), [0, 1], range(2))]
  assert {policy.settings.actions for policy in made} == {frozenset((0, 1))}
