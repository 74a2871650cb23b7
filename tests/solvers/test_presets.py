"""Published settings: what a search makes of them."""

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel import ContinualResolving, HoldemPolicy, PSCFRSolver, cfr
from ps_cfr_spiel.apps.commands import program
from ps_cfr_spiel.cfr import RMPlus
from ps_cfr_spiel.options import DEEPSTACK_BETS, PRESETS, preset
from ps_cfr_spiel.solvers.agents.public_hand import PublicHand
from ps_cfr_spiel.values import CFRValues

TABLE = {  # 21.1
  "preflop": (1000, 500, "round"),
  "flop": (1000, 500, "round"),
  "turn": (1000, 500, None),
  "river": (2000, 1000, None),
}


@pytest.mark.parametrize("street", TABLE)
def test_deepstack(street):
  iterations, averaging_delay, lookahead = TABLE[street]
  values = None if lookahead is None else CFRValues(1)
  found = ContinualResolving(
    pyspiel.load_game("kuhn_poker"), **preset(f"deepstack-{street}"), value_function=values
  ).settings
  assert (found.iterations, found.averaging_delay, found.lookahead) == (
    iterations,
    averaging_delay,
    lookahead,
  )
  assert (found.alternating, found.rule) == (False, RMPlus(gamma=0))
  assert preset(f"deepstack-{street}", iterations=5)["iterations"] == 5
  assert PRESETS[f"deepstack-{street}"]["iterations"] == iterations  # changes are of a copy


def test_the_hybrid_averages_the_second_half_evenly():
  """CFR+'s strategies, step by step, and their plain mean over the iterations that are not skipped."""
  search = ContinualResolving(
    pyspiel.load_game("kuhn_poker"),
    **preset("deepstack-river", iterations=6, averaging_delay=3),
    dtype="float64",
  )
  tables, tree, rule = search.start(0).tables, search.tree, search.settings.rule
  state, strategies = cfr.init(tree, rule, "float64"), []
  for _ in range(6):
    strategies.append(cfr.current_strategy(tree, state)[0])
    state = cfr.run(tree, state, 1, rule=rule, alternating=False)
  mean = np.mean([s[0] for s in strategies[3:]], axis=0)  # of the first decision: reach is one
  np.testing.assert_allclose(tables[0][0], mean, atol=1e-12)


def test_bets_are_games():
  for street, bets in DEEPSTACK_BETS.items():
    board = {"flop": "9s7c5s", "turn": "9s7c5s4h", "river": "9s7c5s4hKd"}.get(street)
    name = "river_subgame" if street == "river" else "holdem_subgame"
    given = f"board={board},ranges=AA;KK,pot=200," if board else ""
    game = pyspiel.load_game(f"{name if board else 'holdem'}({given}bets={bets},stack=800)")
    state = game.new_initial_state()
    while state.is_chance_node():
      state.apply_action(state.chance_outcomes()[0][0])
    sizes = [size for size in state.bet_sizes().values() if size]
    assert sizes[:2] == [0.5, 1.0] and (street != "river" or sizes[2] == 2.0) and sizes[-1] == 3.5


def test_on_the_command_line(tmp_path, capsys):
  call = ["resolve", "kuhn_poker", "--preset=deepstack-river", "--iterations=1200", f"--output={tmp_path}"]
  assert program.run(call) == 0
  assert "1,200 iterations of RMPlus" in capsys.readouterr().out
  with pytest.raises(ValueError, match="Unknown preset 'alphastack'; choose one of 'deepstack-preflop'"):
    preset("alphastack")


def test_the_agent_of_hold_em_searches_as_deepstack():
  """A turn with even ranges is the solver's with these bets, by the hybrid over the second half."""
  game = pyspiel.load_game("holdem(deck=5x2,stack=12,blinds=2/1,bets=fullgame)")
  state = game.new_initial_state()
  for action in (0, 1, 2, 3):
    state.apply_action(action)
  for text in ("Call", "Check", "Deal 4c", "Deal 4d", "Deal 5c", "Check", "Check", "Deal 5d"):
    state.apply_action(state.string_to_action(text))
  uniform = openspiel_policy.UniformRandomPolicy(pyspiel.load_game("holdem(deck=5x2,stack=12,blinds=2/1)"))
  policy = HoldemPolicy(game, uniform, preset="deepstack", gadget="unsafe", iterations=6)
  bets = f"{DEEPSTACK_BETS['turn']} / {DEEPSTACK_BETS['river']}"
  given = {"board": "4c4d5c5d", "pot": 4, "stack": 12, "bets": bets, "deck": "5x2"}
  solver = PSCFRSolver(
    pyspiel.load_game("holdem_subgame", given),
    RMPlus(gamma=0),
    alternating=False,
    averaging_delay=3,
  )
  solver.run(6)
  row = solver.average_policy().strategies[0]
  search, line = policy._on_path(PublicHand.of(state), 0)
  assert line == 0
  for block, other in zip(search.tables[0], row, strict=True):
    np.testing.assert_allclose(block, other, atol=1e-4)
  with pytest.raises(ValueError, match="seconds=1 might end before the iterations"):
    HoldemPolicy(game, uniform, preset="deepstack", seconds=1)
