"""Searches by a player's knowledge: the programs that they solve, their safety, and common knowledge."""

import functools

import numpy as np
import pyspiel
import pytest
from cuts import reaches, solve
from open_spiel.python import policy as openspiel_policy
from random_games import random_game
from reference_subgames import Game, profile_of, resolving_programs, tables_of

from ps_cfr_spiel import ContinualResolving, PSCFRSolver
from ps_cfr_spiel.policy import TreePolicy
from ps_cfr_spiel.resolving.search.promises import best_responses
from ps_cfr_spiel.resolving.subgames import GADGETS, KnownSubgames, unsafe

HEX = "dark_hex(board_size=2,gameversion=adh)"  # it is not common knowledge whose turn it is
GOOFSPIEL = "turn_based_simultaneous_game(game=goofspiel(num_cards=3,imp_info=True,points_order=descending))"


@functools.cache
def load(name):
  game = random_game(int(name)) if name.isdigit() else pyspiel.load_game(name)
  return game, Game(game), KnownSubgames.of(game, 1)


def known_by(game, plain, h, player):
  """What a player knows at a history, whatever the time: the own choices, and the string."""
  state = game.new_initial_state()
  for action in plain.path[h]:
    state.apply_action(action)
  return plain.known[h][player][1], state.information_state_string(player)


def branches(game, plain, player, infostate):
  """The first histories that the opponent, at one of `infostate`, thinks possible: {history: known there}."""
  acts = {h: known_by(game, plain, h, 1 - player) for h in range(plain.size) if plain.acting[h] == player}
  touched = {known for h, known in acts.items() if plain.info[h] == infostate}
  found, inside = {}, set()
  for h in range(plain.size):  # parents come first
    if plain.parent[h] in inside:
      inside.add(h)
    elif h in acts and acts[h] in touched:
      found[h] = acts[h]
      inside.add(h)
  return found


def below(plain, player, infostate):
  """The player's infostates at and below an infostate."""
  inside, found = set(), set()
  for h in range(plain.size):
    if (plain.acting[h], plain.info[h]) == (player, infostate) or plain.parent[h] in inside:
      inside.add(h)
      if plain.acting[h] == player:
        found.add(plain.info[h])
  return found


