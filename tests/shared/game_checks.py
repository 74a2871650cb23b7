"""What every game of the package must pass: OpenSpiel's own tests, copies, playthroughs, and laws of play."""

import copy
import itertools
import pathlib
import pickle
import unittest

import absl.flags
import numpy as np
import pyspiel
from open_spiel.integration_tests import api_test
from open_spiel.python.algorithms import generate_playthrough
from open_spiel.python.observation import make_observation
from open_spiel.python.tests import games_sim_test

PLAYTHROUGHS = pathlib.Path(__file__).parents[1] / "playthroughs"

INFOSTATE = pyspiel.IIGObservationType(perfect_recall=True)
OBSERVATION = pyspiel.IIGObservationType(perfect_recall=False)
PUBLIC = pyspiel.IIGObservationType(True, True, pyspiel.PrivateInfoType.NONE)
PUBLIC_NOW = pyspiel.IIGObservationType(True, False, pyspiel.PrivateInfoType.NONE)
PRIVATE = pyspiel.IIGObservationType(False, True, pyspiel.PrivateInfoType.SINGLE_PLAYER)
PRIVATE_NOW = pyspiel.IIGObservationType(False, False, pyspiel.PrivateInfoType.SINGLE_PLAYER)
EVERYTHING = pyspiel.IIGObservationType(True, True, pyspiel.PrivateInfoType.ALL_PLAYERS)
KINDS = (INFOSTATE, PUBLIC, OBSERVATION, PUBLIC_NOW, PRIVATE, PRIVATE_NOW, EVERYTHING)


def all_histories(game):
  """Yields every state of a game with, for each player, the own infostates and actions on the way."""

  def visit(state, pasts):
    yield state, pasts
    for action in state.legal_actions():
      yield from visit(state.child(action), _extend(pasts, state, action))

  return visit(game.new_initial_state(), ((),) * game.num_players())


def random_histories(game, plays, seed):
  """Like `all_histories`, along random plays."""
  rng = np.random.default_rng(seed)
  for _ in range(plays):
    state, pasts = game.new_initial_state(), ((),) * game.num_players()
    yield state, pasts
    while not state.is_terminal():
      action = random_action(state, rng)
      pasts = _extend(pasts, state, action)
      state = state.child(action)
      yield state, pasts


def random_action(state, rng):
  if state.is_chance_node():
    actions, chances = zip(*state.chance_outcomes(), strict=True)
    return int(rng.choice(actions, p=chances))
  return int(rng.choice(state.legal_actions()))


def _extend(pasts, state, action):
  if state.is_chance_node():
    return pasts
  mover = state.current_player()
  step = (state.information_state_string(mover), action)
  return tuple((*past, step) if player == mover else past for player, past in enumerate(pasts))


def check_laws(game, histories):
  """What players see is consistent, public knowledge is public, recall is perfect, sums and bounds hold."""
  observers = [make_observation(game, kind) for kind in KINDS]
  tensors, strings = {}, {}  # (kind, player, string) <-> (kind, player, tensor)
  public_of, own_past, of_player, terminals = {}, {}, {}, 0
  players = range(game.num_players())
  for state, pasts in histories:
    seen = {}  # {(kind, player): string}
    for (kind, observer), player in itertools.product(enumerate(observers), players):
      assert observer is not None and observer.tensor is not None
      string = seen[kind, player] = observer.string_from(state, player)
      observer.set_from(state, player)
      joined = np.concatenate([np.zeros(0), *(piece.ravel() for piece in observer.dict.values())])
      assert np.array_equal(joined, observer.tensor)
      tensor = observer.tensor.tobytes()
      assert tensors.setdefault((kind, player, string), tensor) == tensor, string
      known = strings.setdefault((kind, player, tensor), string)
      assert known == string, (known, string)
    public = {seen[KINDS.index(PUBLIC), player] for player in players}
    assert len(public) == 1
    assert len({seen[KINDS.index(PUBLIC_NOW), player] for player in players}) == 1
    for player in players:
      infostate = seen[KINDS.index(INFOSTATE), player]
      assert infostate == state.information_state_string(player)
      assert of_player.setdefault(infostate, player) == player
      assert public_of.setdefault(infostate, public) == public
      assert own_past.setdefault(infostate, pasts[player]) == pasts[player]
    if not state.is_chance_node():
      returns = state.returns()
      assert abs(sum(returns)) < 1e-12 or (game.utility_sum() is None and sum(returns) < 0)
      assert game.min_utility() <= min(returns) <= max(returns) <= game.max_utility()
      assert state.is_terminal() or not any(returns)
    assert sum(len(past) for past in pasts) <= game.max_game_length()
    assert len(state.history()) - sum(len(past) for past in pasts) <= game.max_chance_nodes_in_history()
    terminals += state.is_terminal()
  assert terminals > 0


def check_with_openspiel(game, api=True):
  """OpenSpiel's random simulations, in C++ and in Python, its API tests on sampled states; copies."""
  pyspiel.random_sim_test(game, num_sims=3, serialize=True, verbose=False)
  games_sim_test.GamesSimTest().sim_game(game)
  if api:
    run_api_tests(api_test.EnforceAPIOnPartialTreeBase, game)
  check_copies(game)


def run_api_tests(base, game):
  case = type("ApiTest", (base,), {"game": game, "game_name": game.get_type().short_name})
  result = unittest.TestResult()
  unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
  assert result.testsRun > 0
  assert not result.errors + result.failures, result.errors + result.failures


def check_copies(game, seed=0):
  """Every way to copy or save the game and the states of a random play gives the same back."""
  rng = np.random.default_rng(seed)
  assert str(game) == str(pyspiel.load_game(str(game))) == str(pickle.loads(pickle.dumps(game)))
  state = game.new_initial_state()
  while True:
    copies = [
      state.clone(),
      copy.deepcopy(state),
      pickle.loads(pickle.dumps(state)),
      game.deserialize_state(state.serialize()),
      pyspiel.deserialize_game_and_state(pyspiel.serialize_game_and_state(game, state))[1],
    ]
    for other in copies:
      assert vars(other) == vars(state)
      assert (str(other), other.history()) == (str(state), state.history())
      assert other.legal_actions() == state.legal_actions()
      assert other.is_terminal() == state.is_terminal()
      assert state.is_chance_node() or other.returns() == state.returns()
    if state.is_terminal():
      return
    state.apply_action(random_action(state, rng))


def check_playthrough(path):
  """The recorded playthrough is what the game does today."""
  absl.flags.FLAGS.mark_as_parsed()
  recorded, replayed = generate_playthrough.replay(str(path))
  assert replayed.splitlines() == recorded.splitlines()


def is_cheap_to_copy(value):
  """Whether a state's attribute is immutable and small: an integer, bytes, or a tuple of integers."""
  if isinstance(value, tuple):
    return all(isinstance(item, int) for item in value) and len(value) <= 4
  return isinstance(value, int | bytes)
