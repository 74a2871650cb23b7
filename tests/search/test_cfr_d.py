"""CFR-D: subgames that are solved apart and forgotten give the values of a search that has them all."""

import jax
import pyspiel
import pytest

from ps_cfr_spiel import PSCFRSolver, exploitability
from ps_cfr_spiel.backend.device import bytes_of, platform, rehearsal
from ps_cfr_spiel.matches import CFRD, OnDemandResolving
from ps_cfr_spiel.resolving.search import trunk_searcher
from ps_cfr_spiel.values import CFRValues

LIARS_DICE = "liars_dice(numdice=1,dice_sides=2)"
RULES = {"rule": "rm+", "dtype": "float64", "lookahead": 1}


def first_answers(policy):
  """Probabilities at all first decisions."""
  state = policy.game.new_initial_state()
  while state.is_chance_node():
    state.apply_action(state.legal_actions()[0])
  return [
    policy.action_probabilities(state),
    policy.action_probabilities(state.child(state.legal_actions()[0])),
  ]


@pytest.mark.parametrize(
  "name, iterations, tremble", [("kuhn_poker", 6, 1.0), (LIARS_DICE, 2, 0.0)]
)  # then regrets tie
def test_values_apart_are_those_of_all_at_once(name, iterations, tremble):
  game = pyspiel.load_game(name)
  at_once = OnDemandResolving(
    game, iterations, value_function=CFRValues(3, "rm+"), alternating=False, tremble=tremble, **RULES
  )
  for keep_trees in (False, True):
    apart = CFRD(game, iterations, below=3, keep_trees=keep_trees, tremble=tremble, **RULES)
    for ours, theirs in zip(first_answers(apart), first_answers(at_once), strict=True):
      assert ours == pytest.approx(theirs, abs=1e-9)


def test_play_comes_near_equilibrium():
  game = pyspiel.load_game("kuhn_poker")
  assert exploitability(game, CFRD(game, 300, below=20, lookahead=1)) < 0.015


def test_memory_is_that_of_the_trunk_and_one_subgame():
  game = pyspiel.load_game("leduc_poker")
  whole, parts = PSCFRSolver(game, "rm+", leaves="sparse"), CFRD(game, 1, below=1)
  first_answers(parts)
  assert 0 < 4 * parts.largest < bytes_of((whole._tree, whole._state))


def test_a_trunk_needs_an_end():
  game = pyspiel.load_game("kuhn_poker")
  for wrong in ({"lookahead": None}, {"value_function": CFRValues(1)}, {"alternating": True}):
    with pytest.raises(ValueError, match="trunk"):
      CFRD(game, 5, **wrong)


def test_subgames_are_solved_by_an_accelerator_without_scatters(monkeypatch):
  """Nor sorts, in the programs of the trunk's ranges and of a subgame; answers are the CPU's."""
  game, texts = pyspiel.load_game("kuhn_poker"), []

  def spied(name):
    function = getattr(trunk_searcher, name)

    def call(*given):
      if platform() == "gpu":
        texts.append(jax.jit(lambda *given: function(*given)).lower(*given).as_text())
      return function(*given)

    monkeypatch.setattr(trunk_searcher, name, call)

  for name in ("asked_ranges", "_solved"):
    spied(name)
  on_cpu = first_answers(CFRD(game, 6, below=3, **RULES))
  with rehearsal("gpu"), jax.default_device(jax.local_devices()[-1]):
    answers = first_answers(CFRD(game, 6, below=3, **RULES))
  for ours, theirs in zip(answers, on_cpu, strict=True):
    assert ours == pytest.approx(theirs, abs=1e-9)
  assert texts and not any(word in text for text in texts for word in ("stablehlo.sort", "stablehlo.scatter"))
