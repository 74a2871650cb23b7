"""Any game is walked: by public moves, by the numbers of public states, by whole histories."""

import re

import numpy as np
import pytest
from random_policies import random_policy

from ps_cfr_spiel.apps.views import chance_moves, charts, spot, spot_after, worth_at
from ps_cfr_spiel.apps.views.public_state_view import distinct
from ps_cfr_spiel.tree import CHANCE, TERMINAL

GOOFSPIEL = "turn_based_simultaneous_game(game=goofspiel(num_cards=3,imp_info=True,points_order=descending))"
GAMES = {
  "kuhn": "kuhn_poker",
  "leduc": "leduc_poker",
  "liar's dice": "liars_dice(numdice=1,dice_sides=2)",
  "goofspiel": GOOFSPIEL,
  "glasses": "glasses(turns=2)",
  "turn": "holdem_subgame(deck=5x2,board=2c3c4d5d,stack=300,ranges=6c6d 5c4c 6d2d:0.5;6c2d 3d2d 5c3d:2)",
  "cheat": "cheat(ranks=2,suits=2,hand_size=2,max_turns=2)",
}
policies = {}


@pytest.fixture(params=GAMES.values(), ids=GAMES)
def policy(request):
  return policies.setdefault(request.param, random_policy(request.param))


def acting(policy):
  return [s for s, state in enumerate(policy.labels.public_states) if state.player >= 0]


def test_every_place_shows_what_the_policy_does(policy):
  for number in acting(policy)[::7]:
    here = spot(policy, f"#{number}")
    assert here.public_state == number
    assert len(set(here.types)) == len(here.types)
    for column, (row_number, h) in enumerate(here.cells):
      decision = policy.labels.decisions[row_number]
      state = policy.labels.state(decision, h)
      expected = policy.action_probabilities(state, here.player)
      found = {here.ids[k]: here.probability[k, column] for k in np.flatnonzero(here.legal[:, column])}
      assert found == expected
      assert {here.actions[here.ids.index(a)] for a in expected} == {
        state.action_to_string(here.player, a) for a in expected
      }