@pytest.mark.parametrize("name, player", [("kuhn_poker", 1), (HEX, 0), (HEX, 1), (GOOFSPIEL, 1)])
def test_searches_solve_the_linear_programs(name, player):
  """Both safe gadgets, and best responses as promises, with everything else frozen, by plain Python."""
  game, plain, known = load(name)
  profile, rng = plain.random(1), np.random.default_rng(0)
  tables = tables_of(known.tree, profile)
  reach = reaches(known.tree, tables)[player][:, 0]
  mine = [d for d, decision in enumerate(known.labels.decisions) if decision.player == player]
  d = [d for d in mine if known.decided[d]][len(mine) // 4]
  infostate = known.labels.decisions[d].infostates[0]
  roots = branches(game, plain, player, infostate)
  subgame = known.at(d, reach, lambda own: own.rounded())
  theirs, ones = subgame.roots[1 - player], [np.ones((n, 1)) for n in subgame.shape.roots]
  paths = [tuple(known.labels.source.histories.path(int(node))) for node in theirs.node]
  names = [roots[plain.index[path]] for path in paths]
  assert sorted(names) == sorted(set(roots.values()))

  programs = functools.partial(resolving_programs, plain, list(roots), player, profile, known=roots)
  old = best_responses(
    unsafe(subgame, player, ones).tree, subgame.there(player, tables[player]), 1 - player, "float64"
  )
  assert old.sum() == pytest.approx(programs(dict.fromkeys(names, -1e3), free=set())[1], abs=1e-7)
  free = below(plain, player, infostate)
  for noise in (0.0, 0.3):
    promises = old + noise * rng.normal(size=old.shape) * np.abs(old).mean()
    promises[len(names) :] = 0
    margin, kept = programs(dict(zip(names, promises.ravel().tolist(), strict=False)), free=free)
    for gadget, expected in (("max-margin", -margin), ("cfr-d", kept)):
      _, gap, best = solve(GADGETS[gadget](subgame, player, ones, promises), ones[player], 1500)
      assert gap < 4e-3 * max(plain.utility)
      assert expected - 1e-7 <= best <= expected + gap + 1e-7
    if not noise:
      assert margin >= -1e-7
      assert kept == pytest.approx(old.sum(), abs=1e-7)


def policy_of(known, game, profile):
  return TreePolicy(game, known.labels, tables_of(known.tree, profile))


@pytest.mark.parametrize(("name", "gadget"), [(HEX, "cfr-d"), (GOOFSPIEL, "max-margin"), ("6", "cfr-d")])
def test_kept_searches_never_lose(name, gadget):
  """Each player's new strategy in the place of the old one, against the opponent's exact best response."""
  game, plain, known = load(name)
  profile = plain.random(2)
  blueprint = policy_of(known, game, profile)
  made = ContinualResolving(game, 300, gadget=gadget, knowledge=1, blueprint=blueprint, dtype="float64")
  after = profile_of(made.tree, made.tabularise().strategies)
  for player in (0, 1):
    new = {key: row for key, row in after.items() if key[0] == player}
    lost = [plain.responses({**profile, **own}, 1 - player)[plain.known[0][1 - player]] for own in ({}, new)]
    assert lost[1] <= lost[0] + 2e-3 * max(plain.utility)
    if name in (HEX, GOOFSPIEL):
      assert lost[1] < lost[0]


def test_an_unsafe_search_goes_by_the_opponents_range():
  """Kuhn poker: a queen folds to a player who bets kings alone, and calls one who bets jacks too."""
  game, calls = pyspiel.load_game("kuhn_poker"), []
  for bluffs in (0.0, 1.0):
    blueprint = openspiel_policy.TabularPolicy(game)
    for card, bets in (("0", bluffs), ("1", 0.0), ("2", 1.0)):
      blueprint.policy_for_key(card)[:] = [1 - bets, bets]
    options = {"gadget": "unsafe", "knowledge": 1, "keep": False, "blueprint": blueprint, "dtype": "float64"}
    calls.append(ContinualResolving(game, 50, rule="rm+", **options).at(1, "1b")[1])
  assert calls == pytest.approx([0, 1], abs=0.02)


def test_with_enough_knowledge_a_search_is_that_of_common_knowledge():
  """The same strategies to the last digits, from the same blueprint."""
  game, plain, known = load(GOOFSPIEL)
  blueprint = policy_of(known, game, plain.random(2))
  common, far = (
    ContinualResolving(game, 5, rule="rm+", blueprint=blueprint, knowledge=k, keep=k is None, dtype="float64")
    for k in (None, 9)
  )
  for decision, _, name in list(known.labels.infostates())[::4]:
    expected, found = (made.at(decision.player, name) for made in (common, far))
    assert found == pytest.approx(expected, abs=1e-9)


def test_kept_searches_go_on_from_each_other():
  """A second question finds the answer of the first. Searches that are not kept depend on their way alone."""
  game = pyspiel.load_game(HEX)
  kept, apart, fresh = (
    ContinualResolving(game, 5, knowledge=1, keep=keep, dtype="float64") for keep in (True, False, False)
  )
  places = [place for (place,) in kept.searcher.problems.passes(0)]
  names = [kept.labels.decisions[place].infostates[0] for place in places[:12]]
  one, other = ([made.at(0, name) for name in names] for made in (kept, apart))
  assert fresh.at(0, names[-1]) == other[-1]
  assert one[0] == other[0]
  assert one != other
  searches = len(kept.seconds)
  assert [kept.at(0, name) for name in names] == one
  assert len(kept.seconds) == searches
  bot, state = kept.bot(0, seed=1), game.new_initial_state()
  while not state.is_terminal():
    state.apply_action(bot.step(state) if state.current_player() == 0 else state.legal_actions()[0])


@pytest.mark.parametrize(
  "options, message",
  [
    ({"knowledge": 0}, "knowledge must be an integer of at least 1, got 0"),
    ({"knowledge": 1, "keep": 1}, "keep must be True or False, got 1"),
    ({"keep": False}, "keep=False is for searches by knowledge"),
    ({"knowledge": 1, "lookahead": 1}, "knowledge is for searches to the end with all actions"),
    ({"knowledge": 1, "actions": [0]}, "knowledge is for searches to the end with all actions"),
    ({"lookahead": 1, "blueprint": True}, "A blueprint is for searches to the end of the game"),
    ({"knowledge": 1, "blueprint": "leduc_poker"}, r"The policy is for leduc_poker\(\), not for kuhn_poker"),
  ],
)
def test_mistakes(options, message):
  game = pyspiel.load_game("kuhn_poker")
  if isinstance(options.get("blueprint"), str):
    options["blueprint"] = PSCFRSolver(pyspiel.load_game(options["blueprint"])).average_policy()
  with pytest.raises(ValueError, match=message):
    ContinualResolving(game, **options)


def test_bad_places():
  made = ContinualResolving(pyspiel.load_game("kuhn_poker"), 1, knowledge=1)
  with pytest.raises(ValueError, match=r"kuhn_poker\(\) has the decisions 0..11, got 12"):
    made.search(12)
  with pytest.raises(ValueError, match="Player 0 has no information state 'nonsense'"):
    made.at(0, "nonsense")
