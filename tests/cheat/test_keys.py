"""The keys of Cheat: no two share a cell, and none is missing."""

import itertools

import numpy as np
import pyspiel
import pytest
from game_checks import all_histories, random_histories
from ps_cfr_spiel.games.cheat import keys
from ps_cfr_spiel.games.cheat.bots import Memory
from ps_cfr_spiel.games.cheat.keyed_cheat import KeyedCheat

import ps_cfr_spiel  # noqa: F401  (registers the games)

SMALL = "cheat(ranks=3,suits=2,hand_size=2,max_turns=3)"
GAMES = (
  "cheat",
  SMALL,
  "cheat(ranks=2,suits=3,hand_size=3)",
  "cheat(ranks=4,suits=2,hand_size=3,max_discard=1)",
)


def key_of(state):
  """What a key is, in words: written down from the definition, ranks turned."""
  player, ranks = state.current_player(), state.get_game().rules.ranks
  hand = state.hand(player)
  turned = tuple(hand[(state.rank + r) % ranks] for r in range(ranks))
  others = [size for seat, size in enumerate(state.hand_sizes()) if seat != player]
  matters = state.hand_sizes()[state.discarder] if state.discard else min(others)
  pile = sum(state.pile) if len(others) == 1 else None  # with more players it does not follow from the key
  return turned, matters, pile, state.claim()


def certain(state):
  """The cards of the rank that the key "memory" adds, by the memories of two heuristic players."""
  player, rank = state.current_player(), state.rank
  own, other = Memory(state, player), Memory(state, 1 - player)
  if state.discard:
    return min(own.hands[1 - player][rank], 3), min(own.pile[rank], 2)
  return min(own.hands[1 - player][rank], 2), min(other.hands[player][rank], 2)


def turned_action(state, action):
  """What an action does, ranks turned."""
  game = state.get_game()
  if state.discard:
    return action
  return tuple(sorted((rank - state.rank) % game.rules.ranks for rank in game.cards(action)))


def check_cells(states, played):
  """Each move of each key has one cell of its own; returns the cells."""
  meaning = {}
  for state in states:
    if state.current_player() < 0:
      continue
    cells, actions = played.locate(state)
    assert sorted(actions) == state.legal_actions()
    for cell, action in zip(range(cells.start, cells.stop), actions, strict=True):
      assert 0 <= cell < played.cells
      memory = certain(state) if played.keys.memory else ()
      what = key_of(state), memory, turned_action(state, action)
      assert meaning.setdefault(cell, what) == what
  assert len(set(meaning.values())) == len(meaning)
  return meaning


@pytest.mark.parametrize(
  ("game_string", "key"),
  [*itertools.product(GAMES, keys.KEYS), ("cheat(players=3,ranks=3,suits=3,hand_size=2)", keys.OBSERVATION)],
)
def test_cells_are_those_of_keys_and_moves(game_string, key):
  game = pyspiel.load_game(game_string)
  meaning = check_cells((state for state, _ in random_histories(game, 40, seed=3)), KeyedCheat(game, key))
  assert len({memory for _, memory, _ in meaning.values()}) > (2 if key == keys.MEMORY else 0)


def test_every_cell_is_reached():
  """Of a small game, with a horizon that lets cards go everywhere."""
  game = pyspiel.load_game("cheat(ranks=2,suits=2,hand_size=2,max_turns=5)")
  played = KeyedCheat(game)
  meaning = check_cells((state for state, _ in all_histories(game)), played)
  assert len(meaning) == played.cells