def test_histories_and_lines_lead_to_their_public_state(policy):
  labels = policy.labels
  reached = 0
  for number in acting(policy)[:: max(1, len(acting(policy)) // 40)]:
    decision = labels.decisions[labels.public_states[number].decisions[0]]
    history = labels.source.path(decision, next(h for _, h in spot(policy, f"#{number}").cells[:1]))
    assert spot_after(policy, " ".join(map(str, history))).public_state == number
    try:
      found = spot(policy, ", ".join(labels.line_to(number)))
    except ValueError as error:  # what came of a public move is hidden
      assert re.search(
        r"leads to several public states|may be|Chance moves after|Legal: \.\.\.", str(error)
      ), error
      continue
    # Moves that were hidden leave no trace, so that the walk stops at the first place with these moves.
    assert labels.line_to(found.public_state) == labels.line_to(number)
    reached += 1
  assert reached


def test_after_a_line_every_card_that_may_come():
  turn = random_policy(GAMES["turn"])
  spots = chance_moves(turn, "x x")
  assert spots.keys() == {f"Deal {card}" for card in ("2d", "3d", "4c", "5c", "6c", "6d")}
  for name, here in spots.items():
    card = name.split()[1]
    assert here.public_state == spot(turn, f"check, check, {card}").public_state
    assert here.history == ("Check", "Check", name)
    assert not any(card in hand for hand in here.types)
  assert len(spots["Deal 6c"].types) == 2
  worths = {name: worth_at(turn, here) for name, here in spots.items()}
  text = charts.moves_text(spots, worths)
  assert text.startswith("After Check, Check: chance moves, then player 0 acts.")
  assert [line.split()[:2] for line in text.splitlines()[3:]] == [name.split() for name in spots]
  lines = [line.split() for line in text.splitlines()[2:]]
  assert lines[0][-2:] == ["EV", "equity"]
  for line, (name, here) in zip(lines[1:], spots.items(), strict=True):
    ev, equity = worths[name].mean(here)
    assert float(line[-2]) == pytest.approx(ev, rel=1e-3)
    assert line[-1] == f"{100 * equity:.2f}%"
  assert chance_moves(turn, "x") == {}
  with pytest.raises(ValueError, match="choose one of Deal 2d"):
    spot(turn, "x x")
  with pytest.raises(
    ValueError, match=r"'2c' \(word 3\) is not legal after Check, Check\. Legal: Deal 2d, Deal 3d"
  ):
    spot(turn, "x x 2c")
  with pytest.raises(ValueError, match=r"'x' \(word 3\) is not legal after Check, Check\. Legal: Deal 2d"):
    spot(turn, "x x x")  # a letter is no card
  with pytest.raises(ValueError, match="Only chance acts after All-in 200, Call, to the end"):
    spot(turn, "all-in, call")


def test_a_walk_goes_through_the_deal_and_over_hidden_moves():
  kuhn = random_policy("kuhn_poker")
  assert spot(kuhn).player == 0 and spot(kuhn).types == ("0", "1", "2")
  assert spot(kuhn, "pass, bet").history == ("Pass", "Bet")
  assert spot_after(kuhn, "2 0 pass b").public_state == spot(kuhn, "0 1").public_state
  glasses = random_policy("glasses(turns=2)")
  assert spot(glasses, "1/9, 4, #2").public_state == 2
  assert spot(glasses, "1/9 4").public_state == spot(glasses, "stones to 1/9, evader to 3").public_state
  assert spot(glasses, "1/9").player == 1
  leduc = random_policy("leduc_poker")
  here = spot(leduc, "raise call 0")
  assert here.history == ("Raise", "Call", "Deal 0") and len(here.types) == 5
  assert here.types == ("1", "2", "3", "4", "5")
  assert spot(leduc, "raise").next_player == (TERMINAL, CHANCE, 0)


@pytest.mark.parametrize(
  ("path", "message"),
  [
    ("#99999", "Unknown public state '#99999'; they are numbered from #0 to #"),
    ("#x", "Unknown public state '#x'"),
    ("fold", r"'fold' is not legal here\. Legal: Pass, Bet\."),
    ("bet bet pass", "The game is over after Bet, Bet; 'pass' cannot follow"),
    ("bet bet", "The game is over after Bet, Bet; give an earlier"),
  ],
)
def test_a_wrong_way_is_a_value_error(path, message):
  with pytest.raises(ValueError, match=message):
    spot(random_policy("kuhn_poker"), path)


@pytest.mark.parametrize(
  ("history", "message"),
  [
    ("", "Chance moves at the start; write its move too"),
    ("0 1 bet bet", "give an earlier decision"),
    ("0 1 bet bet pass", "'pass' cannot follow"),
    ("7", r"'7' is not legal here\. Legal: 0, 1, 2\."),
    ("0 7", r"'7' \(word 2\) is not legal after Deal:0\. Legal: 1, 2\."),
    ("0 1 pass fold", r"'fold' \(word 4\) is not legal after Deal:0, Deal:1, Pass\. Legal: Pass, Bet\."),
  ],
)
def test_a_wrong_history_is_a_value_error(history, message):
  with pytest.raises(ValueError, match=message):
    spot_after(random_policy("kuhn_poker"), history)


def test_the_worth_of_a_spot_is_that_of_its_rows(policy):
  number = acting(policy)[-1]
  here = spot(policy, f"#{number}")
  worth = worth_at(policy, here)
  rows = {(row["infostate"], row["action"]): row for row in policy.to_rows([number])}
  for column, (row_number, h) in enumerate(here.cells):
    decision = policy.labels.decisions[row_number]
    for k, action in enumerate(here.ids):
      row = rows.get((decision.infostates[h], action))
      expected = np.nan if row is None or row["value"] is None else row["value"]
      assert worth.value[k, column] == pytest.approx(expected, nan_ok=True)
  assert len(rows) == here.legal.sum()


def test_distinct_names():
  assert distinct(["[Private: 0][Round 1]", "[Private: 10][Round 1]"]) == ("0", "10")
  assert distinct(["a 1", "a 1 2"]) == ("-", "2")
  assert distinct(["same"]) == ("same",)