def test_the_number_of_cells_of_the_papers_game():
  """By multisets: hands of s of 7 ranks, at most 4 of each, by their generating function."""
  ways = np.array([1])
  for _ in range(7):
    ways = np.convolve(ways, np.ones(5, int))
  sizes = range(1, 12)
  discard_keys = sum(int(ways[s]) * (12 - s) for s in sizes)
  answer_keys = sum(int(ways[s]) * sum(max(12 - s - claim + 1, 0) for claim in range(1, 5)) for s in sizes)
  assert (discard_keys, answer_keys) == (54_738, 122_038)
  # A hand with a discard is two multisets, the discard and the rest: the cards of a rank in c + 1 ways.
  pairs = np.zeros((12, 5), int)
  pairs[0, 0] = 1
  for _ in range(7):
    new = np.zeros_like(pairs)
    for s, d in itertools.product(range(12), range(5)):
      for held in range(min(4, s) + 1):
        for laid in range(min(held, d) + 1):
          new[s, d] += pairs[s - held, d - laid]
    pairs = new
  discards = sum(int(pairs[s, 1:].sum()) * (12 - s) for s in sizes)
  played = KeyedCheat(pyspiel.load_game("cheat"))
  assert played.cells == discards + 2 * answer_keys
  assert played.cells == 2_979_543


@pytest.mark.parametrize(
  "names",
  [
    (SMALL, "cheat(ranks=3,suits=3,hand_size=3,max_turns=6)"),
    ("cheat(ranks=4,suits=2,hand_size=3)", "cheat(ranks=3,suits=3,hand_size=2,max_discard=1)"),
  ],
)
def test_keys_that_two_games_share(names):
  """All that random play meets in both: hand, the other's cards and the claim; and the moves there."""
  games = [pyspiel.load_game(name) for name in names]
  forms, met = [game.keyed_form() for game in games], []
  for game, played in zip(games, forms, strict=True):
    keys_met = {}
    for state, _ in random_histories(game, 150, seed=4):
      if state.current_player() >= 0:
        turned, other, _, claim = key_of(state)
        cells, actions = played.locate(state)
        moves = [turned_action(state, action) for action in actions]
        keys_met[turned + (0,) * (4 - len(turned)), other, claim] = cells.start, moves
    met.append(keys_met)
  mine, theirs, moves = (column.tolist() for column in forms[0].shared(forms[1]))
  pairs = {first: (second, count) for first, second, count in zip(mine, theirs, moves, strict=True)}
  assert len(pairs) == len(mine) == len(set(theirs))
  both = met[0].keys() & met[1].keys()
  assert len(both) > 30
  for key in both:
    (first, own), (second, others) = met[0][key], met[1][key]
    count = min(len(own), len(others))
    assert pairs[first] == (second, count)
    assert own[:count] == others[:count]
  alone = {
    first
    for key, (first, _) in met[0].items()
    if sum(key[0]) + key[1] + key[2] > forms[1].rules.hand_size * 2
  }
  assert not alone & pairs.keys()


def test_keys_that_remember_share_those_that_do_not():
  """Every move that random play meets has the place of the same move without memory; of one kind, its own."""
  game = pyspiel.load_game("cheat(ranks=4,suits=3,hand_size=4)")
  forms = [game.keyed_form(key) for key in keys.KEYS]
  for source in forms:
    mine, theirs, moves = forms[1].shared(source)
    assert len(set(mine)) == len(mine) and moves.sum() == forms[1].cells
    pairs = dict(zip(mine.tolist(), theirs.tolist(), strict=True))
    for state, _ in random_histories(game, 40, seed=5):
      if state.current_player() >= 0:
        assert pairs[forms[1].locate(state)[0].start] == source.locate(state)[0].start


def test_games_that_cannot_be_counted():
  with pytest.raises(ValueError, match="key='memory': what both players know is for two"):
    keys.index(pyspiel.load_game("cheat(players=3)").rules, keys.MEMORY)
  with pytest.raises(ValueError, match=r"Unknown key \[\]; choose one of 'observation', 'memory'"):
    KeyedCheat(pyspiel.load_game("cheat"), [])  # of a damaged file
  with pytest.raises(ValueError, match="ranks=13, suits=4: 1,220,703,125 hands and 2,379 discards"):
    keys.index(pyspiel.load_game("cheat(ranks=13)").rules)
